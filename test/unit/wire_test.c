/* SPDX-License-Identifier: BSD-3-Clause */
/* wire_test: no input from a peer crashes the process
 *
 * The test passes messages directly to the function that the fabric calls. Some
 * are noise, some are foreign, and most carry the right cookie and a plausible
 * header, so that they reach every handler with wrong lengths and handles. The
 * address sanitizer makes the test stricter. */
#include "core/group.h"
#include "core/vci_core.h"
#include "net/net.h"
#include "transport/arrival.h"
#include "transport/bc.h"
#include "transport/proc.h"
#include "transport/progress.h"
#include "p2p/p2p_priv.h"
#include "test/fake/fakeboot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { JOB_SIZE = 6, N_MESSAGES = 100000, MAX_LEN = 300, N_RECVS = 32 };

static struct weft_comm *comm;
static struct weft_req *recvs[N_RECVS];
static uint8_t bufs[N_RECVS][64];
static uint64_t rng_state = 0x2545f4914f6cdd1dull;

static uint32_t rng(uint32_t n)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return (uint32_t)(rng_state >> 33) % n;
}

static int on_open(struct weft_vci *vci)
{
	int err = weft_vci_core_open(vci);

	return err ? err : weft_p2p_open(vci);
}

static int set_up(void **state)
{
	struct weft_vci *vci = &weft_proc.vci;
	struct weft_group *group;
	int err;

	(void)state;
	fakeboot_set_job(0, JOB_SIZE, 1);
	weft_proc.open_boot = fakeboot_open;
	err = weft_proc_get(on_open);
	if (err)
		return err;
	weft_vci_lock(vci);
	err = weft_group_create_range(weft_proc.proc, JOB_SIZE, &group);
	if (!err)
		err = weft_comm_create(vci, WEFT_CTX_WORLD, group, NULL, &comm);
	weft_vci_unlock(vci);
	return err;
}

/* Keeps receives posted, so that messages match some of them. */
static void keep_receives_open(void)
{
	for (int i = 0; i < N_RECVS; i++) {
		struct weft_msg msg = { .comm = comm,
			.buf = bufs[i],
			.count = (int64_t)rng(sizeof(bufs[i])),
			.type = weft_type_builtin(WEFT_TYPE_BYTE),
			.rank = (int32_t)rng(JOB_SIZE + 1) - 1,
			.tag = (int32_t)rng(4) };

		if (recvs[i] && !recvs[i]->is_done)
			continue;
		if (recvs[i])
			weft_req_put(recvs[i]);
		assert_int_equal(weft_irecv_locked(&msg, &recvs[i]), 0);
	}
}

static void fill_noise(uint8_t *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		data[i] = (uint8_t)rng(256);
}

/* Writes a message with a valid header of the job and random contents. */
static size_t make_plausible(uint8_t *data)
{
	struct weft_peer *peer = weft_peer_of(
		&weft_proc.vci, weft_proc.proc + 1 + rng(JOB_SIZE - 3));
	struct weft_wire_net wire = { .version = WEFT_WIRE_VERSION };
	size_t len = sizeof(wire) + rng(MAX_LEN - sizeof(wire));

	fill_noise(data, len);
	wire.src_proc = peer->proc;
	wire.cookie = peer->cookie_in;
	wire.number = peer->wire_in + 1;
	wire.head.op = (uint8_t)rng(WEFT_WIRE_OP_END + 2);
	if (wire.head.op == WEFT_WIRE_EXCLUDED)
		wire.head.op = WEFT_WIRE_EAGER; /* EXCLUDED fails the peer */
	wire.head.flags = (uint8_t)rng(2);
	wire.head.number = (uint16_t)rng(100);
	wire.head.src = rng(10) ? rng(JOB_SIZE) : rng(UINT32_MAX);
	wire.head.ctx = rng(10) ? WEFT_CTX_WORLD + rng(4) : rng(1000);
	wire.head.tag = rng(10) ? (int32_t)rng(4) : (int32_t)rng(UINT32_MAX);
	memcpy(data, &wire, sizeof(wire));
	/* an existing request of any process */
	if (rng(2) && len >= sizeof(wire) + 16) {
		uint64_t handle = weft_obj_handle(recvs[rng(N_RECVS)]);

		memcpy(data + sizeof(wire), &handle, sizeof(handle));
		if (rng(2))
			memcpy(data + sizeof(wire) + 8, &(uint64_t){ 0 }, 8);
	}
	return len;
}

static void noise_is_dropped(void **state)
{
	uint64_t before = weft_proc.vci.counters.dropped;
	uint8_t data[MAX_LEN];

	(void)state;
	weft_vci_lock(&weft_proc.vci);
	for (int i = 0; i < 1000; i++) {
		size_t len = rng(MAX_LEN);

		fill_noise(data, len);
		weft_arrival_net(&weft_proc.vci, data, len);
	}
	weft_vci_unlock(&weft_proc.vci);
	assert_int_equal(weft_proc.vci.counters.dropped, before + 1000);
}

static void a_wrong_cookie_is_foreign(void **state)
{
	uint64_t before = weft_proc.vci.counters.dropped;
	struct weft_wire_net wire = { .version = WEFT_WIRE_VERSION,
		.src_proc = weft_proc.proc + 1,
		.cookie = 12345,
		.head = { .op = WEFT_WIRE_EAGER, .ctx = WEFT_CTX_WORLD } };

	(void)state;
	weft_vci_lock(&weft_proc.vci);
	weft_arrival_net(&weft_proc.vci, &wire, sizeof(wire));
	wire.src_proc = weft_proc.proc + JOB_SIZE;
	weft_arrival_net(&weft_proc.vci, &wire, sizeof(wire));
	weft_vci_unlock(&weft_proc.vci);
	assert_int_equal(weft_proc.vci.counters.dropped, before + 2);
	assert_int_equal(comm->match.n_unexpected, 0);
}

/* Sets whether lost messages are sent again, as with tcp, or fail the sender.
 */
static void set_resends(bool resends)
{
	if (weft_proc.vci.net)
		weft_proc.vci.net->plan.resends = resends;
}

static void a_repetition_is_dropped(void **state)
{
	uint64_t before = weft_proc.vci.counters.dropped;
	struct weft_peer *peer;
	struct weft_wire_net wire = { .version = WEFT_WIRE_VERSION,
		.number = UINT32_MAX,
		.head = { .op = WEFT_WIRE_CREDIT } };

	(void)state;
	set_resends(false);
	weft_vci_lock(&weft_proc.vci);
	peer = weft_peer_of(&weft_proc.vci, weft_proc.proc + 2);
	peer->wire_in = UINT32_MAX - 1;
	wire.src_proc = peer->proc;
	wire.cookie = peer->cookie_in;
	weft_arrival_net(&weft_proc.vci, &wire, sizeof(wire));
	assert_int_equal(weft_proc.vci.counters.dropped, before);
	weft_arrival_net(&weft_proc.vci, &wire, sizeof(wire));
	assert_int_equal(weft_proc.vci.counters.dropped, before + 1);
	wire.number++; /* numbers wrap around */
	weft_arrival_net(&weft_proc.vci, &wire, sizeof(wire));
	assert_int_equal(weft_proc.vci.counters.dropped, before + 1);
	weft_vci_unlock(&weft_proc.vci);
	set_resends(true);
}

/* The fabric has lost the message between two numbers. No other test uses the
 * last process. */
static void a_gap_fails_the_sender(void **state)
{
	uint64_t before = weft_proc.vci.counters.dropped;
	struct weft_peer *peer;
	struct weft_wire_net wire = { .version = WEFT_WIRE_VERSION,
		.head = { .op = WEFT_WIRE_CREDIT } };

	(void)state;
	set_resends(false);
	weft_vci_lock(&weft_proc.vci);
	peer = weft_peer_of(&weft_proc.vci, weft_proc.proc + JOB_SIZE - 1);
	wire.src_proc = peer->proc;
	wire.cookie = peer->cookie_in;
	wire.number = peer->wire_in + 1;
	weft_arrival_net(&weft_proc.vci, &wire, sizeof(wire));
	assert_int_not_equal(peer->state, WEFT_PEER_FAILED);
	wire.number += 2;
	weft_arrival_net(&weft_proc.vci, &wire, sizeof(wire));
	weft_vci_unlock(&weft_proc.vci);
	assert_int_equal(peer->state, WEFT_PEER_FAILED);
	assert_non_null(strstr(peer->why, "lost 1 message(s) from process"));
	assert_int_equal(weft_proc.vci.counters.dropped, before);
	set_resends(true);
}

/* This process has never sent a message to the sender, so it requests the
 * sender's card to notify the sender. No other test uses that process. */
static void a_gap_before_contact_is_answered(void **state)
{
	struct weft_vci *vci = &weft_proc.vci;
	unsigned n_get = fakeboot_counts()->n_get;
	struct weft_peer *peer;
	struct weft_wire_net wire = { .version = WEFT_WIRE_VERSION,
		.number = 2,
		.head = { .op = WEFT_WIRE_CREDIT } };

	(void)state;
	set_resends(false);
	weft_vci_lock(vci);
	peer = weft_peer_of(vci, weft_proc.proc + JOB_SIZE - 2);
	wire.src_proc = peer->proc;
	wire.cookie = peer->cookie_in;
	weft_arrival_net(vci, &wire, sizeof(wire));
	assert_int_equal(peer->state, WEFT_PEER_FAILED);
	assert_int_equal(fakeboot_counts()->n_get, n_get + 1);
	wire.number++;
	weft_arrival_net(vci, &wire, sizeof(wire));
	assert_int_equal(fakeboot_counts()->n_get, n_get + 1);
	assert_int_equal(peer->wire_out, 0);
	fakeboot_answer(vci->own_bc, weft_bc_len(vci->own_bc));
	while (!weft_list_is_empty(&peer->pending)) /* a second at most */
		weft_progress(vci);
	assert_int_equal(peer->wire_out, 1);
	assert_int_equal(peer->state, WEFT_PEER_FAILED);
	weft_vci_unlock(vci);
	set_resends(true);
}

static int count_pending(const struct weft_peer *peer)
{
	int n = 0;

	weft_list_for_each(link, next, &peer->pending) n += link != NULL;
	return n;
}

static int n_queries;

static void count_query(struct weft_vci *vci, struct weft_peer *peer,
	const struct weft_wire_head *head, const void *payload, size_t len)
{
	(void)vci;
	(void)peer;
	(void)head;
	n_queries += payload && len == sizeof(struct weft_wire_query);
}

/* A query to a process that may have exited has no number. So the fabric may
 * lose it without a gap in the numbers. */
static void a_query_may_be_lost(void **state)
{
	struct weft_vci *vci = &weft_proc.vci;
	struct {
		struct weft_wire_net wire;
		struct weft_wire_query query;
	} msg = {
		.wire = { .version = WEFT_WIRE_VERSION,
			.head = { .op = WEFT_WIRE_QUERY,
				.flags = WEFT_WIRE_MAY_BE_LOST } },
	};
	weft_wire_fn *handler = vci->handlers[WEFT_WIRE_QUERY];
	struct weft_peer *peer;
	uint32_t wire_in;

	(void)state;
	weft_vci_lock(vci);
	vci->handlers[WEFT_WIRE_QUERY] = count_query;
	peer = weft_peer_of(vci, weft_proc.proc + 3);
	msg.wire.src_proc = peer->proc;
	msg.wire.cookie = peer->cookie_in;
	wire_in = peer->wire_in;
	weft_arrival_net(vci, &msg, sizeof(msg));
	assert_int_equal(n_queries, 1);
	assert_int_equal(peer->wire_in, wire_in);
	msg.wire.head.flags = 0;
	msg.wire.number = wire_in + 1;
	weft_arrival_net(vci, &msg, sizeof(msg));
	assert_int_equal(n_queries, 2);
	assert_int_equal(peer->wire_in, wire_in + 1);
	vci->handlers[WEFT_WIRE_QUERY] = handler;
	weft_vci_unlock(vci);
}

/* The notice that this process has departed from a communicator, and its
 * request, may be lost. Each query of the watchdog repeats the notice. */
static void a_departure_is_repeated(void **state)
{
	const uint64_t ctx = 64 * WEFT_CTX_OFFSET_END;
	struct weft_vci *vci = &weft_proc.vci;
	struct weft_peer *peer;
	struct weft_wire_query query = { .need = WEFT_WIRE_NEED_MESSAGE,
		.what = ctx + WEFT_CTX_OFFSET_P2P };
	struct weft_wire_net wire = { .version = WEFT_WIRE_VERSION,
		.head = { .op = WEFT_WIRE_WATCH,
			.ctx = ctx + WEFT_CTX_OFFSET_CTL } };
	uint32_t wire_in, owner = 0;
	int n;

	(void)state;
	weft_vci_lock(vci);
	peer = weft_peer_of(vci, weft_proc.proc + 3);
	wire.src_proc = peer->proc;
	wire.cookie = peer->cookie_in;
	wire_in = peer->wire_in;
	n = count_pending(peer);
	weft_arrival_net(vci, &wire, sizeof(wire));
	assert_int_equal(count_pending(peer), n);
	weft_map_put(&vci->core->broken, ctx,
		(void *)(uintptr_t)(weft_proc.proc + 2));
	weft_arrival_net(vci, &wire, sizeof(wire));
	assert_int_equal(count_pending(peer), n + 1);
	weft_departed_on_query(vci, &query, peer->proc, &owner);
	weft_departed_on_query(vci, &query, peer->proc, &owner);
	assert_int_equal(count_pending(peer), n + 3);
	assert_int_equal(peer->wire_in, wire_in);
	weft_map_remove(&vci->core->broken, ctx);
	weft_vci_unlock(vci);
}

static size_t add_record(
	uint8_t *data, size_t at, int op, size_t len, int value)
{
	struct weft_wire_record record = {
		.head = { .op = (uint8_t)op,
			.src = 3,
			.ctx = WEFT_CTX_WORLD,
			.tag = 50 },
		.len = (uint32_t)len,
	};

	memcpy(data + at, &record, sizeof(record));
	memcpy(data + at + sizeof(record), &value, sizeof(value));
	return at + sizeof(record) + 8;
}

/* A batch contains messages. After the first invalid message, the rest of the
 * batch is dropped. */
static void a_batch_is_its_messages(void **state)
{
	uint64_t before = weft_proc.vci.counters.dropped;
	struct weft_peer *peer;
	struct weft_wire_net wire = { .version = WEFT_WIRE_VERSION,
		.head = { .op = WEFT_WIRE_BATCH } };
	static const struct {
		int op;
		size_t len;
		size_t cut; /* bytes missing at the end */
	} third[] = {
		{ WEFT_WIRE_EAGER, 4, 0 },
		{ WEFT_WIRE_EAGER, 9, 0 },
		{ WEFT_WIRE_EAGER, UINT32_MAX, 0 },
		{ WEFT_WIRE_EAGER, 4, 1 },
		{ WEFT_WIRE_EAGER, 4, 20 },
		{ WEFT_WIRE_BATCH, 4, 0 },
		{ WEFT_WIRE_FIN, 4, 0 },
	};

	(void)state;
	weft_vci_lock(&weft_proc.vci);
	peer = weft_peer_of(&weft_proc.vci, weft_proc.proc + 3);
	wire.src_proc = peer->proc;
	wire.cookie = peer->cookie_in;
	for (size_t i = 0; i < sizeof(third) / sizeof(*third); i++) {
		uint8_t data[256], *exact;
		int got[3] = { 0 };
		size_t len;

		wire.number = peer->wire_in + 1;
		memcpy(data, &wire, sizeof(wire));
		len = add_record(
			data, sizeof(wire), WEFT_WIRE_EAGER, sizeof(int), 1);
		len = add_record(data, len, WEFT_WIRE_EAGER, sizeof(int), 2);
		len = add_record(data, len, third[i].op, third[i].len, 3);
		len -= third[i].cut;
		exact = malloc(len); /* exact length, for the sanitizer */
		memcpy(exact, data, len);
		weft_arrival_net(&weft_proc.vci, exact, len);
		free(exact);
		assert_int_equal(weft_proc.vci.counters.dropped, before + i);
		for (int k = 0; k < (i ? 2 : 3); k++) {
			struct weft_msg msg = { .comm = comm,
				.buf = &got[k],
				.count = sizeof(int),
				.type = weft_type_builtin(WEFT_TYPE_BYTE),
				.rank = 3,
				.tag = 50 };
			struct weft_req *req;

			assert_int_equal(weft_irecv_locked(&msg, &req), 0);
			assert_true(req->is_done);
			assert_int_equal(got[k], k + 1);
			weft_req_put(req);
		}
	}
	assert_int_equal(comm->match.n_unexpected, 0);
	weft_vci_unlock(&weft_proc.vci);
}

/* The message that a member with an error sends in place of its data. The text
 * may be in any language, but holds no control characters. */
static void the_text_of_an_error_may_be_utf8(void **state)
{
	static const char *const texts[] = { "process 2: gr\xc3\xb6\xc3\x9f"
					     "e",
		"process 2: a\tb" };
	uint64_t before = weft_proc.vci.counters.dropped;
	struct weft_peer *peer;

	(void)state;
	weft_vci_lock(&weft_proc.vci);
	peer = weft_peer_of(&weft_proc.vci, weft_proc.proc + 2);
	for (uint64_t i = 0; i < 2; i++) {
		struct {
			struct weft_wire_net wire;
			struct weft_wire_failed failed;
			char text[WEFT_WIRE_FAILED_TEXT];
		} word = { .wire = { .version = WEFT_WIRE_VERSION,
				   .number = peer->wire_in + 1,
				   .src_proc = peer->proc,
				   .cookie = peer->cookie_in,
				   .head = { .op = WEFT_WIRE_COLL_ERROR,
					   .src = 2,
					   .ctx = WEFT_CTX_WORLD +
						  WEFT_CTX_OFFSET_COLL,
					   .tag = 60 } },
			.failed = { .err = WEFT_ERR_TRUNCATE,
				.len = (uint32_t)strlen(texts[i]) } };
		struct weft_msg msg = { .comm = comm,
			.type = weft_type_builtin(WEFT_TYPE_BYTE),
			.rank = 2,
			.tag = 60,
			.ctx_offset = WEFT_CTX_OFFSET_COLL };
		struct weft_req *req;

		strcpy(word.text, texts[i]);
		assert_int_equal(weft_irecv_locked(&msg, &req), 0);
		weft_arrival_net(&weft_proc.vci, &word,
			offsetof(__typeof__(word), text) + word.failed.len);
		assert_int_equal(weft_proc.vci.counters.dropped, before + i);
		assert_int_equal(req->is_done, i == 0);
		if (i == 0)
			assert_string_equal(
				weft_err_detail_peek(req->status.err),
				texts[0]);
		else
			weft_req_cancel_locked(req);
		weft_req_put(req);
	}
	weft_vci_unlock(&weft_proc.vci);
}

static void plausible_messages_break_nothing(void **state)
{
	uint8_t *data = malloc(MAX_LEN);

	(void)state;
	assert_non_null(data);
	weft_vci_lock(&weft_proc.vci);
	for (int i = 0; i < N_MESSAGES; i++) {
		size_t len;

		keep_receives_open();
		len = make_plausible(data);
		/* in a buffer of just that length, for the sanitizer */
		uint8_t *exact = malloc(len);

		memcpy(exact, data, len);
		weft_arrival_net(&weft_proc.vci, exact, len);
		free(exact);
		if (i % 1000 == 0)
			weft_p2p_purge_locked(comm);
	}
	weft_p2p_purge_locked(comm);
	assert_int_equal(comm->match.n_unexpected, 0);
	weft_vci_unlock(&weft_proc.vci);
	free(data);
}

/* Messages of an excluded process are dropped, whatever their cookie. If
 * another process treats this process as failed, this process treats that
 * process as failed, too. */
static void the_excluded_are_dropped(void **state)
{
	uint64_t before = weft_proc.vci.counters.dropped;
	struct weft_peer *peer;
	struct weft_wire_net wire = { .version = WEFT_WIRE_VERSION,
		.head = { .op = WEFT_WIRE_EXCLUDED } };

	(void)state;
	weft_vci_lock(&weft_proc.vci);
	peer = weft_peer_of(&weft_proc.vci, weft_proc.proc + 1);
	wire.src_proc = peer->proc;
	wire.cookie = peer->cookie_in;
	wire.number = peer->wire_in + 1;
	weft_peer_exclude(peer);
	weft_arrival_net(&weft_proc.vci, &wire, sizeof(wire));
	wire.cookie = 0;
	weft_arrival_net(&weft_proc.vci, &wire, sizeof(wire));
	assert_int_equal(weft_proc.vci.counters.dropped, before + 2);
	assert_int_not_equal(peer->state, WEFT_PEER_FAILED);
	assert_int_equal(peer->wire_in, wire.number - 1);

	peer = weft_peer_of(&weft_proc.vci, weft_proc.proc + 2);
	wire.src_proc = peer->proc;
	wire.cookie = peer->cookie_in;
	wire.number = peer->wire_in + 1;
	weft_arrival_net(&weft_proc.vci, &wire, sizeof(wire));
	assert_int_equal(weft_proc.vci.counters.dropped, before + 2);
	assert_int_equal(peer->state, WEFT_PEER_FAILED);
	weft_vci_unlock(&weft_proc.vci);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(noise_is_dropped),
		cmocka_unit_test(a_wrong_cookie_is_foreign),
		cmocka_unit_test(a_repetition_is_dropped),
		cmocka_unit_test(a_departure_is_repeated),
		cmocka_unit_test(a_query_may_be_lost),
		cmocka_unit_test(a_batch_is_its_messages),
		cmocka_unit_test(the_text_of_an_error_may_be_utf8),
		cmocka_unit_test(plausible_messages_break_nothing),
		cmocka_unit_test(a_gap_fails_the_sender),
		cmocka_unit_test(a_gap_before_contact_is_answered),
		cmocka_unit_test(the_excluded_are_dropped),
	};
	int failed;

	setenv("FI_TCP_IFACE", "lo", 0);
	setenv("WEFT_LOG", "error", 0);
	failed = cmocka_run_group_tests_name("wire", tests, set_up, NULL);
	fflush(NULL);
	_exit(failed); /* no finalize: the peers that it would notify do not
			  exist */
}
