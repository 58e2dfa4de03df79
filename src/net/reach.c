/* SPDX-License-Identifier: BSD-3-Clause */
/* reach: tests whether a peer's port still accepts connections
 *
 * The tcp provider retries a closed connection with each post and reports no
 * error. A separate connection distinguishes two cases: the port of a peer that
 * has ended refuses the connection, and that of a peer that computes does not.
 * The peer's provider drops a connection without a first message. The old
 * sockets provider may crash on such a connection, so its ports are not tested.
 */
#include "net/net_priv.h"

#include <rdma/fi_domain.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WAIT_MS = 20 };

union reach_addr {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* 0, or the errno of the connection; ETIMEDOUT after WAIT_MS. */
static int reach_connect(const union reach_addr *to)
{
	struct pollfd ready = { .events = POLLOUT };
	socklen_t len =
		to->any.sa_family == AF_INET ? sizeof(to->in) : sizeof(to->in6);
	int err = 0;

	ready.fd = socket(to->any.sa_family,
		SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (ready.fd < 0)
		return errno;
	if (connect(ready.fd, &to->any, len))
		err = errno;
	if (err == EINPROGRESS && poll(&ready, 1, WAIT_MS) <= 0) {
		err = ETIMEDOUT;
	} else if (err == EINPROGRESS) {
		len = sizeof(err);
		if (getsockopt(ready.fd, SOL_SOCKET, SO_ERROR, &err, &len))
			err = errno;
	}
	close(ready.fd);
	return err;
}

static void reach_print(const union reach_addr *to, char *buf, size_t len)
{
	char host[INET6_ADDRSTRLEN] = "?";
	bool is_v4 = to->any.sa_family == AF_INET;

	inet_ntop(to->any.sa_family,
		is_v4 ? (const void *)&to->in.sin_addr
		      : (const void *)&to->in6.sin6_addr,
		host, sizeof(host));
	snprintf(buf, len, is_v4 ? "%s:%u" : "[%s]:%u", host,
		ntohs(is_v4 ? to->in.sin_port : to->in6.sin6_port));
}

bool weft_net_refuses(
	struct weft_net *net, uint64_t addr, char *what, size_t len)
{
	struct weft_inside *in = weft_net_inside(net);
	union reach_addr to = { .any = { .sa_family = AF_UNSPEC } };
	size_t size = sizeof(to);
	char port[INET6_ADDRSTRLEN + 10];
	int err;

	what[0] = 0;
	if (strcmp(net->plan.name, "tcp") != 0 ||
		fi_av_lookup(in->dom.av, addr, &to, &size) ||
		size > sizeof(to) ||
		(to.any.sa_family != AF_INET && to.any.sa_family != AF_INET6))
		return false;
	reach_print(&to, port, sizeof(port));
	err = reach_connect(&to);
	switch (err) {
	case 0:
		snprintf(what, len,
			"it computes, or is stopped; its port %s accepts "
			"connections",
			port);
		break;
	case ECONNREFUSED:
		snprintf(what, len, "its port %s refuses connections", port);
		return true;
	case ECONNRESET:
		snprintf(what, len, "its port %s resets connections", port);
		return true;
	case EHOSTUNREACH:
	case ENETUNREACH:
		snprintf(what, len, "there is no route to %s", port);
		break;
	case ETIMEDOUT:
		snprintf(what, len, "%s does not answer", port);
		break;
	default:
		snprintf(what, len, "a connection to %s fails: %s", port,
			strerror(err));
	}
	return false;
}
