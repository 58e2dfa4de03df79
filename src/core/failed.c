/* SPDX-License-Identifier: BSD-3-Clause */
/* failed: the processes that are known to have failed */
#include "core/failed.h"

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "transport/proc.h"

#include <stdlib.h>
#include <string.h>

enum {
	FAILED_FIRST = 64,
	REPORT_S = 2, /* a later report of the process manager is unlikely */
};

struct failed {
	uint64_t proc;
	uint64_t known_ns; /* time at which the process was listed */
	bool was_aborted;  /* MPI_Abort ended the process */
	bool is_reported;  /* the process manager reports it to all processes */
};

/* The list of failed processes. The lock `spin` guards all fields; n may be
 * read without the lock. The list grows when half of it is used, so that
 * failures can be recorded while memory is scarce. */
static struct {
	struct weft_spin spin;
	struct failed first[FAILED_FIRST];
	struct failed *list; /* the list; NULL: the array `first` is the list */
	uint32_t max;	     /* capacity of list, in entries */
	atomic_uint n;	     /* entries in use */
} failed;

static uint32_t n_failed(void)
{
	return atomic_load_explicit(&failed.n, memory_order_relaxed);
}

/* The lock is held in this function and the next three. */
static struct failed *failed_at(uint32_t i)
{
	return failed.list ? &failed.list[i] : &failed.first[i];
}

static uint32_t failed_max(void)
{
	return failed.list ? failed.max : FAILED_FIRST;
}

/* Returns the index of a process in the list, or the number of entries if the
 * process is not listed. */
static uint32_t failed_index(uint64_t proc)
{
	uint32_t n = n_failed(), i = 0;

	while (i < n && failed_at(i)->proc != proc)
		i++;
	return i;
}

/* Doubles the list if n entries are half of it and memory permits. */
static void failed_grow(uint32_t n)
{
	uint32_t max = 2 * failed_max();
	struct failed *list;

	if (n < failed_max() / 2)
		return;
	list = malloc(max * sizeof(*list));
	if (!list)
		return;
	memcpy(list, failed_at(0), n * sizeof(*list));
	free(failed.list);
	failed.list = list;
	failed.max = max;
}

static void failed_put(uint64_t proc, bool was_aborted, bool is_reported)
{
	uint32_t n, i;
	bool is_lost = false;

	weft_spin_acquire(&failed.spin);
	n = n_failed();
	i = failed_index(proc);
	if (i < n) {
		failed_at(i)->was_aborted |= was_aborted;
		failed_at(i)->is_reported |= is_reported;
	} else {
		failed_grow(n);
		is_lost = n == failed_max();
		if (!is_lost) {
			*failed_at(n) = (struct failed){ proc, weft_now_ns(),
				was_aborted, is_reported };
			atomic_store_explicit(
				&failed.n, n + 1, memory_order_relaxed);
			/* weft_pset_watch_notify() clears the flag, then
			 * acquires this lock to read n. So that call reads the
			 * new n, or the flag is set after it was cleared. */
			atomic_store_explicit(&weft_proc.has_notices, true,
				memory_order_relaxed);
		}
	}
	weft_spin_release(&failed.spin);
	if (is_lost)
		weft_log_error("CORE-UNLISTED",
			"the failure of process %u cannot be recorded beside "
			"%u others: out of memory; calls that need the process "
			"may wait for ever",
			(uint32_t)proc, n);
}

void weft_failed_add(uint64_t proc)
{
	failed_put(proc, false, false);
}

uint32_t weft_failed_count(void)
{
	uint32_t n = 0;

	weft_spin_acquire(&failed.spin);
	for (uint32_t i = 0; i < n_failed(); i++)
		n += weft_proc_is_member(failed_at(i)->proc);
	weft_spin_release(&failed.spin);
	return n;
}

int weft_failed_others(struct weft_group **group_out)
{
	uint32_t n = n_failed();
	struct weft_group *all = NULL, *gone = NULL;
	uint64_t *procs = malloc((n ? n : 1) * sizeof(*procs));
	int err = procs ? 0 : WEFT_ERR_NOMEM;

	if (!err) {
		weft_spin_acquire(&failed.spin);
		for (uint32_t i = 0; i < n; i++)
			procs[i] = failed_at(i)->proc;
		weft_spin_release(&failed.spin);
		err = weft_group_create(procs, n, &gone);
	}
	if (!err)
		err = weft_group_create_range(weft_proc_world_first(),
			weft_proc.facts.world_size, &all);
	if (!err)
		err = weft_group_difference(all, gone, group_out);
	weft_group_put(all);
	weft_group_put(gone);
	free(procs);
	return err;
}

void weft_failed_event(const struct weft_boot_event *event)
{
	if (event->kind == WEFT_BOOT_PEER_DIED ||
		event->kind == WEFT_BOOT_OTHER_DIED)
		failed_put(weft_proc_of_event(event),
			event->end == WEFT_BOOT_END_ABORTED,
			event->end < WEFT_BOOT_END_NORMAL);
}

bool weft_failed_was_aborted(uint64_t proc)
{
	uint32_t i;
	bool was_aborted;

	weft_spin_acquire(&failed.spin);
	i = failed_index(proc);
	was_aborted = i < n_failed() && failed_at(i)->was_aborted;
	weft_spin_release(&failed.spin);
	return was_aborted;
}

bool weft_failed_was_reported(uint64_t proc)
{
	uint32_t i;
	bool was_reported;

	weft_spin_acquire(&failed.spin);
	i = failed_index(proc);
	was_reported = i < n_failed() && failed_at(i)->is_reported;
	weft_spin_release(&failed.spin);
	return was_reported;
}

bool weft_failed_may_be_reported(uint64_t proc)
{
	uint64_t now = weft_now_ns();
	uint32_t i;
	bool may_be;

	weft_spin_acquire(&failed.spin);
	i = failed_index(proc);
	may_be = i < n_failed() && !failed_at(i)->is_reported &&
		 now < failed_at(i)->known_ns + REPORT_S * WEFT_NS_PER_S;
	weft_spin_release(&failed.spin);
	return may_be;
}

int32_t weft_failed_first(const struct weft_group *group)
{
	int32_t rank = WEFT_UNDEFINED;

	weft_spin_acquire(&failed.spin);
	for (uint32_t i = 0; i < n_failed() && rank == WEFT_UNDEFINED; i++)
		rank = weft_group_rank_of(group, failed_at(i)->proc);
	weft_spin_release(&failed.spin);
	return rank;
}

bool weft_failed_is(uint64_t proc)
{
	bool is_failed;

	if (!n_failed())
		return false;
	weft_spin_acquire(&failed.spin);
	is_failed = failed_index(proc) < n_failed();
	weft_spin_release(&failed.spin);
	return is_failed;
}

uint64_t weft_failed_entry(uint32_t i)
{
	uint64_t entry = 0;

	if (i >= n_failed())
		return 0;
	weft_spin_acquire(&failed.spin);
	if (i < n_failed())
		entry = failed_at(i)->proc + 1;
	weft_spin_release(&failed.spin);
	return entry;
}

bool weft_failed_in(const struct weft_group *group)
{
	return n_failed() && weft_failed_first(group) != WEFT_UNDEFINED;
}

static bool has_member(const struct weft_comm *comm, uint64_t proc)
{
	return weft_group_rank_of(comm->group, proc) >= 0 ||
	       weft_group_rank_of(comm->remote, proc) >= 0;
}

/* Counts the failed members of a communicator, up to max. If procs is not NULL,
 * writes the members to procs. Returns their number. */
static uint32_t failed_members(
	const struct weft_comm *comm, uint64_t *procs, uint32_t max)
{
	uint32_t n = 0;

	weft_spin_acquire(&failed.spin);
	for (uint32_t i = 0; i < n_failed() && n < max; i++) {
		if (!has_member(comm, failed_at(i)->proc))
			continue;
		if (procs)
			procs[n] = failed_at(i)->proc;
		n++;
	}
	weft_spin_release(&failed.spin);
	return n;
}

uint64_t weft_failed_unacked(const struct weft_comm *comm)
{
	uint64_t unacked = 0;
	uint32_t n = 0;

	if (!comm->failed)
		return 0;
	weft_spin_acquire(&failed.spin);
	for (uint32_t i = 0; i < n_failed() && !unacked; i++)
		if (has_member(comm, failed_at(i)->proc) &&
			n++ == comm->n_acked)
			unacked = failed_at(i)->proc + 1;
	weft_spin_release(&failed.spin);
	return unacked;
}

int weft_failed_group(
	const struct weft_comm *comm, uint32_t n, struct weft_group **group_out)
{
	uint32_t n_known = failed_members(comm, NULL, UINT32_MAX);
	uint64_t *procs;
	int err;

	n = n < n_known ? n : n_known;
	procs = malloc((n ? n : 1) * sizeof(*procs));
	if (!procs)
		return WEFT_ERR_NOMEM;
	n = failed_members(comm, procs, n);
	err = weft_group_create(procs, n, group_out);
	free(procs);
	if (!err && n) {
		(*group_out)->session = comm->group->session;
		(*group_out)->session_handle = comm->group->session_handle;
	}
	return err;
}

uint32_t weft_failed_ack(struct weft_comm *comm, uint32_t n)
{
	uint32_t n_known = failed_members(comm, NULL, UINT32_MAX), n_acked = 0;

	n = n < n_known ? n : n_known;
	for (uint32_t i = 0; i == 0 || i < comm->n_spread; i++) {
		struct weft_comm *on = i ? comm->spread[i] : comm;

		weft_vci_lock(on->vci);
		if (on->n_acked < n)
			on->n_acked = n;
		n_acked = on->n_acked;
		weft_vci_unlock(on->vci);
	}
	return n_acked;
}
