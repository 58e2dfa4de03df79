# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/watchdog/request.c src/watchdog/request.h \
	src/watchdog/wait.c src/watchdog/wait.h src/watchdog/where.h
EXTRA_DIST += src/watchdog/README.md
