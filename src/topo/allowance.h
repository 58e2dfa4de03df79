/* SPDX-License-Identifier: BSD-3-Clause */
/* allowance: how many processors this job may use at once on this host
 *
 * Fewer than the machine has where a container, a batch system or a binding of
 * the launcher gives it a part, or where a cgroup has a quota of time. */
#ifndef WEFT_ALLOWANCE_H
#define WEFT_ALLOWANCE_H

/* Those that this process and its parent may run on (the launcher is bound to
 * the job's, each of its processes maybe to fewer), and no more than the quota.
 * At least 1. Some system calls and small files are read. */
unsigned weft_allowance_cpus(void);

/* The quota alone, in whole processors, rounded down, at least 1; 0: there is
 * none. `groups` is a file like /proc/self/cgroup, `root` where the
 * hierarchies are (/sys/fs/cgroup). */
unsigned weft_allowance_quota(const char *groups, const char *root);

#endif
