/* SPDX-License-Identifier: BSD-3-Clause */
/* sma_storm: the OpenSHMEM workload of test/storm, which checks its own data
 *
 *   sma_storm SEED ROUNDS
 *
 * Each round is one operation that all PEs choose from the seed: puts and gets,
 * atomics, signals, collectives, locks, symmetric memory, teams. Every byte is
 * compared with the byte that the seed implies.
 *
 * Exit status: 0: all rounds passed; 4: wrong data, with a line "WRONG". After
 * the failure of another PE, the library ends the program. */
#include "../multi/storm.h"

#include <shmem.h>
#include <string.h>

enum {
	LONGEST = 1 << 19, /* bytes of one block */
	N_ADDS = 10,
	N_BLOCKS = 8,
	N_PES = 64,
};

static long count, total, lock;
static uint64_t sig;

static struct {
	unsigned char *in, *out; /* symmetric, N_BLOCKS * LONGEST bytes each */
} heap;

/* A block for each PE, in both buffers. */
static size_t choose_block(uint64_t a)
{
	size_t most = (size_t)N_BLOCKS * LONGEST / (size_t)place.size;
	size_t len = 1 + choose_len(a, 0, 0);

	return len > most ? most : len;
}

/* Each PE puts a block into a place of its own at each PE, or reads a block
 * from each PE. */
static void do_blocks(void)
{
	uint64_t how = choose(4, 1, 0, 0);
	size_t len = choose_block(2), at = (size_t)place.rank * len;

	for (int pe = 0; pe < place.size; pe++)
		fill(heap.out + (size_t)pe * len, len,
			key_of(place.rank, pe, 0));
	shmem_barrier_all();
	for (int pe = 0; pe < place.size; pe++) {
		const unsigned char *from = heap.out + (size_t)pe * len;
		unsigned char *to = heap.in + (size_t)pe * len;

		if (how == 0)
			shmem_putmem(heap.in + at, from, len, pe);
		else if (how == 1)
			shmem_putmem_nbi(heap.in + at, from, len, pe);
		else if (how == 2)
			shmem_getmem(to, heap.out + at, len, pe);
		else
			shmem_getmem_nbi(to, heap.out + at, len, pe);
	}
	shmem_quiet();
	shmem_barrier_all();
	for (int pe = 0; pe < place.size; pe++)
		check(heap.in + (size_t)pe * len, len,
			key_of(pe, place.rank, 0), how < 2 ? "put" : "get");
	shmem_barrier_all();
}

/* Each PE adds to the counters of several PEs. The values that a counter
 * returns to one PE ascend. */
static void do_atomics(void)
{
	long last[N_PES], before;

	count = 0;
	memset(last, -1, sizeof(last));
	shmem_barrier_all();
	for (int i = 0; i < N_ADDS * place.size; i++) {
		int pe = (place.rank + i) % place.size;

		if (i % 3) {
			shmem_long_atomic_inc(&count, pe);
			continue;
		}
		before = shmem_long_atomic_fetch_inc(&count, pe);
		if (before <= last[pe])
			wrong("counter of PE %d: %ld after %ld", pe, before,
				last[pe]);
		last[pe] = before;
	}
	shmem_barrier_all();
	if (count != (long)N_ADDS * place.size)
		wrong("counter is %ld, not %d", count, N_ADDS * place.size);
	shmem_barrier_all();
}

/* Sends batches of data with signals around a ring. */
static void do_signals(void)
{
	int shift = 1 + (int)choose((uint64_t)place.size, 3, 0, 0);
	int to = (place.rank + shift) % place.size;
	int from = (place.rank + place.size - shift % place.size) % place.size;
	size_t len = choose_len(5, 0, 0);
	int n = 1 + (int)choose(N_BLOCKS, 4, 0, 0);

	len = len > LONGEST ? LONGEST : len;
	sig = 0;
	shmem_barrier_all();
	for (int i = 0; i < n; i++) {
		unsigned char *data = heap.out + (size_t)i * LONGEST;

		fill(data, len, key_of(place.rank, to, (uint64_t)i));
		shmem_putmem_signal_nbi(heap.in + (size_t)i * LONGEST, data,
			len, &sig, 1, SHMEM_SIGNAL_ADD, to);
	}
	shmem_signal_wait_until(&sig, SHMEM_CMP_EQ, (uint64_t)n);
	for (int i = 0; i < n; i++)
		check(heap.in + (size_t)i * LONGEST, len,
			key_of(from, place.rank, (uint64_t)i), "signal");
	shmem_barrier_all();
}

static void do_coll(void)
{
	int root = (int)choose((uint64_t)place.size, 6, 0, 0);
	size_t len = choose_block(7);
	static long sums[2];

	for (int pe = 0; pe < place.size; pe++)
		fill(heap.out + (size_t)pe * len, len,
			key_of(place.rank, pe, 1));
	shmem_barrier_all();
	shmem_alltoallmem(SHMEM_TEAM_WORLD, heap.in, heap.out, len);
	for (int pe = 0; pe < place.size; pe++)
		check(heap.in + (size_t)pe * len, len,
			key_of(pe, place.rank, 1), "alltoall");
	shmem_barrier_all();
	shmem_fcollectmem(SHMEM_TEAM_WORLD, heap.in, heap.out, len);
	for (int pe = 0; pe < place.size; pe++)
		check(heap.in + (size_t)pe * len, len, key_of(pe, 0, 1),
			"fcollect");
	shmem_barrier_all();
	shmem_broadcastmem(SHMEM_TEAM_WORLD, heap.in, heap.out, len, root);
	check(heap.in, len, key_of(root, 0, 1), "broadcast");
	sums[0] = place.rank;
	shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sums + 1, sums, 1);
	if (sums[1] != (long)place.size * (place.size - 1) / 2)
		wrong("sum is %ld", sums[1]);
	shmem_barrier_all();
}

/* Each PE increments a counter by a get and a put. The total is right only if
 * no other PE has the lock. */
static void do_lock(void)
{
	total = 0;
	shmem_barrier_all();
	for (int i = 0; i < N_ADDS; i++) {
		shmem_set_lock(&lock);
		shmem_long_p(&total, shmem_long_g(&total, 0) + 1, 0);
		shmem_clear_lock(&lock);
	}
	shmem_barrier_all();
	if (!place.rank && total != (long)N_ADDS * place.size)
		wrong("the lock guards %ld additions, not %d", total,
			N_ADDS * place.size);
	shmem_barrier_all();
}

static void do_heap(void)
{
	size_t len = 1 + choose_len(8, 0, 0);
	int to = (place.rank + 1) % place.size;
	int from = (place.rank + place.size - 1) % place.size;
	unsigned char *more = shmem_malloc(len);

	if (!more)
		wrong("no symmetric memory of %zu bytes", len);
	len = len > LONGEST ? LONGEST : len;
	fill(heap.out, len, key_of(place.rank, to, 2));
	shmem_putmem(more, heap.out, len, to);
	shmem_barrier_all();
	check(more, len, key_of(from, place.rank, 2), "new memory");
	shmem_free(more);
}

/* The even PEs are a team. */
static void do_team(void)
{
	int n = (place.size + 1) / 2;
	static long sums[2];
	shmem_team_t team;

	if (shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, n, NULL, 0, &team))
		wrong("no team of %d PEs", n);
	if (team != SHMEM_TEAM_INVALID) {
		sums[0] = place.rank;
		shmem_long_sum_reduce(team, sums + 1, sums, 1);
		if (sums[1] != (long)n * (n - 1))
			wrong("the team's sum is %ld", sums[1]);
		shmem_team_destroy(team);
	}
	shmem_barrier_all();
}

static void do_round(void)
{
	static void (*const parts[])(void) = { do_blocks, do_atomics,
		do_signals, do_coll, do_lock, do_heap, do_team };

	parts[choose(sizeof(parts) / sizeof(*parts), 0, 0, 0)]();
}

int main(int argc, char **argv)
{
	uint64_t n_rounds;

	if (argc != 3) {
		fprintf(stderr, "usage: sma_storm SEED ROUNDS\n");
		return 2;
	}
	place.seed = strtoull(argv[1], NULL, 10);
	n_rounds = strtoull(argv[2], NULL, 10);
	shmem_init();
	place.rank = shmem_my_pe();
	place.size = shmem_n_pes();
	heap.in = shmem_malloc((size_t)N_BLOCKS * LONGEST);
	heap.out = shmem_malloc((size_t)N_BLOCKS * LONGEST);
	if (!heap.in || !heap.out || place.size > N_PES)
		shmem_global_exit(2);
	shmem_barrier_all();
	for (int pe = 0; pe < place.size; pe++)
		shmem_long_atomic_inc(&count, pe);
	shmem_barrier_all();
	printf("started: rank %d pid %d\n", place.rank, (int)getpid());
	fflush(stdout);
	for (; place.round < n_rounds; place.round++)
		do_round();
	shmem_finalize();
	return 0;
}
