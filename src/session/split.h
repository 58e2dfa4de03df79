/* SPDX-License-Identifier: BSD-3-Clause */
/* split: communicators of those who share something
 *
 * Collective; they block and take the VCI's lock. *comm_out is NULL where
 * there is nothing to share; of an intercommunicator comes one, or NULL where
 * one side has nobody. */
#ifndef WEFT_SPLIT_H
#define WEFT_SPLIT_H

#include "core/comm.h"

struct weft_info;

/* Takes part without asking for a result. */
int weft_split_none(struct weft_comm *comm, struct weft_comm **comm_out);

/* Who is on my node. */
int weft_split_host(
	struct weft_comm *comm, int32_t key, struct weft_comm **comm_out);

/* Who runs on the same piece of the hardware named by the info key
 * mpi_hw_resource_type ("mpi_shared_memory" or a name of core/hardware.h). */
int weft_split_guided(struct weft_comm *comm, int32_t key,
	const struct weft_info *info, struct weft_comm **comm_out);

/* The first level of hardware, from the node down, that divides the members
 * that call this; NULL when none does. Other members call weft_split_none(). If
 * there is a result, mpi_hw_resource_type in info (NULL: none) names its level.
 * An intercommunicator is not divided so: NULL. */
int weft_split_finer(struct weft_comm *comm, int32_t key,
	struct weft_info *info, struct weft_comm **comm_out);

/* By mpi_hw_resource_type as above, or who names the same process set in the
 * key mpi_pset_name and is in it. WEFT_ERR_INFO if info has both keys; the
 * other members' calls end all the same. */
int weft_split_resource(struct weft_comm *comm, int32_t key,
	const struct weft_info *info, struct weft_comm **comm_out);

#endif
