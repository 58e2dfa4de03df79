/* SPDX-License-Identifier: BSD-3-Clause */
/* sma_exposed: the program's variables are registered with the fabric when a PE
 * first needs them
 *
 *   WEFT_SHM=off oshrun -n 2 sma_exposed
 *
 * That holds for a fabric whose accesses need the target's processor. A process
 * logs a registration at level debug as RMA-EXPOSE. */
#include "stest.h"

static char variable[4096], other[4096];
static char text[1 << 20];

static bool has_said(int kept)
{
	return strstr(stest_output(kept, text, sizeof(text)), "RMA-EXPOSE");
}

int main(int argc, char **argv)
{
	const char *provider = getenv("FI_PROVIDER");
	/* on a fabric with atomics, variables are registered at the start,
	 * because the target's processor does not carry out the accesses */
	bool is_at_open = provider && !strcmp(provider, "cxi");
	char *heap;
	int kept;

	(void)argc;
	stest_start(argv[0]);
	setenv("WEFT_LOG", "debug", 1);
	kept = stest_listen();
	shmem_init();
	stest_set_pe();
	heap = shmem_malloc(sizeof(other));
	memset(other, 1 + stest.me, sizeof(other));
	shmem_putmem(heap, other, sizeof(other), stest_next());
	shmem_barrier_all();
	CHECK(heap[77] == 1 + stest_before(), "the heap has what was put");
	CHECK(!has_said(kept), "variables are not registered for the heap");

	kept = stest_listen();
	shmem_barrier_all();
	shmem_putmem(variable, other, sizeof(other), stest_next());
	shmem_barrier_all();
	CHECK(variable[77] == 1 + stest_before(), "a variable was put");
	CHECK(has_said(kept) == !is_at_open,
		"variables are registered when they are needed");

	kept = stest_listen();
	memset(other, 0, sizeof(other));
	shmem_barrier_all();
	shmem_getmem(other, variable, sizeof(other), stest_next());
	shmem_barrier_all();
	CHECK(other[77] == 1 + stest.me, "a variable was got");
	CHECK(!has_said(kept), "variables are registered once");
	shmem_free(heap);
	return stest_done();
}
