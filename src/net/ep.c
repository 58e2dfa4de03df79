/* SPDX-License-Identifier: BSD-3-Clause */
/* ep: an endpoint, its receive buffers, and the posts that are not inline
 * functions
 *
 * Most posts pass the caller's op to libfabric as the context. A carrier
 * replaces the op in three cases: the message has more parts than the provider
 * gathers, its memory must be registered first, or the post is a counted
 * injection and the provider stores data in each op. */
#include "net/net_priv.h"
#include "base/clock.h"
#include "base/knob.h"
#include "base/log.h"
#include "base/yield.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
	CARRIERS_MAX = 256,
	CLOSE_PAUSE_MS = 50,
};

/* Receive buffers */

void weft_ep_buf_done(struct weft_op *op, int err, size_t len)
{
	(void)op;
	(void)err;
	(void)len;
}

static int post_buf(struct weft_inside *in, struct weft_recv_buf *buf)
{
	struct iovec iov = { buf->mem, in->buf_len };
	void *desc = in->buf_mr ? in->buf_mr->desc : NULL;
	struct fi_msg msg = {
		.msg_iov = &iov,
		.desc = in->buf_mr ? &desc : NULL,
		.iov_count = 1,
		.addr = FI_ADDR_UNSPEC,
		.context = &buf->op,
	};
	uint64_t flags = FI_COMPLETION;
	ssize_t rc;

	if (in->net.plan.has_multi_recv)
		flags |= FI_MULTI_RECV;
	rc = fi_recvmsg(in->net.ep, &msg, flags);
	return rc ? weft_net_fault(&in->net, "fi_recvmsg", rc) : 0;
}

int weft_ep_repost(struct weft_inside *in)
{
	while (in->unposted) {
		struct weft_recv_buf *buf = in->unposted;
		int rc = post_buf(in, buf);

		if (rc == WEFT_AGAIN)
			return rc;
		in->unposted = buf->next;
		if (rc)
			weft_log_error("NET-REPOST",
				"a receive buffer is lost: %s (WEFT_NET_BUFS "
				"adds more)",
				weft_err_detail_peek(rc));
	}
	return 0;
}

void weft_ep_buf_released(struct weft_inside *in, struct weft_recv_buf *buf)
{
	buf->next = in->unposted;
	in->unposted = buf;
	weft_ep_repost(in);
}

static int map_bufs(struct weft_inside *in)
{
	const struct weft_plan *plan = &in->net.plan;
	size_t total = plan->n_recv_bufs * plan->recv_buf_len;

	in->buf_len = plan->recv_buf_len;
	in->n_bufs = weft_min((size_t)plan->n_recv_bufs, plan->rx_len);
	in->buf_mem = mmap(NULL, total, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (in->buf_mem == MAP_FAILED)
		in->buf_mem = NULL;
	in->buf_mem_len = total;
	in->net.counters.net_memory += total;
	in->bufs = calloc(in->n_bufs, sizeof(*in->bufs));
	if (!in->buf_mem || !in->bufs)
		return weft_err_set(WEFT_ERR_NOMEM,
			"no memory for %zu bytes of receive buffers", total);
	return 0;
}

static int post_bufs(struct weft_inside *in)
{
	int rc = map_bufs(in);

	if (rc)
		return rc;
	if (in->net.plan.needs_local_mr)
		rc = weft_mr_get(
			&in->net, in->buf_mem, in->buf_mem_len, &in->buf_mr);
	for (size_t i = 0; i < in->n_bufs && !rc; i++) {
		in->bufs[i].op.done = weft_ep_buf_done;
		in->bufs[i].mem = in->buf_mem + i * in->buf_len;
		rc = post_buf(in, &in->bufs[i]);
	}
	return rc;
}

/* Opening and closing */

static int open_cq(struct weft_inside *in)
{
	struct fi_cq_attr attr = {
		.size = in->net.plan.cq_len,
		.format = FI_CQ_FORMAT_TAGGED,
		.wait_obj = FI_WAIT_FD,
	};

	in->wait_fd = -1;
	if (!strcmp(weft_knobs.wait, "block") &&
		!fi_cq_open(in->dom.domain, &attr, &in->cq, NULL)) {
		if (fi_control(&in->cq->fid, FI_GETWAIT, &in->wait_fd))
			in->wait_fd = -1;
		return 0;
	}
	attr.wait_obj = FI_WAIT_NONE;
	return fi_cq_open(in->dom.domain, &attr, &in->cq, NULL);
}

/* FI_OPT_MIN_MULTI_RECV is set after the endpoint is enabled, because the shm
 * provider of libfabric 1.17 crashes if it is set before. */
static int bind_ep(struct weft_inside *in)
{
	struct fid_ep *ep = in->net.ep;
	int rc = fi_ep_bind(ep, &in->dom.av->fid, 0);

	if (!rc)
		rc = fi_ep_bind(ep, &in->cq->fid, FI_TRANSMIT | FI_RECV);
	if (!rc)
		rc = fi_enable(ep);
	if (!rc && in->net.plan.has_multi_recv)
		rc = fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV,
			&in->net.plan.recv_len, sizeof(in->net.plan.recv_len));
	return rc;
}

static int ep_open_objects(struct weft_inside *in, const char **call_out)
{
	int rc;

	rc = weft_domain_open(&in->dom, call_out);
	if (rc)
		return rc;
	*call_out = "fi_cq_open";
	rc = open_cq(in);
	if (rc)
		return rc;
	*call_out = "fi_endpoint";
	rc = fi_endpoint(in->dom.domain, in->dom.info, &in->net.ep, NULL);
	if (rc)
		return rc;
	*call_out = "fi_enable";
	return bind_ep(in);
}

static void inject_done(struct weft_op *op, int err, size_t len)
{
	struct weft_inside *in =
		weft_container_of(op, struct weft_inside, inject_op);

	(void)len;
	in->net.n_unsent--;
	in->net.counters.net_undelivered += err != 0;
}

int weft_ep_open_take(struct fi_info *info, struct fid_fabric *fabric,
	const struct weft_prov *prov, const struct weft_plan *plan,
	weft_net_recv_fn *recv, void *arg, struct weft_net **net_out)
{
	struct weft_inside *in = calloc(1, sizeof(*in));
	const char *call = "";
	int rc;

	if (!in) {
		fi_close(&fabric->fid);
		fi_freeinfo(info);
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a net");
	}
	in->net.plan = *plan;
	in->recv = recv;
	in->arg = arg;
	in->prov = prov;
	in->dom.info = info;
	in->dom.fabric = fabric;
	in->inject_op.done = inject_done;
	in->has_own_context = info->mode & (FI_CONTEXT | FI_CONTEXT2);
	in->net.is_counting = plan->counts_injects;
	rc = ep_open_objects(in, &call);
	if (rc) {
		rc = weft_net_fault(&in->net, call, rc);
		goto fail;
	}
	rc = post_bufs(in);
	if (rc)
		goto fail;
	in->net.plan.poll_ns = weft_domain_poll_ns(in->cq);
	*net_out = &in->net;
	return 0;
fail:
	weft_net_close(&in->net);
	return rc;
}

static void free_carriers(struct weft_inside *in)
{
	while (in->carriers) {
		struct weft_carrier *c = in->carriers;

		in->carriers = c->next_all;
		free(c->data);
		free(c);
	}
}

static void recv_nothing(void *arg, const void *data, size_t len)
{
	(void)arg;
	(void)data;
	(void)len;
}

/* Polls until n_unsent is 0, for WEFT_NET_LINGER ms at most. Other operations
 * are not awaited, because their owners have abandoned them. A message to a
 * dead peer completes with an error, so the peer does not delay the close. */
static void linger(struct weft_inside *in)
{
	uint64_t end = weft_now_ns() +
		       (uint64_t)weft_knobs.net_linger * (WEFT_NS_PER_S / 1000);

	in->recv = recv_nothing;
	for (unsigned n = 0; in->net.n_unsent && weft_now_ns() < end;)
		if (weft_net_poll(&in->net) == 0)
			weft_yield_wait(n++);
}

/* Waits so that the peers can read the last messages, because closing a
 * connection discards unread data (plan.drops_unread). */
static void pause_before_close(struct weft_inside *in)
{
	static const struct timespec step = { .tv_nsec = 1000000 };
	uint64_t ms = weft_min(CLOSE_PAUSE_MS, (uint64_t)weft_knobs.net_linger);
	uint64_t end = weft_now_ns() + ms * (WEFT_NS_PER_S / 1000);

	in->recv = recv_nothing;
	do {
		nanosleep(&step, NULL);
		weft_net_poll(&in->net);
	} while (weft_now_ns() < end);
}

/* Closes the registrations that the provider binds to the endpoint, then the
 * endpoint, then all other registrations, and frees the buffers. Once the
 * endpoint has closed, no operation is in flight, and libfabric accesses no
 * memory. */
void weft_net_close(struct weft_net *net)
{
	struct weft_inside *in;

	if (!net)
		return;
	in = weft_net_inside(net);
	assert(!in->is_polling);
	if (net->n_unsent)
		linger(in);
	if (net->ep && in->cq && net->plan.drops_unread &&
		weft_knobs.net_linger)
		pause_before_close(in);
	if (in->net.plan.has_mr_endpoint)
		weft_mr_fini(in);
	weft_counters_close(&net->counters);
	if (net->ep)
		weft_domain_close_fid(&net->ep->fid, "endpoint");
	weft_mr_fini(in);
	if (in->cq)
		weft_domain_close_fid(&in->cq->fid, "completion queue");
	weft_domain_close(&in->dom);
	free_carriers(in);
	if (in->buf_mem)
		munmap(in->buf_mem, in->buf_mem_len);
	free(in->bufs);
	free(in);
}

/* Carriers */

static void carrier_done(struct weft_op *op, int err, size_t len)
{
	struct weft_carrier *c = weft_container_of(op, struct weft_carrier, op);
	struct weft_op *user = c->user;

	weft_mr_put(&c->in->net, c->mr);
	c->mr = NULL;
	c->user = NULL;
	c->next_free = c->in->free_carriers;
	c->in->free_carriers = c;
	user->done(user, err, len);
}

static struct weft_carrier *carrier_get(
	struct weft_inside *in, struct weft_op *user)
{
	struct weft_carrier *c = in->free_carriers;

	if (c) {
		in->free_carriers = c->next_free;
	} else {
		if (in->n_carriers == CARRIERS_MAX)
			return NULL;
		c = calloc(1, sizeof(*c));
		if (!c)
			return NULL;
		c->op.done = carrier_done;
		c->in = in;
		c->next_all = in->carriers;
		in->carriers = c;
		in->n_carriers++;
	}
	c->user = user;
	return c;
}

static void carrier_drop(struct weft_carrier *c)
{
	weft_mr_put(&c->in->net, c->mr);
	c->mr = NULL;
	c->user = NULL;
	c->next_free = c->in->free_carriers;
	c->in->free_carriers = c;
}

/* Allocates memory for a copy of one untagged message, and registers the memory
 * if the provider requires it. */
static int carrier_data(struct weft_carrier *c)
{
	struct weft_net *net = &c->in->net;
	size_t len = weft_round_up(net->plan.recv_len, 4096);

	if (!c->data) {
		c->data = aligned_alloc(4096, len);
		if (!c->data)
			return weft_err_set(
				WEFT_ERR_NOMEM, "no memory for a copy");
		net->counters.net_memory += len;
	}
	if (!net->plan.needs_local_mr || c->data_mr)
		return 0;
	return weft_mr_get(net, c->data, len, &c->data_mr);
}

static void copied_done(struct weft_op *op, int err, size_t len)
{
	struct weft_copied *copied =
		weft_container_of(op, struct weft_copied, op);
	struct weft_op *user = copied->user;

	if (!user && !*copied->err)
		*copied->err = err;
	free(copied);
	if (user)
		user->done(user, err, len);
}

struct weft_copied *weft_copied_create(
	struct weft_op *user, int *err, const void *buf, size_t len)
{
	struct weft_copied *copied = malloc(sizeof(*copied) + len);

	if (!copied) {
		weft_err_set(WEFT_ERR_NOMEM,
			"no memory for a copy of %zu bytes, which the fabric "
			"cannot read where they are",
			len);
		return NULL;
	}
	copied->op.done = copied_done;
	copied->user = user;
	copied->err = err;
	memcpy(copied->data, buf, len);
	return copied;
}

/* Posts */

static int send_copied(struct weft_inside *in, uint64_t addr,
	const struct iovec *iov, size_t n_iov, struct weft_op *op)
{
	struct weft_carrier *c = carrier_get(in, op);
	size_t len = 0;
	ssize_t rc;

	if (!c) {
		in->net.counters.net_refused++;
		return WEFT_AGAIN;
	}
	rc = carrier_data(c);
	if (rc) {
		carrier_drop(c);
		return (int)rc;
	}
	for (size_t i = 0; i < n_iov; i++) {
		memcpy(c->data + len, iov[i].iov_base, iov[i].iov_len);
		len += iov[i].iov_len;
	}
	rc = fi_send(in->net.ep, c->data, len,
		c->data_mr ? c->data_mr->desc : NULL, addr, &c->op);
	if (rc) {
		carrier_drop(c);
		return weft_net_fault(&in->net, "fi_send", rc);
	}
	in->net.counters.net_sent++;
	in->net.counters.net_sent_bytes += len;
	return 0;
}

int weft_net_send(struct weft_net *net, uint64_t addr, const struct iovec *iov,
	size_t n_iov, struct weft_op *op)
{
	ssize_t rc;

	if (weft_unlikely(
		    net->plan.needs_local_mr || n_iov > net->plan.iov_max))
		return send_copied(weft_net_inside(net), addr, iov, n_iov, op);
	if (n_iov == 1)
		rc = fi_send(
			net->ep, iov->iov_base, iov->iov_len, NULL, addr, op);
	else
		rc = fi_sendv(net->ep, iov, NULL, n_iov, addr, op);
	if (weft_likely(rc == 0)) {
		net->counters.net_sent++;
		for (size_t i = 0; i < n_iov; i++)
			net->counters.net_sent_bytes += iov[i].iov_len;
		return 0;
	}
	return weft_net_fault(net, "fi_send", rc);
}

/* All counted injections share inject_op if the provider stores nothing in an
 * op. Otherwise each injection needs a carrier. */
int weft_net_inject_counted(
	struct weft_net *net, uint64_t addr, const void *buf, size_t len)
{
	struct weft_inside *in = weft_net_inside(net);
	struct iovec iov = { (void *)buf, len };
	struct fi_msg msg = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = addr,
		.context = &in->inject_op,
	};
	ssize_t rc;
	int err;

	if (in->has_own_context) {
		err = send_copied(in, addr, &iov, 1, &in->inject_op);
		net->n_unsent += err == 0;
		return err;
	}
	rc = fi_sendmsg(net->ep, &msg, FI_INJECT | FI_COMPLETION);
	if (rc)
		return weft_net_fault(net, "fi_sendmsg", rc);
	net->counters.net_sent++;
	net->counters.net_sent_bytes += len;
	net->n_unsent++;
	return 0;
}

/* A tagged transfer of long data in either direction. */
enum bulk_kind { BULK_TSEND, BULK_TSEND_DELIVERED, BULK_TRECV };

static const char *const bulk_calls[] = { "fi_tsend", "fi_tsendmsg",
	"fi_trecv" };

struct bulk {
	enum bulk_kind kind;
	uint64_t addr;
	void *buf;
	size_t len;
	uint64_t tag;
	const struct weft_mr *mr; /* the caller's registration, or NULL */
};

/* Posts a send that completes when the receive has the data. */
static ssize_t post_delivered(
	struct fid_ep *ep, const struct bulk *b, void *desc, void *context)
{
	struct iovec iov = { b->buf, b->len };
	struct fi_msg_tagged msg = {
		.msg_iov = &iov,
		.desc = &desc,
		.iov_count = 1,
		.addr = b->addr,
		.tag = b->tag,
		.context = context,
	};

	return fi_tsendmsg(ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE);
}

static ssize_t post_bulk(
	struct fid_ep *ep, const struct bulk *b, void *desc, void *context)
{
	switch (b->kind) {
	case BULK_TSEND:
		return fi_tsend(
			ep, b->buf, b->len, desc, b->addr, b->tag, context);
	case BULK_TSEND_DELIVERED:
		return post_delivered(ep, b, desc, context);
	case BULK_TRECV:
		return fi_trecv(ep, b->buf, b->len, desc, FI_ADDR_UNSPEC,
			b->tag, 0, context);
	}
	return -FI_EINVAL;
}

static bool has_registered(const struct weft_inside *in)
{
	for (const struct weft_carrier *c = in->carriers; c; c = c->next_all)
		if (c->mr)
			return true;
	return false;
}

/* Registers the memory of an operation, and posts the operation. WEFT_AGAIN if
 * there are too many registrations. The caller must then post again after
 * earlier operations are complete. */
static int bulk_registered(
	struct weft_inside *in, const struct bulk *b, struct weft_op *op)
{
	struct weft_carrier *c = carrier_get(in, op);
	ssize_t rc;
	int err;

	if (!c) {
		in->net.counters.net_refused++;
		return WEFT_AGAIN;
	}
	err = weft_mr_get(&in->net, b->buf, b->len, &c->mr);
	if (err) {
		carrier_drop(c);
		if (err != WEFT_ERR_NOMEM || !has_registered(in))
			return err;
		in->net.counters.net_refused++;
		return WEFT_AGAIN;
	}
	rc = post_bulk(in->net.ep, b, c->mr->desc, &c->op);
	if (rc) {
		carrier_drop(c);
		return weft_net_fault(&in->net, bulk_calls[b->kind], rc);
	}
	return 0;
}

static int bulk_as_is(
	struct weft_net *net, const struct bulk *b, struct weft_op *op)
{
	ssize_t rc;

	if (weft_unlikely(net->plan.needs_local_mr && b->len && !b->mr))
		return bulk_registered(weft_net_inside(net), b, op);
	rc = post_bulk(net->ep, b, b->mr ? b->mr->desc : NULL, op);
	return rc ? weft_net_fault(net, bulk_calls[b->kind], rc) : 0;
}

static int bulk(struct weft_net *net, const struct bulk *b, struct weft_op *op)
{
	int err = bulk_as_is(net, b, op);
	struct weft_copied *copied;
	struct bulk copy = *b;

	if (weft_likely(
		    err != WEFT_ERR_BUFFER || b->kind == BULK_TRECV || b->mr))
		return err;
	copied = weft_copied_create(op, NULL, b->buf, b->len);
	if (!copied)
		return WEFT_ERR_NOMEM;
	copy.buf = copied->data;
	err = bulk_as_is(net, &copy, &copied->op);
	if (err)
		free(copied);
	return err;
}

static int bulk_send(
	struct weft_net *net, const struct bulk *b, struct weft_op *op)
{
	int err = bulk(net, b, op);

	if (weft_likely(!err)) {
		net->counters.net_sent++;
		net->counters.net_sent_bytes += b->len;
	}
	return err;
}

int weft_net_tsend(struct weft_net *net, uint64_t addr, const void *buf,
	size_t len, const struct weft_mr *mr, uint64_t tag, struct weft_op *op)
{
	struct bulk b = { BULK_TSEND, addr, (void *)buf, len, tag, mr };

	return bulk_send(net, &b, op);
}

int weft_net_tsend_delivered(struct weft_net *net, uint64_t addr,
	const void *buf, size_t len, const struct weft_mr *mr, uint64_t tag,
	struct weft_op *op)
{
	struct bulk b = { BULK_TSEND_DELIVERED, addr, (void *)buf, len, tag,
		mr };

	return bulk_send(net, &b, op);
}

int weft_net_trecv(struct weft_net *net, uint64_t addr, void *buf, size_t len,
	const struct weft_mr *mr, uint64_t tag, struct weft_op *op)
{
	struct bulk b = { BULK_TRECV, addr, buf, len, tag, mr };

	return bulk(net, &b, op);
}

int weft_net_cancel(struct weft_net *net, struct weft_op *op)
{
	struct weft_inside *in = weft_net_inside(net);
	ssize_t rc;

	for (struct weft_carrier *c = in->carriers; c; c = c->next_all)
		if (c->user == op)
			op = &c->op;
	rc = fi_cancel(&net->ep->fid, op);
	if (rc == 0 || rc == -FI_ENOENT)
		return 0;
	return weft_net_fault(net, "fi_cancel", rc);
}
