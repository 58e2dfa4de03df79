/* SPDX-License-Identifier: BSD-3-Clause */
/* repair: agreement, and a communicator of the living members
 *
 * Each operation is one agreement (era/era_comm.h). The word of the agreement
 * is a context id, so that the members create a communicator without further
 * messages. A bit of the agreement's kinds identifies the operation. */
#include "comm/repair.h"

#include "base/err.h"
#include "comm/blocked.h"
#include "comm/comm_init.h"
#include "comm/disconnect.h"
#include "era/era_comm.h"

#include <stdlib.h>

/* The bit that identifies the operation. */
enum repair_kind {
	REPAIR_AGREE = 1,
	REPAIR_SHRINK = 2,
};

/* A started agreement. Freed when it is complete. */
struct repair {
	struct weft_era_call call;
	enum repair_kind kind;
	uint32_t flag;		       /* the program's flag */
	weft_repair_agreed_fn *agreed; /* REPAIR_AGREE: receives the result */
	weft_create_done_fn *made;     /* REPAIR_SHRINK: receives the result */
	void *arg;
};

static int repair_check_kind(const struct repair *r)
{
	if (r->call.err || r->call.value.kinds & r->kind)
		return r->call.err;
	return weft_err_set(WEFT_ERR_NOT_SAME,
		"some members of communicator \"%s\" call MPIX_Comm_agree, "
		"and others MPIX_Comm_shrink",
		weft_comm_label(r->call.comm));
}

/* ---- agree ---- */

/* The flag that this member contributes to the agreement. On an
 * intercommunicator, the lower half contains the program's flags of the first
 * group (weft_comm_is_first), and the upper half those of the other group. */
static uint64_t flag_in(const struct weft_comm *comm, const struct repair *r)
{
	if (!comm->is_inter)
		return r->flag;
	return weft_comm_is_first(comm) ? (uint64_t)UINT32_MAX << 32 | r->flag
					: (uint64_t)r->flag << 32 | UINT32_MAX;
}

/* The agreed flag for the program; on an intercommunicator, the flag of the
 * remote group. */
static uint32_t flag_out(const struct repair *r)
{
	const struct weft_comm *comm = r->call.comm;
	uint64_t flag = r->call.value.flag;

	return (uint32_t)(comm->is_inter && weft_comm_is_first(comm)
				  ? flag >> 32
				  : flag);
}

static int check_acked(const struct repair *r)
{
	if (r->call.value.is_acked)
		return 0;
	return weft_err_set(WEFT_ERR_PEER,
		"members of communicator \"%s\" have failed, and not all "
		"members have acknowledged that",
		weft_comm_label(r->call.comm));
}

static void on_agreed(struct weft_era_call *call)
{
	struct repair *r = weft_container_of(call, struct repair, call);
	struct weft_comm *comm = call->comm;
	int err = repair_check_kind(r);

	err = err ? err : check_acked(r);
	r->agreed(r->arg, call->err ? r->flag : flag_out(r), err);
	free(r);
	weft_comm_put(comm);
}

/* ---- shrink ---- */

/* Creates the group of the living members of `group`. first is the rank, in the
 * agreement, of the first member of `group`. */
static int living_group(const struct repair *r, const struct weft_group *group,
	uint32_t first, struct weft_group **group_out)
{
	const struct weft_era_deaths *deaths = &r->call.value.deaths;
	int *ranks = malloc((deaths->n + 1) * sizeof(*ranks));
	uint32_t n = 0;
	int err;

	if (!ranks)
		return WEFT_ERR_NOMEM;
	for (uint32_t i = 0; i < deaths->n; i++)
		if (deaths->at[i].failed & deaths->bit &&
			deaths->at[i].rank - first < group->size)
			ranks[n++] = (int)(deaths->at[i].rank - first);
	err = weft_group_excl(group, ranks, n, group_out);
	free(ranks);
	return err;
}

/* Creates the communicator. *comm_out is NULL if all members of a group of an
 * intercommunicator have died. */
static int create_shrunk(const struct repair *r, struct weft_comm **comm_out)
{
	struct weft_comm *old = r->call.comm;
	uint32_t size = (uint32_t)old->size;
	uint32_t remote_size = (uint32_t)old->remote_size;
	bool is_first = weft_comm_is_first(old);
	struct weft_comm_init b = {
		.session = old->child.session,
		.vci = old->vci,
		.parent = old,
		.ctx = r->call.value.word,
		.local_ctx = r->call.value.word +
			     (is_first ? 1U : 2U) * WEFT_CTX_OFFSET_END,
		.is_fixed = true,
		.errh = old->errh,
	};
	int err = living_group(
		r, old->group, is_first ? 0 : remote_size, &b.group);

	*comm_out = NULL;
	if (!err && old->is_inter)
		err = living_group(
			r, old->remote, is_first ? size : 0, &b.remote);
	if (!err && (!b.remote || b.remote->size))
		err = weft_comm_init(&b, comm_out);
	weft_group_put(b.group);
	weft_group_put(b.remote);
	return err;
}

static void on_shrunk(struct weft_era_call *call)
{
	struct repair *r = weft_container_of(call, struct repair, call);
	struct weft_comm *old = call->comm, *comm = NULL;
	int err = repair_check_kind(r);

	if (!err)
		err = create_shrunk(r, &comm);
	r->made(r->arg, comm, err);
	free(r);
	weft_comm_put(old);
}

/* ---- starting ---- */

/* Starts an agreement, which holds a reference on the communicator. */
static int repair_start(struct weft_comm *comm, const struct repair *how,
	struct repair **repair_out)
{
	struct repair *r;
	int err;

	r = malloc(sizeof(*r));
	if (!r)
		return WEFT_ERR_NOMEM;
	*r = *how;
	r->call = (struct weft_era_call){
		.comm = weft_comm_get(comm),
		.flag = flag_in(comm, r),
		.kinds = r->kind,
		.done = r->kind == REPAIR_AGREE ? on_agreed : on_shrunk,
	};
	/* set before the start, because done() may be called there */
	*repair_out = r;
	err = weft_era_comm_start(&r->call);
	if (err) {
		free(r);
		weft_comm_put(comm);
	}
	return err;
}

static int repair_start_locking(
	struct weft_comm *comm, const struct repair *how)
{
	struct repair *r;
	int err;

	weft_vci_lock(comm->vci);
	err = repair_start(comm, how, &r);
	weft_vci_unlock(comm->vci);
	return err;
}

int weft_repair_agree_start(struct weft_comm *comm, uint32_t flag,
	weft_repair_agreed_fn *agreed, void *arg)
{
	const struct repair how = {
		.kind = REPAIR_AGREE,
		.flag = flag,
		.agreed = agreed,
		.arg = arg,
	};

	return repair_start_locking(comm, &how);
}

int weft_repair_shrink_start(
	struct weft_comm *comm, weft_create_done_fn *made, void *arg)
{
	const struct repair how = {
		.kind = REPAIR_SHRINK,
		.made = made,
		.arg = arg,
	};

	return repair_start_locking(comm, &how);
}

/* ---- blocking ---- */

/* The result of a blocking call. */
struct repaired {
	bool is_done;
	uint32_t flag;
	struct weft_comm *comm;
	int err;
};

static void keep_flag(void *arg, uint32_t flag, int err)
{
	struct repaired *result = arg;

	*result =
		(struct repaired){ .is_done = true, .flag = flag, .err = err };
}

static void keep_comm(void *arg, struct weft_comm *comm, int err)
{
	struct repaired *result = arg;

	*result =
		(struct repaired){ .is_done = true, .comm = comm, .err = err };
}

/* The callbacks of an aborted call. drop_comm() frees the communicator: the
 * other members have created this communicator, and can close it only together
 * with this process. */
static void drop_flag(void *arg, uint32_t flag, int err)
{
	(void)arg;
	(void)flag;
	(void)err;
}

static void drop_comm(void *arg, struct weft_comm *comm, int err)
{
	(void)arg;
	(void)err;
	if (comm)
		weft_disconnect_free_locked(comm);
}

static void update_awaited(struct weft_blocked *b, const struct repair *r)
{
	uint32_t ranks[WEFT_BLOCKED_ABOVE];

	/* The agreement in progress may precede the agreement of this call. */
	b->join.round = weft_era_comm_begun(r->call.comm);
	b->join.n = weft_era_comm_awaited(&r->call, ranks, WEFT_BLOCKED_ABOVE);
	for (uint32_t i = 0; i < b->join.n; i++)
		b->join.ranks[i] = (int32_t)ranks[i];
}

/* Waits for a started agreement. VCI's lock held. */
static void repair_wait(struct weft_comm *comm, const char *what,
	struct repair *r, struct repaired *result)
{
	struct weft_blocked blocked = {
		.kind = WEFT_BLOCKED_DERIVE,
		.vci = comm->vci,
		.comm = comm,
		.what = what,
		.join = { .need = WEFT_WIRE_NEED_AGREE },
	};

	weft_blocked_begin(&blocked);
	for (uint32_t n = 0; !result->is_done; n++) {
		if (n % 64 == 0)
			update_awaited(&blocked, r);
		if (weft_blocked_round(&blocked) && !result->is_done)
			break;
	}
	weft_blocked_end(&blocked);
	if (result->is_done)
		return;
	r->agreed = drop_flag;
	r->made = drop_comm;
	result->err = weft_blocked_raise(&blocked);
}

static int repair_run(struct weft_comm *comm, const char *what,
	struct repair *how, struct repaired *result)
{
	struct repair *r;
	int err;

	how->agreed = keep_flag;
	how->made = keep_comm;
	how->arg = result;
	weft_vci_lock(comm->vci);
	err = repair_start(comm, how, &r);
	if (!err && !result->is_done)
		repair_wait(comm, what, r, result);
	weft_vci_unlock(comm->vci);
	return err ? err : result->err;
}

int weft_repair_agree(struct weft_comm *comm, uint32_t *flag)
{
	struct repair how = { .kind = REPAIR_AGREE, .flag = *flag };
	struct repaired result = { .flag = *flag };
	int err = repair_run(comm, "MPIX_Comm_agree", &how, &result);

	*flag = result.flag;
	return err;
}

int weft_repair_shrink(struct weft_comm *comm, struct weft_comm **comm_out)
{
	struct repair how = { .kind = REPAIR_SHRINK };
	struct repaired result = { 0 };
	int err = repair_run(comm, "MPIX_Comm_shrink", &how, &result);

	if (!err)
		*comm_out = result.comm;
	return err;
}
