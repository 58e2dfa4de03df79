# SPDX-License-Identifier: BSD-3-Clause
# The server half (pmix_serve.c, pmix_upcall.c) belongs to the launcher, see
# src/tools/room.mk.
libweft_la_SOURCES += \
	pmix/pmix_boot.c pmix/pmix_boot.h pmix/pmix_boot_priv.h \
	pmix/pmix_bc.c \
	pmix/pmix_codec.c pmix/pmix_codec.h \
	pmix/pmix_event.c \
	pmix/pmix_fence.c \
	pmix/pmix_item.c \
	pmix/pmix_pset.c \
	pmix/pmix_resize.c \
	pmix/pmix_spawn.c
unit_tests += test/unit/pmix_codec_test
EXTRA_DIST += pmix/README.md
