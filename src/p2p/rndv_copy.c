/* SPDX-License-Identifier: BSD-3-Clause */
/* rndv_copy: the data of a long message is put into its receive's buffer
 *
 * By this process, from where it can read it: the memory of another process of
 * the node, its own, or what the fabric filled for a scattered buffer. More
 * than a little is deferred (weft_vci_defer), as the lock is not held for long:
 * it is given up for each piece. Meanwhile the request is_copying: nobody else
 * ends it, and if its peer dies it ends with that after the piece. */
#include "p2p/p2p_priv.h"

#include "shm/copy.h"

#include <stdlib.h>

enum {
	COPY_IOV = 64,
	COPY_LOCKED = 65536, /* takes no longer than deferring it */
	COPY_PIECE = 1 << 20,
	/* A run of the receiver's memory costs the kernel as much as this many
	 * bytes that are copied twice. */
	RUN_MIN = 512,
	BOUNCE_LEN = 65536,
};

/* Reads some of what follows at `done` into *bounce, which is made when first
 * needed, and unpacks it. Returns how much, or an error. */
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

/* Reads the bytes from `done` to `end` of those at addr in the sender straight
 * into the user's buffer; what is scattered there in small runs by way of the
 * cache. */
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

/* A copy that is deferred. */
struct copying {
	struct weft_progress_hook hook;
	struct weft_req *req;
	enum weft_rndv_from from;
	uint64_t addr;
	size_t len;
	uint64_t sreq;
	weft_rndv_copied_fn *copied;
};

static void run_copy(struct weft_progress_hook *hook)
{
	struct copying *c = weft_container_of(hook, struct copying, hook);
	struct weft_req *req = c->req;
	struct weft_vci *vci = req->vci;
	size_t done = 0;
	int err = 0;

	while (!err && done < c->len) {
		size_t end = weft_min(done + COPY_PIECE, c->len);

		weft_vci_unlock(vci);
		err = copy_piece(req, c->from, c->addr, done, end);
		weft_vci_lock(vci);
		done = end;
		req->rndv.n_moved = done;
		if (!err && done < c->len && c->from == WEFT_RNDV_FROM_PEER &&
			req->peer->state == WEFT_PEER_FAILED)
			err = req->peer->err;
	}
	req->rndv.is_copying = false;
	c->copied(req, c->sreq, err);
	free(c);
}

int weft_rndv_copy(struct weft_req *req, enum weft_rndv_from from,
	uint64_t addr, size_t len, uint64_t sreq, weft_rndv_copied_fn *copied)
{
	struct copying *c;

	if (len <= COPY_LOCKED) {
		copied(req, sreq, copy_piece(req, from, addr, 0, len));
		return 0;
	}
	c = malloc(sizeof(*c));
	if (!c)
		return WEFT_ERR_NOMEM;
	*c = (struct copying){
		.hook.run = run_copy,
		.req = req,
		.from = from,
		.addr = addr,
		.len = len,
		.sreq = sreq,
		.copied = copied,
	};
	req->rndv.is_copying = true;
	req->rndv.n_moved = 0;
	weft_vci_defer(req->vci, &c->hook);
	return 0;
}
