/* SPDX-License-Identifier: BSD-3-Clause */
/* plan: the limits and modes of a fabric, derived from its fi_info and knobs */
#include "net/plan.h"
#include "base/bits.h"
#include "base/knob.h"
#include "base/log.h"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	DEFAULT_EAGER = 16384,
	LEAST_EAGER = 512, /* space for the headers of upper rooms */
	LEAST_RECV = 65536,
	SEG_LEN = 1 << 30, /* seg_len, unless the provider's entry sets it */
	LEAST_BUF = 65536,
	BUF_LEN = 1 << 20, /* recv_buf_len, unless the entry sets it */
	IN_ORDER = 4096,   /* in_order_len, if fi_info promises no order */
	LEAST_CQ = 1024,
	ORDER_STRICT = 0x1ff, /* FI_ORDER_STRICT, a name that 2.x deprecates */
};

static void plan_copy_name(char *to, size_t len, const char *from)
{
	snprintf(to, len, "%s", from ? from : "");
}

static void init_messages(struct weft_plan *plan, const struct fi_info *info)
{
	plan->inject_len = info->tx_attr->inject_size;
	plan->eager_len = DEFAULT_EAGER;
	plan->max_msg_len = info->ep_attr->max_msg_size;
	plan->seg_len = SEG_LEN;
	plan->in_order_len =
		info->rx_attr->comp_order & ORDER_STRICT ? SIZE_MAX : IN_ORDER;
	plan->tag_mask = UINT64_MAX;
	if (info->ep_attr->mem_tag_format)
		plan->tag_mask = UINT64_MAX >>
				 __builtin_clzll(info->ep_attr->mem_tag_format);
	plan->iov_max = (uint32_t)info->tx_attr->iov_limit;
	plan->has_multi_recv = info->caps & FI_MULTI_RECV;
	plan->is_manual = info->domain_attr->data_progress != FI_PROGRESS_AUTO;
	plan->needs_local_mr = info->domain_attr->mr_mode & FI_MR_LOCAL;
	plan->has_hmem = info->caps & FI_HMEM;
}

/* Returns the bits of a key of key_size bytes; 0: no limit. */
static uint64_t key_mask(size_t key_size)
{
	return key_size && key_size < sizeof(uint64_t)
		       ? UINT64_MAX >> (64 - 8 * key_size)
		       : UINT64_MAX;
}

static void init_rma(struct weft_plan *plan, const struct fi_info *info)
{
	int mr_mode = info->domain_attr->mr_mode;

	plan->has_virt_addr = mr_mode & FI_MR_VIRT_ADDR;
	plan->has_prov_key = mr_mode & FI_MR_PROV_KEY;
	plan->has_mr_endpoint = mr_mode & FI_MR_ENDPOINT;
	plan->rma_inject_len = info->tx_attr->inject_size;
	plan->rma_max_len = info->ep_attr->max_msg_size;
	plan->key_mask = key_mask(info->domain_attr->mr_key_size);
	plan->flush_flags = FI_DELIVERY_COMPLETE;
	plan->deliver_flags = FI_DELIVERY_COMPLETE;
}

void weft_plan_init(struct weft_plan *plan, const struct fi_info *info)
{
	memset(plan, 0, sizeof(*plan));
	plan_copy_name(plan->provider, sizeof(plan->provider),
		info->fabric_attr->prov_name);
	plan_copy_name(
		plan->domain, sizeof(plan->domain), info->domain_attr->name);
	plan_copy_name(
		plan->fabric, sizeof(plan->fabric), info->fabric_attr->name);
	plan_copy_name(plan->tclass, sizeof(plan->tclass), "default");
	plan->tx_len = info->tx_attr->size;
	plan->rx_len = info->rx_attr->size;
	plan->cq_len = weft_max(plan->tx_len + plan->rx_len, LEAST_CQ);
	plan->recv_buf_len = BUF_LEN;
	init_messages(plan, info);
	init_rma(plan, info);
}

/* The knobs override the number and the length of the buffers, and the eager
 * length as far as the buffers permit. */
void weft_plan_apply_knobs(struct weft_plan *plan)
{
	plan->n_recv_bufs = (uint32_t)weft_knobs.net_bufs;
	if (weft_knobs.net_eager)
		plan->eager_len =
			weft_max((size_t)weft_knobs.net_eager, LEAST_EAGER);
	if (weft_knobs.net_buf_len)
		plan->recv_buf_len =
			weft_max((size_t)weft_knobs.net_buf_len, LEAST_BUF);
	else
		plan->recv_buf_len =
			weft_max(plan->recv_buf_len, 2 * plan->eager_len);
	plan->recv_len = weft_max(plan->eager_len, LEAST_RECV);
	plan->recv_len = weft_min(plan->recv_len, plan->recv_buf_len / 2);
	plan->recv_len = weft_min(plan->recv_len, plan->in_order_len);
	plan->recv_len = weft_min(plan->recv_len, plan->max_msg_len);
	if (!plan->has_multi_recv) { /* a buffer holds one message */
		plan->n_recv_bufs =
			(uint32_t)(plan->n_recv_bufs * plan->recv_buf_len /
				   plan->recv_len);
		plan->recv_buf_len = plan->recv_len;
	}
	if (weft_knobs.net_eager && plan->eager_len > plan->recv_len)
		weft_log_warn("NET-EAGER",
			"WEFT_NET_EAGER %zu is reduced to %zu, the longest "
			"message "
			"that %s keeps in order and the receive buffers hold",
			plan->eager_len, plan->recv_len, plan->provider);
	plan->eager_len = weft_min(plan->eager_len, plan->recv_len);
	plan->inject_len = weft_min(plan->inject_len, plan->recv_len);
}

void weft_plan_add_lost(struct weft_plan *plan, const char *what)
{
	size_t used = strlen(plan->lost);

	snprintf(plan->lost + used, sizeof(plan->lost) - used, "%s%s",
		used ? "; " : "", what);
}

struct writer {
	char *buf;
	size_t len;
	size_t used;
};

static void __attribute__((format(printf, 2, 3)))
plan_put(struct writer *w, const char *fmt, ...)
{
	size_t room = w->used < w->len ? w->len - w->used : 0;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(room ? w->buf + w->used : NULL, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		w->used += (size_t)n;
}

static const char *yes_no(bool is_yes)
{
	return is_yes ? "yes" : "no";
}

/* Prints flags as a number and as names; provider-specific bits have no name.
 */
static void put_flags(struct writer *w, const char *name, uint64_t flags)
{
	char text[256] = "";

	if (!flags) {
		plan_put(w, "%s none\n", name);
		return;
	}
	fi_tostr_r(text, sizeof(text), &flags, FI_TYPE_OP_FLAGS);
	plan_put(w, "%s 0x%" PRIx64 "%s%s\n", name, flags, *text ? " " : "",
		text);
}

size_t weft_plan_print(const struct weft_plan *plan, char *buf, size_t len)
{
	struct writer w = { buf, len, 0 };

	if (len)
		buf[0] = '\0';
	plan_put(&w, "provider %s\ndomain %s\nfabric %s\n", plan->provider,
		plan->domain, plan->fabric);
	if (plan->network[0])
		plan_put(&w, "network %s\n", plan->network);
	plan_put(&w, "inject_len %zu B\neager_len %zu B\nrecv_len %zu B\n",
		plan->inject_len, plan->eager_len, plan->recv_len);
	plan_put(&w, "rendezvous above %zu B\nin_order_len %zu B\n",
		plan->eager_len, plan->in_order_len);
	plan_put(&w, "seg_len %zu B\nnear_segs %u\n", plan->seg_len,
		plan->n_near_segs);
	plan_put(&w, "max_msg_len %zu B\ntag_mask 0x%" PRIx64 "\niov_max %u\n",
		plan->max_msg_len, plan->tag_mask, plan->iov_max);
	plan_put(&w,
		"multi_recv %s\nmanual_progress %s\nlocal_mr %s\nhmem %s\n",
		yes_no(plan->has_multi_recv), yes_no(plan->is_manual),
		yes_no(plan->needs_local_mr), yes_no(plan->has_hmem));
	plan_put(&w, "poll %u ns\nrecv_bufs %u of %zu B\n", plan->poll_ns,
		plan->n_recv_bufs, plan->recv_buf_len);
	plan_put(&w, "resends %s\n", yes_no(plan->resends));
	plan_put(&w, "tx_len %zu\nrx_len %zu\ncq_len %zu\n", plan->tx_len,
		plan->rx_len, plan->cq_len);
	plan_put(&w, "rma_inject_len %zu B\n", plan->rma_inject_len);
	plan_put(&w, "remote_address %s\nkeys %s, %d bits, cheap %" PRIu64 "\n",
		plan->has_virt_addr ? "pointer" : "offset",
		plan->has_prov_key ? "provider's" : "ours",
		__builtin_popcountll(plan->key_mask), plan->n_keys);
	plan_put(&w, "rdma %s\nput_order %s\nfabric_amo %s\ncostly_posts %s\n",
		yes_no(plan->has_rdma), yes_no(plan->has_put_order),
		yes_no(plan->has_fabric_amo), yes_no(plan->has_costly_posts));
	put_flags(&w, "flush_flags", plan->flush_flags);
	put_flags(&w, "fence_flags", plan->fence_flags);
	put_flags(&w, "deliver_flags", plan->deliver_flags);
	put_flags(&w, "batch_flags", plan->batch_flags);
	put_flags(&w, "rate_flags", plan->rate_flags);
	put_flags(&w, "once_flags", plan->once_flags);
	plan_put(&w, "lost %s\n", plan->lost[0] ? plan->lost : "nothing");
	return w.used;
}
