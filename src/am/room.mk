# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/am/am_origin.c src/am/am_target.c src/am/am.h
EXTRA_DIST += src/am/README.md
