/* SPDX-License-Identifier: BSD-3-Clause */
/* era: early-returning agreement among the members of a communicator
 *
 * The protocol is a state machine, which neither sends nor receives by itself.
 * The caller passes three kinds of events to the machine: this member calls an
 * agreement, a message arrives, a member has died. The machine passes the
 * messages to send to the caller. era_comm.c runs a machine for each
 * communicator, and test/unit/era_test.c explores the states of a machine.
 *
 * src/era/README.md describes the protocol. The machine is one block of memory
 * without pointers, so a copy of the block is a copy of the state. It allocates
 * nothing after its creation, and no function blocks. */
#ifndef WEFT_ERA_H
#define WEFT_ERA_H

#include "transport/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_era;

enum { WEFT_ERA_DEAD_MAX = 4000 }; /* dead members that a machine can know */

/* A dead member. The fields have a bit for each of the last agreements. */
struct weft_era_dead {
	uint32_t rank;
	uint8_t failed; /* the decision names it */
	uint8_t acked;	/* all members whose values are combined have
			   acknowledged its failure */
};

/* Dead members, in the order of their ranks. `bit` is the bit of one agreement
 * in the fields of each member. */
struct weft_era_deaths {
	const struct weft_era_dead *at;
	uint32_t n;
	uint8_t bit;
};

/* One message. The deaths are those that the sender knows. They are valid
 * during the call that passes the message. */
struct weft_era_msg {
	enum weft_wire_era_kind kind;
	bool is_decided; /* the value is a decision */
	uint32_t seq;	 /* number of the agreement, from 1 */
	uint64_t flag;
	uint64_t word;
	uint32_t kinds;
	struct weft_era_deaths deaths;
};

/* The value that the members agree on. The deaths are valid until the next
 * event. The failed members are those with the bit in `failed`. */
struct weft_era_value {
	uint64_t flag;	/* bitwise AND of the flags of the members */
	uint64_t word;	/* chosen by the root that decided */
	uint32_t kinds; /* bitwise AND of the kinds of the members */
	struct weft_era_deaths deaths;
	bool is_acked; /* all members have acknowledged all failures */
};

/* The caller's functions. send() sends a message to another member, and must
 * not call the machine. word() is called when this member decides as the root,
 * and returns the word of the decision. */
struct weft_era_ops {
	void (*send)(void *arg, uint32_t to, const struct weft_era_msg *msg);
	uint64_t (*word)(void *arg);
};

/* The size in bytes of a machine for n members. */
size_t weft_era_size(uint32_t n);

/* Initialises weft_era_size(n) bytes, which are all 0, for the member `rank`.
 */
void weft_era_init(struct weft_era *era, uint32_t n, uint32_t rank);

/* Event: this member calls its next agreement. Returns the agreement's number.
 * Returns 0, without a change, if this member has no decision of the previous
 * agreement yet. kinds has the bit of the procedure that the member calls.
 * acked has the n_acked ranks whose failures the member has acknowledged. The
 * machine ignores ranks that it does not know to be dead. */
uint32_t weft_era_start(struct weft_era *era, uint64_t flag, uint32_t kinds,
	const uint32_t *acked, uint32_t n_acked, const struct weft_era_ops *ops,
	void *arg);

/* Event: a message has arrived from another member. Returns false, without a
 * change, if the message is malformed, or if its agreement cannot have begun.
 * Ignores a message of a dead member, or of an agreement that has ended. */
bool weft_era_arrive(struct weft_era *era, uint32_t from,
	const struct weft_era_msg *msg, const struct weft_era_ops *ops,
	void *arg);

/* Event: a member has died. Messages from it are ignored from now on. */
void weft_era_died(struct weft_era *era, uint32_t rank,
	const struct weft_era_ops *ops, void *arg);

/* Sets *value_out to the result of agreement seq. False if this member has no
 * decision of that agreement. The decision is kept until agreement seq + 2
 * begins. */
bool weft_era_result(const struct weft_era *era, uint32_t seq,
	struct weft_era_value *value_out);

/* The number of the last agreement that this member has called; 0: none. */
uint32_t weft_era_seq(const struct weft_era *era);

/* True if more than WEFT_ERA_DEAD_MAX members have died. The machine knows only
 * some of them, so its messages must not be sent. */
bool weft_era_is_full(const struct weft_era *era);

/* True if another member has declared this member dead. This member then
 * receives no further results. */
bool weft_era_is_expelled(const struct weft_era *era);

/* Writes the ranks of the members that this member waits for to ranks, at most
 * max of them. Returns the number of ranks written. */
uint32_t weft_era_awaited(
	const struct weft_era *era, uint32_t *ranks, uint32_t max);

#endif
