/* SPDX-License-Identifier: BSD-3-Clause */
/* ports: closes the sockets on which this process listens */
#ifndef PORTS_H
#define PORTS_H

#include <sys/socket.h>
#include <unistd.h>

static inline void close_ports(void)
{
	for (int fd = 3; fd < 1024; fd++) {
		socklen_t len = sizeof(int);
		int is_listening = 0;

		if (!getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening,
			    &len) &&
			is_listening)
			close(fd);
	}
}

#endif
