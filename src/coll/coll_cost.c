/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_cost: formulas for the time of each algorithm, in ns
 *
 * n is the number of members, b the bytes of the case (struct weft_coll_case).
 */
#include "coll/coll_algo.h"

enum { WINDOW = 32, CHAIN_LEN = 262144, CHAIN_PIECES = 256 };

static bool is_eager(double len)
{
	return len <= WEFT_NETWORK_EAGER;
}

/* The time of a message: RTS, CTS and data if it is not eager. */
static double single(const struct weft_loggp *path, double len)
{
	double empty = 2. * path->overhead + path->latency;

	return (is_eager(len) ? 1 : 3) * empty +
	       (len + WEFT_NETWORK_HEAD) * path->per_byte;
}

/* The time that one more message of the same member adds. The member receives
 * or sends one (n_sides 1), or receives one and sends one (2). */
static double another(const struct weft_loggp *path, double len, int n_sides)
{
	double cpu = (is_eager(len) ? 1. : 3.) * n_sides * path->overhead;
	double nic = (len + WEFT_NETWORK_HEAD) * path->per_byte;

	if (nic < path->gap)
		nic = path->gap;
	return cpu > nic ? cpu : nic;
}

static double greater(double a, double b)
{
	return a > b ? a : b;
}

/* The largest power of two that is at most n. */
static int32_t unfolded(int32_t n)
{
	int32_t power = 1;

	while (power <= n / 2)
		power *= 2;
	return power;
}

static int log2_up(int32_t n)
{
	int log = 0;

	while (log < 31 && (int64_t)1 << log < n)
		log++;
	return log;
}

/* ---- trees ---- */

/* A binomial tree of n members from the root down. The root sends first to the
 * largest of its subtrees. A message to a subtree of m members has
 * fixed + m * each bytes. */
static double tree_down(
	const struct weft_loggp *path, int32_t n, double fixed, double each)
{
	int32_t top, rest;
	double len, to_rest, to_top;

	if (n < 2)
		return 0;
	top = unfolded(n - 1);
	rest = n - top;
	len = fixed + rest * each;
	to_top = tree_down(path, top, fixed, each);
	to_rest = rest == top ? to_top : tree_down(path, rest, fixed, each);
	return greater(
		another(path, len, 1) + to_top, single(path, len) + to_rest);
}

/* A binomial gather of n blocks. A member receives from all subtrees at the
 * same time. */
static double gather_up(const struct weft_loggp *path, int32_t n, double len)
{
	int32_t top, rest;
	double to_top, to_rest;

	if (n < 2)
		return 0;
	top = unfolded(n - 1);
	rest = n - top;
	to_top = gather_up(path, top, len);
	to_rest = rest == top ? to_top : gather_up(path, rest, len);
	return greater(to_top, to_rest + single(path, rest * len));
}

/* A binomial reduction. A member receives from one subtree after the other, so
 * the sender of a long message may wait with its RTS. */
static double tree_reduce_up(
	const struct weft_loggp *path, int32_t n, double len)
{
	const double empty = single(path, 0);
	int32_t top, rest;
	double to_top, to_rest;

	if (n < 2)
		return 0;
	top = unfolded(n - 1);
	rest = n - top;
	to_top = tree_reduce_up(path, top, len);
	to_rest = rest == top ? to_top : tree_reduce_up(path, rest, len);
	if (is_eager(len))
		return greater(to_top, to_rest + single(path, len));
	return greater(to_top, to_rest + empty) + single(path, len) - empty;
}

double weft_coll_cost_tree_down(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	return tree_down(&paths->between, c->n, (double)c->bytes, 0);
}

double weft_coll_cost_tree_up(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	return tree_reduce_up(&paths->between, c->n, (double)c->bytes);
}

double weft_coll_cost_tree_both(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	return weft_coll_cost_tree_up(c, paths) +
	       weft_coll_cost_tree_down(c, paths);
}

double weft_coll_cost_scatter(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	return tree_down(&paths->between, c->n, 0, (double)c->bytes);
}

/* The interface of the root receives all blocks but one. */
double weft_coll_cost_gather(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	const double len = (double)c->bytes;

	return greater(gather_up(&paths->between, c->n, len),
		single(&paths->between, (c->n - 1) * len));
}

/* A reduction of all parts to one member, which scatters them. */
double weft_coll_cost_tree_scatter(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	return weft_coll_cost_tree_up(c, paths) +
	       tree_down(&paths->between, c->n, 0, (double)c->bytes / c->n);
}

/* ---- rounds in which each member sends one message ---- */

double weft_coll_cost_rounds(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	return log2_up(c->n) * single(&paths->between, (double)c->bytes);
}

double weft_coll_cost_ring(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	return (c->n - 1) * single(&paths->between, (double)c->bytes);
}

/* Slices go down a tree, then round a ring. The ring of short slices begins
 * with those of the root, which has sent its messages of the tree. */
double weft_coll_cost_bcast_scatter(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	const double slice = (double)c->bytes / c->n;
	const double ring = (c->n - 1) * single(&paths->between, slice);

	if (is_eager(slice * c->n))
		return ring +
		       log2_up(c->n) * another(&paths->between, slice, 1);
	return ring + tree_down(&paths->between, c->n, 0, slice);
}

/* Bruck's allgather of blocks of len bytes. */
static double gather_bruck(const struct weft_loggp *path, int32_t n, double len)
{
	double sum = 0;

	for (int64_t have = 1; have < n; have *= 2)
		sum += single(path,
			len * (double)(have < n - have ? have : n - have));
	return sum;
}

double weft_coll_cost_gather_bruck(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	return gather_bruck(&paths->between, c->n, (double)c->bytes);
}

/* The round of a bit sends the blocks whose number has the bit. */
double weft_coll_cost_alltoall_bruck(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	double sum = 0;

	for (int64_t bit = 1; bit < c->n; bit *= 2) {
		int64_t last = c->n % (2 * bit) - bit;
		int64_t blocks = c->n / (2 * bit) * bit + (last > 0 ? last : 0);

		sum += single(
			&paths->between, (double)c->bytes * (double)blocks);
	}
	return sum;
}

/* Each member of a chain sends each piece when it has received the next one. */
double weft_coll_cost_chain(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	int64_t len = (c->bytes + CHAIN_PIECES - 1) / CHAIN_PIECES;
	int64_t pieces;

	len = len < CHAIN_LEN ? CHAIN_LEN : len;
	len = len < c->bytes ? len : c->bytes;
	pieces = len ? (c->bytes + len - 1) / len : 0;
	return (double)(c->n - 2 + pieces) *
	       single(&paths->between, (double)len);
}

/* ---- reductions among a power of two members; the others are folded ---- */

/* Messages of a half, a quarter and so on of the data. */
static double halves(const struct weft_loggp *path, int32_t n, double len)
{
	double sum = 0;

	for (int32_t m = unfolded(n); m > 1; m /= 2) {
		len /= 2;
		sum += single(path, len);
	}
	return sum;
}

/* The messages to and from folded members. If they are few, the result of a
 * member that waits for a folded member takes as long as theirs: a short
 * message has arrived before the member waits for it. */
static double folds(
	const struct weft_loggp *path, int32_t n, double in, double out)
{
	const int32_t power = unfolded(n);

	if (power == n)
		return 0;
	if (is_eager(in) && log2_up(n - power) < log2_up(power))
		return single(path, in);
	return single(path, in) + single(path, out);
}

double weft_coll_cost_doubling(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	const double len = (double)c->bytes;

	return log2_up(unfolded(c->n)) * single(&paths->between, len) +
	       folds(&paths->between, c->n, len, len);
}

double weft_coll_cost_rabenseifner(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	const double len = (double)c->bytes;

	return 2 * halves(&paths->between, c->n, len) +
	       folds(&paths->between, c->n, len, len);
}

double weft_coll_cost_halving(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	const double len = (double)c->bytes;

	return halves(&paths->between, c->n, len) +
	       folds(&paths->between, c->n, len, len / c->n);
}

/* ---- one message for each pair ---- */

/* n - 1 messages of a member that only sends or only receives. */
static double linear_one(const struct weft_loggp *path, int32_t n, double len)
{
	return n < 2 ? 0 : single(path, len) + (n - 2) * another(path, len, 1);
}

/* n - 1 messages to other members, and as many from them. A member receives
 * eager messages when it has sent all, or when the first one arrives. It sends
 * data when it has sent an RTS and a CTS to all, and has received all RTS. */
static double linear_both(const struct weft_loggp *path, int32_t n, double len)
{
	const double rounds = linear_one(path, n, len);
	const double wait = 2 * single(path, 0);

	if (is_eager(len))
		return greater(rounds, (n - 1) * another(path, len, 2));
	return rounds - wait + greater(wait, (n - 1) * 3. * path->overhead);
}

double weft_coll_cost_linear_root(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	return linear_one(&paths->between, c->n, (double)c->bytes);
}

double weft_coll_cost_linear_all(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	return linear_both(&paths->between, c->n, (double)c->bytes);
}

/* A member waits for all messages of a window before the next window. */
static double windows(const struct weft_loggp *path, int32_t n, double len)
{
	const int32_t full = (n - 1) / WINDOW, rest = (n - 1) % WINDOW;

	return full * linear_both(path, WINDOW + 1, len) +
	       linear_both(path, rest + 1, len);
}

double weft_coll_cost_windows(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	return windows(&paths->between, c->n, (double)c->bytes);
}

/* ---- parts within nodes and parts between nodes ---- */

/* A part among n members: the selected algorithm over one path. */
static double part(enum weft_coll_kind kind, const struct weft_loggp *path,
	int32_t n, double len)
{
	const struct weft_coll_paths paths = { *path, *path };
	struct weft_coll_case c = {
		.kind = kind,
		.n = n,
		.is_commutative = true,
		.is_regular = true,
		.bytes = (int64_t)len,
		.count = (int64_t)len,
		.fabric = "",
	};

	return n < 2 ? 0 : weft_coll_choose(&c, NULL)->cost(&c, &paths);
}

double weft_coll_cost_barrier_nodes(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	return part(WEFT_COLL_REDUCE, &paths->within, c->most, 1) +
	       part(WEFT_COLL_BARRIER, &paths->between, c->n_nodes, 0) +
	       part(WEFT_COLL_BCAST, &paths->within, c->most, 1);
}

double weft_coll_cost_bcast_nodes(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	const double len = (double)c->bytes;

	return part(WEFT_COLL_BCAST, &paths->between, c->n_nodes, len) +
	       part(WEFT_COLL_BCAST, &paths->within, c->most, len);
}

double weft_coll_cost_reduce_nodes(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	const double len = (double)c->bytes;

	return part(WEFT_COLL_REDUCE, &paths->within, c->most, len) +
	       part(WEFT_COLL_REDUCE, &paths->between, c->n_nodes, len);
}

double weft_coll_cost_allreduce_nodes(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	const double len = (double)c->bytes;

	return part(WEFT_COLL_REDUCE, &paths->within, c->most, len) +
	       part(WEFT_COLL_ALLREDUCE, &paths->between, c->n_nodes, len) +
	       part(WEFT_COLL_BCAST, &paths->within, c->most, len);
}

/* Leaders gather the blocks of a node, exchange them and broadcast all. */
double weft_coll_cost_allgather_nodes(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	const double len = (double)c->bytes;

	return linear_one(&paths->within, c->most, len) +
	       gather_bruck(&paths->between, c->n_nodes, len * c->most) +
	       part(WEFT_COLL_BCAST, &paths->within, c->most, len * c->n);
}

/* The send buffers of a node go to its leader, one bundle to each other leader,
 * and the receive buffers from the leader to the members. */
double weft_coll_cost_alltoall_nodes(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	const double len = (double)c->bytes;

	return 2 * linear_one(&paths->within, c->most, len * c->n) +
	       windows(&paths->between, c->n_nodes, len * c->most * c->most);
}

double weft_coll_cost_bcast_slices(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	const double len = (double)c->bytes / c->most;

	return linear_one(&paths->within, c->most, len) +
	       part(WEFT_COLL_BCAST, &paths->between, c->n_nodes, len) +
	       linear_both(&paths->within, c->most, len);
}

/* Each round sends a block to the next node, and the previous one to the
 * members of this node. */
double weft_coll_cost_allgather_slices(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	const double len = (double)c->bytes;
	const double near = linear_both(&paths->within, c->most, len);

	return (c->n_nodes - 1) * greater(single(&paths->between, len), near) +
	       near;
}

double weft_coll_cost_allreduce_slices(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	const double len = (double)c->bytes / c->most;

	return (c->most - 1) * single(&paths->within, len) +
	       part(WEFT_COLL_ALLREDUCE, &paths->between, c->n_nodes, len) +
	       linear_both(&paths->within, c->most, len);
}

/* Each round within a node has a message for each node. */
double weft_coll_cost_reduce_scatter_slices(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	const double len = (double)c->bytes / c->most;

	return (c->most - 1) * linear_both(&paths->within, c->n_nodes + 1,
				       len / c->n_nodes) +
	       part(WEFT_COLL_REDUCE_SCATTER, &paths->between, c->n_nodes, len);
}
