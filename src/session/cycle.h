/* SPDX-License-Identifier: BSD-3-Clause */
/* cycle: when processes that wait for each other can never go on
 *
 * Pure decisions, no messages: blocked.c carries them. A blocked process waits
 * for ALL of its demands (each communicator it leaves must be left by every
 * other member), so processes are stuck for good exactly when they wait for
 * each other in a ring. A chase goes along the edges, one process to the next:
 *
 *   SEEK     the first process sends one to each process it waits for. Who
 *            has met the demand, or is not blocked, drops it; who is blocked
 *            adds its hop and sends it on to those it waits for.
 *   CONFIRM  a SEEK that comes back to its first process, still in the same
 *            wait, goes round once more: every process is asked to be in the
 *            very wait it was in, with the same demand unmet.
 *   MARK     back again it is proven, and goes round a third time: whoever is
 *            marked ends its call with an error, but not before all are, so
 *            that nobody goes on and ends another's wait without one.
 *   RELEASE  back again all are marked; every process of the ring is told,
 *            and its call ends, unless it stays for another ring (hold.h).
 *   VOID     who drops a CONFIRM tells those it came through, which need not
 *            stay for that ring.
 *
 * Every member of a ring gets its error that way, however long the ring, also
 * where rings share processes and are proven at the same time.
 *
 * Why this accuses no correct program: an edge means that the process behind
 * it cannot return before the process in front of it acts, and the one in front
 * cannot act before its own wait ends. Each edge is looked at later than the
 * one before, and the process behind stays where it is at least until then; so
 * when the last edge is seen, with the first process in its first wait, all
 * hold at that moment. This holds for a process with one thread that can make
 * MPI calls; a process that may have more makes the chase doubtful: then it is
 * said, and nothing else. */
#ifndef WEFT_CYCLE_H
#define WEFT_CYCLE_H

#include "core/wire.h"

#include <stdbool.h>
#include <stddef.h>

/* Longer rings are not looked for: a chase is one message of 24 + 80 bytes a
 * hop, which should fit into an eager one anywhere. */
enum { WEFT_CYCLE_HOPS = 32 };

enum weft_cycle_phase {
	WEFT_CYCLE_SEEK,
	WEFT_CYCLE_CONFIRM,
	WEFT_CYCLE_MARK,
	WEFT_CYCLE_RELEASE,
	WEFT_CYCLE_VOID,
};

enum weft_cycle_kind {
	WEFT_CYCLE_FINALIZE, /* of a session */
	WEFT_CYCLE_WORLD,    /* MPI_Finalize */
	WEFT_CYCLE_DISCONNECT,
	WEFT_CYCLE_CREATE, /* from a group */
	WEFT_CYCLE_DERIVE, /* from a communicator, or its lanes agreed upon */
};

struct weft_cycle {
	struct weft_wire_chase chase;
	struct weft_wire_hop hops[WEFT_CYCLE_HOPS];
};

/* The process that a chase has come to, as far as it matters. */
struct weft_cycle_me {
	uint64_t proc;
	uint64_t epoch; /* of the wait in question; 0: not blocked */
	bool is_alone;	/* no other thread can make MPI calls */
	bool has_done;	/* meets the demand in question, or may yet */
};

enum weft_cycle_step {
	WEFT_CYCLE_DROP,
	WEFT_CYCLE_EXTEND,    /* add my hop, pass it on along my demands */
	WEFT_CYCLE_TO_NEXT,   /* send it to hops[chase.at] */
	WEFT_CYCLE_PROVEN,    /* mark my wait and send it on, unless doubtful */
	WEFT_CYCLE_MARKED,    /* likewise */
	WEFT_CYCLE_ALL,	      /* tell all others; my wait ends with an error */
	WEFT_CYCLE_CONDEMNED, /* my wait ends with an error */
	WEFT_CYCLE_VOIDED,    /* my wait does not stay for this ring */
};

/* The wait this chase is about at process proc (an epoch), or 0 for any. */
uint64_t weft_cycle_wanted(const struct weft_cycle *cycle, uint64_t proc);

/* What proc's predecessor in the chase waits for it to do. NULL when there is
 * none, as once it is proven. */
const struct weft_wire_hop *weft_cycle_behind(const struct weft_cycle *cycle);

/* Takes the step of this process; updates phase, at and is_doubtful. */
enum weft_cycle_step weft_cycle_judge(
	struct weft_cycle *cycle, const struct weft_cycle_me *me);

/* Adds a hop; false when there is no room or the process is in it already. */
bool weft_cycle_extend(
	struct weft_cycle *cycle, const struct weft_wire_hop *hop);

/* True when what came over the wire can be one. */
bool weft_cycle_is_sane(const struct weft_cycle *cycle);

/* One edge, or the whole ring in brief, as text. Returns buf. */
const char *weft_cycle_print_edge(
	const struct weft_cycle *cycle, uint32_t i, char *buf, size_t len);
const char *weft_cycle_print(
	const struct weft_cycle *cycle, char *buf, size_t len);

#endif
