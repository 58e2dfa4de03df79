# SPDX-License-Identifier: BSD-3-Clause
# libweft_la_SOURCES += src/dt/X.c src/dt/X.h
# unit_tests += test/unit/X_test
