# SPDX-License-Identifier: BSD-3-Clause
# What weft-bench runs; nothing here passes or fails. The sources are installed,
# because weft-bench compiles them with other libraries.
pkglibexec_PROGRAMS = test/bench/bench test/bench/shmembench test/bench/rawfab
benchdir = $(pkgdatadir)/bench
dist_bench_DATA = $(test_bench_bench_SOURCES) test/bench/shmembench.c
test_bench_bench_SOURCES = \
	test/bench/bench.h \
	test/bench/bench_coll.c \
	test/bench/bench_copy.c \
	test/bench/bench_ft.c \
	test/bench/bench_vcis.c \
	test/bench/bench_main.c \
	test/bench/bench_pt2pt.c \
	test/bench/bench_rma.c \
	test/bench/bench_session.c \
	test/bench/bench_startup.c \
	test/bench/bench_table.c \
	test/bench/bench_util.c
test_bench_bench_CPPFLAGS = $(mpi_prog_cppflags)
test_bench_bench_LDADD = libmpi_abi.la
# linked again when they are installed
test_bench_bench_LDFLAGS = $(MODE_CFLAGS) $(near_libs)
test_bench_shmembench_SOURCES = test/bench/shmembench.c
test_bench_shmembench_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_builddir)/include \
	-I$(top_srcdir)/include
test_bench_shmembench_LDADD = libsma.la
test_bench_shmembench_LDFLAGS = $(MODE_CFLAGS) $(near_libs)
test_bench_rawfab_SOURCES = test/bench/rawfab.c
test_bench_rawfab_LDADD = $(FABRIC_LIBS)
EXTRA_DIST += test/bench/README.md test/bench/apps test/bench/growbench.c \
	test/bench/pmixcount.c test/bench/scalebench.c
