/* SPDX-License-Identifier: BSD-3-Clause */
/* resize: jobs that grow and shrink */
#include "session/resize.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "comm/agree.h"
#include "core/failed.h"
#include "core/hint.h"
#include "core/info.h"
#include "session/pset.h"
#include "transport/foreign.h"
#include "transport/peer.h"
#include "transport/proc.h"
#include "transport/progress.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool weft_resize_parse(const char *name, uint32_t *generation_out)
{
	static const char start[] = WEFT_PSET_JOB "/";
	unsigned long number;
	char *end;

	if (strncmp(name, start, sizeof(start) - 1))
		return false;
	name += sizeof(start) - 1;
	if (*name < '0' || *name > '9')
		return false;
	number = strtoul(name, &end, 10);
	if (*end || number > UINT32_MAX)
		return false;
	*generation_out = (uint32_t)number;
	return true;
}

static bool is_fixed(void)
{
	return !weft_proc.facts.max_procs;
}

int weft_resize_check(void)
{
	if (!is_fixed())
		return 0;
	if (!strcmp(weft_proc.facts.manager, "mpiexec"))
		return weft_err_set(WEFT_ERR_UNSUPPORTED,
			"the size of this job is fixed: mpiexec was started "
			"without --max");
	return weft_err_set(WEFT_ERR_UNSUPPORTED,
		"the size of this job is fixed: its process manager (%s) adds "
		"and removes no processes; Weft's mpiexec --max does%s",
		weft_proc.facts.manager,
		strcmp(weft_proc.facts.manager, "prrte")
			? ""
			: ", and under PRRTE MPI_Comm_spawn starts processes");
}

/* ---- offers ---- */

/* Queries the launcher once, because an offer may have been made before this
 * process registered for the events. Later offers are events. */
static void offer_query(void)
{
	struct weft_offer *offer = &weft_proc.offer;
	uint32_t seconds = 0;
	int delta = 0;

	if (!offer->was_queried &&
		!weft_boot_offer(weft_proc.boot, &delta, &seconds)) {
		offer->delta = delta;
		offer->end_ns =
			seconds ? weft_now_ns() + seconds * WEFT_NS_PER_S : 0;
	}
	offer->was_queried = true;
	/* events that arrived before the answer are older; the last event of a
	 * change of the offer arrives later */
	weft_boot_poll(weft_proc.boot, weft_proc_on_event, &weft_proc.vci);
}

static int offer_describe(
	struct weft_info *info, const struct weft_offer *offer)
{
	const struct weft_boot_facts *facts = &weft_proc.facts;
	uint64_t now = weft_now_ns();
	int err = weft_hint_set_number(info, WEFT_HINT_OFFER_MIN,
		is_fixed() ? facts->size : facts->min_procs);

	if (!err)
		err = weft_hint_set_number(info, WEFT_HINT_OFFER_MAX,
			is_fixed() ? facts->size : facts->max_procs);
	if (!err && offer->delta && offer->end_ns > now)
		err = weft_hint_set_number(info, WEFT_HINT_OFFER_DEADLINE,
			(int64_t)((offer->end_ns - now) / WEFT_NS_PER_S));
	return err;
}

int weft_resize_offer(int *delta_out, struct weft_info **info_out)
{
	struct weft_info *info = weft_info_create();
	struct weft_offer offer;
	int err = info ? 0 : WEFT_ERR_NOMEM;

	weft_vci_lock(&weft_proc.vci);
	if (!is_fixed())
		offer_query();
	offer = weft_proc.offer;
	weft_vci_unlock(&weft_proc.vci);
	if (offer.end_ns && weft_now_ns() >= offer.end_ns)
		offer.delta = 0;
	if (!err)
		err = offer_describe(info, &offer);
	if (err) {
		weft_info_destroy(info);
		return err;
	}
	*delta_out = offer.delta;
	*info_out = info;
	return 0;
}

/* ---- requests and reports ---- */

/* The arguments of a member, which all members exchange. */
struct resize_record {
	int32_t kind; /* enum weft_boot_resize_kind */
	int32_t delta;
	uint32_t generation; /* DONE: of the new set */
};

/* One round. Freed when the round is complete. The launcher answers under the
 * default VCI's lock; `hook` continues the round on the communicator's VCI. */
struct resize {
	struct weft_agree agree;
	struct resize_record mine;
	char pset[64]; /* rank 0: the set in the message */
	weft_resize_done_fn *done;
	void *arg;
	struct weft_progress_hook hook;
	atomic_bool is_answered; /* the fields below are valid */
	uint32_t generation;
	int err;
	char why[WEFT_ERR_TEXT];
};

static struct resize *resize_of(struct weft_agree *agree)
{
	return weft_container_of(agree, struct resize, agree);
}

/* Closes the wakeups of the processes of this job that are not in the new set,
 * because these processes exit. */
static void close_wakeups(const struct weft_comm *comm)
{
	struct weft_map_entry *entry;
	size_t pos = 0;

	while ((entry = weft_map_next(&comm->vci->peers, &pos)) != NULL) {
		struct weft_peer *peer = entry->value;

		if (!weft_foreign_is(peer->proc) &&
			weft_group_rank_of(comm->group, peer->proc) < 0)
			weft_peer_close_wakeups(peer);
	}
}

static void resize_on_done(struct weft_agree *agree)
{
	struct resize *resize = resize_of(agree);
	uint32_t generation = (uint32_t)agree->words[0];
	int err = agree->err;

	if (!err && resize->mine.kind == WEFT_BOOT_RESIZE_DONE)
		close_wakeups(agree->comm);
	weft_agree_fini(agree);
	resize->done(resize->arg, generation, err);
	free(resize);
}

/* Receives the launcher's answer. Default VCI's lock held. */
static void resize_answered(void *arg, int err, const void *data, size_t len)
{
	struct resize *resize = arg;

	(void)len;
	resize->generation = resize->mine.generation;
	if (!err && resize->mine.kind == WEFT_BOOT_RESIZE_ASK &&
		!weft_resize_parse(data, &resize->generation))
		err = weft_err_set(WEFT_ERR_BOOT,
			"the process manager named the new set \"%s\", which "
			"is not of the form " WEFT_PSET_JOB "/K",
			(const char *)data);
	resize->err = err;
	snprintf(resize->why, sizeof(resize->why), "%s",
		weft_err_detail_peek(err));
	/* pairs with the acquire in resize_run() */
	atomic_store_explicit(&resize->is_answered, true, memory_order_release);
}

static void resize_run(struct weft_progress_hook *hook)
{
	struct resize *resize = weft_container_of(hook, struct resize, hook);

	/* pairs with the release in resize_answered() */
	if (!atomic_load_explicit(&resize->is_answered, memory_order_acquire))
		return;
	weft_list_remove(&hook->link);
	if (resize->err)
		weft_err_set(resize->err, "%s", resize->why);
	weft_agree_answer(&resize->agree, resize->generation, resize->err);
}

/* Checks that all members passed the same arguments. */
static int records_check(const struct resize *resize)
{
	const struct resize_record *records =
		(const void *)resize->agree.records;

	for (int32_t i = 1; i < resize->agree.comm->size; i++) {
		if (records[i].kind != records[0].kind)
			return weft_err_set(WEFT_ERR_NOT_SAME,
				"rank %d calls another procedure than rank 0: "
				"MPIX_Session_resize and "
				"MPIX_Session_resize_done do not match",
				i);
		if (records[i].delta != records[0].delta)
			return weft_err_set(WEFT_ERR_NOT_SAME,
				"delta is %d at rank %d and %d at rank 0; all "
				"members pass the same number",
				records[i].delta, i, records[0].delta);
		if (records[i].generation != records[0].generation)
			return weft_err_set(WEFT_ERR_NOT_SAME,
				"the new set is " WEFT_PSET_JOB
				"/%u at rank %d and " WEFT_PSET_JOB
				"/%u at rank 0",
				records[i].generation, i,
				records[0].generation);
	}
	return 0;
}

/* Sends the message to the launcher. Called at rank 0. */
static void resize_later(struct weft_agree *agree)
{
	struct resize *resize = resize_of(agree);
	struct weft_vci *vci = agree->comm->vci;
	bool is_other = vci != &weft_proc.vci;
	const struct weft_boot_resize how = {
		.kind = (enum weft_boot_resize_kind)resize->mine.kind,
		.delta = resize->mine.delta,
		.name = resize->pset,
	};
	int err = records_check(resize);

	if (!err) {
		weft_list_push_back(&vci->hooks, &resize->hook.link);
		if (is_other)
			weft_vci_lock(&weft_proc.vci);
		err = weft_boot_resize(
			weft_proc.boot, &how, resize_answered, resize);
		if (is_other)
			weft_vci_unlock(&weft_proc.vci);
		if (err)
			weft_list_remove(&resize->hook.link);
	}
	if (err)
		weft_agree_answer(agree, 0, err);
}

/* Sets *is_same_out to whether the set has exactly the group's members, apart
 * from those that have failed. */
static int set_compare(
	const char *name, const struct weft_group *group, bool *is_same_out)
{
	uint64_t *procs = NULL;
	size_t n = 0, n_in_set = 0, n_in_group = 0;
	int err = weft_boot_pset_members(weft_proc.boot, name, &procs, &n);

	if (err)
		return err;
	*is_same_out = true;
	for (size_t i = 0; i < n; i++) {
		if (weft_failed_is(procs[i]))
			continue;
		n_in_set++;
		*is_same_out &= weft_group_rank_of(group, procs[i]) >= 0;
	}
	for (uint32_t i = 0; i < group->size; i++)
		n_in_group += !weft_failed_is(weft_group_proc(group, i));
	*is_same_out &= n_in_set == n_in_group;
	free(procs);
	return 0;
}

/* Finds the newest set weft://job/K with the group's members. */
static int set_find(const struct weft_group *group, char *name, size_t len)
{
	char **names = NULL;
	uint32_t newest = 0, k;
	size_t n = 0;
	bool is_same, is_found = false;
	int err = weft_boot_pset_list(weft_proc.boot, &names, &n);

	for (size_t i = 0; !err && i < n; i++) {
		if (!weft_resize_parse(names[i], &k) ||
			(is_found && k < newest) ||
			set_compare(names[i], group, &is_same) || !is_same)
			continue;
		is_found = true;
		newest = k;
	}
	free(names);
	if (!err && !is_found)
		err = weft_err_set(WEFT_ERR_COMM,
			"the members of the communicator are not those of the "
			"current set " WEFT_PSET_JOB "/K; all of its members "
			"call MPIX_Session_resize together");
	if (!err)
		snprintf(name, len, WEFT_PSET_JOB "/%u", newest);
	return err;
}

/* At rank 0: determines the set of the message. */
static int resize_find_set(struct resize *resize, const struct weft_comm *comm)
{
	bool is_same = false;
	int err;

	weft_vci_lock(&weft_proc.vci);
	if (resize->mine.kind == WEFT_BOOT_RESIZE_ASK) {
		err = set_find(comm->group, resize->pset, sizeof(resize->pset));
	} else {
		snprintf(resize->pset, sizeof(resize->pset),
			WEFT_PSET_JOB "/%u", resize->mine.generation);
		err = set_compare(resize->pset, comm->group, &is_same);
		if (err)
			err = weft_err_set(WEFT_ERR_NAME,
				"process set \"%s\" does not exist",
				resize->pset);
		else if (!is_same)
			err = weft_err_set(WEFT_ERR_COMM,
				"the members of the communicator are not those "
				"of \"%s\"; all members of the new set call "
				"MPIX_Session_resize_done together",
				resize->pset);
	}
	weft_vci_unlock(&weft_proc.vci);
	return err;
}

static int resize_begin(struct weft_comm *comm,
	const struct resize_record *mine, int failed, weft_resize_done_fn *done,
	void *arg)
{
	struct resize *resize = calloc(1, sizeof(*resize));
	int err = failed;

	if (!resize) {
		struct weft_agree agree = { .comm = comm,
			.len = sizeof(*mine) };

		weft_vci_lock(comm->vci);
		weft_agree_fail(&agree, WEFT_ERR_NOMEM);
		weft_vci_unlock(comm->vci);
		return WEFT_ERR_NOMEM;
	}
	resize->mine = *mine;
	resize->done = done;
	resize->arg = arg;
	resize->hook.run = resize_run;
	weft_list_init(&resize->hook.link);
	if (!err && comm->rank == 0)
		err = resize_find_set(resize, comm);
	resize->agree = (struct weft_agree){
		.comm = comm,
		.mine = &resize->mine,
		.len = sizeof(resize->mine),
		.later = resize_later,
		.done = resize_on_done,
		.err = err,
	};
	weft_vci_lock(comm->vci);
	weft_agree_start(&resize->agree);
	weft_vci_unlock(comm->vci);
	return 0;
}

int weft_resize_start(struct weft_comm *comm, int32_t delta, int failed,
	weft_resize_done_fn *done, void *arg)
{
	const struct resize_record mine = { .kind = WEFT_BOOT_RESIZE_ASK,
		.delta = delta };

	return resize_begin(comm, &mine, failed, done, arg);
}

int weft_resize_complete(struct weft_comm *comm, const char *pset, int failed,
	weft_resize_done_fn *done, void *arg)
{
	struct resize_record mine = { .kind = WEFT_BOOT_RESIZE_DONE };

	if (!failed && !weft_resize_parse(pset, &mine.generation))
		failed = weft_err_set(WEFT_ERR_NAME,
			"process set \"%s\" is not the new set of a change: "
			"MPIX_Session_resize returns its name",
			pset);
	return resize_begin(comm, &mine, failed, done, arg);
}

/* ---- cancelling, and hosts ---- */

enum { ANSWER_S = 60 }; /* the longest wait for an answer */

/* The answer to a message of one process. The waiting call frees it. If the
 * answer comes after the call's limit, the callback frees it. Without an answer
 * it is never freed. */
struct resize_answer {
	bool is_complete;
	bool is_late;
	int err;
	char why[WEFT_ERR_TEXT];
};

static void resize_on_reply(void *arg, int err, const void *data, size_t len)
{
	struct resize_answer *answer = arg;

	(void)data, (void)len;
	if (answer->is_late) {
		free(answer);
		return;
	}
	answer->err = err;
	snprintf(answer->why, sizeof(answer->why), "%s",
		weft_err_detail_peek(err));
	answer->is_complete = true;
}

/* Waits for the answer, and frees it. */
static int resize_answer_wait(struct resize_answer *answer)
{
	uint64_t end = weft_now_ns() + ANSWER_S * (uint64_t)WEFT_NS_PER_S;
	int err;

	while (!answer->is_complete && weft_now_ns() < end)
		weft_progress_wait(&weft_proc.vci);
	if (!answer->is_complete) {
		answer->is_late = true;
		return weft_err_set(WEFT_ERR_SERVICE,
			"the process manager (%s) did not answer in %d s",
			weft_proc.facts.manager, ANSWER_S);
	}
	err = answer->err ? weft_err_set(answer->err, "%s", answer->why) : 0;
	free(answer);
	return err;
}

/* Sends the message and waits for the answer. */
static int resize_request_send(const struct weft_boot_resize *how)
{
	struct resize_answer *answer = calloc(1, sizeof(*answer));
	int err;

	if (!answer)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a request");
	weft_vci_lock(&weft_proc.vci);
	err = weft_boot_resize(weft_proc.boot, how, resize_on_reply, answer);
	if (err)
		free(answer);
	else
		err = resize_answer_wait(answer);
	weft_vci_unlock(&weft_proc.vci);
	return err;
}

int weft_resize_cancel(const char *pset)
{
	return resize_request_send(&(struct weft_boot_resize){
		.kind = WEFT_BOOT_RESIZE_CANCEL, .name = pset });
}

/* Checks that the names of the list "a,b" are not empty, and that none is the
 * host of this process. */
static int hosts_check(const char *hosts)
{
	const char *own = weft_proc.facts.host;
	size_t len;

	for (const char *at = hosts; at; at = at[len] ? at + len + 1 : NULL) {
		len = strcspn(at, ",");
		if (!len)
			return weft_err_set(WEFT_ERR_ARG,
				"hosts is \"%s\", with an empty name; pass "
				"names separated by commas",
				hosts);
		if (len == strlen(own) && !strncmp(at, own, len))
			return weft_err_set(WEFT_ERR_ARG,
				"host %s is that of the calling process; a "
				"process of another host returns it",
				own);
	}
	return 0;
}

int weft_resize_release_hosts(const char *hosts)
{
	const char *manager = weft_proc.facts.manager;
	char why[WEFT_ERR_TEXT];
	int err = hosts_check(hosts);

	if (err)
		return err;
	if (strcmp(manager, "prrte") != 0)
		return weft_err_set(WEFT_ERR_UNSUPPORTED,
			"the process manager (%s) accepts no hosts; PRRTE does "
			"from version 5",
			manager);
	err = resize_request_send(&(struct weft_boot_resize){
		.kind = WEFT_BOOT_RESIZE_HOSTS, .name = hosts });
	if (!err)
		return 0;
	snprintf(why, sizeof(why), "%s", weft_err_detail_peek(err));
	if (err == WEFT_ERR_NAME)
		return weft_err_set(WEFT_ERR_ARG,
			"PRRTE does not use a host of \"%s\" (%s)", hosts, why);
	return weft_err_set(err,
		"PRRTE did not accept the hosts \"%s\" (%s); it does from "
		"version 5, with --prtemca prte_elastic_mode 1",
		hosts, why);
}
