/* SPDX-License-Identifier: BSD-3-Clause */
/* wakeup: a pipe that other processes open through /proc */
#include "shm/wakeup.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Registers this process for weft_wakeup_fence() of other processes. */
static bool take_part(void)
{
	return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED,
		       0, 0) == 0;
}

/* Registers before the process has a second thread, because a later
 * registration takes tens of milliseconds. */
static void __attribute__((constructor)) wakeup_register(void)
{
	take_part();
}

bool weft_wakeup_open(struct weft_wakeup *wakeup)
{
	int ends[2];

	*wakeup = (struct weft_wakeup){ -1, -1 };
	if (!take_part() || pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return false;
	*wakeup = (struct weft_wakeup){ ends[0], ends[1] };
	return true;
}

void weft_wakeup_close(struct weft_wakeup *wakeup)
{
	if (wakeup->wr >= 0) {
		close(wakeup->wr);
		close(wakeup->rd);
	}
	*wakeup = (struct weft_wakeup){ -1, -1 };
}

void weft_wakeup_describe(
	const struct weft_wakeup *wakeup, struct weft_wakeup_at *at)
{
	struct stat st;

	*at = (struct weft_wakeup_at){ 0 };
	if (wakeup->wr < 0 || fstat(wakeup->wr, &st))
		return;
	at->pid = getpid();
	at->fd = wakeup->wr;
	at->ino = st.st_ino;
}

int weft_wakeup_find(const struct weft_wakeup_at *at)
{
	struct weft_wakeup_at copy = *at; /* other processes may write to it */
	struct stat st;
	char path[64];
	int fd;

	if (copy.pid <= 0 || copy.fd < 0 || !take_part())
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)copy.pid,
		(int)copy.fd);
	if (stat(path, &st) || !S_ISFIFO(st.st_mode) || st.st_ino != copy.ino)
		return -1;
	/* also for reading, so that a write raises no SIGPIPE when the owner
	 * has ended */
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) || !S_ISFIFO(st.st_mode) || st.st_ino != copy.ino) {
		close(fd);
		return -1;
	}
	return fd;
}

void weft_wakeup_signal(int fd)
{
	ssize_t n = fd < 0 ? 0 : write(fd, "", 1);

	(void)n; /* a full pipe wakes the owner too */
}

void weft_wakeup_drain(const struct weft_wakeup *wakeup)
{
	char buf[256];
	ssize_t n;

	do
		n = read(wakeup->rd, buf, sizeof(buf));
	while (n == (ssize_t)sizeof(buf));
}

bool weft_wakeup_fence(void)
{
	return syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) ==
	       0;
}
