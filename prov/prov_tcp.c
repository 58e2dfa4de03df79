/* SPDX-License-Identifier: BSD-3-Clause */
/* prov_tcp: sockets, for machines without other network hardware
 *
 * libfabric has had three forms: "tcp" with reliable datagram endpoints since
 * 1.18, the same engine under the name "net" in 1.17, and an older "tcp" under
 * the ofi_rxm layer. The native forms are faster at every size. */
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

/* Above 64 KiB the round trip of a rendezvous, 8 us or more, takes less time
 * than the copy out of the receive buffer. One stream keeps all messages in
 * order, but the layered form has a rendezvous of its own, which later messages
 * overtake. */
static void prov_tcp_tune(struct weft_plan *plan, const struct fi_info *info)
{
	plan->eager_len = EAGER_LEN;
	plan->in_order_len = SIZE_MAX;
	plan->counts_injects = true;
	if (strstr(info->fabric_attr->prov_name, "ofi_rxm")) {
		plan->in_order_len = RXM_EAGER_LEN;
	} else {
		/* The provider reuses the object of a closed connection with
		 * the process id of its old peer. If two connects cross then,
		 * it takes the accepted one for an older one and closes it,
		 * with the messages on it (1.17 to 2.6, xnet_alloc_conn). */
		plan->connects_one_way = true;
		/* a message gets its place when its first bytes arrive, and one
		 * of another connection may be complete before it */
		plan->releases_early = true;
		/* Before 1.19 a buffer posted after all were full wakes only
		 * one connection that waits for space, even if the buffer has
		 * space for more: the others would wait without end. With one
		 * message a buffer each buffer wakes one connection. */
		if (FI_VERSION_LT(fi_version(), FI_VERSION(1, 19)))
			plan->has_multi_recv = false;
		/* the processor writes and reads all buffers in turn, so all of
		 * them should fit into its cache */
		plan->recv_buf_len = BUF_LEN;
		/* between two processes of a host the kernel would buffer
		 * megabytes, which leave the caches, before the first byte is
		 * read */
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
