# SPDX-License-Identifier: BSD-3-Clause
libweft_la_SOURCES += src/coll/coll.h src/coll/coll_priv.h src/coll/coll.c \
	src/coll/coll_algo.h src/coll/coll_algo.c src/coll/coll_rules.c \
	src/coll/coll_rules.def src/coll/coll_cost.h src/coll/coll_cost.c \
	src/coll/network.h src/coll/network.c src/coll/coll_tag.c src/coll/coll_view.h \
	src/coll/sched.h src/coll/step.c src/coll/step_dev.c src/coll/sched_list.c \
	src/coll/sched_blocking.c \
	src/coll/coll_settle.h src/coll/coll_settle.c src/coll/fold.h src/coll/fold.c \
	src/coll/barrier.c src/coll/bcast.c src/coll/gather.c \
	src/coll/alltoall.c src/coll/reduce.c src/coll/allreduce.c \
	src/coll/scan.c src/coll/nodes.c src/coll/slices.c src/coll/coll_inter.c \
	src/coll/edges.h src/coll/edges.c src/coll/edges_settle.c src/coll/neighbor.c \
	src/coll/route.c src/coll/route.h
EXTRA_DIST += src/coll/README.md
unit_tests += test/unit/coll_algo_test
test_unit_coll_algo_test_SOURCES = test/unit/coll_algo_test.c \
	test/unit/coll_run.h test/unit/coll_sim.h
unit_tests += test/unit/coll_neighbor_test
test_unit_coll_neighbor_test_SOURCES = test/unit/coll_neighbor_test.c \
	test/unit/coll_run.h test/unit/coll_sim.h
