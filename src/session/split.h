/* SPDX-License-Identifier: BSD-3-Clause */
/* split: communicators of processes that share a resource
 *
 * The functions are collective, block, and acquire the VCI's lock. *comm_out is
 * NULL for a process that shares no resource. An intercommunicator yields an
 * intercommunicator, or NULL if one side would be empty. */
#ifndef WEFT_SPLIT_H
#define WEFT_SPLIT_H

#include "core/comm.h"

struct weft_info;

/* Participates in a split that other members make by another function. Sets
 * *comm_out to NULL. */
int weft_split_none(struct weft_comm *comm, struct weft_comm **comm_out);

/* Creates a communicator of the members on this node, of all jobs, that may
 * open each other's memory (weft_proc_node_id, weft_pid_access_id). */
int weft_split_host(
	struct weft_comm *comm, int32_t key, struct weft_comm **comm_out);

/* Creates a communicator of the members that share the hardware type that the
 * info key mpi_hw_resource_type names: "mpi_shared_memory", as
 * weft_split_host(), or a name of core/hardware.h. In the latter case, members
 * of different jobs get different communicators. */
int weft_split_guided(struct weft_comm *comm, int32_t key,
	const struct weft_info *info, struct weft_comm **comm_out);

/* Splits by the first hardware level, from the node down, that divides the
 * members that call this function; NULL if no level does. Other members call
 * weft_split_none(). If there is a result, its level is stored in info (unless
 * NULL) under mpi_hw_resource_type. NULL for an intercommunicator. */
int weft_split_finer(struct weft_comm *comm, int32_t key,
	struct weft_info *info, struct weft_comm **comm_out);

/* Splits as weft_split_guided(), or creates a communicator of the members of
 * the process set that the key mpi_pset_name names. WEFT_ERR_INFO: info has
 * both keys. The calls of the other members still return. */
int weft_split_resource(struct weft_comm *comm, int32_t key,
	const struct weft_info *info, struct weft_comm **comm_out);

#endif
