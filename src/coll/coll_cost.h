/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_cost: what an algorithm would take, by a LogGP model
 *
 * The steps of all members are written, by the algorithm itself, and run on a
 * clock: nothing is sent. Members of a node share its network card. */
#ifndef WEFT_COLL_COST_H
#define WEFT_COLL_COST_H

#include "coll/coll_algo.h"

/* Between two members, in ns; is_net: of different nodes; is_local: no way but
 * what is done to data, per_byte only. */
struct weft_coll_link {
	const char *name;
	double latency, overhead, gap, per_byte;
	int64_t long_len;
	bool is_local, is_net;
	const char *source;
};

enum { WEFT_COLL_COST_PROCS = 1024 };

/* Ranks fill node by node. */
struct weft_coll_machine {
	int32_t n, per_node;
	const struct weft_coll_link *net; /* between nodes */
};

/* All classes in turn, NULL at the end; and by name. */
const struct weft_coll_link *weft_coll_link_at(size_t i);
const struct weft_coll_link *weft_coll_link_of(const char *name);

/* The case of an operation on so many bytes (as coll_rules.def counts them);
 * doubles where bytes are a multiple of 8, sums. */
int weft_coll_machine_case(const struct weft_coll_machine *machine,
	enum weft_coll_kind kind, int64_t bytes, struct weft_coll_case *c);

/* From the first member's start to the last one's end. The algorithm can do
 * the case. WEFT_ERR_NOMEM. */
int weft_coll_cost(const struct weft_coll_machine *machine,
	const struct weft_coll_algo *algo, int64_t bytes, double *ns_out);

#endif
