/* SPDX-License-Identifier: BSD-3-Clause */
/* profiled_sma: known calls of OpenSHMEM, for profile.test */
#include <shmem.h>

static long word;
static char block[100];

int main(void)
{
	char local[100] = { 0 };
	int next;

	shmem_init();
	next = (shmem_my_pe() + 1) % shmem_n_pes();
	for (int i = 0; i < 10; i++)
		shmem_long_p(&word, i, next);
	shmem_putmem(block, local, sizeof(local), next);
	for (int i = 0; i < 3; i++)
		shmem_barrier_all();
	shmem_finalize();
	return 0;
}
