/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_coll: collectives of teams, and the deprecated collectives of active
 * sets
 *
 * A collective of a team runs as a collective of the team's communicator. At
 * the first use of an active set, its members create a team for the set, which
 * exists until finalize. The arrays pSync and pWrk are not used. */
#include "shmem_priv.h"

#include "base/err.h"
#include "base/log.h"
#include "coll/coll.h"
#include "comm/create.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct strides {
	size_t size; /* bytes of an element */
	size_t n;    /* elements of a block */
	ptrdiff_t dst, sst;
};

static int shmem_coll_run(const char *fn, enum weft_coll_kind kind,
	struct weft_shmem_team *team, struct weft_coll *args)
{
	char failed[80];
	int err;

	args->comm = team->comm;
	args->ctx_offset = WEFT_CTX_OFFSET_COLL;
	weft_rma_release(); /* sends the accesses of this PE first, because
			       other PEs may wait for them */
	weft_shmem_set_caller(fn);
	err = weft_coll_run(kind, args);
	weft_shmem_set_caller(NULL);
	if (weft_likely(!err))
		return 0;
	weft_rma_pe_failed(failed, sizeof(failed));
	weft_log_error("SHMEM-COLL", "%s: %s%s%s", fn,
		*weft_err_detail_peek(err) ? weft_err_detail_peek(err)
					   : weft_err_str(err),
		*failed ? "; failed: " : "", failed);
	return 1;
}

static struct weft_blocks bytes(const void *buf, size_t len)
{
	return (struct weft_blocks){ .buf = (void *)(uintptr_t)buf,
		.count = (int64_t)len,
		.type = weft_type_builtin(WEFT_TYPE_BYTE) };
}

/* ---- teams of active sets ---- */

static struct weft_shmem_team *get_team(const char *fn, shmem_team_t team)
{
	return weft_shmem_team_ready(fn, team);
}

/* Teams of active sets, newest first. Only finalize removes entries. The
 * release in shmem_coll_make_set() publishes a team before its address; it
 * pairs with the acquire in find_set(). */
static _Atomic(struct weft_shmem_team *) sets;

static struct weft_shmem_team *find_set(uint64_t triplet)
{
	struct weft_shmem_team *t =
		atomic_load_explicit(&sets, memory_order_acquire);

	while (t && t->triplet != triplet)
		t = t->next;
	return t;
}

static struct weft_shmem_team *shmem_coll_make_set(
	const char *fn, int start, int stride, int size, uint64_t triplet)
{
	int *pes = malloc((size_t)size * sizeof(*pes));
	struct weft_shmem_team *team = NULL;
	struct weft_comm *comm = NULL;
	struct weft_group *group = NULL;
	int err = pes ? 0 : WEFT_ERR_NOMEM;

	for (int i = 0; !err && i < size; i++)
		pes[i] = start + i * stride;
	if (!err)
		err = weft_group_incl(
			weft_shmem.world.group, pes, (uint32_t)size, &group);
	free(pes);
	if (!err && group->my_rank < 0)
		weft_shmem_fatal(fn,
			"the caller, PE %u, is not in the active set",
			weft_rma.my_pe);
	if (!err)
		err = weft_create_group(weft_shmem.world.comm, group, 0, &comm);
	weft_group_put(group);
	if (!err)
		team = weft_shmem_team_make(comm);
	weft_shmem_ok(fn, !err && !team ? WEFT_ERR_NOMEM : err);
	team->triplet = triplet;
	team->next = atomic_load_explicit(&sets, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&sets, &team->next, team,
		memory_order_release, memory_order_relaxed))
		;
	return team;
}

static struct weft_shmem_team *get_set(
	const char *fn, int start, int log_stride, int size)
{
	uint64_t triplet = (uint64_t)(uint32_t)start << 38 |
			   (uint64_t)((uint32_t)log_stride & 63) << 32 |
			   (uint32_t)size;
	struct weft_shmem_team *team;

	if (!start && !log_stride && (uint32_t)size == weft_rma.n_pes)
		return &weft_shmem.world;
	team = find_set(triplet);
	if (weft_likely(team))
		return team;
	weft_shmem_check_open(fn);
	if (start < 0 || log_stride < 0 || log_stride > 30 || size < 1 ||
		start + ((int64_t)(size - 1) << log_stride) >=
			(int64_t)weft_rma.n_pes)
		weft_shmem_fatal(fn,
			"PE_start %d, logPE_stride %d, PE_size %d: the active "
			"set has PEs that are not from 0 to %u",
			start, log_stride, size, weft_rma.n_pes - 1);
	return shmem_coll_make_set(fn, start, 1 << log_stride, size, triplet);
}

void weft_shmem_sets_close(void)
{
	atomic_store_explicit(&sets, NULL, memory_order_relaxed);
}

/* ---- synchronisation ---- */

static int sync_team(const char *fn, struct weft_shmem_team *team)
{
	struct weft_coll args = { .root = 0 };

	/* orders the stores of this PE, also those of its puts, before the
	 * barrier */
	atomic_thread_fence(memory_order_seq_cst);
	return shmem_coll_run(fn, WEFT_COLL_BARRIER, team, &args);
}

static void sync_or_die(const char *fn, struct weft_shmem_team *team)
{
	if (sync_team(fn, team))
		weft_shmem_fatal(fn, "the other PEs cannot be reached");
}

void weft_shmem_barrier(const char *fn)
{
	weft_shmem_ok(fn, weft_rma_quiet(weft_rma.ctx));
	sync_or_die(fn, &weft_shmem.world);
}

void pshmem_barrier_all(void)
{
	weft_shmem_check_open("shmem_barrier_all");
	weft_shmem_barrier("shmem_barrier_all");
}

void pshmem_sync_all(void)
{
	weft_shmem_check_open("shmem_sync_all");
	sync_or_die("shmem_sync_all", &weft_shmem.world);
}

int pshmem_team_sync(shmem_team_t team)
{
	static const char fn[] = "shmem_team_sync";

	return sync_team(fn, get_team(fn, team));
}

void pshmem_barrier(int PE_start, int logPE_stride, int PE_size, long *pSync)
{
	static const char fn[] = "shmem_barrier";
	struct weft_shmem_team *team =
		get_set(fn, PE_start, logPE_stride, PE_size);

	(void)pSync;
	weft_shmem_ok(fn, weft_rma_quiet(weft_rma.ctx));
	sync_or_die(fn, team);
}

void pshmem_sync(int PE_start, int logPE_stride, int PE_size, long *pSync)
{
	static const char fn[] = "shmem_sync";

	(void)pSync;
	sync_or_die(fn, get_set(fn, PE_start, logPE_stride, PE_size));
}

/* ---- data movement ---- */

static void check_root(
	const char *fn, const struct weft_shmem_team *team, int root)
{
	if (weft_unlikely((uint32_t)root >= team->n_pes))
		weft_shmem_fatal(fn, "PE_root is %d; it must be from 0 to %u",
			root, team->n_pes - 1);
}

/* Checks the buffers of a collective, and replaces those in the external heap
 * by host memory until pair_close(). */
static struct weft_shmem_pair pair_open(const char *fn, void *dest,
	size_t dest_len, const void *source, size_t source_len)
{
	struct weft_shmem_pair pair = { .dest = dest,
		.source = source,
		.dest_len = dest_len,
		.source_len = source_len,
		.n = 1,
		.len = dest_len };

	if (weft_unlikely(weft_shmem.ext.len)) {
		weft_shmem_stage_open(fn, &pair);
	} else {
		weft_shmem_check_sym(fn, "dest", dest, dest_len);
		weft_shmem_check_sym(fn, "source", source, source_len);
	}
	return pair;
}

static void pair_close(
	const char *fn, struct weft_shmem_pair *pair, bool is_written)
{
	if (weft_unlikely(weft_shmem.ext.len))
		weft_shmem_stage_close(fn, pair, is_written);
}

static int run_broadcast(const char *fn, struct weft_shmem_team *team,
	const struct weft_shmem_pair *pair, int root)
{
	bool is_root = (uint32_t)root == team->my_pe;
	struct weft_coll args = {
		.root = root,
		.recv = bytes(
			is_root ? pair->source : pair->dest, pair->dest_len),
	};

	return shmem_coll_run(fn, WEFT_COLL_BCAST, team, &args);
}

/* Broadcasts without a change of the root's dest, as active sets require.
 * team_broadcast() also copies the data there. */
static int broadcast(const char *fn, struct weft_shmem_team *team, void *dest,
	const void *source, size_t len, int root)
{
	struct weft_shmem_pair pair;
	int code;

	check_root(fn, team, root);
	pair = pair_open(fn, dest, len, source, len);
	code = run_broadcast(fn, team, &pair, root);
	pair_close(fn, &pair, !code && (uint32_t)root != team->my_pe);
	return code;
}

static int team_broadcast(const char *fn, struct weft_shmem_team *team,
	void *dest, const void *source, size_t len, int root)
{
	struct weft_shmem_pair pair;
	int code;

	check_root(fn, team, root);
	pair = pair_open(fn, dest, len, source, len);
	code = run_broadcast(fn, team, &pair, root);
	if (len && (uint32_t)root == team->my_pe && pair.dest != pair.source)
		memmove(pair.dest, pair.source, len);
	pair_close(fn, &pair, !code);
	return code;
}

static int fcollect(const char *fn, struct weft_shmem_team *team, void *dest,
	const void *source, size_t len)
{
	struct weft_shmem_pair pair =
		pair_open(fn, dest, len * team->n_pes, source, len);
	struct weft_coll args = {
		.send = bytes(pair.source, len),
		.recv = bytes(pair.dest, len),
	};
	int code = shmem_coll_run(fn, WEFT_COLL_ALLGATHER, team, &args);

	pair_close(fn, &pair, !code);
	return code;
}

/* Gathers the lengths of all PEs, then their data at the resulting offsets. */
static int shmem_coll_collect(const char *fn, struct weft_shmem_team *team,
	void *dest, const void *source, size_t len)
{
	int64_t *counts = malloc(2 * team->n_pes * sizeof(*counts));
	int64_t *displs = counts ? counts + team->n_pes : NULL;
	int64_t mine = (int64_t)len, at = 0;
	struct weft_coll sizes = {
		.send = bytes(&mine, sizeof(mine)),
		.recv = bytes(counts, sizeof(mine)),
	};
	struct weft_coll data = { .is_irregular = true };
	struct weft_shmem_pair pair;
	int code;

	if (!counts)
		weft_shmem_fatal_err(fn, WEFT_ERR_NOMEM);
	code = shmem_coll_run(fn, WEFT_COLL_ALLGATHER, team, &sizes);
	for (uint32_t i = 0; !code && i < team->n_pes; i++) {
		displs[i] = at;
		at += counts[i];
	}
	if (!code) {
		pair = pair_open(fn, dest, (size_t)at, source, len);
		data.send = bytes(pair.source, len);
		data.recv = bytes(pair.dest, 0);
		data.recv.counts = counts;
		data.recv.displs = displs;
		code = shmem_coll_run(fn, WEFT_COLL_ALLGATHER, team, &data);
		pair_close(fn, &pair, !code);
	}
	free(counts);
	return code;
}

static int alltoall(const char *fn, struct weft_shmem_team *team, void *dest,
	const void *source, size_t len)
{
	struct weft_shmem_pair pair = pair_open(
		fn, dest, len * team->n_pes, source, len * team->n_pes);
	struct weft_coll args = {
		.send = bytes(pair.source, len),
		.recv = bytes(pair.dest, len),
	};
	int code = shmem_coll_run(fn, WEFT_COLL_ALLTOALL, team, &args);

	pair_close(fn, &pair, !code);
	return code;
}

static int alltoalls(const char *fn, struct weft_shmem_team *team, void *dest,
	const void *source, const struct strides *how)
{
	size_t len = how->size * how->n * team->n_pes;
	struct weft_coll args = { .root = 0 };
	const ptrdiff_t size = (ptrdiff_t)how->size;
	struct weft_shmem_pair pair;
	int err, code = 0;

	if (how->dst < 1 || how->sst < 1)
		weft_shmem_fatal(fn,
			"dst is %td, sst is %td; both must be at least 1",
			how->dst, how->sst);
	if (!how->n)
		return sync_team(fn, team);
	pair = pair_open(fn, dest,
		len * (size_t)how->dst - how->size * (size_t)(how->dst - 1),
		source,
		len * (size_t)how->sst - how->size * (size_t)(how->sst - 1));
	pair.n = how->n * team->n_pes;
	pair.len = how->size;
	pair.step = size * how->dst;
	args.send = bytes(pair.source, how->n);
	args.recv = bytes(pair.dest, how->n);
	args.send.type = args.recv.type = NULL;
	err = weft_shmem_spaced(how->size, size * how->sst, &args.send.type);
	if (!err)
		err = weft_shmem_spaced(
			how->size, size * how->dst, &args.recv.type);
	weft_shmem_ok(fn, err);
	code = shmem_coll_run(fn, WEFT_COLL_ALLTOALL, team, &args);
	weft_type_put(args.send.type);
	weft_type_put(args.recv.type);
	pair_close(fn, &pair, !code);
	return code;
}

/* ---- reductions ---- */

static int reduce(const char *fn, struct weft_shmem_team *team, void *dest,
	const void *source, size_t n, unsigned number,
	enum weft_redop_builtin op)
{
	struct weft_type *type = weft_type_builtin(number);
	size_t len = n * (size_t)type->extent;
	struct weft_shmem_pair pair = pair_open(fn, dest, len, source, len);
	struct weft_coll args = {
		.send = { .buf = (void *)(uintptr_t)pair.source,
			.count = (int64_t)n,
			.type = type },
		.recv = { .buf = pair.dest, .count = (int64_t)n, .type = type },
		.is_in_place = dest == source,
		.op = weft_redop_builtin(op),
	};
	int code = shmem_coll_run(fn, WEFT_COLL_ALLREDUCE, team, &args);

	pair_close(fn, &pair, !code);
	return code;
}

static void to_all(const char *fn, struct weft_shmem_team *team, void *dest,
	const void *source, int n, unsigned number, enum weft_redop_builtin op)
{
	if (n < 0)
		weft_shmem_fatal(
			fn, "nreduce is %d; it must not be negative", n);
	reduce(fn, team, dest, source, (size_t)n, number, op);
}

static int shmem_coll_scan(const char *fn, struct weft_shmem_team *team,
	void *dest, const void *source, size_t n, unsigned number,
	enum weft_coll_kind kind)
{
	struct weft_type *type = weft_type_builtin(number);
	size_t len = n * (size_t)type->extent;
	struct weft_shmem_pair pair = pair_open(fn, dest, len, source, len);
	struct weft_coll args = {
		.send = { .buf = (void *)(uintptr_t)pair.source,
			.count = (int64_t)n,
			.type = type },
		.recv = { .buf = pair.dest, .count = (int64_t)n, .type = type },
		.is_in_place = dest == source,
		.op = weft_redop_builtin(WEFT_OP_SUM),
	};
	int code = shmem_coll_run(fn, kind, team, &args);

	if (kind == WEFT_COLL_EXSCAN && !team->my_pe && len)
		memset(pair.dest, 0, len);
	pair_close(fn, &pair, !code);
	return code;
}

#include "api_shmem_coll.h"
