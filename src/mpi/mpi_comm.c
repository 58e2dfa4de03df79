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

#include <stdio.h>
#include <stdlib.h>

/* ---- looking ---- */

int PMPI_Comm_size(MPI_Comm comm, int *size)
{
	struct weft_comm *of = NULL;
	int err = weft_check_comm(comm, &of);

	if (weft_likely(!err))
		err = weft_check_ptr(size, "size");
	if (weft_unlikely(err))
		return weft_mpi_raise(of, "MPI_Comm_size", err);
	*size = of->size;
	return MPI_SUCCESS;
}

int PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
	struct weft_comm *of = NULL;
	int err = weft_check_comm(comm, &of);

	if (weft_likely(!err))
		err = weft_check_ptr(rank, "rank");
	if (weft_unlikely(err))
		return weft_mpi_raise(of, "MPI_Comm_rank", err);
	*rank = of->rank;
	return MPI_SUCCESS;
}

static enum weft_compare mpi_comm_compare(
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

int PMPI_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int *result)
{
	struct weft_comm *a = NULL, *b;
	int err;

	err = weft_check_comm(comm1, &a);
	if (!err)
		err = weft_check_comm(comm2, &b);
	if (!err)
		err = weft_check_ptr(result, "result");
	if (!err && weft_mix_is_strict())
		err = weft_mix_comms(a, b);
	if (err)
		return weft_mpi_raise(a, "MPI_Comm_compare", err);
	*result = MPI_IDENT + (int)mpi_comm_compare(a, b);
	return MPI_SUCCESS;
}

int PMPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
	struct weft_comm *of = NULL;
	int err = weft_check_comm(comm, &of);

	if (!err)
		err = weft_check_ptr(flag, "flag");
	if (err)
		return weft_mpi_raise(of, "MPI_Comm_test_inter", err);
	*flag = of->is_inter;
	return MPI_SUCCESS;
}

static int check_inter(MPI_Comm comm, struct weft_comm **comm_out)
{
	int err = weft_check_comm(comm, comm_out);

	if (!err && !(*comm_out)->is_inter)
		err = weft_err_set(WEFT_ERR_COMM,
			"comm %s is not an intercommunicator",
			weft_mpi_comm_print(*comm_out));
	return err;
}

int PMPI_Comm_remote_size(MPI_Comm comm, int *size)
{
	struct weft_comm *of = NULL;
	int err = check_inter(comm, &of);

	if (!err)
		err = weft_check_ptr(size, "size");
	if (err)
		return weft_mpi_raise(of, "MPI_Comm_remote_size", err);
	*size = of->remote_size;
	return MPI_SUCCESS;
}

int PMPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
	struct weft_comm *of = NULL;
	struct weft_group *copy;
	int err;

	weft_mpi_null(group, MPI_GROUP_NULL);
	err = weft_check_comm(comm, &of);
	if (!err)
		err = weft_check_ptr(group, "group");
	if (!err)
		err = weft_group_dup(of->group, &copy);
	if (!err)
		*group = weft_mpi_group_handle(copy);
	return weft_mpi_end(of, "MPI_Comm_group", err);
}

int PMPI_Comm_remote_group(MPI_Comm comm, MPI_Group *group)
{
	struct weft_comm *of = NULL;
	struct weft_group *copy;
	int err = check_inter(comm, &of);

	weft_mpi_null(group, MPI_GROUP_NULL);
	if (!err)
		err = weft_check_ptr(group, "group");
	if (!err)
		err = weft_group_dup(of->remote, &copy);
	if (!err)
		*group = weft_mpi_group_handle(copy);
	return weft_mpi_end(of, "MPI_Comm_remote_group", err);
}

/* ---- duplicating ---- */

/* What a duplicate inherits beyond what the session room gives it. */
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

static void mpi_comm_hand_over(struct heritage *h, struct weft_comm *comm)
{
	comm->attrs = h->attrs;
	comm->topo = h->topo;
}

/* A copy function failed after others had made their copies. */
static void discard(struct heritage *h, struct weft_comm *comm)
{
	weft_attr_delete_all(&h->attrs, weft_mpi_comm_handle(comm));
	weft_attrs_destroy(h->attrs);
	free(h->topo);
}

/* The duplicate is made even where a copy function failed, since the other
 * members make it; here it goes at once. */
static int dup_comm(
	struct weft_comm *comm, const struct weft_info *info, MPI_Comm *newcomm)
{
	struct weft_comm *made = NULL;
	struct heritage h;
	int copy_err = mpi_comm_collect(comm, &h);
	int err = weft_create_dup(comm, info, &made);

	if (err || copy_err) {
		discard(&h, comm);
		if (!err)
			weft_disconnect_free(made);
		return copy_err ? copy_err : err;
	}
	mpi_comm_hand_over(&h, made);
	*newcomm = weft_mpi_comm_handle(made);
	return 0;
}

int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
	struct weft_comm *of = NULL;
	int err;

	weft_mpi_null(newcomm, MPI_COMM_NULL);
	err = weft_check_comm(comm, &of);
	if (!err)
		err = weft_check_ptr(newcomm, "newcomm");
	if (!err)
		err = dup_comm(of, NULL, newcomm);
	return weft_mpi_end(of, "MPI_Comm_dup", err);
}

int PMPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
	struct weft_comm *of = NULL;
	struct weft_info *hints = NULL;
	int err;

	weft_mpi_null(newcomm, MPI_COMM_NULL);
	err = weft_check_comm(comm, &of);
	if (!err)
		err = weft_check_ptr(newcomm, "newcomm");
	if (!err)
		err = weft_check_info_or_null(info, &hints);
	if (!err)
		err = dup_comm(of, hints, newcomm);
	return weft_mpi_end(of, "MPI_Comm_dup_with_info", err);
}

/* A duplicate on its way. Destroyed when it is made. */
struct idup {
	struct weft_req *req;
	struct heritage heritage;
	MPI_Comm *newcomm;
};

static void mpi_comm_on_made(void *arg, struct weft_comm *comm, int err)
{
	struct idup *d = arg;
	struct weft_req *req = d->req;

	if (comm) {
		mpi_comm_hand_over(&d->heritage, comm);
		*d->newcomm = weft_mpi_comm_handle(comm);
	}
	free(d);
	req->status.source = WEFT_ANY_SOURCE;
	req->status.tag = WEFT_ANY_TAG;
	req->status.len = 0;
	weft_req_complete(req, err);
	weft_req_put(req);
}

static int idup_comm(struct weft_comm *comm, const struct weft_info *info,
	MPI_Comm *newcomm, MPI_Request *request)
{
	struct idup *d = calloc(1, sizeof(*d));
	struct weft_req *req = NULL;
	int err = d ? mpi_comm_collect(comm, &d->heritage) : WEFT_ERR_NOMEM;

	if (!err) {
		weft_vci_lock(comm->vci);
		req = weft_req_new(comm->vci, WEFT_REQ_OTHER);
		if (req)
			req->comm = weft_comm_get(comm); /* has the handler */
		weft_vci_unlock(comm->vci);
		err = req ? 0 : WEFT_ERR_NOMEM;
	}
	if (err)
		goto fail;
	d->newcomm = newcomm;
	d->req = weft_req_get(req);
	*request = weft_mpi_req_handle(req);
	*newcomm = MPI_COMM_NULL;
	err = weft_create_dup_start(comm, info, mpi_comm_on_made, d);
	if (!err)
		return 0;
	*request = MPI_REQUEST_NULL;
	weft_vci_lock(comm->vci);
	weft_req_put(req);
	weft_req_put(req);
	weft_vci_unlock(comm->vci);
fail:
	if (d)
		discard(&d->heritage, comm);
	free(d);
	return err;
}

int PMPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
	struct weft_comm *of = NULL;
	int err;

	weft_mpi_null(newcomm, MPI_COMM_NULL);
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

static MPI_Comm handle_or_null(const struct weft_comm *comm)
{
	return comm ? weft_mpi_comm_handle(comm) : MPI_COMM_NULL;
}

int PMPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm)
{
	struct weft_comm *of = NULL, *made = NULL;
	struct weft_group *members;
	int err;

	weft_mpi_null(newcomm, MPI_COMM_NULL);
	err = weft_check_comm(comm, &of);
	if (!err)
		err = weft_check_ptr(newcomm, "newcomm");
	if (!err)
		err = weft_check_group(group, &members);
	if (!err)
		err = weft_mix_comm_group(of, members);
	if (!err)
		err = weft_create_subset(of, members, &made);
	if (!err)
		*newcomm = handle_or_null(made);
	return weft_mpi_end(of, "MPI_Comm_create", err);
}

int PMPI_Comm_create_group(
	MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm)
{
	struct weft_comm *of = NULL, *made = NULL;
	struct weft_group *members;
	int err;

	weft_mpi_null(newcomm, MPI_COMM_NULL);
	err = weft_check_intra(comm, &of);
	if (!err)
		err = weft_check_ptr(newcomm, "newcomm");
	if (!err)
		err = weft_check_group(group, &members);
	if (!err)
		err = weft_check_tag_send(tag);
	if (!err)
		err = weft_mix_comm_group(of, members);
	if (!err)
		err = weft_create_group(of, members, tag, &made);
	if (!err)
		*newcomm = handle_or_null(made);
	return weft_mpi_end(of, "MPI_Comm_create_group", err);
}

int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
	struct weft_comm *of = NULL, *made = NULL;
	int err;

	weft_mpi_null(newcomm, MPI_COMM_NULL);
	err = weft_check_comm(comm, &of);
	if (!err)
		err = weft_check_ptr(newcomm, "newcomm");
	if (!err && color != MPI_UNDEFINED)
		err = weft_check_range(
			WEFT_ERR_ARG, "color", color, 0, INT32_MAX);
	if (!err)
		err = weft_create_split(of, color < 0 ? -1 : color, key, &made);
	if (!err)
		*newcomm = handle_or_null(made);
	return weft_mpi_end(of, "MPI_Comm_split", err);
}

static int split_type(struct weft_comm *comm, int type, int key,
	const struct weft_info *info, struct weft_comm **comm_out)
{
	switch (type) {
	case MPI_UNDEFINED:
		return weft_split_none(comm, comm_out);
	case MPI_COMM_TYPE_SHARED:
		return weft_split_host(comm, key, comm_out);
	case MPI_COMM_TYPE_HW_GUIDED:
		return weft_split_guided(comm, key, info, comm_out);
	case MPI_COMM_TYPE_HW_UNGUIDED:
		return weft_split_finer(comm, key, comm_out);
	case MPI_COMM_TYPE_RESOURCE_GUIDED:
		return weft_split_resource(comm, key, info, comm_out);
	default:
		return weft_err_set(WEFT_ERR_ARG,
			"split_type is %d, which is not known", type);
	}
}

int PMPI_Comm_split_type(
	MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *newcomm)
{
	struct weft_comm *of = NULL, *made = NULL;
	struct weft_info *hints = NULL;
	int err;

	weft_mpi_null(newcomm, MPI_COMM_NULL);
	err = weft_check_comm(comm, &of);
	if (!err)
		err = weft_check_ptr(newcomm, "newcomm");
	if (!err)
		err = weft_check_info_or_null(info, &hints);
	if (!err)
		err = split_type(of, type, key, hints, &made);
	if (!err)
		*newcomm = handle_or_null(made);
	return weft_mpi_end(of, "MPI_Comm_split_type", err);
}

/* ---- intercommunicators ---- */

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
	if (!err)
		err = weft_check_tag_send(tag);
	/* what only the leader knows: the members of its side end alike */
	if (!err && how.local->rank == local_leader) {
		how.err = weft_check_comm(peer_comm, &how.intercomm);
		if (!how.err)
			how.err = weft_check_range(WEFT_ERR_RANK,
				"remote_leader", remote_leader, 0,
				how.intercomm->remote_size - 1);
		if (!how.err)
			how.err = weft_mix_comms(how.local, how.intercomm);
	}
	if (!err)
		err = weft_create_inter(&how, &made);
	if (!err)
		*newintercomm = weft_mpi_comm_handle(made);
	return weft_mpi_end(how.local, "MPI_Intercomm_create", err);
}

int PMPI_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm *newintracomm)
{
	struct weft_comm *of = NULL, *made;
	int err;

	weft_mpi_null(newintracomm, MPI_COMM_NULL);
	err = check_inter(intercomm, &of);
	if (!err)
		err = weft_check_ptr(newintracomm, "newintracomm");
	if (!err)
		err = weft_create_merge(of, high != 0, &made);
	if (!err)
		*newintracomm = weft_mpi_comm_handle(made);
	return weft_mpi_end(of, "MPI_Intercomm_merge", err);
}

/* ---- ending ---- */

static int check_freeable(MPI_Comm *comm, struct weft_comm **comm_out)
{
	int err = weft_check_ptr(comm, "comm");

	if (!err)
		err = weft_check_comm(*comm, comm_out);
	if (!err && (*comm == MPI_COMM_WORLD || *comm == MPI_COMM_SELF))
		err = weft_err_set(WEFT_ERR_COMM,
			"%s cannot be freed or disconnected",
			(*comm_out)->name);
	return err;
}

int PMPI_Comm_free(MPI_Comm *comm)
{
	struct weft_comm *of = NULL;
	int err;

	err = check_freeable(comm, &of);
	if (!err)
		err = weft_attr_delete_all(&of->attrs, *comm);
	if (err)
		return weft_mpi_raise(of, "MPI_Comm_free", err);
	weft_disconnect_free(of);
	*comm = MPI_COMM_NULL;
	return MPI_SUCCESS;
}

int PMPI_Comm_disconnect(MPI_Comm *comm)
{
	struct weft_errh *errh;
	struct weft_comm *of = NULL;
	int err;

	err = check_freeable(comm, &of);
	if (!err)
		err = weft_attr_delete_all(&of->attrs, *comm);
	if (err)
		return weft_mpi_raise(of, "MPI_Comm_disconnect", err);
	errh = weft_errh_get(of->errh);
	err = weft_disconnect_wait(of);
	*comm = MPI_COMM_NULL;
	if (err)
		err = weft_mpi_raise_obj(WEFT_KIND_COMM, MPI_COMM_NULL, errh,
			NULL, "MPI_Comm_disconnect", err);
	weft_errh_put(errh);
	return err;
}

/* ---- name and hints ---- */

int PMPI_Comm_set_name(MPI_Comm comm, const char *comm_name)
{
	struct weft_comm *of = NULL;
	int err;

	err = weft_check_comm(comm, &of);
	if (!err)
		err = weft_check_ptr(comm_name, "comm_name");
	if (err)
		return weft_mpi_raise(of, "MPI_Comm_set_name", err);
	weft_vci_lock(of->vci);
	snprintf(of->name, sizeof(of->name), "%s", comm_name);
	weft_vci_unlock(of->vci);
	return MPI_SUCCESS;
}

int PMPI_Comm_get_name(MPI_Comm comm, char *comm_name, int *resultlen)
{
	struct weft_comm *of = NULL;
	int err;

	/* the one procedure that accepts MPI_COMM_NULL */
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

int PMPI_Comm_set_info(MPI_Comm comm, MPI_Info info)
{
	struct weft_comm *of = NULL;
	struct weft_info *hints = NULL, *made = NULL;
	int err;

	err = weft_check_comm(comm, &of);
	if (!err)
		err = weft_check_info(info, &hints);
	if (!err)
		err = weft_hint_comm(hints, &made);
	if (!err && of->info) {
		err = weft_info_merge(of->info, made);
		weft_info_destroy(made);
	} else if (!err) {
		of->info = made;
	}
	return weft_mpi_end(of, "MPI_Comm_set_info", err);
}

int PMPI_Comm_get_info(MPI_Comm comm, MPI_Info *info_used)
{
	struct weft_comm *of = NULL;
	struct weft_info *copy;
	int err;

	weft_mpi_null(info_used, MPI_INFO_NULL);
	err = weft_check_comm(comm, &of);
	if (!err)
		err = weft_check_ptr(info_used, "info_used");
	if (!err)
		err = weft_info_dup(of->info, &copy);
	if (!err && of->vci->number)
		err = weft_info_set(copy, WEFT_HINT_VCI, "dedicated");
	if (!err && of->wants_nic)
		err = weft_info_set(copy, WEFT_HINT_MATCH,
			weft_nic_is_on(of) ? "nic" : "software");
	if (!err)
		*info_used = weft_mpi_info_handle(copy);
	return weft_mpi_end(of, "MPI_Comm_get_info", err);
}

#include "api_comm.h"
