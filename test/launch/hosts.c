/* SPDX-License-Identifier: BSD-3-Clause */
/* hosts: sockets between two hosts, each a network namespace of its own
 *
 * The parent is the switch: a namespace with a bridge. Each of two children has
 * a namespace of its own with a virtual cable to the bridge. The children set
 * up the interfaces of a case, open a net, without a hint about interfaces by
 * default, exchange names through a socket pair and send messages. The kernel
 * removes all namespaces when the processes end. */
#include "base/knob.h"
#include "base/log.h"
#include "net/net.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	DEADLINE_S = 120,
	ROUNDS = 20,
	DOWN_MS = 1500,
	STRANGERS = 3000,
	SKIP = 77,
};

struct host {
	int rank;
	int fd; /* socket to the other host */
	struct weft_net *net;
	uint64_t peer;
	unsigned n_came;		       /* messages received */
	unsigned n_bad;			       /* claims that failed */
	unsigned char name[WEFT_NET_NAME_MAX]; /* fabric name of the other
						* host */
	size_t name_len;
};

static int sh(const char *form, ...) __attribute__((format(printf, 1, 2)));

static int sh(const char *form, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, form);
	vsnprintf(text, sizeof(text), form, ap);
	va_end(ap);
	return system(text);
}

static bool claim(struct host *h, bool is_true, const char *what)
{
	if (is_true)
		return true;
	printf("# host %d: not so: %s\n", h->rank, what);
	h->n_bad++;
	return false;
}

static void must(struct host *h, bool is_true, const char *what)
{
	if (claim(h, is_true, what))
		return;
	fflush(stdout);
	_exit(1);
}

/* Barrier of both hosts. */
static void meet(struct host *h)
{
	char c = 0;

	must(h, write(h->fd, &c, 1) == 1 && read(h->fd, &c, 1) == 1,
		"the other host answers");
}

static void on_recv(void *arg, const void *data, size_t len)
{
	struct host *h = arg;
	unsigned number = 0;

	if (len == sizeof(number))
		memcpy(&number, data, len);
	claim(h, len == sizeof(number) && number == h->n_came,
		"messages arrive complete and in order");
	h->n_came++;
}

static void send_number(struct host *h, unsigned number)
{
	int rc;

	while ((rc = weft_net_inject(h->net, h->peer, &number,
			sizeof(number))) == WEFT_AGAIN)
		weft_net_poll(h->net);
	must(h, !rc, "a message is posted");
}

static void receive_numbers(struct host *h, unsigned n)
{
	while (h->n_came < n)
		weft_net_poll(h->net); /* alarm() limits the time */
}

/* Sends messages in both directions. */
static void talk(struct host *h)
{
	unsigned first = h->n_came;

	for (unsigned i = first; i < first + ROUNDS; i++) {
		if (h->rank == 0)
			send_number(h, i);
		receive_numbers(h, i + 1);
		if (h->rank == 1)
			send_number(h, i);
	}
	meet(h);
}

static void open_net(struct host *h, const char *iface)
{
	struct weft_net_hints hints = { .provider = "tcp", .iface = iface };
	unsigned char mine[WEFT_NET_NAME_MAX] = { 0 };
	size_t len = sizeof(mine);
	int rc = weft_net_open(&hints, on_recv, h, &h->net);

	if (rc)
		printf("# %s\n", weft_err_detail_peek(rc));
	must(h, !rc, "a net opens");
	printf("# host %d: %s on %s\n", h->rank, h->net->plan.provider,
		h->net->plan.domain);
	must(h, !weft_net_name(h->net, mine, &len), "the net has a name");
	must(h,
		write(h->fd, mine, sizeof(mine)) == (ssize_t)sizeof(mine) &&
			recv(h->fd, h->name, sizeof(h->name), MSG_WAITALL) ==
				(ssize_t)sizeof(h->name),
		"the hosts exchange names");
	h->name_len = len;
	rc = weft_net_peer_add(h->net, h->name, len, &h->peer);
	if (rc)
		printf("# %s\n", weft_err_detail_peek(rc));
	must(h, !rc, "the other host's name is accepted");
}

static bool is_on(struct host *h, const char *iface)
{
	return claim(h, !strcmp(h->net->plan.domain, iface), iface);
}

static void address(struct host *h, const char *iface, int network)
{
	must(h,
		!sh("ip addr add 10.%d.0.%d/24 dev %s && ip link set %s up",
			network, h->rank + 1, iface, iface),
		"an interface is set up");
}

/* Each host has a bridge for containers, as with a running container engine. It
 * has the same address on both hosts. */
static void with_bridge(struct host *h)
{
	must(h,
		!sh("ip link add docker0 type bridge &&"
		    "ip link add c0 type veth peer name c1 &&"
		    "ip link set c0 master docker0 up && ip link set c1 up &&"
		    "ip addr add 172.17.0.1/16 dev docker0 &&"
		    "ip link set docker0 up"),
		"a bridge is set up");
	address(h, "eth0", 77);
	open_net(h, NULL);
	is_on(h, "eth0");
	talk(h);
}

/* An interface without a carrier is not chosen, although its name sorts first.
 */
static void with_dead(struct host *h)
{
	must(h,
		!sh("ip link add aaa0 type veth peer name aaa1 &&"
		    "ip addr add 10.70.0.%d/24 dev aaa0 &&"
		    "ip link set aaa0 up",
			h->rank + 1),
		"an interface without a carrier is set up");
	address(h, "eth1", 78);
	open_net(h, NULL);
	is_on(h, "eth1");
	talk(h);
}

static void with_two(struct host *h)
{
	address(h, "eth0", 77);
	address(h, "eth1", 78);
	open_net(h, "eth1");
	is_on(h, "eth1");
	talk(h);
	weft_net_close(h->net);
	h->n_came = 0;
	open_net(h, NULL); /* no hint: both hosts choose the same interface */
	talk(h);
}

static void with_ipv6(struct host *h)
{
	must(h,
		!sh("ip addr add fd77::%d/64 dev eth0 nodad &&"
		    "ip link set eth0 up",
			h->rank + 1),
		"an IPv6 address is set");
	open_net(h, NULL);
	is_on(h, "eth0");
	talk(h);
}

/* No message is lost while the cable is disconnected for a moment. */
static void with_break(struct host *h)
{
	struct timespec ts = { DOWN_MS / 1000, DOWN_MS % 1000 * 1000000L };

	address(h, "eth0", 77);
	open_net(h, NULL);
	talk(h);
	if (h->rank == 1)
		must(h, !sh("ip link set eth0 down"), "the link goes down");
	meet(h);
	if (h->rank == 0) {
		send_number(h, h->n_came);
	} else {
		unsigned before = h->n_came;

		for (int i = 0; i < 100; i++)
			weft_net_poll(h->net);
		nanosleep(&ts, NULL);
		weft_net_poll(h->net);
		claim(h, h->n_came == before, "the link was down");
		must(h, !sh("ip link set eth0 up"), "the link is set up again");
		receive_numbers(h, before + 1);
	}
	meet(h);
	h->n_came = ROUNDS;
	if (h->rank == 1)
		h->n_came = ROUNDS;
	talk(h);
}

static int count_sockets(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	char path[300], to[64];
	int n = 0;

	while (dir && (e = readdir(dir)) != NULL) {
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/self/fd/%s", e->d_name);
		len = readlink(path, to, sizeof(to) - 1);
		n += len > 7 && !strncmp(to, "socket:", 7);
	}
	if (dir)
		closedir(dir);
	return n;
}

/* Thousands of addresses open no connection. Messages to one peer open one
 * connection, or two if both peers connect at the same time. */
static void with_many(struct host *h)
{
	unsigned char name[WEFT_NET_NAME_MAX];
	uint64_t addr;
	int before;

	address(h, "eth0", 77);
	open_net(h, NULL);
	before = count_sockets();
	memcpy(name, h->name, sizeof(name));
	for (unsigned i = 0; i < STRANGERS; i++) {
		/* a name is 8 bytes of Weft and a sockaddr_in: these are the
		 * last three bytes of its IPv4 address */
		name[13] = (unsigned char)(100 + i / 65536);
		name[14] = (unsigned char)(i / 256);
		name[15] = (unsigned char)i;
		must(h, !weft_net_peer_add(h->net, name, h->name_len, &addr),
			"a name is accepted");
	}
	claim(h, count_sockets() == before, "adding names opens no socket");
	talk(h);
	printf("# host %d: %d sockets, then %d\n", h->rank, before,
		count_sockets());
	claim(h, count_sockets() > before,
		"communication with a peer opens a socket");
	claim(h, count_sockets() <= before + 2,
		"communication with a peer opens two sockets at most");
}

struct test {
	void (*body)(struct host *h);
	const char *text;
};

static const struct test tests[] = {
	{ with_bridge, "a bridge with the same address everywhere is not "
		       "used" },
	{ with_dead, "an interface without a carrier is not used" },
	{ with_two, "two networks: WEFT_IFACE's, else the same one on both" },
	{ with_ipv6, "IPv6 alone" },
	{ with_break, "a link that goes and comes loses nothing" },
	{ with_many, "thousands of peers, one connection" },
};

static void child(const struct test *test, int rank, int fd, int go)
{
	struct host h = { .rank = rank, .fd = fd };
	char c = 0;

	alarm(DEADLINE_S);
	/* the parent connects the cable when this process has a namespace */
	if (unshare(CLONE_NEWNET) || write(go, &c, 1) != 1 ||
		read(go, &c, 1) != 1)
		_exit(SKIP);
	must(&h, !sh("ip link set lo up"), "the loopback interface is set up");
	test->body(&h);
	fflush(stdout);
	_exit(h.n_bad ? 1 : 0);
}

/* Waits until the host has its namespace, then connects it to the switch by two
 * virtual cables. */
static bool plug(int place, pid_t pid, int go)
{
	char c = 0;

	if (read(go, &c, 1) != 1)
		return false;
	for (int i = 0; i < 2; i++)
		if (sh("ip link add p%d%d type veth peer name eth%d netns %d &&"
		       "ip link set p%d%d master switch up",
			    place, i, i, (int)pid, place, i))
			return false;
	return write(go, &c, 1) == 1;
}

static bool run(const struct test *test, int number)
{
	int pair[2], go[2][2], status, worst = 0;
	pid_t pids[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return false;
	fflush(stdout);
	for (int i = 0; i < 2; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, go[i]))
			return false;
		pids[i] = fork();
		if (pids[i] == 0)
			child(test, i, pair[i], go[i][1]);
		close(go[i][1]);
	}
	close(pair[0]);
	close(pair[1]);
	for (int i = 0; i < 2; i++) {
		if (!plug(2 * number + i, pids[i], go[i][0]))
			worst = 1;
		close(go[i][0]);
	}
	for (int i = 0; i < 2; i++)
		if (waitpid(pids[i], &status, 0) < 0 || status)
			worst = 1;
	return !worst;
}

int main(void)
{
	int n = (int)(sizeof(tests) / sizeof(tests[0]));
	int n_bad = 0;

	setenv("FI_PROVIDER", "tcp,net,ofi_rxm", 1);
	unsetenv("FI_TCP_IFACE");
	weft_knob_load();
	if (unshare(CLONE_NEWNET)) {
		printf("1..0 # SKIP no network namespaces: %s\n",
			strerror(errno));
		return 0;
	}
	if (sh("{ ip link set lo up && ip link add switch type bridge && "
	       "ip link set switch up && ip link add x0 type veth peer name "
	       "x1; "
	       "} 2>/dev/null")) {
		printf("1..0 # SKIP no bridge or no ip command\n");
		return 0;
	}
	printf("1..%d\n", n);
	for (int i = 0; i < n; i++) {
		bool is_good = run(&tests[i], i);

		printf("%s %d - %s\n", is_good ? "ok" : "not ok", i + 1,
			tests[i].text);
		n_bad += !is_good;
	}
	return n_bad > 0;
}
