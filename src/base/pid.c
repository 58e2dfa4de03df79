/* SPDX-License-Identifier: BSD-3-Clause */
/* pid: tests whether a process has ended; identifies the processes that may
 * open each other's descriptors */
#include "base/pid.h"

#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

bool weft_pid_has_ended(pid_t pid, int wait_ms)
{
	struct pollfd end = { .events = POLLIN };
	bool has_ended;

	if (pid <= 0)
		return false;
	end.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (end.fd < 0) /* Linux before 5.3 has no pidfd_open() */
		return kill(pid, 0) && errno == ESRCH;
	has_ended = poll(&end, 1, wait_ms) > 0;
	close(end.fd);
	return has_ended;
}

bool weft_pid_is_stopped(pid_t pid)
{
	char path[32], text[512];
	const char *state;
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[len > 0 ? len : 0] = 0;
	state = strrchr(text, ')'); /* the end of the name */
	return state &&
	       (!strncmp(state, ") T", 3) || !strncmp(state, ") t", 3));
}

static uint64_t namespace_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (uint64_t)st.st_ino;
}

/* Hashes the values that the kernel checks when a process opens /proc/PID/fd of
 * another process (PTRACE_MODE_READ_FSCREDS). */
uint64_t weft_pid_access_id(void)
{
	static const uint8_t no_key[16];
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct caps[2] = { { 0 } };
	bool may_open_any;
	uint64_t id[6] = {
		namespace_of("/proc/self/ns/user"),
		namespace_of("/proc/self/ns/pid"),
		(uint64_t)getuid() << 32 | getgid(),
	};

	(void)syscall(SYS_capget, &head, caps);
	id[3] = caps[0].permitted;
	id[4] = caps[1].permitted;
	may_open_any = caps[0].effective >> CAP_SYS_PTRACE & 1;
	/* an executable without read permission is not dumpable */
	if (prctl(PR_GET_DUMPABLE) != 1 && !may_open_any)
		id[5] = (uint64_t)getpid();
	return weft_hash(no_key, id, sizeof(id));
}
