/* SPDX-License-Identifier: BSD-3-Clause */
/* create: creation of communicators
 *
 * All calls are collective over the named processes and block, unless a
 * contract says otherwise. They take the VCI's lock. Attributes, topologies and
 * names belong to the API room. *comm_out is NULL in processes that are no
 * members of the result. */
#ifndef WEFT_CREATE_H
#define WEFT_CREATE_H

#include "comm/agree.h"
#include "core/session_data.h"

struct weft_req;

/* Installs the handler of WEFT_WIRE_CREATE; called when the VCI opens. */
void weft_create_open(struct weft_vci *vci);

/* Drops messages for creations that this process never called, once no message
 * can arrive any more. VCI's lock held. */
void weft_create_drop(void);

/* Creates a communicator over a group, matched by member list and string tag
 * only. The caller is a member. errh and info may be NULL and are referenced or
 * copied. The session is the one the group was derived from. */
int weft_create_from_group(struct weft_group *group, const char *tag,
	const struct weft_info *info, struct weft_errh *errh,
	struct weft_comm **comm_out);

/* The same, as a child of a given session. */
int weft_create_in_session(struct weft_session *session,
	struct weft_group *group, const char *tag, const struct weft_info *info,
	struct weft_errh *errh, struct weft_comm **comm_out);

/* True while a started creation waits: progress may then pass an id on. VCI's
 * lock held. */
bool weft_create_has_started(void);

/* True while a creation whose VCIs are exchanged in this context was offered to
 * this process and was not joined. Default VCI's lock held. */
bool weft_create_is_offered(uint64_t exchange_ctx);

/* Creates a communicator with a context id that all members know beforehand;
 * sends nothing. For the World. VCI's lock held. */
int weft_create_fixed_locked(struct weft_session *session, uint64_t ctx,
	struct weft_group *group, const char *name,
	struct weft_comm **comm_out);

/* Called when a started creation is done; comm is NULL when it failed. VCI's
 * lock held. */
typedef void weft_create_done_fn(void *arg, struct weft_comm *comm, int err);

/* Starts weft_create_from_group(); does not block, may complete immediately.
 * Ends with WEFT_ERR_SESSION when its session ends first. */
int weft_create_start(struct weft_group *group, const char *tag,
	const struct weft_info *info, struct weft_errh *errh,
	weft_create_done_fn *made, void *arg);

/* Starts a duplicate, intra or inter; does not block. The new communicator has
 * comm's error handler and a copy of info. */
int weft_create_dup_start(struct weft_comm *comm, const struct weft_info *info,
	weft_create_done_fn *made, void *arg);
int weft_create_dup(struct weft_comm *comm, const struct weft_info *info,
	struct weft_comm **comm_out);

/* Groups members with the same colour, ordered by key, then by rank. A member
 * with a colour below 0 gets no result. Intra or inter. */
int weft_create_split(struct weft_comm *comm, int64_t color, int32_t key,
	struct weft_comm **comm_out);

/* The members of group, a subset of comm's (local) group; called by all members
 * of comm. */
int weft_create_subset(struct weft_comm *comm, struct weft_group *group,
	struct weft_comm **comm_out);

/* The same, called by the members of group only. */
int weft_create_group(struct weft_comm *comm, struct weft_group *group, int tag,
	struct weft_comm **comm_out);

/* Creates an intercommunicator; err, intercomm, remote_leader and tag are read
 * at the leader only. A leader that cannot take part calls this with its error
 * (err): all members of its side return it, and so does the other side if there
 * is a communicator with its leader (intercomm). */
struct weft_create_inter {
	struct weft_comm *local;
	int32_t local_leader;
	int err;
	struct weft_comm *intercomm; /* NULL except at the leader */
	int32_t remote_leader;
	int tag;
};
int weft_create_inter(
	const struct weft_create_inter *how, struct weft_comm **comm_out);

/* Creates an intercommunicator from two groups; err (a fault in the leader's
 * arguments), remote (NULL: unknown) and remote_leader are read at the leader
 * only. */
struct weft_create_inter_groups {
	struct weft_group *local;
	int32_t local_leader;
	int err;
	struct weft_group *remote;
	int32_t remote_leader;
	const char *tag;
	const struct weft_info *info;
	struct weft_errh *errh;
};
int weft_create_inter_from_groups(const struct weft_create_inter_groups *how,
	struct weft_comm **comm_out);

/* Merges both sides of an intercommunicator; the side that passes high is
 * ordered second. */
int weft_create_merge(
	struct weft_comm *comm, bool high, struct weft_comm **comm_out);

/* Allgather: every member's record of len bytes, by rank, on an
 * intracommunicator. The caller frees *all_out with free(). */
int weft_create_gather(
	struct weft_comm *comm, const void *mine, size_t len, void **all_out);

/* Takes part for a member that has no record: all members' calls return err.
 * Does not block. */
void weft_create_gather_fail(struct weft_comm *comm, int err);

#endif
