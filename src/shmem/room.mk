# SPDX-License-Identifier: BSD-3-Clause
# gen-shmem writes these from the tables of types and procedures, to the build
# directory; api_shmem_<chapter>.h is included by shmem_<chapter>.c.
shmem_headers = include/shmem.h include/pshmem.h
shmem_made = $(shmem_headers) src/shmem/api_shmem_list.h \
	src/shmem/libsma.map
shmem_gen = src/shmem/gen-shmem src/shmem/gen-shmem.awk \
	src/shmem/shmem.h.in src/shmem/shmem_types.def \
	src/shmem/shmem_api.def
BUILT_SOURCES += src/shmem/api.stamp
CLEANFILES += src/shmem/api.stamp $(shmem_made) src/shmem/api_shmem_*.h
EXTRA_DIST += $(shmem_gen) src/shmem/README.md

src/shmem/api.stamp: $(shmem_gen) Makefile
	$(AM_V_GEN)$(MKDIR_P) src/shmem include && \
		$(srcdir)/src/shmem/gen-shmem $(srcdir)/src/shmem \
		include src/shmem $(VERSION) && touch $@

$(shmem_made): src/shmem/api.stamp ;

lib_LTLIBRARIES += libsma.la
libsma_la_SOURCES = include/shmemx.h src/shmem/shmem_priv.h \
	src/shmem/shmem_amo.c src/shmem/shmem_check.c \
	src/shmem/shmem_coll.c src/shmem/shmem_ctx.c src/shmem/shmem_env.c \
	src/shmem/shmem_ext.c src/shmem/shmem_heap.c \
	src/shmem/shmem_lock.c src/shmem/shmem_rma.c \
	src/shmem/shmem_session.c src/shmem/shmem_setup.c \
	src/shmem/shmem_signal.c src/shmem/shmem_stage.c \
	src/shmem/shmem_team.c src/shmem/shmem_wait.c
libsma_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/include \
	-I$(top_builddir)/include -I$(top_builddir)/src/shmem
libsma_la_CFLAGS = $(AM_CFLAGS) $(lib_cflags) $(BRANCH_CFLAGS)
libsma_la_LDFLAGS = $(MODE_CFLAGS) $(lib_ldflags) -version-info $(SMA_VERSION_INFO) \
	-Wl,--version-script=src/shmem/libsma.map
libsma_la_LIBADD = libweft.la
EXTRA_libsma_la_DEPENDENCIES = src/shmem/libsma.map
include_HEADERS += include/shmemx.h
mppincludedir = $(includedir)/mpp
mppinclude_HEADERS = include/mpp/shmem.h
nodist_include_HEADERS += $(shmem_headers)
dist_man_MANS += contrib/man/shmemx_session_start.3 \
	contrib/man/shmemx_session_stop.3 \
	contrib/man/shmemx_ctx_session_start.3 \
	contrib/man/shmemx_ctx_session_stop.3 \
	contrib/man/shmemx_heap_create.3 \
	contrib/man/shmemx_heap_preinit.3 \
	contrib/man/shmemx_heap_preinit_thread.3 \
	contrib/man/shmemx_heap_postinit.3
