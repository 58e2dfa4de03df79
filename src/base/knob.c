/* SPDX-License-Identifier: BSD-3-Clause */
/* knob: parses WEFT_* once and refuses bad values with a warning */
#include "base/knob.h"
#include "base/bits.h"
#include "base/err.h"
#include "base/log.h"
#include "base/suggest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

#define STRINGIZE_(x) #x
#define STRINGIZE(x) STRINGIZE_(x)

struct weft_knobs weft_knobs = {
#define KNOB_NUM(field, name, def, min, max, unit, room, sentence) .field = def,
#define KNOB_STR(field, name, def, values, room, sentence) .field = def,
#include "base/knobs.def"
#undef KNOB_NUM
#undef KNOB_STR
};

static bool knobs_read;
static char *knob_folder;

/* Current and former values of knobs. They are never freed, because any thread
 * may still read one. */
static struct knob_text {
	struct knob_text *next;
	char text[];
} * knob_texts;

struct knob_range {
	void *where;
	int64_t min;
	int64_t max;
};

#define NUM_DESC(name_, def_, unit_, room_, sentence_, is_debug_) \
	{ .name = #name_,                                         \
		.room = #room_,                                   \
		.unit = unit_,                                    \
		.values = "",                                     \
		.sentence = sentence_,                            \
		.def = STRINGIZE(def_), .is_debug = is_debug_ },
#define STR_DESC(name_, def_, values_, room_, sentence_, is_debug_) \
	{ .name = #name_,                                           \
		.room = #room_,                                     \
		.values = values_,                                  \
		.sentence = sentence_,                              \
		.def = def_,                                        \
		.is_debug = is_debug_ },

static struct weft_knob_desc descs[] = {
#define KNOB_NUM(field, name, def, min, max, unit, room, sentence) \
	NUM_DESC(name, def, unit, room, sentence, false)
#define KNOB_STR(field, name, def, values, room, sentence) \
	STR_DESC(name, def, values, room, sentence, false)
#define KNOB_DEBUG_NUM(field, name, def, min, max, unit, room, sentence) \
	NUM_DESC(name, def, unit, room, sentence, true)
#define KNOB_DEBUG_STR(field, name, def, values, room, sentence) \
	STR_DESC(name, def, values, room, sentence, true)
#include "base/knobs.def"
#undef KNOB_NUM
#undef KNOB_STR
};

static const struct knob_range ranges[] = {
#define KNOB_NUM(field, name, def, min, max, unit, room, sentence) \
	{ &weft_knobs.field, min, max },
#define KNOB_STR(field, name, def, values, room, sentence) \
	{ &weft_knobs.field, 0, 0 },
#include "base/knobs.def"
#undef KNOB_NUM
#undef KNOB_STR
};

enum { N_KNOBS = sizeof(descs) / sizeof(descs[0]) };

/* Variables with these prefixes after WEFT_ cause no warning. They belong to
 * the launcher, the compiler wrappers, the tests and contrib/lanes. */
static const char *const other_prefixes[] = { "MPIEXEC", "CC", "CXX", "FC",
	"TEST_", "LANE_" };

static int parse_num(const char *text, int64_t *out)
{
	static const char suffixes[] = "kmg";
	int64_t unit = 1;
	const char *suffix;
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 0);
	if (errno || end == text)
		return -1;
	suffix = *end ? strchr(suffixes, *end | 0x20) : NULL;
	if (suffix) {
		unit = INT64_C(1) << (10 * (suffix - suffixes + 1));
		end++;
	}
	if (*end || __builtin_mul_overflow(v, unit, out))
		return -1;
	return 0;
}

static bool is_in_list(const char *values, const char *text)
{
	size_t len = strlen(text);

	for (const char *p = values; p && *p;) {
		const char *bar = strchr(p, '|');
		size_t n = bar ? (size_t)(bar - p) : strlen(p);

		if (n == len && memcmp(p, text, n) == 0)
			return true;
		p = bar ? bar + 1 : NULL;
	}
	return false;
}

static void knob_refuse(struct weft_knob_desc *desc, const char *text,
	const struct knob_range *range)
{
	desc->source = WEFT_KNOB_REFUSED;
	if (desc->unit)
		weft_log_warn("KNOB-VALUE",
			"WEFT_%s \"%s\" is not a number from %lld to %lld "
			"(%s); using %s",
			desc->name, text, (long long)range->min,
			(long long)range->max, desc->unit, desc->def);
	else
		weft_log_warn("KNOB-VALUE",
			"WEFT_%s \"%s\" is none of %s; using \"%s\"",
			desc->name, text, desc->values, desc->def);
}

/* Returns the stored copy of a text. Stores a copy if there is none. NULL if
 * out of memory. */
static const char *keep_text(const char *text)
{
	struct knob_text *kept = knob_texts;

	while (kept && strcmp(kept->text, text) != 0)
		kept = kept->next;
	if (!kept) {
		kept = malloc(sizeof(*kept) + strlen(text) + 1);
		if (!kept)
			return NULL;
		memcpy(kept->text, text, strlen(text) + 1);
		kept->next = knob_texts;
		knob_texts = kept;
	}
	return kept->text;
}

/* Sets a knob. WEFT_ERR_ARG: the value is not in its list or range, and is not
 * the default, which may be out of range. Or WEFT_ERR_NOMEM. */
static int knob_assign(size_t i, const char *text)
{
	const struct knob_range *range = &ranges[i];
	int64_t v, def;

	if (!descs[i].unit) {
		if (descs[i].values[0] && !is_in_list(descs[i].values, text))
			return WEFT_ERR_ARG;
		text = keep_text(text);
		if (!text)
			return WEFT_ERR_NOMEM;
		__atomic_store_n(
			(const char **)range->where, text, __ATOMIC_RELEASE);
		if (range->where == &weft_knobs.log)
			weft_log_set_level(text);
		return 0;
	}
	if (parse_num(text, &v))
		return WEFT_ERR_ARG;
	if ((v < range->min || v > range->max) &&
		(parse_num(descs[i].def, &def) || v != def))
		return WEFT_ERR_ARG;
	__atomic_store_n((int64_t *)range->where, v, __ATOMIC_RELAXED);
	return 0;
}

int weft_knob_set(size_t i, const char *text)
{
	int err = knob_assign(i, text);

	descs[i].is_written |= !err;
	return err;
}

static void knob_warn_unknown(const char *name, size_t len)
{
	char copy[64];
	size_t best = 0;

	snprintf(copy, sizeof(copy), "%.*s", (int)len, name);
	for (size_t i = 0;
		i < sizeof(other_prefixes) / sizeof(other_prefixes[0]); i++)
		if (strncmp(copy, other_prefixes[i],
			    strlen(other_prefixes[i])) == 0)
			return;
	for (size_t i = 1; i < N_KNOBS; i++)
		if (weft_edit_distance(copy, descs[i].name) <
			weft_edit_distance(copy, descs[best].name))
			best = i;
	weft_log_warn("KNOB-UNKNOWN",
		"WEFT_%s is not a variable of this library; the nearest is "
		"WEFT_%s (weft-info --knobs lists all)",
		copy, descs[best].name);
}

static void knob_load_one(const char *entry)
{
	const char *name = entry + strlen("WEFT_");
	const char *eq = strchr(name, '=');

	if (!eq)
		return;
	for (size_t i = 0; i < N_KNOBS; i++) {
		if (strncmp(descs[i].name, name, (size_t)(eq - name)) == 0 &&
			!descs[i].name[eq - name]) {
			descs[i].source = WEFT_KNOB_ENV;
			if (knob_assign(i, eq + 1) == WEFT_ERR_ARG)
				knob_refuse(&descs[i], eq + 1, &ranges[i]);
			return;
		}
	}
	knob_warn_unknown(name, (size_t)(eq - name));
}

void weft_knob_load(void)
{
	if (knobs_read)
		return;
	knobs_read = true;
	knob_folder = getcwd(NULL, 0);
	for (char **e = environ; e && *e; e++)
		if (strncmp(*e, "WEFT_", 5) == 0)
			knob_load_one(*e);
	weft_log_set_level(weft_knobs.log);
}

size_t weft_knob_count(void)
{
	return N_KNOBS;
}

const struct weft_knob_desc *weft_knob_desc(size_t i)
{
	return i < N_KNOBS ? &descs[i] : NULL;
}

bool weft_knob_is_set(const void *value)
{
	for (size_t i = 0; i < N_KNOBS; i++)
		if (ranges[i].where == value)
			return descs[i].source == WEFT_KNOB_ENV ||
			       descs[i].is_written;
	return false;
}

void weft_knob_range(size_t i, int64_t *min_out, int64_t *max_out)
{
	*min_out = ranges[i].min;
	*max_out = ranges[i].max;
}

int64_t weft_knob_number(size_t i)
{
	return __atomic_load_n((int64_t *)ranges[i].where, __ATOMIC_RELAXED);
}

const char *weft_knob_value(size_t i, char *buf, size_t len)
{
	if (i >= N_KNOBS)
		return "";
	if (!descs[i].unit) /* acquire: pairs with the store in knob_assign(),
			       which publishes a stored text */
		return __atomic_load_n(
			(const char **)ranges[i].where, __ATOMIC_ACQUIRE);
	snprintf(buf, len, "%lld", (long long)weft_knob_number(i));
	return buf;
}

const char *weft_knob_folder(void)
{
	return knob_folder;
}

const char *weft_knob_getenv(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}
