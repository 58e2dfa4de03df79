! SPDX-License-Identifier: BSD-3-Clause
! f08_p2p: messages from mpi_f08: array sections, statuses, large counts, and
! the arguments that are known by their address
program f08_p2p
	use mpi_f08
	use, intrinsic :: iso_c_binding
	use ftest
	implicit none
	integer :: rank, nprocs, other
	type(MPI_Comm) :: comm

	call MPI_Init()
	comm = MPI_COMM_WORLD
	call MPI_Comm_rank(comm, rank)
	call MPI_Comm_size(comm, nprocs)
	other = ieor(rank, 1)
	if (other >= nprocs) other = MPI_PROC_NULL
	call plain()
	call sections()
	call staying()
	call refused()
	call large_counts()
	call many()
	call addresses()
	call persistent()
	call partitioned()
	call packed()
	call probes()
	call buffered()
	call kept()
	call MPI_Finalize()
	call done('f08_p2p')
contains
	subroutine plain()
		integer :: a(4), b(4), n, ierror
		real :: x
		character(len=5) :: text
		type(MPI_Status) :: status
		type(MPI_Request) :: request

		a = [1, 2, 3, 4] + 10 * rank
		b = 0
		call MPI_Irecv(b, 4, MPI_INTEGER, other, 3, comm, request, ierror)
		call check(ierror == MPI_SUCCESS .and. request /= MPI_REQUEST_NULL, &
			'a receive begins')
		call MPI_Send(a, 4, MPI_INTEGER, other, 3, comm)
		call MPI_Wait(request, status, ierror)
		call MPI_F_sync_reg(b)
		call check(all(b == [1, 2, 3, 4] + 10 * other), 'four integers')
		call check(status%MPI_SOURCE == other .and. status%MPI_TAG == 3, &
			'who sent them')
		call check(request == MPI_REQUEST_NULL, 'the request is over')
		call MPI_Get_count(status, MPI_INTEGER, n)
		call check(n == 4, 'how many')
		call MPI_Sendrecv(real(rank), 1, MPI_REAL, other, 1, x, 1, MPI_REAL, &
			other, 1, comm, MPI_STATUS_IGNORE)
		call check(x == real(other), 'a scalar, sent as an expression')
		text = 'ab de'
		call MPI_Sendrecv_replace(text, 5, MPI_CHARACTER, other, 1, other, &
			1, comm, MPI_STATUS_IGNORE)
		call check(text == 'ab de', 'text')
	end subroutine

	subroutine sections()
		integer :: a(6, 5), b(6, 5), i, j
		integer :: wanted(6, 5)

		a = reshape([((i + 100 * j + 1000 * rank, i=1, 6), j=1, 5)], [6, 5])
		b = -1
		wanted = -1
		wanted(1:6:2, 2:4) = a(2:6:2, 1:5:2) + 1000 * (other - rank)
		call MPI_Sendrecv(a(2:6:2, 1:5:2), 9, MPI_INTEGER, other, 1, &
			b(1:6:2, 2:4), 9, MPI_INTEGER, other, 1, comm, &
			MPI_STATUS_IGNORE)
		call check(all(b == wanted), 'a section with gaps into another')
		b = -1
		wanted = -1
		wanted(5:1:-1, 3) = a(1, :) + 1000 * (other - rank)
		call MPI_Sendrecv(a(1, :), 5, MPI_INTEGER, other, 1, b(5:1:-1, 3), 5, &
			MPI_INTEGER, other, 1, comm, MPI_STATUS_IGNORE)
		call check(all(b == wanted), 'a row into a column, backwards')
		b = -1
		call MPI_Sendrecv(a(:, 2), 2, MPI_INTEGER, other, 1, b(3, :), 5, &
			MPI_INTEGER, other, 1, comm, MPI_STATUS_IGNORE)
		call check(b(3, 2) == a(2, 2) + 1000 * (other - rank) .and. &
			b(3, 3) == -1, 'what did not arrive stays')
	end subroutine

	! nonblocking calls: the elements are not copied
	subroutine staying()
		integer :: wanted(6, 5), n, k, i, j
		integer, asynchronous :: a(6, 5), b(6, 5)
		type(MPI_Request) :: requests(2)
		type(MPI_Status) :: statuses(2)

		a = reshape([((i + 100 * j + 1000 * rank, i=1, 6), j=1, 5)], [6, 5])
		b = -1
		wanted = -1
		wanted(5:1:-2, 2:4) = a(2:6:2, 1:5:2) + 1000 * (other - rank)
		call MPI_Irecv(b(5:1:-2, 2:4), 9, MPI_INTEGER, other, 1, comm, &
			requests(1))
		call MPI_Isend(a(2:6:2, 1:5:2), 9, MPI_INTEGER, other, 1, comm, &
			requests(2))
		call MPI_Waitall(2, requests, statuses)
		call MPI_Get_count(statuses(1), MPI_INTEGER, n)
		call check(all(b == wanted) .and. n == 9, 'both have gaps and stay')
		b = -1
		wanted = -1
		wanted(1:6:2, 2) = a(3, 1:3) + 1000 * (other - rank)
		wanted(1, 4) = a(3, 4) + 1000 * (other - rank)
		call MPI_Recv_init(b(1:6:2, 2:4:2), 4_MPI_COUNT_KIND, MPI_INTEGER, &
			other, 1, comm, requests(1))
		call MPI_Send_init(a(3, :), 4, MPI_INTEGER, other, 1, comm, &
			requests(2))
		do k = 1, 2
			b = -1
			call MPI_Startall(2, requests)
			call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
			call check(all(b == wanted), 'some elements, twice')
		end do
		call MPI_Request_free(requests(1))
		call MPI_Request_free(requests(2))
		b = rank
		call MPI_Ibcast(b(2, :), 5, MPI_INTEGER, 1, comm, requests(1))
		call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
		call check(all(b(2, :) == 1) .and. all(b(1, :) == rank), &
			'a row is broadcast')
	end subroutine

	subroutine refused()
		integer :: a(4), b(4), ierror, class
		type(MPI_Request) :: request

		call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
		call check(.not. MPI_SUBARRAYS_SUPPORTED, 'it is said so')
		a = 0
		call MPI_Iallreduce(a(::2), b, 2, MPI_INTEGER, MPI_SUM, comm, &
			request, ierror)
		call MPI_Error_class(ierror, class)
		! request is undefined after it
		call check(class == MPI_ERR_BUFFER, &
			'operands with gaps cannot stay where they are')
		call MPI_Isend(a(::2), 1, MPI_2INTEGER, MPI_PROC_NULL, 1, comm, &
			request, ierror)
		call MPI_Error_class(ierror, class)
		call check(class == MPI_ERR_BUFFER, 'nor items of two elements')
		call MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL)
		call MPI_Isend(a(2:3), 2, MPI_INTEGER, MPI_PROC_NULL, 1, comm, &
			request, ierror)
		call check(ierror == MPI_SUCCESS, 'one without gaps can')
		call MPI_Wait(request, MPI_STATUS_IGNORE)
	end subroutine

	subroutine large_counts()
		integer :: a(3), b(3)
		integer(MPI_COUNT_KIND) :: n, lb, extent
		type(MPI_Status) :: status
		type(MPI_Datatype) :: type, part

		n = 3
		a = rank
		call MPI_Sendrecv(a, n, MPI_INTEGER, other, 1, b, n, MPI_INTEGER, &
			other, 1, comm, status)
		n = 0
		call MPI_Get_count(status, MPI_INTEGER, n)
		call check(all(b == other) .and. n == 3, 'counts of the large kind')
		call MPI_Type_contiguous(1000000_MPI_COUNT_KIND, MPI_REAL8, part)
		call MPI_Type_contiguous(1000000_MPI_COUNT_KIND, part, type)
		call MPI_Type_free(part)
		call MPI_Type_size(type, n)
		call check(n == 8000000000000_8, 'a large type')
		call MPI_Type_get_extent_c(type, lb, extent)
		call check(lb == 0 .and. extent == n, 'its extent')
		call MPI_Type_free(type)
		call check(type == MPI_DATATYPE_NULL, 'a freed type')
	end subroutine

	subroutine many()
		type(MPI_Request) :: requests(5)
		type(MPI_Status) :: statuses(5), status
		integer :: data(5), i, index, n, indices(5), got
		logical :: flag, seen(5)

		do i = 1, 5
			call MPI_Irecv(data(i), 1, MPI_INTEGER, other, i, comm, &
				requests(i))
		end do
		do i = 1, 5
			call MPI_Send(i * i, 1, MPI_INTEGER, other, i, comm)
		end do
		seen = .false.
		call MPI_Waitany(5, requests, index, status)
		seen(index) = .true.
		call check(status%MPI_TAG == index .and. &
			requests(index) == MPI_REQUEST_NULL, 'any: counted from 1')
		got = 1
		do while (got < 5)
			call MPI_Waitsome(5, requests, n, indices, statuses)
			do i = 1, n
				call check(statuses(i)%MPI_TAG == indices(i), &
					'some: counted from 1')
				seen(indices(i)) = .true.
			end do
			got = got + n
		end do
		call MPI_F_sync_reg(data)
		call check(all(seen) .and. all(data == [1, 4, 9, 16, 25]), 'all came')
		call MPI_Testany(5, requests, index, flag, MPI_STATUS_IGNORE)
		call check(flag .and. index == MPI_UNDEFINED, 'none is left')
		call MPI_Waitall(5, requests, MPI_STATUSES_IGNORE)
	end subroutine

	subroutine addresses()
		integer, target :: a(2), b(2)
		integer(MPI_ADDRESS_KIND) :: where(2), apart
		type(MPI_Datatype) :: type, back(2)
		integer :: integers(4), combiner, n(3)
		integer(MPI_ADDRESS_KIND) :: places(2)

		a = rank + 1
		b = rank + 5
		call MPI_Get_address(a, where(1))
		call MPI_Get_address(b, where(2))
		apart = MPI_Aint_diff(where(2), where(1))
		call check(MPI_Aint_add(where(1), apart) == where(2), 'addresses add')
		call MPI_Type_create_struct(2, [2, 2], where, &
			[MPI_INTEGER, MPI_INTEGER], type)
		call MPI_Type_commit(type)
		call MPI_Sendrecv_replace(MPI_BOTTOM, 1, type, other, 1, other, 1, &
			comm, MPI_STATUS_IGNORE)
		call MPI_F_sync_reg(a)
		call MPI_F_sync_reg(b)
		call check(all(a == other + 1) .and. all(b == other + 5), &
			'MPI_BOTTOM is known by its address')
		call MPI_Type_get_envelope(type, n(1), n(2), n(3), combiner)
		call check(combiner == MPI_COMBINER_STRUCT .and. all(n == [3, 2, 2]), &
			'what it was made of')
		call MPI_Type_get_contents(type, 4, 2, 2, integers, places, back)
		call check(all(places == where) .and. all(back == MPI_INTEGER), &
			'the parts')
		call MPI_Type_free(type)
	end subroutine

	subroutine persistent()
		type(MPI_Request) :: requests(2)
		integer, asynchronous :: in, out
		integer :: i

		call MPI_Recv_init(in, 1, MPI_INTEGER, other, 1, comm, requests(1))
		call MPI_Send_init(out, 1, MPI_INTEGER, other, 1, comm, requests(2))
		do i = 1, 3
			out = 10 * rank + i
			call MPI_F_sync_reg(out)
			call MPI_Startall(2, requests)
			call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
			call MPI_F_sync_reg(in)
			call check(in == 10 * other + i, 'a persistent request')
		end do
		call MPI_Request_free(requests(1))
		call MPI_Request_free(requests(2))
		call check(all([requests(1)%MPI_VAL, requests(2)%MPI_VAL] == &
			MPI_REQUEST_NULL%MPI_VAL), 'freed')
	end subroutine

	subroutine partitioned()
		type(MPI_Request) :: requests(2)
		integer, asynchronous :: in(6), out(6)
		integer :: ierror, class
		integer(MPI_COUNT_KIND), parameter :: wrong = -2_MPI_COUNT_KIND**32

		in = -1
		out = rank
		call MPI_Precv_init(in, 2, 3_MPI_COUNT_KIND, MPI_INTEGER, other, 1, &
			comm, MPI_INFO_NULL, requests(1))
		call MPI_Psend_init(out, 3, 2_MPI_COUNT_KIND, MPI_INTEGER, other, 1, &
			comm, MPI_INFO_NULL, requests(2))
		call MPI_Startall(2, requests)
		call MPI_Pready_range(0, 2, requests(2))
		call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
		call MPI_F_sync_reg(in)
		call check(all(in == other), 'all partitions arrive')
		call MPI_Request_free(requests(1))
		call MPI_Request_free(requests(2))
		call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
		call MPI_Psend_init(out, 1, wrong, MPI_INTEGER, other, 1, comm, &
			MPI_INFO_NULL, requests(1), ierror)
		call MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL)
		call MPI_Error_class(ierror, class)
		call check(class == MPI_ERR_COUNT, 'the count has 64 bits')
	end subroutine

	subroutine packed()
		character(len=64) :: space
		integer :: position, n
		integer(MPI_ADDRESS_KIND) :: at, size
		real(8) :: x

		position = 0
		call MPI_Pack(7, 1, MPI_INTEGER, space, 64, position, comm)
		call MPI_Pack(2.5d0, 1, MPI_REAL8, space, 64, position, comm)
		call check(position == 12, 'twelve bytes')
		position = 0
		call MPI_Unpack(space, 64, position, n, 1, MPI_INTEGER, comm)
		call MPI_Unpack(space, 64, position, x, 1, MPI_REAL8, comm)
		call check(n == 7 .and. x == 2.5d0, 'packed and unpacked')
		call MPI_Pack_external_size('external32', 1, MPI_INTEGER, size)
		at = 0
		call MPI_Pack_external('external32 ', 1, 1, MPI_INTEGER, space, &
			64_MPI_ADDRESS_KIND, at)
		call check(size == 4 .and. at == 4 .and. &
			space(1:4) == achar(0)//achar(0)//achar(0)//achar(1), &
			'external32 has the large end first')
	end subroutine

	subroutine probes()
		type(MPI_Status) :: status
		type(MPI_Message) :: message
		type(MPI_Request) :: request
		integer :: n, got
		logical :: flag

		call MPI_Isend(rank, 1, MPI_INTEGER, other, 8, comm, request)
		call MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, message, status)
		call check(status%MPI_TAG == 8 .and. message /= MPI_MESSAGE_NULL, &
			'a message is found')
		call MPI_Mrecv(got, 1, MPI_INTEGER, message, status)
		call MPI_Get_elements(status, MPI_INTEGER, n)
		call check(got == other .and. n == 1 .and. &
			message == MPI_MESSAGE_NULL, 'and received')
		call MPI_Wait(request, MPI_STATUS_IGNORE)
		call MPI_Iprobe(other, 8, comm, flag, MPI_STATUS_IGNORE)
		call check(.not. flag, 'there is no other')
		call MPI_Test_cancelled(status, flag)
		call check(.not. flag, 'nothing was cancelled')
	end subroutine

	subroutine buffered()
		character(len=1), allocatable, target :: space(:)
		integer :: n, got
		type(c_ptr) :: was

		allocate (space(4 * MPI_BSEND_OVERHEAD))
		call MPI_Buffer_attach(space, size(space))
		call MPI_Bsend(rank, 1, MPI_INTEGER, other, 4, comm)
		call MPI_Recv(got, 1, MPI_INTEGER, other, 4, comm, MPI_STATUS_IGNORE)
		call MPI_Buffer_detach(was, n)
		call check(got == other .and. n == size(space) .and. &
			c_associated(was, c_loc(space)), 'the buffer comes back')
	end subroutine

	subroutine kept()
		type(c_ptr) :: memory
		integer, pointer :: p(:)
		integer :: n

		call MPI_Alloc_mem(40_MPI_ADDRESS_KIND, MPI_INFO_NULL, memory)
		call c_f_pointer(memory, p, [10])
		p = rank
		call MPI_Sendrecv_replace(p, 10, MPI_INTEGER, other, 1, other, 1, &
			comm, MPI_STATUS_IGNORE)
		call check(all(p == other), 'memory of the library''s')
		call MPI_Free_mem(p)
		call MPI_Sizeof(1d0, n)
		call check(n == 8, 'the size of a number')
	end subroutine
end program
