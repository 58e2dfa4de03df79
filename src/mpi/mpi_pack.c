/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_pack: packing into buffers, and counts of elements
 *
 * MPI-5.0 sections 5.1.5, 5.2 and 5.3. A packed buffer contains the data bytes
 * only, so that packed and typed messages match. */
#include "mpi_check.h"
#include "mpi_map.h"
#include "mpi_stage.h"

#include "dt/pack.h"

/* ---- native ---- */

/* Checks that len bytes fit into the packed buffer from position on. */
static int check_room(int64_t len, int64_t position, int64_t room)
{
	if (position < 0 || position > room || len > room - position)
		return weft_err_set(WEFT_ERR_TRUNCATE,
			"%lld bytes at position %lld do not fit into a buffer "
			"of %lld bytes",
			(long long)len, (long long)position, (long long)room);
	return 0;
}

/* Computes the bytes of the items; an error on overflow. */
static int len_of(int64_t one, MPI_Count count, int64_t *len_out)
{
	if (__builtin_mul_overflow(one, count, len_out))
		return weft_err_set(WEFT_ERR_VALUE_TOO_LARGE,
			"%lld items have more bytes than a 63-bit number "
			"counts",
			(long long)count);
	return 0;
}

/* Checks the address of the packed buffer, which is never relative to
 * MPI_BOTTOM. */
static int check_packed(
	const void *packed, MPI_Count count, const struct weft_type *type)
{
	if (packed || !count || !type->size || !weft_check_is_on())
		return 0;
	return weft_check_bad_buf(count);
}

/* The checks that packing and unpacking share. `one`: bytes of an item. */
static int check_fit(const void *packed, int64_t room, int64_t position,
	MPI_Count count, const struct weft_type *type, int64_t one,
	int64_t *len_out)
{
	int err = check_packed(packed, count, type);

	if (!err)
		err = len_of(one, count, len_out);
	return err ? err : check_room(*len_out, position, room);
}

/* ---- device memory ---- */

/* The items and the packed bytes of one call. is_pack: the items are the
 * source. */
struct packing {
	struct weft_stage stage;
	bool is_pack;
	void *items;
	MPI_Count count;
	struct weft_type *type;
	char *packed; /* from the position on */
};

/* Replaces both buffers by their shadows if they are in device memory. */
static int packing_open(struct packing *p, int64_t len)
{
	struct weft_type *bytes = weft_mpi_type(MPI_BYTE);
	void *packed = p->packed;
	int err;

	if (p->is_pack)
		err = weft_stage_source(
			&p->stage, &p->items, p->count, p->type);
	else
		err = weft_stage_source(&p->stage, &packed, len, bytes);
	if (!err && p->is_pack)
		err = weft_stage_result(&p->stage, &packed, len, bytes, false);
	else if (!err)
		err = weft_stage_result(
			&p->stage, &p->items, p->count, p->type, false);
	p->packed = packed;
	return err;
}

/* Packs or unpacks len bytes. may_dev: the buffers may be in device memory. */
static int packing_run(
	struct packing *p, int64_t len, bool is_external, bool may_dev)
{
	int err = may_dev ? packing_open(p, len) : 0;

	if (!err && is_external && p->is_pack)
		weft_external_pack(p->type, p->count, p->items, p->packed);
	else if (!err && is_external)
		weft_external_unpack(p->type, p->count, p->items, p->packed);
	else if (!err && p->is_pack)
		weft_pack(
			p->type, p->count, p->items, 0, p->packed, (size_t)len);
	else if (!err)
		weft_unpack(
			p->type, p->count, p->items, 0, p->packed, (size_t)len);
	return may_dev ? weft_stage_close(&p->stage, err, INT64_MAX) : err;
}

/* ---- procedures ---- */

static int mpi_pack(const void *inbuf, MPI_Count incount,
	struct weft_type *type, void *outbuf, MPI_Count outsize,
	MPI_Count *position, struct weft_comm *comm)
{
	int64_t len = 0;
	int err = check_fit(
		outbuf, outsize, *position, incount, type, type->size, &len);
	struct packing p = { .is_pack = true,
		.items = (void *)(uintptr_t)inbuf,
		.count = incount,
		.type = type,
		.packed = (char *)outbuf + *position };

	if (!err && len)
		err = packing_run(&p, len, false, comm->may_dev);
	if (!err)
		*position += len;
	return err;
}

static int mpi_unpack(const void *inbuf, MPI_Count insize, MPI_Count *position,
	void *outbuf, MPI_Count outcount, struct weft_type *type,
	struct weft_comm *comm)
{
	int64_t len = 0;
	int err = check_fit(
		inbuf, insize, *position, outcount, type, type->size, &len);
	struct packing p = { .items = outbuf,
		.count = outcount,
		.type = type,
		.packed = (char *)(uintptr_t)inbuf + *position };

	if (!err && len)
		err = packing_run(&p, len, false, comm->may_dev);
	if (!err)
		*position += len;
	return err;
}

static int mpi_pack_size(MPI_Count incount, struct weft_type *type,
	struct weft_comm *comm, MPI_Count *size)
{
	(void)comm;
	return len_of(type->size, incount, size);
}

/* ---- external32 ---- */

static int check_datarep(const char *datarep)
{
	if (strcmp(datarep, "external32") != 0)
		return weft_err_set(WEFT_ERR_ARG,
			"the data representation is \"%.40s\", not "
			"\"external32\"",
			datarep);
	return 0;
}

static int mpi_pack_external(const char *datarep, const void *inbuf,
	MPI_Count incount, struct weft_type *type, void *outbuf,
	MPI_Count outsize, MPI_Count *position)
{
	int64_t len = 0;
	int err = check_datarep(datarep);

	if (!err)
		err = check_fit(outbuf, outsize, *position, incount, type,
			weft_external_size(type, 1), &len);
	struct packing p = { .is_pack = true,
		.items = (void *)(uintptr_t)inbuf,
		.count = incount,
		.type = type,
		.packed = (char *)outbuf + *position };

	if (!err && len)
		err = packing_run(&p, len, true, weft_dev_is_on());
	if (!err)
		*position += len;
	return err;
}

static int mpi_unpack_external(const char *datarep, const void *inbuf,
	MPI_Count insize, MPI_Count *position, void *outbuf, MPI_Count outcount,
	struct weft_type *type)
{
	int64_t len = 0;
	int err = check_datarep(datarep);

	if (!err)
		err = check_fit(inbuf, insize, *position, outcount, type,
			weft_external_size(type, 1), &len);
	struct packing p = { .items = outbuf,
		.count = outcount,
		.type = type,
		.packed = (char *)(uintptr_t)inbuf + *position };

	if (!err && len)
		err = packing_run(&p, len, true, weft_dev_is_on());
	if (!err)
		*position += len;
	return err;
}

static int mpi_pack_external_size(const char *datarep, MPI_Count incount,
	struct weft_type *type, MPI_Count *size)
{
	int err = check_datarep(datarep);

	if (!err)
		*size = weft_external_size(type, incount);
	return err;
}

#include "api_pack.h"
