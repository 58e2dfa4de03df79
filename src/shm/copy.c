/* SPDX-License-Identifier: BSD-3-Clause */
/* copy: copies directly between this process's memory and another's */
#include "shm/copy.h"

#include "base/err.h"
#include "base/pid.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

enum { COPY_IOV = 64, END_MS = 200 };

bool weft_copy_can_read(const struct weft_shm_bc *bc)
{
	uint64_t value = 0;
	struct iovec local = { &value, sizeof(value) };
	struct iovec remote = { (void *)(uintptr_t)bc->probe_addr,
		sizeof(value) };

	return process_vm_readv(bc->pid, &local, 1, &remote, 1, 0) ==
		       (ssize_t)sizeof(value) &&
	       value == bc->probe_value;
}

void weft_copy_permit(void)
{
	/* Yama may permit such access only to ancestors of a process. Without
	 * Yama the call fails and has no effect. */
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

/* Fills part with the entries of runs that are still to be copied, at most
 * COPY_IOV of them. The copy continues at byte *skip of entry *at; both are
 * advanced past entries that are complete. *n_out is the number of entries in
 * part, 0 after the last one. */
static void runs_left(struct iovec *part, const struct iovec *runs, size_t n,
	size_t *at, size_t *skip, size_t *n_out)
{
	while (*at < n && *skip >= runs[*at].iov_len)
		*skip -= runs[(*at)++].iov_len;
	*n_out = 0;
	for (; *n_out < COPY_IOV && *at + *n_out < n; ++*n_out)
		part[*n_out] = runs[*at + *n_out];
	if (!*n_out)
		return;
	part[0].iov_base = (char *)part[0].iov_base + *skip;
	part[0].iov_len -= *skip;
}

/* The kernel returns ESRCH also for a living process whose first thread has
 * ended. So ESRCH alone does not prove that the process has ended. */
static int copy_err(pid_t pid, int reason)
{
	if (reason == ESRCH && weft_pid_has_ended(pid, END_MS))
		return WEFT_ERR_PEER;
	return reason == EFAULT || reason == ENOMEM ? WEFT_ERR_OTHER
						    : WEFT_ERR_ACCESS;
}

int weft_copy_move(pid_t pid, const struct iovec *local, size_t n_local,
	const struct iovec *remote, size_t n_remote, bool is_write)
{
	struct iovec here[COPY_IOV], there[COPY_IOV];
	size_t at[2] = { 0, 0 }, skip[2] = { 0, 0 }, n[2];

	for (;;) {
		ssize_t got;

		runs_left(here, local, n_local, &at[0], &skip[0], &n[0]);
		runs_left(there, remote, n_remote, &at[1], &skip[1], &n[1]);
		if (!n[0] || !n[1])
			return 0;
		got = is_write ? process_vm_writev(
					 pid, here, n[0], there, n[1], 0)
			       : process_vm_readv(
					 pid, here, n[0], there, n[1], 0);
		if (got <= 0) {
			int reason = errno;

			return weft_err_set(copy_err(pid, reason),
				"cannot %s memory of process %d: %s",
				is_write ? "write" : "read", (int)pid,
				strerror(reason));
		}
		skip[0] += (size_t)got;
		skip[1] += (size_t)got;
	}
}

int weft_copy_read(pid_t pid, const struct iovec *local, size_t n_local,
	uint64_t addr, size_t len)
{
	const struct iovec remote = { (void *)(uintptr_t)addr, len };

	return weft_copy_move(pid, local, n_local, &remote, 1, false);
}
