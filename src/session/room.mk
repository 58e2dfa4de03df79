# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/session/abort.c src/session/abort.h \
	src/session/exit.c src/session/exit.h \
	src/session/open_handles.c src/session/open_handles.h \
	src/session/parent.c src/session/parent.h src/session/pset.c \
	src/session/pset.h src/session/pset_watch.c src/session/pset_watch.h \
	src/session/resize.c src/session/resize.h \
	src/session/session.c src/session/session.h src/session/session_hint.c \
	src/session/session_hint.h src/session/split.c src/session/split.h \
	src/session/spread.c src/session/spread.h
unit_tests += test/unit/session_test
unit_tests += test/unit/soft_test
EXTRA_DIST += src/session/README.md
