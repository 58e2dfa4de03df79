# SPDX-License-Identifier: BSD-3-Clause
# The Slingshot provider's stand-in, loaded by libfabric like a real one:
#   FI_PROVIDER_PATH=$(builddir)/test/fake/cxi/.libs FI_PROVIDER=cxi
check_LTLIBRARIES += test/fake/cxi/libcxi-fi.la
test_fake_cxi_libcxi_fi_la_SOURCES = \
	test/fake/cxi/stand.h test/fake/cxi/stand_find.h \
	test/fake/cxi/stand_alu.c \
	test/fake/cxi/stand_amo.c \
	test/fake/cxi/stand_auth.c \
	test/fake/cxi/stand_av.c \
	test/fake/cxi/stand_cntr.c \
	test/fake/cxi/stand_cq.c \
	test/fake/cxi/stand_dom.c \
	test/fake/cxi/stand_hmem.c \
	test/fake/cxi/stand_info.c \
	test/fake/cxi/stand_log.c \
	test/fake/cxi/stand_mr.c \
	test/fake/cxi/stand_msg.c \
	test/fake/cxi/stand_nic.c \
	test/fake/cxi/stand_rma.c \
	test/fake/cxi/stand_rx.c \
	test/fake/cxi/stand_target.c \
	test/fake/cxi/stand_tx.c \
	test/fake/cxi/stand_wire.c
test_fake_cxi_libcxi_fi_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
# A process that exits without closing its domains has a thread of the provider,
# so the provider stays loaded.
test_fake_cxi_libcxi_fi_la_LDFLAGS = $(MODE_CFLAGS) -module -avoid-version \
	-Wl,-z,nodelete \
	-shared -rpath /nowhere
test_fake_cxi_libcxi_fi_la_LIBADD = $(FABRIC_LIBS)
EXTRA_DIST += test/fake/cxi/README.md

check_PROGRAMS += test/fake/cxi/stand_test
TESTS += test/fake/cxi/stand_test
test_fake_cxi_stand_test_SOURCES = \
	test/fake/cxi/stand_pair.c test/fake/cxi/stand_pair.h \
	test/fake/cxi/stand_test.c test/fake/cxi/stand_test_amo.c \
	test/fake/cxi/stand_test_hmem.c
test_fake_cxi_stand_test_LDADD = $(FABRIC_LIBS)
