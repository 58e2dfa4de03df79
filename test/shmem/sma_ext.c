/* SPDX-License-Identifier: BSD-3-Clause */
/* sma_ext: the external heap, device memory that is symmetric
 *
 * heap=managed: the heap is memory that the CPU may access, too. fault=KIND:
 * one call ends the program. */
#include "stest.h"
#include "devdata.h"

enum {
	PIECE = 1 << 20, /* of the library */
	MAX = 3 * PIECE + 5,
	WORDS = 1024, /* after the area */
	SIZE = MAX + GUARD + 5 + WORDS * (int)sizeof(long),
	SKIP = 77,
	PUTS = 200,
};

static const size_t lens[] = { 1, 2, 4, 8, 31, 256, 4096, 65536, PIECE, MAX };
static unsigned char *area;  /* in the external heap, MAX + GUARD bytes */
static long *words;	     /* in the external heap */
static unsigned char *sym;   /* of the host heap, MAX + GUARD bytes */
static uint64_t host_sig;    /* symmetric */
static char node_name[64];   /* symmetric; zeros after the name */
static void *device_private; /* device memory, MAX + GUARD bytes */
static bool is_managed;

static void clear_area(size_t len)
{
	memset(host, 0, len + GUARD);
	device_put(area, host, len + GUARD);
	shmem_barrier_all();
}

static long word(int i)
{
	long value;

	device_get(&value, words + i, sizeof(value));
	return value;
}

static void set_words(int n, long value)
{
	for (int i = 0; i < n; i++)
		device_put(words + i, &value, sizeof(value));
	shmem_barrier_all();
}

/* Puts and gets of host buffers, of device buffers, and of buffers in the
 * external heap. */
static void moves(shmem_ctx_t ctx, size_t len, bool is_nbi)
{
	void (*put)(shmem_ctx_t, void *, const void *, size_t, int) =
		is_nbi ? shmem_ctx_putmem_nbi : shmem_ctx_putmem;
	void (*get)(shmem_ctx_t, void *, const void *, size_t, int) =
		is_nbi ? shmem_ctx_getmem_nbi : shmem_ctx_getmem;
	unsigned char *mine = calloc(1, len + GUARD);

	clear_area(len);
	fill(mine, len, stest.me);
	put(ctx, area, mine, len, stest_next());
	shmem_ctx_quiet(ctx);
	shmem_barrier_all();
	CHECK(dev_has(area, len, stest_before()), "%zu bytes were put", len);
	memset(mine, 0, len + GUARD);
	get(ctx, mine, area, len, stest_next());
	shmem_ctx_quiet(ctx);
	CHECK(has(mine, len, stest.me), "%zu bytes were got", len);
	shmem_barrier_all();

	memset(host, 0, len + GUARD);
	device_put(device_private, host, len + GUARD);
	get(ctx, device_private, area, len, stest_next());
	shmem_ctx_quiet(ctx);
	CHECK(dev_has(device_private, len, stest.me),
		"%zu bytes were got to device memory", len);
	shmem_barrier_all();
	clear_area(len);
	put(ctx, area, device_private, len, stest.me);
	shmem_ctx_quiet(ctx);
	CHECK(dev_has(area, len, stest.me), "%zu bytes were put to the own PE",
		len);
	shmem_barrier_all();
	/* the source is symmetric as well */
	memset(sym, 0, len + GUARD);
	shmem_barrier_all();
	put(ctx, sym, area, len, stest_next());
	shmem_ctx_quiet(ctx);
	shmem_barrier_all();
	CHECK(has(sym, len, stest_before()), "%zu bytes to the host heap", len);
	get(ctx, area, sym, len, stest_next());
	shmem_ctx_quiet(ctx);
	CHECK(dev_has(area, len, stest.me), "%zu bytes from the host heap",
		len);
	shmem_barrier_all();
	free(mine);
}

static void scalars(void)
{
	set_words(2, -1);
	shmem_long_p(words, 100 + stest.me, stest_next());
	shmem_int_p((int *)(void *)(words + 1), 7, stest_next());
	shmem_barrier_all();
	CHECK(word(0) == 100 + stest_before(), "shmem_p: %ld", word(0));
	CHECK((int)word(1) == 7, "shmem_p of an int: %lx", word(1));
	CHECK(shmem_long_g(words, stest_next()) == 100 + stest.me, "shmem_g");
	CHECK(shmem_long_g(words, stest.me) == 100 + stest_before(),
		"shmem_g of the own PE");
	shmem_barrier_all();
}

static void strided(void)
{
	long from[64], got[64] = { 0 };
	bool is_right = true;

	for (int i = 0; i < 64; i++)
		from[i] = 1000 * stest.me + i;
	set_words(300, -1);
	shmem_long_iput(words, from, 3, 2, 20, stest_next());
	shmem_long_ibput(words + 100, from, 10, 5, 4, 6, stest_next());
	shmem_barrier_all();
	for (int i = 0; i < 60; i++)
		is_right &=
			word(i) ==
			(i % 3 || i > 57 ? -1
					 : 1000 * stest_before() + 2 * (i / 3));
	CHECK(is_right, "iput");
	for (int i = 0; i < 60; i++)
		is_right &= word(100 + i) ==
			    (i % 10 < 4 ? 1000 * stest_before() + 5 * (i / 10) +
						    i % 10
					: -1);
	CHECK(is_right, "ibput");
	shmem_long_iget(got, words, 2, 3, 20, stest_next());
	for (int i = 0; i < 40; i++)
		is_right &= got[i] == (i % 2 ? 0 : 1000 * stest.me + i);
	CHECK(is_right, "iget");
	shmem_barrier_all();
	/* in the opposite order, from device memory */
	device_put(device_private, from, sizeof(from));
	shmem_long_iput(words + 200, (long *)device_private + 19, 1, -1, 20,
		stest_next());
	shmem_barrier_all();
	for (int i = 0; i < 20; i++)
		is_right &= word(200 + i) == 1000 * stest_before() + 19 - i;
	CHECK(is_right, "iput in the opposite order");
	shmem_long_iget(got, words + 219, 1, -1, 20, stest_next());
	for (int i = 0; i < 20; i++)
		is_right &= got[i] == 1000 * stest.me + i;
	CHECK(is_right, "iget in the opposite order");
	shmem_barrier_all();
}

static void atomics(void)
{
	int next = stest_next();
	long fetched = -1, in_device = -1;
	float f;

	set_words(8, 0);
	for (int i = 0; i < 50; i++)
		for (int pe = 0; pe < stest.n; pe++)
			shmem_long_atomic_add(words, 1, pe);
	shmem_barrier_all();
	CHECK(word(0) == 50 * stest.n, "adds of all PEs: %ld", word(0));
	set_words(8, 12);
	CHECK(shmem_long_atomic_fetch_add(words, 5, next) == 12, "fetch_add");
	CHECK(shmem_long_atomic_fetch(words, next) == 17, "fetch");
	CHECK(shmem_long_atomic_swap(words, -3, next) == 17, "swap");
	CHECK(shmem_long_atomic_compare_swap(words, 5, 9, next) == -3,
		"compare_swap without a match");
	CHECK(shmem_long_atomic_compare_swap(words, -3, 9, next) == -3,
		"compare_swap");
	CHECK(shmem_uint_atomic_fetch_or(
		      (unsigned *)(void *)(words + 1), 3, next) == 12,
		"fetch_or");
	shmem_uint_atomic_xor((unsigned *)(void *)(words + 1), 5, next);
	shmem_uint_atomic_and((unsigned *)(void *)(words + 1), 14, next);
	shmem_int_atomic_inc((int *)(void *)(words + 1), next);
	shmem_float_atomic_set((float *)(void *)(words + 2), 2.5F, next);
	f = shmem_float_atomic_swap((float *)(void *)(words + 2), 1.5F, next);
	CHECK(f == 2.5F, "swap of a float: %f", (double)f);
	shmem_long_atomic_fetch_inc_nbi(&fetched, words + 3, next);
	device_put(device_private, &in_device, sizeof(in_device));
	shmem_long_atomic_fetch_add_nbi(device_private, words + 3, 4, next);
	shmem_quiet();
	device_get(&in_device, device_private, sizeof(in_device));
	CHECK(fetched == 12 && in_device == 13, "nbi fetches: %ld %ld", fetched,
		in_device);
	shmem_barrier_all();
	CHECK(word(0) == 9, "the word is %ld", word(0));
	CHECK((unsigned)word(1) == 11 && word(1) >> 32 == 0, "bits: %lx",
		word(1));
	CHECK(word(3) == 17, "after nbi fetches: %ld", word(3));
	shmem_barrier_all();
}

/* The data or the signal or both are in the external heap. */
static void signals(size_t len, bool is_nbi)
{
	void (*put)(void *, const void *, size_t, uint64_t *, uint64_t, int,
		int) = is_nbi ? shmem_putmem_signal_nbi : shmem_putmem_signal;
	uint64_t *dev_sig = (uint64_t *)(void *)(words + 9);

	clear_area(len);
	set_words(10, 5);
	host_sig = 5;
	memset(sym, 0, len + GUARD);
	shmem_barrier_all();
	fill(host, len, stest.me);
	put(area, host, len, &host_sig, 6, SHMEM_SIGNAL_ADD, stest_next());
	shmem_signal_wait_until(&host_sig, SHMEM_CMP_EQ, 11);
	CHECK(dev_has(area, len, stest_before()), "%zu bytes with a signal",
		len);
	shmem_barrier_all();
	fill(host, len, stest.me);
	put(sym, host, len, dev_sig, 8, SHMEM_SIGNAL_SET, stest_next());
	while (shmem_signal_fetch(dev_sig) != 8)
		;
	CHECK(has(sym, len, stest_before()),
		"%zu bytes with a signal in the external heap", len);
	shmem_barrier_all();
	clear_area(len);
	fill(host, len, stest.me);
	put(area, host, len, dev_sig, 2, SHMEM_SIGNAL_ADD, stest_next());
	while (shmem_signal_fetch(dev_sig) != 10)
		;
	CHECK(dev_has(area, len, stest_before()), "both in the external heap");
	shmem_barrier_all();
	shmem_signal_add(dev_sig, 3, stest_next());
	shmem_barrier_all();
	CHECK(shmem_signal_fetch(dev_sig) == 13, "signal_add");
	shmem_barrier_all();
}

/* A fence orders puts to both heaps. */
static void order(void)
{
	set_words(1, 0);
	host_sig = 0;
	shmem_barrier_all();
	for (long i = 1; i <= PUTS; i++) {
		shmem_uint64_p(&host_sig, (uint64_t)i, stest_next());
		shmem_fence();
		shmem_long_p(words, i, stest_next());
		shmem_fence();
		if (shmem_long_g(words, stest.me) >
			(long)*(volatile uint64_t *)&host_sig)
			CHECK(false, "the second put overtook the first");
	}
	shmem_barrier_all();
	CHECK(word(0) == PUTS && host_sig == PUTS, "the last puts");
	shmem_barrier_all();
}

static long *at(int i)
{
	return words + i;
}

static void collectives(void)
{
	long mine[8], sums = 0;
	bool is_right = true;
	const long n = stest.n;

	for (int i = 0; i < 8; i++)
		mine[i] = 10 * stest.me + i;
	set_words(WORDS, -1);
	device_put(at(0), mine, sizeof(mine));
	for (long pe = 0; pe < n; pe++)
		sums += 10 * pe;
	CHECK(!shmem_long_sum_reduce(SHMEM_TEAM_WORLD, at(8), at(0), 8),
		"sum_reduce");
	for (int i = 0; i < 8; i++)
		is_right &= word(8 + i) == sums + i * n;
	CHECK(is_right && word(16) == -1, "sums");
	CHECK(!shmem_long_max_reduce(SHMEM_TEAM_WORLD, at(8), at(8), 8),
		"max_reduce in place");
	CHECK(word(9) == sums + n, "maximum in place: %ld", word(9));
	CHECK(!shmem_long_broadcast(SHMEM_TEAM_WORLD, at(20), at(0), 8, 0),
		"broadcast");
	for (int i = 0; i < 8; i++)
		is_right &= word(20 + i) == i;
	CHECK(is_right && word(28) == -1, "broadcast of the root's data");
	CHECK(!shmem_long_fcollect(SHMEM_TEAM_WORLD, at(100), at(0), 8),
		"fcollect");
	CHECK(!shmem_long_collect(SHMEM_TEAM_WORLD, at(200), at(0),
		      (size_t)(stest.me % 2 + 1)),
		"collect");
	CHECK(!shmem_long_alltoall(SHMEM_TEAM_WORLD, at(300), at(100), 8),
		"alltoall");
	for (long pe = 0; pe < n; pe++)
		for (int i = 0; i < 8; i++)
			is_right &=
				word((int)(100 + 8 * pe + i)) == 10 * pe + i &&
				word((int)(300 + 8 * pe + i)) ==
					10 * stest.me + i;
	CHECK(is_right, "data of all PEs");
	CHECK(word(200) == 0 && (n < 2 || (word(201) == 10 && word(202) == 11)),
		"collected data");
	CHECK(!shmem_long_alltoalls(
		      SHMEM_TEAM_WORLD, at(400), at(100), 3, 2, 2),
		"alltoalls");
	for (int i = 0; i < 3 * n * 2; i++)
		is_right &= (word(400 + i) == -1) == (i % 3 != 0);
	CHECK(is_right, "alltoalls writes every third word");
	CHECK(!shmem_long_sum_exscan(SHMEM_TEAM_WORLD, at(30), at(0), 1) &&
			word(30) == 10 * (stest.me * (stest.me - 1) / 2),
		"exscan: %ld", word(30));
	/* one buffer in each heap */
	((long *)(void *)sym)[0] = 3;
	shmem_barrier_all();
	CHECK(!shmem_long_sum_reduce(
		      SHMEM_TEAM_WORLD, at(50), (long *)(void *)sym, 1) &&
			word(50) == 3 * n,
		"from the host heap: %ld", word(50));
	CHECK(!shmem_long_sum_reduce(
		      SHMEM_TEAM_WORLD, (long *)(void *)sym, at(50), 1) &&
			((long *)(void *)sym)[0] == 3 * n * n,
		"to the host heap");
	shmem_barrier_all();
}

/* The PE computes while other PEs access its memory. */
static void busy(void)
{
	set_words(1, 0);
	if (stest.me) {
		shmem_long_p(words, stest.me, 0);
		shmem_uint64_p(&host_sig, 77, 0);
	} else if (stest.n > 1) {
		while (*(volatile uint64_t *)&host_sig != 77)
			;
		CHECK(word(0) > 0, "the put arrived meanwhile");
	}
	shmem_barrier_all();
}

/* The CPU loads what the previous PE has put, and stores what it gets. */
static void cpu_access(void)
{
	set_words(2, 0);
	words[1] = 50 + stest.me;
	shmem_barrier_all();
	shmem_long_p(words, 40 + stest.me, stest_next());
	CHECK(shmem_long_g(words + 1, stest_next()) == 50 + stest_next(),
		"a word that the CPU has stored");
	shmem_barrier_all();
	CHECK(words[0] == 40 + stest_before(), "the CPU loads %ld", words[0]);
	shmem_barrier_all();
}

static void team(void)
{
	shmem_team_t half = SHMEM_TEAM_INVALID;
	int n = shmem_team_n_pes(SHMEMX_TEAM_NODE), n_here = 0;
	char name[sizeof(node_name)];

	gethostname(node_name, sizeof(node_name));
	shmem_barrier_all();
	for (int pe = 0; pe < stest.n; pe++) {
		bool is_here;

		shmem_getmem(name, node_name, sizeof(name), pe);
		is_here = !memcmp(name, node_name, sizeof(name));
		CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe,
			      SHMEMX_TEAM_NODE) == (is_here ? n_here : -1),
			"translate_pe of %d", pe);
		if (pe == stest.me)
			CHECK(shmem_team_my_pe(SHMEMX_TEAM_NODE) == n_here,
				"my PE");
		n_here += is_here;
	}
	CHECK(n == n_here, "%d PEs on the node, not %d", n, n_here);
	CHECK(!shmem_team_sync(SHMEMX_TEAM_NODE), "team_sync");
	CHECK(!shmem_team_split_strided(
		      SHMEMX_TEAM_NODE, 0, 1, n, NULL, 0, &half),
		"a team of the node's PEs");
	shmem_team_destroy(half);
}

static void inquiries(void)
{
	CHECK(shmem_addr_accessible(area, stest_next()), "addr_accessible");
	CHECK(!shmem_ptr(area, stest_next()) && !shmem_ptr(area, stest.me),
		"shmem_ptr is NULL");
	CHECK(!shmem_addr_accessible(device_private, 0),
		"other device memory is not accessible");
	shmem_putmem(area, host, 0, stest_next());
	shmem_getmem(host, area, 0, stest_next());
}

static void work(void)
{
	shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;

	inquiries();
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		moves(SHMEM_CTX_DEFAULT, lens[i], false);
		moves(SHMEM_CTX_DEFAULT, lens[i], true);
	}
	CHECK(!shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx), "a context");
	moves(ctx, 8, false);
	moves(ctx, MAX, true);
	shmem_ctx_destroy(ctx);
	scalars();
	strided();
	atomics();
	for (int i = 0; i < 2; i++) {
		signals(0, i);
		signals(8, i);
		signals(PIECE + 1, i);
	}
	order();
	collectives();
	busy();
	if (is_managed)
		cpu_access();
	team();
}

/* Faults before and while the heap is created. */
static void fault_early(const char *kind, char *dev)
{
	const int type = heap_type();

	if (!strcmp(kind, "null"))
		shmemx_heap_create(NULL, 64, type, 0);
	if (!strcmp(kind, "zero"))
		shmemx_heap_create(dev, 0, type, 0);
	if (!strcmp(kind, "type"))
		shmemx_heap_create(dev, 64, 9, 0);
	if (!strcmp(kind, "vendor"))
		shmemx_heap_create(dev, 64, (type + 1) % 3, 0);
	if (!strcmp(kind, "host"))
		shmemx_heap_create(host, 64, type, 0);
	if (!strcmp(kind, "long"))
		shmemx_heap_create(dev, (size_t)1 << 40, type, 0);
	if (!strcmp(kind, "wrap"))
		shmemx_heap_create(dev, SIZE_MAX, type, 0);
	if (!strcmp(kind, "sizes"))
		shmemx_heap_create(dev, 64 + (size_t)stest.me, type, 0);
	if (!strcmp(kind, "some") && !stest.me)
		shmemx_heap_create(dev, 64, type, 0);
	if (!strcmp(kind, "sizes") || !strcmp(kind, "some"))
		shmemx_heap_postinit();
	if (!strcmp(kind, "preinit"))
		shmemx_heap_preinit();
	if (!strcmp(kind, "twice"))
		shmemx_heap_create(dev, 64, type, 0),
			shmemx_heap_create(dev, 64, type, 0);
}

static void fault_late(const char *kind, char *dev)
{
	int next = stest_next();
	long one = 1;

	if (!strcmp(kind, "late"))
		shmemx_heap_create(dev, 64, SHMEMX_EXTERNAL_HEAP_CUDA, 0);
	if (!strcmp(kind, "postinit"))
		shmemx_heap_postinit();
	if (!strcmp(kind, "end"))
		shmem_putmem(dev + SIZE - 4, host, 8, next);
	if (!strcmp(kind, "g"))
		(void)shmem_long_g((long *)(void *)(dev + SIZE - 4), next);
	if (!strcmp(kind, "amo"))
		shmem_long_atomic_inc((long *)(void *)(dev + SIZE - 4), next);
	if (!strcmp(kind, "reduce"))
		shmem_long_sum_reduce(
			SHMEM_TEAM_WORLD, words, words, WORDS + 9);
	if (!strcmp(kind, "outside"))
		shmem_long_put(device_private, &one, 1, next);
	if (!strcmp(kind, "lock"))
		shmem_set_lock(words);
	if (!strcmp(kind, "wait"))
		shmem_long_wait_until(words, SHMEM_CMP_EQ, 0);
	if (!strcmp(kind, "signal"))
		shmem_signal_wait_until(
			(uint64_t *)(void *)words, SHMEM_CMP_EQ, 0);
	if (!strcmp(kind, "free"))
		shmem_free(area);
	if (!strcmp(kind, "freed"))
		device_free(dev), shmem_long_put(words, &one, 1, stest.me);
	CHECK(false, "%s is an error, but the program continues", kind);
}

static char *new_heap(void)
{
	/* the bases of the PEs differ */
	const size_t len = SIZE + 4096 * (size_t)stest.n;

	return is_managed ? device_new_shared(len) : device_new(NULL, len);
}

static void open_heap(char **dev, const char *kind, size_t shift)
{
	int provided = -1;

	if (kind && !strcmp(kind, "before"))
		shmemx_heap_create(&host_sig, 8, SHMEMX_EXTERNAL_HEAP_CUDA, 0);
	if (kind && !strcmp(kind, "never"))
		shmemx_heap_postinit();
	if (shift)
		shmemx_heap_preinit();
	else
		CHECK(!shmemx_heap_preinit_thread(
			      SHMEM_THREAD_MULTIPLE, &provided) &&
				provided == SHMEM_THREAD_MULTIPLE,
			"provided is %d", provided);
	stest_set_pe();
	CHECK(shmemx_heap_preinit_thread(SHMEM_THREAD_SINGLE, &provided),
		"a second preinit fails");
	if (!device_load())
		return;
	*dev = new_heap();
	if (kind)
		fault_early(kind, *dev);
	*dev += shift * (size_t)stest.me;
	shmemx_heap_create(*dev, SIZE, heap_type(), 0);
	shmemx_heap_postinit();
}

/* False if there is no driver of a device. */
static bool run(const char *kind, size_t shift)
{
	char *dev = NULL;

	open_heap(&dev, kind, shift);
	if (dev) {
		area = (unsigned char *)dev;
		words = (long *)(void *)(dev + MAX + GUARD + 3);
		sym = shmem_malloc(MAX + GUARD);
		device_private = device_new(NULL, MAX + GUARD);
		if (kind)
			fault_late(kind, dev);
		work();
		device_free(device_private);
		shmem_free(sym);
	}
	shmem_finalize();
	if (dev)
		device_free(dev - shift * (size_t)stest.me);
	return dev != NULL;
}

/* Without shmemx_heap_create() there is no external heap. */
static void run_without(void)
{
	static long counter;

	shmemx_heap_preinit();
	shmemx_heap_postinit();
	shmem_long_atomic_inc(&counter, 0);
	shmem_barrier_all();
	CHECK(stest.me || counter == stest.n, "the counter is %ld", counter);
	team();
	shmem_finalize();
}

int main(int argc, char **argv)
{
	const char *kind = stest_arg(argc, argv, "fault");

	is_managed = stest_arg(argc, argv, "heap");
	(void)device_library();
	stest_start(argv[0]);
	host = malloc(SIZE);
	if (run(kind, 0))
		run(NULL, 4096);
	else if (kind) {
		printf("# SKIP %s: there is no driver of a device\n",
			stest.name);
		return SKIP;
	}
	run_without();
	free(host);
	return stest.n_failed != 0;
}
