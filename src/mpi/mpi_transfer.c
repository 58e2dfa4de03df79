/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_transfer: reading and writing files
 *
 * MPI-5.0, 14.4. Each procedure passes the position in the file, whether it is
 * collective, and the kind of access. The status has the number of bytes moved,
 * also after an error. */
#include "mpi_check.h"
#include "mpi_stage.h"
#include "mpi_widen.h"

#include <stdlib.h>

static void transfer_status(MPI_Status *status, int64_t moved)
{
	struct weft_status is = {
		.source = WEFT_ANY_SOURCE, .tag = WEFT_ANY_TAG, .len = moved
	};

	weft_status_to_mpi(&is, status);
}

/* Replaces a buffer in device memory by its shadow. An error is passed on in
 * the access, because a collective access needs this process. */
static void stage_access(
	struct weft_stage *stage, struct weft_file_access *access)
{
	if (access->err)
		return;
	access->err = access->is_write
			      ? weft_stage_source(stage, &access->buf,
					access->count, access->type)
			      : weft_stage_result(stage, &access->buf,
					access->count, access->type, false);
}

static int transfer_on_device(struct weft_file *fh,
	const struct weft_file_access *access, int64_t *moved_out)
{
	struct weft_stage stage = { 0 };
	struct weft_file_access staged = *access;
	int err;

	stage_access(&stage, &staged);
	err = weft_file_transfer(fh, &staged, moved_out);
	return weft_stage_close(&stage, err, *moved_out);
}

static int transfer_run(struct weft_file *fh,
	const struct weft_file_access *access, MPI_Status *status)
{
	int64_t moved = 0;
	int err = fh->comm->may_dev ? transfer_on_device(fh, access, &moved)
				    : weft_file_transfer(fh, access, &moved);

	transfer_status(status, moved);
	return err;
}

static int transfer_start(struct weft_file *fh,
	const struct weft_file_access *access, struct weft_req **req_out)
{
	struct weft_file_access staged = *access;
	struct weft_stage *stage;
	struct weft_req *inner = NULL, *outer;
	int err;

	if (!fh->comm->may_dev)
		return weft_file_start(fh, access, req_out);
	err = weft_stage_open(fh->comm, &stage, &outer);
	if (err)
		return err;
	stage_access(stage, &staged);
	err = weft_file_start(fh, &staged, &inner);
	err = weft_stage_follow_take(outer, err, inner);
	if (!err)
		*req_out = outer;
	return err;
}

static void file_drop_stage(struct weft_file *fh)
{
	struct weft_stage *stage = fh->stage;

	fh->stage = NULL;
	if (stage)
		weft_stage_close(stage, WEFT_ERR_OTHER, 0);
	free(stage);
}

/* A file has one split collective at most. Its shadow belongs to the file until
 * the collective ends. */
static int transfer_begin(
	struct weft_file *fh, const struct weft_file_access *access)
{
	struct weft_file_access staged = *access;
	struct weft_stage *stage = NULL;
	int err;

	if (fh->comm->may_dev && !access->err) {
		stage = calloc(1, sizeof(*stage));
		if (stage)
			stage_access(stage, &staged);
		else
			staged.err = WEFT_ERR_NOMEM;
	}
	err = weft_file_begin(fh, &staged);
	if (!err && stage) {
		file_drop_stage(fh);
		fh->stage = stage;
	} else if (stage) {
		weft_stage_close(stage, err, 0);
		free(stage);
	}
	return err;
}

static int transfer_end(struct weft_file *fh,
	const struct weft_file_access *access, MPI_Status *status)
{
	struct weft_stage *stage = fh->stage;
	int64_t moved = 0;
	int err = weft_file_end(fh, access, &moved);

	if (stage && !err) {
		err = weft_shadow_write(&stage->result, moved);
		file_drop_stage(fh);
	} else if (err != WEFT_ERR_OTHER) { /* OTHER: it may be pending */
		file_drop_stage(fh);
	}
	transfer_status(status, moved);
	return err;
}

/* The common arguments of a family of procedures; offset_ is 0 if the procedure
 * has none. */
#define ACCESS(write_, coll_, at_, offset_)         \
	(&(struct weft_file_access){ .err = failed, \
		.is_write = (write_),               \
		.is_collective = (coll_),           \
		.at = WEFT_FILE_AT_##at_,           \
		.offset = (offset_),                \
		.buf = (void *)(uintptr_t)buf,      \
		.count = count,                     \
		.type = type })

#define END(write_, at_)             \
	(&(struct weft_file_access){ \
		.is_write = (write_), .at = WEFT_FILE_AT_##at_ })

/* These macros define mpi_file_<name>(): blocking and non-blocking, at a file
 * pointer or an offset, and the begin and end of split collectives. void_ is
 * the type that buf points to. */
/* clang-format off */
#define RUN(name, void_, write, coll, at)                                     \
	static int mpi_file_##name(int failed, struct weft_file *fh,          \
		void_ *buf, MPI_Count count, struct weft_type *type,          \
		MPI_Status *status)                                           \
	{                                                                     \
		return transfer_run(fh, ACCESS(write, coll, at, 0), status);  \
	}
#define START(name, void_, write, coll, at)                                   \
	static int mpi_file_i##name(int failed, struct weft_file *fh,         \
		void_ *buf, MPI_Count count, struct weft_type *type,          \
		struct weft_req **request)                                    \
	{                                                                     \
		return transfer_start(                                        \
			fh, ACCESS(write, coll, at, 0), request);             \
	}
#define RUN_AT(name, void_, write, coll)                                      \
	static int mpi_file_##name(int failed, struct weft_file *fh,          \
		MPI_Offset offset, void_ *buf, MPI_Count count,               \
		struct weft_type *type, MPI_Status *status)                   \
	{                                                                     \
		return transfer_run(                                          \
			fh, ACCESS(write, coll, OFFSET, offset), status);     \
	}                                                                     \
	static int mpi_file_i##name(int failed, struct weft_file *fh,         \
		MPI_Offset offset, void_ *buf, MPI_Count count,               \
		struct weft_type *type, struct weft_req **request)            \
	{                                                                     \
		return transfer_start(                                        \
			fh, ACCESS(write, coll, OFFSET, offset), request);    \
	}
#define SPLIT_END(name, void_, write, at)                                     \
	static int mpi_file_##name##_end(                                     \
		struct weft_file *fh, void_ *buf, MPI_Status *status)         \
	{                                                                     \
		(void)buf;                                                    \
		return transfer_end(fh, END(write, at), status);              \
	}
#define SPLIT(name, void_, write, at)                                         \
	static int mpi_file_##name##_begin(int failed, struct weft_file *fh,  \
		void_ *buf, MPI_Count count, struct weft_type *type)          \
	{                                                                     \
		return transfer_begin(fh, ACCESS(write, true, at, 0));        \
	}                                                                     \
	SPLIT_END(name, void_, write, at)
#define SPLIT_AT(name, void_, write)                                          \
	static int mpi_file_##name##_begin(int failed, struct weft_file *fh,  \
		MPI_Offset offset, void_ *buf, MPI_Count count,               \
		struct weft_type *type)                                       \
	{                                                                     \
		return transfer_begin(                                        \
			fh, ACCESS(write, true, OFFSET, offset));             \
	}                                                                     \
	SPLIT_END(name, void_, write, OFFSET)

RUN(read, void, false, false, POSITION)
START(read, void, false, false, POSITION)
RUN(write, const void, true, false, POSITION)
START(write, const void, true, false, POSITION)
RUN(read_all, void, false, true, POSITION)
START(read_all, void, false, true, POSITION)
RUN(write_all, const void, true, true, POSITION)
START(write_all, const void, true, true, POSITION)
RUN_AT(read_at, void, false, false)
RUN_AT(write_at, const void, true, false)
RUN_AT(read_at_all, void, false, true)
RUN_AT(write_at_all, const void, true, true)
RUN(read_shared, void, false, false, SHARED)
START(read_shared, void, false, false, SHARED)
RUN(write_shared, const void, true, false, SHARED)
START(write_shared, const void, true, false, SHARED)
RUN(read_ordered, void, false, true, ORDERED)
RUN(write_ordered, const void, true, true, ORDERED)
SPLIT(read_all, void, false, POSITION)
SPLIT(write_all, const void, true, POSITION)
SPLIT_AT(read_at_all, void, false)
SPLIT_AT(write_at_all, const void, true)
SPLIT(read_ordered, void, false, ORDERED)
SPLIT(write_ordered, const void, true, ORDERED)
/* clang-format on */

#include "api_transfer.h"
