/* SPDX-License-Identifier: BSD-3-Clause */
/* rank_lock: binds the socket of a rank, or finds the process that holds the
 * socket */
#include "boot/rank_lock.h"

#include "base/err.h"
#include "base/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static socklen_t rank_lock_name(
	struct sockaddr_un *name, const char *job, const char *rank)
{
	static const uint8_t no_key[16];
	int len;

	*name = (struct sockaddr_un){ .sun_family = AF_UNIX };
	len = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1,
		"weft-rank-%016" PRIx64 "-%.20s",
		weft_hash(no_key, job, strlen(job)), rank);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)len);
}

/* Returns the pid of the process that listens at the name; 0 if the process has
 * ended or belongs to another user. A process of another user may bind any
 * name, so it does not hold the lock. */
static pid_t rank_lock_holder(const struct sockaddr_un *name, socklen_t len)
{
	struct ucred holder = { 0 };
	socklen_t n = sizeof(holder);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return 0;
	if (connect(fd, (const struct sockaddr *)name, len) ||
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &holder, &n) ||
		holder.uid != geteuid())
		holder.pid = 0;
	close(fd);
	/* a forked child that never called exec() may still hold the socket */
	if (holder.pid > 0 && kill(holder.pid, 0) && errno == ESRCH)
		holder.pid = 0;
	return holder.pid;
}

int weft_rank_lock_acquire(const char *job, const char *rank)
{
	struct sockaddr_un name;
	socklen_t len = rank_lock_name(&name, job, rank);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	pid_t pid;

	if (fd < 0)
		return 0;
	if (!bind(fd, (struct sockaddr *)&name, len) && !listen(fd, 16))
		return 0; /* held until the process ends */
	close(fd);
	pid = rank_lock_holder(&name, len);
	if (pid <= 0 || pid == getpid())
		return 0;
	return weft_err_set(WEFT_ERR_BOOT,
		"process %d is rank %s of this job already, and process %d "
		"has inherited its variables: start an MPI program in a rank "
		"with MPI_Comm_spawn, or as a job of its own (env -u "
		"PMIX_NAMESPACE -u PMIX_RANK PROGRAM, or mpiexec PROGRAM)",
		(int)pid, rank, (int)getpid());
}
