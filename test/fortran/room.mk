# SPDX-License-Identifier: BSD-3-Clause
# The Fortran programs, built as a user's are. They run with the other
# multi-process programs in "make check-multi"; a new one is a name here and a
# line in test/fortran/list.
f_programs = test/fortran/f08_sessions test/fortran/f08_finalize \
	test/fortran/f08_p2p \
	test/fortran/f08_coll test/fortran/f08_call \
	test/fortran/f08_spawn test/fortran/mpi_spawn \
	test/fortran/f08_ft test/fortran/f08_win test/fortran/mpi_windows \
	test/fortran/f08_file test/fortran/mpi_files test/fortran/f08_resize \
	test/fortran/mpi_world test/fortran/mpi_attrs \
	test/fortran/f08_profile test/fortran/mpi_profile \
	test/fortran/mpif_sessions
f_sources = test/fortran/f08_sessions.f90 test/fortran/f08_finalize.f90 \
	test/fortran/f08_p2p.f90 \
	test/fortran/f08_coll.f90 test/fortran/f08_call.f90 \
	test/fortran/f08_spawn.f90 test/fortran/mpi_spawn.f90 \
	test/fortran/f08_ft.f90 test/fortran/f08_win.f90 test/fortran/mpi_windows.f90 \
	test/fortran/f08_file.f90 test/fortran/mpi_files.f90 test/fortran/f08_resize.f90 \
	test/fortran/mpi_world.f90 test/fortran/mpi_attrs.f90 \
	test/fortran/f08_profile.f90 test/fortran/mpi_profile.f90 \
	test/fortran/mpif_sessions.f
EXTRA_DIST += $(f_sources) test/fortran/ftest.f90 test/fortran/list

if HAVE_FORTRAN
CLEANFILES += $(f_programs) test/fortran/*.o test/fortran/*.mod

F_COMPILE = $(FC) $(FCFLAGS) -Wall -Wno-tabs -Wno-unused-dummy-argument -Isrc/fortran \
	-Itest/fortran -Jtest/fortran

test/fortran/ftest.o: test/fortran/ftest.f90
	$(AM_V_GEN)$(MKDIR_P) test/fortran && $(F_COMPILE) -c -o $@ \
		$(srcdir)/test/fortran/ftest.f90

$(f_programs): test/fortran/ftest.o libweft_fortran.la $(f_sources)
	$(AM_V_GEN)src=`ls $(srcdir)/$@.f*` && \
	$(F_COMPILE) -c -o $@.o "$$src" && \
	$(FC) $(FCFLAGS) $(MODE_CFLAGS) $(multi_ldflags) -o $@ $@.o \
		test/fortran/ftest.o -lweft_fortran -lmpi_abi

f_built = $(f_programs)

check-fortran: multi
	MPIEXEC='$(MPIEXEC)' $(srcdir)/test/run-multi \
		--list $(srcdir)/test/fortran/list --bin test/fortran \
		$(MULTI_FLAGS)
else
check-fortran:
	@echo "ok 1 Fortran # SKIP configure said: $(FORTRAN_WHY)"
endif

check-multi: check-fortran
.PHONY: check-fortran
