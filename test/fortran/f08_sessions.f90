! SPDX-License-Identifier: BSD-3-Clause
! f08_sessions: sessions from mpi_f08
program f08_sessions
	use mpi_f08
	use ftest
	implicit none

	call opened()
	call finalized()
	call sets()
	call worked()
	call example_11_8()
	call example_11_10()
	call done('f08_sessions')
contains
	subroutine opened()
		type(MPI_Session) :: s, t, u
		integer :: ierror

		call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, s, ierror)
		call check(ierror == MPI_SUCCESS, 'S5 init with ierror')
		call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, t)
		call MPI_Session_init(info=MPI_INFO_NULL, session=u, ierror=ierror, &
			errhandler=MPI_ERRORS_ARE_FATAL)
		call check(ierror == MPI_SUCCESS, 'S5 init with keywords')
		call check(s /= MPI_SESSION_NULL .and. t /= MPI_SESSION_NULL, &
			'S5 init gives a session with and without ierror')
		call check(s /= t .and. .not. s == u .and. s%MPI_VAL /= t%MPI_VAL, &
			'S5 each session is another')
		call MPI_Session_finalize(t)
		call check(t == MPI_SESSION_NULL, 'S26 finalize without ierror')
		call MPI_Session_finalize(session=u, ierror=ierror)
		call check(ierror == MPI_SUCCESS .and. u == MPI_SESSION_NULL, &
			'S26 S30 finalize with keywords nulls the handle')
		call PMPI_Session_finalize(s, ierror)
		call check(ierror == MPI_SUCCESS .and. s == MPI_SESSION_NULL, &
			'S26 S66 the PMPI name is there too')
	end subroutine

	subroutine finalized()
		type(MPI_Session) :: s
		type(MPI_Group) :: group
		integer :: ierror, class

		call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, s)
		call MPI_Group_from_session_pset(s, 'no such set', group, ierror)
		call MPI_Error_class(ierror, class)
		call check(ierror /= MPI_SUCCESS .and. class == MPI_ERR_ARG .or. &
			class == MPI_ERR_NAME .or. class == MPI_ERR_PROC_ABORTED, &
			'an unknown set is an error that returns')
		call MPI_Session_finalize(s)
	end subroutine

	subroutine sets()
		type(MPI_Session) :: s
		type(MPI_Info) :: info
		integer :: n, i, ierror, pset_len, world
		character(len=MPI_MAX_PSET_NAME_LEN) :: name
		character(len=16) :: value
		logical :: flag

		call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, s)
		call MPI_Session_get_num_psets(s, MPI_INFO_NULL, n, ierror)
		call check(ierror == MPI_SUCCESS .and. n >= 2, &
			'at least mpi://WORLD and mpi://SELF')
		world = -1
		do i = 0, n - 1
			pset_len = 0
			name = 'untouched'
			call MPI_Session_get_nth_pset(s, MPI_INFO_NULL, i, &
				pset_len, name, ierror)
			call check(ierror == MPI_SUCCESS .and. name == 'untouched', &
				'length 0 asks for the length alone')
			call MPI_Session_get_nth_pset(s, MPI_INFO_NULL, i, &
				pset_len, name, ierror)
			call check(ierror == MPI_SUCCESS .and. &
				len_trim(name) == pset_len, &
				'the name has the length that was said')
			if (name == 'mpi://WORLD') world = i
		end do
		call check(world >= 0, 'mpi://WORLD is among them')
		call MPI_Session_get_pset_info(s, 'mpi://SELF  ', info, ierror)
		call check(ierror == MPI_SUCCESS, 'blanks at the end do not count')
		i = len(value)
		call MPI_Info_get_string(info, ' mpi_size ', i, value, flag)
		call check(flag .and. value == '1' .and. i == 1, 'SELF has size 1')
		call MPI_Info_free(info)
		call check(info == MPI_INFO_NULL, 'a freed info is null')
		call MPI_Session_finalize(s)
	end subroutine

	subroutine worked()
		type(MPI_Session) :: s
		type(MPI_Group) :: group
		type(MPI_Comm) :: comm
		integer :: rank, size, total, ierror, i
		character(len=MPI_MAX_OBJECT_NAME) :: name

		call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, s)
		call MPI_Group_from_session_pset(s, 'mpi://WORLD', group, ierror)
		call check(ierror == MPI_SUCCESS, 'S66 a group from a set')
		call MPI_Comm_create_from_group(group, 'f08', MPI_INFO_NULL, &
			MPI_ERRORS_RETURN, comm, ierror)
		call check(ierror == MPI_SUCCESS, 'S66 a communicator from it')
		call MPI_Group_free(group)
		call MPI_Comm_rank(comm, rank)
		call MPI_Comm_size(comm, size)
		call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, comm)
		call check(total == sum([(i, i=0, size - 1)]), &
			'an allreduce adds the ranks')
		call MPI_Comm_set_name(comm, 'ours  ')
		call MPI_Comm_get_name(comm, name, i)
		call check(name == 'ours' .and. i == 4, 'a name comes back')
		call MPI_Comm_disconnect(comm=comm, ierror=ierror)
		call check(ierror == MPI_SUCCESS .and. comm == MPI_COMM_NULL, &
			'S97 S101 disconnect nulls the handle')
		call MPI_Session_finalize(s, ierror)
		call check(ierror == MPI_SUCCESS, 'S26 finalize after work')
	end subroutine

	! The first example of the chapter: a session, a set, a communicator.
	subroutine example_11_8()
		type(MPI_Session) :: first, second
		type(MPI_Group) :: group
		type(MPI_Comm) :: a, b
		integer :: size, again

		call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, first)
		call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, second)
		call MPI_Group_from_session_pset(first, 'mpi://WORLD', group)
		call MPI_Comm_create_from_group(group, 'first', MPI_INFO_NULL, &
			MPI_ERRORS_RETURN, a)
		call MPI_Group_free(group)
		call MPI_Group_from_session_pset(second, 'mpi://WORLD', group)
		call MPI_Comm_create_from_group(group, 'second', MPI_INFO_NULL, &
			MPI_ERRORS_RETURN, b)
		call MPI_Group_free(group)
		call MPI_Comm_size(a, size)
		call MPI_Comm_size(b, again)
		call check(size == again, 'two sessions see one set')
		call MPI_Barrier(a)
		call MPI_Barrier(b)
		call MPI_Comm_free(a)
		call MPI_Comm_free(b)
		call MPI_Session_finalize(second)
		call MPI_Session_finalize(first)
		call check(first == MPI_SESSION_NULL, &
			'sessions end in the order they did not begin in')
	end subroutine

	! A library with a session of its own, used while the program has one.
	subroutine example_11_10()
		type(MPI_Session) :: s
		integer :: i

		call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, s)
		do i = 1, 5
			call check(library() == i * 0 + 1, &
				'a library opens and closes its own session')
		end do
		call MPI_Session_finalize(s)
	end subroutine

	integer function library()
		type(MPI_Session) :: s
		type(MPI_Group) :: group
		type(MPI_Comm) :: comm
		integer :: one, most

		call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, s)
		call MPI_Group_from_session_pset(s, 'mpi://WORLD', group)
		call MPI_Comm_create_from_group(group, 'library', MPI_INFO_NULL, &
			MPI_ERRORS_RETURN, comm)
		call MPI_Group_free(group)
		one = 1
		call MPI_Allreduce(one, most, 1, MPI_INTEGER, MPI_MAX, comm)
		call MPI_Comm_disconnect(comm)
		call MPI_Session_finalize(s)
		library = most
	end function
end program
