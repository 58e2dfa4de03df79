/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_comm: communicators */
#include "mpi_check.h"
#include "mpi_mix.h"
#include "mpi_topo.h"

#include "core/attr.h"
#include "comm/create.h"
#include "comm/disconnect.h"
#include "session/session_hint.h"
#include "session/split.h"
#include "session/spread.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- queries ---- */

static inline int mpi_comm_size(const struct weft_comm *comm, int *size)
{
	*size = comm->size;
	return 0;
}

static inline int mpi_comm_rank(const struct weft_comm *comm, int *rank)
{
	*rank = comm->rank;
	return 0;
}

static enum weft_compare how_alike(
	const struct weft_comm *a, const struct weft_comm *b)
{
	enum weft_compare local, remote;

	if (a == b)
		return WEFT_IDENT;
	if (a->is_inter != b->is_inter)
		return WEFT_UNEQUAL;
	local = weft_group_compare(a->group, b->group);
	remote = weft_group_compare(a->remote, b->remote);
	if (remote > local)
		local = remote;
	return local == WEFT_IDENT ? WEFT_CONGRUENT : local;
}

static int mpi_comm_compare(
	const struct weft_comm *a, const struct weft_comm *b, int *result)
{
	int err = weft_mix_is_strict() ? weft_mix_comms(a, b) : 0;

	if (!err)
		*result = MPI_IDENT + (int)how_alike(a, b);
	return err;
}

static int mpi_comm_test_inter(const struct weft_comm *comm, int *flag)
{
	*flag = comm->is_inter;
	return 0;
}

static int check_inter(const struct weft_comm *comm)
{
	if (!comm->is_inter)
		return weft_err_set(WEFT_ERR_COMM,
			"comm %s is not an intercommunicator",
			weft_mpi_comm_print(comm));
	return 0;
}

static int mpi_comm_remote_size(const struct weft_comm *comm, int *size)
{
	int err = check_inter(comm);

	if (!err)
		*size = comm->remote_size;
	return err;
}

static int mpi_comm_group(
	const struct weft_comm *comm, struct weft_group **made)
{
	return weft_group_dup(comm->group, made);
}

static int mpi_comm_remote_group(
	const struct weft_comm *comm, struct weft_group **made)
{
	int err = check_inter(comm);

	return err ? err : weft_group_dup(comm->remote, made);
}

/* ---- duplicating ---- */

/* The attributes and topology that a duplicate inherits. The room comm copies
 * the other properties. */
struct heritage {
	struct weft_attrs *attrs;
	struct weft_topo_attached *topo;
};

static int mpi_comm_collect(struct weft_comm *comm, struct heritage *h)
{
	int err;

	*h = (struct heritage){ 0 };
	err = weft_topo_dup(comm->topo, &h->topo);
	return err ? err
		   : weft_attr_copy_all(&comm->attrs,
			     weft_mpi_comm_handle(comm), &h->attrs);
}

static void mpi_comm_set_heritage(struct heritage *h, struct weft_comm *comm)
{
	comm->attrs = h->attrs;
	comm->topo = h->topo;
}

/* Frees the copied attributes and topology after a copy function has failed. */
static void free_heritage(struct heritage *h, struct weft_comm *comm)
{
	weft_attr_delete_all(&h->attrs, weft_mpi_comm_handle(comm));
	weft_attrs_destroy(h->attrs);
	free(h->topo);
}

static void free_spread(struct weft_comm *comm)
{
	weft_spread_free(comm);
	weft_disconnect_free(comm);
}

/* Creates the duplicate even if a copy function failed, because the other
 * members create it. Then frees it immediately. */
static int dup_comm(struct weft_comm *comm, const struct weft_info *info,
	bool may_spread, struct weft_comm **made)
{
	struct heritage h;
	int copy_err = mpi_comm_collect(comm, &h), spread_err = 0;
	int err = weft_create_dup(comm, info, made);

	if (!err && may_spread)
		spread_err = weft_spread_open(*made, info);
	if (err || copy_err || spread_err) {
		free_heritage(&h, comm);
		if (!err)
			free_spread(*made);
		return copy_err ? copy_err : err ? err : spread_err;
	}
	mpi_comm_set_heritage(&h, *made);
	return 0;
}

static int mpi_comm_dup(struct weft_comm *comm, struct weft_comm **made)
{
	return dup_comm(comm, NULL, false, made);
}

static int mpi_comm_dup_with_info(struct weft_comm *comm,
	const struct weft_info *info, struct weft_comm **made)
{
	return dup_comm(comm, info, true, made);
}

/* A started duplication. Destroyed when the duplicate exists. */
struct idup {
	struct weft_req *req;
	struct heritage heritage;
	MPI_Comm *newcomm;
};

static void mpi_comm_on_made(void *arg, struct weft_comm *comm, int err)
{
	struct idup *d = arg;

	if (comm) {
		mpi_comm_set_heritage(&d->heritage, comm);
		*d->newcomm = weft_mpi_comm_handle(comm);
	}
	weft_mpi_req_end(d->req, err);
	free(d);
}

/* Frees a duplicate that this process created only because the other members
 * did. */
static void free_unwanted_dup(void *arg, struct weft_comm *comm, int err)
{
	(void)arg;
	(void)err;
	if (comm)
		weft_disconnect_free_locked(comm);
}

static int idup_comm(struct weft_comm *comm, const struct weft_info *info,
	MPI_Comm *newcomm, MPI_Request *request)
{
	struct idup *d = calloc(1, sizeof(*d));
	int err = d ? mpi_comm_collect(comm, &d->heritage) : WEFT_ERR_NOMEM;

	if (!err) {
		d->req = weft_mpi_req_begin(comm->vci, comm);
		err = d->req ? 0 : WEFT_ERR_NOMEM;
	}
	if (err) {
		(void)weft_create_dup_start(
			comm, info, free_unwanted_dup, NULL);
		goto fail;
	}
	d->newcomm = newcomm;
	*request = weft_mpi_req_handle(d->req);
	*newcomm = MPI_COMM_NULL;
	err = weft_create_dup_start(comm, info, mpi_comm_on_made, d);
	if (!err)
		return 0;
	*request = MPI_REQUEST_NULL;
	weft_mpi_req_drop(d->req);
fail:
	if (d)
		free_heritage(&d->heritage, comm);
	free(d);
	return err;
}

int PMPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
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
		err = idup_comm(of, NULL, newcomm, request);
	return weft_mpi_end(of, "MPI_Comm_idup", err);
}

int PMPI_Comm_idup_with_info(
	MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request)
{
	struct weft_comm *of = NULL;
	struct weft_info *hints = NULL;
	int err;

	weft_mpi_null(newcomm, MPI_COMM_NULL);
	weft_mpi_null(request, MPI_REQUEST_NULL);
	err = weft_check_comm(comm, &of);
	if (!err)
		err = weft_check_ptr(newcomm, "newcomm");
	if (!err)
		err = weft_check_ptr(request, "request");
	if (!err)
		err = weft_check_info_or_null(info, &hints);
	if (!err)
		err = idup_comm(of, hints, newcomm, request);
	return weft_mpi_end(of, "MPI_Comm_idup_with_info", err);
}

/* ---- parts of a communicator ---- */

static int mpi_comm_create(struct weft_comm *comm, struct weft_group *group,
	struct weft_comm **made)
{
	int err = weft_mix_comm_group(comm, group);

	return err ? err : weft_create_subset(comm, group, made);
}

static int mpi_comm_create_group(struct weft_comm *comm,
	struct weft_group *group, int tag, struct weft_comm **made)
{
	int err = weft_check_is_intra(comm);

	if (!err)
		err = weft_mix_comm_group(comm, group);
	return err ? err : weft_create_group(comm, group, tag, made);
}

static int mpi_comm_split(
	struct weft_comm *comm, int color, int key, struct weft_comm **made)
{
	int err = color == MPI_UNDEFINED
			  ? 0
			  : weft_check_range(
				    WEFT_ERR_ARG, "color", color, 0, INT32_MAX);

	if (!err)
		err = weft_create_split(
			comm, color < 0 ? -1 : color, key, made);
	return err;
}

static int mpi_comm_split_type(struct weft_comm *comm, int type, int key,
	struct weft_info *info, struct weft_comm **comm_out)
{
	switch (type) {
	case MPI_UNDEFINED:
		return weft_split_none(comm, comm_out);
	case MPI_COMM_TYPE_SHARED:
		return weft_split_host(comm, key, comm_out);
	case MPI_COMM_TYPE_HW_GUIDED:
		return weft_split_guided(comm, key, info, comm_out);
	case MPI_COMM_TYPE_HW_UNGUIDED:
		return weft_split_finer(comm, key, info, comm_out);
	case MPI_COMM_TYPE_RESOURCE_GUIDED:
		return weft_split_resource(comm, key, info, comm_out);
	default:
		return weft_err_set(WEFT_ERR_ARG,
			"split_type is %d, which is not known", type);
	}
}

/* ---- intercommunicators ---- */

/* Checks the arguments that are significant at the leader only. After an error,
 * all members of its group return this error. The other leader does, too, if it
 * can be reached. */
static int check_leaders(MPI_Comm peer_comm, struct weft_create_inter *how)
{
	struct weft_comm *peer;
	int err = weft_check_comm(peer_comm, &peer);

	if (!err)
		err = weft_check_range(WEFT_ERR_RANK, "remote_leader",
			how->remote_leader, 0, peer->remote_size - 1);
	if (!err)
		err = weft_check_tag_send(how->tag);
	if (err)
		return err;
	how->peer = peer;
	return weft_mix_comms(how->local, peer);
}

int PMPI_Intercomm_create(MPI_Comm local_comm, int local_leader,
	MPI_Comm peer_comm, int remote_leader, int tag, MPI_Comm *newintercomm)
{
	struct weft_create_inter how = {
		.local_leader = local_leader,
		.remote_leader = remote_leader,
		.tag = tag,
	};
	struct weft_comm *made;
	int err;

	weft_mpi_null(newintercomm, MPI_COMM_NULL);
	err = weft_check_intra(local_comm, &how.local);
	if (!err)
		err = weft_check_ptr(newintercomm, "newintercomm");
	if (!err)
		err = weft_check_range(WEFT_ERR_RANK, "local_leader",
			local_leader, 0, how.local->size - 1);
	if (!err && how.local->rank == local_leader)
		how.err = check_leaders(peer_comm, &how);
	if (!err)
		err = weft_create_inter(&how, &made);
	if (!err)
		*newintercomm = weft_mpi_comm_handle(made);
	return weft_mpi_end(how.local, "MPI_Intercomm_create", err);
}

static int mpi_intercomm_merge(
	struct weft_comm *intercomm, int high, struct weft_comm **made)
{
	int err = check_inter(intercomm);

	return err ? err : weft_create_merge(intercomm, high != 0, made);
}

/* ---- freeing ---- */

static int check_freeable(const struct weft_comm *comm)
{
	if (comm == weft_world.comms[0] || comm == weft_world.comms[1])
		return weft_err_set(WEFT_ERR_COMM,
			"%s cannot be freed or disconnected", comm->name);
	return 0;
}

static int mpi_comm_free(struct weft_comm *comm)
{
	int err = check_freeable(comm);

	if (!err)
		err = weft_attr_delete_all(
			&comm->attrs, weft_mpi_comm_handle(comm));
	if (!err)
		free_spread(comm);
	return err;
}

/* An error of the disconnection itself is raised after the communicator is
 * destroyed. */
int PMPI_Comm_disconnect(MPI_Comm *comm)
{
	struct weft_errh *errh;
	struct weft_comm *of = NULL;
	int err, comm_err;

	err = weft_check_ptr(comm, "comm");
	if (!err)
		err = weft_check_comm(*comm, &of);
	if (!err)
		err = check_freeable(of);
	if (!err)
		err = weft_attr_delete_all(&of->attrs, *comm);
	if (err)
		return weft_mpi_raise(of, "MPI_Comm_disconnect", err);
	errh = weft_errh_get(of->errh);
	err = weft_spread_disconnect(of);
	comm_err = weft_disconnect_wait(of);
	err = err ? err : comm_err;
	*comm = MPI_COMM_NULL;
	if (err)
		err = weft_mpi_raise_obj(WEFT_KIND_COMM, MPI_COMM_NULL, errh,
			NULL, "MPI_Comm_disconnect", err);
	weft_errh_put(errh);
	return err;
}

/* ---- name and hints ---- */

static int mpi_comm_set_name(struct weft_comm *comm, const char *comm_name)
{
	weft_vci_lock(comm->vci);
	snprintf(comm->name, sizeof(comm->name), "%s", comm_name);
	weft_vci_unlock(comm->vci);
	for (uint32_t i = 1; i < comm->n_spread; i++)
		mpi_comm_set_name(comm->spread[i], comm_name);
	return 0;
}

int PMPI_Comm_get_name(MPI_Comm comm, char *comm_name, int *resultlen)
{
	struct weft_comm *of = NULL;
	int err;

	/* only this procedure accepts MPI_COMM_NULL */
	if (comm == MPI_COMM_NULL && comm_name && resultlen) {
		strcpy(comm_name, "MPI_COMM_NULL");
		*resultlen = (int)strlen(comm_name);
		return MPI_SUCCESS;
	}
	err = weft_check_comm(comm, &of);
	if (!err)
		err = weft_check_ptr(comm_name, "comm_name");
	if (!err)
		err = weft_check_ptr(resultlen, "resultlen");
	if (err)
		return weft_mpi_raise(of, "MPI_Comm_get_name", err);
	weft_vci_lock(of->vci);
	strcpy(comm_name, of->name);
	weft_vci_unlock(of->vci);
	*resultlen = (int)strlen(comm_name);
	return MPI_SUCCESS;
}

static int mpi_comm_set_info(
	struct weft_comm *comm, const struct weft_info *info)
{
	struct weft_info *made = NULL;
	int err = weft_hint_comm(info, &made);

	if (!err && comm->n_spread) /* spreading needs this assertion */
		(void)weft_info_delete(
			made, weft_hint_desc(WEFT_HINT_NO_ANY_TAG)->key);
	if (!err && comm->info) {
		err = weft_info_merge(comm->info, made);
		weft_info_destroy(made);
	} else if (!err) {
		comm->info = made;
	}
	weft_comm_mark(comm);
	return err;
}

static int mpi_comm_get_info(
	const struct weft_comm *comm, struct weft_info **info_out)
{
	struct weft_info *info = NULL;
	int err = weft_hint_in_effect(
		WEFT_HINT_OF_COMM, comm->info, comm->child.session, &info);

	if (!err && comm->vci->number)
		err = weft_hint_set(info, WEFT_HINT_VCI, "dedicated");
	if (!err && comm->n_spread)
		err = weft_hint_set_number(
			info, WEFT_HINT_COMM_VCIS, comm->n_spread);
	if (err)
		weft_info_destroy(info);
	else
		*info_out = info;
	return err;
}

#include "api_comm.h"
