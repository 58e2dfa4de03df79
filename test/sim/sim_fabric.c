/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_fabric: the fabric of the simulation, as op tables of libfabric
 *
 * Untagged messages arrive in posted multi-receive buffers, tagged messages in
 * their receives or in a list of unexpected messages. Messages of a pair arrive
 * in order. The fabric has no one-sided access, so windows use messages. */
#include "net/libfabric.h"
#include "test/sim/sim.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include <stdlib.h>
#include <string.h>

enum {
	/* So many consecutive polls without a completion; then the process
	 * waits for an event. The library makes 64 such polls for each death.
	 */
	EMPTY_POLLS = 4,
	EMPTY_POLLS_AFTER_DEATH = 96,
	RECVS = 16,
	DONE = 128,
	INJECT_LEN = 192,
	JITTER_NS = 20000, /* the delay of a pair changes after this time */
};

struct posted {
	void *context;
	char *buf;
	size_t len;
	uint64_t tag;
	struct posted *next; /* of tagged receives */
};

struct peer {
	uint32_t rank;
	bool is_met;
	uint64_t last_left; /* when the last message to this peer left */
};

/* The fabric of a process. */
static struct {
	struct fid_fabric fabric;
	struct fid_domain domain;
	struct fid_ep ep;
	struct fid_cq cq;
	struct fid_av av;
	struct peer *peers; /* by address */
	size_t n_peers, n_peer_places;
	struct posted recvs[RECVS];
	size_t first_recv, n_recvs;
	size_t least_multi;
	struct posted *tagged; /* receives, oldest first */
	struct sim_event *unexpected;
	struct sim_event *read; /* messages of the last read */
	struct fi_cq_tagged_entry done[DONE];
	size_t first_done, n_done;
	unsigned n_empty;    /* consecutive polls without a completion */
	unsigned most_empty; /* after so many, the process waits for an event */
	bool is_open;
} fab;

/* ---- messages ---- */

static struct peer *peer_of(fi_addr_t addr)
{
	struct peer *peer = &fab.peers[addr];

	sim_self()->counts.n_peers += !peer->is_met;
	peer->is_met = true;
	return peer;
}

static uint64_t jitter(uint32_t to, uint64_t at)
{
	uint32_t longest = sim_options()->jitter;

	if (!longest)
		return 0;
	return sim_random((uint64_t)sim_rank() << 32 | to, at / JITTER_NS) %
	       longest;
}

static const struct weft_loggp *path_of(uint32_t from, uint32_t to)
{
	return sim_node(from) != sim_node(to) ? &sim_options()->between
					      : &sim_options()->within;
}

static uint64_t len_ns_of(const struct sim_event *event)
{
	return (uint64_t)((double)event->len *
			  path_of(event->from, event->to)->per_byte);
}

/* True if a message uses links that groups of nodes share. */
static bool leaves_group(const struct sim_event *event)
{
	return sim_options()->topology.n_nodes &&
	       sim_links(event->from) != sim_links(event->to);
}

/* The busier of the links of both groups delays a message. */
static uint64_t pass_links(const struct sim_event *event, uint64_t now)
{
	bool lane = event->kind == SIM_TAGGED;
	uint64_t *from = &sim_links(event->from)->up_free[lane];
	uint64_t *to = &sim_links(event->to)->down_free[lane];

	if (now < *from)
		now = *from;
	if (now < *to)
		now = *to;
	*from = *to = now + len_ns_of(event) / sim_options()->topology.n_links;
	return now;
}

/* The time in which a message occupies the interface of a node. If a node has
 * one process, the interface of the process is that of the node. */
static uint64_t node_ns_of(const struct sim_event *event)
{
	uint64_t len_ns = len_ns_of(event);
	const uint64_t gap = WEFT_NETWORK_NODE_GAP;

	if (sim_options()->per_node == 1 ||
		sim_node(event->from) == sim_node(event->to))
		return 0;
	return (len_ns > gap ? len_ns : gap) / sim_options()->interfaces;
}

/* A message waits until the interface is free, and occupies it for some time.
 * Returns when the message reaches it. */
static uint64_t occupy(uint64_t *free, uint64_t now, uint64_t ns)
{
	if (now < *free)
		now = *free;
	*free = now + ns;
	return now;
}

static enum sim_stage after_node(const struct sim_event *event)
{
	return leaves_group(event) ? SIM_AT_LINKS : SIM_AT_RECEIVER;
}

/* The message leaves for the next stage. */
static void leave_take(struct sim_event *event, uint64_t now)
{
	const struct weft_loggp *path = path_of(event->from, event->to);

	sim_event_post_take(event,
		event->stage == SIM_AT_RECEIVER ? now + path->latency : now);
}

void sim_fabric_move_take(struct sim_event *event, uint64_t now)
{
	bool lane = event->kind == SIM_TAGGED;
	const struct weft_loggp *path = path_of(event->from, event->to);
	uint64_t len_ns = len_ns_of(event), node_ns = node_ns_of(event);

	switch (event->stage) {
	case SIM_AT_NODE:
		now = occupy(&sim_interface(event->from)->up_free[lane], now,
			node_ns);
		event->stage = after_node(event);
		leave_take(event, now);
		return;
	case SIM_AT_LINKS:
		now = pass_links(event, now);
		event->stage = SIM_AT_RECEIVER;
		leave_take(event, now);
		return;
	default:
		break;
	}
	if (node_ns)
		now = occupy(&sim_interface(event->to)->down_free[lane], now,
			node_ns);
	now = occupy(&sim_proc(event->to)->nic_taken[lane], now,
		len_ns > path->gap ? len_ns : path->gap);
	event->stage = SIM_ARRIVED;
	sim_event_post_take(event, now + len_ns);
}

/* Posts a message, and its completion unless context is NULL. The message must
 * have been filled. */
static void post_message_take(
	struct sim_event *event, fi_addr_t addr, void *context, uint64_t flags)
{
	struct peer *peer = peer_of(addr);
	struct sim_proc *proc = sim_self();
	const struct weft_loggp *path = path_of(sim_rank(), peer->rank);
	uint64_t *nic_free = &proc->nic_free[event->kind == SIM_TAGGED];
	uint64_t len_ns, start, leaves;

	fab.n_empty = 0;
	event->to = peer->rank;
	len_ns = len_ns_of(event);
	sim_charge(path->overhead);
	start = proc->clock > *nic_free ? proc->clock : *nic_free;
	*nic_free = start + (len_ns > path->gap ? len_ns : path->gap);
	leaves = start + jitter(peer->rank, start);
	if (leaves < peer->last_left)
		leaves = peer->last_left;
	peer->last_left = leaves;
	proc->counts.n_sent++;
	proc->counts.n_far += sim_node(peer->rank) != sim_node(sim_rank());
	proc->counts.n_bytes += event->len;
	event->stage = node_ns_of(event) ? SIM_AT_NODE : after_node(event);
	leave_take(event, leaves);
	if (context) {
		event = sim_event_create(SIM_SENT, sim_rank(), 0);
		event->context = context;
		event->flags = flags;
		sim_event_post_take(event, start + len_ns);
	}
}

static void post_iov(enum sim_kind kind, const struct iovec *iov, size_t n,
	fi_addr_t addr, uint64_t tag, void *context)
{
	struct sim_event *event;
	size_t len = 0, at = 0;

	for (size_t i = 0; i < n; i++)
		len += iov[i].iov_len;
	event = sim_event_create(kind, 0, len);
	for (size_t i = 0; i < n; i++) {
		memcpy(event->data + at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	event->tag = tag;
	post_message_take(event, addr, context,
		FI_SEND | (kind == SIM_TAGGED ? FI_TAGGED : FI_MSG));
}

static ssize_t sim_inject(
	struct fid_ep *ep, const void *buf, size_t len, fi_addr_t addr)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	(void)ep;
	post_iov(SIM_MESSAGE, &iov, 1, addr, 0, NULL);
	return 0;
}

static ssize_t sim_send(struct fid_ep *ep, const void *buf, size_t len,
	void *desc, fi_addr_t addr, void *context)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	(void)ep;
	(void)desc;
	post_iov(SIM_MESSAGE, &iov, 1, addr, 0, context);
	return 0;
}

static ssize_t sim_sendv(struct fid_ep *ep, const struct iovec *iov,
	void **desc, size_t n, fi_addr_t addr, void *context)
{
	(void)ep;
	(void)desc;
	post_iov(SIM_MESSAGE, iov, n, addr, 0, context);
	return 0;
}

static ssize_t sim_sendmsg(
	struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	(void)ep;
	post_iov(SIM_MESSAGE, msg->msg_iov, msg->iov_count, msg->addr, 0,
		flags & FI_COMPLETION ? msg->context : NULL);
	return 0;
}

static ssize_t sim_recvmsg(
	struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	(void)ep;
	(void)flags;
	if (fab.n_recvs == RECVS)
		return -FI_EAGAIN;
	fab.recvs[(fab.first_recv + fab.n_recvs++) % RECVS] = (struct posted){
		.context = msg->context,
		.buf = msg->msg_iov->iov_base,
		.len = msg->msg_iov->iov_len,
	};
	return 0;
}

static struct fi_ops_msg msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recvmsg = sim_recvmsg,
	.send = sim_send,
	.sendv = sim_sendv,
	.sendmsg = sim_sendmsg,
	.inject = sim_inject,
};

/* ---- completions ---- */

static void sim_complete(
	void *context, uint64_t flags, size_t len, void *buf, uint64_t tag)
{
	if (fab.n_done == DONE)
		sim_fail("process %u has %d completions, and reads none",
			sim_rank(), DONE);
	fab.done[(fab.first_done + fab.n_done++) % DONE] =
		(struct fi_cq_tagged_entry){
			.op_context = context,
			.flags = flags,
			.len = len,
			.buf = buf,
			.tag = tag,
		};
}

static void charge_receive(const struct sim_event *event)
{
	sim_charge(sim_node(event->from) != sim_node(sim_rank())
			   ? sim_options()->between.overhead
			   : sim_options()->within.overhead);
}

/* Takes a message, which uses space of the oldest buffer. The library reads it
 * in the event, so no process needs memory for the buffers. */
static void take_message(struct sim_event *event)
{
	struct posted *to = &fab.recvs[fab.first_recv];
	uint64_t flags = FI_RECV | FI_MSG;

	charge_receive(event);
	if (event->len > to->len)
		sim_fail("a message of %zu bytes to process %u is longer than "
			 "its buffer",
			event->len, sim_rank());
	to->len -= event->len;
	if (to->len < fab.least_multi)
		flags |= FI_MULTI_RECV;
	sim_complete(to->context, flags, event->len, event->data, 0);
	event->next = fab.read;
	fab.read = event;
	if (flags & FI_MULTI_RECV) {
		fab.first_recv = (fab.first_recv + 1) % RECVS;
		fab.n_recvs--;
	}
}

/* The library has received the messages of the last read. */
static void free_read(void)
{
	while (fab.read) {
		struct sim_event *event = fab.read;

		fab.read = event->next;
		sim_event_free(event);
	}
}

static void receive_tagged(struct posted *to, struct sim_event *event)
{
	charge_receive(event);
	if (event->len > to->len)
		sim_fail("a tagged message of %zu bytes to process %u has a "
			 "receive of %zu bytes",
			event->len, sim_rank(), to->len);
	memcpy(to->buf, event->data, event->len);
	sim_complete(to->context, FI_RECV | FI_TAGGED, event->len, to->buf,
		event->tag);
	sim_event_free(event);
	free(to);
}

static void take_tagged(struct sim_event *event)
{
	for (struct posted **at = &fab.tagged; *at; at = &(*at)->next) {
		struct posted *to = *at;

		if (to->tag != event->tag)
			continue;
		*at = to->next;
		receive_tagged(to, event);
		return;
	}
	event->next = fab.unexpected;
	fab.unexpected = event;
}

/* Handles an event, which has been removed from the list. */
static void take_event(struct sim_event *event)
{
	switch (event->kind) {
	case SIM_TAGGED:
		take_tagged(event);
		break;
	case SIM_SENT:
		sim_complete(event->context, event->flags, 0, NULL, 0);
		sim_event_free(event);
		break;
	case SIM_KILL:
		sim_die();
	default:
		sim_boot_take(event);
	}
}

/* Takes events that have arrived, but none that arrives meanwhile, until there
 * are `count` completions. Returns true if events of the manager were taken. */
static bool take_events(size_t count)
{
	struct sim_event *event = sim_peek(), *last = sim_self()->last;
	bool has_news = false;

	while (event && fab.n_done < count) {
		bool is_last = event == last;

		if (event->kind == SIM_MESSAGE && !fab.n_recvs)
			break;
		sim_drop();
		has_news |= event->kind >= SIM_ANSWER;
		if (event->kind == SIM_MESSAGE)
			take_message(event);
		else
			take_event(event);
		event = is_last ? NULL : sim_self()->first;
	}
	return has_news;
}

static ssize_t sim_read(struct fid_cq *cq, void *buf, size_t count)
{
	struct fi_cq_tagged_entry *entries = buf;
	size_t n = 0;

	(void)cq;
	if (!count)
		return -FI_EAGAIN;
	free_read();
	count = count < DONE / 2 ? count : DONE / 2;
	if (take_events(count))
		fab.n_empty = 0;
	if (!fab.n_done && ++fab.n_empty > fab.most_empty) {
		fab.most_empty = EMPTY_POLLS;
		sim_idle(0);
		take_events(count);
		fab.n_empty = 0;
	}
	for (; n < count && fab.n_done; n++, fab.n_done--) {
		struct fi_cq_tagged_entry *done = &fab.done[fab.first_done];

		entries[n] = *done;
		*done = (struct fi_cq_tagged_entry){ 0 };
		fab.first_done = (fab.first_done + 1) % DONE;
	}
	if (!fab.n_done)
		fab.first_done = 0;
	if (!n)
		return -FI_EAGAIN;
	fab.n_empty = 0;
	return (ssize_t)n;
}

static ssize_t sim_readerr(
	struct fid_cq *cq, struct fi_cq_err_entry *entry, uint64_t flags)
{
	(void)cq;
	(void)entry;
	(void)flags;
	return -FI_EAGAIN;
}

static struct fi_ops_cq cq_ops = {
	.size = sizeof(struct fi_ops_cq),
	.read = sim_read,
	.readerr = sim_readerr,
};

/* ---- tagged messages ---- */

static ssize_t sim_trecv(struct fid_ep *ep, void *buf, size_t len, void *desc,
	fi_addr_t addr, uint64_t tag, uint64_t ignore, void *context)
{
	struct posted *to = malloc(sizeof(*to)), **end = &fab.tagged;

	(void)ep;
	(void)desc;
	(void)addr;
	(void)ignore;
	if (!to)
		return -FI_ENOMEM;
	*to = (struct posted){
		.context = context, .buf = buf, .len = len, .tag = tag
	};
	for (struct sim_event **at = &fab.unexpected; *at; at = &(*at)->next) {
		struct sim_event *event = *at;

		if (event->tag != tag)
			continue;
		*at = event->next;
		receive_tagged(to, event);
		return 0;
	}
	while (*end)
		end = &(*end)->next;
	*end = to;
	return 0;
}

static ssize_t sim_tsend(struct fid_ep *ep, const void *buf, size_t len,
	void *desc, fi_addr_t addr, uint64_t tag, void *context)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	(void)ep;
	(void)desc;
	post_iov(SIM_TAGGED, &iov, 1, addr, tag, context);
	return 0;
}

static ssize_t sim_tsendmsg(
	struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	(void)ep;
	(void)flags;
	post_iov(SIM_TAGGED, msg->msg_iov, msg->iov_count, msg->addr, msg->tag,
		msg->context);
	return 0;
}

static struct fi_ops_tagged tagged_ops = {
	.size = sizeof(struct fi_ops_tagged),
	.recv = sim_trecv,
	.send = sim_tsend,
	.sendmsg = sim_tsendmsg,
};

/* ---- endpoint and addresses ---- */

static ssize_t sim_cancel(fid_t fid, void *context)
{
	(void)fid;
	(void)context;
	return -FI_ENOENT;
}

static int sim_setopt(
	fid_t fid, int level, int name, const void *value, size_t len)
{
	(void)fid;
	(void)level;
	(void)len;
	if (name == FI_OPT_MIN_MULTI_RECV)
		memcpy(&fab.least_multi, value, sizeof(fab.least_multi));
	return 0;
}

static struct fi_ops_ep ep_ops = {
	.size = sizeof(struct fi_ops_ep),
	.cancel = sim_cancel,
	.setopt = sim_setopt,
};

static int sim_getname(fid_t fid, void *addr, size_t *len)
{
	uint32_t rank = sim_rank();
	size_t room = *len;

	(void)fid;
	*len = sizeof(rank);
	if (room < sizeof(rank))
		return -FI_ETOOSMALL;
	memcpy(addr, &rank, sizeof(rank));
	return 0;
}

static struct fi_ops_cm cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	.getname = sim_getname,
};

static int sim_insert(struct fid_av *av, const void *addr, size_t count,
	fi_addr_t *out, uint64_t flags, void *context)
{
	(void)av;
	(void)flags;
	(void)context;
	if (fab.n_peers == fab.n_peer_places) {
		size_t n = fab.n_peers ? 2 * fab.n_peers : 16;
		struct peer *peers = realloc(fab.peers, n * sizeof(*peers));

		if (!peers)
			return -FI_ENOMEM;
		fab.peers = peers;
		fab.n_peer_places = n;
	}
	fab.peers[fab.n_peers] = (struct peer){ 0 };
	memcpy(&fab.peers[fab.n_peers].rank, addr, sizeof(uint32_t));
	*out = fab.n_peers++;
	return (int)count;
}

static int sim_remove(
	struct fid_av *av, fi_addr_t *addr, size_t count, uint64_t flags)
{
	(void)av;
	(void)addr;
	(void)count;
	(void)flags;
	return 0;
}

static struct fi_ops_av av_ops = {
	.size = sizeof(struct fi_ops_av),
	.insert = sim_insert,
	.remove = sim_remove,
};

/* ---- objects ---- */

static int close_nothing(struct fid *fid)
{
	(void)fid;
	return 0;
}

static int bind_nothing(struct fid *fid, struct fid *other, uint64_t flags)
{
	(void)fid;
	(void)other;
	(void)flags;
	return 0;
}

static int control_nothing(struct fid *fid, int command, void *arg)
{
	(void)fid;
	(void)command;
	(void)arg;
	return 0;
}

static struct fi_ops object_ops = {
	.size = sizeof(struct fi_ops),
	.close = close_nothing,
	.bind = bind_nothing,
	.control = control_nothing,
};

static int sim_av_open(struct fid_domain *domain, struct fi_av_attr *attr,
	struct fid_av **out, void *context)
{
	(void)domain;
	(void)attr;
	(void)context;
	fab.av = (struct fid_av){ .fid.ops = &object_ops, .ops = &av_ops };
	*out = &fab.av;
	return 0;
}

static int sim_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr,
	struct fid_cq **out, void *context)
{
	(void)domain;
	(void)context;
	if (attr->format != FI_CQ_FORMAT_TAGGED)
		return -FI_ENOSYS;
	fab.cq = (struct fid_cq){ .fid.ops = &object_ops, .ops = &cq_ops };
	*out = &fab.cq;
	return 0;
}

static int sim_endpoint(struct fid_domain *domain, struct fi_info *info,
	struct fid_ep **out, void *context)
{
	(void)domain;
	(void)info;
	(void)context;
	fab.ep = (struct fid_ep){
		.fid.ops = &object_ops,
		.ops = &ep_ops,
		.cm = &cm_ops,
		.msg = &msg_ops,
		.tagged = &tagged_ops,
	};
	*out = &fab.ep;
	return 0;
}

static struct fi_ops_domain domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.av_open = sim_av_open,
	.cq_open = sim_cq_open,
	.endpoint = sim_endpoint,
};

static int sim_domain(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_domain **out, void *context)
{
	(void)fabric;
	(void)info;
	(void)context;
	fab.domain = (struct fid_domain){ .fid.ops = &object_ops,
		.ops = &domain_ops };
	*out = &fab.domain;
	return 0;
}

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = sim_domain,
};

static int sim_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **out, void *context)
{
	(void)attr;
	(void)context;
	fab.is_open = true;
	fab.most_empty = EMPTY_POLLS;
	fab.fabric = (struct fid_fabric){ .fid.ops = &object_ops,
		.ops = &fabric_ops };
	*out = &fab.fabric;
	return 0;
}

static int sim_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **out)
{
	struct fi_info *info;

	(void)version;
	(void)node;
	(void)service;
	(void)flags;
	if (hints->caps & FI_RMA || !hints->fabric_attr->prov_name ||
		strcmp(hints->fabric_attr->prov_name, "sim") != 0)
		return -FI_ENODATA;
	info = weft_libfabric.dupinfo(NULL); /* fi_allocinfo() */
	if (!info)
		return -FI_ENOMEM;
	info->caps = hints->caps;
	info->addr_format = FI_FORMAT_UNSPEC;
	info->ep_attr->type = FI_EP_RDM;
	info->ep_attr->max_msg_size = (size_t)1 << 40;
	info->ep_attr->mem_tag_format = UINT64_MAX;
	info->tx_attr->inject_size = INJECT_LEN;
	info->tx_attr->size = 1024;
	info->tx_attr->iov_limit = 4;
	info->rx_attr->size = RECVS;
	info->rx_attr->comp_order = FI_ORDER_STRICT;
	info->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	info->domain_attr->name = strdup("sim0");
	info->fabric_attr->name = strdup("sim");
	info->fabric_attr->prov_name = strdup("sim");
	*out = info;
	return 0;
}

void sim_fabric_on_news(bool is_death)
{
	if (fab.is_open) {
		fab.n_empty = 0;
		if (is_death)
			fab.most_empty = EMPTY_POLLS_AFTER_DEATH;
	}
}

void sim_fabric_install(void)
{
	if (weft_libfabric_load())
		return; /* opening the fabric reports the error */
	weft_libfabric.getinfo = sim_getinfo;
	weft_libfabric.fabric = sim_fabric;
}
