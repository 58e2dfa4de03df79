/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_op: reduction operations and local reduction; MPI-5.0 section 6.9 */
#include "mpi_check.h"
#include "mpi_map.h"
#include "mpi_stage.h"

/* The user's function takes the address of a datatype handle. The handle is a
 * pointer to an incomplete struct in mpi.h, and a void * in the room core. */
_Static_assert(sizeof(MPI_Datatype) == sizeof(void *), "");
_Static_assert(sizeof(MPI_Count) == sizeof(int64_t), "");

static int made_op(struct weft_redop *made, struct weft_redop **op)
{
	*op = made;
	return made ? 0
		    : weft_err_set(
			      WEFT_ERR_NOMEM, "no memory for an operation");
}

static int mpi_op_create(
	MPI_User_function *fn, int commute, struct weft_redop **made)
{
	int err = weft_check_up();

	return err ? err
		   : made_op(weft_redop_make(
				     (weft_redop_fn *)(void (*)(void))fn, NULL,
				     commute),
			     made);
}

static int mpi_op_create_c(
	MPI_User_function_c *fn, int commute, struct weft_redop **made)
{
	int err = weft_check_up();

	return err ? err
		   : made_op(weft_redop_make(NULL,
				     (weft_redop_large_fn *)(void (*)(void))fn,
				     commute),
			     made);
}

static int mpi_op_free(struct weft_redop *op)
{
	if (op->is_builtin)
		return weft_err_set(WEFT_ERR_OP,
			"%s is predefined and cannot be freed", op->name);
	weft_redop_close_handle(op);
	return 0;
}

static int mpi_op_commutative(const struct weft_redop *op, int *commute)
{
	*commute = op->is_commutative;
	return 0;
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

static int reduce_local(const void *inbuf, void *inoutbuf, MPI_Count count,
	struct weft_type *type, struct weft_redop *op)
{
	if (op->is_builtin)
		return weft_redop_apply(
			op, inbuf, inoutbuf, inoutbuf, count, type);
	weft_redop_call(op, inbuf, inoutbuf, count, type);
	return 0;
}

/* Reduces buffers that may be in device memory. */
static int reduce_local_staged(void *inbuf, void *inoutbuf, MPI_Count count,
	struct weft_type *type, struct weft_redop *op)
{
	struct weft_stage stage = { 0 };
	int err = weft_stage_source(&stage, &inbuf, count, type);

	if (!err)
		err = weft_stage_result(&stage, &inoutbuf, count, type, true);
	if (!err)
		err = reduce_local(inbuf, inoutbuf, count, type, op);
	return weft_stage_close(&stage, err, INT64_MAX);
}

static int mpi_reduce_local(const void *inbuf, void *inoutbuf, MPI_Count count,
	struct weft_type *type, struct weft_redop *op)
{
	int err = 0;

	if (!weft_redop_is_defined(op, type) ||
		op->builtin == WEFT_OP_REPLACE || op->builtin == WEFT_OP_NO_OP)
		err = weft_err_set(WEFT_ERR_OP,
			"%s is not for reductions of %s", op->name,
			type->name[0] ? type->name : "a derived datatype");
	if (!err)
		err = check_buffers(inbuf, inoutbuf, count, type);
	if (!err && count && weft_dev_is_on())
		err = reduce_local_staged(
			(void *)(uintptr_t)inbuf, inoutbuf, count, type, op);
	else if (!err && count)
		err = reduce_local(inbuf, inoutbuf, count, type, op);
	return err;
}

#include "api_op.h"
