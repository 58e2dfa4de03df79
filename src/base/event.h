/* SPDX-License-Identifier: BSD-3-Clause */
/* event: state changes that tools may observe
 *
 * base/event.def lists the events. The function that changes a state calls
 * weft_event_raise(), which costs a load and a branch while no tool has
 * registered for the event. The tool interface (src/mpit) delivers events. */
#ifndef WEFT_EVENT_H
#define WEFT_EVENT_H

#include "base/bits.h"
#include "base/counter.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum weft_event {
#define EVENT(name, room, verbosity, elements, sentence) WEFT_EVENT_##name,
#include "base/event.def"
#undef EVENT
	WEFT_EVENT_END,
};

enum { WEFT_EVENT_ELEMENTS = 4 }; /* most elements of one event */

struct weft_event_desc {
	const char *name;
	const char *room;
	const char *elements; /* names of the elements: "context|source" */
	const char *sentence;
	enum weft_counter_verbosity verbosity;
};

/* An event with its elements. owner, as in base/counter.h, is the number of the
 * VCI whose lock is held, or WEFT_COUNTER_PROCESS. is_locked: a lock of the
 * library is held, or the event is raised in a function that is not reentrant.
 */
struct weft_event_raised {
	enum weft_event event;
	uint8_t owner;
	bool is_locked;
	int64_t elements[WEFT_EVENT_ELEMENTS];
};

typedef void weft_event_fn(const struct weft_event_raised *raised);

/* Bit e: a tool has registered for event e. */
extern _Atomic uint32_t weft_event_wanted;

static inline bool weft_event_is_wanted(enum weft_event event)
{
	return weft_unlikely(atomic_load_explicit(&weft_event_wanted,
				     memory_order_relaxed) >>
				     event &
			     1);
}

/* Returns the description of event i; NULL if i is not less than the number of
 * events. */
const struct weft_event_desc *weft_event_desc(size_t i);

/* Installs the function that delivers events. Bit e of wanted: the function
 * delivers event e. Any thread may call, but only one at a time. */
void weft_event_install(weft_event_fn *deliver, uint32_t wanted);

/* Delivers a wanted event on this thread; for weft_event_raise(). */
void weft_event_deliver(const struct weft_event_raised *raised);

/* Raises an event of a VCI, whose lock is held, or of the process. elements is
 * a list of as many numbers as event.def names. */
#define weft_event_raise(event_, owner_, is_locked_, ...)                 \
	(weft_event_is_wanted(event_)                                     \
			? weft_event_deliver(&(struct weft_event_raised){ \
				  .event = (event_),                      \
				  .owner = (owner_),                      \
				  .is_locked = (is_locked_),              \
				  .elements = { __VA_ARGS__ } })          \
			: (void)0)

#endif
