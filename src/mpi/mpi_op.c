/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_op: reduction operations and local reduction; MPI-5.0 section 6.9 */
#include "mpi_check.h"
#include "mpi_map.h"

/* The user's function takes a pointer to a handle, which is a pointer to an
 * incomplete struct here and a pointer to void below. */
_Static_assert(sizeof(MPI_Datatype) == sizeof(void *), "");
_Static_assert(sizeof(MPI_Count) == sizeof(int64_t), "");

static int make_op(const char *func, weft_redop_fn *fn,
	weft_redop_large_fn *large_fn, int commute, MPI_Op *op)
{
	struct weft_redop *redop = NULL;
	int err = weft_check_up();

	weft_mpi_null(op, MPI_OP_NULL);
	if (!err)
		err = weft_check_ptr(op, "op");
	if (!err && !fn && !large_fn)
		err = weft_err_set(WEFT_ERR_ARG, "user_fn is NULL");
	if (err)
		return weft_mpi_raise_none(func, err);
	redop = weft_redop_make(fn, large_fn, commute);
	if (!redop)
		return weft_mpi_raise_none(
			func, weft_err_set(WEFT_ERR_NOMEM,
				      "no memory for an operation"));
	*op = weft_mpi_op_handle(redop);
	return MPI_SUCCESS;
}

int PMPI_Op_create(MPI_User_function *user_fn, int commute, MPI_Op *op)
{
	return make_op("MPI_Op_create",
		(weft_redop_fn *)(void (*)(void))user_fn, NULL, commute, op);
}

int PMPI_Op_create_c(MPI_User_function_c *user_fn, int commute, MPI_Op *op)
{
	return make_op("MPI_Op_create_c", NULL,
		(weft_redop_large_fn *)(void (*)(void))user_fn, commute, op);
}

int PMPI_Op_free(MPI_Op *op)
{
	struct weft_redop *redop = NULL;
	int err = weft_check_ptr(op, "op");

	if (!err)
		err = weft_check_op(*op, &redop);
	if (!err && redop->is_builtin)
		err = weft_err_set(WEFT_ERR_OP,
			"predefined operations cannot be freed: 0x%x",
			(unsigned)redop->builtin);
	if (err)
		return weft_mpi_raise_none("MPI_Op_free", err);
	weft_redop_close_handle(redop);
	*op = MPI_OP_NULL;
	return MPI_SUCCESS;
}

int PMPI_Op_commutative(MPI_Op op, int *commute)
{
	struct weft_redop *redop = NULL;
	int err = weft_check_op(op, &redop);

	if (!err)
		err = weft_check_ptr(commute, "commute");
	if (err)
		return weft_mpi_raise_none("MPI_Op_commutative", err);
	*commute = redop->is_commutative;
	return MPI_SUCCESS;
}

static int check_buffers(const void *inbuf, const void *inoutbuf,
	MPI_Count count, const struct weft_type *type)
{
	int err;

	if (inbuf == MPI_IN_PLACE || inoutbuf == MPI_IN_PLACE)
		return weft_err_set(WEFT_ERR_BUFFER,
			"MPI_IN_PLACE has no meaning in a local reduction");
	if (inbuf == inoutbuf && count && type->size)
		return weft_err_set(
			WEFT_ERR_BUFFER, "the two buffers are the same");
	err = weft_check_buf(inbuf, count, type);
	return err ? err : weft_check_buf(inoutbuf, count, type);
}

static int reduce_local(const char *func, const void *buf[2], MPI_Count count,
	MPI_Datatype datatype, MPI_Op op)
{
	struct weft_redop *redop = NULL;
	struct weft_type *type = NULL;
	int err = weft_check_count(count);

	if (!err)
		err = weft_check_type_ready(datatype, &type);
	if (!err)
		err = weft_check_op(op, &redop);
	if (!err && (!weft_redop_fits(redop, type) ||
			    redop->builtin == WEFT_OP_REPLACE ||
			    redop->builtin == WEFT_OP_NO_OP))
		err = weft_err_set(WEFT_ERR_OP,
			"operation 0x%lx is not for reductions of %s",
			(unsigned long)(uintptr_t)op,
			type->name[0] ? type->name : "a derived datatype");
	if (!err)
		err = check_buffers(buf[0], buf[1], count, type);
	if (!err && count && redop->is_builtin)
		err = weft_redop_apply(
			redop, buf[0], (void *)(uintptr_t)buf[1], count, type);
	else if (!err && count)
		weft_redop_call(
			redop, buf[0], (void *)(uintptr_t)buf[1], count, type);
	return err ? weft_mpi_raise_none(func, err) : MPI_SUCCESS;
}

static inline int mpi_reduce_local(const char *func, const void *inbuf,
	void *inoutbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op)
{
	const void *buf[2] = { inbuf, inoutbuf };

	return reduce_local(func, buf, count, datatype, op);
}

#include "api_op.h"
