/* SPDX-License-Identifier: BSD-3-Clause */
/* forbid: runs a command with a filter that refuses system calls, as in a
 * container with a restricted list
 *
 *   forbid [-c CALL[,CALL...]] COMMAND...      (default: memfd_create) */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct call {
	const char *name;
	unsigned number;
} calls[] = {
	{ "memfd_create", SYS_memfd_create },
	{ "process_vm_readv", SYS_process_vm_readv },
	{ "process_vm_writev", SYS_process_vm_writev },
	{ "io_uring_setup", SYS_io_uring_setup },
	{ "ptrace", SYS_ptrace },
};

enum { N_CALLS = sizeof(calls) / sizeof(*calls) };

static int refuse(unsigned number)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, filter };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int refuse_named(char *list)
{
	for (char *name = strtok(list, ","); name; name = strtok(NULL, ",")) {
		const struct call *call = calls;

		while (call < calls + N_CALLS && strcmp(call->name, name))
			call++;
		if (call == calls + N_CALLS) {
			fprintf(stderr, "forbid: unknown call %s\n", name);
			return -1;
		}
		if (refuse(call->number))
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	char memfd[] = "memfd_create", *list = memfd;

	if (argc > 3 && !strcmp(argv[1], "-c")) {
		list = argv[2];
		argc -= 2;
		argv += 2;
	}
	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		refuse_named(list)) {
		perror("forbid");
		return 77;
	}
	execvp(argv[1], argv + 1);
	perror(argv[1]);
	return 127;
}
