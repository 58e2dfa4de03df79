# SPDX-License-Identifier: BSD-3-Clause
# weft-sim executes thousands of processes of one job with simulated time.
# weft-sim-real executes the same calls in a real job.
check_PROGRAMS += test/sim/weft-sim test/sim/weft-sim-real
test_sim_weft_sim_SOURCES = test/sim/sim.h test/sim/sim_boot.c \
	test/sim/sim_coll.c test/sim/sim_fabric.c test/sim/sim_heap.c \
	test/sim/sim_heap.h test/sim/sim_image.c test/sim/sim_image.h \
	test/sim/sim_main.c test/sim/sim_memory.c test/sim/sim_memory.h \
	test/sim/sim_phases.c test/sim/sim_phases.h test/sim/sim_run.c \
	test/sim/sim_world.c
test_sim_weft_sim_CPPFLAGS = $(AM_CPPFLAGS) $(mpi_cppflags)
# Lazy binding would be repeated in each simulated process.
test_sim_weft_sim_LDFLAGS = $(AM_LDFLAGS) -Wl,-z,now
test_sim_weft_sim_LDADD = $(mpi_prog_ldadd)
test_sim_weft_sim_real_SOURCES = test/sim/sim_coll.c test/sim/sim_phases.c \
	test/sim/sim_phases.h test/sim/sim_real.c
test_sim_weft_sim_real_CPPFLAGS = $(AM_CPPFLAGS) $(mpi_cppflags)
test_sim_weft_sim_real_LDADD = $(mpi_prog_ldadd)
