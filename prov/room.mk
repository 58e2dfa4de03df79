# SPDX-License-Identifier: BSD-3-Clause
# libweft_la_SOURCES += prov/X.c prov/X.h
# unit_tests += test/unit/X_test
