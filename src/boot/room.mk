# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += \
	src/boot/boot.c src/boot/boot.h \
	src/boot/life.c src/boot/life.h \
	src/boot/solo.c src/boot/solo.h
unit_tests += test/unit/boot_test
EXTRA_DIST += src/boot/README.md
