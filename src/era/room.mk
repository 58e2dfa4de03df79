# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/era/era.c src/era/era.h src/era/era_comm.c src/era/era_comm.h
EXTRA_DIST += src/era/README.md
unit_tests += test/unit/era_test
