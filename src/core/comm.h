/* SPDX-License-Identifier: BSD-3-Clause */
/* comm: a communicator as data
 *
 * Created in comm/create.c, closed in comm/disconnect.c. Its owner is the
 * session it was derived from (through weft_child). Requests hold references,
 * so that MPI_Comm_free with pending operations is harmless. Guarded by the
 * VCI's lock, except the fields that never change after creation (ctx, rank,
 * sizes, groups). */
#ifndef WEFT_COMM_H
#define WEFT_COMM_H

#include "base/handle.h"
#include "core/child.h"
#include "core/group.h"
#include "core/match.h"
#include "transport/peer.h"

#include <stdint.h>

struct weft_info;
struct weft_errh;
struct weft_attrs;
struct weft_bsend;
struct weft_unmatched_note;
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
	WEFT_COMM_CLOSED, /* nothing more arrives */
};

enum { WEFT_COMM_NAME_MAX = 128, WEFT_COMM_PEERS = 256 };

/* State of other rooms in a communicator. Only its room uses it, but allocated
 * parts are freed with the communicator. Embedded, because every message or
 * collective reads it. */

struct weft_coll_choice { /* only coll_algo.c: the algorithm of a case, valid
			     for this node layout */
	const struct weft_coll_algo *algo;
	const struct weft_nodes *nodes;
	int64_t bytes;
	int32_t n;
	uint8_t kind, flags;
};

struct weft_comm_coll { /* src/coll */
	uint32_t seq;	/* number of the next collective, which is its tag */
	struct weft_coll_choice choices[4]; /* by kind % 4, the latest */
	bool is_settled;		    /* nodes and segment are known */
	struct weft_nodes *nodes;	    /* one block, or NULL */
	bool is_edges_settled;	       /* neighbours on other nodes are known */
	struct weft_coll_edges *edges; /* one block, or NULL */
	struct weft_coll_shm *shm; /* this node's segment; one block, or NULL */
	char *map;		   /* where the segment is mapped */
	size_t map_len;
};

struct weft_comm_ctl { /* src/comm, on the control context */
	uint32_t seq;  /* number of the next control round or control collective
			*/
	uint32_t n_intercomms; /* started with it as the local communicator */
};

struct weft_comm_p2p {	   /* src/p2p */
	uint32_t n_sends;  /* sends and rendezvous not yet finished internally,
			      freed requests included */
	uint32_t n_probed; /* messages probed and not yet received */
	uint32_t part_seq; /* tags of partitions given out; only part.c */
	int *departed; /* by rank: sends nothing more: 1, or less than 0 what a
			  collective ended with there; only departed.c */
	struct weft_unmatched_note *unmatched; /* only unmatched.c */
};

struct weft_comm {
	struct weft_obj obj;
	uint64_t ctx; /* a multiple of WEFT_CTX_OFFSET_END, unique in the job */
	int32_t rank; /* own rank in the local group */
	int32_t size; /* of the local group */
	int32_t remote_size; /* size of the group that sends go to */
	bool is_inter;
	bool is_disconnected; /* or its session has ended: persistent requests
				 may not be used any more */
	uint8_t n_spread;     /* number of VCIs it is on; 0: only its own */
	enum weft_comm_state state;
	struct weft_group *group; /* local */
	struct weft_group
		*remote; /* the group that sends go to; == group unless inter */
	struct weft_peer ***peers; /* [rank / 256][rank % 256], filled on use */
	struct weft_vci *vci;
	uint8_t *vcis; /* VCI numbers of the members, by the rank they are sent
			  to at; NULL: all default */
	/* Communicators by tag, [tag % WEFT_VCIS]: itself, then communicators
	 * of the same members on further VCIs, without handles, n_spread in
	 * all, and again from the first; see session/spread.h */
	struct weft_comm **spread;
	uint64_t spread_of; /* of such a communicator: handle of the
			       communicator it belongs to; else 0 */
	struct weft_match match;
	struct weft_comm_p2p p2p;
	struct weft_comm_coll coll;
	struct weft_comm_ctl ctl;
	uint32_t refs;
	uint64_t failed; /* process number of a failed member, + 1 */
	int coll_err; /* error of a collective here: messages of other members
			 for it, or for a later one, are left over */
	struct weft_child child;  /* in its session's list */
	struct weft_comm *local;  /* inter: the local intracommunicator */
	struct weft_bsend *bsend; /* attached buffer; see p2p.h */
	char name[WEFT_COMM_NAME_MAX];
	char tag[64]; /* string tag it was created with, truncated */
	/* attached by the room that defines it: core/attr.c, core/info.c,
	 * core/errh.c, mpi/mpi_topo.c; the window or file that owns this
	 * communicator */
	struct weft_win *win;
	struct weft_file *file;
	struct weft_attrs *attrs;
	struct weft_info *info;
	struct weft_errh *errh;
	struct weft_topo_attached *topo;
};

extern struct weft_table weft_comms;

/* Creates a communicator over groups, to which the caller keeps its own
 * references; remote is NULL for an intracommunicator. Registers ctx with the
 * VCI, so that messages that arrived early are matched now. The caller owns one
 * reference. VCI's lock held. */
int weft_comm_create(struct weft_vci *vci, uint64_t ctx,
	struct weft_group *group, struct weft_group *remote,
	struct weft_comm **comm_out);

/* VCI's lock held. */
static inline struct weft_comm *weft_comm_get(struct weft_comm *comm)
{
	comm->refs++;
	return comm;
}

/* The communicator with a handle that this one belongs to (see spread_of);
 * itself if it has a handle; NULL once the former was freed. */
static inline struct weft_comm *weft_comm_whole(struct weft_comm *comm)
{
	return weft_likely(!comm->spread_of)
		       ? comm
		       : weft_table_get(&weft_comms, comm->spread_of);
}

/* What weft_comm_put() does with the last reference. */
void weft_comm_destroy(struct weft_comm *comm);

/* Drops a reference; the last one destroys. VCI's lock held. */
static inline void weft_comm_put(struct weft_comm *comm)
{
	if (--comm->refs == 0)
		weft_comm_destroy(comm);
}

/* A process failed: records it if it is a member of either group, also in the
 * local communicator. Returns true if the communicator has a failed member.
 * VCI's lock held. */
bool weft_comm_note_failed(struct weft_comm *comm, uint64_t proc);

/* Label of a communicator in messages: its name, else its string tag, else
 * "without a name". Valid while the communicator lives. */
const char *weft_comm_label(const struct weft_comm *comm);

/* Describes the error of an operation that needs a failed member: the rank, the
 * communicator, window or file, and how the process ended. The first names the
 * member in comm->failed, the second this rank of the group that sends go to.
 * Both require a failed member. VCI's lock held. */
int weft_comm_failed(const struct weft_comm *comm);
int weft_comm_failed_rank(const struct weft_comm *comm, int32_t rank);

/* Returns err. A WEFT_ERR_PEER that was described for another object, or not at
 * all, is described by weft_comm_failed(), or by the member that the other
 * description names if no failure is known here. Takes the VCI's lock. */
int weft_comm_explain(const struct weft_comm *comm, int err);

/* Stops arrivals: removes ctx from the VCI's table. VCI's lock held. */
void weft_comm_close(struct weft_comm *comm);

/* Slow path of weft_comm_peer: creates the peer. */
struct weft_peer *weft_comm_peer_new(struct weft_comm *comm, uint32_t rank);

/* The peer that sends to `rank` go to (remote group); rank must be in range.
 * NULL when out of memory. VCI's lock held. */
static inline struct weft_peer *weft_comm_peer(
	struct weft_comm *comm, uint32_t rank)
{
	struct weft_peer **chunk = comm->peers[rank / WEFT_COMM_PEERS];
	struct weft_peer *peer = chunk ? chunk[rank % WEFT_COMM_PEERS] : NULL;

	return weft_likely(peer) ? peer : weft_comm_peer_new(comm, rank);
}

#endif
