/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_win: accesses to a window that peers request, and invented answers
 *
 * The other processes of the job send records to carry out on the window, long
 * data with or without an announcement, and answers to requests that this
 * process made or did not make. The memory has exactly the length of the
 * window, so that an access beyond it is detected. An answer counts only from
 * the process that received the request. */
#include "dt/pack.h"
#include "p2p/p2p.h"
#include "win/node_memory.h"
#include "test/fuzz/fuzz_job.h"

enum {
	SIZE = 520,
	STEPS = 40,
	BYTES = 2048, /* most bytes of records in one message */
	PUT = 64,
};

static struct {
	struct weft_win *win;
	/* state of the window; not a slot of node_memory.c, because slots of
	 * windows with failed members are never released */
	struct weft_win_state state;
	char *memory;
	char here[PUT], there[PUT];
} w;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static struct weft_comm comm = { .vci = &weft_proc.vci };
	static struct weft_win win = { .comm = &comm };
	struct weft_win_config config = { .flavor = WEFT_WIN_DYNAMIC };
	struct weft_win_record record = { 0 };

	(void)argc;
	(void)argv;
	job_init();
	/* the stripes of this process exist with its first window */
	FUZZ_CHECK(!weft_win_memory_open(&win, &config, &record));
	return 0;
}

static void begin(bool is_dynamic)
{
	struct weft_win_config config = {
		.flavor = is_dynamic ? WEFT_WIN_DYNAMIC : WEFT_WIN_CREATE,
		.disp_unit = is_dynamic ? 1 : 4
	};
	struct weft_win_target *me;

	job_begin();
	w.memory = malloc(SIZE);
	memset(w.memory, 0, SIZE);
	memset(&w.state, 0, sizeof(w.state));
	w.win = weft_table_new(&weft_wins);
	FUZZ_CHECK(w.win && !weft_win_fill(w.win, job.comm, &config));
	w.win->state = &w.state;
	if (!is_dynamic) {
		w.win->base = w.memory;
		w.win->size = SIZE;
	}
	weft_win_adopt_locked(w.win);
	me = weft_win_target_of(w.win, 0);
	FUZZ_CHECK(me);
	if (is_dynamic) {
		weft_vci_unlock(&weft_proc.vci);
		FUZZ_CHECK(!weft_win_attach(w.win, w.memory, SIZE / 2));
		FUZZ_CHECK(
			!weft_win_attach(w.win, w.memory + SIZE / 2, SIZE / 2));
		weft_vci_lock(&weft_proc.vci);
	}
}

static void end(void)
{
	job_fail();
	FUZZ_CHECK(!w.win->am.due.n_used);
	job_end();
	free(w.memory);
}

/* ---- messages of other processes ---- */

/* A record followed by bytes of data. */
struct rec {
	struct weft_wire_am head;
	uint32_t len;
};

/* Reads a record. Valid values are more frequent than by chance. */
static struct rec read_rec(struct fuzz_in *in)
{
	static const uint16_t types[] = { 0x247, 0x20a, 0x209, 0x20c, 0x208,
		0x20e, 0x228 };
	uint8_t how = fuzz_u8(in), runs;
	struct weft_wire_am rec = { .n_runs = 1 };
	uint32_t len;

	/* in statements, because initializers are evaluated in no order */
	rec.kind = fuzz_u8(in) % (WEFT_WIRE_AM_KIND_END + 1);
	rec.op = 0x20 + fuzz_u8(in) % 0x20;
	rec.type = types[fuzz_u8(in) % 7];
	rec.disp = fuzz_u8(in) % 140;
	rec.at = fuzz_u8(in) % 32;
	rec.n = fuzz_u8(in) % 140;
	rec.pos = fuzz_u8(in);
	rec.id = fuzz_u8(in) % 8;
	len = fuzz_u8(in) % 128;
	runs = fuzz_u8(in);
	if (rec.kind == WEFT_WIRE_AM_LOCK || rec.kind == WEFT_WIRE_AM_UNLOCK)
		rec.op %= 3;
	if (runs & 1) {
		rec.n_runs = runs >> 3;
		rec.stride = fuzz_u8(in) % 64 - 8;
	}
	if (runs & 2)
		rec.stride = (int64_t)fuzz_u64(in);
	if ((runs & 7) == 7)
		rec.n_runs = fuzz_u64(in);
	if (w.win->flavor == WEFT_WIN_DYNAMIC)
		rec.disp += (int64_t)(intptr_t)w.memory;
	if (how & 1)
		rec.disp = (int64_t)fuzz_u64(in);
	if (how & 2)
		rec.at = (int64_t)fuzz_u64(in);
	if (how & 4)
		rec.n = fuzz_u64(in);
	if (how & 8)
		rec.op |= WEFT_WIRE_AM_FETCHES;
	if (how & 16)
		rec.type = (uint16_t)(WEFT_TYPE_FIRST + fuzz_u8(in));
	if (how & 32)
		len = (uint32_t)(rec.n * rec.n_runs);
	if (how & 64)
		len = (uint32_t)(rec.n * rec.n_runs * 8);
	if (how & 128)
		len = 0;
	return (struct rec){ rec, len };
}

/* Writes a record, with a valid or an invalid encoding. Returns its length. */
static size_t write_rec(struct fuzz_in *in, uint8_t *to)
{
	struct rec rec = read_rec(in);
	size_t room = weft_min(weft_round_up((size_t)rec.len, 8), (size_t)512);
	size_t head = sizeof(rec.head);
	uint8_t how = fuzz_u8(in);

	if (how & 1) {
		head = WEFT_AM_HEAD;
		if (rec.head.kind <= WEFT_WIRE_AM_GET)
			rec.head.type = how >> 2;
		if (how & 2)
			room = weft_round_up((size_t)how >> 2, 8);
	} else {
		rec.head.kind |= WEFT_WIRE_AM_RUNS;
	}
	memcpy(to, &rec.head, head);
	fuzz_bytes(in, to + head, room);
	return head + room;
}

static void step_record(struct fuzz_in *in)
{
	uint32_t k = 1 + fuzz_u8(in) % (JOB - 1);
	uint8_t bytes[BYTES + 1024];
	size_t len = 0, cut;

	for (uint8_t n = fuzz_u8(in) % 8; n && len < BYTES; n--)
		len += write_rec(in, bytes + len);
	cut = fuzz_u8(in);
	if (cut > 200 && len)
		len -= cut % weft_min(len, (size_t)56);
	job_send(k, WEFT_WIRE_WIN, job.comm->ctx + (cut == 200), bytes, len);
}

/* Sends long data, for an announced record or for none. */
static void step_data(struct fuzz_in *in)
{
	uint32_t k = 1 + fuzz_u8(in) % (JOB - 1);
	struct weft_wire_head head = { .op = WEFT_WIRE_EAGER,
		.src = k,
		.ctx = job.comm->ctx,
		.tag = fuzz_u8(in) % 8 };
	struct weft_vci *vci = &weft_proc.vci;
	size_t len = fuzz_u8(in);
	uint8_t *exact = malloc(len + 1);

	fuzz_bytes(in, exact, len);
	drain(k);
	vci->is_polling = true;
	weft_dispatch(vci, peer_of(k), &head, exact, len);
	vci->is_polling = false;
	free(exact);
}

static void step_answer(struct fuzz_in *in)
{
	uint32_t k = 1 + fuzz_u8(in) % (JOB - 1);
	uint8_t how = fuzz_u8(in), bytes[256];
	struct weft_wire_am_reply rec = { 0 };

	rec.id = fuzz_u8(in) % 64;
	rec.pos = fuzz_u8(in) % 80;
	rec.len = fuzz_u8(in) % 128;
	if (how & 1)
		rec.err = (int16_t) - (int32_t)(fuzz_u16(in) % 1200);
	if (how & 2)
		rec.pos = fuzz_u64(in);
	if (how & 8)
		rec.err = (int16_t)fuzz_u16(in);
	if (how & 16)
		rec.pos = 0;
	memcpy(bytes, &rec, sizeof(rec));
	fuzz_bytes(in, bytes + sizeof(rec), rec.len);
	job_send(k, WEFT_WIRE_WIN_REPLY, job.comm->ctx, bytes,
		sizeof(rec) + weft_round_up((size_t)rec.len, 8) -
			(how & 32 ? 1 : 0));
}

/* ---- requests of this process ---- */

static int ask(struct weft_win_target *target, uint8_t how)
{
	struct weft_type *words = weft_type_builtin(0x20a);
	struct weft_win_access access = {
		.origin = { w.here, how % 8, words },
		.rank = (int32_t)target->am.rank,
		.disp = how,
		.count = how % 8,
		.type = words,
		.op = weft_redop_builtin(WEFT_OP_SUM),
		.compare = w.there,
	};

	switch (how / 8 % 4) {
	case 0:
		return weft_win_am_move(w.win, target, &access, true, NULL);
	case 1:
		return weft_win_am_move(w.win, target, &access, false, NULL);
	case 2:
		access.result =
			(struct weft_win_buf){ w.there, how % 8, words };
		return weft_win_am_accumulate(w.win, target, &access, NULL);
	default:
		access.type = access.origin.type = words =
			weft_type_builtin(how & 128 ? 0x20a : 0x209);
		access.result = (struct weft_win_buf){ w.there, 1, words };
		access.origin.count = access.count = 1;
		return weft_win_am_compare_and_swap(w.win, target, &access);
	}
}

static void step_request(struct fuzz_in *in)
{
	uint32_t k = 1 + fuzz_u8(in) % (JOB - 2);
	struct weft_win_target *target = weft_win_target_of(w.win, k);
	uint8_t how = fuzz_u8(in);

	FUZZ_CHECK(target);
	if (peer_of(k)->state != WEFT_PEER_READY)
		return;
	drain(k);
	weft_vci_unlock(&weft_proc.vci);
	FUZZ_CHECK(!ask(target, how));
	weft_vci_lock(&weft_proc.vci);
}

/* A process fails, and operations that wait for its answers end. */
static void step_kill(struct fuzz_in *in)
{
	weft_peer_fail(peer_of(1 + fuzz_u8(in) % (JOB - 1)), WEFT_ERR_PEER);
	weft_progress(&weft_proc.vci);
}

static void (*const steps[])(struct fuzz_in *in) = {
	step_record,
	step_record,
	step_record,
	step_data,
	step_answer,
	step_answer,
	step_request,
	step_kill,
	step_record,
	step_answer,
	step_answer,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct weft_vci *vci = &weft_proc.vci;
	struct fuzz_in in = { data, len };

	weft_vci_lock(vci);
	begin(fuzz_u8(&in) & 1);
	for (int i = 0; i < STEPS && in.len; i++)
		steps[fuzz_u8(&in) % (sizeof(steps) / sizeof(*steps))](&in);
	end();
	weft_vci_unlock(vci);
	return 0;
}
