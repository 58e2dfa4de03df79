# SPDX-License-Identifier: BSD-3-Clause
check_PROGRAMS += test/launch/boot_probe
TESTS += test/launch/mpiexec.test
EXTRA_DIST += test/launch/mpiexec.test
check_PROGRAMS += test/launch/stranger
test_launch_stranger_CPPFLAGS = $(mpi_prog_cppflags)
test_launch_stranger_LDADD = $(mpi_prog_ldadd) $(FABRIC_LIBS)
TESTS += test/launch/stranger.test
EXTRA_DIST += test/launch/stranger.test
check_PROGRAMS += test/launch/hosts
test_launch_hosts_LDADD = libweft.la $(FABRIC_LIBS)
TESTS += test/launch/hosts
check_PROGRAMS += test/launch/two_jobs
test_launch_two_jobs_CPPFLAGS = $(mpi_prog_cppflags)
test_launch_two_jobs_LDADD = $(mpi_prog_ldadd)
TESTS += test/launch/two_jobs.test
EXTRA_DIST += test/launch/two_jobs.test
