/* SPDX-License-Identifier: BSD-3-Clause */
/* dev_coll: collectives on device memory, in three forms, and in place
 *
 * Short blocks are staged, and long ones are not. direct=1: the messages of
 * long blocks are copied from one device buffer to the other. */
#include "device.h"

enum { SHORT = 700, LONG = 300000, MAX = 8 };

static int n_items; /* of a block */

enum form { BLOCKING, NON_BLOCKING, PERSISTENT, N_FORMS };

static enum form form;

static bool is_direct;

/* Stores the number of bytes that were copied between device and host memory.
 * With a name, first checks that the call of this name has copied none. */
static void crossing(long *before, const char *what)
{
	long now = device.crossed ? device.crossed() : 0;

	if (what && is_direct)
		CHECK(now == *before, "form %d, %s: %ld bytes through host",
			(int)form, what, now - *before);
	*before = now;
}

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
	return value(i / n_items, i % n_items);
}

static int block_of_root(int i)
{
	return value(0, mtest.rank * n_items + i);
}

static int exchanged(int i)
{
	return value(i / n_items, mtest.rank * n_items + i % n_items);
}

static int own_sum(int i)
{
	return sum(mtest.rank * n_items + i);
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
	void *mine = device_values(mtest.rank, n_items), *out = sevens(n_items);
	void *all = is_root ? sevens(n_items * mtest.size) : NULL;

	CALL(Bcast, mine, n_items, MPI_INT, 0, comm);
	end_values(mine, n_items, of_root, "bcast");
	mine = device_values(mtest.rank, n_items);
	CALL(Reduce, mine, out, n_items, MPI_INT, MPI_SUM, 0, comm);
	if (is_root)
		end_values(out, n_items, sum, "reduce");
	else
		device_free(out);
	CALL(Gather, mine, n_items, MPI_INT, all, n_items, MPI_INT, 0, comm);
	if (is_root)
		end_values(all, n_items * mtest.size, gathered, "gather");
	device_free(mine);
	all = is_root ? device_values(0, n_items * mtest.size) : NULL;
	out = sevens(n_items);
	CALL(Scatter, all, n_items, MPI_INT, out, n_items, MPI_INT, 0, comm);
	end_values(out, n_items, block_of_root, "scatter");
	if (is_root)
		device_free(all);
}

static void reductions(void)
{
	const MPI_Comm comm = MPI_COMM_WORLD;
	void *mine = device_values(mtest.rank, n_items), *out = sevens(n_items);
	void *all = device_values(mtest.rank, n_items * mtest.size);
	int counts[MAX];

	CALL(Allreduce, mine, out, n_items, MPI_INT, MPI_SUM, comm);
	end_values(out, n_items, sum, "allreduce");
	out = sevens(n_items);
	CALL(Scan, mine, out, n_items, MPI_INT, MPI_SUM, comm);
	end_values(out, n_items, prefix, "scan");
	out = sevens(n_items);
	CALL(Exscan, mine, out, n_items, MPI_INT, MPI_SUM, comm);
	end_values(out, n_items, before, "exscan");
	device_free(mine);
	for (int i = 0; i < mtest.size; i++)
		counts[i] = n_items;
	out = sevens(n_items);
	CALL(Reduce_scatter, all, out, counts, MPI_INT, MPI_SUM, comm);
	end_values(out, n_items, own_sum, "reduce_scatter");
	if (form == PERSISTENT) { /* a second start would sum the sums */
		device_free(all);
		return;
	}
	OK(MPI_Reduce_scatter_block(
		MPI_IN_PLACE, all, n_items, MPI_INT, MPI_SUM, comm));
	end_values(all, n_items, own_sum, "reduce_scatter_block in place");
	mine = device_values(mtest.rank, n_items);
	CALL(Allreduce, MPI_IN_PLACE, mine, n_items, MPI_INT, MPI_SUM, comm);
	end_values(mine, n_items, sum, "allreduce in place");
}

static void all_to_all(void)
{
	const MPI_Comm comm = MPI_COMM_WORLD;
	void *mine = device_values(mtest.rank, n_items);
	void *many = device_values(mtest.rank, n_items * mtest.size);
	void *all = sevens(n_items * mtest.size);
	int counts[MAX], displs[MAX];
	MPI_Datatype types[MAX];
	long crossed;

	crossing(&crossed, NULL);
	CALL(Allgather, mine, n_items, MPI_INT, all, n_items, MPI_INT, comm);
	crossing(&crossed, "allgather");
	end_values(all, n_items * mtest.size, gathered, "allgather");
	all = sevens(n_items * mtest.size);
	crossing(&crossed, NULL);
	CALL(Alltoall, many, n_items, MPI_INT, all, n_items, MPI_INT, comm);
	crossing(&crossed, "alltoall");
	end_values(all, n_items * mtest.size, exchanged, "alltoall");
	all = sevens(n_items * mtest.size);
	for (int i = 0; i < mtest.size; i++) {
		counts[i] = n_items;
		displs[i] = i * n_items * (int)sizeof(int);
		types[i] = MPI_INT;
	}
	CALL(Alltoallw, many, counts, displs, types, all, counts, displs, types,
		comm);
	end_values(all, n_items * mtest.size, exchanged, "alltoallw");
	device_free(mine);
	device_free(many);
}

/* Without a neighbour on one side, its block keeps its contents. */
static int from_left(int i)
{
	int from = i < n_items ? mtest.rank - 1 : mtest.rank + 1;

	if (from < 0 || from >= mtest.size)
		return 7;
	return value(from, (i < n_items ? n_items : 0) + i % n_items);
}

static void neighbors(void)
{
	MPI_Comm line;
	int periodic = 0;
	long crossed;
	void *mine = device_values(mtest.rank, 2 * n_items),
	     *out = sevens(2 * n_items);

	OK(MPI_Cart_create(
		MPI_COMM_WORLD, 1, &mtest.size, &periodic, 0, &line));
	crossing(&crossed, NULL);
	CALL(Neighbor_alltoall, mine, n_items, MPI_INT, out, n_items, MPI_INT,
		line);
	crossing(&crossed, "neighbor_alltoall");
	end_values(out, 2 * n_items, from_left, "neighbor_alltoall");
	device_free(mine);
	OK(MPI_Comm_free(&line));
}

/* Rank 0 has host memory, and rank 1 a datatype with gaps. */
static void mixed(void)
{
	const MPI_Comm comm = MPI_COMM_WORLD;
	const int n = n_items, all = n * mtest.size;
	int *host = values(mtest.rank, all);
	void *many = device_new(host, (size_t)all * sizeof(int));
	void *in = sevens(2 * all), *packed = sevens(all);
	MPI_Datatype pairs = MPI_INT;
	MPI_Request r;

	if (mtest.rank == 1) {
		OK(MPI_Type_create_resized(
			MPI_INT, 0, 2 * sizeof(int), &pairs));
		OK(MPI_Type_commit(&pairs));
	}
	for (int i = 0; i < 2; i++) {
		const void *from = mtest.rank ? many : host;

		if (i == 0) {
			OK(MPI_Alltoall(from, n, MPI_INT, in, n, pairs, comm));
		} else {
			OK(MPI_Ialltoall(
				from, n, MPI_INT, in, n, pairs, comm, &r));
			OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
		}
		OK(MPI_Sendrecv(in, all, pairs, 0, 0, packed, all, MPI_INT, 0,
			0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
		end_values(packed, all, exchanged, "alltoall of three kinds");
		packed = sevens(all);
	}
	if (pairs != MPI_INT)
		OK(MPI_Type_free(&pairs));
	free(host);
	device_free(many);
	device_free(in);
	device_free(packed);
}

static void in_place(void)
{
	const MPI_Comm comm = MPI_COMM_WORLD;
	const int n = n_items, all = n * mtest.size;
	int *host = values(mtest.rank, all);
	void *mine = device_new(host, (size_t)all * sizeof(int));

	OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, mine, n, MPI_INT, comm));
	end_values(mine, all, exchanged, "alltoall in place");
	memmove(host + n * mtest.rank, host, (size_t)n * sizeof(int));
	mine = device_new(host, (size_t)all * sizeof(int));
	OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, mine, n, MPI_INT, comm));
	end_values(mine, all, gathered, "allgather in place");
	free(host);
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
	void *mine = device_values(mtest.rank, n_items), *out = sevens(n_items);
	int *host = values(mtest.rank, n_items);
	MPI_Op op;

	OK(MPI_Op_create(add, 1, &op));
	OK(MPI_Allreduce(mine, out, n_items, MPI_INT, op, MPI_COMM_WORLD));
	end_values(out, n_items, sum, "a function of the program");
	OK(MPI_Op_free(&op));
	/* one side on the device */
	out = sevens(n_items);
	OK(MPI_Allreduce(host, out, n_items, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
	end_values(out, n_items, sum, "allreduce from host memory");
	if (mtest.rank)
		OK(MPI_Bcast(mine, n_items, MPI_INT, 0, MPI_COMM_WORLD));
	else
		OK(MPI_Bcast(host, n_items, MPI_INT, 0, MPI_COMM_WORLD));
	end_values(
		mine, n_items, of_root, "bcast from host memory of the root");
	free(host);
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	device_start();
	for (int i = 0; i < 2; i++) {
		n_items = i ? LONG : SHORT;
		is_direct = i && mtest_arg(argc, argv, "direct", 0);
		for (form = BLOCKING; form < N_FORMS; form++) {
			rooted();
			reductions();
			all_to_all();
			neighbors();
		}
		form = BLOCKING;
		in_place();
		mixed();
	}
	others();
	return mtest_finish();
}
