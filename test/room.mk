# SPDX-License-Identifier: BSD-3-Clause
# Unit tests are listed in the room.mk of the room they test (unit_tests +=);
# each is linked statically with libweft, so that it may reach inside.
if HAVE_CMOCKA
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)
else
check-local:
	@echo '# SKIP the $(words $(unit_tests)) unit tests and some over' \
		'libfabric: configure found no cmocka.'; \
	echo '# Install it (Debian: libcmocka-dev, or contrib/install-deps)' \
		'and run configure again.'
endif
LDADD = libweft.la $(CMOCKA_LIBS)
AM_CPPFLAGS += $(CMOCKA_CFLAGS)
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) \
	$(top_srcdir)/config/tap-driver.sh
LOG_COMPILER = $(top_srcdir)/test/tap
TEST_LOG_DRIVER = $(LOG_DRIVER)
AM_TESTS_ENVIRONMENT = CMOCKA_MESSAGE_OUTPUT=TAP; \
	export CMOCKA_MESSAGE_OUTPUT; \
	TEST_SRCDIR='$(abs_top_srcdir)'; export TEST_SRCDIR; \
	TEST_BUILDDIR='$(abs_top_builddir)'; export TEST_BUILDDIR;

# Builds the library and TEST, and runs TEST; "make check" and "make check-multi"
# build all programs first. TEST is test/unit/X, test/multi/X, test/shmem/X, or
# another one of "make check".
check-one:
	@case '$(TEST)' in \
	test/multi/* | test/shmem/*) \
		$(MAKE) $(AM_MAKEFLAGS) '$(TEST)' mpiexec \
			test/fake/cxi/libcxi-fi.la test/fake/pages64k.la \
			test/fake/cuda/libcuda.la \
			test/fake/rocm/libhsa-runtime64.la \
			test/fake/ze/libze_loader.la && \
		MPIEXEC='$(MPIEXEC)' $(srcdir)/test/run-multi \
			--list $(srcdir)/$(dir $(TEST))list \
			--bin $(dir $(TEST)) --needed $(MULTI_FLAGS) \
			$(notdir $(TEST)) ;; \
	test/*) \
		rm -f '$(TEST).log' '$(TEST).trs'; \
		$(MAKE) $(AM_MAKEFLAGS) '$(TEST).log' && \
		if grep -q -E '^:test-result: (FAIL|ERROR|XPASS)' '$(TEST).trs'; then \
			cat '$(TEST).log'; exit 1; \
		fi ;; \
	*) \
		echo 'usage: make check-one TEST=test/unit/NAME' \
			'(or test/multi/NAME, test/shmem/NAME)' >&2; \
		exit 2 ;; \
	esac
.PHONY: check-one
EXTRA_DIST += test/unit/capture.h test/unit/dev_round.h
EXTRA_DIST += test/gates test/tap
EXTRA_DIST += test/html.test
if !SANITIZED
TESTS += test/html.test
endif

# For LD_PRELOAD; the profile "pages" of run-multi.
check_LTLIBRARIES += test/fake/pages64k.la
test_fake_pages64k_la_SOURCES = test/fake/pages64k.c
test_fake_pages64k_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
test_fake_pages64k_la_LIBADD =
EXTRA_DIST += test/litmus/README.md \
	test/litmus/coll-chain.litmus test/litmus/ppc-ring.litmus \
	test/litmus/ring-aarch64.litmus test/litmus/ring-publish.litmus \
	test/litmus/ring-reuse.litmus \
	test/litmus/rv-ring.litmus test/litmus/sleep-after.litmus \
	test/litmus/sleep-before.litmus test/litmus/sleep-between.litmus \
	test/litmus/sleep-nofence.litmus test/litmus/table-next.litmus \
	test/litmus/wake-clear.litmus
