/* SPDX-License-Identifier: BSD-3-Clause */
/* win_post: messages about a window leave, and what may wait for the next
 *
 * Each message to another node costs the system calls of one. Short accesses
 * that nothing tells of alone are kept, and go in front of whatever is sent
 * there next: every wait for a target sends something, or what is kept. */
#include "win/win_priv.h"

#include "base/err.h"
#include "core/comm.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM = 128 << 10 }; /* what may be under way when there is none */

/* WEFT_AGAIN: not yet. */
static int try_post(struct weft_win *win, const struct weft_win_target *target,
	enum weft_wire_op op, const void *bytes, size_t len)
{
	struct weft_comm *comm = win->comm;
	struct weft_wire_head head = {
		.op = (uint8_t)op, .src = (uint32_t)comm->rank, .ctx = comm->ctx
	};
	struct weft_peer *peer = weft_comm_peer(comm, target->rank);

	if (!peer)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a peer");
	if (peer->state == WEFT_PEER_FAILED)
		return weft_comm_failed_rank(comm, (int32_t)target->rank);
	if (peer->state != WEFT_PEER_READY)
		weft_peer_resolve(peer);
	return weft_peer_is_clear(peer)
		       ? weft_peer_post(peer, &head, bytes, len)
		       : WEFT_AGAIN;
}

static __attribute__((noinline)) int wait_post(struct weft_win *win,
	struct weft_win_target *target, enum weft_wire_op op, const void *bytes,
	size_t len)
{
	struct weft_win_wait wait = {
		.win = win, .target = target, .what = "an access"
	};
	int err;

	do {
		err = weft_win_wait_round(&wait);
		if (err)
			break;
		err = try_post(win, target, op, bytes, len);
	} while (err == WEFT_AGAIN);
	err = weft_win_wait_end(&wait, err);
	weft_win_answered(target, &wait, ROOM);
	return err;
}

static int post_now(struct weft_win *win, struct weft_win_target *target,
	enum weft_wire_op op, const void *bytes, size_t len)
{
	int err = try_post(win, target, op, bytes, len);

	return weft_unlikely(err == WEFT_AGAIN)
		       ? wait_post(win, target, op, bytes, len)
		       : err;
}

/* Another thread sends what this one may have had kept. */
static int wait_pushed(struct weft_win *win, struct weft_win_target *target)
{
	struct weft_win_wait wait = {
		.win = win, .target = target, .what = "an access"
	};
	int err = 0;

	while (!err && target->is_pushing)
		err = weft_win_wait_round(&wait);
	return weft_win_wait_end(&wait, err);
}

/* With len bytes of the same kind behind it. */
static int push(struct weft_win *win, struct weft_win_target *target,
	const void *bytes, size_t len)
{
	uint8_t *kept = target->kept;
	size_t kept_len = target->kept_len;
	int err;

	memcpy(kept + kept_len, bytes, len);
	target->kept = NULL;
	target->kept_len = 0;
	target->is_pushing = true;
	err = post_now(win, target, WEFT_WIRE_WIN, kept, kept_len + len);
	target->is_pushing = false;
	if (target->kept)
		free(kept);
	else
		target->kept = kept;
	return err;
}

int weft_win_post_kept(struct weft_win *win, struct weft_win_target *target)
{
	if (weft_unlikely(target->is_pushing)) {
		int err = wait_pushed(win, target);

		if (err)
			return err;
	}
	return target->kept_len ? push(win, target, "", 0) : 0;
}

int weft_win_am_post(struct weft_win *win, struct weft_win_target *target,
	enum weft_wire_op op, const void *bytes, size_t len)
{
	int err = 0;

	if (weft_unlikely(target->is_pushing))
		err = wait_pushed(win, target);
	if (weft_unlikely(target->kept_len) && !err) {
		if (op == WEFT_WIRE_WIN &&
			len <= WEFT_WIN_KEPT_MAX - target->kept_len)
			return push(win, target, bytes, len);
		err = push(win, target, "", 0);
	}
	return err ? err : post_now(win, target, op, bytes, len);
}

bool weft_win_may_keep(struct weft_win *win, struct weft_win_target *target)
{
	const struct weft_peer *peer = weft_comm_peer(win->comm, target->rank);

	return peer && !peer->is_shm && !peer->is_self &&
	       peer->state == WEFT_PEER_READY && !target->is_lock_due &&
	       !weft_win_is_lock_asked(win, target);
}

int weft_win_keep(struct weft_win *win, struct weft_win_target *target,
	const void *bytes, size_t len)
{
	int err = 0;

	/* others may have kept more meanwhile */
	while (!err && len > WEFT_WIN_KEPT_MAX - target->kept_len)
		err = weft_win_post_kept(win, target);
	if (!err && !target->kept)
		target->kept = malloc(WEFT_WIN_KEPT_MAX);
	if (err || !target->kept)
		return err ? err
			   : weft_err_set(
				     WEFT_ERR_NOMEM, "no memory for an access");
	memcpy(target->kept + target->kept_len, bytes, len);
	target->kept_len += len;
	return 0;
}
