/* SPDX-License-Identifier: BSD-3-Clause */
/* comm: a communicator as data
 *
 * comm/create.c creates communicators, and comm/disconnect.c closes them. A
 * communicator is a child (weft_child) of the session that it was derived from.
 * Requests hold references, so MPI_Comm_free may be called with pending
 * operations. The VCI's lock guards all fields that change after creation. ctx,
 * rank, sizes and groups do not change. */
#ifndef WEFT_COMM_H
#define WEFT_COMM_H

#include "base/handle.h"
#include "base/map.h"
#include "core/child.h"
#include "core/group.h"
#include "core/match.h"
#include "transport/peer.h"
#include "transport/vci.h"

#include <stdatomic.h>
#include <stdint.h>

struct weft_info;
struct weft_errh;
struct weft_attrs;
struct weft_bsend;
struct weft_unmatched_record;
struct weft_topo_attached;
struct weft_file;
struct weft_win;
struct weft_coll_algo;
struct weft_coll_shm;
struct weft_nodes;
struct weft_coll_edges;

enum weft_comm_state {
	WEFT_COMM_LIVE,
	WEFT_COMM_FREED,  /* handle freed; closes in the background */
	WEFT_COMM_CLOSED, /* no more messages arrive */
};

enum { WEFT_COMM_NAME_MAX = 128, WEFT_COMM_PEERS = 128 };

/* State of other rooms in a communicator. The named room maintains a struct;
 * other rooms use only single fields. weft_comm_destroy() frees the allocated
 * parts. The structs are embedded, because every message or collective reads
 * them. */

struct weft_comm_coll {	 /* src/coll */
	uint32_t seq;	 /* number of the next collective; part of its tag */
	bool is_settled; /* nodes and segment are known */
	struct weft_nodes *nodes; /* the members of each node, or NULL; owns a
				     reference */
	bool is_edges_settled;	  /* `edges` is known */
	struct weft_coll_edges *edges; /* neighbours on other nodes; one
					  allocation, or NULL */
	struct weft_coll_shm *shm; /* this node's segment; one allocation, or
				      NULL */
	char *map;		   /* address of the segment here; NULL: none */
	size_t map_len;
	const struct weft_coll_algo *algo; /* algorithm of the latest collective
					      that was sent as messages, or
					      NULL */
};

struct weft_comm_ctl { /* src/comm, on the control context */
	uint32_t seq;  /* number of the next control round or control collective
			*/
	uint32_t n_intercomms; /* intercommunicator creations started with this
				  local communicator */
};

struct weft_comm_p2p {	   /* src/p2p */
	uint32_t n_sends;  /* sends that the library has not finished, including
			      those whose request was freed */
	uint32_t n_probed; /* messages matched by a probe and not received */
	uint32_t part_seq; /* next tag of partitions; only part.c */
	struct weft_map departed; /* by rank + 1; see weft_p2p_departed(); only
				     departed_send.c changes it */
	uint64_t watch_ns;	  /* time of the last WATCH to a member; only
				     departed_send.c */
	/* record for the report of unmatched messages; only unmatched.c */
	struct weft_unmatched_record *unmatched;
	struct weft_progress_hook revoke_hook; /* only revoke.c */
};

struct weft_comm {
	struct weft_obj obj;
	uint64_t ctx; /* a multiple of WEFT_CTX_OFFSET_END, unique in the job */
	int32_t rank; /* own rank in the local group */
	int32_t size; /* size of the local group */
	int32_t remote_size; /* size of the group to which sends are addressed
			      */
	bool is_inter;
	bool is_disconnected; /* the communicator is being closed, or its
				 session ends: persistent requests must not be
				 used */
	bool is_kept; /* destruction does not free the struct, the groups and
			 the peers; see weft_comm_release() */
	union {
		struct {
			uint8_t n_spread; /* number of VCIs of the communicator;
					     0: only vci */
			bool may_dev;	  /* buffers may be in device memory;
					     weft_comm_mark() sets it */
		};
		uint16_t special; /* both as one value */
	};
	enum weft_comm_state state;
	struct weft_group *group;  /* the local group */
	struct weft_group *remote; /* the group to which sends are addressed;
				      the local group unless inter */
	struct weft_peer ***peers; /* [rank / 128][rank % 128], set on use */
	struct weft_vci *vci;
	uint8_t *vcis; /* VCI numbers of the remote group, by rank; NULL: all
			  use the default VCI */
	/* Messages with a tag use the communicator spread[tag % WEFT_VCIS]. The
	 * first n_spread entries are this communicator, and communicators of
	 * the same members on further VCIs, which have no handles. The other
	 * entries repeat the first entries. See session/spread.h. */
	struct weft_comm **spread;
	uint64_t spread_of; /* in a communicator on a further VCI: the handle of
			       the communicator whose spread has it; else 0 */
	struct weft_match match;
	struct weft_comm_p2p p2p;
	struct weft_comm_coll coll;
	struct weft_comm_ctl ctl;
	uint32_t refs;
	uint64_t failed; /* process number + 1 of a failed member; 0: none
			  */
	atomic_bool is_revoked; /* set under the lock; see p2p/revoke.c */
	uint32_t n_acked; /* failed members that the program has acknowledged;
			     see core/failed.h */
	int coll_err; /* error of a collective at this process, or 0; messages
			 of other members for this and later collectives may be
			 unmatched */
	struct weft_child child; /* link in the session's list of children */
	struct weft_link closing_link; /* in vci->comm->closings, while a freed
					  communicator closes */
	struct weft_comm *local;       /* inter: the local intracommunicator */
	struct weft_bsend *bsend;      /* attached buffer; see p2p.h */
	char name[WEFT_COMM_NAME_MAX];
	char tag[64];	      /* string tag of its creation, truncated */
	struct weft_win *win; /* window that owns this communicator, or NULL */
	struct weft_file *file; /* file that owns this communicator, or NULL */
	/* objects of core/attr.c, core/info.c, core/errh.c and mpi/mpi_topo.c
	 * that belong to the communicator; NULL: none */
	struct weft_attrs *attrs;
	struct weft_info *info;
	struct weft_errh *errh;
	struct weft_topo_attached *topo;
};

extern struct weft_table weft_comms;

/* Creates a communicator and acquires references on the groups; remote is NULL
 * for an intracommunicator. Registers ctx with the VCI and dispatches messages
 * that arrived early. The caller owns one reference. VCI's lock held. */
int weft_comm_create(struct weft_vci *vci, uint64_t ctx,
	struct weft_group *group, struct weft_group *remote,
	struct weft_comm **comm_out);

/* Sets may_dev: true if the session has device memory (session_data.h: has_dev)
 * and the program has not asserted other kinds. Called when the session or the
 * info object of the communicator changes. */
void weft_comm_mark(struct weft_comm *comm);

/* Adds a reference. VCI's lock held. */
static inline struct weft_comm *weft_comm_get(struct weft_comm *comm)
{
	comm->refs++;
	return comm;
}

/* All members of an intercommunicator use the same order of both groups. True
 * if the local group is the first group. Always true for an intracommunicator.
 */
static inline bool weft_comm_is_first(const struct weft_comm *comm)
{
	return !comm->is_inter || weft_group_proc(comm->group, 0) <
					  weft_group_proc(comm->remote, 0);
}

/* Returns comm if it has a handle. For a communicator on a further VCI, returns
 * the communicator with handle spread_of; NULL: that communicator was freed. */
static inline struct weft_comm *weft_comm_whole(struct weft_comm *comm)
{
	return weft_likely(!comm->spread_of)
		       ? comm
		       : weft_table_get(&weft_comms, comm->spread_of);
}

/* Frees a communicator whose last reference was dropped, except the parts that
 * is_kept preserves. Called by weft_comm_put(). */
void weft_comm_destroy(struct weft_comm *comm);

/* Clears is_kept. If the communicator was destroyed, frees the struct, the
 * groups and the peers. Otherwise, a later destruction frees them. VCI's lock
 * held. */
void weft_comm_release(struct weft_comm *comm);

/* Drops a reference. The last reference destroys the communicator. VCI's lock
 * held. */
static inline void weft_comm_put(struct weft_comm *comm)
{
	if (--comm->refs == 0)
		weft_comm_destroy(comm);
}

/* Records a failed process if it is a member of either group, also in the local
 * communicator and the list of core/failed.h. Returns true if the communicator
 * has a failed member. VCI's lock held. */
bool weft_comm_record_failed(struct weft_comm *comm, uint64_t proc);

/* Label of a communicator in messages: its name, else its string tag, else
 * "without a name". Valid while the communicator lives. */
const char *weft_comm_label(const struct weft_comm *comm);

/* These functions return WEFT_ERR_PEER and describe it: the rank, the
 * communicator, window or file, and how the process ended. weft_comm_failed()
 * describes the failed member comm->failed, weft_comm_failed_proc() the member
 * proc, and weft_comm_failed_rank() the member `rank` of the remote group.
 * VCI's lock held. */
int weft_comm_failed(const struct weft_comm *comm);
int weft_comm_failed_proc(const struct weft_comm *comm, uint64_t proc);
int weft_comm_failed_rank(const struct weft_comm *comm, int32_t rank);

/* True if the process comm->failed is treated as failed because this process
 * cannot reach it. VCI's lock held. */
bool weft_comm_is_failed_unreached(const struct weft_comm *comm);

/* Returns err. If err is WEFT_ERR_PEER and its description names another
 * communicator, describes err again for this communicator, as
 * weft_comm_failed(). If this communicator knows no failed member, the new
 * description names the process of the old description, if it is a member.
 * Acquires the VCI's lock. */
int weft_comm_explain(const struct weft_comm *comm, int err);

/* Removes ctx from the VCI's table, so that no message arrives any more. VCI's
 * lock held. */
void weft_comm_close(struct weft_comm *comm);

/* True if a member has revoked the communicator. Any thread. */
static inline bool weft_comm_is_revoked(const struct weft_comm *comm)
{
	return atomic_load_explicit(&comm->is_revoked, memory_order_relaxed);
}

/* Drops the cache of peers of a revoked communicator. From now on,
 * weft_comm_peer_cached() returns NULL. VCI's lock held, here and below. */
void weft_comm_forget_peers(struct weft_comm *comm);

/* Slow path of weft_comm_peer(): creates the peer. */
struct weft_peer *weft_comm_peer_new(struct weft_comm *comm, uint32_t rank);

/* Returns the peer of a rank. NULL if no peer is cached: weft_comm_peer() was
 * not called for the rank, or the communicator is revoked. */
static inline struct weft_peer *weft_comm_peer_cached(
	const struct weft_comm *comm, uint32_t rank)
{
	struct weft_peer **chunk = comm->peers[rank / WEFT_COMM_PEERS];

	return chunk ? chunk[rank % WEFT_COMM_PEERS] : NULL;
}

/* Returns the peer with this rank in the remote group, to which sends are
 * addressed. rank must be in range. NULL when out of memory. VCI's lock held.
 */
static inline struct weft_peer *weft_comm_peer(
	struct weft_comm *comm, uint32_t rank)
{
	struct weft_peer *peer = weft_comm_peer_cached(comm, rank);

	return weft_likely(peer) ? peer : weft_comm_peer_new(comm, rank);
}

#endif
