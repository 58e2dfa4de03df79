/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_rma: one-sided accesses that peers request, and invented answers
 *
 * The other processes of the job send records to carry out here, and answers to
 * requests that this process made or did not make. The memory has exactly the
 * length of the spans, so that an access beyond them is detected. An answer
 * counts once, and only from the process that received the request. */
#include "rma/rma_priv.h"
#include "test/fuzz/fuzz_job.h"

enum {
	HEAP = 512,
	DATA = 72,
	STEPS = 40,
	ASKED = 32,
	BYTES = 2048, /* most bytes of records in one message */
};

struct asked {
	uint32_t id;
	uint32_t pe;
	uint8_t *dest;
	uint32_t width;
	bool is_due;
};

static struct {
	struct weft_rma_ctx *ctx;
	struct asked asked[ASKED];
	uint32_t n_asked;
} w;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	job_init();
	return 0;
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
	job_begin();
	weft_rma_own.comm = job.comm;
	weft_list_init(&weft_rma_own.ctxs);
	weft_rma_own.remotes = calloc(JOB, sizeof(*weft_rma_own.remotes));
	weft_rma.pes = calloc(JOB, sizeof(*weft_rma.pes));
	weft_rma.n_pes = JOB;
	weft_rma.heap =
		(struct weft_rma_region){ .base = span(HEAP), .len = HEAP };
	weft_rma.data =
		(struct weft_rma_region){ .base = span(DATA), .len = DATA };
	w.ctx = calloc(1, sizeof(*w.ctx));
	w.ctx->options = WEFT_RMA_PRIVATE;
	w.ctx->states = calloc(JOB, 1);
	w.ctx->touched = calloc(JOB, sizeof(*w.ctx->touched));
	w.n_asked = 0;
	weft_vci_unlock(&weft_proc.vci);
	weft_rma_am_open(job.comm);
	weft_vci_lock(&weft_proc.vci);
}

static void end_rma(void)
{
	weft_rma_am_forget(w.ctx);
	FUZZ_CHECK(weft_rma_own.am.due.n_used == 0);
	weft_rma_am_close();
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
	FUZZ_CHECK(weft_rma_own.am.due.n_used == n_due);
	job_fail();
	weft_vci_unlock(vci);
	end_rma();
	weft_vci_lock(vci);
	job_end();
}

/* ---- messages of other processes ---- */

/* Writes a record. Valid values are more frequent than by chance. Returns its
 * length. */
static size_t write_rec(struct fuzz_in *in, uint8_t *to)
{
	static const uint8_t kinds[] = { WEFT_WIRE_AM_PUT, WEFT_WIRE_AM_AMO,
		WEFT_WIRE_AM_AMO, WEFT_WIRE_AM_FLUSH, WEFT_WIRE_AM_REGION };
	uint8_t how = fuzz_u8(in), kind = fuzz_u8(in);
	struct weft_wire_am rec = { .kind = kinds[kind % sizeof(kinds)],
		.n_runs = 1 };
	size_t room = rec.kind == WEFT_WIRE_AM_AMO ? 16 : 0;
	size_t head = WEFT_AM_HEAD;

	/* in statements, because initializers are evaluated in no order */
	rec.op = fuzz_u8(in) % 10;
	rec.disp = fuzz_u16(in) % (HEAP + 64);
	rec.id = fuzz_u8(in) % 4;
	rec.type = rec.kind == WEFT_WIRE_AM_PUT ? fuzz_u8(in)
						: fuzz_u8(in) % 3 * 4;
	if (rec.kind == WEFT_WIRE_AM_PUT)
		room = weft_round_up((size_t)rec.type, 8);
	if (how & 1)
		rec.disp = (int64_t)fuzz_u64(in);
	if (how & 2)
		rec.kind = fuzz_u8(in);
	if (how & 4)
		rec.op = fuzz_u8(in);
	if (how & 8)
		rec.type = fuzz_u16(in);
	if (how & 16)
		rec.op |= WEFT_WIRE_AM_FETCHES;
	if (how & 32)
		rec.op |= WEFT_WIRE_AM_VARIABLES;
	if (how & 64) {
		rec.kind |= WEFT_WIRE_AM_RUNS;
		rec.n = fuzz_u8(in);
		rec.n_runs = fuzz_u8(in);
		head = sizeof(rec);
	}
	if (how & 128)
		room = fuzz_u8(in);
	memcpy(to, &rec, head);
	fuzz_bytes(in, to + head, room);
	return head + room;
}

static void step_record(struct fuzz_in *in)
{
	uint32_t k = 1 + fuzz_u8(in) % (JOB - 1);
	uint8_t bytes[BYTES + 512];
	size_t len = 0, cut;

	for (uint8_t n = fuzz_u8(in) % 8; n && len < BYTES; n--)
		len += write_rec(in, bytes + len);
	cut = fuzz_u8(in);
	if (cut > 200 && len)
		len -= cut % weft_min(len, (size_t)56);
	job_send(k, WEFT_WIRE_RMA, 0, bytes, len);
}

/* Stores the expected effect of an answer. */
static void expect(
	uint32_t k, const struct weft_wire_am_reply *rec, size_t data_len)
{
	for (uint32_t i = 0; i < w.n_asked; i++) {
		struct asked *asked = &w.asked[i];
		bool is_error = rec->err > WEFT_ERR_FIRST_ && rec->err < 0;
		bool is_data =
			!rec->err &&
			(!rec->len ||
				(rec->pos <= asked->width &&
					rec->len <= asked->width - rec->pos));

		if (asked->id == rec->id && asked->pe == k &&
			rec->len <= data_len && (is_error || is_data))
			asked->is_due = false;
	}
}

static void step_answer(struct fuzz_in *in)
{
	uint32_t k = 1 + fuzz_u8(in) % (JOB - 1);
	uint8_t which = fuzz_u8(in), how = fuzz_u8(in), bytes[64];
	struct weft_wire_am_reply rec = { .id = which,
		.err = how & 1 ? (int16_t) - (int32_t)(fuzz_u16(in) % 1200) : 0,
		.len = how & 2	 ? 8
		       : how & 4 ? 4
				 : 0 };
	size_t len = sizeof(rec) + 8;

	if (w.n_asked && how & 8)
		rec.id = w.asked[which % w.n_asked].id;
	if (how & 32)
		rec.pos = fuzz_u8(in) % 12;
	if (how & 64)
		rec.len = fuzz_u8(in) % 16;
	if (!rec.len)
		len = sizeof(rec);
	memcpy(bytes, &rec, sizeof(rec));
	fuzz_bytes(in, bytes + sizeof(rec), 8);
	if (how & 16)
		len -= fuzz_u8(in) % len;
	if (len >= sizeof(rec) &&
		weft_round_up((size_t)rec.len, 8) <= len - sizeof(rec))
		expect(k, &rec, len - sizeof(rec));
	job_send(k, WEFT_WIRE_RMA_REPLY, 0, bytes, len);
}

/* ---- requests of this process ---- */

static void step_request(struct fuzz_in *in)
{
	uint32_t k = 1 + fuzz_u8(in) % (JOB - 2);
	uint8_t how = fuzz_u8(in);
	struct weft_amo amo = { .op = WEFT_AMO_FETCH + how % 3,
		.width = how & 8 ? 8 : 4 };
	struct weft_rma_access access = {
		.class = WEFT_CLASS_FAMO,
		.pe = k,
		.is_nbi = true,
		.sym = weft_rma.heap.base,
		.len = amo.width,
		.amo = &amo,
	};
	struct asked asked = { .pe = k, .width = amo.width, .is_due = true };
	int err;

	if (w.n_asked == ASKED || peer_of(k)->state != WEFT_PEER_READY)
		return;
	drain(k);
	asked.dest = malloc(amo.width);
	access.here = asked.dest;
	weft_vci_unlock(&weft_proc.vci);
	if (how & 128) /* only requests an answer */
		access = (struct weft_rma_access){ .pe = k };
	err = weft_rma_am_send(w.ctx, &access, true, true);
	weft_vci_lock(&weft_proc.vci);
	FUZZ_CHECK(!err);
	asked.id = weft_rma_own.am.last_id;
	if (how & 128)
		asked.width = 0; /* no data is expected */
	w.asked[w.n_asked++] = asked;
}

static void step_kill(struct fuzz_in *in)
{
	weft_peer_fail(peer_of(1 + fuzz_u8(in) % (JOB - 1)), WEFT_ERR_PEER);
}

static void (*const steps[])(struct fuzz_in *in) = {
	step_record,
	step_record,
	step_answer,
	step_request,
	step_kill,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct weft_vci *vci = &weft_proc.vci;
	struct fuzz_in in = { data, len };

	weft_vci_lock(vci);
	begin();
	for (int i = 0; i < STEPS && in.len; i++)
		steps[fuzz_u8(&in) % (sizeof(steps) / sizeof(*steps))](&in);
	end(vci);
	weft_vci_unlock(vci);
	return 0;
}
