/* SPDX-License-Identifier: BSD-3-Clause */
/* dt_coll: collectives with the types of a seed
 *
 * Each operation is blocking, nonblocking or persistent. Reductions use an
 * operation of the program, which combines data by exclusive or. */
#ifndef TEST_DT_COLL_H
#define TEST_DT_COLL_H

#include "dt_case.h"

enum how { BLOCKING, NONBLOCKING, PERSISTENT, N_HOW };

static void coll_finish(enum how how, MPI_Request *req)
{
	if (how == PERSISTENT)
		OK(MPI_Start(req));
	if (how != BLOCKING)
		OK(MPI_Wait(req, MPI_STATUS_IGNORE));
	if (how == PERSISTENT)
		OK(MPI_Request_free(req));
}

/* Calls MPI_Name, MPI_Iname or MPI_Name_init with these arguments. */
#define COLL(Name, Iname, ...)                                               \
	do {                                                                 \
		enum how how_ = (enum how)draw(N_HOW);                       \
		MPI_Request req_ = MPI_REQUEST_NULL;                         \
                                                                             \
		if (how_ == BLOCKING)                                        \
			OK(MPI_##Name(__VA_ARGS__, MPI_COMM_WORLD));         \
		else if (how_ == NONBLOCKING)                                \
			OK(MPI_##Iname(__VA_ARGS__, MPI_COMM_WORLD, &req_)); \
		else                                                         \
			OK(MPI_##Name##_init(__VA_ARGS__, MPI_COMM_WORLD,    \
				MPI_INFO_NULL, &req_));                      \
		coll_finish(how_, &req_);                                    \
	} while (0)

static void op_bcast(void)
{
	int root = draw(mtest.size);
	struct area from, to;

	if (mtest.rank == root) {
		from = to_send();
		COLL(Bcast, Ibcast, from.at, now.n_from, now.from->type, root);
		expect_sent(&from, &now.from->map, now.n_from);
		return;
	}
	to = to_receive();
	COLL(Bcast, Ibcast, to.at, now.n_to, now.to->type, root);
	expect_from(&to, root);
}

/* True if the limits permit n_to items of each rank. */
static bool has_space(void)
{
	int n = mtest.size * now.n_to;
	MPI_Aint low, high;

	map_span(&now.to->map, n, &low, &high);
	return high - low <= SPAN_MAX && map_is_disjoint(&now.to->map, n);
}

/* Draws the positions of the ranks' data: in the order of ranks, or shuffled.
 */
static void draw_places(bool is_shuffled, int counts[], int places[], int n)
{
	for (int i = 0; i < mtest.size; i++) {
		counts[i] = n;
		places[i] = i;
	}
	for (int i = mtest.size - 1; is_shuffled && i > 0; i--) {
		int k = draw(i + 1), was = places[i];

		places[i] = places[k];
		places[k] = was;
	}
	for (int i = 0; i < mtest.size; i++)
		places[i] *= n;
}

static void expect_all(struct area *to, const int places[])
{
	struct arrival arrivals[PROCS_MAX];

	for (int i = 0; i < mtest.size; i++)
		arrivals[i] = (struct arrival){ places[i], sent_by(i) };
	expect(to, mtest.size * now.n_to, tag_of(mtest.rank, RECEIVED),
		arrivals, mtest.size);
}

static void op_gather(void)
{
	int counts[PROCS_MAX], places[PROCS_MAX], root = draw(mtest.size);
	bool is_v = one_of(2);
	struct area from, to;

	if (!has_space())
		return;
	draw_places(is_v, counts, places, now.n_to);
	from = to_send();
	to = area_new(&now.to->map, mtest.size * now.n_to,
		tag_of(mtest.rank, RECEIVED));
	if (is_v)
		COLL(Gatherv, Igatherv, from.at, now.n_from, now.from->type,
			to.at, counts, places, now.to->type, root);
	else
		COLL(Gather, Igather, from.at, now.n_from, now.from->type,
			to.at, now.n_to, now.to->type, root);
	if (mtest.rank == root)
		expect_all(&to, places);
	else
		free(to.mem);
	expect_sent(&from, &now.from->map, now.n_from);
}

static void op_allgather(void)
{
	int counts[PROCS_MAX], places[PROCS_MAX];
	bool is_v = one_of(2);
	struct area from, to;

	if (!has_space())
		return;
	draw_places(is_v, counts, places, now.n_to);
	from = to_send();
	to = area_new(&now.to->map, mtest.size * now.n_to,
		tag_of(mtest.rank, RECEIVED));
	if (is_v)
		COLL(Allgatherv, Iallgatherv, from.at, now.n_from,
			now.from->type, to.at, counts, places, now.to->type);
	else
		COLL(Allgather, Iallgather, from.at, now.n_from, now.from->type,
			to.at, now.n_to, now.to->type);
	expect_all(&to, places);
	expect_sent(&from, &now.from->map, now.n_from);
}

/* Returns part i of the data that a rank sends to all; each part has n_from
 * items. */
static char *part_of(int rank, int part)
{
	const struct map *m = &now.from->map;
	struct area area =
		area_new(m, mtest.size * now.n_from, tag_of(rank, SENT));
	char *stream = mtest_alloc(now.len);

	map_move(m, now.n_from, area.at + part * now.n_from * map_extent(m),
		stream, true);
	free(area.mem);
	return stream;
}

static void op_scatter(void)
{
	int counts[PROCS_MAX], places[PROCS_MAX], root = draw(mtest.size);
	int n = mtest.size * now.n_from;
	bool is_v = one_of(2);
	struct area from =
		area_new(&now.from->map, n, tag_of(mtest.rank, SENT));
	struct area to = to_receive();

	draw_places(is_v, counts, places, now.n_from);
	if (is_v)
		COLL(Scatterv, Iscatterv, from.at, counts, places,
			now.from->type, to.at, now.n_to, now.to->type, root);
	else
		COLL(Scatter, Iscatter, from.at, now.n_from, now.from->type,
			to.at, now.n_to, now.to->type, root);
	expect(&to, now.n_to, tag_of(mtest.rank, RECEIVED),
		&(struct arrival){ 0,
			part_of(root, now.n_from
					      ? places[mtest.rank] / now.n_from
					      : 0) },
		1);
	expect_sent(&from, &now.from->map, n);
}

/* Converts places to displacements in bytes, and sets the types, for alltoallw.
 */
static void in_bytes(
	const struct node *node, int places[], MPI_Datatype types[PROCS_MAX])
{
	for (int i = 0; i < mtest.size; i++) {
		places[i] *= (int)map_extent(&node->map);
		types[i] = node->type;
	}
}

static void op_alltoall(void)
{
	int out[PROCS_MAX], from_at[PROCS_MAX], in[PROCS_MAX], to_at[PROCS_MAX],
		how = draw(3), n = mtest.size * now.n_from;
	MPI_Datatype from_types[PROCS_MAX], to_types[PROCS_MAX];
	struct arrival arrivals[PROCS_MAX];
	struct area from, to;

	if (!has_space())
		return;
	draw_places(how, out, from_at, now.n_from);
	draw_places(how, in, to_at, now.n_to);
	for (int i = 0; i < mtest.size; i++) {
		int part = from_at[mtest.rank] / (now.n_from ? now.n_from : 1);

		arrivals[i] = (struct arrival){ to_at[i], part_of(i, part) };
	}
	from = area_new(&now.from->map, n, tag_of(mtest.rank, SENT));
	to = area_new(&now.to->map, mtest.size * now.n_to,
		tag_of(mtest.rank, RECEIVED));
	if (how == 0)
		COLL(Alltoall, Ialltoall, from.at, now.n_from, now.from->type,
			to.at, now.n_to, now.to->type);
	if (how == 1)
		COLL(Alltoallv, Ialltoallv, from.at, out, from_at,
			now.from->type, to.at, in, to_at, now.to->type);
	if (how == 2) {
		in_bytes(now.from, from_at, from_types);
		in_bytes(now.to, to_at, to_types);
		COLL(Alltoallw, Ialltoallw, from.at, out, from_at, from_types,
			to.at, in, to_at, to_types);
	}
	expect(&to, mtest.size * now.n_to, tag_of(mtest.rank, RECEIVED),
		arrivals, mtest.size);
	expect_sent(&from, &now.from->map, n);
}

/* ---- reductions, by an operation of the program ---- */

static MPI_Op xor_op;

static void xor_items(void *in, void *inout, int *len, MPI_Datatype *type)
{
	const struct map *m = &now.to->map;
	size_t n = (size_t)(map_size(m) * *len);
	char *a = mtest_alloc(n), *b = mtest_alloc(n);

	(void)type;
	map_move(m, *len, in, a, true);
	map_move(m, *len, inout, b, true);
	for (size_t i = 0; i < n; i++)
		b[i] ^= a[i];
	map_move(m, *len, inout, b, false);
	free(a);
	free(b);
}

/* Returns the combined data of ranks 0 to n - 1. The data of a rank has `parts`
 * parts; only number `part` of them is combined. */
static char *xor_of(int n, int parts, int part)
{
	char *sum = mtest_alloc(now.len);

	for (int rank = 0; rank < n; rank++) {
		char *stream = stream_of(
			&now.to->map, parts * now.n_to, tag_of(rank, SENT));

		for (size_t i = 0; i < now.len; i++)
			sum[i] ^= stream[(size_t)part * now.len + i];
		free(stream);
	}
	return sum;
}

/* Returns the data of reductions: parts times n_to items. */
static struct area to_reduce(int parts)
{
	return area_new(
		&now.to->map, parts * now.n_to, tag_of(mtest.rank, SENT));
}

static void op_reduce(void)
{
	struct area in = to_reduce(1), out = to_receive();
	int root = draw(mtest.size), kind = draw(4), n = mtest.size;
	bool is_result = true;

	if (kind == 0) {
		COLL(Reduce, Ireduce, in.at, out.at, now.n_to, now.to->type,
			xor_op, root);
		is_result = mtest.rank == root;
	} else if (kind == 1) {
		COLL(Allreduce, Iallreduce, in.at, out.at, now.n_to,
			now.to->type, xor_op);
	} else if (kind == 2) {
		COLL(Scan, Iscan, in.at, out.at, now.n_to, now.to->type,
			xor_op);
		n = mtest.rank + 1;
	} else {
		COLL(Exscan, Iexscan, in.at, out.at, now.n_to, now.to->type,
			xor_op);
		n = mtest.rank;
		is_result = n > 0;
	}
	if (is_result)
		expect(&out, now.n_to, tag_of(mtest.rank, RECEIVED),
			&(struct arrival){ 0, xor_of(n, 1, 0) }, 1);
	else
		free(out.mem);
	expect_sent(&in, &now.to->map, now.n_to);
}

static void op_reduce_in_place(void)
{
	struct area both = to_reduce(1), mine;

	COLL(Allreduce, Iallreduce, MPI_IN_PLACE, both.at, now.n_to,
		now.to->type, xor_op);
	expect(&both, now.n_to, tag_of(mtest.rank, SENT),
		&(struct arrival){ 0, xor_of(mtest.size, 1, 0) }, 1);
	both = to_reduce(1);
	mine = to_reduce(1);
	OK(MPI_Reduce_local(mine.at, both.at, now.n_to, now.to->type, xor_op));
	expect(&both, now.n_to, tag_of(mtest.rank, SENT),
		&(struct arrival){ 0, mtest_alloc(now.len) }, 1);
	expect_sent(&mine, &now.to->map, now.n_to);
}

static void op_reduce_scatter(void)
{
	int counts[PROCS_MAX], places[PROCS_MAX];
	struct area in, out;

	if (!has_space())
		return;
	draw_places(false, counts, places, now.n_to);
	in = to_reduce(mtest.size);
	out = to_receive();
	if (one_of(2))
		COLL(Reduce_scatter_block, Ireduce_scatter_block, in.at, out.at,
			now.n_to, now.to->type, xor_op);
	else
		COLL(Reduce_scatter, Ireduce_scatter, in.at, out.at, counts,
			now.to->type, xor_op);
	expect(&out, now.n_to, tag_of(mtest.rank, RECEIVED),
		&(struct arrival){
			0, xor_of(mtest.size, mtest.size, mtest.rank) },
		1);
	expect_sent(&in, &now.to->map, mtest.size * now.n_to);
}

#endif
