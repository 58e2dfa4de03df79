/* SPDX-License-Identifier: BSD-3-Clause */
/* ring: messages that are read while they are written */
#include "shm/ring.h"

#include "base/clock.h"
#include "base/knob.h"
#include "base/log.h"
#include "base/pid.h"

#include <sched.h>
#include <time.h>

enum { SPINS = 4096, YIELDS = 1000 };

void weft_ring_write_rest(struct weft_ring_tx *tx, void *to, const void *from,
	size_t first, size_t len)
{
	struct weft_ring_slot *slot =
		&tx->ring->slots[(tx->n - 1) % WEFT_RING_SLOTS];

	while (first < len) {
		size_t part = weft_min(len - first, (size_t)WEFT_RING_PART);

		weft_write(&tx->write, (uint8_t *)to + first,
			(const uint8_t *)from + first, part);
		first += part;
		/* pairs with the acquire in ring_ready */
		atomic_store_explicit(
			&slot->n_ready, (uint32_t)first, memory_order_release);
	}
}

static size_t ring_ready(const struct weft_ring_rx *rx, size_t len)
{
	const struct weft_ring_slot *slot =
		&rx->ring->slots[rx->n % WEFT_RING_SLOTS];
	/* pairs with the release in weft_ring_write_rest */
	size_t ready =
		atomic_load_explicit(&slot->n_ready, memory_order_acquire);

	return weft_min(ready, len);
}

/* The writer does not run: it has ended, was stopped, or waits for a core,
 * perhaps for this one, which a yield would not give to lower priorities. */
static __attribute__((noinline)) size_t await_stalled(
	const struct weft_ring_rx *rx, size_t have, size_t len)
{
	const struct timespec nap = { .tv_nsec = 50000 };
	const pid_t pid = rx->ring->writer_pid;
	const int64_t warn_s = weft_knobs.stall_warn;
	uint64_t warn_ns =
		warn_s ? weft_now_ns() + (uint64_t)warn_s * WEFT_NS_PER_S
		       : UINT64_MAX;
	bool is_there = true;
	size_t ready;

	for (int n = 0; (ready = ring_ready(rx, len)) <= have; n++) {
		if (!is_there)
			return 0;
		/* what it wrote last is looked for once more */
		is_there = !weft_pid_has_ended(pid, 0);
		if (weft_now_ns() >= warn_ns) {
			weft_log_warn("SHM-GROWS",
				"process %d has been writing a message for "
				"%lld s and does not go on: it is stopped, or "
				"has no core to run on",
				(int)pid, (long long)warn_s);
			warn_ns = UINT64_MAX;
		}
		if (n < YIELDS)
			sched_yield();
		else
			nanosleep(&nap, NULL);
	}
	return ready;
}

size_t weft_ring_await(const struct weft_ring_rx *rx, size_t have, size_t len)
{
	size_t ready = ring_ready(rx, len);

	for (int i = 0; ready <= have && i < SPINS; i++) {
		weft_cpu_pause();
		ready = ring_ready(rx, len);
	}
	return ready > have ? ready : await_stalled(rx, have, len);
}
