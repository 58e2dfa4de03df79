/* SPDX-License-Identifier: BSD-3-Clause */
/* file_hint: converts the info keys of files to numbers and back */
#include "io/file_hint.h"

#include "base/input.h"
#include "base/knob.h"
#include "base/log.h"
#include "core/hint.h"
#include "core/info.h"
#include "io/cb.h"
#include "io/file.h"
#include "io/stripe.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PERMISSIONS = 0666 };

static const char *const choice_names[] = {
	[WEFT_FILE_DISABLE] = "disable",
	[WEFT_FILE_ENABLE] = "enable",
	[WEFT_FILE_AUTOMATIC] = "automatic",
};

static enum weft_file_choice hint_choice(
	const struct weft_info *info, enum weft_hint hint)
{
	for (int i = WEFT_FILE_DISABLE; i < WEFT_FILE_AUTOMATIC; i++)
		if (weft_hint_is(info, hint, choice_names[i]))
			return (enum weft_file_choice)i;
	return WEFT_FILE_AUTOMATIC;
}

/* The value of the hint in info, or the default of core/info_keys.def. */
static int64_t hint_size(const struct weft_info *info, enum weft_hint hint)
{
	return weft_hint_number(
		info, hint, strtoll(weft_hint_desc(hint)->initial, NULL, 10));
}

static unsigned hint_permissions(const struct weft_info *info)
{
	char value[WEFT_INFO_VALUE_MAX + 1];

	return weft_hint_value(
		       info, WEFT_HINT_FILE_PERM, value, sizeof(value)) < 0
		       ? PERMISSIONS
		       : (unsigned)strtoul(value, NULL, 8);
}

/* N if the value is "*:N", INT32_MAX if it is "*:*", 0 without the key. */
static int64_t hint_per_node(const struct weft_info *info)
{
	char value[WEFT_INFO_VALUE_MAX + 1];

	if (weft_hint_value(
		    info, WEFT_HINT_CB_CONFIG_LIST, value, sizeof(value)) < 0)
		return 0;
	return value[2] == '*' ? INT32_MAX : strtoll(value + 2, NULL, 10);
}

void weft_file_hint_parse(
	const struct weft_info *info, struct weft_file_hints *hints_out)
{
	struct weft_file_hints hints = {
		.read_sieve = hint_choice(info, WEFT_HINT_DS_READ),
		.read_sieve_max = hint_size(info, WEFT_HINT_DS_READ_SIZE),
		.write_sieve = hint_choice(info, WEFT_HINT_DS_WRITE),
		.write_sieve_max = hint_size(info, WEFT_HINT_DS_WRITE_SIZE),
		.permissions = hint_permissions(info),
		.cb_read = hint_choice(info, WEFT_HINT_CB_READ),
		.cb_write = hint_choice(info, WEFT_HINT_CB_WRITE),
		.cb_nodes = weft_hint_number(info, WEFT_HINT_CB_NODES, 0),
		.cb_per_node = hint_per_node(info),
		.cb_buffer_size =
			weft_hint_number(info, WEFT_HINT_CB_BUFFER_SIZE, 0),
		.striping_unit =
			weft_hint_number(info, WEFT_HINT_STRIPING_UNIT, 0),
		.striping_factor =
			weft_hint_number(info, WEFT_HINT_STRIPING_FACTOR, 0),
	};

	/* as in ROMIO: without independent accesses, aggregators make all
	 * accesses */
	if (weft_hint_is(info, WEFT_HINT_NO_INDEP_RW, "true"))
		hints.cb_read = hints.cb_write = WEFT_FILE_ENABLE;
	/* the standard's key has precedence over those of ROMIO */
	if (weft_hint_is(info, WEFT_HINT_COLL_BUFFERING, "false"))
		hints.cb_read = hints.cb_write = WEFT_FILE_DISABLE;
	*hints_out = hints;
}

static FILE *open_hint_file(const char *path, const char **why_out)
{
	const char *folder = *path == '/' ? NULL : weft_knob_folder();
	char whole[PATH_MAX];

	snprintf(whole, sizeof(whole), "%s%s%s", folder ? folder : "",
		folder ? "/" : "", path);
	return weft_input_open(whole, false, why_out);
}

int weft_file_hint_read(const char *path, struct weft_info *info)
{
	struct weft_info *read = weft_info_create();
	const char *why;
	FILE *file = open_hint_file(path, &why);
	char line[512], key[256], value[256];
	int err = read ? 0 : WEFT_ERR_NOMEM;

	if (!file)
		weft_log_warn("FILE-HINTS",
			"ROMIO_HINTS names \"%.200s\", which cannot be read: "
			"%s",
			path, why);
	while (!err && file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%255s %255s", key, value) == 2 &&
			key[0] != '#')
			err = weft_info_add(read, key, value);
	if (!err)
		err = weft_hint_accept(WEFT_HINT_OF_FILE, true, read, info);
	weft_info_destroy(read);
	if (file)
		fclose(file);
	return err;
}

/* Adds the stripes of the file. If the file has none, adds the unit of the
 * hint, at whose multiples file domains begin. */
static int add_stripes(const struct weft_file *file, struct weft_info *info)
{
	struct weft_stripe stripe = weft_stripe_of(file->fd);
	int err = 0;

	if (!stripe.unit)
		stripe.unit = file->hints.striping_unit;
	if (stripe.unit)
		err = weft_hint_set_number(
			info, WEFT_HINT_STRIPING_UNIT, stripe.unit);
	if (stripe.factor && !err)
		err = weft_hint_set_number(
			info, WEFT_HINT_STRIPING_FACTOR, stripe.factor);
	return err;
}

/* Adds the hints whose values the members have agreed on. */
static int add_agreed(const struct weft_file *file, struct weft_info *info)
{
	const struct weft_file_hints *hints = &file->hints;
	bool has_cb = hints->cb_read != WEFT_FILE_DISABLE ||
		      hints->cb_write != WEFT_FILE_DISABLE;
	int n_nodes = weft_cb_nodes(file);
	int err = weft_hint_set(
		info, WEFT_HINT_CB_READ, choice_names[hints->cb_read]);

	if (!err)
		err = weft_hint_set(info, WEFT_HINT_CB_WRITE,
			choice_names[hints->cb_write]);
	if (!err)
		err = weft_hint_set(info, WEFT_HINT_COLL_BUFFERING,
			has_cb ? "true" : "false");
	if (!err)
		err = weft_hint_set_number(
			info, WEFT_HINT_CB_BUFFER_SIZE, weft_cb_len(file));
	if (!err && n_nodes)
		err = weft_hint_set_number(info, WEFT_HINT_CB_NODES, n_nodes);
	return err ? err : add_stripes(file, info);
}

int weft_file_hint_in_effect(
	const struct weft_file *file, struct weft_info **info_out)
{
	struct weft_info *info;
	int err = weft_hint_in_effect(WEFT_HINT_OF_FILE, file->info,
		file->comm->child.session, &info);

	if (err)
		return err;
	/* the file system may use another number than this hint */
	(void)weft_info_delete(
		info, weft_hint_desc(WEFT_HINT_STRIPING_FACTOR)->key);
	err = add_agreed(file, info);
	if (!err && strlen(file->name) <= WEFT_INFO_VALUE_MAX)
		err = weft_hint_set(info, WEFT_HINT_FILENAME, file->name);
	if (err)
		weft_info_destroy(info);
	else
		*info_out = info;
	return err;
}
