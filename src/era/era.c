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
	bool has_acked;	  /* a member's acknowledgements are combined */
	bool is_decided;  /* the value is final */
	uint64_t flag;
	uint32_t kinds;
	uint64_t word;
};

struct weft_era {
	uint32_t n, rank;
	uint32_t root; /* the lowest rank of a member not known to be dead */
	uint32_t seq;
	uint32_t n_dead;
	bool is_expelled, is_full;
	struct era_round rounds[ROUNDS]; /* agreement seq is in rounds[seq %
					    ROUNDS] */
	/* a set of each round: a bit for each member whose UP has arrived. Then
	 * the dead members, struct weft_era_dead, in the order of their
	 * ranks. */
	uint64_t memory[];
};

/* The machine that handles an event, and the caller's functions. */
struct era_run {
	struct weft_era *era;
	const struct weft_era_ops *ops;
	void *arg;
};

static uint32_t n_words(uint32_t n)
{
	return (n + 63) / 64;
}

static uint32_t dead_max(uint32_t n)
{
	return n < WEFT_ERA_DEAD_MAX ? n : WEFT_ERA_DEAD_MAX;
}

static bool has_bit(const uint64_t *set, uint32_t rank)
{
	return set[rank / 64] >> rank % 64 & 1;
}

static uint8_t bit_of(const struct weft_era *era, const struct era_round *r)
{
	return (uint8_t)(1 << (r - era->rounds));
}

/* Returns the set of members whose UP has arrived. */
static uint64_t *sent_of(const struct weft_era *era, const struct era_round *r)
{
	return (uint64_t *)era->memory +
	       (size_t)(r - era->rounds) * n_words(era->n);
}

static struct weft_era_dead *dead_of(const struct weft_era *era)
{
	return (struct weft_era_dead *)(void *)((uint64_t *)era->memory +
						(size_t)ROUNDS *
							n_words(era->n));
}

/* Returns the index of the first of n dead members whose rank is not lower. */
static uint32_t index_of(
	const struct weft_era_dead *dead, uint32_t n, uint32_t rank)
{
	uint32_t low = 0;

	while (low < n) {
		uint32_t mid = low + (n - low) / 2;

		if (dead[mid].rank < rank)
			low = mid + 1;
		else
			n = mid;
	}
	return low;
}

/* Returns the entry of a member among these deaths, or NULL. */
static const struct weft_era_dead *find_in(
	const struct weft_era_deaths *deaths, uint32_t rank)
{
	uint32_t i = index_of(deaths->at, deaths->n, rank);

	return i < deaths->n && deaths->at[i].rank == rank ? &deaths->at[i]
							   : NULL;
}

/* Returns the entry of a member that is known to be dead, or NULL. */
static struct weft_era_dead *find_dead(
	const struct weft_era *era, uint32_t rank)
{
	const struct weft_era_deaths known = { dead_of(era), era->n_dead, 0 };
	const struct weft_era_dead *dead = find_in(&known, rank);

	return dead ? dead_of(era) + (dead - known.at) : NULL;
}

static bool is_dead(const struct weft_era *era, uint32_t rank)
{
	return find_dead(era, rank) != NULL;
}

static struct weft_era_deaths deaths_of(
	const struct weft_era *era, const struct era_round *r)
{
	return (struct weft_era_deaths){ dead_of(era), era->n_dead,
		bit_of(era, r) };
}

static void set_bit(uint8_t *field, uint8_t bit, bool is_set)
{
	*field = (uint8_t)(is_set ? *field | bit : *field & ~bit);
}

size_t weft_era_size(uint32_t n)
{
	return sizeof(struct weft_era) +
	       (size_t)ROUNDS * n_words(n) * sizeof(uint64_t) +
	       dead_max(n) * sizeof(struct weft_era_dead);
}

void weft_era_init(struct weft_era *era, uint32_t n, uint32_t rank)
{
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
		if (has_bit(sent, c))
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
		.deaths = deaths_of(era, r),
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
	if (!has_bit(sent_of(run->era, r), child))
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
	/* most words are 0, in pages that were never written */
	for (uint32_t i = 0; i < n_words(era->n); i++)
		if (sent_of(era, r)[i])
			sent_of(era, r)[i] = 0;
	for (uint32_t i = 0; i < era->n_dead; i++) {
		set_bit(&dead_of(era)[i].failed, bit_of(era, r), false);
		set_bit(&dead_of(era)[i].acked, bit_of(era, r), true);
	}
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
		for (uint32_t i = 0; i < era->n_dead; i++)
			set_bit(&dead_of(era)[i].failed, bit_of(era, r), true);
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

/* Adds a member to the known deaths. False if it was known. If no member's
 * acknowledgements are combined yet, its failure counts as acknowledged. */
static bool add_dead(struct weft_era *era, uint32_t rank)
{
	struct weft_era_dead *dead = dead_of(era);
	uint32_t at = index_of(dead, era->n_dead, rank);

	if (at < era->n_dead && dead[at].rank == rank)
		return false;
	if (era->n_dead == dead_max(era->n)) {
		era->is_full = true;
		return false;
	}
	memmove(&dead[at + 1], &dead[at], (era->n_dead - at) * sizeof(dead[0]));
	era->n_dead++;
	dead[at] = (struct weft_era_dead){ .rank = rank };
	for (uint32_t i = 0; i < ROUNDS; i++)
		set_bit(&dead[at].acked, (uint8_t)(1 << i),
			!era->rounds[i].has_acked);
	return true;
}

/* Adds deaths to the known deaths. Returns true if a death was not known. */
static bool merge_dead(
	struct weft_era *era, const struct weft_era_deaths *deaths)
{
	bool is_news = false;

	for (uint32_t i = 0; i < deaths->n; i++)
		is_news |= add_dead(era, deaths->at[i].rank);
	return is_news;
}

void weft_era_died(struct weft_era *era, uint32_t rank,
	const struct weft_era_ops *ops, void *arg)
{
	struct era_run run = { era, ops, arg };

	if (rank < era->n && rank != era->rank && add_dead(era, rank))
		on_deaths(&run);
}

/* ---- the other events ---- */

/* Combines the acknowledgements of a message. */
static void combine_acked(struct weft_era *era, struct era_round *r,
	const struct weft_era_deaths *deaths)
{
	for (uint32_t i = 0; i < era->n_dead; i++) {
		struct weft_era_dead *dead = &dead_of(era)[i];
		const struct weft_era_dead *in = find_in(deaths, dead->rank);

		if (!in || !(in->acked & deaths->bit))
			set_bit(&dead->acked, bit_of(era, r), false);
	}
	r->has_acked = true;
}

/* Combines the acknowledgements of this member. */
static void combine_own(struct weft_era *era, struct era_round *r,
	const uint32_t *acked, uint32_t n_acked)
{
	enum { MARK = 1 << ROUNDS };

	for (uint32_t i = 0; i < n_acked; i++) {
		struct weft_era_dead *dead = find_dead(era, acked[i]);

		if (dead)
			dead->acked |= MARK;
	}
	for (uint32_t i = 0; i < era->n_dead; i++) {
		struct weft_era_dead *dead = &dead_of(era)[i];

		if (!(dead->acked & MARK))
			set_bit(&dead->acked, bit_of(era, r), false);
		set_bit(&dead->acked, MARK, false);
	}
	r->has_acked = true;
}

uint32_t weft_era_start(struct weft_era *era, uint64_t flag, uint32_t kinds,
	const uint32_t *acked, uint32_t n_acked, const struct weft_era_ops *ops,
	void *arg)
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
	combine_own(era, r, acked, n_acked);
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
	for (uint32_t i = 0; i < era->n_dead; i++) {
		struct weft_era_dead *dead = &dead_of(era)[i];
		const struct weft_era_dead *in =
			find_in(&msg->deaths, dead->rank);

		set_bit(&dead->failed, bit_of(era, r),
			in && in->failed & msg->deaths.bit);
		set_bit(&dead->acked, bit_of(era, r),
			in && in->acked & msg->deaths.bit);
	}
	r->has_acked = true;
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
	sent_of(era, r)[from / 64] |= (uint64_t)1 << from % 64;
	if (!msg->is_decided) {
		r->flag &= msg->flag;
		r->kinds &= msg->kinds;
		combine_acked(era, r, &msg->deaths);
		round_step(run, r);
		return;
	}
	use_decision(run, r, msg);
}

/* True if a member that follows the protocol may send such a message. */
static bool is_valid(const struct weft_era *era, uint32_t from,
	const struct weft_era_msg *msg)
{
	const struct weft_era_deaths *deaths = &msg->deaths;

	if (from >= era->n || from == era->rank || find_in(deaths, from))
		return false;
	for (uint32_t i = 0; i < deaths->n; i++)
		if (deaths->at[i].rank >= era->n ||
			(i && deaths->at[i].rank <= deaths->at[i - 1].rank))
			return false;
	return true;
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
	if (find_in(&msg->deaths, era->rank)) {
		era->is_expelled = true;
		return true;
	}
	if (era->rounds[msg->seq % ROUNDS].seq > msg->seq)
		return true; /* the agreement has ended: all living members have
				its result */
	r = begin_round(era, msg->seq);
	if (!r)
		return false;
	if (merge_dead(era, &msg->deaths))
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
	bool is_acked = true;

	if (!seq || r->seq != seq || !r->is_decided)
		return false;
	for (uint32_t i = 0; i < era->n_dead; i++) {
		const struct weft_era_dead *dead = &dead_of(era)[i];

		if (dead->failed & ~dead->acked & bit_of(era, r))
			is_acked = false;
	}
	*value_out = (struct weft_era_value){
		.flag = r->flag,
		.kinds = r->kinds,
		.word = r->word,
		.deaths = deaths_of(era, r),
		.is_acked = is_acked,
	};
	return true;
}

bool weft_era_is_full(const struct weft_era *era)
{
	return era->is_full;
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
		if (has_bit(sent_of(era, r), c))
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
