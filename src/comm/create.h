/* SPDX-License-Identifier: BSD-3-Clause */
/* create: creation of communicators
 *
 * Unless their comment states otherwise, these calls are collective over the
 * members, block, and acquire the VCI's lock. The room mpi sets attributes and
 * topologies. In a process that is not a member of the new communicator,
 * *comm_out is NULL.
 *
 * A creation from a group sends the new context id from the first member to all
 * members along a binomial tree. Each member forwards the id to its children in
 * the tree. */
#ifndef WEFT_CREATE_H
#define WEFT_CREATE_H

#include "comm/agree.h"
#include "core/session_data.h"

struct weft_req;

/* Installs the handler of WEFT_WIRE_CREATE; called when the VCI opens. Does not
 * block and acquires no lock. */
void weft_create_open(struct weft_vci *vci);

/* Frees the queued messages of creations that this process never called, and
 * the records of creations that it refused. Called when no more messages can
 * arrive. Default VCI's lock held. */
void weft_create_drop(void);

/* Creates a communicator over a group. Calls of different members match if
 * member list and string tag are equal. The caller is a member. errh
 * (referenced) and info (copied) may be NULL. The communicator is a child of
 * the group's session. */
int weft_create_from_group(struct weft_group *group, const char *tag,
	const struct weft_info *info, struct weft_errh *errh,
	struct weft_comm **comm_out);

/* As weft_create_from_group(); the communicator is a child of `session`. */
int weft_create_in_session(struct weft_session *session,
	struct weft_group *group, const char *tag, const struct weft_info *info,
	struct weft_errh *errh, struct weft_comm **comm_out);

/* True while a creation that weft_create_start() started is incomplete. Then
 * progress may send a context id to other members. Default VCI's lock held. */
bool weft_create_has_started(void);

/* True if the message of a creation has arrived, but this process has not
 * called that creation yet. exchange_ctx is the context id in which the members
 * exchange their VCIs. Default VCI's lock held. */
bool weft_create_has_arrived(uint64_t exchange_ctx);

/* Creates a communicator with a context id that all members know already, and
 * sets its name. Sends no message. For the World. VCI's lock held. */
int weft_create_fixed_locked(struct weft_session *session, uint64_t ctx,
	struct weft_group *group, const char *name,
	struct weft_comm **comm_out);

/* Called when a started creation is complete. comm is NULL if the creation
 * failed. VCI's lock held. */
typedef void weft_create_done_fn(void *arg, struct weft_comm *comm, int err);

/* Starts weft_create_from_group(). Does not block; may complete immediately.
 * The creation fails with WEFT_ERR_SESSION if its session ends first. */
int weft_create_start(struct weft_group *group, const char *tag,
	const struct weft_info *info, struct weft_errh *errh,
	weft_create_done_fn *made, void *arg);

/* Both functions duplicate an intra- or intercommunicator. The new communicator
 * has comm's error handler and a copy of info. weft_create_dup_start() does not
 * block, and passes the result to made(). weft_create_dup() blocks. */
int weft_create_dup_start(struct weft_comm *comm, const struct weft_info *info,
	weft_create_done_fn *made, void *arg);
int weft_create_dup(struct weft_comm *comm, const struct weft_info *info,
	struct weft_comm **comm_out);

/* Splits an intra- or intercommunicator. The members with the same color form a
 * communicator, ordered by key, then by rank. For a member with a color below
 * 0, *comm_out is NULL. */
int weft_create_split(struct weft_comm *comm, int64_t color, int32_t key,
	struct weft_comm **comm_out);

/* Creates a communicator over group, a subset of comm's (local) group. All
 * members of comm call this function. */
int weft_create_subset(struct weft_comm *comm, struct weft_group *group,
	struct weft_comm **comm_out);

/* As weft_create_subset(), but only the members of group call this function. */
int weft_create_group(struct weft_comm *comm, struct weft_group *group, int tag,
	struct weft_comm **comm_out);

/* Arguments of weft_create_inter(). peer, remote_leader and tag are read only
 * at the leader. peer is the communicator of the two leaders (peer_comm of
 * MPI_Intercomm_create). err is an earlier error of this process, or 0. If the
 * leader passes an error, all members of its group return that error. If peer
 * is not NULL, the leader also notifies the other leader, and all members of
 * the other group return an error. */
struct weft_create_inter {
	struct weft_comm *local;
	int32_t local_leader;
	int err;
	struct weft_comm *peer; /* NULL except at the leader */
	int32_t remote_leader;
	int tag;
	const struct weft_info *info; /* hints of the result; NULL: none */
};

/* Creates an intercommunicator of the groups of two communicators. All members
 * of both groups call this function. */
int weft_create_inter(
	const struct weft_create_inter *how, struct weft_comm **comm_out);

/* Arguments of weft_create_inter_from_groups(). err is a fault in the arguments
 * of this process, or 0. remote and remote_leader are read only at the leader.
 * If remote is NULL, the remote group is invalid, and the leader notifies no
 * process of the other group. */
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

/* Creates an intercommunicator of two groups. The caller needs no communicator
 * of its group. All members of both groups call this function. */
int weft_create_inter_from_groups(const struct weft_create_inter_groups *how,
	struct weft_comm **comm_out);

/* Merges both groups of an intercommunicator. The members of the group that
 * passes high get the upper ranks. */
int weft_create_merge(
	struct weft_comm *comm, bool high, struct weft_comm **comm_out);

/* Gathers the record of len bytes of every member of an intracommunicator, by
 * rank, at all members. The caller frees *all_out with free(). */
int weft_create_gather(
	struct weft_comm *comm, const void *mine, size_t len, void **all_out);

/* A member that has an error calls this instead of weft_create_gather(). The
 * calls of the other members then return err. Does not block. */
void weft_create_gather_fail(struct weft_comm *comm, int err);

#endif
