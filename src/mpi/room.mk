# SPDX-License-Identifier: BSD-3-Clause
# libmpi_abi_la_SOURCES += src/mpi/X.c src/mpi/X.h
mpi_ldflags =
