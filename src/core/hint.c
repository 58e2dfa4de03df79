/* SPDX-License-Identifier: BSD-3-Clause */
/* hint: the info keys that the library reads and returns */
#include "core/hint.h"

#include "base/err.h"
#include "base/log.h"
#include "base/suggest.h"
#include "core/info.h"
#include "dev/dev.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- checks of values, by their names in info_keys.def ---- */

/* The whole value as a number, or -1. */
static int64_t value_number(const char *value, int base)
{
	char *end;
	long long n = strtoll(value, &end, base);

	return end == value || *end || n < 0 ? -1 : n;
}

static bool value_is_ANY(const struct weft_hint_desc *desc, const char *value)
{
	(void)desc;
	(void)value;
	return true;
}

static bool value_is_LIST(const struct weft_hint_desc *desc, const char *value)
{
	const char *word = desc->values;
	size_t len;

	for (; *word; word += len + (word[len] == '|')) {
		len = strcspn(word, "|");
		if (strlen(value) == len && !strncmp(word, value, len))
			return true;
	}
	return false;
}

static bool value_is_bytes(const struct weft_hint_desc *desc, const char *value)
{
	(void)desc;
	return value_number(value, 10) >= 0;
}

static bool value_is_size(const struct weft_hint_desc *desc, const char *value)
{
	(void)desc;
	return value_number(value, 10) > 0;
}

static bool value_is_count(const struct weft_hint_desc *desc, const char *value)
{
	int64_t n = value_number(value, 10);

	(void)desc;
	return n > 0 && n <= INT32_MAX;
}

static bool value_is_buffer_size(
	const struct weft_hint_desc *desc, const char *value)
{
	int64_t n = value_number(value, 10);

	(void)desc;
	return n >= 4096 && n <= 1 << 30;
}

static bool value_is_alignment(
	const struct weft_hint_desc *desc, const char *value)
{
	int64_t n = value_number(value, 10);

	(void)desc;
	return n > 0 && (n & (n - 1)) == 0;
}

static bool value_is_permissions(
	const struct weft_hint_desc *desc, const char *value)
{
	int64_t n = value_number(value, 8);

	(void)desc;
	return n >= 0 && n <= 0777;
}

/* For cb_config_list: "*:N" or "*:*". */
static bool value_is_per_node(
	const struct weft_hint_desc *desc, const char *value)
{
	return !strncmp(value, "*:", 2) &&
	       (!strcmp(value + 2, "*") || value_is_count(desc, value + 2));
}

/* Returns the next word of a list that is separated by commas, without blanks
 * around it; NULL at the end. Changes the list. */
static char *next_word(char **rest)
{
	char *word = strsep(rest, ",");

	if (word) {
		word += strspn(word, " ");
		word[strcspn(word, " ")] = 0;
	}
	return word;
}

static bool value_is_ordering(
	const struct weft_hint_desc *desc, const char *value)
{
	char copy[WEFT_INFO_VALUE_MAX + 1], *rest = copy, *word;

	(void)desc;
	if (!strcmp(value, "none"))
		return true;
	snprintf(copy, sizeof(copy), "%s", value);
	while ((word = next_word(&rest)) != NULL)
		if (strcmp(word, "rar") && strcmp(word, "war") &&
			strcmp(word, "raw") && strcmp(word, "waw"))
			return false;
	return true;
}

static bool is_restrictor(const char *word, size_t len)
{
	static const char *const known[] = { "alloc_mem", "win_allocate",
		"win_allocate_shared" };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i]) == len &&
			!strncasecmp(word, known[i], len))
			return true;
	return false;
}

bool weft_hint_is_kind(const char *kind)
{
	size_t len = strcspn(kind, ":");

	if (!strcasecmp(kind, "system"))
		return true;
	if (len != 3 || strncasecmp(kind, "mpi", len))
		return weft_dev_has_kind(kind);
	for (kind += len; *kind; kind += len) {
		kind++;
		len = strcspn(kind, ":");
		if (!is_restrictor(kind, len))
			return false;
	}
	return true;
}

bool weft_hint_lists_dev(const char *kinds)
{
	char copy[WEFT_INFO_VALUE_MAX + 1], *rest = copy, *kind;

	snprintf(copy, sizeof(copy), "%s", kinds);
	while ((kind = next_word(&rest)) != NULL)
		if (weft_dev_has_kind(kind))
			return true;
	return false;
}

static bool value_is_kinds(const struct weft_hint_desc *desc, const char *value)
{
	char copy[WEFT_INFO_VALUE_MAX + 1], *rest = copy, *kind;

	(void)desc;
	snprintf(copy, sizeof(copy), "%s", value);
	while (*value && (kind = next_word(&rest)) != NULL)
		if (!weft_hint_is_kind(kind))
			return false;
	return true;
}

/* ---- the table ---- */

enum {
	OF_SESSION = WEFT_HINT_OF_SESSION,
	OF_COMM = WEFT_HINT_OF_COMM,
	OF_SPLIT = WEFT_HINT_OF_SPLIT,
	OF_FILE = WEFT_HINT_OF_FILE,
	OF_SPAWN = WEFT_HINT_OF_SPAWN,
	OF_CONNECT = WEFT_HINT_OF_CONNECT,
	OF_ALLOC_MEM = WEFT_HINT_OF_ALLOC_MEM,
	OF_PSET = WEFT_HINT_OF_PSET,
	OF_OFFER = WEFT_HINT_OF_OFFER,
	OF_WIN = WEFT_HINT_OF_WIN,
	OF_WIN_ALLOCATE = WEFT_HINT_OF_WIN_ALLOCATE,
	OF_WIN_SHARED = WEFT_HINT_OF_WIN_SHARED,
};

static const struct weft_hint_desc descs[WEFT_HINT_N] = {
#define INFO_KEY(id, key_, objects_, when_, initial_, check, values_, effect_) \
	[WEFT_HINT_##id] = { .key = key_,                                      \
		.objects = objects_,                                           \
		.when = WEFT_HINT_##when_,                                     \
		.initial = initial_,                                           \
		.is_valid = value_is_##check,                                  \
		.values = values_,                                             \
		.effect = effect_ },
#include "core/info_keys.def"
#undef INFO_KEY
};

const struct weft_hint_desc *weft_hint_desc(enum weft_hint hint)
{
	return &descs[hint];
}

/* WEFT_HINT_N if the table has no such key. */
static enum weft_hint hint_find(const char *key)
{
	int i = 0;

	while (i < WEFT_HINT_N && strcmp(descs[i].key, key) != 0)
		i++;
	return (enum weft_hint)i;
}

bool weft_hint_is_accepted(enum weft_hint_object object, const char *key)
{
	enum weft_hint hint = hint_find(key);

	return hint != WEFT_HINT_N && (descs[hint].objects & object) &&
	       descs[hint].when != WEFT_HINT_RESULT;
}

/* ---- single keys ---- */

long weft_hint_value(const struct weft_info *info, enum weft_hint hint,
	char *buf, size_t len)
{
	return weft_info_value(info, descs[hint].key, buf, len);
}

int weft_hint_set(
	struct weft_info *info, enum weft_hint hint, const char *value)
{
	return weft_info_set(info, descs[hint].key, value);
}

int weft_hint_set_number(
	struct weft_info *info, enum weft_hint hint, int64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)number);
	return weft_hint_set(info, hint, text);
}

bool weft_hint_is(
	const struct weft_info *info, enum weft_hint hint, const char *value)
{
	char text[WEFT_INFO_VALUE_MAX + 1];

	return weft_hint_value(info, hint, text, sizeof(text)) >= 0 &&
	       !strcmp(text, value);
}

int64_t weft_hint_number(
	const struct weft_info *info, enum weft_hint hint, int64_t otherwise)
{
	char text[WEFT_INFO_VALUE_MAX + 1];

	return weft_hint_value(info, hint, text, sizeof(text)) >= 0 &&
			       descs[hint].is_valid(&descs[hint], text)
		       ? value_number(text, 10)
		       : otherwise;
}

/* ---- all keys of an object ---- */

static void warn_unknown_key(const char *key)
{
	const char *best = NULL;

	for (int i = 0; i < WEFT_HINT_N; i++)
		if (!strncmp(descs[i].key, "weft_", strlen("weft_")) &&
			(!best || weft_edit_distance(key, descs[i].key) <
					  weft_edit_distance(key, best)))
			best = descs[i].key;
	weft_log_warn("SESSION-KEY",
		"there is no info key %s; the nearest is %s "
		"(weft(7) lists all)",
		key, best);
}

void weft_hint_warn_unknown(const struct weft_info *requested)
{
	char key[WEFT_INFO_KEY_MAX + 1];

	for (uint32_t i = 0; requested && i < weft_info_n_keys(requested); i++)
		if (!weft_info_key(requested, i, key) &&
			!strncmp(key, "weft_", strlen("weft_")) &&
			hint_find(key) == WEFT_HINT_N)
			warn_unknown_key(key);
}

int weft_hint_accept(enum weft_hint_object object, bool is_new,
	const struct weft_info *requested, struct weft_info *info)
{
	char value[WEFT_INFO_VALUE_MAX + 1];
	int err = 0;

	weft_hint_warn_unknown(requested);
	for (int i = 0; i < WEFT_HINT_N && !err; i++) {
		const struct weft_hint_desc *desc = &descs[i];

		if (!(desc->objects & object) ||
			desc->when == WEFT_HINT_RESULT ||
			(desc->when == WEFT_HINT_AT_CREATION && !is_new))
			continue;
		if (weft_info_value(
			    requested, desc->key, value, sizeof(value)) >= 0 &&
			desc->is_valid(desc, value))
			err = weft_info_set(info, desc->key, value);
	}
	return err;
}

static int add_in_effect(enum weft_hint_object object,
	const struct weft_info *set, struct weft_info *info)
{
	char value[WEFT_INFO_VALUE_MAX + 1];
	int err = 0;

	for (int i = 0; i < WEFT_HINT_N && !err; i++) {
		const char *in_effect = descs[i].initial;

		if (!(descs[i].objects & object))
			continue;
		if (weft_info_value(set, descs[i].key, value, sizeof(value)) >=
			0)
			in_effect = value;
		if (in_effect)
			err = weft_info_set(info, descs[i].key, in_effect);
	}
	return err;
}

int weft_hint_in_effect(enum weft_hint_object object,
	const struct weft_info *set, const struct weft_session *session,
	struct weft_info **info_out)
{
	char kinds[WEFT_INFO_VALUE_MAX + 1];
	struct weft_info *info = weft_info_create();
	int err = info ? add_in_effect(object, set, info) : WEFT_ERR_NOMEM;

	if (!err && session &&
		weft_hint_value(session->info, WEFT_HINT_ALLOC_KINDS, kinds,
			sizeof(kinds)) >= 0)
		err = weft_hint_set(info, WEFT_HINT_ALLOC_KINDS, kinds);
	if (err) {
		weft_info_destroy(info);
		return err;
	}
	*info_out = info;
	return 0;
}

int weft_hint_check_values(
	enum weft_hint_object object, const struct weft_info *requested)
{
	char value[WEFT_INFO_VALUE_MAX + 1];

	for (int i = 0; requested && i < WEFT_HINT_N; i++) {
		const struct weft_hint_desc *desc = &descs[i];

		if ((desc->objects & object) &&
			desc->when != WEFT_HINT_RESULT &&
			weft_info_value(requested, desc->key, value,
				sizeof(value)) >= 0 &&
			!desc->is_valid(desc, value))
			return weft_err_set(WEFT_ERR_INFO_VALUE,
				"info key %s: \"%.100s\" is not valid; the "
				"values are %s",
				desc->key, value, desc->values);
	}
	return 0;
}

/* ---- keys of sessions and communicators ---- */

int weft_hint_comm(
	const struct weft_info *requested, struct weft_info **info_out)
{
	struct weft_info *info = weft_info_create();
	int err = info ? weft_hint_accept(
				 WEFT_HINT_OF_COMM, true, requested, info)
		       : WEFT_ERR_NOMEM;

	if (err) {
		weft_info_destroy(info);
		return err;
	}
	*info_out = info;
	return 0;
}
