C     SPDX-License-Identifier: BSD-3-Clause
C     mpif_sessions: sessions and the World from mpif.h, in fixed form
      program mpif_sessions
      use ftest
      implicit none
      include 'mpif.h'
      integer session, group, comm, ierr, rank, nprocs, total, i
      integer request, status(MPI_STATUS_SIZE), buf(4), twice(4)
      integer smaller
      integer*8 where, extra
      double precision t
      character*(MPI_MAX_OBJECT_NAME) name
      logical flag

      call MPI_SESSION_INIT(MPI_INFO_NULL, MPI_ERRORS_RETURN,
     &     session, ierr)
      call check(ierr .eq. MPI_SUCCESS .and.
     &     session .ne. MPI_SESSION_NULL, 'S6 init from mpif.h')
      call MPI_GROUP_FROM_SESSION_PSET(session, 'mpi://WORLD',
     &     group, ierr)
      call check(ierr .eq. MPI_SUCCESS, 'S66 a group from a set')
      call MPI_COMM_CREATE_FROM_GROUP(group, 'mpif', MPI_INFO_NULL,
     &     MPI_ERRORS_RETURN, comm, ierr)
      call check(ierr .eq. MPI_SUCCESS, 'S66 a communicator from it')
      call MPI_GROUP_FREE(group, ierr)
      call MPI_COMM_RANK(comm, rank, ierr)
      call MPI_COMM_SIZE(comm, nprocs, ierr)

      total = rank
      call MPI_ALLREDUCE(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM,
     &     comm, ierr)
      call check(total .eq. nprocs * (nprocs - 1) / 2,
     &     'MPI_IN_PLACE is known by its address')

      do i = 1, 4
         buf(i) = rank * 10 + i
      end do
      call MPI_IRECV(twice, 4, MPI_INTEGER, mod(rank + nprocs - 1,
     &     nprocs), 7, comm, request, ierr)
      call MPI_SEND(buf, 4, MPI_INTEGER, mod(rank + 1, nprocs), 7,
     &     comm, ierr)
      call MPI_WAIT(request, status, ierr)
      call check(request .eq. MPI_REQUEST_NULL, 'a wait ends a request')
      call check(status(MPI_SOURCE) .eq. mod(rank + nprocs - 1, nprocs)
     &     .and. status(MPI_TAG) .eq. 7, 'a status is an array')
      call check(twice(4) .eq. status(MPI_SOURCE) * 10 + 4, 'the data')
      call MPI_GET_COUNT(status, MPI_INTEGER, i, ierr)
      call check(i .eq. 4, 'the count')

      call MPI_GET_ADDRESS(buf, where, ierr)
      call MPI_GET_ADDRESS(buf(3), extra, ierr)
      call check(MPI_AINT_DIFF(extra, where) .eq. 8 .and.
     &     MPI_AINT_ADD(where, 8_8) .eq. extra, 'addresses')
      t = MPI_WTIME()
      call check(t .gt. 0 .and. MPI_WTIME() .ge. t .and.
     &     PMPI_WTICK() .gt. 0, 'time is a function')

      i = rank
      call MPIX_COMM_AGREE(comm, i, ierr)
      call check(ierr .eq. MPI_SUCCESS .and. i .eq. 0, 'agree')
      call MPIX_COMM_IAGREE(comm, i, request, ierr)
      call MPI_WAIT(request, MPI_STATUS_IGNORE, ierr)
      call check(ierr .eq. MPI_SUCCESS .and. i .eq. 0, 'iagree')
      call MPIX_COMM_SHRINK(comm, smaller, ierr)
      call MPI_COMM_SIZE(smaller, i, ierr)
      call check(ierr .eq. MPI_SUCCESS .and. i .eq. nprocs, 'shrink')
      call MPI_COMM_FREE(smaller, ierr)
      call MPIX_COMM_ISHRINK(comm, smaller, request, ierr)
      call MPI_WAIT(request, MPI_STATUS_IGNORE, ierr)
      call MPI_COMM_SIZE(smaller, i, ierr)
      call check(ierr .eq. MPI_SUCCESS .and. i .eq. nprocs, 'ishrink')
      call MPI_COMM_FREE(smaller, ierr)

      call MPI_COMM_DISCONNECT(comm, ierr)
      call check(ierr .eq. MPI_SUCCESS .and. comm .eq. MPI_COMM_NULL,
     &     'S98 S101 disconnect nulls the handle')
      call MPI_SESSION_FINALIZE(session, ierr)
      call check(ierr .eq. MPI_SUCCESS .and.
     &     session .eq. MPI_SESSION_NULL,
     &     'S27 S30 finalize nulls the handle')

      call MPI_INIT(ierr)
      call check(ierr .eq. MPI_SUCCESS, 'the World after a session')
      call MPI_COMM_GET_NAME(MPI_COMM_WORLD, name, i, ierr)
      call check(name .eq. 'MPI_COMM_WORLD' .and. i .eq. 14,
     &     'its name, filled with blanks')
      call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, MPI_TAG_UB, where, flag,
     &     ierr)
      call check(flag .and. where .ge. 32767,
     &     'a predefined attribute is a number')
      call MPI_BARRIER(MPI_COMM_WORLD, ierr)
      call MPI_FINALIZE(ierr)
      call check(ierr .eq. MPI_SUCCESS, 'and its end')
      call done('mpif_sessions')
      end
