# SPDX-License-Identifier: BSD-3-Clause
# bin_PROGRAMS += mpiexec
# mpiexec_SOURCES = src/tools/tool_run.c
# mpiexec_LDADD = libweft.la
# mpiexec_LDFLAGS = $(tool_ldflags)

# The compiler wrappers: one script, told by its name.
mpi_wrappers = src/tools/mpicc src/tools/mpicxx src/tools/mpic++
bin_SCRIPTS += $(mpi_wrappers)
CLEANFILES += $(mpi_wrappers) contrib/weft.pc contrib/mpi.pc
EXTRA_DIST += src/tools/mpicc.in contrib/weft.pc.in contrib/mpi.pc.in
pkgconfig_DATA += contrib/weft.pc contrib/mpi.pc
dist_man_MANS += contrib/man/mpicc.1

fill_in = sed -e 's|@CC[@]|$(CC)|; s|@CXX[@]|$(CXX)|' \
	-e 's|@includedir[@]|$(includedir)|; s|@libdir[@]|$(libdir)|' \
	-e 's|@prefix[@]|$(prefix)|; s|@exec_prefix[@]|$(exec_prefix)|' \
	-e 's|@VERSION[@]|$(VERSION)|'

$(mpi_wrappers): $(top_srcdir)/src/tools/mpicc.in Makefile
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(fill_in) $(top_srcdir)/src/tools/mpicc.in >$@ && chmod +x $@

contrib/weft.pc contrib/mpi.pc: %.pc: $(top_srcdir)/%.pc.in Makefile
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(fill_in) $< >$@
