/* SPDX-License-Identifier: BSD-3-Clause */
/* plan: the properties of a provider as numbers and flags
 *
 * The plan is filled once, when the endpoint opens, from the chosen fi_info and
 * the provider entry's tuning (net/prov.h), and is constant afterwards. Hot
 * paths read the plan and never test for a provider. */
#ifndef WEFT_PLAN_H
#define WEFT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fi_info;

/* An idle poll that takes longer than this makes system calls. If the process
 * can also poll shared memory, it polls the fabric in only some rounds. */
enum { WEFT_POLL_CHEAP_NS = 150 };

struct weft_plan {
	/* messages */
	size_t inject_len;     /* longest weft_net_inject() */
	size_t eager_len;      /* longest message sent untagged instead of by
				* rendezvous; upper rooms' headers included */
	size_t recv_len;       /* longest untagged message that may be sent;
				* >= eager_len */
	size_t in_order_len;   /* longer untagged messages may be overtaken by
				  later messages; recv_len is not above this
				  length */
	size_t max_msg_len;    /* longest weft_net_tsend() */
	size_t seg_len;	       /* callers split longer data into segments
				* of at most this length */
	uint32_t n_near_segs;  /* segments in flight at a time to a process on
				  this host; 0: any number */
	uint64_t tag_mask;     /* tag bits that the provider transmits */
	uint32_t iov_max;      /* a message of more parts is copied first */
	uint32_t poll_ns;      /* cost of one idle weft_net_poll(), measured at
				* open; a system call on some providers */
	bool has_multi_recv;   /* a receive buffer holds several messages */
	bool is_manual;	       /* data moves only during polls */
	bool counts_injects;   /* each injection has a completion; until then it
				* is counted as unsent */
	bool needs_local_mr;   /* local buffers must be registered */
	bool has_hmem;	       /* messages may be in device memory
				* (weft_mr_get_device()) */
	bool connects_one_way; /* two processes that connect to each other at
				* the same time may lose messages */
	bool releases_early;   /* the provider may release a receive buffer
				* while a connection still writes to it */
	bool resends;	       /* the provider replaces a broken connection by
				* a new one and loses messages; they are sent
				* again (transport/resend.h) */
	bool drops_unread;     /* closing a connection discards data that the
				* other side has not read */

	/* buffers and queues */
	uint32_t n_recv_bufs;
	size_t recv_buf_len;
	size_t tx_len; /* most operations that the caller may have pending */
	size_t rx_len;
	size_t cq_len;

	/* one-sided access */
	bool has_virt_addr;   /* remote addresses are pointers, not offsets */
	bool has_prov_key;    /* the provider chooses keys */
	bool has_mr_endpoint; /* registrations are bound to the endpoint */
	size_t rma_inject_len;
	size_t rma_max_len;
	uint64_t key_mask;	/* bits of keys that the library chooses */
	uint64_t n_keys;	/* keys below n_keys cost less on some hardware:
				 * only the RMA endpoint uses them; 0: none */
	bool has_rdma;		/* one-sided access uses no CPU of the target */
	bool has_put_order;	/* puts to one peer arrive in order */
	bool has_fabric_amo;	/* the hardware has atomics; otherwise the
				 * target's CPU executes them */
	bool has_costly_posts;	/* each post is a system call: one message
				 * with many records is cheaper than many
				 * small messages or puts */
	uint64_t flush_flags;	/* flags of an empty put whose completion
				 * implies that all earlier operations to that
				 * peer are visible */
	uint64_t fence_flags;	/* flags of an operation that must not overtake
				 * earlier operations to that peer; 0: the
				 * provider has none */
	uint64_t deliver_flags; /* flags of an operation that completes when it
				 * is visible at the target */
	uint64_t batch_flags;	/* flags of each operation of a series but the
				 * last; 0: no effect */
	uint64_t rate_flags;	/* flags of puts at a high rate */
	uint64_t once_flags;	/* flags of atomics that are not repeated when
				 * lost */

	/* all processes of a job must have this 16-bit number at this offset of
	 * their libfabric address; 0: there is no such number */
	uint32_t network_id;
	uint32_t network_id_at;

	/* names for log lines */
	char network[96];  /* the fabric's own identifiers; or "" */
	char tclass[24];   /* traffic class in effect */
	const char *name;  /* name of the provider's entry: "tcp" */
	char provider[64]; /* as libfabric names it: "tcp;ofi_rxm" */
	char domain[64];
	char fabric[64];
	char lost[256]; /* features that this provider lacks; or "" */
};

/* Fills the plan from the chosen fi_info. Pure computation. The provider
 * entry's tune() and weft_plan_apply_knobs() follow. */
void weft_plan_init(struct weft_plan *plan, const struct fi_info *info);

/* Applies the knobs for lengths and buffers, as far as the plan permits. */
void weft_plan_apply_knobs(struct weft_plan *plan);

/* Appends a feature to plan->lost, after "; ". */
void weft_plan_add_lost(struct weft_plan *plan, const char *what);

/* Writes the plan as lines of "name value" into buf, NUL-terminated and cut at
 * len. Returns the length of the whole text without its NUL. */
size_t weft_plan_print(const struct weft_plan *plan, char *buf, size_t len);

#endif
