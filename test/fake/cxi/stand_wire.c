/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_wire: sockets on the loopback
 *
 * An endpoint listens. An endpoint with a request for it opens a connection,
 * which carries requests in one direction and answers in the other. A thread
 * serves the socket when the process does not poll, as hardware would. */
#include "stand.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
	MAGIC = 0x43584953,
	EVENTS = 32,
	PIECES = 32,
	BUF_LEN = 65536,
	READS_MAX = 64, /* reads of one connection in a row */
	/* a process that polled in this time is expected to poll again */
	RECENT_US = 300,
	IDLE_MS = 20,
};

static void watch(struct stand_conn *c)
{
	struct epoll_event ev = { .data.ptr = c };

	ev.events = (c->is_paused ? 0 : EPOLLIN) | (c->out ? EPOLLOUT : 0);
	if (ev.events == c->events)
		return;
	c->events = ev.events;
	epoll_ctl(c->nic->epoll_fd, EPOLL_CTL_MOD, c->fd, &ev);
}

static struct stand_conn *conn_new(struct stand_nic *nic, int fd, bool is_out)
{
	struct stand_conn *c = calloc(1, sizeof(*c));
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = c };
	int one = 1;

	if (!c)
		abort();
	c->buf = malloc(BUF_LEN);
	if (!c->buf)
		abort();
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	c->nic = nic;
	c->fd = fd;
	c->is_out = is_out;
	c->events = EPOLLIN;
	c->out_tail = &c->out;
	stand_list_init(&c->todo);
	stand_list_init(&c->sent);
	c->next = nic->conns;
	nic->conns = c;
	epoll_ctl(nic->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
	return c;
}

static void drop_outs(struct stand_conn *c)
{
	while (c->out) {
		struct stand_out *o = c->out;

		c->out = o->next;
		free(o->copy);
		free(o);
	}
	c->out_tail = &c->out;
}

static void fail_ops(struct stand_op_list *list, int status)
{
	struct stand_op *op = list->head;

	stand_list_init(list);
	while (op) {
		struct stand_op *next = op->next;

		stand_op_complete(op, status);
		op = next;
	}
}

/* The other side has closed the connection. The struct stays until the endpoint
 * closes. */
static void conn_kill(struct stand_conn *c)
{
	if (c->is_dead)
		return;
	c->is_dead = true;
	close(c->fd);
	stand_rx_forget(c->nic, c);
	stand_target_forget(c->nic, c);
	drop_outs(c);
	c->n_sent = 0;
	fail_ops(&c->sent, FI_ECONNRESET);
	fail_ops(&c->todo, FI_ECONNRESET);
}

/* Writing */

/* Reads the data from device memory. */
static void load(struct stand_out *o)
{
	o->copy = malloc(o->frame.len);
	if (!o->copy)
		abort();
	stand_hmem_read(o->mr, o->copy, o->data, o->frame.len);
	o->data = o->copy;
}

static size_t gather(struct stand_conn *c, struct iovec *iov)
{
	size_t n = 0;

	for (struct stand_out *o = c->out; o && n + 2 <= PIECES; o = o->next) {
		size_t at = o->n_done;

		if (at < sizeof(o->frame)) {
			iov[n].iov_base = (char *)&o->frame + at;
			iov[n++].iov_len = sizeof(o->frame) - at;
			at = 0;
		} else {
			at -= sizeof(o->frame);
		}
		if (o->mr && !o->copy)
			load(o);
		if (o->frame.len > at) {
			iov[n].iov_base = (char *)(uintptr_t)o->data + at;
			iov[n++].iov_len = o->frame.len - at;
		}
	}
	return n;
}

static void advance(struct stand_conn *c, size_t n)
{
	while (n) {
		struct stand_out *o = c->out;
		size_t left = sizeof(o->frame) + o->frame.len - o->n_done;

		if (n < left) {
			o->n_done += n;
			return;
		}
		n -= left;
		c->out = o->next;
		if (!c->out)
			c->out_tail = &c->out;
		c->n_out--;
		free(o->copy);
		free(o);
	}
}

static void conn_write(struct stand_conn *c)
{
	struct iovec iov[PIECES];
	struct msghdr msg = { .msg_iov = iov };

	while (c->out && !c->is_dead) {
		ssize_t n;

		msg.msg_iovlen = gather(c, iov);
		n = sendmsg(c->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n > 0) {
			advance(c, (size_t)n);
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN)
			conn_kill(c);
		break;
	}
	if (!c->is_dead)
		watch(c);
}

static struct stand_out *out_add(struct stand_conn *c,
	const struct stand_frame *f, const void *data, void *copy)
{
	struct stand_out *o = calloc(1, sizeof(*o));

	if (!o)
		abort();
	o->frame = *f;
	o->frame.magic = MAGIC;
	o->data = data;
	o->copy = copy;
	*c->out_tail = o;
	c->out_tail = &o->next;
	c->n_out++;
	return o;
}

/* A fenced operation starts when all before it have been answered. */
void stand_wire_push(struct stand_conn *c)
{
	while (c->todo.head && !c->is_dead) {
		struct stand_op *op = c->todo.head;

		if (op->flags & FI_FENCE && c->n_sent)
			break;
		c->todo.head = op->next;
		if (!c->todo.head)
			c->todo.tail = &c->todo.head;
		stand_list_add(&c->sent, op);
		c->n_sent++;
		out_add(c, &op->frame, op->data, NULL)->mr = op->mr;
	}
	conn_write(c);
}

void stand_wire_ack(struct stand_conn *c, const struct stand_frame *request,
	int status, void *data, size_t len)
{
	struct stand_frame f = {
		.type = STAND_ACK,
		.id = request->id,
		.status = status,
		.len = (uint32_t)len,
	};

	if (c->is_dead) {
		free(data);
		return;
	}
	out_add(c, &f, data, data);
	conn_write(c);
}

/* Reading */

static void on_ack(struct stand_conn *c)
{
	struct stand_op **at = &c->sent.head;
	struct stand_op *op;

	while (*at && (*at)->frame.id != c->in.id)
		at = &(*at)->next;
	op = *at;
	if (!op)
		return;
	*at = op->next;
	if (!*at)
		c->sent.tail = at;
	c->n_sent--;
	if (!c->in.status && c->in.len && op->result)
		memcpy(op->result, c->in_data,
			c->in.len < op->frame.want ? c->in.len
						   : op->frame.want);
	stand_op_complete(op, c->in.status);
	stand_wire_push(c);
}

static void on_hello(struct stand_conn *c)
{
	memcpy(&c->addr, &c->in.addr, sizeof(c->addr));
	c->is_foreign = c->addr.vni != c->nic->dom->auth.vni;
	if (c->is_foreign)
		stand_log("target refused a peer with vni=%u", c->addr.vni);
}

/* Handles a complete frame. */
static void on_frame(struct stand_conn *c)
{
	char *data = c->in_data;

	c->in_data = NULL;
	c->n_in = 0;
	if (c->is_out) {
		c->in_data = data;
		if (c->in.type == STAND_ACK)
			on_ack(c);
		c->in_data = NULL;
		free(data);
	} else if (c->in.type == STAND_HELLO) {
		on_hello(c);
		free(data);
	} else if (c->is_foreign) {
		free(data);
		stand_wire_ack(c, &c->in, FI_EHOSTUNREACH, NULL, 0);
	} else if (c->in.type == STAND_MSG || c->in.type == STAND_TAGGED) {
		stand_rx_arrive(c, data);
	} else {
		stand_target(c, data);
	}
}

/* Reads more bytes: many bytes directly to their destination, few through the
 * buffer. Returns the result of recv(). */
static ssize_t fetch(struct stand_conn *c, void *to, size_t len, bool *direct)
{
	ssize_t n;

	*direct = len >= BUF_LEN;
	do {
		n = *direct ? recv(c->fd, to, len, MSG_DONTWAIT)
			    : recv(c->fd, c->buf, BUF_LEN, MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n > 0 && !*direct) {
		c->buf_at = 0;
		c->buf_end = (size_t)n;
	}
	return n;
}

/* Reads some bytes of the frame or its payload. False if none are available. */
static bool step(struct stand_conn *c, int *reads)
{
	bool in_head = c->n_in < sizeof(c->in);
	size_t at = in_head ? c->n_in : c->n_in - sizeof(c->in);
	size_t want = (in_head ? sizeof(c->in) : c->in.len) - at;
	char *to = (in_head ? (char *)&c->in : c->in_data) + at;
	size_t have = c->buf_end - c->buf_at;
	bool direct = false;

	if (!have) {
		ssize_t n = (*reads)++ < READS_MAX ? fetch(c, to, want, &direct)
						   : -1;

		if (n == 0 || (n < 0 && *reads <= READS_MAX && errno != EAGAIN))
			conn_kill(c);
		if (n <= 0)
			return false;
		have = (size_t)n;
	}
	if (have > want)
		have = want;
	if (!direct) {
		memcpy(to, c->buf + c->buf_at, have);
		c->buf_at += have;
	}
	c->n_in += have;
	return true;
}

static bool head_is_good(struct stand_conn *c)
{
	if (c->in.magic != MAGIC)
		return false;
	if (!c->in.len)
		return true;
	c->in_data = malloc(c->in.len);
	return c->in_data != NULL;
}

static void conn_read(struct stand_conn *c)
{
	int reads = 0;

	while (!c->is_dead && !c->is_paused && step(c, &reads)) {
		if (c->n_in == sizeof(c->in) && !head_is_good(c)) {
			conn_kill(c);
			return;
		}
		if (c->n_in >= sizeof(c->in) &&
			c->n_in == sizeof(c->in) + c->in.len)
			on_frame(c);
	}
	if (!c->is_dead)
		watch(c);
}

void stand_wire_resume(struct stand_nic *nic)
{
	for (struct stand_conn *c = nic->conns; c; c = c->next) {
		if (!c->is_paused || c->is_dead)
			continue;
		c->is_paused = false;
		conn_read(c);
	}
}

/* Connecting */

static int connect_to(const struct stand_addr *addr)
{
	struct sockaddr_in sa = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)addr->nic),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	while (connect(fd, (struct sockaddr *)&sa, sizeof(sa))) {
		if (errno == EINTR)
			continue;
		close(fd);
		return -1;
	}
	return fd;
}

struct stand_conn *stand_wire_peer(struct stand_nic *nic, fi_addr_t peer)
{
	struct stand_frame hello = { .type = STAND_HELLO };
	struct stand_conn *c;
	struct stand_addr addr;
	int fd;

	if (peer < nic->n_peers && nic->peers[peer])
		return nic->peers[peer];
	if (!stand_av_get(nic->av, peer, &addr))
		return NULL;
	fd = connect_to(&addr);
	if (fd < 0)
		return NULL;
	if (peer >= nic->n_peers) {
		size_t n = peer + 16;
		void *peers = realloc(nic->peers, n * sizeof(*nic->peers));

		if (!peers)
			abort();
		nic->peers = peers;
		memset(nic->peers + nic->n_peers, 0,
			(n - nic->n_peers) * sizeof(*nic->peers));
		nic->n_peers = n;
	}
	c = conn_new(nic, fd, true);
	c->addr = addr;
	memcpy(&hello.addr, &nic->addr, sizeof(nic->addr));
	out_add(c, &hello, NULL, NULL);
	nic->peers[peer] = c;
	return c;
}

static void on_connect(struct stand_nic *nic)
{
	int fd;

	while ((fd = accept4(nic->listen_fd, NULL, NULL,
			SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
		conn_new(nic, fd, false);
}

void stand_wire_pump(struct stand_nic *nic)
{
	struct epoll_event evs[EVENTS];
	int n = epoll_wait(nic->epoll_fd, evs, EVENTS, 0);

	for (int i = 0; i < n; i++) {
		struct stand_conn *c = evs[i].data.ptr;

		if (!c) {
			on_connect(nic);
			continue;
		}
		if (evs[i].events & EPOLLOUT && !c->is_dead)
			conn_write(c);
		if (evs[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR) &&
			!c->is_dead)
			conn_read(c);
	}
	stand_target_settle(nic);
}

/* The thread does the work that the hardware does without a poll. */

static bool polled_lately(struct stand_nic *nic)
{
	return stand_now_us() - nic->polled_at < RECENT_US;
}

static void *serve(void *arg)
{
	struct stand_nic *nic = arg;
	struct timespec nap = { 0, RECENT_US * 1000 };
	struct epoll_event ev;

	while (!nic->is_stopping) {
		epoll_wait(nic->epoll_fd, &ev, 1, nic->has_due ? 1 : IDLE_MS);
		if (polled_lately(nic)) {
			nanosleep(&nap, NULL);
			if (polled_lately(nic))
				continue;
		}
		pthread_mutex_lock(&nic->lock);
		if (!nic->is_stopping)
			stand_wire_pump(nic);
		pthread_mutex_unlock(&nic->lock);
	}
	return NULL;
}

static int start_thread(struct stand_nic *nic)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&nic->thread, NULL, serve, nic);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	nic->has_thread = rc == 0;
	return -rc;
}

int stand_wire_open(struct stand_nic *nic)
{
	struct sockaddr_in sa = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	struct epoll_event ev = { .events = EPOLLIN };
	socklen_t len = sizeof(sa);

	nic->listen_fd =
		socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	nic->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (nic->listen_fd < 0 || nic->epoll_fd < 0)
		return -errno;
	if (bind(nic->listen_fd, (struct sockaddr *)&sa, sizeof(sa)) ||
		listen(nic->listen_fd, SOMAXCONN) ||
		getsockname(nic->listen_fd, (struct sockaddr *)&sa, &len) ||
		epoll_ctl(nic->epoll_fd, EPOLL_CTL_ADD, nic->listen_fd, &ev))
		return -errno;
	nic->addr.nic = ntohs(sa.sin_port);
	nic->addr.pid = 1;
	nic->addr.vni = nic->dom->auth.vni;
	nic->random ^= nic->addr.nic * 40503u;
	return start_thread(nic);
}

void stand_wire_close(struct stand_nic *nic)
{
	while (nic->conns) {
		struct stand_conn *c = nic->conns;

		conn_kill(c);
		nic->conns = c->next;
		free(c->in_data);
		free(c->buf);
		free(c);
	}
	stand_target_flush(nic, NULL, NULL);
	if (nic->listen_fd >= 0)
		close(nic->listen_fd);
	if (nic->epoll_fd >= 0)
		close(nic->epoll_fd);
}
