/* SPDX-License-Identifier: BSD-3-Clause */
/* pid: other processes of this machine */
#include "base/pid.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

bool weft_pid_has_ended(pid_t pid, int wait_ms)
{
	struct pollfd end = { .events = POLLIN };
	bool has_ended;

	if (pid <= 0)
		return false;
	end.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (end.fd < 0) /* not known before Linux 5.3 */
		return kill(pid, 0) && errno == ESRCH;
	has_ended = poll(&end, 1, wait_ms) > 0;
	close(end.fd);
	return has_ended;
}
