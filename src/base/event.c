/* SPDX-License-Identifier: BSD-3-Clause */
/* event: the table of events, and the function that delivers them */
#include "base/event.h"

_Atomic uint32_t weft_event_wanted;

static _Atomic(weft_event_fn *) event_deliver;

static const struct weft_event_desc event_descs[] = {
#define EVENT(name_, room_, verbosity_, elements_, sentence_) \
	{ .name = #name_,                                     \
		.room = #room_,                               \
		.elements = elements_,                        \
		.sentence = sentence_,                        \
		.verbosity = WEFT_VERBOSITY_##verbosity_ },
#include "base/event.def"
#undef EVENT
};

_Static_assert(WEFT_EVENT_END <= 32, "a bit for each event");

const struct weft_event_desc *weft_event_desc(size_t i)
{
	return i < WEFT_EVENT_END ? &event_descs[i] : NULL;
}

void weft_event_install(weft_event_fn *deliver, uint32_t wanted)
{
	atomic_store_explicit(&event_deliver, deliver, memory_order_relaxed);
	/* release: publishes the function before the bits; pairs with the fence
	 * in weft_event_deliver() */
	atomic_store_explicit(&weft_event_wanted, wanted, memory_order_release);
}

void weft_event_deliver(const struct weft_event_raised *raised)
{
	weft_event_fn *deliver;

	/* acquire: the load of the function follows the load of the bits in
	 * weft_event_is_wanted(); pairs with the store in weft_event_install()
	 */
	atomic_thread_fence(memory_order_acquire);
	deliver = atomic_load_explicit(&event_deliver, memory_order_relaxed);
	deliver(raised);
}
