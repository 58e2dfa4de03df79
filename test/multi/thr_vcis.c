/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * thr_vcis: threads on sessions with VCIs of their own do not affect each other
 *
 * Each thread opens a session, creates a communicator of all processes,
 * exchanges messages on it, and closes it, while the others do the same.
 */
#include "hints.h"
#include <pthread.h>

enum { THREADS = 3, ROUNDS = 400, LARGEST = 100000, WINDOW = 16 };

struct job {
	pthread_t thread;
	int number;
	bool is_shared;
	long waited; /* how often a thread waited for the lock of its VCI */
};

static MPI_Session open_one(bool is_shared)
{
	MPI_Session session = MPI_SESSION_NULL;
	MPI_Info info;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE"));
	OK(MPI_Info_set(info, "weft_vci", is_shared ? "shared" : "dedicated"));
	OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
	OK(MPI_Info_free(&info));
	return session;
}

static void flood(MPI_Comm comm, int me, int rank, int size)
{
	int to = (rank + 1) % size, from = (rank + size - 1) % size;
	char out[WINDOW][8], in[WINDOW][8];
	MPI_Request reqs[2 * WINDOW];

	for (int i = 0; i < ROUNDS; i++) {
		for (int k = 0; k < WINDOW; k++) {
			memset(out[k], me + i + k + rank, sizeof(out[k]));
			OK(MPI_Irecv(
				in[k], 8, MPI_BYTE, from, k, comm, &reqs[k]));
			OK(MPI_Isend(out[k], 8, MPI_BYTE, to, k, comm,
				&reqs[WINDOW + k]));
		}
		OK(MPI_Waitall(2 * WINDOW, reqs, MPI_STATUSES_IGNORE));
		for (int k = 0; k < WINDOW; k++)
			CHECK(in[k][0] == (char)(me + i + k + from),
				"thread %d round %d: message %d arrives", me, i,
				k);
	}
}

static void large(MPI_Comm comm, int me, int rank, int size)
{
	char *out = mtest_alloc(LARGEST), *in = mtest_alloc(LARGEST);
	int to = (rank + 1) % size, from = (rank + size - 1) % size;

	for (int i = 0; i < ROUNDS / 20; i++) {
		mtest_fill(out, LARGEST, me * 31 + rank + i);
		memset(in, 0, LARGEST);
		OK(MPI_Sendrecv(out, LARGEST, MPI_BYTE, to, 1, in, LARGEST,
			MPI_BYTE, from, 1, comm, MPI_STATUS_IGNORE));
		CHECK(mtest_same(in, LARGEST, me * 31 + from + i),
			"thread %d round %d: the long message arrives", me, i);
	}
	free(out);
	free(in);
}

static void *body(void *arg)
{
	struct job *job = arg;
	MPI_Session session = open_one(job->is_shared);
	char tag[32], value[256];
	MPI_Comm comm, dup;

	hints_has(session, "weft_vci", job->is_shared ? "shared" : "dedicated");
	snprintf(tag, sizeof(tag), "thread %d", job->number);
	comm = session_comm(session, "mpi://WORLD", tag);
	session_works(comm, tag);
	OK(MPI_Comm_dup(comm, &dup));
	flood(dup, job->number, mtest.rank, mtest.size);
	large(comm, job->number, mtest.rank, mtest.size);
	OK(MPI_Comm_free(&dup));
	OK(MPI_Comm_disconnect(&comm));
	hints_value(session, "weft_contended", value, sizeof(value));
	job->waited = atol(value);
	session_close(&session);
	return NULL;
}

/* Runs all threads. Returns how often they waited for locks. */
static long run(bool is_shared)
{
	struct job jobs[THREADS] = { { 0 } };
	long waited = 0;

	for (int i = 0; i < THREADS; i++) {
		jobs[i].number = i;
		jobs[i].is_shared = is_shared;
		CHECK(!pthread_create(&jobs[i].thread, NULL, body, &jobs[i]),
			"thread %d starts", i);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(jobs[i].thread, NULL);
		waited += jobs[i].waited;
	}
	return waited;
}

int main(int argc, char **argv)
{
	MPI_Session session;
	long own;

	(void)argc;
	mtest_start(argv[0]);
	session = open_one(true);
	session_set_rank(session);
	own = run(false);
	run(true); /* the same with the shared VCI */
	printf("# %ld waits for the locks of %d VCIs\n", own, THREADS);
	/* a thread waits only if another thread happens to poll the VCI; with a
	 * shared VCI this would be frequent */
	CHECK(own < 2L * THREADS * ROUNDS, "waits are rare: %ld", own);
	session_close(&session);
	return mtest_done();
}
