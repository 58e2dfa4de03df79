# SPDX-License-Identifier: BSD-3-Clause
# The CUDA driver's stand-in:
#   LD_LIBRARY_PATH=$(builddir)/test/fake/cuda/.libs
check_LTLIBRARIES += test/fake/cuda/libcuda.la
test_fake_cuda_libcuda_la_SOURCES = test/fake/cuda/cudastand.c \
	test/fake/cuda/cudaopen.h test/fake/dev/devstand.c \
	test/fake/dev/devstand.h
test_fake_cuda_libcuda_la_LDFLAGS = $(MODE_CFLAGS) -version-number 1:0:0 \
	-shared -rpath /nowhere
test_fake_cuda_libcuda_la_LIBADD =
EXTRA_DIST += test/fake/cuda/README.md test/fake/dev/README.md
# GDRCopy's stand-in, in the same directory
check_LTLIBRARIES += test/fake/cuda/libgdrapi.la
test_fake_cuda_libgdrapi_la_SOURCES = test/fake/cuda/gdrstand.c \
	test/fake/dev/devstand.h
test_fake_cuda_libgdrapi_la_LDFLAGS = $(MODE_CFLAGS) -version-number 2:0:0 \
	-shared -rpath /nowhere
test_fake_cuda_libgdrapi_la_LIBADD =
