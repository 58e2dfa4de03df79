/* SPDX-License-Identifier: BSD-3-Clause */
/* pset: resolves names of process sets to groups
 *
 *   mpi://WORLD, mpi://SELF  in upper or lower case
 *   weft://host              the processes of this node
 *   weft://alive             those of the job that are not known to have failed
 *   hwloc://TYPE             those of this node on the same hardware object
 *   other names              sets of the process manager or the application
 *
 * A set that the application defines is known only to that session of that
 * process, unless it is published. A set may be deleted while the job runs. Its
 * number and name remain, and using it is an error.
 *
 * Every call takes the default VCI's lock, which guards the process manager. */
#ifndef WEFT_PSET_H
#define WEFT_PSET_H

#include "session/session.h"

struct weft_info;

#define WEFT_PSET_ALIVE "weft://alive"

enum { WEFT_PSET_NAME_MAX = 1023 }; /* characters, without the NUL */

/* The number of sets that this process is in, or was in since the session first
 * listed them. The number of a set is constant; new sets are appended. */
int weft_pset_count(struct weft_session *session, uint32_t *n_out);

/* The name of set i, valid until the session closes. WEFT_ERR_ARG: there are
 * not so many sets. */
int weft_pset_name(
	struct weft_session *session, uint32_t i, const char **name_out);

/* Creates a group of the members, which belongs to the session.
 * WEFT_ERR_NOTFOUND: there is no such set. WEFT_ERR_PEER: a member has ended;
 * not for mpi://, weft:// and hwloc:// sets. weft://alive is as it is after the
 * process manager's events. */
int weft_pset_group(struct weft_session *session, const char *name,
	struct weft_group **group_out);

/* Creates an info object that describes a set; weft(7) lists the keys. */
int weft_pset_info(struct weft_session *session, const char *name,
	struct weft_info **info_out);

/* Creates a group of the processes of this node, with this one. VCI's lock
 * held.
 */
int weft_pset_node_group(struct weft_group **group_out);

/* Define a set of these members (which are copied), or delete a set. Local.
 * WEFT_ERR_NAME: the name is in use, or does not exist. WEFT_ERR_ARG: the name
 * is reserved or has an invalid length. */
int weft_pset_define(struct weft_session *session, const char *name,
	const struct weft_group *members);
int weft_pset_delete(struct weft_session *session, const char *name);

/* The same for the whole job: the process manager publishes the set to every
 * process. Waits only for the manager. WEFT_ERR_UNSUPPORTED: the manager does
 * not support it. */
int weft_pset_publish(struct weft_session *session, const char *name,
	const struct weft_group *members);
int weft_pset_unpublish(struct weft_session *session, const char *name);

/* Defines a set by an operation on two others, such as weft_group_union(). */
typedef int weft_pset_op_fn(const struct weft_group *a,
	const struct weft_group *b, struct weft_group **group_out);
int weft_pset_combine(struct weft_session *session, weft_pset_op_fn *op,
	const char *a, const char *b, const char *name);

/* The number of definitions and deletions of sets, by the process manager or by
 * the application in this session, since the session first listed sets. Each
 * failure of a process of the job counts as one, of weft://alive. */
uint64_t weft_pset_changes(struct weft_session *session);

/* Frees a session's names; NULL is accepted. */
void weft_psets_destroy(struct weft_psets *psets);

#endif
