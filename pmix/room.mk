# SPDX-License-Identifier: BSD-3-Clause
# The server half (pmix_serve.c, pmix_upcall.c) belongs to the launcher, see
# src/tools/room.mk.
libweft_la_SOURCES += \
	pmix/pmix_codec.c pmix/pmix_codec.h
