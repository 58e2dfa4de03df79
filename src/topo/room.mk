# SPDX-License-Identifier: BSD-3-Clause
# libweft_la_SOURCES += src/topo/X.c src/topo/X.h
# unit_tests += test/unit/X_test
