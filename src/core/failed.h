/* SPDX-License-Identifier: BSD-3-Clause */
/* failed: the processes that are known to have failed
 *
 * A process has one list, in the order of the reports. Entries are never
 * removed. */
#ifndef WEFT_FAILED_H
#define WEFT_FAILED_H

#include "boot/boot.h"
#include "core/comm.h"

#include <stdbool.h>

/* Adds a process to the list, unless the list has it. Any thread. */
void weft_failed_add(uint64_t proc);

/* Returns the number of processes of this job in the list. Any thread. */
uint32_t weft_failed_count(void);

/* Creates the group of the processes of this job that are not in the list, in
 * rank order. 0 or WEFT_ERR_NOMEM. Any thread. */
int weft_failed_others(struct weft_group **group_out);

/* Records a death that the process manager reports. */
void weft_failed_event(const struct weft_boot_event *event);

/* True if a member of the group has failed. Costs one load while the list is
 * empty. Any thread. */
bool weft_failed_in(const struct weft_group *group);

/* True if the process proc has failed. Reads the whole list. */
bool weft_failed_is(uint64_t proc);

/* Returns the process number + 1 of entry i of the list. 0: the list has no
 * such entry. Any thread. */
uint64_t weft_failed_entry(uint32_t i);

/* True if the process proc has failed because it called MPI_Abort, or because
 * the MPI_Abort of another process ended it. */
bool weft_failed_was_aborted(uint64_t proc);

/* True if the process manager has reported the failure of the process proc. It
 * reports such a failure to all processes of the job. False if only this
 * process or another one has detected the failure. */
bool weft_failed_was_reported(uint64_t proc);

/* True if the process manager has not reported the failure of the process proc,
 * but may do so soon: this process has known of the failure for less than two
 * seconds. */
bool weft_failed_may_be_reported(uint64_t proc);

/* Returns the rank of the member whose failure was reported first, or
 * WEFT_UNDEFINED. */
int32_t weft_failed_first(const struct weft_group *group);

/* Returns the process number + 1 of a failed member: of those that the program
 * has not acknowledged, the one that was reported first. 0: there is none.
 * VCI's lock held. */
uint64_t weft_failed_unacked(const struct weft_comm *comm);

/* Creates the group of the first n failed members of a communicator, or of all
 * of them if there are fewer, in the order of the list. Later groups of the
 * same communicator begin with the same members. 0 or WEFT_ERR_NOMEM. Any
 * thread. */
int weft_failed_group(const struct weft_comm *comm, uint32_t n,
	struct weft_group **group_out);

/* Acknowledges the first n failed members of a communicator, or all of them if
 * there are fewer. Returns how many are acknowledged now. Acquires the lock of
 * each VCI of the communicator. */
uint32_t weft_failed_ack(struct weft_comm *comm, uint32_t n);

#endif
