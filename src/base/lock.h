/* SPDX-License-Identifier: BSD-3-Clause */
/* lock: the VCI lock, which costs almost nothing while the process has one
 * thread
 *
 * struct weft_lock: a process starts single-threaded (weft_lock_is_mt() is
 * false). Acquiring the lock is then one plain store and two loads. The first
 * session that is granted MPI_THREAD_MULTIPLE calls weft_lock_enable_mt(),
 * which makes every such lock real, that is atomic, until the process ends. The
 * change is safe while another thread is inside the library. After
 * membarrier(), each thread that acquires a lock sees the flag. The thread then
 * waits until `is_biased` is 0, so an earlier holder has released the lock.
 *
 * Use struct weft_lock only for data that the caller's thread level already
 * protects: VCIs and the objects that they progress. Data that MPI lets any
 * thread use at any time (handle tables, sessions, info) is guarded by struct
 * weft_spin or a pthread mutex, which are always real.
 *
 * Lock order, outermost first. A thread that holds a lock does not acquire one
 * with a lower number:
 *   1 proc      opening and closing process-wide objects (transport/proc.c)
 *   2 VCI       a VCI and the objects that it progresses (transport/vci.h)
 *   3 registry  lists of sessions; attributes; info objects
 *   4 table     handle tables (base/handle.c), the process manager's queue */
#ifndef WEFT_LOCK_H
#define WEFT_LOCK_H

#include "base/yield.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>

struct weft_lock {
	atomic_int is_held; /* held by a thread of a multi-threaded process */
	atomic_int n_waiting;
	atomic_int is_biased; /* held by the only thread, without an atomic
				 exchange */
	atomic_int is_real;   /* the holder acquired it through is_held;
				 written by the holder */
	/* number of times that a thread had to wait for the lock; written by
	 * the holder */
	atomic_ulong n_contended;
};

extern atomic_bool weft_lock_mt;

/* True once several threads may be inside the library at a time. */
static inline bool weft_lock_is_mt(void)
{
	return atomic_load_explicit(&weft_lock_mt, memory_order_relaxed);
}

/* Makes all locks real. Idempotent; any thread, holding no lock. */
void weft_lock_enable_mt(void);

/* Slow paths; lock.c. */
void weft_lock_acquire_mt(struct weft_lock *lock);
bool weft_lock_try_mt(struct weft_lock *lock);
void weft_lock_release_mt(struct weft_lock *lock);

/* Acquires the lock; not recursive. */
static inline void weft_lock_acquire(struct weft_lock *lock)
{
	if (__builtin_expect(!weft_lock_is_mt(), 1)) {
		atomic_store_explicit(
			&lock->is_biased, 1, memory_order_relaxed);
		/* ordered against weft_lock_enable_mt() by its membarrier(); on
		 * this side a compiler barrier suffices */
		atomic_signal_fence(memory_order_seq_cst);
		if (__builtin_expect(!weft_lock_is_mt(), 1))
			return;
		atomic_store_explicit(
			&lock->is_biased, 0, memory_order_release);
	}
	weft_lock_acquire_mt(lock);
}

/* Acquires the lock, or returns false immediately if another thread holds it.
 * The calling thread does not hold it. */
static inline bool weft_lock_try(struct weft_lock *lock)
{
	if (weft_lock_is_mt())
		return weft_lock_try_mt(lock);
	weft_lock_acquire(lock);
	return true;
}

static inline void weft_lock_release(struct weft_lock *lock)
{
	/* is_real decides, not is_biased: a thread that has not yet seen the
	 * change to multi-threaded may briefly set is_biased while this thread
	 * holds the lock. The release pairs with the loads of is_biased in
	 * lock.c. */
	if (__builtin_expect(
		    !atomic_load_explicit(&lock->is_real, memory_order_relaxed),
		    1))
		atomic_store_explicit(
			&lock->is_biased, 0, memory_order_release);
	else
		weft_lock_release_mt(lock);
}

/* True if a thread waits in weft_lock_acquire(). Threads in weft_lock_try() do
 * not count. */
static inline bool weft_lock_is_wanted(struct weft_lock *lock)
{
	return atomic_load_explicit(&lock->n_waiting, memory_order_relaxed);
}

/* Releases and reacquires the lock if a thread waits in weft_lock_acquire().
 * For wait loops. */
static inline void weft_lock_pause(struct weft_lock *lock)
{
	if (__builtin_expect(!weft_lock_is_wanted(lock), 1))
		return;
	weft_lock_release(lock);
	weft_yield_wait(0);
	weft_lock_acquire(lock);
}

/* Asserts that a thread holds the lock. */
static inline void weft_lock_assert_locked(struct weft_lock *lock)
{
	assert(atomic_load_explicit(&lock->is_held, memory_order_relaxed) ||
		atomic_load_explicit(&lock->is_biased, memory_order_relaxed));
	(void)lock;
}

/* A small lock that is always real, for short sections of any thread. */
struct weft_spin {
	atomic_int is_held;
};

static inline void weft_spin_acquire(struct weft_spin *spin)
{
	/* pairs with the release in weft_spin_release */
	for (unsigned n = 0; atomic_exchange_explicit(
		     &spin->is_held, 1, memory_order_acquire);
		n++)
		weft_yield_wait(n);
}

/* Acquires the lock; false if another thread holds it. */
static inline bool weft_spin_try_acquire(struct weft_spin *spin)
{
	/* pairs with the release in weft_spin_release */
	return !atomic_exchange_explicit(
		&spin->is_held, 1, memory_order_acquire);
}

static inline void weft_spin_release(struct weft_spin *spin)
{
	atomic_store_explicit(&spin->is_held, 0, memory_order_release);
}

#endif
