/* SPDX-License-Identifier: BSD-3-Clause */
/* net_priv: declarations that the files of this room share */
#ifndef WEFT_NET_PRIV_H
#define WEFT_NET_PRIV_H

#include "net/domain.h"
#include "net/net.h"
#include "net/prov.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>

/* A receive buffer. It receives many messages if the provider supports
 * FI_MULTI_RECV, and otherwise one. The provider owns the buffer from its post
 * until its release. */
struct weft_recv_buf {
	struct weft_op op;
	struct weft_recv_buf *next; /* in the list of unposted buffers */
	char *mem;
	size_t n_arrived; /* bytes of the messages reported so far */
	size_t n_full;	  /* bytes of all messages in the buffer, once it is
			   * full; 0: not full. Both fields are used only with
			   * plan.releases_early */
};

/* Replaces an operation of the caller that needs a copy (data) or a
 * registration (mr). Created on demand, reused, freed at close. */
struct weft_carrier {
	struct weft_op op;
	struct weft_op *user;
	struct weft_inside *in;
	struct weft_mr *mr;
	struct weft_mr *data_mr;
	struct weft_carrier *next_free;
	struct weft_carrier *next_all;
	char *data; /* plan.recv_len bytes; allocated with the first copy */
};

/* Replaces an operation of the caller whose memory is read-only. Providers also
 * register memory for writing, which fails for read-only memory (FI_EFAULT, so
 * WEFT_ERR_BUFFER). It is posted with op and data and frees itself at
 * completion; after a failed post the caller frees it. */
struct weft_copied {
	struct weft_op op;
	struct weft_op *user; /* the replaced operation; NULL: it was posted
				 without an op */
	int *err; /* if user is NULL: set to an error, unless already set */
	_Alignas(16) char data[];
};

/* Copies len bytes at buf. NULL with a description if out of memory. */
struct weft_copied *weft_copied_create(
	struct weft_op *user, int *err, const void *buf, size_t len);

/* Created by weft_net_open, destroyed by weft_net_close. Fields are in the
 * order of their set-up. net is the first field, so that both structs have the
 * same address. */
struct weft_inside {
	struct weft_net net;
	weft_net_recv_fn *recv;
	void *arg;
	const struct weft_prov *prov;
	struct weft_domain dom;
	struct fid_cq *cq;
	int wait_fd;	     /* descriptor on which a thread sleeps until cq has
				an event (WEFT_WAIT=block); -1: none */
	struct weft_mr *mrs; /* all open registrations */
	char *buf_mem;
	size_t buf_mem_len;
	struct weft_mr *buf_mr;
	struct weft_recv_buf *bufs;
	size_t n_bufs;
	size_t buf_len;
	struct weft_recv_buf *unposted;
	struct weft_recv_buf *held; /* full buffers with messages not received
				       yet, oldest first */
	uint32_t n_bad_bufs;	    /* consecutive receive errors */
	struct weft_op inject_op;   /* shared by all counted injections */
	bool has_own_context;	    /* each operation needs its own op */
	struct weft_carrier *carriers;
	struct weft_carrier *free_carriers;
	size_t n_carriers;
	bool is_polling;
	bool did_warn; /* the first error completion was reported */
};

static inline struct weft_inside *weft_net_inside(struct weft_net *net)
{
	return weft_container_of(net, struct weft_inside, net);
}

/* fabric.c: the number of the entry of prov/ with this name, or that of
 * "other", which is the last. */
uint8_t weft_fabric_number(const char *name);

/* ep.c: opens domain, address table, queue and endpoint on an open fabric and
 * posts the receive buffers. Takes ownership of info and fabric, on failure
 * too. Tests call this part of opening with a fake fabric. */
int weft_ep_open_take(struct fi_info *info, struct fid_fabric *fabric,
	const struct weft_prov *prov, const struct weft_plan *plan,
	weft_net_recv_fn *recv, void *arg, struct weft_net **net_out);

/* ep.c: posts buffers that could not be posted before; 0 or WEFT_AGAIN. */
int weft_ep_repost(struct weft_inside *in);

/* ep.c: posts a receive buffer again, which the provider has released. */
void weft_ep_buf_released(struct weft_inside *in, struct weft_recv_buf *buf);

/* ep.c: op->done of each receive buffer. cq.c recognises a receive buffer by
 * this pointer; nothing calls the function. */
void weft_ep_buf_done(struct weft_op *op, int err, size_t len);

/* rma_ep.c: as weft_ep_open_take(), for one-sided access. */
struct weft_rma_domain;
int weft_rma_domain_open_take(struct fi_info *info, struct fid_fabric *fabric,
	const struct weft_plan *plan, struct weft_rma_domain **domain_out);

/* av.c: as weft_net_name() and weft_net_peer_add(), but for any endpoint, also
 * for one-sided access. */
int weft_av_name(
	struct fid *ep, const struct fi_info *info, void *buf, size_t *len);
int weft_av_add(struct fid_av *av, const struct fi_info *info,
	const struct weft_plan *plan, const void *name, size_t len,
	uint64_t *addr_out);

/* cq.c: converts a libfabric error code, of either sign, to a weft_err. */
int weft_cq_err(int code);

/* mr.c: draws a random key within plan->key_mask that is not a special key
 * (plan->n_keys). On some fabrics, processes of other users can connect to an
 * endpoint. There, only a random key protects registered memory. 0 or a
 * described error. */
int weft_mr_draw_key(const struct weft_plan *plan, uint64_t *key_out);

/* mr.c: closes the remaining registrations. */
void weft_mr_fini(struct weft_inside *in);

#endif
