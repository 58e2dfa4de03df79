/* SPDX-License-Identifier: BSD-3-Clause */
/* dev_coll: collectives on device memory, in three forms, and in place */
#include "device.h"

enum { N = 700, MAX = 8 };

enum form { BLOCKING, NON_BLOCKING, PERSISTENT, N_FORMS };

static enum form form;

/* Completes a call in the current form. */
static void end(MPI_Request *r)
{
	if (form == BLOCKING)
		return;
	for (int i = 0; form == PERSISTENT && i < 2; i++) {
		OK(MPI_Start(r));
		if (i == 0)
			OK(MPI_Wait(r, MPI_STATUS_IGNORE));
	}
	OK(MPI_Wait(r, MPI_STATUS_IGNORE));
	if (form == PERSISTENT)
		OK(MPI_Request_free(r));
}

#define CALL(name, ...)                                            \
	do {                                                       \
		MPI_Request r_ = MPI_REQUEST_NULL;                 \
		if (form == BLOCKING)                              \
			OK(MPI_##name(__VA_ARGS__));               \
		else if (form == NON_BLOCKING)                     \
			OK(MPI_I##name(__VA_ARGS__, &r_));         \
		else                                               \
			OK(MPI_##name##_init(                      \
				__VA_ARGS__, MPI_INFO_NULL, &r_)); \
		end(&r_);                                          \
	} while (0)

/* The names of non-blocking procedures are in lower case. */
#define MPI_IBcast MPI_Ibcast
#define MPI_IReduce MPI_Ireduce
#define MPI_IAllreduce MPI_Iallreduce
#define MPI_IGather MPI_Igather
#define MPI_IGatherv MPI_Igatherv
#define MPI_IScatter MPI_Iscatter
#define MPI_IAllgather MPI_Iallgather
#define MPI_IAlltoall MPI_Ialltoall
#define MPI_IAlltoallw MPI_Ialltoallw
#define MPI_IScan MPI_Iscan
#define MPI_IExscan MPI_Iexscan
#define MPI_IReduce_scatter MPI_Ireduce_scatter
#define MPI_INeighbor_alltoall MPI_Ineighbor_alltoall

static int value(int rank, int i)
{
	return rank * 100000 + i;
}

static int *values(int rank, int n)
{
	int *v = malloc((size_t)n * sizeof(*v));

	for (int i = 0; i < n; i++)
		v[i] = value(rank, i);
	return v;
}

static void *device_values(int rank, int n)
{
	int *v = values(rank, n);
	void *dev = device_new(v, (size_t)n * sizeof(*v));

	free(v);
	return dev;
}

/* Checks n values, wanted by their index, and frees the memory. */
static void end_values(void *dev, int n, int (*wanted)(int i), const char *what)
{
	int *v = malloc((size_t)n * sizeof(*v)), bad = -1;

	device_get(v, dev, (size_t)n * sizeof(*v));
	for (int i = n; i-- > 0;)
		if (v[i] != wanted(i))
			bad = i;
	CHECK(bad < 0, "form %d, %s: element %d is %d, not %d", (int)form, what,
		bad, bad < 0 ? 0 : v[bad], bad < 0 ? 0 : wanted(bad));
	free(v);
	device_free(dev);
}

static int of_root(int i)
{
	return value(0, i);
}

static int sum(int i)
{
	int all = 0;

	for (int r = 0; r < mtest.size; r++)
		all += value(r, i);
	return all;
}

static int prefix(int i)
{
	int all = 0;

	for (int r = 0; r <= mtest.rank; r++)
		all += value(r, i);
	return all;
}

static int before(int i)
{
	return mtest.rank ? prefix(i) - value(mtest.rank, i) : 7;
}

static int gathered(int i)
{
	return value(i / N, i % N);
}

static int block_of_root(int i)
{
	return value(0, mtest.rank * N + i);
}

static int exchanged(int i)
{
	return value(i / N, mtest.rank * N + i % N);
}

static int own_sum(int i)
{
	return sum(mtest.rank * N + i);
}

static void *sevens(int n)
{
	int *v = malloc((size_t)n * sizeof(*v));
	void *dev;

	for (int i = 0; i < n; i++)
		v[i] = 7;
	dev = device_new(v, (size_t)n * sizeof(*v));
	free(v);
	return dev;
}

static void rooted(void)
{
	const MPI_Comm comm = MPI_COMM_WORLD;
	const bool is_root = mtest.rank == 0;
	void *mine = device_values(mtest.rank, N), *out = sevens(N);
	void *all = is_root ? sevens(N * mtest.size) : NULL;

	CALL(Bcast, mine, N, MPI_INT, 0, comm);
	end_values(mine, N, of_root, "bcast");
	mine = device_values(mtest.rank, N);
	CALL(Reduce, mine, out, N, MPI_INT, MPI_SUM, 0, comm);
	if (is_root)
		end_values(out, N, sum, "reduce");
	else
		device_free(out);
	CALL(Gather, mine, N, MPI_INT, all, N, MPI_INT, 0, comm);
	if (is_root)
		end_values(all, N * mtest.size, gathered, "gather");
	device_free(mine);
	all = is_root ? device_values(0, N * mtest.size) : NULL;
	out = sevens(N);
	CALL(Scatter, all, N, MPI_INT, out, N, MPI_INT, 0, comm);
	end_values(out, N, block_of_root, "scatter");
	if (is_root)
		device_free(all);
}

static void reductions(void)
{
	const MPI_Comm comm = MPI_COMM_WORLD;
	void *mine = device_values(mtest.rank, N), *out = sevens(N);
	void *all = device_values(mtest.rank, N * mtest.size);
	int counts[MAX];

	CALL(Allreduce, mine, out, N, MPI_INT, MPI_SUM, comm);
	end_values(out, N, sum, "allreduce");
	out = sevens(N);
	CALL(Scan, mine, out, N, MPI_INT, MPI_SUM, comm);
	end_values(out, N, prefix, "scan");
	out = sevens(N);
	CALL(Exscan, mine, out, N, MPI_INT, MPI_SUM, comm);
	end_values(out, N, before, "exscan");
	device_free(mine);
	for (int i = 0; i < mtest.size; i++)
		counts[i] = N;
	out = sevens(N);
	CALL(Reduce_scatter, all, out, counts, MPI_INT, MPI_SUM, comm);
	end_values(out, N, own_sum, "reduce_scatter");
	if (form == PERSISTENT) { /* a second start would sum the sums */
		device_free(all);
		return;
	}
	OK(MPI_Reduce_scatter_block(
		MPI_IN_PLACE, all, N, MPI_INT, MPI_SUM, comm));
	end_values(all, N, own_sum, "reduce_scatter_block in place");
	mine = device_values(mtest.rank, N);
	CALL(Allreduce, MPI_IN_PLACE, mine, N, MPI_INT, MPI_SUM, comm);
	end_values(mine, N, sum, "allreduce in place");
}

static void all_to_all(void)
{
	const MPI_Comm comm = MPI_COMM_WORLD;
	void *mine = device_values(mtest.rank, N);
	void *many = device_values(mtest.rank, N * mtest.size);
	void *all = sevens(N * mtest.size);
	int counts[MAX], displs[MAX];
	MPI_Datatype types[MAX];

	CALL(Allgather, mine, N, MPI_INT, all, N, MPI_INT, comm);
	end_values(all, N * mtest.size, gathered, "allgather");
	all = sevens(N * mtest.size);
	CALL(Alltoall, many, N, MPI_INT, all, N, MPI_INT, comm);
	end_values(all, N * mtest.size, exchanged, "alltoall");
	all = sevens(N * mtest.size);
	for (int i = 0; i < mtest.size; i++) {
		counts[i] = N;
		displs[i] = i * N * (int)sizeof(int);
		types[i] = MPI_INT;
	}
	CALL(Alltoallw, many, counts, displs, types, all, counts, displs, types,
		comm);
	end_values(all, N * mtest.size, exchanged, "alltoallw");
	device_free(mine);
	device_free(many);
}

/* Without a neighbour on one side, its block keeps its contents. */
static int from_left(int i)
{
	int from = i < N ? mtest.rank - 1 : mtest.rank + 1;

	if (from < 0 || from >= mtest.size)
		return 7;
	return value(from, (i < N ? N : 0) + i % N);
}

static void neighbors(void)
{
	MPI_Comm line;
	int periodic = 0;
	void *mine = device_values(mtest.rank, 2 * N), *out = sevens(2 * N);

	OK(MPI_Cart_create(
		MPI_COMM_WORLD, 1, &mtest.size, &periodic, 0, &line));
	CALL(Neighbor_alltoall, mine, N, MPI_INT, out, N, MPI_INT, line);
	end_values(out, 2 * N, from_left, "neighbor_alltoall");
	device_free(mine);
	OK(MPI_Comm_free(&line));
}

/* The program's function gets host memory. */
static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
	(void)type;
	for (int i = 0; i < *len; i++)
		((int *)inout)[i] += ((int *)in)[i];
}

static void others(void)
{
	void *mine = device_values(mtest.rank, N), *out = sevens(N);
	int *host = values(mtest.rank, N);
	MPI_Op op;

	OK(MPI_Op_create(add, 1, &op));
	OK(MPI_Allreduce(mine, out, N, MPI_INT, op, MPI_COMM_WORLD));
	end_values(out, N, sum, "a function of the program");
	OK(MPI_Op_free(&op));
	/* one side on the device */
	out = sevens(N);
	OK(MPI_Allreduce(host, out, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
	end_values(out, N, sum, "allreduce from host memory");
	if (mtest.rank)
		OK(MPI_Bcast(mine, N, MPI_INT, 0, MPI_COMM_WORLD));
	else
		OK(MPI_Bcast(host, N, MPI_INT, 0, MPI_COMM_WORLD));
	end_values(mine, N, of_root, "bcast from host memory of the root");
	free(host);
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	device_start();
	for (form = BLOCKING; form < N_FORMS; form++) {
		rooted();
		reductions();
		all_to_all();
		neighbors();
	}
	form = BLOCKING;
	others();
	return mtest_finish();
}
