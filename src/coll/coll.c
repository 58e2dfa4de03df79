/* SPDX-License-Identifier: BSD-3-Clause */
/* coll: pick the algorithm, write its steps, run them */
#include "coll/shm_coll.h"

#include "transport/vci.h"

/* The table of algorithms: one per operation, for each kind of communicator.
 * Within one, the algorithm follows from sizes all members know alike. */
static weft_coll_fn *const intra[WEFT_COLL_N] = {
	[WEFT_COLL_BARRIER] = weft_barrier_build,
	[WEFT_COLL_BCAST] = weft_bcast_build,
	[WEFT_COLL_GATHER] = weft_gather_build,
	[WEFT_COLL_SCATTER] = weft_scatter_build,
	[WEFT_COLL_ALLGATHER] = weft_allgather_build,
	[WEFT_COLL_ALLTOALL] = weft_alltoall_build,
	[WEFT_COLL_REDUCE] = weft_reduce_build,
	[WEFT_COLL_ALLREDUCE] = weft_allreduce_build,
	[WEFT_COLL_REDUCE_SCATTER] = weft_reduce_scatter_build,
	[WEFT_COLL_SCAN] = weft_scan_build,
	[WEFT_COLL_EXSCAN] = weft_exscan_build,
	[WEFT_COLL_NEIGHBOR_ALLGATHER] = weft_neighbor_build,
	[WEFT_COLL_NEIGHBOR_ALLTOALL] = weft_neighbor_build,
};

static weft_coll_fn *const inter[WEFT_COLL_N] = {
	[WEFT_COLL_BARRIER] = weft_inter_build_barrier,
	[WEFT_COLL_BCAST] = weft_inter_build_bcast,
	[WEFT_COLL_GATHER] = weft_inter_build_gather,
	[WEFT_COLL_SCATTER] = weft_inter_build_scatter,
	[WEFT_COLL_ALLGATHER] = weft_inter_build_allgather,
	[WEFT_COLL_ALLTOALL] = weft_inter_build_alltoall,
	[WEFT_COLL_REDUCE] = weft_inter_build_reduce,
	[WEFT_COLL_ALLREDUCE] = weft_inter_build_allreduce,
	[WEFT_COLL_REDUCE_SCATTER] = weft_inter_build_reduce_scatter,
};

static void coll_hold(
	struct weft_sched *sched, const struct weft_blocks *blocks, int32_t n)
{
	weft_sched_hold(sched, blocks->type);
	for (int32_t i = 0; blocks->types && i < n; i++)
		weft_sched_hold(sched, blocks->types[i]);
}

static int32_t n_blocks(const struct weft_coll *args, int32_t n_neighbors)
{
	return args->sources || args->dests ? n_neighbors
					    : args->comm->remote_size;
}

/* The steps of an operation, not started; NULL and an error on failure. */
static struct weft_sched *build(
	enum weft_coll_kind kind, const struct weft_coll *args, int *err_out)
{
	weft_coll_fn *fn = args->comm->is_inter ? inter[kind] : intra[kind];
	struct weft_sched *sched;

	if (!fn) {
		*err_out = weft_err_set(WEFT_ERR_COMM,
			"the operation is not defined on intercommunicators");
		return NULL;
	}
	sched = weft_sched_create(args->comm, args->ctx_offset, kind);
	if (!sched) {
		weft_sched_give_up_all(
			args->comm, args->ctx_offset, kind, fn, args);
		*err_out = WEFT_ERR_NOMEM;
		return NULL;
	}
	coll_hold(sched, &args->send, n_blocks(args, args->n_dests));
	coll_hold(sched, &args->recv, n_blocks(args, args->n_sources));
	weft_sched_hold_op(sched, args->op);
	fn(sched, args);
	*err_out = weft_sched_err(sched);
	if (*err_out) {
		weft_sched_give_up(sched);
		weft_req_put(weft_sched_req(sched));
		return NULL;
	}
	return sched;
}

int weft_coll_start_locked(enum weft_coll_kind kind,
	const struct weft_coll *args, struct weft_req **req_out)
{
	int err;
	struct weft_sched *sched = build(kind, args, &err);

	if (!sched)
		return err;
	weft_sched_start(sched);
	*req_out = weft_sched_req(sched);
	return 0;
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

/* Operations worth doing without a list when they are short. */
static weft_fast_fn *const quick[WEFT_COLL_N] = {
	[WEFT_COLL_BARRIER] = weft_barrier_fast,
	[WEFT_COLL_BCAST] = weft_bcast_fast,
	[WEFT_COLL_ALLREDUCE] = weft_allreduce_fast,
};

static int run_list(enum weft_coll_kind kind, const struct weft_coll *args)
{
	struct weft_req *req = NULL;
	int err = weft_coll_start_locked(kind, args, &req);

	if (err)
		return err;
	weft_req_wait_in(args->comm->vci, req, weft_coll_name(kind));
	err = req->status.err;
	weft_req_put(req);
	return err;
}

/* Through the communicator's segment, which is made when it is due: WEFT_AGAIN
 * where there is none, or for another operation. */
static int run_shm(enum weft_coll_kind kind, const struct weft_coll *args)
{
	struct weft_comm *comm = args->comm;
	size_t len = weft_shm_coll_len(kind, args);
	int err;

	if (len == SIZE_MAX)
		return WEFT_AGAIN;
	if (weft_unlikely(!comm->coll.shm)) {
		if (!weft_shm_coll_is_due(comm))
			return WEFT_AGAIN;
		weft_vci_lock(comm->vci);
		err = weft_shm_coll_settle(args, kind);
		weft_vci_unlock(comm->vci);
		if (err)
			return err;
		if (!comm->coll.shm)
			return WEFT_AGAIN;
	}
	return weft_shm_coll_run(kind, args, len);
}

int weft_coll_run(enum weft_coll_kind kind, const struct weft_coll *args)
{
	struct weft_vci *vci = args->comm->vci;
	int err = WEFT_AGAIN;

	if ((args->comm->coll.shm || !args->comm->coll.is_settled) &&
		args->ctx_offset == WEFT_CTX_OFFSET_COLL &&
		!args->comm->is_inter)
		err = run_shm(kind, args);
	if (weft_likely(err != WEFT_AGAIN))
		return err;
	weft_vci_lock(vci);
	if (quick[kind] && !args->comm->is_inter)
		err = quick[kind](args);
	if (err == WEFT_AGAIN)
		err = run_list(kind, args);
	if (weft_unlikely(err))
		args->comm->has_failed_coll = true;
	weft_vci_unlock(vci);
	return err;
}

int weft_coll_init(enum weft_coll_kind kind, const struct weft_coll *args,
	struct weft_req **req_out)
{
	struct weft_vci *vci = args->comm->vci;
	struct weft_sched *sched;
	int err;

	weft_vci_lock(vci);
	sched = build(kind, args, &err);
	if (sched) {
		*req_out = weft_sched_req(sched);
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
