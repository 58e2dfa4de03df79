/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn_windows: processes of several jobs on one node have shared windows
 *
 * MPI_COMM_TYPE_SHARED puts all processes with the same processor name into one
 * communicator, whatever job they belong to. children= is the size of the
 * spawned job, jobs= the number of jobs, each spawned by all jobs before it.
 * The memory of a job that has ended is freed. */
#include "mappings.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TURNS = 3, MOST = 32, LEN = 40000 };

static MPI_T_pvar_session session;
static MPI_T_pvar_handle segment_memory;

static void open_pvar(void)
{
	int provided, index = -1, count;

	OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
	OK(MPI_T_pvar_session_create(&session));
	OK(MPI_T_pvar_get_index(
		"segment_memory", MPI_T_PVAR_CLASS_LEVEL, &index));
	OK(MPI_T_pvar_handle_alloc(
		session, index, NULL, &segment_memory, &count));
}

static void close_pvar(void)
{
	OK(MPI_T_pvar_session_free(&session));
	OK(MPI_T_finalize());
}

static unsigned long long n_segment_bytes(void)
{
	unsigned long long value = 0;

	OK(MPI_T_pvar_read(session, segment_memory, &value));
	return value;
}

static int uses_shm(void)
{
	const char *shm = getenv("WEFT_SHM");

	return !shm || strcmp(shm, "off");
}

/* Returns the number of members with the processor name of this process. */
static int n_neighbours(MPI_Comm comm)
{
	char mine[MPI_MAX_PROCESSOR_NAME] = "", *all;
	int len = 0, size = 0, n = 0;

	OK(MPI_Comm_size(comm, &size));
	OK(MPI_Get_processor_name(mine, &len));
	all = mtest_alloc((size_t)size * sizeof(mine));
	OK(MPI_Allgather(mine, sizeof(mine), MPI_CHAR, all, sizeof(mine),
		MPI_CHAR, comm));
	for (int i = 0; i < size; i++)
		n += strcmp(mine, all + (size_t)i * sizeof(mine)) == 0;
	free(all);
	return n;
}

/* A member's part has rank + 1 words; member 1 has none. */
static int n_words_of(int rank)
{
	return rank == 1 ? 0 : rank + 1;
}

static void check_parts(MPI_Win win, int size, int first)
{
	for (int i = 0; i < size; i++) {
		MPI_Aint len = -1;
		int unit = -1, *part = NULL;

		OK(MPI_Win_shared_query(win, i, &len, &unit, &part));
		CHECK(len == n_words_of(i) * (MPI_Aint)sizeof(int) &&
				unit == sizeof(int),
			"the part of rank %d has %lld bytes", i,
			(long long)len);
		for (int k = 0; k < n_words_of(i); k++)
			CHECK(part[k] == first + 100 * i + k,
				"word %d of rank %d is %d", k, i, part[k]);
	}
}

/* Members store into their own parts, then put into the last member's part. */
static void check_shared(MPI_Comm node, int rank, int size)
{
	int last = size - 1, *mine = NULL, value = 0, one = 1, sum = -1;
	MPI_Win win;

	if (!OK(MPI_Win_allocate_shared(
		    n_words_of(rank) * (MPI_Aint)sizeof(int), sizeof(int),
		    MPI_INFO_NULL, node, &mine, &win)))
		return;
	OK(MPI_Win_fence(0, win));
	for (int k = 0; k < n_words_of(rank); k++)
		mine[k] = 7 + 100 * rank + k;
	OK(MPI_Win_fence(0, win));
	check_parts(win, size, 7);
	OK(MPI_Win_fence(0, win));
	if (last != 1) {
		value = 7 + 100 * last;
		OK(MPI_Put(&value, 1, MPI_INT, last, 0, 1, MPI_INT, win));
	}
	OK(MPI_Win_fence(0, win));
	check_parts(win, size, 7);
	OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
	OK(MPI_Win_lock_all(0, win));
	OK(MPI_Fetch_and_op(&one, &sum, MPI_INT, 0, 0, MPI_SUM, win));
	OK(MPI_Win_flush(0, win));
	CHECK(sum >= 7 && sum < 7 + size, "the counter was %d", sum);
	OK(MPI_Win_unlock_all(win));
	OK(MPI_Barrier(node));
	OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
	OK(MPI_Get(&sum, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
	OK(MPI_Win_unlock(0, win));
	CHECK(sum == 7 + size, "all members have counted: %d", sum);
	OK(MPI_Win_free(&win));
}

/* The collectives of a communicator on one node use a shared segment. */
static void check_segment(MPI_Comm node, int size)
{
	unsigned long long before = n_segment_bytes();
	int one = 1, sum = 0;

	for (int i = 0; i < 8; i++) {
		OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, node));
		CHECK(sum == size, "all %d members contribute: %d", size, sum);
	}
	CHECK(size == 1 || !uses_shm() || n_segment_bytes() > before,
		"the communicator has a segment");
}

/* Windows and collectives with members of all jobs, on all nodes. */
static void check_all(MPI_Comm merged, int rank, int size)
{
	int *mine = NULL, *out = mtest_alloc(LEN * sizeof(int)), next;
	MPI_Win win;

	next = (rank + 1) % size;
	for (int i = 0; i < 8; i++) {
		int root = i % size;

		for (int k = 0; k < LEN; k++)
			out[k] = rank == root ? k + i : -1;
		OK(MPI_Bcast(out, LEN, MPI_INT, root, merged));
		CHECK(out[0] == i && out[LEN - 1] == LEN - 1 + i,
			"the data of root %d has arrived", root);
	}
	if (!OK(MPI_Win_allocate(LEN * sizeof(int), sizeof(int), MPI_INFO_NULL,
		    merged, &mine, &win))) {
		free(out);
		return;
	}
	for (int k = 0; k < LEN; k++)
		out[k] = rank * LEN + k;
	OK(MPI_Win_fence(0, win));
	OK(MPI_Put(out, LEN, MPI_INT, next, 0, LEN, MPI_INT, win));
	OK(MPI_Win_fence(0, win));
	for (int k = 0; k < LEN; k += LEN - 1)
		CHECK(mine[k] == (rank + size - 1) % size * LEN + k,
			"word %d of the neighbour is %d", k, mine[k]);
	OK(MPI_Win_free(&win));
	free(out);
}

static void check_inter(MPI_Comm inter)
{
	int local = 0, remote = 0;
	MPI_Comm comm;

	OK(MPI_Comm_split_type(
		inter, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
	if (!CHECK(comm != MPI_COMM_NULL, "both jobs have processes here"))
		return;
	OK(MPI_Comm_size(comm, &local));
	OK(MPI_Comm_remote_size(comm, &remote));
	CHECK(local > 0 && remote > 0, "both sides have members: %d, %d", local,
		remote);
	OK(MPI_Comm_free(&comm));
}

/* Merges the jobs of inter. The caller frees the result. */
static MPI_Comm meet(MPI_Comm inter, int is_new)
{
	int rank = -1, size = 0, near = 0, place = -1, n;
	MPI_Comm merged, node;
	MPI_Win win;
	void *base;

	OK(MPI_Intercomm_merge(inter, is_new, &merged));
	OK(MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN));
	OK(MPI_Comm_rank(merged, &rank));
	OK(MPI_Comm_size(merged, &size));
	OK(MPI_Comm_split_type(
		merged, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
	OK(MPI_Comm_size(node, &near));
	OK(MPI_Comm_rank(node, &place));
	n = n_neighbours(merged);
	CHECK(near == n, "%d of the %d processes of this node are together",
		near, n);
	check_shared(node, place, near);
	check_segment(node, near);
	if (near == size)
		check_shared(merged, rank, size);
	else
		FAILS(MPI_Win_allocate_shared(
			      8, 1, MPI_INFO_NULL, merged, &base, &win),
			MPI_ERR_RMA_SHARED);
	check_all(merged, rank, size);
	check_inter(inter);
	OK(MPI_Comm_disconnect(&node));
	return merged;
}

/* The processes of all jobs, also those of comm, spawn the job `generation`.
 * Returns the intercommunicator, or MPI_COMM_NULL. */
static MPI_Comm spawn_job(
	MPI_Comm comm, char *program, int children, int generation, int jobs)
{
	char text[4][32];
	char *args[] = { text[0], text[1], text[2], NULL };
	MPI_Comm inter;
	int rc;

	snprintf(text[0], sizeof(text[0]), "children=%d", children);
	snprintf(text[1], sizeof(text[1]), "generation=%d", generation);
	snprintf(text[2], sizeof(text[2]), "jobs=%d", jobs);
	rc = MPI_Comm_spawn(program, args, children, MPI_INFO_NULL, 0, comm,
		&inter, MPI_ERRCODES_IGNORE);
	if (mtest_class(rc) == MPI_ERR_SPAWN && !getenv("WEFT_JOB"))
		mtest_skip("this launcher starts no further processes");
	return OK(rc) ? inter : MPI_COMM_NULL;
}

/* Spawns the next job and merges it with comm, until there are `jobs` jobs.
 * Frees comm unless it is MPI_COMM_WORLD. */
static void grow(
	MPI_Comm comm, char *program, int children, int generation, int jobs)
{
	while (++generation < jobs) {
		MPI_Comm inter =
			spawn_job(comm, program, children, generation, jobs);
		MPI_Comm merged;

		if (inter == MPI_COMM_NULL)
			break;
		merged = meet(inter, 0);
		OK(MPI_Comm_disconnect(&inter));
		if (comm != MPI_COMM_WORLD)
			OK(MPI_Comm_disconnect(&comm));
		comm = merged;
	}
	if (comm != MPI_COMM_WORLD)
		OK(MPI_Comm_disconnect(&comm));
}

/* Two jobs meet TURNS times. */
static void meet_again(char *program, int children)
{
	int first = 0;

	for (int i = 0; i < TURNS; i++) {
		MPI_Comm inter =
			spawn_job(MPI_COMM_WORLD, program, children, 1, 2);
		MPI_Comm merged;
		pid_t pids[MOST] = { 0 };
		int rank = -1, size = 0, n;

		if (inter == MPI_COMM_NULL)
			return;
		merged = meet(inter, 0);
		OK(MPI_Comm_rank(merged, &rank));
		OK(MPI_Comm_size(merged, &size));
		pids[rank] = getpid();
		OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, pids,
			sizeof(*pids), MPI_BYTE, merged));
		n = n_mappings();
		OK(MPI_Comm_disconnect(&inter));
		OK(MPI_Comm_disconnect(&merged));
		first = i ? first : n;
		CHECK(n <= first,
			"the memory of the first job was freed: %d mappings, "
			"%d in the first turn",
			n, first);
		for (int k = size - children; k < size; k++)
			while (!kill(pids[k], 0) || errno != ESRCH)
				usleep(1000);
	}
}

/* A spawned process takes part in the pids of meet_again(). */
static void send_pid(MPI_Comm merged)
{
	pid_t pids[MOST] = { 0 };
	int rank = -1;

	OK(MPI_Comm_rank(merged, &rank));
	pids[rank] = getpid();
	OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, pids,
		sizeof(*pids), MPI_BYTE, merged));
}

int main(int argc, char **argv)
{
	int children = (int)mtest_arg(argc, argv, "children", 2);
	int generation = (int)mtest_arg(argc, argv, "generation", 0);
	int jobs = (int)mtest_arg(argc, argv, "jobs", 2);
	MPI_Comm parent, merged;

	mtest_init(&argc, &argv);
	open_pvar();
	OK(MPI_Comm_get_parent(&parent));
	if (parent != MPI_COMM_NULL) {
		merged = meet(parent, 1);
		if (jobs == 2)
			send_pid(merged);
		OK(MPI_Comm_disconnect(&parent));
		grow(merged, argv[0], children, generation, jobs);
	} else if (jobs == 2) {
		meet_again(argv[0], children);
	} else {
		grow(MPI_COMM_WORLD, argv[0], children, 0, jobs);
	}
	close_pvar();
	return mtest_finish();
}
