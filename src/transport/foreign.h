/* SPDX-License-Identifier: BSD-3-Clause */
/* foreign: processes of other jobs
 *
 * A process number has its job in the upper half, so a process of another job
 * is a peer like any other, with three differences. The process manager does
 * not know it, so its business card is exchanged when a communicator with both
 * is created. On the same node it uses an extra ring of the segment (seg.h),
 * which is freed after it has ended. The cookies of its messages use a second
 * key, which is derived from the key of this process. With this key, a process
 * cannot send as a member of the job. Messages of other jobs are dropped until
 * weft_foreign_expect() is called; weft_foreign_bc() calls it. Functions
 * without "Any thread." need the default VCI's lock. */
#ifndef WEFT_FOREIGN_H
#define WEFT_FOREIGN_H

#include "transport/vci.h"
#include "transport/proc.h"

#include <stdbool.h>
#include <stdint.h>

/* weft_foreign_job_ended() is called when the process manager reports that
 * another job has ended. After two seconds, in which the job's last messages
 * arrive, operations that wait for its processes fail. weft_foreign_has_ended()
 * returns whether that report has arrived. */
void weft_foreign_job_ended(const char *name);
bool weft_foreign_has_ended(const char *name);

/* True for a process of another job. */
static inline bool weft_foreign_is(uint64_t proc)
{
	return proc >> 32 != weft_proc.proc >> 32;
}

/* Accepts messages of other jobs from now on. Any thread. */
static inline void weft_foreign_expect(void)
{
	atomic_store(&weft_proc.has_foreign, true);
}

/* Makes the business card for other jobs, and accepts messages of other jobs
 * from then on. is_near: all processes that receive the card are on this host.
 * Otherwise, or if this process has no shared memory, opens the fabric. Returns
 * 0 or the error of the fabric. */
int weft_foreign_bc(bool is_near, struct weft_vci_card *bc_out);

/* True if the process, of this or of another job, runs on this node. False if
 * the card of a process of another job is not known. The lock is needed only
 * for a process of another job. */
bool weft_foreign_is_local(uint64_t proc);

/* True if the process is on this host and, as far as is known, shares memory
 * with this process. The process is of this or of another job. */
bool weft_foreign_is_near(uint64_t proc);

/* Attaches to the memory of a process of another job whose card is known. True
 * if messages to that process use shared memory. */
bool weft_foreign_attach(uint64_t proc);

/* Sets the business card of a process of another job. The card is ignored if
 * the process has one already or belongs to this job. WEFT_ERR_PEER if the
 * process cannot be reached by its card. */
int weft_foreign_set_bc(uint64_t proc, const struct weft_vci_card *bc);

/* True for a process of this job, and for a process of another job whose
 * business card this process has. Otherwise a message to it would wait forever.
 */
bool weft_foreign_is_met(uint64_t proc);

/* True if the process is of another job, which has ended. */
bool weft_foreign_is_ended(uint64_t proc);

/* Called in an idle round of progress while vci->foreign_check_ns is not 0. At
 * most once a second, tests whether processes of other jobs on this node have
 * ended, because their launcher may not be connected to that of this job.
 * Operations on a process that has ended fail, at the second such test. */
void weft_foreign_check(struct weft_vci *vci);

/* Called when this process and a process of another job have each other's
 * business cards. If connects must not cross (plan.connects_one_way), the
 * caller with is_caller set connects immediately. The other process queues its
 * messages until the first message of the caller arrives, for two seconds at
 * most. Does not block. Has no effect for a process of this job. */
void weft_foreign_connect(uint64_t proc, bool is_caller);

#endif
