# SPDX-License-Identifier: BSD-3-Clause
# The Fortran bindings, if configure found a compiler that suffices. Everything
# but the files named here is made from mpi_api.def in the build directory.
f_gen = src/fortran/gen-fortran src/fortran/gen-text.awk \
	src/fortran/gen-c.awk src/fortran/gen-f90.awk src/fortran/gen-main.awk
EXTRA_DIST += $(f_gen) src/fortran/README.md \
	contrib/weft-fortran.pc.in contrib/man/mpifort.1

f_made = src/fortran/f_shims.c src/fortran/f_names.h src/fortran/f_calls.h \
	src/fortran/weft_mpi_types.f90 src/fortran/mpi_f08.f90 \
	src/fortran/mpi.f90 src/fortran/mpif.h src/fortran/weft_mpi_const.h \
	src/fortran/libweft_fortran.map
CLEANFILES += src/fortran/fortran.stamp $(f_made)

src/fortran/fortran.stamp: $(f_gen) src/mpi/api_rows include/mpi.h \
		include/mpix.h
	$(AM_V_GEN)$(MKDIR_P) src/fortran && \
		$(srcdir)/src/fortran/gen-fortran src/mpi/api_rows \
		$(srcdir)/include/mpi.h $(srcdir)/include/mpix.h \
		src/fortran && touch $@

$(f_made): src/fortran/fortran.stamp ;

f_modules = src/fortran/weft_mpi_types.lo src/fortran/mpi_f08.lo \
	src/fortran/mpi.lo
f_mod_files = src/fortran/weft_mpi_types.mod src/fortran/mpi_f08.mod \
	src/fortran/mpi.mod
f_moddir = $(libdir)/weft/fortran

if HAVE_FORTRAN
BUILT_SOURCES += src/fortran/fortran.stamp
lib_LTLIBRARIES += libweft_fortran.la
libweft_fortran_la_SOURCES = src/fortran/fortran.h \
	src/fortran/fortran_array.c src/fortran/fortran_call.c \
	src/fortran/fortran_convert.c src/fortran/fortran_hand.c
nodist_libweft_fortran_la_SOURCES = src/fortran/f_shims.c
libweft_fortran_la_CPPFLAGS = $(AM_CPPFLAGS) $(mpi_cppflags) \
	-I$(top_srcdir)/src/fortran -I$(top_builddir)/src
# nothing in C calls these functions, so no header declares them; the profile
# library finds the caller by the frame pointer
libweft_fortran_la_CFLAGS = $(AM_CFLAGS) -Wno-missing-prototypes \
	-Wno-deprecated-declarations -fno-omit-frame-pointer
libweft_fortran_la_LDFLAGS = $(MODE_CFLAGS) $(NO_UNDEFINED) \
	-version-info $(FORTRAN_VERSION_INFO) \
	-Wl,--version-script=src/fortran/libweft_fortran.map
libweft_fortran_la_LIBADD = $(f_modules) libmpi_abi.la libweft.la
EXTRA_libweft_fortran_la_DEPENDENCIES = src/fortran/libweft_fortran.map
CLEANFILES += $(f_modules) $(f_modules:.lo=.o) $(f_mod_files)

src/fortran/libweft_fortran_la-fortran_hand.lo \
src/fortran/libweft_fortran_la-fortran_call.lo: src/fortran/fortran.stamp

f_mod_DATA = $(f_mod_files)
nodist_include_HEADERS += src/fortran/mpif.h
bin_SCRIPTS += src/tools/mpifort src/tools/mpif90 src/tools/mpif77
CLEANFILES += src/tools/mpifort src/tools/mpif90 src/tools/mpif77 \
	contrib/weft-fortran.pc
pkgconfig_DATA += contrib/weft-fortran.pc
dist_man_MANS += contrib/man/mpifort.1
endif

src/tools/mpifort src/tools/mpif90 src/tools/mpif77: \
		$(top_srcdir)/src/tools/mpicc.in Makefile
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(fill_in) $(top_srcdir)/src/tools/mpicc.in >$@ && chmod +x $@

contrib/weft-fortran.pc: contrib/weft-fortran.pc.in Makefile
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)$(fill_in) $(top_srcdir)/contrib/weft-fortran.pc.in >$@

src/fortran/mpi_f08.lo src/fortran/mpi.lo: src/fortran/weft_mpi_types.lo

$(f_modules): src/fortran/fortran.stamp
	$(AM_V_GEN)$(LIBTOOL) --silent --tag=CC --mode=compile $(FC) \
		$(FCFLAGS) -ffree-line-length-none -Isrc/fortran \
		-Jsrc/fortran -c -o $@ $(@:.lo=.f90)

$(f_mod_files): $(f_modules) ;
