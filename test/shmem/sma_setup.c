/* SPDX-License-Identifier: BSD-3-Clause */
/* sma_setup: initialization and finalization, twice; environment variables; a
 * global exit
 *
 * Without arguments, SHMEM is initialized and finalized twice at each level of
 * threads. Arguments:
 * size=TEXT wants=BYTES: TEXT is the size of the heap, BYTES in bytes; 0: TEXT
 * is not valid.
 * fault=KIND: one wrong argument ends the program.
 * exit=CODE: the last PE ends the job with CODE; with of=all every PE does, and
 * with of=busy PE 0 makes no call meanwhile. */
#include "stest.h"

#include <mpp/shmem.h>

static int global_number = 4711;

/* The names that procedures had before they began with shmem_. */
static void old_names(void)
{
	char *p = shmalloc(100), *q = shmemalign(4096, 100);

	CHECK(_my_pe() == shmem_my_pe() && _num_pes() == shmem_n_pes(),
		"the old names return PE and size: %d of %d", _my_pe(),
		_num_pes());
	if (!CHECK(p && q && (uintptr_t)q % 4096 == 0,
		    "malloc and align return memory: %p, %p", (void *)p,
		    (void *)q))
		return;
	strcpy(p, "kept");
	p = shrealloc(p, 100000);
	CHECK(p && !strcmp(p, "kept") &&
			shmem_addr_accessible(p + 99999, stest_next()),
		"memory that has grown");
	shfree(q);
	shfree(p);
}

static void once(int level)
{
	char name[SHMEM_MAX_NAME_LEN];
	int provided = -1, major = 0, minor = 0, is_open = 0;
	long *p;

	shmem_query_initialized(&is_open);
	CHECK(!is_open, "SHMEM is not initialized");
	CHECK(shmem_init_thread(level, &provided) == 0 && provided >= level,
		"the level is at least %d, got %d", level, provided);
	stest_set_pe();
	shmem_init();
	shmem_query_initialized(&is_open);
	CHECK(is_open, "SHMEM is initialized");
	shmem_query_thread(&provided);
	CHECK(provided >= level, "shmem_query_thread returns the level");
	shmem_info_get_version(&major, &minor);
	shmem_info_get_name(name);
	CHECK(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION &&
			major == 1 && minor == 6 &&
			!strcmp(name, SHMEM_VENDOR_STRING),
		"version and name are those of shmem.h: %d.%d of %s", major,
		minor, name);
	CHECK(shmem_pe_accessible(0) && shmem_pe_accessible(stest.n - 1) &&
			!shmem_pe_accessible(stest.n) &&
			!shmem_pe_accessible(-1),
		"shmem_pe_accessible is right");
	shmem_pcontrol(1, "ignored");
	old_names();
	p = shmem_malloc(sizeof(*p));
	shmem_finalize();
	shmem_p(p, 1234L, stest_next());
	global_number = 1;
	shmem_barrier_all();
	CHECK(*p == 1234, "SHMEM is initialized until the second finalize");
	shmem_finalize();
	shmem_query_initialized(&is_open);
	CHECK(!is_open, "SHMEM is finalized");
	CHECK(global_number == 1, "variables keep their values");
	global_number = 4711;
}

static void sized(const char *text, const char *wants)
{
	size_t want = strtoul(wants, NULL, 0);
	char *p;

	setenv("SHMEM_SYMMETRIC_SIZE", text, 1);
	setenv("SMA_SYMMETRIC_SIZE", "nonsense", 1);
	CHECK(want || shmem_init_thread(SHMEM_THREAD_SINGLE, NULL) != 0,
		"a size of \"%s\" is an error", text);
	if (!want)
		return;
	CHECK(shmem_init_thread(SHMEM_THREAD_SINGLE, NULL) == 0,
		"shmem_init_thread succeeds");
	p = shmem_malloc(want - want / 8);
	CHECK(p, "a heap of %s has %zu bytes", text, want);
	CHECK(!shmem_malloc(want), "the heap is not twice that size");
	p[want - want / 8 - 1] = 1;
	shmem_finalize();
}

static void fault(const char *kind)
{
	int local = 0;

	shmem_init();
	if (!strcmp(kind, "pe"))
		shmem_int_p(&global_number, 1, 1000);
	if (!strcmp(kind, "address"))
		shmem_int_p(&local, 1, 0);
	if (!strcmp(kind, "length"))
		shmem_int_put(&global_number, &local, 1u << 28, 0);
	if (!strcmp(kind, "ctx"))
		shmem_ctx_quiet((shmem_ctx_t)&local);
	if (!strcmp(kind, "team"))
		shmem_team_sync((shmem_team_t)&local);
	if (!strcmp(kind, "closed"))
		shmem_finalize(), shmem_barrier_all();
	CHECK(false, "%s is an error, but the program continues", kind);
	shmem_finalize();
	exit(0);
}

static void end_job(int code, const char *of)
{
	volatile bool is_busy = !strcmp(of, "busy");

	start_pes(0);
	if (!strcmp(of, "all") || shmem_my_pe() == shmem_n_pes() - 1)
		shmem_global_exit(code);
	if (shmem_my_pe() == 0)
		while (is_busy)
			;
	for (;;)
		shmem_barrier_all();
}

int main(int argc, char **argv)
{
	const char *code = stest_arg(argc, argv, "exit");
	const char *of = stest_arg(argc, argv, "of");
	const char *size = stest_arg(argc, argv, "size");

	stest_start(argv[0]);
	if (stest_arg(argc, argv, "fault"))
		fault(stest_arg(argc, argv, "fault"));
	if (size)
		sized(size, stest_arg(argc, argv, "wants"));
	if (code)
		end_job(atoi(code), of ? of : "last");
	if (!size)
		for (int level = SHMEM_THREAD_SINGLE;
			level <= SHMEM_THREAD_MULTIPLE; level++)
			once(level);
	return stest.n_failed != 0;
}
