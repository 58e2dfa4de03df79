/* SPDX-License-Identifier: BSD-3-Clause */
/* am: active messages for one-sided access
 *
 * Windows (src/win) and symmetric memory (src/rma) are the users of this room.
 * They send accesses that the target's CPU executes. This room encodes the
 * records, packs them into messages, numbers the operations that wait for an
 * answer, and matches the answers. The users define the memory that a record
 * addresses, the access to that memory, and the conditions under which a wait
 * ends. README.md has a diagram.
 *
 * Calls need the VCI's lock. Calls that may wait release the lock meanwhile.
 * Some calls need only the lock that guards the channel, which the user
 * chooses:
 * - calls that only read a channel,
 * - weft_am_append(),
 * - weft_am_add() on a channel without gate, if the record fits into its queue.
 *
 * Errors: 0, or a negative enum weft_err described by weft_err_set(). */
#ifndef WEFT_AM_H
#define WEFT_AM_H

#include "base/bits.h"
#include "base/err.h"
#include "base/list.h"
#include "base/map.h"
#include "transport/vci.h"
#include "transport/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_comm;

enum {
	WEFT_AM_HEAD = offsetof(struct weft_wire_am, at),
	WEFT_AM_MAX = 3584, /* bytes of one message: records with their data */
	/* bytes of data of one record or one answer, at most */
	WEFT_AM_DATA_MAX = WEFT_AM_MAX - 2 * sizeof(struct weft_wire_am),
	WEFT_AM_SHORT = 16, /* data of a record that fits a cache line */
};

/* --- origin ----------------------------------------------------------- */

/* The active messages of one user to one target. */
struct weft_am_channel {
	struct weft_am *am;
	uint32_t rank;	      /* rank of the target in am->comm */
	bool is_touched;      /* a record was added since the last record that
				 requests an answer */
	bool is_gated;	      /* pass_gate() precedes each record */
	bool is_posting;      /* a thread posts the queue; others wait */
	struct weft_link ops; /* operations that wait for answers, oldest first
			       */
	uint64_t n_ops;	      /* operations begun so far */
	uint8_t *queue;	      /* owned: the records of the next message */
	uint32_t len;	      /* bytes in the queue */
	uint32_t n_queued;    /* records in the queue */
	int err; /* the first error of an access since the user last set err to
		    0; or 0 */
	char why[160]; /* text of err */
};

/* A function that a wait calls repeatedly; WEFT_AGAIN: the wait continues. */
typedef int weft_am_try_fn(struct weft_am_channel *channel, void *arg);

/* The functions that each user implements. */
struct weft_am_ops {
	const char *posting; /* Names the wait that posts a queue, for error
				texts: "a message to" */
	/* Makes progress and calls fn() until fn() does not return WEFT_AGAIN.
	 * Returns the last result of fn(), or a described error if the wait
	 * cannot end. */
	int (*wait)(struct weft_am_channel *channel, const char *what,
		weft_am_try_fn *fn, void *arg);
	/* Returns and describes the error that the target has failed. */
	int (*failed)(struct weft_am_channel *channel);
	/* Called before each record of a gated channel is appended. It may
	 * append another record first, and may wait. */
	int (*pass_gate)(struct weft_am_channel *channel, uint8_t kind);
};

/* One user: a window, or symmetric memory. */
struct weft_am {
	const struct weft_am_ops *ops;
	struct weft_comm *comm;
	uint8_t request; /* enum weft_wire_op of its messages */
	/* There may be several channels to one target. An answer names the
	 * target but not the channel, so `due` has all operations. */
	bool has_many_channels;
	/* Pending operations by id. Without has_many_channels, the map lacks an
	 * operation that began while no other operation of its channel was
	 * pending. */
	struct weft_map due;
	uint32_t last_id; /* id of the newest operation */
};

struct weft_am_op;
struct weft_am_op_ops {
	/* Stores the data of an answer. Called if op->dest is NULL. */
	void (*take)(struct weft_am_op *op, uint64_t pos, const void *data,
		size_t len);
	/* The operation is complete, or failed with op->err. May be called
	 * twice. */
	void (*end)(struct weft_am_op *op);
	/* The last call for the operation, which the user frees. op->channel is
	 * NULL if the channel was freed. */
	void (*release)(struct weft_am_op *op);
};

/* An operation that waits for answers; part of a struct of the user. */
struct weft_am_op {
	struct weft_link link; /* link in the channel's list `ops` */
	const struct weft_am_op_ops *ops;
	struct weft_am_channel *channel; /* NULL: the channel was freed */
	uint64_t number; /* number of the operation in its channel, from 1 */
	uint32_t id;
	uint32_t n_left;  /* answers or completions that it waits for */
	uint32_t n_holds; /* references, of the call that begins the operation
			     and of posted receives */
	int err;
	bool is_mapped; /* in am->due */
	bool is_fabric; /* posted to the fabric, which always completes it */
	char *dest;	/* where answers store data; NULL: take() stores it */
	uint64_t room;	/* bytes that answers may store */
};

/* Initialises a channel to the target `rank` in am->comm. */
void weft_am_open(
	struct weft_am_channel *channel, struct weft_am *am, uint32_t rank);
/* Ends all pending operations of the channel, and sets their error to err. An
 * operation of the fabric, or with a posted receive, is released later.
 * is_gone: the caller frees the channel afterwards; its operations are unlinked
 * from it. */
void weft_am_forget(struct weft_am_channel *channel, int err, bool is_gone);

/* Ends all pending operations of the channel that wait for answers, and sets
 * their error to err. Operations of the fabric complete later, as they would
 * have. Called when am->comm was revoked: late answers are ignored. */
void weft_am_cancel(struct weft_am_channel *channel, int err);

/* Begins an operation that waits for n_left answers. The caller holds a
 * reference until weft_am_op_begun(). Sets all fields except ops, dest and
 * room. */
int weft_am_op_begin(struct weft_am_channel *channel, struct weft_am_op *op,
	uint32_t n_left);
/* Releases the reference of the caller. If err is not 0, the operation was not
 * sent, and ends with err. */
void weft_am_op_begun(struct weft_am_op *op, int err);
/* Counts n answers that have arrived. err is the error of an answer, or 0. */
void weft_am_op_answered(struct weft_am_op *op, uint32_t n, int err);
/* The operation with this id, or NULL. If channel is NULL, the operation may be
 * of any channel. */
struct weft_am_op *weft_am_op_of(const struct weft_am *am,
	const struct weft_am_channel *channel, uint32_t id);
/* Stores the error of an access, and its text, in the channel, unless an
 * earlier error is stored there. */
void weft_am_refused(
	struct weft_am_channel *channel, int err, const void *text, size_t len);

/* The size in a message of a record and its len bytes of data. */
size_t weft_am_size(const struct weft_wire_am *rec, size_t len);
/* Appends a record to the queue, which has space for it. Returns the address
 * for its len bytes of data, or NULL with an error described. */
uint8_t *weft_am_append(struct weft_am_channel *channel,
	const struct weft_wire_am *rec, size_t len);
static inline bool weft_am_fits(
	const struct weft_am_channel *channel, size_t size)
{
	return size <= WEFT_AM_MAX - channel->len;
}
/* Appends a record like weft_am_append(). If the channel is gated, pass_gate()
 * is called first. If the queue has no space, it is posted first. Returns NULL
 * and sets *err on failure; sets *err to 0 on success. */
uint8_t *weft_am_add(struct weft_am_channel *channel,
	const struct weft_wire_am *rec, size_t len, int *err);
/* Posts the queue, unless it is empty. */
int weft_am_post_queue(struct weft_am_channel *channel);
/* Adds a record without data and posts the queue. */
int weft_am_send(
	struct weft_am_channel *channel, const struct weft_wire_am *rec);
/* Calls fn(). If fn() returns WEFT_AGAIN, waits until it returns another value.
 * `what` names the call that waits; NULL: ops->posting. */
static inline int weft_am_try(struct weft_am_channel *channel, const char *what,
	weft_am_try_fn *fn, void *arg)
{
	const struct weft_am_ops *ops;
	int err = fn(channel, arg);

	if (weft_likely(err != WEFT_AGAIN))
		return err;
	ops = channel->am->ops;
	return ops->wait(channel, what ? what : ops->posting, fn, arg);
}
/* Posts the queue and waits for all operations that began before this call.
 * Returns the error of the post or of the wait, not that of an access. */
int weft_am_wait(struct weft_am_channel *channel, const char *what);

/* Stores the answers of a message from `rank`. channel is the channel to that
 * target, or NULL if there are several. Returns false if the message is
 * malformed.
 */
bool weft_am_take_replies(struct weft_am *am, struct weft_am_channel *channel,
	uint32_t rank, const uint8_t *at, size_t len);

/* --- target ----------------------------------------------------------- */

/* Answers to one message, which are sent as one message if they fit. */
struct weft_am_replies {
	struct weft_comm *comm;
	uint32_t rank; /* rank of the origin */
	uint8_t op;    /* enum weft_wire_op of the message */
	uint32_t len;
	_Alignas(8) uint8_t bytes[WEFT_AM_MAX];
};

static inline void weft_am_replies_init(struct weft_am_replies *replies,
	struct weft_comm *comm, uint32_t rank, enum weft_wire_op op)
{
	replies->comm = comm;
	replies->rank = rank;
	replies->op = (uint8_t)op;
	replies->len = 0;
}

/* Adds the answer to the record with this id: len bytes of data, or a described
 * error. pos is the position of the data in the access. If there is no space,
 * sends the earlier answers first. */
void weft_am_reply(struct weft_am_replies *replies, uint32_t id, uint64_t pos,
	int err, const void *data, size_t len);
/* Sends the answers that were added since the last call, if there are any. */
void weft_am_replies_send(struct weft_am_replies *replies);

/* Removes the next record and its data from the front of a message. Returns
 * false if there is none, or if its size is wrong. */
bool weft_am_next(struct weft_wire_am *rec, const uint8_t **data_out,
	size_t *data_len, const uint8_t **at, size_t *len);

#endif
