/* SPDX-License-Identifier: BSD-3-Clause */
/* profile_report: reads the records of a job and computes their sums
 *
 * Two sites are equal if their procedure, object and offset are equal. Their
 * addresses may differ between processes. */
#include "profile/profile_report.h"

#include "base/err.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- reading ---- */

static bool is_record(const struct weft_profile_head *head, size_t len)
{
	return len >= sizeof(*head) &&
	       !memcmp(head->magic, WEFT_PROFILE_MAGIC, sizeof(head->magic)) &&
	       head->head_len == sizeof(*head) &&
	       head->table_len == sizeof(struct weft_profile_table) &&
	       head->n_tables <= (len - sizeof(*head)) / head->table_len;
}

static void record_load(
	struct weft_profile_rank *rank, const char *dir, uint32_t number)
{
	char path[4096];
	struct stat st;
	void *map;
	int fd;

	snprintf(path, sizeof(path), "%s/profile.%u", dir, number);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_size > 0) {
		map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE, fd, 0);
		if (map != MAP_FAILED && is_record(map, (size_t)st.st_size)) {
			rank->head = map;
			rank->len = (size_t)st.st_size;
		} else if (map != MAP_FAILED) {
			munmap(map, (size_t)st.st_size);
		}
	}
	close(fd);
}

const struct weft_profile_table *weft_profile_table_at(
	const struct weft_profile_rank *rank, uint32_t i)
{
	const char *tables = (const char *)(rank->head + 1);

	return (const void *)(tables + i * rank->head->table_len);
}

/* ---- sites ---- */

static const char *object_of(const struct weft_profile_report *report,
	const struct weft_profile_entry *entry)
{
	const struct weft_profile_head *head = report->ranks[entry->rank].head;
	uint32_t i = entry->site->object;

	return i < WEFT_PROFILE_OBJECTS ? head->objects[i] : "";
}

static int by_place(const void *a, const void *b, void *arg)
{
	const struct weft_profile_entry *x = a, *y = b;
	int order = (x->site->procedure > y->site->procedure) -
		    (x->site->procedure < y->site->procedure);

	if (!order)
		order = (x->site->offset > y->site->offset) -
			(x->site->offset < y->site->offset);
	return order ? order : strcmp(object_of(arg, x), object_of(arg, y));
}

static int by_place_and_rank(const void *a, const void *b, void *arg)
{
	const struct weft_profile_entry *x = a, *y = b;
	int order = by_place(a, b, arg);

	return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static void entry_fill(struct weft_profile_entry *entry, uint32_t rank,
	const struct weft_profile_site *site, double tick_s)
{
	entry->rank = rank;
	entry->site = site;
	entry->calls = site->calls;
	entry->bytes = site->bytes;
	memcpy(entry->sizes, site->sizes, sizeof(entry->sizes));
	entry->seconds = (double)site->ticks * tick_s;
	entry->shortest = (double)site->shortest * tick_s;
	entry->longest = (double)site->longest * tick_s;
}

/* Adds the entry of another thread of the same rank. */
static void entry_add(
	struct weft_profile_entry *to, const struct weft_profile_entry *entry)
{
	to->calls += entry->calls;
	to->bytes += entry->bytes;
	for (int i = 0; i < WEFT_PROFILE_SIZES; i++)
		to->sizes[i] += entry->sizes[i];
	to->seconds += entry->seconds;
	if (entry->shortest < to->shortest)
		to->shortest = entry->shortest;
	if (entry->longest > to->longest)
		to->longest = entry->longest;
}

/* True if the pending calls of the site can be added. Its indexes are invalid
 * if the record is damaged. */
static bool can_settle(const struct weft_profile_site *site)
{
	return site->mark >= site->left &&
	       site->key_size <= WEFT_PROFILE_SIZES &&
	       (site->key_peer < WEFT_PROFILE_PEERS ||
		       site->key_peer == WEFT_PROFILE_NONE);
}

/* Adds the calls that were pending when the process ended. The maps are
 * private, so files do not change. */
static void settle_rank(struct weft_profile_rank *rank)
{
	for (uint32_t t = 0; t < rank->n_threads; t++) {
		struct weft_profile_table *table =
			(void *)(uintptr_t)weft_profile_table_at(rank, t);

		for (int i = 0; i < WEFT_PROFILE_SITES; i++)
			if (table->sites[i].address &&
				can_settle(&table->sites[i]))
				weft_profile_site_settle(
					table, &table->sites[i]);
	}
}

/* Collects all sites in use, sorted, with one entry per site and rank. */
static int collect_entries(struct weft_profile_report *report)
{
	size_t n = 0, max = 0;

	for (uint32_t r = 0; r < report->n_ranks; r++)
		for (uint32_t t = 0; t < report->ranks[r].n_threads; t++)
			max += weft_profile_table_at(&report->ranks[r], t)
				       ->n_sites;
	report->entries = calloc(max + 1, sizeof(*report->entries));
	if (!report->entries)
		return WEFT_ERR_NOMEM;
	for (uint32_t r = 0; r < report->n_ranks; r++)
		for (uint32_t t = 0; t < report->ranks[r].n_threads; t++) {
			const struct weft_profile_table *table =
				weft_profile_table_at(&report->ranks[r], t);

			for (int i = 0; i < WEFT_PROFILE_SITES && n < max; i++)
				if (table->sites[i].calls)
					entry_fill(&report->entries[n++], r,
						&table->sites[i],
						report->ranks[r].head->tick_s);
		}
	qsort_r(report->entries, n, sizeof(*report->entries), by_place_and_rank,
		report);
	report->n_entries = n > 0;
	for (size_t i = 1; i < n; i++) {
		struct weft_profile_entry *last =
			&report->entries[report->n_entries - 1];

		if (by_place_and_rank(last, &report->entries[i], report))
			report->entries[report->n_entries++] =
				report->entries[i];
		else
			entry_add(last, &report->entries[i]);
	}
	return 0;
}

/* Returns the procedure of a site; "other" if the record is damaged. */
static uint32_t procedure_of(const struct weft_profile_site *site)
{
	return site->procedure < weft_profile_n_names ? site->procedure : 0;
}

/* Adds up the entries of one site. */
static void sum_fill(
	struct weft_profile_report *report, struct weft_profile_sum *sum)
{
	const char *name;
	bool waits;

	sum->procedure = procedure_of(sum->entries->site);
	sum->object = object_of(report, sum->entries);
	sum->offset = sum->entries->site->offset;
	name = strrchr(sum->object, '/');
	snprintf(sum->place, sizeof(sum->place), "%s+0x%llx",
		name ? name + 1 : sum->object, (long long)sum->offset);
	sum->shortest = sum->least = 1e300;
	sum->algorithm = "";
	for (size_t i = 0; i < sum->n_entries; i++) {
		const struct weft_profile_entry *entry = &sum->entries[i];

		sum->calls += entry->calls;
		if (*entry->site->algorithm)
			sum->algorithm = entry->site->algorithm;
		sum->bytes += entry->bytes;
		for (int c = 0; c < WEFT_PROFILE_SIZES; c++)
			sum->sizes[c] += entry->sizes[c];
		sum->seconds += entry->seconds;
		if (entry->shortest < sum->shortest)
			sum->shortest = entry->shortest;
		if (entry->longest > sum->longest)
			sum->longest = entry->longest;
		if (entry->seconds < sum->least) {
			sum->least = entry->seconds;
			sum->fastest = entry->rank;
		}
		if (entry->seconds > sum->most) {
			sum->most = entry->seconds;
			sum->slowest = entry->rank;
		}
	}
	waits = weft_profile_names[sum->procedure].waits;
	for (size_t i = 0; i < sum->n_entries && waits; i++) {
		struct weft_profile_entry *entry = &sum->entries[i];

		entry->waiting =
			entry->seconds - (double)entry->calls * sum->shortest;
		if (entry->waiting < 0) /* the time of some calls is not added
					 * yet */
			entry->waiting = 0;
		sum->waiting += entry->waiting;
	}
}

static int sum_by_time(const void *a, const void *b)
{
	const struct weft_profile_sum *x = a, *y = b;

	return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

static int collect_sums(struct weft_profile_report *report)
{
	report->sums = calloc(report->n_entries + 1, sizeof(*report->sums));
	if (!report->sums)
		return WEFT_ERR_NOMEM;
	for (size_t i = 0; i < report->n_entries; i++) {
		struct weft_profile_entry *entry = &report->entries[i];

		if (!i || by_place(entry - 1, entry, report))
			report->sums[report->n_sums++].entries = entry;
		report->sums[report->n_sums - 1].n_entries++;
	}
	for (size_t i = 0; i < report->n_sums; i++)
		sum_fill(report, &report->sums[i]);
	qsort(report->sums, report->n_sums, sizeof(*report->sums), sum_by_time);
	return 0;
}

/* ---- pairs ---- */

static int pair_by_ranks(const void *a, const void *b)
{
	const struct weft_profile_pair *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static int pair_by_bytes(const void *a, const void *b)
{
	const struct weft_profile_pair *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return (x->messages < y->messages) - (x->messages > y->messages);
}

/* Returns the rank of a peer of rank `of`; -1: the peer is in another job, or
 * the entry is for several peers. */
static int64_t peer_rank(const struct weft_profile_report *report, uint32_t of,
	const struct weft_profile_peer *peer)
{
	uint64_t proc = peer->proc - 1;

	if (peer->proc == WEFT_PROFILE_OTHERS ||
		proc >> 32 != report->ranks[of].head->proc >> 32 ||
		(uint32_t)proc >= report->n_ranks)
		return -1;
	return (int64_t)(uint32_t)proc;
}

static bool is_on_node(
	const struct weft_profile_report *report, uint32_t a, int64_t b)
{
	return b >= 0 && report->ranks[b].head &&
	       !strcmp(report->ranks[a].head->host,
		       report->ranks[b].head->host);
}

/* Appends a pair for the messages of rank to the peer, and another pair for the
 * waits of rank for the peer, if there are any. */
static void pairs_append(struct weft_profile_report *report, uint32_t rank,
	const struct weft_profile_peer *peer)
{
	int64_t other = peer_rank(report, rank, peer);
	bool is_local = is_on_node(report, rank, other);

	if (peer->messages)
		report->pairs[report->n_pairs++] = (struct weft_profile_pair){
			.from = rank,
			.to = other,
			.messages = peer->messages,
			.bytes = peer->bytes,
			.is_local = is_local,
		};
	if (peer->waits && other >= 0)
		report->pairs[report->n_pairs++] = (struct weft_profile_pair){
			.from = (uint32_t)other,
			.to = rank,
			.waiting = (double)peer->waits *
				   report->ranks[rank].head->tick_s,
			.is_local = is_local,
		};
}

static int collect_pairs(struct weft_profile_report *report)
{
	size_t n, max = 0;

	for (uint32_t r = 0; r < report->n_ranks; r++)
		for (uint32_t t = 0; t < report->ranks[r].n_threads; t++)
			max += WEFT_PROFILE_PEERS;
	report->pairs = calloc(2 * max + 1, sizeof(*report->pairs));
	if (!report->pairs)
		return WEFT_ERR_NOMEM;
	for (uint32_t r = 0; r < report->n_ranks; r++)
		for (uint32_t t = 0; t < report->ranks[r].n_threads; t++) {
			const struct weft_profile_table *table =
				weft_profile_table_at(&report->ranks[r], t);

			for (int i = 0; i < WEFT_PROFILE_PEERS; i++)
				if (table->peers[i].proc)
					pairs_append(
						report, r, &table->peers[i]);
		}
	n = report->n_pairs;
	qsort(report->pairs, n, sizeof(*report->pairs), pair_by_ranks);
	report->n_pairs = n > 0;
	for (size_t i = 1; i < n; i++) {
		struct weft_profile_pair *last =
			&report->pairs[report->n_pairs - 1];

		if (!pair_by_ranks(last, &report->pairs[i])) {
			last->messages += report->pairs[i].messages;
			last->bytes += report->pairs[i].bytes;
			last->waiting += report->pairs[i].waiting;
		} else {
			report->pairs[report->n_pairs++] = report->pairs[i];
		}
	}
	qsort(report->pairs, report->n_pairs, sizeof(*report->pairs),
		pair_by_bytes);
	return 0;
}

/* ---- the whole ---- */

static void rank_times(struct weft_profile_rank *rank)
{
	for (uint32_t t = 0; rank->head && t < rank->head->n_tables; t++) {
		const struct weft_profile_table *table =
			weft_profile_table_at(rank, t);

		rank->seconds += (double)(table->last - table->first) *
				 rank->head->tick_s;
	}
}

/* Computes the times of ranks and of the job, and the number of nodes. */
static void report_times(struct weft_profile_report *report)
{
	for (size_t i = 0; i < report->n_entries; i++) {
		const struct weft_profile_entry *entry = &report->entries[i];

		report->ranks[entry->rank].in_mpi += entry->seconds;
		report->ranks[entry->rank].waiting += entry->waiting;
	}
	for (uint32_t r = 0; r < report->n_ranks; r++) {
		struct weft_profile_rank *rank = &report->ranks[r];
		uint32_t same = 0;

		if (!rank->head)
			continue;
		rank_times(rank);
		report->n_recorded++;
		report->seconds += rank->seconds;
		report->in_mpi += rank->in_mpi;
		report->waiting += rank->waiting;
		if (rank->n_threads &&
			rank->seconds / rank->n_threads > report->longest)
			report->longest = rank->seconds / rank->n_threads;
		while (same < r &&
			(!report->ranks[same].head ||
				strcmp(report->ranks[same].head->host,
					rank->head->host)))
			same++;
		report->n_nodes += same == r;
	}
}

int weft_profile_report_make(
	struct weft_profile_report *report, const char *dir, uint32_t n)
{
	int err = 0;

	*report = (struct weft_profile_report){ .n_ranks = n };
	report->ranks = calloc(n + 1, sizeof(*report->ranks));
	if (!report->ranks)
		return WEFT_ERR_NOMEM;
	for (uint32_t r = 0; r < n; r++) {
		record_load(&report->ranks[r], dir, r);
		if (report->ranks[r].head)
			report->ranks[r].n_threads =
				report->ranks[r].head->n_tables;
		settle_rank(&report->ranks[r]);
	}
	err = collect_entries(report);
	if (!err)
		err = collect_sums(report);
	if (!err)
		err = collect_pairs(report);
	if (err) {
		weft_profile_report_fini(report);
		return err;
	}
	report_times(report);
	return 0;
}

void weft_profile_report_fini(struct weft_profile_report *report)
{
	for (uint32_t r = 0; report->ranks && r < report->n_ranks; r++)
		if (report->ranks[r].head)
			munmap((void *)(uintptr_t)report->ranks[r].head,
				report->ranks[r].len);
	free(report->ranks);
	free(report->entries);
	free(report->sums);
	free(report->pairs);
	*report = (struct weft_profile_report){ 0 };
}
