/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_rma: one-sided access that others tell of, and answers they make up
 *
 * A job whose other processes send records to be carried out here, and answers
 * to what this process asked or did not ask. Memory of exactly the spans'
 * lengths shows what would go beyond. An answer counts when it comes from the
 * process that was asked, once. */
#include "core/comm.h"
#include "transport/dispatch.h"
#include "transport/proc.h"
#include "transport/progress.h"
#include "rma/rma_priv.h"
#include "comm/create.h"
#include "session/session.h"
#include "test/fake/fakeboot.h"
#include "test/fuzz/fuzz.h"

#include <unistd.h>

enum {
	JOB = 4,
	UNKNOWN = 3, /* never resolved: answers to it wait */
	HEAP = 512,
	DATA = 72,
	RING_BUF = 16384,
	STEPS = 40,
	ASKED = 32,
	BYTES = 2048, /* of records in one message */
};

struct asked {
	uint64_t id;
	uint32_t pe;
	uint8_t *dest; /* NULL: answered, or only that it came */
	uint32_t width;
	bool is_due;
};

static struct {
	struct weft_session *session;
	struct weft_group *all;
	struct weft_comm *comm;
	struct weft_ring *rings[JOB];
	struct weft_rma_ctx *ctx;
	struct asked asked[ASKED];
	uint32_t n_asked;
} w;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	setenv("WEFT_LOG", "error", 0);
	fakeboot_set_job(0, JOB, JOB);
	weft_proc.open_boot = fakeboot_open;
	FUZZ_CHECK(!weft_session_open(NULL, NULL, &w.session));
	FUZZ_CHECK(!weft_group_create_range(
		weft_proc.proc & ~(uint64_t)UINT32_MAX, JOB, &w.all));
	for (int i = 1; i < JOB; i++)
		w.rings[i] = calloc(1, sizeof(*w.rings[i]) + RING_BUF);
	return 0;
}

static struct weft_peer *peer_of(uint32_t k)
{
	struct weft_peer *peer =
		weft_peer_of(&weft_proc.vci, weft_proc.proc + k);

	FUZZ_CHECK(peer);
	return peer;
}

/* The other side of the ring has read all. */
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
	atomic_store(&w.rings[k]->n_read, 0);
	atomic_store(&w.rings[k]->n_read_bytes, 0);
	peer->tx = (struct weft_ring_tx){ .ring = w.rings[k],
		.buf_len = RING_BUF };
}

static char *span(size_t len)
{
	void *mem;

	FUZZ_CHECK(!posix_memalign(&mem, 64, len));
	memset(mem, 0, len);
	return mem;
}

static void begin(void)
{
	FUZZ_CHECK(!weft_create_fixed_locked(
		w.session, WEFT_CTX_WORLD, w.all, "all", &w.comm));
	for (uint32_t k = 1; k < JOB; k++)
		make_peer(k);
	weft_rma_own.comm = w.comm;
	weft_list_init(&weft_rma_own.ctxs);
	weft_rma_own.remotes = calloc(JOB, sizeof(*weft_rma_own.remotes));
	weft_rma.pes = calloc(JOB, sizeof(*weft_rma.pes));
	weft_rma.n_pes = JOB;
	weft_rma.heap = (struct weft_rma_span){ span(HEAP), HEAP };
	weft_rma.data = (struct weft_rma_span){ span(DATA), DATA };
	w.ctx = calloc(1, sizeof(*w.ctx));
	w.ctx->options = WEFT_RMA_PRIVATE;
	w.ctx->states = calloc(JOB, 1);
	w.ctx->touched = calloc(JOB, sizeof(*w.ctx->touched));
	w.n_asked = 0;
}

static void end_comm(void)
{
	while (!weft_list_is_empty(&w.session->children)) {
		struct weft_child *child = weft_container_of(
			w.session->children.prev, struct weft_child, link);

		child->ops->destroy(child);
	}
}

static void end_rma(void)
{
	weft_am_forget(w.ctx);
	FUZZ_CHECK(w.ctx->n_asked == 0 || weft_rma_own.fetches.n_used == 0);
	FUZZ_CHECK(weft_rma_own.fetches.n_used == 0);
	free(w.ctx->states);
	free(w.ctx->touched);
	free(w.ctx);
	free(weft_rma.heap.base);
	free(weft_rma.data.base);
	free(weft_rma.pes);
	free(weft_rma_own.remotes);
	memset(&weft_rma, 0, sizeof(weft_rma));
	weft_rma_own.remotes = NULL;
	for (uint32_t i = 0; i < w.n_asked; i++)
		free(w.asked[i].dest);
}

static void end(struct weft_vci *vci)
{
	uint32_t n_due = 0;

	for (uint32_t i = 0; i < w.n_asked; i++)
		n_due += w.asked[i].is_due;
	FUZZ_CHECK(w.ctx->n_asked == n_due);
	FUZZ_CHECK(weft_rma_own.fetches.n_used == n_due);
	for (uint32_t k = 1; k < JOB; k++)
		weft_peer_fail(peer_of(k), WEFT_ERR_PEER);
	weft_progress(vci);
	weft_vci_unlock(vci);
	end_rma();
	weft_vci_lock(vci);
	end_comm();
	for (uint32_t k = 1; k < JOB; k++) {
		struct weft_peer *peer = peer_of(k);

		FUZZ_CHECK(weft_list_is_empty(&peer->pending));
		weft_map_remove(&vci->peers, peer->proc + 1);
		weft_ring_detach(&peer->tx);
		free(peer);
	}
	vci->n_failed = 0;
	weft_create_forget();
}

/* ---- what others say ---- */

static void deliver(uint32_t k, uint8_t op, const void *payload, size_t len)
{
	struct weft_wire_head head = { .op = op, .src = (int32_t)k };
	struct weft_vci *vci = &weft_proc.vci;

	drain(k);
	vci->is_polling = true;
	weft_dispatch(vci, peer_of(k), &head, payload, len);
	vci->is_polling = false;
}

/* What means something comes up more often than by chance. */
static struct weft_wire_rma read_rec(struct fuzz_in *in)
{
	uint8_t how = fuzz_u8(in);
	struct weft_wire_rma rec = {
		.kind = fuzz_u8(in) % 6,
		.op = fuzz_u8(in) % 10,
		.width = fuzz_u8(in) % 3 * 4,
		.span = fuzz_u8(in) % 3,
		.len = fuzz_u8(in),
		.at = fuzz_u16(in) % (HEAP + 64),
		.id = fuzz_u8(in),
	};

	if (how & 1)
		rec.at = fuzz_u64(in);
	if (how & 2)
		rec.len = fuzz_u32(in);
	if (how & 4)
		rec.op = fuzz_u8(in);
	if (how & 8)
		rec.width = fuzz_u8(in);
	if (how & 16)
		rec.len = 16;
	if (how & 32)
		rec.span = fuzz_u8(in);
	return rec;
}

static void step_told(struct fuzz_in *in)
{
	uint32_t k = 1 + fuzz_u8(in) % (JOB - 1);
	uint8_t bytes[BYTES], *exact;
	size_t len = 0, cut;

	for (uint8_t n = fuzz_u8(in) % 8; n; n--) {
		struct weft_wire_rma rec = read_rec(in);
		size_t room = weft_min(
			weft_round_up((size_t)rec.len, 8), (size_t)256);

		if (len + sizeof(rec) + room > BYTES)
			break;
		memcpy(bytes + len, &rec, sizeof(rec));
		fuzz_bytes(in, bytes + len + sizeof(rec), room);
		len += sizeof(rec) + room;
	}
	cut = fuzz_u8(in);
	if (cut > 200 && len)
		len -= cut % weft_min(len, (size_t)56);
	exact = malloc(len ? len : 1);
	memcpy(exact, bytes, len);
	deliver(k, WEFT_WIRE_RMA, exact, len);
	free(exact);
}

/* Takes note of what an answer ought to do. */
static void expect(uint32_t k, const struct weft_wire_rma_reply *rec)
{
	for (uint32_t i = 0; i < w.n_asked; i++)
		if (w.asked[i].id == rec->id && w.asked[i].pe == k &&
			rec->has_failed <= 1 && !rec->reserved)
			w.asked[i].is_due = false;
}

static void step_answer(struct fuzz_in *in)
{
	uint32_t k = 1 + fuzz_u8(in) % (JOB - 1);
	uint8_t which = fuzz_u8(in), how = fuzz_u8(in);
	struct weft_wire_rma_reply *rec = malloc(sizeof(*rec));
	size_t len = sizeof(*rec);
	uint8_t *exact;

	*rec = (struct weft_wire_rma_reply){ .id = which,
		.value = fuzz_u64(in),
		.has_failed = how & 3,
		.reserved = how & 4 };
	if (w.n_asked && how & 8)
		rec->id = w.asked[which % w.n_asked].id;
	if (how & 16)
		len -= fuzz_u8(in) % len;
	if (len == sizeof(*rec))
		expect(k, rec);
	exact = malloc(len);
	memcpy(exact, rec, len);
	deliver(k, WEFT_WIRE_RMA_REPLY, exact, len);
	free(exact);
	free(rec);
}

/* ---- what this process asks ---- */

static void step_ask(struct fuzz_in *in)
{
	uint32_t k = 1 + fuzz_u8(in) % (JOB - 2);
	uint8_t how = fuzz_u8(in);
	struct weft_amo amo = { .op = WEFT_AMO_FETCH + how % 3,
		.width = how & 8 ? 8 : 4 };
	struct asked asked = { .pe = k, .width = amo.width, .is_due = true };
	int err;

	if (w.n_asked == ASKED || peer_of(k)->state != WEFT_PEER_READY)
		return;
	drain(k);
	asked.dest = malloc(amo.width);
	weft_vci_unlock(&weft_proc.vci);
	err = how & 128 ? weft_am_ask(w.ctx, k)
			: weft_am_fetch(w.ctx, weft_rma.heap.base, &amo,
				  asked.dest, k, true);
	weft_vci_lock(&weft_proc.vci);
	FUZZ_CHECK(!err);
	asked.id = weft_rma_own.last_id;
	w.asked[w.n_asked++] = asked;
}

static void step_kill(struct fuzz_in *in)
{
	weft_peer_fail(peer_of(1 + fuzz_u8(in) % (JOB - 1)), WEFT_ERR_PEER);
}

static void (*const steps[])(struct fuzz_in *in) = {
	step_told,
	step_told,
	step_answer,
	step_ask,
	step_kill,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct weft_vci *vci = &weft_proc.vci;
	struct fuzz_in in = { data, len };

	weft_am_open();
	weft_vci_lock(vci);
	begin();
	for (int i = 0; i < STEPS && in.len; i++)
		steps[fuzz_u8(&in) % (sizeof(steps) / sizeof(*steps))](&in);
	end(vci);
	weft_vci_unlock(vci);
	weft_am_close();
	return 0;
}
