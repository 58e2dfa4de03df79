/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_check: slow paths of argument checks */
#include "mpi_check.h"

/* The name of a predefined handle of any kind. NULL: there is no such handle.
 */
static const char *predefined_name(uintptr_t n)
{
	static const struct {
		const void *handle;
		const char *name;
	} names[] = {
#define NAME(handle) { handle, #handle }
		NAME(MPI_COMM_NULL),
		NAME(MPI_COMM_WORLD),
		NAME(MPI_COMM_SELF),
		NAME(MPI_DATATYPE_NULL),
		NAME(MPI_ERRHANDLER_NULL),
		NAME(MPI_ERRORS_ARE_FATAL),
		NAME(MPI_ERRORS_ABORT),
		NAME(MPI_ERRORS_RETURN),
		NAME(MPI_FILE_NULL),
		NAME(MPI_GROUP_NULL),
		NAME(MPI_GROUP_EMPTY),
		NAME(MPI_INFO_NULL),
		NAME(MPI_INFO_ENV),
		NAME(MPI_MESSAGE_NULL),
		NAME(MPI_MESSAGE_NO_PROC),
		NAME(MPI_OP_NULL),
		NAME(MPI_REQUEST_NULL),
		NAME(MPI_SESSION_NULL),
		NAME(MPI_WIN_NULL),
#undef NAME
	};
	const struct weft_redop *op;
	const struct weft_type *type;

	if (n >= WEFT_HANDLE_PREDEFINED_END)
		return NULL;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if ((uintptr_t)names[i].handle == n)
			return names[i].name;
	op = weft_redop_lookup(n);
	if (op)
		return op->name;
	type = weft_mpi_type((MPI_Datatype)n);
	return type ? type->name : NULL;
}

int weft_check_bad_comm(MPI_Comm handle)
{
	uintptr_t n = (uintptr_t)handle;
	const char *name = predefined_name(n);

	if (handle == MPI_COMM_NULL)
		return weft_err_set(WEFT_ERR_COMM, "comm is MPI_COMM_NULL");
	if (handle == MPI_COMM_WORLD || handle == MPI_COMM_SELF)
		return weft_err_set(WEFT_ERR_COMM, "comm is %s, but %s", name,
			atomic_load(&weft_world.state) >= WEFT_WORLD_CLOSING
				? "MPI_Finalize has been called"
				: "MPI_Init has not been called");
	if (name)
		return weft_err_set(WEFT_ERR_COMM,
			"comm is %s, which is not a communicator", name);
	if ((uint32_t)n >> WEFT_HANDLE_INDEX_BITS == WEFT_KIND_COMM)
		return weft_err_set(WEFT_ERR_COMM,
			"comm 0x%zx was freed, or its session was finalized",
			n);
	return weft_err_set(
		WEFT_ERR_COMM, "comm 0x%zx is not a communicator", n);
}

int weft_check_is_intra(const struct weft_comm *comm)
{
	if (comm->is_inter)
		return weft_err_set(WEFT_ERR_COMM,
			"comm %s is an intercommunicator",
			weft_mpi_comm_print(comm));
	return 0;
}

int weft_check_intra(MPI_Comm handle, struct weft_comm **comm_out)
{
	struct weft_comm *comm = NULL;
	int err = weft_check_comm(handle, &comm);

	if (err)
		return err;
	*comm_out = comm; /* also for raising the error */
	return weft_check_is_intra(comm);
}

int weft_check_bad_handle(int err, const char *name, const void *handle)
{
	uintptr_t n = (uintptr_t)handle;
	const char *predefined = predefined_name(n);

	if (predefined)
		return weft_err_set(err, "%s is %s", name, predefined);
	return weft_err_set(
		err, "%s 0x%zx is not valid, or was freed", name, n);
}

int weft_check_bad_int(
	int err, const char *name, int64_t value, int64_t first, int64_t last)
{
	if (last == INT64_MAX)
		return weft_err_set(err, "%s is %lld, must be at least %lld",
			name, (long long)value, (long long)first);
	return weft_err_set(err, "%s is %lld, must be %lld to %lld", name,
		(long long)value, (long long)first, (long long)last);
}

int weft_check_bad_type(MPI_Datatype handle)
{
	struct weft_type *type = weft_mpi_type(handle);

	if (type)
		return weft_err_set(WEFT_ERR_TYPE,
			"datatype %s was not committed",
			type->name[0] ? type->name : "(no name)");
	return weft_check_bad_handle(WEFT_ERR_TYPE, "datatype", handle);
}

int weft_check_no_type(
	MPI_Datatype handle, MPI_Count count, struct weft_type **type_out)
{
	if (handle != MPI_DATATYPE_NULL || count)
		return weft_check_bad_type(handle);
	*type_out = weft_mpi_type(MPI_BYTE);
	return 0;
}

int weft_check_bad_buf(int64_t count)
{
	return weft_err_set(WEFT_ERR_BUFFER, "buffer is NULL, count is %lld",
		(long long)count);
}

int weft_check_not_up(void)
{
	return weft_err_set(WEFT_ERR_OTHER,
		"no session is open and the World Model is not initialized");
}

int weft_check_bad_ptr(const void *ptr, const char *name)
{
	if (!ptr)
		return weft_err_set(WEFT_ERR_ARG, "%s is NULL", name);
	return weft_err_set(WEFT_ERR_ARG,
		"%s is %p, a constant of mpi.h and not an address", name, ptr);
}

int weft_check_stringtag(const char *tag)
{
	size_t len = tag ? strnlen(tag, MPI_MAX_STRINGTAG_LEN) : 0;

	if (!tag || len >= MPI_MAX_STRINGTAG_LEN)
		return weft_err_set(WEFT_ERR_ARG,
			"stringtag is %s, may have up to %d characters",
			tag ? "too long" : "NULL", MPI_MAX_STRINGTAG_LEN - 1);
	return 0;
}
