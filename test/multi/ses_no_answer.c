/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ses_no_answer: the process manager never answers one of two processes
 *
 * Two processes on different nodes (WEFT_NODES=2). The process with the rank
 * unanswered= never gets an answer to its request for the other's business
 * card, as with a manager that loses a request or is slow. The other process
 * sends its address itself, so that all calls complete without a wait.
 */
#include "session.h"

#include <dlfcn.h>
#include <unistd.h>

static long unanswered;
static int n_unanswered;

/* PMIx_Get_nb() of PMIx, with types that need no header of PMIx */
typedef int get_nb_fn(const void *proc, const char *key, const void *info,
	size_t n, void *fn, void *arg);
get_nb_fn PMIx_Get_nb;

static long my_rank(void)
{
	const char *rank = getenv("PMIX_RANK");

	return rank ? strtol(rank, NULL, 10) : -1;
}

int PMIx_Get_nb(const void *proc, const char *key, const void *info, size_t n,
	void *fn, void *arg)
{
	get_nb_fn *real;

	if (my_rank() == unanswered && !strncmp(key, "weft.card", 9)) {
		n_unanswered++;
		return 0;
	}
	*(void **)&real = dlsym(RTLD_NEXT, "PMIx_Get_nb");
	return real(proc, key, info, n, fn, arg);
}

int main(int argc, char **argv)
{
	MPI_Session session;
	MPI_Comm comm;

	mtest_start(argv[0]);
	unanswered = mtest_arg(argc, argv, "unanswered", 0);
	if (my_rank() != unanswered)
		/* the other process requests the card before it is published */
		usleep(200000);
	session = session_open();
	session_set_rank(session);
	CHECK(mtest.size == 2, "needs two processes");
	comm = session_comm(session, "mpi://WORLD", "unheard");
	session_works(comm, "a communicator all the same");
	/* the other process may send its address before it is requested */
	CHECK(n_unanswered <= (mtest.rank == unanswered),
		"one request was unanswered at most, got %d", n_unanswered);
	OK(MPI_Comm_disconnect(&comm));
	session_close(&session);
	return mtest_done();
}
