# SPDX-License-Identifier: BSD-3-Clause
# The multi-process programs. They are built as a user's program is: from the
# public header and libmpi_abi alone. A new one is a name here and a line in
# test/multi/list. "make multi" builds them, "make check-multi" runs them.
multi_programs =
multi_programs += test/multi/coll_killed
multi_programs += test/multi/p2p_rings
multi_programs += test/multi/ft_alive
multi_programs += test/multi/ft_agree test/multi/ft_inter
multi_programs += test/multi/coll_left
multi_programs += test/multi/coll_differ
multi_programs += test/multi/coll_mixed
multi_programs += test/multi/coll_moves
multi_programs += test/multi/coll_neighbor
multi_programs += test/multi/coll_ops
multi_programs += test/multi/coll_dup
multi_programs += test/multi/coll_placed
multi_programs += test/multi/coll_forms test/multi/comm_topo test/multi/comm_dist_graph
multi_programs += test/multi/p2p_forms test/multi/req_status test/multi/win_forms
multi_programs += test/multi/coll_overlap
multi_programs += test/multi/coll_reduce
multi_programs += test/multi/coll_shm
multi_programs += test/multi/coll_wrap
multi_programs += test/multi/comm_attr
multi_programs += test/multi/comm_churn
multi_programs += test/multi/comm_colors
multi_programs += test/multi/comm_errh
multi_programs += test/multi/comm_free
multi_programs += test/multi/comm_half
multi_programs += test/multi/comm_info
multi_programs += test/multi/comm_inter
multi_programs += test/multi/comm_leaders
multi_programs += test/multi/comm_make
multi_programs += test/multi/comm_self_attr
multi_programs += test/multi/comm_scarce
multi_programs += test/multi/comm_split_type
multi_programs += test/multi/dev_auto
multi_programs += test/multi/dev_coll_fault
multi_programs += test/multi/dev_coll test/multi/dev_faults test/multi/dev_other test/multi/dev_p2p
multi_programs += test/multi/dev_ipc test/multi/dev_pinned test/multi/dev_remote
multi_programs += test/multi/dev_gdr test/multi/dev_speed
multi_programs += test/multi/dev_win
multi_programs += test/multi/dt_pack
multi_programs += test/multi/dt_random
multi_programs += test/multi/err_args
multi_programs += test/multi/err_died
multi_programs += test/multi/err_handles
multi_programs += test/multi/err_results
multi_programs += test/multi/err_walk
multi_programs += test/multi/ft_aborted
multi_programs += test/multi/ft_alone
multi_programs += test/multi/ft_failed
multi_programs += test/multi/ft_finalized
multi_programs += test/multi/ft_link
multi_programs += test/multi/ft_refuse
multi_programs += test/multi/ft_notices
multi_programs += test/multi/ft_revoke test/multi/ft_revoke_win test/multi/ft_revoke_file
multi_programs += test/multi/ft_spawn
multi_programs += test/multi/ft_silent
multi_programs += test/multi/ft_wildcard
multi_programs += test/multi/group_errh
multi_programs += test/multi/group_sets
multi_programs += test/multi/lead_killed
multi_programs += test/multi/mpit_args
multi_programs += test/multi/mpit_events
multi_programs += test/multi/mpit_vars
multi_programs += test/multi/mpix_abort
multi_programs += test/multi/mpix_alive
multi_programs += test/multi/mpix_broken
multi_programs += test/multi/mpix_blocks
multi_programs += test/multi/mpix_later
multi_programs += test/multi/mpix_psets
multi_programs += test/multi/mpix_publish
multi_programs += test/multi/p2p_batch
multi_programs += test/multi/p2p_bsend
multi_programs += test/multi/p2p_buffers
multi_programs += test/multi/p2p_cancel
multi_programs += test/multi/p2p_cancel_send
multi_programs += test/multi/p2p_departed
multi_programs += test/multi/p2p_crowd
multi_programs += test/multi/p2p_pieces
multi_programs += test/multi/p2p_derived
multi_programs += test/multi/p2p_fail
multi_programs += test/multi/p2p_flood
multi_programs += test/multi/p2p_full
multi_programs += test/multi/p2p_help
multi_programs += test/multi/p2p_slow
multi_programs += test/multi/mem_readonly
multi_programs += test/multi/p2p_large
multi_programs += test/multi/p2p_leader
multi_programs += test/multi/p2p_first
multi_programs += test/multi/p2p_not_started
multi_programs += test/multi/p2p_lost
multi_programs += test/multi/p2p_stripe
multi_programs += test/multi/p2p_modes
multi_programs += test/multi/p2p_mprobe
multi_programs += test/multi/p2p_order
multi_programs += test/multi/p2p_part
multi_programs += test/multi/p2p_persist
multi_programs += test/multi/p2p_probe
multi_programs += test/multi/p2p_procnull
multi_programs += test/multi/p2p_reqfree
multi_programs += test/multi/p2p_scattered
multi_programs += test/multi/p2p_self
multi_programs += test/multi/p2p_sendrecv
multi_programs += test/multi/p2p_storm
multi_programs += test/multi/p2p_truncate
multi_programs += test/multi/p2p_types
multi_programs += test/multi/p2p_wait
multi_programs += test/multi/p2p_wildcard
multi_programs += test/multi/resize_fixed test/multi/resize_grow test/multi/resize_steps
multi_programs += test/multi/resize_died test/multi/resize_leave
multi_programs += test/multi/ses_always
multi_programs += test/multi/world_programs
multi_programs += test/multi/ses_faults
multi_programs += test/multi/ses_died
multi_programs += test/multi/ses_doubt
multi_programs += test/multi/ses_duties
multi_programs += test/multi/ses_churn
multi_programs += test/multi/ses_forms
multi_programs += test/multi/ses_comms
multi_programs += test/multi/ses_cycle
multi_programs += test/multi/ses_examples
multi_programs += test/multi/ses_finalize
multi_programs += test/multi/ses_hints
multi_programs += test/multi/ses_inter
multi_programs += test/multi/ses_vcis
multi_programs += test/multi/ses_late
multi_programs += test/multi/ses_leave
multi_programs += test/multi/ses_life
multi_programs += test/multi/ses_lonely
multi_programs += test/multi/ses_many
multi_programs += test/multi/p2p_sparse
multi_programs += test/multi/ses_named test/multi/ses_mix test/multi/comm_dims
multi_programs += test/multi/ses_objects
multi_programs += test/multi/ses_psets
multi_programs += test/multi/ses_reach
multi_programs += test/multi/ses_reinit
multi_programs += test/multi/ses_signals
multi_programs += test/multi/ses_rings
multi_programs += test/multi/ses_stale
multi_programs += test/multi/ses_threads
multi_programs += test/multi/ses_no_answer
multi_programs += test/multi/ses_world
multi_programs += test/multi/wait_quiet
multi_programs += test/multi/wait_rings
multi_programs += test/multi/spawn_again
multi_programs += test/multi/spawn_psets
multi_programs += test/multi/spawn_path
multi_programs += test/multi/spawn_windows
multi_programs += test/multi/thr_coll
multi_programs += test/multi/thr_spread
multi_programs += test/multi/thr_vcis
multi_programs += test/multi/thr_pingpong
multi_programs += test/multi/thr_psets
multi_programs += test/multi/thr_copy
multi_programs += test/multi/thr_wait
multi_programs += test/multi/user_calls
multi_programs += test/multi/wait_beside
multi_programs += test/multi/wait_block
multi_programs += test/multi/wait_quota
multi_programs += test/multi/wait_refused
multi_programs += test/multi/lazy_ring
multi_programs += test/multi/world_exit
multi_programs += test/multi/world_finalize
multi_programs += test/multi/world_life
multi_programs += test/multi/file_access
multi_programs += test/multi/file_together
multi_programs += test/multi/file_chdir
multi_programs += test/multi/mem_kinds
multi_programs += test/multi/file_faults
multi_programs += test/multi/file_uring
multi_programs += test/multi/file_forms
multi_programs += test/multi/file_full
multi_programs += test/multi/file_large
multi_programs += test/multi/file_sieve
multi_programs += test/multi/file_stats
multi_programs += test/multi/file_stripes
multi_programs += test/multi/file_objects
multi_programs += test/multi/win_died
multi_programs += test/multi/win_epochs
multi_programs += test/multi/win_left
multi_programs += test/multi/win_rings
multi_programs += test/multi/win_count
multi_programs += test/multi/win_created
multi_programs += test/multi/win_rma
multi_programs += test/multi/win_rows
multi_programs += test/multi/win_silent
multi_programs += test/multi/stats
multi_programs += test/multi/storm
multi_programs += test/multi/win_misuse
multi_programs += test/multi/win_objects
multi_programs += test/multi/win_ops
multi_programs += test/multi/win_random
multi_programs += test/multi/win_threads

EXTRA_DIST += $(multi_programs:=.c) test/multi/mtest.h test/multi/output.h test/multi/mappings.h test/multi/session.h test/multi/cma.h test/multi/link.h test/multi/coll.h \
	test/multi/hints.h test/multi/resize.h test/multi/file.h test/multi/behind.h test/multi/gen-walk \
	test/multi/dt_case.h test/multi/dt_coll.h test/multi/dt_file.h \
	test/multi/dt_map.h test/multi/dt_win.h test/multi/storm.h test/multi/device.h test/multi/driver.h test/multi/ports.h \
	test/multi/list \
	test/run-multi test/storm test/README.md test/conformance/README.md \
	test/conformance/mpich.known \
	test/conformance/rules.tsv test/conformance/run-mpich
CLEANFILES += $(multi_programs) test/multi/err_walk_calls.h

test/multi/err_walk_calls.h: test/multi/gen-walk src/mpi/api_rows
	$(AM_V_GEN)$(MKDIR_P) test/multi && $(srcdir)/test/multi/gen-walk \
		src/mpi/api_rows > $@.new && mv $@.new $@

test/multi/err_walk: test/multi/err_walk_calls.h
test/multi/storm test/shmem/sma_storm: test/multi/storm.h
test/shmem/sma_gone: test/multi/ports.h
test/shmem/sma_dev test/shmem/sma_ext test/shmem/sma_ext_thr test/shmem/sma_gone: \
	test/multi/driver.h test/shmem/devdata.h
test/multi/dt_random: test/multi/dt_case.h test/multi/dt_coll.h \
	test/multi/dt_file.h test/multi/dt_map.h test/multi/dt_win.h

# The shared libraries of the build tree, as a user's link command has them.
# libtool would take longer than the compiler.
multi_ldflags = -L.libs -Wl,-rpath,$(abs_builddir)/.libs $(near_libs) $(LDFLAGS)

MULTI_COMPILE = $(CC) \
	$(mpi_cppflags) $(multi_flags) $(CPPFLAGS) -std=gnu11 $(WARN_CFLAGS) \
	-Wno-deprecated-declarations $(MODE_CFLAGS) $(CFLAGS) -pthread \
	$(multi_ldflags)

$(multi_programs): %: %.c test/multi/mtest.h \
	test/multi/session.h test/multi/cma.h test/multi/link.h test/multi/output.h test/multi/mappings.h test/multi/coll.h \
	test/multi/hints.h test/multi/resize.h test/multi/file.h test/multi/behind.h test/multi/device.h test/multi/driver.h test/multi/ports.h libmpi_abi.la
	$(AM_V_CCLD)$(MKDIR_P) test/multi && \
	$(MULTI_COMPILE) -I. -o $@ $(filter %.c,$^) -lmpi_abi $(multi_libs)

# The program intercepts calls between the library and liburing.
test/multi/file_uring: multi_flags = $(URING_CFLAGS)
test/multi/file_uring: multi_libs = $(URING_LIBS)

multi: $(multi_programs) $(f_built) test/fake/cxi/libcxi-fi.la \
	test/fake/pages64k.la test/fake/cuda/libcuda.la test/fake/cuda/libgdrapi.la test/fake/rocm/libhsa-runtime64.la \
	test/fake/ze/libze_loader.la

MPIEXEC = $(abs_builddir)/mpiexec

check-mpi: multi
	MPIEXEC='$(MPIEXEC)' \
		$(srcdir)/test/run-multi --bin test/multi \
		$(MULTI_FLAGS)

# All kinds of runs; with make -k, a failure of one does not prevent the others.
check-multi: check-mpi
.PHONY: multi check-mpi check-multi
