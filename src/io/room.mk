# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/io/cb.c src/io/cb.h src/io/cb_exchange.c \
	src/io/cb_cache.c src/io/cb_cache.h src/io/cb_plan.c \
	src/io/cb_priv.h src/io/datarep.c src/io/datarep.h src/io/file.c \
	src/io/file.h src/io/file_agree.c src/io/file_hint.c src/io/file_hint.h src/io/file_priv.h \
	src/io/move.c src/io/move.h src/io/pointer.c src/io/pool.c src/io/pool.h \
	src/io/range.c src/io/range.h src/io/uring.c src/io/uring.h \
	src/io/scatter.c src/io/scatter.h \
	src/io/sieve.c src/io/sieve.h src/io/stat.c src/io/stat.h \
	src/io/stripe.c src/io/stripe.h \
	src/io/syscall.c src/io/syscall.h \
	src/io/transfer.c src/io/view.c src/io/view.h
EXTRA_DIST += src/io/README.md
unit_tests += test/unit/cb_plan_test
unit_tests += test/unit/datarep_test
unit_tests += test/unit/file_hint_test
unit_tests += test/unit/syscall_test
unit_tests += test/unit/view_test
