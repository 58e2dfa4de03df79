/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_session: the Sessions Model */
#include "mpi_buffer.h"
#include "mpi_check.h"
#include "mpi_mix.h"

#include "comm/create.h"
#include "session/session_hint.h"
#include "session/pset.h"
#include "session/open_handles.h"
#include "session/parent.h"
#include "session/pset_watch.h"
#include "session/spread.h"
#include "comm/disconnect.h"

/* Raises an error of a creation on the handler that the caller passes, because
 * the object does not exist yet. */
static int raise_init(struct weft_errh *errh, int err)
{
	return weft_mpi_raise_obj(WEFT_KIND_SESSION, MPI_SESSION_NULL, errh,
		NULL, "MPI_Session_init", err);
}

int PMPI_Session_init(
	MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
{
	struct weft_session *made;
	struct weft_info *asked;
	struct weft_errh *errh = NULL;
	int err;

	weft_mpi_null(session, MPI_SESSION_NULL);
	err = weft_check_errh(errhandler, WEFT_KIND_SESSION, &errh);
	if (err)
		return weft_mpi_raise_none("MPI_Session_init", err);
	err = weft_check_info_or_null(info, &asked);
	if (!err)
		err = weft_check_ptr(session, "session");
	if (!err)
		err = weft_session_open(asked, errh, &made);
	if (!err) {
		err = weft_parent_join(false);
		if (err)
			weft_session_close(made);
	}
	if (err)
		return raise_init(errh, err);
	*session = weft_mpi_session_handle(made);
	return MPI_SUCCESS;
}

int PMPI_Session_finalize(MPI_Session *session)
{
	struct weft_session *closing = NULL;
	struct weft_errh *errh = NULL;
	int err;

	err = weft_check_ptr(session, "session");
	if (!err)
		err = weft_check_session(*session, &closing);
	if (err)
		return weft_mpi_raise_none("MPI_Session_finalize", err);
	if (closing->is_world)
		return weft_mpi_raise_none("MPI_Session_finalize",
			weft_err_set(WEFT_ERR_SESSION,
				"the World Model ends with MPI_Finalize"));
	err = weft_open_handles_check(closing);
	if (err)
		return weft_mpi_raise_session(
			closing, "MPI_Session_finalize", err);
	errh = weft_errh_get(closing->errh);
	err = weft_session_close(closing);
	weft_mpi_buffer_drop();
	*session = MPI_SESSION_NULL;
	if (err)
		err = weft_mpi_raise_obj(WEFT_KIND_SESSION, MPI_SESSION_NULL,
			errh, NULL, "MPI_Session_finalize", err);
	weft_errh_put(errh);
	return err;
}

static int mpi_session_get_info(
	struct weft_session *session, struct weft_info **made)
{
	return weft_session_hint_used(session, made);
}

static int mpi_session_get_num_psets(struct weft_session *session,
	const struct weft_info *info, int *npset_names)
{
	uint32_t n;
	int err = weft_pset_count(session, &n);

	(void)info;
	weft_pset_watch_notify();
	if (!err)
		*npset_names = (int)n;
	return err;
}

/* By the standard, *pset_len 0 requests the length only, which includes the
 * final NUL. */
int PMPI_Session_get_nth_pset(MPI_Session session, MPI_Info info, int n,
	int *pset_len, char *pset_name)
{
	struct weft_session *of = NULL;
	struct weft_info *unused;
	const char *name;
	int err;

	err = weft_check_session(session, &of);
	if (!err)
		err = weft_check_info_or_null(info, &unused);
	if (!err)
		err = weft_check_ptr(pset_len, "pset_len");
	if (!err)
		err = weft_check_range(WEFT_ERR_ARG, "n", n, 0, INT32_MAX);
	if (!err)
		err = weft_check_range(
			WEFT_ERR_ARG, "pset_len", *pset_len, 0, INT32_MAX);
	if (!err && *pset_len)
		err = weft_check_ptr(pset_name, "pset_name");
	if (!err)
		err = weft_pset_name(of, (uint32_t)n, &name);
	if (err)
		return weft_mpi_raise_session(
			of, "MPI_Session_get_nth_pset", err);
	if (*pset_len) {
		size_t len = weft_min(strlen(name), (size_t)*pset_len - 1);

		memcpy(pset_name, name, len);
		pset_name[len] = 0;
	}
	*pset_len = (int)strlen(name) + 1;
	return MPI_SUCCESS;
}

static int mpi_session_get_pset_info(struct weft_session *session,
	const char *pset_name, struct weft_info **made)
{
	return weft_pset_info(session, pset_name, made);
}

static int mpi_group_from_session_pset(struct weft_session *session,
	const char *pset_name, struct weft_group **made)
{
	return weft_pset_group(session, pset_name, made);
}

int PMPI_Comm_create_from_group(MPI_Group group, const char *stringtag,
	MPI_Info info, MPI_Errhandler errhandler, MPI_Comm *newcomm)
{
	static const char func[] = "MPI_Comm_create_from_group";
	struct weft_comm *made = NULL;
	struct weft_group *members = NULL;
	struct weft_info *hints;
	struct weft_errh *errh = NULL;
	int err;

	weft_mpi_null(newcomm, MPI_COMM_NULL);
	err = weft_check_errh(errhandler, WEFT_KIND_COMM, &errh);
	if (err)
		return weft_mpi_raise_none(func, err);
	err = weft_check_ptr(newcomm, "newcomm");
	if (!err)
		err = weft_check_group(group, &members);
	if (!err)
		err = weft_check_stringtag(stringtag);
	if (!err)
		err = weft_check_info_or_null(info, &hints);
	if (!err)
		err = weft_create_from_group(
			members, stringtag, hints, errh, &made);
	if (!err) {
		err = weft_spread_open(made, hints);
		if (err)
			weft_disconnect_free(made);
	}
	if (err)
		return weft_mpi_raise_obj(
			WEFT_KIND_COMM, MPI_COMM_NULL, errh, NULL, func, err);
	*newcomm = made ? weft_mpi_comm_handle(made) : MPI_COMM_NULL;
	return MPI_SUCCESS;
}

/* Reads the remote group, which is significant at the leader. Writes
 * *remote_out only if remote_leader is a rank of it. */
static int read_remote(MPI_Group remote_group, int32_t remote_leader,
	const struct weft_group *local, struct weft_group **remote_out)
{
	struct weft_group *remote = NULL;
	int err = weft_check_group(remote_group, &remote);

	if (!err)
		err = weft_check_range(WEFT_ERR_RANK, "remote_leader",
			remote_leader, 0, (int64_t)remote->size - 1);
	if (err)
		return err;
	*remote_out = remote;
	return weft_mix_groups(local, remote);
}

/* Reads the arguments into the creation's struct. */
static int read_groups(MPI_Group local_group, MPI_Group remote_group,
	MPI_Info info, struct weft_create_inter_groups *how)
{
	struct weft_group *local = NULL;
	struct weft_info *hints = NULL;
	int err;

	err = weft_check_group(local_group, &local);
	if (!err && local->my_rank < 0)
		err = weft_err_set(
			WEFT_ERR_GROUP, "this process is not in local_group");
	if (!err)
		err = weft_check_range(WEFT_ERR_RANK, "local_leader",
			how->local_leader, 0, (int64_t)local->size - 1);
	if (!err)
		err = weft_check_stringtag(how->tag);
	if (!err)
		err = weft_check_info_or_null(info, &hints);
	/* all members of the group return an error of the leader's arguments */
	if (!err && local->my_rank == how->local_leader)
		how->err = read_remote(
			remote_group, how->remote_leader, local, &how->remote);
	how->local = local;
	how->info = hints;
	return err;
}

static bool is_group_empty(MPI_Group handle)
{
	const struct weft_group *group = weft_mpi_group(handle);

	return group && !group->size;
}

int PMPI_Intercomm_create_from_groups(MPI_Group local_group, int local_leader,
	MPI_Group remote_group, int remote_leader, const char *stringtag,
	MPI_Info info, MPI_Errhandler errhandler, MPI_Comm *newintercomm)
{
	static const char func[] = "MPI_Intercomm_create_from_groups";
	struct weft_create_inter_groups how = {
		.local_leader = local_leader,
		.remote_leader = remote_leader,
		.tag = stringtag,
	};
	struct weft_comm *made;
	int err;

	weft_mpi_null(newintercomm, MPI_COMM_NULL);
	err = weft_check_errh(errhandler, WEFT_KIND_COMM, &how.errh);
	if (err)
		return weft_mpi_raise_none(func, err);
	err = weft_check_ptr(newintercomm, "newintercomm");
	if (!err &&
		(is_group_empty(local_group) || is_group_empty(remote_group)))
		return MPI_SUCCESS; /* a local call that returns MPI_COMM_NULL
				     */
	if (!err)
		err = read_groups(local_group, remote_group, info, &how);
	if (!err)
		err = weft_create_inter_from_groups(&how, &made);
	if (err)
		return weft_mpi_raise_obj(WEFT_KIND_COMM, MPI_COMM_NULL,
			how.errh, NULL, func, err);
	*newintercomm = weft_mpi_comm_handle(made);
	return MPI_SUCCESS;
}

#include "api_session.h"
