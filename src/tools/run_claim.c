/* SPDX-License-Identifier: BSD-3-Clause */
/* run_claim: which cores the jobs of this host are on */
#include "tools/run_claim.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The descriptor that holds the name, or -1. */
static int take_name(unsigned cpu)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
		"weft-core-%u", cpu);

	if (fd < 0)
		return -1;
	if (!bind(fd, (struct sockaddr *)&name,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
				(size_t)len)))
		return fd;
	close(fd);
	return -1;
}

bool weft_run_claim_core(void *arg, unsigned cpu)
{
	struct weft_run_claim *claim = arg;
	int *fds, fd = take_name(cpu);

	if (fd < 0)
		return false;
	fds = realloc(claim->fds, (claim->n + 1) * sizeof(*fds));
	if (!fds) {
		close(fd);
		return false;
	}
	claim->fds = fds;
	fds[claim->n++] = fd;
	return true;
}

void weft_run_claim_fini(struct weft_run_claim *claim)
{
	for (size_t i = 0; i < claim->n; i++)
		close(claim->fds[i]);
	free(claim->fds);
	*claim = (struct weft_run_claim){ 0 };
}
