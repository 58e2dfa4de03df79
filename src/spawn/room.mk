# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/spawn/port.c src/spawn/port.h src/spawn/spawn.c \
	src/spawn/spawn.h src/spawn/spawn_soft.c src/spawn/spawn_soft.h
EXTRA_DIST += src/spawn/README.md
