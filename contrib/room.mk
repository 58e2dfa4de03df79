# SPDX-License-Identifier: BSD-3-Clause
EXTRA_DIST += \
	.github/ISSUE_TEMPLATE .github/pull_request_template.md \
	.github/workflows \
	AUTHORS CITATION.cff \
	CODE_OF_CONDUCT.md \
	CONTRIBUTING.md \
	MAINTAINERS.md \
	NEWS.md \
	RELEASE.md \
	SECURITY.md \
	SUPPORT.md \
	contrib/README.md \
	contrib/notes \
	contrib/pictures/bandwidth.svg contrib/pictures/bcast.svg \
	contrib/pictures/latency.svg contrib/pictures/scale-messages.svg \
	contrib/pictures/scale-time.svg contrib/scale contrib/scale.md \
	contrib/api-table \
	contrib/examples/files.c contrib/examples/hello_shmem.c \
	contrib/examples/sessions.c contrib/examples/stencil_respawn.c \
	contrib/examples/stencil_restart.c contrib/examples/stencil_sessions.c \
	contrib/examples/stencil_grow.c contrib/examples/stencil_shrink.c \
	contrib/examples/coupled.c contrib/examples/deadlock.c \
	contrib/examples/shmem_sessions.c contrib/examples/two_libraries.c \
	contrib/guides \
	contrib/html.css \
	contrib/check \
	contrib/check-calls contrib/check-calls.allow \
	contrib/check-english \
	contrib/check-fortran \
	contrib/check-guides \
	contrib/check-headers \
	contrib/check-html \
	contrib/check-install \
	contrib/check-layers \
	contrib/check-release contrib/check-runpath \
	contrib/check-style \
	contrib/check-workflows \
	contrib/conformance-page \
	contrib/conformance.md \
	contrib/cxi-checklist.md contrib/gpu-checklist.md \
	contrib/check-style.allow \
	contrib/install-deps \
	.containerignore contrib/containers \
	contrib/debian contrib/easybuild contrib/rpm contrib/spack \
	contrib/make-deb contrib/make-rpm contrib/make-html contrib/make-html.awk \
	contrib/make-tarball \
	contrib/quickstart \
	contrib/tsan.supp

# For LeakSanitizer, valgrind and gdb.
dist_pkgdata_DATA = contrib/lsan.supp contrib/valgrind.supp contrib/weft-gdb.py

# Files that the manual pages name.
dist_doc_DATA = contrib/pictures/timeline.png

check-layers check-style:
	$(top_srcdir)/contrib/$@

check-headers: $(BUILT_SOURCES)
	CC='$(CC)' $(top_srcdir)/contrib/$@ $(abs_top_builddir)

.PHONY: check-layers check-style check-headers

# Which rule is proved by which test; a gate fails while the page is stale.
conformance:
	$(top_srcdir)/contrib/conformance-page

.PHONY: conformance

# All pages and manual pages as a static site in html/, by mandoc and lowdown.
html-local: src/mpi/man.stamp $(dist_man_MANS) $(nodist_man_MANS)
	$(AM_V_GEN)$(srcdir)/contrib/make-html html \
		$(filter %.1 %.3 %.7,$^) src/mpi/man3/MPI*_*.3
	$(AM_V_at)$(srcdir)/contrib/check-html html $(abs_top_builddir)

install-html-local: html-local
	$(MKDIR_P) "$(DESTDIR)$(htmldir)"
	rm -rf "$(DESTDIR)$(htmldir)/html"
	cp -R html "$(DESTDIR)$(htmldir)/html"

mostlyclean-local:
	rm -rf html test/html-pictures

EXTRA_DIST += contrib/check-abi contrib/check-sma contrib/check-symbols \
	contrib/abi/libmpi_abi.abi.xz contrib/abi/libmpi_abi.symbols \
	contrib/abi/libsma.abi.xz contrib/abi/libsma.symbols
check-abi: libmpi_abi.la libsma.la
	$(AM_V_at)CC='$(CC)' CXX='$(CXX)' $(top_srcdir)/contrib/$@ \
		.libs/libmpi_abi.so $(top_srcdir)
	$(AM_V_at)CC='$(CC)' CXX='$(CXX)' $(top_srcdir)/contrib/check-sma .
.PHONY: check-abi
EXTRA_DIST += contrib/lanes/lane.sh contrib/lanes/prrte contrib/lanes/slurm \
	contrib/lanes/containers contrib/lanes/cross contrib/lanes/debian contrib/lanes/debian13 contrib/lanes/rpm \
	contrib/lanes/gpu contrib/lanes/pmix \
	contrib/lanes/verbs contrib/lanes/verbs-guest \
	contrib/lanes/verbs.result contrib/lanes/README.md

# The linker name that build systems use without mpicc, and the launcher's other
# name.
install-exec-hook:
	cd $(DESTDIR)$(bindir) && rm -f mpirun$(EXEEXT) && \
		$(LN_S) mpiexec$(EXEEXT) mpirun$(EXEEXT)
	cd $(DESTDIR)$(libdir) && if test -e libmpi_abi.so; then \
		rm -f libmpi.so && $(LN_S) libmpi_abi.so libmpi.so; fi

uninstall-hook:
	rm -f $(DESTDIR)$(libdir)/libmpi.so $(DESTDIR)$(bindir)/mpirun$(EXEEXT)
	rm -rf "$(DESTDIR)$(htmldir)/html"

installcheck-local:
	$(top_srcdir)/contrib/check-runpath '$(DESTDIR)$(prefix)'
