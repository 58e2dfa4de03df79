/* SPDX-License-Identifier: BSD-3-Clause */
/* plan: what a provider is, flattened to numbers and flags
 *
 * Filled once, when the endpoint opens, from the fi_info chosen and the
 * provider entry's tuning (net/prov.h), and constant afterwards. Hot paths
 * read it instead of asking which provider they run on. */
#ifndef WEFT_PLAN_H
#define WEFT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fi_info;

/* An idle poll that costs more than this makes system calls; it is not done in
 * every round where something cheaper is to be looked at. */
enum { WEFT_POLL_CHEAP_NS = 150 };

struct weft_plan {
	/* messages */
	size_t inject_len; /* longest weft_net_inject() */
	size_t eager_len;  /* longest untagged message worth sending instead of
			    * a rendezvous; upper rooms' headers included */
	size_t recv_len;   /* longest untagged message that may be sent at all;
			    * >= eager_len */
	size_t in_order_len;  /* longer untagged messages may be overtaken by
			       * later ones, so recv_len is not above it */
	size_t max_msg_len;   /* longest weft_net_tsend(); callers cut */
	size_t seg_len;	      /* into pieces of that length, or shorter */
	uint32_t n_near_segs; /* of which so many are under way at once to a
			       * process of this host; 0: any number */
	uint64_t tag_mask;    /* tag bits that reach the other side */
	uint32_t iov_max;     /* more pieces than that are gathered by a copy */
	uint32_t poll_ns;     /* cost of one idle weft_net_poll(), measured at
			       * open; a system call on some providers */
	bool has_multi_recv;  /* untagged messages share long buffers */
	bool is_manual;	      /* nothing moves unless somebody polls */
	bool counts_injects;  /* until they left: a completion each */
	bool needs_local_mr;  /* our own buffers must be registered */
	bool connects_one_way; /* two processes that connect to each other at
				* the same time may lose messages */
	bool releases_early;   /* a receive buffer is said to be full while
				  another connection still writes to it */
	bool drops_unread;     /* who closes a connection takes from the other
				* side what it has not read yet */

	/* buffers and queues */
	uint32_t n_recv_bufs;
	size_t recv_buf_len;
	size_t tx_len; /* operations under way at once */
	size_t rx_len;
	size_t cq_len;

	/* one-sided */
	bool has_rma;
	bool has_virt_addr;   /* remote addresses are pointers, not offsets */
	bool has_prov_key;    /* the provider picks keys, not we */
	bool has_mr_endpoint; /* registrations are bound to the endpoint */
	bool has_rma_order;   /* a write may be followed by a message that
			       * announces it, without waiting in between */
	size_t rma_inject_len;
	size_t rma_max_len;
	uint64_t key_mask;	/* bits that a key we pick may have */
	uint64_t n_keys;	/* keys below n_keys are special: on some
				 * hardware the cheap ones; 0: none are */
	bool has_rdma;		/* takes no CPU at the target */
	bool has_put_order;	/* puts to one peer arrive as they were sent */
	bool has_fabric_amo;	/* atomics are the hardware's; elsewhere the
				 * target's CPU carries them out */
	bool has_costly_posts;	/* each is a system call: many small messages
				 * or puts are cheaper as records of one */
	uint64_t flush_flags;	/* of an empty put: when it completes, all
				 * that went before to that peer is visible */
	uint64_t fence_flags;	/* of an operation that may not overtake what
				 * went before to that peer; 0: there are none */
	uint64_t deliver_flags; /* complete when visible at the target */
	uint64_t batch_flags;	/* more follows; 0: means nothing here */
	uint64_t rate_flags;	/* puts at a high rate */
	uint64_t once_flags;	/* atomics that are not sent again when lost */

	/* Every process of a job must have the same 16-bit number at this place
	 * of its libfabric address; 0: there is no such number. */
	uint32_t network_id;
	uint32_t network_id_at;

	/* for people */
	char network[96];  /* what the fabric itself calls things; "" */
	char tclass[24];   /* traffic class in effect */
	const char *name;  /* of the provider's entry: "tcp" */
	char provider[64]; /* as libfabric names it: "tcp;ofi_rxm" */
	char domain[64];
	char fabric[64];
	char lost[256]; /* what this provider cannot give, in words; "" */
};

/* Fills the plan from what was chosen. Pure computation. Afterwards come
 * the provider entry's tune() and weft_plan_apply_knobs(). */
void weft_plan_init(struct weft_plan *plan, const struct fi_info *info);

/* Lets the knobs overrule lengths and buffers, within what the plan allows. */
void weft_plan_apply_knobs(struct weft_plan *plan);

/* Appends to plan->lost, separated by "; ". */
void weft_plan_lose(struct weft_plan *plan, const char *what);

/* Writes the plan as lines of "name value" into buf, NUL-terminated and cut at
 * len. Returns the bytes the whole text needs without its NUL. */
size_t weft_plan_print(const struct weft_plan *plan, char *buf, size_t len);

#endif
