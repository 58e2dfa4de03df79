# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += \
	src/rma/hints.c \
	src/rma/amo.c \
	src/rma/ctx.c \
	src/rma/remote.c \
	src/rma/heap.c src/rma/heap.h \
	src/rma/put.c \
	src/rma/rma.c src/rma/rma.h \
	src/rma/rma_fabric.c src/rma/rma_fabric.h \
	src/rma/rma_priv.h \
	src/rma/rma_progress.c \
	src/rma/rma_wait.c src/rma/span.c \
	src/rma/rma_am.c

unit_tests += test/unit/heap_test
test_unit_heap_test_SOURCES = test/unit/heap_test.c

unit_tests += test/unit/rma_test
test_unit_rma_test_SOURCES = test/unit/rma_test.c \
	test/fake/fakefab.c test/fake/fakefab.h
test_unit_rma_test_LDADD = $(LDADD) $(FABRIC_LIBS)

unit_tests += test/unit/share_test
test_unit_share_test_SOURCES = test/unit/share_test.c
EXTRA_DIST += src/rma/README.md
