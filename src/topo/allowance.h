/* SPDX-License-Identifier: BSD-3-Clause */
/* allowance: how many processors this job may use at once on this host, how
 * much of their time, and which of them share a cache
 *
 * Fewer than the machine has where a container, a batch system or a binding of
 * the launcher gives it a part. A cgroup's quota is another thing: its
 * processes may use more at once, for a while. */
#ifndef WEFT_ALLOWANCE_H
#define WEFT_ALLOWANCE_H

#include <stdbool.h>
#include <stddef.h>

/* Those that this process and its parent may run on (the launcher is bound to
 * the job's, each of its processes maybe to fewer). At least 1. */
unsigned weft_allowance_cpus(void);

/* The second-level caches of those, counted as if all were shared like that of
 * the first; as many as processors where the machine does not say. `root` is
 * where it does (/sys/devices/system/cpu). */
unsigned weft_allowance_caches(const char *root);

/* Lists the processors ("0-3,8") that share the third-level cache with the
 * first one that this process may run on; without such a cache, those of the
 * same package. "" if the machine describes neither or the list is longer than
 * len. False if this process may also run on other processors. */
bool weft_allowance_near(const char *root, char *list_out, size_t len);

/* True if the list `near` has every processor of the list `cpus`; with NULL,
 * every one that weft_allowance_cpus() counts. True if either list is "". */
bool weft_allowance_is_near(const char *near, const char *cpus);

/* The quota, in whole processors, rounded down, at least 1; 0: there is
 * none. `groups` is a file like /proc/self/cgroup, `root` where the
 * hierarchies are (/sys/fs/cgroup). */
unsigned weft_allowance_quota(const char *groups, const char *root);

#endif
