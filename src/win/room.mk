# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/win/access.c src/win/win_target.c src/win/win_origin.c \
	src/win/epoch.c src/win/win_lock.c src/win/node_memory.c src/win/node_memory.h \
	src/win/members.c src/win/update.c src/win/win_wait.c src/win/win_op.c src/win/win_rma.c \
	src/win/win_runs.c src/win/win_fence.c src/win/win_notice.c src/win/map_cache.c \
	src/win/alloc_mem.c src/win/win_send.c src/win/win_dev.c \
	src/win/win.c \
	src/win/win.h src/win/win_priv.h

unit_tests += test/unit/win_lock_test
test_unit_win_lock_test_SOURCES = test/unit/win_lock_test.c
unit_tests += test/unit/win_memory_test
test_unit_win_memory_test_SOURCES = test/unit/win_memory_test.c
EXTRA_DIST += src/win/README.md
