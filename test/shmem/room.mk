# SPDX-License-Identifier: BSD-3-Clause
# The OpenSHMEM programs, built as a user's program is. A new one is a name
# here and a line in test/shmem/list. "make multi" builds them, "make
# check-shmem" runs them, "make check-multi" does too.
sma_programs =
sma_programs += test/shmem/sma_amo
sma_programs += test/shmem/sma_beside
sma_programs += test/shmem/sma_coll
sma_programs += test/shmem/sma_count
sma_programs += test/shmem/sma_dev
sma_programs += test/shmem/sma_exposed
sma_programs += test/shmem/sma_ext
sma_programs += test/shmem/sma_ext_thr
sma_programs += test/shmem/sma_gone
sma_programs += test/shmem/sma_moves
sma_programs += test/shmem/sma_heap
sma_programs += test/shmem/sma_lock
sma_programs += test/shmem/sma_mpi
sma_programs += test/shmem/sma_put
sma_programs += test/shmem/sma_session
sma_programs += test/shmem/sma_setup
sma_programs += test/shmem/sma_storm
sma_programs += test/shmem/sma_sweep
sma_programs += test/shmem/sma_team
sma_programs += test/shmem/sma_thr
sma_programs += test/shmem/sma_tool
sma_programs += test/shmem/sma_wait
sma_cxx_programs = test/shmem/sma_cxx

EXTRA_DIST += $(sma_programs:=.c) $(sma_cxx_programs:=.cpp) \
	test/shmem/stest.h test/shmem/devdata.h test/shmem/list
CLEANFILES += $(sma_programs) $(sma_cxx_programs)

sma_libs = -lsma
test/shmem/sma_count test/shmem/sma_mpi: sma_libs = -lsma -lmpi_abi

$(sma_programs): %: %.c test/shmem/stest.h include/shmemx.h \
	$(shmem_headers) libsma.la libmpi_abi.la
	$(AM_V_CCLD)$(MKDIR_P) test/shmem && \
	$(MULTI_COMPILE) -o $@ $(filter %.c,$^) $(sma_libs)

$(sma_cxx_programs): %: %.cpp include/shmemx.h $(shmem_headers) libsma.la
	$(AM_V_CCLD)$(MKDIR_P) test/shmem && \
	$(CXX) $(mpi_cppflags) $(CPPFLAGS) -Wall -Wextra $(MODE_CFLAGS) -O2 \
		$(multi_ldflags) -o $@ $(filter %.cpp,$^) -lsma

multi: $(sma_programs) $(sma_cxx_programs)

check-shmem: multi
	MPIEXEC='$(MPIEXEC)' $(srcdir)/test/run-multi \
		--list $(srcdir)/test/shmem/list --bin test/shmem \
		$(MULTI_FLAGS)

check-multi: check-shmem
.PHONY: check-shmem
