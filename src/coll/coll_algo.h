/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_algo: the algorithms by name, and the rules that select an algorithm
 *
 * The first rule that matches the call selects the algorithm. A rule whose
 * algorithm does not support the call is skipped. WEFT_COLL_FILE adds rules in
 * front of coll_rules.def. WEFT_COLL names algorithms that have precedence over
 * all rules. All members have the same rules and the same properties of a call,
 * so all select the same algorithm. */
#ifndef WEFT_COLL_ALGO_H
#define WEFT_COLL_ALGO_H

#include "coll/coll_cost.h"
#include "coll/coll_priv.h"

/* The conditions under which an algorithm supports a call, as bits. */
enum {
	WEFT_NEEDS_COMMUTATIVE = 1,
	WEFT_NEEDS_COUNT = 2,	/* at least one item for each member */
	WEFT_NEEDS_REGULAR = 4, /* neither a v nor a w form */
	WEFT_NEEDS_NODES = 8,	/* several nodes, some with several members */
	WEFT_NEEDS_ORDER =
		16,	      /* commutative, or nodes have consecutive ranks */
	WEFT_NEEDS_EVEN = 32, /* equal numbers of members on all nodes */
	WEFT_NEEDS_SEGMENT = 64, /* data that fits the segment of one node */
	WEFT_NEEDS_EDGES = 128, /* edges of the topology between nodes are known
				 */
};

struct weft_coll_algo {
	enum weft_coll_kind kind;
	const char *name;
	unsigned needs;
	weft_coll_fn *write;	 /* NULL: runs in the shared-memory segment */
	weft_coll_cost_fn *cost; /* NULL: without a prediction, because it uses
				    the segment or depends on the topology */
};

/* The properties of a call that rules compare. bytes is the length of the whole
 * data for broadcasts, reductions and scans, and of the longest block for other
 * collectives. It is 0 if not all members know the length. count is the number
 * of items of a reduction or scan, over all its blocks. */
struct weft_coll_case {
	enum weft_coll_kind kind;
	int32_t n;	     /* number of members */
	int32_t n_nodes;     /* number of nodes; 0: unknown */
	int32_t most, least; /* largest, smallest number of members on a node */
	bool is_in_order, is_commutative, is_regular, has_segment;
	bool shares_cores;
	int32_t n_per_bundle; /* messages that one bundle replaces (edges.h);
				 0: unknown */
	int64_t bytes, count;
	const char *fabric;
};

/* Loads the rules once. 0 or WEFT_ERR_ARG: a fault in WEFT_COLL or
 * WEFT_COLL_FILE, which the description names, with the line of the file. */
int weft_coll_rules_load(void);

/* A hash of WEFT_COLL, WEFT_COLL_REPRODUCIBLE and the rules of WEFT_COLL_FILE.
 * Members with equal hashes select the same algorithms. */
uint32_t weft_coll_rules_digest(void);

/* Sets *c to the properties of a call among the members of a view. */
void weft_coll_case_of(struct weft_coll_case *c, enum weft_coll_kind kind,
	const struct weft_coll_view *view, const struct weft_coll *args);

/* Sets *c to the properties of a call of n members on one node with a segment.
 * The operation is commutative, and bytes is 0. */
void weft_coll_case_in_segment(struct weft_coll_case *c,
	enum weft_coll_kind kind, int32_t n, bool shares_cores);

/* Sets *c to the properties of a call of n members with consecutive ranks on
 * each node. Each node has per_node members; the last node may have fewer. The
 * operation is commutative. Its type is double if bytes is a multiple of 8, and
 * byte otherwise. */
void weft_coll_case_of_job(struct weft_coll_case *c, enum weft_coll_kind kind,
	int32_t n, int32_t per_node, int64_t bytes, const char *fabric);

/* The predicted time of an algorithm for a case, in ns, on a network whose
 * messages between nodes take `between`. The algorithm has a formula (cost). If
 * the nodes are unknown, each member has its own. */
double weft_coll_predict(const struct weft_coll_algo *algo,
	const struct weft_coll_case *c, const struct weft_loggp *between);

/* The rule that selected the algorithm, and its line in WEFT_COLL_FILE (0:
 * built in). */
struct weft_coll_why {
	const char *text;
	int line;
};

/* The `line` of an algorithm that WEFT_COLL names. */
enum { WEFT_COLL_WHY_FORCED = -1 };

/* Selects an algorithm, never NULL. why_out may be NULL. */
const struct weft_coll_algo *weft_coll_choose(
	const struct weft_coll_case *c, struct weft_coll_why *why_out);

/* The smallest length above `bytes` at which another rule may apply. INT64_MAX:
 * none. */
int64_t weft_coll_border(enum weft_coll_kind kind, int64_t bytes);

/* The reason why an algorithm does not support a call; NULL: the algorithm
 * supports the call. */
const char *weft_coll_cannot(
	const struct weft_coll_algo *algo, const struct weft_coll_case *c);

static inline bool weft_coll_can(
	const struct weft_coll_algo *algo, const struct weft_coll_case *c)
{
	return !weft_coll_cannot(algo, c);
}

/* Returns the algorithm that WEFT_COLL names for an operation, or NULL. */
const struct weft_coll_algo *weft_coll_forced(enum weft_coll_kind kind);
/* Warns, once per operation, if WEFT_COLL names another algorithm than `taken`,
 * which was selected. */
void weft_coll_warn_forced(
	const struct weft_coll_case *c, const struct weft_coll_algo *taken);

/* Returns algorithm i, or NULL if i is not less than the number of algorithms.
 */
const struct weft_coll_algo *weft_coll_algo_at(size_t i);

/* The number of calls for which algorithm i has written steps. The parts of a
 * call within and between nodes count separately. A persistent operation counts
 * once. A call that runs in the segment of a node does not count. Any thread.
 */
uint64_t weft_coll_algo_uses(size_t i);

/* Returns the name of an operation in rules, for example "allreduce". */
const char *weft_coll_kind_name(enum weft_coll_kind kind);
/* Returns the operation with this name of len characters, or WEFT_COLL_N. */
enum weft_coll_kind weft_coll_kind_of(const char *name, size_t len);

/* The number of bytes in a text such as "64K"; -1: not a number, or above 2^63
 * - 1. */
int64_t weft_coll_bytes_of(const char *text, size_t len);

/* True if the algorithm that is selected for a call on an intracommunicator has
 * no parts within nodes, which use the segments. */
bool weft_coll_is_flat(enum weft_coll_kind kind, const struct weft_coll *args)
	__attribute__((cold));

/* Selects an algorithm and writes its steps among the members of a view. */
void weft_coll_write_among(struct weft_sched *sched, enum weft_coll_kind kind,
	const struct weft_coll_view *view, const struct weft_coll *args);

#endif
