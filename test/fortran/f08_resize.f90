! SPDX-License-Identifier: BSD-3-Clause
! f08_resize: a job that grows by one process and shrinks again, from mpi_f08
program f08_resize
	use mpi_f08
	use ftest
	implicit none

	type(MPI_Session) :: session
	type(MPI_Comm) :: comm
	type(MPI_Info) :: info
	type(MPI_Request) :: request
	character(len=MPIX_MAX_JOB_PSET) :: pset
	integer :: ierror, class, rank, first, delta, total

	pset = ''
	call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session)
	call find_set()
	first = merge(0, 1, pset == 'weft://job/0')
	comm = make_comm()
	call MPI_Comm_rank(comm, rank)
	if (first == 1) then
		call MPIX_Session_resize_done(session, comm, pset, ierror)
		call check(ierror == MPI_SUCCESS, 'a joined process is done')
	else
		call grow()
	end if
	call MPI_Allreduce(1, total, 1, MPI_INTEGER, MPI_SUM, comm)
	call check(total == 3, 'three processes are in the new set')
	call shrink()
	call MPI_Session_finalize(session)
	call done('f08_resize')

contains
	! Sets pset to the newest set of the job.
	subroutine find_set()
		character(len=MPI_MAX_PSET_NAME_LEN) :: name
		integer :: n, i, length

		call MPI_Session_get_num_psets(session, MPI_INFO_NULL, n)
		do i = 0, n - 1
			length = len(name)
			call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &
				length, name)
			if (index(name, 'weft://job/') == 1) pset = name
		end do
	end subroutine

	function make_comm() result(made)
		type(MPI_Comm) :: made
		type(MPI_Group) :: group

		call MPI_Group_from_session_pset(session, trim(pset), group)
		call MPI_Comm_create_from_group(group, 'f08_resize', &
			MPI_INFO_NULL, MPI_ERRORS_RETURN, made, ierror)
		call check(ierror == MPI_SUCCESS, 'a communicator of the set')
		call MPI_Group_free(group)
	end function

	subroutine grow()
		call MPIX_Session_get_offer(session, delta, info, ierror)
		call check(delta == 0, 'there is no offer')
		call MPI_Info_free(info)
		call MPIX_Session_release_hosts(session, 'elsewhere', ierror)
		call MPI_Error_class(ierror, class)
		call check(class == MPI_ERR_UNSUPPORTED_OPERATION, &
			'mpiexec accepts no hosts')
		call MPIX_Session_resize(session, comm, 9, MPI_INFO_NULL, pset, &
			request, ierror)
		call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
		call check(ierror /= MPI_SUCCESS .and. pset == '', &
			'a refused request has no set')
		call MPI_Error_class(ierror, class)
		call check(class == MPI_ERR_SPAWN, 'its class')
		call MPIX_Session_resize(session, comm, 1, MPI_INFO_NULL, pset, &
			request, ierror)
		call check(ierror == MPI_SUCCESS, 'a request to grow')
		call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
		call check(pset == 'weft://job/1', 'the name has blanks at the end')
		call MPI_Comm_disconnect(comm)
		comm = make_comm()
		call MPIX_Session_resize_done(session, comm, pset, ierror)
		call check(ierror == MPI_SUCCESS, 'the change is complete')
	end subroutine

	subroutine shrink()
		call PMPIX_Session_resize(session, comm, -1, MPI_INFO_NULL, pset, &
			request, ierror)
		call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
		call check(pset == 'weft://job/2', 'the set without the last process')
		call MPI_Comm_disconnect(comm)
		if (first == 1) return
		comm = make_comm()
		call MPIX_Session_resize_done(session, comm, pset, ierror)
		call MPI_Comm_disconnect(comm)
	end subroutine
end program
