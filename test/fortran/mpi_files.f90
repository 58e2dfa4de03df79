! SPDX-License-Identifier: BSD-3-Clause
! mpi_files: files from the module mpi: handles as integers, the shared pointer,
! split collectives
program mpi_files
	use mpi
	use ftest
	implicit none
	integer :: rank, nprocs, ierror, fh, n, amode
	integer :: mine(2), got(2), status(MPI_STATUS_SIZE)
	integer(MPI_OFFSET_KIND) :: at
	logical :: flag

	call MPI_Init(ierror)
	call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
	call MPI_Comm_size(MPI_COMM_WORLD, nprocs, ierror)
	amode = MPI_MODE_RDWR + MPI_MODE_CREATE + MPI_MODE_DELETE_ON_CLOSE
	call MPI_File_open(MPI_COMM_WORLD, 'mpi_files.tmp', amode, &
		MPI_INFO_NULL, fh, ierror)
	call check(ierror == MPI_SUCCESS, 'opened')
	call MPI_File_get_amode(fh, n, ierror)
	call check(n == amode, 'the mode')
	call MPI_File_set_atomicity(fh, .true., ierror)
	call MPI_File_get_atomicity(fh, flag, ierror)
	call check(flag, 'atomic')
	mine = [rank, -rank]
	call MPI_File_write_ordered(fh, mine, 2, MPI_INTEGER, status, ierror)
	call MPI_Get_count(status, MPI_INTEGER, n, ierror)
	call check(n == 2, 'all was written')
	call MPI_File_get_position_shared(fh, at, ierror)
	call check(at == 8 * nprocs, 'the shared pointer')
	at = 0
	call MPI_File_seek_shared(fh, at, MPI_SEEK_SET, ierror)
	call MPI_File_read_ordered_begin(fh, got, 2, MPI_INTEGER, ierror)
	call MPI_File_read_ordered_end(fh, got, status, ierror)
	call check(all(got == mine), 'in the order of ranks')
	call MPI_File_get_size(fh, at, ierror)
	call check(at == 8 * nprocs, 'the size')
	call MPI_File_close(fh, ierror)
	call check(fh == MPI_FILE_NULL, 'the handle after closing')
	call MPI_File_open(MPI_COMM_WORLD, 'no/such/file', MPI_MODE_RDONLY, &
		MPI_INFO_NULL, fh, ierror)
	call MPI_Error_class(ierror, n, amode)
	call check(n == MPI_ERR_NO_SUCH_FILE, 'errors are returned')
	call MPI_Finalize(ierror)
	call done('mpi_files')
end program
