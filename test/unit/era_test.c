/* SPDX-License-Identifier: BSD-3-Clause */
/* era_test: a model checker for agreement, which runs the shipped src/era/era.c
 *
 * A state has the machine of each member, the messages in flight, and the
 * members that live. The events are: a member calls its next agreement, the
 * oldest message from one member to another arrives, a member dies, a member
 * notices a death. The test explores every state that any order of events
 * reaches. A member may also die after it has sent only some messages of an
 * event: then the other members notice its death before they receive the rest.
 *
 * In each state:
 *   - members that live and have a result of an agreement have the same one
 *   - a result never changes
 *   - the flag is the AND of the flags of members that have called, and of all
 *     that live; the failed members have died; they are acknowledged only if
 *     all living members have acknowledged them.
 *
 * In a state without further events except deaths, every living member has the
 * results of all agreements. No order of events repeats a state.
 *
 * Deaths are noticed by all members, or only by those that wait for the dead
 * member (is_sparse). With the argument "full", the test explores more members
 * and failures, for minutes; random walks cover more members in either case. */
#include "era/era.h"

#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PROCS = 9, CALLS = 3, QUEUE = 24, ERA_WORDS = 32, NONE = 0xff };

struct packet {
	uint8_t kind, seq, is_decided, reserved;
	uint16_t flag, word, dead, failed, acked;
};

struct result {
	uint16_t flag, word, failed, is_acked;
};

/* Members beyond the first n are not part of the hash. */
struct member {
	uint64_t era[ERA_WORDS];
	uint16_t known; /* deaths that the member's state machine knows */
	uint16_t acked[CALLS]; /* indexed by the number of the agreement - 1 */
	uint8_t has_result[CALLS];
	uint8_t n_in[PROCS]; /* messages in flight to the member, indexed by
				sender */
	struct result result[CALLS];
	struct packet in[PROCS][QUEUE];
};

struct state {
	uint16_t alive;
	struct member m[PROCS];
};

static struct {
	uint32_t n, n_failures, n_calls;
	bool is_sparse;
	struct state *now; /* the state that an event changes */
	uint32_t self;	   /* the member of the event */
} job;

static bool is_full;

static struct weft_era *era_of(struct state *s, uint32_t p)
{
	return (struct weft_era *)(void *)s->m[p].era;
}

static bool is_alive(const struct state *s, uint32_t p)
{
	return s->alive >> p & 1;
}

/* ---- the actions of a machine ---- */

/* A set has a bit for each rank. */
static uint16_t dead_set(const struct weft_era_deaths *deaths)
{
	uint16_t set = 0;

	for (uint32_t i = 0; i < deaths->n; i++)
		set |= (uint16_t)(1 << deaths->at[i].rank);
	return set;
}

static uint16_t failed_set(const struct weft_era_deaths *deaths)
{
	uint16_t set = 0;

	for (uint32_t i = 0; i < deaths->n; i++)
		if (deaths->at[i].failed & deaths->bit)
			set |= (uint16_t)(1 << deaths->at[i].rank);
	return set;
}

static uint16_t acked_set(const struct weft_era_deaths *deaths)
{
	uint16_t set = 0;

	for (uint32_t i = 0; i < deaths->n; i++)
		if (deaths->at[i].acked & deaths->bit)
			set |= (uint16_t)(1 << deaths->at[i].rank);
	return set;
}

static void on_send(void *arg, uint32_t to, const struct weft_era_msg *msg)
{
	struct member *m = &job.now->m[to];
	uint32_t n = m->n_in[job.self]++;

	(void)arg;
	assert_true(to != job.self && to < job.n);
	assert_true(n < QUEUE);
	m->in[job.self][n] = (struct packet){
		.kind = (uint8_t)msg->kind,
		.seq = (uint8_t)msg->seq,
		.is_decided = msg->is_decided,
		.flag = (uint16_t)msg->flag,
		.word = (uint16_t)msg->word,
		.dead = dead_set(&msg->deaths),
		.failed = failed_set(&msg->deaths),
		.acked = acked_set(&msg->deaths),
	};
	if (msg->kind == WEFT_WIRE_ERA_ASK) /* reduces the number of states */
		m->in[job.self][n].flag = m->in[job.self][n].word =
			m->in[job.self][n].failed = m->in[job.self][n].acked =
				0;
}

static uint64_t new_word(void *arg)
{
	(void)arg;
	return job.self + 1;
}

static const struct weft_era_ops ops = { on_send, new_word };

/* ---- checks ---- */

/* The events that led to the present state. */
static struct {
	uint32_t n;
	uint16_t event[8192];
} path;

/* Prints the events in order, for a state that breaks a rule. */
static void print_path(void)
{
	for (uint32_t i = 0; i < path.n; i++) {
		uint32_t e = path.event[i], p = e / job.n, q = e % job.n;

		if (p >= 2 * job.n)
			print_message("#   %u dies\n", q);
		else if (p >= job.n)
			print_message(
				"  %u notices the death of %u\n", p - job.n, q);
		else if (p == q)
			print_message("#   %u calls\n", p);
		else
			print_message("#   %u receives from %u\n", p, q);
	}
}

static void check(bool claim, const char *text, int line)
{
	if (!claim)
		print_path();
	_assert_true(claim, text, __FILE__, line);
}

#define CHECK(claim) check(claim, #claim, __LINE__)

static uint16_t deaths(const struct state *s)
{
	return (uint16_t)(((1 << job.n) - 1) & ~s->alive);
}

/* Returns the flag of a member: all bits but its own. */
static uint16_t flag_of(uint32_t p)
{
	return (uint16_t) ~(1 << p);
}

static void check_result(struct state *s, uint32_t call, const struct result *r)
{
	for (uint32_t p = 0; p < job.n; p++) {
		bool is_in = !(r->flag >> p & 1);
		bool has_called =
			!is_alive(s, p) || weft_era_seq(era_of(s, p)) > call;

		CHECK(is_in || !is_alive(s, p));
		CHECK(has_called || !is_in);
		if (r->is_acked && is_alive(s, p))
			CHECK(!(r->failed & ~s->m[p].acked[call]));
	}
	CHECK(!(r->failed & ~deaths(s)));
	CHECK(r->word >= 1 && r->word <= job.n);
}

static void check_same(
	const struct state *s, uint32_t call, const struct result *r)
{
	for (uint32_t p = 0; p < job.n; p++)
		if (is_alive(s, p) && s->m[p].has_result[call])
			CHECK(!memcmp(r, &s->m[p].result[call], sizeof(*r)));
}

/* Records the results of a member, and compares them with those of all other
 * members. */
static void check_results(struct state *s, uint32_t p)
{
	struct member *m = &s->m[p];

	for (uint32_t call = 0; call < job.n_calls; call++) {
		struct weft_era_value value;
		struct result r;

		if (!weft_era_result(era_of(s, p), call + 1, &value))
			continue;
		CHECK((uint16_t)value.kinds == (uint16_t)value.flag);
		r = (struct result){
			.flag = (uint16_t)value.flag,
			.word = (uint16_t)value.word,
			.failed = failed_set(&value.deaths),
			.is_acked = value.is_acked,
		};
		if (!m->has_result[call])
			check_result(s, call, &r);
		check_same(s, call, &r);
		m->has_result[call] = 1;
		m->result[call] = r;
	}
}

/* ---- events ---- */

static void end_event(struct state *s, uint32_t p)
{
	for (uint32_t q = 0; q < job.n; q++)
		if (!is_alive(s, q) && s->m[q].n_in[p]) {
			memset(s->m[q].in, 0, sizeof(s->m[q].in));
			memset(s->m[q].n_in, 0, sizeof(s->m[q].n_in));
		}
	CHECK(!weft_era_is_expelled(era_of(s, p)));
	check_results(s, p);
}

/* A member that calls acknowledges all deaths that it knows. */
static bool try_call(struct state *s, uint32_t p)
{
	uint32_t acked[PROCS], n_acked = 0;
	uint32_t seq = weft_era_seq(era_of(s, p));

	if (seq == job.n_calls || (seq && !s->m[p].has_result[seq - 1]))
		return false;
	for (uint32_t q = job.n; q-- > 0;)
		if (s->m[p].known >> q & 1)
			acked[n_acked++] = q;
	s->m[p].acked[seq] = s->m[p].known;
	seq = weft_era_start(era_of(s, p), flag_of(p), flag_of(p), acked,
		n_acked, &ops, NULL);
	CHECK(seq && seq == weft_era_seq(era_of(s, p)));
	end_event(s, p);
	return true;
}

static bool try_receive(struct state *s, uint32_t p, uint32_t from)
{
	struct member *m = &s->m[p];
	struct packet k = m->in[from][0];
	struct weft_era_dead dead[PROCS];
	struct weft_era_msg msg = { .kind = k.kind,
		.seq = k.seq,
		.is_decided = k.is_decided,
		.flag = k.flag,
		.word = k.word,
		.kinds = k.flag, /* a member's kinds are its flag */
		.deaths = { dead, 0, 1 } };

	if (!m->n_in[from])
		return false;
	for (uint32_t q = 0; q < job.n; q++)
		if (k.dead >> q & 1)
			dead[msg.deaths.n++] = (struct weft_era_dead){ q,
				k.failed >> q & 1, k.acked >> q & 1 };
	m->n_in[from]--;
	memmove(m->in[from], m->in[from] + 1,
		(QUEUE - 1) * sizeof(m->in[from][0]));
	m->in[from][QUEUE - 1] = (struct packet){ 0 };
	if (!(m->known >> from & 1))
		m->known |= k.dead;
	CHECK(weft_era_arrive(era_of(s, p), from, &msg, &ops, NULL));
	end_event(s, p);
	return true;
}

static bool is_awaited(struct state *s, uint32_t p, uint32_t q)
{
	uint32_t ranks[PROCS];
	uint32_t n = weft_era_awaited(era_of(s, p), ranks, PROCS);

	for (uint32_t i = 0; i < n; i++)
		if (ranks[i] == q)
			return true;
	return false;
}

static bool try_notice(struct state *s, uint32_t p, uint32_t dead)
{
	if (is_alive(s, dead) || s->m[p].known >> dead & 1 ||
		(job.is_sparse && !is_awaited(s, p, dead)))
		return false;
	s->m[p].known |= (uint16_t)(1 << dead);
	weft_era_died(era_of(s, p), dead, &ops, NULL);
	end_event(s, p);
	return true;
}

static void die(struct state *s, uint32_t p)
{
	s->alive &= (uint16_t) ~(1 << p);
	memset(&s->m[p], 0, sizeof(s->m[p]));
}

static uint32_t n_dead(const struct state *s)
{
	return (uint32_t)__builtin_popcount(deaths(s));
}

/* Events have numbers. e < n^2: member e / n receives from member e % n, or
 * calls if the two are equal. e < 2n^2: member e / n - n notices the death of
 * member e % n. Higher numbers: member e % n dies. */
static uint32_t n_events(void)
{
	return 2 * job.n * job.n + job.n;
}

static bool is_death(uint32_t e)
{
	return e >= 2 * job.n * job.n;
}

/* False if the event is impossible; then the state has not changed. */
static bool try_event(struct state *s, uint32_t e)
{
	uint32_t p = e / job.n, q = e % job.n;

	job.now = s;
	if (is_death(e)) {
		if (n_dead(s) == job.n_failures || !is_alive(s, q))
			return false;
		die(s, q);
		return true;
	}
	job.self = p % job.n;
	if (!is_alive(s, job.self))
		return false;
	if (p >= job.n)
		return q != job.self && try_notice(s, job.self, q);
	return p == q ? try_call(s, p) : try_receive(s, p, q);
}

static void state_init(struct state *s)
{
	memset(s, 0, sizeof(*s));
	s->alive = (uint16_t)((1 << job.n) - 1);
	CHECK(weft_era_size(job.n) <= sizeof(s->m[0].era));
	for (uint32_t p = 0; p < job.n; p++)
		weft_era_init(era_of(s, p), job.n, p);
}

/* Only deaths can still happen: every living member must have all results. */
static void check_end(const struct state *s)
{
	for (uint32_t p = 0; p < job.n; p++)
		for (uint32_t call = 0; call < job.n_calls; call++)
			CHECK(!is_alive(s, p) || s->m[p].has_result[call]);
}

/* ---- all states ---- */

struct seen {
	uint64_t key[2]; /* hash of the state; 0: the entry is empty */
	uint8_t is_on_path;
};

static struct {
	struct seen *table;
	uint64_t size, n;
	uint64_t n_ends, depth, max_depth;
} search;

static struct seen *find_slot(
	struct seen *table, uint64_t size, const uint64_t key[2])
{
	uint64_t at = key[0] & (size - 1);

	while (table[at].key[0] &&
		(table[at].key[0] != key[0] || table[at].key[1] != key[1]))
		at = (at + 1) & (size - 1);
	return &table[at];
}

static void grow_table(void)
{
	uint64_t size = search.size ? search.size * 2 : 1 << 16;
	struct seen *table = calloc(size, sizeof(*table));

	assert_non_null(table);
	for (uint64_t i = 0; i < search.size; i++)
		if (search.table[i].key[0])
			*find_slot(table, size, search.table[i].key) =
				search.table[i];
	free(search.table);
	search.table = table;
	search.size = size;
}

static void key_of(const struct state *s, uint64_t key[2])
{
	static const uint8_t keys[2][16] = { "era model one", "era model two" };
	/* the unused ends of queues are zero, so only beginnings are hashed */
	uint8_t buf[4096];
	size_t at = sizeof(s->alive);

	memcpy(buf, &s->alive, sizeof(s->alive));
	for (uint32_t p = 0; p < job.n; p++) {
		const struct member *m = &s->m[p];
		size_t head = offsetof(struct member, in);

		CHECK(at + head < sizeof(buf));
		memcpy(buf + at, m->era, weft_era_size(job.n));
		at += weft_era_size(job.n);
		memcpy(buf + at, m->acked, head - sizeof(m->era));
		at += head - sizeof(m->era);
		for (uint32_t q = 0; q < job.n; q++) {
			size_t size = m->n_in[q] * sizeof(m->in[q][0]);

			CHECK(at + size < sizeof(buf));
			memcpy(buf + at, m->in[q], size);
			at += size;
		}
	}
	for (int i = 0; i < 2; i++)
		key[i] = weft_hash(keys[i], buf, at);
	key[0] += !key[0];
}

static void explore(const struct state *s)
{
	struct state next;
	uint64_t key[2];
	struct seen *seen;
	bool is_end = true;

	key_of(s, key);
	if (search.n * 2 >= search.size)
		grow_table();
	seen = find_slot(search.table, search.size, key);
	CHECK(!seen->is_on_path);
	if (seen->key[0])
		return;
	memcpy(seen->key, key, sizeof(key));
	seen->is_on_path = 1;
	search.n++;
	search.depth++;
	if (search.depth > search.max_depth)
		search.max_depth = search.depth;
	memcpy(&next, s, sizeof(next));
	path.n++;
	for (uint32_t e = 0; e < n_events(); e++) {
		path.event[path.n - 1] = (uint16_t)e;
		if (!try_event(&next, e))
			continue;
		is_end = is_end && is_death(e);
		explore(&next);
		memcpy(&next, s, sizeof(next));
	}
	path.n--;
	if (is_end) {
		check_end(s);
		search.n_ends++;
	}
	search.depth--;
	find_slot(search.table, search.size, key)->is_on_path = 0;
}

static void explore_all(
	uint32_t n, uint32_t n_failures, uint32_t n_calls, bool is_sparse)
{
	struct state s;

	job.n = n;
	job.n_failures = n_failures;
	job.n_calls = n_calls;
	job.is_sparse = is_sparse;
	memset(&search, 0, sizeof(search));
	path.n = 0;
	state_init(&s);
	explore(&s);
	print_message(
		"# %u members, %u failures, %u agreements, deaths noticed "
		"by %s: %llu states, %llu ends, %llu events at most\n",
		n, n_failures, n_calls, is_sparse ? "those that wait" : "all",
		(unsigned long long)search.n, (unsigned long long)search.n_ends,
		(unsigned long long)search.max_depth);
	CHECK(search.n_ends > 0);
	free(search.table);
}

static void test_two(void **state)
{
	(void)state;
	explore_all(1, 0, 2, false);
	explore_all(2, 1, 3, false);
	explore_all(2, 1, 3, true);
}

static void test_three(void **state)
{
	(void)state;
	explore_all(3, 2, 2, false);
	explore_all(3, 2, 3, true);
}

static void test_four(void **state)
{
	(void)state;
	explore_all(4, 3, 2, false);
	explore_all(4, 3, 2, true);
}

static void test_more(void **state)
{
	(void)state;
	explore_all(5, 1, 1, true);
	if (!is_full)
		return;
	explore_all(5, 2, 1, false);
	explore_all(6, 2, 1, true);
}

/* ---- random walks ---- */

static uint64_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

/* One order of events. Deaths are rare, so that they occur at any time. */
static void walk(struct state *s)
{
	uint32_t n_vain = 0, first = draw(n_events());

	path.n = 0;
	state_init(s);
	while (n_vain < n_events()) {
		uint32_t e = (first + n_vain) % n_events();

		path.event[path.n++] = (uint16_t)e;
		if (!(is_death(e) && draw(8)) && try_event(s, e)) {
			n_vain = 0;
			first = draw(n_events());
		} else {
			path.n--;
			n_vain++;
		}
	}
	check_end(s);
}

static void test_walks(void **state)
{
	static struct state s;

	(void)state;
	seed = 1;
	for (int i = 0; i < (is_full ? 2000000 : 20000); i++) {
		job.n = 4 + (uint32_t)i % (PROCS - 3);
		job.n_failures = draw(job.n);
		job.n_calls = 1 + draw(CALLS);
		job.is_sparse = draw(2);
		walk(&s);
	}
}

/* ---- bad input ---- */

static void test_bad_input(void **state)
{
	static struct state s;
	struct weft_era_dead dead[2] = { { 0 } };
	struct weft_era_msg msg = {
		.kind = WEFT_WIRE_ERA_UP, .seq = 1, .deaths = { dead, 0, 1 }
	};
	struct weft_era *era;

	(void)state;
	job.n = 4;
	job.now = &s;
	state_init(&s);
	era = era_of(&s, 0);
	/* numbers of agreements that cannot have begun */
	msg.seq = 0;
	assert_false(weft_era_arrive(era, 1, &msg, &ops, NULL));
	msg.seq = 3;
	assert_false(weft_era_arrive(era, 1, &msg, &ops, NULL));
	msg.seq = 1;
	/* invalid ranks of senders */
	assert_false(weft_era_arrive(era, 0, &msg, &ops, NULL));
	assert_false(weft_era_arrive(era, 4, &msg, &ops, NULL));
	/* a dead sender, a rank above the last, ranks in the wrong order */
	msg.deaths.n = 1;
	dead[0].rank = 1;
	assert_false(weft_era_arrive(era, 1, &msg, &ops, NULL));
	dead[0].rank = 4;
	assert_false(weft_era_arrive(era, 1, &msg, &ops, NULL));
	msg.deaths.n = 2;
	dead[0].rank = dead[1].rank = 2;
	assert_false(weft_era_arrive(era, 1, &msg, &ops, NULL));
	msg.deaths.n = 0;
	/* a decision without this member's value */
	msg.kind = WEFT_WIRE_ERA_DOWN;
	msg.is_decided = true;
	assert_true(weft_era_arrive(era, 1, &msg, &ops, NULL));
	assert_int_equal(weft_era_seq(era), 0);
	assert_int_equal(weft_era_start(era, 0, 0, NULL, 0, &ops, NULL), 1);
	/* the next call has to wait for the result */
	assert_int_equal(weft_era_start(era, 0, 0, NULL, 0, &ops, NULL), 0);
	/* a round is replaced only after its result is known */
	msg.seq = 3;
	assert_false(weft_era_arrive(era, 1, &msg, &ops, NULL));
	/* this member is declared dead */
	msg.seq = 1;
	msg.deaths.n = 1;
	dead[0].rank = 0;
	assert_true(weft_era_arrive(era, 1, &msg, &ops, NULL));
	assert_true(weft_era_is_expelled(era));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two),
		cmocka_unit_test(test_three),
		cmocka_unit_test(test_four),
		cmocka_unit_test(test_more),
		cmocka_unit_test(test_walks),
		cmocka_unit_test(test_bad_input),
	};

	is_full = argc > 1 && !strcmp(argv[1], "full");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
