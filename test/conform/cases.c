/* SPDX-License-Identifier: BSD-3-Clause */
/* cases: rank 0 sends, rank 1 receives, unless both do */
#include "test/conform/conform.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void case_inject_sizes(struct side *s)
{
	unsigned char buf[65536];
	size_t limit = weft_min(s->net->plan.inject_len, sizeof(buf));
	uint64_t n = 0;

	begin(s, SIZE_MAX);
	for (size_t len = 0; len <= limit; len += len < 300 ? 1 : 997, n++) {
		make_msg(buf, len, n);
		if (s->rank == 0)
			send_inject(s, buf, len);
	}
	make_msg(buf, limit, n++);
	if (s->rank == 0)
		send_inject(s, buf, limit);
	else
		wait_got(s, n, "injected messages");
	claim(s, s->n_bad == 0 && (s->rank == 0 || s->last_len == limit),
		"every length up to the inject limit arrives, in order");
	sync_sides(s);
}

static void case_send_sizes(struct side *s, bool in_two)
{
	size_t limit = s->net->plan.recv_len;
	unsigned char *buf = malloc(limit);
	uint64_t n = 0;
	int bad = 0;

	begin(s, SIZE_MAX);
	for (size_t base = 1; base <= limit; base *= 2) {
		for (size_t len = base - 1; len <= base + 1; len++) {
			struct wait_op w;

			if (len > limit)
				continue;
			make_msg(buf, len, n);
			n++;
			if (s->rank)
				continue;
			bad += post_send(s, buf, len, in_two ? len / 3 : 0,
				       &w) != 0;
			bad += op_wait(s, &w, "send of one size") != 0;
			memset(buf, 0xee, len); /* the send is complete, so the
						 * buffer may be overwritten */
			bad += w.n_done != 1;
		}
	}
	if (s->rank == 1)
		wait_got(s, n, "sent messages");
	claim(s, bad == 0 && s->n_bad == 0,
		in_two ? "sizes to the receive limit in two pieces"
		       : "sizes to the receive limit in one piece");
	free(buf);
	sync_sides(s);
}

static void case_flood(struct side *s)
{
	unsigned char buf[8];
	uint64_t n = 20000;

	begin(s, 8);
	if (s->rank == 0) {
		for (uint64_t i = 0; i < n; i++) {
			make_msg(buf, 8, i);
			send_inject(s, buf, 8);
		}
	} else {
		usleep(200000); /* until the sender's posts return WEFT_AGAIN */
		wait_got(s, n, "flood");
	}
	claim(s, s->n_bad == 0, "20000 small messages keep their order");
	sync_sides(s);
}

static void case_flood_eager(struct side *s)
{
	enum { WINDOW = 32, ROUNDS = 20 };
	size_t len = s->net->plan.eager_len;
	unsigned char *buf = malloc(len * WINDOW);
	struct wait_op w[WINDOW];
	uint64_t seq = 0;
	int bad = 0;

	begin(s, len);
	for (int r = 0; r < ROUNDS && s->rank == 0; r++) {
		for (size_t i = 0; i < WINDOW; i++) {
			make_msg(buf + i * len, len, seq++);
			bad += post_send(s, buf + i * len, len, 40, &w[i]) != 0;
		}
		for (size_t i = 0; i < WINDOW; i++)
			bad += op_wait(s, &w[i], "eager flood") != 0;
	}
	if (s->rank == 1)
		wait_got(s, WINDOW * ROUNDS, "eager flood arrives");
	claim(s, bad == 0 && s->n_bad == 0,
		"windows of eager messages keep order and content");
	free(buf);
	sync_sides(s);
}

/* Short messages must not overtake earlier long messages. */
static void case_mixed_sizes(struct side *s)
{
	enum { WINDOW = 16, ROUNDS = 12 };
	size_t limit = s->net->plan.recv_len;
	unsigned char *buf = malloc(limit * WINDOW);
	struct wait_op w[WINDOW];
	uint64_t seq = 0;
	int bad = 0;

	begin(s, SIZE_MAX);
	for (int r = 0; r < ROUNDS && s->rank == 0; r++) {
		for (size_t i = 0; i < WINDOW; i++) {
			size_t len = i % 4 == 0	  ? limit
				     : i % 4 == 1 ? 8
				     : i % 4 == 2 ? limit / 2 + i
						  : 1000;

			make_msg(buf + i * limit, len, seq++);
			bad += post_send(s, buf + i * limit, len, 0, &w[i]) !=
			       0;
		}
		for (size_t i = 0; i < WINDOW; i++)
			bad += op_wait(s, &w[i], "mixed sizes") != 0;
	}
	if (s->rank == 1)
		wait_got(s, WINDOW * ROUNDS, "mixed sizes arrive");
	claim(s, bad == 0 && s->n_bad == 0,
		"long and short messages in one window keep their order");
	free(buf);
	sync_sides(s);
}

static void case_both_ways(struct side *s)
{
	size_t len = weft_min(s->net->plan.inject_len, 64);
	unsigned char buf[64];
	uint64_t start = weft_now_ns();

	begin(s, len);
	for (uint64_t i = 0; i < 5000; i++) {
		make_msg(buf, len, i);
		send_inject(s, buf, len);
	}
	while (s->n_got < 5000)
		tick(s, start, "both ways");
	claim(s, s->n_bad == 0, "both sides flood at the same time");
	sync_sides(s);
}

static void case_tagged(struct side *s, bool is_late)
{
	unsigned char *buf = malloc(BIG + 1);
	int bad = 0;

	for (size_t len = 0; len <= BIG; len = len ? len * 4 : 1) {
		struct wait_op w;
		uint64_t tag = 1000 + len;
		size_t real = len > 3 ? len - 1 : len;

		if (s->rank == 0) {
			fill(buf, real, len);
			if (!is_late)
				sync_sides(s);
			bad += post_tsend(s, buf, real, tag, &w) != 0;
			if (is_late)
				sync_sides(s);
			bad += op_wait(s, &w, "tagged send") != 0;
			memset(buf, 0xee, real); /* the send is complete, so the
						  * buffer may be overwritten */
		} else {
			memset(buf, 0, real);
			if (is_late)
				sync_sides(s);
			bad += post_trecv(s, buf, len, tag, &w) != 0;
			if (!is_late)
				sync_sides(s);
			bad += op_wait(s, &w, "tagged receive") != 0;
			bad += w.len != real || !is_filled(buf, real, len);
		}
		bad += w.n_done != 1;
	}
	claim(s, bad == 0,
		is_late ? "tagged 0 B to 4 MiB, receive posted late"
			: "tagged 0 B to 4 MiB, receive posted first");
	free(buf);
	sync_sides(s);
}

static void case_tagged_swap(struct side *s)
{
	enum { N = 8, LEN = 1 << 20 };
	unsigned char *out = malloc((size_t)N * LEN);
	unsigned char *in = malloc((size_t)N * LEN);
	struct wait_op tx[N];
	struct wait_op rx[N];
	int bad = 0;

	/* Receives in the opposite order: messages match by tag and not by
	 * time. */
	for (size_t i = N; i-- > 0;)
		bad += post_trecv(s, in + i * LEN, LEN, 50 + i, &rx[i]) != 0;
	for (size_t i = 0; i < N; i++) {
		fill(out + i * LEN, LEN, i + (size_t)s->rank);
		bad += post_tsend(s, out + i * LEN, LEN, 50 + i, &tx[i]) != 0;
	}
	for (size_t i = 0; i < N; i++) {
		bad += op_wait(s, &tx[i], "swap out") != 0;
		bad += op_wait(s, &rx[i], "swap in") != 0;
		bad += !is_filled(in + i * LEN, LEN, i + !s->rank);
	}
	claim(s, bad == 0, "8 x 1 MiB in both directions match by tag");
	free(out);
	free(in);
	sync_sides(s);
}

/* The message is longer than the buffers of a socket. */
static void case_delivered(struct side *s)
{
	unsigned char *buf = malloc(BIG);
	uint64_t start = weft_now_ns();
	struct wait_op w;

	memset(buf, s->rank, BIG);
	if (s->rank == 0) {
		op_init(&w);
		claim(s,
			weft_net_tsend_delivered(s->net, s->peer, buf, BIG,
				NULL, 4242, &w.op) == 0,
			"a delivered send is posted");
		while (weft_now_ns() - start < WEFT_NS_PER_S / 20)
			tick(s, start, "a delivered send");
		claim(s, w.n_done == 0,
			"a delivered send does not complete before its "
			"receive");
		sync_sides(s);
		claim(s, op_wait(s, &w, "delivered send") == 0,
			"the delivered send completes");
	} else {
		sync_sides(s);
		post_trecv(s, buf, BIG, 4242, &w);
		claim(s,
			op_wait(s, &w, "delivered receive") == 0 && !buf[0] &&
				!buf[BIG - 1],
			"the delivered data is in the receive buffer");
	}
	free(buf);
	sync_sides(s);
}

static void case_truncate(struct side *s)
{
	unsigned char buf[1000] = { 0 };
	struct wait_op w;
	int rc;

	if (s->rank == 0) {
		sync_sides(s);
		rc = post_tsend(s, buf, sizeof(buf), 77, &w);
		rc = rc ? rc : op_wait(s, &w, "long send");
		claim(s, rc == 0 || rc == WEFT_ERR_TRUNCATE,
			"a receive that is too short is no error of the "
			"sender");
	} else {
		post_trecv(s, buf, 10, 77, &w);
		sync_sides(s);
		rc = op_wait(s, &w, "short receive");
		claim(s, rc == WEFT_ERR_TRUNCATE,
			"a receive that is too short reports the truncation");
	}
	sync_sides(s);
}

static void case_cancel(struct side *s)
{
	unsigned char buf[64];
	struct wait_op w;
	int rc;

	post_trecv(s, buf, sizeof(buf), 99, &w);
	rc = weft_net_cancel(s->net, &w.op);
	claim(s, rc == 0, "a posted receive may be cancelled");
	claim(s, op_wait(s, &w, "cancel") == WEFT_ERR_CANCELED,
		"the receive completes once, as cancelled");
	sync_sides(s);
}

static void case_names(struct side *s)
{
	unsigned char name[WEFT_NET_NAME_MAX];
	size_t len = sizeof(name);
	size_t small = 4;
	uint64_t addr;
	int rc = weft_net_name(s->net, name, &len);

	claim(s, rc == 0 && len > 8, "a net has a name");
	claim(s, weft_net_name(s->net, name, &small) == WEFT_ERR_ARG,
		"a buffer that is too short for the name is refused");
	name[0] ^= 0x55;
	claim(s, weft_net_peer_add(s->net, name, len, &addr) == WEFT_ERR_PEER,
		"a name of another fabric is refused");
	name[0] ^= 0x55;
	if (len == 8 + 16) /* the address of a socket: removes its family */
		name[8] = name[9] = 0;
	claim(s,
		len != 8 + 16 || weft_net_peer_add(s->net, name, len, &addr) ==
					 WEFT_ERR_PEER,
		"a name that is no address is refused");
	claim(s, weft_net_peer_add(s->net, name, 3, &addr) == WEFT_ERR_PEER,
		"an incomplete name is refused");
	sync_sides(s);
}

void run_cases(struct side *s)
{
	case_names(s);
	case_inject_sizes(s);
	case_send_sizes(s, false);
	case_send_sizes(s, true);
	case_flood(s);
	case_flood_eager(s);
	case_mixed_sizes(s);
	case_both_ways(s);
	case_tagged(s, false);
	case_tagged(s, true);
	case_tagged_swap(s);
	if (s->net->plan.n_near_segs)
		case_delivered(s);
	case_cancel(s);
	case_truncate(s); /* last: the provider may close the connection */
}
