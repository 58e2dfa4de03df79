/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * boot_probe: uses the process manager through boot.h, in a real job
 *
 * Usage: boot_probe WORD...   each word is one step, in order:
 *   facts        print the fields of struct weft_boot_facts
 *   card         publish a value, fetch the values of all, check them
 *   ring         publish a value, fetch only that of the next rank
 *   fence        a barrier of all
 *   halves       a barrier of the lower and one of the upper half
 *   near         print the ranks on this node, compare them with their hosts
 *   psets        print the process sets and their members
 *   pset=NAME    wait for the notification that the set NAME is defined
 *   pset=-NAME   wait for the notification that the set NAME is deleted
 *   death=R[,CODE]  rank R kills itself, or exits unfinalized; the others
 *                wait for the notification
 *   query=R      rank R kills itself; the others query its end while they wait
 *   deadget=R    rank R kills itself, the others fetch from it
 *   die=R,CODE   rank R exits with CODE, unfinalized
 *   abort=R,CODE rank R aborts the job; the others continue with the next step
 *   part=N,CODE  rank 0 aborts ranks 0 to N-1; the others wait for the
 *                notifications
 *   define=NAME  rank 0 defines the set NAME of all ranks but the last
 *   delete=NAME  rank 0 deletes the set NAME
 *   hang         sleep for a minute
 *   sleep=MS     sleep for MS milliseconds
 *   unclean      exit with 0 without finalizing
 *   exit=CODE    finalize, then exit with CODE
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/knob.h"
#include "boot/boot.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEADLINE_S = 60, BC_LEN = 300 };

struct probe {
	struct weft_boot *boot;
	struct weft_boot_facts facts;
	uint32_t n_died;
	uint32_t last_died;
	int last_code;
	enum weft_boot_end last_end;
	char last_pset[WEFT_BOOT_NAME_MAX + 1];
};

static struct probe probe;

static void fail(const char *what, int err)
{
	fprintf(stderr, "rank %u: %s: %s (%s)\n", probe.facts.rank, what,
		weft_err_str(err), weft_err_detail_peek(err));
	_exit(99);
}

static void check(const char *what, int err)
{
	if (err)
		fail(what, err);
}

static void on_event(void *arg, const struct weft_boot_event *event)
{
	(void)arg;
	if (event->kind == WEFT_BOOT_PEER_DIED) {
		probe.n_died++;
		probe.last_died = event->rank;
		probe.last_code = event->code;
		probe.last_end = event->end;
	} else {
		snprintf(probe.last_pset, sizeof(probe.last_pset), "%s%s",
			event->kind == WEFT_BOOT_PSET_DELETED ? "-" : "",
			event->name);
	}
}

static void poll_until(const bool *done, const char *what)
{
	uint64_t end = weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S;

	while (!*done) {
		weft_boot_poll(probe.boot, on_event, NULL);
		if (weft_now_ns() > end)
			fail(what, WEFT_ERR_TIMEOUT);
		usleep(200);
	}
}

struct fetch {
	uint32_t rank;
	int err;
	bool is_done;
	unsigned char data[BC_LEN];
};

static void on_bc(void *arg, int err, const void *data, size_t len)
{
	struct fetch *fetch = arg;

	if (fetch->is_done)
		fail("answered twice", WEFT_ERR_INTERN);
	fetch->is_done = true;
	fetch->err = err;
	if (!err && len != BC_LEN)
		fail("length of a card", WEFT_ERR_TRUNCATE);
	if (!err)
		memcpy(fetch->data, data, len);
}

static void make_bc(uint32_t rank, unsigned char bc[BC_LEN])
{
	for (int i = 0; i < BC_LEN; i++)
		bc[i] = (unsigned char)(rank * 7 + (uint32_t)i);
}

static void publish(void)
{
	static bool is_published;
	unsigned char bc[BC_LEN];

	if (is_published)
		return;
	is_published = true;
	make_bc(probe.facts.rank, bc);
	check("put", weft_boot_put(probe.boot, "probe.card", bc, BC_LEN));
	check("commit", weft_boot_commit(probe.boot));
}

static void fetch_one(uint32_t rank)
{
	struct fetch fetch = { .rank = rank };
	unsigned char bc[BC_LEN];

	check("get",
		weft_boot_get(probe.boot, rank, "probe.card", on_bc, &fetch));
	if (fetch.is_done)
		fail("answered outside poll", WEFT_ERR_INTERN);
	poll_until(&fetch.is_done, "waiting for a card");
	check("card", fetch.err);
	make_bc(rank, bc);
	if (memcmp(bc, fetch.data, BC_LEN))
		fail("content of a card", WEFT_ERR_PROTO);
}

static void step_bc(void)
{
	publish();
	for (uint32_t i = 0; i < probe.facts.size; i++)
		fetch_one((probe.facts.rank + i) % probe.facts.size);
	printf("rank %u: card ok\n", probe.facts.rank);
}

static void on_fenced(void *arg, int err)
{
	check("fence answer", err);
	*(bool *)arg = true;
}

static void fence(const uint32_t *ranks, size_t n)
{
	bool is_done = false;

	check("fence",
		weft_boot_fence(probe.boot, ranks, n, on_fenced, &is_done));
	poll_until(&is_done, "waiting for a fence");
}

static void step_halves(void)
{
	uint32_t half = probe.facts.size / 2, first = 0, n = half;
	uint32_t *ranks = calloc(probe.facts.size, sizeof(*ranks));

	if (probe.facts.rank >= half) {
		first = half;
		n = probe.facts.size - half;
	}
	for (uint32_t i = 0; i < n; i++)
		ranks[i] = first + i;
	fence(ranks, n);
	free(ranks);
	printf("rank %u: halves ok\n", probe.facts.rank);
}

static void step_facts(void)
{
	const struct weft_boot_facts *f = &probe.facts;

	printf("rank %u of %u local %u of %u nodes %u app %u univ %u host %s "
	       "manager %s kinds '%s' job %s key %02x%02x\n",
		f->rank, f->size, f->local_rank, f->local_size, f->n_nodes,
		f->appnum, f->univ_size, f->host, f->manager,
		weft_knobs.alloc_kinds, f->job, f->own_key[0], f->own_key[1]);
}

static void step_near(void)
{
	const uint32_t *ranks = NULL;
	size_t n = 0, at = 0;

	check("near", weft_boot_local(probe.boot, &ranks, &n));
	printf("rank %u: near", probe.facts.rank);
	for (size_t i = 0; i < n; i++)
		printf(" %u", ranks[i]);
	printf("\n");
	for (uint32_t r = 0; r < probe.facts.size; r++) {
		char host[WEFT_BOOT_HOST_MAX];
		bool is_same;

		check("host of a rank",
			weft_boot_host_of(probe.boot, r, host, sizeof(host)));
		is_same = !strcmp(host, probe.facts.host);
		if (is_same != (bool)weft_boot_is_local(probe.boot, r))
			fail("near and hosts differ", WEFT_ERR_INTERN);
		if (is_same && (at >= n || ranks[at++] != r))
			fail("list of near ranks", WEFT_ERR_INTERN);
	}
}

static void step_psets(void)
{
	char **names = NULL;
	size_t n = 0;

	check("pset list", weft_boot_pset_list(probe.boot, &names, &n));
	printf("rank %u: psets %zu", probe.facts.rank, n);
	for (size_t i = 0; i < n; i++) {
		uint64_t *procs = NULL;
		size_t n_procs = 0;

		check("pset members", weft_boot_pset_members(probe.boot,
					      names[i], &procs, &n_procs));
		printf(" %s:", names[i]);
		for (size_t k = 0; k < n_procs; k++)
			printf(k ? ",%u" : "%u", (uint32_t)procs[k]);
		free(procs);
	}
	printf("\n");
	free(names);
}

static void wait_pset(const char *name)
{
	uint64_t end = weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S;

	while (strcmp(probe.last_pset, name)) {
		weft_boot_poll(probe.boot, on_event, NULL);
		if (weft_now_ns() > end)
			fail("waiting for a process set", WEFT_ERR_TIMEOUT);
		usleep(200);
	}
	printf("rank %u: heard of %s\n", probe.facts.rank, name);
}

static void wait_death(uint32_t rank)
{
	static const char *const ends[] = { "somehow", "crashed", "exited",
		"aborted", "in order" };
	uint64_t end = weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S;

	while (!probe.n_died) {
		weft_boot_poll(probe.boot, on_event, NULL);
		if (weft_now_ns() > end)
			fail("waiting for a death", WEFT_ERR_TIMEOUT);
		usleep(200);
	}
	if (probe.last_died != rank)
		fail("the rank of the dead process", WEFT_ERR_RANK);
	printf("rank %u: rank %u died with %d, %s\n", probe.facts.rank,
		probe.last_died, probe.last_code, ends[probe.last_end]);
}

/* Rank `rank` kills itself. The others query whether the rank has ended, until
 * a notification or an answer reports the end. */
static void query_end(uint32_t rank)
{
	uint64_t end = weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S;

	fence(NULL, 0);
	if (probe.facts.rank == rank)
		raise(SIGKILL);
	while (!probe.n_died) {
		weft_boot_query_exit(probe.boot, rank);
		usleep(5000);
		weft_boot_poll(probe.boot, on_event, NULL);
		if (weft_now_ns() > end)
			fail("waiting for an end", WEFT_ERR_TIMEOUT);
	}
	wait_death(rank);
}

static void wait_deaths(uint32_t n)
{
	uint64_t end = weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S;

	while (probe.n_died < n) {
		weft_boot_poll(probe.boot, on_event, NULL);
		if (weft_now_ns() > end)
			fail("waiting for deaths", WEFT_ERR_TIMEOUT);
		usleep(200);
	}
	printf("rank %u: %u died\n", probe.facts.rank, probe.n_died);
}

static void dead_get(uint32_t rank)
{
	struct fetch fetch = { .rank = rank };

	fence(NULL, 0);
	if (probe.facts.rank == rank)
		raise(SIGKILL);
	check("get",
		weft_boot_get(probe.boot, rank, "probe.never", on_bc, &fetch));
	poll_until(&fetch.is_done, "waiting for a get to fail");
	if (fetch.err != WEFT_ERR_PEER && fetch.err != WEFT_ERR_NOTFOUND)
		fail("error of a get from the dead", fetch.err);
	wait_death(rank);
	if (weft_boot_get(probe.boot, rank, "probe.never", on_bc, &fetch) !=
		WEFT_ERR_PEER)
		fail("a get from the known dead", WEFT_ERR_INTERN);
}

/* Rank 0 aborts ranks 0 to n - 1. The other ranks wait for n notifications. */
static void abort_part(uint32_t n, int code)
{
	uint32_t ranks[64];

	for (uint32_t r = 0; r < n; r++)
		ranks[r] = r;
	fence(NULL, 0);
	if (probe.facts.rank == 0) {
		check("abort of a part",
			weft_boot_abort(probe.boot, code, "in part", ranks, n));
		_exit(code);
	}
	if (probe.facts.rank < n)
		sleep(DEADLINE_S);
	wait_deaths(n);
}

/* Rank 0 defines (is_new) the set of all ranks but the last, or deletes it.
 * Prints the error if that fails. */
static void change_set(const char *name, bool is_new)
{
	uint32_t n = probe.facts.size > 1 ? probe.facts.size - 1 : 1;
	uint64_t procs[64];
	int err = 0;

	for (uint32_t r = 0; r < n; r++)
		procs[r] = weft_boot_proc_number(probe.facts.job, r);
	fence(NULL, 0);
	if (probe.facts.rank == 0 && is_new)
		err = weft_boot_pset_define(probe.boot, name, procs, n);
	else if (probe.facts.rank == 0)
		err = weft_boot_pset_delete(probe.boot, name);
	if (err)
		printf("rank 0: %s: %s: %s\n", name, weft_err_str(err),
			weft_err_detail_peek(err));
	fence(NULL, 0);
}

static void step_with_value(const char *name, const char *value)
{
	uint32_t rank = (uint32_t)atoi(value);
	const char *comma = strchr(value, ',');
	int code = comma ? atoi(comma + 1) : 0;

	if (!strcmp(name, "pset")) {
		wait_pset(value);
	} else if (!strcmp(name, "sleep")) {
		usleep((useconds_t)rank * 1000);
	} else if (!strcmp(name, "exit")) {
		weft_boot_close(probe.boot, 1);
		exit((int)rank);
	} else if (!strcmp(name, "death")) {
		fence(NULL, 0);
		if (probe.facts.rank == rank && strchr(value, ','))
			_exit(code);
		if (probe.facts.rank == rank)
			raise(SIGKILL);
		wait_death(rank);
	} else if (!strcmp(name, "query")) {
		query_end(rank);
	} else if (!strcmp(name, "deadget")) {
		dead_get(rank);
	} else if (!strcmp(name, "die") && probe.facts.rank == rank) {
		_exit(code);
	} else if (!strcmp(name, "abort") && probe.facts.rank == rank) {
		check("abort",
			weft_boot_abort(probe.boot, code, "as told", NULL, 0));
		_exit(code);
	} else if (!strcmp(name, "part")) {
		abort_part(rank, code);
	} else if (!strcmp(name, "define")) {
		change_set(value, true);
	} else if (!strcmp(name, "delete")) {
		change_set(value, false);
	}
}

static void step(char *word)
{
	char *value = strchr(word, '=');

	if (value) {
		*value++ = '\0';
		step_with_value(word, value);
	} else if (!strcmp(word, "facts")) {
		step_facts();
	} else if (!strcmp(word, "card")) {
		step_bc();
	} else if (!strcmp(word, "ring")) {
		publish();
		fetch_one((probe.facts.rank + 1) % probe.facts.size);
	} else if (!strcmp(word, "fence")) {
		fence(NULL, 0);
	} else if (!strcmp(word, "halves")) {
		step_halves();
	} else if (!strcmp(word, "near")) {
		step_near();
	} else if (!strcmp(word, "psets")) {
		step_psets();
	} else if (!strcmp(word, "hang")) {
		sleep(DEADLINE_S);
	} else if (!strcmp(word, "unclean")) {
		fflush(stdout);
		weft_boot_close(probe.boot, 0);
		_exit(0);
	} else {
		fprintf(stderr, "boot_probe: no step %s\n", word);
		_exit(98);
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	weft_knob_load();
	check("open", weft_boot_open(&probe.boot, &probe.facts));
	for (int i = 1; i < argc; i++)
		step(argv[i]);
	weft_boot_close(probe.boot, 1);
	return 0;
}
