/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_rma: one-sided operations: checks and translates the arguments, and calls
 * win once
 *
 * MPI-5.0, 12.3. gen-api generates the int and the large-count form of each
 * procedure, which call a function here. The room win checks epochs and the
 * bounds of the target's memory. */
#include "mpi_check.h"
#include "mpi_stage.h"

/* One side of an access. */
struct rma_side {
	const void *buf;
	MPI_Count count;
	MPI_Datatype type;
};

struct rma_args {
	struct rma_side origin, result;
	int rank;
	MPI_Aint disp;
	MPI_Count count;
	MPI_Datatype type;
	MPI_Win win;
};

/* ---- data ---- */

/* Checks the count and datatype of one side. Usually both sides have the same
 * datatype, and the check of the first side suffices. */
static inline __attribute__((always_inline)) int rma_side(
	struct weft_win_buf *to, const struct rma_side *from,
	const struct rma_args *a, const struct weft_win_access *access)
{
	struct weft_type *type = (struct weft_type *)access->type;
	int err;

	if (weft_likely(from->type == a->type)) {
		err = weft_check_count(from->count);
		if (!err)
			err = weft_check_buf(from->buf, from->count, type);
	} else {
		err = weft_check_data(
			from->buf, from->count, from->type, &type);
	}
	if (weft_unlikely(err))
		return err;
	to->buf = (void *)(uintptr_t)from->buf;
	to->count = from->count;
	to->type = type;
	return 0;
}

/* Looks up the window, and checks the arguments of the target. */
static inline __attribute__((always_inline)) int rma_target(
	struct weft_win_access *access, struct weft_win **win_out,
	const struct rma_args *a)
{
	struct weft_type *type = NULL;
	int err = weft_check_win(a->win, win_out);

	if (!err)
		err = weft_check_target(*win_out, a->rank);
	if (!err)
		err = weft_check_count(a->count);
	if (!err)
		err = weft_check_type_ready(a->type, &type);
	if (weft_unlikely(err))
		return err;
	access->rank = a->rank;
	access->disp = a->disp;
	access->count = a->count;
	access->type = type;
	access->op = NULL;
	access->compare = NULL;
	access->result = (struct weft_win_buf){ NULL, 0, NULL };
	return 0;
}

static int rma_too_much(const char *from, const char *to, int64_t n, int64_t m)
{
	return weft_err_set(WEFT_ERR_TRUNCATE,
		"%s has %lld bytes of data, %s has space for %lld", from,
		(long long)n, to, (long long)m);
}

/* Returns the bytes of data; INT64_MAX if the number is larger. */
static int64_t rma_bytes(const struct weft_type *type, int64_t count)
{
	int64_t n;

	return __builtin_mul_overflow(type->size, count, &n) ? INT64_MAX : n;
}

/* Checks that the data of a put or get fits into the written side. */
static inline __attribute__((always_inline)) int rma_fits(
	const struct weft_win_access *access, bool is_get)
{
	const struct weft_win_buf *origin = &access->origin;
	int64_t here, there;

	if (weft_likely(origin->type == access->type &&
			origin->count == access->count))
		return 0;
	here = rma_bytes(origin->type, origin->count);
	there = rma_bytes(access->type, access->count);
	if (is_get ? there > here : here > there)
		return is_get ? rma_too_much("the target", "origin_addr has",
					there, here)
			      : rma_too_much("origin_addr", "the target has",
					here, there);
	return 0;
}

typedef int rma_fn(struct weft_win *win, const struct weft_win_access *access,
	struct weft_req **req_out);

/* ---- device memory ---- */

/* Replaces buffers of the origin in device memory by their shadows, and sets
 * stage->len. A get writes the origin buffer; other accesses read it. */
static int rma_stage(
	struct weft_stage *stage, struct weft_win_access *access, bool is_get)
{
	struct weft_win_buf *from = &access->origin, *to = &access->result;
	int err = 0;

	stage->len = rma_bytes(access->type, access->count);
	if (is_get)
		to = from;
	else
		err = weft_stage_source(stage, &from->buf, from->count,
			(struct weft_type *)from->type);
	if (!err && to->type)
		err = weft_stage_result(stage, &to->buf, to->count,
			(struct weft_type *)to->type, false);
	return err;
}

/* An access of a window that may use device memory. If it stages a buffer, it
 * completes at the origin before it returns, because the shadow ends here. */
static __attribute__((cold, noinline)) int rma_on_device(
	struct weft_win *win, const struct weft_win_access *access, rma_fn *fn)
{
	struct weft_win_access staged = *access;
	struct weft_stage stage = { 0 }, compare = { 0 };
	void *value = (void *)(uintptr_t)access->compare;
	int err = rma_stage(&stage, &staged, fn == weft_win_get);

	if (!err && value)
		err = weft_stage_source(
			&compare, &value, 1, (struct weft_type *)access->type);
	staged.compare = value;
	if (!err)
		err = fn(win, &staged, NULL);
	if (!err && (staged.origin.buf != access->origin.buf ||
			    staged.result.buf != access->result.buf ||
			    staged.compare != access->compare))
		err = weft_win_finish_local(win, access->rank);
	(void)weft_stage_close(&compare, err, 0);
	return weft_stage_close(&stage, err, stage.len);
}

/* As rma_on_device(), with a request. */
static __attribute__((cold, noinline)) int rma_start_on_device(
	struct weft_win *win, const struct weft_win_access *access, rma_fn *fn,
	struct weft_req **req_out)
{
	struct weft_win_access staged = *access;
	struct weft_stage *stage;
	struct weft_req *inner = NULL, *outer;
	int err = weft_stage_open(win->comm, &stage, &outer);

	if (err)
		return err;
	err = rma_stage(stage, &staged, fn == weft_win_get);
	if (!err)
		err = fn(win, &staged, &inner);
	err = weft_stage_follow_take(outer, err, inner);
	if (!err)
		*req_out = outer;
	return err;
}

/* Runs an access whose arguments are valid. */
static inline __attribute__((always_inline)) int rma_run(
	struct weft_win *win, const struct weft_win_access *access, rma_fn *fn)
{
	if (weft_unlikely(access->rank == WEFT_PROC_NULL))
		return 0;
	if (weft_unlikely(win->comm->may_dev))
		return rma_on_device(win, access, fn);
	return fn(win, access, NULL);
}

/* ---- put and get ---- */

static inline __attribute__((always_inline)) int rma_move(
	const char *func, rma_fn *fn, bool is_get, const struct rma_args *a)
{
	struct weft_win *win = NULL;
	struct weft_win_access access;
	int err = rma_target(&access, &win, a);

	if (weft_likely(!err))
		err = rma_side(&access.origin, &a->origin, a, &access);
	if (weft_likely(!err))
		err = rma_fits(&access, is_get);
	if (weft_likely(!err))
		err = rma_run(win, &access, fn);
	return weft_mpi_end_win(win, func, err);
}

/* Creates a completed request, for MPI_PROC_NULL. */
static int rma_proc_null(struct weft_win *win, struct weft_req **req_out)
{
	const struct weft_msg msg = { .type = weft_mpi_type(MPI_BYTE),
		.rank = WEFT_PROC_NULL,
		.ctx_offset = WEFT_CTX_OFFSET_P2P,
		.mode = WEFT_SEND_STANDARD,
		.comm = win->comm };

	return weft_isend(&msg, req_out);
}

/* Ends a request-based operation: starts it if err is 0, and raises an error.
 */
static int rma_start(const char *func, rma_fn *fn, struct weft_win *win,
	const struct weft_win_access *access, MPI_Request *request, int err)
{
	struct weft_req *req = NULL;

	if (!err)
		err = weft_check_ptr(request, "request");
	if (!err && access->rank == WEFT_PROC_NULL)
		err = rma_proc_null(win, &req);
	else if (!err)
		err = win->comm->may_dev
			      ? rma_start_on_device(win, access, fn, &req)
			      : fn(win, access, &req);
	if (err) {
		weft_mpi_null(request, MPI_REQUEST_NULL);
		return weft_mpi_raise_win(win, func, err);
	}
	*request = weft_mpi_req_handle(req);
	return MPI_SUCCESS;
}

static int rma_move_start(const char *func, rma_fn *fn, bool is_get,
	const struct rma_args *a, MPI_Request *request)
{
	struct weft_win *win = NULL;
	struct weft_win_access access;
	int err = rma_target(&access, &win, a);

	if (!err)
		err = rma_side(&access.origin, &a->origin, a, &access);
	if (!err)
		err = rma_fits(&access, is_get);
	return rma_start(func, fn, win, &access, request, err);
}

static inline int mpi_put(const char *func, const void *origin_addr,
	MPI_Count origin_count, MPI_Datatype origin_type, int target_rank,
	MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_type,
	MPI_Win win)
{
	const struct rma_args a = { { origin_addr, origin_count, origin_type },
		{ 0 }, target_rank, target_disp, target_count, target_type,
		win };

	return rma_move(func, weft_win_put, false, &a);
}

static inline int mpi_get(const char *func, void *origin_addr,
	MPI_Count origin_count, MPI_Datatype origin_type, int target_rank,
	MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_type,
	MPI_Win win)
{
	const struct rma_args a = { { origin_addr, origin_count, origin_type },
		{ 0 }, target_rank, target_disp, target_count, target_type,
		win };

	return rma_move(func, weft_win_get, true, &a);
}

static inline int mpi_rput(const char *func, const void *origin_addr,
	MPI_Count origin_count, MPI_Datatype origin_type, int target_rank,
	MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_type,
	MPI_Win win, MPI_Request *request)
{
	const struct rma_args a = { { origin_addr, origin_count, origin_type },
		{ 0 }, target_rank, target_disp, target_count, target_type,
		win };

	return rma_move_start(func, weft_win_put, false, &a, request);
}

static inline int mpi_rget(const char *func, void *origin_addr,
	MPI_Count origin_count, MPI_Datatype origin_type, int target_rank,
	MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_type,
	MPI_Win win, MPI_Request *request)
{
	const struct rma_args a = { { origin_addr, origin_count, origin_type },
		{ 0 }, target_rank, target_disp, target_count, target_type,
		win };

	return rma_move_start(func, weft_win_get, true, &a, request);
}

/* ---- accumulates ---- */

static int rma_bad_op(MPI_Op handle, const char *why)
{
	return weft_err_set(
		WEFT_ERR_OP, "op 0x%zx %s", (size_t)(uintptr_t)handle, why);
}

/* Checks for a predefined operation; MPI_NO_OP only for fetching calls. */
static inline __attribute__((always_inline)) int rma_op(
	MPI_Op handle, bool is_fetch, const struct weft_redop **op_out)
{
	struct weft_redop *op = NULL;
	int err = weft_check_op(handle, &op);

	if (weft_unlikely(err))
		return err;
	*op_out = op;
	if (weft_unlikely(!op->is_builtin))
		return weft_check_failed(rma_bad_op(
			handle, "is one of the program, must be predefined"));
	if (weft_unlikely(op->builtin == WEFT_OP_NO_OP && !is_fetch))
		return weft_check_failed(rma_bad_op(handle,
			"is MPI_NO_OP, which only calls that fetch accept"));
	return 0;
}

static const char *rma_type_name(const struct weft_type *type)
{
	return type->name[0] ? type->name : "a derived datatype";
}

/* Returns the predefined type of all elements of a type; NULL if there are
 * several. */
static inline const struct weft_type *rma_basic(const struct weft_type *type)
{
	return type->is_builtin && !type->basic ? type : type->basic;
}

/* True if two predefined types have the same representation. */
static bool rma_is_alike(const struct weft_type *a, const struct weft_type *b)
{
	return a == b || (a->num != WEFT_NUM_NONE && a->num == b->num &&
				 a->size == b->size &&
				 (a->class_ == WEFT_CLASS_PAIR) ==
					 (b->class_ == WEFT_CLASS_PAIR));
}

/* Returns the error of an accumulate whose sides have different data; 0 if the
 * data agree. */
static int rma_bad_type(const char *name, const struct weft_win_buf *buf,
	const struct weft_win_access *access)
{
	const struct weft_type *here = rma_basic(buf->type);
	const struct weft_type *there = rma_basic(access->type);
	int64_t n = rma_bytes(buf->type, buf->count);
	int64_t m = rma_bytes(access->type, access->count);

	if ((!here && n) || (!there && m))
		return weft_err_set(WEFT_ERR_TYPE,
			"%s is made of several predefined datatypes",
			rma_type_name(!here && n ? buf->type : access->type));
	if (n != m)
		return weft_err_set(WEFT_ERR_TRUNCATE,
			"%s has %lld bytes of data, the target %lld", name,
			(long long)n, (long long)m);
	if (n && !rma_is_alike(here, there))
		return weft_err_set(WEFT_ERR_TYPE,
			"%s has elements of %s, the target of %s", name,
			rma_type_name(here), rma_type_name(there));
	return 0;
}

/* Checks that both sides of an accumulate have the same number of elements of
 * the same predefined type. */
static inline __attribute__((always_inline)) int rma_same(const char *name,
	const struct weft_win_buf *buf, const struct weft_win_access *access)
{
	if (weft_likely(buf->type == access->type &&
			buf->count == access->count && buf->type->is_builtin))
		return 0;
	return rma_bad_type(name, buf, access);
}

/* Checks that the operation is defined on the elements, if there are any. */
static inline int rma_op_fits(const struct weft_win_access *access)
{
	const struct weft_redop *op = access->op;
	const struct weft_type *basic = rma_basic(access->type);

	if (weft_likely(!basic || weft_redop_is_defined(op, basic)) ||
		!access->count)
		return 0;
	return weft_err_set(WEFT_ERR_OP, "%s is not defined on %s", op->name,
		rma_type_name(basic));
}

/* Checks and runs an accumulate. With MPI_NO_OP the origin arguments are
 * ignored. */
static inline __attribute__((always_inline)) int rma_accumulate(
	struct weft_win_access *access, struct weft_win **win_out,
	const struct rma_args *a, MPI_Op op, bool is_fetch)
{
	int err = rma_target(access, win_out, a);

	if (weft_likely(!err))
		err = rma_op(op, is_fetch, &access->op);
	if (weft_unlikely(err))
		return err;
	if (weft_unlikely(access->op->builtin == WEFT_OP_NO_OP)) {
		access->origin = (struct weft_win_buf){ NULL, 0, access->type };
	} else {
		err = rma_side(&access->origin, &a->origin, a, access);
		if (weft_likely(!err))
			err = rma_same("origin_addr", &access->origin, access);
	}
	if (is_fetch && weft_likely(!err))
		err = rma_side(&access->result, &a->result, a, access);
	if (is_fetch && weft_likely(!err))
		err = rma_same("result_addr", &access->result, access);
	if (weft_likely(!err))
		err = rma_op_fits(access);
	return err;
}

static inline int mpi_accumulate(const char *func, const void *origin_addr,
	MPI_Count origin_count, MPI_Datatype origin_type, int target_rank,
	MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_type,
	MPI_Op op, MPI_Win win)
{
	const struct rma_args a = { { origin_addr, origin_count, origin_type },
		{ 0 }, target_rank, target_disp, target_count, target_type,
		win };
	struct weft_win *of = NULL;
	struct weft_win_access access;
	int err = rma_accumulate(&access, &of, &a, op, false);

	if (weft_likely(!err))
		err = rma_run(of, &access, weft_win_accumulate);
	return weft_mpi_end_win(of, func, err);
}

static inline int mpi_raccumulate(const char *func, const void *origin_addr,
	MPI_Count origin_count, MPI_Datatype origin_type, int target_rank,
	MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_type,
	MPI_Op op, MPI_Win win, MPI_Request *request)
{
	const struct rma_args a = { { origin_addr, origin_count, origin_type },
		{ 0 }, target_rank, target_disp, target_count, target_type,
		win };
	struct weft_win *of = NULL;
	struct weft_win_access access;
	int err = rma_accumulate(&access, &of, &a, op, false);

	return rma_start(func, weft_win_accumulate, of, &access, request, err);
}

static inline int mpi_get_accumulate(const char *func, const void *origin_addr,
	MPI_Count origin_count, MPI_Datatype origin_type, void *result_addr,
	MPI_Count result_count, MPI_Datatype result_type, int target_rank,
	MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_type,
	MPI_Op op, MPI_Win win)
{
	const struct rma_args a = { { origin_addr, origin_count, origin_type },
		{ result_addr, result_count, result_type }, target_rank,
		target_disp, target_count, target_type, win };
	struct weft_win *of = NULL;
	struct weft_win_access access;
	int err = rma_accumulate(&access, &of, &a, op, true);

	if (weft_likely(!err))
		err = rma_run(of, &access, weft_win_accumulate);
	return weft_mpi_end_win(of, func, err);
}

static inline int mpi_rget_accumulate(const char *func, const void *origin_addr,
	MPI_Count origin_count, MPI_Datatype origin_type, void *result_addr,
	MPI_Count result_count, MPI_Datatype result_type, int target_rank,
	MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_type,
	MPI_Op op, MPI_Win win, MPI_Request *request)
{
	const struct rma_args a = { { origin_addr, origin_count, origin_type },
		{ result_addr, result_count, result_type }, target_rank,
		target_disp, target_count, target_type, win };
	struct weft_win *of = NULL;
	struct weft_win_access access;
	int err = rma_accumulate(&access, &of, &a, op, true);

	return rma_start(func, weft_win_accumulate, of, &access, request, err);
}

/* ---- one element ---- */

static inline int rma_fetch_and_op(struct weft_win *win,
	const struct weft_win_access *access, struct weft_req **req_out)
{
	(void)req_out;
	return weft_win_fetch_and_op(win, access);
}

static inline int rma_compare_and_swap(struct weft_win *win,
	const struct weft_win_access *access, struct weft_req **req_out)
{
	(void)req_out;
	return weft_win_compare_and_swap(win, access);
}

static int rma_not_predefined(const struct weft_type *type)
{
	return weft_err_set(WEFT_ERR_TYPE,
		"datatype %s is not predefined; this call accesses one element "
		"of a predefined datatype",
		rma_type_name(type));
}

__attribute__((flatten)) int PMPI_Fetch_and_op(const void *origin_addr,
	void *result_addr, MPI_Datatype datatype, int target_rank,
	MPI_Aint target_disp, MPI_Op op, MPI_Win win)
{
	const struct rma_args a = { { origin_addr, 1, datatype },
		{ result_addr, 1, datatype }, target_rank, target_disp, 1,
		datatype, win };
	struct weft_win *of = NULL;
	struct weft_win_access access;
	int err = rma_accumulate(&access, &of, &a, op, true);

	if (weft_likely(!err) && weft_unlikely(!access.type->is_builtin))
		err = rma_not_predefined(access.type);
	if (weft_likely(!err))
		err = rma_run(of, &access, rma_fetch_and_op);
	return weft_mpi_end_win(of, "MPI_Fetch_and_op", err);
}

/* Checks the type of a compare-and-swap: C and Fortran integers, logicals,
 * multi-language types and bytes are valid. */
static int check_swap_type(const struct weft_type *type)
{
	enum {
		CLASSES = 1 << WEFT_CLASS_CINT | 1 << WEFT_CLASS_FINT |
			  1 << WEFT_CLASS_LOGICAL | 1 << WEFT_CLASS_MULTI |
			  1 << WEFT_CLASS_BYTE,
	};

	if (weft_unlikely(!type->is_builtin))
		return rma_not_predefined(type);
	if (weft_likely(CLASSES & 1 << type->class_))
		return 0;
	return weft_err_set(WEFT_ERR_TYPE,
		"datatype %s is neither an integer nor a logical nor a byte",
		rma_type_name(type));
}

int PMPI_Compare_and_swap(const void *origin_addr, const void *compare_addr,
	void *result_addr, MPI_Datatype datatype, int target_rank,
	MPI_Aint target_disp, MPI_Win win)
{
	const struct rma_args a = { { origin_addr, 1, datatype },
		{ result_addr, 1, datatype }, target_rank, target_disp, 1,
		datatype, win };
	struct weft_win *of = NULL;
	struct weft_win_access access;
	int err = rma_target(&access, &of, &a);

	if (weft_likely(!err))
		err = check_swap_type(access.type);
	if (weft_likely(!err))
		err = rma_side(&access.origin, &a.origin, &a, &access);
	if (weft_likely(!err))
		err = rma_side(&access.result, &a.result, &a, &access);
	if (weft_likely(!err))
		err = weft_check_buf(compare_addr, 1, access.type);
	access.compare = compare_addr;
	if (weft_likely(!err))
		err = rma_run(of, &access, rma_compare_and_swap);
	return weft_mpi_end_win(of, "MPI_Compare_and_swap", err);
}

#include "api_rma.h"
