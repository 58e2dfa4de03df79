# SPDX-License-Identifier: BSD-3-Clause
# libweft_la_SOURCES += src/coll/X.c src/coll/X.h
# unit_tests += test/unit/X_test
