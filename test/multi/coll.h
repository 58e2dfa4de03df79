/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll: one name per collective for its three forms, and communicators
 *
 * The tests on collectives take how=0 (blocking), how=1 (non-blocking) or
 * how=2 (persistent) and are otherwise the same.
 */
#ifndef MTEST_COLL_H
#define MTEST_COLL_H

#include "mtest.h"

enum coll_how { BLOCKING, NONBLOCKING, PERSISTENT };

static enum coll_how how;

/* Completes an operation. rc is the result of the call that created it. */
static inline int coll_end(int rc, MPI_Request *req)
{
	MPI_Status st;

	if (how == BLOCKING || rc != MPI_SUCCESS)
		return rc;
	if (how == PERSISTENT)
		OK(MPI_Start(req));
	rc = MPI_Wait(req, &st);
	if (how == PERSISTENT)
		OK(MPI_Request_free(req));
	CHECK(*req == MPI_REQUEST_NULL,
		"the request of a completed collective is null");
	return rc;
}

#if MPI_VERSION >= 4
#define HAVE_PERSISTENT 1
#define INIT(call) (call)
#else
#define HAVE_PERSISTENT 0
#define INIT(call) MPI_ERR_OTHER
#endif

#define FORMS(blocking, nonblocking, persistent) \
	MPI_Request req = MPI_REQUEST_NULL;      \
	if (how == BLOCKING)                     \
		return blocking;                 \
	return coll_end(                         \
		how == NONBLOCKING ? nonblocking : INIT(persistent), &req)

static inline int coll_barrier(MPI_Comm c)
{
	FORMS(MPI_Barrier(c), MPI_Ibarrier(c, &req),
		MPI_Barrier_init(c, MPI_INFO_NULL, &req));
}

static inline int coll_bcast(
	void *b, int n, MPI_Datatype t, int root, MPI_Comm c)
{
	FORMS(MPI_Bcast(b, n, t, root, c), MPI_Ibcast(b, n, t, root, c, &req),
		MPI_Bcast_init(b, n, t, root, c, MPI_INFO_NULL, &req));
}

static inline int coll_gather(const void *s, int sn, MPI_Datatype st, void *r,
	int rn, MPI_Datatype rt, int root, MPI_Comm c)
{
	FORMS(MPI_Gather(s, sn, st, r, rn, rt, root, c),
		MPI_Igather(s, sn, st, r, rn, rt, root, c, &req),
		MPI_Gather_init(
			s, sn, st, r, rn, rt, root, c, MPI_INFO_NULL, &req));
}

static inline int coll_gatherv(const void *s, int sn, MPI_Datatype st, void *r,
	const int *rn, const int *at, MPI_Datatype rt, int root, MPI_Comm c)
{
	FORMS(MPI_Gatherv(s, sn, st, r, rn, at, rt, root, c),
		MPI_Igatherv(s, sn, st, r, rn, at, rt, root, c, &req),
		MPI_Gatherv_init(s, sn, st, r, rn, at, rt, root, c,
			MPI_INFO_NULL, &req));
}

static inline int coll_scatter(const void *s, int sn, MPI_Datatype st, void *r,
	int rn, MPI_Datatype rt, int root, MPI_Comm c)
{
	FORMS(MPI_Scatter(s, sn, st, r, rn, rt, root, c),
		MPI_Iscatter(s, sn, st, r, rn, rt, root, c, &req),
		MPI_Scatter_init(
			s, sn, st, r, rn, rt, root, c, MPI_INFO_NULL, &req));
}

static inline int coll_scatterv(const void *s, const int *sn, const int *at,
	MPI_Datatype st, void *r, int rn, MPI_Datatype rt, int root, MPI_Comm c)
{
	FORMS(MPI_Scatterv(s, sn, at, st, r, rn, rt, root, c),
		MPI_Iscatterv(s, sn, at, st, r, rn, rt, root, c, &req),
		MPI_Scatterv_init(s, sn, at, st, r, rn, rt, root, c,
			MPI_INFO_NULL, &req));
}

static inline int coll_allgather(const void *s, int sn, MPI_Datatype st,
	void *r, int rn, MPI_Datatype rt, MPI_Comm c)
{
	FORMS(MPI_Allgather(s, sn, st, r, rn, rt, c),
		MPI_Iallgather(s, sn, st, r, rn, rt, c, &req),
		MPI_Allgather_init(
			s, sn, st, r, rn, rt, c, MPI_INFO_NULL, &req));
}

static inline int coll_allgatherv(const void *s, int sn, MPI_Datatype st,
	void *r, const int *rn, const int *at, MPI_Datatype rt, MPI_Comm c)
{
	FORMS(MPI_Allgatherv(s, sn, st, r, rn, at, rt, c),
		MPI_Iallgatherv(s, sn, st, r, rn, at, rt, c, &req),
		MPI_Allgatherv_init(
			s, sn, st, r, rn, at, rt, c, MPI_INFO_NULL, &req));
}

static inline int coll_alltoall(const void *s, int sn, MPI_Datatype st, void *r,
	int rn, MPI_Datatype rt, MPI_Comm c)
{
	FORMS(MPI_Alltoall(s, sn, st, r, rn, rt, c),
		MPI_Ialltoall(s, sn, st, r, rn, rt, c, &req),
		MPI_Alltoall_init(
			s, sn, st, r, rn, rt, c, MPI_INFO_NULL, &req));
}

static inline int coll_alltoallv(const void *s, const int *sn, const int *sat,
	MPI_Datatype st, void *r, const int *rn, const int *rat,
	MPI_Datatype rt, MPI_Comm c)
{
	FORMS(MPI_Alltoallv(s, sn, sat, st, r, rn, rat, rt, c),
		MPI_Ialltoallv(s, sn, sat, st, r, rn, rat, rt, c, &req),
		MPI_Alltoallv_init(s, sn, sat, st, r, rn, rat, rt, c,
			MPI_INFO_NULL, &req));
}

static inline int coll_alltoallw(const void *s, const int *sn, const int *sat,
	const MPI_Datatype *st, void *r, const int *rn, const int *rat,
	const MPI_Datatype *rt, MPI_Comm c)
{
	FORMS(MPI_Alltoallw(s, sn, sat, st, r, rn, rat, rt, c),
		MPI_Ialltoallw(s, sn, sat, st, r, rn, rat, rt, c, &req),
		MPI_Alltoallw_init(s, sn, sat, st, r, rn, rat, rt, c,
			MPI_INFO_NULL, &req));
}

static inline int coll_reduce(const void *s, void *r, int n, MPI_Datatype t,
	MPI_Op op, int root, MPI_Comm c)
{
	FORMS(MPI_Reduce(s, r, n, t, op, root, c),
		MPI_Ireduce(s, r, n, t, op, root, c, &req),
		MPI_Reduce_init(s, r, n, t, op, root, c, MPI_INFO_NULL, &req));
}

static inline int coll_allreduce(
	const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c)
{
	FORMS(MPI_Allreduce(s, r, n, t, op, c),
		MPI_Iallreduce(s, r, n, t, op, c, &req),
		MPI_Allreduce_init(s, r, n, t, op, c, MPI_INFO_NULL, &req));
}

static inline int coll_reduce_scatter(const void *s, void *r, const int *n,
	MPI_Datatype t, MPI_Op op, MPI_Comm c)
{
	FORMS(MPI_Reduce_scatter(s, r, n, t, op, c),
		MPI_Ireduce_scatter(s, r, n, t, op, c, &req),
		MPI_Reduce_scatter_init(
			s, r, n, t, op, c, MPI_INFO_NULL, &req));
}

static inline int coll_reduce_scatter_block(
	const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c)
{
	FORMS(MPI_Reduce_scatter_block(s, r, n, t, op, c),
		MPI_Ireduce_scatter_block(s, r, n, t, op, c, &req),
		MPI_Reduce_scatter_block_init(
			s, r, n, t, op, c, MPI_INFO_NULL, &req));
}

static inline int coll_scan(
	const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c)
{
	FORMS(MPI_Scan(s, r, n, t, op, c), MPI_Iscan(s, r, n, t, op, c, &req),
		MPI_Scan_init(s, r, n, t, op, c, MPI_INFO_NULL, &req));
}

static inline int coll_exscan(
	const void *s, void *r, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c)
{
	FORMS(MPI_Exscan(s, r, n, t, op, c),
		MPI_Iexscan(s, r, n, t, op, c, &req),
		MPI_Exscan_init(s, r, n, t, op, c, MPI_INFO_NULL, &req));
}

/* Reads how= from the arguments. Skips the test if the library does not have
 * that form. */
static inline void coll_form(int argc, char **argv)
{
	MPI_Request req = MPI_REQUEST_NULL;
	int rc = MPI_SUCCESS;

	how = (enum coll_how)mtest_arg(argc, argv, "how", BLOCKING);
	if (how == NONBLOCKING)
		rc = MPI_Ibarrier(MPI_COMM_WORLD, &req);
	if (how == PERSISTENT && !HAVE_PERSISTENT)
		mtest_skip("persistent collectives need MPI 4");
	if (how == PERSISTENT)
		rc = INIT(
			MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &req));
	mtest_offered(rc, "this form of collectives");
	OK(rc);
	if (how == NONBLOCKING)
		OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	if (how == PERSISTENT)
		OK(MPI_Request_free(&req));
}

/* Calls body on communicators of every size, with all processes and with a part
 * of them. */
static inline void coll_each_comm(void (*body)(MPI_Comm, int, int))
{
	MPI_Comm comm;
	int me, n;

	for (int k = 0; k <= mtest.size + 1; k++) {
		/* the first k processes; then odd and even ranks; then all in
		 * reverse order */
		int color = mtest.rank < k ? 1 : MPI_UNDEFINED;

		if (k == 0)
			color = mtest.rank % 2;
		if (k == mtest.size + 1)
			color = 0;
		OK(MPI_Comm_split(MPI_COMM_WORLD, color,
			k > mtest.size ? -mtest.rank : mtest.rank, &comm));
		if (comm == MPI_COMM_NULL)
			continue;
		MPI_Comm_rank(comm, &me);
		MPI_Comm_size(comm, &n);
		body(comm, me, n);
		OK(MPI_Comm_free(&comm));
	}
	body(MPI_COMM_WORLD, mtest.rank, mtest.size);
	body(MPI_COMM_SELF, 0, 1);
}

/* Returns number i of the data that a rank sends to rank `to`. */
static inline int coll_value(int rank, int to, int i)
{
	return rank * 1000003 + to * 10007 + i * 17 + 1;
}

static inline int *coll_ints(size_t n)
{
	int *buf = mtest_alloc(n * sizeof(int));

	for (size_t i = 0; i < n; i++)
		buf[i] = -1;
	return buf;
}

#endif
