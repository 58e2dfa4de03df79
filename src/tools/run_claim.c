/* SPDX-License-Identifier: BSD-3-Clause */
/* run_claim: the cores that the jobs of this host use */
#include "tools/run_claim.h"

#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Finds the process that has bound a socket to a name. *holder is unchanged if
 * the kernel does not report the process. */
static void find_holder(
	const struct sockaddr_un *name, socklen_t len, struct ucred *holder)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t n = sizeof(*holder);

	if (fd >= 0 && !connect(fd, (const struct sockaddr *)name, len))
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, holder, &n);
	if (fd >= 0)
		close(fd);
}

/* True if a child of the process pid is bound to the core. A launcher binds its
 * processes to the cores that it has claimed. */
static bool has_bound_child(pid_t pid, unsigned cpu)
{
	char path[64];
	bool is_bound = false;
	cpu_set_t set;
	FILE *file;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid,
		(int)pid);
	file = fopen(path, "re");
	while (file && !is_bound && fscanf(file, "%d", &child) == 1)
		is_bound = !sched_getaffinity(child, sizeof(set), &set) &&
			   CPU_ISSET(cpu, &set) &&
			   CPU_COUNT(&set) < sysconf(_SC_NPROCESSORS_ONLN);
	if (file)
		fclose(file);
	return is_bound;
}

/* Any user can hold any name. The claim of another user is valid only while
 * processes of the holder are bound to the core. */
static bool is_valid_claim(
	const struct sockaddr_un *name, socklen_t len, unsigned cpu)
{
	struct ucred holder = { .uid = geteuid() };

	find_holder(name, len, &holder);
	return holder.uid == geteuid() || has_bound_child(holder.pid, cpu);
}

static socklen_t claim_name(struct sockaddr_un *name, unsigned cpu, bool is_own)
{
	socklen_t len = (socklen_t)offsetof(struct sockaddr_un, sun_path) + 1;
	char user[16] = "";

	if (is_own)
		snprintf(user, sizeof(user), "-%u", (unsigned)geteuid());
	*name = (struct sockaddr_un){ .sun_family = AF_UNIX };
	return len + (socklen_t)snprintf(name->sun_path + 1,
			     sizeof(name->sun_path) - 1, "weft-core-%u%s", cpu,
			     user);
}

/* Returns the descriptor that holds the name of a core; -1 if another job uses
 * the core, or if no socket can be created. If the holder's claim is not valid,
 * the jobs of this user exclude each other by a second name. If another user
 * holds that name without a valid claim, too, the descriptor holds no name.
 * Then the core is used without a claim, because otherwise another user could
 * refuse all cores to this user. */
static int bind_name(unsigned cpu)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	for (int is_own = 0; fd >= 0 && is_own < 2; is_own++) {
		struct sockaddr_un name;
		socklen_t len = claim_name(&name, cpu, is_own);

		if (!bind(fd, (struct sockaddr *)&name, len)) {
			listen(fd, 1);
			break;
		}
		if (is_valid_claim(&name, len, cpu)) {
			close(fd);
			return -1;
		}
	}
	return fd;
}

bool weft_run_claim_core(void *arg, unsigned cpu)
{
	struct weft_run_claim *claim = arg;
	struct weft_run_claimed *cores;
	int fd = bind_name(cpu);

	if (fd < 0)
		return false;
	cores = realloc(claim->cores, (claim->n + 1) * sizeof(*cores));
	if (!cores) {
		close(fd);
		return false;
	}
	claim->cores = cores;
	cores[claim->n++] = (struct weft_run_claimed){ fd, cpu, claim->rank };
	return true;
}

void weft_run_claim_drop(struct weft_run_claim *claim, size_t i)
{
	close(claim->cores[i].fd);
	claim->cores[i] = claim->cores[--claim->n];
}

void weft_run_claim_fini(struct weft_run_claim *claim)
{
	while (claim->n)
		weft_run_claim_drop(claim, claim->n - 1);
	free(claim->cores);
	*claim = (struct weft_run_claim){ 0 };
}
