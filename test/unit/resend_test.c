/* SPDX-License-Identifier: BSD-3-Clause */
/* resend_test: copies, acknowledgements and requests of messages over a fabric
 * that connects again */
#include "base/log.h"
#include "transport/resend.h"
#include "transport/vci.h"
#include "test/fake/fakefab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MAX_GOT = 200, LONG = 900 };

/* The fake fabric delivers each message to the endpoint that sent it. So the
 * test reads what was posted to the peer. */
struct fixture {
	struct fakefab fab;
	struct weft_vci vci;
	struct weft_peer peer;
	struct weft_wire_net got[MAX_GOT];
	size_t len[MAX_GOT];
	int n_got;
};

static void on_recv(void *arg, const void *data, size_t len)
{
	struct fixture *f = arg;

	assert_true(weft_wire_get_net(&f->got[f->n_got], data, len));
	f->len[f->n_got++] = len;
}

static struct fixture *open_fixture(void)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct fi_info *info = fakefab_info();
	struct weft_plan plan;

	fakefab_init(&f->fab);
	weft_plan_init(&plan, info);
	plan.n_recv_bufs = 2;
	plan.recv_buf_len = 4096;
	plan.recv_len = 1024;
	plan.eager_len = 1024;
	plan.resends = true;
	weft_vci_init(&f->vci, 0);
	assert_int_equal(
		weft_ep_open_take(info, &f->fab.fabric, &weft_prov_other, &plan,
			on_recv, f, &f->vci.net),
		0);
	f->peer.vci = &f->vci;
	f->peer.state = WEFT_PEER_READY;
	weft_list_init(&f->peer.pending);
	weft_list_init(&f->peer.link);
	weft_list_init(&f->peer.resend.link);
	weft_list_init(&f->peer.resend_out.link);
	return f;
}

static void finish(struct fixture *f)
{
	weft_resend_fini(&f->peer);
	weft_net_close(f->vci.net);
	assert_int_equal(f->fab.n_live, 0);
	free(f);
}

static void send(struct fixture *f, size_t len)
{
	struct weft_wire_head head = { .op = WEFT_WIRE_CREDIT };
	static uint8_t payload[LONG];

	assert_int_equal(weft_peer_post(&f->peer, &head, payload, len), 0);
	while (weft_net_poll(f->vci.net))
		;
}

static void ack(struct fixture *f, uint32_t number, uint8_t flags)
{
	const struct weft_wire_net wire = {
		.number = f->peer.wire_in,
		.head = { .op = WEFT_WIRE_ACK,
			.flags = flags,
			.tag = (int32_t)number },
	};

	weft_resend_on_ack(&f->peer, &wire);
	weft_peer_send_pending(&f->peer);
	while (weft_net_poll(f->vci.net))
		;
}

static bool has_copies(const struct fixture *f)
{
	return !weft_list_is_empty(&f->vci.unacked);
}

static void acknowledged_copies_are_dropped(void **state)
{
	struct fixture *f = open_fixture();

	(void)state;
	for (int i = 0; i < 50; i++)
		send(f, i % 2 ? LONG : 8);
	assert_true(has_copies(f));
	ack(f, 49, 0);
	assert_true(has_copies(f));
	ack(f, 50, 0);
	assert_false(has_copies(f));
	assert_int_equal(f->n_got, 50);
	finish(f);
}

static void lost_messages_are_sent_again_in_order(void **state)
{
	struct fixture *f = open_fixture();

	(void)state;
	for (int i = 0; i < 20; i++)
		send(f, i % 2 ? LONG : 8);
	f->n_got = 0;
	ack(f, 12, WEFT_WIRE_ACK_LOST);
	assert_int_equal(f->n_got, 8);
	for (int i = 0; i < f->n_got; i++) {
		assert_int_equal(f->got[i].number, 13 + i);
		assert_int_equal(f->len[i],
			sizeof(struct weft_wire_net) + (i % 2 ? LONG : 8));
	}
	assert_int_equal(f->vci.net->counters.net_resent, 8);
	send(f, 8);
	assert_int_equal(f->got[8].number, 21);
	ack(f, 21, 0);
	assert_false(has_copies(f));
	finish(f);
}

static void a_refused_post_delays_later_messages(void **state)
{
	struct weft_wire_head head = { .op = WEFT_WIRE_CREDIT };
	struct fixture *f = open_fixture();

	(void)state;
	for (int i = 0; i < 3; i++)
		send(f, 8);
	f->n_got = 0;
	f->fab.n_refuse_sends = 1;
	ack(f, 1, WEFT_WIRE_ACK_LOST);
	assert_int_equal(f->n_got, 0);
	assert_false(weft_peer_is_clear(&f->peer));
	assert_int_equal(weft_peer_control(&f->peer, &head, NULL, 0), 0);
	weft_peer_send_pending(&f->peer);
	while (weft_net_poll(f->vci.net))
		;
	assert_int_equal(f->n_got, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(f->got[i].number, 2 + i);
	finish(f);
}

static void an_ack_of_an_unsent_message_is_dropped(void **state)
{
	struct fixture *f = open_fixture();

	(void)state;
	send(f, 8);
	ack(f, 2, 0);
	assert_true(has_copies(f));
	assert_int_equal(f->vci.counters.dropped, 1);
	finish(f);
}

static void a_probe_is_answered(void **state)
{
	struct fixture *f = open_fixture();

	(void)state;
	f->peer.wire_in = 7;
	ack(f, 0, WEFT_WIRE_ACK_PROBE);
	assert_int_equal(f->n_got, 1);
	assert_int_equal(f->got[0].head.op, WEFT_WIRE_ACK);
	assert_int_equal(f->got[0].head.tag, 7);
	assert_int_equal(f->got[0].head.flags, 0);
	f->peer.wire_in = 7;
	weft_resend_request(&f->peer);
	weft_resend_request(&f->peer);
	while (weft_net_poll(f->vci.net))
		;
	assert_int_equal(f->n_got, 2);
	assert_int_equal(f->got[1].head.flags, WEFT_WIRE_ACK_LOST);
	finish(f);
}

static void many_messages_are_acknowledged_together(void **state)
{
	struct fixture *f = open_fixture();

	(void)state;
	for (int i = 0; i < 128; i++)
		weft_resend_received(&f->peer, 56);
	while (weft_net_poll(f->vci.net))
		;
	assert_int_equal(f->n_got, 2);
	weft_resend_received(&f->peer, 200000);
	while (weft_net_poll(f->vci.net))
		;
	assert_int_equal(f->n_got, 3);
	finish(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acknowledged_copies_are_dropped),
		cmocka_unit_test(lost_messages_are_sent_again_in_order),
		cmocka_unit_test(a_refused_post_delays_later_messages),
		cmocka_unit_test(an_ack_of_an_unsent_message_is_dropped),
		cmocka_unit_test(a_probe_is_answered),
		cmocka_unit_test(many_messages_are_acknowledged_together),
	};

	weft_log_set_level("error");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
