/* SPDX-License-Identifier: BSD-3-Clause */
/* pe_wait: waits for operations end when a PE fails, and speak up when they
 * take long
 *
 * A process that died is learnt from the process manager by whoever makes
 * progress. A wait for one PE ends with its death. One for several, or for
 * what the fabric does not tell the PE of, ends when somebody failed and
 * nothing has come for a while. */
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
#include <string.h>

enum {
	ROUNDS_PER_CHECK = 64,
	NEWS_NS = 1000000000, /* a fabric may know before the manager */
	NOTE_NS = 100000000,
	SHOWN = 4,
};

/* VCI's lock held. */
static bool is_proc_failed(uint32_t pe)
{
	const struct weft_group *group = weft_rma_own.comm->group;
	const struct weft_peer *peer = weft_map_get(
		&weft_proc.vci.peers, weft_group_proc(group, pe) + 1);

	return peer && peer->state == WEFT_PEER_FAILED;
}

bool weft_rma_pe_has_failed(uint32_t pe)
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

/* True when it is time to look, every so many rounds; begins the count. */
bool weft_rma_wait_is_time(
	uint32_t *n_rounds, uint64_t *start_ns, uint64_t *now_out)
{
	if (weft_likely(++*n_rounds % ROUNDS_PER_CHECK))
		return false;
	*now_out = weft_now_ns();
	if (!*start_ns)
		*start_ns = *now_out;
	return true;
}

bool weft_rma_wait_is_long(uint64_t start_ns, uint64_t now)
{
	return weft_knobs.stall_warn &&
	       now - start_ns >=
		       (uint64_t)weft_knobs.stall_warn * WEFT_NS_PER_S;
}

/* For whoever asks what this process is in. */
void weft_rma_wait_note(
	const char *what, uint32_t pe, uint64_t start_ns, uint64_t now)
{
	char text[WEFT_WAIT_TEXT];

	if (now - start_ns < NOTE_NS)
		return;
	if (pe == WEFT_RMA_ALL)
		snprintf(text, sizeof(text), "in %.100s", what);
	else
		snprintf(text, sizeof(text), "in %.100s PE %u", what, pe);
	weft_wait_note(text, start_ns);
}

static int rma_wait_say(
	struct weft_rma_op_wait *op_wait, uint64_t now, const char *failed)
{
	char where[32] = "";

	if (op_wait->pe != WEFT_RMA_ALL)
		snprintf(where, sizeof(where), " PE %u", op_wait->pe);
	op_wait->has_said = true;
	weft_log_warn("RMA-STALL",
		"this PE has waited %u s for %s%s%s%s (WEFT_STALL_WARN)",
		(unsigned)((now - op_wait->start_ns) / WEFT_NS_PER_S),
		op_wait->what, where, *failed ? "; failed: " : "", failed);
	return 0;
}

int weft_rma_wait_failed(const char *what, uint32_t pe)
{
	return weft_err_set(WEFT_ERR_PEER,
		"%s PE %u cannot end: that PE is gone", what, pe);
}

int weft_rma_op_wait_check(struct weft_rma_op_wait *op_wait, uint32_t n_left)
{
	char failed[80];
	uint64_t now;

	if (weft_likely(!weft_rma_wait_is_time(
		    &op_wait->n_rounds, &op_wait->start_ns, &now)))
		return 0;
	weft_rma_wait_note(op_wait->what, op_wait->pe, op_wait->start_ns, now);
	if (op_wait->pe != WEFT_RMA_ALL && weft_rma_pe_has_failed(op_wait->pe))
		return weft_rma_wait_failed(op_wait->what, op_wait->pe);
	if (n_left != op_wait->n_left || !op_wait->moved_ns) {
		op_wait->n_left = n_left;
		op_wait->moved_ns = now;
	}
	*failed = 0;
	if (op_wait->pe == WEFT_RMA_ALL &&
		now - op_wait->moved_ns > WEFT_RMA_GRACE_NS &&
		weft_rma_pe_failed(failed, sizeof(failed)))
		return weft_err_set(WEFT_ERR_PEER, "%s cannot end; failed: %s",
			op_wait->what, failed);
	if (!op_wait->has_said && weft_rma_wait_is_long(op_wait->moved_ns, now))
		return rma_wait_say(op_wait, now, failed);
	return 0;
}

/* The manager may tell of a death a little later than the fabric. */
static uint32_t wait_for_news(char *failed, size_t len)
{
	struct weft_vci *vci = &weft_proc.vci;
	uint64_t start = weft_now_ns();
	uint32_t n;

	while (!(n = weft_rma_pe_failed(failed, len)) &&
		weft_now_ns() - start < NEWS_NS) {
		weft_vci_lock(vci);
		weft_progress_wait(vci);
		weft_vci_unlock(vci);
	}
	return n;
}

int weft_rma_fault_at(int err, const char *what, uint32_t pe)
{
	char why[160], failed[80] = "";

	snprintf(why, sizeof(why), "%s", weft_err_detail_peek(err));
	if (!*why)
		snprintf(why, sizeof(why), "%s", weft_err_str(err));
	if (err == WEFT_ERR_PEER || err == WEFT_ERR_CANCELED)
		wait_for_news(failed, sizeof(failed));
	if (pe == WEFT_RMA_ALL)
		return weft_err_set(err, "%s%s%s", why,
			*failed ? "; failed: " : "", failed);
	return weft_err_set(err, "%s PE %u: %s%s%s", what, pe, why,
		*failed ? "; failed: " : "", failed);
}
