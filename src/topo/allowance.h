/* SPDX-License-Identifier: BSD-3-Clause */
/* allowance: how many processors this job may use at once on this host, how
 * much of their time, and which of them share a cache
 *
 * A container, a batch system or a binding of the launcher may leave the job
 * fewer processors than the machine has. A cgroup's quota limits time, not
 * processors: for a while the processes may use more at once. */
#ifndef WEFT_ALLOWANCE_H
#define WEFT_ALLOWANCE_H

#include <stdbool.h>
#include <stddef.h>

/* Processors that this process or its parent may run on, at least 1. The
 * launcher is bound to the job's processors; each of its processes may be bound
 * to fewer. */
unsigned weft_allowance_cpus(void);

/* Second-level caches of those processors, as if all were shared like the first
 * one's; as many as processors if the machine does not report its caches.
 * `root` is /sys/devices/system/cpu. */
unsigned weft_allowance_caches(const char *root);

/* Lists the processors ("0-3,8") that share the third-level cache with the
 * first one that this process may run on; without such a cache, those of the
 * same package. "" if the machine describes neither or the list is longer than
 * len. False if this process may also run on other processors. */
bool weft_allowance_near(const char *root, char *list_out, size_t len);

/* True if the list `near` has every processor of the list `cpus`; with NULL,
 * every one that weft_allowance_cpus() counts. True if either list is "". */
bool weft_allowance_is_near(const char *near, const char *cpus);

/* The cgroup quota in whole processors, rounded down, at least 1; 0: no quota.
 * `groups` is a file like /proc/self/cgroup, `root` the directory of the
 * hierarchies (/sys/fs/cgroup). */
unsigned weft_allowance_quota(const char *groups, const char *root);

#endif
