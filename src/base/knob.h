/* SPDX-License-Identifier: BSD-3-Clause */
/* knob: every tunable, read once from the environment
 *
 * knob.c is the only file that calls getenv(). weft_knobs holds the defaults
 * until weft_knob_load() has run. */
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

/* The source of a knob's value. */
enum weft_knob_source { WEFT_KNOB_DEFAULT, WEFT_KNOB_ENV, WEFT_KNOB_REFUSED };

/* One knob as the tools, the manual page and the tool interface show it. */
struct weft_knob_desc {
	const char *name; /* without the WEFT_ prefix */
	const char *room;
	const char *unit;   /* NULL for a string */
	const char *values; /* "on|off"; "" if any text is accepted */
	const char *sentence;
	const char *def; /* default, as text */
	bool is_debug;	 /* for tests and debugging, or set by the launcher */
	enum weft_knob_source source;
	bool is_written; /* weft_knob_set() has changed the value */
};

/* Reads the environment; later calls do nothing. An invalid value is refused
 * with one warning, and the default is used. A WEFT_ variable that is not a
 * knob causes one warning with the nearest name. Not thread safe: the caller
 * serialises the calls. */
void weft_knob_load(void);

size_t weft_knob_count(void);
const struct weft_knob_desc *weft_knob_desc(size_t i);

/* Sets knob i to a value in text form. WEFT_ERR_ARG, without description: the
 * value is not in the list or range of the knob. WEFT_ERR_NOMEM. Only one
 * thread may call at a time. Other threads may read the knob meanwhile. */
int weft_knob_set(size_t i, const char *text);

/* weft_knob_range() returns the limits of a number, and weft_knob_number() its
 * current value. */
void weft_knob_range(size_t i, int64_t *min_out, int64_t *max_out);
int64_t weft_knob_number(size_t i);

/* Returns the current value of knob i as text: buf, or a string that stays
 * valid. */
const char *weft_knob_value(size_t i, char *buf, size_t len);

/* True if the environment or weft_knob_set() set a knob; `value` is the address
 * of its field in weft_knobs. */
bool weft_knob_is_set(const void *value);

/* True if an "on|off" knob is "on". */
static inline bool weft_knob_is_on(const char *value)
{
	return value[0] == 'o' && value[1] == 'n';
}

/* getenv() for variables that are not knobs (FI_PROVIDER and the like), so that
 * only knob.c reads the environment. NULL when unset or empty. */
const char *weft_knob_getenv(const char *name);

/* Returns the current directory at the first weft_knob_load(). File names in
 * variables are relative to it, because the program may change its current
 * directory. NULL: unknown. */
const char *weft_knob_folder(void);

#endif
