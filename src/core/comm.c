/* SPDX-License-Identifier: BSD-3-Clause */
/* comm: creates communicators, finds their peers, removes them from the VCI's
 * table */
#include "core/comm.h"

#include "base/err.h"
#include "base/event.h"
#include "transport/dispatch.h"
#include "transport/proc.h"
#include "shm/share.h"
#include "core/comm_nodes.h"
#include "core/failed.h"
#include "core/hint.h"
#include "core/info.h"
#include "core/vci_core.h"

#include <stdio.h>
#include <stdlib.h>

struct weft_table weft_comms =
	WEFT_TABLE_INIT(struct weft_comm, WEFT_KIND_COMM);

/* True if no kind that the program asserts is device memory. */
static bool asserts_host(const struct weft_info *info)
{
	char kinds[WEFT_INFO_VALUE_MAX + 1];

	return info &&
	       weft_hint_value(info, WEFT_HINT_ASSERT_KINDS, kinds,
		       sizeof(kinds)) >= 0 &&
	       !weft_hint_lists_dev(kinds);
}

void weft_comm_mark(struct weft_comm *comm)
{
	const struct weft_session *session = comm->child.session;

	comm->may_dev =
		session && session->has_dev && !asserts_host(comm->info);
}

static uint32_t n_chunks(const struct weft_comm *comm)
{
	return ((uint32_t)comm->remote_size + WEFT_COMM_PEERS - 1) /
	       WEFT_COMM_PEERS;
}

bool weft_comm_record_failed(struct weft_comm *comm, uint64_t proc)
{
	if (weft_group_rank_of(comm->group, proc) >= 0 ||
		weft_group_rank_of(comm->remote, proc) >= 0) {
		weft_failed_add(proc);
		if (!comm->failed)
			comm->failed = proc + 1;
	}
	if (comm->local && !comm->local->failed)
		comm->local->failed = comm->failed;
	return comm->failed != 0;
}

const char *weft_comm_label(const struct weft_comm *comm)
{
	if (comm->name[0])
		return comm->name;
	if (comm->tag[0] > 0 && comm->tag[0] < ' ')
		return comm->tag +
		       1; /* a tag of the library begins with a mark */
	return comm->tag[0] ? comm->tag : "without a name";
}

/* Prints `of communicator "crew"` or the label of a window or file. For a part
 * of a spread communicator, prints the name of the whole communicator. */
static void print_object(
	const struct weft_comm *comm, bool is_remote, char *buf, size_t len)
{
	const struct weft_comm *whole =
		comm->spread_of ? weft_table_get(&weft_comms, comm->spread_of)
				: comm;
	const char *label = weft_comm_label(whole ? whole : comm);

	if (comm->win || comm->file)
		snprintf(buf, len, "%.100s", label);
	else
		snprintf(buf, len, "of %scommunicator \"%.100s\"",
			is_remote ? "the remote group of " : "", label);
}

/* Describes how a process ended, if that is known. */
static void print_why(
	const struct weft_comm *comm, uint64_t proc, char *buf, size_t len)
{
	const struct weft_peer *peer =
		weft_map_get(&comm->vci->peers, proc + 1);

	if (peer && peer->why && peer->why[0])
		snprintf(buf, len, "%s", peer->why);
	else
		snprintf(buf, len, "process %u has died or cannot be reached",
			(uint32_t)proc);
}

/* Describes the failure of proc. rank is WEFT_UNDEFINED if comm is the local
 * communicator of an intercommunicator and proc is a remote process. */
static int set_failed(const struct weft_comm *comm, int32_t rank,
	bool is_remote, uint64_t proc)
{
	char member[32] = "a remote process", object[160], why[160];

	if (rank != WEFT_UNDEFINED)
		snprintf(member, sizeof(member), "rank %d", (int)rank);
	print_object(comm, is_remote, object, sizeof(object));
	print_why(comm, proc, why, sizeof(why));
	weft_err_set(
		WEFT_ERR_PEER, "%s %s has failed: %s", member, object, why);
	weft_err_object_set(comm->ctx, proc + 1);
	return WEFT_ERR_PEER;
}

int weft_comm_failed_rank(const struct weft_comm *comm, int32_t rank)
{
	return set_failed(comm, rank, comm->is_inter,
		weft_group_proc(comm->remote, (uint32_t)rank));
}

int weft_comm_failed_proc(const struct weft_comm *comm, uint64_t proc)
{
	int32_t rank = weft_group_rank_of(comm->remote, proc);

	if (rank != WEFT_UNDEFINED)
		return weft_comm_failed_rank(comm, rank);
	return set_failed(
		comm, weft_group_rank_of(comm->group, proc), false, proc);
}

int weft_comm_failed(const struct weft_comm *comm)
{
	return weft_comm_failed_proc(comm, comm->failed - 1);
}

bool weft_comm_is_failed_unreached(const struct weft_comm *comm)
{
	const struct weft_peer *peer =
		weft_map_get(&comm->vci->peers, comm->failed);

	return peer && peer->is_unreached;
}

int weft_comm_explain(const struct weft_comm *comm, int err)
{
	uint64_t failed = weft_err_failed(err);

	if (err != WEFT_ERR_PEER || weft_err_object(err) == comm->ctx)
		return err;
	weft_vci_lock(comm->vci);
	if (comm->failed)
		weft_comm_failed(comm);
	else if (failed &&
		 (weft_group_rank_of(comm->group, failed - 1) >= 0 ||
			 weft_group_rank_of(comm->remote, failed - 1) >= 0))
		weft_comm_failed_proc(comm, failed - 1);
	weft_vci_unlock(comm->vci);
	return err;
}

/* Records members that failed before the communicator was created. */
static void note_earlier_failures(struct weft_comm *comm)
{
	struct weft_map_entry *entry;
	size_t pos = 0;

	while ((entry = weft_map_next(&comm->vci->peers, &pos)) != NULL) {
		const struct weft_peer *peer = entry->value;

		if (peer->state == WEFT_PEER_FAILED)
			weft_comm_record_failed(comm, peer->proc);
	}
}

enum { PEERS_LEN = WEFT_COMM_PEERS * sizeof(struct weft_peer *) };

/* Returns the size in bytes of a communicator without peers. */
static size_t bare_len(const struct weft_comm *comm)
{
	return weft_comms.size + n_chunks(comm) * sizeof(*comm->peers);
}

int weft_comm_create(struct weft_vci *vci, uint64_t ctx,
	struct weft_group *group, struct weft_group *remote,
	struct weft_comm **comm_out)
{
	struct weft_comm *comm;
	int err;

	/* the id is checked, because it came from another process */
	if (!ctx || ctx % WEFT_CTX_OFFSET_END || weft_vci_core_comm(vci, ctx))
		return weft_err_set(WEFT_ERR_PROTO,
			"the context id %llx from another process is invalid "
			"or in use here",
			(unsigned long long)ctx);
	comm = weft_table_new(&weft_comms);
	if (!comm)
		return WEFT_ERR_NOMEM;
	comm->refs = 1;
	comm->ctx = ctx;
	comm->vci = vci;
	comm->child.vci = vci;
	comm->is_inter = remote != NULL;
	comm->group = weft_group_get(group);
	comm->remote = weft_group_get(remote ? remote : group);
	comm->rank = group->my_rank;
	comm->size = (int32_t)group->size;
	comm->remote_size = (int32_t)comm->remote->size;
	weft_list_init(&comm->match.wild);
	weft_list_init(&comm->match.arrived);
	weft_list_init(&comm->child.link);
	weft_list_init(&comm->closing_link);
	vci->counters.comm_memory += bare_len(comm);
	comm->peers = calloc(
		n_chunks(comm) ? n_chunks(comm) : 1, sizeof(*comm->peers));
	err = comm->peers ? weft_map_put(&vci->core->comms, ctx, comm)
			  : WEFT_ERR_NOMEM;
	if (err) {
		weft_comm_put(comm);
		return err;
	}
	*comm_out = comm;
	if (weft_unlikely(vci->n_failed))
		note_earlier_failures(comm);
	weft_event_raise(WEFT_EVENT_comm_created, vci->number, true,
		(int64_t)ctx, comm->rank, comm->size);
	weft_dispatch_replay(vci, ctx);
	return 0;
}

/* Returns the reason why the communicator is broken (can only be closed without
 * a barrier): WEFT_CORE_REVOKED, the number of a failed member + 1, or 0 if it
 * is not broken. */
static uint64_t broken_by(const struct weft_comm *comm)
{
	int32_t rank;

	if (weft_comm_is_revoked(comm))
		return WEFT_CORE_REVOKED;
	if (comm->failed)
		return comm->failed;
	rank = weft_failed_first(comm->group);
	if (rank >= 0)
		return weft_group_proc(comm->group, (uint32_t)rank) + 1;
	rank = weft_failed_first(comm->remote);
	return rank >= 0 ? weft_group_proc(comm->remote, (uint32_t)rank) + 1
			 : 0;
}

/* Records that the context id belongs to a broken communicator. Members that do
 * not know this yet may still send, and their messages are dropped. If the
 * record cannot be allocated, the messages are queued. */
static void note_broken(const struct weft_comm *comm)
{
	uint64_t why = broken_by(comm);

	if (why)
		(void)weft_map_put(&comm->vci->core->broken, comm->ctx,
			(void *)(uintptr_t)why);
}

void weft_comm_close(struct weft_comm *comm)
{
	if (comm->state == WEFT_COMM_CLOSED)
		return;
	comm->state = WEFT_COMM_CLOSED;
	weft_map_remove(&comm->vci->core->comms, comm->ctx);
	note_broken(comm);
	if (comm->vci->core->last_comm == comm)
		comm->vci->core->last_comm = NULL;
}

static void free_peers_and_groups(struct weft_comm *comm)
{
	if (comm->peers)
		weft_comm_forget_peers(comm);
	comm->vci->counters.comm_memory -= bare_len(comm);
	free(comm->peers);
	free(comm->vcis);
	weft_group_put(comm->group);
	weft_group_put(comm->remote);
	weft_table_free(&weft_comms, comm);
}

void weft_comm_destroy(struct weft_comm *comm)
{
	weft_comm_close(comm);
	weft_event_raise(WEFT_EVENT_comm_freed, comm->vci->number, true,
		(int64_t)comm->ctx);
	if (comm->local)
		weft_comm_put(comm->local);
	free(comm->spread);
	weft_map_fini(&comm->p2p.departed);
	free(comm->bsend);
	if (comm->coll.map) {
		weft_share_unmap(comm->coll.map, comm->coll.map_len);
		atomic_fetch_sub_explicit(
			&weft_proc.n_coll_segs, 1, memory_order_relaxed);
		weft_counter_add(&weft_proc.counters.segment_memory,
			-(int64_t)comm->coll.map_len);
	}
	free(comm->coll.shm);
	weft_comm_nodes_put(comm->coll.nodes);
	free(comm->coll.edges);
	free(comm->match.posted);
	free(comm->match.unexpected);
	if (!comm->is_kept)
		free_peers_and_groups(comm);
}

void weft_comm_release(struct weft_comm *comm)
{
	comm->is_kept = false;
	if (!comm->refs)
		free_peers_and_groups(comm);
}

void weft_comm_forget_peers(struct weft_comm *comm)
{
	for (uint32_t i = 0; i < n_chunks(comm); i++) {
		if (comm->peers[i])
			comm->vci->counters.comm_memory -= PEERS_LEN;
		free(comm->peers[i]);
		comm->peers[i] = NULL;
	}
}

struct weft_peer *weft_comm_peer_new(struct weft_comm *comm, uint32_t rank)
{
	struct weft_peer ***chunk = &comm->peers[rank / WEFT_COMM_PEERS];
	struct weft_peer *peer = weft_peer_of(
		comm->vci, weft_vci_addr(weft_group_proc(comm->remote, rank),
				   comm->vcis ? comm->vcis[rank] : 0));

	if (weft_comm_is_revoked(comm))
		return peer;
	if (!*chunk) {
		*chunk = calloc(1, PEERS_LEN);
		if (!*chunk)
			return NULL;
		comm->vci->counters.comm_memory += PEERS_LEN;
	}
	(*chunk)[rank % WEFT_COMM_PEERS] = peer;
	return peer;
}
