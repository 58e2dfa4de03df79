/* SPDX-License-Identifier: BSD-3-Clause */
/* net_test: endpoint, queue, registrations and plan over a fake fabric */
#include "base/clock.h"
#include "base/knob.h"
#include "base/log.h"
#include "test/fake/fakefab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
	struct fakefab fab;
	struct weft_plan plan;
	struct weft_net *net;
	int n_got;
	size_t last_len;
	char last[256];
	int polled_inside; /* result of a poll inside the callback; -1: do not
			    * try */
};

struct wait_op {
	struct weft_op op;
	int n_done;
	int err;
	size_t len;
};

static void on_recv(void *arg, const void *data, size_t len)
{
	struct fixture *f = arg;

	f->n_got++;
	f->last_len = len;
	memcpy(f->last, data, weft_min(len, sizeof(f->last)));
	if (f->polled_inside >= 0)
		f->polled_inside = weft_net_poll(f->net);
}

static void op_done(struct weft_op *op, int err, size_t len)
{
	struct wait_op *w = weft_container_of(op, struct wait_op, op);

	w->n_done++;
	w->err = err;
	w->len = len;
}

static struct wait_op new_op(void)
{
	return (struct wait_op){ .op.done = op_done };
}

/* Creates a plan with short lengths for the fake fabric. A test may change the
 * plan before it opens the net. */
static struct fixture *new_fixture(struct fi_info **info_out)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct fi_info *info = fakefab_info();

	f->polled_inside = -1;
	fakefab_init(&f->fab);
	weft_plan_init(&f->plan, info);
	f->plan.n_recv_bufs = 2;
	f->plan.recv_buf_len = 4096;
	f->plan.recv_len = 1024;
	f->plan.eager_len = 1024;
	*info_out = info;
	return f;
}

static int try_open(struct fixture *f, struct fi_info *info)
{
	return weft_ep_open_take(info, &f->fab.fabric, &weft_prov_other,
		&f->plan, on_recv, f, &f->net);
}

static struct fixture *open_plain(void)
{
	struct fi_info *info;
	struct fixture *f = new_fixture(&info);

	assert_int_equal(try_open(f, info), 0);
	return f;
}

static void finish(struct fixture *f)
{
	weft_net_close(f->net);
	assert_int_equal(f->fab.n_live, 0);
	assert_int_equal(f->fab.n_mr_live, 0);
	free(f);
}

static void a_failed_open_leaves_nothing(void **state)
{
	int n = 1;

	(void)state;
	for (;; n++) {
		struct fi_info *info;
		struct fixture *f = new_fixture(&info);
		int rc;

		f->fab.fail_call = n;
		f->plan.needs_local_mr = true;
		f->plan.has_mr_endpoint = true;
		rc = try_open(f, info);
		if (rc == 0) {
			finish(f);
			break;
		}
		assert_int_equal(rc, WEFT_ERR_NOMEM);
		assert_null(f->net);
		assert_int_equal(f->fab.n_live, 0);
		assert_int_equal(f->fab.n_mr_live, 0);
		free(f);
	}
	/* domain, table, queue, endpoint, two binds, enable, option, the
	 * registration with its bind and enable, two buffers */
	assert_int_equal(n, 14);
}

static void an_injected_message_arrives(void **state)
{
	struct fixture *f = open_plain();

	(void)state;
	assert_int_equal(weft_net_poll(f->net), 0);
	assert_int_equal(weft_net_inject(f->net, 0, "hello", 5), 0);
	assert_int_equal(weft_net_poll(f->net), 1);
	assert_int_equal(f->n_got, 1);
	assert_int_equal(f->last_len, 5);
	assert_memory_equal(f->last, "hello", 5);
	assert_int_equal(f->net->counters.net_sent, 1);
	assert_int_equal(f->net->counters.net_received, 1);
	finish(f);
}

static void injections_are_counted_until_they_left(void **state)
{
	(void)state;
	for (int own_context = 0; own_context < 2; own_context++) {
		struct fi_info *info;
		struct fixture *f = new_fixture(&info);

		f->plan.counts_injects = true;
		info->mode = own_context ? FI_CONTEXT : 0;
		assert_int_equal(try_open(f, info), 0);
		assert_int_equal(weft_net_inject(f->net, 0, "a", 1), 0);
		assert_int_equal(weft_net_inject(f->net, 0, "b", 1), 0);
		f->fab.n_refuse_sends = 1;
		assert_int_equal(
			weft_net_inject(f->net, 0, "c", 1), WEFT_AGAIN);
		assert_int_equal(f->net->n_unsent, 2);
		weft_net_poll(f->net);
		assert_int_equal(f->net->n_unsent, 0);
		assert_int_equal(f->n_got, 2);
		/* an operation with an error counts as complete, too */
		weft_net_inject(f->net, 0, "d", 1);
		f->fab.n_done = 0;
		fakefab_break(&f->fab, &weft_net_inside(f->net)->inject_op,
			FI_ENOTCONN, FI_SEND);
		weft_net_poll(f->net);
		assert_int_equal(f->net->n_unsent, 0);
		finish(f);
	}
}

static void counting_may_be_switched_on(void **state)
{
	struct fixture *f = open_plain();

	(void)state;
	weft_net_inject(f->net, 0, "a", 1);
	assert_int_equal(f->net->n_unsent, 0);
	f->net->is_counting = true;
	weft_net_inject(f->net, 0, "b", 1);
	assert_int_equal(f->net->n_unsent, 1);
	f->net->is_counting = false;
	weft_net_inject(f->net, 0, "c", 1);
	assert_int_equal(f->net->n_unsent, 1);
	weft_net_poll(f->net);
	assert_int_equal(f->n_got, 3);
	assert_int_equal(f->net->n_unsent, 0);
	finish(f);
}

/* The fake never reports its completions: closing waits for a limited time and
 * completes no operation. */
static void closing_waits_for_posted_sends(void **state)
{
	struct weft_knobs saved = weft_knobs;
	struct fixture *f = open_plain();
	uint64_t start;
	int n_got;

	(void)state;
	weft_knobs.net_linger = 30;
	f->net->is_counting = true;
	weft_net_inject(f->net, 0, "bye", 3);
	f->fab.is_held = true;
	start = weft_now_ns();
	n_got = f->n_got;
	weft_net_close(f->net);
	assert_true(weft_now_ns() - start >= 30000000);
	assert_int_equal(f->n_got, n_got);
	assert_int_equal(f->fab.n_live, 0);
	free(f);
	weft_knobs = saved;
}

static void back_pressure_is_reported_and_harmless(void **state)
{
	struct fixture *f = open_plain();
	struct iovec iov = { "abc", 3 };
	struct wait_op w = new_op();

	(void)state;
	f->fab.n_refuse_sends = 2;
	assert_int_equal(weft_net_inject(f->net, 0, "x", 1), WEFT_AGAIN);
	assert_int_equal(weft_net_send(f->net, 0, &iov, 1, &w.op), WEFT_AGAIN);
	assert_int_equal(weft_net_poll(f->net), 0);
	assert_int_equal(w.n_done, 0);
	assert_int_equal(f->net->counters.net_refused, 2);
	assert_int_equal(f->net->counters.net_sent, 0);
	assert_int_equal(weft_net_send(f->net, 0, &iov, 1, &w.op), 0);
	weft_net_poll(f->net);
	assert_int_equal(w.n_done, 1);
	assert_int_equal(w.err, 0);
	finish(f);
}

static void pieces_are_gathered_where_needed(void **state)
{
	struct fi_info *info;
	struct fixture *f = new_fixture(&info);
	struct iovec iov[2] = { { "head", 4 }, { "body!", 5 } };
	struct wait_op w = new_op();

	(void)state;
	f->plan.iov_max = 1;
	assert_int_equal(try_open(f, info), 0);
	for (int i = 1; i < 4; i++) {
		assert_int_equal(weft_net_send(f->net, 0, iov, 2, &w.op), 0);
		weft_net_poll(f->net);
		assert_int_equal(w.n_done, i);
		assert_int_equal(f->last_len, 9);
		assert_memory_equal(f->last, "headbody!", 9);
	}
	assert_int_equal(weft_net_inside(f->net)->n_carriers, 1);
	finish(f);
}

static void local_memory_is_registered_where_needed(void **state)
{
	struct fi_info *info;
	struct fixture *f = new_fixture(&info);
	char out[32] = "bulk";
	char in[32] = "";
	struct wait_op tx = new_op();
	struct wait_op rx = new_op();

	(void)state;
	f->plan.needs_local_mr = true;
	assert_int_equal(try_open(f, info), 0);
	assert_int_equal(f->fab.n_mr_live, 1); /* that of the receive buffers */
	assert_non_null(f->fab.last_desc);
	assert_int_equal(weft_net_trecv(f->net, 0, in, 32, NULL, 7, &rx.op), 0);
	assert_ptr_equal(f->fab.last_desc, in);
	assert_int_equal(
		weft_net_tsend(f->net, 0, out, 32, NULL, 7, &tx.op), 0);
	assert_ptr_equal(f->fab.last_desc, out);
	assert_int_equal(f->fab.n_mr_live, 3);
	weft_net_poll(f->net);
	assert_int_equal(tx.n_done, 1);
	assert_int_equal(rx.n_done, 1);
	assert_int_equal(rx.len, 32);
	assert_string_equal(in, "bulk");
	assert_int_equal(f->net->counters.net_sent, 1);
	assert_int_equal(f->net->counters.net_sent_bytes, 32);
	assert_int_equal(
		f->net->counters.mr_memory, f->net->counters.net_memory);
	assert_int_equal(f->fab.n_mr_live, 1);
	finish(f);
}

static void read_only_data_is_sent_as_a_copy(void **state)
{
	struct fi_info *info;
	struct fixture *f = new_fixture(&info);
	char out[32] = "constant";
	char in[32] = "";

	(void)state;
	f->fab.readonly = out;
	assert_int_equal(try_open(f, info), 0);
	for (int is_registered = 0; is_registered < 2; is_registered++) {
		struct wait_op tx = new_op(), rx = new_op();

		f->net->plan.needs_local_mr = is_registered;
		/* no receive is posted, so the send is refused and its copy is
		 * released */
		assert_int_equal(
			weft_net_tsend(f->net, 0, out, 32, NULL, 7, &tx.op),
			WEFT_AGAIN);
		assert_int_equal(
			weft_net_trecv(f->net, 0, in, 32, NULL, 7, &rx.op), 0);
		assert_int_equal(
			weft_net_tsend(f->net, 0, out, 32, NULL, 7, &tx.op), 0);
		weft_net_poll(f->net);
		assert_int_equal(tx.n_done, 1);
		assert_int_equal(rx.n_done, 1);
		assert_string_equal(in, "constant");
		memset(in, 0, sizeof(in));
	}
	f->net->plan.needs_local_mr = false;
	finish(f);
}

static void a_refused_bulk_post_keeps_nothing(void **state)
{
	struct fi_info *info;
	struct fixture *f = new_fixture(&info);
	char out[8] = "x";
	struct wait_op w = new_op();

	(void)state;
	f->plan.needs_local_mr = true;
	assert_int_equal(try_open(f, info), 0);
	/* no receive is posted, so the fake returns EAGAIN */
	for (int i = 0; i < 1000; i++)
		assert_int_equal(
			weft_net_tsend(f->net, 0, out, 8, NULL, 9, &w.op),
			WEFT_AGAIN);
	assert_int_equal(f->fab.n_mr_live, 1);
	assert_int_equal(f->net->counters.net_sent, 0);
	assert_int_equal(weft_net_inside(f->net)->n_carriers, 1);
	assert_int_equal(w.n_done, 0);
	finish(f);
}

static void carriers_have_an_end(void **state)
{
	struct fi_info *info;
	struct fixture *f = new_fixture(&info);
	static char in[300][8];
	static struct wait_op w[300];
	int n = 0;

	(void)state;
	f->plan.needs_local_mr = true;
	assert_int_equal(try_open(f, info), 0);
	for (int rc = 0; rc == 0; n += rc == 0) {
		w[n] = new_op();
		rc = weft_net_trecv(
			f->net, 0, in[n], 8, NULL, (uint64_t)n, &w[n].op);
		assert_true(rc == 0 || rc == WEFT_AGAIN);
	}
	assert_int_equal(n, 256);
	finish(f);
}

static void errors_are_translated(void **state)
{
	static const struct {
		int code;
		uint64_t flags;
		int want;
	} cases[] = {
		{ FI_ECONNREFUSED, FI_SEND, WEFT_ERR_PEER },
		{ FI_ENOTCONN, FI_SEND, WEFT_ERR_PEER },
		{ FI_ETIMEDOUT, FI_SEND, WEFT_ERR_PEER },
		{ -FI_ETRUNC, FI_RECV, WEFT_ERR_TRUNCATE },
		{ FI_ETRUNC, FI_RECV, WEFT_ERR_TRUNCATE },
		{ FI_ECANCELED, FI_RECV, WEFT_ERR_CANCELED },
		{ FI_ECANCELED, FI_SEND, WEFT_ERR_PEER },
		{ FI_ENOMEM, FI_SEND, WEFT_ERR_NOMEM },
		{ FI_EOTHER, FI_SEND, WEFT_ERR_OTHER },
	};
	struct fixture *f = open_plain();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wait_op w = new_op();

		fakefab_break(&f->fab, &w.op, cases[i].code, cases[i].flags);
		assert_int_equal(weft_net_poll(f->net), 1);
		assert_int_equal(w.n_done, 1);
		assert_int_equal(w.err, cases[i].want);
	}
	assert_int_equal(
		f->net->counters.net_errors, sizeof(cases) / sizeof(cases[0]));
	finish(f);
}

static void errors_without_an_operation_are_survived(void **state)
{
	struct fixture *f = open_plain();

	(void)state;
	fakefab_break(&f->fab, NULL, FI_EIO, FI_SEND);
	assert_int_equal(weft_net_poll(f->net), 1);
	assert_int_equal(weft_net_poll(f->net), 0);
	finish(f);
}

static void used_buffers_are_posted_again(void **state)
{
	struct fixture *f = open_plain();
	char msg[1000] = { 0 };

	(void)state;
	assert_int_equal(f->fab.n_recv_posts, 2);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(
			weft_net_inject(f->net, 0, msg, sizeof(msg)), 0);
		weft_net_poll(f->net);
	}
	assert_int_equal(f->n_got, 50);
	/* four messages leave less than recv_len in 4096 */
	assert_int_equal(f->fab.n_recv_posts, 2 + 50 / 4);
	finish(f);
}

static void a_refused_buffer_is_posted_later(void **state)
{
	struct fixture *f = open_plain();
	char msg[1024] = { 0 };

	(void)state;
	f->fab.n_refuse_recvs = 2;
	for (int i = 0; i < 4; i++)
		weft_net_inject(f->net, 0, msg, sizeof(msg));
	weft_net_poll(f->net);
	assert_int_equal(f->n_got, 4);
	assert_int_equal(f->fab.n_recv_posts, 2);
	weft_net_poll(f->net);
	assert_int_equal(f->fab.n_recv_posts, 3);
	finish(f);
}

static void plain_buffers_serve_one_message_each(void **state)
{
	struct fi_info *info;
	struct fixture *f = new_fixture(&info);

	(void)state;
	f->plan.has_multi_recv = false;
	f->plan.n_recv_bufs = 8;
	f->plan.recv_buf_len = f->plan.recv_len;
	assert_int_equal(try_open(f, info), 0);
	assert_int_equal(f->fab.n_recv_posts, 8);
	for (int i = 0; i < 20; i++) {
		char c = (char)i;

		assert_int_equal(weft_net_inject(f->net, 0, &c, 1), 0);
		weft_net_poll(f->net);
		assert_int_equal(f->last[0], i);
	}
	assert_int_equal(f->n_got, 20);
	assert_int_equal(f->fab.n_recv_posts, 28);
	finish(f);
}

static void a_broken_receive_is_posted_again_but_not_for_ever(void **state)
{
	struct fixture *f = open_plain();
	struct weft_inside *in = weft_net_inside(f->net);

	(void)state;
	for (int i = 0; i < 100; i++) {
		fakefab_break(&f->fab, &in->bufs[0].op, FI_EIO,
			FI_RECV | FI_MULTI_RECV);
		weft_net_poll(f->net);
	}
	assert_int_equal(f->fab.n_recv_posts, 2 + 63);
	finish(f);
}

static void a_message_heals_the_count_of_errors(void **state)
{
	struct fixture *f = open_plain();
	struct weft_inside *in = weft_net_inside(f->net);

	(void)state;
	for (int i = 0; i < 200; i++) {
		fakefab_break(&f->fab, &in->bufs[0].op, FI_EIO, FI_RECV);
		weft_net_poll(f->net);
		weft_net_inject(f->net, 0, "x", 1);
		weft_net_poll(f->net);
	}
	assert_int_equal(f->n_got, 200);
	assert_int_equal(in->n_bad_bufs, 0);
	finish(f);
}

static void polling_inside_a_callback_does_nothing(void **state)
{
	struct fixture *f = open_plain();

	(void)state;
	f->polled_inside = 99;
	weft_net_inject(f->net, 0, "a", 1);
	weft_net_inject(f->net, 0, "b", 1);
	assert_int_equal(weft_net_poll(f->net), 2);
	assert_int_equal(f->polled_inside, 0);
	assert_int_equal(f->n_got, 2);
	finish(f);
}

static void cancel_finds_operations_of_the_provider(void **state)
{
	struct fi_info *info;
	struct fixture *f = new_fixture(&info);
	char in[8];
	struct wait_op w = new_op();

	(void)state;
	f->plan.needs_local_mr = true;
	assert_int_equal(try_open(f, info), 0);
	weft_net_trecv(f->net, 0, in, 8, NULL, 1, &w.op);
	assert_int_equal(weft_net_cancel(f->net, &w.op), 0);
	assert_ptr_not_equal(f->fab.canceled, &w.op);
	weft_net_poll(f->net);
	assert_int_equal(w.n_done, 1);
	assert_int_equal(w.err, WEFT_ERR_CANCELED);
	/* the operation is complete: cancel has no effect and returns no
	 * error */
	assert_int_equal(weft_net_cancel(f->net, &w.op), 0);
	weft_net_poll(f->net);
	assert_int_equal(w.n_done, 1);
	finish(f);
}

/* Registers memory 64 times, and checks that each registration has the key that
 * was requested. */
static void take_keys(struct fixture *f, uint64_t *keys)
{
	static char mem[64][64];
	struct weft_mr *mrs[64];

	for (int i = 0; i < 64; i++) {
		assert_int_equal(weft_mr_get(f->net, mem[i], 64, &mrs[i]), 0);
		assert_int_equal(mrs[i]->key, f->fab.last_key);
		keys[i] = mrs[i]->key;
	}
	for (int i = 0; i < 64; i++)
		weft_mr_put(f->net, mrs[i]);
}

/* In 64 random keys, each bit is 0 in some keys and 1 in other keys, except
 * with probability 2^-57. */
static void keys_cannot_be_guessed(void **state)
{
	uint64_t keys[64], ones = 0, zeros = 0;
	struct fixture *f = open_plain();

	(void)state;
	take_keys(f, keys);
	for (int i = 0; i < 64; i++) {
		ones |= keys[i];
		zeros |= ~keys[i];
	}
	assert_true(ones == UINT64_MAX);
	assert_true(zeros == UINT64_MAX);
	finish(f);
}

static void keys_follow_the_plan(void **state)
{
	struct fi_info *info;
	struct fixture *f = new_fixture(&info);
	uint64_t keys[64], ones = 0;

	(void)state;
	f->plan.key_mask = 0xff;
	f->plan.n_keys = 100;
	assert_int_equal(try_open(f, info), 0);
	take_keys(f, keys);
	for (int i = 0; i < 64; i++) {
		assert_true(keys[i] >= 100);
		for (int k = 0; k < i; k++)
			assert_int_not_equal(keys[i], keys[k]);
		ones |= keys[i];
	}
	assert_true(ones == 0xff);
	finish(f);
}

static void one_buffer_is_registered_once(void **state)
{
	struct fixture *f = open_plain();
	struct weft_mr *a = NULL;
	struct weft_mr *b = NULL;
	char mem[64];

	(void)state;
	weft_mr_get(f->net, mem, 64, &a);
	weft_mr_get(f->net, mem + 8, 16, &b);
	assert_ptr_equal(a, b);
	assert_int_equal(f->fab.n_mr_live, 1);
	weft_mr_put(f->net, a);
	assert_int_equal(f->fab.n_mr_live, 1);
	weft_mr_put(f->net, b);
	assert_int_equal(f->fab.n_mr_live, 0);
	weft_mr_put(f->net, NULL);
	finish(f);
}

static struct fixture *open_hmem(bool needs_local_mr)
{
	struct fi_info *info;
	struct fixture *f = new_fixture(&info);

	f->plan.has_hmem = true;
	f->plan.has_mr_endpoint = true;
	f->plan.needs_local_mr = needs_local_mr;
	assert_int_equal(try_open(f, info), 0);
	return f;
}

static void device_memory_is_registered_with_its_device(void **state)
{
	struct fixture *f = open_hmem(false);
	struct weft_mr *host, *dev, *part;
	char mem[64];

	(void)state;
	assert_int_equal(weft_mr_get(f->net, mem, 64, &host), 0);
	assert_int_equal(f->fab.last_iface, FI_HMEM_SYSTEM);
	/* a registration as host memory is none of device memory */
	assert_int_equal(
		weft_mr_get_device(f->net, mem, 64, FI_HMEM_CUDA, 3, &dev), 0);
	assert_ptr_not_equal(host, dev);
	assert_int_equal(f->fab.last_iface, FI_HMEM_CUDA);
	assert_int_equal(f->fab.last_device, 3);
	assert_int_equal(
		weft_mr_get_device(f->net, mem + 8, 16, FI_HMEM_CUDA, 3, &part),
		0);
	assert_ptr_equal(part, dev);
	assert_int_equal(f->fab.n_mr_live, 2);
	weft_mr_put(f->net, host);
	weft_mr_put(f->net, dev);
	assert_int_equal(f->fab.n_mr_live, 1);
	weft_mr_put(f->net, part);
	finish(f);
}

static void a_refused_device_leaves_nothing(void **state)
{
	struct fixture *f = open_hmem(false);
	struct weft_mr *mr = NULL;
	char mem[64];

	(void)state;
	f->fab.refuses_devices = true;
	assert_true(
		weft_mr_get_device(f->net, mem, 64, FI_HMEM_ROCR, 0, &mr) < 0);
	assert_null(mr);
	assert_int_equal(f->fab.n_mr_live, 0);
	f->fab.refuses_devices = false;
	f->fab.fail_call = f->fab.n_calls + 3; /* the registration is enabled */
	assert_int_equal(
		weft_mr_get_device(f->net, mem, 64, FI_HMEM_ROCR, 0, &mr),
		WEFT_ERR_NOMEM);
	assert_null(mr);
	assert_int_equal(f->fab.n_mr_live, 0);
	assert_non_null(
		strstr(weft_err_detail_peek(WEFT_ERR_NOMEM), "fi_mr_enable"));
	finish(f);
}

static int send_mr(struct fixture *f, bool is_delivered, char *at,
	const struct weft_mr *mr, struct wait_op *tx)
{
	return is_delivered ? weft_net_tsend_delivered(
				      f->net, 0, at, 32, mr, 7, &tx->op)
			    : weft_net_tsend(f->net, 0, at, 32, mr, 7, &tx->op);
}

/* A post passes the caller's registration. It registers nothing and copies
 * nothing, also if the provider requires registered host memory. */
static void posts_pass_the_caller_s_registration(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct fixture *f = open_hmem(i & 1);
		struct wait_op tx = new_op(), rx = new_op();
		char out[64] = "data", in[64] = "";
		struct weft_mr *from, *to;
		int n_mr;

		weft_mr_get_device(f->net, out, 64, FI_HMEM_CUDA, 0, &from);
		weft_mr_get_device(f->net, in, 64, FI_HMEM_CUDA, 0, &to);
		n_mr = f->fab.n_mr_live;
		assert_int_equal(
			weft_net_trecv(f->net, 0, in, 32, to, 7, &rx.op), 0);
		assert_ptr_equal(f->fab.last_desc, to->desc);
		f->fab.readonly = out;
		assert_int_equal(
			send_mr(f, i & 2, out, from, &tx), WEFT_ERR_BUFFER);
		f->fab.readonly = NULL;
		assert_int_equal(send_mr(f, i & 2, out, from, &tx), 0);
		assert_ptr_equal(f->fab.last_desc, from->desc);
		assert_int_equal(f->fab.n_mr_live, n_mr);
		weft_net_poll(f->net);
		assert_int_equal(tx.n_done, 1);
		assert_int_equal(rx.n_done, 1);
		assert_string_equal(in, "data");
		assert_int_equal(weft_net_inside(f->net)->n_carriers, 0);
		weft_mr_put(f->net, from);
		weft_mr_put(f->net, to);
		finish(f);
	}
}

static void names_carry_the_kind_of_fabric(void **state)
{
	struct fixture *f = open_plain();
	unsigned char name[WEFT_NET_NAME_MAX];
	size_t len = sizeof(name);
	size_t short_len = 12;
	uint64_t addr = 77;

	(void)state;
	assert_int_equal(weft_net_name(f->net, name, &len), 0);
	assert_int_equal(len, 8 + FAKEFAB_ADDR_LEN);
	assert_int_equal(weft_net_name(f->net, name, &short_len), WEFT_ERR_ARG);
	assert_int_equal(weft_net_peer_add(f->net, name, len, &addr), 0);
	assert_int_equal(addr, 0);
	assert_int_equal(f->fab.last_addr[0], 0x5a);
	addr = 77;
	name[4]++;
	assert_int_equal(
		weft_net_peer_add(f->net, name, len, &addr), WEFT_ERR_PEER);
	assert_int_equal(
		weft_net_peer_add(f->net, name, 8, &addr), WEFT_ERR_PEER);
	assert_int_equal(addr, 77);
	finish(f);
}

/* All bytes of the fake's address are 0x5a. The number of its network is at
 * byte 4. */
static void peers_of_another_network_are_named(void **state)
{
	struct fi_info *info;
	struct fixture *f = new_fixture(&info);
	unsigned char name[WEFT_NET_NAME_MAX];
	size_t len = sizeof(name);
	uint64_t addr = 77;

	(void)state;
	f->plan.network_id = 0x5a5a;
	f->plan.network_id_at = 4;
	assert_int_equal(try_open(f, info), 0);
	assert_int_equal(weft_net_name(f->net, name, &len), 0);
	assert_int_equal(weft_net_peer_add(f->net, name, len, &addr), 0);
	name[8 + 4] = 235;
	name[8 + 5] = 0;
	addr = 77;
	assert_int_equal(
		weft_net_peer_add(f->net, name, len, &addr), WEFT_ERR_PEER);
	assert_non_null(strstr(weft_err_detail_peek(WEFT_ERR_PEER), "235"));
	assert_non_null(strstr(weft_err_detail_peek(WEFT_ERR_PEER), "23130"));
	assert_int_equal(addr, 77);
	name[8 + 4] = 0; /* an address without an interface */
	assert_int_equal(weft_net_peer_add(f->net, name, len, &addr), 0);
	finish(f);
}

static void the_plan_fits_the_buffers(void **state)
{
	struct fi_info *info = fakefab_info();
	struct weft_knobs saved = weft_knobs;
	struct weft_plan plan;

	(void)state;
	weft_plan_init(&plan, info);
	assert_int_equal(plan.inject_len, 64);
	assert_true(plan.tag_mask == UINT64_MAX >> 16);
	assert_true(plan.has_multi_recv);
	assert_int_equal(plan.in_order_len, 4096);
	plan.in_order_len = SIZE_MAX;
	weft_knobs.net_eager = 16 << 20;
	weft_knobs.net_bufs = 2;
	weft_knobs.net_buf_len = 65536;
	weft_plan_apply_knobs(&plan);
	assert_int_equal(plan.recv_len, 32768);
	assert_int_equal(plan.eager_len, 32768);
	weft_knobs.net_eager = 1000;
	weft_plan_apply_knobs(&plan);
	assert_int_equal(plan.eager_len, 1000);
	assert_true(plan.recv_len >= plan.eager_len);
	weft_knobs.net_eager = 1;
	weft_plan_apply_knobs(&plan);
	assert_int_equal(plan.eager_len, 512);
	weft_knobs.net_eager = 8192;
	plan.in_order_len = 2000; /* a provider with a rendezvous of its own */
	weft_plan_apply_knobs(&plan);
	assert_int_equal(plan.eager_len, 2000);
	assert_int_equal(plan.recv_len, 2000);
	plan.has_multi_recv = false; /* each buffer receives one message */
	plan.in_order_len = SIZE_MAX;
	weft_plan_apply_knobs(&plan);
	assert_int_equal(plan.recv_len, 32768);
	assert_int_equal(plan.recv_buf_len, 32768);
	assert_int_equal(plan.n_recv_bufs, 2 * 65536 / 32768);
	weft_knobs = saved;
	fi_freeinfo(info);
}

static void the_plan_prints_itself(void **state)
{
	struct fi_info *info = fakefab_info();
	struct weft_plan plan;
	char small[16];
	char all[4096];
	size_t n;

	(void)state;
	weft_plan_init(&plan, info);
	weft_plan_add_lost(&plan, "sleep");
	n = weft_plan_print(&plan, all, sizeof(all));
	assert_int_equal(n, strlen(all));
	assert_non_null(strstr(all, "provider fake\n"));
	assert_non_null(strstr(all, "lost sleep\n"));
	assert_non_null(strstr(all, "\nhmem no\n"));
	assert_int_equal(weft_plan_print(&plan, small, sizeof(small)), n);
	assert_int_equal(strlen(small), sizeof(small) - 1);
	assert_int_equal(weft_plan_print(&plan, NULL, 0), n);
	fi_freeinfo(info);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failed_open_leaves_nothing),
		cmocka_unit_test(an_injected_message_arrives),
		cmocka_unit_test(injections_are_counted_until_they_left),
		cmocka_unit_test(counting_may_be_switched_on),
		cmocka_unit_test(closing_waits_for_posted_sends),
		cmocka_unit_test(back_pressure_is_reported_and_harmless),
		cmocka_unit_test(pieces_are_gathered_where_needed),
		cmocka_unit_test(local_memory_is_registered_where_needed),
		cmocka_unit_test(read_only_data_is_sent_as_a_copy),
		cmocka_unit_test(a_refused_bulk_post_keeps_nothing),
		cmocka_unit_test(carriers_have_an_end),
		cmocka_unit_test(errors_are_translated),
		cmocka_unit_test(errors_without_an_operation_are_survived),
		cmocka_unit_test(used_buffers_are_posted_again),
		cmocka_unit_test(a_refused_buffer_is_posted_later),
		cmocka_unit_test(plain_buffers_serve_one_message_each),
		cmocka_unit_test(
			a_broken_receive_is_posted_again_but_not_for_ever),
		cmocka_unit_test(a_message_heals_the_count_of_errors),
		cmocka_unit_test(polling_inside_a_callback_does_nothing),
		cmocka_unit_test(cancel_finds_operations_of_the_provider),
		cmocka_unit_test(keys_cannot_be_guessed),
		cmocka_unit_test(keys_follow_the_plan),
		cmocka_unit_test(one_buffer_is_registered_once),
		cmocka_unit_test(device_memory_is_registered_with_its_device),
		cmocka_unit_test(a_refused_device_leaves_nothing),
		cmocka_unit_test(posts_pass_the_caller_s_registration),
		cmocka_unit_test(names_carry_the_kind_of_fabric),
		cmocka_unit_test(peers_of_another_network_are_named),
		cmocka_unit_test(the_plan_fits_the_buffers),
		cmocka_unit_test(the_plan_prints_itself),
	};

	weft_log_set_level("error");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
