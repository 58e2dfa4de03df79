/* SPDX-License-Identifier: BSD-3-Clause */
/* rndv_copy: copies the data of a long message into the receive's buffer
 *
 * The receiver copies the data from one of:
 * - the memory of the sender, another process of the node;
 * - its own memory, if the process sent the message to itself;
 * - a staging buffer that the fabric filled, if the buffer of the receive is
 *   not contiguous.
 *
 * A read of another process's memory can block until the kernel has faulted in
 * the page. Such a copy of any length is therefore deferred (weft_vci_defer)
 * and runs without the VCI's lock. Copies of more than COPY_LOCKED bytes from
 * own memory are deferred too, and release the lock for each piece. Until the
 * copy is finished, the request has is_copying set, and only the copy completes
 * it. If the sender dies while pieces of its memory are left to copy, the
 * request ends with the peer's error after the current piece.
 *
 * A sender on the same node can write some pieces of the data itself while it
 * makes progress; this is called help. The receiver sends HELP, with the
 * address of its buffer. Both processes claim pieces, through a word in the
 * ring between them (shm/ring.h), until no piece is left. A sender that makes
 * no progress claims no piece, and the receiver copies all pieces. A sender
 * that claimed pieces sends HELPED when it has written them. If the sender
 * could not write a piece, HELPED names this piece, and the receiver copies it.
 */
#include "p2p/p2p_priv.h"

#include "shm/copy.h"
#include "transport/proc.h"

#include <stdlib.h>

enum {
	COPY_IOV = 64,
	COPY_LOCKED = 65536, /* longest copy of own memory under the lock */
	COPY_PIECE = 1 << 20,
	HELP_PIECE = 1 << 18,
	HELP_ALIGN = 4096,
	/* If the runs of a receive buffer are shorter than this on average, the
	 * data goes through a bounce buffer. A second copy then costs less than
	 * an iovec entry for each run. */
	RUN_MIN = 512,
	BOUNCE_LEN = 65536,
};

/* Reads at most BOUNCE_LEN bytes of the data, from offset `done` on, into
 * *bounce, and unpacks these bytes. The first call allocates *bounce. Returns
 * the number of bytes, or an error. */
static ssize_t read_bounced(const struct weft_req *req, uint64_t addr,
	size_t done, size_t end, void **bounce)
{
	struct iovec local = { NULL, weft_min(end - done, (size_t)BOUNCE_LEN) };
	int err;

	if (!*bounce)
		*bounce = malloc(BOUNCE_LEN);
	local.iov_base = *bounce;
	if (!local.iov_base)
		return WEFT_ERR_NOMEM;
	err = weft_copy_read(
		req->peer->pid, &local, 1, addr + done, local.iov_len);
	if (err)
		return err;
	weft_unpack(req->type, req->count, req->buf, done, local.iov_base,
		local.iov_len);
	return (ssize_t)local.iov_len;
}

/* Reads the bytes from `done` to `end` of the data, which is at addr in the
 * sender, into the user's buffer. Short runs go through a bounce buffer that
 * stays in the cache. */
static int read_piece(
	const struct weft_req *req, uint64_t addr, size_t done, size_t end)
{
	struct iovec iov[COPY_IOV];
	void *bounce = NULL;
	int err = 0;

	while (!err && done < end) {
		size_t n, bytes;

		weft_type_iov(req->type, req->count, req->buf, done, iov,
			COPY_IOV, &n, &bytes);
		if (bytes < n * RUN_MIN && bytes < end - done) {
			ssize_t got =
				read_bounced(req, addr, done, end, &bounce);

			err = got < 0 ? (int)got : 0;
			bytes = got < 0 ? 0 : (size_t)got;
		} else {
			bytes = weft_min(bytes, end - done);
			err = weft_copy_read(
				req->peer->pid, iov, n, addr + done, bytes);
		}
		done += bytes;
	}
	free(bounce);
	return err;
}

static int copy_piece(const struct weft_req *req, enum weft_rndv_from from,
	uint64_t addr, size_t done, size_t end)
{
	if (from == WEFT_RNDV_FROM_PEER)
		return read_piece(req, addr, done, end);
	weft_unpack(req->type, req->count, req->buf, done,
		(const char *)(uintptr_t)addr + done, end - done);
	return 0;
}

/* ---- the receiver's part ---- */

/* A deferred copy. If is_helped, the sender may write some of its pieces. */
struct copying {
	struct weft_progress_hook hook;
	struct weft_link link; /* is_helped: link in the VCI's list `copies` */
	struct weft_req *req;
	enum weft_rndv_from from;
	uint64_t addr;
	size_t len;
	uint64_t sreq;
	weft_rndv_copied_fn *copied;
	size_t piece_len;
	uint32_t n_pieces;
	uint32_t n_mine; /* pieces that this process has claimed */
	uint32_t number; /* is_helped: number of the copy */
	uint32_t redo;	 /* index + 1 of a piece that the sender could not
			    write; 0: none */
	bool is_helped;
	bool is_open;	     /* pieces can be claimed */
	bool is_with_sender; /* HELPED may still arrive */
	bool is_waiting;     /* only HELPED is missing */
	int err;
};

/* Returns the length of a piece of a copy with help: a multiple of HELP_ALIGN,
 * at most HELP_PIECE + HELP_ALIGN. The receiver and the sender compute the same
 * length. A copy of more than HELP_ALIGN bytes has at least two pieces. */
static size_t help_piece_len(size_t len)
{
	size_t n = 2 * (len / (2 * HELP_PIECE + 1) + 1);

	return weft_round_up((len + n - 1) / n, HELP_ALIGN);
}

static uint32_t n_pieces_of(size_t len, size_t piece_len)
{
	return (uint32_t)((len + piece_len - 1) / piece_len);
}

/* True if the receiver should request help. The receiver requests no help while
 * another copy with help from this sender is open. It requests no help either
 * while a send of this process that was announced to the sender is incomplete:
 * the sender may be copying that message. */
static bool wants_help(
	const struct weft_req *req, enum weft_rndv_from from, size_t len)
{
	const struct weft_p2p_peer *peer = weft_p2p_peer_of(req->peer);

	return from == WEFT_RNDV_FROM_PEER && weft_knobs.cma_help &&
	       len >= (size_t)weft_knobs.cma_help &&
	       !weft_proc.node.shares_cores && peer->peer.rx &&
	       !peer->has_open_copy && !peer->n_offered &&
	       weft_type_is_run(req->type, req->count);
}

static void request_help(struct copying *c)
{
	struct weft_req *req = c->req;
	struct weft_p2p_peer *peer = weft_p2p_peer_of(req->peer);
	struct weft_wire_head head = { .op = WEFT_WIRE_HELP };
	struct weft_wire_help help = {
		.sreq = c->sreq,
		.rreq = weft_obj_handle(req),
		.addr = (uintptr_t)req->buf + (uintptr_t)req->type->true_lb,
		.len = c->len,
	};

	c->is_with_sender = c->is_open = peer->has_open_copy = true;
	c->number = 2 * ++peer->n_copies + 1; /* never 0 */
	head.tag = (int32_t)c->number;
	weft_list_push_back(&req->vci->p2p->copies, &c->link);
	weft_ring_claims_open(req->peer->rx->ring, c->number);
	/* on an error, the sender receives no HELP and claims no piece */
	(void)weft_peer_control(req->peer, &head, &help, sizeof(help));
}

/* Closes the copy: no more pieces can be claimed. If this process claimed all
 * claimed pieces, no HELPED will arrive. */
static void close_copy(struct copying *c)
{
	struct weft_peer *peer = c->req->peer;
	uint32_t n_taken = weft_ring_claims_close(peer->rx->ring);

	c->is_open = weft_p2p_peer_of(peer)->has_open_copy = false;
	if (n_taken == c->n_mine)
		c->is_with_sender = false;
}

static bool next_piece(struct copying *c, uint32_t *piece_out)
{
	if (c->redo) {
		*piece_out = c->redo - 1;
		c->redo = 0;
		return true;
	}
	if (!c->is_helped)
		*piece_out = c->n_mine;
	else if (!c->is_open || !weft_ring_claim(c->req->peer->rx->ring,
					c->number, c->n_pieces, piece_out))
		return false;
	if (c->n_mine == c->n_pieces)
		return false;
	c->n_mine++;
	return true;
}

static int do_piece(struct copying *c, uint32_t piece)
{
	struct weft_req *req = c->req;
	size_t done = piece * c->piece_len;
	size_t end = weft_min(done + c->piece_len, c->len);
	int err;

	weft_vci_unlock(req->vci);
	err = copy_piece(req, c->from, c->addr, done, end);
	weft_vci_lock(req->vci);
	if (!err && c->from == WEFT_RNDV_FROM_PEER) {
		req->vci->counters.cma_reads++;
		req->vci->counters.cma_read_bytes += end - done;
	}
	if (!err && c->from == WEFT_RNDV_FROM_PEER && c->n_mine < c->n_pieces &&
		req->peer->state == WEFT_PEER_FAILED)
		err = req->peer->err;
	return err;
}

/* True if the peer has recorded that it treats this process as failed. */
static bool has_given_up(const struct weft_peer *peer)
{
	return peer->rx && weft_ring_is_given_up(peer->rx);
}

int weft_rndv_copied_err(struct weft_peer *peer)
{
	if (!has_given_up(peer))
		return 0;
	weft_peer_on_given_up(peer);
	return peer->err;
}

static void run_copy(struct weft_progress_hook *hook)
{
	struct copying *c = weft_container_of(hook, struct copying, hook);
	struct weft_req *req = c->req;
	uint32_t piece;

	while (!c->err && next_piece(c, &piece))
		c->err = do_piece(c, piece);
	if (c->is_open)
		close_copy(c);
	if (c->is_with_sender && req->peer->state != WEFT_PEER_FAILED) {
		c->is_waiting = true;
		return;
	}
	if (c->is_helped)
		weft_list_remove(&c->link);
	if (c->is_with_sender && !c->err)
		c->err = req->peer->err;
	if (c->from == WEFT_RNDV_FROM_PEER && has_given_up(req->peer))
		c->err = weft_rndv_copied_err(req->peer);
	req->rndv.is_copying = false;
	c->copied(req, c->sreq, c->err);
	free(c);
}

static void begin_copy(struct weft_progress_hook *hook)
{
	struct copying *c = weft_container_of(hook, struct copying, hook);

	c->hook.run = run_copy;
	c->is_helped = wants_help(c->req, c->from, c->len);
	c->piece_len = c->is_helped ? help_piece_len(c->len) : COPY_PIECE;
	c->n_pieces = n_pieces_of(c->len, c->piece_len);
	if (c->is_helped)
		request_help(c);
	run_copy(hook);
}

int weft_rndv_copy(struct weft_req *req, enum weft_rndv_from from,
	uint64_t addr, size_t len, uint64_t sreq, weft_rndv_copied_fn *copied)
{
	struct copying *c;

	if (from == WEFT_RNDV_FROM_HERE && len <= COPY_LOCKED) {
		copied(req, sreq, copy_piece(req, from, addr, 0, len));
		return 0;
	}
	c = malloc(sizeof(*c));
	if (!c)
		return WEFT_ERR_NOMEM;
	*c = (struct copying){
		.hook.run = begin_copy,
		.req = req,
		.from = from,
		.addr = addr,
		.len = len,
		.sreq = sreq,
		.copied = copied,
	};
	req->rndv.is_copying = true;
	weft_vci_defer(req->vci, &c->hook);
	return 0;
}

static struct copying *find_copy(
	const struct weft_vci *vci, const struct weft_req *req, uint32_t number)
{
	weft_list_for_each(link, next, &vci->p2p->copies)
	{
		struct copying *c =
			weft_container_of(link, struct copying, link);

		if (c->req == req && c->number == number)
			return c;
	}
	return NULL;
}

/* Handles HELPED: the sender has finished its pieces. */
void weft_rndv_on_helped(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_wire_fin fin;
	struct weft_req *req = NULL;
	struct copying *c = NULL;

	if (weft_wire_get_fin(&fin, payload, len))
		req = weft_rndv_find(peer, fin.req, WEFT_REQ_RECV);
	if (req)
		c = find_copy(vci, req, (uint32_t)head->tag);
	if (!c || !c->is_with_sender || fin.status > c->n_pieces) {
		weft_dispatch_drop(vci, "HELPED for an unknown copy");
		return;
	}
	c->is_with_sender = false;
	c->redo = (uint32_t)fin.status;
	if (!c->is_waiting)
		return;
	c->is_waiting = false;
	weft_vci_defer(vci, &c->hook);
}

void weft_rndv_copy_fail(struct weft_peer *peer)
{
	weft_list_for_each(link, next, &peer->vci->p2p->copies)
	{
		struct copying *c =
			weft_container_of(link, struct copying, link);

		if (c->req->peer == peer && c->is_waiting) {
			c->is_waiting = false;
			weft_vci_defer(peer->vci, &c->hook);
		}
	}
}

/* ---- the sender's part ---- */

/* A copy for which the receiver has sent HELP. */
struct helping {
	struct weft_progress_hook hook;
	struct weft_req *req;
	const char *run; /* the data; valid while the copy is open */
	uint64_t rreq, addr;
	size_t len;
	uint32_t number;
};

/* Writes a piece into the receiver's memory, without the lock. */
static int write_piece(const struct helping *h, size_t done, size_t piece_len)
{
	struct weft_vci *vci = h->req->vci;
	size_t len = weft_min(piece_len, h->len - done);
	struct iovec local = { (void *)(uintptr_t)(h->run + done), len };
	struct iovec remote = { (void *)(uintptr_t)(h->addr + done), len };
	pid_t pid = h->req->peer->pid;
	int err;

	weft_vci_unlock(vci);
	err = weft_copy_move(pid, &local, 1, &remote, 1, true);
	weft_vci_lock(vci);
	return err;
}

/* Claims and writes pieces until none is left, or one fails. Returns the number
 * of claimed pieces. If a piece could not be written, sets *failed_out to its
 * index + 1. */
static uint32_t write_pieces(const struct helping *h, uint32_t *failed_out)
{
	struct weft_peer *peer = h->req->peer;
	size_t piece_len = help_piece_len(h->len);
	uint32_t piece, n = 0;

	while (!*failed_out && peer->state == WEFT_PEER_READY &&
		!has_given_up(peer) &&
		weft_ring_claim(peer->tx.ring, h->number,
			n_pieces_of(h->len, piece_len), &piece)) {
		n++;
		if (write_piece(h, piece * piece_len, piece_len))
			*failed_out = piece + 1;
	}
	return n;
}

static void run_help(struct weft_progress_hook *hook)
{
	struct helping *h = weft_container_of(hook, struct helping, hook);
	struct weft_wire_head head = { .op = WEFT_WIRE_HELPED,
		.tag = (int32_t)h->number };
	struct weft_wire_fin fin = { .req = h->rreq };
	struct weft_req *req = h->req;
	struct weft_peer *peer = req->peer;
	uint32_t failed = 0;
	int err;

	if (write_pieces(h, &failed)) {
		fin.status = failed;
		if (failed)
			weft_p2p_peer_of(peer)->cannot_write = true;
		err = weft_peer_control(peer, &head, &fin, sizeof(fin));
		if (err)
			weft_peer_fail(peer, err);
	}
	req->rndv.is_copying = false;
	if (peer->state == WEFT_PEER_FAILED && !req->is_done)
		weft_send_finish(req, peer->err);
	weft_req_put(req);
	free(h);
}

void weft_rndv_drop_help(struct weft_req *req)
{
	weft_list_for_each(link, next, &req->vci->deferred)
	{
		struct helping *h =
			weft_container_of(link, struct helping, hook.link);

		if (h->hook.run != run_help || h->req != req)
			continue;
		weft_vci_undefer(req->vci, &h->hook);
		req->rndv.is_copying = false;
		weft_req_put(req);
		free(h);
	}
}

void weft_rndv_on_help(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	struct weft_wire_help help;
	struct weft_req *req = NULL;
	struct helping *h;

	if (weft_wire_get_help(&help, payload, len))
		req = weft_rndv_find(peer, help.sreq, WEFT_REQ_SEND);
	if (!req || req->rndv.remote || !peer->is_shm || !help.len ||
		help.len > req->len) {
		if (!vci->n_failed)
			weft_dispatch_drop(vci, "HELP for an unknown send");
		return;
	}
	if (!peer->can_read || weft_p2p_peer_of(peer)->cannot_write ||
		!weft_ring_claims_are_open(peer->tx.ring) ||
		req->rndv.is_copying)
		return;
	h = malloc(sizeof(*h));
	if (!h)
		return;
	*h = (struct helping){
		.hook.run = run_help,
		.req = weft_req_get(req),
		.run = weft_send_run(req),
		.rreq = help.rreq,
		.addr = help.addr,
		.len = help.len,
		.number = (uint32_t)head->tag,
	};
	req->rndv.is_copying = true;
	weft_vci_defer(vci, &h->hook);
}
