/* SPDX-License-Identifier: BSD-3-Clause */
/* net: one libfabric endpoint, the fabric half of a VCI
 *
 * A net is an endpoint with its fabric, domain, address table, completion
 * queue and receive buffers. It carries untagged messages (small, matched by
 * the library) and tagged messages (the data of a rendezvous).
 *
 * Threads: not thread safe; the VCI's lock guards the whole struct and must be
 * held in each call below. Two nets share nothing.
 *
 * Order: two untagged messages to the same peer arrive in the order sent, and
 * so do two tagged messages. Tagged and untagged messages have no order between
 * them.
 *
 * Back-pressure: a post that the provider cannot accept now returns WEFT_AGAIN
 * and has no effect; the caller queues it. No post spins until the provider
 * accepts it.
 *
 * Callbacks (recv, op->done) run only inside weft_net_poll(). They may post.
 * They must not close, and a poll inside them returns 0. */
#ifndef WEFT_NET_H
#define WEFT_NET_H

#include "base/bits.h"
#include "base/counter.h"
#include "base/err.h"
#include "base/op.h"
#include "net/plan.h"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
	WEFT_NET_NAME_MAX = 512, /* longest name of an endpoint, in bytes */
};

/* Called for an untagged message. data is valid until the function returns and
 * may have any alignment. */
typedef void weft_net_recv_fn(void *arg, const void *data, size_t len);

/* Restores the default action of fatal signals for which libraries below
 * libfabric (PSM) have installed handlers. The program's own handlers stay. */
void weft_crash_reset(void);

/* Hints for the choice of a fabric. A zeroed struct requests the defaults. */
struct weft_net_hints {
	const char *provider; /* NULL or "": WEFT_PROVIDER, else any */
	const char *iface;    /* NULL or "": WEFT_IFACE, else any */
	const char *tclass;   /* NULL or "": WEFT_TCLASS */
	const char *near;     /* "a,b": devices near this process, by name or
			       * bus address; NULL: unknown */
	/* returns a list like `near`; called only if several devices are equal;
	 * NULL: `near` is used */
	const char *(*find_near)(void);
	const char *fabric; /* NULL: any */
	const char *used;   /* "a,b": devices to exclude; NULL: none */
	uint32_t rail;	    /* number of the net among those of its VCI;
			       above 0: the caller logs a failed open */
	uint32_t place;	    /* number of this process among those of the node */
	uint8_t vci;	    /* number of the VCI that its counters belong to */
	bool is_one_host;   /* every peer is on this host */
	bool may_grow;	    /* peers of other hosts may follow: the loopback
			       interface is used only if there is no other */
	bool is_rma;	    /* only one-sided access is needed */
	bool has_devices;   /* the process uses a driver of devices */
};

struct weft_net {
	struct weft_plan plan; /* constant once open */
	struct fid_ep *ep;
	uint64_t n_unsent; /* injected and copied messages that have not left
			      the process */
	bool is_counting;  /* plan.counts_injects */
	uint64_t tag;	   /* tag of the message; valid inside op->done */
	struct weft_counters counters;
};

/* Chooses a provider and an interface, logs one info line, opens the endpoint
 * and posts its receive buffers. Does not wait for any other process. On
 * failure WEFT_ERR_NOPROV, with each candidate and its reason in the
 * description and the log, or WEFT_ERR_NOMEM; *net_out is unchanged. */
int weft_net_open(const struct weft_net_hints *hints, weft_net_recv_fn *recv,
	void *arg, struct weft_net **net_out);

/* Closes the net. Waits for counted injections to leave (WEFT_NET_LINGER at
 * most), and for 50 ms if closing discards data that peers have not read
 * (plan.drops_unread). Meanwhile arriving messages are dropped and operations
 * may complete. Pending operations are then abandoned: op->done is not called.
 * After the return, libfabric does not access their memory. NULL is accepted.
 */
void weft_net_close(struct weft_net *net);

/* Writes this endpoint's name for the business card, at most WEFT_NET_NAME_MAX
 * bytes. *len is the length of buf, then that of the name. WEFT_ERR_ARG if buf
 * is too short. */
int weft_net_name(struct weft_net *net, void *buf, size_t *len);

/* Converts a peer's name to an address. Sends nothing. A described
 * WEFT_ERR_PEER if the peer uses another kind of fabric or the name is
 * malformed. The same name twice yields the same or an equivalent address. */
int weft_net_peer_add(
	struct weft_net *net, const void *name, size_t len, uint64_t *addr_out);

/* Removes a peer, to which no operation is pending. */
void weft_net_peer_remove(struct weft_net *net, uint64_t addr);

/* True if the peer's port refuses or resets a new connection: the process has
 * ended. `what` is set to a clause about the attempt, or "" if the provider is
 * not tcp, whose ports alone are tested. Blocks for 20 ms at most. */
bool weft_net_refuses(
	struct weft_net *net, uint64_t addr, char *what, size_t len);

/* Handles completions: calls recv and op->done. Returns the number of events, 0
 * when idle. Errors of operations are passed to op->done. */
int weft_net_poll(struct weft_net *net);

/* True if a thread may sleep: no event is pending, or there is no descriptor.
 * *fd_out is the descriptor, which becomes readable with the next event, and
 * which a thread may poll without the lock. It is -1 without WEFT_WAIT=block,
 * or if the provider has none. */
bool weft_net_may_sleep(struct weft_net *net, int *fd_out);

/* Translates the code of a failed post. Counts -FI_EAGAIN as refused and
 * returns WEFT_AGAIN. Counts other codes as errors and records a description
 * with weft_err_set(). */
int weft_net_fault(struct weft_net *net, const char *call, ssize_t rc);

/* Implements weft_net_inject() if net->is_counting is true. */
int weft_net_inject_counted(
	struct weft_net *net, uint64_t addr, const void *buf, size_t len);

/* Sends len <= plan.inject_len bytes, untagged. buf may be reused after the
 * call; there is no completion. 0, WEFT_AGAIN or an error. */
static inline int weft_net_inject(
	struct weft_net *net, uint64_t addr, const void *buf, size_t len)
{
	ssize_t rc;

	if (net->is_counting)
		return weft_net_inject_counted(net, addr, buf, len);
	rc = fi_inject(net->ep, buf, len, addr);
	if (weft_likely(rc == 0)) {
		net->counters.net_sent++;
		net->counters.net_sent_bytes += len;
		return 0;
	}
	return weft_net_fault(net, "fi_inject", rc);
}

/* Sends one untagged message of n_iov (1 or 2) parts, at most plan.recv_len
 * bytes in all. The parts must not change until op->done(op, err, len) is
 * called; the iov array may change. 0; or WEFT_AGAIN or an error, after which
 * done is not called. */
int weft_net_send(struct weft_net *net, uint64_t addr, const struct iovec *iov,
	size_t n_iov, struct weft_op *op);

/* Memory registered for local sends and receives. */
struct weft_mr {
	void *desc; /* descriptor to pass to posts that use this memory */
	/* private to mr.c */
	uint64_t key;
	struct fid_mr *fid;
	uintptr_t start;
	size_t len;
	enum fi_hmem_iface iface;
	uint32_t n_refs;
	struct weft_mr *next;
};

/* Registers memory, or adds a reference to a registration of the same memory.
 * The caller releases the reference by weft_mr_put() before the memory is
 * unmapped. May take long, because it pins pages. */
int weft_mr_get(
	struct weft_net *net, void *buf, size_t len, struct weft_mr **mr_out);

/* As weft_mr_get(), but registers device memory. Only if plan.has_hmem is true.
 * `device` is the driver's number of the device: the CUdevice for FI_HMEM_CUDA,
 * the index of the device in the first driver for FI_HMEM_ZE. After an error,
 * which is described, the caller copies the data through host memory. The
 * caller must release the reference before the program frees the memory. */
int weft_mr_get_device(struct weft_net *net, void *buf, size_t len,
	enum fi_hmem_iface iface, int device, struct weft_mr **mr_out);
void weft_mr_put(struct weft_net *net, struct weft_mr *mr);

/* weft_net_tsend() sends, and weft_net_trecv() receives, a tagged message of at
 * most plan.max_msg_len bytes. mr is a registration with all bytes of buf,
 * which the caller holds until the operation completes; the call neither
 * registers nor copies the memory. Device memory needs such a registration.
 * With NULL, the call registers host memory if the provider requires it. Only
 * the bits of plan.tag_mask are compared; the receiver chooses a tag that is
 * unique in these bits. A receive does not use addr. A send posted before its
 * receive waits in the fabric. Otherwise as weft_net_send(). A receive passes
 * the length that arrived to its done. A send must not be longer than its
 * receive: the receive would complete with WEFT_ERR_TRUNCATE, and some
 * providers (tcp;ofi_rxm) would close the connection. */
int weft_net_tsend(struct weft_net *net, uint64_t addr, const void *buf,
	size_t len, const struct weft_mr *mr, uint64_t tag, struct weft_op *op);
/* As weft_net_tsend(), but completes when the receive has all data. Only for
 * providers that report delivery (plan.n_near_segs above 0, or plan.resends).
 */
int weft_net_tsend_delivered(struct weft_net *net, uint64_t addr,
	const void *buf, size_t len, const struct weft_mr *mr, uint64_t tag,
	struct weft_op *op);
int weft_net_trecv(struct weft_net *net, uint64_t addr, void *buf, size_t len,
	const struct weft_mr *mr, uint64_t tag, struct weft_op *op);

/* Cancels a posted receive. Its done is called exactly once, with
 * WEFT_ERR_CANCELED, or with the message if the message arrived first. */
int weft_net_cancel(struct weft_net *net, struct weft_op *op);

/* A candidate and its verdict; valid during the call. */
struct weft_net_candidate {
	const char *form;    /* provider name in libfabric */
	const char *verdict; /* "chosen", "usable" or "no" */
	const char *domain;  /* domain that would be used; "" for "no" */
	const char *fabric;
	const char *why;
};

/* Warns about names in WEFT_PROVIDER that no entry of prov/ has. For a job that
 * opens no fabric; weft_net_open() tries such names itself. */
void weft_net_check_provider(void);

/* True if an entry of prov/, except "other", has this name. The rules for
 * collectives use these names (fabric=NAME). */
bool weft_net_is_fabric(const char *name);

/* Returns the name of the i-th entry of prov/, the last of which is "other".
 * NULL after it. Opens nothing. */
const char *weft_net_fabric_name(size_t i);

typedef void weft_net_candidate_fn(
	void *arg, const struct weft_net_candidate *candidate);

/* Calls fn for each candidate, in order of preference. Opens nothing. */
void weft_net_candidates(const struct weft_net_hints *hints,
	weft_net_candidate_fn *fn, void *arg);

/* Writes one line for each candidate ("name: verdict"), for weft-info. Opens
 * nothing. Writes at most len bytes, NUL-terminated; returns the length of the
 * whole text without its NUL. */
size_t weft_net_explain(
	const struct weft_net_hints *hints, char *buf, size_t len);

#endif
