/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_abi: queries of the standard binary interface */
#include "mpi_check.h"

#include <stdio.h>
#include <string.h>

int PMPI_Abi_get_version(int *abi_major, int *abi_minor)
{
	int err = weft_check_ptr(abi_major, "abi_major");

	if (!err)
		err = weft_check_ptr(abi_minor, "abi_minor");
	if (err)
		return weft_mpi_raise_none("MPI_Abi_get_version", err);
	*abi_major = MPI_ABI_VERSION;
	*abi_minor = MPI_ABI_SUBVERSION;
	return MPI_SUCCESS;
}

/* A key of the info object: "mpi_<name>_size" of a type, or
 * "mpi_<name>_supported" of an optional type. */
struct fact {
	const char *name;
	MPI_Datatype type;
};

static int type_bytes(MPI_Datatype type)
{
	int size = MPI_UNDEFINED;

	if (PMPI_Type_size(type, &size) != MPI_SUCCESS)
		return MPI_UNDEFINED;
	return size;
}

static int put_size(struct weft_info *info, const struct fact *fact)
{
	char key[MPI_MAX_INFO_KEY], text[16];

	snprintf(key, sizeof(key), "mpi_%s_size", fact->name);
	snprintf(text, sizeof(text), "%d", type_bytes(fact->type));
	return weft_info_set(info, key, text);
}

static int put_supported(struct weft_info *info, const struct fact *fact)
{
	char key[MPI_MAX_INFO_KEY];

	snprintf(key, sizeof(key), "mpi_%s_supported", fact->name);
	return weft_info_set(info, key,
		type_bytes(fact->type) == MPI_UNDEFINED ? "false" : "true");
}

/* Creates the info object. Both lists end with a null name; optional may be
 * NULL.
 */
static int mpi_abi_make(
	const struct fact *sized, const struct fact *optional, MPI_Info *out)
{
	struct weft_info *info = NULL;
	int err = weft_check_ptr(out, "info");

	if (err)
		return err;
	info = weft_info_create();
	err = info ? 0 : WEFT_ERR_NOMEM;
	for (; !err && sized->name; sized++)
		err = put_size(info, sized);
	for (; !err && optional && optional->name; optional++)
		err = put_supported(info, optional);
	if (err)
		weft_info_destroy(info);
	else
		*out = weft_mpi_info_handle(info);
	return err;
}

int PMPI_Abi_get_info(MPI_Info *info)
{
	static const struct fact sized[] = {
		{ "aint", MPI_AINT },
		{ "count", MPI_COUNT },
		{ "offset", MPI_OFFSET },
		{ 0 },
	};
	int err = mpi_abi_make(sized, NULL, info);

	return err ? weft_mpi_raise_none("MPI_Abi_get_info", err) : MPI_SUCCESS;
}

int PMPI_Abi_get_fortran_info(MPI_Info *info)
{
	static const struct fact sized[] = {
		{ "logical", MPI_LOGICAL },
		{ "integer", MPI_INTEGER },
		{ "real", MPI_REAL },
		{ "double_precision", MPI_DOUBLE_PRECISION },
		{ 0 },
	};
	static const struct fact optional[] = {
		{ "logical1", MPI_LOGICAL1 },
		{ "logical2", MPI_LOGICAL2 },
		{ "logical4", MPI_LOGICAL4 },
		{ "logical8", MPI_LOGICAL8 },
		{ "logical16", MPI_LOGICAL16 },
		{ "integer1", MPI_INTEGER1 },
		{ "integer2", MPI_INTEGER2 },
		{ "integer4", MPI_INTEGER4 },
		{ "integer8", MPI_INTEGER8 },
		{ "integer16", MPI_INTEGER16 },
		{ "real2", MPI_REAL2 },
		{ "real4", MPI_REAL4 },
		{ "real8", MPI_REAL8 },
		{ "real16", MPI_REAL16 },
		{ "complex4", MPI_COMPLEX4 },
		{ "complex8", MPI_COMPLEX8 },
		{ "complex16", MPI_COMPLEX16 },
		{ "complex32", MPI_COMPLEX32 },
		{ "double_complex", MPI_DOUBLE_COMPLEX },
		{ 0 },
	};
	int err = mpi_abi_make(sized, optional, info);

	return err ? weft_mpi_raise_none("MPI_Abi_get_fortran_info", err)
		   : MPI_SUCCESS;
}

/* Returns the error of the procedures that set properties of Fortran: mpi.h and
 * the Fortran modules fix the sizes and both logical values. */
static int refuse_set(const char *what)
{
	return weft_err_set(WEFT_ERR_ABI,
		"%s are known and cannot be set; MPI_Abi_get_fortran_info and "
		"MPI_Abi_get_fortran_booleans return them",
		what);
}

int PMPI_Abi_set_fortran_info(MPI_Info info)
{
	struct weft_info *of = NULL;
	int err = weft_check_info(info, &of);

	if (!err)
		err = refuse_set("the properties of the Fortran types");
	return weft_mpi_raise_none("MPI_Abi_set_fortran_info", err);
}

static int check_logical_size(int size)
{
	if (size > 0 && !(size & (size - 1)))
		return 0;
	return weft_err_set(
		WEFT_ERR_ARG, "logical_size %d is not a power of two", size);
}

int PMPI_Abi_get_fortran_booleans(
	int logical_size, void *logical_true, void *logical_false, int *is_set)
{
	int err = check_logical_size(logical_size);

	if (!err)
		err = weft_check_ptr(logical_true, "logical_true");
	if (!err)
		err = weft_check_ptr(logical_false, "logical_false");
	if (!err)
		err = weft_check_ptr(is_set, "is_set");
	if (err)
		return weft_mpi_raise_none("MPI_Abi_get_fortran_booleans", err);
	*is_set = logical_size <= 16; /* MPI_LOGICAL16 is the longest */
	if (!*is_set)
		return MPI_SUCCESS;
	memset(logical_true, 0, (size_t)logical_size);
	memset(logical_false, 0, (size_t)logical_size);
	*(char *)logical_true = 1; /* gfortran's value, little-endian */
	return MPI_SUCCESS;
}

int PMPI_Abi_set_fortran_booleans(
	int logical_size, void *logical_true, void *logical_false)
{
	int err = check_logical_size(logical_size);

	(void)logical_true;
	(void)logical_false;
	if (!err)
		err = refuse_set("the values of .true. and .false.");
	return weft_mpi_raise_none("MPI_Abi_set_fortran_booleans", err);
}

#include "api_abi.h"
