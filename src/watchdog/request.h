/* SPDX-License-Identifier: BSD-3-Clause */
/* request: calls that wait for requests, or for a message */
#ifndef WEFT_REQUEST_H
#define WEFT_REQUEST_H

#include "transport/proc.h"
#include "watchdog/wait.h"

struct weft_comm;
struct weft_req;

/* Goes on waiting for a request after some rounds in vain; for
 * weft_req_wait(). VCI's lock held, here and below. */
void weft_request_wait(
	struct weft_vci *vci, struct weft_req *req, const char *call);

/* Until it is told NULL, all that this thread waits for is part of this
 * procedure of another interface. */
void weft_request_set_caller(const char *fn);

/* From now on fn ends an active request with an error, now or soon, that is
 * proven to wait for ever (WEFT_DEADLOCK=error). */
void weft_request_on_stuck(void (*fn)(struct weft_req *req, int err));

/* A loop that waits for one of several things. Zeroed with what is above the
 * line set; costs a count until it has taken long. */
struct weft_request_loop {
	const char *call;
	/* any of these requests: by handle or place, NULL where none is */
	const struct weft_req *(*at)(const void *arg, int i);
	const void *arg;
	int n;
	/* or a message */
	struct weft_comm *comm;
	int32_t rank, tag;
	/* with this for those members to come to the collective of this tag */
	bool (*is_missing)(const void *arg, int32_t rank);
	/* or something else: "the messages in the buffer to leave" */
	const char *what;
	/* ---- below: only this room ---- */
	uint32_t n_rounds;
	struct weft_request_waiting *waiting;
};

/* After each round of progress on a VCI whose lock is held. Not 0 when the
 * loop is to end with that error. */
int weft_request_round(struct weft_vci *vci, struct weft_request_loop *loop);
void weft_request_close(struct weft_request_loop *loop);

static inline void weft_request_end(struct weft_request_loop *loop)
{
	if (loop->waiting)
		weft_request_close(loop);
}

/* A call that does not wait found nothing, as set in the loop. One that goes on
 * for long is said to poll. VCI's lock held. */
void weft_request_polled(
	struct weft_vci *vci, const struct weft_request_loop *loop);

static inline void weft_request_poll(
	struct weft_vci *vci, const struct weft_request_loop *loop)
{
	if (vci->idle_polls >= weft_proc.max_spin)
		weft_request_polled(vci, loop);
}

/* What the error is described with. */
int weft_request_raise(const struct weft_request_loop *loop);

#endif
