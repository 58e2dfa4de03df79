/* SPDX-License-Identifier: BSD-3-Clause */
/* yield: yields the core, and detects when yields are costly */
#include "base/yield.h"

#include "base/bits.h"
#include "base/clock.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

enum {
	YIELDS_PER_TIMING = 8, /* one in so many is timed if none is costly */
	COSTLY_NS = 1000000,   /* a yield of this length is costly */
	CROWD = 32,	       /* processes for each core: no yield is costly */
	COSTLY_YIELDS = 3,     /* costly yields before weft_yield() refuses */
	CHEAP_YIELDS = 16, /* consecutive cheap yields that reset n_costly */
	REFUSE_NS = 100000000, /* first duration of a refusal */
	REFUSE_DOUBLINGS = 2,
	SLEEP_MIN_NS = 31250, /* eight doublings make 8 ms */
	SLEEP_DOUBLINGS = 8,
	SLEEPS_OF_ONE_LENGTH = 8,
	YIELDS = 1000, /* yields in one wait before weft_yield_wait() sleeps */
};

static _Thread_local struct {
	uint32_t n_untimed; /* number of next yields that are not timed */
	uint32_t n_costly;  /* costly yields; CHEAP_YIELDS cheap yields reset it
			       to 0 */
	uint32_t n_cheap;   /* cheap yields since the last costly yield */
	uint64_t until_ns; /* weft_yield() refuses until this time; 0: it yields
			    */
} yields;

static atomic_bool is_crowded;

void weft_yield_set_sharers(unsigned long n)
{
	atomic_store_explicit(&is_crowded, n >= CROWD, memory_order_relaxed);
}

static void yield_count_costly(uint64_t now)
{
	uint32_t n = ++yields.n_costly;

	yields.n_cheap = 0;
	if (n < COSTLY_YIELDS)
		return;
	yields.until_ns = now + ((uint64_t)REFUSE_NS << weft_min(
					 n - COSTLY_YIELDS, REFUSE_DOUBLINGS));
}

static __attribute__((noinline)) bool yield_timed(void)
{
	uint64_t start, end;

	if (atomic_load_explicit(&is_crowded, memory_order_relaxed)) {
		sched_yield();
		return true;
	}
	start = weft_now_ns();
	if (start < yields.until_ns)
		return false;
	sched_yield();
	end = weft_now_ns();
	if (end - start >= COSTLY_NS) {
		yield_count_costly(end);
	} else if (!yields.n_costly || ++yields.n_cheap == CHEAP_YIELDS) {
		yields.n_untimed = YIELDS_PER_TIMING - 1;
		yields.n_costly = 0;
		yields.n_cheap = 0;
		yields.until_ns = 0;
	}
	return true;
}

bool weft_yield(void)
{
	if (weft_unlikely(!yields.n_untimed))
		return yield_timed();
	yields.n_untimed--;
	sched_yield();
	return true;
}

bool weft_yield_is_costly(void)
{
	return yields.until_ns;
}

uint64_t weft_yield_sleep_ns(uint64_t n)
{
	return (uint64_t)SLEEP_MIN_NS
	       << weft_min(n / SLEEPS_OF_ONE_LENGTH, SLEEP_DOUBLINGS);
}

void weft_yield_wait(uint64_t n)
{
	struct timespec ts = { 0 };

	if (n < YIELDS && weft_yield())
		return;
	ts.tv_nsec = (long)weft_yield_sleep_ns(n < YIELDS ? n : n - YIELDS);
	nanosleep(&ts, NULL);
}
