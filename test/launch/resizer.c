/* SPDX-License-Identifier: BSD-3-Clause */
/* resizer: a job that changes its size, through PMIx
 *
 * Usage: resizer MODE [ROUNDS], for test/launch/resize.test
 *   world    each process prints the sizes of its process sets; rank 0 grows
 *            the job by 2 and completes the change
 *   refused  rank 0 sends requests that the launcher must refuse
 *   cancel   rank 0 grows the job by 1, and cancels
 *   die      the process that joins kills itself; rank 0 cancels
 *   gone     the same, but the process that joins cannot be started
 *   end      rank 0 grows the job by 2, and exits
 *   hang     rank 0 grows the job by 1, and all processes wait for their end
 *   offer    rank 0 accepts offers until one process is left
 *   idle     waits until the launcher offers a process, and exits
 *   cycle    ROUNDS times, rank 0 grows the job by 1 and shrinks it by 1
 */
#include "base/clock.h"
#include "pmix/pmix_codec.h"

#include <mpi.h>

#include <dirent.h>
#include <pmix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DEADLINE_S = 100, SET_MAX = 64 };

static pmix_proc_t me;
static MPI_Session session;

static void fail(const char *what)
{
	printf("rank %u: %s\n", me.rank, what);
	fflush(stdout);
	_exit(99);
}

static void claim(int is_true, const char *what)
{
	if (!is_true)
		fail(what);
}

static void nap(void)
{
	struct timespec ts = { .tv_nsec = 5000000 };

	nanosleep(&ts, NULL);
}

/* Sends a request to the launcher. Copies the name of the new set to set and
 * returns the status of the answer. */
static int request(const char *key, int delta, const char *name, char *set)
{
	pmix_info_t info[2], *results = NULL;
	size_t n = 0;
	int status = 0;
	pmix_status_t rc;

	if (key) {
		PMIX_INFO_LOAD(&info[n++], key, name, PMIX_STRING);
	} else {
		PMIX_INFO_LOAD(
			&info[n++], WEFT_PMIX_RESIZE_DELTA, &delta, PMIX_INT);
		PMIX_INFO_LOAD(
			&info[n++], WEFT_PMIX_RESIZE_PSET, name, PMIX_STRING);
	}
	rc = PMIx_Allocation_request(PMIX_ALLOC_EXTEND, info, n, &results, &n);
	if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
		return rc;
	for (size_t i = 0; i < n; i++) {
		const pmix_value_t *value = &results[i].value;

		if (PMIX_CHECK_KEY(&results[i], WEFT_PMIX_RESIZE_STATUS) &&
			value->type == PMIX_INT)
			status = value->data.integer;
		if (PMIX_CHECK_KEY(&results[i], WEFT_PMIX_RESIZE_PSET))
			snprintf(set, SET_MAX, "%s", value->data.string);
		if (PMIX_CHECK_KEY(&results[i], WEFT_PMIX_RESIZE_WHY))
			printf("refused: %s\n", value->data.string);
	}
	if (results)
		PMIX_INFO_FREE(results, n);
	return status;
}

static int ask(int delta, const char *now, char *set)
{
	return request(NULL, delta, now, set);
}

/* Reads the launcher's offer, and the set of the members now. */
static int query(char *set)
{
	char *keys[] = { (char *)(uintptr_t)WEFT_PMIX_RESIZE_OFFER, NULL };
	pmix_query_t question = { .keys = keys };
	pmix_info_t *results = NULL;
	size_t n = 0;
	int offer = 0;

	claim(PMIx_Query_info(&question, 1, &results, &n) == PMIX_SUCCESS,
		"the query of the offer fails");
	for (size_t i = 0; i < n; i++) {
		if (PMIX_CHECK_KEY(&results[i], WEFT_PMIX_RESIZE_OFFER))
			offer = results[i].value.data.integer;
		if (PMIX_CHECK_KEY(&results[i], WEFT_PMIX_RESIZE_PSET))
			snprintf(set, SET_MAX, "%s",
				results[i].value.data.string);
	}
	PMIX_INFO_FREE(results, n);
	return offer;
}

/* True if the process has ended. */
static bool has_ended(pmix_rank_t rank)
{
	char *keys[] = { (char *)(uintptr_t)WEFT_PMIX_ENDED, NULL };
	pmix_query_t question = { .keys = keys };
	pmix_info_t *results = NULL;
	size_t n = 0;
	bool is = false;

	if (PMIx_Query_info(&question, 1, &results, &n) != PMIX_SUCCESS)
		return false;
	for (size_t i = 0; i < n; i++) {
		const pmix_data_array_t *array = results[i].value.data.darray;
		const pmix_proc_t *procs = array->array;

		for (size_t k = 0; k < array->size; k++)
			is |= procs[k].rank == rank;
	}
	PMIX_INFO_FREE(results, n);
	return is;
}

/* Waits until name is the set of the members. */
static void await_current(const char *name)
{
	uint64_t end = weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S;
	char set[SET_MAX] = "";

	while (query(set), strcmp(set, name)) {
		claim(weft_now_ns() < end, "the change is not completed");
		nap();
	}
}

static int size_of(const char *name)
{
	MPI_Group group;
	int size;

	if (MPI_Group_from_session_pset(session, name, &group))
		return -1;
	MPI_Group_size(group, &size);
	MPI_Group_free(&group);
	return size;
}

/* Waits until this process knows that a set is deleted. */
static void await_deleted(const char *name)
{
	uint64_t end = weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S;

	for (; size_of(name) >= 0; nap())
		claim(weft_now_ns() < end, "a deleted set still exists");
}

/* Creates a communicator of a set. Returns the sum of 1 over its members. */
static int count_members(const char *name)
{
	MPI_Group group;
	MPI_Comm comm;
	int one = 1, sum = 0;

	claim(!MPI_Group_from_session_pset(session, name, &group),
		"the new set is not known");
	claim(!MPI_Comm_create_from_group(group, "resizer", MPI_INFO_NULL,
		      MPI_ERRORS_RETURN, &comm),
		"no communicator of the new set");
	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
	MPI_Comm_disconnect(&comm);
	MPI_Group_free(&group);
	return sum;
}

/* Waits for a set that contains this process, with a number of at least `from`.
 * Returns its number. */
static int await_own_set(int from, char *set)
{
	uint64_t end = weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S;

	for (int number = from;; number = number < 300 ? number + 1 : from) {
		MPI_Group group;
		int rank = MPI_UNDEFINED;

		claim(weft_now_ns() < end, "no set has this process");
		snprintf(set, SET_MAX, "weft://job/%d", number);
		if (MPI_Group_from_session_pset(session, set, &group))
			continue;
		MPI_Group_rank(group, &rank);
		MPI_Group_free(&group);
		if (rank != MPI_UNDEFINED)
			return number;
	}
}

/* Waits until the members do not include this process, which joined them. */
static void await_left(void)
{
	uint64_t end = weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S;
	const char *step = getenv("MPIEXEC_STEP");
	int joined = 0, number = 0, rank = 0;
	char set[SET_MAX] = "";

	for (sscanf(step, "%*d %*d %d", &joined);; nap()) {
		MPI_Group group;

		claim(weft_now_ns() < end, "the process is not released");
		query(set);
		if (sscanf(set, "weft://job/%d", &number) != 1 ||
			number < joined ||
			MPI_Group_from_session_pset(session, set, &group))
			continue;
		MPI_Group_rank(group, &rank);
		MPI_Group_free(&group);
		if (rank == MPI_UNDEFINED)
			return;
	}
}

static void print_world(void)
{
	printf("rank %u world %d host %d alive %d\n", me.rank,
		size_of("mpi://WORLD"), size_of("weft://host"),
		size_of("weft://alive"));
	fflush(stdout);
}

static void world(bool is_first)
{
	char set[SET_MAX] = "";

	print_world();
	if (is_first && !me.rank)
		claim(!ask(2, "weft://job/0", set), "+2 is refused");
	await_own_set(1, set);
	printf("rank %u counts %d\n", me.rank, count_members(set));
	fflush(stdout);
	if (!me.rank)
		claim(!request(WEFT_PMIX_RESIZE_DONE, 0, set, set),
			"the end of the change is refused");
	await_current(set);
	await_deleted("weft://job/0");
}

static void refused(void)
{
	char set[SET_MAX] = "", next[SET_MAX];

	if (me.rank) {
		await_current("weft://job/1");
		return;
	}
	claim(ask(-1, "weft://job/0", set) == PMIX_ERR_BAD_PARAM, "below min");
	claim(ask(0, "weft://job/0", set) == PMIX_ERR_BAD_PARAM, "no change");
	claim(ask(2, "weft://job/0", set) == PMIX_ERR_OUT_OF_RESOURCE,
		"above max");
	claim(ask(1, "weft://job/7", set) == PMIX_ERR_NOT_FOUND, "wrong set");
	claim(request(WEFT_PMIX_RESIZE_DONE, 0, "weft://job/1", set) ==
			PMIX_ERR_NOT_FOUND,
		"no change to complete");
	claim(!ask(1, "weft://job/0", next), "+1 is refused");
	claim(ask(1, "weft://job/0", set) == PMIX_ERR_RESOURCE_BUSY,
		"second change");
	claim(ask(-1, "weft://job/0", set) == PMIX_ERR_RESOURCE_BUSY,
		"a shrink during a grow");
	claim(!request(WEFT_PMIX_RESIZE_DONE, 0, next, set), "done");
	claim(ask(1, "weft://job/0", set) == PMIX_ERR_NOT_FOUND, "old set");
	puts("all refused");
}

/* Returns the number of open descriptors of a process. */
static int count_fds(int pid)
{
	char path[64];
	int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

/* Waits until the launcher has as many descriptors as `want`. */
static void await_fds(int want)
{
	uint64_t end = weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S;

	for (; count_fds(getppid()) != want; nap())
		claim(weft_now_ns() < end, "the launcher has descriptors left");
}

/* Grows by one process, and cancels. Rank 0 waits for the end of the process
 * first if is_dead is set, else afterwards. */
static void cancel(bool is_dead)
{
	uint64_t end = weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S;
	char set[SET_MAX] = "", now[SET_MAX] = "";
	int launcher = count_fds(getppid());

	claim(!ask(1, "weft://job/0", set), "+1 is refused");
	for (; is_dead && !has_ended(1); nap())
		claim(weft_now_ns() < end, "the process does not end");
	claim(!is_dead || request(WEFT_PMIX_RESIZE_DONE, 0, set, now) ==
				  PMIX_ERR_JOB_FAILED_TO_LAUNCH,
		"a change whose process has ended is not completed");
	claim(!request(WEFT_PMIX_RESIZE_CANCEL, 0, set, now), "cancel");
	claim(!request(WEFT_PMIX_RESIZE_CANCEL, 0, set, now), "again");
	claim(request(WEFT_PMIX_RESIZE_DONE, 0, set, now) == PMIX_ERR_NOT_FOUND,
		"a cancelled change is not completed");
	for (; !has_ended(1); nap())
		claim(weft_now_ns() < end, "the cancelled process stays");
	query(now);
	claim(!strcmp(now, "weft://job/0"), "the old set is not in force");
	await_deleted(set);
	await_fds(launcher);
	claim(!ask(1, now, set), "+1 after the cancellation is refused");
	claim(!request(WEFT_PMIX_RESIZE_CANCEL, 0, set, now), "second cancel");
	puts("cancelled");
}

static void hang(bool is_first)
{
	char set[SET_MAX] = "";

	if (is_first)
		claim(!ask(1, "weft://job/0", set), "+1 is refused");
	else
		puts("joined");
	sleep(DEADLINE_S);
}

static void accept_offers(void)
{
	uint64_t end = weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S;
	char now[SET_MAX] = "", next[SET_MAX] = "";

	for (int n = 1, delta = 0; n != 1 || delta >= 0;) {
		claim(weft_now_ns() < end, "no offer");
		delta = query(now);
		if (!delta) {
			nap();
			continue;
		}
		claim(!ask(delta, now, next), "the offer is refused");
		n += delta;
		claim(!request(WEFT_PMIX_RESIZE_DONE, 0, next, now), "done");
		claim(!query(now), "the offer is still there");
		printf("has %d\n", n);
		fflush(stdout);
	}
}

static void idle(void)
{
	uint64_t end = weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S;
	char now[SET_MAX];

	puts("waits");
	for (fflush(stdout); query(now) != 1; nap())
		claim(weft_now_ns() < end, "no offer");
}

/* Returns the number of open descriptors of this process that are no pipes.
 * Pipes of joined processes that slept remain open until
 * MPIX_Session_resize_done, which this program does not call. */
static int count_own(void)
{
	char path[64], target[64];
	int n = 0;

	for (int fd = 0; fd < 1024; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n += readlink(path, target, sizeof(target)) > 5 &&
		     strncmp(target, "pipe:", 5) != 0;
	}
	return n;
}

/* Changes the size by delta, and counts the members. */
static void change(int delta, char *now, int want)
{
	char next[SET_MAX] = "", none[SET_MAX];

	claim(!ask(delta, now, next), "a change is refused");
	claim(count_members(next) == want, "wrong number of members");
	claim(!request(WEFT_PMIX_RESIZE_DONE, 0, next, none), "done");
	strcpy(now, next);
}

static void cycle(int rounds)
{
	char now[SET_MAX] = "weft://job/0";
	int launcher = 0, mine = 0;

	for (int i = 0; i < rounds; i++) {
		change(1, now, 2);
		change(-1, now, 1);
		if (!i) { /* the first round opens what stays open */
			uint64_t end =
				weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S;

			for (; !has_ended(1); nap())
				claim(weft_now_ns() < end, "rank 1 stays");
			launcher = count_fds(getppid());
			mine = count_own();
		}
	}
	await_fds(launcher);
	printf("%d rounds, descriptors of rank 0: %d, later %d\n", rounds, mine,
		count_own());
	claim(count_own() <= mine + 2, "rank 0 has descriptors left");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	bool is_first;
	char set[SET_MAX] = "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	claim(!MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session),
		"MPI_Session_init fails");
	claim(PMIx_Init(&me, NULL, 0) == PMIX_SUCCESS, "PMIx_Init fails");
	is_first = !getenv("MPIEXEC_STEP");
	if (!strcmp(mode, "world"))
		world(is_first);
	else if (!strcmp(mode, "refused"))
		refused();
	else if (!strcmp(mode, "die") && !is_first)
		kill(getpid(), SIGKILL);
	else if (!strcmp(mode, "cancel") || !strcmp(mode, "die"))
		is_first ? cancel(*mode == 'd') : (void)sleep(DEADLINE_S);
	else if (!strcmp(mode, "gone"))
		cancel(!unlink(argv[0]));
	else if (!strcmp(mode, "end") && !is_first)
		count_members("weft://job/1");
	else if (!strcmp(mode, "end") && !me.rank)
		claim(!ask(2, "weft://job/0", set), "+2 is refused");
	else if (!strcmp(mode, "hang"))
		hang(is_first);
	else if (!strcmp(mode, "offer") && is_first)
		accept_offers();
	else if (!strcmp(mode, "idle"))
		idle();
	else if (!strcmp(mode, "cycle") && is_first)
		cycle(atoi(argv[2]));
	else if (!strcmp(mode, "cycle")) {
		await_own_set((int)me.rank, set);
		count_members(set);
		await_left();
	} else if (!strcmp(mode, "offer")) {
		await_left();
	}
	PMIx_Finalize(NULL, 0);
	MPI_Session_finalize(&session);
	return 0;
}
