/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_cost: formulas for the time of each algorithm, in ns
 *
 * n is the number of members, b the bytes of the case (struct weft_coll_case).
 */
#include "coll/coll_algo.h"

enum { WINDOW = 32, CHAIN_LEN = 262144, CHAIN_PIECES = 256 };

/* The path of a message if n processes of each node send at the same time. */
static struct weft_loggp crowded_path(const struct weft_loggp *path, uint32_t n)
{
	struct weft_loggp crowded = *path;

	if (crowded.gap < n * WEFT_NETWORK_NODE_GAP)
		crowded.gap = n * WEFT_NETWORK_NODE_GAP;
	crowded.per_byte *= n;
	return crowded;
}

double weft_coll_predict(const struct weft_coll_algo *algo,
	const struct weft_coll_case *c, const struct weft_loggp *between)
{
	struct weft_coll_case known = *c;
	struct weft_coll_paths paths;

	if (!known.n_nodes) {
		known.n_nodes = known.n;
		known.most = 1;
	}
	paths = (struct weft_coll_paths){ *between, weft_network_within,
		crowded_path(between, (uint32_t)known.most) };
	if (known.n_nodes == 1)
		paths.between = paths.crowded = paths.within;
	return algo->cost(&known, &paths);
}

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

/* The path of a message to a member at a distance, which all members of a node
 * send at the same time if is_crowded is true. If the distance is less than the
 * number of members on a node, nearly all messages stay on a node. */
static const struct weft_loggp *path_to(const struct weft_coll_case *c,
	const struct weft_coll_paths *paths, int64_t distance, bool is_crowded)
{
	if (distance < c->most)
		return &paths->within;
	return is_crowded ? &paths->crowded : &paths->between;
}

/* ---- trees ---- */

/* A binomial tree of n members from the root down. The root sends first to the
 * largest of its subtrees. A message to a subtree of m members has
 * fixed + m * each bytes. */
static double tree_down(const struct weft_coll_case *c,
	const struct weft_coll_paths *paths, int32_t n, double fixed,
	double each)
{
	const struct weft_loggp *path;
	int32_t top, rest;
	double len, to_rest, to_top;

	if (n < 2)
		return 0;
	top = unfolded(n - 1);
	rest = n - top;
	len = fixed + rest * each;
	path = path_to(c, paths, top, false);
	to_top = tree_down(c, paths, top, fixed, each);
	to_rest = rest == top ? to_top : tree_down(c, paths, rest, fixed, each);
	return greater(
		another(path, len, 1) + to_top, single(path, len) + to_rest);
}

/* A binomial gather of n blocks. A member receives from all subtrees at the
 * same time. */
static double gather_up(const struct weft_coll_case *c,
	const struct weft_coll_paths *paths, int32_t n, double len)
{
	int32_t top, rest;
	double to_top, to_rest;

	if (n < 2)
		return 0;
	top = unfolded(n - 1);
	rest = n - top;
	to_top = gather_up(c, paths, top, len);
	to_rest = rest == top ? to_top : gather_up(c, paths, rest, len);
	return greater(to_top,
		to_rest + single(path_to(c, paths, top, false), rest * len));
}

/* A binomial reduction. A member receives from one subtree after the other, so
 * the sender of a long message may wait with its RTS. */
static double tree_reduce_up(const struct weft_coll_case *c,
	const struct weft_coll_paths *paths, int32_t n, double len)
{
	const struct weft_loggp *path;
	int32_t top, rest;
	double to_top, to_rest, empty;

	if (n < 2)
		return 0;
	top = unfolded(n - 1);
	rest = n - top;
	path = path_to(c, paths, top, false);
	empty = single(path, 0);
	to_top = tree_reduce_up(c, paths, top, len);
	to_rest = rest == top ? to_top : tree_reduce_up(c, paths, rest, len);
	if (is_eager(len))
		return greater(to_top, to_rest + single(path, len));
	return greater(to_top, to_rest + empty) + single(path, len) - empty;
}

double weft_coll_cost_tree_down(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	return tree_down(c, paths, c->n, (double)c->bytes, 0);
}

double weft_coll_cost_tree_up(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	return tree_reduce_up(c, paths, c->n, (double)c->bytes);
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
	return tree_down(c, paths, c->n, 0, (double)c->bytes);
}

/* The interface of the root receives all blocks but one. */
double weft_coll_cost_gather(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	const double len = (double)c->bytes;

	return greater(gather_up(c, paths, c->n, len),
		single(&paths->between, (c->n - 1) * len));
}

/* A reduction of all parts to one member, which scatters them. */
double weft_coll_cost_tree_scatter(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	return weft_coll_cost_tree_up(c, paths) +
	       tree_down(c, paths, c->n, 0, (double)c->bytes / c->n);
}

/* ---- rounds in which each member sends one message ---- */

/* One message of len bytes for each power of two below n. */
static double rounds(const struct weft_coll_case *c,
	const struct weft_coll_paths *paths, int32_t n)
{
	double sum = 0;

	for (int64_t bit = 1; bit < n; bit *= 2)
		sum += single(path_to(c, paths, bit, true), (double)c->bytes);
	return sum;
}

double weft_coll_cost_rounds(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	return rounds(c, paths, c->n);
}

/* The time of a message from each member to the next one, one after the other.
 * The ranks of a node are consecutive. */
static double hops(const struct weft_coll_case *c,
	const struct weft_coll_paths *paths, double len)
{
	return (c->n_nodes - 1) * single(&paths->between, len) +
	       (c->n - c->n_nodes) * single(&paths->within, len);
}

double weft_coll_cost_ring(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	return hops(c, paths, (double)c->bytes);
}

/* Slices go down a tree, then round a ring. The ring of short slices begins
 * with those of the root, which has sent its messages of the tree. */
double weft_coll_cost_bcast_scatter(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	const double slice = (double)c->bytes / c->n;
	const double ring = hops(c, paths, slice);

	if (is_eager(slice * c->n))
		return ring +
		       log2_up(c->n) * another(&paths->between, slice, 1);
	return ring + tree_down(c, paths, c->n, 0, slice);
}

/* The blocks that a member sends in Bruck's allgather among n members. It has
 * so many already. */
static double gather_blocks(int64_t have, int32_t n)
{
	return (double)(have < n - have ? have : n - have);
}

/* Bruck's allgather of blocks of len bytes. */
static double gather_bruck(const struct weft_loggp *path, int32_t n, double len)
{
	double sum = 0;

	for (int64_t have = 1; have < n; have *= 2)
		sum += single(path, len * gather_blocks(have, n));
	return sum;
}

double weft_coll_cost_gather_bruck(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	double sum = 0;

	for (int64_t have = 1; have < c->n; have *= 2)
		sum += single(path_to(c, paths, have, true),
			(double)c->bytes * gather_blocks(have, c->n));
	return sum;
}

/* The round of a bit sends the blocks whose number has the bit. */
double weft_coll_cost_alltoall_bruck(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	double sum = 0;

	for (int64_t bit = 1; bit < c->n; bit *= 2) {
		int64_t last = c->n % (2 * bit) - bit;
		int64_t blocks = c->n / (2 * bit) * bit + (last > 0 ? last : 0);

		sum += single(path_to(c, paths, bit, true),
			(double)c->bytes * (double)blocks);
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
	return hops(c, paths, (double)len) +
	       (double)(pieces - 1) * single(&paths->between, (double)len);
}

/* ---- reductions among a power of two members; the others are folded ---- */

/* Messages of a half, a quarter and so on of the data. */
static double halves(const struct weft_coll_case *c,
	const struct weft_coll_paths *paths, double len)
{
	double sum = 0;

	for (int32_t distance = unfolded(c->n) / 2; distance; distance /= 2) {
		len /= 2;
		sum += single(path_to(c, paths, distance, true), len);
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

	return rounds(c, paths, unfolded(c->n)) +
	       folds(&paths->crowded, c->n, len, len);
}

double weft_coll_cost_rabenseifner(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	const double len = (double)c->bytes;

	return 2 * halves(c, paths, len) +
	       folds(&paths->crowded, c->n, len, len);
}

double weft_coll_cost_halving(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	const double len = (double)c->bytes;

	return halves(c, paths, len) +
	       folds(&paths->crowded, c->n, len, len / c->n);
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

/* The time that the messages to the other members of a node add. If there is
 * one node, the first message takes longer than the next ones. */
static double linear_near(const struct weft_coll_case *c,
	const struct weft_coll_paths *paths, int n_sides)
{
	const double len = (double)c->bytes;
	const double next = another(&paths->within, len, n_sides);

	if (c->most < 2)
		return 0;
	return (c->most - 1) * next +
	       (c->n_nodes == 1 ? single(&paths->within, len) - next : 0);
}

double weft_coll_cost_linear_root(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	return linear_one(
		       &paths->between, c->n - c->most + 1, (double)c->bytes) +
	       linear_near(c, paths, 1);
}

double weft_coll_cost_linear_all(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	return linear_both(
		       &paths->crowded, c->n - c->most + 1, (double)c->bytes) +
	       linear_near(c, paths, 2);
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
	return windows(&paths->crowded, c->n - c->most + 1, (double)c->bytes) +
	       linear_near(c, paths, 2);
}

/* ---- parts within nodes and parts between nodes ---- */

/* A part among n members: the selected algorithm over one path. */
static double part(enum weft_coll_kind kind, const struct weft_loggp *path,
	int32_t n, double len)
{
	const struct weft_coll_paths paths = { *path, *path, *path };
	struct weft_coll_case c = {
		.kind = kind,
		.n = n,
		.n_nodes = n,
		.most = 1,
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
	       part(WEFT_COLL_BCAST, &paths->crowded, c->n_nodes, len) +
	       linear_both(&paths->within, c->most, len);
}

/* Each round sends a block to the next node, and the previous one to the
 * members of this node. Their bytes pass the interface of a member one after
 * the other. */
double weft_coll_cost_allgather_slices(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	const double len = (double)c->bytes;
	const double near = linear_both(&paths->within, c->most, len);

	return (c->n_nodes - 1) *
		       greater(single(&paths->crowded, len),
			       near + len * paths->crowded.per_byte) +
	       near;
}

double weft_coll_cost_allreduce_slices(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	const double len = (double)c->bytes / c->most;

	return (c->most - 1) * single(&paths->within, len) +
	       part(WEFT_COLL_ALLREDUCE, &paths->crowded, c->n_nodes, len) +
	       linear_both(&paths->within, c->most, len);
}

/* Each round within a node has a message for each node. */
double weft_coll_cost_reduce_scatter_slices(
	const struct weft_coll_case *c, const struct weft_coll_paths *paths)
{
	const double len = (double)c->bytes / c->most;

	return (c->most - 1) * linear_both(&paths->within, c->n_nodes + 1,
				       len / c->n_nodes) +
	       part(WEFT_COLL_REDUCE_SCATTER, &paths->crowded, c->n_nodes, len);
}
