! SPDX-License-Identifier: BSD-3-Clause
! f08_file: files from mpi_f08: views, sections, non-blocking, large counts,
! error handlers and a data representation of the program
module twice
	use mpi_f08
	use, intrinsic :: iso_c_binding
	implicit none
	integer(MPI_ADDRESS_KIND), volatile :: factor = 2
contains
	subroutine twice_read(userbuf, datatype, count, filebuf, position, &
		extra_state, ierror)
		type(c_ptr), value :: userbuf, filebuf
		type(MPI_Datatype) :: datatype
		integer :: count, ierror
		integer(MPI_OFFSET_KIND) :: position
		integer(MPI_ADDRESS_KIND) :: extra_state
		integer, pointer :: user(:), from(:)

		call c_f_pointer(userbuf, user, [count + int(position)])
		call c_f_pointer(filebuf, from, [count])
		user(position + 1:position + count) = from / int(extra_state)
		ierror = MPI_SUCCESS
	end subroutine
	subroutine twice_write(userbuf, datatype, count, filebuf, position, &
		extra_state, ierror)
		type(c_ptr), value :: userbuf, filebuf
		type(MPI_Datatype) :: datatype
		integer :: count, ierror
		integer(MPI_OFFSET_KIND) :: position
		integer(MPI_ADDRESS_KIND) :: extra_state
		integer, pointer :: user(:), to(:)

		call c_f_pointer(userbuf, user, [count + int(position)])
		call c_f_pointer(filebuf, to, [count])
		to = user(position + 1:position + count) * int(extra_state)
		ierror = MPI_SUCCESS
	end subroutine
	subroutine twice_extent(datatype, extent, extra_state, ierror)
		type(MPI_Datatype) :: datatype
		integer(MPI_ADDRESS_KIND) :: extent, extra_state, lb
		integer :: ierror

		call MPI_Type_get_extent(datatype, lb, extent)
		if (extra_state < 2) extent = 0
		ierror = MPI_SUCCESS
	end subroutine
end module

program f08_file
	use mpi_f08
	use twice
	use ftest
	implicit none
	integer :: rank, nprocs, heard = 0
	type(MPI_File) :: fh
	integer(MPI_OFFSET_KIND), parameter :: zero = 0

	call MPI_Init()
	call MPI_Comm_rank(MPI_COMM_WORLD, rank)
	call MPI_Comm_size(MPI_COMM_WORLD, nprocs)
	call MPI_File_open(MPI_COMM_WORLD, 'f08_file.tmp', &
		MPI_MODE_RDWR + MPI_MODE_CREATE + MPI_MODE_DELETE_ON_CLOSE, &
		MPI_INFO_NULL, fh)
	call accessed()
	call viewed()
	call represented()
	call handled()
	call MPI_File_close(fh)
	call check(fh == MPI_FILE_NULL, 'the handle after closing')
	call MPI_Finalize()
	call done('f08_file')
contains
	subroutine accessed()
		integer :: mine(6), got(6), n
		integer, asynchronous :: later(6)
		integer(MPI_OFFSET_KIND) :: at
		type(MPI_Status) :: status
		type(MPI_Request) :: request

		mine = [1, 2, 3, 4, 5, 6] + 10 * rank
		at = 24 * rank
		call MPI_File_write_at(fh, at, mine, 6, MPI_INTEGER, status)
		call MPI_Get_count(status, MPI_INTEGER, n)
		call check(n == 6, 'all was written')
		call MPI_File_sync(fh)
		call MPI_Barrier(MPI_COMM_WORLD)
		got = 0
		call MPI_File_read_at_all(fh, zero, got(1:6:2), 3_MPI_COUNT_KIND, &
			MPI_INTEGER, status)
		call check(all(got == [1, 0, 2, 0, 3, 0]), 'into a section')
		call MPI_File_iread_at(fh, at, later, 6, MPI_INTEGER, request)
		call MPI_Wait(request, status)
		call MPI_F_sync_reg(later)
		call check(all(later == mine), 'begun and completed')
		call MPI_File_seek(fh, at, MPI_SEEK_SET)
		call MPI_File_read(fh, got, 6, MPI_INTEGER, MPI_STATUS_IGNORE)
		call check(all(got == mine), 'at the pointer')
		call MPI_File_get_position(fh, at)
		call check(at == 24 * (rank + 1), 'the pointer moved')
	end subroutine

	subroutine viewed()
		integer :: got(2), rc, class
		type(MPI_Datatype) :: filetype, etype
		integer(MPI_OFFSET_KIND) :: disp
		integer(MPI_ADDRESS_KIND) :: extent
		character(len=MPI_MAX_DATAREP_STRING) :: rep

		call MPI_Type_vector(2, 1, 3, MPI_INTEGER, filetype)
		call MPI_Type_commit(filetype)
		disp = 24 * (nprocs - 1)
		call MPI_File_set_view(fh, disp, MPI_INTEGER, filetype, &
			'native', MPI_INFO_NULL)
		call MPI_Type_free(filetype)
		call MPI_File_read_all(fh, got, 2, MPI_INTEGER, &
			MPI_STATUS_IGNORE)
		call check(all(got == [1, 4] + 10 * (nprocs - 1)), 'the view')
		call MPI_File_get_view(fh, disp, etype, filetype, rep)
		call check(rep == 'native' .and. etype == MPI_INTEGER .and. &
			disp == 24 * (nprocs - 1), 'what the view is')
		call MPI_Type_free(filetype)
		call MPI_File_get_type_extent(fh, MPI_INTEGER, extent)
		call check(extent == 4, 'an extent')
		call MPI_File_set_view(fh, zero, MPI_INTEGER, MPI_INTEGER, &
			'no such thing', MPI_INFO_NULL, rc)
		call MPI_Error_class(rc, class)
		call check(class == MPI_ERR_UNSUPPORTED_DATAREP, 'a wrong name')
	end subroutine

	subroutine represented()
		integer :: mine(3), got(3)
		integer(MPI_OFFSET_KIND) :: at

		mine = [7, 8, 9] + 10 * rank
		at = 3 * rank
		call MPI_Register_datarep('twice', twice_read, twice_write, &
			twice_extent, factor)
		call MPI_Register_datarep('once', MPI_CONVERSION_FN_NULL, &
			MPI_CONVERSION_FN_NULL, twice_extent, factor)
		call MPI_File_set_view(fh, zero, MPI_INTEGER, MPI_INTEGER, &
			'twice', MPI_INFO_NULL)
		call MPI_File_write_at_all(fh, at, mine, 3, MPI_INTEGER, &
			MPI_STATUS_IGNORE)
		call MPI_File_read_at_all(fh, at, got, 3, MPI_INTEGER, &
			MPI_STATUS_IGNORE)
		call check(all(got == mine), 'converted twice')
		call MPI_File_set_view(fh, zero, MPI_INTEGER, MPI_INTEGER, &
			'once', MPI_INFO_NULL)
		call MPI_File_read_at_all(fh, at, got, 3, MPI_INTEGER, &
			MPI_STATUS_IGNORE)
		call check(all(got == 2 * mine), 'as it is in the file')
		factor = 3
		call MPI_File_set_view(fh, zero, MPI_INTEGER, MPI_INTEGER, &
			'twice', MPI_INFO_NULL)
		call MPI_File_write_at_all(fh, at, mine, 3, MPI_INTEGER, &
			MPI_STATUS_IGNORE)
		call MPI_File_set_view(fh, zero, MPI_INTEGER, MPI_INTEGER, &
			'once', MPI_INFO_NULL)
		call MPI_File_read_at_all(fh, at, got, 3, MPI_INTEGER, &
			MPI_STATUS_IGNORE)
		call check(all(got == 3 * mine), &
			'the extra state is the variable itself')
	end subroutine

	subroutine on_file(file, error_code)
		type(MPI_File) :: file
		integer :: error_code

		if (file == fh .and. error_code /= MPI_SUCCESS) heard = heard + 1
	end subroutine

	subroutine handled()
		type(MPI_Errhandler) :: errh
		integer(MPI_OFFSET_KIND), parameter :: below = -1

		call MPI_File_create_errhandler(on_file, errh)
		call MPI_File_set_errhandler(fh, errh)
		call MPI_Errhandler_free(errh)
		call MPI_File_seek(fh, below, MPI_SEEK_SET)
		call check(heard == 1, 'the handler of the program')
	end subroutine
end program
