/* SPDX-License-Identifier: BSD-3-Clause */
/* win_rma: puts and gets that the fabric carries out without the target's CPU
 *
 * A window's memory is registered in the process's RMA domain when the window
 * is created. The first access to a member requests its registration by an
 * active message. Locks, notices and updates are active messages.
 *
 * One endpoint serves all windows; the default VCI's lock guards it. Its
 * operations complete like answers to active messages (src/am). A short put
 * that follows another put since the last flush has no completion. At the next
 * flush, an empty put completes all of them. */
#include "win/win_priv.h"

#include "base/err.h"
#include "core/comm.h"
#include "dt/pack.h"
#include "net/rma_ep.h"
#include "p2p/p2p.h"
#include "rma/rma_fabric.h"
#include "transport/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	RUNS = 64,     /* accesses with this many short runs use messages */
	RUN_LEN = 512, /* average length of runs, in bytes, that are not short
			*/
};

/* The registered memory of a member. */
struct weft_win_remote {
	struct weft_wire_win_region region; /* the member's answer */
	struct weft_wire_am ask; /* the request for region; id 0: answered */
	bool is_reached;
	bool is_used;	 /* a put was posted since the last flush */
	bool is_written; /* a put without a completion was posted since then */
	uint32_t n_faults; /* win_rma.n_faults before the first put without a
			      completion */
	struct weft_rma_ep_target at;
};

/* The default VCI's lock guards all fields. */
static struct {
	struct weft_rma_ep *ep;
	struct weft_progress_hook hook; /* polls ep while windows use it */
	uint32_t n_windows;
	uint32_t n_faults; /* errors of puts without a completion */
	char why[160];	   /* text of the last fault */
} win_rma;

/* --- opening and closing ------------------------------------------- */

static void win_rma_poll(struct weft_progress_hook *hook)
{
	struct weft_rma_ep *ep = win_rma.ep;

	(void)hook;
	weft_rma_ep_poll(ep);
	if (weft_likely(!ep->err))
		return;
	snprintf(win_rma.why, sizeof(win_rma.why), "%s",
		weft_err_detail_peek(ep->err));
	win_rma.n_faults++;
	ep->err = 0;
}

/* True if the fabric supports RDMA, some member is on another node, and the
 * window is not dynamic. The window's session must use the default VCI. */
static bool wants_rma(const struct weft_win *win)
{
	const struct weft_vci *vci = win->comm->vci;

	if (vci != &weft_proc.vci || !vci->net || !vci->net->plan.has_rdma ||
		win->flavor == WEFT_WIN_DYNAMIC)
		return false;
	for (uint32_t i = 0; i < (uint32_t)win->comm->size; i++)
		if (!weft_win_target_at(win, i))
			return true;
	return false;
}

static int win_rma_begin(struct weft_win *win)
{
	struct weft_vci *vci = win->comm->vci;
	struct weft_rma_domain *domain;
	int err = weft_rma_fabric_open(&domain);

	if (err)
		return err;
	weft_vci_lock(vci);
	if (!win_rma.ep)
		err = weft_rma_fabric_ep(domain, &win_rma.ep);
	if (err) {
		weft_rma_fabric_release();
	} else if (!win_rma.n_windows++) {
		win_rma.hook.run = win_rma_poll;
		weft_list_push_back(&vci->hooks, &win_rma.hook.link);
	}
	win->uses_rma = !err;
	weft_vci_unlock(vci);
	return err;
}

void weft_win_rma_open(struct weft_win *win)
{
	struct weft_rma_region *region = &win->region;
	int err;

	if (!wants_rma(win))
		return;
	err = win_rma_begin(win);
	if (!err && win->size && !win->is_dev) {
		region->base = win->base;
		region->len = win->size;
		err = weft_rma_fabric_expose(region);
	}
	if (err)
		weft_log_info("WIN-RMA",
			"%s; other nodes reach this memory by messages",
			weft_err_detail_peek(err));
}

void weft_win_rma_leave(struct weft_win *win)
{
	if (!win->uses_rma)
		return;
	weft_rma_fabric_withdraw(&win->region);
	if (!--win_rma.n_windows)
		weft_list_remove(&win_rma.hook.link);
	weft_rma_fabric_release();
	win->uses_rma = false;
}

void weft_win_rma_close(void)
{
	weft_rma_ep_close(win_rma.ep);
	win_rma.ep = NULL;
	weft_rma_fabric_close();
}

/* --- the memory of a member ---------------------------------------- */

static_assert(
	sizeof(((struct weft_wire_win_region *)0)->name) == WEFT_NET_NAME_MAX,
	"a name fits");

void weft_win_rma_describe(
	const struct weft_win *win, struct weft_wire_win_region *out)
{
	size_t len = sizeof(out->name);

	memset(out, 0, sizeof(*out));
	if (win->is_dev)
		return; /* invalid: other members check no ranges */
	out->size = win->size;
	out->disp_unit = win->disp_unit;
	if (!win->region.mr || weft_rma_fabric_name(out->name, &len))
		return;
	out->remote = win->region.remote;
	out->key = win->region.key;
	out->name_len = (uint32_t)len;
}

static int ask_region(struct weft_win *win, struct weft_win_target *target,
	struct weft_win_remote *remote)
{
	const struct weft_win_buf to = { &remote->region,
		sizeof(remote->region), weft_win_byte_type() };
	int err;

	remote->ask = (struct weft_wire_am){ .kind = WEFT_WIRE_AM_REGION };
	err = weft_win_am_request(win, target, &remote->ask, &to);
	if (err)
		remote->ask.id = 0;
	return err;
}

/* Checks and uses the answer. After an invalid answer, accesses are messages,
 * which the member checks. */
static void take_region(struct weft_win *win, struct weft_win_target *target,
	struct weft_win_remote *remote)
{
	const struct weft_wire_win_region *region = &remote->region;
	int err;

	remote->ask.id = 0;
	if (region->disp_unit <= 0 || region->size > INT64_MAX ||
		region->name_len > sizeof(region->name))
		return;
	if (!target->is_known) {
		target->size = region->size;
		target->disp_unit = region->disp_unit;
		/* publishes size and disp_unit; pairs with the acquire in
		 * weft_win_target_range() */
		__atomic_store_n(&target->is_known, true, __ATOMIC_RELEASE);
	}
	if (!region->name_len)
		return;
	err = weft_rma_fabric_peer(
		weft_group_proc(win->comm->group, target->am.rank),
		region->name, region->name_len, &remote->at.addr);
	if (err)
		weft_log_info("WIN-RMA",
			"%s; rank %u of window \"%s\" is reached by messages",
			weft_err_detail_peek(err), target->am.rank, win->name);
	remote->at.remote = region->remote;
	remote->at.key = region->key;
	remote->is_reached = !err;
}

static int try_region(struct weft_am_channel *channel, void *arg)
{
	const struct weft_win_remote *remote = arg;

	return remote->ask.id && weft_am_op_of(
					 channel->am, channel, remote->ask.id)
		       ? WEFT_AGAIN
		       : 0;
}

int weft_win_rma_reach(
	struct weft_win *win, struct weft_win_target *target, bool *is_reached)
{
	struct weft_win_remote *remote = target->remote;
	int err = 0;

	if (weft_unlikely(!remote)) {
		remote = target->remote = calloc(1, sizeof(*remote));
		if (!remote)
			return weft_win_no_memory();
		err = ask_region(win, target, remote);
	}
	if (!err)
		err = weft_am_try(&target->am, "an access", try_region, remote);
	if (!err && remote->ask.id)
		take_region(win, target, remote);
	*is_reached = remote->is_reached;
	return err;
}

/* --- posts --------------------------------------------------------- */

/* Adds the target to an error of the fabric, which names no process. Also
 * records the target as failed, because another thread than the caller may poll
 * the error. Each later error then names the target. */
static int rma_fault(struct weft_comm *comm, uint32_t rank, int err)
{
	if (err && weft_comm_is_revoked(comm)) /* the target may have freed the
						  window */
		return weft_comm_revoked(comm);
	if (err != WEFT_ERR_PEER)
		return err;
	(void)weft_comm_record_failed(comm, weft_group_proc(comm->group, rank));
	return weft_comm_failed_rank(comm, (int32_t)rank);
}

static void win_rma_done(struct weft_op *done, int err, size_t len)
{
	struct weft_win_op *op =
		weft_container_of(done, struct weft_win_op, fabric);
	struct weft_am_channel *channel = op->am.channel;
	const char *why;

	(void)len;
	if (channel)
		err = rma_fault(channel->am->comm, channel->rank, err);
	why = weft_err_detail_peek(err);
	if (err && channel)
		weft_am_refused(channel, err, why, strlen(why));
	weft_am_op_answered(&op->am, 1, err);
}

static struct weft_win_op *fabric_op(struct weft_win *win,
	struct weft_win_target *target, struct weft_win_whole *whole)
{
	struct weft_win_op *op = weft_win_op_new(win, target, whole, 0);

	if (op) {
		op->am.is_fabric = true;
		op->fabric.done = win_rma_done;
	}
	return op;
}

/* Called after the last post of an access. After an error, the operations that
 * were posted remain pending. */
static void rma_begun(struct weft_win_op *op, int err)
{
	if (!op->am.err)
		op->am.err = err;
	weft_am_op_begun(&op->am, 0);
}

/* An access that is posted. */
struct move {
	struct weft_win *win;
	struct weft_win_target *target;
	struct weft_win_whole *whole;
	bool is_put;
	uint64_t at;		/* offset from the window's base */
	char *data;		/* contiguous bytes of the origin */
	struct weft_win_op *op; /* one for all parts with a completion; NULL:
				   there is none yet */
};

/* op NULL: the put has no completion. */
static int rma_post(const struct move *m, uint64_t at, char *buf, size_t len,
	uint64_t flags, struct weft_win_op *op)
{
	struct weft_win_wait wait = {
		.win = m->win, .target = m->target, .what = "an access"
	};
	struct weft_rma_ep_target to = m->target->remote->at;
	struct weft_op *done = op ? &op->fabric : NULL;
	int err, wait_err = 0;

	to.remote += at;
	do {
		err = m->is_put ? weft_rma_ep_write(win_rma.ep, &to, buf, len,
					  flags, done)
				: weft_rma_ep_read(win_rma.ep, &to, buf, len,
					  flags, done);
		if (err == WEFT_AGAIN)
			wait_err = weft_win_wait_round(&wait);
	} while (err == WEFT_AGAIN && !wait_err);
	if (!err && op)
		op->am.n_left++;
	err = weft_win_wait_end(&wait, wait_err ? wait_err : err);
	return rma_fault(m->win->comm, m->target->am.rank, err);
}

/* --- put and get --------------------------------------------------- */

/* Posts one run. A short put that follows another put since the last flush is
 * copied, and has no completion. */
static int post_run(struct move *m, uint64_t at, char *data, size_t len)
{
	const struct weft_plan *plan = &win_rma.ep->domain->plan;
	struct weft_win_remote *remote = m->target->remote;
	bool is_first = !remote->is_used;

	remote->is_used |= m->is_put;
	if (m->is_put && !is_first && len <= plan->rma_inject_len) {
		if (!remote->is_written)
			remote->n_faults = win_rma.n_faults;
		remote->is_written = true;
		return rma_post(m, at, data, len, WEFT_RMA_EP_COPY, NULL);
	}
	if (!m->op)
		m->op = fabric_op(m->win, m->target, m->whole);
	if (!m->op)
		return WEFT_ERR_NOMEM;
	return rma_post(
		m, at, data, len, m->is_put ? plan->deliver_flags : 0, m->op);
}

static int move_run(void *arg, struct weft_wire_am *rec)
{
	struct move *m = arg;
	size_t max = win_rma.ep->domain->plan.rma_max_len;
	int err = 0;

	while (rec->n_runs && !err) { /* each run is one operation */
		for (size_t done = 0; done < rec->n && !err; done += max)
			err = post_run(m, m->at + (uint64_t)rec->at + done,
				m->data + rec->pos + done,
				weft_min(rec->n - done, max));
		rec->at += rec->stride;
		rec->pos += rec->n;
		rec->n_runs--;
	}
	return err;
}

bool weft_win_rma_suits(const struct weft_win_access *access)
{
	const struct weft_type *type = access->type;
	struct iovec runs[RUNS];
	size_t n, bytes;

	if (weft_likely(weft_type_is_run(type, access->count)))
		return true;
	weft_type_iov(type, access->count, NULL, 0, runs, RUNS, &n, &bytes);
	return n < RUNS || bytes >= (size_t)RUNS * RUN_LEN;
}

int weft_win_rma_move(struct weft_win *win, struct weft_win_target *target,
	const struct weft_win_access *access, struct weft_win_whole *whole,
	bool is_put)
{
	const struct weft_win_buf *here = &access->origin;
	size_t len = weft_min((size_t)(here->type->size * here->count),
		(size_t)(access->type->size * access->count));
	struct move m = {
		.win = win, .target = target, .whole = whole, .is_put = is_put
	};
	int64_t at;
	int err = weft_win_target_range(target, access, &at);

	if (err || !access->count || !access->type->size)
		return err;
	m.at = (uint64_t)at;
	if (!weft_type_is_run(here->type, here->count)) {
		m.op = fabric_op(win, target, whole);
		if (!m.op)
			return WEFT_ERR_NOMEM;
	}
	m.data = weft_win_op_stage(m.op, here, 0, len, is_put);
	err = m.data ? weft_win_each_run(access, move_run, &m) : WEFT_ERR_NOMEM;
	if (m.op)
		rma_begun(m.op, err);
	return err;
}

/* --- completion ---------------------------------------------------- */

int weft_win_rma_flush(struct weft_win *win, struct weft_win_target *target)
{
	struct weft_win_remote *remote = target->remote;
	struct move flush = { .win = win, .target = target, .is_put = true };
	int err;

	if (!remote)
		return 0;
	remote->is_used = false;
	if (!remote->is_written)
		return 0;
	flush.op = fabric_op(win, target, NULL);
	if (!flush.op)
		return WEFT_ERR_NOMEM;
	remote->is_written = false;
	err = rma_post(&flush, 0, NULL, 0, win_rma.ep->domain->plan.flush_flags,
		flush.op);
	rma_begun(flush.op, err);
	if (!err)
		err = weft_win_op_wait(win, target, "MPI_Win_flush");
	/* errors of puts without a completion may arrive last */
	weft_rma_fabric_drain(win_rma.ep);
	win_rma_poll(NULL);
	if (err || remote->n_faults == win_rma.n_faults)
		return err;
	return weft_err_set(WEFT_ERR_PEER,
		"puts since the last flush, perhaps to rank %u of window "
		"\"%s\", may be lost: %s",
		target->am.rank, win->name, win_rma.why);
}
