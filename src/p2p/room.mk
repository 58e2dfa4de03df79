# SPDX-License-Identifier: BSD-3-Clause
# libweft_la_SOURCES += src/p2p/X.c src/p2p/X.h
# unit_tests += test/unit/X_test
