/* SPDX-License-Identifier: BSD-3-Clause */
/* wait: the calls of this process that wait, registered */
#include "watchdog/wait.h"

#include "base/bits.h"
#include "base/clock.h"
#include "base/lock.h"
#include "watchdog/where.h"

#include <stdio.h>

static struct {
	struct weft_spin spin;
	struct weft_link waits;
	uint64_t epoch;
} here = { .waits = { &here.waits, &here.waits } };

void weft_wait_lock(void)
{
	weft_spin_take(&here.spin);
}

void weft_wait_unlock(void)
{
	weft_spin_drop(&here.spin);
}

struct weft_wait *weft_wait_next(const struct weft_wait *after)
{
	struct weft_link *next = after ? after->link.next : here.waits.next;

	return next == &here.waits
		       ? NULL
		       : weft_container_of(next, struct weft_wait, link);
}

void weft_wait_begin(
	struct weft_wait *wait, const char *text, uint64_t begun_ns)
{
	wait->begun_ns = begun_ns;
	weft_wait_lock();
	snprintf(wait->text, sizeof(wait->text), "%s", text);
	wait->epoch = ++here.epoch;
	weft_list_push_back(&here.waits, &wait->link);
	weft_wait_unlock();
}

void weft_wait_describe(struct weft_wait *wait, const char *text)
{
	weft_wait_lock();
	snprintf(wait->text, sizeof(wait->text), "%s", text);
	weft_wait_unlock();
}

void weft_wait_end(struct weft_wait *wait)
{
	weft_wait_lock();
	weft_list_remove(&wait->link);
	weft_wait_unlock();
}

void weft_where_describe(char *buf, size_t len)
{
	const struct weft_wait *wait = NULL;
	uint64_t now = weft_now_ns();
	size_t used = 0;

	snprintf(buf, len, "not in an MPI call that waits");
	weft_wait_lock();
	while ((wait = weft_wait_next(wait)) != NULL && used < len)
		used += (size_t)snprintf(buf + used, len - used,
			"%s%s, for %u s", used ? "; " : "", wait->text,
			(unsigned)((now - wait->begun_ns) / WEFT_NS_PER_S));
	weft_wait_unlock();
}
