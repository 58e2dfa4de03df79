/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * world_exit: the launcher's exit code shows how the processes ended
 *
 * how=code   every process exits with code= plus its rank, or with 0 if code=
 *            is 0 (S144)
 * how=abort  rank who= calls MPI_Abort with code=; the others are waiting
 * how=raise  rank who= dies of a signal; the others are waiting
 * how=error  rank who= makes an erroneous call under MPI_ERRORS_ARE_FATAL
 * how=leave  rank who= returns code= without MPI_Finalize
 */
#include "mtest.h"

static void last_words(const char *how, int code)
{
	int word = 0;

	if (strcmp(how, "abort") == 0)
		MPI_Abort(MPI_COMM_WORLD, code);
	if (strcmp(how, "raise") == 0)
		raise(SIGKILL);
	if (strcmp(how, "error") == 0)
		MPI_Send(&word, 1, MPI_INT, 12345, 0, MPI_COMM_WORLD);
	exit(code);
}

int main(int argc, char **argv)
{
	const char *how = "code";
	int victim, code, word;

	mtest_start(argv[0]);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &mtest.rank);
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "how=", 4) == 0)
			how = argv[i] + 4;
	victim = mtest_arg(argc, argv, "who", 0);
	code = mtest_arg(argc, argv, "code", 0);
	MPI_Barrier(MPI_COMM_WORLD);
	if (strcmp(how, "code") == 0) {
		MPI_Finalize();
		return code ? code + mtest.rank : 0;
	}
	if (mtest.rank == victim)
		last_words(how, code);
	/* no process sends this message: the end of the job ends the wait */
	MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE);
	return 0;
}
