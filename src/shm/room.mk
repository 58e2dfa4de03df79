# SPDX-License-Identifier: BSD-3-Clause
# libweft_la_SOURCES += src/shm/X.c src/shm/X.h
# unit_tests += test/unit/X_test
