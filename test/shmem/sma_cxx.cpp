// SPDX-License-Identifier: BSD-3-Clause
// sma_cxx: the overloads of C++ call the procedures of the right type
#include <shmem.h>
#include <shmemx.h>

#include <cstdio>

static long word;
static double real[2];
static unsigned short small;

int main()
{
	shmem_init();
	int me = shmem_my_pe(), n = shmem_n_pes(), to = (me + 1) % n;
	int from = (me + n - 1) % n, failed = 0;
	double src[2] = { me + 0.5, me + 1.5 };

	shmem_p(&word, (long)me, to);
	shmem_put(SHMEM_CTX_DEFAULT, real, src, 2, to);
	shmem_p(&small, (unsigned short)7, to);
	shmem_barrier_all();
	failed += word != from || real[1] != from + 1.5 || small != 7;
	failed += shmem_g(&word, to) != me;
	shmem_barrier_all(); // the owner changes the word next
	failed += shmem_atomic_fetch_add(&word, 1L, me) != from;
	shmem_wait_until(&word, SHMEM_CMP_EQ, (long)from + 1);
	shmem_wait_until(&small, SHMEM_CMP_LE, (unsigned short)7);
	failed += shmem_sync(SHMEM_TEAM_WORLD) != 0;
	failed += shmem_max_reduce(SHMEM_TEAM_WORLD, &real[0], &real[1], 1) != 0;
	failed += real[0] != n - 1 + 1.5;
	shmemx_session_start(SHMEM_CTX_DEFAULT, SHMEM_SESSION_BUNDLE);
	shmemx_session_stop(SHMEM_CTX_DEFAULT);
	if (failed)
		std::fprintf(stderr, "# FAILED sma_cxx: PE %d: %d checks\n", me,
			failed);
	shmem_finalize();
	return failed != 0;
}
