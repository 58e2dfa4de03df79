# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += \
	src/boot/boot.c src/boot/boot.h \
	src/boot/launch.c src/boot/launch.h \
	src/boot/liveness.c src/boot/liveness.h \
	src/boot/rank_lock.c src/boot/rank_lock.h \
	src/boot/singleton.c src/boot/singleton.h
unit_tests += test/unit/boot_test
EXTRA_DIST += src/boot/README.md
