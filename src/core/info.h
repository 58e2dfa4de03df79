/* SPDX-License-Identifier: BSD-3-Clause */
/* info: ordered keys with values
 *
 * Info objects exist independently of sessions and before any session. All
 * functions may be called by any thread; each object has its own lock. Keys
 * keep the order in which they were first set. */
#ifndef WEFT_INFO_H
#define WEFT_INFO_H

#include "base/handle.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	WEFT_INFO_KEY_MAX = 255, /* characters, without the NUL */
	WEFT_INFO_VALUE_MAX = 1023,
};

struct weft_info_entry {
	char *key;
	char *value;
};

/* Created by weft_info_create() or weft_info_dup(), destroyed by
 * weft_info_destroy(). */
struct weft_info {
	struct weft_obj obj;
	struct weft_spin spin; /* guards the fields below */
	uint32_t n;
	uint32_t capacity;
	struct weft_info_entry *entries;
};

extern struct weft_table weft_infos;

/* Creates an object without keys. NULL when out of memory. */
struct weft_info *weft_info_create(void);

/* Copies an info object. If info is NULL, creates an empty object. */
int weft_info_dup(const struct weft_info *info, struct weft_info **info_out);

/* Destroys an info object; NULL is accepted. */
void weft_info_destroy(struct weft_info *info);

/* Inserts a key or replaces its value. Blanks around the value are removed.
 * WEFT_ERR_INFO_KEY: the key is empty or too long. WEFT_ERR_INFO_VALUE: the
 * value is NULL or too long. */
int weft_info_set(struct weft_info *info, const char *key, const char *value);

/* Inserts a key, unless info has it already. Errors as weft_info_set(). */
int weft_info_add(struct weft_info *info, const char *key, const char *value);

/* Removes a key. WEFT_ERR_INFO_NOKEY: the key is not set. */
int weft_info_delete(struct weft_info *info, const char *key);

uint32_t weft_info_n_keys(const struct weft_info *info);

/* Copies key i, in the order of setting; buf has WEFT_INFO_KEY_MAX + 1 bytes.
 * WEFT_ERR_ARG: there are not so many keys. */
int weft_info_key(const struct weft_info *info, uint32_t i, char *buf);

/* Copies at most len - 1 characters of the value and a NUL into buf, unless len
 * is 0. Returns the length of the whole value, or -1 when the key is not set.
 * info may be NULL, which has no keys. */
long weft_info_value(
	const struct weft_info *info, const char *key, char *buf, size_t len);

/* Sets all keys of `from`, which may be NULL, in info. */
int weft_info_merge(struct weft_info *info, const struct weft_info *from);

/* Returns the process-wide object that describes how the program was started.
 * Created on first use; must not be changed. NULL when out of memory. */
struct weft_info *weft_info_env(void);

#endif
