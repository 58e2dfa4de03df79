# SPDX-License-Identifier: BSD-3-Clause
# libweft_la_SOURCES += pmix/X.c pmix/X.h
# unit_tests += test/unit/X_test
