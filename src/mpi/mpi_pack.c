/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_pack: packing into buffers, and counts of elements
 *
 * MPI-5.0 sections 5.1.5, 5.2 and 5.3. A packed buffer contains the data bytes
 * only, so that packed and typed messages match. */
#include "mpi_check.h"
#include "mpi_map.h"

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

static int mpi_pack(const void *inbuf, MPI_Count incount,
	struct weft_type *type, void *outbuf, MPI_Count outsize,
	MPI_Count *position, struct weft_comm *comm)
{
	int64_t len = 0;
	int err = check_fit(
		outbuf, outsize, *position, incount, type, type->size, &len);

	(void)comm;
	if (!err && len)
		weft_pack(type, incount, inbuf, 0, (char *)outbuf + *position,
			(size_t)len);
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

	(void)comm;
	if (!err && len)
		weft_unpack(type, outcount, outbuf, 0,
			(const char *)inbuf + *position, (size_t)len);
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
	if (err)
		return err;
	weft_external_pack(type, incount, inbuf, (char *)outbuf + *position);
	*position += len;
	return 0;
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
	if (err)
		return err;
	weft_external_unpack(
		type, outcount, outbuf, (const char *)inbuf + *position);
	*position += len;
	return 0;
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
