# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/transport/arrival.c src/transport/arrival.h \
	src/transport/bc.c src/transport/bc.h \
	src/transport/dispatch.c src/transport/dispatch.h src/transport/foreign.c \
	src/transport/foreign.h src/transport/node_bc.c \
	src/transport/node_bc.h src/transport/node_plan.c \
	src/transport/node_plan.h src/transport/peer.c src/transport/peer.h \
	src/transport/proc.c src/transport/proc.h src/transport/proc_open.c \
	src/transport/progress.c \
	src/transport/progress.h src/transport/progress_thread.c \
	src/transport/progress_thread.h src/transport/rail.c src/transport/rail.h \
	src/transport/resend.c src/transport/resend.h \
	src/transport/sleep.c src/transport/sleep.h src/transport/thread_check.c \
	src/transport/thread_check.h src/transport/vci.c src/transport/vci.h \
	src/transport/wire.h
EXTRA_DIST += src/transport/README.md

unit_tests += test/unit/node_bc_test
test_unit_node_bc_test_SOURCES = test/unit/node_bc_test.c

unit_tests += test/unit/progress_thread_test
test_unit_progress_thread_test_SOURCES = test/unit/progress_thread_test.c

unit_tests += test/unit/resend_test
test_unit_resend_test_SOURCES = test/unit/resend_test.c \
	test/fake/fakefab.c test/fake/fakefab.h
test_unit_resend_test_LDADD = $(LDADD) $(FABRIC_LIBS)

unit_tests += test/unit/sleep_test
test_unit_sleep_test_SOURCES = test/unit/sleep_test.c

unit_tests += test/unit/vci_test
test_unit_vci_test_SOURCES = test/unit/vci_test.c test/unit/exhaust.h \
	test/fake/fakeboot.c test/fake/fakeboot.h
