/* SPDX-License-Identifier: BSD-3-Clause */
/* sma_count: the bytes of one-sided operations, counted by path
 *
 * The variables of MPI's tool interface count the operations of OpenSHMEM, too.
 * The sum over all paths is exact. */
#include "stest.h"

#include <mpi.h>

enum { N = 20, LONG = 64 << 10 };

static const char *const names[] = { "rma_mapped", "rma_copied", "rma_messages",
	"rma_posted" };
enum { N_NAMES = sizeof(names) / sizeof(names[0]) };

static long word, counter;
static char bulk[LONG];

static MPI_T_pvar_session pvars;

/* A new handle counts from 0. */
static MPI_T_pvar_handle pvar_open(const char *name, int class)
{
	MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
	int index = -1, count;

	CHECK(!MPI_T_pvar_get_index(name, class, &index), "%s exists", name);
	CHECK(!MPI_T_pvar_handle_alloc(pvars, index, NULL, &handle, &count),
		"%s has a handle", name);
	return handle;
}

static unsigned long long value_of(MPI_T_pvar_handle handle)
{
	unsigned long long value = 0;

	CHECK(!MPI_T_pvar_read(pvars, handle, &value), "it can be read");
	return value;
}

static unsigned long long sum_of(const MPI_T_pvar_handle *handles)
{
	unsigned long long sum = 0;

	for (int i = 0; i < N_NAMES; i++)
		sum += value_of(handles[i]);
	return sum;
}

/* Returns the bytes. */
static unsigned long long make_accesses(int pe)
{
	static char from[LONG];
	long got = 0;

	for (int i = 0; i < N; i++) {
		shmem_long_p(&word, 7, pe);
		shmem_putmem(bulk, from, 16, pe);
		shmem_putmem_nbi(bulk, from, 8, pe);
		shmem_quiet();
		got += shmem_long_g(&word, pe);
		shmem_getmem(from, bulk, 16, pe);
		shmem_long_atomic_add(&counter, 1, pe);
		got += shmem_long_atomic_fetch_add(&counter, 1, pe) >= 0;
	}
	CHECK(got == 8 * N, "the gets return the data: %ld", got);
	shmem_putmem(bulk, from, LONG, pe);
	shmem_quiet();
	return N * (8 + 16 + 8 + 8 + 16 + 8 + 8) + LONG;
}

int main(int argc, char **argv)
{
	MPI_T_pvar_handle mapped, bytes[N_NAMES];
	unsigned long long wanted, got;
	char name[64];
	int provided;

	(void)argc;
	stest_start(argv[0]);
	shmem_init();
	stest_set_pe();
	MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
	MPI_T_pvar_session_create(&pvars);
	mapped = pvar_open("rma_mapped", MPI_T_PVAR_CLASS_COUNTER);
	for (int i = 0; i < N_NAMES; i++) {
		snprintf(name, sizeof(name), "%s_bytes", names[i]);
		bytes[i] = pvar_open(name, MPI_T_PVAR_CLASS_AGGREGATE);
	}
	shmem_barrier_all();
	got = sum_of(bytes);
	wanted = make_accesses(stest_next());
	got = sum_of(bytes) - got;
	CHECK(got == wanted, "%llu bytes are counted of %llu", got, wanted);
	if (shmem_ptr(&word, stest_next()))
		CHECK(value_of(mapped) == 7 * N + 1,
			"each operation on a local PE is counted once: %llu",
			value_of(mapped));
	shmem_finalize();
	CHECK(sum_of(bytes) >= wanted,
		"the counters stay when OpenSHMEM has ended");
	MPI_T_pvar_session_free(&pvars);
	MPI_T_finalize();
	shmem_init();
	return stest_done();
}
