/* SPDX-License-Identifier: BSD-3-Clause */
/* claim: prints the claims of programs that the tests of the launcher start
 *
 * TAP, one line per claim, from rank 0 of the job that claims. */
#ifndef TEST_CLAIM_H
#define TEST_CLAIM_H

#include <mpi.h>

#include <stdio.h>
#include <time.h>

static int rank, size, n_claims, n_bad;

/* Prints "ok" if is_true is set in all processes. Collective: all processes of
 * a job make the same claims. */
static void claim(int is_true, const char *what)
{
	int all = is_true;

	MPI_Allreduce(&is_true, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	n_claims++;
	n_bad += !all;
	if (rank == 0)
		printf("%s %d - %s\n", all ? "ok" : "not ok", n_claims, what);
	fflush(stdout);
}

static void nap(int ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

#endif
