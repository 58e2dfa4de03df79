! SPDX-License-Identifier: BSD-3-Clause
! ftest: claims of the Fortran programs; a failed one is printed, and done()
! ends the program with what became of all of them
module ftest
	implicit none
	integer, private :: failed = 0, made = 0
contains
	subroutine check(ok, sentence)
		logical, intent(in) :: ok
		character(len=*), intent(in) :: sentence
		made = made + 1
		if (ok) return
		failed = failed + 1
		write (0, '(2a)') '# FAILED ', sentence
		flush (0)
	end subroutine

	subroutine done(name)
		character(len=*), intent(in) :: name
		print '(a, a, i0, a, i0, a)', name, ': ', made, ' claims, ', &
			failed, ' failed'
		flush (6)
		if (failed > 0 .or. made == 0) call exit(1)
	end subroutine
end module
