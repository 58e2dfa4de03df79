/* SPDX-License-Identifier: BSD-3-Clause */
/* meet: the lanes of a new communicator's members find each other
 *
 * A communicator matches on one lane in each of its processes. It is on the
 * default one everywhere, unless rank 0 made it in a session with a lane of its
 * own: then the members swap how those lanes are reached, in a round on the
 * default lane, and all come to the same conclusion: on their own lanes if
 * every member has one and all run on the same kind of fabric, else on the
 * default one. */
#ifndef WEFT_MEET_H
#define WEFT_MEET_H

#include "core/lane.h"
#include "session/agree.h"
#include "session/session.h"

struct weft_meet {
	bool is_done; /* the round is over; err in agree.err */
	/* below: only meet.c */
	struct weft_agree agree;
	struct weft_lane *lane; /* this process's */
	struct weft_lane_card mine;
	struct weft_comm *comm; /* for the round alone */
	bool is_given_up;
};

/* Starts the round on a communicator with a context id of its own. The session
 * may be NULL: then this process has no lane to offer. Default lane's lock
 * held, here and below. */
int weft_meet_start(struct weft_session *session, struct weft_group *group,
	uint64_t ctx, const char *tag, struct weft_meet **meet_out);

/* The communicator of the round, for reports. */
struct weft_comm *weft_meet_comm(struct weft_meet *meet);

/* Once done: the lane that the communicator shall be on, or the default one,
 * and where the members are reached on it (to be freed; NULL for the default
 * lane). Frees meet. The lock of the default lane is given up for a moment when
 * the lane is another. */
int weft_meet_end(struct weft_meet *meet, struct weft_lane **lane_out,
	uint8_t **lanes_out);

/* For an intercommunicator whose sides both have lanes and swapped the cards
 * (local's, by rank, and the remote group's): where those over there are
 * reached on local's lane (to be freed), or NULL where that cannot be. No lock
 * held. */
int weft_meet_across(const struct weft_comm *local,
	const struct weft_lane_card *mine, const struct weft_group *remote,
	const struct weft_lane_card *theirs, uint8_t **lanes_out);

/* Nobody waits for it any more; it is freed when it is done. */
void weft_meet_give_up(struct weft_meet *meet);

#endif
