/* SPDX-License-Identifier: BSD-3-Clause */
/* fakefab: a fabric made of op tables, for tests without a network
 *
 * Untagged messages sent to any address are delivered to the same endpoint,
 * into its posted receive buffers, in order. Tagged sends match posted tagged
 * receives. Knobs make calls refuse, delay and fail. Counters record the calls.
 */
#ifndef WEFT_FAKEFAB_H
#define WEFT_FAKEFAB_H

#include "net/net_priv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	FAKEFAB_QUEUE = 256,
	FAKEFAB_ADDR_LEN = 16,
	FAKEFAB_SIDE = 256, /* recorded one-sided operations */
};

/* A one-sided operation as it was posted. Operations with FI_MORE are queued
 * until an operation without FI_MORE is posted. Then all are carried out in
 * order. Remote addresses are pointers in this process. */
struct fakefab_side {
	const char *call; /* "write", "read", "atomic", "fetch", "compare" */
	uint64_t flags;
	uint64_t remote;
	size_t len;
	int op;
	void *local; /* address where a read or an atomic stores its result */
	void *context;
	char data[64];
	char cond[8];
};

struct fakefab_post {
	void *context;
	char *buf;
	size_t len;
	uint64_t tag;
	uint64_t flags;
	void *desc;
};

struct fakefab {
	/* knobs */
	int fail_call; /* the n-th opening call fails, counted from 1; 0: none
			*/
	int fail_code;
	int n_refuse_sends; /* number of posts to refuse with -FI_EAGAIN */
	int n_refuse_recvs;
	bool is_held;	 /* completions are not reported while it is set */
	int refuse_side; /* the n-th one-sided post from now is refused */
	int fail_side;	 /* the n-th one-sided operation from now fails */
	/* memory that sends and puts refuse with -FI_EFAULT */
	const void *readonly;
	bool refuses_devices; /* device memory is not registered */
	size_t min_multi;     /* set by FI_OPT_MIN_MULTI_RECV */

	/* counters */
	int n_calls; /* number of opening calls */
	int n_live;  /* number of objects that are not closed */
	int n_recv_posts;
	int n_sends;
	int n_mr_live;
	uint64_t last_key;
	enum fi_hmem_iface last_iface;
	int last_device;
	void *last_desc;
	const void *last_buf;
	void *canceled;
	struct fakefab_side side[FAKEFAB_SIDE];
	size_t n_side; /* one-sided operations posted */
	size_t n_rung; /* operations of `side` that were carried out */

	/* below: only fakefab.c */
	struct fid_fabric fabric;
	struct fid_domain domain;
	struct fid_ep ep;
	struct fid_cq cq;
	struct fid_av av;
	struct fakefab_post recvs[FAKEFAB_QUEUE];
	size_t n_recvs;
	struct fakefab_post trecvs[FAKEFAB_QUEUE];
	size_t n_trecvs;
	struct fi_cq_tagged_entry done[FAKEFAB_QUEUE];
	size_t entry_len; /* bytes of an entry in the requested format, which
			   * is a prefix of the entries above */
	size_t n_done;
	struct fi_cq_err_entry errs[FAKEFAB_QUEUE];
	size_t n_errs;
	uint64_t n_addrs;
	char last_addr[FAKEFAB_ADDR_LEN];
};

/* Initializes a fabric in a zeroed struct. */
void fakefab_init(struct fakefab *fab);

/* Creates a description of the fabric, which weft_ep_open_take() owns. */
struct fi_info *fakefab_info(void);

/* Appends an error entry to the completion queue. */
void fakefab_break(struct fakefab *fab, void *context, int err, uint64_t flags);

#endif
