# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/core/attr.c src/core/attr.h src/core/child.h \
	src/core/coll_args.c src/core/coll_args.h \
	src/core/comm.c src/core/comm.h src/core/comm_nodes.c \
	src/core/comm_nodes.h src/core/errcode.c src/core/errcode.h \
	src/core/errh.c src/core/errh.h src/core/failed.c src/core/failed.h src/core/group.c src/core/group.h \
	src/core/hardware.c src/core/hardware.h src/core/info.c src/core/info.h \
	src/core/hint.c src/core/hint.h src/core/info_keys.def src/core/match.h src/core/req.c src/core/req.h src/core/session_data.c src/core/session_data.h src/core/status.h \
	src/core/vci_core.c src/core/vci_core.h
EXTRA_DIST += src/core/README.md src/core/info_keys.awk
unit_tests += test/unit/attr_test
unit_tests += test/unit/comm_nodes_test
unit_tests += test/unit/failed_test
unit_tests += test/unit/group_test
unit_tests += test/unit/hint_test
unit_tests += test/unit/info_test
unit_tests += test/unit/million_test
test_unit_million_test_SOURCES = test/unit/million_test.c \
	test/fake/fakeboot.c test/fake/fakeboot.h
test_unit_million_test_CPPFLAGS = $(AM_CPPFLAGS) $(mpi_cppflags)
test_unit_million_test_LDADD = $(mpi_prog_ldadd) $(CMOCKA_LIBS)
unit_tests += test/unit/wire_test
test_unit_wire_test_SOURCES = test/unit/wire_test.c \
	test/fake/fakeboot.c test/fake/fakeboot.h
