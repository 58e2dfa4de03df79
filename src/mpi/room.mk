# SPDX-License-Identifier: BSD-3-Clause
# gen-api writes these from the procedure table and the header, in the build
# directory; src/mpi/api_<chapter>.h is included by mpi_<chapter>.c.
api_made = src/mpi/api_rows src/mpi/api_list.h \
	src/mpi/api_coll.c src/mpi/mpi_abi.map
api_gen = src/mpi/gen-api src/mpi/gen-api.awk src/mpi/gen-widen.awk \
	src/mpi/gen-checked.awk src/mpi/gen-rows src/mpi/gen-coll
man_gen = src/mpi/gen-man src/mpi/gen-man.awk src/fortran/gen-text.awk \
	src/fortran/gen-f90.awk
BUILT_SOURCES += src/mpi/api.stamp
CLEANFILES += src/mpi/api.stamp $(api_made) src/mpi/api_*.h

src/mpi/api.stamp: $(api_gen) src/mpi/mpi_api.def include/mpi.h
	$(AM_V_GEN)$(MKDIR_P) src/mpi && $(srcdir)/src/mpi/gen-api \
		$(srcdir)/src/mpi/mpi_api.def $(srcdir)/include/mpi.h src/mpi \
		&& touch $@

$(api_made): src/mpi/api.stamp ;

include/mpi_profile.h: src/mpi/api.stamp
	$(AM_V_GEN)$(MKDIR_P) include && cp src/mpi/mpi_profile.h $@

BUILT_SOURCES += include/mpi_profile.h
CLEANFILES += include/mpi_profile.h src/mpi/mpi_profile.h
nodist_include_HEADERS += include/mpi_profile.h

# A manual page for each procedure.
src/mpi/man.stamp: $(man_gen) src/mpi/api_rows
	$(AM_V_GEN)$(srcdir)/src/mpi/gen-man src/mpi/api_rows src/mpi/man3 \
		&& touch $@

noinst_DATA += src/mpi/man.stamp
CLEANFILES += src/mpi/man.stamp

install-data-local: src/mpi/man.stamp
	$(MKDIR_P) "$(DESTDIR)$(man3dir)"
	$(INSTALL_DATA) src/mpi/man3/MPI*_*.3 "$(DESTDIR)$(man3dir)"

uninstall-local: src/mpi/man.stamp
	cd src/mpi/man3 && for page in MPI*_*.3; do \
		rm -f "$(DESTDIR)$(man3dir)/$$page"; done

clean-local:
	rm -rf src/mpi/man3

libmpi_abi_la_SOURCES += src/mpi/mpi_api.def
EXTRA_DIST += $(api_gen) src/mpi/gen-man src/mpi/gen-man.awk \
	src/mpi/README.md
libmpi_abi_la_SOURCES += \
	src/mpi/mpi_check.c src/mpi/mpi_check.h \
	src/mpi/mpi_mix.c src/mpi/mpi_mix.h \
	src/mpi/mpi_stage.c src/mpi/mpi_stage.h \
	src/mpi/mpi_convert.c \
	src/mpi/mpi_widen.c src/mpi/mpi_widen.h \
	src/mpi/mpi_map.c src/mpi/mpi_map.h \
	src/mpi/mpi_p2p.c src/mpi/mpi_request.c \
	src/mpi/mpi_status.c src/mpi/mpi_grequest.c \
	src/mpi/mpi_abi.c src/mpi/mpi_dynamic.c src/mpi/mpi_attr.c \
	src/mpi/mpi_attr.h src/mpi/mpi_comm.c src/mpi/mpi_env.c \
	src/mpi/mpi_errh.c src/mpi/mpi_ft.c src/mpi/mpi_group.c src/mpi/mpi_info.c \
	src/mpi/mpi_level.h src/mpi/mpi_session.c \
	src/mpi/mpi_win.c src/mpi/mpi_rma.c src/mpi/mpi_epoch.c \
	src/mpi/mpi_file.c src/mpi/mpi_transfer.c \
	src/mpi/mpi_topo.c src/mpi/mpi_topo.h src/mpi/mpi_world.c
nodist_libmpi_abi_la_SOURCES += src/mpi/api_coll.c
libmpi_abi_la_SOURCES += src/mpi/mpi_envelope.c src/mpi/mpi_op.c
libmpi_abi_la_SOURCES += src/mpi/mpi_pack.c src/mpi/mpi_type.c src/mpi/mpi_resize.c
libmpi_abi_la_SOURCES += src/mpi/mpi_collarg.c src/mpi/mpi_collarg.h \
	src/mpi/mpi_mpix.c src/mpi/mpi_part.c src/mpi/mpi_buffer.c src/mpi/mpi_buffer.h
mpi_ldflags = -Wl,--version-script=src/mpi/mpi_abi.map
EXTRA_libmpi_abi_la_DEPENDENCIES = src/mpi/mpi_abi.map
test_unit_convert_test_CPPFLAGS = $(AM_CPPFLAGS) $(mpi_cppflags)
test_unit_convert_test_LDADD = $(mpi_prog_ldadd) $(CMOCKA_LIBS)
unit_tests += test/unit/convert_test
EXTRA_DIST += test/unit/convert_test.c

test_unit_abi_test_CPPFLAGS = $(AM_CPPFLAGS) $(mpi_cppflags)
unit_tests += test/unit/abi_test
test_unit_mpitype_test_CPPFLAGS = $(AM_CPPFLAGS) $(mpi_cppflags)
test_unit_mpitype_test_LDADD = $(mpi_prog_ldadd) $(CMOCKA_LIBS)
unit_tests += test/unit/mpitype_test
dist_man_MANS += contrib/man/MPIX_Comm_icreate_from_group.3 \
	contrib/man/MPIX_Comm_idisconnect.3 \
	contrib/man/MPIX_Query_cuda_support.3 \
	contrib/man/MPIX_Query_rocm_support.3 \
	contrib/man/MPIX_Query_ze_support.3 \
	contrib/man/MPIX_Session_create_pset.3 \
	contrib/man/MPIX_Session_delete_pset.3 \
	contrib/man/MPIX_Session_get_pset_changes.3 \
	contrib/man/MPIX_Session_pset_difference.3 \
	contrib/man/MPIX_Session_pset_intersection.3 \
	contrib/man/MPIX_Session_pset_union.3 \
	contrib/man/MPIX_Session_publish_pset.3 \
	contrib/man/MPIX_Session_set_pset_callback.3 \
	contrib/man/MPIX_Session_unpublish_pset.3 \
	contrib/man/weft-malleable.7
