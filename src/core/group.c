/* SPDX-License-Identifier: BSD-3-Clause */
/* group: an ordered set of processes, as runs
 *
 * Every group is built by appending members or whole runs in order. Each run
 * becomes as long as possible, so equal member lists result in equal runs. A
 * run has processes of one job only. The lookup of a process searches a few
 * runs linearly. A group with many runs gets an index of all members, sorted by
 * process, at the first lookup. */
#include "core/group.h"

#include "base/err.h"
#include "base/hash.h"
#include "transport/foreign.h"
#include "transport/proc.h"

#include <stdlib.h>
#include <string.h>

enum { RUNS_WITHOUT_INDEX = 32 };

struct weft_table weft_groups =
	WEFT_TABLE_INIT(struct weft_group, WEFT_KIND_GROUP);

struct weft_group weft_group_empty = { .my_rank = WEFT_UNDEFINED };

struct member {
	uint64_t proc;
	uint32_t rank;
};

struct weft_group_index {
	uint32_t n;
	struct member members[];
};

/* Runs under construction. */
struct runs {
	struct weft_run *runs;
	uint32_t n;
	uint32_t capacity;
	uint32_t size;
};

static int new_run(struct runs *r, uint64_t proc)
{
	if (r->n == r->capacity) {
		uint32_t capacity = r->n ? 2 * r->n : 4;
		void *runs = realloc(r->runs, capacity * sizeof(*r->runs));

		if (!runs)
			return WEFT_ERR_NOMEM;
		r->runs = runs;
		r->capacity = capacity;
	}
	r->runs[r->n++] = (struct weft_run){ proc, 1, 1, r->size };
	return 0;
}

/* True if proc extends the run. A run is within one job, because ranks of two
 * jobs are unrelated. */
static bool run_extends(const struct weft_run *run, uint64_t proc)
{
	return run->first >> 32 == proc >> 32 &&
	       (run->n == 1 ||
		       proc == run->first + (uint64_t)run->stride * run->n);
}

static int group_append(struct runs *r, uint64_t proc)
{
	struct weft_run *last = r->n ? &r->runs[r->n - 1] : NULL;
	int err = 0;

	if (last && run_extends(last, proc)) {
		if (last->n == 1)
			last->stride = (int64_t)(proc - last->first);
		last->n++;
	} else {
		err = new_run(r, proc);
	}
	if (!err)
		r->size++;
	return err;
}

/* Appends the n processes first, first + stride, ...; O(1) in n. */
static int append_run(
	struct runs *r, uint64_t first, int64_t stride, uint32_t n)
{
	while (n) {
		struct weft_run *last;
		int err = group_append(r, first);

		if (err)
			return err;
		n--;
		first += (uint64_t)stride;
		last = &r->runs[r->n - 1];
		if (last->n > 1 && last->stride == stride) {
			last->n += n;
			r->size += n;
			n = 0;
		}
	}
	return 0;
}

/* Creates a group, which becomes the owner of the runs. If err is not 0, or the
 * creation fails, frees the runs. `from` provides the session; NULL: none. */
static int group_finish(struct runs *r, int err, const struct weft_group *from,
	struct weft_group **group_out)
{
	struct weft_group *group;

	if (!err && !r->size) {
		*group_out = &weft_group_empty;
		return 0;
	}
	group = err ? NULL : weft_table_new(&weft_groups);
	if (!group) {
		free(r->runs);
		return err ? err : WEFT_ERR_NOMEM;
	}
	atomic_store_explicit(&group->refs, 1, memory_order_relaxed);
	group->runs = r->runs;
	group->n_runs = r->n;
	group->size = r->size;
	if (from) {
		group->session = from->session;
		group->session_handle = from->session_handle;
	}
	group->my_rank = weft_group_rank_of(group, weft_proc.proc);
	*group_out = group;
	return 0;
}

int weft_group_create_runs(const struct weft_run *runs, uint32_t n_runs,
	struct weft_group **group_out)
{
	struct runs r = { 0 };
	int err = 0;

	for (uint32_t i = 0; !err && i < n_runs; i++)
		if (!runs[i].n || !runs[i].stride || runs[i].rank != r.size ||
			runs[i].n > INT32_MAX - r.size)
			err = weft_err_set(WEFT_ERR_PROTO,
				"run %u of a group from another process is "
				"malformed",
				i);
		else
			err = append_run(
				&r, runs[i].first, runs[i].stride, runs[i].n);
	return group_finish(&r, err, NULL, group_out);
}

struct weft_group *weft_group_get(struct weft_group *group)
{
	if (group != &weft_group_empty)
		atomic_fetch_add_explicit(
			&group->refs, 1, memory_order_relaxed);
	return group;
}

void weft_group_put(struct weft_group *group)
{
	if (!group || group == &weft_group_empty)
		return;
	/* release: the accesses of this holder happen before the free. acquire:
	 * the last holder frees after the accesses of all others. */
	if (atomic_fetch_sub_explicit(&group->refs, 1, memory_order_acq_rel) !=
		1)
		return;
	free(atomic_load_explicit(&group->index, memory_order_relaxed));
	free(group->runs);
	weft_table_free(&weft_groups, group);
}

static int by_proc(const void *a_void, const void *b_void)
{
	const struct member *a = a_void, *b = b_void;

	return a->proc < b->proc ? -1 : a->proc > b->proc;
}

/* Creates an index: all members sorted by process. NULL when out of memory. */
static struct weft_group_index *make_index(const struct weft_group *group)
{
	struct weft_group_index *index = malloc(
		sizeof(*index) + group->size * sizeof(index->members[0]));

	if (!index)
		return NULL;
	index->n = 0;
	for (uint32_t i = 0; i < group->n_runs; i++) {
		const struct weft_run *run = &group->runs[i];

		for (uint32_t k = 0; k < run->n; k++)
			index->members[index->n++] = (struct member){
				run->first + (uint64_t)run->stride * k,
				run->rank + k
			};
	}
	qsort(index->members, index->n, sizeof(index->members[0]), by_proc);
	return index;
}

static struct weft_group_index *group_index_of(const struct weft_group *group)
{
	struct weft_group *self = (struct weft_group *)(uintptr_t)group;
	struct weft_group_index *index, *none = NULL;

	/* acquire: reads the members of the index that the thread with the
	 * successful exchange below published (release) */
	index = atomic_load_explicit(&self->index, memory_order_acquire);
	if (index)
		return index;
	index = make_index(group);
	if (!index)
		return NULL;
	if (atomic_compare_exchange_strong_explicit(&self->index, &none, index,
		    memory_order_acq_rel, memory_order_acquire))
		return index;
	free(index);
	return none;
}

/* Checks whether the list names a process twice. Returns 0 or WEFT_ERR_NOMEM.
 */
static int find_duplicate(
	const uint64_t *procs, uint32_t n, bool *is_duplicate_out)
{
	struct member *sorted;
	uint32_t i = 1;

	*is_duplicate_out = false;
	while (i < n && procs[i] > procs[i - 1])
		i++;
	if (i >= n)
		return 0;
	sorted = malloc(n * sizeof(*sorted));
	if (!sorted)
		return WEFT_ERR_NOMEM;
	for (i = 0; i < n; i++)
		sorted[i] = (struct member){ procs[i], i };
	qsort(sorted, n, sizeof(*sorted), by_proc);
	for (i = 1; i < n; i++)
		if (sorted[i].proc == sorted[i - 1].proc)
			*is_duplicate_out = true;
	free(sorted);
	return 0;
}

int weft_group_create(
	const uint64_t *procs, uint32_t n, struct weft_group **group_out)
{
	struct runs r = { 0 };
	bool is_duplicate;
	int err = find_duplicate(procs, n, &is_duplicate);

	if (!err && is_duplicate)
		err = weft_err_set(WEFT_ERR_RANK,
			"a process appears twice in the list for a group of %u "
			"processes",
			n);
	for (uint32_t i = 0; !err && i < n; i++)
		err = group_append(&r, procs[i]);
	return group_finish(&r, err, NULL, group_out);
}

int weft_group_create_range(
	uint64_t first, uint32_t n, struct weft_group **group_out)
{
	struct runs r = { 0 };

	return group_finish(&r, append_run(&r, first, 1, n), NULL, group_out);
}

/* Returns the run of a rank. */
static const struct weft_run *run_of_rank(
	const struct weft_group *group, uint32_t rank)
{
	uint32_t low = 0, high = group->n_runs;

	/* the last run that does not begin after rank */
	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;

		if (group->runs[mid].rank <= rank)
			low = mid;
		else
			high = mid;
	}
	return &group->runs[low];
}

static uint64_t proc_in_run(const struct weft_run *run, uint32_t rank)
{
	return run->first + (uint64_t)run->stride * (rank - run->rank);
}

uint64_t weft_group_proc(const struct weft_group *group, uint32_t rank)
{
	return proc_in_run(run_of_rank(group, rank), rank);
}

/* Appends the members of a group at some ranks. */
static int append_range(struct runs *r, const struct weft_group *from,
	struct weft_rank_range range)
{
	int err = 0;

	while (range.n && !err) {
		const struct weft_run *run = run_of_rank(from, range.first);
		uint32_t offset = range.first - run->rank;
		int64_t stride = range.stride;
		/* so many of the ranks are in the run */
		int64_t n = stride > 0 ? (run->n - 1 - offset) / stride + 1
				       : offset / -stride + 1;

		n = weft_min64(n, range.n);
		err = append_run(r, proc_in_run(run, range.first),
			run->stride * stride, (uint32_t)n);
		range.first += (uint32_t)(stride * n);
		range.n -= (uint32_t)n;
	}
	return err;
}

int weft_group_create_ranges(const struct weft_group *from,
	const struct weft_rank_range *ranges, uint32_t n_ranges,
	struct weft_group **group_out)
{
	struct runs r = { 0 };
	int err = 0;

	for (uint32_t i = 0; i < n_ranges && !err; i++)
		err = append_range(&r, from, ranges[i]);
	return group_finish(&r, err, NULL, group_out);
}

int32_t weft_run_rank_of(const struct weft_run *run, uint64_t proc)
{
	int64_t off = (int64_t)(proc - run->first);
	int64_t k;

	if (run->n == 1)
		return off ? WEFT_UNDEFINED : (int32_t)run->rank;
	if (run->stride == -1) /* INT64_MIN / -1 would overflow */
		k = (int64_t)(0 - (uint64_t)off);
	else if (off % run->stride)
		return WEFT_UNDEFINED;
	else
		k = off / run->stride;
	return k >= 0 && k < (int64_t)run->n ? (int32_t)(run->rank + k)
					     : WEFT_UNDEFINED;
}

int32_t weft_group_rank_of(const struct weft_group *group, uint64_t proc)
{
	struct member key = { proc, 0 };
	struct weft_group_index *index = NULL;

	if (group->n_runs > RUNS_WITHOUT_INDEX)
		index = group_index_of(group);
	if (index) {
		const struct member *m = bsearch(
			&key, index->members, index->n, sizeof(key), by_proc);

		return m ? (int32_t)m->rank : WEFT_UNDEFINED;
	}
	for (uint32_t i = 0; i < group->n_runs; i++) {
		int32_t rank = weft_run_rank_of(&group->runs[i], proc);

		if (rank != WEFT_UNDEFINED)
			return rank;
	}
	return WEFT_UNDEFINED;
}

static bool are_equal(const struct weft_group *a, const struct weft_group *b)
{
	return a->size == b->size && a->n_runs == b->n_runs &&
	       (!a->n_runs ||
		       !memcmp(a->runs, b->runs, a->n_runs * sizeof(*a->runs)));
}

/* A function that for_each() calls for each member, until the function returns
 * a value other than 0. */
typedef int each_fn(void *arg, uint32_t rank, uint64_t proc);

static int for_each(const struct weft_group *group, each_fn *fn, void *arg)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < group->n_runs; i++) {
		const struct weft_run *run = &group->runs[i];

		for (uint32_t k = 0; !err && k < run->n; k++)
			err = fn(arg, run->rank + k,
				run->first + (uint64_t)run->stride * k);
	}
	return err;
}

static int is_missing(void *arg, uint32_t rank, uint64_t proc)
{
	(void)rank;
	return weft_group_rank_of(arg, proc) == WEFT_UNDEFINED;
}

enum weft_compare weft_group_compare(
	const struct weft_group *a, const struct weft_group *b)
{
	if (are_equal(a, b))
		return WEFT_IDENT;
	if (a->size != b->size || for_each(a, is_missing, (void *)(uintptr_t)b))
		return WEFT_UNEQUAL;
	return WEFT_SIMILAR;
}

/* The arguments of append_filtered(). If keep_common is set, it appends the
 * members that are in `other`, else the members that are not. */
struct filter {
	struct runs *runs;
	const struct weft_group *other;
	bool keep_common;
};

static int append_filtered(void *arg, uint32_t rank, uint64_t proc)
{
	struct filter *f = arg;
	bool is_in = weft_group_rank_of(f->other, proc) != WEFT_UNDEFINED;

	(void)rank;
	return is_in == f->keep_common ? group_append(f->runs, proc) : 0;
}

static int append_all(struct runs *r, const struct weft_group *group)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < group->n_runs; i++)
		err = append_run(r, group->runs[i].first, group->runs[i].stride,
			group->runs[i].n);
	return err;
}

int weft_group_dup(
	const struct weft_group *group, struct weft_group **group_out)
{
	struct runs r = { 0 };

	return group_finish(&r, append_all(&r, group), group, group_out);
}

/* Returns the group whose session the result of a and b belongs to: a, unless a
 * has no session. */
static const struct weft_group *session_group_of(
	const struct weft_group *a, const struct weft_group *b)
{
	return a->session ? a : b;
}

int weft_group_union(const struct weft_group *a, const struct weft_group *b,
	struct weft_group **group_out)
{
	struct runs r = { 0 };
	struct filter f = { &r, a, false };
	int err = append_all(&r, a);

	if (!err && !are_equal(a, b))
		err = for_each(b, append_filtered, &f);
	return group_finish(&r, err, session_group_of(a, b), group_out);
}

int weft_group_intersection(const struct weft_group *a,
	const struct weft_group *b, struct weft_group **group_out)
{
	struct runs r = { 0 };
	struct filter f = { &r, b, true };

	return group_finish(&r, for_each(a, append_filtered, &f),
		session_group_of(a, b), group_out);
}

int weft_group_difference(const struct weft_group *a,
	const struct weft_group *b, struct weft_group **group_out)
{
	struct runs r = { 0 };
	struct filter f = { &r, b, false };

	return group_finish(&r, for_each(a, append_filtered, &f),
		session_group_of(a, b), group_out);
}

/* Allocates a bit for each rank, and sets the bits of the listed ranks.
 * WEFT_ERR_RANK: a rank is out of range or listed twice. */
static int mark_ranks(const struct weft_group *group, const int *ranks,
	uint32_t n, uint8_t **marks_out)
{
	uint8_t *marks = calloc(group->size / 8 + 1, 1);
	int err = marks ? 0 : WEFT_ERR_NOMEM;

	for (uint32_t i = 0; !err && i < n; i++) {
		uint32_t rank = (uint32_t)ranks[i];

		if (rank >= group->size)
			err = weft_err_set(WEFT_ERR_RANK,
				"ranks[%u] is %d, but the group has %u "
				"processes",
				i, ranks[i], group->size);
		else if (marks[rank / 8] & 1u << rank % 8)
			err = weft_err_set(WEFT_ERR_RANK,
				"ranks[%u] is %d, which appears twice", i,
				ranks[i]);
		else
			marks[rank / 8] |= (uint8_t)(1u << rank % 8);
	}
	if (err) {
		free(marks);
		return err;
	}
	*marks_out = marks;
	return 0;
}

int weft_group_incl(const struct weft_group *group, const int *ranks,
	uint32_t n, struct weft_group **group_out)
{
	struct runs r = { 0 };
	uint8_t *marks;
	int err = mark_ranks(group, ranks, n, &marks);

	if (err)
		return err;
	free(marks);
	for (uint32_t i = 0; !err && i < n; i++)
		err = group_append(
			&r, weft_group_proc(group, (uint32_t)ranks[i]));
	return group_finish(&r, err, group, group_out);
}

struct unmarked {
	struct runs *runs;
	const uint8_t *marks;
};

static int append_unmarked(void *arg, uint32_t rank, uint64_t proc)
{
	struct unmarked *u = arg;

	return u->marks[rank / 8] & 1u << rank % 8
		       ? 0
		       : group_append(u->runs, proc);
}

int weft_group_excl(const struct weft_group *group, const int *ranks,
	uint32_t n, struct weft_group **group_out)
{
	struct runs r = { 0 };
	struct unmarked u = { &r, NULL };
	uint8_t *marks;
	int err = mark_ranks(group, ranks, n, &marks);

	if (err)
		return err;
	u.marks = marks;
	err = for_each(group, append_unmarked, &u);
	free(marks);
	return group_finish(&r, err, group, group_out);
}

void weft_group_digest(const struct weft_group *group, uint64_t digest_out[2])
{
	static const uint8_t keys[2][16] = { { 1, 9, 7 }, { 2, 8, 6 } };
	size_t len = group->n_runs * sizeof(*group->runs);

	for (int i = 0; i < 2; i++)
		digest_out[i] = weft_hash(keys[i], group->runs, len);
}

bool weft_group_is_one_job(const struct weft_group *group)
{
	for (uint32_t i = 0; i < group->n_runs; i++)
		if (weft_foreign_is(group->runs[i].first))
			return false;
	return true;
}
