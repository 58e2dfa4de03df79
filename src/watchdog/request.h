/* SPDX-License-Identifier: BSD-3-Clause */
/* request: calls that wait for requests, or for a message */
#ifndef WEFT_REQUEST_H
#define WEFT_REQUEST_H

#include "transport/proc.h"
#include "watchdog/wait.h"

struct weft_comm;
struct weft_req;

/* Waits for a request, after weft_req_wait() has polled for some rounds.
 * Returns early if vci->on_wait() ends the wait. VCI's lock held, here and
 * below. */
void weft_request_wait(
	struct weft_vci *vci, struct weft_req *req, const char *call);

/* Sets and returns the name of a procedure of another interface (SHMEM).
 * Reports name it as the call of this thread's waits. NULL: none. */
void weft_request_set_caller(const char *fn);
const char *weft_request_caller(void);

/* Registers the function that ends a request with an error, immediately or soon
 * after, if it can never complete (WEFT_DEADLOCK=error). */
void weft_request_on_stuck(void (*fn)(struct weft_req *req, int err));

/* A loop that waits for requests, a message, members or another event. The
 * owner zeroes the struct and sets the fields above the line. Until the wait is
 * long, 63 of 64 rounds only increment a counter. */
struct weft_request_loop {
	const char *call;
	/* a wait for any of n requests: at() returns request i, or NULL */
	const struct weft_req *(*at)(const void *arg, int i);
	const void *arg;
	int n;
	/* or a wait for a message of this communicator */
	struct weft_comm *comm;
	int32_t rank, tag;
	/* NULL, or a wait for members in the collective with this tag: true for
	 * a member that is missing */
	bool (*is_missing)(const void *arg, int32_t rank);
	/* or a wait for another event, which this text names: "messages in the
	 * buffer to be sent". With at(): the event while at() returns NULL */
	const char *what;
	/* ---- below: only this room ---- */
	uint32_t n_rounds;
	struct weft_request_waiting *waiting;
};

/* Called after each round of progress on a VCI. If the result is not 0, the
 * loop must end with that error. */
int weft_request_round(struct weft_vci *vci, struct weft_request_loop *loop);

/* Ends the registered wait of a loop. */
void weft_request_close(struct weft_request_loop *loop);

/* Ends the loop, registered or not. */
static inline void weft_request_end(struct weft_request_loop *loop)
{
	if (loop->waiting)
		weft_request_close(loop);
}

/* Counts a test or probe that does not wait and has found no completion or
 * message. `loop` describes the call. A thread that makes such calls for long
 * is registered as polling. */
void weft_request_polled(
	struct weft_vci *vci, const struct weft_request_loop *loop);

static inline void weft_request_poll(
	struct weft_vci *vci, const struct weft_request_loop *loop)
{
	if (vci->idle_polls >= weft_proc.max_spin)
		weft_request_polled(vci, loop);
}

/* If the loop ended with an error, sets that error and its description for this
 * thread. Returns the error, or 0. */
int weft_request_raise(const struct weft_request_loop *loop);

#endif
