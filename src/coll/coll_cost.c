/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_cost: written steps, run on a clock */
#include "coll/coll_cost.h"
#include "coll/shm_coll.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ABI value of MPI_DOUBLE. */
enum { DOUBLE_ABI_VALUE = 0x214 };

static const struct weft_coll_link links[] = {
#define COST(name, L, o, g, G, long_len, source) \
	{ name, L, o, g, G, long_len, false, false, source },
#define COST_NET(name, L, o, g, G, long_len, source) \
	{ name, L, o, g, G, long_len, false, true, source },
#define COST_LOCAL(name, G, source) \
	{ name, 0, 0, 0, G, 0, true, false, source },
#include "coll/coll_cost.def"
#undef COST
#undef COST_NET
#undef COST_LOCAL
};

const struct weft_coll_link *weft_coll_link_at(size_t i)
{
	return i < sizeof(links) / sizeof(links[0]) ? &links[i] : NULL;
}

const struct weft_coll_link *weft_coll_link_of(const char *name)
{
	const struct weft_coll_link *link;

	for (size_t i = 0; (link = weft_coll_link_at(i)) != NULL; i++)
		if (!strcmp(link->name, name))
			return link;
	return NULL;
}

/* ---- steps as they count here ---- */

struct cost_step {
	enum weft_step_kind kind;
	int32_t rank;
	bool is_in_segment;
	int64_t bytes;
};

struct cost_member {
	struct cost_step *steps;
	size_t n_steps, n_room, at;
	size_t next_recv; /* of those since the last fence */
	double now;
	double card;	   /* its way within the node is taken until then */
	double sent, came; /* by then all since the last fence */
	double reading;	   /* time to take what came */
	bool is_blocked;
};

/* Messages on their way between two members: a list. */
struct cost_msg {
	double at;
	int32_t next;
};

struct cost_pair {
	int32_t first, last; /* -1: none */
};

struct cost {
	struct weft_sched sched;
	const struct weft_coll_machine *machine;
	struct weft_comm comm;
	struct weft_nodes nodes;
	int32_t *arrays;
	int32_t me; /* whose steps are written */
	bool is_out_of_memory;
	bool is_woken; /* somebody */
	struct cost_member *members;
	double *out, *in; /* by node: its card is taken until then */
	struct cost_pair *pairs;
	struct cost_msg *msgs;
	size_t n_msgs, n_room;
};

static void put(struct cost *c, struct cost_step step)
{
	struct cost_member *m = &c->members[c->me];

	if (m->n_steps == m->n_room) {
		size_t room = m->n_room ? 2 * m->n_room : 32;
		struct cost_step *steps =
			realloc(m->steps, room * sizeof(*steps));

		if (!steps) {
			c->is_out_of_memory = true;
			return;
		}
		m->steps = steps;
		m->n_room = room;
	}
	m->steps[m->n_steps++] = step;
}

static void cost_add(struct weft_sched *sched, const struct weft_step *step)
{
	const struct weft_span *span = &step->span;

	put((struct cost *)sched,
		(struct cost_step){ .kind = step->kind,
			.rank = step->rank,
			.bytes = span->type ? span->count * span->type->size
					    : 0 });
}

/* ---- segments ---- */

enum { GROUP = 8 };

static void put_in_segment(struct cost *c, const struct weft_coll_view *view,
	enum weft_step_kind kind, int32_t place, int64_t bytes)
{
	put(c, (struct cost_step){ .kind = kind,
		       .rank = weft_coll_view_rank(view, place),
		       .is_in_segment = true,
		       .bytes = bytes });
}

static void put_local(struct cost *c, enum weft_step_kind kind, int64_t bytes)
{
	put(c, (struct cost_step){ .kind = kind, .bytes = bytes });
}

/* Everybody reads everybody's. */
static void put_exchange(
	struct cost *c, const struct weft_coll_view *view, int64_t bytes)
{
	for (int32_t i = 1; i < view->n; i++)
		put_in_segment(c, view, WEFT_STEP_SEND,
			(view->me + i) % view->n, bytes);
	for (int32_t i = 1; i < view->n; i++)
		put_in_segment(c, view, WEFT_STEP_RECV,
			(view->me + i) % view->n, bytes);
	put_local(c, WEFT_STEP_FENCE, 0);
}

/* Up a tree of eight. */
static void put_collect(struct cost *c, const struct weft_coll_view *view,
	int32_t root, int64_t bytes)
{
	const int32_t n = view->n, me = (view->me - root + n) % n;

	for (int64_t dist = 1; dist < n; dist *= GROUP) {
		int32_t n_reads = 0;

		if (me % (dist * GROUP)) {
			put_in_segment(c, view, WEFT_STEP_SEND,
				(int32_t)(me - me % (dist * GROUP) + root) % n,
				bytes);
			break;
		}
		for (int32_t i = 1; i < GROUP && me + i * dist < n; i++) {
			put_in_segment(c, view, WEFT_STEP_RECV,
				(int32_t)((me + i * dist + root) % n), bytes);
			n_reads++;
		}
		put_local(c, WEFT_STEP_FENCE, 0);
		put_local(c, WEFT_STEP_REDUCE, n_reads * bytes);
	}
}

/* All read one's. */
static void put_spread(struct cost *c, const struct weft_coll_view *view,
	int32_t root, int64_t bytes)
{
	for (int32_t i = 0; view->me == root && i < view->n; i++)
		if (i != root)
			put_in_segment(c, view, WEFT_STEP_SEND, i, bytes);
	if (view->me != root)
		put_in_segment(c, view, WEFT_STEP_RECV, root, bytes);
	put_local(c, WEFT_STEP_FENCE, 0);
}

static void put_gather(struct cost *c, const struct weft_coll_view *view,
	int32_t root, int64_t bytes)
{
	if (view->me != root)
		put_in_segment(c, view, WEFT_STEP_SEND, root, bytes);
	for (int32_t i = 0; view->me == root && i < view->n; i++)
		if (i != root)
			put_in_segment(c, view, WEFT_STEP_RECV, i, bytes);
	put_local(c, WEFT_STEP_FENCE, 0);
}

/* To those above in a group of eight; the last one of it to the next group. */
static void put_scan(
	struct cost *c, const struct weft_coll_view *view, int64_t bytes)
{
	const int32_t me = view->me, base = me - me % GROUP;
	const bool is_last = me % GROUP == GROUP - 1;
	const int32_t end = base + (is_last ? 2 : 1) * GROUP;
	int32_t n_reads = 0;

	for (int32_t i = me + 1; !is_last && i < end && i < view->n; i++)
		put_in_segment(c, view, WEFT_STEP_SEND, i, bytes);
	for (int32_t i = base ? base - 1 : 0; i < me; i++, n_reads++)
		put_in_segment(c, view, WEFT_STEP_RECV, i, bytes);
	put_local(c, WEFT_STEP_FENCE, 0);
	put_local(c, WEFT_STEP_REDUCE, n_reads * bytes);
	for (int32_t i = me + 1; is_last && i < end && i < view->n; i++)
		put_in_segment(c, view, WEFT_STEP_SEND, i, bytes);
}

static void put_segment(struct cost *c, enum weft_coll_kind kind,
	const struct weft_coll_view *view, int32_t root, int64_t bytes)
{
	const bool is_summed = kind == WEFT_COLL_ALLREDUCE;

	put_local(c, WEFT_STEP_COPY, bytes);
	if (is_summed && bytes > WEFT_COLL_SHORT_MAX) {
		bytes = (bytes + view->n - 1) / view->n; /* a slice each */
		put_exchange(c, view, bytes);
		put_local(c, WEFT_STEP_REDUCE, (view->n - 1) * bytes);
		put_exchange(c, view, bytes);
	} else if (kind == WEFT_COLL_BCAST || kind == WEFT_COLL_SCATTER) {
		put_spread(c, view, root, bytes);
	} else if (kind == WEFT_COLL_GATHER) {
		put_gather(c, view, root, bytes);
	} else if (kind == WEFT_COLL_SCAN || kind == WEFT_COLL_EXSCAN) {
		put_scan(c, view, bytes);
	} else if (kind == WEFT_COLL_REDUCE) {
		put_collect(c, view, root, bytes);
	} else if (view->n > GROUP &&
		   (is_summed || kind == WEFT_COLL_BARRIER)) {
		put_collect(c, view, 0, bytes);
		put_spread(c, view, 0, bytes);
	} else {
		put_exchange(c, view, bytes);
		if (kind == WEFT_COLL_REDUCE_SCATTER)
			bytes /= view->n; /* one's part */
		else if (!is_summed)
			bytes = 0;
		put_local(c, WEFT_STEP_REDUCE, (view->n - 1) * bytes);
	}
}

/* The parts within nodes of blocking calls. */
static int cost_within(struct weft_sched *sched, enum weft_coll_kind kind,
	const struct weft_coll_view *view, const struct weft_coll *args)
{
	const struct weft_blocks *data =
		kind == WEFT_COLL_REDUCE &&
				!(args->is_in_place && view->me == args->root)
			? &args->send
			: &args->recv;
	struct weft_coll_case c;

	if (kind != WEFT_COLL_REDUCE && kind != WEFT_COLL_BCAST)
		return WEFT_AGAIN;
	weft_coll_case_in_segment(&c, kind, view->n, false);
	c.bytes = data->count * data->type->size;
	if (weft_coll_choose(&c, NULL)->write)
		return WEFT_AGAIN;
	put_segment((struct cost *)sched, kind, view, args->root, c.bytes);
	return 0;
}

/* ---- the clock ---- */

static int32_t node_of_rank(const struct cost *c, int32_t rank)
{
	return rank / c->machine->per_node;
}

static const struct weft_coll_link *link_between(const struct cost *c,
	int32_t from, int32_t to, const struct cost_step *step)
{
	if (step->is_in_segment)
		return weft_coll_link_of("segment");
	if (node_of_rank(c, from) == node_of_rank(c, to))
		return weft_coll_link_of("shm");
	return c->machine->net;
}

static double later(double a, double b)
{
	return a > b ? a : b;
}

static bool post(struct cost *c, int32_t from, int32_t to, double at)
{
	struct cost_pair *pair = &c->pairs[(int64_t)from * c->machine->n + to];

	if (c->n_msgs == c->n_room) {
		size_t room = c->n_room ? 2 * c->n_room : 1024;
		struct cost_msg *msgs = realloc(c->msgs, room * sizeof(*msgs));

		if (!msgs)
			return false;
		c->msgs = msgs;
		c->n_room = room;
	}
	c->msgs[c->n_msgs] = (struct cost_msg){ .at = at, .next = -1 };
	if (pair->first < 0)
		pair->first = (int32_t)c->n_msgs;
	else
		c->msgs[pair->last].next = (int32_t)c->n_msgs;
	pair->last = (int32_t)c->n_msgs++;
	c->is_woken |= c->members[to].is_blocked;
	c->members[to].is_blocked = false;
	return true;
}

static bool send_at(struct cost *c, int32_t me, const struct cost_step *step)
{
	const struct weft_coll_link *link =
		link_between(c, me, step->rank, step);
	const bool is_net = link == c->machine->net;
	const double taken = (double)step->bytes * link->per_byte;
	struct cost_member *m = &c->members[me];
	double *out = is_net ? &c->out[node_of_rank(c, me)] : &m->card;
	double *in = &c->in[node_of_rank(c, step->rank)];
	double start, at;

	if (step->is_in_segment) /* one write serves all who read */
		return post(c, me, step->rank, m->now + link->latency);
	m->now += link->overhead;
	start = later(m->now, *out);
	if (step->bytes > link->long_len)
		start += 2 * (link->latency + link->overhead);
	at = start + link->latency;
	*out = start + (is_net ? later(link->gap, taken) : link->gap);
	if (is_net) {
		at = later(at, *in) + taken;
		*in = at;
		m->sent = later(m->sent, start + taken);
	}
	return post(c, me, step->rank, at);
}

/* Takes what the receives since the last fence are for, as far as it was sent;
 * true when that was all. */
static bool cost_take(struct cost *c, int32_t me)
{
	struct cost_member *m = &c->members[me];

	for (; m->next_recv < m->at; m->next_recv++) {
		const struct cost_step *step = &m->steps[m->next_recv];
		const struct weft_coll_link *link;
		struct cost_pair *pair;

		if (step->kind != WEFT_STEP_RECV)
			continue;
		pair = &c->pairs[(int64_t)step->rank * c->machine->n + me];
		if (pair->first < 0)
			return false;
		link = link_between(c, me, step->rank, step);
		m->came = later(m->came, c->msgs[pair->first].at);
		m->reading += link->overhead;
		if (link != c->machine->net)
			m->reading += (double)step->bytes * link->per_byte;
		pair->first = c->msgs[pair->first].next;
	}
	m->now = later(m->now, later(m->sent, m->came)) + m->reading;
	m->sent = m->came = m->reading = 0;
	return true;
}

/* One step of a member; false without memory. */
static bool cost_advance(struct cost *c, int32_t me)
{
	struct cost_member *m = &c->members[me];
	const struct cost_step *step = &m->steps[m->at];

	if (m->at == m->n_steps || step->kind == WEFT_STEP_FENCE) {
		m->is_blocked = !cost_take(c, me);
		m->at += !m->is_blocked;
		return true;
	}
	m->at++;
	if (step->kind == WEFT_STEP_SEND)
		return send_at(c, me, step);
	if (step->kind != WEFT_STEP_RECV)
		m->now += (double)step->bytes *
			  weft_coll_link_of(step->kind == WEFT_STEP_COPY
						    ? "copy"
						    : "reduce")
				  ->per_byte;
	return true;
}

static bool can_go_on(const struct cost_member *m)
{
	return !m->is_blocked && m->at <= m->n_steps;
}

/* The member whose clock is behind all others', or -1; and how far it may go
 * before another one is. */
static int32_t find_first(const struct cost *c, double *limit_out)
{
	const struct cost_member *m = c->members;
	int32_t first = -1;

	*limit_out = INFINITY;
	for (int32_t i = 0; i < c->machine->n; i++) {
		if (!can_go_on(&m[i]))
			continue;
		if (first >= 0 && m[i].now >= m[first].now) {
			if (m[i].now < *limit_out)
				*limit_out = m[i].now;
			continue;
		}
		if (first >= 0)
			*limit_out = m[first].now;
		first = i;
	}
	return first;
}

/* Cards are taken in the order of time. */
static bool run_clock(struct cost *c)
{
	double limit;
	int32_t first;

	while ((first = find_first(c, &limit)) >= 0) {
		const struct cost_member *m = &c->members[first];

		c->is_woken = false;
		do
			if (!cost_advance(c, first))
				return false;
		while (can_go_on(m) && m->now <= limit && !c->is_woken);
	}
	return true;
}

/* ---- the case ---- */

/* Where data would be: it is never touched. */
static char *const nowhere = (char *)4096;

static void set_args(struct weft_coll *args, struct weft_comm *comm,
	enum weft_coll_kind kind, int64_t bytes)
{
	const bool is_double = bytes % 8 == 0;
	struct weft_blocks data = { .buf = nowhere,
		.count = is_double ? bytes / 8 : bytes,
		.type = weft_type_builtin(
			is_double ? DOUBLE_ABI_VALUE : BYTE_ABI_VALUE) };

	*args = (struct weft_coll){ .comm = comm,
		.ctx_offset = WEFT_CTX_OFFSET_COLL,
		.send = data,
		.recv = data,
		.op = weft_redop_builtin(WEFT_OP_SUM) };
	args->recv.buf = nowhere + 1;
	if (kind == WEFT_COLL_REDUCE_SCATTER)
		args->send.count = args->recv.count =
			(data.count + comm->size - 1) / comm->size;
}

static bool set_nodes(struct cost *c, const struct weft_coll_machine *machine)
{
	const int32_t n = machine->n, k = machine->per_node;
	int32_t *of = malloc((4 * (size_t)n + 1) * sizeof(*of));
	int32_t *members = of + n, *leaders = members + n;
	int32_t *first = leaders + n;

	if (!of)
		return false;
	c->arrays = of;
	c->nodes = (struct weft_nodes){ .n = (n + k - 1) / k,
		.most = n < k ? n : k,
		.least = n % k ? n % k : k,
		.is_in_order = true,
		.of = of,
		.members = members,
		.first = first,
		.leaders = leaders };
	for (int32_t i = 0; i < n; i++) {
		of[i] = i / k;
		members[i] = i;
		if (i % k == 0)
			leaders[i / k] = first[i / k] = i;
	}
	first[c->nodes.n] = n;
	strncpy(c->nodes.fabric, machine->net->name,
		sizeof(c->nodes.fabric) - 1);
	return true;
}

static bool cost_open(struct cost *c, const struct weft_coll_machine *machine)
{
	const size_t n = (size_t)machine->n;

	memset(c, 0, sizeof(*c));
	c->machine = machine;
	c->comm.size = c->comm.remote_size = machine->n;
	c->sched.add = cost_add;
	c->sched.within = cost_within;
	c->members = calloc(n, sizeof(*c->members));
	c->out = calloc(2 * n, sizeof(*c->out));
	c->pairs = malloc(n * n * sizeof(*c->pairs));
	if (!c->members || !c->out || !c->pairs || !set_nodes(c, machine))
		return false;
	c->in = c->out + n;
	for (size_t i = 0; i < n * n; i++)
		c->pairs[i].first = -1;
	c->comm.coll.nodes = &c->nodes;
	return true;
}

static void cost_close(struct cost *c)
{
	for (int32_t i = 0; c->members && i < c->machine->n; i++)
		free(c->members[i].steps);
	free(c->members);
	free(c->out);
	free(c->pairs);
	free(c->msgs);
	free(c->arrays);
}

int weft_coll_machine_case(const struct weft_coll_machine *machine,
	enum weft_coll_kind kind, int64_t bytes, struct weft_coll_case *c)
{
	struct weft_coll_view view;
	struct weft_coll args;
	struct cost cost;
	int err = cost_open(&cost, machine) ? 0 : WEFT_ERR_NOMEM;

	if (!err) {
		set_args(&args, &cost.comm, kind, bytes);
		view = weft_coll_view_of(&cost.comm);
		weft_coll_case_of(c, kind, &view, &args);
		c->has_segment = cost.nodes.n == 1 && machine->n > 1 &&
				 bytes <= weft_coll_segment_max(kind);
		c->fabric = machine->net->name;
	}
	cost_close(&cost);
	return err;
}

/* Scratch memory is not kept: only lengths count. */
static void write_member(struct cost *c, const struct weft_coll_algo *algo,
	const struct weft_coll *args, int64_t bytes)
{
	struct weft_coll_view view;

	c->comm.rank = c->me;
	view = weft_coll_view_of(&c->comm);
	if (algo->write)
		algo->write(&c->sched, &view, args);
	else
		put_segment(c, algo->kind, &view, 0, bytes);
	weft_sched_free_tmps(&c->sched);
}

int weft_coll_cost(const struct weft_coll_machine *machine,
	const struct weft_coll_algo *algo, int64_t bytes, double *ns_out)
{
	struct weft_coll args;
	struct cost c;
	bool is_right = cost_open(&c, machine);

	*ns_out = 0;
	if (is_right)
		set_args(&args, &c.comm, algo->kind, bytes);
	for (c.me = 0; is_right && c.me < machine->n; c.me++) {
		write_member(&c, algo, &args, bytes);
		is_right = !c.is_out_of_memory && !c.sched.err;
	}
	is_right = is_right && run_clock(&c);
	for (int32_t i = 0; is_right && i < machine->n; i++) {
		*ns_out = later(*ns_out, c.members[i].now);
		is_right = c.members[i].at > c.members[i].n_steps;
	}
	cost_close(&c);
	return is_right ? 0 : WEFT_ERR_NOMEM;
}
