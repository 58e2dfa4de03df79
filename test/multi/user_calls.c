/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * user_calls: functions of the program are called without a lock held
 *
 * Reduction functions, and functions of generalized requests, attributes and
 * error handlers, call MPI themselves, in two threads at the same time. They
 * send messages to this process, which cannot complete if the library calls the
 * function with a lock held or within a round of progress. MPI forbids
 * communication in a reduction function; this program uses it to show that no
 * lock is held. threads=0: one thread, and MPI_Init.
 */
#include "mtest.h"
#include <pthread.h>

enum {
	THREADS = 2,
	ROUNDS = 3,
	LONG = 20000, /* bytes of a message to this process, which needs a
		       * rendezvous */
	WAYS = 4,     /* a blocking call; MPI_Wait; MPI_Test; a persistent
		       * request */
};

/* Data of one thread. */
struct mine {
	MPI_Comm comm;
	int *in, *out;
};

static _Atomic int n_tags, n_inside;

/* The common part of all functions. The thread that makes progress calls it. */
static void inside(void)
{
	static const int lens[] = { 1, LONG };
	int tag = n_tags++ % 30000, flag;
	char *buf = mtest_alloc(2 * LONG);

	n_inside++;
	OK(MPI_Iprobe(0, tag, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
	CHECK(!flag && MPI_Wtime() > 0, "no message was sent yet");
	for (int i = 0; i < 2; i++) {
		mtest_fill(buf, LONG, (unsigned)tag);
		OK(MPI_Sendrecv(buf, lens[i], MPI_BYTE, 0, tag, buf + LONG,
			lens[i], MPI_BYTE, 0, tag, MPI_COMM_SELF,
			MPI_STATUS_IGNORE));
		CHECK(mtest_same(buf + LONG, (size_t)lens[i], (unsigned)tag),
			"a message of %d bytes to this process arrives",
			lens[i]);
	}
	free(buf);
}

/* ---- reductions ---- */

static void add(void *in, void *inout, int *len, MPI_Datatype *type)
{
	int *a = in, *b = inout;

	(void)type;
	inside();
	for (int i = 0; i < *len; i++)
		b[i] += a[i];
}

/* If the two ranges of ranks are adjacent and in order, makes one range of
 * them. */
static void join(void *in, void *inout, int *len, MPI_Datatype *type)
{
	int *a = in, *b = inout;

	(void)type;
	inside();
	for (int i = 0; i < *len; i += 2) {
		b[i] = a[i + 1] + 1 == b[i] ? a[i] : -1000;
	}
}

enum kind { ALLREDUCE, REDUCE, SCAN, EXSCAN, REDUCE_SCATTER, KINDS };

static int start(enum kind kind, int way, struct mine *m, int len, MPI_Op op,
	MPI_Request *req)
{
	int *in = m->in, *out = m->out, block = len / mtest.size, root = 0;
	MPI_Comm c = m->comm;
	MPI_Datatype t = MPI_INT;

#define FORM(name, iname, ...)                                               \
	(way == 0 ? MPI_##name(__VA_ARGS__)                                  \
		: way == 3                                                   \
			? MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, req) \
			: MPI_I##iname(__VA_ARGS__, req))
	switch (kind) {
	case ALLREDUCE:
		return FORM(Allreduce, allreduce, in, out, len, t, op, c);
	case REDUCE:
		return FORM(Reduce, reduce, in, out, len, t, op, root, c);
	case SCAN:
		return FORM(Scan, scan, in, out, len, t, op, c);
	case EXSCAN:
		return FORM(Exscan, exscan, in, out, len, t, op, c);
	default:
		return FORM(Reduce_scatter_block, reduce_scatter_block, in, out,
			block, t, op, c);
	}
}

static void finish(int way, MPI_Request *req)
{
	int flag = way == 0;

	if (way == 3)
		OK(MPI_Start(req));
	if (way == 1)
		OK(MPI_Wait(req, MPI_STATUS_IGNORE));
	else
		while (!flag)
			OK(MPI_Test(req, &flag, MPI_STATUS_IGNORE));
	if (way == 3)
		OK(MPI_Request_free(req));
}

/* Checks a result: the joined range of ranks first to last, or their sum. */
static int is_right(const int *at, int n, int is_join, int first, int last)
{
	int sum = 0;

	for (int r = first; r <= last; r++)
		sum += r + 1;
	for (int i = 0; i < n; i++) {
		int want = is_join ? (i % 2 ? last : first) : sum;

		if (at[i] != want)
			return 0;
	}
	return 1;
}

static void reduce_one(struct mine *m, enum kind kind, int way, int len,
	MPI_Op op, int is_join)
{
	int last = mtest.size - 1, n = len;
	MPI_Request req = MPI_REQUEST_NULL;

	for (int i = 0; i < len; i++) {
		m->in[i] = mtest.rank + !is_join;
		m->out[i] = -1;
	}
	OK(start(kind, way, m, len, op, &req));
	finish(way, &req);
	if (kind == SCAN || kind == EXSCAN)
		last = mtest.rank - (kind == EXSCAN);
	if (kind == REDUCE_SCATTER)
		n = len / mtest.size;
	if (last < 0 || (kind == REDUCE && mtest.rank))
		return;
	CHECK(is_right(m->out, n, is_join, 0, last),
		"collective %d is right: way %d, %d items, %s", (int)kind, way,
		len, is_join ? "in order" : "in any order");
}

static void reduce_all(struct mine *m, MPI_Op ops[2])
{
	const int lens[] = { 2 * mtest.size, 2100 * mtest.size };

	for (int kind = 0; kind < KINDS; kind++)
		for (int way = 0; way < WAYS; way++)
			for (int i = 0; i < 4; i++)
				reduce_one(m, (enum kind)kind, way, lens[i / 2],
					ops[i % 2], i % 2);
	m->in[0] = m->out[0] = 7;
	OK(MPI_Reduce_local(m->in, m->out, 1, MPI_INT, ops[0]));
	CHECK(m->out[0] == 14, "a local reduction is right");
}

/* ---- generalized requests ---- */

struct counts {
	_Atomic int n_queries, n_frees, n_cancels;
};

static int query(void *extra, MPI_Status *status)
{
	struct counts *c = extra;

	c->n_queries++;
	inside();
	OK(MPI_Status_set_elements(status, MPI_INT, 3));
	OK(MPI_Status_set_cancelled(status, 0));
	status->MPI_SOURCE = 5;
	status->MPI_TAG = 6;
	return MPI_SUCCESS;
}

static int release(void *extra)
{
	struct counts *c = extra;

	c->n_frees++;
	inside();
	return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
	struct counts *c = extra;

	(void)complete;
	c->n_cancels++;
	inside();
	return MPI_SUCCESS;
}

static void check_status(const MPI_Status *status)
{
	int n = 0;

	OK(MPI_Get_count(status, MPI_INT, &n));
	CHECK(n == 3 && status->MPI_SOURCE == 5 && status->MPI_TAG == 6,
		"the status is the one that the function filled");
}

static void end_general(int way, MPI_Request reqs[2])
{
	int flag = 0, at[2], n = 0;
	MPI_Status st[2];

	switch (way) {
	case 0:
		OK(MPI_Request_get_status(reqs[0], &flag, st));
		CHECK(flag, "a complete generalized request is done");
		check_status(st);
		OK(MPI_Wait(&reqs[0], st));
		OK(MPI_Test(&reqs[1], &flag, st + 1));
		break;
	case 1:
		OK(MPI_Waitall(2, reqs, st));
		break;
	case 2:
		OK(MPI_Testsome(2, reqs, &n, at, st));
		CHECK(n == 2, "both requests are done, not %d", n);
		break;
	default:
		OK(MPI_Testall(2, reqs, &flag, st));
		CHECK(flag, "both requests are done");
		break;
	}
	for (int i = 0; i < 2; i++) {
		check_status(st + i);
		CHECK(reqs[i] == MPI_REQUEST_NULL, "the request is null");
	}
}

static void general(void)
{
	struct counts c = { 0 };
	MPI_Request reqs[2], copy;

	for (int way = 0; way < 4; way++) {
		for (int i = 0; i < 2; i++) {
			OK(MPI_Grequest_start(
				query, release, cancel, &c, &reqs[i]));
			OK(MPI_Cancel(&reqs[i]));
			OK(MPI_Grequest_complete(reqs[i]));
		}
		end_general(way, reqs);
	}
	for (int i = 0; i < 2; i++) { /* the request is freed before it is
				       * complete, then after */
		OK(MPI_Grequest_start(query, release, cancel, &c, &reqs[0]));
		copy = reqs[0];
		if (i)
			OK(MPI_Grequest_complete(copy));
		OK(MPI_Request_free(&reqs[0]));
		if (!i)
			OK(MPI_Grequest_complete(copy));
	}
	CHECK(c.n_queries == 9 && c.n_frees == 10 && c.n_cancels == 8,
		"each function was called once: %d %d %d", c.n_queries,
		c.n_frees, c.n_cancels);
}

/* ---- attributes, error handlers ---- */

static int copy_attr(
	MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
	(void)comm;
	(void)key;
	(void)extra;
	inside();
	*(void **)out = in;
	*flag = 1;
	return MPI_SUCCESS;
}

static int delete_attr(MPI_Comm comm, int key, void *value, void *extra)
{
	(void)comm;
	(void)key;
	(void)extra;
	inside();
	++*(_Atomic int *)value;
	return MPI_SUCCESS;
}

static int copy_type(
	MPI_Datatype type, int key, void *extra, void *in, void *out, int *flag)
{
	(void)type;
	return copy_attr(MPI_COMM_NULL, key, extra, in, out, flag);
}

static int delete_type(MPI_Datatype type, int key, void *value, void *extra)
{
	(void)type;
	return delete_attr(MPI_COMM_NULL, key, value, extra);
}

static void attributes(MPI_Comm comm)
{
	static _Atomic int n_at_end;
	_Atomic int n_deleted = 0;
	int key, type_key;
	MPI_Datatype type, copy;
	MPI_Comm dup;

	OK(MPI_Comm_create_keyval(copy_attr, delete_attr, &key, NULL));
	OK(MPI_Type_create_keyval(copy_type, delete_type, &type_key, NULL));
	OK(MPI_Comm_set_attr(comm, key, &n_deleted));
	OK(MPI_Comm_dup(comm, &dup));
	OK(MPI_Comm_free(&dup));
	OK(MPI_Comm_set_attr(comm, key, &n_deleted));
	OK(MPI_Comm_delete_attr(comm, key));
	OK(MPI_Type_contiguous(2, MPI_INT, &type));
	OK(MPI_Type_set_attr(type, type_key, &n_deleted));
	OK(MPI_Type_dup(type, &copy));
	OK(MPI_Type_free(&type));
	OK(MPI_Type_free(&copy));
	CHECK(n_deleted == 5, "the delete callback ran for each attribute, %d",
		n_deleted);
	/* MPI_Finalize deletes this attribute */
	OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, &n_at_end));
	OK(MPI_Comm_free_keyval(&key));
	OK(MPI_Type_free_keyval(&type_key));
}

static _Thread_local int n_handled, handled;

static void handle(MPI_Comm *comm, int *code, ...)
{
	(void)comm;
	n_handled += *code != MPI_SUCCESS;
	handled = mtest_class(*code);
	inside();
}

static void errors(MPI_Comm comm)
{
	MPI_Errhandler errh, old;
	MPI_Request reqs[2];
	int x[4] = { 0 }, rc, flag;

	OK(MPI_Comm_get_errhandler(comm, &old));
	OK(MPI_Comm_create_errhandler(handle, &errh));
	OK(MPI_Comm_set_errhandler(comm, errh));
	FAILS(MPI_Send(x, 1, MPI_INT, mtest.size, 0, comm), MPI_ERR_RANK);
	for (int way = 0; way < 3; way++) {
		OK(MPI_Irecv(x, 1, MPI_INT, mtest.rank, 1, comm, &reqs[0]));
		OK(MPI_Isend(x, 3, MPI_INT, mtest.rank, 1, comm, &reqs[1]));
		if (way == 0) {
			rc = MPI_Wait(&reqs[0], MPI_STATUS_IGNORE);
		} else if (way == 1) {
			rc = MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE);
		} else {
			for (flag = 0, rc = 0; !rc && !flag;)
				rc = MPI_Testall(
					2, reqs, &flag, MPI_STATUSES_IGNORE);
		}
		CHECK(mtest_class(rc) ==
				(way ? MPI_ERR_IN_STATUS : MPI_ERR_TRUNCATE),
			"a message that is too long is an error, %s",
			mtest_error(rc));
		CHECK(handled == MPI_ERR_TRUNCATE,
			"the error handler gets the error of the request");
		if (way == 0)
			OK(MPI_Wait(&reqs[1], MPI_STATUS_IGNORE));
	}
	rc = MPI_Sendrecv(x, 3, MPI_INT, mtest.rank, 2, x + 3, 1, MPI_INT,
		mtest.rank, 2, comm, MPI_STATUS_IGNORE);
	CHECK(mtest_class(rc) == MPI_ERR_TRUNCATE,
		"a blocking receive reports the truncation");
	CHECK(n_handled == 5, "the error handler ran for each error, %d",
		n_handled);
	OK(MPI_Comm_set_errhandler(comm, old));
	OK(MPI_Errhandler_free(&errh));
	OK(MPI_Errhandler_free(&old));
}

/* ---- all of it ---- */

static MPI_Op ops[2];
static struct mine mine[THREADS];

static void *body(void *arg)
{
	struct mine *m = arg;

	n_handled = 0;
	for (int i = 0; i < ROUNDS; i++) {
		reduce_all(m, ops);
		general();
	}
	attributes(m->comm);
	errors(m->comm);
	return NULL;
}

int main(int argc, char **argv)
{
	int level = -1, n = 1, wanted;
	pthread_t thread;

	mtest_start(argv[0]);
	wanted = mtest_arg(argc, argv, "threads", 1) ? MPI_THREAD_MULTIPLE
						     : MPI_THREAD_SINGLE;
	OK(MPI_Init_thread(&argc, &argv, wanted, &level));
	MPI_Comm_rank(MPI_COMM_WORLD, &mtest.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &mtest.size);
	if (wanted == MPI_THREAD_MULTIPLE && level == wanted)
		n = THREADS;
	OK(MPI_Op_create(add, 1, &ops[0]));
	OK(MPI_Op_create(join, 0, &ops[1]));
	for (int i = 0; i < n; i++) {
		OK(MPI_Comm_dup(MPI_COMM_WORLD, &mine[i].comm));
		mine[i].in = mtest_alloc(9000u * (size_t)mtest.size);
		mine[i].out = mtest_alloc(9000u * (size_t)mtest.size);
	}
	if (n > 1)
		pthread_create(&thread, NULL, body, &mine[1]);
	body(&mine[0]);
	if (n > 1)
		pthread_join(thread, NULL);
	for (int i = 0; i < n; i++) {
		OK(MPI_Comm_free(&mine[i].comm));
		free(mine[i].in);
		free(mine[i].out);
	}
	OK(MPI_Op_free(&ops[0]));
	OK(MPI_Op_free(&ops[1]));
	CHECK(n_inside > 0, "functions were called");
	return mtest_finish();
}
