# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/topo/topo.c src/topo/topo.h \
	src/topo/nic.c src/topo/nic.h \
	src/topo/allowance.c src/topo/allowance.h
unit_tests += test/unit/topo_test
unit_tests += test/unit/nic_test
unit_tests += test/unit/allowance_test

# The launcher and the unit test use it; libweft does not.
unit_tests += test/unit/place_test
test_unit_place_test_SOURCES = test/unit/place_test.c \
	src/topo/place.c src/topo/place.h
test_unit_place_test_CPPFLAGS = $(AM_CPPFLAGS)
test_unit_place_test_LDADD = $(LDADD) $(HWLOC_LIBS)
EXTRA_DIST += src/topo/README.md
