/* SPDX-License-Identifier: BSD-3-Clause */
/* prov_tcp: sockets; what laptops and CI use
 *
 * libfabric has had three: "tcp" with endpoints of our kind since 1.18, the
 * same engine under the name "net" in 1.17, and older "tcp" under the ofi_rxm
 * layer. The native ones are quicker at every size. */
#include "prov/prov_all.h"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

#include <string.h>

enum {
	QUEUE_LEN = 1024,
	EAGER_LEN = 65536 + 512, /* 64 KiB and headers */
	RXM_EAGER_LEN = 16384,
	BUF_LEN = 256 << 10,
	SEG_LEN = 512 << 10,
	NEAR_SEGS = 3,
};

static void prov_tcp_hints(struct fi_info *h)
{
	h->tx_attr->size = QUEUE_LEN;
	h->rx_attr->size = QUEUE_LEN;
}

/* A rendezvous costs a round trip, 8 us and more, in which a socket moves what
 * copying out of the receive buffer costs: 64 KiB is where they meet. One
 * stream keeps everything in order, but the layered form has a rendezvous of
 * its own, which later messages overtake. */
static void prov_tcp_tune(struct weft_plan *plan, const struct fi_info *info)
{
	plan->eager_len = EAGER_LEN;
	plan->in_order_len = SIZE_MAX;
	plan->counts_injects = true;
	if (strstr(info->fabric_attr->prov_name, "ofi_rxm")) {
		plan->in_order_len = RXM_EAGER_LEN;
	} else {
		/* An object of an ended connection is used again with its old
		 * peer's process id in it: if then two connects cross, the one
		 * that was accepted is taken for an older one and closed, with
		 * what was sent on it (1.17 to 2.6, xnet_alloc_conn). */
		plan->connects_one_way = true;
		/* each message takes its place when its first bytes come, and
		 * another connection's may be whole before it */
		plan->releases_early = true;
		/* Before 1.19 a buffer posted after all were full wakes one
		 * connection that waits for room, though it has room for more:
		 * the others would wait for ever. One message a buffer wakes
		 * them in turn. */
		if (FI_VERSION_LT(fi_version(), FI_VERSION(1, 19)))
			plan->has_multi_recv = false;
		/* the processor writes to all buffers in turn and reads them:
		 * together they are to fit its cache */
		plan->recv_buf_len = BUF_LEN;
		/* between two processes of a host the kernel would take
		 * megabytes, out of all caches, before the first is read */
		plan->seg_len = SEG_LEN;
		plan->n_near_segs = NEAR_SEGS;
	}
	plan->has_put_order = true;
	plan->has_costly_posts = true;
}

const struct weft_prov weft_prov_tcp = {
	.name = "tcp",
	.note = "plain sockets work everywhere",
	.use = WEFT_PROV_AUTO,
	.has_iface = true,
	.iface_env = "FI_TCP_IFACE",
	.forms = { "tcp", "net", "tcp;ofi_rxm" },
	.hints = prov_tcp_hints,
	.tune = prov_tcp_tune,
};
