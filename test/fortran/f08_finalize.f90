! SPDX-License-Identifier: BSD-3-Clause
! f08_finalize: the printed programs on finalizing sessions, in Fortran
!
! ex=8   one session against two; order=0 (a, b), order=1 (b, a)
! ex=9   crossed sessions; order=0 (a,b | b,a), order=1 (b,a | a,b): the two
!        that complete; order=2 (a,b | a,b), order=3 (b,a | b,a): the two that
!        cannot complete. The first finalize of each process reports that,
!        which needs WEFT_STALL_WARN=1.
program f08_finalize
	use mpi_f08
	use ftest
	implicit none
	type(MPI_Session) :: a, b
	integer :: rank, ex, order

	ex = argument('ex=')
	order = argument('order=')
	a = opened()
	b = MPI_SESSION_NULL
	rank = my_rank()
	if (ex == 8) then
		call example_8()
	else
		call example_9()
	end if
	call check(a == MPI_SESSION_NULL .and. b == MPI_SESSION_NULL, &
		'every session is closed')
	call done('f08_finalize')
contains
	integer function argument(key)
		character(len=*), intent(in) :: key
		character(len=32) :: word
		integer :: i

		argument = 0
		do i = 1, command_argument_count()
			call get_command_argument(i, word)
			if (index(word, key) == 1) &
				read (word(len(key) + 1:), *) argument
		end do
	end function

	function opened() result(session)
		type(MPI_Session) :: session
		integer :: ierror

		call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session, &
			ierror)
		call check(ierror == MPI_SUCCESS, 'a session opens')
	end function

	integer function my_rank() result(mine)
		type(MPI_Group) :: group

		call MPI_Group_from_session_pset(a, 'mpi://WORLD', group)
		call MPI_Group_rank(group, mine)
		call MPI_Group_free(group)
	end function

	! a communicator of all processes, on which a sum is right
	function made(session, tag) result(comm)
		type(MPI_Comm) :: comm
		type(MPI_Session), intent(in) :: session
		character(len=*), intent(in) :: tag
		type(MPI_Group) :: group
		integer :: ierror, n, total

		call MPI_Group_from_session_pset(session, 'mpi://WORLD', group)
		call MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, &
			MPI_ERRORS_RETURN, comm, ierror)
		call check(ierror == MPI_SUCCESS, 'a communicator is made')
		call MPI_Group_free(group)
		call MPI_Comm_size(comm, n)
		call MPI_Allreduce(1, total, 1, MPI_INTEGER, MPI_SUM, comm)
		call check(total == n, 'its members add up')
	end function

	subroutine finalize(session)
		type(MPI_Session), intent(inout) :: session
		integer :: ierror

		call MPI_Session_finalize(session, ierror)
		call check(ierror == MPI_SUCCESS .and. &
			session == MPI_SESSION_NULL, 'a session ends')
	end subroutine

	subroutine finalize_both(b_first)
		logical, intent(in) :: b_first

		if (b_first) call finalize(b)
		call finalize(a)
		if (.not. b_first) call finalize(b)
	end subroutine

	! a finalize in a cycle of waits
	subroutine finalize_in_vain(session)
		type(MPI_Session), intent(inout) :: session
		character(len=MPI_MAX_ERROR_STRING) :: text
		integer :: ierror, class, length

		call MPI_Session_finalize(session, ierror)
		call check(ierror /= MPI_SUCCESS, 'S74 S76 it is an error')
		if (ierror == MPI_SUCCESS) return
		call MPI_Error_class(ierror, class)
		call check(class == MPI_ERR_OTHER, 'of class MPI_ERR_OTHER')
		call MPI_Error_string(ierror, text, length)
		call check(length > 0, 'with a text')
		call check(session == MPI_SESSION_NULL, 'S30 the handle is null')
	end subroutine

	subroutine finalize_faulty(b_first)
		logical, intent(in) :: b_first

		if (b_first) then
			call finalize_in_vain(b)
			call finalize(a)
		else
			call finalize_in_vain(a)
			call finalize(b)
		end if
	end subroutine

	subroutine example_8()
		type(MPI_Comm) :: x, y
		integer :: ierror

		x = made(a, 'foobar')
		if (rank == 1) then
			b = opened()
			y = made(b, 'foobar2')
			call finalize_both(order == 1)
		else
			y = made(a, 'foobar2')
			call MPI_Session_finalize(a, ierror)
			call check(ierror == MPI_SUCCESS, &
				'S67 S70 S71 S72 one end matches two, in either order')
		end if
		call check(x /= MPI_COMM_NULL .and. y /= MPI_COMM_NULL, &
			'finalize leaves the handles of communicators alone')
	end subroutine

	subroutine example_9()
		type(MPI_Comm) :: x, y, z
		logical :: b_first

		b = opened()
		x = made(a, 'foobar')
		if (rank == 0) then
			y = made(a, 'foobar2')
			z = made(b, 'foobar3')
		else
			y = made(b, 'foobar2')
			z = made(a, 'foobar3')
		end if
		b_first = (order == 1) .neqv. (rank /= 0)
		if (order < 2) then
			call finalize_both(b_first)
		else
			call finalize_faulty(order == 3)
		end if
		call check(a == MPI_SESSION_NULL .and. b == MPI_SESSION_NULL, &
			'S73 S75 crossed sessions end')
		call check(x /= y .and. y /= z, 'three communicators')
	end subroutine
end program
