/* SPDX-License-Identifier: BSD-3-Clause */
/* link: breaks connections that the library has opened over sockets */
#ifndef LINK_H
#define LINK_H

#include "mtest.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { LINK_MAX_FD = 1024 };

enum link_break {
	LINK_SHUTDOWN, /* sent data still arrives, unread data is lost */
	LINK_RESET,    /* unsent and unread data is lost */
};

static char link_was_open[LINK_MAX_FD];

static int link_is_connected(int fd)
{
	struct sockaddr_storage to;
	socklen_t len = sizeof(to);

	return !getpeername(fd, (struct sockaddr *)&to, &len) &&
	       (to.ss_family == AF_INET || to.ss_family == AF_INET6);
}

/* Sockets that are open now are never broken: they are those of the process
 * manager. */
static inline void link_begin(void)
{
	for (int fd = 0; fd < LINK_MAX_FD; fd++)
		link_was_open[fd] = (char)link_is_connected(fd);
}

/* Aborts a connection through the kernel, as an administrator does: the other
 * end receives a reset. Without the right to do that, shuts it down. */
static inline int link_reset(int fd)
{
	struct sockaddr_in6 own, to;
	socklen_t own_len = sizeof(own), to_len = sizeof(to);
	char command[128];

	/* the port is at the same place in an address of IPv4 */
	if (getsockname(fd, (struct sockaddr *)&own, &own_len) ||
		getpeername(fd, (struct sockaddr *)&to, &to_len))
		return 0;
	snprintf(command, sizeof(command),
		"ss -K sport = %d dport = %d >/dev/null 2>&1",
		ntohs(own.sin6_port), ntohs(to.sin6_port));
	if (system(command) == -1 || link_is_connected(fd))
		return !shutdown(fd, SHUT_RDWR);
	return 1;
}

/* Breaks the connections whose position among all connections is in [first,
 * first + n). Returns the number of broken ones. */
static inline int link_break(int first, int n, enum link_break how)
{
	int n_broken = 0, at = 0;

	for (int fd = 0; fd < LINK_MAX_FD; fd++) {
		if (!link_is_connected(fd) || link_was_open[fd])
			continue;
		if (at++ < first || at > first + n)
			continue;
		n_broken += how == LINK_RESET ? link_reset(fd)
					      : !shutdown(fd, SHUT_RDWR);
	}
	return n_broken;
}

#endif
