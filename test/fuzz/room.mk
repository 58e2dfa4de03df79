# SPDX-License-Identifier: BSD-3-Clause
# Harnesses for whatever parses bytes of a peer. Normally each runs the corpus
# of the tree, in every build that is tested; configured with --enable-fuzz (and
# clang, or AFL++'s compiler) each is a fuzzer. "contrib/fuzz" does all of it.
fuzz_programs = \
	test/fuzz/fuzz_wire \
	test/fuzz/fuzz_ring \
	test/fuzz/fuzz_rma \
	test/fuzz/fuzz_win \
	test/fuzz/fuzz_shore \
	test/fuzz/fuzz_io \
	test/fuzz/fuzz_name \
	test/fuzz/fuzz_pmix \
	test/fuzz/fuzz_text
check_PROGRAMS += $(fuzz_programs)
fuzz_common = test/fuzz/fuzz.h
if FUZZ
fuzz_ldflags = $(AM_LDFLAGS) $(LIB_FUZZING_ENGINE)
else
fuzz_ldflags = $(AM_LDFLAGS)
fuzz_common += test/fuzz/replay.c
TESTS += $(fuzz_programs)
endif
test_fuzz_fuzz_wire_SOURCES = test/fuzz/fuzz_wire.c $(fuzz_common) \
	test/fake/fakeboot.c test/fake/fakeboot.h \
	test/fake/fakefab.c test/fake/fakefab.h
test_fuzz_fuzz_wire_LDFLAGS = $(fuzz_ldflags)
test_fuzz_fuzz_wire_LDADD = libweft.la $(FABRIC_LIBS)
test_fuzz_fuzz_ring_SOURCES = test/fuzz/fuzz_ring.c $(fuzz_common)
test_fuzz_fuzz_ring_LDFLAGS = $(fuzz_ldflags)
test_fuzz_fuzz_ring_LDADD = libweft.la
test_fuzz_fuzz_win_SOURCES = test/fuzz/fuzz_win.c test/fuzz/fuzz_job.h \
	$(fuzz_common) test/fake/fakeboot.c test/fake/fakeboot.h
test_fuzz_fuzz_win_LDFLAGS = $(fuzz_ldflags)
test_fuzz_fuzz_win_LDADD = libweft.la
test_fuzz_fuzz_rma_SOURCES = test/fuzz/fuzz_rma.c test/fuzz/fuzz_job.h \
	$(fuzz_common) \
	test/fake/fakeboot.c test/fake/fakeboot.h
test_fuzz_fuzz_rma_LDFLAGS = $(fuzz_ldflags)
test_fuzz_fuzz_rma_LDADD = libweft.la
test_fuzz_fuzz_shore_SOURCES = test/fuzz/fuzz_shore.c $(fuzz_common)
test_fuzz_fuzz_shore_LDFLAGS = $(fuzz_ldflags)
test_fuzz_fuzz_shore_LDADD = libweft.la
test_fuzz_fuzz_io_SOURCES = test/fuzz/fuzz_io.c src/tools/run_repeat.c $(fuzz_common)
test_fuzz_fuzz_io_LDFLAGS = $(fuzz_ldflags)
test_fuzz_fuzz_io_LDADD = libweft.la
test_fuzz_fuzz_name_SOURCES = test/fuzz/fuzz_name.c $(fuzz_common)
test_fuzz_fuzz_name_LDFLAGS = $(fuzz_ldflags)
test_fuzz_fuzz_name_LDADD = libweft.la $(FABRIC_LIBS)
test_fuzz_fuzz_pmix_SOURCES = test/fuzz/fuzz_pmix.c $(fuzz_common)
test_fuzz_fuzz_pmix_LDFLAGS = $(fuzz_ldflags)
test_fuzz_fuzz_pmix_LDADD = libweft.la $(PMIX_LIBS)
test_fuzz_fuzz_text_SOURCES = test/fuzz/fuzz_text.c $(fuzz_common) \
	src/tools/run_proc.c src/tools/run_spawn.c src/tools/run_mpir.c
test_fuzz_fuzz_text_LDFLAGS = $(fuzz_ldflags)
test_fuzz_fuzz_text_LDADD = libweft.la
EXTRA_DIST += test/fuzz/README.md test/fuzz/replay.c test/fuzz/seeds \
	test/fuzz/corpus contrib/fuzz contrib/oss-fuzz/Dockerfile \
	contrib/oss-fuzz/build.sh contrib/oss-fuzz/project.yaml
