/* SPDX-License-Identifier: BSD-3-Clause */
/* era: early-returning agreement as a state machine
 *
 * The members form a binomial tree: the parent of rank r is r without its
 * lowest bit. If that member has died, the nearest living ancestor is the
 * parent. The root is the lowest living rank. It is also the parent of each
 * member without a living ancestor. Each member computes the tree from the set
 * of deaths that it knows, so the tree changes only when this set grows. */
#include "era/era.h"

#include <string.h>

enum { NO_RANK = UINT32_MAX, ROUNDS = 2 };

/* One agreement. A zeroed round has not begun. */
struct era_round {
	uint32_t seq;	  /* number of the agreement; 0: none */
	uint32_t sent_to; /* rank + 1 of the last parent to which an UP was
			     sent; 0: none */
	bool is_called;	  /* this member has called the agreement */
	bool is_decided;  /* the value is final */
	uint64_t flag;
	uint32_t kinds;
	uint64_t word;
};

struct weft_era {
	uint32_t n, rank;
	uint32_t root; /* the lowest rank of a member not known to be dead */
	uint32_t seq;
	bool is_expelled;
	struct era_round rounds[ROUNDS]; /* agreement seq is in rounds[seq %
					    ROUNDS] */
	/* the set of dead members, then the sets sent, failed and acked of each
	 * round */
	uint64_t sets[];
};

/* The machine that handles an event, and the caller's functions. */
struct era_run {
	struct weft_era *era;
	const struct weft_era_ops *ops;
	void *arg;
};

static uint64_t *dead_of(const struct weft_era *era)
{
	return (uint64_t *)era->sets;
}

static uint64_t *set_of(
	const struct weft_era *era, const struct era_round *r, uint32_t i)
{
	uint32_t at = (uint32_t)(r - era->rounds) * 3 + 1 + i;

	return (uint64_t *)era->sets + at * weft_era_words(era->n);
}

/* Returns the set of members whose UP has arrived. */
static uint64_t *sent_of(const struct weft_era *era, const struct era_round *r)
{
	return set_of(era, r, 0);
}

static uint64_t *failed_of(
	const struct weft_era *era, const struct era_round *r)
{
	return set_of(era, r, 1);
}

static uint64_t *acked_of(const struct weft_era *era, const struct era_round *r)
{
	return set_of(era, r, 2);
}

static bool is_dead(const struct weft_era *era, uint32_t rank)
{
	return weft_era_set_has(dead_of(era), rank);
}

static size_t set_len(const struct weft_era *era)
{
	return weft_era_words(era->n) * sizeof(uint64_t);
}

size_t weft_era_size(uint32_t n)
{
	return sizeof(struct weft_era) +
	       (1 + ROUNDS * 3) * weft_era_words(n) * sizeof(uint64_t);
}

void weft_era_init(struct weft_era *era, uint32_t n, uint32_t rank)
{
	memset(era, 0, weft_era_size(n));
	era->n = n;
	era->rank = rank;
}

/* ---- the tree ---- */

static uint32_t tree_parent(uint32_t rank)
{
	return rank & (rank - 1);
}

/* Returns the next child of a rank after `child`, or the first child if `child`
 * is 0. Returns 0 if there is no such child. */
static uint32_t next_child(
	const struct weft_era *era, uint32_t rank, uint32_t child)
{
	uint64_t bit = child ? (uint64_t)(child - rank) << 1 : 1;

	if (rank & bit || rank + bit >= era->n)
		return 0;
	return (uint32_t)(rank + bit);
}

/* Returns the top of the subtree that contains this member's children. For the
 * root, this is the whole tree, because the root is also the parent of members
 * without a living ancestor. */
static uint32_t tree_top(const struct weft_era *era)
{
	return era->rank == era->root ? 0 : era->rank;
}

static uint32_t living_parent(const struct weft_era *era)
{
	uint32_t rank = era->rank;

	while (rank) {
		rank = tree_parent(rank);
		if (!is_dead(era, rank))
			return rank;
	}
	return era->root;
}

/* True if this member is the root, or an ancestor of `member`. */
static bool is_above(const struct weft_era *era, uint32_t member)
{
	if (era->rank == era->root)
		return true;
	while (member > era->rank)
		member = tree_parent(member);
	return member == era->rank;
}

typedef void child_fn(struct era_run *run, struct era_round *r, uint32_t child);

/* Calls fn for each living child of `top`. For a child that is dead, or is this
 * member, calls fn for its living children instead. */
static void for_each_living(
	struct era_run *run, struct era_round *r, uint32_t top, child_fn *fn)
{
	const struct weft_era *era = run->era;

	for (uint32_t c = next_child(era, top, 0); c;
		c = next_child(era, top, c)) {
		if (c == era->rank || is_dead(era, c))
			for_each_living(run, r, c, fn);
		else
			fn(run, r, c);
	}
}

/* True if the UP of each living child of `top` has arrived. For a child that
 * died before it sent an UP, the UPs of its children must have arrived instead.
 */
static bool has_all_below(
	const struct weft_era *era, const struct era_round *r, uint32_t top)
{
	const uint64_t *sent = sent_of(era, r);

	for (uint32_t c = next_child(era, top, 0); c;
		c = next_child(era, top, c)) {
		if (weft_era_set_has(sent, c))
			continue;
		if (c != era->rank && !is_dead(era, c))
			return false;
		if (!has_all_below(era, r, c))
			return false;
	}
	return true;
}

/* ---- messages ---- */

static void send_msg(struct era_run *run, const struct era_round *r,
	enum weft_wire_era_kind kind, uint32_t to)
{
	const struct weft_era *era = run->era;
	const struct weft_era_msg msg = {
		.kind = kind,
		.seq = r->seq,
		.is_decided = r->is_decided,
		.flag = r->flag,
		.kinds = r->kinds,
		.word = r->word,
		.dead = dead_of(era),
		.failed = failed_of(era, r),
		.acked = acked_of(era, r),
	};

	run->ops->send(run->arg, to, &msg);
}

static void send_decision(
	struct era_run *run, struct era_round *r, uint32_t child)
{
	send_msg(run, r, WEFT_WIRE_ERA_DOWN, child);
}

static void send_ask(struct era_run *run, struct era_round *r, uint32_t child)
{
	if (!weft_era_set_has(sent_of(run->era, r), child))
		send_msg(run, r, WEFT_WIRE_ERA_ASK, child);
}

/* ---- a round ---- */

/* Returns the round of agreement seq, and begins this round if seq is the next
 * agreement. NULL: the round was reused, or the agreement cannot have begun.
 *
 * A member begins an agreement after it has the result of the previous one. So
 * when agreement seq begins, all members have the result of agreement seq - 2,
 * and its round is reused. */
static struct era_round *begin_round(struct weft_era *era, uint32_t seq)
{
	struct era_round *r = &era->rounds[seq % ROUNDS];

	if (!seq || r->seq > seq)
		return NULL;
	if (r->seq == seq)
		return r;
	if (seq - r->seq > ROUNDS || (r->seq && !r->is_decided))
		return NULL;
	if (!r->seq && seq > ROUNDS)
		return NULL;
	*r = (struct era_round){
		.seq = seq, .flag = UINT64_MAX, .kinds = UINT32_MAX
	};
	memset(sent_of(era, r), 0, set_len(era));
	memset(failed_of(era, r), 0, set_len(era));
	memset(acked_of(era, r), 0xff, set_len(era));
	return r;
}

/* Makes the value final, and sends it to this member's children. */
static void decide(struct era_run *run, struct era_round *r)
{
	r->is_decided = true;
	for_each_living(run, r, tree_top(run->era), send_decision);
}

/* Called when an event may have completed the values below this member. If this
 * member has called the agreement, and the UPs of all children have arrived,
 * the root decides. Another member sends its UP, once to each parent. */
static void round_step(struct era_run *run, struct era_round *r)
{
	struct weft_era *era = run->era;
	uint32_t parent;

	if (!r->is_called || r->is_decided ||
		!has_all_below(era, r, tree_top(era)))
		return;
	if (era->rank == era->root) {
		memcpy(failed_of(era, r), dead_of(era), set_len(era));
		r->word = run->ops->word(run->arg);
		decide(run, r);
		return;
	}
	parent = living_parent(era);
	if (r->sent_to == parent + 1)
		return;
	r->sent_to = parent + 1;
	send_msg(run, r, WEFT_WIRE_ERA_UP, parent);
}

/* ---- deaths ---- */

/* Called when the set of known deaths has grown. The tree and the root may have
 * changed. Sends ASK to the children whose UP is missing, because a child that
 * has the decision sends it only as an answer. */
static void on_deaths(struct era_run *run)
{
	struct weft_era *era = run->era;

	while (is_dead(era, era->root))
		era->root++;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct era_round *r = &era->rounds[i];

		if (!r->seq || r->is_decided)
			continue;
		for_each_living(run, r, tree_top(era), send_ask);
		round_step(run, r);
	}
}

/* Adds deaths to the known deaths. Returns true if a death was not known. */
static bool merge_dead(struct weft_era *era, const uint64_t *dead)
{
	uint64_t *known = dead_of(era), news = 0;

	for (uint32_t i = 0; i < weft_era_words(era->n); i++) {
		news |= dead[i] & ~known[i];
		known[i] |= dead[i];
	}
	return news != 0;
}

void weft_era_died(struct weft_era *era, uint32_t rank,
	const struct weft_era_ops *ops, void *arg)
{
	struct era_run run = { era, ops, arg };

	if (rank >= era->n || rank == era->rank || is_dead(era, rank))
		return;
	weft_era_set_add(dead_of(era), rank);
	on_deaths(&run);
}

/* ---- the other events ---- */

static void intersect(
	const struct weft_era *era, uint64_t *set, const uint64_t *with)
{
	for (uint32_t i = 0; i < weft_era_words(era->n); i++)
		set[i] &= with[i];
}

uint32_t weft_era_start(struct weft_era *era, uint64_t flag, uint32_t kinds,
	const uint64_t *acked, const struct weft_era_ops *ops, void *arg)
{
	struct era_run run = { era, ops, arg };
	struct era_round *r;

	if (era->seq && !era->rounds[era->seq % ROUNDS].is_decided)
		return 0;
	r = begin_round(era, era->seq + 1);
	if (!r)
		return 0;
	era->seq++;
	r->is_called = true;
	r->flag &= flag;
	r->kinds &= kinds;
	intersect(era, acked_of(era, r), acked);
	intersect(era, acked_of(era, r), dead_of(era));
	round_step(&run, r);
	return era->seq;
}

static void use_decision(struct era_run *run, struct era_round *r,
	const struct weft_era_msg *msg)
{
	struct weft_era *era = run->era;

	r->flag = msg->flag;
	r->kinds = msg->kinds;
	r->word = msg->word;
	memcpy(failed_of(era, r), msg->failed, set_len(era));
	memcpy(acked_of(era, r), msg->acked, set_len(era));
	decide(run, r);
}

/* Handles an UP, which has the combined value of a child and of the members
 * below it, or the decision. Only a member that became the root after a death
 * learns the decision from an UP. Any other member receives the decision from
 * its parent, before its children receive it. */
static void on_up(struct era_run *run, struct era_round *r, uint32_t from,
	const struct weft_era_msg *msg)
{
	struct weft_era *era = run->era;

	if (r->is_decided) {
		if (!msg->is_decided)
			send_decision(run, r, from);
		return;
	}
	weft_era_set_add(sent_of(era, r), from);
	if (!msg->is_decided) {
		r->flag &= msg->flag;
		r->kinds &= msg->kinds;
		intersect(era, acked_of(era, r), msg->acked);
		round_step(run, r);
		return;
	}
	use_decision(run, r, msg);
}

/* True if a member that follows the protocol may send such a message. */
static bool is_valid(const struct weft_era *era, uint32_t from,
	const struct weft_era_msg *msg)
{
	uint64_t extra = 0;

	if (from >= era->n || from == era->rank ||
		weft_era_set_has(msg->dead, from))
		return false;
	for (uint32_t i = 0; i < weft_era_words(era->n); i++)
		extra |= msg->failed[i] & ~msg->dead[i];
	if (era->n % 64)
		extra |= msg->dead[era->n / 64] >> era->n % 64;
	return !extra;
}

bool weft_era_arrive(struct weft_era *era, uint32_t from,
	const struct weft_era_msg *msg, const struct weft_era_ops *ops,
	void *arg)
{
	struct era_run run = { era, ops, arg };
	struct era_round *r;

	if (!is_valid(era, from, msg))
		return false;
	if (is_dead(era, from) || era->is_expelled)
		return true;
	if (weft_era_set_has(msg->dead, era->rank)) {
		era->is_expelled = true;
		return true;
	}
	if (era->rounds[msg->seq % ROUNDS].seq > msg->seq)
		return true; /* the agreement has ended: all living members have
				its result */
	r = begin_round(era, msg->seq);
	if (!r)
		return false;
	if (merge_dead(era, msg->dead))
		on_deaths(&run);
	if (msg->kind == WEFT_WIRE_ERA_UP && is_above(era, from))
		on_up(&run, r, from, msg);
	else if (msg->kind == WEFT_WIRE_ERA_DOWN && msg->is_decided &&
		 r->is_called && !r->is_decided)
		use_decision(&run, r, msg);
	else if (msg->kind == WEFT_WIRE_ERA_ASK && r->is_decided)
		send_msg(&run, r, WEFT_WIRE_ERA_UP, from);
	return true;
}

/* ---- queries ---- */

bool weft_era_result(const struct weft_era *era, uint32_t seq,
	struct weft_era_value *value_out)
{
	const struct era_round *r = &era->rounds[seq % ROUNDS];
	uint64_t missing = 0;

	if (!seq || r->seq != seq || !r->is_decided)
		return false;
	for (uint32_t i = 0; i < weft_era_words(era->n); i++)
		missing |= failed_of(era, r)[i] & ~acked_of(era, r)[i];
	*value_out = (struct weft_era_value){
		.flag = r->flag,
		.kinds = r->kinds,
		.word = r->word,
		.failed = failed_of(era, r),
		.is_acked = !missing,
	};
	return true;
}

uint32_t weft_era_seq(const struct weft_era *era)
{
	return era->seq;
}

bool weft_era_is_expelled(const struct weft_era *era)
{
	return era->is_expelled;
}

/* Writes the living children of `top` whose UP is missing to ranks, at most max
 * of them. For a dead child, its living children count. Returns the number of
 * ranks written. */
static uint32_t add_awaited(const struct weft_era *era,
	const struct era_round *r, uint32_t top, uint32_t *ranks, uint32_t max)
{
	uint32_t n = 0;

	for (uint32_t c = next_child(era, top, 0); c && n < max;
		c = next_child(era, top, c)) {
		if (weft_era_set_has(sent_of(era, r), c))
			continue;
		if (c == era->rank || is_dead(era, c))
			n += add_awaited(era, r, c, ranks + n, max - n);
		else
			ranks[n++] = c;
	}
	return n;
}

uint32_t weft_era_awaited(
	const struct weft_era *era, uint32_t *ranks, uint32_t max)
{
	const struct era_round *r = &era->rounds[era->seq % ROUNDS];
	uint32_t n;

	if (!era->seq || r->is_decided || !max)
		return 0;
	n = add_awaited(era, r, tree_top(era), ranks, max);
	if (!n && era->rank != era->root)
		ranks[n++] = living_parent(era);
	return n;
}
