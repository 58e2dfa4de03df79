! SPDX-License-Identifier: BSD-3-Clause
! f08_call: Fortran procedures that the library calls
module called
	use mpi_f08
	use, intrinsic :: iso_c_binding
	implicit none
	integer :: errors = 0, last_error = 0, copies = 0, deletes = 0
	integer :: queries = 0, frees = 0, cancels = 0
	type(MPI_Comm) :: last_comm = MPI_COMM_NULL
	type(MPI_Session) :: last_session = MPI_SESSION_NULL
	type(MPI_Datatype) :: last_type = MPI_DATATYPE_NULL
	integer(MPI_ADDRESS_KIND) :: last_extra = 0
	integer(MPI_ADDRESS_KIND), volatile :: state = 3
contains
	subroutine comm_error(comm, error_code)
		type(MPI_Comm) :: comm
		integer :: error_code
		errors = errors + 1
		last_error = error_code
		last_comm = comm
	end subroutine

	subroutine session_error(session, error_code)
		type(MPI_Session) :: session
		integer :: error_code
		errors = errors + 1
		last_error = error_code
		last_session = session
	end subroutine

	! 10 * a + b shows the order of two operands
	subroutine join(invec, inoutvec, len, datatype)
		type(c_ptr), value :: invec, inoutvec
		integer :: len
		type(MPI_Datatype) :: datatype
		integer, pointer :: a(:), b(:)
		call c_f_pointer(invec, a, [len])
		call c_f_pointer(inoutvec, b, [len])
		b = 10 * a + b
		last_type = datatype
	end subroutine

	subroutine join_large(invec, inoutvec, len, datatype)
		type(c_ptr), value :: invec, inoutvec
		integer(MPI_COUNT_KIND) :: len
		type(MPI_Datatype) :: datatype
		integer, pointer :: a(:), b(:)
		call c_f_pointer(invec, a, [len])
		call c_f_pointer(inoutvec, b, [len])
		b = 10 * a + b
		last_type = datatype
	end subroutine

	subroutine copy(oldcomm, comm_keyval, extra_state, attribute_val_in, &
		attribute_val_out, flag, ierror)
		type(MPI_Comm) :: oldcomm
		integer :: comm_keyval, ierror
		integer(MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, &
			attribute_val_out
		logical :: flag
		copies = copies + 1
		last_extra = extra_state
		last_comm = oldcomm
		attribute_val_out = attribute_val_in + 1
		flag = attribute_val_in >= 0
		ierror = MPI_SUCCESS
	end subroutine

	subroutine delete(comm, comm_keyval, attribute_val, extra_state, ierror)
		type(MPI_Comm) :: comm
		integer :: comm_keyval, ierror
		integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state
		deletes = deletes + 1
		ierror = merge(MPI_ERR_OTHER, MPI_SUCCESS, attribute_val == 13)
	end subroutine

	subroutine query(extra_state, status, ierror)
		integer(MPI_ADDRESS_KIND) :: extra_state
		type(MPI_Status) :: status
		integer :: ierror
		queries = queries + 1
		call MPI_Status_set_elements(status, MPI_INTEGER, int(extra_state))
		call MPI_Status_set_cancelled(status, .false.)
		call MPI_Status_set_source(status, 5)
		call MPI_Status_set_tag(status, 6)
		ierror = MPI_SUCCESS
	end subroutine

	subroutine release(extra_state, ierror)
		integer(MPI_ADDRESS_KIND) :: extra_state
		integer :: ierror
		frees = frees + 1
		extra_state = extra_state - 1
		ierror = MPI_SUCCESS
	end subroutine

	subroutine cancel(extra_state, complete, ierror)
		integer(MPI_ADDRESS_KIND) :: extra_state
		logical :: complete
		integer :: ierror
		if (.not. complete) cancels = cancels + 1
		last_extra = extra_state
		ierror = MPI_SUCCESS
	end subroutine
end module

program f08_call
	use called
	use ftest
	implicit none
	integer :: rank, n

	call MPI_Init()
	call MPI_Comm_rank(MPI_COMM_WORLD, rank)
	call MPI_Comm_size(MPI_COMM_WORLD, n)
	call handlers()
	call operations()
	call attributes()
	call requests()
	call MPI_Finalize()
	call done('f08_call')
contains
	subroutine handlers()
		type(MPI_Errhandler) :: handler, got
		type(MPI_Session) :: session
		type(MPI_Group) :: group
		type(MPI_Comm) :: dup
		integer :: ierror

		call MPI_Comm_dup(MPI_COMM_WORLD, dup)
		call MPI_Comm_create_errhandler(comm_error, handler)
		call MPI_Comm_set_errhandler(dup, handler)
		call MPI_Comm_get_errhandler(dup, got)
		call check(got == handler, 'the handler that was set')
		call MPI_Send(1, 1, MPI_INTEGER, n, 1, dup, ierror)
		call check(errors == 1 .and. last_error == ierror .and. &
			ierror /= MPI_SUCCESS .and. last_comm == dup, &
			'a handler gets the communicator and the code')
		call MPI_Comm_call_errhandler(dup, MPI_ERR_OTHER)
		call check(errors == 2 .and. last_error == MPI_ERR_OTHER, &
			'and when it is called')
		call MPI_Errhandler_free(handler)
		call MPI_Errhandler_free(got)
		call MPI_Comm_free(dup)
		call MPI_Session_create_errhandler(session_error, handler)
		call MPI_Session_init(MPI_INFO_NULL, handler, session)
		call MPI_Group_from_session_pset(session, 'nowhere', group, ierror)
		call check(errors == 3 .and. last_error == ierror .and. &
			last_session == session, 'a handler of a session')
		call MPI_Errhandler_free(handler)
		call MPI_Session_finalize(session)
	end subroutine

	subroutine operations()
		type(MPI_Op) :: op
		integer :: a(2), b(2), i, wanted
		logical :: commute

		wanted = 0
		do i = 0, n - 1
			wanted = 10 * wanted + i + 1
		end do
		call MPI_Op_create(join, .false., op)
		call MPI_Op_commutative(op, commute)
		call check(.not. commute, 'an operation that keeps the order')
		a = rank + 1
		call MPI_Reduce(a, b, 2, MPI_INTEGER, op, 0, MPI_COMM_WORLD)
		if (rank == 0) call check(all(b == wanted), 'in the order of ranks')
		if (rank == 0) call check(last_type == MPI_INTEGER, 'it sees the type')
		b = 4
		call MPI_Reduce_local([1, 2], b, 2, MPI_INTEGER, op)
		call check(all(b == [14, 24]), 'on local data')
		call MPI_Op_free(op)
		call check(op == MPI_OP_NULL, 'freed')
		call MPI_Op_create_c(join_large, .true., op)
		b = 4
		call MPI_Reduce_local([1, 2], b, 2_MPI_COUNT_KIND, MPI_INTEGER, op)
		call check(all(b == [14, 24]), 'with large counts')
		call MPI_Op_free(op)
	end subroutine

	subroutine attributes()
		integer :: key, plain, ierror
		integer(MPI_ADDRESS_KIND) :: value
		type(MPI_Comm) :: a, b
		logical :: flag

		call MPI_Comm_create_keyval(copy, delete, key, 77_MPI_ADDRESS_KIND)
		call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &
			MPI_COMM_NULL_DELETE_FN, plain, 0_MPI_ADDRESS_KIND)
		call MPI_Comm_dup(MPI_COMM_SELF, a)
		call MPI_Comm_set_attr(a, key, 5000000000_MPI_ADDRESS_KIND)
		call MPI_Comm_set_attr(a, plain, 1_MPI_ADDRESS_KIND)
		call MPI_Comm_dup(a, b)
		call check(copies == 1 .and. last_extra == 77 .and. last_comm == a, &
			'a copy function gets the object and its extra state')
		call MPI_Comm_get_attr(b, key, value, flag)
		call check(flag .and. value == 5000000001_8, 'what it made of it')
		call MPI_Comm_get_attr(b, plain, value, flag)
		call check(.not. flag, 'MPI_COMM_NULL_COPY_FN copies nothing')
		call MPI_Comm_free(b)
		call check(deletes == 1, 'a delete function')
		call MPI_Comm_set_attr(a, key, -1_MPI_ADDRESS_KIND)
		call check(deletes == 2, 'also when it is replaced')
		call MPI_Comm_dup(a, b)
		call MPI_Comm_get_attr(b, key, value, flag)
		call check(copies == 2 .and. .not. flag, 'false copies nothing')
		call MPI_Comm_free(b)
		call MPI_Comm_set_errhandler(a, MPI_ERRORS_RETURN)
		call MPI_Comm_set_attr(a, key, 13_MPI_ADDRESS_KIND)
		call MPI_Comm_delete_attr(a, key, ierror)
		call check(ierror /= MPI_SUCCESS, 'a delete function that fails')
		call MPI_Comm_set_attr(a, key, 14_MPI_ADDRESS_KIND, ierror)
		call MPI_Comm_get_attr(a, key, value, flag)
		call check(flag .and. value == 13, 'has changed nothing')
		call MPI_Comm_free_keyval(key)
		call MPI_Comm_free_keyval(plain)
		call check(key == MPI_KEYVAL_INVALID, 'a freed key')
	end subroutine

	subroutine requests()
		type(MPI_Request) :: request
		type(MPI_Status) :: status
		integer :: count
		logical :: flag

		call MPI_Grequest_start(query, release, cancel, state, request)
		call MPI_Test(request, flag, status)
		call check(.not. flag .and. queries == 0, 'it has not ended')
		call MPI_Cancel(request)
		call check(cancels == 1 .and. last_extra == 3, 'a cancel function')
		call MPI_Grequest_complete(request)
		call MPI_Wait(request, status)
		call check(queries == 1 .and. frees == 1, 'its end')
		call check(state == 2, 'the extra state is the variable itself')
		call MPI_Get_count(status, MPI_INTEGER, count)
		call check(count == 3 .and. status%MPI_SOURCE == 5 .and. &
			status%MPI_TAG == 6, 'the status it wrote')
	end subroutine
end program
