# SPDX-License-Identifier: BSD-3-Clause
check_PROGRAMS += test/launch/boot_probe
TESTS += test/launch/mpiexec.test
EXTRA_DIST += test/launch/mpiexec.test
