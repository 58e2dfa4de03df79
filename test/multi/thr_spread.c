/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * thr_spread: a communicator whose messages use several VCIs
 *
 * With WEFT_COMM_VCIS and mpi_assert_no_any_tag, messages of different tags use
 * different VCIs. The program tests all forms of messages, with and without
 * threads, and every way to free the communicator. Errors must name the
 * communicator. One member may lack memory for the further VCIs.
 * vcis=: expected number of VCIs; own=1: the session has a VCI of its own, too.
 */
#define _GNU_SOURCE
#include "behind.h"
#include "hints.h"

#include <errno.h>
#include <pthread.h>

enum { TAGS = 11, THREADS = 4, ROUNDS = 300, LONG = 300000 };

static MPI_Comm comm, called_for;
static int n_calls;

/* Size of the allocation that fails next; 0: none. */
static size_t refused;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CAN_REFUSE = 0 }; /* sanitizers replace malloc */
#else
enum { CAN_REFUSE = 1 };

void *malloc(size_t len)
{
	static void *(*real)(size_t len);

	if (!real)
		*(void **)&real = behind("malloc");
	if (refused && len == refused) {
		refused = 0;
		errno = ENOMEM;
		return NULL;
	}
	return real(len);
}
#endif

static MPI_Info promise(const char *value)
{
	MPI_Info info;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "mpi_assert_no_any_tag", value));
	return info;
}

static MPI_Comm make(MPI_Session session, const char *tag, const char *value)
{
	MPI_Info info = promise(value);
	MPI_Group group = session_group(session, "mpi://WORLD");
	MPI_Comm made = MPI_COMM_NULL;

	OK(MPI_Comm_create_from_group(
		group, tag, info, MPI_ERRORS_RETURN, &made));
	OK(MPI_Group_free(&group));
	OK(MPI_Info_free(&info));
	return made;
}

/* The value of the info key weft_comm_vcis; 1 if it is absent. */
static int vcis_of(MPI_Comm of)
{
	char value[32] = "1";
	int len = sizeof(value), flag;
	MPI_Info info;

	OK(MPI_Comm_get_info(of, &info));
	OK(MPI_Info_get_string(info, "weft_comm_vcis", &len, value, &flag));
	OK(MPI_Info_free(&info));
	return atoi(value);
}

static int next_rank(void)
{
	return (mtest.rank + 1) % mtest.size;
}

static int last_rank(void)
{
	return (mtest.rank + mtest.size - 1) % mtest.size;
}

static int value_of(int rank, int tag)
{
	return rank * 1000 + tag;
}

static void check_got(int got, const MPI_Status *st, int tag, const char *form)
{
	CHECK(got == value_of(last_rank(), tag) && st->MPI_TAG == tag &&
			st->MPI_SOURCE == last_rank(),
		"%s, tag %d: the word, its source and its tag are right: %d "
		"from %d with tag %d",
		form, tag, got, st->MPI_SOURCE, st->MPI_TAG);
}

/* Receives are posted in one order, and the messages are sent in another. */
static void requests(bool is_persistent)
{
	int out[TAGS], in[TAGS];
	MPI_Request reqs[2 * TAGS];
	MPI_Status sts[2 * TAGS];

	for (int t = 0; t < TAGS; t++) {
		int s = TAGS - 1 - t,
		    from = t % 2 ? MPI_ANY_SOURCE : last_rank();

		out[s] = value_of(mtest.rank, s);
		if (is_persistent) {
			OK(MPI_Recv_init(
				&in[t], 1, MPI_INT, from, t, comm, &reqs[t]));
			OK(MPI_Ssend_init(&out[s], 1, MPI_INT, next_rank(), s,
				comm, &reqs[TAGS + s]));
		} else {
			OK(MPI_Irecv(
				&in[t], 1, MPI_INT, from, t, comm, &reqs[t]));
			OK(MPI_Isend(&out[s], 1, MPI_INT, next_rank(), s, comm,
				&reqs[TAGS + s]));
		}
	}
	for (int round = 0; round < (is_persistent ? 3 : 1); round++) {
		if (is_persistent)
			OK(MPI_Startall(2 * TAGS, reqs));
		OK(MPI_Waitall(2 * TAGS, reqs, sts));
		for (int t = 0; t < TAGS; t++)
			check_got(in[t], &sts[t], t, "requests");
	}
	for (int i = 0; is_persistent && i < 2 * TAGS; i++)
		OK(MPI_Request_free(&reqs[i]));
}

static void probes(void)
{
	for (int t = 0; t < TAGS; t++) {
		int out = value_of(mtest.rank, t), in = -1, flag = 0;
		MPI_Message message;
		MPI_Request req;
		MPI_Status st;

		OK(MPI_Isend(&out, 1, MPI_INT, next_rank(), t, comm, &req));
		OK(MPI_Probe(MPI_ANY_SOURCE, t, comm, &st));
		OK(MPI_Iprobe(last_rank(), t, comm, &flag, &st));
		CHECK(flag && st.MPI_TAG == t, "a message with tag %d is found",
			t);
		OK(MPI_Mprobe(last_rank(), t, comm, &message, &st));
		OK(MPI_Mrecv(&in, 1, MPI_INT, &message, &st));
		check_got(in, &st, t, "a matched probe");
		OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	}
}

/* the two tags of one call may use different VCIs */
static void exchanges(void)
{
	for (int t = 0; t < TAGS; t++)
		for (int how = 0; how < 4; how++) {
			int give = t, take = t + mtest.rank % 2, in = -1;
			int out = value_of(mtest.rank, give);
			MPI_Request req = MPI_REQUEST_NULL;
			MPI_Status st;

			/* even ranks send with the tag that odd ranks receive,
			 * and vice versa */
			if (mtest.size % 2 || mtest.size == 1)
				take = give;
			else
				give = t + 1 - mtest.rank % 2;
			out = value_of(mtest.rank, give);
			if (how == 0)
				OK(MPI_Sendrecv(&out, 1, MPI_INT, next_rank(),
					give, &in, 1, MPI_INT, last_rank(),
					take, comm, &st));
			else if (how == 1)
				OK(MPI_Isendrecv(&out, 1, MPI_INT, next_rank(),
					give, &in, 1, MPI_INT, last_rank(),
					take, comm, &req));
			else if (how == 2)
				OK(MPI_Sendrecv_replace(&out, 1, MPI_INT,
					next_rank(), give, last_rank(), take,
					comm, &st));
			else
				OK(MPI_Isendrecv_replace(&out, 1, MPI_INT,
					next_rank(), give, last_rank(), take,
					comm, &req));
			if (how % 2)
				OK(MPI_Wait(&req, &st));
			check_got(how < 2 ? in : out, &st, take, "an exchange");
		}
}

static void buffered(void)
{
	static char room[TAGS * (sizeof(int) + MPI_BSEND_OVERHEAD) + 4096];
	int out, in, len;
	void *back;
	MPI_Status st;

	OK(MPI_Comm_attach_buffer(comm, room, sizeof(room)));
	for (int t = 0; t < TAGS; t++) {
		out = value_of(mtest.rank, t);
		OK(MPI_Bsend(&out, 1, MPI_INT, next_rank(), t, comm));
	}
	for (int t = TAGS - 1; t >= 0; t--) {
		OK(MPI_Recv(&in, 1, MPI_INT, last_rank(), t, comm, &st));
		check_got(in, &st, t, "a buffered one");
	}
	OK(MPI_Comm_detach_buffer(comm, &back, &len));
	CHECK(back == room, "the buffer is returned");
}

static void long_ones(void)
{
	char *out = mtest_alloc(LONG), *in = mtest_alloc(LONG);

	for (int t = 0; t < TAGS; t++) {
		mtest_fill(out, LONG, mtest.rank + t);
		OK(MPI_Sendrecv(out, LONG, MPI_BYTE, next_rank(), t, in, LONG,
			MPI_BYTE, last_rank(), t, comm, MPI_STATUS_IGNORE));
		CHECK(mtest_same(in, LONG, last_rank() + t),
			"a long message with tag %d arrives", t);
	}
	free(out);
	free(in);
}

static void on_error(MPI_Comm *of, int *code, ...)
{
	(void)code;
	called_for = *of;
	n_calls++;
}

/* An error is raised on the communicator of the program, not on an internal
 * one. */
static void errors(void)
{
	MPI_Errhandler errh;
	MPI_Message message;
	MPI_Request req;
	MPI_Info none = promise("false");
	char value[16] = "";
	int in[2] = { 0 }, flag, len = sizeof(value);
	char name[MPI_MAX_OBJECT_NAME];

	OK(MPI_Comm_set_info(comm, none));
	OK(MPI_Info_free(&none));
	OK(MPI_Comm_get_info(comm, &none));
	OK(MPI_Info_get_string(
		none, "mpi_assert_no_any_tag", &len, value, &flag));
	CHECK(flag && !strcmp(value, "true"),
		"an assertion that is in use cannot be withdrawn: '%s'", value);
	OK(MPI_Info_free(&none));
	FAILS(MPI_Recv(in, 1, MPI_INT, 0, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE),
		MPI_ERR_TAG);
	FAILS(MPI_Irecv(in, 1, MPI_INT, 0, MPI_ANY_TAG, comm, &req),
		MPI_ERR_TAG);
	FAILS(MPI_Recv_init(in, 1, MPI_INT, 0, MPI_ANY_TAG, comm, &req),
		MPI_ERR_TAG);
	FAILS(MPI_Iprobe(0, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE),
		MPI_ERR_TAG);
	FAILS(MPI_Improbe(
		      0, MPI_ANY_TAG, comm, &flag, &message, MPI_STATUS_IGNORE),
		MPI_ERR_TAG);
	OK(MPI_Recv(in, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, comm,
		MPI_STATUS_IGNORE));
	OK(MPI_Comm_create_errhandler(on_error, &errh));
	OK(MPI_Comm_set_errhandler(comm, errh));
	OK(MPI_Comm_set_name(comm, "spread out"));
	for (int t = 0; t < TAGS; t++) {
		n_calls = 0;
		OK(MPI_Irecv(in, 1, MPI_INT, last_rank(), t, comm, &req));
		OK(MPI_Send(in, 2, MPI_INT, next_rank(), t, comm));
		FAILS(MPI_Wait(&req, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
		CHECK(n_calls == 1 && called_for == comm,
			"tag %d: the handler is called for the communicator",
			t);
	}
	OK(MPI_Comm_get_name(comm, name, &flag));
	OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
	OK(MPI_Errhandler_free(&errh));
}

struct job {
	pthread_t thread;
	int tag;
};

static void *talk(void *arg)
{
	struct job *job = arg;

	for (int i = 0; i < ROUNDS; i++) {
		int out = value_of(mtest.rank, job->tag) + i, in = -1;

		OK(MPI_Sendrecv(&out, 1, MPI_INT, next_rank(), job->tag, &in, 1,
			MPI_INT, last_rank(), job->tag, comm,
			MPI_STATUS_IGNORE));
		CHECK(in == value_of(last_rank(), job->tag) + i,
			"thread of tag %d, round %d: its word arrives: %d",
			job->tag, i, in);
	}
	return NULL;
}

static void threads(void)
{
	struct job jobs[THREADS];

	for (int i = 0; i < THREADS; i++) {
		jobs[i].tag = i;
		CHECK(!pthread_create(&jobs[i].thread, NULL, talk, &jobs[i]),
			"thread %d starts", i);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(jobs[i].thread, NULL);
}

/* Frees the communicator while receives are pending, which match afterwards. */
static void free_early(MPI_Session session)
{
	int in[TAGS], out[TAGS];
	MPI_Request reqs[TAGS];
	MPI_Comm early = make(session, "freed early", "true"), gate;

	gate = session_comm(session, "mpi://WORLD", "gate");
	for (int t = 0; t < TAGS; t++)
		OK(MPI_Irecv(
			&in[t], 1, MPI_INT, last_rank(), t, early, &reqs[t]));
	OK(MPI_Barrier(gate));
	for (int t = 0; t < TAGS; t++) {
		out[t] = value_of(mtest.rank, t);
		OK(MPI_Send(&out[t], 1, MPI_INT, next_rank(), t, early));
	}
	OK(MPI_Comm_free(&early));
	OK(MPI_Waitall(TAGS, reqs, MPI_STATUSES_IGNORE));
	for (int t = 0; t < TAGS; t++)
		CHECK(in[t] == value_of(last_rank(), t),
			"the receive with tag %d completes after the free", t);
	OK(MPI_Comm_free(&gate));
}

/* If one member lacks the assertion, the communicator uses one VCI. */
static void half_promised(MPI_Session session)
{
	MPI_Comm half =
		make(session, "half", mtest.rank % 2 ? "false" : "true");

	CHECK(mtest.size == 1 || vcis_of(half) == 1,
		"one VCI is used if not all members asserted it: %d",
		vcis_of(half));
	session_works(half, "half");
	OK(MPI_Comm_disconnect(&half));
}

/* One member has no memory for the communicator on a further VCI. */
static void one_fails(MPI_Comm base)
{
	MPI_Comm made;
	MPI_Info info = promise("true");

	refused = mtest.rank == mtest.size - 1 ? (size_t)mtest.size : 0;
	OK(MPI_Comm_dup_with_info(base, info, &made));
	CHECK(!refused, "an allocation was refused");
	CHECK(vcis_of(made) == 1, "one member has no memory, %d VCIs",
		vcis_of(made));
	session_works(made, "one fails");
	OK(MPI_Comm_disconnect(&made));
	OK(MPI_Comm_dup_with_info(base, info, &made));
	CHECK(vcis_of(made) > 1, "the next communicator has several VCIs");
	OK(MPI_Comm_free(&made));
	OK(MPI_Info_free(&info));
}

static MPI_Session open_one(bool is_own)
{
	MPI_Session session = MPI_SESSION_NULL;
	MPI_Info info;

	OK(MPI_Info_create(&info));
	if (is_own)
		OK(MPI_Info_set(info, "weft_vci", "dedicated"));
	OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
	OK(MPI_Info_free(&info));
	return session;
}

static void one_session(bool is_own, int n_vcis, bool is_left)
{
	MPI_Session session = open_one(is_own);
	MPI_Comm base;
	MPI_Info info = promise("true");

	session_set_rank(session);
	base = make(session, "base", "true");
	CHECK(vcis_of(base) == n_vcis, "the communicator has %d VCIs, not %d",
		vcis_of(base), n_vcis);
	OK(MPI_Comm_dup(base, &comm));
	CHECK(vcis_of(comm) == 1, "a duplicate without info uses one VCI");
	OK(MPI_Comm_free(&comm));
	OK(MPI_Comm_dup_with_info(base, info, &comm));
	OK(MPI_Info_free(&info));
	CHECK(vcis_of(comm) == n_vcis, "a duplicate has %d VCIs, not %d",
		vcis_of(comm), n_vcis);
	requests(false);
	requests(true);
	probes();
	exchanges();
	buffered();
	long_ones();
	if (n_vcis > 1)
		errors();
	threads();
	session_works(comm, "spread");
	free_early(session);
	half_promised(session);
	if (CAN_REFUSE && !is_own && n_vcis > 1 && mtest.size > 1)
		one_fails(base);
	if (is_left) {
		OK(MPI_Comm_disconnect(&comm));
		OK(MPI_Comm_free(&base));
	}
	session_close(&session);
}

int main(int argc, char **argv)
{
	int n_vcis = (int)mtest_arg(argc, argv, "vcis", 3);
	bool is_own = mtest_arg(argc, argv, "own", 0);

	mtest_start(argv[0]);
	for (int i = 0; i < 6; i++)
		one_session(is_own, n_vcis, i % 2);
	return mtest_done();
}
