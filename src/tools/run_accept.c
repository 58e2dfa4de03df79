/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run_accept: no other user's connection reaches our PMIx server
 *
 * libpmix listens on a TCP port of the loopback interface, which any user of
 * the host can connect to, and its thread waits for seconds for what such a
 * connection sends first: twenty that send nothing stop a job for a minute. It
 * has no other transport and no hook before that. So its calls of accept() come
 * here, as those of a library go to the program's function of that name.
 */
#include "tools/run_accept.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The user of the other end of a connection within this host: the kernel lists
 * its socket with the two addresses the other way round. False: not listed. */
static bool run_accept_peer_uid(const struct sockaddr_in *there,
	const struct sockaddr_in *here, unsigned *uid_out)
{
	FILE *file = fopen("/proc/net/tcp", "re");
	char line[256], pair[64];
	bool is_found = false;

	if (!file)
		return false;
	snprintf(pair, sizeof(pair), " %08X:%04X %08X:%04X ",
		there->sin_addr.s_addr, ntohs(there->sin_port),
		here->sin_addr.s_addr, ntohs(here->sin_port));
	while (!is_found && fgets(line, sizeof(line), file)) {
		char *rest = strstr(line, pair);

		/* state, queues, timer, retransmissions, user */
		is_found = rest &&
			   sscanf(rest + strlen(pair),
				   "%*x %*x:%*x %*x:%*x %*x %u", uid_out) == 1;
	}
	fclose(file);
	return is_found;
}

/* True unless the other end is known to be of another user who is not root. */
static bool run_accept_is_allowed(int fd)
{
	struct sockaddr_in here, there;
	socklen_t n_here = sizeof(here), n_there = sizeof(there);
	unsigned uid = geteuid();

	return getsockname(fd, (struct sockaddr *)&here, &n_here) ||
	       getpeername(fd, (struct sockaddr *)&there, &n_there) ||
	       here.sin_family != AF_INET ||
	       !run_accept_peer_uid(&there, &here, &uid) || !uid ||
	       uid == geteuid();
}

int weft_run_accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	int peer = accept4(fd, addr, len, 0);

	if (peer < 0 || run_accept_is_allowed(peer))
		return peer;
	close(peer);
	errno = EAGAIN; /* libpmix 4 and 5 go on after this one */
	return -1;
}
