/* SPDX-License-Identifier: BSD-3-Clause */
/* foreign: processes of other jobs
 *
 * A process number names its job in the upper half, so that a process of
 * another job is a peer like any other. What differs: the process manager does
 * not know it, so its business card comes with the communicator that it is met
 * in; it is reached over the fabric; and what proves its messages is a second
 * key, made from this process's own, which a member of the job cannot be posed
 * as with. Who has a business card from weft_foreign_bc() is accepted; before
 * the first one is made, nobody is. All on the default VCI, with its lock held.
 */
#ifndef WEFT_FOREIGN_H
#define WEFT_FOREIGN_H

#include "transport/vci.h"
#include "transport/proc.h"

#include <stdbool.h>
#include <stdint.h>

/* The number of the job with this name: what stands in the upper half. */
uint32_t weft_foreign_job(const char *name);

/* The process manager says that another job is over: in a moment, when what
 * its processes sent has arrived, whatever waits for them ends. */
void weft_foreign_job_ended(const char *name);
bool weft_foreign_has_ended(const char *name);

/* True for a process of another job. */
static inline bool weft_foreign_is(uint64_t proc)
{
	return proc >> 32 != weft_proc.proc >> 32;
}

/* Other jobs may know from now on how to reach this process. Any thread. */
static inline void weft_foreign_expect(void)
{
	atomic_store(&weft_proc.has_foreign, true);
}

/* How other jobs reach this process; opens the fabric and the door. What is
 * wrong with the fabric is the error. */
int weft_foreign_bc(struct weft_vci_card *bc_out);

/* How a process of another job is reached. A business card of one that is
 * known, or that is not of another job, changes nothing. WEFT_ERR_PEER when it
 * says that the process cannot be reached. */
int weft_foreign_set_bc(uint64_t proc, const struct weft_vci_card *bc);

/* Two processes of different jobs have each other's business cards now. Where
 * connects must not cross (plan.connects_one_way) one of the two, is_caller,
 * connects at once, and the other waits for that, two seconds at most, before
 * it sends. Does not block; a process of this job changes nothing. */
void weft_foreign_meet(uint64_t proc, bool is_caller);

#endif
