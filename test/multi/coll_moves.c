/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll_moves: bcast, gather, scatter, allgather, alltoall and their v forms
 *
 * Every result is compared with what each process can compute by itself, on
 * communicators of every size, for every root, with and without MPI_IN_PLACE.
 */
#include "coll.h"

static int n; /* ints per block */

static int count_bad(const int *got, int rank, int to, int len)
{
	int bad = 0;

	for (int i = 0; i < len; i++)
		bad += got[i] != coll_value(rank, to, i);
	return bad;
}

static void fill(int *buf, int rank, int to, int len)
{
	for (int i = 0; i < len; i++)
		buf[i] = coll_value(rank, to, i);
}

static void bcast(MPI_Comm comm, int me, int size)
{
	int *buf = coll_ints(n + 1);

	for (int root = 0; root < size; root++) {
		for (int i = 0; i < n + 1; i++)
			buf[i] = -1;
		if (me == root)
			fill(buf, root, 5, n);
		OK(coll_bcast(buf, n, MPI_INT, root, comm));
		CHECK(count_bad(buf, root, 5, n) == 0,
			"a bcast of %d items from %d of %d arrives", n, root,
			size);
		CHECK(buf[n] == -1, "bcast writes nothing beyond the buffer");
	}
	free(buf);
}

static void gather(MPI_Comm comm, int me, int size, bool in_place)
{
	for (int root = 0; root < size; root++) {
		int *all = coll_ints((size_t)n * size + 1),
		    *mine = coll_ints(n);
		bool hidden = in_place && me == root;

		fill(hidden ? all + n * me : mine, me, root, n);
		OK(coll_gather(hidden ? MPI_IN_PLACE : mine, n, MPI_INT, all, n,
			MPI_INT, root, comm));
		for (int r = 0; r < size && me == root; r++)
			CHECK(count_bad(all + n * r, r, root, n) == 0,
				"a gather of %d items at %d of %d has the "
				"items of %d",
				n, root, size, r);
		CHECK(all[n * size] == -1,
			"gather writes nothing beyond the buffer");
		free(all);
		free(mine);
	}
}

static void scatter(MPI_Comm comm, int me, int size, bool in_place)
{
	for (int root = 0; root < size; root++) {
		int *all = coll_ints((size_t)n * size),
		    *mine = coll_ints(n + 1);
		bool hidden = in_place && me == root;

		for (int r = 0; r < size && me == root; r++)
			fill(all + n * r, root, r, n);
		OK(coll_scatter(all, n, MPI_INT, hidden ? MPI_IN_PLACE : mine,
			n, MPI_INT, root, comm));
		CHECK(hidden || count_bad(mine, root, me, n) == 0,
			"a scatter of %d items from %d of %d arrives", n, root,
			size);
		CHECK(mine[n] == -1,
			"scatter writes nothing beyond the buffer");
		free(all);
		free(mine);
	}
}

static void allgather(MPI_Comm comm, int me, int size, bool in_place)
{
	int *all = coll_ints((size_t)n * size + 1), *mine = coll_ints(n);

	fill(in_place ? all + n * me : mine, me, 2, n);
	OK(coll_allgather(in_place ? MPI_IN_PLACE : mine, n, MPI_INT, all, n,
		MPI_INT, comm));
	for (int r = 0; r < size; r++)
		CHECK(count_bad(all + n * r, r, 2, n) == 0,
			"an allgather of %d items on %d processes has the "
			"items of %d",
			n, size, r);
	CHECK(all[n * size] == -1,
		"allgather writes nothing beyond the buffer");
	free(all);
	free(mine);
}

static void alltoall(MPI_Comm comm, int me, int size, bool in_place)
{
	int *out = coll_ints((size_t)n * size);
	int *in = coll_ints((size_t)n * size + 1);

	for (int r = 0; r < size; r++)
		fill((in_place ? in : out) + n * r, me, r, n);
	OK(coll_alltoall(in_place ? MPI_IN_PLACE : out, n, MPI_INT, in, n,
		MPI_INT, comm));
	for (int r = 0; r < size; r++)
		CHECK(count_bad(in + n * r, r, me, n) == 0,
			"an alltoall of %d items on %d processes has the items "
			"of %d",
			n, size, r);
	CHECK(in[n * size] == -1, "alltoall writes nothing beyond the buffer");
	free(out);
	free(in);
}

/* Returns the number of ints in the block of rank r. Some blocks are empty. */
static int uneven(int r)
{
	return (r * 7 + 3) % 5 * n / 4;
}

/* Sets the lengths and displacements of uneven blocks: the last block is first,
 * and there is a gap of one int between blocks. Returns the total length. */
static size_t places(int size, int *len, int *at)
{
	int next = 1;

	for (int r = size - 1; r >= 0; r--) {
		len[r] = uneven(r);
		at[r] = next;
		next += len[r] + 1;
	}
	return next;
}

static void check_blocks(const int *all, size_t room, int size, const int *len,
	const int *at, int to, const char *what)
{
	size_t gaps = 0, filled = 0;

	for (int r = 0; r < size; r++) {
		CHECK(count_bad(all + at[r], r, to, len[r]) == 0,
			"%s: block %d of %d is right", what, r, size);
		filled += len[r];
	}
	for (size_t i = 0; i < room; i++)
		gaps += all[i] == -1;
	CHECK(gaps == room - filled, "%s: the gaps are untouched", what);
}

static void gatherv(MPI_Comm comm, int me, int size, bool in_place)
{
	int len[64], at[64];
	size_t room = places(size, len, at);

	for (int root = 0; root < size; root++) {
		int *all = coll_ints(room), *mine = coll_ints(n * 2);
		bool hidden = in_place && me == root;

		fill(hidden ? all + at[me] : mine, me, root, len[me]);
		OK(coll_gatherv(hidden ? MPI_IN_PLACE : mine, len[me], MPI_INT,
			all, len, at, MPI_INT, root, comm));
		if (me == root)
			check_blocks(all, room, size, len, at, root, "gatherv");
		free(all);
		free(mine);
	}
}

static void scatterv(MPI_Comm comm, int me, int size, bool in_place)
{
	int len[64], at[64];
	size_t room = places(size, len, at);

	for (int root = 0; root < size; root++) {
		int *all = coll_ints(room), *mine = coll_ints(n * 2 + 1);
		bool hidden = in_place && me == root;

		for (int r = 0; r < size && me == root; r++)
			fill(all + at[r], root, r, len[r]);
		OK(coll_scatterv(all, len, at, MPI_INT,
			hidden ? MPI_IN_PLACE : mine, len[me], MPI_INT, root,
			comm));
		CHECK(hidden || count_bad(mine, root, me, len[me]) == 0,
			"a scatterv of %d items from %d of %d arrives", n, root,
			size);
		CHECK(hidden || mine[len[me]] == -1,
			"scatterv writes nothing beyond the buffer");
		free(all);
		free(mine);
	}
}

static void allgatherv(MPI_Comm comm, int me, int size, bool in_place)
{
	int len[64], at[64];
	size_t room = places(size, len, at);
	int *all = coll_ints(room), *mine = coll_ints(n * 2);

	fill(in_place ? all + at[me] : mine, me, 4, len[me]);
	OK(coll_allgatherv(in_place ? MPI_IN_PLACE : mine, len[me], MPI_INT,
		all, len, at, MPI_INT, comm));
	check_blocks(all, room, size, len, at, 4, "allgatherv");
	free(all);
	free(mine);
}

/* Rank a sends uneven(a + b) ints to rank b. MPI_IN_PLACE permits these
 * lengths, because they are symmetric. */
static void alltoallv(MPI_Comm comm, int me, int size, bool in_place)
{
	int len[64], at[64], next = 0, bad = 0;

	for (int r = 0; r < size; r++) {
		len[r] = uneven(me + r);
		at[r] = next;
		next += len[r] + 1;
	}
	int *out = coll_ints(next), *in = coll_ints(next);
	for (int r = 0; r < size; r++)
		fill((in_place ? in : out) + at[r], me, r, len[r]);
	OK(coll_alltoallv(in_place ? MPI_IN_PLACE : out, len, at, MPI_INT, in,
		len, at, MPI_INT, comm));
	for (int r = 0; r < size; r++)
		bad += count_bad(in + at[r], r, me, len[r]) +
		       (in[at[r] + len[r]] != -1);
	CHECK(bad == 0,
		"alltoallv of %d items on %d processes: %d items are wrong", n,
		size, bad);
	free(out);
	free(in);
}

/* Exchanges ints on a ring. The displacements are absolute addresses, and the
 * types are predefined. */
static void neighbors_from_bottom(MPI_Comm comm, int me, int size)
{
	const MPI_Datatype types[2] = { MPI_INT, MPI_INT };
	int left = (me + size - 1) % size, right = (me + 1) % size;
	int out[2] = { 10 * me, 10 * me + 1 }, in[2] = { -1, -1 };
	const int ones[2] = { 1, 1 }, yes = 1;
	MPI_Aint from[2], to[2];
	MPI_Comm ring;

	for (int i = 0; i < 2; i++) {
		OK(MPI_Get_address(&out[i], &from[i]));
		OK(MPI_Get_address(&in[i], &to[i]));
	}
	OK(MPI_Cart_create(comm, 1, &size, &yes, 0, &ring));
	OK(MPI_Neighbor_alltoallw(MPI_BOTTOM, ones, from, types, MPI_BOTTOM,
		ones, to, types, ring));
	CHECK(in[0] == 10 * left + 1 && in[1] == 10 * right,
		"items at MPI_BOTTOM arrive: %d from %d, %d from %d", in[0],
		left, in[1], right);
	OK(MPI_Comm_free(&ring));
}

/* The data between two ranks is one pair of ints if the sum of the ranks is
 * odd, and two single ints otherwise. */
static void alltoallw(MPI_Comm comm, int me, int size)
{
	int one[64], at[64], bad = 0;
	MPI_Datatype type[64], pair;

	OK(MPI_Type_contiguous(2, MPI_INT, &pair));
	OK(MPI_Type_commit(&pair));
	int *out = coll_ints(size * 3), *in = coll_ints(size * 3);
	for (int r = 0; r < size; r++) {
		type[r] = (me + r) % 2 ? pair : MPI_INT;
		one[r] = (me + r) % 2 ? 1 : 2;
		at[r] = r * 3 * (int)sizeof(int);
		fill(out + r * 3, me, r, 2);
	}
	OK(coll_alltoallw(out, one, at, type, in, one, at, type, comm));
	for (int r = 0; r < size; r++)
		bad += count_bad(in + r * 3, r, me, 2) + (in[r * 3 + 2] != -1);
	CHECK(bad == 0, "alltoallw on %d processes: %d items are wrong", size,
		bad);
	OK(MPI_Type_free(&pair));
	free(out);
	free(in);
}

/* The columns are strided in grid, at one side of each call, and contiguous in
 * line, at the other side. */
static void derived(MPI_Comm comm, int me, int size)
{
	int *grid = coll_ints(size * 12), line[4] = { -1, -1, -1, -1 }, bad = 0;
	MPI_Datatype column, slot;

	OK(MPI_Type_vector(4, 1, 3, MPI_INT, &column));
	OK(MPI_Type_create_resized(column, 0, 12 * sizeof(int), &slot));
	OK(MPI_Type_commit(&slot));
	for (int r = 0; r < size && me == 0; r++)
		for (int i = 0; i < 4; i++)
			grid[r * 12 + i * 3] = coll_value(0, r, i);
	OK(coll_scatter(grid, 1, slot, line, 4, MPI_INT, 0, comm));
	CHECK(count_bad(line, 0, me, 4) == 0, "a scatter of columns arrives");
	for (int i = 0; i < size * 12; i++)
		grid[i] = -1;
	OK(coll_allgather(line, 4, MPI_INT, grid, 1, slot, comm));
	for (int r = 0; r < size; r++)
		for (int i = 0; i < 12; i++)
			bad += grid[r * 12 + i] !=
			       (i % 3 ? -1 : coll_value(0, r, i / 3));
	CHECK(bad == 0,
		"allgather into columns on %d processes: %d items are wrong",
		size, bad);
	OK(coll_bcast(grid, 1, slot, size - 1, comm));
	OK(MPI_Type_free(&slot));
	OK(MPI_Type_free(&column));
	free(grid);
}

static void all_moves(MPI_Comm comm, int me, int size)
{
	bcast(comm, me, size);
	for (int in_place = 0; in_place < 2; in_place++) {
		gather(comm, me, size, in_place);
		scatter(comm, me, size, in_place);
		allgather(comm, me, size, in_place);
		alltoall(comm, me, size, in_place);
		gatherv(comm, me, size, in_place);
		scatterv(comm, me, size, in_place);
		allgatherv(comm, me, size, in_place);
		alltoallv(comm, me, size, in_place);
	}
	alltoallw(comm, me, size);
	neighbors_from_bottom(comm, me, size);
	derived(comm, me, size);
	OK(coll_barrier(comm));
}

int main(int argc, char **argv)
{
	static const int counts[] = { 0, 1, 5, 100, 3000 };

	mtest_init(&argc, &argv);
	coll_form(argc, argv);
	for (int i = 0; i < 5; i++) {
		n = counts[i];
		coll_each_comm(all_moves);
	}
	n = (int)mtest_arg(argc, argv, "big", 40000);
	all_moves(MPI_COMM_WORLD, mtest.rank, mtest.size);
	return mtest_finish();
}
