# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += \
	src/net/av.c \
	src/net/cq.c \
	src/net/crash.c \
	src/net/domain.c src/net/domain.h \
	src/net/ep.c \
	src/net/fabric.c src/net/iface.c src/net/iface.h \
	src/net/libfabric.c src/net/libfabric.h \
	src/net/mr.c \
	src/net/net.h \
	src/net/net_priv.h \
	src/net/plan.c src/net/plan.h \
	src/net/prov.h \
	src/net/reach.c \
	src/net/rma_ep.c src/net/rma_ep.h

unit_tests += test/unit/net_test
test_unit_net_test_SOURCES = test/unit/net_test.c \
	test/fake/fakefab.c test/fake/fakefab.h
test_unit_net_test_LDADD = $(LDADD) $(FABRIC_LIBS)

unit_tests += test/unit/fabric_test
test_unit_fabric_test_SOURCES = test/unit/fabric_test.c \
	test/fake/fakefab.c test/fake/fakefab.h
test_unit_fabric_test_LDADD = $(LDADD) $(FABRIC_LIBS)

conform_sources = test/conform/net_conform.c test/conform/conform.h \
	test/conform/alone.c test/conform/bench.c test/conform/cases.c \
	test/conform/hook.h test/conform/side.c
limit_sources = test/conform/hook.c test/conform/limits.c

# One suite, built for each provider: nothing to install but libfabric.
conform_tests = \
	test/conform/net_cxi \
	test/conform/net_tcp \
	test/conform/net_rxm \
	test/conform/net_sockets \
	test/conform/net_shm \
	test/conform/net_own \
	test/conform/net_verbs
check_PROGRAMS += $(conform_tests)
TESTS += $(conform_tests)
test_conform_net_cxi_SOURCES = $(conform_sources) $(limit_sources)
test_conform_net_cxi_CPPFLAGS = $(AM_CPPFLAGS) -DNET_PROVIDER='"cxi"'
test_conform_net_cxi_LDADD = libweft.la $(FABRIC_LIBS)
test_conform_net_tcp_SOURCES = $(conform_sources) $(limit_sources)
test_conform_net_tcp_CPPFLAGS = $(AM_CPPFLAGS) -DNET_PROVIDER='"tcp"'
test_conform_net_tcp_LDADD = libweft.la $(FABRIC_LIBS)
test_conform_net_rxm_SOURCES = $(conform_sources) $(limit_sources)
test_conform_net_rxm_CPPFLAGS = $(AM_CPPFLAGS) -DNET_PROVIDER='"tcp;ofi_rxm"'
test_conform_net_rxm_LDADD = libweft.la $(FABRIC_LIBS)
test_conform_net_sockets_SOURCES = $(conform_sources) $(limit_sources)
test_conform_net_sockets_CPPFLAGS = $(AM_CPPFLAGS) -DNET_PROVIDER='"sockets"'
test_conform_net_sockets_LDADD = libweft.la $(FABRIC_LIBS)
test_conform_net_shm_SOURCES = $(conform_sources) $(limit_sources)
test_conform_net_shm_CPPFLAGS = $(AM_CPPFLAGS) -DNET_PROVIDER='"shm"'
test_conform_net_shm_LDADD = libweft.la $(FABRIC_LIBS)
test_conform_net_own_SOURCES = $(conform_sources) \
	test/conform/own.c test/conform/own.h
test_conform_net_own_CPPFLAGS = $(AM_CPPFLAGS) -DCONFORM_OWN \
	-DNET_PROVIDER='"own"'
test_conform_net_own_LDADD = libweft.la $(FABRIC_LIBS)
test_conform_net_verbs_SOURCES = $(conform_sources) $(limit_sources)
test_conform_net_verbs_CPPFLAGS = $(AM_CPPFLAGS) \
	-DNET_PROVIDER='"verbs;ofi_rxm"'
test_conform_net_verbs_LDADD = libweft.la $(FABRIC_LIBS)
side_sources = test/conform/side_conform.c test/conform/mr_cache.h
side_tests = \
	test/conform/side_cxi \
	test/conform/side_tcp \
	test/conform/side_rxm \
	test/conform/side_sockets \
	test/conform/side_verbs
if HAVE_CMOCKA
check_PROGRAMS += $(side_tests)
TESTS += $(side_tests)
endif
test_conform_side_cxi_SOURCES = $(side_sources)
test_conform_side_cxi_CPPFLAGS = $(AM_CPPFLAGS) -DNET_PROVIDER='"cxi"'
test_conform_side_cxi_LDADD = $(LDADD) $(FABRIC_LIBS)
test_conform_side_tcp_SOURCES = $(side_sources)
test_conform_side_tcp_CPPFLAGS = $(AM_CPPFLAGS) -DNET_PROVIDER='"tcp"'
test_conform_side_tcp_LDADD = $(LDADD) $(FABRIC_LIBS)
test_conform_side_rxm_SOURCES = $(side_sources)
test_conform_side_rxm_CPPFLAGS = $(AM_CPPFLAGS) -DNET_PROVIDER='"tcp;ofi_rxm"'
test_conform_side_rxm_LDADD = $(LDADD) $(FABRIC_LIBS)
test_conform_side_sockets_SOURCES = $(side_sources)
test_conform_side_sockets_CPPFLAGS = $(AM_CPPFLAGS) -DNET_PROVIDER='"sockets"'
test_conform_side_sockets_LDADD = $(LDADD) $(FABRIC_LIBS)
test_conform_side_verbs_SOURCES = $(side_sources)
test_conform_side_verbs_CPPFLAGS = $(AM_CPPFLAGS) \
	-DNET_PROVIDER='"verbs;ofi_rxm"'
test_conform_side_verbs_LDADD = $(LDADD) $(FABRIC_LIBS)
check_PROGRAMS += test/conform/side_stranger
TESTS += test/conform/side_stranger
test_conform_side_stranger_LDADD = libweft.la $(FABRIC_LIBS)
check_PROGRAMS += test/conform/net_scarce
TESTS += test/conform/net_scarce
test_conform_net_scarce_LDADD = libweft.la $(FABRIC_LIBS)
if HAVE_CMOCKA
check_PROGRAMS += test/conform/net_device test/conform/net_memory
TESTS += test/conform/net_device test/conform/net_memory
endif
test_conform_net_device_LDADD = $(LDADD) $(FABRIC_LIBS)
test_conform_net_memory_CPPFLAGS = $(AM_CPPFLAGS) \
	-DNET_PROVIDER='"tcp;ofi_rxm"'
test_conform_net_memory_LDADD = $(LDADD) $(FABRIC_LIBS)
EXTRA_DIST += src/net/README.md test/conform/README.md
