# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/collshm/shm_coll.h src/collshm/shm_coll.c \
	src/collshm/shm_map.c src/collshm/shm_ops.c
EXTRA_DIST += src/collshm/README.md
