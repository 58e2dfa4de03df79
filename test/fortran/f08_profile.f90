! SPDX-License-Identifier: BSD-3-Clause
! f08_profile: known calls, for test/launch/profile.test
program f08_profile
	use mpi_f08
	implicit none
	integer :: rank, size, ierror

	call MPI_Init(ierror)
	call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
	call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
	call make_calls()
	call MPI_Finalize(ierror)
contains
subroutine make_calls()
	type(MPI_Request) :: requests(2)
	integer :: i, n, done, indices(2), ierror
	double precision :: sent, got

	sent = rank
	do i = 1, 10
		call MPI_Irecv(got, 1, MPI_DOUBLE_PRECISION, modulo(rank - 1, size), &
			0, MPI_COMM_WORLD, requests(1), ierror)
		call MPI_Isend(sent, 1, MPI_DOUBLE_PRECISION, modulo(rank + 1, size), &
			0, MPI_COMM_WORLD, requests(2), ierror)
		done = 0
		do while (done < 2)
			call MPI_Waitsome(2, requests, n, indices, &
				MPI_STATUSES_IGNORE, ierror)
			done = done + n
		end do
		if (got /= modulo(rank - 1, size)) error stop 1
	end do
end subroutine
end program
