/* SPDX-License-Identifier: BSD-3-Clause */
/* leak: reports messages and requests left on a communicator that closes */
#include "comm/leak.h"

#include "base/err.h"
#include "base/log.h"
#include "core/status.h"
#include "p2p/p2p.h"

#include <stdio.h>
#include <string.h>

enum {
	SHOWN = 8,	 /* messages and requests reported per communicator */
	SHOWN_COMMS = 8, /* communicators whose messages are reported */
	SHOWN_DONE = 3,	 /* complete requests that are described */
	ITEM_TEXT = 160, /* bytes of a description */
};

/* The arguments of leak_find(). */
struct found {
	struct weft_comm *comm;
	bool all_closed;  /* see weft_leak_report() */
	bool is_reported; /* the communicator is within SHOWN_COMMS */
	uint32_t n;	  /* messages and requests found so far */
	struct weft_leak *leak;
};

/* Prints the peer, for example "rank 3, tag 7". */
static void print_peer(const struct weft_unmatched *left, char *buf, size_t len)
{
	char rank[24] = "any rank", tag[24] = "any tag";

	if (left->rank != WEFT_ANY_SOURCE)
		snprintf(rank, sizeof(rank), "rank %d", (int)left->rank);
	if (left->tag != WEFT_ANY_TAG)
		snprintf(tag, sizeof(tag), "tag %d", (int)left->tag);
	snprintf(buf, len, "%s, %s", rank, tag);
}

/* Prints the peer and the length, for example "rank 3, tag 7 (64 bytes)". */
static void print_end(const struct weft_unmatched *left, char *buf, size_t len)
{
	char peer_text[56];

	print_peer(left, peer_text, sizeof(peer_text));
	snprintf(buf, len, "%s (%llu bytes)", peer_text,
		(unsigned long long)left->len);
}

static void leak_print(const struct weft_unmatched *left, char buf[ITEM_TEXT])
{
	char end[88];

	print_end(left, end, sizeof(end));
	switch (left->kind) {
	case WEFT_UNMATCHED_RECV:
		snprintf(
			buf, ITEM_TEXT, "a receive from %s never matched", end);
		break;
	case WEFT_UNMATCHED_ACTIVE:
		snprintf(buf, ITEM_TEXT,
			"a persistent %s %s started and not completed",
			left->is_send ? "send to" : "receive from", end);
		break;
	case WEFT_UNMATCHED_MESSAGE:
		snprintf(buf, ITEM_TEXT, "a message from %s never received",
			end);
		break;
	case WEFT_UNMATCHED_HANDLE:
		snprintf(buf, ITEM_TEXT,
			"a probed message from %s whose handle was never "
			"received",
			end);
		break;
	case WEFT_UNMATCHED_PARTITION:
		snprintf(buf, ITEM_TEXT,
			"a partition from rank %d (%llu bytes) never received",
			(int)left->rank, (unsigned long long)left->len);
		break;
	case WEFT_UNMATCHED_SEND:
	case WEFT_UNMATCHED_BUFFERED:
		snprintf(buf, ITEM_TEXT,
			"a %ssend to %s whose receiver closed without "
			"receiving it",
			left->kind == WEFT_UNMATCHED_BUFFERED ? "buffered "
							      : "",
			end);
		break;
	case WEFT_UNMATCHED_COLL:
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

/* Counts a complete request that the program never waited for, and describes
 * the first SHOWN_DONE such requests. The description has no length, because a
 * short send does not record its length. */
static void note_done(const struct weft_unmatched *left,
	const struct weft_comm *comm, struct weft_leak *leak)
{
	size_t at = strlen(leak->done);
	char peer_text[56];

	if (leak->n_done++ >= SHOWN_DONE)
		return;
	print_peer(left, peer_text, sizeof(peer_text));
	snprintf(leak->done + at, sizeof(leak->done) - at,
		"%s%s %s on communicator \"%.40s\"", at ? "; " : "",
		left->is_send ? "a send to" : "a receive from", peer_text,
		weft_comm_label(comm));
}

static void leak_find(const struct weft_unmatched *left, void *arg)
{
	struct found *f = arg;
	struct weft_comm *comm = f->comm;
	const char *name = weft_comm_label(comm);
	char item[ITEM_TEXT];

	if (left->kind == WEFT_UNMATCHED_DONE) {
		note_done(left, comm, f->leak);
		return;
	}
	leak_print(left, item);
	if (f->n++ < SHOWN && f->is_reported)
		weft_log_warn("SESSION-LEFT",
			"communicator \"%s\" (string tag \"%s\", rank %d of "
			"%d) closes with %s",
			name, comm->tag, (int)comm->rank, (int)comm->size,
			item);
	/* A buffered send is complete for the program, so it is no fault. */
	if (!f->all_closed || left->kind == WEFT_UNMATCHED_BUFFERED)
		return;
	if (f->leak->n++ == 0)
		snprintf(f->leak->text, WEFT_LEAK_TEXT,
			"communicator \"%.40s\" closes with %s", name, item);
}

/* Reports the number of messages and requests beyond SHOWN. */
static void report_rest(const struct found *f)
{
	const struct weft_comm *comm = f->comm;
	const char *name = weft_comm_label(comm);

	if (f->n > SHOWN)
		weft_log_warn("SESSION-LEFT",
			"communicator \"%s\" closes with %u more such messages "
			"or requests",
			name, f->n - SHOWN);
}

void weft_leak_report(
	struct weft_comm *comm, bool all_closed, struct weft_leak *leak)
{
	struct found f = {
		.comm = comm,
		.all_closed = all_closed,
		.is_reported = leak->n_comms < SHOWN_COMMS,
		.leak = leak,
	};

	weft_p2p_unmatched_locked(comm, leak_find, &f);
	leak->n_comms += f.n > 0;
	if (f.is_reported)
		report_rest(&f);
	else
		leak->n_unreported += f.n;
}

/* Reports the complete requests that the program never waited for, in one line.
 */
static void report_uncompleted(const struct weft_leak *leak)
{
	char more[32] = "";

	if (!leak->n_done)
		return;
	if (leak->n_done > SHOWN_DONE)
		snprintf(more, sizeof(more), "; and %u more",
			leak->n_done - SHOWN_DONE);
	weft_log_warn("SESSION-REQUESTS",
		"%u request%s never completed by MPI_Wait, MPI_Test or a "
		"similar call, nor freed: %s%s",
		leak->n_done, leak->n_done > 1 ? "s were" : " was", leak->done,
		more);
}

int weft_leak_raise(const struct weft_leak *leak)
{
	char more[32] = "";

	if (leak->n_comms > SHOWN_COMMS)
		weft_log_warn("SESSION-LEFT",
			"%u more communicators close with %u messages or "
			"requests",
			leak->n_comms - SHOWN_COMMS, leak->n_unreported);
	report_uncompleted(leak);
	if (!leak->n)
		return 0;
	if (leak->n > 1)
		snprintf(more, sizeof(more), ", and %u more", leak->n - 1);
	return weft_err_set(WEFT_ERR_PENDING, "%s%s", leak->text, more);
}
