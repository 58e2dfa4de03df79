/* SPDX-License-Identifier: BSD-3-Clause */
/* comm: a communicator as data
 *
 * Made by comm/create.c, left by comm/disconnect.c. Its owner is the
 * session it was derived from (through weft_child); requests hold references,
 * so that MPI_Comm_free with operations pending is harmless. Guarded by the
 * VCI's lock, except what never changes once made (ctx, rank, sizes,
 * groups). */
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
	WEFT_COMM_FREED,  /* handle gone; closes in the background */
	WEFT_COMM_CLOSED, /* nothing more arrives */
};

enum { WEFT_COMM_NAME_MAX = 128, WEFT_COMM_PEERS = 256 };

/* What other rooms have in a communicator; only they look at it, but that what
 * is allocated goes with the communicator. By value, since every message or
 * collective reads it. */

struct weft_coll_choice { /* only coll_algo.c: of a case, when nodes were so */
	const struct weft_coll_algo *algo;
	const struct weft_nodes *nodes;
	int64_t bytes;
	int32_t n;
	uint8_t kind, flags;
};

struct weft_comm_coll { /* src/coll */
	uint32_t seq;	/* number of the next collective, which is its tag */
	struct weft_coll_choice choices[4]; /* by kind % 4, the last */
	bool is_settled; /* its nodes, and who has a segment, are known */
	struct weft_nodes *nodes;      /* one block, or NULL */
	bool is_edges_settled;	       /* neighbours on other nodes are known */
	struct weft_coll_edges *edges; /* one block, or NULL */
	struct weft_coll_shm *shm; /* my node's segment; one block, or NULL */
	char *map;		   /* where it is mapped */
	size_t map_len;
};

struct weft_comm_ctl { /* src/comm, on the control context */
	uint32_t seq;  /* number of the next round, or collective, of ours */
	uint32_t n_intercomms; /* begun with it as local one */
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
	uint64_t ctx;	     /* a multiple of WEFT_CTX_OFFSET_END, unique in
				the job */
	int32_t rank;	     /* mine, in the local group */
	int32_t size;	     /* of the local group */
	int32_t remote_size; /* of the group sends go to */
	bool is_inter;
	bool is_disconnected; /* or its session is over: persistent requests
				 may not be used any more */
	uint8_t n_spread;     /* VCIs it is on; 0: only its own */
	enum weft_comm_state state;
	struct weft_group *group;  /* local */
	struct weft_group *remote; /* sends go here; == group if not inter */
	struct weft_peer ***peers; /* [rank / 256][rank % 256], filled on use */
	struct weft_vci *vci;
	uint8_t *vcis; /* of the members, by rank they are sent to at; NULL:
			   all default */
	/* where messages go by their tag, [tag % WEFT_VCIS]: itself, then
	 * communicators of the same members on further VCIs, which no handle
	 * leads to, n_spread in all, and again from the first; see
	 * session/spread.h */
	struct weft_comm **spread;
	uint64_t spread_of; /* one of those: handle of whose it is; else 0 */
	struct weft_match match;
	struct weft_comm_p2p p2p;
	struct weft_comm_coll coll;
	struct weft_comm_ctl ctl;
	uint32_t refs;
	uint64_t failed; /* process number of a member that died, + 1 */
	int coll_err;	 /* what a collective ended with here: what others
			    send for it, or for a later one, is left over */
	struct weft_child child;  /* in its session's list */
	struct weft_comm *local;  /* inter: the local intracommunicator */
	struct weft_bsend *bsend; /* attached buffer; see p2p.h */
	char name[WEFT_COMM_NAME_MAX];
	char tag[64]; /* string tag it was created with, cut */
	/* attached, by whoever defines it: core/attr.c, core/info.c,
	 * core/errh.c, mpi/mpi_topo.c; the window or file whose own it is */
	struct weft_win *win;
	struct weft_file *file;
	struct weft_attrs *attrs;
	struct weft_info *info;
	struct weft_errh *errh;
	struct weft_topo_attached *topo;
};

extern struct weft_table weft_comms;

/* A communicator over groups the caller keeps its own references to; remote
 * is NULL for an intracommunicator. Registers ctx with the VCI, so that
 * messages that came early are matched now. The caller owns one reference.
 * VCI's lock held. */
int weft_comm_create(struct weft_vci *vci, uint64_t ctx,
	struct weft_group *group, struct weft_group *remote,
	struct weft_comm **comm_out);

/* VCI's lock held. */
static inline struct weft_comm *weft_comm_get(struct weft_comm *comm)
{
	comm->refs++;
	return comm;
}

/* The one that a handle leads to, of one that another is spread over; NULL once
 * that was freed. */
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

/* A process died: notes it if it is a member, of either group, also in the
 * local communicator; returns whether one has, by now. VCI's lock held. */
bool weft_comm_note_failed(struct weft_comm *comm, uint64_t proc);

/* The label of a communicator in messages: its name, else the string tag that
 * it was created with, else "without a name". Lent. */
const char *weft_comm_label(const struct weft_comm *comm);

/* The error of an operation that needs a failed member, described: the rank,
 * the communicator, window or file, and what is known of the process. Both
 * need a member that has failed; the first names the one of comm->failed, the
 * second this rank of the group that sends go to. VCI's lock held. */
int weft_comm_failed(const struct weft_comm *comm);
int weft_comm_failed_rank(const struct weft_comm *comm, int32_t rank);

/* Returns err. WEFT_ERR_PEER that was described for another object, or not at
 * all, is described by weft_comm_failed(); or by the member that the other
 * description names, while no failure is known here. Takes the VCI's lock. */
int weft_comm_explain(const struct weft_comm *comm, int err);

/* Stops arrivals: takes ctx out of the VCI's table. VCI's lock held. */
void weft_comm_close(struct weft_comm *comm);

/* Slow path of weft_comm_peer: creates the peer. */
struct weft_peer *weft_comm_peer_new(struct weft_comm *comm, uint32_t rank);

/* The peer sends to `rank` go to (remote group); rank must be in range. NULL
 * when out of memory. VCI's lock held. */
static inline struct weft_peer *weft_comm_peer(
	struct weft_comm *comm, uint32_t rank)
{
	struct weft_peer **chunk = comm->peers[rank / WEFT_COMM_PEERS];
	struct weft_peer *peer = chunk ? chunk[rank % WEFT_COMM_PEERS] : NULL;

	return weft_likely(peer) ? peer : weft_comm_peer_new(comm, rank);
}

#endif
