/* SPDX-License-Identifier: BSD-3-Clause */
/* err_handles: freed and foreign handles are errors, never crashes */
#include "mtest.h"

static void freed(void)
{
	MPI_Comm comm, comm_copy;
	MPI_Group world, group, group_copy;
	MPI_Op op, op_copy;
	MPI_Info info, info_copy;
	MPI_Errhandler errh, errh_copy;
	MPI_Datatype type, type_copy;
	int x = 0, y = 0, flag;
	void *value;

	OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
	OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
	OK(MPI_Group_incl(world, 1, (int[]){ 0 }, &group));
	OK(MPI_Op_create((MPI_User_function *)freed, 1, &op));
	OK(MPI_Info_create(&info));
	OK(MPI_Comm_create_errhandler(
		(MPI_Comm_errhandler_function *)freed, &errh));
	OK(MPI_Type_contiguous(2, MPI_INT, &type));
	comm_copy = comm;
	group_copy = group;
	op_copy = op;
	info_copy = info;
	errh_copy = errh;
	type_copy = type;
	OK(MPI_Comm_free(&comm));
	OK(MPI_Group_free(&group));
	OK(MPI_Op_free(&op));
	OK(MPI_Info_free(&info));
	OK(MPI_Errhandler_free(&errh));
	OK(MPI_Type_free(&type));
	/* allocates further objects, so that freed slots are reused */
	OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
	OK(MPI_Group_incl(world, 1, (int[]){ 0 }, &group));
	OK(MPI_Info_create(&info));
	FAILS(MPI_Comm_rank(comm_copy, &x), MPI_ERR_COMM);
	FAILS(MPI_Send(&x, 1, MPI_INT, 0, 0, comm_copy), MPI_ERR_COMM);
	FAILS(MPI_Comm_get_attr(comm_copy, MPI_TAG_UB, &value, &flag),
		MPI_ERR_COMM);
	FAILS(MPI_Group_size(group_copy, &x), MPI_ERR_GROUP);
	FAILS(MPI_Group_free(&group_copy), MPI_ERR_GROUP);
	FAILS(MPI_Allreduce(&x, &y, 1, MPI_INT, op_copy, MPI_COMM_SELF),
		MPI_ERR_OP);
	FAILS(MPI_Info_set(info_copy, "a", "b"), MPI_ERR_INFO);
	FAILS(MPI_Comm_set_errhandler(comm, errh_copy), MPI_ERR_ERRHANDLER);
	FAILS(MPI_Type_size(type_copy, &x), MPI_ERR_TYPE);
	OK(MPI_Comm_free(&comm));
	OK(MPI_Group_free(&group));
	OK(MPI_Group_free(&world));
	OK(MPI_Info_free(&info));
}

/* Handles of another kind, and values that are no handle. */
static void foreign(void)
{
	int junk[64] = { 0 }, x = 0;
	MPI_Info info;

	OK(MPI_Info_create(&info));
	FAILS(MPI_Comm_rank((MPI_Comm)(intptr_t)info, &x), MPI_ERR_COMM);
	FAILS(MPI_Comm_rank((MPI_Comm)(intptr_t)MPI_INT, &x), MPI_ERR_COMM);
	FAILS(MPI_Comm_rank((MPI_Comm)(intptr_t)junk, &x), MPI_ERR_COMM);
	FAILS(MPI_Comm_rank((MPI_Comm)(intptr_t)0, &x), MPI_ERR_COMM);
	FAILS(MPI_Comm_rank((MPI_Comm)(intptr_t)-1, &x), MPI_ERR_COMM);
	FAILS(MPI_Type_size((MPI_Datatype)(intptr_t)info, &x), MPI_ERR_TYPE);
	FAILS(MPI_Type_size((MPI_Datatype)(intptr_t)0x2ff, &x), MPI_ERR_TYPE);
	FAILS(MPI_Type_size((MPI_Datatype)(intptr_t)MPI_COMM_WORLD, &x),
		MPI_ERR_TYPE);
	FAILS(MPI_Group_size((MPI_Group)(intptr_t)junk, &x), MPI_ERR_GROUP);
	FAILS(MPI_Allreduce(&x, junk, 1, MPI_INT, (MPI_Op)(intptr_t)info,
		      MPI_COMM_SELF),
		MPI_ERR_OP);
	OK(MPI_Info_free(&info));
}

/* Prints the text of an error. */
static void print(int code)
{
	char text[MPI_MAX_ERROR_STRING];
	int len;

	OK(MPI_Error_string(code, text, &len));
	printf("%s\n", text);
}

/* The texts name a predefined handle of another kind. multi/list checks one. */
static void named(void)
{
	MPI_Comm comm = (MPI_Comm)(intptr_t)MPI_BAND;
	int x, code;

	code = MPI_Comm_rank(comm, &x);
	CHECK(code != MPI_SUCCESS, "an operation is no communicator");
	print(code);
	code = MPI_Group_size((MPI_Group)(intptr_t)MPI_FLOAT, &x);
	CHECK(code != MPI_SUCCESS, "a datatype is no group");
	print(code);
	code = MPI_Type_size((MPI_Datatype)(intptr_t)MPI_BAND, &x);
	CHECK(code != MPI_SUCCESS, "an operation is no datatype");
	print(code);
	code = MPI_Group_size(MPI_GROUP_NULL, &x);
	CHECK(code != MPI_SUCCESS, "MPI_GROUP_NULL is no group");
	print(code);
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	freed();
	foreign();
	named();
	return mtest_finish();
}
