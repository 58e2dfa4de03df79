/* SPDX-License-Identifier: BSD-3-Clause */
/* exit: the end of the job without a fault
 *
 * The process manager ends the job. Slurm cannot end a job with status 0, so
 * under Slurm the processes notify each other and exit. The process that ends
 * the job notifies process 0, which notifies all processes. Each notified
 * process enters a fence of the whole job, and exits when the fence has
 * completed. */
#include "session/exit.h"

#include "base/clock.h"
#include "base/log.h"
#include "transport/dispatch.h"
#include "transport/proc.h"
#include "transport/progress.h"

#include <stdio.h>
#include <unistd.h>

enum { EXIT_S = 30 }; /* the longest wait for the fence */

static void notify_exit(struct weft_vci *vci, uint32_t rank)
{
	struct weft_wire_head head = { .op = WEFT_WIRE_EXIT };
	struct weft_peer *peer = weft_peer_of(
		vci, (weft_proc.proc & ~(uint64_t)UINT32_MAX) | rank);

	if (peer && !peer->is_self)
		(void)weft_peer_control(peer, &head, NULL, 0);
}

static void on_all_exit(void *arg, int err)
{
	*(int *)arg = err;
}

/* Waits for the fence of all processes of the job. Messages and the fence
 * complete in the rounds of progress. */
static int exit_fence(struct weft_vci *vci)
{
	uint64_t end = weft_now_ns() + EXIT_S * (uint64_t)WEFT_NS_PER_S;
	int state = WEFT_AGAIN;
	int err = weft_boot_fence(weft_proc.boot, NULL, 0, on_all_exit, &state);

	while (!err && state == WEFT_AGAIN) {
		if (weft_now_ns() > end)
			return weft_err_set(WEFT_ERR_PEER,
				"some processes of the job made no progress "
				"for %d s",
				EXIT_S);
		weft_progress_wait(vci);
	}
	return err ? err : state;
}

/* Notifies process 0, or on process 0 all other processes. Then waits for the
 * fence, and exits. Default VCI's lock held. */
static void exit_with_all(struct weft_vci *vci)
{
	int err;

	if (weft_proc.facts.rank)
		notify_exit(vci, 0);
	for (uint32_t r = 1; !weft_proc.facts.rank && r < weft_proc.facts.size;
		r++)
		notify_exit(vci, r);
	fflush(NULL);
	err = exit_fence(vci);
	if (err) {
		weft_log_warn("CORE-EXIT",
			"cannot end the job with status 0: %s; the status is 1",
			weft_err_detail_peek(err));
		weft_boot_abort(weft_proc.boot, 1, "exit", NULL, 0);
		_exit(1);
	}
	weft_boot_close(weft_proc.boot, 1);
	_exit(0);
}

static void exit_run(struct weft_progress_hook *hook)
{
	(void)hook;
	exit_with_all(&weft_proc.vci);
}

static void on_exit_message(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	(void)head, (void)payload, (void)len;
	if (!weft_proc_is_member(peer->proc)) {
		weft_dispatch_drop(vci, "exit of another job");
		return;
	}
	if (weft_proc.is_exiting)
		return;
	weft_proc.is_exiting = true;
	weft_proc.exit_hook.run = exit_run;
	weft_vci_defer(vci, &weft_proc.exit_hook);
}

void weft_exit_setup(struct weft_vci *vci)
{
	weft_dispatch_set(vci, WEFT_WIRE_EXIT, on_exit_message);
}

void weft_exit_all(int code, const char *text)
{
	struct weft_vci *vci = &weft_proc.vci;

	code = weft_proc_status(code);
	if (!weft_proc.boot || weft_boot_abort(weft_proc.boot, code, text, NULL,
				       0) != WEFT_ERR_UNSUPPORTED)
		_exit(code);
	weft_vci_lock(vci);
	if (!weft_proc.is_exiting) {
		weft_proc.is_exiting = true;
		exit_with_all(vci);
	}
	for (;;) /* another thread exits the process */
		weft_progress_wait(vci);
}
