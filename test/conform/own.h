/* SPDX-License-Identifier: BSD-3-Clause */
/* own: Weft's shared memory behind the interface of the provider suite
 *
 * Rings carry the untagged messages, and single copy carries the tagged
 * messages, by the same steps as in src/p2p: a request to read, the copy, and a
 * completion message. */
#ifndef WEFT_TEST_CONFORM_OWN_H
#define WEFT_TEST_CONFORM_OWN_H

#include "net/net.h"

/* As the calls of net.h. hints->provider is ignored. */
int own_open(const struct weft_net_hints *hints, weft_net_recv_fn *recv,
	void *arg, struct weft_net **net_out);
void own_close(struct weft_net *net);
int own_name(struct weft_net *net, void *buf, size_t *len);
int own_peer_add(
	struct weft_net *net, const void *name, size_t len, uint64_t *addr_out);
int own_poll(struct weft_net *net);
int own_inject(
	struct weft_net *net, uint64_t addr, const void *buf, size_t len);
int own_send(struct weft_net *net, uint64_t addr, const struct iovec *iov,
	size_t n_iov, struct weft_op *op);
int own_tsend(struct weft_net *net, uint64_t addr, const void *buf, size_t len,
	const struct weft_mr *mr, uint64_t tag, struct weft_op *op);
int own_trecv(struct weft_net *net, uint64_t addr, void *buf, size_t len,
	const struct weft_mr *mr, uint64_t tag, struct weft_op *op);
int own_cancel(struct weft_net *net, struct weft_op *op);

#ifdef CONFORM_OWN
#define weft_net_open own_open
#define weft_net_close own_close
#define weft_net_name own_name
#define weft_net_peer_add own_peer_add
#define weft_net_poll own_poll
#define weft_net_inject own_inject
#define weft_net_send own_send
#define weft_net_tsend own_tsend
#define weft_net_trecv own_trecv
#define weft_net_cancel own_cancel
#endif

#endif
