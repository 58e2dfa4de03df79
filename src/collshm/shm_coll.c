/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_coll: rounds in the segment, waits, errors */
#include "collshm/shm_coll.h"

#include "p2p/p2p.h"
#include "transport/proc.h"
#include "transport/progress.h"
#include "watchdog/request.h"

#include <stdio.h>
#include <string.h>

enum {
	SPINS = 100,		 /* polls before wait_slowly() */
	CALLS_PER_ROUND = 32,	 /* every 32nd round calls weft_progress() */
	REFRESH_AFTER = 1 << 30, /* rounds, see refresh_reached() */
	NO_KIND = WEFT_COLL_WORD_KIND, /* not a collective */
};

/* ---- sequence numbers ---- */

/* True if round a is before round b. The numbers wrap, so their distance must
 * be below 2^31. */
static bool is_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static uint64_t start_of(
	const struct weft_coll_shm *shm, int32_t rank, uint32_t number)
{
	/* pairs with the release in shm_coll_start(): the member no longer
	 * reads data of earlier rounds */
	return atomic_load_explicit(
		&shm->members[rank].starts[number % WEFT_COLL_STARTS],
		memory_order_acquire);
}

/* The last round that a member has begun; at least `reached`. */
static uint32_t last_start(const struct weft_coll_shm *shm, int32_t rank)
{
	uint32_t last = shm->reached;

	for (uint32_t i = 0; i < WEFT_COLL_STARTS; i++) {
		uint64_t word = start_of(shm, rank, i);
		uint32_t number = (uint32_t)(word >> 32) - 1;

		if (word && is_before(last, number))
			last = number;
	}
	return last;
}

/* Sets `reached` from the starts of all members. A member that never waits does
 * not read these starts otherwise. The comparison in is_before() needs a recent
 * `reached`. */
static __attribute__((noinline)) void refresh_reached(struct weft_coll_shm *shm)
{
	uint32_t reached = last_start(shm, shm->me);

	for (int32_t i = 0; i < shm->n; i++) {
		uint32_t last = last_start(shm, i);

		if (is_before(last, reached))
			reached = last;
	}
	shm->reached = reached;
}

/* Publishes that this member has begun a round. The other members may then
 * overwrite their data of earlier rounds. */
static void shm_coll_start(
	struct weft_coll_shm *shm, uint32_t number, uint64_t word)
{
	if (weft_unlikely(number - shm->reached > REFRESH_AFTER))
		refresh_reached(shm);
	/* orders this member's reads of earlier rounds before the store; pairs
	 * with the acquire in start_of() */
	atomic_store_explicit(&shm->mine->starts[number % WEFT_COLL_STARTS],
		word, memory_order_release);
}

void weft_shm_coll_note_messages(
	struct weft_comm *comm, uint32_t number, enum weft_coll_kind kind)
{
	shm_coll_start(comm->coll.shm, number,
		weft_coll_word(number, WEFT_COLL_WORD_MESSAGES | kind));
}

int32_t weft_shm_coll_find_other(const struct weft_comm *comm, uint32_t number,
	enum weft_coll_kind *kind_out)
{
	const struct weft_coll_shm *shm = comm->coll.shm;

	for (int32_t i = 0; i < shm->n; i++) {
		uint64_t word = start_of(shm, i, number);

		if ((uint32_t)(word >> 32) != number + 1 ||
			word & WEFT_COLL_WORD_MESSAGES)
			continue;
		*kind_out = (enum weft_coll_kind)(word & WEFT_COLL_WORD_KIND);
		return weft_shm_coll_rank(shm, i);
	}
	return -1;
}

/* ---- a round ---- */

static __attribute__((noinline)) void make_progress_once(
	struct weft_coll_round *r)
{
	struct weft_vci *vci = r->comm->vci;

	r->shm->n_calls = 0;
	weft_vci_lock(vci);
	weft_progress(vci);
	weft_vci_unlock(vci);
}

static uint32_t signature_of(
	const struct weft_coll_round *r, const struct weft_coll *args)
{
	uint32_t what = (uint32_t)r->len;

	if (r->kind == WEFT_COLL_BCAST || r->kind == WEFT_COLL_REDUCE ||
		r->kind == WEFT_COLL_GATHER || r->kind == WEFT_COLL_SCATTER)
		what += (uint32_t)args->root * 0x4021u;
	if (args->op)
		what += (uint32_t)args->op->builtin * 0x80081u;
	return what << WEFT_COLL_WORD_SHIFT | r->kind;
}

static struct weft_coll_area *area_of(const struct weft_coll_round *r)
{
	return &r->shm->areas[r->len > r->shm->short_max];
}

/* Rounds since the latest use of one of these parts. The number wraps after
 * 2^32 rounds. The age of a part may then seem too small, which only causes a
 * wait. */
static uint32_t age_of(const struct weft_coll_area *area, uint32_t number,
	uint32_t part, uint32_t n_parts)
{
	uint32_t age = number - area->used[part];

	for (uint32_t i = 1; i < n_parts; i++)
		if (number - area->used[part + i] < age)
			age = number - area->used[part + i];
	return age;
}

/* Selects the parts of the area for the next data. All members have read the
 * parts that were last used before round last_all. In a small area, the
 * function selects the uppermost of these parts, so that few parts are in use.
 * In a large area, or if there are none, it selects the parts below the last
 * data. */
static uint32_t next_parts(const struct weft_coll_round *r,
	const struct weft_coll_area *area, uint32_t n_parts)
{
	uint32_t part = area->n_parts;

	for (; !area->is_large && part >= n_parts; part--)
		if (age_of(area, r->number, part - n_parts, n_parts) >
			r->number - r->shm->last_all)
			return part - n_parts;
	part = (area->at - area->base) / area->part_len;
	return (part < n_parts ? area->n_parts : part) - n_parts;
}

/* Selects the offset of the round's data. Short data is within one part, below
 * the previous data: a hardware prefetcher reads ahead upwards, so it does not
 * fetch the lines that are written next. Longer data uses whole parts. */
static void shm_coll_place(struct weft_coll_round *r)
{
	struct weft_coll_area *area = area_of(r);
	uint32_t len = (uint32_t)weft_round_up(r->len, WEFT_CACHE_LINE);
	uint32_t n_parts = (len + area->part_len - 1) / area->part_len;
	uint32_t end = area->at - area->base, part = end / area->part_len;

	if (end % area->part_len < len) {
		part = next_parts(r, area, n_parts);
		area->before =
			r->number - age_of(area, r->number, part, n_parts);
		end = part * area->part_len + weft_max(len, area->part_len);
	}
	for (uint32_t i = 0; i < n_parts; i++)
		area->used[part + i] = r->number;
	r->at = area->at = area->base + end - len;
}

static bool reads_all(enum weft_coll_kind kind)
{
	return kind == WEFT_COLL_BARRIER || kind == WEFT_COLL_ALLREDUCE ||
	       kind == WEFT_COLL_ALLGATHER || kind == WEFT_COLL_ALLTOALL ||
	       kind == WEFT_COLL_REDUCE_SCATTER;
}

void weft_coll_round_begin(struct weft_coll_round *r,
	const struct weft_coll *args, enum weft_coll_kind kind, size_t len)
{
	r->comm = args->comm;
	r->shm = args->comm->coll.shm;
	r->number = args->comm->coll.seq++;
	r->kind = kind;
	r->len = len;
	r->is_all = reads_all(kind);
	r->has_published = false;
	r->err = 0;
	r->skip = 0;
	if (len > WEFT_COLL_INLINE)
		shm_coll_place(r);
	if (r->is_all && (len || kind == WEFT_COLL_BARRIER))
		r->shm->last_all = r->number;
	r->word = weft_coll_word(r->number, signature_of(r, args));
	shm_coll_start(r->shm, r->number, r->word);
	if (weft_unlikely(++r->shm->n_calls == CALLS_PER_ROUND))
		make_progress_once(r);
}

/* ---- errors ---- */

static int report_mismatch(
	struct weft_coll_round *r, int32_t place, uint64_t met)
{
	const int32_t rank = weft_shm_coll_rank(r->shm, place);
	unsigned other = met & WEFT_COLL_WORD_KIND;
	const char *name = weft_coll_name(r->kind);

	if (other != r->kind)
		return weft_coll_mismatch(r->kind, other, rank);
	return weft_err_set(WEFT_ERR_NOT_SAME,
		"%s here met %s of rank %d %s: all members must call the same "
		"collectives on a communicator, in the same order",
		name, name, (int)rank,
		met & WEFT_COLL_WORD_MESSAGES
			? "that is not blocking, or of another length"
			: "with another length, root or operation");
}

/* Returns the error that a member has published. Control characters in its text
 * are replaced by spaces. */
static int error_of(const struct weft_coll_round *r, int32_t rank)
{
	const struct weft_coll_member *m = &r->shm->members[rank];
	char text[WEFT_COLL_TEXT];
	int err = *(const volatile int32_t *)&m->err;

	memcpy(text, m->text, sizeof(text));
	text[sizeof(text) - 1] = 0;
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
	if (!weft_err_is_fault(err))
		err = WEFT_ERR_INTERN;
	return weft_err_set(err, "%s", text);
}

/* Returns an error if the slot of an awaited member has the member's error, a
 * word of another collective, or a word of a later round. */
static int error_in_slot(struct weft_coll_round *r, int32_t rank)
{
	uint64_t word = atomic_load_explicit(
		&weft_coll_slot_of(r, rank)->word, memory_order_acquire);
	uint32_t number = (uint32_t)(word >> 32) - 1;

	if (word == r->word || !word || is_before(number, r->number) ||
		is_before(last_start(r->shm, rank), number))
		return 0; /* the last comparison excludes a word of an earlier
			     use of the slot, whose number seems later after a
			     wrap */
	if (number == r->number && word & WEFT_COLL_WORD_ERR)
		return error_of(r, rank);
	return report_mismatch(r, rank, number == r->number ? word : NO_KIND);
}

/* Returns an error if a member has not published its slot, but has begun
 * another collective in this round, or a later round. */
static int error_in_start(struct weft_coll_round *r, int32_t rank)
{
	uint64_t word = start_of(r->shm, rank, r->number);
	uint32_t number = (uint32_t)(word >> 32) - 1;

	if (!word || word == r->word || is_before(number, r->number) ||
		weft_coll_has_published(r, rank))
		return 0;
	return report_mismatch(r, rank, number == r->number ? word : NO_KIND);
}

static void publish_error(struct weft_coll_round *r)
{
	struct weft_coll_member *mine = r->shm->mine;
	const char *detail = weft_err_detail_peek(r->err);
	bool has_process = !strncmp(detail, "process ", 8);

	if (!*detail)
		detail = weft_err_str(r->err);
	mine->err = r->err;
	if (has_process)
		snprintf(mine->text, sizeof(mine->text), "%s", detail);
	else
		snprintf(mine->text, sizeof(mine->text), "process %u: %s",
			(uint32_t)weft_proc.proc, detail);
	/* publishes err and text; pairs with the acquire in error_in_slot() */
	atomic_store_explicit(&weft_coll_slot_of(r, r->shm->me)->word,
		weft_coll_word(r->number, WEFT_COLL_WORD_ERR | r->kind),
		memory_order_release);
}

/* ---- waits ---- */

/* A wait for a member's slot, or for the member to begin a round, so that this
 * member may reuse space. */
struct shm_wait {
	struct weft_coll_round *r;
	int32_t rank;
	bool is_space;
	uint32_t number; /* the round that the member must have begun (is_space)
			  */
};

static bool has_arrived(const struct shm_wait *a)
{
	if (a->is_space)
		return !is_before(last_start(a->r->shm, a->rank), a->number);
	return weft_coll_has_published(a->r, a->rank);
}

static bool coll_is_missing(const void *arg, int32_t rank)
{
	const struct shm_wait *a = arg;
	const struct weft_coll_shm *shm = a->r->shm;

	if (a->is_space || !a->r->is_all)
		return rank == weft_shm_coll_rank(shm, a->rank);
	for (int32_t i = 0; i < shm->n; i++)
		if (weft_shm_coll_rank(shm, i) == rank)
			return i != shm->me &&
			       !weft_coll_has_published(a->r, i);
	return false;
}

/* Returns the error that prevents the wait from ending; 0: none. */
static int shm_coll_wait_error(const struct shm_wait *a)
{
	struct weft_comm *comm = a->r->comm;
	int err = 0;

	if (!a->is_space)
		err = error_in_slot(a->r, a->rank);
	if (err == WEFT_ERR_REVOKED)
		weft_revoke_arrive_locked(comm);
	if (!err && weft_comm_is_revoked(comm))
		err = weft_comm_revoked(comm);
	if (!err && comm->failed)
		err = weft_comm_failed(comm);
	if (!err)
		err = weft_departed_member(
			comm, weft_shm_coll_rank(a->r->shm, a->rank));
	if (!err && !a->is_space)
		err = error_in_start(a->r, a->rank);
	/* the member may have published while the reasons were checked */
	return err && has_arrived(a) ? 0 : err;
}

static int wait_slowly(struct shm_wait *a)
{
	struct weft_comm *comm = a->r->comm;
	struct weft_vci *vci = comm->vci;
	struct weft_request_loop loop = {
		.call = weft_coll_name(a->r->kind),
		.arg = a,
		.comm = comm,
		.rank = weft_shm_coll_rank(a->r->shm, a->rank),
		.tag = (int32_t)(a->r->number & WEFT_TAG_COLL_NUMBER),
		.is_missing = coll_is_missing,
	};
	int err = 0;

	weft_vci_lock(vci);
	while (!has_arrived(a)) {
		err = shm_coll_wait_error(a);
		if (err)
			break;
		weft_progress_wait_word(vci);
		if (has_arrived(a))
			break;
		if (weft_request_round(vci, &loop)) {
			err = weft_request_raise(&loop);
			break;
		}
	}
	weft_request_end(&loop);
	vci->idle_polls = 0;
	weft_vci_unlock(vci);
	return err;
}

/* Returns immediately if the round has an error. */
static void shm_coll_wait(struct shm_wait *a)
{
	if (a->r->err)
		return;
	for (int i = 0; weft_proc.max_spin && i < SPINS; i++) {
		if (has_arrived(a))
			return;
		weft_cpu_pause();
	}
	a->r->err = wait_slowly(a);
}

void weft_coll_wait_slow(struct weft_coll_round *r, int32_t rank)
{
	struct shm_wait a = { .r = r, .rank = rank };

	shm_coll_wait(&a);
}

/* Waits until every member has begun round `number`. Sets `reached` to the last
 * round that all members have begun. */
static __attribute__((noinline)) void wait_reached(
	struct weft_coll_round *r, uint32_t number)
{
	struct weft_coll_shm *shm = r->shm;
	uint32_t reached = r->number;

	for (int32_t i = 0; i < shm->n; i++) {
		struct shm_wait a = {
			.r = r, .rank = i, .is_space = true, .number = number
		};
		uint32_t last;

		if (i == shm->me)
			continue;
		if (!has_arrived(&a))
			shm_coll_wait(&a);
		last = last_start(shm, i);
		if (is_before(last, reached))
			reached = last;
	}
	if (!r->err)
		shm->reached = reached;
}

void weft_coll_wait_space(struct weft_coll_round *r)
{
	struct weft_coll_shm *shm = r->shm;
	uint32_t until = r->number + 1 - shm->n_slots, before;

	if (r->len > WEFT_COLL_INLINE) {
		before = area_of(r)->before;
		/* if the slot of round `before` has been reused, all members
		 * have completed that round */
		if (r->number - before < shm->n_slots)
			until = before + 1;
	}
	/* the wait continues until half of the slots or parts are free, so that
	 * the next rounds need no wait */
	if (weft_unlikely(is_before(shm->reached, until)))
		wait_reached(r, until + (r->number - until) / 2);
}

int weft_coll_round_end(struct weft_coll_round *r)
{
	int err = r->err;

	if (weft_likely(!err)) {
		if (r->is_all)
			r->shm->reached = r->number;
		return 0;
	}
	if (r->has_published)
		return err;
	r->err = 0;
	weft_coll_wait_space(r); /* may also fail */
	r->err = err;
	publish_error(r);
	return err;
}
