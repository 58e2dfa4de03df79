/* SPDX-License-Identifier: BSD-3-Clause */
/* lock: the atomic lock, and the change from single- to multi-threaded */
#include "base/lock.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SPINS_BEFORE_YIELD = 64 };

atomic_bool weft_lock_mt;

/* Registers for membarrier() before the process has a second thread, such as
 * that of the PMIx client. Later, the registration would take tens of
 * milliseconds. */
static void __attribute__((constructor)) lock_register(void)
{
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0,
		0);
}

void weft_lock_enable_mt(void)
{
	if (weft_lock_is_mt())
		return;
	atomic_store_explicit(&weft_lock_mt, true, memory_order_seq_cst);
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
		usleep(20000); /* no membarrier: let store buffers drain */
}

/* Acquires the lock if no thread holds it through is_held. Pairs with the
 * releases of is_held in weft_lock_release_mt() and weft_lock_try_mt(). */
static inline bool lock_try_acquire(struct weft_lock *lock)
{
	return !atomic_load_explicit(&lock->is_held, memory_order_relaxed) &&
	       !atomic_exchange_explicit(
		       &lock->is_held, 1, memory_order_acquire);
}

static __attribute__((noinline)) void lock_wait(struct weft_lock *lock)
{
	unsigned spins = 0;

	atomic_fetch_add_explicit(&lock->n_waiting, 1, memory_order_relaxed);
	while (!lock_try_acquire(lock))
		if (++spins > SPINS_BEFORE_YIELD)
			weft_yield_wait(spins - SPINS_BEFORE_YIELD - 1);
	atomic_fetch_sub_explicit(&lock->n_waiting, 1, memory_order_relaxed);
	if (spins)
		atomic_store_explicit(&lock->n_contended,
			atomic_load_explicit(
				&lock->n_contended, memory_order_relaxed) +
				1,
			memory_order_relaxed);
}

void weft_lock_acquire_mt(struct weft_lock *lock)
{
	if (!lock_try_acquire(lock))
		lock_wait(lock);
	/* Waits for a holder that acquired the lock before the process became
	 * multi-threaded; pairs with the release in weft_lock_release. */
	for (unsigned n = 0;
		atomic_load_explicit(&lock->is_biased, memory_order_acquire);
		n++)
		weft_yield_wait(n);
	atomic_store_explicit(&lock->is_real, 1, memory_order_relaxed);
}

bool weft_lock_try_mt(struct weft_lock *lock)
{
	if (!lock_try_acquire(lock))
		return false;
	if (atomic_load_explicit(&lock->is_biased, memory_order_acquire)) {
		atomic_store_explicit(&lock->is_held, 0, memory_order_release);
		return false;
	}
	atomic_store_explicit(&lock->is_real, 1, memory_order_relaxed);
	return true;
}

void weft_lock_release_mt(struct weft_lock *lock)
{
	atomic_store_explicit(&lock->is_real, 0, memory_order_relaxed);
	atomic_store_explicit(&lock->is_held, 0, memory_order_release);
}
