/* SPDX-License-Identifier: BSD-3-Clause */
/* hint: the info keys that the library reads and returns
 *
 * info_keys.def is the table of all of them. Code reads and returns a key by
 * its WEFT_HINT_ name, so code with a key that is not in the table does not
 * compile. As the standard requires, an object ignores keys that it does not
 * accept and values that fail the check of the table. A session reports an
 * invalid value. */
#ifndef WEFT_HINT_H
#define WEFT_HINT_H

#include "core/session_data.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_info;

enum weft_hint {
#define INFO_KEY(id, ...) WEFT_HINT_##id,
#include "core/info_keys.def"
#undef INFO_KEY
	WEFT_HINT_N,
};

/* The objects that a key applies to, as bits. A window has the bit of its
 * flavor. */
enum weft_hint_object {
	WEFT_HINT_OF_SESSION = 1 << 0,
	WEFT_HINT_OF_COMM = 1 << 1,
	WEFT_HINT_OF_SPLIT = 1 << 2, /* MPI_Comm_split_type */
	WEFT_HINT_OF_FILE = 1 << 3,
	WEFT_HINT_OF_SPAWN = 1 << 4,
	WEFT_HINT_OF_CONNECT = 1 << 5,
	WEFT_HINT_OF_ALLOC_MEM = 1 << 6,
	WEFT_HINT_OF_PSET = 1 << 7, /* MPI_Session_get_pset_info */
	WEFT_HINT_OF_WIN_CREATE = 1 << 8,
	WEFT_HINT_OF_WIN_ALLOCATE = 1 << 9,
	WEFT_HINT_OF_WIN_DYNAMIC = 1 << 10,
	WEFT_HINT_OF_WIN_SHARED = 1 << 11,
	WEFT_HINT_OF_WIN = 0xf00,
	WEFT_HINT_OF_OFFER = 1 << 12, /* MPIX_Session_get_offer */
};

enum weft_hint_when {
	WEFT_HINT_ANY_TIME,
	WEFT_HINT_AT_CREATION, /* read only when the object is created */
	WEFT_HINT_RESULT,      /* the library returns the key and never reads
				  it from the program */
};

/* An entry of the table. Strings are static. */
struct weft_hint_desc {
	const char *key;
	unsigned objects; /* bits of enum weft_hint_object */
	enum weft_hint_when when;
	const char *initial; /* value in effect if the key is not set; NULL:
				none */
	bool (*is_valid)(const struct weft_hint_desc *desc, const char *value);
	const char *values, *effect; /* as printed in the manual pages */
};

const struct weft_hint_desc *weft_hint_desc(enum weft_hint hint);

/* As weft_info_value() and weft_info_set(), with a key of the table. */
long weft_hint_value(const struct weft_info *info, enum weft_hint hint,
	char *buf, size_t len);
int weft_hint_set(
	struct weft_info *info, enum weft_hint hint, const char *value);
int weft_hint_set_number(
	struct weft_info *info, enum weft_hint hint, int64_t number);

/* True if info, which may be NULL, has the key with this value. */
bool weft_hint_is(
	const struct weft_info *info, enum weft_hint hint, const char *value);

/* Returns the value as a decimal number, or `otherwise` if info is NULL or has
 * no valid number under the key. */
int64_t weft_hint_number(
	const struct weft_info *info, enum weft_hint hint, int64_t otherwise);

/* Copies the keys that an object accepts, with valid values, from requested to
 * info. requested may be NULL. is_new: the object is being created. Warns about
 * unknown keys that begin with weft_. 0 or WEFT_ERR_NOMEM. */
int weft_hint_accept(enum weft_hint_object object, bool is_new,
	const struct weft_info *requested, struct weft_info *info);

/* Creates an info object with the hints in effect of an object: the value in
 * `set` or the default of each key, and the memory allocation kinds of the
 * session. set and session may be NULL. The caller destroys the info object. 0
 * or WEFT_ERR_NOMEM. */
int weft_hint_in_effect(enum weft_hint_object object,
	const struct weft_info *set, const struct weft_session *session,
	struct weft_info **info_out);

/* Checks the values of all keys of the object in requested, which may be NULL.
 * WEFT_ERR_INFO_VALUE names the key, its invalid value and the valid values. */
int weft_hint_check_values(
	enum weft_hint_object object, const struct weft_info *requested);

/* Warns about each key of requested that begins with weft_ and is not in the
 * table, and names the nearest key. requested may be NULL. */
void weft_hint_warn_unknown(const struct weft_info *requested);

/* True if the object accepts the key. */
bool weft_hint_is_accepted(enum weft_hint_object object, const char *key);

/* True for a memory allocation kind that the library supports, in upper or
 * lower case (MPI-5.0 11.4.3): "system", "mpi" with any of its restrictors,
 * separated by colons, or a kind of device memory that this process can use
 * (weft_dev_has_kind(), which may open a driver). */
bool weft_hint_is_kind(const char *kind);

/* True if a list of supported kinds has a kind of device memory. */
bool weft_hint_lists_dev(const char *kinds);

/* Creates an info object with the keys of requested that a communicator
 * accepts. 0 or WEFT_ERR_NOMEM. */
int weft_hint_comm(
	const struct weft_info *requested, struct weft_info **info_out);

#endif
