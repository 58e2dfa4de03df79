/* SPDX-License-Identifier: BSD-3-Clause */
/* cma: detects whether the two processes of a test can read each other's
 * memory, and whether the environment lets Weft do so. A file that includes
 * this header defines _GNU_SOURCE. */
#ifndef MTEST_CMA_H
#define MTEST_CMA_H

#include "mtest.h"

#include <sys/uio.h>

static inline int cma_is_permitted(MPI_Comm comm)
{
	static long word = 4711;
	long got = 0, theirs[2], mine[2] = { (long)getpid(), (long)&word };
	struct iovec local = { &got, sizeof(got) }, remote;
	int ok, all;

	OK(MPI_Sendrecv(mine, 2, MPI_LONG, 1 - mtest.rank, 0, theirs, 2,
		MPI_LONG, 1 - mtest.rank, 0, comm, MPI_STATUS_IGNORE));
	remote = (struct iovec){ (void *)theirs[1], sizeof(word) };
	ok = !getenv("WEFT_CMA") && !getenv("WEFT_SHM") &&
	     !getenv("WEFT_NODES") &&
	     process_vm_readv((pid_t)theirs[0], &local, 1, &remote, 1, 0) > 0;
	OK(MPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_LAND, comm));
	return all;
}

#endif
