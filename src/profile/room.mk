# SPDX-License-Identifier: BSD-3-Clause
# The profile library: preloaded, so it is one file without a version, which no
# program links with.
profile_gen = src/profile/gen-profile src/profile/gen-profile.awk \
	src/profile/gen-profile-shmem.awk
profile_shmem = src/profile/profile_shmem_0.c src/profile/profile_shmem_1.c \
	src/profile/profile_shmem_2.c src/profile/profile_shmem_3.c
profile_made = $(profile_shmem) src/profile/profile_calls.c \
	src/profile/profile_names.c src/profile/profile_next.h \
	src/profile/profile_shmem_next_0.h src/profile/profile_shmem_next_1.h \
	src/profile/profile_shmem_next_2.h src/profile/profile_shmem_next_3.h
BUILT_SOURCES += src/profile/profile.stamp
CLEANFILES += src/profile/profile.stamp $(profile_made)
EXTRA_DIST += $(profile_gen) src/profile/README.md

src/profile/profile.stamp: $(profile_gen) src/mpi/api_rows include/pshmem.h
	$(AM_V_GEN)$(srcdir)/src/profile/gen-profile src/mpi/api_rows \
		include/pshmem.h src/profile && touch $@

$(profile_made): src/profile/profile.stamp ;

lib_LTLIBRARIES += libweft_profile.la
libweft_profile_la_SOURCES = $(profile_report) \
	src/profile/profile_record.c src/profile/profile_record.h \
	src/profile/profile_request.c src/profile/profile_clock.c \
	src/profile/profile_finish.c src/profile/profile_finish.h
nodist_libweft_profile_la_SOURCES = $(profile_shmem) \
	src/profile/profile_calls.c src/profile/profile_names.c
libweft_profile_la_CPPFLAGS = $(AM_CPPFLAGS) $(mpi_cppflags) \
	-DWEFT_LIBDIR='"$(libdir)"' \
	-I$(top_builddir)/src/profile
# The recorder reads the frames of the wrappers and of libweft_fortran.
libweft_profile_la_CFLAGS = $(AM_CFLAGS) -fno-omit-frame-pointer \
	-fvisibility=hidden
# without objects for a static library
libweft_profile_la_LIBTOOLFLAGS = --tag=disable-static
libweft_profile_la_LDFLAGS = $(MODE_CFLAGS) $(NO_UNDEFINED) -avoid-version \
	-shared
libweft_profile_la_LIBADD = libmpi_abi.la libweft.la

# The readers of records, for the launcher and weft-info.
profile_report = src/profile/profile_report.c src/profile/profile_report.h \
	src/profile/profile_json.c src/profile/profile_page.c \
	src/profile/profile_trace.c src/profile/profile_output.c \
	src/profile/profile_place.c src/profile/profile_library.c \
	src/profile/profile.h
