/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_job: a job whose other processes exist only as rings
 *
 * Process 0 is this process. Its messages to the other processes lie in their
 * rings. Before another process sends a message, all messages in its ring are
 * marked as read. */
#ifndef FUZZ_JOB_H
#define FUZZ_JOB_H

#include "base/list.h"
#include "comm/create.h"
#include "core/comm.h"
#include "session/session.h"
#include "test/fake/fakeboot.h"
#include "test/fuzz/fuzz.h"
#include "transport/dispatch.h"
#include "transport/proc.h"
#include "transport/progress.h"

#include <stdlib.h>
#include <unistd.h>

enum {
	JOB = 4,
	UNKNOWN = 3, /* a process whose address is never resolved: messages to
		      * it stay queued */
	RING_BUF = 16384,
};

static struct {
	struct weft_session *session;
	struct weft_group *all;
	struct weft_comm *comm;
	struct weft_ring *rings[JOB];
} job;

static void job_init(void)
{
	setenv("WEFT_LOG", "error", 0);
	fakeboot_set_job(0, JOB, JOB);
	weft_proc.open_boot = fakeboot_open;
	FUZZ_CHECK(!weft_session_open(NULL, NULL, &job.session));
	FUZZ_CHECK(!weft_group_create_range(
		weft_proc.proc & ~(uint64_t)UINT32_MAX, JOB, &job.all));
	for (int i = 1; i < JOB; i++)
		job.rings[i] = calloc(
			1, weft_ring_bytes(WEFT_RING_SLOTS_MAX) + RING_BUF);
}

static struct weft_peer *peer_of(uint32_t k)
{
	struct weft_peer *peer =
		weft_peer_of(&weft_proc.vci, weft_proc.proc + k);

	FUZZ_CHECK(peer);
	return peer;
}

/* Acts for the reader of the ring: marks all messages as read. */
static void drain(uint32_t k)
{
	struct weft_ring_tx *tx = &peer_of(k)->tx;

	if (!tx->ring)
		return;
	atomic_store(&tx->ring->n_read, tx->n);
	atomic_store(&tx->ring->n_read_bytes, tx->pos);
}

static void make_peer(uint32_t k)
{
	struct weft_peer *peer = peer_of(k);

	if (k == UNKNOWN)
		return;
	peer->state = WEFT_PEER_READY;
	peer->cookie_out = 1;
	peer->is_shm = true;
	peer->pid = getpid();
	atomic_store(&job.rings[k]->n_read, 0);
	atomic_store(&job.rings[k]->n_read_bytes, 0);
	peer->tx = (struct weft_ring_tx){ .ring = job.rings[k],
		.buf = (uint8_t *)job.rings[k] +
		       weft_ring_bytes(WEFT_RING_SLOTS_MAX),
		.mask = WEFT_RING_SLOTS_MAX - 1,
		.buf_len = RING_BUF,
		.open_len = RING_BUF,
		.n_occupied = RING_BUF };
}

/* VCI's lock held, here and below. */
static void job_begin(void)
{
	FUZZ_CHECK(!weft_create_fixed_locked(
		job.session, WEFT_CTX_WORLD, job.all, "all", &job.comm));
	for (uint32_t k = 1; k < JOB; k++)
		make_peer(k);
}

/* Reports to the library that all other processes have failed. */
static void job_fail(void)
{
	for (uint32_t k = 1; k < JOB; k++)
		weft_peer_fail(peer_of(k), WEFT_ERR_PEER);
	weft_progress(&weft_proc.vci);
}

static void job_end(void)
{
	struct weft_vci *vci = &weft_proc.vci;

	while (!weft_list_is_empty(&job.session->children[0])) {
		struct weft_child *child = weft_container_of(
			job.session->children[0].prev, struct weft_child, link);

		child->ops->destroy(child);
	}
	for (uint32_t k = 1; k < JOB; k++) {
		struct weft_peer *peer = peer_of(k);

		FUZZ_CHECK(weft_list_is_empty(&peer->pending));
		weft_map_remove(&vci->peers, peer->proc + 1);
		weft_peer_free(peer);
	}
	vci->n_failed = 0;
	weft_create_drop();
}

/* Delivers a message of process k in the context ctx. */
static void job_send(
	uint32_t k, uint8_t op, uint64_t ctx, const void *payload, size_t len)
{
	struct weft_wire_head head = { .op = op, .src = k, .ctx = ctx };
	struct weft_vci *vci = &weft_proc.vci;
	uint8_t *exact = malloc(len ? len : 1);

	if (len)
		memcpy(exact, payload, len);
	drain(k);
	vci->is_polling = true;
	weft_dispatch(vci, peer_of(k), &head, exact, len);
	vci->is_polling = false;
	free(exact);
}

#endif
