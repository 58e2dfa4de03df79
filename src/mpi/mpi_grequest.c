/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_grequest: generalized requests; MPI-5.0 13.2 */
#include "mpi_check.h"
#include "mpi_map.h"

#include "transport/vci.h"
#include "transport/proc.h"

#include <stdlib.h>

/* Created by MPI_Grequest_start, freed with its request. */
struct weft_general {
	MPI_Grequest_query_function *query;
	MPI_Grequest_free_function *free;
	MPI_Grequest_cancel_function *cancel;
	void *extra;
};

static int general_query(struct weft_req *req, struct weft_status *status)
{
	struct weft_general *general = req->general;
	MPI_Status mpi;
	int rc;

	weft_status_empty(&mpi);
	mpi.MPI_ERROR = MPI_SUCCESS;
	rc = general->query(general->extra, &mpi);
	status->source = mpi.MPI_SOURCE;
	status->tag = mpi.MPI_TAG;
	status->len = weft_status_len(&mpi);
	status->is_cancelled = mpi.MPI_internal[2] != 0;
	return rc;
}

static int general_cancel(struct weft_req *req)
{
	struct weft_general *general = req->general;

	return general->cancel(general->extra, req->is_done);
}

/* Called once; a result other than 0 is the user function's error. */
static int general_free(struct weft_req *req)
{
	struct weft_general *general = req->general;
	MPI_Grequest_free_function *fn = general->free;

	general->free = NULL;
	return fn ? fn(general->extra) : 0;
}

static void general_release(struct weft_req *req)
{
	free(req->general);
}

static const struct weft_req_ops general_ops = {
	.query = general_query,
	.cancel = general_cancel,
	.free = general_free,
	.release = general_release,
};

static struct weft_req *new_general(struct weft_general *general)
{
	struct weft_req *req;

	weft_vci_lock(&weft_proc.vci);
	req = weft_req_new(&weft_proc.vci, WEFT_REQ_GENERAL);
	if (req) {
		req->ops = &general_ops;
		req->general = general;
		weft_req_get(req); /* released by MPI_Grequest_complete */
	}
	weft_vci_unlock(&weft_proc.vci);
	return req;
}

static int mpi_grequest_start(MPI_Grequest_query_function *query_fn,
	MPI_Grequest_free_function *free_fn,
	MPI_Grequest_cancel_function *cancel_fn, void *extra_state,
	struct weft_req **made)
{
	struct weft_general *general = malloc(sizeof(*general));

	if (!general)
		return WEFT_ERR_NOMEM;
	*general = (struct weft_general){ query_fn, free_fn, cancel_fn,
		extra_state };
	*made = new_general(general);
	if (*made)
		return 0;
	free(general);
	return WEFT_ERR_NOMEM;
}

static int mpi_grequest_complete(struct weft_req *req)
{
	bool is_freed;
	int err = 0;

	if (req->kind != WEFT_REQ_GENERAL || req->is_done)
		return weft_err_set(
			WEFT_ERR_REQUEST, "not an active general request");
	weft_vci_lock(&weft_proc.vci);
	weft_req_complete(req, 0);
	is_freed = req->is_user_freed;
	weft_vci_unlock(&weft_proc.vci);
	if (is_freed)
		err = req->ops->free(req);
	weft_vci_lock(&weft_proc.vci);
	weft_req_put(req);
	weft_vci_unlock(&weft_proc.vci);
	return err;
}

#include "api_grequest.h"
