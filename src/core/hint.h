/* SPDX-License-Identifier: BSD-3-Clause */
/* hint: the info keys that we know beside MPI's, and those of communicators */
#ifndef WEFT_HINT_H
#define WEFT_HINT_H

#include "core/session_data.h"

#define WEFT_HINT_THREAD_LEVEL "thread_level"
#define WEFT_HINT_ALLOC_KINDS "mpi_memory_alloc_kinds"
#define WEFT_HINT_ASSERT_KINDS "mpi_assert_memory_alloc_kinds"
#define WEFT_HINT_PROVIDER "weft_provider"
#define WEFT_HINT_IFACE "weft_iface"
#define WEFT_HINT_VCI "weft_vci"
#define WEFT_HINT_TCLASS "weft_tclass"
#define WEFT_HINT_FINALIZE "weft_finalize"
#define WEFT_HINT_ABORT "weft_abort"
/* told, not asked */
#define WEFT_HINT_OPEN_HANDLES "weft_open_handles"
#define WEFT_HINT_CONTENDED "weft_contended"
#define WEFT_HINT_COMM_VCIS "weft_comm_vcis"

/* A misspelt hint must not just be passed over: what begins with weft_ was
 * meant for us, and is warned about when there is no such key. */
void weft_hint_check(const struct weft_info *asked);

/* Is it a memory allocation kind that the library supports, in any case
 * (MPI-5.0 11.4.3): "system", or "mpi" with any of its restrictors behind
 * colons? */
bool weft_hint_is_kind(const char *kind);

/* Is every kind of a list with commas supported? The empty list has none. */
bool weft_hint_are_kinds(const char *list);

/* Adds the kinds of a session to the info of an object made in it. */
int weft_hint_put_kinds(
	const struct weft_session *session, struct weft_info *info);

/* A new info object with those of the keys that a communicator knows. Others
 * are dropped, and warned about where they begin with weft_. */
int weft_hint_comm(const struct weft_info *asked, struct weft_info **info_out);

#endif
