/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_ring: shared memory with arbitrary contents
 *
 * A segment with three writers. The input attaches some of them, posts correct
 * messages through rings, whose buffers exceed their budget and some of which
 * get updates of the read counters, and
 * overwrites slots, lengths, counters and the header. Every message that
 * arrives must lie inside the segment and be no longer than the buffer of a
 * ring. The messages of a correct writer arrive in order. */
#include "shm/budget.h"
#include "shm/seg.h"
#include "test/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

enum {
	WRITERS = 3,
	RING_LEN = 8192,
	STEPS = 64,
	LEN_MAX = 6000,
	BUDGET = 4096, /* the buffer of a ring exceeds it */
};

static struct {
	struct weft_shm *shm;
	struct weft_ring_tx tx[WRITERS];
	struct weft_budget budget;
	/* n_back of each: number of messages received from that writer */
	struct weft_ring_rx back[WRITERS];
	uint8_t *map; /* the segment, as another process sees it */
	size_t map_len;
	uint64_t n_said[WRITERS], n_heard[WRITERS];
	bool is_honest; /* its ring was not overwritten */
} w;

static void on_message(void *arg, struct weft_ring_rx *rx, const void *head,
	const void *payload, size_t len)
{
	static uint8_t copy[WEFT_RING_HEAD + WEFT_RING_LARGE];
	uint64_t number, writer;

	(void)arg;
	if (!head) {
		FUZZ_CHECK(!w.is_honest);
		return;
	}
	FUZZ_CHECK(len <= WEFT_RING_LARGE);
	memcpy(copy, head, WEFT_RING_HEAD);
	memcpy(copy + WEFT_RING_HEAD, payload, len);
	if (!w.is_honest)
		return;
	memcpy(&number, copy, sizeof(number));
	memcpy(&writer, copy + 8, sizeof(writer));
	FUZZ_CHECK(writer < WRITERS && rx->ring->writer_proc == writer);
	FUZZ_CHECK(number == w.n_heard[writer]);
	for (size_t i = 0; i < len; i++)
		FUZZ_CHECK(copy[WEFT_RING_HEAD + i] == (uint8_t)(number + i));
	w.n_heard[writer]++;
}

static void attach(uint32_t writer)
{
	struct weft_shm_bc bc;

	if (w.tx[writer].ring)
		return;
	weft_shm_describe(w.shm, &bc);
	if (weft_ring_attach(&w.tx[writer], &bc, writer, writer, 77)) {
		FUZZ_CHECK(!w.is_honest);
		return;
	}
	w.tx[writer].back = &w.back[writer];
	weft_budget_join(&w.budget, &w.tx[writer]);
}

static void say(struct fuzz_in *in, uint32_t writer)
{
	uint64_t head[3] = { w.n_said[writer], writer, 0 };
	size_t len = fuzz_u16(in) % LEN_MAX;
	uint8_t *place;

	if (!w.tx[writer].ring || len > w.tx[writer].buf_len / 2)
		return;
	place = weft_ring_reserve(&w.tx[writer], len);
	if (!place)
		return;
	for (size_t i = 0; i < len; i++)
		place[i] = (uint8_t)(w.n_said[writer] + i);
	memcpy(weft_ring_head(&w.tx[writer]), head, sizeof(head));
	weft_ring_commit(&w.tx[writer], len);
	w.n_said[writer]++;
}

/* Overwrites the next slot of a ring, as a writer that violates the rules does,
 * or any other place. */
static void scribble(struct fuzz_in *in, uint32_t writer)
{
	uint8_t how = fuzz_u8(in);
	struct weft_ring_slot *slot;
	size_t at;

	w.is_honest = false;
	if (how % 2 && w.tx[writer].ring) {
		struct weft_ring_tx *tx = &w.tx[writer];

		slot = &tx->ring->slots[tx->n & tx->mask];
		slot->n_back = fuzz_u16(in);
		atomic_store(
			&slot->word, ((how & 2 ? fuzz_u32(in) : fuzz_u16(in))
					     << WEFT_RING_LEN_SHIFT) |
					     (how & 4 ? WEFT_RING_REWOUND : 0) |
					     (uint8_t)++tx->n);
		return;
	}
	at = fuzz_u32(in) % w.map_len;
	if (how & 4)
		at %= 64; /* the header */
	for (uint8_t n = how >> 4; n && at < w.map_len; n--)
		w.map[at++] = fuzz_u8(in);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

/* Creates the segment. is_large: with large buffers, which long payloads fill.
 */
static void begin(bool is_large)
{
	const size_t ring_len = is_large ? WEFT_RING_LARGE : RING_LEN;
	struct weft_shm_bc bc;

	memset(&w, 0, sizeof(w));
	w.is_honest = true;
	weft_budget_init(&w.budget, BUDGET);
	FUZZ_CHECK(!weft_shm_open(WRITERS,
		is_large ? WEFT_RING_SLOTS_MAX : WEFT_RING_SLOTS_MIN, ring_len,
		on_message, NULL, &w.shm));
	weft_shm_describe(w.shm, &bc);
	w.map_len = (size_t)lseek(bc.fd, 0, SEEK_END);
	w.map = mmap(
		NULL, w.map_len, PROT_READ | PROT_WRITE, MAP_SHARED, bc.fd, 0);
	FUZZ_CHECK(w.map != MAP_FAILED);
}

static void attach_and_send(uint32_t writer)
{
	weft_shm_poll(w.shm);
	w.back[writer].n_back = (uint32_t)w.n_heard[writer];
}

static void end(void)
{
	while (weft_shm_poll(w.shm) > 0)
		;
	for (uint32_t i = 0; i < WRITERS; i++) {
		FUZZ_CHECK(!w.is_honest || w.n_said[i] == w.n_heard[i]);
		weft_ring_detach(&w.tx[i]);
	}
	munmap(w.map, w.map_len);
	weft_shm_close(w.shm);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_in in = { data, len };

	begin(len && data[len - 1] & 1);
	for (int i = 0; i < STEPS && in.len; i++) {
		uint8_t what = fuzz_u8(&in);
		uint32_t writer = what / 8 % WRITERS;

		if (what % 8 < 4)
			say(&in, writer);
		else if (what % 8 < 6)
			attach(writer);
		else if (what % 8 == 6)
			scribble(&in, writer);
		else
			attach_and_send(writer);
	}
	end();
	return 0;
}
