# SPDX-License-Identifier: BSD-3-Clause
# The ROCm runtime's stand-in:
#   LD_LIBRARY_PATH=$(builddir)/test/fake/rocm/.libs
check_LTLIBRARIES += test/fake/rocm/libhsa-runtime64.la
test_fake_rocm_libhsa_runtime64_la_SOURCES = test/fake/rocm/hsastand.c \
	test/fake/dev/devstand.c test/fake/dev/devstand.h
test_fake_rocm_libhsa_runtime64_la_LDFLAGS = $(MODE_CFLAGS) \
	-version-number 1:0:0 -shared -rpath /nowhere
test_fake_rocm_libhsa_runtime64_la_LIBADD =
EXTRA_DIST += test/fake/rocm/README.md
