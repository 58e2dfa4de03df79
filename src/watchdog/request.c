/* SPDX-License-Identifier: BSD-3-Clause */
/* request: a call that waits for a request */
#include "watchdog/request.h"

#include "base/clock.h"
#include "core/comm.h"
#include "core/progress.h"
#include "core/req.h"
#include "watchdog/wait.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	ROUNDS_PER_LOOK = 64, /* at the clock */
	REGISTER_NS = 100000000,
};

static const char *label_of(const struct weft_comm *comm)
{
	if (comm->name[0])
		return comm->name;
	return comm->tag[0] ? comm->tag : "without a name";
}

static void describe_message(const struct weft_req *req, char *buf, size_t len)
{
	const char *way = req->kind == WEFT_REQ_RECV ? "from" : "to";
	enum weft_plane plane = (enum weft_plane)(req->ctx % WEFT_PLANE_END);
	char rank[24] = "any source", tag[24] = "any tag";

	if (req->src >= 0)
		snprintf(rank, sizeof(rank), "rank %d", (int)req->src);
	if (req->tag >= 0)
		snprintf(tag, sizeof(tag), "tag %d", (int)req->tag);
	if (plane == WEFT_PLANE_P2P)
		snprintf(buf, len, "%s %s, %s, of communicator \"%.40s\"", way,
			rank, tag, label_of(req->comm));
	else
		snprintf(buf, len, "%s %s, of communicator \"%.40s\"", way,
			rank, label_of(req->comm));
}

void weft_request_describe(const struct weft_req *req, char *buf, size_t len)
{
	if (req->kind == WEFT_REQ_RECV || req->kind == WEFT_REQ_SEND)
		describe_message(req, buf, len);
	else if (req->comm)
		snprintf(buf, len, "of communicator \"%.40s\"",
			label_of(req->comm));
	else
		snprintf(buf, len, "for a request");
}

/* What is waited in, where the caller does not say. */
static const char *call_of(const struct weft_req *req)
{
	if (req->kind == WEFT_REQ_COLL ||
		(req->comm && req->ctx % WEFT_PLANE_END == WEFT_PLANE_COLL))
		return "a collective";
	if (req->kind == WEFT_REQ_RECV)
		return "MPI_Recv";
	return req->kind == WEFT_REQ_SEND ? "MPI_Send" : "MPI_Wait";
}

static struct weft_wait *enter(
	const struct weft_req *req, const char *call, uint64_t begun_ns)
{
	struct weft_wait *wait = calloc(1, sizeof(*wait));
	char what[WEFT_WAIT_TEXT / 2], text[WEFT_WAIT_TEXT];

	if (!wait)
		return NULL;
	weft_request_describe(req, what, sizeof(what));
	snprintf(text, sizeof(text), "in %s %s", call ? call : call_of(req),
		what);
	weft_wait_begin(wait, text, begun_ns);
	return wait;
}

void weft_request_wait(
	struct weft_lane *lane, struct weft_req *req, const char *call)
{
	struct weft_wait *wait = NULL;
	uint64_t begun_ns = weft_now_ns();
	uint32_t n = 0;

	while (!req->is_done) {
		weft_progress_wait(lane);
		if (++n % ROUNDS_PER_LOOK == 0 && !wait &&
			weft_now_ns() - begun_ns > REGISTER_NS)
			wait = enter(req, call, begun_ns);
	}
	if (wait)
		weft_wait_end(wait);
	free(wait);
}
