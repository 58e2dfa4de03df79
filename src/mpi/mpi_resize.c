/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_resize: jobs that grow and shrink */
#include "mpi_check.h"

#include "coll/coll.h"
#include "comm/create.h"
#include "session/pset.h"
#include "session/pset_watch.h"
#include "session/resize.h"

#include <mpix.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- offers ---- */

static int mpi_session_get_offer(
	struct weft_session *session, int *delta, struct weft_info **info)
{
	(void)session;
	return weft_resize_offer(delta, info);
}

/* ---- changes of the size ---- */

/* A started request or report. Freed when it is complete. */
struct started_resize {
	struct weft_req *req;
	char *new_pset; /* NULL: a report */
};

static int started_resize_new(
	struct weft_comm *comm, struct started_resize **started_out)
{
	struct started_resize *started = calloc(1, sizeof(*started));

	if (!started)
		return WEFT_ERR_NOMEM;
	started->req = weft_mpi_req_begin(comm->vci, comm);
	if (!started->req) {
		free(started);
		return WEFT_ERR_NOMEM;
	}
	*started_out = started;
	return 0;
}

static void mpi_resize_on_done(void *arg, uint32_t generation, int err)
{
	struct started_resize *started = arg;

	if (err && started->new_pset)
		started->new_pset[0] = 0;
	else if (started->new_pset)
		snprintf(started->new_pset, MPIX_MAX_JOB_PSET,
			WEFT_PSET_JOB "/%u", generation);
	weft_mpi_req_end(started->req, err);
	free(started);
}

/* Destroys an operation that could not be started. */
static void started_resize_drop(struct started_resize *started)
{
	weft_mpi_req_drop(started->req);
	free(started);
}

static int iresize(struct weft_comm *comm, int delta, int failed,
	char *new_pset, MPI_Request *request)
{
	struct started_resize *started = NULL;
	MPI_Request handle;
	int err = started_resize_new(comm, &started);

	if (err)
		return err;
	started->new_pset = new_pset;
	handle = weft_mpi_req_handle(started->req);
	err = weft_resize_start(
		comm, delta, failed, mpi_resize_on_done, started);
	if (err)
		started_resize_drop(started);
	else
		*request = handle;
	return err;
}

/* Errors of the arguments are contributed to the round, because the other
 * members wait. This call then returns the error of its own argument. */
int PMPIX_Session_resize(MPI_Session session, MPI_Comm members, int delta,
	MPI_Info info, char *new_pset, MPI_Request *request)
{
	static const char func[] = "MPIX_Session_resize";
	struct weft_session *of = NULL;
	struct weft_comm *comm = NULL;
	struct weft_info *hints = NULL;
	int err;

	weft_mpi_null(request, MPI_REQUEST_NULL);
	err = weft_check_session(session, &of);
	if (!err)
		err = weft_check_intra(members, &comm);
	if (!err)
		err = weft_check_ptr(new_pset, "new_pset");
	if (!err)
		err = weft_check_ptr(request, "request");
	if (!err)
		err = weft_check_info_or_null(info, &hints);
	if (!err)
		err = weft_resize_check();
	if (err)
		return weft_mpi_raise_session(of, func, err);
	if (!delta)
		err = weft_err_set(WEFT_ERR_ARG,
			"delta is 0: pass the number of processes to add, or "
			"below 0 to remove");
	err = iresize(comm, delta, err, new_pset, request);
	weft_pset_watch_notify();
	return err ? weft_mpi_raise_session(of, func, err) : MPI_SUCCESS;
}

static int mpi_session_resize_done(int failed, struct weft_session *session,
	struct weft_comm *members, const char *new_pset)
{
	struct started_resize *started = NULL;
	struct weft_req *req;
	int err = failed;

	(void)session;
	if (!members || members->is_inter)
		return err ? err : weft_check_is_intra(members);
	if (!err)
		err = weft_resize_check();
	if (err == WEFT_ERR_UNSUPPORTED)
		return err;
	if (started_resize_new(members, &started))
		return WEFT_ERR_NOMEM;
	req = started->req;
	err = weft_resize_complete(
		members, new_pset, err, mpi_resize_on_done, started);
	if (err) {
		started_resize_drop(started);
		return err;
	}
	weft_vci_lock(members->vci);
	weft_req_wait_in(members->vci, req, "MPIX_Session_resize_done");
	err = req->status.err;
	weft_req_put(req);
	weft_vci_unlock(members->vci);
	weft_pset_watch_notify();
	return err;
}

static int mpi_session_resize_cancel(
	struct weft_session *session, const char *new_pset)
{
	int err = weft_resize_check();

	(void)session;
	if (!err)
		err = weft_resize_cancel(new_pset);
	weft_pset_watch_notify();
	return err;
}

static int mpi_session_release_hosts(
	struct weft_session *session, const char *hosts)
{
	(void)session;
	return weft_resize_release_hosts(hosts);
}

/* ---- redistribution of an array ---- */

/* The blocks of a member: the number of items before and after the call, and
 * the bytes of an item. All members exchange these records. */
struct part {
	int64_t n_from;
	int64_t n_to;
	int64_t item_len;
};

/* The items that this member sends to each member, and receives from each. The
 * displacements are in items. */
struct moves {
	int64_t *n_send, *at_send, *n_recv, *at_recv;
};

/* Writes the number of items of block `mine`, which begins at `start`, that are
 * also in the block from `first` to `end`, and their position in `mine`. */
static void part_overlap(int64_t start, int64_t mine, int64_t first,
	int64_t end, int64_t *n_out, int64_t *at_out)
{
	int64_t low = first > start ? first : start;
	int64_t high = end < start + mine ? end : start + mine;

	*n_out = high > low ? high - low : 0;
	*at_out = *n_out ? low - start : 0;
}

/* Fills the moves of member `me`. The sums of the parts were checked. */
static void moves_fill(const struct part *parts, int32_t size, int32_t me,
	const struct moves *moves)
{
	int64_t my_from = 0, my_to = 0, from = 0, to = 0;

	for (int32_t i = 0; i < me; i++) {
		my_from += parts[i].n_from;
		my_to += parts[i].n_to;
	}
	for (int32_t i = 0; i < size; i++) {
		part_overlap(my_from, parts[me].n_from, to, to + parts[i].n_to,
			&moves->n_send[i], &moves->at_send[i]);
		part_overlap(my_to, parts[me].n_to, from,
			from + parts[i].n_from, &moves->n_recv[i],
			&moves->at_recv[i]);
		from += parts[i].n_from;
		to += parts[i].n_to;
	}
}

/* Checks that all members describe the same array. The result is the same at
 * all members. */
static int parts_check(const struct part *parts, int32_t size)
{
	int64_t from = 0, to = 0;

	for (int32_t i = 0; i < size; i++) {
		if (parts[i].item_len != parts[0].item_len)
			return weft_err_set(WEFT_ERR_NOT_SAME,
				"an item has %lld bytes at rank %d and %lld "
				"bytes at rank 0; all members pass the same "
				"datatype",
				(long long)parts[i].item_len, i,
				(long long)parts[0].item_len);
		if (__builtin_add_overflow(from, parts[i].n_from, &from) ||
			__builtin_add_overflow(to, parts[i].n_to, &to))
			return weft_err_set(WEFT_ERR_COUNT,
				"the members hold more than 2^63 items");
	}
	if (from != to)
		return weft_err_set(WEFT_ERR_COUNT,
			"the members hold %lld items before the call (the sum "
			"of n_from) and %lld afterwards (the sum of n_to); "
			"both sums must be equal",
			(long long)from, (long long)to);
	return 0;
}

/* Exchanges the parts of all members, and fills the moves. numbers has space
 * for 4 * size numbers, or is NULL. A member with an error contributes it, so
 * that the call fails at all members. */
static int parts_exchange(const struct part *mine, struct weft_comm *comm,
	int64_t *numbers, int failed, struct moves *moves)
{
	size_t n = (size_t)comm->size;
	void *parts = NULL;
	int err = failed;

	if (!err && !numbers)
		err = WEFT_ERR_NOMEM;
	if (err) {
		weft_create_gather_fail(comm, err);
		return err;
	}
	err = weft_create_gather(comm, mine, sizeof(*mine), &parts);
	if (!err)
		err = parts_check(parts, comm->size);
	*moves = (struct moves){ numbers, numbers + n, numbers + 2 * n,
		numbers + 3 * n };
	if (!err)
		moves_fill(parts, comm->size, comm->rank, moves);
	free(parts);
	return err;
}

static int mpi_redistribute_block(int failed, const void *from,
	MPI_Count n_from, void *to, MPI_Count n_to, struct weft_type *datatype,
	struct weft_comm *comm)
{
	int64_t *numbers = calloc(4 * (size_t)comm->size, sizeof(*numbers));
	struct part mine = { .n_from = n_from, .n_to = n_to };
	struct moves moves;
	int err = failed;

	if (!err)
		err = weft_check_is_intra(comm);
	if (err && comm->is_inter) {
		free(numbers);
		return err;
	}
	if (!err && !datatype->is_committed)
		err = weft_err_set(WEFT_ERR_TYPE, "datatype was not committed");
	if (!err)
		err = weft_check_buf(from, n_from, datatype);
	if (!err)
		err = weft_check_buf(to, n_to, datatype);
	if (!err)
		mine.item_len = datatype->size;
	if (!err && from == to && n_from > 0 && n_to > 0)
		err = weft_err_set(WEFT_ERR_BUFFER,
			"from and to are the same buffer (%p); the blocks must "
			"not overlap",
			to);
	err = parts_exchange(&mine, comm, numbers, err, &moves);
	if (!err) {
		const struct weft_coll args = {
			.comm = comm,
			.ctx_offset = WEFT_CTX_OFFSET_COLL,
			.is_irregular = true,
			.send = { .buf = (void *)(uintptr_t)from,
				.type = datatype,
				.counts = moves.n_send,
				.displs = moves.at_send },
			.recv = { .buf = to,
				.type = datatype,
				.counts = moves.n_recv,
				.displs = moves.at_recv },
		};

		err = weft_coll_run(WEFT_COLL_ALLTOALL, &args);
	}
	free(numbers);
	return err;
}

#include "api_resize.h"
