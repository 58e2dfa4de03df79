/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_wait: ends waits for operations and for memory
 *
 * A wait for one PE ends with an error when that PE has failed. A wait for
 * several PEs, or for any PE, ends immediately if all others have failed. If
 * only some have failed, the wait ends GRACE_NS after it found the first
 * failure, because the other PEs may still complete it. Each operation that
 * completes restarts that time.
 *
 * A long wait causes one warning. The process manager reports failures to any
 * thread that makes progress. Some managers (Slurm) do not report them, so a
 * long wait also tries to find PEs that have ended. */
#include "rma/rma_priv.h"

#include "base/clock.h"
#include "base/knob.h"
#include "base/log.h"
#include "core/comm.h"
#include "core/group.h"
#include "transport/proc.h"
#include "transport/progress.h"
#include "watchdog/wait.h"

#include <stdio.h>

enum {
	NOTE_NS = 100000000, /* shorter waits are not published */
	/* time for other PEs to end a wait, and for the manager to report a
	 * failure after the fabric */
	GRACE_NS = 1000000000,
	PATIENCE = 6, /* a wait warns after PATIENCE times WEFT_STALL_WARN, even
			 if operations still complete or memory changes */
	SHOWN = 4,    /* failed PEs in a message, at most */
	TRIED = 8,    /* PEs that a long wait tries at a time, at most */
};

/* --- PEs that have failed ------------------------------------------------ */

/* VCI's lock held. */
static bool is_proc_failed(uint32_t pe)
{
	const struct weft_group *group = weft_rma_own.comm->group;
	const struct weft_peer *peer = weft_map_get(
		&weft_proc.vci.peers, weft_group_proc(group, pe) + 1);

	return peer && peer->state == WEFT_PEER_FAILED;
}

static bool has_pe_failed(uint32_t pe)
{
	struct weft_vci *vci = &weft_proc.vci;
	bool is;

	weft_vci_lock(vci);
	is = vci->n_failed && is_proc_failed(pe);
	weft_vci_unlock(vci);
	return is;
}

uint32_t weft_rma_pe_failed(char *text, size_t len)
{
	struct weft_vci *vci = &weft_proc.vci;
	uint32_t n = 0;
	size_t at = 0;

	if (len)
		*text = 0;
	weft_vci_lock(vci);
	for (uint32_t i = 0; vci->n_failed && i < weft_rma.n_pes; i++) {
		if (i == weft_rma.my_pe || !is_proc_failed(i) || n++ >= SHOWN)
			continue;
		if (at < len)
			at += (size_t)snprintf(text + at, len - at, "%sPE %u",
				at ? ", " : "", i);
	}
	weft_vci_unlock(vci);
	if (n > SHOWN && at < len)
		snprintf(text + at, len - at, " and %u more", n - SHOWN);
	return n;
}

int weft_rma_wait_failed(const char *what, uint32_t pe)
{
	return weft_err_set(WEFT_ERR_PEER,
		"%s PE %u cannot end: that PE is gone", what, pe);
}

/* Waits up to GRACE_NS until the process manager reports a failure, because the
 * fabric may report the failure earlier. */
static void wait_for_news(char *failed, size_t len)
{
	struct weft_vci *vci = &weft_proc.vci;
	uint64_t start = weft_now_ns();

	while (!weft_rma_pe_failed(failed, len) &&
		weft_now_ns() - start < GRACE_NS) {
		weft_vci_lock(vci);
		weft_progress_wait(vci);
		weft_vci_unlock(vci);
	}
}

int weft_rma_fault_at(int err, const char *what, uint32_t pe)
{
	char why[160], failed[WEFT_RMA_GONE_TEXT] = "";
	const char *gone;

	snprintf(why, sizeof(why), "%s", weft_err_detail_peek(err));
	if (!*why)
		snprintf(why, sizeof(why), "%s", weft_err_str(err));
	if (err == WEFT_ERR_PEER || err == WEFT_ERR_CANCELED)
		wait_for_news(failed, sizeof(failed));
	gone = *failed ? "; failed: " : "";
	if (pe == WEFT_RMA_ALL)
		return weft_err_set(err, "%s%s%s", why, gone, failed);
	return weft_err_set(
		err, "%s PE %u: %s%s%s", what, pe, why, gone, failed);
}

/* --- checks of every kind of wait ---------------------------------------- */

bool weft_rma_wait_is_time(struct weft_rma_wait *wait, uint64_t *now_out)
{
	if (weft_likely(++wait->n_rounds % WEFT_RMA_ROUNDS))
		return false;
	*now_out = weft_now_ns();
	if (!wait->start_ns)
		wait->start_ns = wait->moved_ns = *now_out;
	return true;
}

/* Publishes the wait for processes that query this process. */
static void note(const struct weft_rma_wait *wait, uint64_t now)
{
	char text[WEFT_WAIT_TEXT];

	if (now - wait->start_ns < NOTE_NS)
		return;
	if (wait->is_op && wait->from)
		snprintf(text, sizeof(text), "in %.100s PE %u", wait->fn,
			wait->from - 1);
	else
		snprintf(text, sizeof(text), "in %.100s", wait->fn);
	weft_wait_note(text, wait->start_ns);
}

static bool is_long(uint64_t since_ns, uint64_t now)
{
	return now - since_ns >= weft_wait_patience_ns();
}

/* Tries the PE of the wait, or some of all PEs. */
static void find_ended(struct weft_rma_wait *wait)
{
	const struct weft_group *group = weft_rma_own.comm->group;
	uint32_t n = wait->from ? 1 : weft_min(weft_rma.n_pes, (uint32_t)TRIED);
	struct weft_vci *vci = &weft_proc.vci;
	char what[WEFT_PROC_FOUND];

	weft_vci_lock(vci);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t pe = wait->from ? wait->from - 1
					 : wait->turn++ % weft_rma.n_pes;
		uint64_t proc = weft_group_proc(group, pe);

		if (pe != weft_rma.my_pe && !is_proc_failed(pe))
			(void)weft_proc_find_end(vci, proc, proc, what);
	}
	weft_vci_unlock(vci);
}

int weft_rma_wait_check(struct weft_rma_wait *wait, uint64_t now,
	bool has_moved, char failed[WEFT_RMA_GONE_TEXT])
{
	uint64_t patient_ns = (now - wait->start_ns) / PATIENCE;
	uint32_t n;

	note(wait, now);
	if (has_moved)
		wait->moved_ns = now;
	if (is_long(wait->moved_ns, now) && is_long(wait->tried_ns, now)) {
		wait->tried_ns = now;
		find_ended(wait);
	}
	if (wait->from && has_pe_failed(wait->from - 1))
		return weft_rma_wait_failed(wait->fn, wait->from - 1);
	n = weft_rma_pe_failed(failed, WEFT_RMA_GONE_TEXT);
	if (n && (!wait->failed_ns || (has_moved && wait->is_op)))
		wait->failed_ns = now;
	if (n && (n == weft_rma.n_pes - 1 ||
			 (!wait->from && now - wait->failed_ns > GRACE_NS)))
		return weft_err_set(WEFT_ERR_PEER, "%s cannot end; failed: %s",
			wait->fn, failed);
	if (wait->has_warned || !weft_knobs.stall_warn ||
		(!is_long(wait->moved_ns, now) &&
			!is_long(now - patient_ns, now)))
		return 0;
	wait->has_warned = true;
	return 1;
}

/* --- operations ---------------------------------------------------------- */

int weft_rma_op_wait_check(struct weft_rma_wait *wait, uint32_t position)
{
	char failed[WEFT_RMA_GONE_TEXT], where[32] = "";
	bool has_moved = position != wait->sum;
	uint64_t now;
	int rc;

	if (weft_likely(!weft_rma_wait_is_time(wait, &now)))
		return 0;
	wait->is_op = true;
	wait->sum = position;
	rc = weft_rma_wait_check(wait, now, has_moved, failed);
	if (rc <= 0)
		return rc;
	if (wait->from)
		snprintf(where, sizeof(where), " PE %u", wait->from - 1);
	weft_log_warn("RMA-STALL",
		"this PE has waited %u s for %s%s%s%s (WEFT_STALL_WARN)",
		(unsigned)((now - wait->start_ns) / WEFT_NS_PER_S), wait->fn,
		where, *failed ? "; failed: " : "", failed);
	return 0;
}
