/* SPDX-License-Identifier: BSD-3-Clause */
/* counter: adds the counters of all objects, and prints the sums */
#include "base/counter.h"

#include "base/bits.h"
#include "base/log.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define COUNTER_DESC(                                                \
	name_, class_, verbosity_, unit_, object_, room_, sentence_) \
	{ .name = #name_,                                            \
		.unit = unit_,                                       \
		.object = #object_,                                  \
		.room = #room_,                                      \
		.sentence = sentence_,                               \
		.class = WEFT_CLASS_##class_,                        \
		.verbosity = WEFT_VERBOSITY_##verbosity_ },

static const struct weft_counter_desc counter_descs[] = {
#define COUNTER(name, class, verbosity, unit, object, room, sentence) \
	COUNTER_DESC(name, class, verbosity, unit, object, room, sentence)
#include "base/counter.def"
};

static const struct weft_counter_desc object_counter_descs[] = {
#define OBJECT_COUNTER(                                              \
	object, field, name, class, verbosity, unit, room, sentence) \
	COUNTER_DESC(name, class, verbosity, unit, object, room, sentence)
#include "base/counter.def"
};

enum {
	N_COUNTERS = sizeof(counter_descs) / sizeof(counter_descs[0]),
	N_OBJECT_COUNTERS =
		sizeof(object_counter_descs) / sizeof(object_counter_descs[0])
};
static_assert(
	offsetof(struct weft_counters, owner) == N_COUNTERS * sizeof(uint64_t),
	"counters are an array");

/* lock guards the list of open counters and the sums of closed counters. */
static struct {
	pthread_mutex_t lock;
	struct weft_link open;
	uint64_t closed[WEFT_COUNTER_OWNERS][N_COUNTERS];
	/* the part of `closed` that endpoints of fabrics have counted */
	uint64_t closed_fabric[WEFT_COUNTER_FABRICS][WEFT_COUNTER_RAILS]
			      [N_COUNTERS];
} counters_all = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.open = { &counters_all.open, &counters_all.open },
};

static uint64_t counter_value(const struct weft_counters *counters, size_t i)
{
	return __atomic_load_n(
		(const uint64_t *)counters + i, __ATOMIC_RELAXED);
}

void weft_counters_open(struct weft_counters *counters, uint8_t owner)
{
	counters->owner = owner;
	pthread_mutex_lock(&counters_all.lock);
	weft_list_push_back(&counters_all.open, &counters->link);
	pthread_mutex_unlock(&counters_all.lock);
}

void weft_counters_open_fabric(struct weft_counters *counters, uint8_t owner,
	uint8_t fabric, uint8_t rail)
{
	assert(fabric < WEFT_COUNTER_FABRICS && rail < WEFT_COUNTER_RAILS);
	counters->fabric = (uint8_t)(fabric + 1);
	counters->rail = rail;
	weft_counters_open(counters, owner);
}

static void add_closed(uint64_t *closed, const struct weft_counters *counters)
{
	for (size_t i = 0; i < N_COUNTERS; i++)
		if (counter_descs[i].class != WEFT_CLASS_LEVEL)
			closed[i] += counter_value(counters, i);
}

void weft_counters_close(struct weft_counters *counters)
{
	pthread_mutex_lock(&counters_all.lock);
	if (!counters->link.next) { /* never opened */
		pthread_mutex_unlock(&counters_all.lock);
		return;
	}
	weft_list_remove(&counters->link);
	add_closed(counters_all.closed[counters->owner], counters);
	if (counters->fabric)
		add_closed(counters_all.closed_fabric[counters->fabric - 1]
						     [counters->rail],
			counters);
	pthread_mutex_unlock(&counters_all.lock);
	*counters = (struct weft_counters){ 0 };
}

struct weft_counters_root weft_counters_root(void)
{
	return (struct weft_counters_root){ &counters_all.open,
		counters_all.closed[0] };
}

size_t weft_counter_count(void)
{
	return N_COUNTERS;
}

const struct weft_counter_desc *weft_counter_desc(size_t i)
{
	return i < N_COUNTERS ? &counter_descs[i] : NULL;
}

const struct weft_counter_desc *weft_object_counter_desc(size_t i)
{
	return i < N_OBJECT_COUNTERS ? &object_counter_descs[i] : NULL;
}

/* Returns the sum of counter i over the owners from first to last. */
static uint64_t counter_sum(size_t i, uint8_t first, uint8_t last)
{
	uint64_t sum = 0;

	pthread_mutex_lock(&counters_all.lock);
	for (uint8_t owner = first; owner <= last; owner++)
		sum += counters_all.closed[owner][i];
	weft_list_for_each(link, next, &counters_all.open)
	{
		const struct weft_counters *counters =
			weft_container_of(link, struct weft_counters, link);

		if (counters->owner >= first && counters->owner <= last)
			sum += counter_value(counters, i);
	}
	pthread_mutex_unlock(&counters_all.lock);
	return sum;
}

uint64_t weft_counter_read(size_t i, uint8_t owner)
{
	return counter_sum(i, owner, owner);
}

uint64_t weft_counter_total(size_t i)
{
	return counter_sum(i, 0, WEFT_COUNTER_OWNERS - 1);
}

static bool is_of_fabric(
	uint8_t fabric, uint8_t rail, uint8_t want_fabric, uint8_t want_rail)
{
	return (want_fabric == fabric || want_fabric == WEFT_COUNTER_ANY) &&
	       (want_rail == rail || want_rail == WEFT_COUNTER_ANY);
}

uint64_t weft_counter_read_fabric(size_t i, uint8_t fabric, uint8_t rail)
{
	uint64_t sum = 0;

	pthread_mutex_lock(&counters_all.lock);
	for (uint8_t f = 0; f < WEFT_COUNTER_FABRICS; f++)
		for (uint8_t r = 0; r < WEFT_COUNTER_RAILS; r++)
			if (is_of_fabric(f, r, fabric, rail))
				sum += counters_all.closed_fabric[f][r][i];
	weft_list_for_each(link, next, &counters_all.open)
	{
		const struct weft_counters *counters =
			weft_container_of(link, struct weft_counters, link);

		if (counters->fabric &&
			is_of_fabric((uint8_t)(counters->fabric - 1),
				counters->rail, fabric, rail))
			sum += counter_value(counters, i);
	}
	pthread_mutex_unlock(&counters_all.lock);
	return sum;
}

void weft_counters_print_one(
	const char *owner, const struct weft_counters *counters)
{
	char line[700] = "";
	size_t len = 0;

	for (size_t i = 0; i < N_COUNTERS; i++) {
		uint64_t value = counter_value(counters, i);
		char one[80];
		size_t more = (size_t)snprintf(one, sizeof(one), ", %s %llu",
			counter_descs[i].name, (unsigned long long)value);

		if (!value)
			continue;
		if (len + more >= sizeof(line)) {
			weft_log_write(WEFT_LOG_INFO, "CORE-STATS", "%s: %s",
				owner, line + 2);
			len = 0;
		}
		memcpy(line + len, one, more + 1);
		len += more;
	}
	if (len)
		weft_log_write(
			WEFT_LOG_INFO, "CORE-STATS", "%s: %s", owner, line + 2);
}

void weft_counters_print(void)
{
	for (uint8_t owner = 0; owner < WEFT_COUNTER_OWNERS; owner++) {
		struct weft_counters sum = { 0 };
		char name[20] = "process";

		for (size_t i = 0; i < N_COUNTERS; i++)
			((uint64_t *)&sum)[i] = weft_counter_read(i, owner);
		if (owner != WEFT_COUNTER_PROCESS)
			snprintf(name, sizeof(name), "VCI %u", owner);
		weft_counters_print_one(name, &sum);
	}
}
