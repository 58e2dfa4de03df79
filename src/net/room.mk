# SPDX-License-Identifier: BSD-3-Clause
# libweft_la_SOURCES += src/net/X.c src/net/X.h
# unit_tests += test/unit/X_test
