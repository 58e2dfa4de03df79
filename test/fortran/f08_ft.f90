! SPDX-License-Identifier: BSD-3-Clause
! f08_ft: failed processes, revocation, agreement and shrinking from mpi_f08
program f08_ft
	use mpi_f08
	use ftest
	implicit none

	type(MPI_Comm) :: comm
	type(MPI_Group) :: group
	type(MPI_Request) :: request
	integer :: ierror, class, n, rank
	integer(kind=MPI_ADDRESS_KIND) :: value
	logical :: flag

	call MPI_Init(ierror)
	call MPI_Comm_dup(MPI_COMM_WORLD, comm)
	call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
	call MPI_Comm_rank(comm, rank)
	call MPIX_Comm_get_failed(comm, group, ierror)
	call check(ierror == MPI_SUCCESS, 'get_failed')
	call MPI_Group_size(group, n)
	call check(n == 0, 'no member has failed')
	n = -1
	call MPIX_Comm_ack_failed(comm, 3, n)
	call check(n == 0, 'no failure is acknowledged')
	call MPIX_Comm_is_revoked(comm, flag)
	call check(.not. flag, 'not revoked')
	call MPI_Comm_get_attr(comm, MPIX_FT, value, flag, ierror)
	call check(flag .and. value == 1, 'MPIX_FT with mpiexec --with-ft mpi')
	call MPI_Barrier(comm)
	if (rank == 0) call MPIX_Comm_revoke(comm, ierror)
	do
		call MPI_Barrier(comm, ierror)
		if (ierror /= MPI_SUCCESS) exit
	end do
	call MPI_Error_class(ierror, class)
	call check(class == MPIX_ERR_REVOKED, 'a barrier ends with its class')
	call PMPIX_Comm_is_revoked(comm, flag)
	call check(flag, 'revoked')
	call MPI_Isend(n, 1, MPI_INTEGER, 0, 0, comm, request, ierror)
	call check(ierror /= MPI_SUCCESS .and. request == MPI_REQUEST_NULL, &
		'a send that is not started has no request')
	call agree()
	call shrink()
	call window()
	call file()
	call MPI_Comm_free(comm, ierror)
	call check(ierror == MPI_SUCCESS, 'freed')
	call MPI_Finalize(ierror)
	call done('f08_ft')

contains
	subroutine agree()
		integer, asynchronous :: bits

		bits = not(ishft(1, rank))
		call MPIX_Comm_agree(comm, bits, ierror)
		call check(ierror == MPI_SUCCESS .and. bits == not(3), 'agree')
		bits = not(ishft(4, rank))
		call MPIX_Comm_iagree(comm, bits, request, ierror)
		call check(ierror == MPI_SUCCESS, 'iagree')
		call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
		call check(ierror == MPI_SUCCESS .and. bits == not(12), &
			'iagree has the result')
		bits = rank
		call PMPIX_Comm_agree(comm, bits)
		call check(bits == 0, 'agree without an error argument')
	end subroutine

	subroutine check_shrunk(made, what)
		type(MPI_Comm), intent(inout) :: made
		character(len=*), intent(in) :: what

		call MPI_Comm_size(made, n, ierror)
		call check(ierror == MPI_SUCCESS .and. n == 2, what)
		call MPI_Barrier(made)
		call MPI_Comm_free(made)
	end subroutine

	subroutine shrink()
		type(MPI_Comm), asynchronous :: made

		call MPIX_Comm_shrink(comm, made, ierror)
		call check(ierror == MPI_SUCCESS, 'shrink')
		call check_shrunk(made, 'shrink creates a communicator')
		call MPIX_Comm_ishrink(comm, made, request, ierror)
		call check(ierror == MPI_SUCCESS, 'ishrink')
		call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
		call check_shrunk(made, 'ishrink creates a communicator')
	end subroutine
	subroutine window()
		type(MPI_Win) :: win
		integer, asynchronous, target :: memory(1)

		call MPI_Win_create(memory, 4_MPI_ADDRESS_KIND, 4, &
			MPI_INFO_NULL, MPI_COMM_WORLD, win)
		call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN)
		call MPIX_Win_get_failed(win, group, ierror)
		call check(ierror == MPI_SUCCESS, 'win_get_failed')
		call MPI_Group_size(group, n)
		call check(n == 0, 'no member of the window has failed')
		call MPIX_Win_revoke(win, ierror)
		call check(ierror == MPI_SUCCESS, 'win_revoke')
		call MPI_Win_fence(0, win, ierror)
		call MPI_Error_class(ierror, class)
		call check(class == MPIX_ERR_REVOKED, 'a fence fails')
		call MPI_Win_free(win, ierror)
		call check(ierror == MPI_SUCCESS, 'the window is freed')
	end subroutine

	subroutine file()
		type(MPI_File) :: fh

		call MPI_File_open(MPI_COMM_WORLD, 'weft_f08_ft', &
			ior(ior(MPI_MODE_CREATE, MPI_MODE_RDWR), &
			MPI_MODE_DELETE_ON_CLOSE), MPI_INFO_NULL, fh)
		call MPIX_File_revoke(fh, ierror)
		call check(ierror == MPI_SUCCESS, 'file_revoke')
		call MPI_File_sync(fh, ierror)
		call MPI_Error_class(ierror, class)
		call check(class == MPIX_ERR_REVOKED, 'a sync fails')
		call MPI_File_close(fh, ierror)
		call check(ierror == MPI_SUCCESS, 'the file is closed')
	end subroutine
end program
