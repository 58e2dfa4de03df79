! SPDX-License-Identifier: BSD-3-Clause
! mpi_attrs: attributes set in one language and read in another (MPI 5.0,
! 19.3.7): in C, by the calls of MPI-1, by those with addresses
program mpi_attrs
	use, intrinsic :: iso_c_binding
	use mpi
	use ftest
	implicit none

	interface
		function c_comm(comm) bind(C, name='MPI_Comm_fromint')
			import :: c_ptr, c_int
			type(c_ptr) :: c_comm
			integer(c_int), value :: comm
		end function
		function c_create(copy, del, keyval, extra) &
				bind(C, name='MPI_Comm_create_keyval')
			import :: c_ptr, c_int, c_intptr_t
			integer(c_intptr_t), value :: copy, del
			integer(c_int) :: keyval, c_create
			type(c_ptr), value :: extra
		end function
		function c_set(comm, keyval, value) &
				bind(C, name='MPI_Comm_set_attr')
			import :: c_ptr, c_int
			type(c_ptr), value :: comm, value
			integer(c_int), value :: keyval
			integer(c_int) :: c_set
		end function
		function c_get(comm, keyval, value, flag) &
				bind(C, name='MPI_Comm_get_attr')
			import :: c_ptr, c_int
			type(c_ptr), value :: comm
			type(c_ptr) :: value
			integer(c_int), value :: keyval
			integer(c_int) :: flag, c_get
		end function
	end interface

	integer(MPI_ADDRESS_KIND), parameter :: long = 3000000000_8
	integer, parameter :: short = -7
	integer, target :: there = 99
	integer :: ierr, dup, key, n_deleted = 0
	integer(MPI_ADDRESS_KIND) :: deleted = 0

	call MPI_INIT(ierr)
	! the function 1 is MPI_COMM_DUP_FN of C
	ierr = c_create(1_c_intptr_t, 0_c_intptr_t, dup, c_null_ptr)
	call MPI_COMM_CREATE_KEYVAL(MPI_COMM_DUP_FN, on_delete, key, 0_8, ierr)
	call languages(dup, 'a key of C: ')
	call languages(key, 'a key of Fortran: ')
	call check(n_deleted > 0 .and. deleted == long, &
		'its function gets what was set')
	call predefined()
	call MPI_COMM_FREE_KEYVAL(key, ierr)
	call MPI_COMM_FREE_KEYVAL(dup, ierr)
	call MPI_FINALIZE(ierr)
	call done('mpi_attrs')
contains
	subroutine on_delete(comm, keyval, value, extra, error)
		integer :: comm, keyval, error
		integer(MPI_ADDRESS_KIND) :: value, extra
		n_deleted = n_deleted + 1
		deleted = value
		error = MPI_SUCCESS
	end subroutine

	function from_c(comm, keyval)
		integer, intent(in) :: comm, keyval
		type(c_ptr) :: from_c
		integer(c_int) :: flag
		from_c = c_null_ptr
		flag = 0
		ierr = c_get(c_comm(comm), keyval, from_c, flag)
		call check(ierr == MPI_SUCCESS .and. flag /= 0, 'C finds it')
	end function

	! The value that Fortran reads: an address, or an integer.
	subroutine fortran_reads(comm, keyval, want, what)
		integer, intent(in) :: comm, keyval
		integer(MPI_ADDRESS_KIND), intent(in) :: want
		character(len=*), intent(in) :: what
		integer(MPI_ADDRESS_KIND) :: got, low
		integer :: old
		logical :: flag
		call MPI_COMM_GET_ATTR(comm, keyval, got, flag, ierr)
		call check(flag .and. got == want, what // ', with an address')
		old = 0
		call MPI_ATTR_GET(comm, keyval, old, flag, ierr)
		low = want - int(old, 8)
		call check(flag .and. iand(low, 4294967295_8) == 0, &
			what // ', by MPI-1')
	end subroutine

	subroutine languages(keyval, which)
		integer, intent(in) :: keyval
		character(len=*), intent(in) :: which
		integer, pointer :: old
		integer(MPI_ADDRESS_KIND), pointer :: new
		type(c_ptr) :: place
		integer :: comm, copy

		call MPI_COMM_DUP(MPI_COMM_SELF, comm, ierr)
		ierr = c_set(c_comm(comm), keyval, c_loc(there))
		place = from_c(comm, keyval)
		call check(c_associated(place, c_loc(there)), &
			which // 'C reads its own')
		call fortran_reads(comm, keyval, transfer(place, 0_8), &
			which // 'Fortran reads an address of C')
		call MPI_ATTR_PUT(comm, keyval, short, ierr)
		call c_f_pointer(from_c(comm, keyval), old)
		call check(old == short, which // 'C reads one of MPI-1')
		call fortran_reads(comm, keyval, int(short, 8), &
			which // 'Fortran reads one of MPI-1')
		call MPI_COMM_SET_ATTR(comm, keyval, long, ierr)
		call c_f_pointer(from_c(comm, keyval), new)
		call check(new == long, which // 'C reads a long one')
		call fortran_reads(comm, keyval, long, &
			which // 'Fortran reads a long one')
		call MPI_COMM_DUP(comm, copy, ierr)
		call MPI_COMM_FREE(comm, ierr)
		call c_f_pointer(from_c(copy, keyval), new)
		call check(new == long, which // 'C reads a copy of it')
		call fortran_reads(copy, keyval, long, &
			which // 'Fortran reads a copy')
		call MPI_COMM_FREE(copy, ierr)
	end subroutine

	subroutine predefined()
		integer, pointer :: c_value
		integer :: old
		integer(MPI_ADDRESS_KIND) :: new
		logical :: flag

		call c_f_pointer(from_c(MPI_COMM_WORLD, MPI_TAG_UB), c_value)
		call MPI_COMM_GET_ATTR(MPI_COMM_WORLD, MPI_TAG_UB, new, flag, &
			ierr)
		call check(flag .and. new == c_value, 'the largest tag')
		call MPI_ATTR_GET(MPI_COMM_WORLD, MPI_TAG_UB, old, flag, ierr)
		call check(flag .and. old == c_value, 'and by MPI-1')
	end subroutine
end program
