/* SPDX-License-Identifier: BSD-3-Clause */
/* ses_objects: types, ops, infos and handlers belong to no session (S47) */
#include "session.h"

static int calls;

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
	(void)type;
	for (int i = 0; i < *n; i++)
		((int *)inout)[i] += ((int *)in)[i];
}

static void handler(MPI_Comm *comm, int *code, ...)
{
	(void)comm;
	(void)code;
	calls++;
}

static MPI_Datatype column;
static MPI_Op sum;
static MPI_Info info;
static MPI_Errhandler mine;

/* While no session is open, types and operations cannot be created. */
static void refused(const char *when)
{
	MPI_Datatype type = MPI_DATATYPE_NULL;
	MPI_Op op = MPI_OP_NULL;

	CHECK(mtest_class(MPI_Type_vector(4, 1, 3, MPI_INT, &type)) ==
				MPI_ERR_OTHER &&
			type == MPI_DATATYPE_NULL,
		"S46: no datatype is created %s", when);
	CHECK(mtest_class(MPI_Type_contiguous(4, MPI_INT, &type)) ==
				MPI_ERR_OTHER &&
			type == MPI_DATATYPE_NULL,
		"S46: no contiguous datatype is created %s", when);
	CHECK(mtest_class(MPI_Op_create(add, 1, &op)) == MPI_ERR_OTHER &&
			op == MPI_OP_NULL,
		"S46: no operation is created %s", when);
}

static void create(void)
{
	MPI_Session session = session_open();

	session_set_rank(session);
	OK(MPI_Type_vector(4, 1, 3, MPI_INT, &column));
	CHECK(MPI_Type_commit(&column) == MPI_SUCCESS,
		"S46: a datatype is created while a session is open");
	OK(MPI_Op_create(add, 1, &sum));
	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "colour", "green"));
	OK(MPI_Comm_create_errhandler(handler, &mine));
	session_close(&session);
}

static void use(int round)
{
	int right = (mtest.rank + 1) % mtest.size, total = 0, len = 16, flag;
	int left = (mtest.rank + mtest.size - 1) % mtest.size;
	MPI_Session session = session_open();
	MPI_Comm comm = session_comm(session, "mpi://WORLD", "use");
	int grid[12], got[4] = { 0 }, one = round;
	char colour[16] = "";

	for (int i = 0; i < 12; i++)
		grid[i] = mtest.rank * 100 + i;
	OK(MPI_Sendrecv(grid, 1, column, right, 1, got, 4, MPI_INT, left, 1,
		comm, MPI_STATUS_IGNORE));
	for (int i = 0; i < 4; i++)
		CHECK(got[i] == left * 100 + 3 * i,
			"S47: the type works in session %d", round);
	OK(MPI_Allreduce(&one, &total, 1, MPI_INT, sum, comm));
	CHECK(total == round * mtest.size,
		"S47: the operation works in the session, %d", total);
	OK(MPI_Info_get_string(info, "colour", &len, colour, &flag));
	CHECK(strcmp(colour, "green") == 0,
		"S44: the info object keeps its value");
	OK(MPI_Comm_set_errhandler(comm, mine));
	calls = 0;
	MPI_Send(&one, 1, MPI_INT, 99999, 0, comm);
	CHECK(calls == 1, "S44: the error handler is called");
	OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
	OK(MPI_Comm_disconnect(&comm));
	session_close(&session);
}

int main(int argc, char **argv)
{
	MPI_Session session;
	int size = 0;

	(void)argc;
	mtest_start(argv[0]);
	refused("before any session");
	create();
	refused("between two sessions");
	OK(MPI_Type_size(column, &size));
	CHECK(size == 16, "S47: the datatype still exists");
	for (int round = 1; round <= 3; round++)
		use(round);
	session = session_open();
	OK(MPI_Type_free(&column));
	OK(MPI_Op_free(&sum));
	session_close(&session);
	OK(MPI_Info_free(&info));
	OK(MPI_Errhandler_free(&mine));
	return mtest_done();
}
