/* SPDX-License-Identifier: BSD-3-Clause */
/* counter: counters of events in the library
 *
 * base/counter.def lists the counters. An object that counts embeds a struct
 * weft_counters and increments its fields under the object's own lock: a plain
 * addition. Several objects may count for one VCI (its rings, its fabric, its
 * rails); a reader reads their sum. When an object closes, its values stay in
 * the sum, so that counters never go down while the process lives. A counter of
 * class LEVEL is an exception: the value of a closed object is dropped. */
#ifndef WEFT_COUNTER_H
#define WEFT_COUNTER_H

#include "base/list.h"

#include <stddef.h>
#include <stdint.h>

enum {
	WEFT_COUNTER_PROCESS = 16, /* smaller values are numbers of VCIs */
	WEFT_COUNTER_OWNERS,
	WEFT_COUNTER_FABRICS = 8, /* providers; see weft_net_fabric_name() */
	WEFT_COUNTER_RAILS = 8,	  /* equal to WEFT_RAILS */
	WEFT_COUNTER_ANY = 255,
};

/* The first weft_counter_count() fields are the counters. */
struct weft_counters {
#define COUNTER(name, class, verbosity, unit, object, room, sentence) \
	uint64_t name;
#include "base/counter.def"
	/* private to counter.c */
	uint8_t owner;
	uint8_t fabric; /* 1 + number of the provider; 0: not an endpoint */
	uint8_t rail;
	struct weft_link link;
};

/* Classes of performance variables, MPI-5.0 15.3.7. */
enum weft_counter_class {
	WEFT_CLASS_LEVEL,
	WEFT_CLASS_HIGHWATERMARK,
	WEFT_CLASS_COUNTER,
	WEFT_CLASS_AGGREGATE,
	WEFT_CLASS_TIMER,
};

/* The audience of a counter. */
enum weft_counter_verbosity {
	WEFT_VERBOSITY_USER,
	WEFT_VERBOSITY_TUNER,
	WEFT_VERBOSITY_MPIDEV,
};

struct weft_counter_desc {
	const char *name;
	const char *unit;
	const char
		*object; /* "VCI", "process" or "file"; or "comm", "win", ... */
	const char *room;
	const char *sentence;
	enum weft_counter_class class;
	enum weft_counter_verbosity verbosity;
};

/* Adds to a counter that several threads increment. */
static inline void weft_counter_add(uint64_t *counter, int64_t n)
{
	__atomic_fetch_add(counter, (uint64_t)n, __ATOMIC_RELAXED);
}

/* Counts an operation and its bytes, also where several threads count without a
 * lock. An addition is then lost if another thread adds at the same time. The
 * additions are not atomic, because a short put would pay for two locked
 * instructions. */
static inline __attribute__((no_sanitize("thread"))) void weft_counter_note(
	uint64_t *n, uint64_t *bytes, size_t len)
{
	++*n;
	/* keeps two additions apart that gcc would combine in a longer vector
	 * addition */
	__asm__ volatile("" ::: "memory");
	*bytes += len;
}

/* Registers the zeroed counters of an object that opens. The sums of the owner
 * include them from now on. owner is the number of a VCI or
 * WEFT_COUNTER_PROCESS. Any thread. */
void weft_counters_open(struct weft_counters *counters, uint8_t owner);

/* As weft_counters_open(), for an endpoint of a fabric. fabric is the number of
 * the provider. rail is the number of the endpoint in its VCI. */
void weft_counters_open_fabric(struct weft_counters *counters, uint8_t owner,
	uint8_t fabric, uint8_t rail);

/* Removes the counters of an object that closes and keeps their values in the
 * sums. Counters that were never opened are accepted. Any thread. */
void weft_counters_close(struct weft_counters *counters);

size_t weft_counter_count(void);
const struct weft_counter_desc *weft_counter_desc(size_t i);

/* As weft_counter_desc(), for the lines OBJECT_COUNTER of counter.def. NULL if
 * i is not less than the number of such lines. */
const struct weft_counter_desc *weft_object_counter_desc(size_t i);

/* Returns the sum of counter i over the objects of an owner, open and closed.
 * An increment that happens concurrently may be missing. Any thread. */
uint64_t weft_counter_read(size_t i, uint8_t owner);

/* Returns the sum of counter i over the endpoints, open and closed, of one
 * provider and one rail. fabric and rail may each be WEFT_COUNTER_ANY. Any
 * thread. */
uint64_t weft_counter_read_fabric(size_t i, uint8_t fabric, uint8_t rail);

/* Addresses of the counters, for weft-top, which reads the memory of this
 * process. */
struct weft_counters_root {
	const struct weft_link *open; /* head of the list of open counters */
	/* [WEFT_COUNTER_OWNERS][weft_counter_count()]: sums of closed counters
	 */
	const uint64_t *closed;
};
struct weft_counters_root weft_counters_root(void);

/* Returns the sum of counter i over all owners. Any thread. */
uint64_t weft_counter_total(size_t i);

/* Prints the counters that are not 0, in lines that begin with the name of
 * their owner, at every WEFT_LOG level. */
void weft_counters_print_one(
	const char *owner, const struct weft_counters *counters);

/* Prints the sums of each owner by weft_counters_print_one(). */
void weft_counters_print(void);

#endif
