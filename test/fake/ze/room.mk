# SPDX-License-Identifier: BSD-3-Clause
# The Level Zero loader's stand-in:
#   LD_LIBRARY_PATH=$(builddir)/test/fake/ze/.libs
check_LTLIBRARIES += test/fake/ze/libze_loader.la
test_fake_ze_libze_loader_la_SOURCES = test/fake/ze/zestand.c \
	test/fake/dev/devstand.c test/fake/dev/devstand.h
test_fake_ze_libze_loader_la_LDFLAGS = $(MODE_CFLAGS) \
	-version-number 1:0:0 -shared -rpath /nowhere
test_fake_ze_libze_loader_la_LIBADD =
EXTRA_DIST += test/fake/ze/README.md
