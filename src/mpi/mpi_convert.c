/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_convert: handles and statuses as integers, for other languages
 *
 * The integer of a handle is its low half: the value of a predefined handle, or
 * the kind and the table index of an object. The reverse conversion looks up
 * the object at that index without a lock, so any thread may call these
 * procedures at any time. Without an object, it returns a handle of generation
 * 0, which no object has: using this handle is an error of its class. */
#include "mpi_check.h"

#include <string.h>

static int to_int(const void *handle)
{
	return (int)(uint32_t)(uintptr_t)handle;
}

static void *from_int(const struct weft_table *table, int n)
{
	uint32_t low = (uint32_t)n;
	void *obj = NULL;

	if (table && low >= WEFT_HANDLE_PREDEFINED_END)
		obj = weft_table_from_int(table, low);
	return (void *)(uintptr_t)(obj ? weft_obj_handle(obj) : low);
}

/* A kind without a table has predefined handles only. */
/* clang-format off */
#define CONVERT(noun, type, table)                                          \
	int PMPI_##noun##_toint(type handle) { return to_int(handle); }     \
	type PMPI_##noun##_fromint(int n) { return from_int(table, n); }    \
	MPI_Fint PMPI_##noun##_c2f(type handle) { return to_int(handle); }  \
	type PMPI_##noun##_f2c(MPI_Fint n) { return from_int(table, n); }

CONVERT(Comm, MPI_Comm, &weft_comms)
CONVERT(Errhandler, MPI_Errhandler, &weft_errhs)
CONVERT(File, MPI_File, &weft_files)
CONVERT(Group, MPI_Group, &weft_groups)
CONVERT(Info, MPI_Info, &weft_infos)
CONVERT(Message, MPI_Message, &weft_messages)
CONVERT(Op, MPI_Op, &weft_redops)
CONVERT(Request, MPI_Request, &weft_reqs)
CONVERT(Session, MPI_Session, &weft_sessions)
CONVERT(Type, MPI_Datatype, &weft_types)
CONVERT(Win, MPI_Win, &weft_wins)
/* clang-format on */

/* The three forms of a status have one layout. */
_Static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint), "");
_Static_assert(sizeof(MPI_F08_status) == sizeof(MPI_Status), "");

static int copy_status(const char *func, const void *from, const char *name,
	void *to, const char *to_name)
{
	int err = weft_check_ptr(from, name);

	if (!err)
		err = weft_check_ptr(to, to_name);
	if (err)
		return weft_mpi_raise_none(func, err);
	memcpy(to, from, sizeof(MPI_Status));
	return MPI_SUCCESS;
}

int PMPI_Status_c2f(const MPI_Status *c_status, MPI_Fint *f_status)
{
	return copy_status(
		"MPI_Status_c2f", c_status, "c_status", f_status, "f_status");
}

int PMPI_Status_f2c(const MPI_Fint *f_status, MPI_Status *c_status)
{
	return copy_status(
		"MPI_Status_f2c", f_status, "f_status", c_status, "c_status");
}

int PMPI_Status_c2f08(const MPI_Status *c_status, MPI_F08_status *f08_status)
{
	return copy_status("MPI_Status_c2f08", c_status, "c_status", f08_status,
		"f08_status");
}

int PMPI_Status_f082c(const MPI_F08_status *f08_status, MPI_Status *c_status)
{
	return copy_status("MPI_Status_f082c", f08_status, "f08_status",
		c_status, "c_status");
}

int PMPI_Status_f2f08(const MPI_Fint *f_status, MPI_F08_status *f08_status)
{
	return copy_status("MPI_Status_f2f08", f_status, "f_status", f08_status,
		"f08_status");
}

int PMPI_Status_f082f(const MPI_F08_status *f08_status, MPI_Fint *f_status)
{
	return copy_status("MPI_Status_f082f", f08_status, "f08_status",
		f_status, "f_status");
}

#include "api_convert.h"
