# SPDX-License-Identifier: BSD-3-Clause
# libweft_la_SOURCES += src/session/X.c src/session/X.h
# unit_tests += test/unit/X_test
