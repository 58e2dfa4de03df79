/* SPDX-License-Identifier: BSD-3-Clause */
/* run_sets: process sets with members of several jobs */
#include "tools/run_sets.h"

#include "base/err.h"
#include "boot/boot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A definition that waits for the answers of neighbours. A neighbour is a child
 * launcher, or NULL for the parent launcher. */
struct weft_run_sharing {
	struct weft_run_sharing *next;
	struct weft_serve_set set;
	void *request; /* of a process of this job; NULL: a neighbour asks */
	struct weft_run_spawn *from; /* the neighbour that asks */
	uint32_t n_defined;	     /* jobs that have defined the set so far */
	bool is_taken;		     /* in a job, the name is taken */
	size_t n_awaited;
	const struct weft_run_spawn **awaited;
};

static uint32_t own_job(const struct weft_run_job *run)
{
	return (uint32_t)(weft_boot_proc_number(run->name, 0) >> 32);
}

/* True if one of the first n runs of the set is of the job. */
static bool runs_have_job(
	const struct weft_serve_set *set, uint32_t n, uint32_t job)
{
	for (uint32_t i = 0; i < n; i++)
		if (set->runs[i].job == job)
			return true;
	return false;
}

/* Returns the number of jobs other than `job` that have members in the set. */
static uint32_t count_other_jobs(const struct weft_serve_set *set, uint32_t job)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < set->n_runs; i++)
		n += set->runs[i].job != job &&
		     !runs_have_job(set, i, set->runs[i].job);
	return n;
}

static bool is_same_set(
	const struct weft_serve_set *a, const struct weft_serve_set *b)
{
	return a->by == b->by && !strcmp(a->name, b->name);
}

static bool sets_send(const struct weft_run_job *run,
	const struct weft_run_spawn *to, struct weft_run_notice *notice)
{
	snprintf(notice->job, sizeof(notice->job), "%s", run->name);
	return to ? weft_run_spawn_send(to, notice)
		  : weft_run_spawn_report(&run->pipes, notice);
}

/* Sends a record to a neighbour, unless the record came from it. If awaiting is
 * not NULL, its answer is awaited. */
static void sets_pass(const struct weft_run_job *run,
	const struct weft_run_spawn *to, struct weft_run_notice *notice,
	struct weft_run_sharing *awaiting)
{
	if (sets_send(run, to, notice) && awaiting)
		awaiting->awaited[awaiting->n_awaited++] = to;
}

/* Sends a record to all neighbours, except to the one that it came from; that
 * one is no neighbour if is_own is set. */
static void sets_flood(const struct weft_run_job *run,
	struct weft_run_notice *notice, bool is_own,
	const struct weft_run_spawn *from, struct weft_run_sharing *awaiting)
{
	for (const struct weft_run_spawn *s = run->spawned; s; s = s->next)
		if (is_own || s != from)
			sets_pass(run, s, notice, awaiting);
	if (is_own || from)
		sets_pass(run, NULL, notice, awaiting);
}

static void sets_flood_delete(const struct weft_run_job *run,
	const struct weft_serve_set *set, bool is_own,
	const struct weft_run_spawn *from)
{
	struct weft_run_notice notice = { .kind = WEFT_RUN_SET_DELETED,
		.set = { .by = set->by } };

	memcpy(notice.set.name, set->name, sizeof(notice.set.name));
	sets_flood(run, &notice, is_own, from, NULL);
}

static void sharing_free(struct weft_run_sharing *sharing)
{
	free(sharing->awaited);
	free(sharing);
}

/* Ends a definition of a process of this job. The set is defined here last, so
 * that no process uses a set that other jobs do not have. */
static void sharing_end(
	struct weft_run_job *run, struct weft_run_sharing *sharing)
{
	const struct weft_serve_set *set = &sharing->set;
	int err = 0;

	if (sharing->is_taken)
		err = WEFT_ERR_NAME;
	else if (sharing->n_defined < count_other_jobs(set, set->by))
		err = WEFT_ERR_UNSUPPORTED;
	else
		err = weft_serve_set_add(run->serve, set);
	if (err)
		sets_flood_delete(run, set, true, NULL);
	weft_serve_set_answer(run->serve, sharing->request, err);
}

static void sharing_answer(
	struct weft_run_job *run, const struct weft_run_sharing *sharing)
{
	struct weft_run_notice notice = { .kind = WEFT_RUN_SET_ANSWER,
		.n_defined = sharing->n_defined,
		.is_taken = sharing->is_taken,
		.set = { .by = sharing->set.by } };

	memcpy(notice.set.name, sharing->set.name, sizeof(notice.set.name));
	(void)sets_send(run, sharing->from, &notice);
}

/* Ends the definitions that await no answer any more. */
static void sharings_end(struct weft_run_job *run)
{
	struct weft_run_sharing **at = &run->sharings;

	while (*at) {
		struct weft_run_sharing *sharing = *at;

		if (sharing->n_awaited) {
			at = &sharing->next;
			continue;
		}
		*at = sharing->next;
		if (sharing->request)
			sharing_end(run, sharing);
		else
			sharing_answer(run, sharing);
		sharing_free(sharing);
	}
}

static struct weft_run_sharing *sharing_create(struct weft_run_job *run,
	const struct weft_serve_set *set, struct weft_run_spawn *from)
{
	struct weft_run_sharing *sharing = calloc(1, sizeof(*sharing));
	size_t n = 1;

	for (const struct weft_run_spawn *s = run->spawned; s; s = s->next)
		n++;
	if (!sharing)
		return NULL;
	sharing->awaited = calloc(n, sizeof(*sharing->awaited));
	if (!sharing->awaited) {
		free(sharing);
		return NULL;
	}
	sharing->set = *set;
	sharing->from = from;
	sharing->next = run->sharings;
	run->sharings = sharing;
	return sharing;
}

static bool is_being_defined(
	const struct weft_run_job *run, const struct weft_serve_set *set)
{
	for (struct weft_run_sharing *s = run->sharings; s; s = s->next)
		if (is_same_set(&s->set, set))
			return true;
	return false;
}

void weft_run_sets_on_request(
	struct weft_run_job *run, struct weft_serve_event *event)
{
	struct weft_run_notice notice = { .kind = WEFT_RUN_SET_DEFINED,
		.set = *event->set };
	struct weft_run_sharing *sharing;
	int err = WEFT_ERR_NAME;

	if (!event->set_request) {
		sets_flood_delete(run, event->set, true, NULL);
	} else if (!is_being_defined(run, event->set)) {
		sharing = sharing_create(run, event->set, NULL);
		err = sharing ? 0 : WEFT_ERR_NOMEM;
		if (sharing) {
			sharing->request = event->set_request;
			sets_flood(run, &notice, true, NULL, sharing);
		}
	}
	if (event->set_request && err)
		weft_serve_set_answer(run->serve, event->set_request, err);
	free(event->set);
	sharings_end(run);
}

/* A neighbour asks this launcher to define a set. */
static void on_defined(struct weft_run_job *run,
	const struct weft_run_notice *notice, struct weft_run_spawn *from)
{
	struct weft_run_sharing *sharing =
		sharing_create(run, &notice->set, from);
	struct weft_run_notice copy = *notice;

	if (!sharing) {
		const struct weft_run_sharing none = { .set = notice->set,
			.from = from };

		sharing_answer(run, &none);
		return;
	}
	if (runs_have_job(&notice->set, notice->set.n_runs, own_job(run))) {
		int err = weft_serve_set_add(run->serve, &notice->set);

		sharing->n_defined = !err;
		sharing->is_taken = err == WEFT_ERR_NAME;
	}
	sets_flood(run, &copy, false, from, sharing);
}

/* Removes a neighbour from those that a definition awaits. */
static bool sharing_remove(struct weft_run_sharing *sharing,
	const struct weft_run_spawn *neighbour)
{
	for (size_t i = 0; i < sharing->n_awaited; i++)
		if (sharing->awaited[i] == neighbour) {
			sharing->awaited[i] =
				sharing->awaited[--sharing->n_awaited];
			return true;
		}
	return false;
}

static void on_answer(struct weft_run_job *run,
	const struct weft_run_notice *notice, struct weft_run_spawn *from)
{
	for (struct weft_run_sharing *s = run->sharings; s; s = s->next)
		if (is_same_set(&s->set, &notice->set) &&
			sharing_remove(s, from)) {
			s->n_defined += notice->n_defined;
			s->is_taken |= notice->is_taken;
		}
}

void weft_run_sets_on_notice(struct weft_run_job *run,
	const struct weft_run_notice *notice, struct weft_run_spawn *from)
{
	if (notice->kind == WEFT_RUN_SET_DEFINED) {
		on_defined(run, notice, from);
	} else if (notice->kind == WEFT_RUN_SET_ANSWER) {
		on_answer(run, notice, from);
	} else {
		weft_serve_set_remove(run->serve, &notice->set);
		sets_flood_delete(run, &notice->set, false, from);
	}
	sharings_end(run);
}

void weft_run_sets_on_end(
	struct weft_run_job *run, const struct weft_run_spawn *neighbour)
{
	for (struct weft_run_sharing *s = run->sharings; s; s = s->next)
		(void)sharing_remove(s, neighbour);
	sharings_end(run);
}

void weft_run_sets_close(struct weft_run_job *run)
{
	while (run->sharings) {
		struct weft_run_sharing *next = run->sharings->next;

		free(run->sharings->request);
		sharing_free(run->sharings);
		run->sharings = next;
	}
}
