/* SPDX-License-Identifier: BSD-3-Clause */
/* hint: the info keys that we know beside MPI's, and those of communicators */
#include "core/hint.h"

#include "base/knob.h"
#include "base/log.h"
#include "base/suggest.h"
#include "core/info.h"

#include <stdio.h>
#include <string.h>

static const char *const own_keys[] = { WEFT_HINT_PROVIDER, WEFT_HINT_IFACE,
	WEFT_HINT_VCI, WEFT_HINT_TCLASS, WEFT_HINT_FINALIZE, WEFT_HINT_ABORT,
	WEFT_HINT_OPEN_HANDLES, WEFT_HINT_CONTENDED, WEFT_HINT_COMM_VCIS };

static bool hint_is_ours(const char *key)
{
	for (size_t i = 0; i < sizeof(own_keys) / sizeof(own_keys[0]); i++)
		if (!strcmp(key, own_keys[i]))
			return true;
	return false;
}

static void hint_warn_unknown(const char *key)
{
	const char *best = own_keys[0];

	for (size_t i = 0; i < sizeof(own_keys) / sizeof(own_keys[0]); i++)
		if (weft_distance(key, own_keys[i]) < weft_distance(key, best))
			best = own_keys[i];
	weft_log_warn("SESSION-KEY",
		"there is no info key %s; the nearest is %s "
		"(weft(7) lists all)",
		key, best);
}

void weft_hint_check(const struct weft_info *asked)
{
	char key[WEFT_INFO_KEY_MAX + 1];

	for (uint32_t i = 0; asked && i < weft_info_n_keys(asked); i++)
		if (!weft_info_key(asked, i, key) &&
			!strncmp(key, "weft_", strlen("weft_")) &&
			!hint_is_ours(key))
			hint_warn_unknown(key);
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
		return false;
	for (kind += len; *kind; kind += len) {
		kind++;
		len = strcspn(kind, ":");
		if (!is_restrictor(kind, len))
			return false;
	}
	return true;
}

bool weft_hint_are_kinds(const char *list)
{
	char copy[WEFT_INFO_VALUE_MAX + 1], *rest = copy, *kind;

	snprintf(copy, sizeof(copy), "%s", list);
	while (*list && (kind = strsep(&rest, ",")) != NULL) {
		kind += strspn(kind, " ");
		kind[strcspn(kind, " ")] = 0;
		if (!weft_hint_is_kind(kind))
			return false;
	}
	return true;
}

int weft_hint_put_kinds(
	const struct weft_session *session, struct weft_info *info)
{
	char value[WEFT_INFO_VALUE_MAX + 1];

	if (!session || weft_info_value(session->info, WEFT_HINT_ALLOC_KINDS,
				value, sizeof(value)) < 0)
		return 0;
	return weft_info_set(info, WEFT_HINT_ALLOC_KINDS, value);
}

int weft_hint_comm(const struct weft_info *asked, struct weft_info **info_out)
{
	static const char *const known[] = { "mpi_assert_no_any_tag",
		"mpi_assert_no_any_source", "mpi_assert_exact_length",
		"mpi_assert_allow_overtaking", WEFT_HINT_ASSERT_KINDS };
	char value[WEFT_INFO_VALUE_MAX + 1];
	struct weft_info *info = weft_info_create();
	int err = info ? 0 : WEFT_ERR_NOMEM;

	weft_hint_check(asked);
	for (size_t i = 0; !err && i < sizeof(known) / sizeof(known[0]); i++)
		if (weft_info_value(asked, known[i], value, sizeof(value)) >=
				0 &&
			(strcmp(known[i], WEFT_HINT_ASSERT_KINDS) ||
				weft_hint_are_kinds(value)))
			err = weft_info_set(info, known[i], value);
	if (err) {
		weft_info_destroy(info);
		return err;
	}
	*info_out = info;
	return 0;
}
