/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_ft: failed processes, and how a program continues without them (ULFM)
 *
 * Only the procedures that agree or shrink wait for other processes. */
#include "mpi_check.h"

#include "comm/repair.h"
#include "core/failed.h"
#include "transport/progress.h"

#include <mpix.h>
#include <stdlib.h>

/* ---- failed members; local ---- */

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

/* ---- windows and files ---- */

static int mpi_win_revoke(struct weft_win *win)
{
	weft_win_revoke(win);
	return 0;
}

static int mpi_win_get_failed(
	struct weft_win *win, struct weft_group **failedgrp)
{
	return mpi_comm_get_failed(win->comm, failedgrp);
}

static int mpi_file_revoke(struct weft_file *fh)
{
	weft_file_revoke(fh);
	return 0;
}

/* ---- agreement ---- */

static int mpi_comm_agree(struct weft_comm *comm, int *flag)
{
	uint32_t word = (uint32_t)*flag;
	int err = weft_repair_agree(comm, &word);

	*flag = (int)word;
	return err;
}

/* A started agreement or shrink. Freed when the operation is complete. */
struct started_repair {
	struct weft_req *req;
	int *flag;	   /* agree */
	MPI_Comm *newcomm; /* shrink */
};

static void end_repair(struct started_repair *s, int err)
{
	weft_mpi_req_end(s->req, err);
	free(s);
}

static void mpi_ft_on_agreed(void *arg, uint32_t flag, int err)
{
	struct started_repair *s = arg;

	if (!err || err == WEFT_ERR_PEER)
		*s->flag = (int)flag;
	end_repair(s, err);
}

static void mpi_ft_on_shrunk(void *arg, struct weft_comm *comm, int err)
{
	struct started_repair *s = arg;

	if (comm)
		*s->newcomm = weft_mpi_comm_handle(comm);
	end_repair(s, err);
}

static int new_repair(struct weft_comm *comm, struct started_repair **s_out)
{
	struct started_repair *s = calloc(1, sizeof(*s));

	if (!s)
		return WEFT_ERR_NOMEM;
	s->req = weft_mpi_req_begin(comm->vci, comm);
	if (!s->req) {
		free(s);
		return WEFT_ERR_NOMEM;
	}
	*s_out = s;
	return 0;
}

/* Destroys an operation that could not be started. */
static void drop_repair(struct started_repair *s)
{
	weft_mpi_req_drop(s->req);
	free(s);
}

static int mpi_comm_iagree(
	struct weft_comm *comm, int *flag, struct weft_req **request)
{
	struct started_repair *s;
	struct weft_req *req;
	int err = new_repair(comm, &s);

	if (err)
		return err;
	s->flag = flag;
	req = s->req;
	err = weft_repair_agree_start(
		comm, (uint32_t)*flag, mpi_ft_on_agreed, s);
	if (err)
		drop_repair(s);
	else
		*request = req;
	return err;
}

/* ---- shrink ---- */

static int mpi_comm_shrink(struct weft_comm *comm, struct weft_comm **made)
{
	return weft_repair_shrink(comm, made);
}

static int ishrink(
	struct weft_comm *comm, MPI_Comm *newcomm, MPI_Request *request)
{
	struct started_repair *s;
	int err = new_repair(comm, &s);

	if (err)
		return err;
	s->newcomm = newcomm;
	*request = weft_mpi_req_handle(s->req);
	err = weft_repair_shrink_start(comm, mpi_ft_on_shrunk, s);
	if (err) {
		*request = MPI_REQUEST_NULL;
		drop_repair(s);
	}
	return err;
}

int PMPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
	struct weft_comm *of = NULL;
	int err;

	weft_mpi_null(newcomm, MPI_COMM_NULL);
	weft_mpi_null(request, MPI_REQUEST_NULL);
	err = weft_check_comm(comm, &of);
	if (!err)
		err = weft_check_ptr(newcomm, "newcomm");
	if (!err)
		err = weft_check_ptr(request, "request");
	if (!err)
		err = ishrink(of, newcomm, request);
	return weft_mpi_end(of, "MPIX_Comm_ishrink", err);
}

#include "api_ft.h"
