/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_pack: packing into buffers, and elements received
 *
 * MPI-5.0 sections 5.1.5, 5.2 and 5.3. A packed buffer holds the data bytes
 * alone, so a packed message is the message of the typed one. */
#include "mpi_check.h"
#include "mpi_map.h"

#include "dt/pack.h"

/* ---- native ---- */

/* The arguments all share. */
struct job {
	const char *func;
	const void *from;
	void *to;
	int64_t room; /* bytes of the packed buffer */
	int64_t *position;
	MPI_Count count;
	struct weft_type *type;
	struct weft_comm *comm;
};

static int check_room(const struct job *job, int64_t len)
{
	int64_t position = *job->position;

	if (position < 0 || position > job->room || len > job->room - position)
		return weft_err_set(WEFT_ERR_TRUNCATE,
			"%lld bytes from position %lld on, buffer of %lld",
			(long long)len, (long long)position,
			(long long)job->room);
	return 0;
}

/* Bytes of the items, checked against overflow. */
static int job_len(const struct job *job, int64_t *len_out)
{
	if (__builtin_mul_overflow(job->type->size, job->count, len_out))
		return weft_err_set(WEFT_ERR_VALUE_TOO_LARGE,
			"%lld items need more than 63 bits of bytes",
			(long long)job->count);
	return 0;
}

/* The packed buffer is of bytes, wherever the typed one is. */
static int check_packed(const struct job *job, const void *packed)
{
	if (packed || !job->count || !job->type->size || !weft_check_is_on())
		return 0;
	return weft_check_bad_buf(job->count);
}

static int check_job(struct job *job, const void *typed, const void *packed,
	MPI_Datatype datatype, MPI_Comm comm)
{
	int err = weft_check_comm(comm, &job->comm);

	if (!err)
		err = weft_check_ptr(job->position, "position");
	if (!err)
		err = weft_check_data(typed, job->count, datatype, &job->type);
	return err ? err : check_packed(job, packed);
}

static int do_pack(struct job *job, MPI_Datatype datatype, MPI_Comm comm)
{
	int err = check_job(job, job->from, job->to, datatype, comm);
	int64_t len = 0;

	if (!err)
		err = job_len(job, &len);
	if (!err)
		err = check_room(job, len);
	if (err)
		return weft_mpi_raise(job->comm, job->func, err);
	if (len)
		weft_pack(job->type, job->count, job->from, 0,
			(char *)job->to + *job->position, (size_t)len);
	*job->position += len;
	return MPI_SUCCESS;
}

static int do_unpack(struct job *job, MPI_Datatype datatype, MPI_Comm comm)
{
	int err = check_job(job, job->to, job->from, datatype, comm);
	int64_t len = 0;

	if (!err)
		err = job_len(job, &len);
	if (!err)
		err = check_room(job, len);
	if (err)
		return weft_mpi_raise(job->comm, job->func, err);
	if (len)
		weft_unpack(job->type, job->count, job->to, 0,
			(const char *)job->from + *job->position, (size_t)len);
	*job->position += len;
	return MPI_SUCCESS;
}

static inline int mpi_pack(const char *func, const void *inbuf,
	MPI_Count incount, MPI_Datatype datatype, void *outbuf,
	MPI_Count outsize, MPI_Count *position, MPI_Comm comm)
{
	struct job job = { .func = func,
		.from = inbuf,
		.to = outbuf,
		.room = outsize,
		.position = position,
		.count = incount };

	return do_pack(&job, datatype, comm);
}

static inline int mpi_unpack(const char *func, const void *inbuf,
	MPI_Count insize, MPI_Count *position, void *outbuf, MPI_Count outcount,
	MPI_Datatype datatype, MPI_Comm comm)
{
	struct job job = { .func = func,
		.from = inbuf,
		.to = outbuf,
		.room = insize,
		.position = position,
		.count = outcount };

	return do_unpack(&job, datatype, comm);
}

static inline int mpi_pack_size(const char *func, MPI_Count incount,
	MPI_Datatype datatype, MPI_Comm comm, MPI_Count *size)
{
	struct job job = { .count = incount };
	int err = weft_check_comm(comm, &job.comm);

	if (!err)
		err = weft_check_count(incount);
	if (!err)
		err = weft_check_type(datatype, &job.type);
	if (!err)
		err = weft_check_ptr(size, "size");
	if (!err)
		err = job_len(&job, size);
	return weft_mpi_end(job.comm, func, err);
}

/* ---- external32 ---- */

static int check_datarep(const char *datarep)
{
	int err = weft_check_ptr(datarep, "datarep");

	if (!err && strcmp(datarep, "external32") != 0)
		err = weft_err_set(WEFT_ERR_ARG,
			"the data representation is \"%.40s\", not "
			"\"external32\"",
			datarep);
	return err;
}

/* Checks, and finds the length of the external form. */
static int check_external(struct job *job, const char *datarep,
	const void *typed, const void *packed, MPI_Datatype datatype,
	int64_t *len_out)
{
	int err = check_datarep(datarep);
	int64_t one;

	if (!err)
		err = weft_check_ptr(job->position, "position");
	if (!err)
		err = weft_check_data(typed, job->count, datatype, &job->type);
	if (!err)
		err = check_packed(job, packed);
	if (err)
		return err;
	one = weft_external_size(job->type, 1);
	if (__builtin_mul_overflow(one, job->count, len_out))
		return weft_err_set(WEFT_ERR_VALUE_TOO_LARGE,
			"%lld items need more than 63 bits of bytes",
			(long long)job->count);
	return check_room(job, *len_out);
}

static int pack_external(
	struct job *job, const char *datarep, MPI_Datatype datatype)
{
	int64_t len = 0;
	int err = check_external(
		job, datarep, job->from, job->to, datatype, &len);

	if (err)
		return weft_mpi_raise_none(job->func, err);
	weft_external_pack(job->type, job->count, job->from,
		(char *)job->to + *job->position);
	*job->position += len;
	return MPI_SUCCESS;
}

static int unpack_external(
	struct job *job, const char *datarep, MPI_Datatype datatype)
{
	int64_t len = 0;
	int err = check_external(
		job, datarep, job->to, job->from, datatype, &len);

	if (err)
		return weft_mpi_raise_none(job->func, err);
	weft_external_unpack(job->type, job->count, job->to,
		(const char *)job->from + *job->position);
	*job->position += len;
	return MPI_SUCCESS;
}

static inline int mpi_pack_external(const char *func, const char *datarep,
	const void *inbuf, MPI_Count incount, MPI_Datatype datatype,
	void *outbuf, MPI_Count outsize, MPI_Count *position)
{
	struct job job = { .func = func,
		.from = inbuf,
		.to = outbuf,
		.room = outsize,
		.position = position,
		.count = incount };

	return pack_external(&job, datarep, datatype);
}

static inline int mpi_unpack_external(const char *func, const char *datarep,
	const void *inbuf, MPI_Count insize, MPI_Count *position, void *outbuf,
	MPI_Count outcount, MPI_Datatype datatype)
{
	struct job job = { .func = func,
		.from = inbuf,
		.to = outbuf,
		.room = insize,
		.position = position,
		.count = outcount };

	return unpack_external(&job, datarep, datatype);
}

static inline int mpi_pack_external_size(const char *func, const char *datarep,
	MPI_Count incount, MPI_Datatype datatype, MPI_Count *size)
{
	struct weft_type *type = NULL;
	int err = check_datarep(datarep);

	if (!err)
		err = weft_check_count(incount);
	if (!err)
		err = weft_check_type(datatype, &type);
	if (!err)
		err = weft_check_ptr(size, "size");
	if (err)
		return weft_mpi_raise_none(func, err);
	*size = weft_external_size(type, incount);
	return MPI_SUCCESS;
}

/* ---- elements received ---- */

static inline int mpi_get_elements(const char *func, const MPI_Status *status,
	MPI_Datatype datatype, MPI_Count *count)
{
	struct weft_type *type = NULL;
	int err = weft_check_type(datatype, &type);
	int64_t len;

	if (!err)
		err = weft_check_ptr(status, "status");
	if (!err)
		err = weft_check_ptr(count, "count");
	if (err)
		return weft_mpi_raise_none(func, err);
	len = weft_status_len(status);
	*count = weft_type_elements(type, len);
	/* received as another type, or cut within an element */
	if (weft_type_elements_len(type, *count) != len)
		*count = MPI_UNDEFINED;
	return MPI_SUCCESS;
}

int PMPI_Get_elements_x(
	const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
	return mpi_get_elements("MPI_Get_elements_x", status, datatype, count);
}

#include "api_pack.h"
