/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p_first: all processes send to all for the first time; on one node they
 * send no request to the process manager after all have started
 *
 * A few requests are permitted, for processes that were delayed and had not yet
 * published their address.
 */
#include "mtest.h"

#include <dlfcn.h>

static int n_asked;

/* PMIx_Get_nb() of PMIx, with types that need no header of PMIx */
typedef int get_nb_fn(const void *proc, const char *key, const void *info,
	size_t n, void *fn, void *arg);
get_nb_fn PMIx_Get_nb;

int PMIx_Get_nb(const void *proc, const char *key, const void *info, size_t n,
	void *fn, void *arg)
{
	get_nb_fn *real;

	n_asked += !strncmp(key, "weft.card", 9);
	*(void **)&real = dlsym(RTLD_NEXT, "PMIx_Get_nb");
	return real(proc, key, info, n, fn, arg);
}

static bool is_one_node(void)
{
	const char *shm = getenv("WEFT_SHM");

	return !getenv("WEFT_NODES") && !(shm && !strcmp(shm, "off"));
}

/* Waits until all processes have started and published their addresses. */
static void settle(void)
{
	int flag;

	OK(MPI_Barrier(MPI_COMM_WORLD));
	for (double end = MPI_Wtime() + 0.2; MPI_Wtime() < end;)
		OK(MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag,
			MPI_STATUS_IGNORE));
	OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
	MPI_Request *requests;
	int *from, n = 0, most;

	mtest_init(&argc, &argv);
	settle();
	n_asked = 0;
	most = mtest.size * (mtest.size - 1) / 4;
	from = mtest_alloc(sizeof(*from) * (size_t)mtest.size);
	requests = mtest_alloc(sizeof(*requests) * 2 * (size_t)mtest.size);
	for (int i = 0; i < mtest.size; i++) {
		OK(MPI_Irecv(&from[i], 1, MPI_INT, i, 0, MPI_COMM_WORLD,
			&requests[n++]));
		OK(MPI_Isend(&mtest.rank, 1, MPI_INT, i, 0, MPI_COMM_WORLD,
			&requests[n++]));
	}
	OK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
	for (int i = 0; i < mtest.size; i++)
		CHECK(from[i] == i, "the message of rank %d arrives: %d", i,
			from[i]);
	n = n_asked;
	OK(MPI_Allreduce(&n, &n_asked, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
	if (mtest.rank == 0)
		printf("# %d requests of addresses, %d possible%s\n", n_asked,
			4 * most, is_one_node() ? "" : "; not one node");
	CHECK(!is_one_node() || n_asked < most,
		"few requests go to the process manager: %d, the limit is %d",
		n_asked, most);
	free(from);
	free(requests);
	return mtest_finish();
}
