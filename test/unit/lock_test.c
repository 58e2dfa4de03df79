/* SPDX-License-Identifier: BSD-3-Clause */
/* lock_test: the change from one thread to many, under contention
 *
 * The change happens once in a process, so the order of the tests matters. */
#include "base/lock.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

enum { N_THREADS = 4, N_ROUNDS = 50000 };

static struct weft_lock lock;
static struct weft_spin spin;
static long counter; /* guarded by lock, later by spin */
static atomic_int n_inside;
static atomic_bool must_stop;

static void free_while_single(void **state)
{
	(void)state;
	assert_false(weft_lock_is_mt());
	weft_lock_acquire(&lock);
	assert_int_equal(atomic_load(&lock.is_held), 0);
	/* the call keeps the lock, because no other thread waits for it */
	weft_lock_pause(&lock);
	assert_int_equal(atomic_load(&lock.is_biased), 1);
	weft_lock_release(&lock);
	assert_int_equal(atomic_load(&lock.is_biased), 0);
}

/* The first thread, which acquires the lock from the start. */
static void *early_bird(void *arg)
{
	(void)arg;
	while (!atomic_load_explicit(&must_stop, memory_order_relaxed)) {
		weft_lock_acquire(&lock);
		counter++;
		weft_lock_release(&lock);
	}
	return NULL;
}

/* A further thread. Counts how often another thread held the lock at the same
 * time. */
static void *late_comer(void *arg)
{
	intptr_t bad = 0;

	(void)arg;
	for (int i = 0; i < N_ROUNDS; i++) {
		weft_lock_acquire(&lock);
		bad += atomic_fetch_add_explicit(
			&n_inside, 1, memory_order_relaxed);
		counter++;
		if (i % 100 == 0)
			sched_yield();
		atomic_fetch_sub_explicit(&n_inside, 1, memory_order_relaxed);
		weft_lock_release(&lock);
	}
	return (void *)bad;
}

static void the_change_keeps_holders_apart(void **state)
{
	pthread_t bird, threads[N_THREADS];
	void *bad;

	(void)state;
	counter = 0;
	assert_int_equal(pthread_create(&bird, NULL, early_bird, NULL), 0);
	usleep(2000);
	weft_lock_enable_mt();
	assert_true(weft_lock_is_mt());
	for (int i = 0; i < N_THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, late_comer, NULL), 0);
	for (int i = 0; i < N_THREADS; i++) {
		pthread_join(threads[i], &bad);
		assert_null(bad);
	}
	atomic_store(&must_stop, true);
	pthread_join(bird, NULL);
	assert_true(counter > (long)N_THREADS * N_ROUNDS);
	assert_int_equal(atomic_load(&lock.is_held), 0);
	assert_int_equal(atomic_load(&lock.is_biased), 0);
	weft_lock_enable_mt(); /* a second call has no effect */
}

static void no_increment_is_lost(void **state)
{
	pthread_t threads[N_THREADS];
	void *bad;

	(void)state;
	counter = 0;
	for (int i = 0; i < N_THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, late_comer, NULL), 0);
	for (int i = 0; i < N_THREADS; i++) {
		pthread_join(threads[i], &bad);
		assert_null(bad);
	}
	assert_int_equal(counter, (long)N_THREADS * N_ROUNDS);
}

static void *waiter(void *arg)
{
	weft_lock_acquire(&lock);
	*(atomic_bool *)arg = true;
	weft_lock_release(&lock);
	return NULL;
}

static void pause_lets_a_waiter_in(void **state)
{
	atomic_bool was_in = false;
	pthread_t thread;

	(void)state;
	weft_lock_acquire(&lock);
	assert_int_equal(pthread_create(&thread, NULL, waiter, &was_in), 0);
	while (!atomic_load(&was_in))
		weft_lock_pause(&lock);
	weft_lock_release(&lock);
	pthread_join(thread, NULL);
}

/* A thread that found the process single-threaded before the change may set
 * is_biased before it checks again. The holder still releases the lock. */
static void a_late_mark_does_not_mislead_the_holder(void **state)
{
	(void)state;
	weft_lock_acquire(&lock);
	atomic_store(&lock.is_biased, 1);
	weft_lock_release(&lock);
	assert_int_equal(atomic_load(&lock.is_held), 0);
	assert_int_equal(atomic_load(&lock.is_biased), 1);
	atomic_store(&lock.is_biased, 0);
}

static void *spinner(void *arg)
{
	(void)arg;
	for (int i = 0; i < N_ROUNDS; i++) {
		weft_spin_acquire(&spin);
		counter++;
		weft_spin_release(&spin);
	}
	return NULL;
}

static void a_spin_lock_is_always_real(void **state)
{
	pthread_t threads[N_THREADS];

	(void)state;
	counter = 0;
	for (int i = 0; i < N_THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, spinner, NULL), 0);
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(counter, (long)N_THREADS * N_ROUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(free_while_single),
		cmocka_unit_test(the_change_keeps_holders_apart),
		cmocka_unit_test(no_increment_is_lost),
		cmocka_unit_test(pause_lets_a_waiter_in),
		cmocka_unit_test(a_late_mark_does_not_mislead_the_holder),
		cmocka_unit_test(a_spin_lock_is_always_real),
	};

	return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
