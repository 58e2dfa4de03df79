# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/coll/coll.h src/coll/coll_priv.h src/coll/sched.h \
	src/coll/sched.c src/coll/coll.c src/coll/coll_tag.c src/coll/fast.c \
	src/coll/shm_coll.h src/coll/shm_coll.c src/coll/shm_ops.c src/coll/shm_settle.c \
	src/coll/barrier.c src/coll/bcast.c \
	src/coll/gather.c src/coll/alltoall.c src/coll/reduce.c \
	src/coll/allreduce.c src/coll/scan.c src/coll/coll_inter.c
EXTRA_DIST += src/coll/README.md
