# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/dev/dev.h src/dev/dev_cuda.c \
	src/dev/shadow.c src/dev/shadow.h
EXTRA_DIST += src/dev/README.md
