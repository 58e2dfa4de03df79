/* SPDX-License-Identifier: BSD-3-Clause */
/* cq: reads completions, and converts error entries to weft_err */
#include "net/net_priv.h"
#include "base/log.h"

#include <rdma/fi_eq.h>

#include <errno.h>
#include <string.h>

enum {
	BATCH = 16,	   /* completions that one read returns, at most */
	BAD_BUFS_MAX = 64, /* consecutive failed receives; after them, receive
			      buffers are no longer posted */
};

/* Translates libfabric's errors. All errors of a lost peer become
 * WEFT_ERR_PEER. */
int weft_cq_err(int code)
{
	switch (code < 0 ? -code : code) {
	case 0:
		return 0;
	case FI_EAGAIN:
		return WEFT_AGAIN;
	case FI_ENOMEM:
	case FI_ENOSPC:
		return WEFT_ERR_NOMEM;
	case FI_EFAULT:
		return WEFT_ERR_BUFFER;
	case FI_ECANCELED:
		return WEFT_ERR_CANCELED;
	case FI_ENOMSG:
		return WEFT_ERR_NOTFOUND;
	case FI_ETRUNC:
	case FI_EMSGSIZE:
		return WEFT_ERR_TRUNCATE;
	case FI_ECONNREFUSED:
	case FI_ECONNRESET:
	case FI_ECONNABORTED:
	case FI_ENOTCONN:
	case FI_ESHUTDOWN:
	case FI_EHOSTUNREACH:
	case FI_EHOSTDOWN:
	case FI_ENETUNREACH:
	case FI_ENETDOWN:
	case FI_ETIMEDOUT:
	case EPIPE:
	case FI_EIO:
	case FI_ENORX:
	case FI_ENOENT: /* sockets: cannot connect */
		return WEFT_ERR_PEER;
	default:
		return WEFT_ERR_OTHER;
	}
}

int weft_net_fault(struct weft_net *net, const char *call, ssize_t rc)
{
	int err = weft_cq_err((int)-rc);

	if (err == WEFT_AGAIN) {
		net->counters.net_refused++;
		return err;
	}
	net->counters.net_errors++;
	return weft_err_set(err, "%s on %s (%s): %s", call, net->plan.provider,
		net->plan.domain, fi_strerror((int)-rc));
}

static void release_held(struct weft_inside *in, struct weft_recv_buf *buf)
{
	struct weft_recv_buf **at = &in->held;

	while (*at && *at != buf)
		at = &(*at)->next;
	if (*at)
		*at = buf->next;
	buf->n_arrived = buf->n_full = 0;
	weft_ep_buf_released(in, buf);
}

/* Holds a full buffer until all its messages are received. A message of a
 * broken connection is never complete. So if all buffers would be held, the
 * function releases the oldest one. */
static void hold(struct weft_inside *in, struct weft_recv_buf *buf)
{
	struct weft_recv_buf **at = &in->held;
	size_t n = 1;

	for (; *at; at = &(*at)->next)
		n++;
	buf->next = NULL;
	*at = buf;
	if (n >= in->n_bufs)
		release_held(in, in->held);
}

static void on_buf_part(struct weft_inside *in, struct weft_recv_buf *buf,
	const struct fi_cq_tagged_entry *e)
{
	bool is_held = buf->n_full;

	buf->n_arrived += e->len;
	if (e->flags & FI_MULTI_RECV)
		buf->n_full = (size_t)((char *)e->buf - buf->mem) + e->len;
	if (buf->n_full && buf->n_arrived >= buf->n_full)
		release_held(in, buf);
	else if (buf->n_full && !is_held)
		hold(in, buf);
}

static void on_buf(struct weft_inside *in, struct weft_recv_buf *buf,
	const struct fi_cq_tagged_entry *e)
{
	bool is_multi = in->net.plan.has_multi_recv;

	in->n_bad_bufs = 0;
	if (!is_multi || (e->flags & FI_RECV)) {
		in->net.counters.net_received++;
		in->net.counters.net_received_bytes += e->len;
		in->recv(in->arg, is_multi ? e->buf : buf->mem, e->len);
	}
	if (is_multi && in->net.plan.releases_early && e->flags & FI_RECV)
		on_buf_part(in, buf, e);
	else if (!is_multi || (e->flags & FI_MULTI_RECV))
		weft_ep_buf_released(in, buf);
}

static void on_entry(struct weft_inside *in, const struct fi_cq_tagged_entry *e)
{
	struct weft_op *op = e->op_context;

	if (!op)
		return;
	if (op->done == weft_ep_buf_done) {
		on_buf(in, weft_container_of(op, struct weft_recv_buf, op), e);
	} else {
		in->net.tag = e->tag;
		op->done(op, 0, e->len);
	}
}

static void cq_report(struct weft_inside *in, const struct fi_cq_err_entry *e)
{
	/* with plan.resends, undelivered messages are sent again, and a message
	 * that is lost is reported later */
	bool is_minor = e->err == FI_ECANCELED ||
			(in->net.plan.resends && (e->flags & FI_SEND));
	enum weft_log_level level =
		is_minor || in->did_warn ? WEFT_LOG_DEBUG : WEFT_LOG_WARN;
	char text[128] = "";

	in->did_warn |= !is_minor;
	fi_cq_strerror(in->cq, e->prov_errno, e->err_data, text, sizeof(text));
	weft_log(level, "NET-CQ",
		"%s on %s: an operation (flags 0x%llx) failed: %s; provider "
		"says %d \"%s\" (FI_LOG_LEVEL=warn shows more)",
		in->net.plan.provider, in->net.plan.domain,
		(unsigned long long)e->flags, fi_strerror(e->err),
		e->prov_errno, text);
}

/* Called when a receive buffer has completed with an error. Posts the buffer
 * again, unless BAD_BUFS_MAX consecutive receives have failed. The next receive
 * would then probably fail, too. */
static void on_bad_buf(struct weft_inside *in, struct weft_recv_buf *buf,
	const struct fi_cq_err_entry *e)
{
	bool is_broken = e->err == FI_ECANCELED; /* the connection broke */

	if (is_broken && !in->net.plan.resends)
		return;
	if (!is_broken && ++in->n_bad_bufs == BAD_BUFS_MAX)
		weft_log_error("NET-RECV",
			"%s on %s: %u receive buffers in a row failed (%s); "
			"this endpoint receives no more messages "
			"(WEFT_PROVIDER chooses another provider)",
			in->net.plan.provider, in->net.plan.domain,
			in->n_bad_bufs, fi_strerror(e->err));
	if (in->n_bad_bufs >= BAD_BUFS_MAX)
		return;
	if (!in->net.plan.has_multi_recv || (e->flags & FI_MULTI_RECV))
		weft_ep_buf_released(in, buf);
}

/* Some providers report sends that a broken connection flushed as cancelled.
 * The library cancels no sends, so the peer is lost. */
static int op_err(const struct fi_cq_err_entry *e)
{
	if (e->err == FI_ECANCELED && !(e->flags & FI_RECV))
		return WEFT_ERR_PEER;
	return weft_cq_err(e->err);
}

static int cq_on_error(struct weft_inside *in)
{
	struct fi_cq_err_entry e;
	struct weft_op *op;
	ssize_t n;

	memset(&e, 0, sizeof(e));
	n = fi_cq_readerr(in->cq, &e, 0);
	if (n != 1)
		return 0;
	in->net.counters.net_errors++;
	cq_report(in, &e);
	op = e.op_context;
	if (!op) {
		in->net.counters.net_undelivered += !(e.flags & FI_RECV);
		return 1;
	}
	if (op->done == weft_ep_buf_done) {
		on_bad_buf(in, weft_container_of(op, struct weft_recv_buf, op),
			&e);
	} else {
		in->net.tag = e.tag;
		op->done(op, op_err(&e), e.len);
	}
	return 1;
}

static int cq_drain(struct weft_inside *in)
{
	struct fi_cq_tagged_entry entries[BATCH];
	ssize_t n = fi_cq_read(in->cq, entries, BATCH);

	if (n > 0) {
		for (ssize_t i = 0; i < n; i++)
			on_entry(in, &entries[i]);
		return (int)n;
	}
	return n == -FI_EAVAIL ? cq_on_error(in) : 0;
}

int weft_net_poll(struct weft_net *net)
{
	struct weft_inside *in = weft_net_inside(net);
	int n;

	if (weft_unlikely(in->is_polling))
		return 0;
	in->is_polling = true;
	n = cq_drain(in);
	if (weft_unlikely(in->unposted != NULL))
		weft_ep_repost(in);
	in->is_polling = false;
	return n;
}

bool weft_net_may_sleep(struct weft_net *net, int *fd_out)
{
	struct weft_inside *in = weft_net_inside(net);
	struct fid *fid = &in->cq->fid;

	*fd_out = in->wait_fd;
	return in->wait_fd < 0 || !fi_trywait(in->dom.fabric, &fid, 1);
}
