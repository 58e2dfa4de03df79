/* SPDX-License-Identifier: BSD-3-Clause */
/* run_accept: closes connections of other users to the PMIx server */
#ifndef WEFT_RUN_ACCEPT_H
#define WEFT_RUN_ACCEPT_H

#include <sys/socket.h>

/* The accept() that libpmix calls in this program. Closes a connection of
 * another user of this host, unless that user is root, and then fails with
 * EAGAIN. */
int weft_run_accept(int fd, struct sockaddr *addr, socklen_t *len) __asm__(
	"accept") __attribute__((visibility("default")));

#endif
