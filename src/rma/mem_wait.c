/* SPDX-License-Identifier: BSD-3-Clause */
/* mem_wait: waiting on local memory that others write; what this process holds
 * back leaves meanwhile */
#include "rma/rma_priv.h"

#include "transport/proc.h"
#include "transport/progress.h"
#include "transport/sleep.h"
#include "transport/vci.h"

enum {
	ROUNDS_PER_POLL = 64, /* it looks at messages as well */
	PATIENCE = 6,	      /* times WEFT_STALL_WARN, while something moves */
};

/* Makes progress; if nothing came, and the caller has polled long enough, gives
 * up the core for the n-th time. */
static bool mem_wait_look(struct weft_vci *vci, bool has_spun, uint64_t n)
{
	bool has_come;

	weft_vci_lock(vci);
	weft_rma_fabric_look(); /* it may come from another node */
	has_come = weft_progress(vci) > 0;
	if (has_spun && !has_come)
		weft_sleep(vci, n, WEFT_SLEEP_WORD);
	weft_vci_unlock(vci);
	return has_come;
}

bool weft_rma_relax(uint32_t round)
{
	struct weft_vci *vci = &weft_proc.vci;

	if (round % ROUNDS_PER_POLL == 0)
		weft_rma_release();
	if (round >= weft_proc.max_spin)
		return mem_wait_look(
			vci, true, round - (uint64_t)weft_proc.max_spin);
	weft_cpu_pause();
	if (weft_rma.is_all_local &&
		round % ROUNDS_PER_POLL != ROUNDS_PER_POLL - 1)
		return false;
	return mem_wait_look(vci, false, 0);
}

/* Has what is waited for come nearer since the last look? */
static bool has_moved(struct weft_rma_wait *wait)
{
	const unsigned char *at = wait->watched;
	bool has = wait->has_moved;
	uint64_t sum = 0;

	for (size_t i = 0; at && i < wait->len; i++)
		sum = sum * 31 + __atomic_load_n(&at[i], __ATOMIC_RELAXED);
	has |= sum != wait->sum;
	wait->sum = sum;
	wait->has_moved = false;
	return has;
}

static bool is_stalled(struct weft_rma_wait *wait, uint64_t now)
{
	uint64_t patient_ns = (now - wait->start_ns) / PATIENCE;

	if (has_moved(wait) || !wait->moved_ns)
		wait->moved_ns = now;
	return !wait->has_said &&
	       (weft_rma_wait_is_long(wait->moved_ns, now) ||
		       weft_rma_wait_is_long(now - patient_ns, now));
}

int weft_rma_wait_round(struct weft_rma_wait *wait)
{
	uint32_t n = 0;
	uint64_t now;
	char none;

	wait->has_moved |= weft_rma_relax(wait->n_rounds);
	if (weft_likely(!weft_rma_wait_is_time(
		    &wait->n_rounds, &wait->start_ns, &now)))
		return 0;
	weft_rma_wait_note(wait->fn, WEFT_RMA_ALL, wait->start_ns, now);
	if (wait->from && weft_rma_pe_has_failed(wait->from - 1))
		return weft_err_set(
			WEFT_ERR_PEER, "PE %u is gone", wait->from - 1);
	if (weft_rma.n_pes > 1)
		n = weft_rma_pe_failed(&none, 0);
	if (n && n == weft_rma.n_pes - 1)
		return weft_err_set(WEFT_ERR_PEER, "all other PEs are gone");
	if (n && !wait->failed_ns)
		wait->failed_ns = now;
	if (n && !wait->from && now - wait->failed_ns > WEFT_RMA_GRACE_NS)
		return weft_err_set(WEFT_ERR_PEER, "a PE is gone");
	if (!is_stalled(wait, now))
		return 0;
	wait->has_said = true;
	return 1;
}
