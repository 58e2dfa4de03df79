/* SPDX-License-Identifier: BSD-3-Clause */
/* pset: process-set names to groups
 *
 * mpi://WORLD and mpi://SELF (in any case of letters), the process manager's
 * own sets by the names it gives them, weft://host (the processes of my node)
 * and hwloc://TYPE (those of my node that run on the same piece of hardware).
 * Every call takes the lane's lock. */
#ifndef WEFT_PSET_H
#define WEFT_PSET_H

#include "session/session.h"

struct weft_info;

/* How many sets this process is in now. Their numbers stay as they are for the
 * session's life; new ones come at the end. */
int weft_pset_count(struct weft_session *session, uint32_t *n_out);

/* Name of set i, lent for the session's life. WEFT_ERR_ARG when there are not
 * so many. */
int weft_pset_name(
	struct weft_session *session, uint32_t i, const char **name_out);

/* The members; a new reference, tied to the session. WEFT_ERR_NOTFOUND for no
 * such set. */
int weft_pset_group(struct weft_session *session, const char *name,
	struct weft_group **group_out);

/* A new info object about a set: mpi_size. */
int weft_pset_info(struct weft_session *session, const char *name,
	struct weft_info **info_out);

/* The processes of my node, me included. Lane's lock held. */
int weft_pset_node_group(struct weft_group **group_out);

/* Frees a session's names; NULL is accepted. */
void weft_psets_destroy(struct weft_psets *psets);

#endif
