# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/dev/dev.c src/dev/dev.h src/dev/dev_cuda.c src/dev/dev_priv.h src/dev/dev_rocm.c src/dev/dev_ze.c \
	src/dev/gdr.c src/dev/gdr.h src/dev/ipc.c src/dev/ipc.h src/dev/pinned.c src/dev/pinned.h \
	src/dev/shadow.c src/dev/shadow.h
EXTRA_DIST += src/dev/README.md

unit_tests += test/unit/dev_rocm_test
test_unit_dev_rocm_test_SOURCES = test/unit/dev_rocm_test.c
EXTRA_test_unit_dev_rocm_test_DEPENDENCIES = test/fake/rocm/libhsa-runtime64.la

unit_tests += test/unit/dev_ze_test
test_unit_dev_ze_test_SOURCES = test/unit/dev_ze_test.c
EXTRA_test_unit_dev_ze_test_DEPENDENCIES = test/fake/ze/libze_loader.la

unit_tests += test/unit/pinned_test
test_unit_pinned_test_SOURCES = test/unit/pinned_test.c
EXTRA_test_unit_pinned_test_DEPENDENCIES = test/fake/cuda/libcuda.la
