! SPDX-License-Identifier: BSD-3-Clause
! f08_ft: failed processes and revocation from mpi_f08
program f08_ft
	use mpi_f08
	use ftest
	implicit none

	type(MPI_Comm) :: comm
	type(MPI_Group) :: group
	integer :: ierror, class, n, rank
	integer(kind=MPI_ADDRESS_KIND) :: value
	logical :: flag

	call MPI_Init(ierror)
	call MPI_Comm_dup(MPI_COMM_WORLD, comm)
	call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
	call MPI_Comm_rank(comm, rank)
	call MPIX_Comm_get_failed(comm, group, ierror)
	call check(ierror == MPI_SUCCESS, 'get_failed')
	call MPI_Group_size(group, n)
	call check(n == 0, 'no member has failed')
	n = -1
	call MPIX_Comm_ack_failed(comm, 3, n)
	call check(n == 0, 'no failure is acknowledged')
	call MPIX_Comm_is_revoked(comm, flag)
	call check(.not. flag, 'not revoked')
	call MPI_Comm_get_attr(comm, MPIX_FT, value, flag, ierror)
	call check(flag .and. value == 1, 'MPIX_FT with mpiexec --with-ft mpi')
	call MPI_Barrier(comm)
	if (rank == 0) call MPIX_Comm_revoke(comm, ierror)
	do
		call MPI_Barrier(comm, ierror)
		if (ierror /= MPI_SUCCESS) exit
	end do
	call MPI_Error_class(ierror, class)
	call check(class == MPIX_ERR_REVOKED, 'a barrier ends with its class')
	call PMPIX_Comm_is_revoked(comm, flag)
	call check(flag, 'revoked')
	call MPI_Comm_free(comm, ierror)
	call check(ierror == MPI_SUCCESS, 'freed')
	call MPI_Finalize(ierror)
	call done('f08_ft')
end program
