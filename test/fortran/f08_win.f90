! SPDX-License-Identifier: BSD-3-Clause
! f08_win: windows from mpi_f08: memory as c_ptr, attributes as integers, put,
! get and accumulate, error handlers and delete functions of the program
program f08_win
	use mpi_f08
	use, intrinsic :: iso_c_binding
	use ftest
	implicit none
	integer :: rank, nprocs, right, left
	integer :: heard = 0, n_deleted = 0
	integer(MPI_ADDRESS_KIND), parameter :: int_size = 4

	call MPI_Init()
	call MPI_Comm_rank(MPI_COMM_WORLD, rank)
	call MPI_Comm_size(MPI_COMM_WORLD, nprocs)
	right = modulo(rank + 1, nprocs)
	left = modulo(rank - 1, nprocs)
	call created()
	call allocated()
	call shared()
	call dynamic()
	call handled()
	call MPI_Finalize()
	call done('f08_win')
contains
	subroutine created()
		integer, asynchronous :: memory(4), mine(2)
		integer(MPI_ADDRESS_KIND) :: value
		character(len=MPI_MAX_OBJECT_NAME) :: name
		integer :: length
		logical :: flag
		type(MPI_Win) :: win
		type(MPI_Group) :: group

		memory = 0
		mine = [rank, rank + 100]
		call MPI_Win_create(memory, 4 * int_size, 4, MPI_INFO_NULL, &
			MPI_COMM_WORLD, win)
		call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag)
		call check(flag .and. value == 16, 'the size as an integer')
		call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag)
		call check(flag .and. value == 4, 'the unit as an integer')
		call MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, value, flag)
		call check(flag .and. value == MPI_WIN_FLAVOR_CREATE, 'flavor')
		call MPI_Win_set_name(win, 'edge')
		call MPI_Win_get_name(win, name, length)
		call check(name == 'edge' .and. length == 4, 'the name')
		call MPI_Win_get_group(win, group)
		call MPI_Group_size(group, length)
		call check(length == nprocs, 'the group')
		call MPI_Group_free(group)
		call MPI_Win_fence(0, win)
		call MPI_Put(mine, 2, MPI_INTEGER, right, 1_MPI_ADDRESS_KIND, &
			2, MPI_INTEGER, win)
		call MPI_Win_fence(0, win)
		call MPI_F_sync_reg(memory)
		call check(all(memory == [0, left, left + 100, 0]), &
			'what was put')
		call MPI_Barrier(MPI_COMM_WORLD)
		call MPI_Accumulate(mine, 2_MPI_COUNT_KIND, MPI_INTEGER, &
			right, 1_MPI_ADDRESS_KIND, 2_MPI_COUNT_KIND, &
			MPI_INTEGER, MPI_SUM, win)
		call MPI_Win_fence(0, win)
		call MPI_F_sync_reg(memory)
		call check(all(memory == 2 * [0, left, left + 100, 0]), &
			'what was added')
		call MPI_Win_free(win)
		call check(win == MPI_WIN_NULL, 'the handle is null')
	end subroutine

	subroutine allocated()
		type(c_ptr) :: base
		integer, pointer, asynchronous :: memory(:)
		integer, asynchronous :: got, one
		integer(MPI_ADDRESS_KIND) :: value
		logical :: flag
		type(MPI_Win) :: win
		type(MPI_Request) :: request

		call MPI_Win_allocate(2 * int_size, 4, MPI_INFO_NULL, &
			MPI_COMM_WORLD, base, win)
		call c_f_pointer(base, memory, [2])
		memory = 5
		one = 1
		call MPI_Win_get_attr(win, MPI_WIN_BASE, value, flag)
		call check(flag .and. value == transfer(base, value), 'base')
		call MPI_Barrier(MPI_COMM_WORLD)
		call MPI_Win_lock_all(0, win)
		call MPI_Fetch_and_op(one, got, MPI_INTEGER, right, &
			0_MPI_ADDRESS_KIND, MPI_SUM, win)
		call MPI_Win_flush(right, win)
		call check(got == 5, 'what was there')
		call MPI_Rget(got, 1, MPI_INTEGER, right, &
			0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, request)
		call MPI_Wait(request, MPI_STATUS_IGNORE)
		call check(got == 6, 'what is there')
		call MPI_Win_unlock_all(win)
		call MPI_Win_free(win)
	end subroutine

	subroutine shared()
		type(c_ptr) :: base, there
		integer, pointer, volatile :: mine(:), next(:)
		integer(MPI_ADDRESS_KIND) :: bytes
		integer :: unit, me, n, ierror, class
		type(MPI_Comm) :: node
		type(MPI_Win) :: win

		call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, &
			0, MPI_INFO_NULL, node)
		call MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN)
		call MPI_Comm_rank(node, me)
		call MPI_Comm_size(node, n)
		call MPI_Win_allocate_shared(int_size, 4, MPI_INFO_NULL, node, &
			base, win, ierror)
		if (ierror /= MPI_SUCCESS) then
			call MPI_Error_class(ierror, class)
			call check(class == MPI_ERR_RMA_SHARED, 'not shared')
			print '(a)', 'f08_win: memory is not shared here'
			call MPI_Comm_free(node)
			return
		end if
		call c_f_pointer(base, mine, [1])
		mine(1) = 10 * me
		call MPI_Win_fence(0, win)
		call MPI_Win_shared_query(win, modulo(me + 1, n), bytes, unit, &
			there)
		call c_f_pointer(there, next, [1])
		call check(bytes == 4 .and. unit == 4, 'what another one has')
		call check(next(1) == 10 * modulo(me + 1, n), 'its number')
		call MPI_Win_fence(0, win)
		call MPI_Win_free(win)
		call MPI_Comm_free(node)
	end subroutine

	subroutine dynamic()
		integer, asynchronous :: memory(3)
		integer(MPI_ADDRESS_KIND) :: here, there
		type(MPI_Win) :: win

		memory = 0
		call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win)
		call MPI_Win_attach(win, memory, 3 * int_size)
		call MPI_Get_address(memory(2), here)
		call MPI_Sendrecv(here, 1, MPI_AINT, left, 0, there, 1, &
			MPI_AINT, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
		call MPI_Win_fence(0, win)
		call MPI_Put(rank, 1, MPI_INTEGER, right, there, 1, &
			MPI_INTEGER, win)
		call MPI_Win_fence(0, win)
		call MPI_F_sync_reg(memory)
		call check(all(memory == [0, left, 0]), 'attached memory')
		call MPI_Win_detach(win, memory)
		call MPI_Win_free(win)
	end subroutine

	subroutine handled()
		integer :: keyval, ierror
		integer(MPI_ADDRESS_KIND) :: value
		logical :: flag
		type(MPI_Errhandler) :: handler
		type(MPI_Win) :: win

		call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &
			keyval, 3_MPI_ADDRESS_KIND)
		call MPI_Win_create_errhandler(on_error, handler)
		call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win)
		call MPI_Win_set_errhandler(win, handler)
		call MPI_Win_flush(rank, win, ierror)
		call check(ierror /= MPI_SUCCESS .and. heard == 1, &
			'the handler of the window')
		call MPI_Win_set_attr(win, keyval, 42_MPI_ADDRESS_KIND)
		call MPI_Win_get_attr(win, keyval, value, flag)
		call check(flag .and. value == 42, 'an attribute')
		call MPI_Win_free(win)
		call check(n_deleted == 1, 'its delete function')
		call MPI_Errhandler_free(handler)
		call MPI_Win_free_keyval(keyval)
	end subroutine

	subroutine on_error(win, error_code)
		type(MPI_Win) :: win
		integer :: error_code

		if (win /= MPI_WIN_NULL .and. error_code /= MPI_SUCCESS) &
			heard = heard + 1
	end subroutine

	subroutine on_delete(win, win_keyval, attribute_val, extra_state, ierror)
		type(MPI_Win) :: win
		integer :: win_keyval, ierror
		integer(MPI_ADDRESS_KIND) :: attribute_val, extra_state

		if (attribute_val == 42 .and. extra_state == 3) &
			n_deleted = n_deleted + 1
		ierror = MPI_SUCCESS
	end subroutine
end program
