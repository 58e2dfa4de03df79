/* SPDX-License-Identifier: BSD-3-Clause */
/* net_device: tagged messages from and to device memory
 *
 * Two endpoints in one process, on the stand-in for Slingshot. The memory is
 * that of CUDA's stand-in, so any access of the library to it is a fault. */
#include "base/clock.h"
#include "base/knob.h"
#include "net/net.h"
#include "test/fake/cuda/cudaopen.h"
#include "test/fake/cxi/stand_find.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { LEN = 1 << 20, DEADLINE_S = 60 };

struct end {
	struct weft_net *net;
	uint64_t peer;
};

struct wait {
	struct weft_op op;
	int n_done;
	int err;
	size_t len;
};

static struct end ends[2];

static void on_recv(void *arg, const void *data, size_t len)
{
	(void)arg;
	(void)data;
	(void)len;
}

static void on_done(struct weft_op *op, int err, size_t len)
{
	struct wait *w = weft_container_of(op, struct wait, op);

	w->n_done++;
	w->err = err;
	w->len = len;
}

static int net_open(bool has_devices, struct weft_net **net_out)
{
	const struct weft_net_hints hints = { .provider = "cxi",
		.is_one_host = true,
		.has_devices = has_devices };

	return weft_net_open(&hints, on_recv, NULL, net_out);
}

static void know(struct end *end, struct end *other)
{
	unsigned char name[WEFT_NET_NAME_MAX];
	size_t len = sizeof(name);

	assert_int_equal(weft_net_name(other->net, name, &len), 0);
	assert_int_equal(weft_net_peer_add(end->net, name, len, &end->peer), 0);
}

static int setup(void **state)
{
	(void)state;
	assert_int_equal(net_open(true, &ends[0].net), 0);
	assert_int_equal(net_open(true, &ends[1].net), 0);
	know(&ends[0], &ends[1]);
	know(&ends[1], &ends[0]);
	return 0;
}

static int cleanup(void **state)
{
	(void)state;
	weft_net_close(ends[0].net);
	weft_net_close(ends[1].net);
	return 0;
}

static void device_alloc(char **at_out)
{
	uint64_t at = 0;

	assert_int_equal(cuda.alloc(&at, LEN), 0);
	*at_out = (char *)(uintptr_t)at;
}

static void device_free(char *at)
{
	assert_int_equal(cuda.free((uintptr_t)at), 0);
}

static void await(struct wait *w)
{
	uint64_t end = weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S;

	while (!w->n_done && weft_now_ns() < end)
		if (!(weft_net_poll(ends[0].net) + weft_net_poll(ends[1].net)))
			sched_yield();
	assert_int_equal(w->n_done, 1);
	assert_int_equal(w->err, 0);
}

/* Sends from the first endpoint to the second. mr may be NULL: host memory. */
static void move(const char *from, const struct weft_mr *from_mr, char *to,
	const struct weft_mr *to_mr, size_t len)
{
	struct wait tx = { .op = { .done = on_done } };
	struct wait rx = { .op = { .done = on_done } };

	assert_int_equal(weft_net_trecv(ends[1].net, ends[1].peer, to, len,
				 to_mr, 3, &rx.op),
		0);
	assert_int_equal(weft_net_tsend(ends[0].net, ends[0].peer, from, len,
				 from_mr, 3, &tx.op),
		0);
	await(&tx);
	await(&rx);
	assert_int_equal(rx.len, len);
}

static void device_memory_is_sent_and_received(void **state)
{
	static char want[LEN], got[LEN];
	struct weft_mr *from_mr, *to_mr;
	char *from, *to;

	(void)state;
	device_alloc(&from);
	device_alloc(&to);
	for (size_t i = 0; i < LEN; i++)
		want[i] = (char)(i * 31 + i / 512);
	cuda.write(from, want, LEN);
	assert_int_equal(weft_mr_get_device(ends[0].net, from, LEN,
				 FI_HMEM_CUDA, 0, &from_mr),
		0);
	assert_int_equal(weft_mr_get_device(
				 ends[1].net, to, LEN, FI_HMEM_CUDA, 0, &to_mr),
		0);
	move(from, from_mr, to, to_mr, LEN);
	cuda.read(got, to, LEN);
	assert_memory_equal(got, want, LEN);
	/* a part of the memory, from and to host memory */
	memset(got, 0, LEN);
	move(from + 64, from_mr, got, NULL, LEN - 64);
	assert_memory_equal(got, want + 64, LEN - 64);
	memset(want, 7, LEN);
	move(want, NULL, to + 64, to_mr, LEN - 64);
	cuda.read(got, to + 64, LEN - 64);
	assert_memory_equal(got, want, LEN - 64);
	assert_int_equal(cuda.crossed(), 0);
	weft_mr_put(ends[0].net, from_mr);
	weft_mr_put(ends[1].net, to_mr);
	device_free(from);
	device_free(to);
}

static void a_refused_registration_is_described(void **state)
{
	static char host[64];
	struct weft_mr *mr = NULL;
	int err = weft_mr_get_device(
		ends[0].net, host, sizeof(host), FI_HMEM_CUDA, 0, &mr);

	(void)state;
	assert_true(err < 0);
	assert_null(mr);
	assert_non_null(strstr(weft_err_detail_peek(err), "fi_mr_regattr"));
}

static void only_a_process_with_devices_has_hmem(void **state)
{
	struct weft_net *net;

	(void)state;
	assert_true(ends[0].net->plan.has_hmem);
	assert_int_equal(net_open(false, &net), 0);
	assert_false(net->plan.has_hmem);
	weft_net_close(net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(device_memory_is_sent_and_received),
		cmocka_unit_test(a_refused_registration_is_described),
		cmocka_unit_test(only_a_process_with_devices_has_hmem),
	};

	weft_knob_load();
	stand_find("cxi");
	if (!weft_knob_getenv("FI_PROVIDER_PATH") || !cuda_open()) {
		printf("1..0 # SKIP no stand-ins for cxi and CUDA's driver, "
		       "which a static build does not have\n");
		return 0;
	}
	setenv("FI_PROVIDER", "cxi", 1);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, cleanup);
}
