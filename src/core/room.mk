# SPDX-License-Identifier: BSD-3-Clause
# libweft_la_SOURCES += src/core/X.c src/core/X.h
# unit_tests += test/unit/X_test
