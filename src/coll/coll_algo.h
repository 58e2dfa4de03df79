/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_algo: all algorithms by name, and which is taken when
 *
 * One list of rules chooses: the first that fits the case and whose algorithm
 * can do it. The built-in ones are coll_rules.def; WEFT_COLL_FILE puts others
 * in front, WEFT_COLL names algorithms outright. All members see the same case
 * and the same rules, so all choose the same. */
#ifndef WEFT_COLL_ALGO_H
#define WEFT_COLL_ALGO_H

#include "coll/coll_priv.h"

/* What an algorithm asks of the case. */
enum {
	WEFT_NEEDS_COMMUTATIVE = 1,
	WEFT_NEEDS_COUNT = 2,	/* an item for every member at least */
	WEFT_NEEDS_REGULAR = 4, /* no v or w form */
	WEFT_NEEDS_NODES = 8,	/* several, some with several members */
	WEFT_NEEDS_ORDER = 16,	/* nodes are runs of ranks, or commutative */
	WEFT_NEEDS_EVEN = 32,	/* as many members on each node */
	WEFT_NEEDS_SEGMENT = 64,
	WEFT_NEEDS_EDGES = 128, /* of a topology, between nodes */
};

struct weft_coll_algo {
	enum weft_coll_kind kind;
	const char *name;
	unsigned needs;
	weft_coll_fn *write; /* NULL: not by messages */
};

/* What the choice is made by. Bytes are of the whole for a broadcast and the
 * reductions, of one block for the others, 0 where members may not know. */
struct weft_coll_case {
	enum weft_coll_kind kind;
	int32_t n;
	int32_t n_nodes; /* 0: not known */
	int32_t most, least;
	bool is_in_order, is_commutative, is_regular, has_segment;
	bool shares_cores;
	int32_t n_per_bundle; /* messages between two nodes; 0: not known */
	int64_t bytes, count;
	const char *fabric;
};

/* The rules, from the built-in ones and the environment: once. An error that
 * names what is wrong with WEFT_COLL or WEFT_COLL_FILE, and where. */
int weft_coll_rules_load(void);

/* Of what the environment said: alike at members that choose alike. */
uint32_t weft_coll_rules_digest(void);

/* The case of a call, as a member of the view knows it. */
void weft_coll_case_of(struct weft_coll_case *c, enum weft_coll_kind kind,
	const struct weft_coll_view *view, const struct weft_coll *args);

/* Of n members that share a node and a segment, commutative, 0 bytes. */
void weft_coll_case_in_segment(struct weft_coll_case *c,
	enum weft_coll_kind kind, int32_t n, bool shares_cores);

/* Of n members, per_node on each node in the order of ranks: a commutative
 * operation, on doubles if bytes are a multiple of 8, on bytes otherwise. */
void weft_coll_case_of_job(struct weft_coll_case *c, enum weft_coll_kind kind,
	int32_t n, int32_t per_node, int64_t bytes, const char *fabric);

/* The rule that chose, and which line of WEFT_COLL_FILE it is (0: built in). */
struct weft_coll_why {
	const char *text;
	int line;
};

enum { WEFT_COLL_WHY_FORCED = -1 };

/* Never NULL; why_out may be. */
const struct weft_coll_algo *weft_coll_choose(
	const struct weft_coll_case *c, struct weft_coll_why *why_out);

/* The next length, above this one, at which another rule may choose. */
int64_t weft_coll_border(enum weft_coll_kind kind, int64_t bytes);

/* Why an algorithm cannot do a case; NULL: it can. */
const char *weft_coll_cannot(
	const struct weft_coll_algo *algo, const struct weft_coll_case *c);

static inline bool weft_coll_can(
	const struct weft_coll_algo *algo, const struct weft_coll_case *c)
{
	return !weft_coll_cannot(algo, c);
}

/* What WEFT_COLL names for an operation, or NULL; says once per operation that
 * another one was taken, and why. */
const struct weft_coll_algo *weft_coll_forced(enum weft_coll_kind kind);
void weft_coll_warn_forced(
	const struct weft_coll_case *c, const struct weft_coll_algo *taken);

/* All algorithms in turn, NULL at the end. */
const struct weft_coll_algo *weft_coll_algo_at(size_t i);

/* "allreduce"; and back, WEFT_COLL_N when there is none of len characters. */
const char *weft_coll_kind_name(enum weft_coll_kind kind);
enum weft_coll_kind weft_coll_kind_of(const char *name, size_t len);

/* "64K" as a number; -1 when it is none. */
int64_t weft_coll_bytes_of(const char *text, size_t len);

/* Chooses and writes among any view. */
void weft_coll_write_among(struct weft_sched *sched, enum weft_coll_kind kind,
	const struct weft_coll_view *view, const struct weft_coll *args);

#endif
