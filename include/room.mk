# SPDX-License-Identifier: BSD-3-Clause
include_HEADERS += include/mpi.h
include_HEADERS += include/mpix.h
include_HEADERS += include/mpi-ext.h
