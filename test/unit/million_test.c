/* SPDX-License-Identifier: BSD-3-Clause */
/* million_test: one process of a job of 1,000,000, whose other processes do not
 * exist
 *
 * Opening a session, creating a group of all processes and translating ranks
 * must cost the same as in a job of two, and communicate with no process. The
 * memory for failures is that of the few members that have failed. */
#include "core/group.h"
#include "era/era.h"
#include "p2p/p2p_priv.h"
#include "transport/proc.h"
#include "test/fake/fakeboot.h"

#include <mpi.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Sanitizers allocate memory of their own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum {
	MAX_PRIVATE_KB = 1 << 30,
	MAX_GROWTH_KB = 1 << 30,
	MAX_FAILURES_KB = 1 << 30
};
#else
enum { MAX_PRIVATE_KB = 10 * 1024, MAX_GROWTH_KB = 512, MAX_FAILURES_KB = 64 };
#endif

enum { JOB_SIZE = 1000000, MY_RANK = 777777, NODE_SIZE = 128 };
/* Private memory of this process in KiB, without unmodified pages of files. */
static long private_kb(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	char line[256];
	long total = 0, kb;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "Private_Dirty: %ld kB", &kb) == 1)
			total += kb;
	fclose(file);
	return total;
}

static void a_session_is_opened_without_asking(void **state)
{
	MPI_Session session;
	MPI_Group group, mine;
	int size, rank, in[3] = { 0, MY_RANK, JOB_SIZE - 1 }, out[3];
	long before, after;

	(void)state;
	assert_int_equal(
		MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session),
		MPI_SUCCESS);
	before = private_kb();
	assert_int_equal(
		MPI_Group_from_session_pset(session, "mpi://WORLD", &group),
		MPI_SUCCESS);
	assert_int_equal(MPI_Group_size(group, &size), MPI_SUCCESS);
	assert_int_equal(size, JOB_SIZE);
	assert_int_equal(MPI_Group_rank(group, &rank), MPI_SUCCESS);
	assert_int_equal(rank, MY_RANK);
	assert_int_equal(MPI_Group_excl(group, 1, &in[0], &mine), MPI_SUCCESS);
	assert_int_equal(MPI_Group_translate_ranks(group, 3, in, mine, out),
		MPI_SUCCESS);
	assert_int_equal(out[0], MPI_UNDEFINED);
	assert_int_equal(out[1], MY_RANK - 1);
	assert_int_equal(out[2], JOB_SIZE - 2);
	after = private_kb();
	print_message("# grew by %ld KiB\n", after - before);
	assert_true(after - before < MAX_GROWTH_KB);
	assert_int_equal(fakeboot_counts()->n_get, 0);
	assert_int_equal(fakeboot_counts()->n_fence, 0);
	assert_int_equal(fakeboot_counts()->n_put, 1);
	print_message("# private memory %ld KiB\n", after);
	assert_true(after < MAX_PRIVATE_KB);
	MPI_Group_free(&mine);
	MPI_Group_free(&group);
	assert_int_equal(MPI_Session_finalize(&session), MPI_SUCCESS);
}

static void all_ranks_are_one_run(void **state)
{
	struct weft_group *all;

	(void)state;
	assert_int_equal(
		weft_group_create_range(5ull << 32, JOB_SIZE, &all), 0);
	assert_int_equal(all->n_runs, 1);
	assert_true(weft_group_proc(all, 999999) == (5ull << 32 | 999999));
	assert_int_equal(weft_group_rank_of(all, 5ull << 32 | 123456), 123456);
	assert_int_equal(weft_group_rank_of(all, 6ull << 32), WEFT_UNDEFINED);
	weft_group_put(all);
}

/* A communicator has nothing for members that have not departed. */
static void departed_members_are_few(void **state)
{
	enum { STEP = 5000 };
	struct weft_comm comm = { .remote_size = JOB_SIZE };
	long before = private_kb(), after;

	(void)state;
	for (int32_t i = 0; i < JOB_SIZE; i += STEP)
		assert_true(weft_departed_set(&comm, i,
			i / STEP % 2 ? WEFT_ERR_PEER : WEFT_DEPARTED));
	assert_true(weft_departed_set(&comm, 1, WEFT_DEPARTED_WATCHED));
	after = private_kb();
	print_message("# grew by %ld KiB\n", after - before);
	assert_true(after - before < MAX_FAILURES_KB);
	for (int32_t i = 0; i < JOB_SIZE; i += STEP)
		assert_true(weft_p2p_has_departed(&comm, (uint32_t)i));
	assert_false(weft_p2p_has_departed(&comm, 1));
	assert_false(weft_p2p_has_departed(&comm, JOB_SIZE - 1));
	weft_map_fini(&comm.p2p.departed);
}

static void send_nothing(void *arg, uint32_t to, const struct weft_era_msg *msg)
{
	(void)to;
	*(uint32_t *)arg += msg->deaths.n;
}

static uint64_t no_word(void *arg)
{
	(void)arg;
	return 1;
}

/* The memory of an agreement that is written is that of the dead members. */
static void an_agreement_knows_few_deaths(void **state)
{
	enum { STEP = 20000, N_DEAD = JOB_SIZE / STEP };
	static const struct weft_era_ops ops = { send_nothing, no_word };
	struct weft_era *era = calloc(1, weft_era_size(JOB_SIZE));
	uint32_t n_sent = 0, awaited;
	long before = private_kb(), after;

	(void)state;
	assert_non_null(era);
	weft_era_init(era, JOB_SIZE, 1);
	for (uint32_t rank = 0; rank < JOB_SIZE; rank += STEP)
		weft_era_died(era, rank, &ops, &n_sent);
	assert_int_equal(weft_era_start(era, 0, 1, NULL, 0, &ops, &n_sent), 1);
	weft_era_died(era, JOB_SIZE - 1, &ops, &n_sent);
	after = private_kb();
	print_message("# grew by %ld KiB\n", after - before);
	assert_true(after - before < MAX_FAILURES_KB);
	/* rank 1 is the root, and asks others again */
	assert_true(n_sent > N_DEAD);
	assert_int_equal(weft_era_awaited(era, &awaited, 1), 1);
	free(era);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_is_opened_without_asking),
		cmocka_unit_test(all_ranks_are_one_run),
		cmocka_unit_test(departed_members_are_few),
		cmocka_unit_test(an_agreement_knows_few_deaths),
	};

	setenv("FI_TCP_IFACE", "lo", 0);
	/* tcp of libfabric 2 allocates 1024 such buffers, of 16 KiB by default;
	 * only the library's own memory is counted here */
	setenv("FI_TCP_MAX_RX_SIZE", "1024", 0);
	fakeboot_set_job(MY_RANK, JOB_SIZE, NODE_SIZE);
	weft_proc.open_boot = fakeboot_open;
	return cmocka_run_group_tests_name("million", tests, NULL, NULL);
}
