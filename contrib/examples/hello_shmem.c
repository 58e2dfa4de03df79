/* SPDX-License-Identifier: BSD-3-Clause */
/* hello_shmem: each PE sends its number to its neighbour
 *
 *   oshcc -o hello hello_shmem.c && oshrun -n 4 ./hello */
#include <shmem.h>
#include <stdio.h>

static int got; /* static memory can be reached by all */

int main(void)
{
	int me, n;

	shmem_init();
	me = shmem_my_pe();
	n = shmem_n_pes();
	shmem_int_p(&got, me, (me + 1) % n);
	shmem_barrier_all();
	printf("PE %d of %d got %d\n", me, n, got);
	shmem_finalize();
	return 0;
}
