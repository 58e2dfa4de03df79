/* SPDX-License-Identifier: BSD-3-Clause */
/* pset: process-set names to groups
 *
 * mpi://WORLD and mpi://SELF (in any case of letters), the process manager's
 * own sets by the names it gives them, weft://host (the processes of my node),
 * hwloc://TYPE (those of my node that run on the same piece of hardware) and
 * those that the application defined in a session, known to that session of
 * that process only, unless it published one. A set may go while the job runs:
 * its number and name stay, its use is an error.
 * Every call takes the default VCI's lock, which guards the process manager.
 */
#ifndef WEFT_PSET_H
#define WEFT_PSET_H

#include "session/session.h"

struct weft_info;

enum { WEFT_PSET_NAME_MAX = 1023 }; /* characters, without the NUL */

/* How many sets this process is in now. Their numbers stay as they are for the
 * session's life; new ones come at the end. */
int weft_pset_count(struct weft_session *session, uint32_t *n_out);

/* Name of set i, lent for the session's life. WEFT_ERR_ARG when there are not
 * so many. */
int weft_pset_name(
	struct weft_session *session, uint32_t i, const char **name_out);

/* The members; a new reference, tied to the session. WEFT_ERR_NOTFOUND for no
 * such set, WEFT_ERR_PEER when a member of it ended before its time (but the
 * sets that are there by definition stay as they are). */
int weft_pset_group(struct weft_session *session, const char *name,
	struct weft_group **group_out);

/* A new info object about a set; the keys are in weft(7). */
int weft_pset_info(struct weft_session *session, const char *name,
	struct weft_info **info_out);

/* The processes of my node, me included. VCI's lock held. */
int weft_pset_node_group(struct weft_group **group_out);

/* Defines a set of these members (which are copied) under a name, or takes it
 * back. Local. WEFT_ERR_NAME: there is one already, there is none;
 * WEFT_ERR_ARG: not a name an application may give. */
int weft_pset_define(struct weft_session *session, const char *name,
	const struct weft_group *members);
int weft_pset_delete(struct weft_session *session, const char *name);

/* The same for the whole job: the process manager makes it known to every
 * process. Waits for the manager only. WEFT_ERR_UNSUPPORTED when it cannot. */
int weft_pset_publish(struct weft_session *session, const char *name,
	const struct weft_group *members);
int weft_pset_unpublish(struct weft_session *session, const char *name);

/* Defines a set as weft_group_union() or one like it of two others. */
typedef int weft_pset_op_fn(const struct weft_group *a,
	const struct weft_group *b, struct weft_group **group_out);
int weft_pset_combine(struct weft_session *session, weft_pset_op_fn *op,
	const char *a, const char *b, const char *name);

/* How many sets were defined or deleted, by the process manager or by the
 * application in this session, since the session first looked at sets. */
uint64_t weft_pset_changes(struct weft_session *session);

/* Frees a session's names; NULL is accepted. */
void weft_psets_destroy(struct weft_psets *psets);

#endif
