/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_part: partitioned communication
 *
 * MPI-5.0 chapter 4. */
#include "mpi_check.h"
#include "mpi_map.h"

/* The arguments of an init procedure. */
struct args {
	const void *buf;
	int partitions;
	MPI_Count count; /* of each partition */
	MPI_Datatype type;
	int rank;
	int tag;
	MPI_Comm comm;
	MPI_Info info;
};

static int mpi_part_fill(
	struct weft_msg *msg, const struct args *a, bool is_send)
{
	struct weft_info *info;
	int err;

	*msg = (struct weft_msg){
		.buf = (void *)(uintptr_t)a->buf,
		.count = a->count,
		.rank = a->rank,
		.tag = a->tag,
		.ctx_offset = WEFT_CTX_OFFSET_PART,
	};
	err = weft_check_comm(a->comm, &msg->comm);
	if (!err)
		err = weft_check_range(WEFT_ERR_ARG, "partitions",
			a->partitions, 0, INT32_MAX);
	if (!err)
		err = weft_check_count(a->count);
	if (!err)
		err = weft_check_data(a->buf, a->partitions ? a->count : 0,
			a->type, &msg->type);
	if (!err)
		err = weft_check_remote(
			msg->comm, is_send ? "dest" : "source", a->rank);
	if (!err)
		err = weft_check_tag_send(a->tag);
	if (!err)
		err = weft_check_info_or_null(a->info, &info);
	return err;
}

static int mpi_part_init(const char *func, const struct args *a, bool is_send,
	MPI_Request *request)
{
	struct weft_msg msg;
	struct weft_req *req;
	int err = mpi_part_fill(&msg, a, is_send);

	weft_mpi_null(request, MPI_REQUEST_NULL);
	if (!err)
		err = weft_check_ptr(request, "request");
	if (!err)
		err = is_send ? weft_psend_init(&msg, a->partitions, &req)
			      : weft_precv_init(&msg, a->partitions, &req);
	if (!err)
		*request = weft_mpi_req_handle(req);
	return weft_mpi_end(msg.comm, func, err);
}

static inline int mpi_psend_init(const char *func, const void *buf,
	int partitions, MPI_Count count, MPI_Datatype datatype, int dest,
	int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
	const struct args a = { buf, partitions, count, datatype, dest, tag,
		comm, info };

	return mpi_part_init(func, &a, true, request);
}

static inline int mpi_precv_init(const char *func, void *buf, int partitions,
	MPI_Count count, MPI_Datatype datatype, int source, int tag,
	MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
	const struct args a = { buf, partitions, count, datatype, source, tag,
		comm, info };

	return mpi_part_init(func, &a, false, request);
}

/* Ends a procedure: raises an error on the communicator of the request. */
static int mpi_part_end(MPI_Request request, const char *func, int err)
{
	struct weft_req *req = weft_mpi_req(request);

	return weft_mpi_end(req ? req->comm : NULL, func, err);
}

int PMPI_Pready(int partition, MPI_Request request)
{
	struct weft_req *req = NULL;
	int err = weft_check_req(request, &req);

	if (!err)
		err = weft_pready(req, partition, partition);
	return mpi_part_end(request, "MPI_Pready", err);
}

int PMPI_Pready_range(
	int partition_low, int partition_high, MPI_Request request)
{
	struct weft_req *req = NULL;
	int err = weft_check_req(request, &req);

	if (!err)
		err = weft_check_range(WEFT_ERR_ARG, "partition_low",
			partition_low, 0, partition_high);
	if (!err)
		err = weft_pready(req, partition_low, partition_high);
	return mpi_part_end(request, "MPI_Pready_range", err);
}

int PMPI_Pready_list(
	int length, const int array_of_partitions[], MPI_Request request)
{
	struct weft_req *req = NULL;
	int err = weft_check_req(request, &req);

	if (!err)
		err = weft_check_count(length);
	if (!err && length > 0)
		err = weft_check_ptr(
			array_of_partitions, "array_of_partitions");
	for (int i = 0; !err && i < length; i++)
		err = weft_pready(
			req, array_of_partitions[i], array_of_partitions[i]);
	return mpi_part_end(request, "MPI_Pready_list", err);
}

int PMPI_Parrived(MPI_Request request, int partition, int *flag)
{
	struct weft_req *req = NULL;
	bool is_there = true;
	int err = weft_check_ptr(flag, "flag");

	if (!err && request != MPI_REQUEST_NULL)
		err = weft_check_req(request, &req);
	if (!err && request != MPI_REQUEST_NULL)
		err = weft_parrived(req, partition, &is_there);
	if (!err)
		*flag = is_there;
	return mpi_part_end(request, "MPI_Parrived", err);
}

#include "api_part.h"
