# SPDX-License-Identifier: BSD-3-Clause
# bin_PROGRAMS += mpiexec
# mpiexec_SOURCES = src/tools/tool_run.c
# mpiexec_LDADD = libweft.la
# mpiexec_LDFLAGS = $(tool_ldflags)
