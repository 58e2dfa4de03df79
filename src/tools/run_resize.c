/* SPDX-License-Identifier: BSD-3-Clause */
/* run_resize: changes of the number of processes of a running job */
#include "tools/run_resize.h"

#include "base/clock.h"
#include "base/err.h"
#include "boot/boot.h"
#include "pmix/pmix_serve.h"
#include "tools/run_io.h"
#include "tools/run_job.h"
#include "tools/run_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- the members ---- */

static bool lists_rank(const uint32_t *ranks, uint32_t n, uint32_t rank)
{
	for (uint32_t i = 0; i < n; i++)
		if (ranks[i] == rank)
			return true;
	return false;
}

/* Returns the number of members that run. */
static uint32_t n_living(const struct weft_run_job *run)
{
	const struct weft_run_resize *resize = &run->resize;
	uint32_t n = 0;

	for (uint32_t i = 0; i < resize->n_members; i++)
		n += run->procs[resize->members[i]].is_running;
	return n;
}

static void set_name(char *name, uint32_t generation)
{
	snprintf(name, WEFT_RUN_RESIZE_NAME, "weft://job/%u", generation);
}

bool weft_run_resize_is_joining(const struct weft_run_job *run, uint32_t rank)
{
	const struct weft_run_resize *resize = &run->resize;

	return *resize->next &&
	       lists_rank(resize->next_members, resize->n_next, rank) &&
	       !lists_rank(resize->members, resize->n_members, rank);
}

bool weft_run_resize_is_short(struct weft_run_job *run, uint32_t rank)
{
	struct weft_run_resize *resize = &run->resize;

	if (!run->opt.n_max ||
		!lists_rank(resize->members, resize->n_members, rank))
		return false;
	resize->n_lost++;
	if (resize->n_members - resize->n_lost >= run->opt.n_min)
		return false;
	weft_run_io_print(run->io,
		"%u of %u processes are left, fewer than --min %u: ending the "
		"job",
		resize->n_members - resize->n_lost, resize->n_members,
		run->opt.n_min);
	return true;
}

/* ---- offers ---- */

/* Makes an offer, or withdraws it with delta 0. */
static void set_offer(struct weft_run_job *run, int delta)
{
	struct weft_run_resize *resize = &run->resize;

	resize->offer = delta;
	resize->until_ns = 0;
	if (delta && run->opt.offer_timeout_s > 0)
		resize->until_ns = weft_now_ns() +
				   (uint64_t)(run->opt.offer_timeout_s * 1e9);
	weft_serve_offer(run->serve, delta, resize->until_ns);
}

/* Returns the reason why the job cannot have delta more processes, in why, or
 * WEFT_SERVE_ACCEPTED. */
static enum weft_serve_verdict check_delta(
	const struct weft_run_job *run, int64_t delta, char *why, size_t len)
{
	int64_t n = (int64_t)n_living(run) + delta;

	if (run->state != WEFT_RUN_JOB_GOING || run->is_all_ending ||
		run->n_ends_asked) {
		snprintf(why, len, "the job is ending");
		return WEFT_SERVE_BUSY;
	}
	if (*run->resize.next) {
		snprintf(why, len,
			"another change of the job's size is under way (%s): "
			"wait until it is complete",
			run->resize.next);
		return WEFT_SERVE_BUSY;
	}
	if (!delta) {
		snprintf(why, len,
			"the change is 0: the job has %u process%s already",
			n_living(run), n_living(run) > 1 ? "es" : "");
		return WEFT_SERVE_BELOW_MIN;
	}
	if (n < run->opt.n_min) {
		snprintf(why, len,
			"%lld process%s would be left, and --min is %u",
			(long long)n, n == 1 ? "" : "es", run->opt.n_min);
		return WEFT_SERVE_BELOW_MIN;
	}
	if (n > run->opt.n_max) {
		snprintf(why, len,
			"the job would have %lld processes, and --max is %u",
			(long long)n, run->opt.n_max);
		return WEFT_SERVE_ABOVE_MAX;
	}
	if (delta > run->n_places - run->n) {
		snprintf(why, len,
			"%lld more processes need more ranks than are left "
			"(%u of %u): a rank is not used twice; restart the job "
			"with a larger --max",
			(long long)delta, run->n_places - run->n,
			run->n_places);
		return WEFT_SERVE_ABOVE_MAX;
	}
	return WEFT_SERVE_ACCEPTED;
}

/* ---- changes ---- */

/* Ends the change without a result. Processes that joined are ended. */
static void cancel_change(struct weft_run_job *run)
{
	struct weft_run_resize *resize = &run->resize;

	for (uint32_t i = resize->n_next - resize->n_joining;
		i < resize->n_next; i++) {
		struct weft_run_proc *proc =
			&run->procs[resize->next_members[i]];

		/* also if it has ended, because its end may not be handled */
		proc->is_cancelled = true;
		if (!proc->is_running)
			continue;
		weft_run_proc_kill(proc, SIGTERM);
		weft_run_proc_kill(proc, SIGCONT);
		resize->kill_ns =
			weft_now_ns() + (uint64_t)(run->opt.grace_s * 1e9) + 1;
	}
	weft_serve_set_delete(run->serve, resize->next);
	strcpy(resize->cancelled, resize->next);
	*resize->next = '\0';
	free(resize->next_members);
	resize->next_members = NULL;
	resize->n_next = resize->n_joining = 0;
}

/* Completes the change, unless a process that joined has ended. */
static enum weft_serve_verdict complete_change(
	struct weft_run_job *run, char *why, size_t len)
{
	struct weft_run_resize *resize = &run->resize;

	for (uint32_t i = resize->n_next - resize->n_joining;
		i < resize->n_next; i++) {
		if (run->procs[resize->next_members[i]].is_running)
			continue;
		snprintf(why, len,
			"rank %u, which joined with \"%s\", has ended: cancel "
			"the change",
			resize->next_members[i], resize->next);
		return WEFT_SERVE_NOT_STARTED;
	}
	weft_serve_set_current(run->serve, resize->next);
	weft_serve_set_delete(run->serve, resize->set);
	strcpy(resize->set, resize->next);
	*resize->next = '\0';
	free(resize->members);
	resize->members = resize->next_members;
	resize->n_members = resize->n_next;
	resize->next_members = NULL;
	resize->n_next = resize->n_joining = 0;
	resize->n_lost = 0;
	for (uint32_t i = 0; i < resize->n_members; i++)
		resize->n_lost += !run->procs[resize->members[i]].is_running;
	if (run->opt.is_verbose)
		weft_run_io_print(run->io, "the job has %u process%s (%s)",
			resize->n_members, resize->n_members > 1 ? "es" : "",
			resize->set);
	return WEFT_SERVE_ACCEPTED;
}

/* Sets the members of the next set: the living ones without the last ones, or
 * with the next ranks. */
static int choose_next(struct weft_run_job *run, int delta)
{
	struct weft_run_resize *resize = &run->resize;
	uint32_t n = (uint32_t)((int64_t)n_living(run) + delta), at = 0;

	resize->next_members = malloc(n * sizeof(*resize->next_members));
	if (!resize->next_members)
		return WEFT_ERR_NOMEM;
	for (uint32_t i = 0; i < resize->n_members && at < n; i++)
		if (run->procs[resize->members[i]].is_running)
			resize->next_members[at++] = resize->members[i];
	for (uint32_t rank = run->n; at < n; rank++)
		resize->next_members[at++] = rank;
	resize->n_next = n;
	resize->n_joining = delta > 0 ? (uint32_t)delta : 0;
	set_name(resize->next, ++resize->generation);
	return 0;
}

/* Starts the processes that join. Their MPI_COMM_WORLD is these processes. */
static int start_joining(struct weft_run_job *run)
{
	struct weft_run_resize *resize = &run->resize;
	char step[sizeof(WEFT_BOOT_STEP_ENV) + 64];
	int err = 0;

	snprintf(step, sizeof(step), "%s=%u %u %u", WEFT_BOOT_STEP_ENV, run->n,
		resize->n_joining, resize->generation);
	for (uint32_t i = 0; i < resize->n_joining && !err; i++)
		err = weft_run_job_start_late(run, step);
	return err;
}

/* Begins a change. After a failure, the old set is in force. */
static int begin_change(struct weft_run_job *run, int delta)
{
	struct weft_run_resize *resize = &run->resize;
	int err = choose_next(run, delta);

	if (err)
		return err;
	err = weft_serve_set_define(
		run->serve, resize->next, resize->next_members, resize->n_next);
	if (!err)
		err = start_joining(run);
	if (err) {
		cancel_change(run);
		return err;
	}
	if (run->opt.is_verbose)
		weft_run_io_print(run->io,
			"the job changes from %u to %u process%s (%s)",
			resize->n_members, resize->n_next,
			resize->n_next > 1 ? "es" : "", resize->next);
	return 0;
}

/* Handles an ASK. Writes the reason of a refusal to why. */
static enum weft_serve_verdict on_ask(struct weft_run_job *run,
	const struct weft_serve_event *event, char *why, size_t len)
{
	enum weft_serve_verdict verdict;
	int err;

	if (!*run->resize.next && strcmp(event->text, run->resize.set)) {
		snprintf(why, len,
			"process set \"%s\" is not the set of the members now, "
			"%s",
			event->text, run->resize.set);
		return WEFT_SERVE_NOT_CURRENT;
	}
	verdict = check_delta(run, event->code, why, len);
	if (verdict != WEFT_SERVE_ACCEPTED)
		return verdict;
	err = begin_change(run, event->code);
	if (err) {
		const char *detail = weft_err_detail_peek(err);

		snprintf(why, len, "the processes cannot be started: %s",
			*detail ? detail : weft_err_str(err));
		return WEFT_SERVE_NOT_STARTED;
	}
	if (run->resize.offer)
		set_offer(run, 0);
	return WEFT_SERVE_ACCEPTED;
}

void weft_run_resize_on_request(
	struct weft_run_job *run, const struct weft_serve_event *event)
{
	struct weft_run_resize *resize = &run->resize;
	enum weft_serve_verdict verdict = WEFT_SERVE_ACCEPTED;
	bool is_cancelled =
		*resize->cancelled && !strcmp(event->text, resize->cancelled);
	const char *set = NULL;
	char why[WEFT_RUN_RESIZE_TEXT];

	if (event->resize == WEFT_SERVE_ASK) {
		verdict = on_ask(run, event, why, sizeof(why));
		set = verdict == WEFT_SERVE_ACCEPTED ? resize->next : NULL;
	} else if (*resize->next && !strcmp(event->text, resize->next)) {
		if (event->resize == WEFT_SERVE_DONE)
			verdict = complete_change(run, why, sizeof(why));
		else
			cancel_change(run);
	} else if (event->resize == WEFT_SERVE_DONE || !is_cancelled) {
		snprintf(why, sizeof(why),
			is_cancelled ? "the change to process set \"%s\" was "
				       "cancelled"
				     : "no change to process set \"%s\" is "
				       "under way",
			event->text);
		verdict = WEFT_SERVE_NOT_CURRENT;
	}
	weft_serve_resized(run->serve, event->resize_request, verdict, set,
		verdict == WEFT_SERVE_ACCEPTED ? NULL : why);
}

void weft_run_resize_on_death(struct weft_run_job *run, uint32_t rank)
{
	struct weft_run_resize *resize = &run->resize;
	int delta = resize->offer + 1;
	char why[WEFT_RUN_RESIZE_TEXT];

	if (run->state != WEFT_RUN_JOB_GOING ||
		!lists_rank(resize->members, resize->n_members, rank))
		return;
	if (*resize->next) {
		weft_run_io_print(run->io,
			"rank %u failed: the change to %s is cancelled", rank,
			resize->next);
		cancel_change(run);
	}
	if (!delta || check_delta(run, delta, why, sizeof(why)) ==
			      WEFT_SERVE_ACCEPTED)
		set_offer(run, delta);
}

void weft_run_resize_on_end(struct weft_run_job *run)
{
	struct weft_run_resize *resize = &run->resize;

	if (resize->n_joining && !n_living(run))
		cancel_change(run);
}

static void kill_cancelled(struct weft_run_job *run)
{
	run->resize.kill_ns = 0;
	for (uint32_t r = 0; r < run->n; r++)
		if (run->procs[r].is_cancelled)
			weft_run_proc_kill(&run->procs[r], SIGKILL);
}

/* ---- requests of weft-resize and --resize-at ---- */

/* Offers delta processes. False if the job cannot have them; why has the
 * reason. */
static bool make_offer(
	struct weft_run_job *run, int64_t delta, char *why, size_t len)
{
	if (check_delta(run, delta, why, len) != WEFT_SERVE_ACCEPTED)
		return false;
	set_offer(run, (int)delta);
	return true;
}

/* Makes the offers of --resize-at that are due. */
static void make_due_offers(struct weft_run_job *run, int *ms)
{
	struct weft_run_resize *resize = &run->resize;
	char why[WEFT_RUN_RESIZE_TEXT];

	while (resize->n_made < run->opt.n_offers) {
		const struct weft_run_offer_at *at =
			&run->opt.offers[resize->n_made];

		if (!weft_run_job_is_due(
			    resize->start_ns + (uint64_t)(at->at_s * 1e9), ms))
			return;
		resize->n_made++;
		if (!make_offer(run, at->delta, why, sizeof(why)) &&
			run->state == WEFT_RUN_JOB_GOING)
			weft_run_io_print(run->io, "--resize-at %g:%+d: %s",
				at->at_s, at->delta, why);
	}
}

void weft_run_resize_check(struct weft_run_job *run, int *ms)
{
	make_due_offers(run, ms);
	if (run->resize.offer && weft_run_job_is_due(run->resize.until_ns, ms))
		set_offer(run, 0);
	if (weft_run_job_is_due(run->resize.kill_ns, ms))
		kill_cancelled(run);
}

/* Writes the line of --list: name, pid, processes, limits, offer and change. */
static void list_job(const struct weft_run_job *run, char *text, size_t len)
{
	const struct weft_run_resize *resize = &run->resize;

	snprintf(text, len, "ok %s %d %u %u %u %d %s %s", run->name,
		(int)getpid(), n_living(run), run->opt.n_min, run->opt.n_max,
		resize->offer, resize->set, *resize->next ? resize->next : "-");
}

/* Handles one request, which is a text, and writes the answer. */
static void on_text(
	struct weft_run_job *run, const char *request, char *text, size_t len)
{
	char why[WEFT_RUN_RESIZE_TEXT - 8];
	bool is_made = false;
	long long v = 0;
	int end = 0;

	if (!strcmp(request, "list")) {
		list_job(run, text, len);
		return;
	}
	if (!strcmp(request, "cancel")) {
		snprintf(text, len,
			run->resize.offer ? "ok the offer is withdrawn"
					  : "no there is no offer to withdraw");
		if (run->resize.offer)
			set_offer(run, 0);
		return;
	}
	if (sscanf(request, "offer %lld%n", &v, &end) != 1 || request[end]) {
		end = 0;
		if (sscanf(request, "size %lld%n", &v, &end) != 1 ||
			request[end]) {
			snprintf(text, len, "no the request is not known");
			return;
		}
		v -= n_living(run);
	}
	if (v < -UINT16_MAX || v > UINT16_MAX)
		snprintf(why, sizeof(why), "%lld is out of range", v);
	else
		is_made = make_offer(run, v, why, sizeof(why));
	if (is_made)
		snprintf(why, sizeof(why), "offered %+d to the %u process%s",
			run->resize.offer, n_living(run),
			n_living(run) > 1 ? "es" : "");
	snprintf(text, len, "%s %s", is_made ? "ok" : "no", why);
}

void weft_run_resize_receive(struct weft_run_job *run)
{
	int fd = run->resize.fd;

	while (fd >= 0) {
		char request[WEFT_RUN_RESIZE_TEXT] = "";
		char text[WEFT_RUN_RESIZE_TEXT];
		struct sockaddr_un from;
		socklen_t len = sizeof(from);

		if (recvfrom(fd, request, sizeof(request) - 1, MSG_DONTWAIT,
			    (struct sockaddr *)&from, &len) < 0)
			return;
		on_text(run, request, text, sizeof(text));
		(void)!sendto(fd, text, strlen(text), MSG_DONTWAIT,
			(struct sockaddr *)&from, len);
	}
}

/* The session directory, which only this user can enter, protects the socket.
 * Its path may be longer than the name of a socket, so the name contains a
 * descriptor. */
static int socket_open(struct weft_run_job *run)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int dir = open(run->dir, O_PATH | O_DIRECTORY | O_CLOEXEC), failed;

	snprintf(name.sun_path, sizeof(name.sun_path), "/proc/self/fd/%d/%s",
		dir, WEFT_RUN_RESIZE_SOCKET);
	run->resize.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	failed = dir < 0 || run->resize.fd < 0 ||
		 bind(run->resize.fd, (struct sockaddr *)&name, sizeof(name));
	if (failed)
		failed = errno;
	if (dir >= 0)
		close(dir);
	return failed ? weft_err_set(WEFT_ERR_OTHER,
				"cannot create the socket %s/%s: %s", run->dir,
				WEFT_RUN_RESIZE_SOCKET, strerror(failed))
		      : 0;
}

int weft_run_resize_open(struct weft_run_job *run)
{
	struct weft_run_resize *resize = &run->resize;
	int err;

	resize->start_ns = weft_now_ns();
	resize->members = malloc(run->n * sizeof(*resize->members));
	if (!resize->members)
		return WEFT_ERR_NOMEM;
	for (uint32_t r = 0; r < run->n; r++)
		resize->members[r] = r;
	resize->n_members = run->n;
	set_name(resize->set, 0);
	err = weft_serve_set_define(
		run->serve, resize->set, resize->members, resize->n_members);
	if (err)
		return err;
	weft_serve_set_current(run->serve, resize->set);
	return socket_open(run);
}

void weft_run_resize_close(struct weft_run_resize *resize)
{
	if (resize->fd >= 0)
		close(resize->fd);
	resize->fd = -1;
	free(resize->members);
	free(resize->next_members);
	resize->members = resize->next_members = NULL;
}
