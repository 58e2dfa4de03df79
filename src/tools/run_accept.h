/* SPDX-License-Identifier: BSD-3-Clause */
/* run_accept: no other user's connection reaches our PMIx server */
#ifndef WEFT_RUN_ACCEPT_H
#define WEFT_RUN_ACCEPT_H

#include <sys/socket.h>

/* accept(), as libpmix calls it in this program: connections of other users of
 * this host are closed, as if there had been none (EAGAIN). */
int weft_run_accept(int fd, struct sockaddr *addr, socklen_t *len) __asm__(
	"accept") __attribute__((visibility("default")));

#endif
