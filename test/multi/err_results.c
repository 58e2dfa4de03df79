/* SPDX-License-Identifier: BSD-3-Clause */
/* err_results: objects after a failed call, calls whose user function fails,
 * calls that are no error, texts of errors */
#include "mtest.h"

/* ---- constructors ---- */

static int is_failing;

static int copy_comm(
	MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
	(void)comm;
	(void)keyval;
	(void)extra;
	*(void **)out = in;
	*flag = 1;
	return is_failing ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int copy_type(MPI_Datatype type, int keyval, void *extra, void *in,
	void *out, int *flag)
{
	(void)type;
	return copy_comm(MPI_COMM_NULL, keyval, extra, in, out, flag);
}

static void constructors(void)
{
	MPI_Comm comm = MPI_COMM_WORLD;
	MPI_Datatype type = MPI_INT, old;
	int keys[2];

	OK(MPI_Comm_create_keyval(
		copy_comm, MPI_COMM_NULL_DELETE_FN, &keys[0], NULL));
	OK(MPI_Type_create_keyval(
		copy_type, MPI_TYPE_NULL_DELETE_FN, &keys[1], NULL));
	OK(MPI_Comm_set_attr(MPI_COMM_WORLD, keys[0], NULL));
	OK(MPI_Type_dup(MPI_INT, &old));
	OK(MPI_Type_set_attr(old, keys[1], NULL));
	is_failing = 1;
	FAILS(MPI_Comm_dup(MPI_COMM_WORLD, &comm), MPI_ERR_OTHER);
	CHECK(comm == MPI_COMM_NULL,
		"a failed copy callback creates no communicator");
	FAILS(MPI_Type_dup(old, &type), MPI_ERR_OTHER);
	CHECK(type == MPI_DATATYPE_NULL,
		"a failed copy callback creates no datatype");
	is_failing = 0;
	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	OK(MPI_Barrier(comm));
	OK(MPI_Comm_free(&comm));
	OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, keys[0]));
	OK(MPI_Type_free(&old));
	OK(MPI_Comm_free_keyval(&keys[0]));
	OK(MPI_Type_free_keyval(&keys[1]));
}

/* ---- hints ---- */

static void has(MPI_Comm comm, const char *key, const char *want)
{
	char value[64] = "";
	int len = sizeof(value), flag = -1;
	MPI_Info info;

	OK(MPI_Comm_get_info(comm, &info));
	OK(MPI_Info_get_string(info, key, &len, value, &flag));
	CHECK(flag == (want != NULL), "%s is %s", key,
		want ? "there" : "dropped");
	CHECK(!want || strcmp(value, want) == 0, "%s is %s: %s", key, want,
		value);
	OK(MPI_Info_free(&info));
}

static void unknown_hints(void)
{
	MPI_Comm comms[2];
	MPI_Info info;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "nobody_knows_this", "1"));
	OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]));
	OK(MPI_Comm_set_info(comms[0], info));
	OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comms[1]));
	for (int i = 0; i < 2; i++) {
		has(comms[i], "nobody_knows_this", NULL);
		has(comms[i], "mpi_assert_no_any_tag", "true");
		OK(MPI_Comm_free(&comms[i]));
	}
	OK(MPI_Info_free(&info));
}

/* ---- generalized requests ---- */

static int n_freed;

static int on_query(void *extra, MPI_Status *status)
{
	(void)extra;
	status->MPI_SOURCE = status->MPI_TAG = 0;
	MPI_Status_set_elements(status, MPI_INT, 0);
	return MPI_Status_set_cancelled(status, 0);
}

static int on_free(void *extra)
{
	n_freed++;
	return *(int *)extra;
}

static int on_cancel(void *extra, int is_complete)
{
	(void)extra;
	(void)is_complete;
	return MPI_SUCCESS;
}

static void start_general(MPI_Request *request, int *code, int is_complete)
{
	n_freed = 0;
	OK(MPI_Grequest_start(on_query, on_free, on_cancel, code, request));
	if (is_complete)
		OK(MPI_Grequest_complete(*request));
}

static void general_requests(void)
{
	MPI_Request request, copy;
	MPI_Status status;
	int class, code, fine = MPI_SUCCESS, flag = 0;

	OK(MPI_Add_error_class(&class));
	OK(MPI_Add_error_code(class, &code));
	start_general(&request, &code, 1);
	CHECK(MPI_Wait(&request, &status) == code && n_freed == 1,
		"wait returns the error of the function that frees");
	CHECK(request == MPI_REQUEST_NULL, "wait frees the request");
	start_general(&request, &code, 1);
	CHECK(MPI_Test(&request, &flag, &status) == code && n_freed == 1,
		"test returns the error of the function that frees");
	start_general(&request, &code, 1);
	FAILS(MPI_Waitall(1, &request, &status), MPI_ERR_IN_STATUS);
	CHECK(status.MPI_ERROR == code && n_freed == 1,
		"waitall returns the error in the status");
	start_general(&request, &code, 1);
	CHECK(MPI_Request_free(&request) == code && n_freed == 1,
		"freeing a complete request returns the error");
	start_general(&request, &code, 0);
	copy = request;
	OK(MPI_Request_free(&request));
	CHECK(n_freed == 0, "an active generalized request is not freed yet");
	CHECK(MPI_Grequest_complete(copy) == code && n_freed == 1,
		"MPI_Grequest_complete frees the request");
	start_general(&request, &fine, 1);
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	CHECK(n_freed == 1, "the request is freed once");
	OK(MPI_Remove_error_code(code));
	OK(MPI_Remove_error_class(class));
}

/* ---- no data, no type ---- */

static void no_type(void)
{
	const MPI_Datatype none = MPI_DATATYPE_NULL;
	int other = !mtest.rank;
	MPI_Request requests[2];
	MPI_Status status;

	OK(MPI_Irecv(
		NULL, 0, none, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[0]));
	OK(MPI_Waitall(1, requests, &status));
	CHECK(status.MPI_SOURCE == MPI_PROC_NULL &&
			status.MPI_TAG == MPI_ANY_TAG,
		"a receive from MPI_PROC_NULL needs no datatype");
	OK(MPI_Send(NULL, 0, none, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
	OK(MPI_Irecv(NULL, 0, none, other, 1, MPI_COMM_WORLD, &requests[0]));
	OK(MPI_Isend(NULL, 0, none, other, 1, MPI_COMM_WORLD, &requests[1]));
	OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
	FAILS(MPI_Send(&other, 1, none, MPI_PROC_NULL, 1, MPI_COMM_WORLD),
		MPI_ERR_TYPE);
	FAILS(MPI_Irecv(NULL, 1, none, other, 1, MPI_COMM_WORLD, requests),
		MPI_ERR_TYPE);
}

/* ---- text of errors ---- */

static void text_is(int rc, const char *want)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int len = 0;

	OK(MPI_Error_string(rc, text, &len));
	CHECK(strncmp(text, want, strlen(want)) == 0,
		"the text begins with \"%s\", got \"%s\"", want, text);
}

static void texts(void)
{
	MPI_Comm comm;
	int n = 0;

	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	text_is(MPI_Send(&n, 1, MPI_INT, 2, 0, comm),
		"MPI_ERR_RANK: MPI_Send: dest is 2, must be 0 to 1");
	text_is(MPI_Comm_remote_size(comm, &n),
		"MPI_ERR_COMM: MPI_Comm_remote_size: comm without a name is "
		"not an intercommunicator");
	text_is(MPI_ERR_RANK, "MPI_ERR_RANK: invalid rank");
	OK(MPI_Comm_free(&comm));
}

/* Leaves five requests of each kind without a wait. */
static void leave_requests(void)
{
	static int from[5], to[5];
	MPI_Request request;

	for (int i = 0; i < 5; i++) {
		OK(MPI_Isend(&from[i], 1, MPI_INT, !mtest.rank, i,
			MPI_COMM_WORLD, &request));
		OK(MPI_Irecv(&to[i], 1, MPI_INT, !mtest.rank, i, MPI_COMM_WORLD,
			&request));
	}
	OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	if (mtest.size != 2)
		mtest_skip("is for two processes");
	constructors();
	unknown_hints();
	general_requests();
	no_type();
	texts();
	if (mtest_arg(argc, argv, "leave", 0))
		leave_requests();
	return mtest_finish();
}
