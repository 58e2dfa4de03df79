/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_ft: failed processes, and how a program goes on without them (ULFM)
 *
 * No call of this file waits for another process. */
#include "mpi_check.h"

#include "core/failed.h"
#include "transport/progress.h"

#include <mpix.h>

/* Handles the reports of failures that have arrived. */
static void poll_failures(struct weft_comm *comm)
{
	weft_vci_lock(comm->vci);
	weft_progress_try(comm->vci);
	weft_vci_unlock(comm->vci);
}

static int mpi_comm_get_failed(
	struct weft_comm *comm, struct weft_group **failedgrp)
{
	poll_failures(comm);
	return weft_failed_group(comm, UINT32_MAX, failedgrp);
}

static int mpi_comm_ack_failed(
	struct weft_comm *comm, int num_to_ack, int *num_acked)
{
	*num_acked = (int)weft_failed_ack(comm, (uint32_t)num_to_ack);
	return 0;
}

static int mpi_comm_failure_ack(struct weft_comm *comm)
{
	poll_failures(comm);
	weft_failed_ack(comm, UINT32_MAX);
	return 0;
}

static int mpi_comm_failure_get_acked(
	struct weft_comm *comm, struct weft_group **failedgrp)
{
	return weft_failed_group(comm, weft_failed_ack(comm, 0), failedgrp);
}

static int mpi_comm_revoke(struct weft_comm *comm)
{
	weft_revoke(comm);
	return 0;
}

static int mpi_comm_is_revoked(struct weft_comm *comm, int *flag)
{
	poll_failures(comm);
	*flag = weft_comm_is_revoked(comm);
	return 0;
}

#include "api_ft.h"
