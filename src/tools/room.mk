# SPDX-License-Identifier: BSD-3-Clause
# The launcher needs no fabric. It compiles the few files that it uses instead of
# linking libweft, and so starts without loading libfabric.
bin_PROGRAMS += mpiexec
mpiexec_SOURCES = \
	src/tools/tool_run.c \
	src/tools/run_job.c src/tools/run_job.h \
	src/tools/run_claim.c src/tools/run_claim.h \
	src/tools/run_accept.c src/tools/run_accept.h \
	src/tools/run_elf.c src/tools/run_elf.h \
	src/tools/run_othermpi.c src/tools/run_othermpi.h \
	src/tools/run_cleanup.c src/tools/run_cleanup.h \
	src/tools/run_delegate.c src/tools/run_delegate.h \
	src/tools/run_hosts.c src/tools/run_hosts.h \
	src/tools/run_io.c src/tools/run_io.h \
	src/tools/run_mpir.c src/tools/run_mpir.h \
	src/tools/run_opt.c src/tools/run_opt.h \
	src/tools/run_proc.c src/tools/run_proc.h \
	src/tools/run_profile.c src/tools/run_profile.h $(profile_report) \
	src/tools/run_repeat.c src/tools/run_repeat.h \
	src/tools/run_resize.c src/tools/run_resize.h \
	src/tools/run_sets.c src/tools/run_sets.h \
	src/tools/run_spawn.c src/tools/run_spawn.h \
	src/tools/run_state.c src/tools/run_state.h \
	pmix/pmix_serve.c pmix/pmix_serve.h pmix/pmix_serve_priv.h \
	pmix/pmix_upcall.c pmix/pmix_codec.c pmix/pmix_codec.h \
	src/topo/allowance.c src/topo/allowance.h \
	src/topo/place.c src/topo/place.h \
	src/boot/liveness.c src/boot/liveness.h \
	src/base/err.c src/base/hash.c src/base/input.c src/base/knob.c \
	src/base/log.c src/base/memfd.c src/base/plain.c src/base/suggest.c
nodist_mpiexec_SOURCES = src/profile/profile_names.c
mpiexec_CPPFLAGS = $(AM_CPPFLAGS) -DWEFT_LIBDIR='"$(libdir)"'
mpiexec_CFLAGS = $(AM_CFLAGS)
mpiexec_LDADD = $(PMIX_LIBS) $(HWLOC_LIBS)
mpiexec_LDFLAGS = $(MODE_CFLAGS)
dist_man_MANS += contrib/man/mpiexec.1 contrib/man/mpirun.1
unit_tests += test/unit/run_delegate_test
test_unit_run_delegate_test_SOURCES = test/unit/run_delegate_test.c \
	src/tools/run_delegate.c src/tools/run_hosts.c src/tools/run_opt.c src/tools/run_othermpi.c
test_unit_run_delegate_test_CPPFLAGS = $(AM_CPPFLAGS)

# The compiler wrappers: one script, which selects the language by its name.
mpi_wrappers = src/tools/mpicc src/tools/mpicxx src/tools/mpic++ \
	src/tools/oshcc src/tools/oshc++ src/tools/oshcxx
bin_SCRIPTS += $(mpi_wrappers)
CLEANFILES += $(mpi_wrappers) contrib/weft.pc contrib/mpi.pc \
	contrib/openshmem.pc
EXTRA_DIST += src/tools/mpicc.in contrib/weft.pc.in contrib/mpi.pc.in \
	contrib/openshmem.pc.in
pkgconfig_DATA += contrib/weft.pc contrib/mpi.pc contrib/openshmem.pc
dist_man_MANS += contrib/man/mpicc.1 contrib/man/oshcc.1 \
	contrib/man/oshrun.1
dist_bin_SCRIPTS = src/tools/oshrun

# Measures this installation and other libraries.
bin_SCRIPTS += src/tools/weft-bench
CLEANFILES += src/tools/weft-bench
EXTRA_DIST += src/tools/weft-bench.in
dist_man_MANS += contrib/man/weft-bench.1
src/tools/weft-bench: $(top_srcdir)/src/tools/weft-bench.in Makefile
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)sed -e 's|@bindir[@]|$(bindir)|; s|@pkgdatadir[@]|$(pkgdatadir)|' \
		-e 's|@pkglibexecdir[@]|$(pkglibexecdir)|' \
		$(top_srcdir)/src/tools/weft-bench.in >$@ && chmod +x $@

# Starts a process under gdb in a window: mpiexec --debug.
bin_SCRIPTS += src/tools/weft-debug
CLEANFILES += src/tools/weft-debug
EXTRA_DIST += src/tools/weft-debug.in
dist_man_MANS += contrib/man/weft-debug.1
src/tools/weft-debug: $(top_srcdir)/src/tools/weft-debug.in Makefile
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)sed -e 's|@pkgdatadir[@]|$(pkgdatadir)|' \
		$(top_srcdir)/src/tools/weft-debug.in >$@ && chmod +x $@

fill_in = sed -e 's|@CC[@]|$(CC)|; s|@CXX[@]|$(CXX)|' \
	-e 's|@includedir[@]|$(includedir)|; s|@libdir[@]|$(libdir)|' \
	-e 's|@prefix[@]|$(prefix)|; s|@exec_prefix[@]|$(exec_prefix)|' \
	-e 's|@bindir[@]|$(bindir)|; s|@mandir[@]|$(mandir)|' \
	-e 's|@VERSION[@]|$(VERSION)|' -e 's|@FC[@]|$(FC)|' \
	-e 's|@DEP_LIBS[@]|$(PMIX_LIBS) $(HWLOC_LIBS) $(URING_LIBS)|'

$(mpi_wrappers): $(top_srcdir)/src/tools/mpicc.in Makefile
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(fill_in) $(top_srcdir)/src/tools/mpicc.in >$@ && chmod +x $@

contrib/weft.pc contrib/mpi.pc contrib/openshmem.pc: %.pc: $(top_srcdir)/%.pc.in Makefile
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(fill_in) $< >$@

# "module load weft": for Lmod, and for Environment Modules
modulesdir = $(datadir)/modulefiles/weft
modules_DATA = contrib/modules/$(VERSION).lua contrib/modules/$(VERSION)
CLEANFILES += $(modules_DATA)
EXTRA_DIST += contrib/modules/weft.lua.in contrib/modules/weft.in
contrib/modules/$(VERSION).lua: $(top_srcdir)/contrib/modules/weft.lua.in Makefile
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(fill_in) $(top_srcdir)/contrib/modules/weft.lua.in >$@
contrib/modules/$(VERSION): $(top_srcdir)/contrib/modules/weft.in Makefile
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(fill_in) $(top_srcdir)/contrib/modules/weft.in >$@

bin_PROGRAMS += weft-info
weft_info_SOURCES = src/tools/tool_info.c src/tools/tool_report.c src/tools/tool_report.h \
	src/tools/tool_coll.c src/tools/tool_coll.h \
	src/tools/tool_profile.c src/tools/tool_profile.h $(profile_report)
nodist_weft_info_SOURCES = src/mpi/api_list.h src/shmem/api_shmem_list.h \
	src/profile/profile_names.c
weft_info_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_builddir)/src/mpi \
	-I$(top_builddir)/src/shmem \
	-DWEFT_LIBDIR='"$(libdir)"' \
	-DWEFT_PREFIX='"$(prefix)"' \
	-DWEFT_BUILT_CFLAGS='"$(filter-out -ffile-prefix-map=% -fdebug-prefix-map=%,$(CFLAGS))"' \
	-DWEFT_BUILT_FORTRAN='"$(FORTRAN_WHY)"' \
	-DWEFT_BUILT_FABRIC='"$(FABRIC_VERSION)"' \
	-DWEFT_BUILT_PMIX='"$(PMIX_VERSION)"' \
	-DWEFT_BUILT_HWLOC='"$(HWLOC_VERSION)"'
weft_info_LDADD = libweft.la
unit_tests += test/unit/tool_report_test
test_unit_tool_report_test_SOURCES = test/unit/tool_report_test.c src/tools/tool_report.c \
	src/tools/tool_report.h
test_unit_tool_report_test_CPPFLAGS = $(AM_CPPFLAGS)
weft_info_LDFLAGS = $(tool_ldflags)

# Reads the processes of a job from outside, with the structs of the library.
bin_PROGRAMS += weft-top
weft_top_SOURCES = src/tools/tool_top.c src/tools/top_read.c src/tools/top_read.h \
	src/tools/top_nodes.c src/tools/top_nodes.h \
	src/tools/top_verdict.c src/tools/top_verdict.h \
	src/tools/top_print.c src/tools/top_print.h \
	src/tools/tool_report.c src/tools/tool_report.h
weft_top_LDADD = libweft.la
dist_man_MANS += contrib/man/weft-top.1
weft_top_LDFLAGS = $(tool_ldflags)

# Sends datagrams to a launcher, and needs nothing of the library.
bin_PROGRAMS += weft-resize
weft_resize_SOURCES = src/tools/tool_resize.c src/tools/run_resize.h
weft_resize_LDFLAGS = $(MODE_CFLAGS)
weft_resize_LDADD =
dist_man_MANS += contrib/man/weft-resize.1

# weft(7) and mpiio(7) contain the tables of variables, counters and info keys of
# this build.
dist_man_MANS += contrib/man/weft-info.1
nodist_man_MANS += contrib/man/weft.7 contrib/man/mpiio.7
CLEANFILES += contrib/man/weft.7 contrib/man/mpiio.7
EXTRA_DIST += contrib/man/weft.7.in contrib/man/mpiio.7.in
contrib/man/weft.7 contrib/man/mpiio.7: %.7: $(top_srcdir)/%.7.in \
	$(top_srcdir)/src/base/knobs.def $(top_srcdir)/src/base/knobs.sed \
	$(top_srcdir)/src/base/counter.def $(top_srcdir)/src/base/counter.sed \
	$(top_srcdir)/src/core/info_keys.def \
	$(top_srcdir)/src/core/info_keys.awk
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(SED) -n -f $(top_srcdir)/src/base/knobs.sed \
		$(top_srcdir)/src/base/knobs.def >$@.knobs && \
	$(SED) -n '/^KNOB_DEBUG_[NS]/,/")$$/{s/_DEBUG//;p;}' \
		$(top_srcdir)/src/base/knobs.def | \
	$(SED) -n -f $(top_srcdir)/src/base/knobs.sed >$@.debug && \
	$(SED) -n -f $(top_srcdir)/src/base/counter.sed \
		$(top_srcdir)/src/base/counter.def >$@.counters && \
	$(AWK) -f $(top_srcdir)/src/core/info_keys.awk \
		$(top_srcdir)/src/core/info_keys.def \
		$(top_srcdir)/$*.7.in >$@.keys && \
	$(SED) -e '/@KNOBS@/{r $@.knobs' -e 'd}' \
		-e '/@DEBUG_KNOBS@/{r $@.debug' -e 'd}' \
		-e '/@COUNTERS@/{r $@.counters' -e 'd}' \
		-e 's|@VERSION[@]|$(VERSION)|' $@.keys >$@.tmp && \
	rm -f $@.knobs $@.debug $@.counters $@.keys && mv $@.tmp $@
EXTRA_DIST += src/tools/README.md
