/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run_accept: closes connections of other users to the PMIx server
 *
 * libpmix listens on a TCP port of the loopback interface. Any user of the host
 * can connect to it. The thread of libpmix waits for seconds for the first data
 * of each connection, so twenty silent connections stop a job for a minute.
 * libpmix has no other transport and no hook before that read. Therefore this
 * program defines accept(): the dynamic linker binds the calls of libpmix to
 * it.
 */
#include "tools/run_accept.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Finds the user of the other end of a connection within this host. The kernel
 * lists the socket of that end with the two addresses exchanged. False if it is
 * not listed. */
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

/* False if the other end belongs to a user other than root and the
 * launcher's. */
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
	errno = EAGAIN; /* libpmix 4 and 5 ignore this error */
	return -1;
}
