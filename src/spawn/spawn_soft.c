/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn_soft: the numbers of processes that a spawn may start */
#include "spawn/spawn_soft.h"

#include "base/err.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* The numbers from, from + step, ... up to `to`. */
struct range {
	int64_t from, to, step;
};

/* Reads a number and advances *at. False when it is outside of int32_t. */
static bool spawn_soft_number(const char **at, int64_t *out)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(*at, &end, 10);
	if (end == *at || errno || value < -INT32_MAX || value > INT32_MAX)
		return false;
	*at = end;
	*out = value;
	return true;
}

static bool read_range(const char **at, struct range *r)
{
	*r = (struct range){ .step = 1 };
	if (!spawn_soft_number(at, &r->from))
		return false;
	r->to = r->from;
	if (**at == ':' && (++*at, !spawn_soft_number(at, &r->to)))
		return false;
	if (**at == ':' && (++*at, !spawn_soft_number(at, &r->step)))
		return false;
	return r->step && (**at == ',' || !**at);
}

/* Returns the largest number of a range that is at most limit; 0: none. */
static int64_t most_of(const struct range *r, int64_t limit)
{
	int64_t most;

	if (r->step > 0) {
		int64_t top = r->to < limit ? r->to : limit;

		if (r->from > top)
			return 0;
		most = r->from + (top - r->from) / r->step * r->step;
	} else {
		int64_t skip =
			r->from > limit
				? (r->from - limit - r->step - 1) / -r->step
				: 0;

		most = r->from + skip * r->step;
		if (most < r->to)
			return 0;
	}
	return most > 0 ? most : 0;
}

int weft_spawn_soft_max(const char *text, uint32_t limit, uint32_t *n_out)
{
	const char *at = text;
	int64_t most = 0;
	struct range r;

	do {
		int64_t n;

		if (!read_range(&at, &r))
			return weft_err_set(WEFT_ERR_INFO_VALUE,
				"soft is \"%s\", which is no list of numbers "
				"and ranges a:b:c",
				text);
		n = most_of(&r, limit);
		most = n > most ? n : most;
	} while (*at++ == ',');
	*n_out = (uint32_t)most;
	return 0;
}
