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

/* Above 64 KiB, a rendezvous is faster than the copy out of the receive buffer,
 * although its round trip takes 8 us or more. The native form keeps all
 * messages in order, because it has one stream. The layered form has its own
 * rendezvous, which later messages overtake. */
static void prov_tcp_tune(struct weft_plan *plan, const struct fi_info *info)
{
	plan->eager_len = EAGER_LEN;
	plan->in_order_len = SIZE_MAX;
	plan->counts_injects = true;
	if (strstr(info->fabric_attr->prov_name, "ofi_rxm")) {
		plan->in_order_len = RXM_EAGER_LEN;
	} else {
		/* When a connection closes, the provider reuses its object,
		 * with a wrong process id of the peer. If two processes then
		 * connect to each other at the same time, the provider can
		 * mistake the accepted connection for an older one. It closes
		 * that connection and loses its messages (1.17 to 2.6,
		 * xnet_alloc_conn, xnet_ep_accept). */
		plan->connects_one_way = true;
		plan->resends = true;
		/* the space of a message is assigned when its first bytes
		 * arrive; a later message of another connection may be complete
		 * earlier */
		plan->releases_early = true;
		/* If all buffers are full, connections wait for space. Before
		 * 1.19, a new buffer wakes only one of these connections, even
		 * if it has space for more. The other connections would wait
		 * without end. With one message per buffer, each buffer wakes
		 * one connection, which is enough. */
		if (FI_VERSION_LT(fi_version(), FI_VERSION(1, 19)))
			plan->has_multi_recv = false;
		/* all buffers together should fit into the processor's cache,
		 * because they are used in turn */
		plan->recv_buf_len = BUF_LEN;
		/* Between two processes of a host, the kernel would buffer
		 * megabytes before the first byte is read. This data would no
		 * longer be in the caches. */
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
