# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/session/abort.c src/session/abort.h \
	src/session/agree.c src/session/agree.h \
	src/session/birth.h src/session/blame.c \
	src/session/blame.h src/session/blocked.c \
	src/session/blocked.h \
	src/session/create.c src/session/create.h \
	src/session/derive.c src/session/disconnect.c \
	src/session/disconnect.h src/session/gone.c src/session/gone.h \
	src/session/hint.c src/session/hint.h src/session/bridge.c \
	src/session/meet.c src/session/meet.h \
	src/session/port.c src/session/port.h src/session/pset.c \
	src/session/pset.h src/session/session.c src/session/session.h \
	src/session/shore.c src/session/shore.h \
	src/session/soft.c src/session/soft.h \
	src/session/spawn.c src/session/spawn.h \
	src/session/split.c src/session/split.h \
	src/session/tied.c src/session/tied.h \
	src/session/watch.c src/session/watch.h
unit_tests += test/unit/soft_test
EXTRA_DIST += src/session/README.md
