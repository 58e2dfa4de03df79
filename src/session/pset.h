/* SPDX-License-Identifier: BSD-3-Clause */
/* pset: resolves names of process sets to groups
 *
 *   mpi://WORLD, mpi://SELF  in upper or lower case
 *   weft://host              the processes of this node
 *   weft://alive             processes of the job that have not failed
 *   mpi://PARENT             processes that spawned the job, if it was spawned
 *   weft://job/K             the job in generation K; defined by the launcher
 *   hwloc://TYPE             processes of this node on the same hardware object
 *   other names              sets of the process manager or the application
 *
 * A set that the application defines is known only to that session of that
 * process, unless it is published. A set may be deleted while the job runs. Its
 * number and name remain, and using it is an error.
 *
 * The functions acquire the default VCI's lock, which guards the process
 * manager, unless their contracts differ. */
#ifndef WEFT_PSET_H
#define WEFT_PSET_H

#include "session/session.h"

struct weft_info;

#define WEFT_PSET_ALIVE "weft://alive"
#define WEFT_PSET_JOB "weft://job" /* weft://job/K: see session/resize.h */

enum { WEFT_PSET_NAME_MAX = 1023 }; /* longest name, without the NUL */

/* Sets *n_out to the number of sets that this process is in, or was in since
 * the session first listed them. The number of a set is constant; new sets are
 * appended. */
int weft_pset_count(struct weft_session *session, uint32_t *n_out);

/* Sets *name_out to the name of set i, valid until the session closes.
 * WEFT_ERR_ARG: the session has fewer sets. */
int weft_pset_name(
	struct weft_session *session, uint32_t i, const char **name_out);

/* Creates a group of the members, which belongs to the session.
 * WEFT_ERR_NOTFOUND: there is no such set. WEFT_ERR_PEER: a member has failed;
 * sets of mpi://, weft:// and hwloc:// do not cause this error. weft://alive is
 * computed after the process manager's events were handled. */
int weft_pset_group(struct weft_session *session, const char *name,
	struct weft_group **group_out);

/* Creates an info object that describes a set; weft(7) lists the keys. */
int weft_pset_info(struct weft_session *session, const char *name,
	struct weft_info **info_out);

/* weft_pset_define() defines a set of these members, which are copied.
 * weft_pset_delete() deletes a set. Both are local. WEFT_ERR_NAME: the name is
 * in use, or does not exist. WEFT_ERR_ARG: the name is reserved or has an
 * invalid length. */
int weft_pset_define(struct weft_session *session, const char *name,
	const struct weft_group *members);
int weft_pset_delete(struct weft_session *session, const char *name);

/* weft_pset_publish() defines a set for the whole job, and
 * weft_pset_unpublish() deletes it: the process manager notifies every process.
 * Both wait only for the manager. WEFT_ERR_UNSUPPORTED: the manager does not
 * support it. */
int weft_pset_publish(struct weft_session *session, const char *name,
	const struct weft_group *members);
int weft_pset_unpublish(struct weft_session *session, const char *name);

/* Defines the set `name` by an operation on the sets a and b, such as
 * weft_group_union(). */
typedef int weft_pset_op_fn(const struct weft_group *a,
	const struct weft_group *b, struct weft_group **group_out);
int weft_pset_combine(struct weft_session *session, weft_pset_op_fn *op,
	const char *a, const char *b, const char *name);

/* Returns the number of definitions and deletions of sets, by the process
 * manager or by the application in this session, since the session
 * first listed, named, defined or counted sets. Each failure of a process of
 * the job counts as one change, of weft://alive. */
uint64_t weft_pset_changes(struct weft_session *session);

/* Frees the sets and names of a session; NULL is accepted. Acquires no lock. */
void weft_psets_destroy(struct weft_psets *psets);

#endif
