/* SPDX-License-Identifier: BSD-3-Clause */
/* blame: what a communicator was left with, said, and whose fault it is */
#include "session/blame.h"

#include "base/err.h"
#include "base/log.h"
#include "core/status.h"
#include "p2p/p2p.h"

#include <stdio.h>
#include <string.h>

enum {
	SHOWN = 8, /* of one communicator */
	SHOWN_COMMS = 8,
	SHOWN_DONE = 3,
	ITEM_TEXT = 160,
};

struct found {
	struct weft_comm *comm;
	bool is_sure;
	bool is_said;
	uint32_t n;
	struct weft_blame *blame;
};

/* "rank 3, tag 7" */
static void print_who(const struct weft_left *left, char *buf, size_t len)
{
	char rank[24] = "any rank", tag[24] = "any tag";

	if (left->rank != WEFT_ANY_SOURCE)
		snprintf(rank, sizeof(rank), "rank %d", (int)left->rank);
	if (left->tag != WEFT_ANY_TAG)
		snprintf(tag, sizeof(tag), "tag %d", (int)left->tag);
	snprintf(buf, len, "%s, %s", rank, tag);
}

/* "rank 3, tag 7 (64 bytes)" */
static void print_end(const struct weft_left *left, char *buf, size_t len)
{
	char who[56];

	print_who(left, who, sizeof(who));
	snprintf(buf, len, "%s (%llu bytes)", who,
		(unsigned long long)left->len);
}

static void leak_print(const struct weft_left *left, char buf[ITEM_TEXT])
{
	char end[88];

	print_end(left, end, sizeof(end));
	switch (left->kind) {
	case WEFT_LEFT_RECV:
		snprintf(
			buf, ITEM_TEXT, "a receive from %s never matched", end);
		break;
	case WEFT_LEFT_ACTIVE:
		snprintf(buf, ITEM_TEXT,
			"a persistent %s %s started and not completed",
			left->is_send ? "send to" : "receive from", end);
		break;
	case WEFT_LEFT_MESSAGE:
		snprintf(buf, ITEM_TEXT, "a message from %s never received",
			end);
		break;
	case WEFT_LEFT_HANDLE:
		snprintf(buf, ITEM_TEXT,
			"a probed message from %s whose handle was never "
			"received",
			end);
		break;
	case WEFT_LEFT_PARTITION:
		snprintf(buf, ITEM_TEXT,
			"a partition from rank %d (%llu bytes) never received",
			(int)left->rank, (unsigned long long)left->len);
		break;
	case WEFT_LEFT_SEND:
	case WEFT_LEFT_BUFFERED:
		snprintf(buf, ITEM_TEXT,
			"a %ssend to %s that its receiver left without "
			"receiving",
			left->kind == WEFT_LEFT_BUFFERED ? "buffered " : "",
			end);
		break;
	case WEFT_LEFT_COLL:
		snprintf(buf, ITEM_TEXT,
			"a collective operation started and not completed");
		break;
	default:
		snprintf(buf, ITEM_TEXT,
			"data from rank %d of a collective operation this "
			"process did not complete",
			(int)left->rank);
	}
}

/* The first few are named. Of a message that has left nobody keeps the length.
 */
static void note_done(const struct weft_left *left,
	const struct weft_comm *comm, struct weft_blame *blame)
{
	size_t at = strlen(blame->done);
	char who[56];

	if (blame->n_done++ >= SHOWN_DONE)
		return;
	print_who(left, who, sizeof(who));
	snprintf(blame->done + at, sizeof(blame->done) - at,
		"%s%s %s on communicator \"%.40s\"", at ? "; " : "",
		left->is_send ? "a send to" : "a receive from", who,
		comm->name[0] ? comm->name : comm->tag);
}

static void leak_find(const struct weft_left *left, void *arg)
{
	struct found *f = arg;
	struct weft_comm *comm = f->comm;
	const char *name = comm->name[0] ? comm->name : comm->tag;
	char item[ITEM_TEXT];

	if (left->kind == WEFT_LEFT_DONE) {
		note_done(left, comm, f->blame);
		return;
	}
	leak_print(left, item);
	if (f->n++ < SHOWN && f->is_said)
		weft_log_warn("SESSION-LEFT",
			"communicator \"%s\" (string tag \"%s\", rank %d of "
			"%d) closes with %s",
			name, comm->tag, (int)comm->rank, (int)comm->size,
			item);
	/* a buffered send is over for its caller */
	if (!f->is_sure || left->kind == WEFT_LEFT_BUFFERED)
		return;
	if (f->blame->n++ == 0)
		snprintf(f->blame->text, WEFT_BLAME_TEXT,
			"communicator \"%.40s\" closes with %s", name, item);
}

/* What comes after the things themselves. */
static void say_rest(const struct found *f)
{
	const struct weft_comm *comm = f->comm;
	const char *name = comm->name[0] ? comm->name : comm->tag;

	if (f->n > SHOWN)
		weft_log_warn("SESSION-LEFT",
			"communicator \"%s\" closes with %u more such things",
			name, f->n - SHOWN);
}

void weft_blame_comm(
	struct weft_comm *comm, bool is_sure, struct weft_blame *blame)
{
	struct found f = {
		.comm = comm,
		.is_sure = is_sure,
		.is_said = blame->n_comms < SHOWN_COMMS,
		.blame = blame,
	};

	weft_p2p_left_held(comm, leak_find, &f);
	blame->n_comms += f.n > 0;
	if (f.is_said)
		say_rest(&f);
	else
		blame->n_unsaid += f.n;
}

/* One line for all requests that nobody completed. */
static void say_done(const struct weft_blame *blame)
{
	char more[32] = "";

	if (!blame->n_done)
		return;
	if (blame->n_done > SHOWN_DONE)
		snprintf(more, sizeof(more), "; and %u more",
			blame->n_done - SHOWN_DONE);
	weft_log_warn("SESSION-REQUESTS",
		"%u request%s never completed by MPI_Wait, MPI_Test or one of "
		"their kind, nor freed: %s%s",
		blame->n_done, blame->n_done > 1 ? "s were" : " was",
		blame->done, more);
}

int weft_blame_raise(const struct weft_blame *blame)
{
	char more[32] = "";

	if (blame->n_comms > SHOWN_COMMS)
		weft_log_warn("SESSION-LEFT",
			"%u more communicators close with %u such things",
			blame->n_comms - SHOWN_COMMS, blame->n_unsaid);
	say_done(blame);
	if (!blame->n)
		return 0;
	if (blame->n > 1)
		snprintf(more, sizeof(more), ", and %u more", blame->n - 1);
	return weft_err_set(WEFT_ERR_PENDING, "%s%s", blame->text, more);
}
