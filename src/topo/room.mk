# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/topo/topo.c src/topo/topo.h
unit_tests += test/unit/topo_test
