/* SPDX-License-Identifier: BSD-3-Clause */
/* net: one libfabric endpoint, the fabric half of a VCI
 *
 * A net is an endpoint with its fabric, domain, address table, completion
 * queue and receive buffers. It carries untagged messages (small, matched by
 * us), tagged messages (the bulk data of a rendezvous) and one-sided access.
 *
 * Threads: none of it is thread safe; the VCI's lock guards the whole struct,
 * and every call below needs it held. Two nets share nothing.
 *
 * Order: two untagged messages to the same peer arrive in the order sent, as
 * do two tagged ones. Tagged against untagged, and one-sided against either,
 * have no order unless plan.has_rma_order says so.
 *
 * Back-pressure: a post that cannot be taken now returns WEFT_AGAIN and has
 * done nothing; the caller queues. Nothing spins in here.
 *
 * Callbacks (recv, op->done) run inside weft_net_poll() only and may post, but
 * not poll (it would return 0 at once) and not close. */
#ifndef WEFT_NET_H
#define WEFT_NET_H

#include "base/bits.h"
#include "base/counter.h"
#include "base/err.h"
#include "base/op.h"
#include "net/plan.h"

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
	WEFT_NET_NAME_MAX = 512, /* longest weft_net_name() */
};

/* An untagged message arrived. data is lent until the function returns and is
 * aligned to nothing in particular. */
typedef void weft_net_recv_fn(void *arg, const void *data, size_t len);

/* Gives fatal signals back their default action where a library that libfabric
 * brought along has taken them; the program's own handlers stay. */
void weft_net_keep_crashes(void);

/* How to open. A zeroed struct is a good default. */
struct weft_net_hints {
	const char *provider; /* NULL or "": WEFT_PROVIDER, then our choice */
	const char *iface;    /* NULL or "": WEFT_IFACE, then our choice */
	const char *tclass;   /* NULL or "": WEFT_TCLASS */
	const char *near;     /* "a,b": devices on our piece of the machine, by
			       * name or place on the bus; NULL: not known */
	/* asked for that when several devices are equal; NULL: nobody */
	const char *(*find_near)(void);
	const char *fabric; /* NULL: any */
	const char *used;   /* "a,b": devices that will not do; NULL: none */
	uint32_t rail;	    /* its number among those of one VCI; 0: the first;
			     * else failure is the caller's to tell */
	uint32_t place;	    /* ours among the processes of this node */
	uint8_t vci;	    /* number of the VCI that its counters belong to */
	bool is_one_host;   /* every peer is on this host */
	bool is_rma;	    /* only one-sided access is wanted */
};

struct weft_net {
	struct weft_plan plan; /* constant once open */
	struct fid_ep *ep;
	uint64_t n_unsent; /* injections and copied messages that have not left
			      the process yet */
	bool is_counting;  /* plan.counts_injects */
	uint64_t tag;	   /* inside an op's done: of the message */
	struct weft_counters counters;
};

/* Chooses a provider and an interface, says so in one info line, opens the
 * endpoint and posts its receive buffers. Does not wait for any other process.
 * Failure: WEFT_ERR_NOPROV with every candidate and its reason in the detail
 * and the log, or WEFT_ERR_NOMEM, WEFT_ERR_OTHER; *net_out is untouched. */
int weft_net_open(const struct weft_net_hints *hints, weft_net_recv_fn *recv,
	void *arg, struct weft_net **net_out);

/* Closes all. What was injected while counting is first given a moment to leave
 * (WEFT_NET_LINGER), and where closing takes from others what they have not
 * read (plan.drops_unread) it waits for 50 ms; messages that arrive meanwhile
 * are dropped, operations that complete are done. Those still under way then
 * are abandoned: their done is not called, and after the return libfabric no
 * longer touches their memory. NULL is accepted. */
void weft_net_close(struct weft_net *net);

/* Our own address for the business card: at most WEFT_NET_NAME_MAX bytes.
 * *len is the room in buf, then the bytes written. WEFT_ERR_ARG if short. */
int weft_net_name(struct weft_net *net, void *buf, size_t *len);

/* Makes a peer's name an address. Nothing is sent. WEFT_ERR_PEER, with the
 * cause in the detail, when the peer uses another kind of fabric or the name
 * is malformed. The same name twice gives the same or an equivalent address. */
int weft_net_peer_add(
	struct weft_net *net, const void *name, size_t len, uint64_t *addr_out);

/* Forgets a peer; nothing to it may be under way. */
void weft_net_peer_remove(struct weft_net *net, uint64_t addr);

/* True when the peer's port refuses a new connection: the process has ended.
 * *what gets a clause about the attempt, "" where the provider has no ports.
 * Blocks for 20 ms at most. */
bool weft_net_refuses(
	struct weft_net *net, uint64_t addr, char *what, size_t len);

/* Drains completions: calls recv and op->done. Returns how many events there
 * were; 0 when idle. Errors arrive through op->done. */
int weft_net_poll(struct weft_net *net);

/* Before a thread sleeps: is there nothing to poll? *fd_out is then a
 * descriptor that becomes readable with the next event, -1 where the provider
 * has none, and may be polled without the lock. */
bool weft_net_may_sleep(struct weft_net *net, int *fd_out);

/* Translates the code of a failed post, counts, and records the detail once.
 * Returns WEFT_AGAIN for -FI_EAGAIN. */
int weft_net_fault(struct weft_net *net, const char *call, ssize_t rc);

/* weft_net_inject() while counting. */
int weft_net_inject_counted(
	struct weft_net *net, uint64_t addr, const void *buf, size_t len);

/* Sends len <= plan.inject_len bytes, untagged. buf may be reused at once;
 * there is no completion. 0, WEFT_AGAIN or an error. */
static inline int weft_net_inject(
	struct weft_net *net, uint64_t addr, const void *buf, size_t len)
{
	ssize_t rc;

	if (net->is_counting)
		return weft_net_inject_counted(net, addr, buf, len);
	rc = fi_inject(net->ep, buf, len, addr);
	if (weft_likely(rc == 0)) {
		net->counters.net_sent++;
		return 0;
	}
	return weft_net_fault(net, "fi_inject", rc);
}

/* Sends one untagged message made of n_iov (1 or 2) pieces, together at most
 * plan.recv_len bytes. The pieces' memory must stay as it is until op->done(op,
 * err, len); the iov array itself may go at once. 0, WEFT_AGAIN or an error;
 * after either of these done is not called. */
int weft_net_send(struct weft_net *net, uint64_t addr, const struct iovec *iov,
	size_t n_iov, struct weft_op *op);

/* Tagged send and receive of at most plan.max_msg_len bytes; tag &
 * plan.tag_mask is what matches, and must be unique at the receiver: the
 * receiver chooses it. addr of the receive is a hint only. A send may be posted
 * before its receive; it then waits in the fabric. As weft_net_send()
 * otherwise; the len of a receive's done is what arrived. Never send more than
 * was asked for: the receive then ends with WEFT_ERR_TRUNCATE, and on some
 * providers (tcp;ofi_rxm) the connection with it. */
int weft_net_tsend(struct weft_net *net, uint64_t addr, const void *buf,
	size_t len, uint64_t tag, struct weft_op *op);
/* The same; done when the receive has all of it. Where the provider can say so,
 * as plan.n_near_segs implies. */
int weft_net_tsend_delivered(struct weft_net *net, uint64_t addr,
	const void *buf, size_t len, uint64_t tag, struct weft_op *op);
int weft_net_trecv(struct weft_net *net, uint64_t addr, void *buf, size_t len,
	uint64_t tag, struct weft_op *op);

/* Asks for a posted receive to be taken back. Its done is still called, exactly
 * once, with WEFT_ERR_CANCELED or with the message if that was quicker. */
int weft_net_cancel(struct weft_net *net, struct weft_op *op);

/* Registered memory. base and key are what a peer needs. */
struct weft_mr {
	uint64_t key;
	uint64_t base; /* add the offset: the remote address of a byte */
	void *desc;    /* for our own posts */
	/* below: only mr.c */
	struct fid_mr *fid;
	uintptr_t start;
	size_t len;
	uint64_t access;
	uint32_t n_refs;
	struct weft_mr *next;
};

enum weft_mr_access {
	WEFT_MR_LOCAL = 1,  /* our own sends, receives, reads and writes */
	WEFT_MR_REMOTE = 2, /* peers may read and write */
};

/* Registers memory, or takes another reference on a registration under way of
 * the same memory. Give back with weft_mr_put() before the memory is unmapped.
 * May take long (pins pages). */
int weft_mr_get(struct weft_net *net, void *buf, size_t len, unsigned access,
	struct weft_mr **mr_out);
void weft_mr_put(struct weft_net *net, struct weft_mr *mr);

/* One-sided access to len <= plan.rma_max_len bytes at mr.base + offset of the
 * peer's registration. Local memory is registered as needed. done comes when
 * the data is at the target (write: delivered to its memory) or here (read). */
int weft_net_read(struct weft_net *net, uint64_t addr, void *buf, size_t len,
	uint64_t remote, uint64_t key, struct weft_op *op);
int weft_net_write(struct weft_net *net, uint64_t addr, const void *buf,
	size_t len, uint64_t remote, uint64_t key, struct weft_op *op);

/* One provider that might be used, and what becomes of it. Lent for the call.
 */
struct weft_net_candidate {
	const char *form;    /* libfabric's name */
	const char *verdict; /* "chosen", "usable" or "no" */
	const char *domain;  /* that would be used; "" for "no" */
	const char *fabric;
	const char *why;
};

/* Warns of names in WEFT_PROVIDER that none of our providers has, where no
 * fabric is opened, which would say so. */
void weft_net_check_provider(void);

/* Whether an entry of prov/ has this name, as rules for collectives use it. */
bool weft_net_is_fabric(const char *name);

typedef void weft_net_candidate_fn(
	void *arg, const struct weft_net_candidate *candidate);

/* Calls fn for every candidate, in our order of preference. Opens nothing. */
void weft_net_candidates(const struct weft_net_hints *hints,
	weft_net_candidate_fn *fn, void *arg);

/* What the choice would be and why, one line per candidate ("name: verdict"),
 * for weft-info. Opens nothing. Writes at most len bytes, NUL-terminated;
 * returns the bytes the whole text needs without its NUL. */
size_t weft_net_explain(
	const struct weft_net_hints *hints, char *buf, size_t len);

#endif
