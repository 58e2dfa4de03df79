/* SPDX-License-Identifier: BSD-3-Clause */
/* coll: blocking, non-blocking and persistent collectives */
#include "coll/coll_algo.h"
#include "coll/coll_settle.h"
#include "coll/edges.h"
#include "collshm/shm_coll.h"

#include "base/event.h"
#include "transport/vci.h"

/* The only algorithm of each operation on intercommunicators. */
static weft_coll_fn *const inter[WEFT_COLL_N] = {
	[WEFT_COLL_BARRIER] = weft_inter_barrier,
	[WEFT_COLL_BCAST] = weft_inter_bcast,
	[WEFT_COLL_GATHER] = weft_inter_gather,
	[WEFT_COLL_SCATTER] = weft_inter_scatter,
	[WEFT_COLL_ALLGATHER] = weft_inter_allgather,
	[WEFT_COLL_ALLTOALL] = weft_inter_alltoall,
	[WEFT_COLL_REDUCE] = weft_inter_reduce,
	[WEFT_COLL_ALLREDUCE] = weft_inter_allreduce,
	[WEFT_COLL_REDUCE_SCATTER] = weft_inter_reduce_scatter,
};

/* Writes the steps of the selected algorithm. */
static void coll_write(struct weft_sched *sched, enum weft_coll_kind kind,
	const struct weft_coll *args)
{
	struct weft_coll_view view;

	if (args->comm->is_inter) {
		view = weft_coll_view_remote(args->comm);
		inter[kind](sched, &view, args);
	} else {
		view = weft_coll_view_of(args->comm);
		weft_coll_write_among(sched, kind, &view, args);
	}
}

/* VCI's lock held. */
static int check_comm(enum weft_coll_kind kind, const struct weft_comm *comm)
{
	if (weft_unlikely(weft_comm_is_revoked(comm)))
		return weft_comm_revoked(comm);
	if (!comm->is_inter || inter[kind])
		return 0;
	return weft_err_set(WEFT_ERR_COMM,
		"the operation is not defined on intercommunicators");
}

int weft_coll_start_locked(enum weft_coll_kind kind,
	const struct weft_coll *args, struct weft_req **req_out)
{
	int err = check_comm(kind, args->comm);

	if (!err)
		err = weft_sched_list_create(
			kind, args, coll_write, 0, req_out);
	if (!err)
		weft_sched_list_start(*req_out);
	return err;
}

int weft_coll_start(enum weft_coll_kind kind, const struct weft_coll *args,
	struct weft_req **req_out)
{
	struct weft_vci *vci = args->comm->vci;
	int err;

	weft_vci_lock(vci);
	err = weft_coll_start_locked(kind, args, req_out);
	weft_vci_unlock(vci);
	return err;
}

/* Checks the communicator, and runs the setups that are due. VCI's lock held.
 */
static int begin_blocking(
	enum weft_coll_kind kind, const struct weft_coll *args)
{
	struct weft_comm *comm = args->comm;
	const bool is_user = args->ctx_offset == WEFT_CTX_OFFSET_COLL;
	int err = check_comm(kind, comm);

	if (!err && !comm->coll.is_settled && is_user &&
		weft_coll_settle_is_due(comm))
		err = weft_coll_settle(args, kind);
	if (!err && kind >= WEFT_COLL_NEIGHBOR_ALLGATHER && is_user &&
		weft_coll_edges_are_due(comm))
		err = weft_coll_edges_settle(args, kind);
	return err;
}

int weft_coll_run(enum weft_coll_kind kind, const struct weft_coll *args)
{
	struct weft_comm *comm = args->comm;
	const bool is_user = args->ctx_offset == WEFT_CTX_OFFSET_COLL;
	int err;

	if (weft_likely(
		    comm->coll.shm && is_user && !weft_comm_is_revoked(comm))) {
		err = weft_shm_coll_try(kind, args);
		if (weft_likely(!err)) {
			weft_event_raise(WEFT_EVENT_coll_algorithm,
				WEFT_COUNTER_PROCESS, false, kind, -1,
				args->recv.count, comm->size);
			return 0;
		}
		if (err != WEFT_AGAIN) {
			weft_vci_lock(comm->vci);
			comm->coll_err = err;
			weft_vci_unlock(comm->vci);
			return err;
		}
	}
	weft_vci_lock(comm->vci);
	err = begin_blocking(kind, args);
	if (!err)
		err = weft_sched_run(kind, args, coll_write, 0);
	if (weft_unlikely(err))
		comm->coll_err = err;
	weft_vci_unlock(comm->vci);
	return err;
}

int weft_coll_run_on_device(
	enum weft_coll_kind kind, const struct weft_coll *args)
{
	struct weft_comm *comm = args->comm;
	int err;

	weft_vci_lock(comm->vci);
	err = begin_blocking(kind, args);
	if (!err && (weft_shm_coll_is_due(kind, args) ||
			    !weft_coll_is_flat(kind, args)))
		err = WEFT_AGAIN;
	else if (!err)
		err = weft_sched_run(kind, args, coll_write, 0);
	if (err && err != WEFT_AGAIN)
		comm->coll_err = err;
	weft_vci_unlock(comm->vci);
	return err;
}

int weft_coll_init(enum weft_coll_kind kind, const struct weft_coll *args,
	struct weft_req **req_out)
{
	struct weft_vci *vci = args->comm->vci;
	int err;

	weft_vci_lock(vci);
	err = check_comm(kind, args->comm);
	if (!err)
		err = weft_sched_list_create(kind, args, coll_write,
			WEFT_TAG_COLL_PERSISTENT, req_out);
	if (!err) {
		(*req_out)->is_persistent = true;
		(*req_out)->is_active = false;
		(*req_out)->is_done = true;
	}
	weft_vci_unlock(vci);
	return err;
}

int weft_coll_allgather_bytes(struct weft_comm *comm, const void *mine,
	void *all, size_t len, struct weft_req **req_out)
{
	struct weft_span span = weft_span_bytes(all, len);
	struct weft_coll args = { .comm = comm,
		.ctx_offset = WEFT_CTX_OFFSET_CTL,
		.send = { .buf = (void *)(uintptr_t)mine,
			.count = span.count,
			.type = span.type },
		.recv = {
			.buf = all, .count = span.count, .type = span.type } };

	return weft_coll_start_locked(WEFT_COLL_ALLGATHER, &args, req_out);
}
