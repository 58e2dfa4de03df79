/* SPDX-License-Identifier: BSD-3-Clause */
/* allowance: the number of processors that this job may use at a time on this
 * host, the quota of their time, and the processors that share a cache
 *
 * A container, a batch system or a binding of the launcher may restrict the job
 * to fewer processors than the machine has. A cgroup's quota limits the time,
 * not the processors: for a short time the processes may use more processors.
 */
#ifndef WEFT_ALLOWANCE_H
#define WEFT_ALLOWANCE_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the number of processors that this process or its parent may run on,
 * at least 1. The parent counts because the launcher is bound to the job's
 * processors, and each of its processes may be bound to fewer. */
unsigned weft_allowance_cpus(void);

/* Returns the number of second-level caches of the processors that
 * weft_allowance_cpus() counts. The function assumes that each of these caches
 * has the same number of processors. Returns the number of processors if the
 * machine does not report its caches. `root` is /sys/devices/system/cpu. */
unsigned weft_allowance_caches(const char *root);

/* Lists the processors ("0-3,8") that share the third-level cache with the
 * first processor of this process. Without such a cache, lists the processors
 * of the same package. "" if the machine reports neither, or the list does not
 * fit in len bytes. Returns false if this process may also run on other
 * processors. */
bool weft_allowance_near(const char *root, char *list_out, size_t len);

/* True if the list `near` contains every processor of the list `cpus`. If cpus
 * is NULL, tests all processors that weft_allowance_cpus() counts. True if
 * either list is "". */
bool weft_allowance_is_near(const char *near, const char *cpus);

/* Returns the cgroup quota in whole processors, rounded down, at least 1; 0: no
 * quota. `groups` is a file like /proc/self/cgroup, `root` the directory of the
 * hierarchies (/sys/fs/cgroup). */
unsigned weft_allowance_quota(const char *groups, const char *root);

#endif
