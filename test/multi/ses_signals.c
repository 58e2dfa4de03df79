/* SPDX-License-Identifier: BSD-3-Clause */
/* ses_signals: open and close do not change the program's signal handlers
 *
 * Libraries below a provider may install handlers for fatal signals. */
#include "session.h"

#include <signal.h>

static void mine(int number)
{
	(void)number;
}

static const struct {
	int number;
	void (*handler)(int);
} signals[] = {
	{ SIGSEGV, mine },
	{ SIGBUS, SIG_DFL },
	{ SIGILL, SIG_DFL },
	{ SIGFPE, mine },
	{ SIGABRT, SIG_DFL },
	{ SIGINT, SIG_DFL },
	{ SIGTERM, mine },
	{ SIGPIPE, SIG_DFL },
	{ SIGCHLD, SIG_DFL },
	{ SIGUSR1, mine },
	{ SIGUSR2, SIG_DFL },
};

enum { SIGNALS = sizeof(signals) / sizeof(signals[0]) };

static void check(const char *when)
{
	for (int i = 0; i < SIGNALS; i++) {
		struct sigaction now;

		sigaction(signals[i].number, NULL, &now);
		CHECK(now.sa_handler == signals[i].handler,
			"%s signal %d is as it was", when, signals[i].number);
	}
}

int main(int argc, char **argv)
{
	MPI_Session session;
	MPI_Comm comm;

	mtest_start(argv[0]);
	(void)argc;
	for (int i = 0; i < SIGNALS; i++)
		signal(signals[i].number, signals[i].handler);
	session = session_open();
	session_set_rank(session);
	comm = session_comm(session, "mpi://WORLD", "signals");
	OK(MPI_Barrier(comm));
	check("in use,");
	OK(MPI_Comm_disconnect(&comm));
	OK(MPI_Session_finalize(&session));
	check("closed,");
	return mtest_done();
}
