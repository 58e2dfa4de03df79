! SPDX-License-Identifier: BSD-3-Clause
! mpi_world: the older module, with the World and with sessions
program mpi_world
	use mpi
	use ftest
	use, intrinsic :: iso_c_binding, only: c_associated, c_f_pointer, c_ptr
	implicit none
	integer :: ierr, rank, nprocs

	call sessions()
	call MPI_INIT(ierr)
	call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
	call MPI_COMM_SIZE(MPI_COMM_WORLD, nprocs, ierr)
	call messages()
	call memory()
	call duplicates()
	call infos()
	call old_attributes()
	call grids()
	call agreements()
	call MPI_FINALIZE(ierr)
	call done('mpi_world')
contains
	subroutine agreements()
		integer, asynchronous :: bits, comm
		integer :: request, n

		bits = not(ishft(1, rank))
		call MPIX_COMM_AGREE(MPI_COMM_WORLD, bits, ierr)
		call check(ierr == MPI_SUCCESS .and. &
			bits == not(ishft(1, nprocs) - 1), 'agree')
		bits = rank
		call MPIX_COMM_IAGREE(MPI_COMM_WORLD, bits, request, ierr)
		call MPI_WAIT(request, MPI_STATUS_IGNORE, ierr)
		call check(ierr == MPI_SUCCESS .and. bits == 0, 'iagree')
		call MPIX_COMM_SHRINK(MPI_COMM_WORLD, comm, ierr)
		call MPI_COMM_SIZE(comm, n, ierr)
		call check(ierr == MPI_SUCCESS .and. n == nprocs, 'shrink')
		call MPI_COMM_FREE(comm, ierr)
		call MPIX_COMM_ISHRINK(MPI_COMM_WORLD, comm, request, ierr)
		call MPI_WAIT(request, MPI_STATUS_IGNORE, ierr)
		call MPI_COMM_SIZE(comm, n, ierr)
		call check(ierr == MPI_SUCCESS .and. n == nprocs, 'ishrink')
		call MPI_COMM_FREE(comm, ierr)
	end subroutine

	subroutine sessions()
		integer :: s, group, comm

		call MPI_SESSION_INIT(INFO=MPI_INFO_NULL, SESSION=s, &
			ERRHANDLER=MPI_ERRORS_RETURN, IERROR=ierr)
		call check(ierr == MPI_SUCCESS .and. s /= MPI_SESSION_NULL, &
			'S6 init from the module mpi')
		call MPI_GROUP_FROM_SESSION_PSET(s, 'mpi://SELF', group, ierr)
		call MPI_COMM_CREATE_FROM_GROUP(group, 'mine', MPI_INFO_NULL, &
			MPI_ERRORS_RETURN, comm, ierr)
		call check(ierr == MPI_SUCCESS, 'S66 a communicator of one')
		call MPI_GROUP_FREE(group, ierr)
		call MPI_COMM_DISCONNECT(comm, ierr)
		call check(comm == MPI_COMM_NULL, 'S98 S101 disconnect')
		call MPI_SESSION_FINALIZE(s, ierr)
		call check(ierr == MPI_SUCCESS .and. s == MPI_SESSION_NULL, &
			'S27 S30 finalize')
	end subroutine

	! its address as an integer, and as a pointer
	subroutine memory()
		integer(kind=MPI_ADDRESS_KIND) :: place, size = 40, none = 0
		type(c_ptr) :: pointer_to
		integer, pointer :: a(:)

		call MPI_ALLOC_MEM(size, MPI_INFO_NULL, pointer_to, ierr)
		call check(ierr == MPI_SUCCESS .and. c_associated(pointer_to), &
			'memory by a pointer')
		call c_f_pointer(pointer_to, a, [10])
		a = 7
		call MPI_ALLOC_MEM(size, MPI_INFO_NULL, place, ierr)
		call check(ierr == MPI_SUCCESS .and. place /= none, &
			'memory by an integer')
		call check(place /= transfer(pointer_to, place) .and. &
			all(a == 7), 'they are two places')
		call MPI_FREE_MEM(a, ierr)
		call check(ierr == MPI_SUCCESS, 'is freed')
		call c_f_pointer(transfer(place, pointer_to), a, [10])
		call MPI_FREE_MEM(a, ierr)
		call check(ierr == MPI_SUCCESS, 'the other, too')
	end subroutine

	subroutine messages()
		integer :: requests(4), statuses(MPI_STATUS_SIZE, 4), i, index
		integer :: status(MPI_STATUS_SIZE), indices(4), n, left, right
		type(MPI_Status) :: f08
		double precision :: in(2, 2), out(2, 2)
		character(len=12) :: text
		logical :: flag

		left = mod(rank + nprocs - 1, nprocs)
		right = mod(rank + 1, nprocs)
		out = reshape([1d0, 2d0, 3d0, 4d0], [2, 2]) + rank
		do i = 1, 2
			call MPI_IRECV(in(:, i), 2, MPI_DOUBLE_PRECISION, left, i, &
				MPI_COMM_WORLD, requests(i), ierr)
			call MPI_ISEND(out(:, i), 2, MPI_DOUBLE_PRECISION, right, &
				i, MPI_COMM_WORLD, requests(i + 2), ierr)
		end do
		call MPI_WAITALL(4, requests, statuses, ierr)
		call MPI_F_SYNC_REG(in)
		call check(all(in == reshape([1d0, 2d0, 3d0, 4d0], [2, 2]) + left), &
			'four requests together')
		call check(statuses(MPI_TAG, 2) == 2, 'their statuses')
		call check(all(requests == MPI_REQUEST_NULL), 'and their end')
		call MPI_WAITANY(4, requests, index, status, ierr)
		call check(index == MPI_UNDEFINED, 'none is left')

		call MPI_IRECV(n, 1, MPI_INTEGER, left, 9, MPI_COMM_WORLD, &
			requests(3), ierr)
		call MPI_SEND(rank, 1, MPI_INTEGER, right, 9, MPI_COMM_WORLD, ierr)
		call MPI_WAITANY(4, requests, index, status, ierr)
		call MPI_F_SYNC_REG(n)
		call check(index == 3 .and. n == left, 'the third, counted from 1')
		call MPI_IRECV(n, 1, MPI_INTEGER, left, 9, MPI_COMM_WORLD, &
			requests(2), ierr)
		call MPI_SEND(rank, 1, MPI_INTEGER, right, 9, MPI_COMM_WORLD, ierr)
		call MPI_WAITSOME(4, requests, i, indices, MPI_STATUSES_IGNORE, ierr)
		call check(i == 1 .and. indices(1) == 2, 'one, the second')
		call MPI_TESTALL(4, requests, flag, MPI_STATUSES_IGNORE, ierr)
		call check(flag, 'all done')
		call MPI_SENDRECV('hello world!', 12, MPI_CHARACTER, right, 1, text, &
			12, MPI_CHARACTER, left, 1, MPI_COMM_WORLD, &
			MPI_STATUS_IGNORE, ierr)
		call check(text == 'hello world!', 'text in both directions')
		call MPI_STATUS_F2F08(statuses(:, 1), f08, ierr)
		call check(f08%MPI_SOURCE == left .and. f08%MPI_TAG == 1, &
			'a status as the derived type')
		status = 0
		call MPI_STATUS_F082F(f08, status, ierr)
		call check(all(status == statuses(:, 1)), 'and back')
	end subroutine

	subroutine duplicates()
		integer :: dup, request, size

		call MPI_COMM_IDUP(MPI_COMM_WORLD, dup, request, ierr)
		call MPI_WAIT(request, MPI_STATUS_IGNORE, ierr)
		call MPI_F_SYNC_REG(dup)
		call check(dup /= MPI_COMM_NULL, 'idup writes when it is done')
		call MPI_COMM_SIZE(dup, size, ierr)
		call check(size == nprocs, 'a communicator')
		call MPI_COMM_FREE(dup, ierr)
		call MPI_COMM_SPLIT(MPI_COMM_WORLD, rank, 0, dup, ierr)
		call MPI_COMM_SIZE(dup, size, ierr)
		call check(size == 1, 'split into ones')
		call MPI_COMM_FREE(dup, ierr)
	end subroutine

	subroutine infos()
		integer :: info, n
		character(len=10) :: value
		logical :: flag

		call MPI_INFO_CREATE(info, ierr)
		call MPI_INFO_SET(info, ' key ', '  a value  ', ierr)
		call MPI_INFO_GET(info, 'key', 10, value, flag, ierr)
		call check(flag .and. value == 'a value', 'blanks around do not count')
		call MPI_INFO_GET_NTHKEY(info, 0, value, ierr)
		call check(value == 'key', 'also in the key')
		call MPI_INFO_GET(info, 'none', 10, value, flag, ierr)
		call check(.not. flag .and. value == 'key', 'no such key')
		call MPI_INFO_GET_NKEYS(info, n, ierr)
		call check(n == 1, 'one key')
		call MPI_INFO_FREE(info, ierr)
	end subroutine

	subroutine old_attributes()
		integer :: key, value, dup
		logical :: flag

		call MPI_KEYVAL_CREATE(MPI_DUP_FN, MPI_NULL_DELETE_FN, key, 5, ierr)
		call MPI_ATTR_PUT(MPI_COMM_WORLD, key, -17, ierr)
		call MPI_COMM_DUP(MPI_COMM_WORLD, dup, ierr)
		call MPI_ATTR_GET(dup, key, value, flag, ierr)
		call check(flag .and. value == -17, 'MPI_DUP_FN copies an integer')
		call MPI_COMM_FREE(dup, ierr)
		call MPI_ATTR_DELETE(MPI_COMM_WORLD, key, ierr)
		call MPI_KEYVAL_FREE(key, ierr)
		call check(key == MPI_KEYVAL_INVALID, 'a freed key')
	end subroutine

	subroutine grids()
		integer :: grid, dims(1), coords(1), source, dest
		logical :: periods(1)

		dims = 0
		call MPI_DIMS_CREATE(nprocs, 1, dims, ierr)
		call MPI_CART_CREATE(MPI_COMM_WORLD, 1, dims, [.true.], .false., &
			grid, ierr)
		periods = .false.
		call MPI_CART_GET(grid, 1, dims, periods, coords, ierr)
		call check(periods(1) .and. coords(1) == rank, 'a ring')
		call MPI_CART_SHIFT(grid, 0, 1, source, dest, ierr)
		call check(dest == mod(rank + 1, nprocs), 'and my neighbour')
		call MPI_COMM_FREE(grid, ierr)
		call MPI_GRAPH_CREATE(MPI_COMM_SELF, 1, [0], [0], .false., grid, ierr)
		call check(ierr == MPI_SUCCESS, 'a graph')
		call MPI_COMM_FREE(grid, ierr)
		call MPI_DIST_GRAPH_CREATE(MPI_COMM_WORLD, 1, [rank], [1], &
			[mod(rank + 1, nprocs)], MPI_UNWEIGHTED, MPI_INFO_NULL, &
			.false., grid, ierr)
		call MPI_DIST_GRAPH_NEIGHBORS_COUNT(grid, source, dest, periods(1), &
			ierr)
		call check(source == 1 .and. dest == 1 .and. .not. periods(1), &
			'MPI_UNWEIGHTED is known by its address')
		call MPI_COMM_FREE(grid, ierr)
	end subroutine
end program
