/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_request: wait, test, free, cancel, start
 *
 * MPI-5.0 sections 3.7, 3.8, 3.9. Each procedure looks up a handle and checks
 * whether its request is done. If the procedure permits it, it makes progress.
 * Then it takes the request out: it fills the status, and frees or deactivates
 * the request. */
#include "mpi_check.h"
#include "mpi_mix.h"
#include "mpi_map.h"

#include "transport/vci.h"
#include "transport/progress.h"
#include "transport/proc.h"
#include "watchdog/request.h"

enum { FOUND_MAX = 64 };

/* Returns the VCI of requests without a communicator. */
static inline struct weft_vci *the_vci(void)
{
	return &weft_proc.vci;
}

/* True for a request that need not be waited for. */
static inline bool is_idle(const struct weft_req *req)
{
	return !req || (req->is_persistent && !req->is_active);
}

/* Checks that a request is usable. MPI_Comm_disconnect invalidates inactive
 * persistent requests of its communicator; MPI_Comm_free does not. */
static int check_usable(const struct weft_req *req)
{
	if (is_idle(req) && req->comm && req->comm->is_disconnected)
		return weft_err_set(WEFT_ERR_REQUEST,
			"the persistent request's communicator was "
			"disconnected");
	return 0;
}

/* Looks a handle up. *req_out is NULL for MPI_REQUEST_NULL. */
static inline int mpi_request_look_up(
	MPI_Request handle, struct weft_req **req_out)
{
	*req_out = NULL;
	if (handle == MPI_REQUEST_NULL)
		return 0;
	return weft_check_req(handle, req_out);
}

/* The first error of the requests that a call has completed, or 0, and the
 * communicator to raise it on, referenced. comm may be NULL. */
struct outcome {
	int err;
	struct weft_comm *comm;
};

/* Records the error of a done request. VCI's lock held. */
static __attribute__((cold, noinline)) void note_error(
	const struct weft_req *req, int err, struct outcome *outcome)
{
	if (outcome->err)
		return;
	outcome->err = err;
	weft_failure_explain(req);
	if (req->comm)
		outcome->comm = weft_comm_get(req->comm);
}

/* Completes a generalized request: its query and free functions run without the
 * lock. VCI's lock held. */
static __attribute__((noinline)) void end_general(struct weft_req *req)
{
	struct weft_status status = req->status;
	int err, free_err;

	weft_vci_unlock(req->vci);
	err = req->ops->query(req, &status);
	free_err = req->ops->free(req);
	weft_vci_lock(req->vci);
	req->status = status;
	if (err || free_err)
		req->status.err = err ? err : free_err;
}

/* Takes a done request out: fills the status (MPI_ERROR too if with_err), and
 * frees the handle or deactivates the request. VCI's lock held. */
static inline __attribute__((always_inline)) int mpi_request_take_out(
	MPI_Request *handle, struct weft_req *req, MPI_Status *status,
	bool with_err, struct outcome *outcome)
{
	int err;

	if (weft_unlikely(req->ops && req->ops->query))
		end_general(req);
	err = req->status.err;
	if (weft_unlikely(err))
		note_error(req, err, outcome);
	if (with_err)
		weft_status_to_mpi_err(&req->status, status);
	else
		weft_status_to_mpi(&req->status, status);
	if (req->is_persistent) {
		req->is_active = false;
	} else {
		*handle = MPI_REQUEST_NULL;
		weft_req_put(req);
	}
	return err;
}

/* Stores the error of a receive from any source that remains active because a
 * member has failed. VCI's lock held. */
static __attribute__((cold, noinline)) void take_pending(
	const struct weft_req *req, MPI_Status *status, struct outcome *outcome)
{
	const struct weft_status of = {
		.source = WEFT_ANY_SOURCE,
		.tag = WEFT_ANY_TAG,
		.err = weft_failure_describe_pending(req->comm),
	};

	if (!outcome->err) {
		outcome->err = of.err;
		outcome->comm = weft_comm_get(req->comm);
	}
	weft_status_to_mpi_err(&of, status);
}

/* Waits for a request. If this returns false, the request remains active, and
 * the caller calls take_pending(). */
static inline bool wait_for(
	struct weft_vci *vci, struct weft_req *req, const char *call)
{
	if (weft_likely(req->is_done))
		return true;
	weft_req_wait_more(vci, req, call);
	return req->is_done;
}

/* True for a request that wait and test return: it is done, or a receive that
 * remains active because a member has failed. */
static inline bool is_returnable(const struct weft_req *req)
{
	if (req->is_done)
		return true;
	if (weft_likely(!req->vci->n_failed))
		return false;
	weft_departed_poll(req);
	return req->is_done || weft_failure_is_pending(req);
}

/* Raises the error of a request, and releases the reference to its
 * communicator. is_in_status: the error is in one of several statuses. No lock
 * held. */
static int mpi_request_finish(
	const char *func, struct outcome *outcome, bool is_in_status)
{
	int rc;

	if (weft_likely(!outcome->err))
		return MPI_SUCCESS;
	if (is_in_status)
		rc = weft_mpi_raise_in_status(
			outcome->comm, func, outcome->err);
	else
		rc = weft_mpi_raise(outcome->comm, func, outcome->err);
	if (outcome->comm) {
		struct weft_vci *vci = outcome->comm->vci;

		weft_vci_lock(vci);
		weft_comm_put(outcome->comm);
		weft_vci_unlock(vci);
	}
	return rc;
}

/* Raises an error of the arguments, on the communicator of the first request
 * that has one. count and requests may be the invalid arguments. */
static __attribute__((cold, noinline)) int fail(
	const char *func, int err, int count, const MPI_Request *requests)
{
	const struct weft_req *req = NULL;

	if ((uintptr_t)requests < 4096)
		count = 0;
	for (int i = 0; i < count && !(req && req->comm); i++)
		req = weft_mpi_req(requests[i]);
	if (req && req->comm && req->comm->is_disconnected)
		req = NULL; /* its communicator no longer exists */
	return weft_mpi_raise(req ? req->comm : NULL, func, err);
}

/* ---- long waits ---- */

static const struct weft_req *active_at(const void *arg, int i)
{
	const MPI_Request *requests = arg;
	const struct weft_req *req = requests[i] == MPI_REQUEST_NULL
					     ? NULL
					     : weft_mpi_req(requests[i]);

	return is_idle(req) ? NULL : req;
}

/* Describes a call that waits for one of these requests, or tests them, for the
 * watchdog. */
static struct weft_request_loop loop_over(
	const char *func, int count, const MPI_Request *requests)
{
	return (struct weft_request_loop){
		.call = func,
		.at = active_at,
		.arg = requests,
		.n = count,
	};
}

static inline void polled(struct weft_vci *vci, const char *func, int count,
	const MPI_Request *requests)
{
	struct weft_request_loop loop = loop_over(func, count, requests);

	weft_request_poll(vci, &loop);
}

/* ---- one ---- */

int PMPI_Wait(MPI_Request *request, MPI_Status *status)
{
	struct outcome outcome = { 0, NULL };
	struct weft_vci *vci;
	struct weft_req *req;
	int err = weft_check_ptr(request, "request");

	if (!err)
		err = mpi_request_look_up(*request, &req);
	if (weft_unlikely(err))
		return fail("MPI_Wait", err, 1, request);
	if (is_idle(req)) {
		weft_status_empty(status);
		return MPI_SUCCESS;
	}
	vci = req->vci;
	weft_vci_lock(vci);
	if (weft_likely(wait_for(vci, req, "MPI_Wait")))
		mpi_request_take_out(request, req, status, false, &outcome);
	else
		take_pending(req, status, &outcome);
	weft_vci_unlock(vci);
	return mpi_request_finish("MPI_Wait", &outcome, false);
}

int PMPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	struct outcome outcome = { 0, NULL };
	struct weft_vci *vci;
	struct weft_req *req;
	int err = weft_check_ptr(request, "request");

	if (!err)
		err = mpi_request_look_up(*request, &req);
	if (!err)
		err = weft_check_ptr(flag, "flag");
	if (weft_unlikely(err))
		return fail("MPI_Test", err, 1, request);
	*flag = 1;
	if (is_idle(req)) {
		weft_status_empty(status);
		return MPI_SUCCESS;
	}
	vci = req->vci;
	weft_vci_lock(vci);
	if (!req->is_done)
		weft_progress_try(vci);
	*flag = req->is_done;
	if (req->is_done)
		mpi_request_take_out(request, req, status, false, &outcome);
	else if (is_returnable(req))
		take_pending(req, status, &outcome);
	else
		polled(vci, "MPI_Test", 1, request);
	weft_vci_unlock(vci);
	return mpi_request_finish("MPI_Test", &outcome, false);
}

/* ---- status without completion ---- */

/* Fills the status of a done request without freeing it. VCI's lock held; it is
 * released for user functions. */
static void mpi_request_show(struct weft_req *req, MPI_Status *status,
	bool with_err, struct outcome *outcome)
{
	struct weft_status of = req->status;
	int err;

	if (req->ops && req->ops->query) {
		weft_vci_unlock(req->vci);
		err = req->ops->query(req, &of);
		weft_vci_lock(req->vci);
		if (err)
			of.err = err;
	}
	if (of.err)
		note_error(req, of.err, outcome);
	if (with_err)
		weft_status_to_mpi_err(&of, status);
	else
		weft_status_to_mpi(&of, status);
}

int PMPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
	struct outcome outcome = { 0, NULL };
	struct weft_vci *vci;
	struct weft_req *req;
	int err = mpi_request_look_up(request, &req);

	if (!err)
		err = weft_check_ptr(flag, "flag");
	if (err)
		return fail("MPI_Request_get_status", err, 1, &request);
	*flag = 1;
	if (is_idle(req)) {
		weft_status_empty(status);
		return MPI_SUCCESS;
	}
	vci = req->vci;
	weft_vci_lock(vci);
	if (!req->is_done)
		weft_progress_try(vci);
	*flag = req->is_done;
	if (req->is_done)
		mpi_request_show(req, status, false, &outcome);
	else if (is_returnable(req))
		take_pending(req, status, &outcome);
	else
		polled(vci, "MPI_Request_get_status", 1, &request);
	weft_vci_unlock(vci);
	return mpi_request_finish("MPI_Request_get_status", &outcome, false);
}

/* ---- arrays ---- */

/* The objects of an array's first handles, from the check. */
struct found {
	struct weft_req *reqs[FOUND_MAX];
	bool has_other_vcis; /* false: all use the default VCI */
};

/* Checks the arguments of an array procedure. Fills found, which may be NULL.
 */
static inline int check_found(
	int count, const MPI_Request *requests, struct found *found)
{
	uintptr_t other_vci = 0;
	struct weft_req *req;
	int err = weft_check_count(count), i = 0;

	if (!err && count > 0)
		err = weft_check_ptr(requests, "array_of_requests");
	if (found) {
		for (; !err && i < count && i < FOUND_MAX; i++) {
			err = mpi_request_look_up(requests[i], &req);
			found->reqs[i] = req;
			if (req)
				other_vci |= (uintptr_t)req->vci ^
					     (uintptr_t)&weft_proc.vci;
		}
		found->has_other_vcis = other_vci || count > FOUND_MAX;
	}
	for (; !err && i < count; i++)
		err = mpi_request_look_up(requests[i], &req);
	if (!err && weft_mix_is_strict())
		err = weft_mix_requests(count, requests);
	return err;
}

static int mpi_request_check_array(int count, const MPI_Request *requests)
{
	return check_found(count, requests, NULL);
}

static inline struct weft_req *req_at(const MPI_Request *requests, int i)
{
	return requests[i] == MPI_REQUEST_NULL ? NULL
					       : weft_mpi_req(requests[i]);
}

static inline MPI_Status *status_at(MPI_Status *statuses, int i)
{
	return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE
					       : &statuses[i];
}

/* Returns the request at a checked index. Looks it up again if the array has
 * changed meanwhile. */
static inline struct weft_req *found_at(
	const struct found *found, const MPI_Request *requests, int i)
{
	struct weft_req *req = i < FOUND_MAX ? found->reqs[i] : NULL;

	if (weft_likely(req && weft_mpi_req_handle(req) == requests[i]))
		return req;
	return req_at(requests, i);
}

/* Returns the VCI of the first request, which is locked first. */
static inline struct weft_vci *vci_of(int count, const MPI_Request *requests)
{
	for (int i = 0; i < count; i++)
		if (requests[i] != MPI_REQUEST_NULL)
			return weft_mpi_req(requests[i])->vci;
	return the_vci();
}

/* Unlocks a VCI and locks another one: requests of an array may use several
 * VCIs.
 */
static __attribute__((noinline)) struct weft_vci *change(
	struct weft_vci *from, struct weft_vci *to)
{
	weft_vci_unlock(from);
	weft_vci_lock(to);
	return to;
}

/* Exchanges the lock of *vci for that of the request's VCI, and sets *vci. */
static inline void mpi_request_hold(
	struct weft_vci **vci, const struct weft_req *req)
{
	if (weft_unlikely(req->vci != *vci))
		*vci = change(*vci, req->vci);
}

/* Runs at least one round of progress of each VCI that the requests of an array
 * use. */
static void progress(struct weft_vci **vci, int count,
	const MPI_Request *requests, bool is_blocking)
{
	if (is_blocking)
		weft_progress_wait(*vci);
	else
		weft_progress_try(*vci);
	for (int i = 0; i < count; i++) {
		const struct weft_req *req = req_at(requests, i);

		if (req && req->vci != *vci) {
			mpi_request_hold(vci, req);
			weft_progress(*vci);
		}
	}
}

/* Waits for the requests of an array and takes them out, in order. Returns the
 * VCI whose lock is held then. */
static inline __attribute__((always_inline)) struct weft_vci *take_all(
	struct weft_vci *vci, bool has_other_vcis, int count,
	MPI_Request *requests, MPI_Status *statuses, const struct found *found,
	struct outcome *outcome)
{
	for (int i = 0; i < count; i++) {
		struct weft_req *req = found_at(found, requests, i);

		if (is_idle(req))
			weft_status_empty(status_at(statuses, i));
		else {
			if (has_other_vcis)
				mpi_request_hold(&vci, req);
			if (weft_likely(wait_for(vci, req, "MPI_Waitall")))
				mpi_request_take_out(&requests[i], req,
					status_at(statuses, i), true, outcome);
			else
				take_pending(
					req, status_at(statuses, i), outcome);
		}
	}
	return vci;
}

static __attribute__((noinline)) void wait_all_vcis(int count,
	MPI_Request *requests, MPI_Status *statuses, const struct found *found,
	struct outcome *outcome)
{
	struct weft_vci *vci = vci_of(count, requests);

	weft_vci_lock(vci);
	vci = take_all(vci, true, count, requests, statuses, found, outcome);
	weft_vci_unlock(vci);
}

static inline void wait_one_vci(int count, MPI_Request *requests,
	MPI_Status *statuses, const struct found *found,
	struct outcome *outcome)
{
	weft_vci_lock(the_vci());
	take_all(the_vci(), false, count, requests, statuses, found, outcome);
	weft_vci_unlock(the_vci());
}

int PMPI_Waitall(int count, MPI_Request array_of_requests[],
	MPI_Status array_of_statuses[])
{
	struct outcome outcome = { 0, NULL };
	struct found found;
	int err = check_found(count, array_of_requests, &found);

	if (weft_unlikely(err))
		return fail("MPI_Waitall", err, count, array_of_requests);
	if (weft_unlikely(found.has_other_vcis))
		wait_all_vcis(count, array_of_requests, array_of_statuses,
			&found, &outcome);
	else
		wait_one_vci(count, array_of_requests, array_of_statuses,
			&found, &outcome);
	return mpi_request_finish("MPI_Waitall", &outcome, true);
}

/* True if is_returnable() holds for all active requests. */
static bool are_all_done(
	struct weft_vci **vci, int count, const MPI_Request *requests)
{
	for (int i = 0; i < count; i++) {
		const struct weft_req *req = req_at(requests, i);

		if (is_idle(req))
			continue;
		mpi_request_hold(vci, req);
		if (!is_returnable(req))
			return false;
	}
	return true;
}

/* The call: it waits, tests, or only returns the status. */
enum take_kind { TAKE_WAIT, TAKE_TEST, TAKE_STATUS };

/* Takes out a request for which is_returnable() holds, or only fills its
 * status. VCI's lock held. */
static void take_or_show(enum take_kind kind, MPI_Request *handle,
	struct weft_req *req, MPI_Status *status, bool with_err,
	struct outcome *outcome)
{
	if (weft_unlikely(!req->is_done))
		take_pending(req, status, outcome);
	else if (kind == TAKE_STATUS)
		mpi_request_show(req, status, with_err, outcome);
	else
		mpi_request_take_out(handle, req, status, with_err, outcome);
}

/* MPI_Testall and MPI_Request_get_status_all. */
static int mpi_request_all(const char *func, enum take_kind kind, int count,
	MPI_Request *requests, int *flag, MPI_Status *statuses)
{
	struct outcome outcome = { 0, NULL };
	struct weft_vci *vci;
	int err = mpi_request_check_array(count, requests);

	if (!err)
		err = weft_check_ptr(flag, "flag");
	if (err)
		return fail(func, err, count, requests);
	vci = vci_of(count, requests);
	weft_vci_lock(vci);
	*flag = are_all_done(&vci, count, requests);
	if (!*flag) {
		progress(&vci, count, requests, false);
		*flag = are_all_done(&vci, count, requests);
	}
	for (int i = 0; *flag && i < count; i++) {
		struct weft_req *req = req_at(requests, i);

		if (is_idle(req)) {
			weft_status_empty(status_at(statuses, i));
			continue;
		}
		mpi_request_hold(&vci, req);
		take_or_show(kind, &requests[i], req, status_at(statuses, i),
			true, &outcome);
	}
	if (!*flag)
		polled(vci, func, count, requests);
	weft_vci_unlock(vci);
	return mpi_request_finish(func, &outcome, true);
}

int PMPI_Testall(int count, MPI_Request array_of_requests[], int *flag,
	MPI_Status array_of_statuses[])
{
	return mpi_request_all("MPI_Testall", TAKE_TEST, count,
		array_of_requests, flag, array_of_statuses);
}

int PMPI_Request_get_status_all(int count,
	const MPI_Request array_of_requests[], int *flag,
	MPI_Status array_of_statuses[])
{
	return mpi_request_all("MPI_Request_get_status_all", TAKE_STATUS, count,
		(MPI_Request *)array_of_requests, flag, array_of_statuses);
}

/* Returns the index of the first done request; -1: none is done; MPI_UNDEFINED:
 * none is active. */
static int first_done(
	struct weft_vci **vci, int count, const MPI_Request *requests)
{
	int found = MPI_UNDEFINED;

	for (int i = 0; i < count; i++) {
		const struct weft_req *req = req_at(requests, i);

		if (is_idle(req))
			continue;
		mpi_request_hold(vci, req);
		if (req->is_done)
			return i;
		found = -1;
	}
	return found;
}

/* Returns the index of the first request for which is_returnable() holds, or
 * -1. is_blocking: the call waits, so requests that no process can complete
 * end. */
static int first_receive_pending(struct weft_vci **vci, bool is_blocking,
	int count, const MPI_Request *requests)
{
	for (int i = 0; i < count; i++) {
		struct weft_req *req = req_at(requests, i);

		if (is_idle(req))
			continue;
		mpi_request_hold(vci, req);
		if (is_blocking && weft_unlikely(req->vci->n_failed))
			(void)req->vci->on_wait(req);
		if (is_returnable(req))
			return i;
	}
	return -1;
}

/* As first_done(), after one round of progress, or after as many rounds as
 * needed if is_blocking. If no request is done, returns the index from
 * first_receive_pending(): the caller then calls take_pending(). The lock of
 * *vci is held. */
static int find_done(struct weft_vci **vci, const char *func, bool is_blocking,
	int count, const MPI_Request *requests)
{
	struct weft_request_loop loop = loop_over(func, count, requests);
	int at = first_done(vci, count, requests);

	if (at == -1 && !is_blocking) {
		progress(vci, count, requests, false);
		at = first_done(vci, count, requests);
	}
	while (at == -1 && is_blocking) {
		progress(vci, count, requests, true);
		at = first_done(vci, count, requests);
		if (at == -1)
			at = first_receive_pending(vci, true, count, requests);
		if (at == -1)
			(void)weft_request_round(*vci, &loop);
	}
	weft_request_end(&loop);
	if (at == -1)
		at = first_receive_pending(vci, false, count, requests);
	if (at == -1)
		weft_request_poll(*vci, &loop);
	return at;
}

static int any(const char *func, enum take_kind kind, int count,
	MPI_Request *requests, int *index, int *flag, MPI_Status *status)
{
	struct outcome outcome = { 0, NULL };
	struct weft_vci *vci;
	int err = mpi_request_check_array(count, requests);
	bool is_pending;
	int at;

	if (!err)
		err = weft_check_ptr(index, "index");
	if (!err && kind != TAKE_WAIT)
		err = weft_check_ptr(flag, "flag");
	if (err)
		return fail(func, err, count, requests);
	vci = vci_of(count, requests);
	weft_vci_lock(vci);
	at = find_done(&vci, func, kind == TAKE_WAIT, count, requests);
	is_pending = at >= 0 && !req_at(requests, at)->is_done;
	if (at >= 0)
		take_or_show(kind, &requests[at], req_at(requests, at), status,
			false, &outcome);
	else if (at == MPI_UNDEFINED)
		weft_status_empty(status);
	weft_vci_unlock(vci);
	*index = at >= 0 ? at : MPI_UNDEFINED;
	if (kind != TAKE_WAIT)
		*flag = at != -1 && !is_pending;
	return mpi_request_finish(func, &outcome, false);
}

int PMPI_Waitany(int count, MPI_Request array_of_requests[], int *index,
	MPI_Status *status)
{
	return any("MPI_Waitany", TAKE_WAIT, count, array_of_requests, index,
		NULL, status);
}

int PMPI_Testany(int count, MPI_Request array_of_requests[], int *index,
	int *flag, MPI_Status *status)
{
	return any("MPI_Testany", TAKE_TEST, count, array_of_requests, index,
		flag, status);
}

int PMPI_Request_get_status_any(int count,
	const MPI_Request array_of_requests[], int *index, int *flag,
	MPI_Status *status)
{
	return any("MPI_Request_get_status_any", TAKE_STATUS, count,
		(MPI_Request *)array_of_requests, index, flag, status);
}

static int check_some(int count, const MPI_Request *requests,
	const int *outcount, const int *indices)
{
	int err = mpi_request_check_array(count, requests);

	if (!err)
		err = weft_check_ptr(outcount, "outcount");
	if (!err && count > 0)
		err = weft_check_ptr(indices, "array_of_indices");
	return err;
}

/* Takes out the done requests of an array; TAKE_STATUS only returns their
 * statuses. TAKE_STATUS always makes progress, because requests that it has
 * returned before are still done. */
static int mpi_request_some(const char *func, enum take_kind kind, int count,
	MPI_Request *requests, int *outcount, int *indices,
	MPI_Status *statuses)
{
	struct outcome outcome = { 0, NULL };
	struct weft_vci *vci;
	int err = check_some(count, requests, outcount, indices);
	int at;

	if (err)
		return fail(func, err, count, requests);
	vci = vci_of(count, requests);
	weft_vci_lock(vci);
	if (kind == TAKE_STATUS)
		progress(&vci, count, requests, false);
	at = find_done(&vci, func, kind == TAKE_WAIT, count, requests);
	*outcount = at == MPI_UNDEFINED ? MPI_UNDEFINED : 0;
	for (int i = 0; at >= 0 && i < count; i++) {
		struct weft_req *req = req_at(requests, i);

		if (is_idle(req))
			continue;
		mpi_request_hold(&vci, req);
		if (!is_returnable(req))
			continue;
		indices[*outcount] = i;
		take_or_show(kind, &requests[i], req,
			status_at(statuses, *outcount), true, &outcome);
		++*outcount;
	}
	weft_vci_unlock(vci);
	return mpi_request_finish(func, &outcome, true);
}

int PMPI_Waitsome(int incount, MPI_Request array_of_requests[], int *outcount,
	int array_of_indices[], MPI_Status array_of_statuses[])
{
	return mpi_request_some("MPI_Waitsome", TAKE_WAIT, incount,
		array_of_requests, outcount, array_of_indices,
		array_of_statuses);
}

int PMPI_Testsome(int incount, MPI_Request array_of_requests[], int *outcount,
	int array_of_indices[], MPI_Status array_of_statuses[])
{
	return mpi_request_some("MPI_Testsome", TAKE_TEST, incount,
		array_of_requests, outcount, array_of_indices,
		array_of_statuses);
}

int PMPI_Request_get_status_some(int incount,
	const MPI_Request array_of_requests[], int *outcount,
	int array_of_indices[], MPI_Status array_of_statuses[])
{
	return mpi_request_some("MPI_Request_get_status_some", TAKE_STATUS,
		incount, (MPI_Request *)array_of_requests, outcount,
		array_of_indices, array_of_statuses);
}

/* ---- free, cancel, start ---- */

int PMPI_Request_free(MPI_Request *request)
{
	struct weft_req *req = NULL;
	struct weft_vci *vci;
	int err = weft_check_ptr(request, "request");

	if (!err)
		err = weft_check_req(*request, &req);
	if (!err)
		err = check_usable(req);
	if (!err)
		err = weft_part_check_over(req, "freed");
	if (err)
		return fail("MPI_Request_free", err, 1, request);
	vci = req->vci;
	weft_vci_lock(vci);
	/* for an active request, MPI_Grequest_complete calls the function */
	if (req->is_done && req->ops && req->ops->free) {
		weft_vci_unlock(vci);
		err = req->ops->free(req);
		weft_vci_lock(vci);
	}
	weft_req_detach(req);
	weft_vci_unlock(vci);
	*request = MPI_REQUEST_NULL;
	return weft_mpi_end(NULL, "MPI_Request_free", err);
}

int PMPI_Cancel(MPI_Request *request)
{
	struct weft_req *req = NULL;
	int err = weft_check_ptr(request, "request");

	if (!err)
		err = weft_check_req(*request, &req);
	if (!err && is_idle(req))
		err = weft_err_set(WEFT_ERR_REQUEST,
			"the persistent request is not active");
	if (!err && req->kind == WEFT_REQ_COLL)
		err = weft_err_set(WEFT_ERR_REQUEST,
			"a collective operation cannot be cancelled");
	if (!err)
		err = weft_part_check_over(req, "cancelled");
	if (!err && req->ops && req->ops->cancel)
		err = req->ops->cancel(req);
	else if (!err && req->kind == WEFT_REQ_OTHER)
		err = weft_err_set(WEFT_ERR_REQUEST,
			"only a send, a receive or a generalized request can "
			"be cancelled; complete this request instead");
	else if (!err)
		err = weft_req_cancel(req);
	return err ? fail("MPI_Cancel", err, 1, request) : MPI_SUCCESS;
}

static int mpi_request_start(const char *func, MPI_Request handle)
{
	struct weft_req *req = NULL;
	int err = weft_check_req(handle, &req);

	if (!err)
		err = check_usable(req);
	if (!err)
		err = weft_req_start(req);
	return err ? fail(func, err, 1, &handle) : MPI_SUCCESS;
}

int PMPI_Start(MPI_Request *request)
{
	int err = weft_check_ptr(request, "request");

	return err ? weft_mpi_raise_none("MPI_Start", err)
		   : mpi_request_start("MPI_Start", *request);
}

int PMPI_Startall(int count, MPI_Request array_of_requests[])
{
	int err = weft_check_count(count);
	int rc = MPI_SUCCESS;

	if (!err && count > 0)
		err = weft_check_ptr(array_of_requests, "array_of_requests");
	if (err)
		return weft_mpi_raise_none("MPI_Startall", err);
	for (int i = 0; !rc && i < count; i++)
		rc = mpi_request_start("MPI_Startall", array_of_requests[i]);
	return rc;
}

#include "api_request.h"
