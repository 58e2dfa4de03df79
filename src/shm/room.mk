# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/shm/wakeup.c src/shm/wakeup.h src/shm/ring.h src/shm/seg.c src/shm/seg.h \
	src/shm/budget.c src/shm/budget.h src/shm/copy.c src/shm/copy.h src/shm/write.c src/shm/write.h \
	src/shm/share.c src/shm/share.h
unit_tests += test/unit/budget_test
unit_tests += test/unit/ring_test
unit_tests += test/unit/wakeup_test
unit_tests += test/unit/write_test
EXTRA_DIST += src/shm/README.md
