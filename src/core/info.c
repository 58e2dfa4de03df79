/* SPDX-License-Identifier: BSD-3-Clause */
/* info: ordered keys with values */
#include "core/info.h"

#include "base/err.h"
#include "base/knob.h"
#include "transport/proc.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

struct weft_table weft_infos =
	WEFT_TABLE_INIT(struct weft_info, WEFT_KIND_INFO);

/* MPI_INFO_ENV: one per process. */
static struct weft_info *_Atomic env_info;

/* Locks an object that its caller must not change; the lock is not part of the
 * object's value. */
static struct weft_info *info_lock(const struct weft_info *info)
{
	struct weft_info *self = (struct weft_info *)(uintptr_t)info;

	weft_spin_acquire(&self->spin);
	return self;
}

static struct weft_info_entry *info_find(
	const struct weft_info *info, const char *key)
{
	for (uint32_t i = 0; i < info->n; i++)
		if (!strcmp(info->entries[i].key, key))
			return &info->entries[i];
	return NULL;
}

struct weft_info *weft_info_create(void)
{
	return weft_table_new(&weft_infos);
}

void weft_info_destroy(struct weft_info *info)
{
	if (!info)
		return;
	for (uint32_t i = 0; i < info->n; i++) {
		free(info->entries[i].key);
		free(info->entries[i].value);
	}
	free(info->entries);
	weft_table_free(&weft_infos, info);
}

static int info_check_key(const char *key)
{
	size_t len = key ? strnlen(key, WEFT_INFO_KEY_MAX + 1) : 0;

	if (!len || len > WEFT_INFO_KEY_MAX)
		return weft_err_set(WEFT_ERR_INFO_KEY,
			"info key is %s; it needs 1 to %d characters",
			len ? "too long" : "empty", (int)WEFT_INFO_KEY_MAX);
	return 0;
}

/* Returns a copy of text without the blanks at both ends. */
static char *trim_copy(const char *text)
{
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	return strndup(text, len);
}

/* Inserts an entry or replaces its value. 0: the object owns the strings. On
 * WEFT_ERR_NOMEM the caller still owns them. */
static int info_insert(struct weft_info *info, char *key, char *value)
{
	struct weft_info_entry *entry = info_find(info, key);

	if (entry) {
		free(key);
		free(entry->value);
		entry->value = value;
		return 0;
	}
	if (info->n == info->capacity) {
		uint32_t capacity = info->n ? 2 * info->n : 8;
		void *entries = realloc(
			info->entries, capacity * sizeof(*info->entries));

		if (!entries)
			return WEFT_ERR_NOMEM;
		info->entries = entries;
		info->capacity = capacity;
	}
	info->entries[info->n++] = (struct weft_info_entry){ key, value };
	return 0;
}

int weft_info_set(struct weft_info *info, const char *key, const char *value)
{
	char *key_copy, *value_copy;
	int err = info_check_key(key);

	if (err)
		return err;
	if (!value ||
		strnlen(value, WEFT_INFO_VALUE_MAX + 1) > WEFT_INFO_VALUE_MAX)
		return weft_err_set(WEFT_ERR_INFO_VALUE,
			"value of info key %s is %s; it needs up to %d "
			"characters",
			key, value ? "too long" : "NULL",
			(int)WEFT_INFO_VALUE_MAX);
	key_copy = strdup(key);
	value_copy = trim_copy(value);
	err = WEFT_ERR_NOMEM;
	if (key_copy && value_copy) {
		weft_spin_acquire(&info->spin);
		err = info_insert(info, key_copy, value_copy);
		weft_spin_release(&info->spin);
	}
	if (err) {
		free(key_copy);
		free(value_copy);
	}
	return err;
}

int weft_info_delete(struct weft_info *info, const char *key)
{
	struct weft_info_entry *entry, removed;
	int err = info_check_key(key);

	if (err)
		return err;
	weft_spin_acquire(&info->spin);
	entry = info_find(info, key);
	if (entry) {
		removed = *entry;
		memmove(entry, entry + 1,
			(size_t)(info->entries + --info->n - entry) *
				sizeof(*entry));
	}
	weft_spin_release(&info->spin);
	if (!entry)
		return weft_err_set(
			WEFT_ERR_INFO_NOKEY, "info key %s is not set", key);
	free(removed.key);
	free(removed.value);
	return 0;
}

uint32_t weft_info_n_keys(const struct weft_info *info)
{
	struct weft_info *self = info_lock(info);
	uint32_t n = self->n;

	weft_spin_release(&self->spin);
	return n;
}

int weft_info_key(const struct weft_info *info, uint32_t i, char *buf)
{
	struct weft_info *self = info_lock(info);
	uint32_t n = self->n;

	if (i < n)
		strcpy(buf, self->entries[i].key);
	weft_spin_release(&self->spin);
	return i < n ? 0
		     : weft_err_set(WEFT_ERR_ARG,
			       "key number %u is out of range: the info object "
			       "has %u keys",
			       i, n);
}

long weft_info_value(
	const struct weft_info *info, const char *key, char *buf, size_t len)
{
	struct weft_info_entry *entry;
	struct weft_info *self;
	long n = -1;

	if (!info)
		return -1;
	self = info_lock(info);
	entry = info_find(self, key);
	if (entry) {
		n = (long)strlen(entry->value);
		if (len)
			snprintf(buf, len, "%s", entry->value);
	}
	weft_spin_release(&self->spin);
	return n;
}

int weft_info_add(struct weft_info *info, const char *key, const char *value)
{
	return weft_info_value(info, key, NULL, 0) >= 0
		       ? 0
		       : weft_info_set(info, key, value);
}

int weft_info_merge(struct weft_info *info, const struct weft_info *from)
{
	char key[WEFT_INFO_KEY_MAX + 1], value[WEFT_INFO_VALUE_MAX + 1];
	int err = 0;

	if (!from)
		return 0;
	for (uint32_t i = 0; !err && i < weft_info_n_keys(from); i++)
		if (!weft_info_key(from, i, key) &&
			weft_info_value(from, key, value, sizeof(value)) >= 0)
			err = weft_info_set(info, key, value);
	return err;
}

int weft_info_dup(const struct weft_info *info, struct weft_info **info_out)
{
	struct weft_info *copy = weft_info_create();
	int err;

	if (!copy)
		return WEFT_ERR_NOMEM;
	err = weft_info_merge(copy, info);
	if (err) {
		weft_info_destroy(copy);
		return err;
	}
	*info_out = copy;
	return 0;
}

/* Sets the keys for the program and its arguments, read from /proc. */
static void set_command(struct weft_info *info)
{
	char line[WEFT_INFO_VALUE_MAX + 1];
	FILE *file = fopen("/proc/self/cmdline", "r");
	size_t n, first;

	if (!file)
		return;
	n = fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	line[n] = 0;
	if (!n)
		return;
	weft_info_set(info, "command", line);
	first = strlen(line) + 1;
	for (size_t i = first; i + 1 < n; i++)
		if (!line[i])
			line[i] = ' ';
	weft_info_set(info, "argv", first < n ? line + first : "");
}

static void fill_env(struct weft_info *info)
{
	char text[WEFT_INFO_VALUE_MAX + 1];
	const char *folder = weft_knob_folder();
	struct utsname name;

	set_command(info);
	if (!folder)
		folder = getcwd(text, sizeof(text));
	if (folder)
		weft_info_set(info, "wdir", folder);
	weft_proc_read_knobs(); /* no session may exist yet */
	weft_info_set(
		info, "mpi_initial_errhandler", weft_knobs.initial_errhandler);
	if (!uname(&name)) {
		weft_info_set(info, "host", name.nodename);
		weft_info_set(info, "arch", name.machine);
	}
}

struct weft_info *weft_info_env(void)
{
	struct weft_info *info =
		atomic_load_explicit(&env_info, memory_order_acquire);
	struct weft_info *none = NULL;

	if (info)
		return info;
	info = weft_info_create();
	if (!info)
		return NULL;
	fill_env(info);
	/* release: publishes the entries to the acquire load above. acquire: if
	 * another thread was first, reads the entries of its object. */
	if (atomic_compare_exchange_strong_explicit(&env_info, &none, info,
		    memory_order_acq_rel, memory_order_acquire))
		return info;
	weft_info_destroy(info);
	return none;
}
