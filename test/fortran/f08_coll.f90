! SPDX-License-Identifier: BSD-3-Clause
! f08_coll: collectives and Fortran datatypes from mpi_f08
program f08_coll
	use mpi_f08
	use ftest
	implicit none
	integer :: rank, n, i
	type(MPI_Comm) :: comm

	call MPI_Init()
	comm = MPI_COMM_WORLD
	call MPI_Comm_rank(comm, rank)
	call MPI_Comm_size(comm, n)
	call moved()
	call reduced()
	call each_its_type()
	call later()
	call pairs()
	call made_to_measure()
	call MPI_Finalize()
	call done('f08_coll')
contains
	subroutine moved()
		integer :: a(3), all3(3, n), counts(n), displs(n), m(4, 4)

		a = merge([1, 2, 3], 0, rank == 0)
		call MPI_Bcast(a, 3, MPI_INTEGER, 0, comm)
		call check(all(a == [1, 2, 3]), 'broadcast')
		m = rank
		call MPI_Bcast(m(2, 1:4:2), 2, MPI_INTEGER, n - 1, comm)
		call check(all(m(2, 1:4:2) == n - 1) .and. &
			count(m == rank) == merge(16, 14, rank == n - 1), &
			'into a section')
		a = rank
		call MPI_Allgather(a, 3, MPI_INTEGER, all3, 3, MPI_INTEGER, comm)
		call check(all(all3 == spread([(i, i=0, n - 1)], 1, 3)), 'gathered')
		all3 = -1
		all3(:, rank + 1) = rank
		call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all3, 3, &
			MPI_INTEGER, comm)
		call check(all(all3 == spread([(i, i=0, n - 1)], 1, 3)), 'in place')
		counts = [(1, i=1, n)]
		displs = [(3 * (n - i), i=1, n)]
		all3 = -1
		call MPI_Allgatherv(rank, 1, MPI_INTEGER, all3, counts, displs, &
			MPI_INTEGER, comm)
		call check(all(all3(1, :) == [(n - i, i=1, n)]) .and. &
			all(all3(2:, :) == -1), 'gathered where they belong')
	end subroutine

	! every Fortran type with the operations that are defined on it
	subroutine reduced()
		integer :: i4
		integer(1) :: i1
		integer(8) :: i8
		real :: r
		double precision :: d
		real(16) :: q
		complex :: c
		complex(8) :: z
		logical :: l, any_l
		character :: ch(n)
		integer :: bits(4)

		call MPI_Allreduce(rank + 1, i4, 1, MPI_INTEGER, MPI_PROD, comm)
		call check(i4 == product([(i, i=1, n)]), 'MPI_INTEGER')
		call MPI_Allreduce(int(rank, 1), i1, 1, MPI_INTEGER1, MPI_MAX, comm)
		call check(i1 == n - 1, 'MPI_INTEGER1')
		call MPI_Allreduce(rank * 10000000000_8, i8, 1, MPI_INTEGER8, &
			MPI_MAX, comm)
		call check(i8 == (n - 1) * 10000000000_8, 'MPI_INTEGER8')
		call MPI_Allreduce(rank + .5, r, 1, MPI_REAL, MPI_SUM, comm)
		call check(r == sum([(i + .5, i=0, n - 1)]), 'MPI_REAL')
		call MPI_Allreduce(rank + .5d0, d, 1, MPI_DOUBLE_PRECISION, MPI_MIN, &
			comm)
		call check(d == .5d0, 'MPI_DOUBLE_PRECISION')
		call MPI_Allreduce(rank + .5_16, q, 1, MPI_REAL16, MPI_SUM, comm)
		call check(q == sum([(i + .5_16, i=0, n - 1)]), 'MPI_REAL16')
		call MPI_Allreduce(cmplx(0, 1), c, 1, MPI_COMPLEX, MPI_PROD, comm)
		call check(abs(c - cmplx(0, 1)**n) < 1e-6, 'MPI_COMPLEX')
		call MPI_Allreduce(cmplx(1d0, rank, 8), z, 1, MPI_DOUBLE_COMPLEX, &
			MPI_SUM, comm)
		call check(z == cmplx(n, n * (n - 1) / 2, 8), 'MPI_DOUBLE_COMPLEX')
		call MPI_Allreduce(rank == 0, l, 1, MPI_LOGICAL, MPI_LAND, comm)
		call MPI_Allreduce(rank == 0, any_l, 1, MPI_LOGICAL, MPI_LOR, comm)
		call check((l .eqv. n == 1) .and. any_l, 'MPI_LOGICAL')
		call MPI_Allgather(achar(65 + rank), 1, MPI_CHARACTER, ch, 1, &
			MPI_CHARACTER, comm)
		call check(all(ch == [(achar(64 + i), i=1, n)]), 'MPI_CHARACTER')
		bits = 0
		call MPI_Allreduce(ibset(0, rank), bits(2), 1, MPI_INTEGER, MPI_BOR, &
			comm)
		call check(bits(2) == 2**n - 1, 'bits')
		bits = rank
		call MPI_Allreduce(MPI_IN_PLACE, bits(1:4:3), 2, MPI_INTEGER, &
			MPI_SUM, comm)
		call check(all(bits == [n * (n - 1) / 2, rank, rank, &
			n * (n - 1) / 2]), 'a section, in place')
	end subroutine

	subroutine each_its_type()
		integer :: out(n), in(n), counts(n), displs(n)
		type(MPI_Datatype) :: types(n)
		type(MPI_Request) :: request

		out = [(100 * rank + i, i=1, n)]
		counts = 1
		displs = [(4 * (i - 1), i=1, n)]
		types = MPI_INTEGER
		in = -1
		call MPI_Alltoallw(out, counts, displs, types, in, counts, displs, &
			types, comm)
		call check(all(in == [(100 * (i - 1) + rank + 1, i=1, n)]), &
			'arrays of datatypes')
		in = -1
		call MPI_Ialltoallw(out, counts, displs, types, in, counts, displs, &
			types, comm, request)
		call MPI_Wait(request, MPI_STATUS_IGNORE)
		call MPI_F_sync_reg(in)
		call check(all(in == [(100 * (i - 1) + rank + 1, i=1, n)]), &
			'and without waiting')
	end subroutine

	subroutine later()
		type(MPI_Request) :: requests(2), persistent
		type(MPI_Comm) :: dup
		integer, asynchronous :: a, b

		b = -1
		a = rank
		call MPI_Ibarrier(comm, requests(1))
		call MPI_Iallreduce(a, b, 1, MPI_INTEGER, MPI_SUM, comm, requests(2))
		call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
		call MPI_F_sync_reg(b)
		call check(b == n * (n - 1) / 2, 'two collectives at once')
		call MPI_Allreduce_init(a, b, 1, MPI_INTEGER, MPI_MAX, comm, &
			MPI_INFO_NULL, persistent)
		do i = 1, 3
			a = i * rank
			call MPI_F_sync_reg(a)
			call MPI_Start(persistent)
			call MPI_Wait(persistent, MPI_STATUS_IGNORE)
			call MPI_F_sync_reg(b)
			call check(b == i * (n - 1), 'a persistent collective')
		end do
		call MPI_Request_free(persistent)
		call MPI_Comm_idup(comm, dup, requests(1))
		call MPI_Waitall(1, requests, MPI_STATUSES_IGNORE)
		call MPI_F_sync_reg(dup)
		call check(dup /= MPI_COMM_NULL .and. dup /= comm, &
			'a duplicate is there when its request is over')
		call MPI_Barrier(dup)
		call MPI_Comm_free(dup)
	end subroutine

	subroutine pairs()
		integer :: mine(2), best(2)
		double precision :: dm(2), db(2)

		mine = [mod(rank + 1, n), rank]
		call MPI_Allreduce(mine, best, 1, MPI_2INTEGER, MPI_MAXLOC, comm)
		call check(best(1) == n - 1 .and. mod(best(2) + 1, n) == n - 1, &
			'MPI_2INTEGER')
		dm = [dble(-rank), dble(rank)]
		call MPI_Allreduce(dm, db, 1, MPI_2DOUBLE_PRECISION, MPI_MINLOC, comm)
		call check(all(db == [dble(1 - n), dble(n - 1)]), &
			'MPI_2DOUBLE_PRECISION')
	end subroutine

	subroutine made_to_measure()
		type(MPI_Datatype) :: type
		integer :: size
		integer, parameter :: long = selected_real_kind(15, 307)
		real(long) :: x, y

		call MPI_Type_create_f90_real(15, 307, type)
		call MPI_Type_size(type, size)
		x = rank
		call MPI_Allreduce(x, y, 1, type, MPI_SUM, comm)
		call check(size == 8 .and. y == n * (n - 1) / 2, &
			'a type by its precision')
		call MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, type)
		call MPI_Type_size(type, size)
		call check(size == 16, 'a type by its size')
	end subroutine
end program
