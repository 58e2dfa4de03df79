! SPDX-License-Identifier: BSD-3-Clause
! mpi_spawn: a program starts itself again, through the older module
program mpi_spawn
	use mpi
	use ftest
	implicit none
	integer :: parent, rank, ierr, inter, codes(2), n, word, info
	character(len=4096) :: self, what

	call MPI_INIT(ierr)
	call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
	call MPI_COMM_GET_PARENT(parent, ierr)
	call get_command_argument(0, self)
	if (parent == MPI_COMM_NULL) then
		call spawn()
	else
		call get_command_argument(1, what)
		call check(what == 'child', 'the argument')
		word = 5 + rank
		call MPI_SEND(word, 1, MPI_INTEGER, 0, 1, parent, ierr)
		call MPI_COMM_DISCONNECT(parent, ierr)
	end if
	call MPI_FINALIZE(ierr)
	call done('mpi_spawn')
contains
	subroutine spawn()
		integer :: err
		character(len=MPI_MAX_PORT_NAME) :: port
		character(len=8), allocatable :: argv(:)

		! only the root's arguments are significant: those of the other
		! process have no blank word at the end
		if (rank == 0) then
			argv = [character(len=8) :: 'child', ' ']
		else
			argv = [character(len=8) :: 'not read']
		end if
		codes = -1
		call MPI_INFO_CREATE(info, ierr)
		call MPI_INFO_SET(info, 'soft', '1,2', ierr)
		call MPI_COMM_SPAWN(self, argv, 2, info, 0, MPI_COMM_WORLD, &
			inter, codes, ierr)
		call check(ierr == MPI_SUCCESS .and. &
			all(codes == MPI_SUCCESS), 'two were started')
		call MPI_INFO_FREE(info, ierr)
		call MPI_COMM_REMOTE_SIZE(inter, n, ierr)
		call check(n == 2, 'there are two')
		if (rank == 0) then
			call MPI_RECV(word, 1, MPI_INTEGER, 1, 1, inter, &
				MPI_STATUS_IGNORE, ierr)
			call check(word == 6, 'who is there')
			call MPI_RECV(word, 1, MPI_INTEGER, 0, 1, inter, &
				MPI_STATUS_IGNORE, ierr)
			call check(word == 5, 'and the first')
		end if
		call MPI_COMM_DISCONNECT(inter, ierr)
		call check(inter == MPI_COMM_NULL, 'disconnected')
		call MPI_COMM_SPAWN('/no/such/program', MPI_ARGV_NULL, 1, &
			MPI_INFO_NULL, 0, MPI_COMM_SELF, inter, &
			MPI_ERRCODES_IGNORE, ierr)
		call MPI_ERROR_CLASS(ierr, n, err)
		call check(n == MPI_ERR_SPAWN, 'no such program')
		call MPI_OPEN_PORT(MPI_INFO_NULL, port, ierr)
		call check(ierr == MPI_SUCCESS, 'a port')
		call MPI_CLOSE_PORT(port, ierr)
	end subroutine
end program
