! SPDX-License-Identifier: BSD-3-Clause
! mpi_windows: windows from the module mpi: memory as an integer and, by the
! specifics that end in _CPTR, as c_ptr
program mpi_windows
	use, intrinsic :: iso_c_binding
	use mpi
	use ftest
	implicit none
	integer :: rank, nprocs, ierr, win, unit, model, node
	integer(MPI_ADDRESS_KIND) :: address, bytes, value
	integer, pointer :: memory(:)
	type(c_ptr) :: base
	logical :: flag

	call MPI_INIT(ierr)
	call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
	call MPI_COMM_SIZE(MPI_COMM_WORLD, nprocs, ierr)

	call MPI_WIN_ALLOCATE(8_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, &
		MPI_COMM_WORLD, base, win, ierr)
	call MPI_WIN_GET_ATTR(win, MPI_WIN_BASE, value, flag, ierr)
	call check(flag .and. value == transfer(base, value), 'as c_ptr')
	call c_f_pointer(base, memory, [2])
	memory = 0
	call MPI_WIN_FENCE(0, win, ierr)
	call MPI_ACCUMULATE(1, 1, MPI_INTEGER, 0, 1_MPI_ADDRESS_KIND, 1, &
		MPI_INTEGER, MPI_SUM, win, ierr)
	call MPI_WIN_FENCE(0, win, ierr)
	call check(rank /= 0 .or. memory(2) == nprocs, 'all have added one')
	call MPI_WIN_SHARED_QUERY(win, rank, bytes, unit, base, ierr)
	call check(bytes == 8 .and. unit == 4 .and. &
		value == transfer(base, value), 'queried as c_ptr')
	call MPI_WIN_SHARED_QUERY(win, rank, bytes, unit, address, ierr)
	call check(address == value, 'queried as an integer')
	call MPI_WIN_FREE(win, ierr)

	call MPI_WIN_ALLOCATE(8_MPI_ADDRESS_KIND, 1, MPI_INFO_NULL, &
		MPI_COMM_WORLD, address, win, ierr)
	call MPI_WIN_GET_ATTR(win, MPI_WIN_BASE, value, flag, ierr)
	call check(flag .and. value == address, 'as an integer')
	call MPI_WIN_GET_ATTR(win, MPI_WIN_MODEL, value, flag, ierr)
	model = int(value)
	call check(model == MPI_WIN_UNIFIED .or. model == MPI_WIN_SEPARATE, &
		'the model')
	call MPI_WIN_FREE(win, ierr)
	call check(win == MPI_WIN_NULL, 'the handle is null')

	call MPI_COMM_SPLIT(MPI_COMM_WORLD, rank, 0, node, ierr)
	call MPI_WIN_ALLOCATE_SHARED(8_MPI_ADDRESS_KIND, 1, MPI_INFO_NULL, &
		node, base, win, ierr)
	call MPI_WIN_GET_ATTR(win, MPI_WIN_BASE, value, flag, ierr)
	call check(value == transfer(base, value), 'shared, as c_ptr')
	call MPI_WIN_FREE(win, ierr)
	call MPI_WIN_ALLOCATE_SHARED(8_MPI_ADDRESS_KIND, 1, MPI_INFO_NULL, &
		node, address, win, ierr)
	call MPI_WIN_GET_ATTR(win, MPI_WIN_BASE, value, flag, ierr)
	call check(value == address, 'shared, as an integer')
	call MPI_WIN_FREE(win, ierr)
	call MPI_COMM_FREE(node, ierr)
	call MPI_FINALIZE(ierr)
	call done('mpi_windows')
end program
