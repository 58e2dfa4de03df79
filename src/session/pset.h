/* SPDX-License-Identifier: BSD-3-Clause */
/* pset: from process-set names to groups
 *
 * The names are mpi://WORLD and mpi://SELF (in any case of letters), those of
 * the process manager's sets, weft://host (the processes of this node),
 * hwloc://TYPE (those of this node on the same hardware object) and those that
 * the application defined in a session. The latter are known to that session of
 * that process only, unless published. A set may disappear while the job runs:
 * its number and name stay, and using it is an error.
 *
 * Every call takes the default VCI's lock, which guards the process manager. */
#ifndef WEFT_PSET_H
#define WEFT_PSET_H

#include "session/session.h"

struct weft_info;

enum { WEFT_PSET_NAME_MAX = 1023 }; /* characters, without the NUL */

/* How many sets this process is in now. Numbers are constant for the session's
 * life; new sets are appended. */
int weft_pset_count(struct weft_session *session, uint32_t *n_out);

/* Name of set i, valid for the session's life. WEFT_ERR_ARG when there are
 * fewer sets. */
int weft_pset_name(
	struct weft_session *session, uint32_t i, const char **name_out);

/* The members; a new reference, tied to the session. WEFT_ERR_NOTFOUND when
 * there is no such set. WEFT_ERR_PEER when a member ended before the job did,
 * except for mpi://, weft:// and hwloc:// sets, which do not change. */
int weft_pset_group(struct weft_session *session, const char *name,
	struct weft_group **group_out);

/* A new info object about a set; weft(7) lists the keys. */
int weft_pset_info(struct weft_session *session, const char *name,
	struct weft_info **info_out);

/* The processes of this node, this one included. VCI's lock held. */
int weft_pset_node_group(struct weft_group **group_out);

/* Defines a set of these members (which are copied) under a name, or deletes
 * it. Local. WEFT_ERR_NAME: the name is in use, or does not exist;
 * WEFT_ERR_ARG: applications may not use this name. */
int weft_pset_define(struct weft_session *session, const char *name,
	const struct weft_group *members);
int weft_pset_delete(struct weft_session *session, const char *name);

/* The same for the whole job: the process manager publishes the set to every
 * process. Waits for the manager only. WEFT_ERR_UNSUPPORTED when it cannot. */
int weft_pset_publish(struct weft_session *session, const char *name,
	const struct weft_group *members);
int weft_pset_unpublish(struct weft_session *session, const char *name);

/* Defines a set by an operation on two others, such as weft_group_union(). */
typedef int weft_pset_op_fn(const struct weft_group *a,
	const struct weft_group *b, struct weft_group **group_out);
int weft_pset_combine(struct weft_session *session, weft_pset_op_fn *op,
	const char *a, const char *b, const char *name);

/* How many sets the process manager, or the application in this session,
 * defined or deleted since the session first listed sets. */
uint64_t weft_pset_changes(struct weft_session *session);

/* Frees a session's names; NULL is accepted. */
void weft_psets_destroy(struct weft_psets *psets);

#endif
