! SPDX-License-Identifier: BSD-3-Clause
! f08_spawn: a program starts itself again, through the module mpi_f08
program f08_spawn
	use mpi_f08
	use ftest
	implicit none
	type(MPI_Comm) :: parent
	integer :: rank, nprocs
	character(len=4096) :: self, here

	call MPI_Init()
	call MPI_Comm_rank(MPI_COMM_WORLD, rank)
	call MPI_Comm_size(MPI_COMM_WORLD, nprocs)
	call get_command_argument(0, self)
	call getcwd(here)
	if (self(1:1) /= '/') self = trim(here) // '/' // self
	call MPI_Comm_get_parent(parent)
	if (parent /= MPI_COMM_NULL) then
		call child()
	else
		call one()
		call several()
	end if
	call MPI_Finalize()
	call done('f08_spawn')
contains
	subroutine one()
		character(len=12) :: argv(3)
		integer :: codes(2), n, word
		type(MPI_Comm) :: inter
		type(MPI_Info) :: info
		integer :: status(MPI_STATUS_SIZE)
		type(MPI_Status) :: whole

		argv(1) = 'one'
		argv(2) = '  two words'
		argv(3) = ' '
		codes = -1
		call MPI_Info_create(info)
		call MPI_Info_set(info, 'wdir', '/')
		call MPI_Comm_spawn(self, argv, 2, info, 0, &
			MPI_COMM_WORLD, inter, codes)
		call MPI_Info_free(info)
		call check(all(codes == MPI_SUCCESS), 'two were started')
		call MPI_Comm_remote_size(inter, n)
		call check(n == 2, 'there are two')
		if (rank == 0) then
			call MPI_Recv(word, 1, MPI_INTEGER, 1, 7, inter, whole)
			call MPI_Status_f082f(whole, status)
			call check(status(MPI_SOURCE) == 1 .and. &
				status(MPI_TAG) == 7, &
				'the places of a status are known')
			call check(word == 12, 'the second has what it should')
		end if
		call MPI_Comm_disconnect(inter)
		call check(inter == MPI_COMM_NULL, 'disconnected')
	end subroutine

	! Two programs; their arguments are the rows of an array.
	subroutine several()
		character(len=4096) :: commands(2)
		character(len=8) :: argvs(2, 3)
		integer :: numbers(2), word, i
		type(MPI_Comm) :: inter
		type(MPI_Info) :: infos(2)

		commands = self
		argvs(1, :) = ['several ', 'first   ', '        ']
		argvs(2, :) = ['several ', 'second  ', '        ']
		numbers = [1, 2]
		infos = MPI_INFO_NULL
		call MPI_Comm_spawn_multiple(2, commands, argvs, numbers, &
			infos, 0, MPI_COMM_WORLD, inter, MPI_ERRCODES_IGNORE)
		do i = 0, 2
			if (rank /= 0) exit
			call MPI_Recv(word, 1, MPI_INTEGER, i, 7, inter, &
				MPI_STATUS_IGNORE)
			call check(word == merge(1, 2, i == 0), &
				'each has its program''s arguments')
		end do
		call MPI_Comm_disconnect(inter)
	end subroutine

	subroutine child()
		character(len=4096) :: how, what, dir
		integer :: word

		call get_command_argument(1, how)
		call get_command_argument(2, what)
		if (how == 'one') then
			call getcwd(dir)
			word = 2
			if (what == 'two words') word = 11
			if (dir == '/') word = word + 1
			call check(command_argument_count() == 2, 'two arguments')
			if (rank == 1) call MPI_Send(word, 1, MPI_INTEGER, 0, 7, &
				parent)
		else
			word = merge(1, 2, what == 'first')
			call MPI_Send(word, 1, MPI_INTEGER, 0, 7, parent)
			call check(how == 'several', 'the first argument')
		end if
		call MPI_Comm_disconnect(parent)
		call MPI_Comm_get_parent(parent)
		call check(parent == MPI_COMM_NULL, 'no parent any more')
	end subroutine
end program
