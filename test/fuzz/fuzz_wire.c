/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_wire: a process of a job whose other processes send arbitrary messages
 *
 * One VCI with real handlers: p2p, creation, ports, waits. Of the other
 * processes, two write through rings; the memory of one of them can be read.
 * One is behind a simulated fabric. The address of one is unknown, until the
 * input provides its business card. An input mixes messages with correct
 * headers and any content, noise, and actions of this process: receives, sends,
 * cancels, probes, creations. At its end all other processes fail. Then every
 * request must be complete, and no request, message or peer may be left. */
#include "base/hash.h"
#include "base/knob.h"
#include "base/log.h"
#include "transport/arrival.h"
#include "transport/bc.h"
#include "transport/proc.h"
#include "transport/progress.h"
#include "p2p/p2p_priv.h"
#include "comm/blocked.h"
#include "comm/create.h"
#include "comm/disconnect.h"
#include "session/session.h"
#include "spawn/port.h"
#include "test/fake/fakeboot.h"
#include "test/fake/fakefab.h"
#include "test/fuzz/fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

enum {
	JOB = 5,
	NEAR = 1, /* process numbers */
	FAR = 2,
	READABLE = 3,
	UNKNOWN = 4,
	REQS = 24,
	PIECES = 32,
	STEPS = 48,
	KNOWN = 5, /* numbers in a message that put_known() may replace */
	RING_BUF = 16384,
};

struct mine {
	struct weft_req *req;
	uint8_t *buf;
};

/* Emptied after each input. */
static struct {
	struct weft_session *session;
	struct weft_comm *comm;
	struct weft_comm *self;
	struct weft_group *all, *reversed;
	struct weft_type *gaps;
	struct mine reqs[REQS];
	uint32_t n_reqs;
	struct weft_ring *rings[JOB];
	struct weft_blocked wait;
	struct weft_blocked_create wait_create;
	bool is_waiting;
	uint32_t n_started;
	struct weft_comm *made; /* the last communicator created */
	weft_boot_get_fn *bc_fn;
	void *bc_arg;
	int fd; /* a segment that another process could offer */
	char port[WEFT_PORT_NAME_MAX];
} w;

/* ---- the simulated fabric ---- */

static struct fakefab fab;
static struct {
	void *context;
	uint64_t flags;
} pieces[PIECES];
static size_t n_pieces;

static ssize_t swallow(
	struct fid_ep *ep, const void *buf, size_t len, fi_addr_t addr)
{
	(void)ep;
	(void)addr;
	FUZZ_CHECK(len >= sizeof(struct weft_wire_net));
	FUZZ_CHECK(((const uint8_t *)buf)[0] == WEFT_WIRE_VERSION);
	return 0;
}

/* Keeps an operation pending until the input selects its result. */
static ssize_t hold(void *context, uint64_t flags)
{
	if (n_pieces == PIECES)
		return -FI_EAGAIN;
	pieces[n_pieces].context = context;
	pieces[n_pieces++].flags = flags;
	return 0;
}

static ssize_t hold_send(struct fid_ep *ep, const void *buf, size_t len,
	void *desc, fi_addr_t addr, void *context)
{
	(void)desc;
	swallow(ep, buf, len, addr);
	return hold(context, FI_SEND | FI_MSG);
}

static ssize_t hold_sendv(struct fid_ep *ep, const struct iovec *iov,
	void **desc, size_t n, fi_addr_t addr, void *context)
{
	(void)ep;
	(void)iov;
	(void)desc;
	(void)n;
	(void)addr;
	return hold(context, FI_SEND | FI_MSG);
}

static ssize_t hold_tsend(struct fid_ep *ep, const void *buf, size_t len,
	void *desc, fi_addr_t addr, uint64_t tag, void *context)
{
	volatile uint8_t sum = 0;

	(void)ep;
	(void)desc;
	(void)addr;
	(void)tag;
	for (size_t i = 0; i < len; i++) /* checks that all of it can be read */
		sum = (uint8_t)(sum + ((const uint8_t *)buf)[i]);
	return hold(context, FI_SEND | FI_TAGGED);
}

static ssize_t hold_trecv(struct fid_ep *ep, void *buf, size_t len, void *desc,
	fi_addr_t addr, uint64_t tag, uint64_t ignore, void *context)
{
	(void)ep;
	(void)desc;
	(void)addr;
	(void)tag;
	(void)ignore;
	memset(buf, 0x5a, len); /* checks that all of it can be written */
	return hold(context, FI_RECV | FI_TAGGED);
}

/* Completes the k-th pending operation, with success or an error. */
static void end_piece(size_t k, bool is_good)
{
	void *context = pieces[k].context;
	uint64_t flags = pieces[k].flags;

	pieces[k] = pieces[--n_pieces];
	if (is_good)
		fab.done[fab.n_done++] =
			(struct fi_cq_tagged_entry){ .op_context = context,
				.flags = flags };
	else
		fakefab_break(&fab, context, FI_EIO, flags);
	weft_net_poll(weft_proc.vci.net);
}

static struct fi_ops_tagged tagged_ops = {
	.size = sizeof(struct fi_ops_tagged),
	.recv = hold_trecv,
	.send = hold_tsend,
};

static void open_fabric(void)
{
	static struct fi_ops_msg msg_ops;
	struct fi_info *info = fakefab_info();
	struct weft_vci *vci = &weft_proc.vci;
	struct weft_plan plan;

	fakefab_init(&fab);
	weft_plan_init(&plan, info);
	plan.n_recv_bufs = 2;
	plan.recv_buf_len = 4096;
	plan.recv_len = 1024;
	plan.eager_len = 512;
	plan.inject_len = 128;
	plan.max_msg_len = 700;
	FUZZ_CHECK(!weft_ep_open_take(info, &fab.fabric, &weft_prov_other,
		&plan, weft_arrival_net, vci, &vci->net));
	msg_ops = *fab.ep.msg;
	msg_ops.inject = swallow;
	msg_ops.send = hold_send;
	msg_ops.sendv = hold_sendv;
	fab.ep.msg = &msg_ops;
	fab.ep.tagged = &tagged_ops;
}

/* ---- the state before an input ---- */

static int get_bc(struct weft_boot *boot, uint32_t rank, const char *key,
	weft_boot_get_fn *fn, void *arg)
{
	(void)boot;
	(void)key;
	FUZZ_CHECK(rank < JOB);
	w.bc_fn = fn;
	w.bc_arg = arg;
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static struct weft_boot_ops ops;
	uint64_t first;

	(void)argc;
	(void)argv;
	setenv("WEFT_LOG", "error", 0);
	fakeboot_set_job(0, JOB, JOB);
	weft_proc.open_boot = fakeboot_open;
	FUZZ_CHECK(!weft_session_open(NULL, NULL, &w.session));
	ops = *weft_proc.boot->ops;
	ops.get = get_bc;
	weft_proc.boot->ops = &ops;
	weft_proc.is_exiting =
		true; /* WEFT_WIRE_EXIT does not end this process */
	weft_proc.node.eager_len = 256;
	weft_knobs.eager_window = 4096;
	first = weft_proc.proc & ~(uint64_t)UINT32_MAX;
	FUZZ_CHECK(!weft_group_create_range(first, JOB, &w.all));
	FUZZ_CHECK(!weft_group_create(
		(const uint64_t[]){ first + NEAR, first, first + FAR }, 3,
		&w.reversed));
	w.reversed->session = w.session;
	w.reversed->session_handle = weft_obj_handle(w.session);
	FUZZ_CHECK(!weft_type_make_vector(
		100, 3, 5, weft_type_builtin(WEFT_TYPE_BYTE), &w.gaps));
	weft_type_commit(w.gaps);
	for (int i = 0; i < JOB; i++)
		w.rings[i] = calloc(
			1, weft_ring_bytes(WEFT_RING_SLOTS_MAX) + RING_BUF);
	w.fd = memfd_create("fuzz", MFD_CLOEXEC);
	FUZZ_CHECK(w.fd >= 0);
	open_fabric();
	return 0;
}

static struct weft_peer *peer_of(uint32_t k)
{
	struct weft_peer *peer =
		weft_peer_of(&weft_proc.vci, weft_proc.proc + k);

	FUZZ_CHECK(peer);
	return peer;
}

static void make_peer(uint32_t k)
{
	struct weft_peer *peer = peer_of(k);

	if (k == UNKNOWN)
		return;
	peer->state = WEFT_PEER_READY;
	peer->cookie_out = 1;
	peer->net_addr = k;
	if (k == FAR)
		return;
	peer->is_shm = true;
	peer->can_read = k == READABLE;
	peer->pid = getpid();
	atomic_store(&w.rings[k]->n_read, 0);
	atomic_store(&w.rings[k]->n_read_bytes, 0);
	peer->tx = (struct weft_ring_tx){ .ring = w.rings[k],
		.buf = (uint8_t *)w.rings[k] +
		       weft_ring_bytes(WEFT_RING_SLOTS_MAX),
		.mask = WEFT_RING_SLOTS_MAX - 1,
		.buf_len = RING_BUF,
		.open_len = RING_BUF,
		.n_occupied = RING_BUF };
}

static void begin(void)
{
	FUZZ_CHECK(!weft_create_fixed_locked(
		w.session, WEFT_CTX_WORLD, w.all, "all", &w.comm));
	for (uint32_t k = 1; k < JOB; k++)
		make_peer(k);
}

/* ---- the end of an input ---- */

/* Ends messages of this process to itself that no receive matched. */
static void end_selfish(void)
{
	struct weft_req *req;
	uint32_t pos = 0;

	while ((req = weft_table_next(&weft_reqs, &pos)) != NULL)
		if (req->refs && !req->is_done && req->kind == WEFT_REQ_SEND) {
			FUZZ_CHECK(req->peer->is_self);
			weft_send_finish(req, WEFT_ERR_COMM);
		}
}

static void end_reqs(void)
{
	for (uint32_t i = 0; i < w.n_reqs; i++) {
		FUZZ_CHECK(w.reqs[i].req->is_done);
		FUZZ_CHECK(w.reqs[i].req->refs == 1);
		weft_req_put(w.reqs[i].req);
		free(w.reqs[i].buf);
	}
	w.n_reqs = 0;
}

static void end_children(void)
{
	struct weft_link *children = &w.session->children[0];

	while (!weft_list_is_empty(children)) {
		struct weft_child *child = weft_container_of(
			children->prev, struct weft_child, link);

		child->ops->destroy(child);
	}
	FUZZ_CHECK(w.n_started == 0);
	w.made = NULL;
}

static void end_peers(struct weft_vci *vci)
{
	struct weft_peer *self = vci->self;

	for (uint32_t k = 1; k < JOB; k++) {
		struct weft_peer *peer = peer_of(k);

		FUZZ_CHECK(weft_list_is_empty(&peer->pending));
		weft_map_remove(&vci->peers, peer->proc + 1);
		weft_peer_free(peer);
	}
	FUZZ_CHECK(weft_list_is_empty(&vci->pending_peers));
	FUZZ_CHECK(vci->peers.n_used == 1);
	self->credit = weft_knobs.eager_window;
	self->credit_owed = 0;
	weft_p2p_peer_of(self)->n_eager_sent = 0;
}

static uint32_t n_spare(const struct weft_vci *vci)
{
	uint32_t n = 0;

	for (struct weft_req *req = vci->core->spare_reqs; req;
		req = req->spare) {
		if (req->kind == WEFT_REQ_SEND || req->kind == WEFT_REQ_RECV)
			FUZZ_CHECK(!weft_req_in_fabric(req));
		if (req->kind == WEFT_REQ_SEND)
			FUZZ_CHECK(!req->send.is_cancelling);
		n++;
	}
	return n;
}

/* Closes the port, which refuses its pending connect requests. */
static void end_port(struct weft_vci *vci)
{
	if (!*w.port)
		return;
	weft_vci_unlock(vci);
	FUZZ_CHECK(!weft_port_close(w.port));
	weft_vci_lock(vci);
	*w.port = '\0';
	atomic_store(&weft_proc.has_foreign, false);
}

static void end(struct weft_vci *vci)
{
	end_port(vci);
	if (w.is_waiting)
		weft_blocked_end(&w.wait);
	w.is_waiting = false;
	for (uint32_t k = 1; k < JOB; k++)
		weft_peer_fail(peer_of(k), WEFT_ERR_PEER);
	while (n_pieces)
		end_piece(n_pieces - 1, false);
	weft_progress(vci); /* requests to failed processes end */
	end_selfish();
	end_children();
	end_reqs();
	end_peers(vci);
	weft_dispatch_forget(vci);
	weft_create_drop();
	w.bc_fn = NULL;
	FUZZ_CHECK(vci->core->comms.n_used == 0);
	FUZZ_CHECK(!weft_table_next(&weft_messages, &(uint32_t){ 0 }));
	FUZZ_CHECK(weft_table_n_live(&weft_comms) == 0);
	FUZZ_CHECK(weft_table_n_live(&weft_reqs) == n_spare(vci));
	FUZZ_CHECK(vci->self->pending.next == &vci->self->pending);
}

/* ---- messages of other processes ---- */

/* Returns the number of this process's port, which is a part of the port's
 * name. Opens the port in the first call. */
static uint64_t port_number(struct weft_vci *vci)
{
	const char *at = w.port + strlen("weft-port-2:") + 16;
	uint64_t number = 0;
	unsigned int byte;

	if (!*w.port) {
		weft_vci_unlock(vci);
		FUZZ_CHECK(!weft_port_open(w.port, false));
		weft_vci_lock(vci);
	}
	for (int i = 7; i >= 0; i--) {
		FUZZ_CHECK(sscanf(at + 2 * i, "%2x", &byte) == 1);
		number = number << 8 | byte;
	}
	return number;
}

/* Stores the identifier of an existing object at a random place of the payload,
 * where a message may contain one. */
static void put_known(struct fuzz_in *in, uint8_t *payload, size_t len)
{
	uint8_t which = fuzz_u8(in);
	size_t at;
	uint64_t v;

	if (which == 0)
		return;
	at = fuzz_u8(in) % 32 * sizeof(v);
	if (which == 1)
		v = w.is_waiting ? w.wait.wait.epoch : 1;
	else if (which == 2)
		v = w.made ? w.made->ctx : w.comm->ctx;
	else if (which < 3 + JOB)
		v = weft_proc.proc + which - 3;
	else if (which == UINT8_MAX)
		v = port_number(&weft_proc.vci);
	else if (w.n_reqs)
		v = weft_obj_handle(w.reqs[which % w.n_reqs].req);
	else
		return;
	if (at + sizeof(v) <= len)
		memcpy(payload + at, &v, sizeof(v));
}

/* Writes the identity of the creation that start_create() started. */
static void put_creation(uint8_t *payload, size_t len)
{
	static const uint8_t key[16] = "weft create tag";
	struct weft_wire_create create;
	uint64_t digest[2];

	if (len < sizeof(create) + 2)
		return;
	memcpy(&create, payload, sizeof(create));
	weft_group_digest(w.reversed, digest);
	create.key[0] = digest[0];
	create.key[1] = digest[1] ^ weft_hash(key, "ab", 2);
	create.size = 3;
	create.len = (uint32_t)(len - sizeof(create));
	memcpy(payload, &create, sizeof(create));
	memcpy(payload + sizeof(create), "ab", 2);
}

/* Writes a valid part of a graph of waits that contains the wait of this
 * process. */
static void put_graph(uint8_t *payload, size_t len)
{
	struct weft_wire_graph g;

	if (len < sizeof(g))
		return;
	memcpy(&g, payload, sizeof(g));
	g.kind %= WEFT_WIRE_GRAPH_END + 1;
	if (w.is_waiting && g.number % 4)
		g.number = w.wait.wait.epoch << 16 | g.number % 4;
	if (w.is_waiting && g.epoch % 4)
		g.epoch = w.wait.wait.epoch;
	len -= sizeof(g);
	g.n_edges %= len / sizeof(struct weft_wire_edge) + 1;
	g.len = (uint16_t)(len - g.n_edges * sizeof(struct weft_wire_edge));
	memcpy(payload, &g, sizeof(g));
}

static struct weft_wire_head read_head(struct fuzz_in *in)
{
	uint8_t space = fuzz_u8(in);
	struct weft_wire_head head = {
		.op = fuzz_u8(in) % (WEFT_WIRE_OP_END + 1),
		.flags = fuzz_u8(in),
		.number = fuzz_u8(in),
		.src = fuzz_u8(in),
		.tag = (int8_t)fuzz_u8(in),
		.credit = fuzz_u8(in),
	};

	head.ctx = space < 8	? WEFT_CTX_WORLD + space % 4
		   : space < 64 ? space
				: fuzz_u64(in);
	if (head.src == 255)
		head.src = fuzz_u32(in);
	if (head.credit == 255)
		head.credit = fuzz_u32(in);
	return head;
}

/* Fills the payload of a batch with messages that arrive together: as many as
 * fit, of any length. */
static void put_batch(struct fuzz_in *in, uint8_t *payload, size_t len)
{
	struct weft_wire_record record = { .len = 0 };

	while (len >= sizeof(record)) {
		size_t room;

		record.head = read_head(in);
		if (record.head.flags % 8)
			record.head.op = WEFT_WIRE_EAGER;
		record.len = fuzz_u8(in);
		memcpy(payload, &record, sizeof(record));
		room = sizeof(record) + ((record.len + 7) & ~7u);
		room = weft_min(room, len);
		payload += room;
		len -= room;
	}
}

static void deliver(struct weft_peer *peer, const struct weft_wire_head *head,
	const void *payload, size_t len)
{
	struct weft_vci *vci = &weft_proc.vci;
	struct weft_wire_net wire = {
		.version = WEFT_WIRE_VERSION,
		.number = peer->wire_in + 1,
		.src_proc = peer->proc,
		.cookie = peer->cookie_in,
		.head = *head,
	};
	uint8_t *all;

	if (peer->is_shm || peer->is_self) {
		weft_dispatch(vci, peer, head, payload, len);
		return;
	}
	all = malloc(sizeof(wire) + len);
	FUZZ_CHECK(all);
	memcpy(all, &wire, sizeof(wire));
	memcpy(all + sizeof(wire), payload, len);
	weft_arrival_net(vci, all, sizeof(wire) + len);
	free(all);
}

static void step_message(struct fuzz_in *in)
{
	struct weft_peer *peer = peer_of(1 + fuzz_u8(in) % (JOB - 1));
	struct weft_wire_head head = read_head(in);
	size_t len = fuzz_u8(in);
	uint8_t *payload;

	if (len >= 240) /* long payloads: up to the eager limit and beyond */
		len = (len - 240) * 32;
	payload = fuzz_exact(in, len);
	if (head.op == WEFT_WIRE_CREATE && fuzz_u8(in) % 2)
		put_creation(payload, len);
	if (head.op == WEFT_WIRE_GRAPH && fuzz_u8(in) % 4)
		put_graph(payload, len);
	if (head.op == WEFT_WIRE_BATCH && fuzz_u8(in) % 4)
		put_batch(in, payload, len);
	for (int i = 0; i < KNOWN; i++)
		put_known(in, payload, len);
	weft_proc.vci.is_polling = true;
	deliver(peer, &head, payload, len);
	weft_proc.vci.is_polling = false;
	/* a report about the failure of an unknown process is ignored */
	FUZZ_CHECK(
		!w.comm->failed || w.comm->failed - 1 - weft_proc.proc < JOB);
	free(payload);
}

/* Delivers bytes of a foreign process. They must be dropped. */
static void step_noise(struct fuzz_in *in)
{
	struct weft_vci *vci = &weft_proc.vci;
	uint64_t before = vci->counters.dropped;
	size_t len = fuzz_u8(in);
	uint8_t *data = fuzz_exact(in, len);
	struct weft_wire_net wire;
	uint8_t how = fuzz_u8(in);

	if (len >= sizeof(wire) && how) {
		memcpy(&wire, data, sizeof(wire));
		wire.version = WEFT_WIRE_VERSION;
		if (how > 1)
			wire.src_proc = weft_proc.proc + how - 2;
		if (how == 2) /* a message that claims to be from this process
			       * itself */
			wire.cookie = vci->self->cookie_in;
		memcpy(data, &wire, sizeof(wire));
	}
	weft_arrival_net(vci, data, len);
	FUZZ_CHECK(vci->counters.dropped == before + 1);
	free(data);
}

/* The process manager answers the request for the business card of UNKNOWN.
 * Before that, UNKNOWN itself may send the card. */
static void step_bc(struct fuzz_in *in)
{
	const struct weft_wire_head head = { .op = WEFT_WIRE_BC };
	weft_boot_get_fn *fn = w.bc_fn;
	struct weft_bc bc;
	uint8_t how = fuzz_u8(in), *data;
	size_t len = sizeof(bc) - fuzz_u8(in);

	if (!fn)
		return;
	w.bc_fn = NULL;
	if (how % 8 == 1) {
		fn(w.bc_arg, WEFT_ERR_NOTFOUND, NULL, 0);
		return;
	}
	weft_bc_init(&bc);
	bc.shm.pid = how % 8 == 2 ? 0 : getpid();
	bc.shm.fd = w.fd;
	bc.shm.probe_addr = fuzz_u64(in);
	bc.name_len = (uint32_t)(len - offsetof(struct weft_bc, name));
	fuzz_bytes(in, bc.name, sizeof(bc.name));
	if (how % 8 == 3)
		bc.name_len = fuzz_u32(in);
	if (how % 8 == 5)
		bc.n_rails = fuzz_u32(in);
	if (how % 8 == 4)
		memset(bc.cpus, 'x', sizeof(bc.cpus));
	data = malloc(len);
	memcpy(data, &bc, len);
	FUZZ_CHECK(!ftruncate(w.fd, 0));
	FUZZ_CHECK(!ftruncate(w.fd, (off_t)(fuzz_u8(in) * 4096)));
	for (uint8_t n = fuzz_u8(in) % 48; n; n--) {
		uint8_t byte = fuzz_u8(in);

		FUZZ_CHECK(pwrite(w.fd, &byte, 1, n) == 1);
	}
	if (how % 8 == 6)
		deliver(peer_of(UNKNOWN), &head, data, len);
	fn(w.bc_arg, 0, data, len);
	free(data);
}

/* ---- actions of this process ---- */

static struct weft_msg read_msg(struct fuzz_in *in, struct mine *mine)
{
	uint8_t shape = fuzz_u8(in);
	struct weft_msg msg = {
		.comm = w.comm,
		.type = shape % 4 == 3 ? w.gaps
				       : weft_type_builtin(WEFT_TYPE_BYTE),
		.rank = fuzz_u8(in) % JOB,
		.tag = fuzz_u8(in) % 4,
		.ctx_offset = shape & 0x80 ? WEFT_CTX_OFFSET_COLL
					   : WEFT_CTX_OFFSET_P2P,
		.mode = shape & 0x40 ? WEFT_SEND_SYNC : WEFT_SEND_STANDARD,
	};
	size_t len;

	msg.count = fuzz_u8(in);
	if (msg.type == w.gaps)
		msg.count %= 8;
	else if (msg.count > 200)
		msg.count = (msg.count - 200) * 64;
	len = (size_t)(msg.count * msg.type->extent);
	mine->buf = malloc(len ? len : 1);
	FUZZ_CHECK(mine->buf);
	memset(mine->buf, 0xa5, len);
	msg.buf = mine->buf;
	return msg;
}

static void keep_req(int err, const struct mine *mine)
{
	if (err)
		free(mine->buf);
	else
		w.reqs[w.n_reqs++] = *mine;
}

static void step_recv(struct fuzz_in *in)
{
	struct mine mine;
	struct weft_msg msg;

	if (w.n_reqs == REQS)
		return;
	msg = read_msg(in, &mine);
	if (fuzz_u8(in) % 4 == 1)
		msg.rank = WEFT_ANY_SOURCE;
	if (fuzz_u8(in) % 4 == 1)
		msg.tag = WEFT_ANY_TAG;
	keep_req(weft_irecv_locked(&msg, &mine.req), &mine);
}

static void step_send(struct fuzz_in *in)
{
	struct mine mine;
	struct weft_msg msg;

	if (w.n_reqs == REQS)
		return;
	msg = read_msg(in, &mine);
	keep_req(weft_isend_locked(&msg, &mine.req), &mine);
}

static void step_cancel(struct fuzz_in *in)
{
	uint8_t k = fuzz_u8(in);

	if (!w.n_reqs)
		return;
	weft_vci_unlock(&weft_proc.vci);
	weft_req_cancel(w.reqs[k % w.n_reqs].req);
	weft_vci_lock(&weft_proc.vci);
}

static void step_probe(struct fuzz_in *in)
{
	int32_t rank = (int32_t)(fuzz_u8(in) % (JOB + 1)) - 1;
	int32_t tag = (int32_t)(fuzz_u8(in) % 5) - 1;
	struct weft_message *message;
	struct weft_status status;
	struct mine mine;
	struct weft_msg msg;

	if (w.n_reqs == REQS)
		return;
	weft_vci_unlock(&weft_proc.vci);
	weft_mprobe(w.comm, rank < 0 ? WEFT_ANY_SOURCE : rank,
		tag < 0 ? WEFT_ANY_TAG : tag, false, &message, &status);
	if (message) {
		FUZZ_CHECK(status.source >= 0 && status.source < JOB);
		FUZZ_CHECK(status.len >= 0);
		msg = read_msg(in, &mine);
		keep_req(weft_imrecv_take(message, msg.buf, msg.count, msg.type,
				 &mine.req),
			&mine);
	}
	weft_vci_lock(&weft_proc.vci);
}

/* The receivers of some rings read them, and this process makes progress. */
static void step_progress(struct fuzz_in *in)
{
	uint8_t how = fuzz_u8(in);

	for (uint32_t k = 1; k < JOB; k++) {
		struct weft_ring_tx *tx = &peer_of(k)->tx;

		if (!tx->ring || tx->map || !(how >> k & 1))
			continue;
		atomic_store(&tx->ring->n_read, tx->n);
		atomic_store(&tx->ring->n_read_bytes, tx->pos);
	}
	weft_progress(&weft_proc.vci);
}

static void step_piece(struct fuzz_in *in)
{
	uint8_t k = fuzz_u8(in);

	if (n_pieces)
		end_piece(k % n_pieces, k & 0x80);
}

static void step_kill(struct fuzz_in *in)
{
	weft_peer_fail(peer_of(1 + fuzz_u8(in) % (JOB - 1)), WEFT_ERR_PEER);
}

static bool yes(const struct weft_blocked *blocked)
{
	(void)blocked;
	return true;
}

static void step_wait(struct fuzz_in *in)
{
	uint8_t how = fuzz_u8(in);

	if (w.is_waiting) {
		w.wait.wait.n_rounds = 63;
		w.wait.wait.due_ns = how % 2 ? 1 : UINT64_MAX;
		if (how % 4 < 3)
			weft_blocked_round(&w.wait);
		else
			weft_blocked_end(&w.wait);
		w.is_waiting = how % 4 < 3;
		return;
	}
	w.wait_create = (struct weft_blocked_create){ .group = w.all,
		.tag = "tag",
		.parent = peer_of(1 + how % (JOB - 1))->proc };
	w.wait = (struct weft_blocked){
		.kind = how & 0x80 ? WEFT_BLOCKED_CREATE
				   : WEFT_BLOCKED_DISCONNECT,
		.comm = w.comm,
		.create = &w.wait_create,
		.is_waiting = yes
	};
	weft_blocked_begin(&w.wait);
	w.is_waiting = true;
}

static void made(void *arg, struct weft_comm *comm, int err)
{
	(void)arg;
	FUZZ_CHECK(!comm == (err != 0));
	w.n_started--;
	if (comm)
		w.made = comm;
}

/* Starts a creation, which waits for its id, or a duplicate, which waits for
 * all members. */
static void step_create(struct fuzz_in *in)
{
	int err;

	w.n_started++;
	weft_vci_unlock(&weft_proc.vci);
	if (fuzz_u8(in) % 2)
		err = weft_create_dup_start(
			w.made ? w.made : w.comm, NULL, made, NULL);
	else
		err = weft_create_start(
			w.reversed, "ab", NULL, NULL, made, NULL);
	weft_vci_lock(&weft_proc.vci);
	if (err)
		w.n_started--;
}

static void (*const steps[])(struct fuzz_in *in) = {
	step_message,
	step_message,
	step_message,
	step_message,
	step_recv,
	step_send,
	step_progress,
	step_cancel,
	step_probe,
	step_noise,
	step_bc,
	step_piece,
	step_kill,
	step_wait,
	step_create,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct weft_vci *vci = &weft_proc.vci;
	struct fuzz_in in = { data, len };

	weft_vci_lock(vci);
	begin();
	for (int i = 0; i < STEPS && in.len; i++)
		steps[fuzz_u8(&in) % (sizeof(steps) / sizeof(*steps))](&in);
	end(vci);
	weft_vci_unlock(vci);
	return 0;
}
