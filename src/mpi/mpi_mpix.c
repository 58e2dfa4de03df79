/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_mpix: extensions of the standard */
#include "mpi_check.h"

#include "core/attr.h"
#include "core/session_data.h"
#include "dev/dev.h"
#include "transport/proc.h"
#include "comm/create.h"
#include "comm/disconnect.h"
#include "session/pset.h"
#include "session/pset_watch.h"
#include "session/spread.h"

#include <mpix.h>
#include <stdlib.h>

/* ---- non-blocking creation and disconnect ---- */

/* A started operation. Destroyed when it completes. */
struct nonblocking {
	struct weft_req *req;
	MPI_Comm *newcomm; /* where a creation stores its communicator */
};

static void nonblocking_end(struct nonblocking *nonblocking, int err)
{
	weft_mpi_req_end(nonblocking->req, err);
	free(nonblocking);
}

static void mpi_mpix_on_made(void *arg, struct weft_comm *comm, int err)
{
	struct nonblocking *nonblocking = arg;

	if (comm)
		*nonblocking->newcomm = weft_mpi_comm_handle(comm);
	nonblocking_end(nonblocking, err);
}

static void mpi_mpix_on_disconnected(void *arg, int err)
{
	nonblocking_end(arg, err);
}

static int nonblocking_new(
	struct weft_vci *vci, struct nonblocking **nonblocking_out)
{
	struct nonblocking *nonblocking = calloc(1, sizeof(*nonblocking));

	if (!nonblocking)
		return WEFT_ERR_NOMEM;
	nonblocking->req = weft_mpi_req_begin(vci, NULL);
	if (!nonblocking->req) {
		free(nonblocking);
		return WEFT_ERR_NOMEM;
	}
	*nonblocking_out = nonblocking;
	return 0;
}

/* Destroys an operation that could not be started. */
static void nonblocking_drop(struct nonblocking *nonblocking)
{
	weft_mpi_req_drop(nonblocking->req);
	free(nonblocking);
}

/* A group without members yields MPI_COMM_NULL immediately. */
static int create_none(struct nonblocking *nonblocking, MPI_Request *request)
{
	struct weft_vci *vci = nonblocking->req->vci;

	*request = weft_mpi_req_handle(nonblocking->req);
	weft_vci_lock(vci);
	nonblocking_end(nonblocking, 0);
	weft_vci_unlock(vci);
	return 0;
}

static int icreate(struct weft_group *group, const char *tag,
	const struct weft_info *info, struct weft_errh *errh, MPI_Comm *newcomm,
	MPI_Request *request)
{
	struct weft_vci *vci = &weft_proc.vci;
	struct nonblocking *nonblocking;
	int err = nonblocking_new(vci, &nonblocking);

	if (err)
		return err;
	nonblocking->newcomm = newcomm;
	if (!group->size)
		return create_none(nonblocking, request);
	*request = weft_mpi_req_handle(nonblocking->req);
	err = weft_create_start(
		group, tag, info, errh, mpi_mpix_on_made, nonblocking);
	if (err) {
		*request = MPI_REQUEST_NULL;
		nonblocking_drop(nonblocking);
	}
	return err;
}

int PMPIX_Comm_icreate_from_group(MPI_Group group, const char *stringtag,
	MPI_Info info, MPI_Errhandler errhandler, MPI_Comm *newcomm,
	MPI_Request *request)
{
	static const char func[] = "MPIX_Comm_icreate_from_group";
	struct weft_group *members = NULL;
	struct weft_info *hints = NULL;
	struct weft_session *session;
	struct weft_errh *errh = NULL;
	int err;

	weft_mpi_null(newcomm, MPI_COMM_NULL);
	weft_mpi_null(request, MPI_REQUEST_NULL);
	err = weft_check_errh(errhandler, WEFT_KIND_COMM, &errh);
	if (err)
		return weft_mpi_raise_none(func, err);
	err = weft_check_ptr(newcomm, "newcomm");
	if (!err)
		err = weft_check_ptr(request, "request");
	if (!err)
		err = weft_check_group(group, &members);
	if (!err)
		err = weft_check_stringtag(stringtag);
	if (!err)
		err = weft_check_info_or_null(info, &hints);
	if (!err && members->size)
		err = weft_session_of_group(members, &session);
	if (!err)
		err = icreate(
			members, stringtag, hints, errh, newcomm, request);
	if (err)
		return weft_mpi_raise_obj(
			WEFT_KIND_COMM, MPI_COMM_NULL, errh, NULL, func, err);
	return MPI_SUCCESS;
}

int PMPIX_Comm_idisconnect(MPI_Comm *comm, MPI_Request *request)
{
	struct weft_comm *of = NULL;
	struct nonblocking *nonblocking = NULL;
	int err;

	weft_mpi_null(request, MPI_REQUEST_NULL);
	err = weft_check_ptr(comm, "comm");
	if (!err)
		err = weft_check_ptr(request, "request");
	if (!err)
		err = weft_check_comm(*comm, &of);
	if (!err && (*comm == MPI_COMM_WORLD || *comm == MPI_COMM_SELF))
		err = weft_err_set(
			WEFT_ERR_COMM, "%s cannot be disconnected", of->name);
	if (!err)
		err = weft_attr_delete_all(&of->attrs, *comm);
	if (!err)
		err = nonblocking_new(of->vci, &nonblocking);
	if (!err) {
		weft_spread_free(of);
		*request = weft_mpi_req_handle(nonblocking->req);
		err = weft_disconnect_start(
			of, mpi_mpix_on_disconnected, nonblocking);
		if (err) {
			*request = MPI_REQUEST_NULL;
			nonblocking_drop(nonblocking);
		}
	}
	if (err)
		return weft_mpi_raise(of, "MPIX_Comm_idisconnect", err);
	*comm = MPI_COMM_NULL;
	return MPI_SUCCESS;
}

/* ---- process sets of the application ---- */

typedef int weft_pset_make_fn(struct weft_session *session, const char *name,
	const struct weft_group *members);
typedef int weft_pset_drop_fn(struct weft_session *session, const char *name);

static int make_pset(MPI_Session session, const char *name, MPI_Group group,
	const char *func, weft_pset_make_fn *make)
{
	struct weft_session *of = NULL;
	struct weft_group *members = NULL;
	int err;

	err = weft_check_session(session, &of);
	if (!err)
		err = weft_check_ptr(name, "pset_name");
	if (!err)
		err = weft_check_group(group, &members);
	if (!err)
		err = make(of, name, members);
	weft_pset_watch_notify();
	return err ? weft_mpi_raise_session(of, func, err) : MPI_SUCCESS;
}

static int drop_pset(MPI_Session session, const char *name, const char *func,
	weft_pset_drop_fn *drop)
{
	struct weft_session *of = NULL;
	int err;

	err = weft_check_session(session, &of);
	if (!err)
		err = weft_check_ptr(name, "pset_name");
	if (!err)
		err = drop(of, name);
	weft_pset_watch_notify();
	return err ? weft_mpi_raise_session(of, func, err) : MPI_SUCCESS;
}

int PMPIX_Session_create_pset(
	MPI_Session session, const char *pset_name, MPI_Group group)
{
	return make_pset(session, pset_name, group, "MPIX_Session_create_pset",
		weft_pset_define);
}

int PMPIX_Session_delete_pset(MPI_Session session, const char *pset_name)
{
	return drop_pset(session, pset_name, "MPIX_Session_delete_pset",
		weft_pset_delete);
}

int PMPIX_Session_publish_pset(
	MPI_Session session, const char *pset_name, MPI_Group group)
{
	return make_pset(session, pset_name, group, "MPIX_Session_publish_pset",
		weft_pset_publish);
}

int PMPIX_Session_unpublish_pset(MPI_Session session, const char *pset_name)
{
	return drop_pset(session, pset_name, "MPIX_Session_unpublish_pset",
		weft_pset_unpublish);
}

static int mpi_mpix_combine(MPI_Session session, const char *func,
	weft_pset_op_fn *op, const char *const names[3])
{
	static const char *const args[] = { "pset1", "pset2", "pset_name" };
	struct weft_session *of = NULL;
	int err;

	err = weft_check_session(session, &of);
	for (int i = 0; !err && i < 3; i++)
		err = weft_check_ptr(names[i], args[i]);
	if (!err)
		err = weft_pset_combine(of, op, names[0], names[1], names[2]);
	weft_pset_watch_notify();
	return err ? weft_mpi_raise_session(of, func, err) : MPI_SUCCESS;
}

int PMPIX_Session_pset_union(MPI_Session session, const char *pset1,
	const char *pset2, const char *pset_name)
{
	const char *const names[] = { pset1, pset2, pset_name };

	return mpi_mpix_combine(
		session, "MPIX_Session_pset_union", weft_group_union, names);
}

int PMPIX_Session_pset_intersection(MPI_Session session, const char *pset1,
	const char *pset2, const char *pset_name)
{
	const char *const names[] = { pset1, pset2, pset_name };

	return mpi_mpix_combine(session, "MPIX_Session_pset_intersection",
		weft_group_intersection, names);
}

int PMPIX_Session_pset_difference(MPI_Session session, const char *pset1,
	const char *pset2, const char *pset_name)
{
	const char *const names[] = { pset1, pset2, pset_name };

	return mpi_mpix_combine(session, "MPIX_Session_pset_difference",
		weft_group_difference, names);
}

int PMPIX_Session_get_pset_changes(MPI_Session session, MPI_Count *n_changes)
{
	struct weft_session *of = NULL;
	int err;

	err = weft_check_session(session, &of);
	if (!err)
		err = weft_check_ptr(n_changes, "n_changes");
	if (err)
		return weft_mpi_raise_session(
			of, "MPIX_Session_get_pset_changes", err);
	*n_changes = (MPI_Count)weft_pset_changes(of);
	weft_pset_watch_notify();
	return MPI_SUCCESS;
}

static void pset_changed(const struct weft_watch_how *how, const char *name,
	enum weft_pset_change change)
{
	static const int changes[] = {
		[WEFT_PSET_CHANGE_DEFINED] = MPIX_PSET_DEFINED,
		[WEFT_PSET_CHANGE_DELETED] = MPIX_PSET_DELETED,
		[WEFT_PSET_CHANGE_OFFER] = MPIX_PSET_OFFER,
	};

	((MPIX_Session_pset_function *)how->fn)(
		(MPI_Session)how->handle, name, changes[change], how->arg);
}

int PMPIX_Session_set_pset_callback(MPI_Session session,
	MPIX_Session_pset_function *pset_fn, void *extra_state)
{
	struct weft_watch_how how = {
		.call = pset_changed,
		.handle = session,
		.fn = (void (*)(void))pset_fn,
		.arg = extra_state,
	};
	struct weft_session *of = NULL;
	int err;

	err = weft_check_session(session, &of);
	if (!err)
		err = weft_pset_watch_set(of, pset_fn ? &how : NULL);
	return err ? weft_mpi_raise_session(
			     of, "MPIX_Session_set_pset_callback", err)
		   : MPI_SUCCESS;
}

/* ---- device memory ---- */

static int query_support(enum weft_dev_id id)
{
	if (atomic_load_explicit(&weft_world.state, memory_order_acquire) ==
			WEFT_WORLD_OPEN &&
		!weft_world.session->has_dev)
		return 0;
	return weft_dev_is_on() && weft_dev_open(id, NULL) > 0;
}

int PMPIX_Query_cuda_support(void)
{
	return query_support(WEFT_DEV_CUDA);
}

int PMPIX_Query_rocm_support(void)
{
	return query_support(WEFT_DEV_ROCM);
}

int PMPIX_Query_ze_support(void)
{
	return query_support(WEFT_DEV_ZE);
}

#include "api_mpix.h"
