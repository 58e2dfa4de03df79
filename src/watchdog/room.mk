# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/watchdog/graph.c src/watchdog/graph.h \
	src/watchdog/monitor.c src/watchdog/monitor.h \
	src/watchdog/query.c src/watchdog/query.h \
	src/watchdog/report.c src/watchdog/report.h \
	src/watchdog/resolve.c src/watchdog/resolve.h \
	src/watchdog/watchdog.c src/watchdog/watchdog.h \
	src/watchdog/request.c src/watchdog/request.h \
	src/watchdog/wait.c src/watchdog/wait.h src/watchdog/state.h

unit_tests += test/unit/graph_test
unit_tests += test/unit/wait_test
test_unit_wait_test_SOURCES = test/unit/wait_test.c \
	test/fake/fakeboot.c test/fake/fakeboot.h
EXTRA_DIST += src/watchdog/README.md
