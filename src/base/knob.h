/* SPDX-License-Identifier: BSD-3-Clause */
/* knob: every tunable, read once from the environment
 *
 * The only file that calls getenv(). weft_knobs holds defaults until
 * weft_knob_load() has run. */
#ifndef WEFT_KNOB_H
#define WEFT_KNOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_knobs {
#define KNOB_NUM(field, name, def, min, max, unit, room, sentence) \
	int64_t field;
#define KNOB_STR(field, name, def, values, room, sentence) const char *field;
#include "base/knobs.def"
#undef KNOB_NUM
#undef KNOB_STR
};

extern struct weft_knobs weft_knobs;

/* How a knob got its value. */
enum weft_knob_source { WEFT_KNOB_DEFAULT, WEFT_KNOB_ENV, WEFT_KNOB_REFUSED };

/* One knob as the tools, the man page and MPI_T show it. */
struct weft_knob_desc {
	const char *name; /* without the WEFT_ prefix */
	const char *room;
	const char *unit;   /* NULL for a string */
	const char *values; /* "on|off"; "" when free */
	const char *sentence;
	const char *def; /* default, as text */
	enum weft_knob_source source;
};

/* Reads the environment; later calls do nothing. A value that cannot be used
 * is refused with one warning and the default stays. A WEFT_ variable that no
 * knob has is warned about once, naming the nearest known name. Not thread
 * safe: called under the lock of the first open. */
void weft_knob_load(void);

size_t weft_knob_count(void);
const struct weft_knob_desc *weft_knob_desc(size_t i);

/* The current value of knob i as text; lent until the next call. */
const char *weft_knob_value(size_t i, char *buf, size_t len);

/* Whether the environment sets the knob whose value is at `value`, in
 * weft_knobs. */
bool weft_knob_is_set(const void *value);

/* True if a "on|off" knob stands on "on". */
static inline bool weft_knob_is_on(const char *value)
{
	return value[0] == 'o' && value[1] == 'n';
}

/* getenv for variables that are not knobs (FI_PROVIDER and the like), so that
 * this file stays the only reader. NULL when unset or empty. */
const char *weft_knob_foreign(const char *name);

/* The folder in which weft_knob_load() was called first, from which variables
 * name files: the program may change its own. NULL: not known. */
const char *weft_knob_folder(void);

#endif
