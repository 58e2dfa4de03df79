/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_forms: every collective in its blocking, non-blocking and persistent
 * form, with int and with MPI_Count arguments
 *
 * Item i of rank r's data is 100 * r + i; blocks have two items. The v and w
 * forms receive the blocks in reverse order. */
#include "mtest.h"

enum { MOST = 16, LEN = 2, ROOT = 1 };

static int in[LEN * MOST], out[LEN * MOST], rank, n;

/* Arguments of the v and w forms. reversed: displacements of the blocks in
 * reverse order; bytes: displacements in bytes. */
static int counts[MOST], displs[MOST], reversed[MOST], bytes[MOST],
	reversed_bytes[MOST];
static MPI_Count counts_c[MOST];
static MPI_Aint displs_c[MOST], reversed_c[MOST], bytes_c[MOST],
	reversed_bytes_c[MOST];
static MPI_Datatype types[MOST];

static void set_arguments(void)
{
	const int size = LEN * (int)sizeof(int);

	for (int i = 0; i < n; i++) {
		counts_c[i] = counts[i] = LEN;
		displs_c[i] = displs[i] = i * LEN;
		reversed_c[i] = reversed[i] = (n - 1 - i) * LEN;
		bytes_c[i] = bytes[i] = i * size;
		reversed_bytes_c[i] = reversed_bytes[i] = (n - 1 - i) * size;
		types[i] = MPI_INT;
	}
}

static void set_data(void)
{
	for (int i = 0; i < LEN * n; i++) {
		in[i] = 100 * rank + i;
		out[i] = -1;
	}
}

/* ---- expected item i of a result ---- */

static int sum_to(int last, int i)
{
	return 100 * last * (last + 1) / 2 + (last + 1) * i;
}

static int want_bcast(int i)
{
	return 100 * ROOT + i;
}

static int want_gathered(int i)
{
	return 100 * (i / LEN) + i % LEN;
}

static int want_gathered_reversed(int i)
{
	return 100 * (n - 1 - i / LEN) + i % LEN;
}

static int want_scattered(int i)
{
	return 100 * ROOT + rank * LEN + i;
}

static int want_alltoall(int i)
{
	return 100 * (i / LEN) + rank * LEN + i % LEN;
}

static int want_alltoall_reversed(int i)
{
	return 100 * (n - 1 - i / LEN) + rank * LEN + i % LEN;
}

static int want_sum(int i)
{
	return sum_to(n - 1, i);
}

static int want_part(int i)
{
	return sum_to(n - 1, rank * LEN + i);
}

static int want_scan(int i)
{
	return sum_to(rank, i);
}

static int want_exscan(int i)
{
	return sum_to(rank - 1, i);
}

/* Block 0 is from the left, block 1 from the right. */
static int want_neighbor(int i)
{
	return 100 * (i < LEN ? (rank + n - 1) % n : (rank + 1) % n) + i % LEN;
}

static int want_neighbor_reversed(int i)
{
	return want_neighbor(i < LEN ? i + LEN : i - LEN);
}

/* Block 0 is the left neighbour's block for its right one, and vice versa. */
static int want_swapped(int i)
{
	return 100 * (i < LEN ? (rank + n - 1) % n : (rank + 1) % n) +
	       (i < LEN ? i + LEN : i - LEN);
}

static int want_swapped_reversed(int i)
{
	return want_swapped(i < LEN ? i + LEN : i - LEN);
}

/* ---- the forms ---- */

/* Checks the result of a call. n_items: number of items of `got` to compare; 0
 * if this process receives nothing. */
static void expect(const char *name, int rc, MPI_Request *req, const int *got,
	int n_items, int (*want)(int))
{
	OK(rc);
	if (req)
		OK(MPI_Wait(req, MPI_STATUS_IGNORE));
	for (int i = 0; i < n_items; i++)
		CHECK(got[i] == want(i), "%s: item %d is %d, not %d", name, i,
			got[i], want(i));
	set_data();
}

static void expect_persistent(const char *name, int rc, MPI_Request *req,
	const int *got, int n_items, int (*want)(int))
{
	OK(rc);
	for (int i = 0; i < 2; i++) {
		OK(MPI_Start(req));
		expect(name, MPI_SUCCESS, req, got, n_items, want);
	}
	OK(MPI_Request_free(req));
}

#define FORMS(c, op, iop, got, n_items, want, ...)                            \
	do {                                                                  \
		MPI_Request req;                                              \
                                                                              \
		expect("MPI_" #op #c, MPI_##op##c(__VA_ARGS__), NULL, got,    \
			n_items, want);                                       \
		expect("MPI_" #iop #c, MPI_##iop##c(__VA_ARGS__, &req), &req, \
			got, n_items, want);                                  \
		expect_persistent("MPI_" #op "_init" #c,                      \
			MPI_##op##_init##c(__VA_ARGS__, MPI_INFO_NULL, &req), \
			&req, got, n_items, want);                            \
	} while (0)

#define BOTH(op, iop, ...)                       \
	do {                                     \
		FORMS(, op, iop, __VA_ARGS__);   \
		FORMS(_c, op, iop, __VA_ARGS__); \
	} while (0)

static void regular(MPI_Comm comm)
{
	const int all = LEN * n, at_root = rank == ROOT ? all : 0;

	BOTH(Bcast, Ibcast, in, all, want_bcast, in, all, MPI_INT, ROOT, comm);
	BOTH(Gather, Igather, out, at_root, want_gathered, in, LEN, MPI_INT,
		out, LEN, MPI_INT, ROOT, comm);
	BOTH(Scatter, Iscatter, out, LEN, want_scattered, in, LEN, MPI_INT, out,
		LEN, MPI_INT, ROOT, comm);
	BOTH(Allgather, Iallgather, out, all, want_gathered, in, LEN, MPI_INT,
		out, LEN, MPI_INT, comm);
	BOTH(Alltoall, Ialltoall, out, all, want_alltoall, in, LEN, MPI_INT,
		out, LEN, MPI_INT, comm);
}

static void reductions(MPI_Comm comm)
{
	const int all = LEN * n, at_root = rank == ROOT ? all : 0;

	BOTH(Reduce, Ireduce, out, at_root, want_sum, in, out, all, MPI_INT,
		MPI_SUM, ROOT, comm);
	BOTH(Allreduce, Iallreduce, out, all, want_sum, in, out, all, MPI_INT,
		MPI_SUM, comm);
	BOTH(Reduce_scatter_block, Ireduce_scatter_block, out, LEN, want_part,
		in, out, LEN, MPI_INT, MPI_SUM, comm);
	FORMS(, Reduce_scatter, Ireduce_scatter, out, LEN, want_part, in, out,
		counts, MPI_INT, MPI_SUM, comm);
	FORMS(_c, Reduce_scatter, Ireduce_scatter, out, LEN, want_part, in, out,
		counts_c, MPI_INT, MPI_SUM, comm);
	BOTH(Scan, Iscan, out, all, want_scan, in, out, all, MPI_INT, MPI_SUM,
		comm);
	BOTH(Exscan, Iexscan, out, rank ? all : 0, want_exscan, in, out, all,
		MPI_INT, MPI_SUM, comm);
	OK(MPI_Reduce_local(in, out, all, MPI_INT, MPI_MAX));
	CHECK(!memcmp(in, out, (size_t)all * sizeof(int)),
		"the items beyond the short ones are equal");
	set_data();
	OK(MPI_Reduce_local_c(in, out, all, MPI_INT, MPI_MIN));
	for (int i = 0; i < all; i++)
		CHECK(out[i] == -1, "the minimum is -1, got %d", out[i]);
	set_data();
}

static void vectors(MPI_Comm comm)
{
	const int all = LEN * n, at_root = rank == ROOT ? all : 0;

	FORMS(, Gatherv, Igatherv, out, at_root, want_gathered_reversed, in,
		LEN, MPI_INT, out, counts, reversed, MPI_INT, ROOT, comm);
	FORMS(_c, Gatherv, Igatherv, out, at_root, want_gathered_reversed, in,
		LEN, MPI_INT, out, counts_c, reversed_c, MPI_INT, ROOT, comm);
	FORMS(, Scatterv, Iscatterv, out, LEN, want_scattered, in, counts,
		displs, MPI_INT, out, LEN, MPI_INT, ROOT, comm);
	FORMS(_c, Scatterv, Iscatterv, out, LEN, want_scattered, in, counts_c,
		displs_c, MPI_INT, out, LEN, MPI_INT, ROOT, comm);
	FORMS(, Allgatherv, Iallgatherv, out, all, want_gathered_reversed, in,
		LEN, MPI_INT, out, counts, reversed, MPI_INT, comm);
	FORMS(_c, Allgatherv, Iallgatherv, out, all, want_gathered_reversed, in,
		LEN, MPI_INT, out, counts_c, reversed_c, MPI_INT, comm);
	FORMS(, Alltoallv, Ialltoallv, out, all, want_alltoall_reversed, in,
		counts, displs, MPI_INT, out, counts, reversed, MPI_INT, comm);
	FORMS(_c, Alltoallv, Ialltoallv, out, all, want_alltoall_reversed, in,
		counts_c, displs_c, MPI_INT, out, counts_c, reversed_c, MPI_INT,
		comm);
	FORMS(, Alltoallw, Ialltoallw, out, all, want_alltoall_reversed, in,
		counts, bytes, types, out, counts, reversed_bytes, types, comm);
	FORMS(_c, Alltoallw, Ialltoallw, out, all, want_alltoall_reversed, in,
		counts_c, bytes_c, types, out, counts_c, reversed_bytes_c,
		types, comm);
}

/* Tests neighborhood collectives on a ring. A process has two neighbours there,
 * so the last two entries of reversed[] are its reversed displacements. */
static void neighbors(MPI_Comm ring)
{
	const int *back = reversed + n - 2;
	const MPI_Aint *back_c = reversed_c + n - 2,
		       *back_bytes = reversed_bytes_c + n - 2;

	BOTH(Neighbor_allgather, Ineighbor_allgather, out, 2 * LEN,
		want_neighbor, in, LEN, MPI_INT, out, LEN, MPI_INT, ring);
	BOTH(Neighbor_alltoall, Ineighbor_alltoall, out, 2 * LEN, want_swapped,
		in, LEN, MPI_INT, out, LEN, MPI_INT, ring);
	FORMS(, Neighbor_allgatherv, Ineighbor_allgatherv, out, 2 * LEN,
		want_neighbor_reversed, in, LEN, MPI_INT, out, counts, back,
		MPI_INT, ring);
	FORMS(_c, Neighbor_allgatherv, Ineighbor_allgatherv, out, 2 * LEN,
		want_neighbor_reversed, in, LEN, MPI_INT, out, counts_c, back_c,
		MPI_INT, ring);
	FORMS(, Neighbor_alltoallv, Ineighbor_alltoallv, out, 2 * LEN,
		want_swapped_reversed, in, counts, displs, MPI_INT, out, counts,
		back, MPI_INT, ring);
	FORMS(_c, Neighbor_alltoallv, Ineighbor_alltoallv, out, 2 * LEN,
		want_swapped_reversed, in, counts_c, displs_c, MPI_INT, out,
		counts_c, back_c, MPI_INT, ring);
	FORMS(, Neighbor_alltoallw, Ineighbor_alltoallw, out, 2 * LEN,
		want_swapped_reversed, in, counts, bytes_c, types, out, counts,
		back_bytes, types, ring);
	FORMS(_c, Neighbor_alltoallw, Ineighbor_alltoallw, out, 2 * LEN,
		want_swapped_reversed, in, counts_c, bytes_c, types, out,
		counts_c, back_bytes, types, ring);
}

int main(int argc, char **argv)
{
	int around[2];
	MPI_Comm ring;

	mtest_init(&argc, &argv);
	mtest_need(3);
	rank = mtest.rank;
	n = mtest.size;
	CHECK(n <= MOST, "the job has at most MOST processes: %d", n);
	set_arguments();
	set_data();
	around[0] = (rank + n - 1) % n;
	around[1] = (rank + 1) % n;
	OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, around,
		MPI_UNWEIGHTED, 2, around, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
		&ring));
	regular(MPI_COMM_WORLD);
	reductions(MPI_COMM_WORLD);
	vectors(MPI_COMM_WORLD);
	neighbors(ring);
	OK(MPI_Comm_free(&ring));
	return mtest_finish();
}
