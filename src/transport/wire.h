/* SPDX-License-Identifier: BSD-3-Clause */
/* wire: every byte that one process sends to another
 *
 * All integers are little-endian (the library refuses to build elsewhere). A
 * message is a struct weft_wire_head, then the struct of its op. A ring slot
 * holds the message in this form. Over a fabric, a struct weft_wire_net
 * contains the head. Reserved bytes are zero. Readers use weft_wire_get_*()
 * below, which check the length first. */
#ifndef WEFT_WIRE_H
#define WEFT_WIRE_H

#include "base/bits.h"

#include <assert.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the wire format is little-endian; this host is not"
#endif

enum { WEFT_WIRE_VERSION = 21 };

enum weft_wire_op {
	WEFT_WIRE_EAGER = 1,  /* payload follows */
	WEFT_WIRE_RTS,	      /* weft_wire_rts: data waits at the sender */
	WEFT_WIRE_CTS,	      /* weft_wire_cts: the receive is posted; the
				 sender may send the data */
	WEFT_WIRE_FRAG,	      /* weft_wire_frag, then data: shared memory, or a
				 segment that a broken connection may have lost
			       */
	WEFT_WIRE_FIN,	      /* weft_wire_fin: all data received, or the
				 message is lost */
	WEFT_WIRE_CREDIT,     /* carries only the credit of its head */
	WEFT_WIRE_CANCEL,     /* weft_wire_fin: cancels a send; if the flag
				 WEFT_WIRE_IS_EAGER is set, head.number
				 identifies the message */
	WEFT_WIRE_CANCEL_ACK, /* weft_wire_fin: its status is the result */
	WEFT_WIRE_PING,	      /* weft_wire_fin: requests a PONG */
	WEFT_WIRE_PONG,	      /* weft_wire_fin: all messages before the PING
				 have arrived */
	WEFT_WIRE_CREATE,     /* weft_wire_create, then the string tag */
	WEFT_WIRE_QUERY,      /* weft_wire_query: queries the need of a wait */
	WEFT_WIRE_ANSWER,     /* weft_wire_answer, then len bytes of text */
	WEFT_WIRE_GRAPH,      /* weft_wire_graph, then edges and text */
	WEFT_WIRE_RMA,	      /* weft_wire_am records with their data: accesses
				 to symmetric memory */
	WEFT_WIRE_RMA_REPLY,  /* weft_wire_am_reply records with their data */
	WEFT_WIRE_CONNECT,    /* weft_wire_connect, then the sender's struct
			       weft_vci_card */
	WEFT_WIRE_COLL_ERROR, /* weft_wire_failed, then its text: replaces a
				 message of a collective that cannot be sent */
	WEFT_WIRE_DEPARTED,   /* weft_wire_departed: the sender sends no more
				 messages on this communicator */
	WEFT_WIRE_WIN,	      /* weft_wire_am records with their data: accesses
				 to the window of this context */
	WEFT_WIRE_WIN_REPLY,  /* weft_wire_am_reply records with their data */
	WEFT_WIRE_BC,	  /* the sender's business card, as it is published */
	WEFT_WIRE_BATCH,  /* weft_wire_record records with their data: each
			     record is a message, in order */
	WEFT_WIRE_HELP,	  /* weft_wire_help: the sender of an RTS may copy
			     pieces of its data; head.tag is the copy's number
			     (shared memory) */
	WEFT_WIRE_HELPED, /* weft_wire_fin: the sender has written its pieces;
			     status is the index + 1 of a piece that could not
			     be written, or 0 */
	WEFT_WIRE_EXIT,	  /* the job ends without a fault; the receiver exits */
	WEFT_WIRE_REVOKE, /* the communicator of this context is revoked */
	WEFT_WIRE_ERA,	  /* weft_wire_era, then the dead ranks: a message of an
			     agreement among the members of the context */
	WEFT_WIRE_EXCLUDED, /* the sender treats the receiver as failed; the
			       receiver does not check its number */
	WEFT_WIRE_ACK, /* has no number of its own: weft_wire_net.number is that
			  of the sender's last message; head.tag is the number
			  of the last message that the sender has received;
			  flags: enum weft_wire_ack; see resend.c */
	WEFT_WIRE_WATCH, /* requests DEPARTED or REVOKE, if the receiver has
			    departed from the communicator; has no number of its
			    own, and may be lost */
	WEFT_WIRE_OP_END,
};

enum weft_wire_flag {
	WEFT_WIRE_IS_EAGER = 1, /* CANCEL: the message to cancel is eager */
	/* RTS: the sender will not cancel the send. CANCEL: the message does
	 * not cancel the send. It states that the sender will not cancel it,
	 * because the sender is in disconnect. */
	WEFT_WIRE_IS_UNCANCELLABLE = 2,
	/* EXCLUDED: the sender, or the receiver, is the second process with its
	 * rank, and the other process has a connection to the first one */
	WEFT_WIRE_IS_SECOND = 4,
	WEFT_WIRE_YOU_ARE_SECOND = 8,
	/* RTS: a weft_wire_device follows; only between processes of one node
	 */
	WEFT_WIRE_IS_DEVICE = 16,
	/* CTS: the sender of the CTS cannot map device memory of the receiver;
	 * the receiver copies its device memory to host memory from now on */
	WEFT_WIRE_CANNOT_MAP = 32,
	/* CTS over a fabric: both processes divide the data into short
	 * segments, which pass through host memory; see rndv_seg.c */
	WEFT_WIRE_SHORT_SEGS = 64,
	/* QUERY: has no number and may be lost, as WATCH, because the receiver
	 * may have exited */
	WEFT_WIRE_MAY_BE_LOST = 128,
};

/* Flags of an ACK. */
enum weft_wire_ack {
	WEFT_WIRE_ACK_LOST = 1,	 /* later messages are lost: the receiver sends
				    them again */
	WEFT_WIRE_ACK_PROBE = 2, /* the receiver answers with an ACK */
};

/* Status of a FIN. */
enum weft_wire_end {
	WEFT_WIRE_DELIVERED,
	WEFT_WIRE_DATA_FAILED, /* the sender of the FIN could not send or
				* receive the data
				*/
	WEFT_WIRE_PROC_FAILED, /* or a higher value: a member of the
				  communicator has died; the value is this
				  constant + its process number + 1 */
};

/* A further status of a FIN: the receiver's communicator is revoked. */
#define WEFT_WIRE_REVOKED UINT64_MAX

/* Status of a CANCEL_ACK. */
enum weft_wire_cancelled {
	WEFT_WIRE_TOO_LATE,
	WEFT_WIRE_WITHDRAWN,
	WEFT_WIRE_REFUSED, /* or a higher value: the receiver is in disconnect
			      and will not receive the message; the value is
			      this constant - the error (less than 0, or 0) of
			      a collective at the receiver */
};

/* The message spaces of a communicator; the low bits of the context. */
enum weft_ctx_offset {
	WEFT_CTX_OFFSET_P2P = 0,
	WEFT_CTX_OFFSET_COLL = 1,
	WEFT_CTX_OFFSET_CTL = 2,  /* creation and closing of communicators */
	WEFT_CTX_OFFSET_PART = 3, /* partitioned communication */
	WEFT_CTX_OFFSET_END = 4,
};

/* Control messages with a tag in this range are between two members and concern
 * no other member. */
enum { WEFT_TAG_PAIR = 0x40000000, WEFT_TAG_PAIR_END = 0x60000000 };

/* In the context of collectives, the low bits of a tag are the number of the
 * collective on the communicator, and the high bits its kind. From the kind,
 * members detect calls of different collectives. */
enum {
	WEFT_TAG_COLL_SHIFT = 26,
	/* bit of the number: a persistent collective, whose tag must differ
	 * from those of all later collectives */
	WEFT_TAG_COLL_PERSISTENT = 1 << (WEFT_TAG_COLL_SHIFT - 1),
	WEFT_TAG_COLL_NUMBER = WEFT_TAG_COLL_PERSISTENT - 1,
};

struct weft_wire_head {
	uint8_t op;
	uint8_t flags;
	uint16_t number; /* EAGER: number of this message among the eager
			    messages to the receiver; CANCEL: number of the
			    message to cancel */
	uint32_t src;	 /* sender's rank in the communicator */
	uint64_t ctx;	 /* communicator's context id + offset */
	int32_t tag;
	uint32_t credit; /* eager bytes that the receiver of this message may
			    send in addition */
};
static_assert(sizeof(struct weft_wire_head) == 24, "wire layout");

/* True if a message over a fabric has no number, and may be lost. */
static inline bool weft_wire_may_be_lost(const struct weft_wire_head *head)
{
	return head->op == WEFT_WIRE_WATCH ||
	       (head->op == WEFT_WIRE_QUERY &&
		       (head->flags & WEFT_WIRE_MAY_BE_LOST));
}

/* The header of each message over a fabric. The cookie is a keyed hash of the
 * addresses of both VCIs. Its key is the receiver's, which only members of the
 * job can fetch; other jobs have a second key (foreign.h). src_proc is the
 * address of the sender's VCI. The receiver drops a message with another
 * cookie. The number increases with each message from a sender to a receiver.
 * The receiver drops a message whose number does not increase, because it is a
 * repetition. */
struct weft_wire_net {
	uint8_t version;
	uint8_t reserved[3];
	uint32_t number;
	uint64_t src_proc;
	uint64_t cookie;
	struct weft_wire_head head;
};
static_assert(sizeof(struct weft_wire_net) == 48, "wire layout");

/* One of several EAGER messages in a BATCH, with its head. Its data follows,
 * padded to 8 bytes. */
struct weft_wire_record {
	struct weft_wire_head head;
	uint32_t len; /* length of the data in bytes */
	uint32_t reserved;
};
static_assert(sizeof(struct weft_wire_record) == 32, "wire layout");

struct weft_wire_rts {
	uint64_t sreq; /* sender's request */
	uint64_t len;
	uint64_t addr; /* address of the data in the sender; 0: the receiver
			  cannot read the data, or, over a fabric, the sender
			  copies each segment from device memory */
};
static_assert(sizeof(struct weft_wire_rts) == 24, "wire layout");

/* Follows an RTS with the flag IS_DEVICE, whose addr is 0: the data is in
 * device memory of the sender, from byte `offset` of an allocation on. */
struct weft_wire_device {
	uint8_t handle[64]; /* the driver's IPC handle of the allocation */
	uint64_t base;	    /* its address in the sender */
	uint64_t size;	    /* its length in bytes */
	uint64_t id;	    /* unique among the sender's allocations */
	uint64_t offset;
};
static_assert(sizeof(struct weft_wire_device) == 96, "wire layout");

struct weft_wire_cts {
	uint64_t sreq;
	uint64_t rreq;	  /* receiver's request; tag of the bulk data */
	uint64_t len;	  /* bytes to send; less than the RTS offers if the
			     receive truncates the message */
	uint64_t n_rails; /* rails that carry the data, except the first */
};
static_assert(sizeof(struct weft_wire_cts) == 32, "wire layout");

struct weft_wire_frag {
	uint64_t rreq;
	uint64_t offset;
};
static_assert(sizeof(struct weft_wire_frag) == 16, "wire layout");

struct weft_wire_fin {
	uint64_t req;
	uint64_t status; /* FIN: enum weft_wire_end; CANCEL_ACK: enum
			    weft_wire_cancelled */
};
static_assert(sizeof(struct weft_wire_fin) == 16, "wire layout");

struct weft_wire_help {
	uint64_t sreq;
	uint64_t rreq; /* receiver's request */
	uint64_t addr; /* address of the buffer in the receiver */
	uint64_t len;  /* bytes to copy */
};
static_assert(sizeof(struct weft_wire_help) == 32, "wire layout");

/* Payload of COLL_ERROR: the matching receive completes with this error. */
struct weft_wire_failed {
	int32_t err;  /* enum weft_err */
	uint32_t len; /* length of the text that follows, which names the error
			 and the process */
	uint64_t failed; /* process number + 1 of a failed process; 0: none */
};
static_assert(sizeof(struct weft_wire_failed) == 16, "wire layout");

enum { WEFT_WIRE_FAILED_TEXT = 200 };

/* Sent by a member that departs before the other members. */
struct weft_wire_departed {
	uint64_t failed; /* process number + 1 of a failed process; 0: none */
};
static_assert(sizeof(struct weft_wire_departed) == 8, "wire layout");

/* Flags of weft_wire_create.ctx, in the offset bits of the context id; see
 * comm/create.c. */
enum {
	WEFT_WIRE_HAS_VCIS = 1, /* a round with the next id follows; see
				   comm/ep_exchange.c */
	WEFT_WIRE_NO_COMM = 2,	/* the sender refuses the creation; the id is 0
				   if the sender does not know it */
};

/* Names a communicator to create from a group; see comm/create.c. */
struct weft_wire_create {
	uint64_t key[2]; /* hash of the member list and the string tag */
	uint64_t ctx;	 /* context id, plus WEFT_WIRE_HAS_VCIS or
			    WEFT_WIRE_NO_COMM */
	uint64_t failed; /* NO_COMM: process number + 1 of a failed member; 0:
			    the sender has no memory */
	uint32_t size;	 /* number of members */
	uint32_t len;	 /* length of the string tag that follows */
};
static_assert(sizeof(struct weft_wire_create) == 40, "wire layout");

/* A call that has waited for long queries the processes for which it waits; see
 * src/watchdog. The need of a query is the action of the receiver that would
 * end the wait. */
enum weft_wire_need {
	WEFT_WIRE_NEED_LEAVE,  /* leave (disconnect) the context `what` */
	WEFT_WIRE_NEED_CREATE, /* forward a creation (CREATE); the sender has
				  received `what` of them */
	WEFT_WIRE_NEED_ROUND,  /* begin round `round` of the context `what` */
	WEFT_WIRE_NEED_ENDPOINTS, /* join the creation whose members agree on
				     VCIs in the context `what` */
	WEFT_WIRE_NEED_SIDE, /* create intercommunicator number `round` of the
				local communicator `what` */
	WEFT_WIRE_NEED_INTERCOMM, /* receive the sender's message with tag
				     `round` as the other leader in the context
				     `what` */
	WEFT_WIRE_NEED_MESSAGE,	  /* send a message with tag `round` in the
				     context `what` */
	WEFT_WIRE_NEED_RECEIVE, /* receive the sender's message with tag `round`
				   in the context `what` */
	WEFT_WIRE_NEED_WINDOW,	/* make an MPI call on the window of the context
				 */
	WEFT_WIRE_NEED_LOCK,	/* release the lock of member `round` of the
				   window, if this process holds it exclusively;
				   the answer of that member names the holder */
	WEFT_WIRE_NEED_AGREE,	/* call agreement number `round` of the members
				   of the context `what` */
	WEFT_WIRE_NEED_NONE,	/* no call: the wait ends by progress alone. The
				   answer is MET */
	WEFT_WIRE_NEED_END,
};

struct weft_wire_query {
	uint64_t epoch; /* number of the sender's wait; the answer returns it */
	uint64_t what;	/* context id or number; see enum weft_wire_need */
	uint16_t need;	/* enum weft_wire_need */
	uint16_t is_flushed; /* LEAVE: the sender sends no more messages in the
				context, and all its earlier messages have
				arrived */
	uint32_t round; /* LEAVE: the error (less than 0) of a collective at the
			   sender, or 0 */
};
static_assert(sizeof(struct weft_wire_query) == 24, "wire layout");

/* Whether this process has met the need of another process's wait. */
enum weft_wire_met {
	WEFT_WIRE_UNMET,
	WEFT_WIRE_MET,	 /* met, or may be met without a call of this process */
	WEFT_WIRE_NEVER, /* can never be met, because of a call that this
			    process has made */
	WEFT_WIRE_MET_END,
};

struct weft_wire_answer {
	uint64_t epoch; /* epoch, what, round, need: as in the query */
	uint64_t what;
	uint32_t round;
	uint16_t need;
	uint8_t met;	/* enum weft_wire_met */
	uint8_t moves;	/* this process makes calls, and none of them waits */
	uint64_t wait;	/* epoch of the wait of this process; 0: none */
	uint32_t owner; /* number of the session that owns the object here;
			   LOCK: rank + 1 of the exclusive holder; 0: none */
	uint32_t len;	/* length of the text that follows, which describes the
			   call of this process */
};
static_assert(sizeof(struct weft_wire_answer) == 40, "wire layout");

/* Messages by which one process (the gatherer) gathers the graph of waiting
 * processes; see watchdog/resolve.h. */
enum weft_wire_graph_kind {
	WEFT_WIRE_GRAPH_QUERY = 1, /* requests the receiver's wait */
	WEFT_WIRE_GRAPH_NODE,	   /* the answer: edges, then text */
	WEFT_WIRE_GRAPH_VERDICT,   /* the receiver's wait can never end: text */
	WEFT_WIRE_GRAPH_ACK,	   /* acknowledges a verdict */
	WEFT_WIRE_GRAPH_CLOSE,	   /* the sender has finished with the graph */
	WEFT_WIRE_GRAPH_END,
};

struct weft_wire_graph {
	uint64_t number;  /* identifies the graph, together with the gatherer */
	uint64_t epoch;	  /* NODE: number of the sender's wait; VERDICT: number
			     of the receiver's wait; 0: none */
	uint16_t kind;	  /* enum weft_wire_graph_kind */
	uint16_t is_sure; /* NODE: the sender can act only after the needs of
			     its edges are met */
	uint16_t n_edges; /* NODE: number of edges that follow */
	uint16_t len;	  /* length of the text that follows */
};
static_assert(sizeof(struct weft_wire_graph) == 24, "wire layout");

enum { WEFT_WIRE_LABEL = 32, WEFT_WIRE_EDGES = 32 };

/* An edge of the graph: the sender waits for process proc. Edges with the same
 * clause number are alternatives: any of those processes can end the wait. */
struct weft_wire_edge {
	uint64_t proc;
	uint64_t epoch; /* number of that process's wait, from its answer */
	uint16_t need;	/* enum weft_wire_need */
	uint16_t clause;
	uint32_t size;		     /* number of members of the communicator or
					window of the wait */
	uint32_t owner;		     /* as in weft_wire_answer */
	uint32_t is_soft;	     /* used in reports, but proves nothing */
	char label[WEFT_WIRE_LABEL]; /* name or string tag of the object */
};
static_assert(sizeof(struct weft_wire_edge) == 64, "wire layout");

/* A request to connect to a port, or the answer to it; see spawn/port.c. */
enum weft_wire_connect_kind {
	WEFT_WIRE_CONNECT_REQUEST = 1,
	WEFT_WIRE_CONNECT_WITHDRAWN, /* the request is cancelled */
	WEFT_WIRE_CONNECT_ACCEPTED,  /* the communicator of both processes
					exists */
	WEFT_WIRE_CONNECT_REFUSED,   /* also the answer to an ACCEPTED that
					arrives after the request has ended */
	WEFT_WIRE_CONNECT_CONFIRMED, /* answers an ACCEPTED that arrives while
					the request is pending */
};

struct weft_wire_connect {
	uint64_t port;
	uint64_t ctx; /* context id of the communicator of both processes; also
			 identifies the request */
	uint32_t kind;
	uint32_t reserved;
};
static_assert(sizeof(struct weft_wire_connect) == 24, "wire layout");

/* Active messages. The target's CPU carries them out in order of arrival.
 * Windows and symmetric memory use one layout; see am/README.md. */
enum weft_wire_am_kind {
	WEFT_WIRE_AM_PUT = 1, /* data: bytes to store */
	WEFT_WIRE_AM_GET,     /* answered with the bytes of the target */
	WEFT_WIRE_AM_FLUSH,   /* answered when all earlier records are done */
	WEFT_WIRE_AM_REGION,  /* answered with the target's registration */
	/* windows */
	WEFT_WIRE_AM_ACC, /* data: elements */
	WEFT_WIRE_AM_CAS, /* data: the value to compare with, then the new
			     value; answered with the previous value */
	/* LONG: the data is a separate message with a tag made from the id */
	WEFT_WIRE_AM_LONG_PUT, /* the origin sends the bytes */
	WEFT_WIRE_AM_LONG_GET, /* the target sends the bytes */
	WEFT_WIRE_AM_LONG_ACC, /* the origin sends the elements */
	WEFT_WIRE_AM_LOCK,     /* answered when the lock is acquired; op: 1 if
				  the lock is exclusive, else 0 */
	WEFT_WIRE_AM_UNLOCK,   /* answered when all earlier records are done and
				  the lock is released; op: as for LOCK */
	WEFT_WIRE_AM_POST,     /* MPI_Win_post */
	WEFT_WIRE_AM_COMPLETE, /* MPI_Win_complete, after all earlier records */
	/* symmetric memory */
	WEFT_WIRE_AM_AMO, /* data: value, condition; 8 bytes each */
	WEFT_WIRE_AM_KIND_END,
};

enum {
	WEFT_WIRE_AM_RUNS = 0x80, /* flag of kind: the whole struct is sent */
	/* flag of op: the previous elements are returned */
	WEFT_WIRE_AM_FETCHES = 0x80,
	/* flag of op: disp is an offset in the program's variables, not in the
	 * symmetric heap */
	WEFT_WIRE_AM_VARIABLES = 0x40,
	/* bytes of several runs together, at most */
	WEFT_WIRE_AM_RUNS_MAX = 1 << 18,
};

/* One active message; its data follows, padded to 8 bytes. The head's src is
 * the origin. Without RUNS only the fields down to disp are sent. */
struct weft_wire_am {
	uint8_t kind;
	uint8_t op; /* elements: enum weft_redop_builtin; AMO: enum weft_amo_op
		     */
	uint16_t type; /* elements: ABI value of the predefined type; AMO, PUT
			  and GET without RUNS: bytes */
	uint32_t id;   /* the answer returns it; 0: at most an error is
			  answered */
	int64_t disp;  /* window: in displacement units of the target; dynamic
			  window: an address; symmetric memory: an offset */
	/* the following fields are sent only with RUNS */
	int64_t at;   /* offset of the first run from disp, in bytes */
	uint64_t n;   /* bytes or elements of a run */
	uint64_t pos; /* position of the record's data in the whole access; the
			 answer returns it */
	uint64_t n_runs;
	int64_t stride; /* bytes from one run to the next */
};
static_assert(sizeof(struct weft_wire_am) == 56, "wire layout");

/* The answer to one active message. Its data follows, padded to 8 bytes. One
 * message may have several answers. */
struct weft_wire_am_reply {
	uint32_t id;  /* id of the active message; may be 0 */
	int16_t err;  /* enum weft_err; if not 0, the data is its text */
	uint16_t len; /* length of the data */
	uint64_t pos; /* position of the data in the whole access */
};
static_assert(sizeof(struct weft_wire_am_reply) == 16, "wire layout");

/* The answer of a window's member to REGION: its memory, and the key by which
 * the fabric accesses that memory. */
struct weft_wire_win_region {
	uint64_t size;
	int64_t disp_unit;
	uint64_t remote, key; /* base and key of the memory in the fabric */
	uint32_t name_len;    /* length of the member's fabric address in name;
				 0: the memory is accessed by active messages
				 only */
	uint32_t reserved;
	uint8_t name[512];
};
static_assert(sizeof(struct weft_wire_win_region) == 552, "wire layout");

/* Early-returning agreement; see src/era. */
enum weft_wire_era_kind {
	WEFT_WIRE_ERA_UP = 1, /* the combined value of the sender and of the
				 members below it in the tree, or a decision
				 that one of these members has */
	WEFT_WIRE_ERA_DOWN,   /* the decision */
	WEFT_WIRE_ERA_ASK,    /* requests an UP; the value is not significant */
	WEFT_WIRE_ERA_KIND_END,
};

struct weft_wire_era {
	uint32_t seq;	     /* number of the agreement */
	uint16_t kind;	     /* enum weft_wire_era_kind */
	uint16_t is_decided; /* the value is a decision */
	uint64_t flag;	     /* flag, word, kinds: the value; see era/era.h */
	uint64_t word;
	uint32_t n_dead; /* 32-bit words that follow: one for each dead rank, in
			    ascending order */
	uint32_t kinds;
};
static_assert(sizeof(struct weft_wire_era) == 32, "wire layout");

/* The low bits of a word of a dead rank. The rank is shifted above these bits
 * by WEFT_WIRE_ERA_SHIFT. */
enum {
	WEFT_WIRE_ERA_FAILED = 1, /* the failure is part of the decision */
	WEFT_WIRE_ERA_ACKED = 2,  /* all members whose values are combined have
				     acknowledged the failure */
	WEFT_WIRE_ERA_SHIFT = 2,
};

/* Copies a struct of fixed length from the beginning of a payload. False if the
 * payload is shorter than the struct. */
#define WEFT_WIRE_GETTER(name)                                              \
	static inline bool weft_wire_get_##name(                            \
		struct weft_wire_##name *out, const void *data, size_t len) \
	{                                                                   \
		if (len < sizeof(*out))                                     \
			return false;                                       \
		memcpy(out, data, sizeof(*out));                            \
		return true;                                                \
	}
WEFT_WIRE_GETTER(net)
WEFT_WIRE_GETTER(record)
WEFT_WIRE_GETTER(rts)
WEFT_WIRE_GETTER(device)
WEFT_WIRE_GETTER(cts)
WEFT_WIRE_GETTER(frag)
WEFT_WIRE_GETTER(help)
WEFT_WIRE_GETTER(fin)
WEFT_WIRE_GETTER(failed)
WEFT_WIRE_GETTER(departed)
WEFT_WIRE_GETTER(create)
WEFT_WIRE_GETTER(query)
WEFT_WIRE_GETTER(answer)
WEFT_WIRE_GETTER(graph)
WEFT_WIRE_GETTER(am_reply)
WEFT_WIRE_GETTER(connect)
WEFT_WIRE_GETTER(era)
#undef WEFT_WIRE_GETTER

#endif
