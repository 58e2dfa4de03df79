/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_collarg: checks, widens and runs collectives */
#include "mpi_collarg.h"

#include "mpi_check.h"
#include "mpi_stage.h"
#include "mpi_topo.h"

#include <stdlib.h>

enum { FRAME_WORDS = 128, FRAME_HEAPS = 8 };

/* The arguments of a collective as the room coll expects them, and memory for
 * arrays. On the stack of one call; coll keeps no pointer to the frame. */
struct frame {
	struct weft_coll coll;
	size_t n_words;
	int n_heaps;
	void *heaps[FRAME_HEAPS];
	int64_t words[FRAME_WORDS];
};

static inline int frame_open(struct frame *f, const struct weft_collarg *a)
{
	memset(&f->coll, 0, sizeof(f->coll));
	f->n_words = 0;
	f->n_heaps = 0;
	f->coll.ctx_offset = WEFT_CTX_OFFSET_COLL;
	f->coll.is_irregular = a->is_irregular;
	f->coll.root = a->root;
	return weft_check_comm(a->comm, &f->coll.comm);
}

/* Allocates n items of 8 bytes until the end of the call; NULL when out of
 * memory. */
static void *frame_alloc(struct frame *f, int32_t n)
{
	void *p;

	if (f->n_words + (size_t)n <= FRAME_WORDS) {
		p = &f->words[f->n_words];
		f->n_words += (size_t)n;
		return p;
	}
	p = malloc((size_t)n * sizeof(int64_t));
	if (p)
		f->heaps[f->n_heaps++] = p;
	return p;
}

static int check_request(const struct weft_collarg *a)
{
	struct weft_info *info;
	int err = weft_check_ptr(a->request, "request");

	if (!err && a->mode == WEFT_COLLARG_INIT)
		err = weft_check_info_or_null(a->info, &info);
	return err;
}

/* Runs a collective on a communicator that may use device memory. A failure to
 * stage the buffers is reported to the other members. */
static __attribute__((cold, noinline)) int run_on_device(
	struct weft_coll *coll, enum weft_coll_kind kind)
{
	struct weft_stage stage = { 0 };
	int err;

	coll->is_on_device = weft_stage_coll_is_direct(kind, coll);
	if (coll->is_on_device) {
		err = weft_coll_run_on_device(kind, coll);
		if (err != WEFT_AGAIN)
			return err;
	}
	coll->is_on_device = false;
	coll->err = weft_stage_coll(&stage, kind, coll);
	err = weft_coll_run(kind, coll);
	return weft_stage_close(&stage, err, INT64_MAX);
}

static __attribute__((cold, noinline)) int start_coll_on_device(
	struct weft_coll *coll, enum weft_coll_kind kind, bool is_init,
	struct weft_req **req_out)
{
	struct weft_stage *stage;
	struct weft_req *inner = NULL, *outer = NULL;
	int err;

	coll->is_on_device = weft_stage_coll_is_direct(kind, coll);
	if (coll->is_on_device)
		return is_init ? weft_coll_init(kind, coll, req_out)
			       : weft_coll_start(kind, coll, req_out);
	err = weft_stage_open(coll->comm, &stage, &outer);
	coll->err = err ? err : weft_stage_coll(stage, kind, coll);
	err = is_init ? weft_coll_init(kind, coll, &inner)
		      : weft_coll_start(kind, coll, &inner);
	if (outer)
		err = weft_stage_follow_take(outer, err, inner);
	if (!err)
		*req_out = outer ? outer : inner; /* inner ends with an error */
	return err;
}

static int mpi_collarg_start(
	struct frame *f, const struct weft_collarg *a, enum weft_coll_kind kind)
{
	struct weft_req *req = NULL;
	int err = check_request(a);

	if (err)
		return err;
	if (f->coll.comm->may_dev)
		err = start_coll_on_device(
			&f->coll, kind, a->mode == WEFT_COLLARG_INIT, &req);
	else if (a->mode == WEFT_COLLARG_START)
		err = weft_coll_start(kind, &f->coll, &req);
	else
		err = weft_coll_init(kind, &f->coll, &req);
	if (!err)
		*a->request = weft_mpi_req_handle(req);
	return err;
}

/* Ends every procedure: runs, starts or initialises the operation if err is 0,
 * frees the frame, and raises an error. */
static int frame_close(struct frame *f, const struct weft_collarg *a,
	enum weft_coll_kind kind, int err)
{
	if (!err && a->mode == WEFT_COLLARG_RUN)
		err = weft_unlikely(f->coll.comm->may_dev)
			      ? run_on_device(&f->coll, kind)
			      : weft_coll_run(kind, &f->coll);
	else if (!err)
		err = mpi_collarg_start(f, a, kind);
	if (err && a->mode != WEFT_COLLARG_RUN)
		weft_mpi_null(a->request, MPI_REQUEST_NULL);
	for (int i = 0; i < f->n_heaps; i++)
		free(f->heaps[i]);
	return weft_mpi_end(f->coll.comm, a->func, err);
}

/* ---- one side ---- */

static int bad_in_place(const char *name)
{
	return weft_err_set(
		WEFT_ERR_BUFFER, "%s must not be MPI_IN_PLACE here", name);
}

static int check_not_in_place(const void *buf, const char *name)
{
	if (weft_unlikely(buf == MPI_IN_PLACE) && weft_check_is_on())
		return weft_check_failed(bad_in_place(name));
	return 0;
}

static int fill_block(const struct weft_collside *side, const char *name,
	struct weft_blocks *out)
{
	int err = check_not_in_place(side->buf, name);

	if (!err)
		err = weft_check_data(
			side->buf, side->count, side->type, &out->type);
	out->buf = (void *)(uintptr_t)side->buf;
	out->count = side->count;
	return err;
}

static int widen_counts(struct frame *f, const struct weft_collside *side,
	int32_t n, struct weft_blocks *out)
{
	int64_t *wide;
	int err = 0;

	if (side->counts_c) {
		out->counts = side->counts_c;
	} else {
		err = weft_check_ptr(side->counts, "array of counts");
		wide = err ? NULL : frame_alloc(f, n);
		if (!err && !wide)
			return WEFT_ERR_NOMEM;
		for (int32_t i = 0; !err && i < n; i++)
			wide[i] = side->counts[i];
		out->counts = wide;
	}
	for (int32_t i = 0; !err && i < n; i++)
		err = weft_check_count(out->counts[i]);
	return err;
}

static int widen_displs(struct frame *f, const struct weft_collside *side,
	int32_t n, struct weft_blocks *out)
{
	int64_t *wide;
	int err;

	if (side->displs_c) {
		out->displs = side->displs_c;
		return 0;
	}
	err = weft_check_ptr(side->displs, "array of displacements");
	if (err)
		return err;
	wide = frame_alloc(f, n);
	if (!wide)
		return WEFT_ERR_NOMEM;
	for (int32_t i = 0; i < n; i++)
		wide[i] = side->displs[i];
	out->displs = wide;
	return 0;
}

/* Looks up the types of n blocks. Ignores the type of an empty block. */
static int find_types(struct frame *f, const struct weft_collside *side,
	int32_t n, struct weft_blocks *out)
{
	struct weft_type **types = frame_alloc(f, n);
	int err = types ? 0 : WEFT_ERR_NOMEM;

	for (int32_t i = 0; !err && i < n; i++) {
		types[i] = weft_mpi_type(
			out->counts[i] ? side->types[i] : MPI_BYTE);
		if (out->counts[i])
			err = weft_check_type_ready(side->types[i], &types[i]);
	}
	out->types = types;
	out->has_byte_displs = true;
	return err;
}

/* Checks the buffer of n blocks. Displacements in bytes of the large form may
 * be addresses relative to MPI_BOTTOM. */
static int mpi_collarg_check_blocks(const struct weft_collside *side,
	const struct weft_blocks *blocks, int32_t n)
{
	int err = 0;

	if (side->types && side->displs_c)
		return 0;
	for (int32_t i = 0; !blocks->buf && !err && i < n; i++)
		err = weft_check_buf(NULL, blocks->counts[i],
			blocks->types ? blocks->types[i] : blocks->type);
	return err;
}

/* Checks n blocks of a side, and writes them to out. The blocks have one count,
 * or counts and displacements from arrays. */
static int fill_blocks(struct frame *f, const struct weft_collside *side,
	const char *name, int32_t n, struct weft_blocks *out)
{
	int err;

	if (!f->coll.is_irregular)
		return fill_block(side, name, out);
	err = check_not_in_place(side->buf, name);
	if (!err && n > 0)
		err = widen_counts(f, side, n, out);
	if (!err && n > 0)
		err = widen_displs(f, side, n, out);
	if (!err && side->types)
		err = find_types(f, side, n, out);
	else if (!err)
		err = weft_check_type_ready(side->type, &out->type);
	out->buf = (void *)(uintptr_t)side->buf;
	if (!err)
		err = mpi_collarg_check_blocks(side, out, n);
	return err;
}

/* ---- both sides ---- */

static int check_alias(const void *send, const void *recv, bool is_meant)
{
	if (weft_unlikely(send == recv) && send && is_meant &&
		weft_check_is_on())
		return weft_err_set(WEFT_ERR_BUFFER,
			"send and receive buffer are the same memory");
	return 0;
}

/* Returns the address of a block if it has data of a predefined type; else
 * NULL. */
static const void *block_at(const struct weft_blocks *b, int32_t i)
{
	const struct weft_type *type = b->types ? b->types[i] : b->type;
	int64_t count = b->counts ? b->counts[i] : b->count;
	int64_t at = b->displs ? b->displs[i] : i * count;

	if (!type || !type->is_builtin || !type->size || !count)
		return NULL;
	if (!b->has_byte_displs)
		at *= type->extent;
	return (const void *)((uintptr_t)b->buf + (uintptr_t)at);
}

static bool is_root(const struct weft_coll *coll)
{
	return coll->comm->is_inter ? coll->root == WEFT_ROOT
				    : coll->root == coll->comm->rank;
}

/* True if this process has one block in a rooted operation. On an
 * intracommunicator, every member has one, also the root. On an
 * intercommunicator, the members of the group without the root have one. */
static bool is_leaf(const struct weft_coll *coll)
{
	return coll->comm->is_inter ? coll->root >= 0 : true;
}

/* Fails if the caller's own block has the same address in both buffers of an
 * all-to-all. Only blocks of predefined types are checked. */
static int check_own_block(const struct weft_coll *coll,
	const struct weft_blocks *all, const struct weft_blocks *other,
	int32_t other_block)
{
	if (coll->is_in_place || coll->comm->is_inter)
		return 0;
	return check_alias(block_at(all, coll->comm->rank),
		block_at(other, other_block), true);
}

/* ---- operations ---- */

int weft_collarg_barrier(const struct weft_collarg *a)
{
	struct frame f;
	int err = frame_open(&f, a);

	return frame_close(&f, a, WEFT_COLL_BARRIER, err);
}

int weft_collarg_bcast(const struct weft_collarg *a)
{
	struct frame f;
	int err = frame_open(&f, a);

	if (!err)
		err = weft_check_root(f.coll.comm, a->root);
	if (!err && a->root != MPI_PROC_NULL)
		err = fill_block(&a->recv, "buffer", &f.coll.recv);
	return frame_close(&f, a, WEFT_COLL_BCAST, err);
}

/* Checks and runs a gather or a scatter. A leaf has one block, and the root has
 * an array of all blocks, too. */
static int one_to_all(const struct weft_collarg *a, enum weft_coll_kind kind)
{
	const bool is_gather = kind == WEFT_COLL_GATHER;
	const struct weft_collside *block = is_gather ? &a->send : &a->recv;
	const struct weft_collside *all = is_gather ? &a->recv : &a->send;
	struct frame f;
	struct weft_coll *c = &f.coll;
	struct weft_blocks *to_block = is_gather ? &c->send : &c->recv;
	struct weft_blocks *to_all = is_gather ? &c->recv : &c->send;
	int err = frame_open(&f, a);

	if (!err)
		err = weft_check_root(c->comm, a->root);
	if (err)
		goto out;
	c->is_in_place =
		block->buf == MPI_IN_PLACE && !c->comm->is_inter && is_root(c);
	if (is_leaf(c) && !c->is_in_place)
		err = fill_block(
			block, is_gather ? "sendbuf" : "recvbuf", to_block);
	if (!err && is_root(c))
		err = fill_blocks(&f, all, is_gather ? "recvbuf" : "sendbuf",
			c->comm->remote_size, to_all);
	if (!err && is_root(c))
		err = check_own_block(c, to_all, to_block, 0);
out:
	return frame_close(&f, a, kind, err);
}

int weft_collarg_gather(const struct weft_collarg *a)
{
	return one_to_all(a, WEFT_COLL_GATHER);
}

int weft_collarg_scatter(const struct weft_collarg *a)
{
	return one_to_all(a, WEFT_COLL_SCATTER);
}

int weft_collarg_allgather(const struct weft_collarg *a)
{
	struct frame f;
	struct weft_coll *c = &f.coll;
	int err = frame_open(&f, a);

	if (err)
		goto out;
	c->is_in_place = a->send.buf == MPI_IN_PLACE && !c->comm->is_inter;
	if (!c->is_in_place)
		err = fill_block(&a->send, "sendbuf", &c->send);
	if (!err)
		err = fill_blocks(&f, &a->recv, "recvbuf", c->comm->remote_size,
			&c->recv);
	if (!err)
		err = check_own_block(c, &c->recv, &c->send, 0);
out:
	return frame_close(&f, a, WEFT_COLL_ALLGATHER, err);
}

int weft_collarg_alltoall(const struct weft_collarg *a)
{
	struct frame f;
	struct weft_coll *c = &f.coll;
	int err = frame_open(&f, a);

	if (err)
		goto out;
	c->is_in_place = a->send.buf == MPI_IN_PLACE && !c->comm->is_inter;
	if (!c->is_in_place)
		err = fill_blocks(&f, &a->send, "sendbuf", c->comm->remote_size,
			&c->send);
	if (!err)
		err = fill_blocks(&f, &a->recv, "recvbuf", c->comm->remote_size,
			&c->recv);
	if (!err)
		err = check_own_block(c, &c->send, &c->recv, c->comm->rank);
out:
	return frame_close(&f, a, WEFT_COLL_ALLTOALL, err);
}

/* ---- reductions ---- */

static int check_fits(const struct weft_redop *op, const struct weft_type *type)
{
	if (!weft_check_is_on())
		return 0;
	if (op->builtin == WEFT_OP_REPLACE || op->builtin == WEFT_OP_NO_OP)
		return weft_err_set(WEFT_ERR_OP,
			"MPI_REPLACE and MPI_NO_OP are for one-sided "
			"operations only");
	if (!weft_redop_is_defined(op, type))
		return weft_err_set(WEFT_ERR_OP, "%s is not defined on %s",
			op->name,
			type->name[0] ? type->name : "a derived datatype");
	return 0;
}

/* Fills in the send side of a reduction, which has the count and the type of
 * the receive side. */
static int reduce_send(struct frame *f, const struct weft_collarg *a)
{
	struct weft_collside side = {
		.buf = a->send.buf, .count = a->recv.count, .type = a->recv.type
	};

	return f->coll.is_in_place
		       ? 0
		       : fill_block(&side, "sendbuf", &f->coll.send);
}

static int reduce_op(struct frame *f, const struct weft_collarg *a)
{
	struct weft_type *type;
	int err = weft_check_op(a->op, &f->coll.op);

	if (!err)
		err = weft_check_type_ready(a->recv.type, &type);
	if (!err)
		err = check_fits(f->coll.op, type);
	return err;
}

int weft_collarg_reduce(const struct weft_collarg *a)
{
	struct frame f;
	struct weft_coll *c = &f.coll;
	int err = frame_open(&f, a);

	if (!err)
		err = weft_check_root(c->comm, a->root);
	if (err || a->root == MPI_PROC_NULL)
		goto out;
	c->is_in_place =
		a->send.buf == MPI_IN_PLACE && !c->comm->is_inter && is_root(c);
	err = reduce_op(&f, a);
	if (!err && is_leaf(c))
		err = reduce_send(&f, a);
	if (!err && is_root(c))
		err = fill_block(&a->recv, "recvbuf", &c->recv);
	if (!err && is_root(c) && is_leaf(c) && !c->is_in_place)
		err = check_alias(c->send.buf, c->recv.buf, c->recv.count > 0);
out:
	return frame_close(&f, a, WEFT_COLL_REDUCE, err);
}

/* Checks and runs an operation in which input and output of every process have
 * the same count and type. */
static int reduce_all(const struct weft_collarg *a, enum weft_coll_kind kind)
{
	struct frame f;
	struct weft_coll *c = &f.coll;
	int err = frame_open(&f, a);

	if (err)
		goto out;
	c->is_in_place = a->send.buf == MPI_IN_PLACE && !c->comm->is_inter;
	err = reduce_op(&f, a);
	if (!err)
		err = reduce_send(&f, a);
	if (!err)
		err = fill_block(&a->recv, "recvbuf", &c->recv);
	if (!err && !c->is_in_place)
		err = check_alias(c->send.buf, c->recv.buf, c->recv.count > 0);
out:
	return frame_close(&f, a, kind, err);
}

int weft_collarg_allreduce(const struct weft_collarg *a)
{
	return reduce_all(a, WEFT_COLL_ALLREDUCE);
}

int weft_collarg_scan(const struct weft_collarg *a)
{
	return reduce_all(a, WEFT_COLL_SCAN);
}

int weft_collarg_exscan(const struct weft_collarg *a)
{
	return reduce_all(a, WEFT_COLL_EXSCAN);
}

/* Checks the parts of a reduce-scatter, and writes them to f. The receive
 * buffer of a process with an empty part may be NULL. */
static int reduce_parts(struct frame *f, const struct weft_collarg *a)
{
	struct weft_coll *c = &f->coll;
	int err = check_not_in_place(a->recv.buf, "recvbuf");
	int64_t mine = a->recv.count, all = mine;

	c->recv.buf = (void *)(uintptr_t)a->recv.buf;
	c->recv.count = a->recv.count;
	if (!err)
		err = weft_check_type_ready(a->recv.type, &c->recv.type);
	if (!err && a->is_irregular)
		err = widen_counts(f, &a->recv, c->comm->size, &c->recv);
	else if (!err)
		err = weft_check_count(a->recv.count);
	for (int32_t i = 0; !err && a->is_irregular && i < c->comm->size; i++)
		all = i ? all + c->recv.counts[i] : c->recv.counts[i];
	if (!err && a->is_irregular)
		mine = c->recv.counts[c->comm->rank];
	if (!err)
		err = weft_check_buf(c->recv.buf, mine, c->recv.type);
	if (!err && !c->is_in_place)
		err = weft_check_buf(a->send.buf, all, c->recv.type);
	return err;
}

int weft_collarg_reduce_scatter(const struct weft_collarg *a)
{
	struct frame f;
	struct weft_coll *c = &f.coll;
	int err = frame_open(&f, a);

	if (err)
		goto out;
	c->is_in_place = a->send.buf == MPI_IN_PLACE && !c->comm->is_inter;
	err = reduce_op(&f, a);
	if (!err)
		err = reduce_parts(&f, a);
	if (!err && !c->is_in_place)
		err = check_not_in_place(a->send.buf, "sendbuf");
	if (!err && !c->is_in_place)
		err = check_alias(a->send.buf, c->recv.buf, true);
	c->send = c->recv;
	c->send.buf = (void *)(uintptr_t)a->send.buf;
out:
	return frame_close(&f, a, WEFT_COLL_REDUCE_SCATTER, err);
}

/* ---- neighbourhoods ---- */

/* Looks up the communicator and its neighbours. */
static int open_neighbors(struct frame *f, const struct weft_collarg *a)
{
	struct weft_coll *c = &f->coll;
	int *sources, *dests;
	int err = frame_open(f, a);

	if (err)
		return err;
	if (!c->comm->topo)
		return weft_err_set(WEFT_ERR_TOPOLOGY,
			"communicator %s has no process topology",
			weft_mpi_comm_print(c->comm));
	weft_topo_degrees(c->comm, &c->n_sources, &c->n_dests);
	sources = frame_alloc(f, c->n_sources);
	dests = frame_alloc(f, c->n_dests);
	c->sources = sources;
	c->dests = dests;
	if (!sources || !dests)
		return WEFT_ERR_NOMEM;
	weft_topo_neighbors(c->comm, sources, dests);
	c->is_grid = c->comm->topo->kind == MPI_CART;
	return 0;
}

int weft_collarg_neighbor_allgather(const struct weft_collarg *a)
{
	struct frame f;
	struct weft_coll *c = &f.coll;
	int err = open_neighbors(&f, a);

	c->is_same_block = true;
	if (!err)
		err = fill_block(&a->send, "sendbuf", &c->send);
	if (!err)
		err = fill_blocks(
			&f, &a->recv, "recvbuf", c->n_sources, &c->recv);
	return frame_close(&f, a, WEFT_COLL_NEIGHBOR_ALLGATHER, err);
}

int weft_collarg_neighbor_alltoall(const struct weft_collarg *a)
{
	struct frame f;
	struct weft_coll *c = &f.coll;
	int err = open_neighbors(&f, a);

	if (!err)
		err = fill_blocks(
			&f, &a->send, "sendbuf", c->n_dests, &c->send);
	if (!err)
		err = fill_blocks(
			&f, &a->recv, "recvbuf", c->n_sources, &c->recv);
	return frame_close(&f, a, WEFT_COLL_NEIGHBOR_ALLTOALL, err);
}
