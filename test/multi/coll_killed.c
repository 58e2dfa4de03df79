/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll_killed: members are killed in collectives, one after the other; within
 * seconds, every survivor gets right data or an error
 *
 * A round has a communicator of the surviving processes, and one collective
 * operation in one form (blocking, non-blocking, persistent) and size. It has
 * one victim, and a moment at which the victim dies: before the operation, some
 * microseconds into a series of operations, in its own reduction function, or
 * after the operation was started. Then each survivor frees or disconnects the
 * communicator, and the survivors create the next one. Some rounds are chains:
 * the first survivor detects the failure and leaves, and all others wait for it
 * in calls that only it could complete.
 *
 * seed= selects random rounds (0: by the clock). rounds= limits their number.
 * kind= selects one kind of operation. say=1 prints each round.
 * sweep=N selects part N of a fixed list of rounds instead. The list has each
 * operation in each form, short and long. The victim dies at its first, second,
 * third or fourth call, and the ranks are victims in turn. With 18 processes,
 * N = 0, 1, ... covers the whole list. A part without rounds is skipped.
 *
 * The long form, by hand: for s in $(seq 1 200); do mpiexec -n 8 --continue
 * coll_killed seed=$s; done, and the same with WEFT_SHM=off and WEFT_NODES=2.
 */
#include "session.h"

#include <pthread.h>

enum {
	CALLS = 4,
	LEAVE = 3, /* number of survivors after the last round */
	TAG = 3,
};

enum kind {
	BARRIER,
	BCAST,
	GATHER,
	GATHERV,
	SCATTER,
	ALLGATHER,
	ALLGATHERV,
	ALLTOALL,
	REDUCE,
	ALLREDUCE,
	ALLREDUCE_USER,
	REDUCE_SCATTER,
	SCAN,
	EXSCAN,
	NEIGHBOR,
	INTER_BARRIER,
	INTER_BCAST,
	INTER_ALLREDUCE,
	INTER_ALLGATHER,
	DUP,
	SPLIT,
	FROM_GROUP,
	CHAIN,
	KINDS, /* seed= selects among the kinds above */
	SCATTERV = KINDS,
	ALLTOALLV,
	ALLTOALLW,
	REDUCE_SCATTER_V,
	NEIGHBOR_V,
	NEIGHBOR_ALL,
	NEIGHBOR_ALL_V,
	NEIGHBOR_ALL_W,
	INTER_GATHER,
	INTER_SCATTER,
	INTER_REDUCE,
	INTER_ALLTOALL,
	ALL_KINDS,
};

static const char *const names[ALL_KINDS] = { "barrier", "bcast", "gather",
	"gatherv", "scatter", "allgather", "allgatherv", "alltoall", "reduce",
	"allreduce", "allreduce of a user's", "reduce_scatter", "scan",
	"exscan", "neighbor_allgather", "inter barrier", "inter bcast",
	"inter allreduce", "inter allgather", "dup", "split",
	"create_from_group", "chain", "scatterv", "alltoallv", "alltoallw",
	"reduce_scatter", "neighbor_allgatherv", "neighbor_alltoall",
	"neighbor_alltoallv", "neighbor_alltoallw", "inter gather",
	"inter scatter", "inter reduce", "inter alltoall" };

static int is_inter(enum kind kind)
{
	return (kind >= INTER_BARRIER && kind <= INTER_ALLGATHER) ||
	       kind >= INTER_GATHER;
}

static int is_neighbor(enum kind kind)
{
	return kind == NEIGHBOR ||
	       (kind >= NEIGHBOR_V && kind <= NEIGHBOR_ALL_W);
}

static int is_creation(enum kind kind)
{
	return kind >= DUP && kind <= FROM_GROUP;
}

/* State of a round, the same at all survivors. */
struct round {
	int number;
	enum kind kind;
	int form; /* 0 blocking, 1 non-blocking, 2 persistent */
	int count;
	int root;
	int victim; /* rank in comm */
	int moment; /* of the death: 0 before the operation, 1 after us, 2 in
		     * the reduction function, 3 after the start, 4 before call
		     * us % CALLS */
	int us;	    /* microseconds; moment 4: number of a call */
	int leave;  /* 0 disconnect, 1 free */
};

static struct {
	MPI_Session session;
	MPI_Group alive;
	MPI_Comm comm; /* of the surviving processes */
	MPI_Comm on;   /* communicator of the operation */
	int rank, size;
	int is_victim, n_ops;
	unsigned *out, *in;
	int *counts, *displs, *bytes; /* bytes: displacements in bytes */
	MPI_Datatype *types;
	MPI_Op op;
	unsigned long random;
	int n_errors, n_right;
} k;

static unsigned draw(unsigned n)
{
	k.random = k.random * 6364136223846793005UL + 1442695040888963407UL;
	return (unsigned)((k.random >> 33) % n);
}

static void die(void)
{
	raise(SIGKILL);
}

static void *die_later(void *arg)
{
	struct timespec ts = { 0, *(int *)arg * 1000L };

	nanosleep(&ts, NULL);
	die();
	return NULL;
}

static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
	unsigned *a = in, *b = inout;

	(void)type;
	if (k.is_victim && k.n_ops++ == 1)
		die();
	for (int i = 0; i < *len; i++)
		b[i] += a[i];
}

static unsigned value(int rank, int i, int call)
{
	return (unsigned)rank * 1000003u + (unsigned)i * 7u +
	       (unsigned)call * 13u + 1u;
}

/* Sum of the values of ranks 0 to n - 1. */
static unsigned sum(int n, int i, int call)
{
	unsigned total = 0;

	for (int r = 0; r < n; r++)
		total += value(r, i, call);
	return total;
}

/* ---- one operation ---- */

static int complete(int rc, MPI_Request *request)
{
	int flag = 0;

	if (rc)
		return rc;
	for (int i = 0; k.is_victim && k.n_ops < 0 && i < 3; i++)
		MPI_Test(request, &flag, MPI_STATUS_IGNORE);
	if (k.is_victim && k.n_ops < 0)
		die();
	return MPI_Wait(request, MPI_STATUS_IGNORE);
}

static int persist(int rc, MPI_Request *request)
{
	if (!rc)
		rc = MPI_Start(request);
	if (!rc)
		rc = complete(rc, request);
	if (*request != MPI_REQUEST_NULL)
		MPI_Request_free(request);
	return rc;
}

/* Calls MPI_name in the form of the run: blocking, nonblocking (MPI_I and
 * iname) or persistent. */
#define FORM(name, iname, ...)                                                 \
	(r->form == 0	       ? MPI_##name(__VA_ARGS__)                       \
		: r->form == 1 ? complete(MPI_I##iname(__VA_ARGS__, &request), \
					 &request)                             \
			       : persist(MPI_##name##_init(__VA_ARGS__,        \
						 MPI_INFO_NULL, &request),     \
					 &request))

static int inter_root(const struct round *r, int is_low)
{
	int rank;

	MPI_Comm_rank(k.on, &rank);
	if (!is_low)
		return 0;
	(void)r;
	return rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
}

static int operate_more(const struct round *r)
{
	MPI_Request request = MPI_REQUEST_NULL;
	MPI_Datatype t = MPI_UNSIGNED;
	int c = r->count, is_low = k.rank < k.size / 2;
	MPI_Aint aints[2] = { 0, (MPI_Aint)c * 4 };

	switch (r->kind) {
	case SCATTERV:
		return FORM(Scatterv, scatterv, k.out, k.counts, k.displs, t,
			k.in, c, t, r->root, k.on);
	case ALLTOALLV:
		return FORM(Alltoallv, alltoallv, k.out, k.counts, k.displs, t,
			k.in, k.counts, k.displs, t, k.on);
	case ALLTOALLW:
		return FORM(Alltoallw, alltoallw, k.out, k.counts, k.bytes,
			k.types, k.in, k.counts, k.bytes, k.types, k.on);
	case REDUCE_SCATTER_V:
		return FORM(Reduce_scatter, reduce_scatter, k.out, k.in,
			k.counts, t, k.op, k.on);
	case NEIGHBOR_V:
		return FORM(Neighbor_allgatherv, neighbor_allgatherv, k.out, c,
			t, k.in, k.counts, k.displs, t, k.on);
	case NEIGHBOR_ALL:
		return FORM(Neighbor_alltoall, neighbor_alltoall, k.out, c, t,
			k.in, c, t, k.on);
	case NEIGHBOR_ALL_V:
		return FORM(Neighbor_alltoallv, neighbor_alltoallv, k.out,
			k.counts, k.displs, t, k.in, k.counts, k.displs, t,
			k.on);
	case NEIGHBOR_ALL_W:
		return FORM(Neighbor_alltoallw, neighbor_alltoallw, k.out,
			k.counts, aints, k.types, k.in, k.counts, aints,
			k.types, k.on);
	case INTER_GATHER:
		return FORM(Gather, gather, k.out, c, t, k.in, c, t,
			inter_root(r, is_low), k.on);
	case INTER_SCATTER:
		return FORM(Scatter, scatter, k.out, c, t, k.in, c, t,
			inter_root(r, is_low), k.on);
	case INTER_REDUCE:
		return FORM(Reduce, reduce, k.out, k.in, c, t, MPI_SUM,
			inter_root(r, is_low), k.on);
	case INTER_ALLTOALL:
		return FORM(Alltoall, alltoall, k.out, c, t, k.in, c, t, k.on);
	default:
		return MPI_ERR_INTERN;
	}
}

static int operate(const struct round *r)
{
	MPI_Request request = MPI_REQUEST_NULL;
	MPI_Datatype t = MPI_UNSIGNED;
	int c = r->count, is_low = k.rank < k.size / 2;

	switch (r->kind) {
	case BARRIER:
	case INTER_BARRIER:
		return r->form == 0 ? MPI_Barrier(k.on)
		       : r->form == 1
			       ? complete(
					 MPI_Ibarrier(k.on, &request), &request)
			       : persist(MPI_Barrier_init(
						 k.on, MPI_INFO_NULL, &request),
					 &request);
	case BCAST:
		return FORM(Bcast, bcast, k.rank == r->root ? k.out : k.in, c,
			t, r->root, k.on);
	case INTER_BCAST:
		return FORM(Bcast, bcast, is_low ? k.out : k.in, c, t,
			inter_root(r, is_low), k.on);
	case GATHER:
		return FORM(
			Gather, gather, k.out, c, t, k.in, c, t, r->root, k.on);
	case GATHERV:
		return FORM(Gatherv, gatherv, k.out, c, t, k.in, k.counts,
			k.displs, t, r->root, k.on);
	case SCATTER:
		return FORM(Scatter, scatter, k.out, c, t, k.in, c, t, r->root,
			k.on);
	case ALLGATHER:
	case INTER_ALLGATHER:
		return FORM(
			Allgather, allgather, k.out, c, t, k.in, c, t, k.on);
	case ALLGATHERV:
		return FORM(Allgatherv, allgatherv, k.out, c, t, k.in, k.counts,
			k.displs, t, k.on);
	case ALLTOALL:
		return FORM(Alltoall, alltoall, k.out, c, t, k.in, c, t, k.on);
	case REDUCE:
		return FORM(
			Reduce, reduce, k.out, k.in, c, t, k.op, r->root, k.on);
	case ALLREDUCE:
	case INTER_ALLREDUCE:
		return FORM(
			Allreduce, allreduce, k.out, k.in, c, t, MPI_SUM, k.on);
	case ALLREDUCE_USER:
		return FORM(
			Allreduce, allreduce, k.out, k.in, c, t, k.op, k.on);
	case REDUCE_SCATTER:
		return FORM(Reduce_scatter_block, reduce_scatter_block, k.out,
			k.in, c, t, k.op, k.on);
	case SCAN:
		return FORM(Scan, scan, k.out, k.in, c, t, k.op, k.on);
	case EXSCAN:
		return FORM(Exscan, exscan, k.out, k.in, c, t, k.op, k.on);
	case NEIGHBOR:
		return FORM(Neighbor_allgather, neighbor_allgather, k.out, c, t,
			k.in, c, t, k.on);
	default:
		return operate_more(r);
	}
}

static unsigned expected_more(
	const struct round *r, int b, int i, int call, int *has_out)
{
	int half = k.size / 2, n = k.size, c = r->count;
	int is_low = k.rank < half;

	switch (r->kind) {
	case SCATTERV:
		*has_out = b == 0;
		return value(r->root, k.rank * c + i, call);
	case ALLTOALLV:
	case ALLTOALLW:
		return value(b, k.rank * c + i, call);
	case REDUCE_SCATTER_V:
		*has_out = b == 0;
		return sum(n, k.rank * c + i, call);
	case NEIGHBOR_V:
		*has_out = b < 2;
		return value((k.rank + (b ? 1 : n - 1)) % n, i, call);
	case NEIGHBOR_ALL: /* block 0: the second block of the neighbour below
			    */
	case NEIGHBOR_ALL_V:
	case NEIGHBOR_ALL_W:
		*has_out = b < 2;
		return value(
			(k.rank + (b ? 1 : n - 1)) % n, (b ? 0 : c) + i, call);
	case INTER_GATHER:
		*has_out = k.rank == 0 && b < n - half;
		return value(half + b, i, call);
	case INTER_SCATTER:
		*has_out = !is_low && b == 0;
		return value(0, (k.rank - half) * c + i, call);
	case INTER_REDUCE:
		*has_out = k.rank == 0 && b == 0;
		return sum(n, i, call) - sum(half, i, call);
	case INTER_ALLTOALL:
		*has_out = b < (is_low ? n - half : half);
		return is_low ? value(half + b, k.rank * c + i, call)
			      : value(b, (k.rank - half) * c + i, call);
	default:
		*has_out = 0;
		return 0;
	}
}

/* Returns the value that item i of block b of the result must have. *has_out:
 * the result of this process has the item. */
static unsigned expected(
	const struct round *r, int b, int i, int call, int *has_out)
{
	int half = k.size / 2;
	int is_low = k.rank < half, n = k.size;

	*has_out = 1;
	switch (r->kind) {
	case BCAST:
		*has_out = k.rank != r->root && b == 0;
		return value(r->root, i, call);
	case INTER_BCAST:
		*has_out = !is_low && b == 0;
		return value(0, i, call);
	case GATHER:
	case GATHERV:
		*has_out = k.rank == r->root;
		return value(b, i, call);
	case SCATTER:
		*has_out = b == 0;
		return value(r->root, k.rank * r->count + i, call);
	case ALLGATHER:
	case ALLGATHERV:
		return value(b, i, call);
	case INTER_ALLGATHER:
		*has_out = b < (is_low ? n - half : half);
		return value(is_low ? half + b : b, i, call);
	case ALLTOALL:
		return value(b, k.rank * r->count + i, call);
	case REDUCE:
		*has_out = k.rank == r->root && b == 0;
		return sum(n, i, call);
	case ALLREDUCE:
	case ALLREDUCE_USER:
		*has_out = b == 0;
		return sum(n, i, call);
	case INTER_ALLREDUCE:
		*has_out = b == 0;
		return is_low ? sum(n, i, call) - sum(half, i, call)
			      : sum(half, i, call);
	case REDUCE_SCATTER:
		*has_out = b == 0;
		return sum(n, k.rank * r->count + i, call);
	case SCAN:
		*has_out = b == 0;
		return sum(k.rank + 1, i, call);
	case EXSCAN:
		*has_out = b == 0 && k.rank > 0;
		return sum(k.rank, i, call);
	case NEIGHBOR: /* on a ring: from the rank below, the rank above */
		*has_out = b < 2;
		return value((k.rank + (b ? 1 : n - 1)) % n, i, call);
	default:
		return expected_more(r, b, i, call, has_out);
	}
}

static int is_right(const struct round *r, int call)
{
	for (int b = 0; b < k.size; b++)
		for (int i = 0; i < r->count; i++) {
			int has;
			unsigned want = expected(r, b, i, call, &has);

			if (has && k.in[b * r->count + i] != want)
				return 0;
		}
	return 1;
}

/* ---- creation of communicators ---- */

/* Creates a communicator that includes the failed process. Calls on it succeed
 * or fail. Without the failed process, some members could have the communicator
 * while others have none. */
static int create(const struct round *r)
{
	MPI_Comm made = MPI_COMM_NULL;
	MPI_Request request;
	MPI_Group group;
	char tag[64];
	int rc, size = 0;

	if (r->kind == DUP && r->form) {
		rc = complete(MPI_Comm_idup(k.comm, &made, &request), &request);
	} else if (r->kind == DUP) {
		rc = MPI_Comm_dup(k.comm, &made);
	} else if (r->kind == SPLIT) {
		rc = MPI_Comm_split(k.comm, 0, -k.rank, &made);
	} else {
		snprintf(tag, sizeof(tag), "made in %d", r->number);
		OK(MPI_Comm_group(k.comm, &group));
		rc = MPI_Comm_create_from_group(
			group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made);
		MPI_Group_free(&group);
	}
	if (rc) {
		CHECK(made == MPI_COMM_NULL,
			"%s with an error creates no communicator",
			names[r->kind]);
		return rc;
	}
	OK(MPI_Comm_size(made, &size));
	CHECK(size == k.size, "%s has its members", names[r->kind]);
	rc = MPI_Barrier(made);
	OK(MPI_Comm_free(&made));
	return rc;
}

/* Creates the communicator of the operation while all processes live. */
static void prepare(const struct round *r)
{
	int half = k.size / 2, one = 1;
	MPI_Comm side;

	k.on = k.comm;
	if (is_neighbor(r->kind))
		OK(MPI_Cart_create(k.comm, 1, &k.size, &one, 0, &k.on));
	if (!is_inter(r->kind))
		return;
	OK(MPI_Comm_split(k.comm, k.rank < half, 0, &side));
	OK(MPI_Intercomm_create(
		side, 0, k.comm, k.rank < half ? half : 0, 5, &k.on));
	OK(MPI_Comm_free(&side));
}

/* ---- waits for a process that left ---- */

static int wait_for_first(const struct round *r)
{
	MPI_Request requests[2];
	static int buf[100000];
	MPI_Status statuses[2];
	int rc, flag;

	switch (r->us % 10) {
	case 0:
		return MPI_Recv(
			buf, 1, MPI_INT, 0, TAG, k.comm, MPI_STATUS_IGNORE);
	case 1:
		OK(MPI_Irecv(buf, 1, MPI_INT, 0, TAG, k.comm, requests));
		return MPI_Wait(requests, MPI_STATUS_IGNORE);
	case 2:
		OK(MPI_Irecv(buf, 1, MPI_INT, 0, TAG, k.comm, requests));
		OK(MPI_Irecv(
			buf + 1, 1, MPI_INT, 0, TAG, k.comm, requests + 1));
		rc = MPI_Waitall(2, requests, statuses);
		return mtest_class(rc) == MPI_ERR_IN_STATUS
			       ? statuses[0].MPI_ERROR
			       : rc;
	case 3:
		return MPI_Ssend(buf, 1, MPI_INT, 0, TAG, k.comm);
	case 4:
		return MPI_Send(buf, 100000, MPI_INT, 0, TAG, k.comm);
	case 5:
		return MPI_Probe(0, TAG, k.comm, MPI_STATUS_IGNORE);
	case 6:
		return MPI_Barrier(k.comm);
	case 7:
		return MPI_Bcast(buf, 2, MPI_INT, 0, k.comm);
	case 8:
		return MPI_Recv(buf, 1, MPI_INT, MPI_ANY_SOURCE, TAG, k.comm,
			MPI_STATUS_IGNORE);
	default:
		OK(MPI_Irecv(buf, 1, MPI_INT, 0, TAG, k.comm, requests));
		do {
			rc = MPI_Test(requests, &flag, MPI_STATUS_IGNORE);
			if (rc)
				return rc;
		} while (!flag);
		return MPI_SUCCESS;
	}
}

static int chain(const struct round *r)
{
	int x;

	if (k.rank)
		return wait_for_first(r);
	return MPI_Recv(
		&x, 1, MPI_INT, r->victim, TAG, k.comm, MPI_STATUS_IGNORE);
}

/* ---- a round ---- */

static void arm(const struct round *r)
{
	static int us;
	pthread_t thread;
	int has_function =
		r->kind >= REDUCE && r->kind <= EXSCAN && r->kind != ALLREDUCE;

	k.is_victim = k.rank == r->victim;
	k.n_ops = 0;
	if (!k.is_victim)
		return;
	if (r->moment == 0 || r->kind == CHAIN)
		die();
	if (r->moment == 3 && r->form)
		k.n_ops = -1000;
	us = r->us;
	if (r->moment == 4)
		return;
	if (r->moment != 2 || !has_function)
		OK(pthread_create(&thread, NULL, die_later, &us));
}

/* True if the death explains an error of this class. A send fails with
 * MPI_ERR_PENDING if its receiver has left the communicator before. */
static int is_of_death(const struct round *r, int rc)
{
	int class = mtest_class(rc);

	return class == MPI_SUCCESS || class == MPIX_ERR_PROC_FAILED ||
	       (class == MPI_ERR_PENDING && r->kind == CHAIN);
}

static void check_error(const struct round *r, int rc, double began)
{
	double took = mtest_now() - began;

	CHECK(took < MTEST_SOON_S,
		"round %d: %s, form %d, %d ends soon, not after %.1f s",
		r->number, names[r->kind], r->form, r->count, took);
	CHECK(is_of_death(r, rc),
		"round %d: %s, form %d, %d reports a failed process, not %s",
		r->number, names[r->kind], r->form, r->count, mtest_error(rc));
	k.n_errors += rc != MPI_SUCCESS;
	k.n_right += rc == MPI_SUCCESS;
}

static void play(const struct round *r)
{
	int n = is_creation(r->kind) || r->kind == CHAIN ? 1 : CALLS, rc = 0;

	for (int call = 0; !rc && call < n; call++) {
		double began = mtest_now();

		for (int i = 0; i < r->count * k.size; i++) {
			k.out[i] = value(k.rank, i, call);
			k.in[i] = 0xdeadbeef;
		}
		if (k.is_victim && r->moment == 4 && call == r->us % n)
			die();
		if (r->kind == CHAIN)
			rc = chain(r);
		else
			rc = is_creation(r->kind) ? create(r) : operate(r);
		check_error(r, rc, began);
		CHECK(rc || is_right(r, call),
			"round %d: %s, form %d, %d has right data if it "
			"succeeds",
			r->number, names[r->kind], r->form, r->count);
	}
	if (k.is_victim)
		die();
	CHECK(r->kind != CHAIN || rc,
		"round %d: a chain with a killed member fails", r->number);
}

static void leave(const struct round *r, MPI_Comm *comm)
{
	double began = mtest_now();
	int rc = r->leave ? MPI_Comm_free(comm) : MPI_Comm_disconnect(comm);

	CHECK(is_of_death(r, rc),
		"round %d: disconnecting after a failure reports it, %s",
		r->number, mtest_error(rc));
	CHECK(mtest_now() - began < MTEST_SOON_S,
		"round %d: disconnecting ends soon", r->number);
}

static struct round draw_round(int number, int only)
{
	static const int bytes[] = { 8, 400, 4000, 40000, 100000, 600000 };
	struct round r = { .number = number };

	r.kind = (enum kind)draw(KINDS);
	if (only >= 0)
		r.kind = (enum kind)only;
	r.form = (int)draw(3);
	r.count = bytes[draw(6)] / 4;
	r.root = (int)draw((unsigned)k.size);
	r.victim = (int)draw((unsigned)k.size);
	r.moment = (int)draw(4);
	r.us = (int)draw(3000);
	r.leave = (int)draw(2);
	if (r.kind == CHAIN && r.victim == 0)
		r.victim = 1;
	return r;
}

/* Writes round `number` of part `sweep` of the list. False at the end of the
 * list. */
static int sweep_round(int sweep, int number, struct round *r_out)
{
	enum { ROUNDS = 15 };
	int n = sweep * ROUNDS + number, kind;
	struct round r = { .number = number, .moment = 4 };

	r.us = n % CALLS;
	r.form = n / CALLS % 3;
	r.count = n / (CALLS * 3) % 2 ? 60000 : 2;
	kind = n / (CALLS * 3 * 2);
	if (kind >= CHAIN)
		kind++;
	r.kind = (enum kind)kind;
	r.root = n % k.size;
	r.victim = (n / 2) % k.size;
	r.leave = n % 2;
	*r_out = r;
	return kind < ALL_KINDS;
}

static void alloc(const struct round *r)
{
	size_t len = (size_t)r->count * (size_t)k.size * sizeof(unsigned);

	k.out = mtest_alloc(len);
	k.in = mtest_alloc(len);
	k.counts = mtest_alloc((size_t)k.size * sizeof(int));
	k.displs = mtest_alloc((size_t)k.size * sizeof(int));
	k.bytes = mtest_alloc((size_t)k.size * sizeof(int));
	k.types = mtest_alloc((size_t)k.size * sizeof(MPI_Datatype));
	for (int i = 0; i < k.size; i++) {
		k.counts[i] = r->count;
		k.displs[i] = i * r->count;
		k.bytes[i] = i * r->count * (int)sizeof(unsigned);
		k.types[i] = MPI_UNSIGNED;
	}
}

/* Removes the victim from the group of the surviving processes. */
static void bury(const struct round *r)
{
	MPI_Group rest;
	int victim = r->victim;

	OK(MPI_Group_excl(k.alive, 1, &victim, &rest));
	OK(MPI_Group_free(&k.alive));
	k.alive = rest;
}

static void play_round(const struct round *r)
{
	alloc(r);
	prepare(r);
	/* these barriers may notify a process of the failure of the round
	 * before; after some calls, a communicator may use a segment */
	for (int i = 0; i < (r->number % 2 ? 6 : 1); i++)
		check_error(r, MPI_Barrier(k.comm), mtest_now());
	arm(r);
	play(r);
	if (k.on != k.comm)
		leave(r, &k.on);
	leave(r, &k.comm);
	free(k.out);
	free(k.in);
	free(k.counts);
	free(k.displs);
	free(k.bytes);
	free(k.types);
	bury(r);
}

static int meet(int number)
{
	char tag[32];
	int rc;

	snprintf(tag, sizeof(tag), "round %d", number);
	rc = MPI_Comm_create_from_group(
		k.alive, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &k.comm);
	CHECK(rc == MPI_SUCCESS,
		"round %d: the surviving processes communicate, %s", number,
		mtest_error(rc));
	if (rc)
		return 0;
	OK(MPI_Comm_rank(k.comm, &k.rank));
	OK(MPI_Comm_size(k.comm, &k.size));
	return 1;
}

int main(int argc, char **argv)
{
	int rounds, only, sweep, rc, n_played = 0;
	long seed;

	mtest_start(argv[0]);
	rounds = (int)mtest_arg(argc, argv, "rounds", 1000);
	only = (int)mtest_arg(argc, argv, "kind", -1);
	sweep = (int)mtest_arg(argc, argv, "sweep", -1);
	seed = mtest_arg(argc, argv, "seed", 0);
	k.session = session_open();
	session_set_rank(k.session);
	k.alive = session_group(k.session, "mpi://WORLD");
	OK(MPI_Op_create(add, 1, &k.op));
	for (int i = 0; i < rounds && meet(i); i++) {
		struct round r;

		if (k.size <= LEAVE)
			break;
		if (i == 0) {
			seed = seed ? seed : (long)time(NULL);
			OK(MPI_Bcast(&seed, 1, MPI_LONG, 0, k.comm));
			k.random = (unsigned long)seed;
			if (k.rank == 0)
				printf("# seed=%ld\n", seed);
			fflush(stdout);
			(void)draw(2);
			mtest_connect_all(k.comm);
		}
		if (sweep < 0)
			r = draw_round(i, only);
		else if (!sweep_round(sweep, i, &r))
			break;
		if (mtest_arg(argc, argv, "say", 0) && k.rank == 0)
			fprintf(stderr,
				"# round %d of %d: %s form %d count %d root %d "
				"victim %d moment %d us %d leave %d\n",
				i, k.size, names[r.kind], r.form, r.count,
				r.root, r.victim, r.moment, r.us, r.leave);
		play_round(&r);
		n_played++;
	}
	OK(MPI_Op_free(&k.op));
	OK(MPI_Group_free(&k.alive));
	if (k.comm != MPI_COMM_NULL)
		OK(MPI_Comm_disconnect(&k.comm));
	rc = MPI_Session_finalize(&k.session);
	CHECK(rc == MPI_SUCCESS, "finalize succeeds, %s", mtest_error(rc));
	if (!n_played)
		mtest_skip("this part of the list has no rounds");
	printf("# rank %d: %d right, %d errors\n", mtest.rank, k.n_right,
		k.n_errors);
	return mtest_done();
}
