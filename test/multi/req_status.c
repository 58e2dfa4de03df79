/* SPDX-License-Identifier: BSD-3-Clause */
/* req_status: queries that do not change requests, statuses and types; handles
 * as integers; attributes and their older names */
#include "mtest.h"

enum { TAG = 9 };

/* ---- requests ---- */

static void check_requests(void)
{
	int x[2] = { 5, 6 }, y[2] = { 0, 0 }, flag = 0, index = -1, n = -1;
	int indices[4];
	MPI_Request reqs[4];
	MPI_Status status, statuses[4];

	for (int i = 0; i < 2; i++) {
		OK(MPI_Irecv(&y[i], 1, MPI_INT, 0, TAG + i, MPI_COMM_SELF,
			&reqs[i]));
	}
	OK(MPI_Request_get_status_all(2, reqs, &flag, statuses));
	CHECK(!flag, "no request is complete before a send");
	OK(MPI_Request_get_status_any(2, reqs, &index, &flag, &status));
	CHECK(!flag && index == MPI_UNDEFINED,
		"no request is complete before a send");
	OK(MPI_Request_get_status_some(2, reqs, &n, indices, statuses));
	CHECK(n == 0, "%d requests are complete", n);
	OK(MPI_Isend(&x[1], 1, MPI_INT, 0, TAG + 1, MPI_COMM_SELF, &reqs[2]));
	do
		OK(MPI_Request_get_status(reqs[1], &flag, &status));
	while (!flag);
	CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == TAG + 1 && y[1] == 6,
		"the status has the source and tag of the second message: %d, "
		"%d",
		status.MPI_SOURCE, status.MPI_TAG);
	OK(MPI_Request_get_status_any(2, reqs, &index, &flag, &status));
	CHECK(flag && index == 1 && status.MPI_TAG == TAG + 1,
		"testany returns the index 1: %d", index);
	OK(MPI_Request_get_status_some(2, reqs, &n, indices, statuses));
	CHECK(n == 1 && indices[0] == 1 && statuses[0].MPI_TAG == TAG + 1,
		"%d requests are complete", n);
	OK(MPI_Request_get_status_all(2, reqs, &flag, statuses));
	CHECK(!flag, "testall is false while a request is active");
	OK(MPI_Isend(&x[0], 1, MPI_INT, 0, TAG, MPI_COMM_SELF, &reqs[3]));
	do
		OK(MPI_Request_get_status_all(4, reqs, &flag, statuses));
	while (!flag);
	CHECK(statuses[0].MPI_TAG == TAG && statuses[1].MPI_TAG == TAG + 1 &&
			y[0] == 5,
		"the statuses have the tags of both messages: %d, %d",
		statuses[0].MPI_TAG, statuses[1].MPI_TAG);
	CHECK(reqs[0] != MPI_REQUEST_NULL && reqs[1] != MPI_REQUEST_NULL,
		"the requests are not freed");
	OK(MPI_Waitall(4, reqs, MPI_STATUSES_IGNORE));
}

/* ---- statuses ---- */

static void check_statuses(MPI_Datatype pair)
{
	MPI_Status status;
	MPI_Count n = -1;
	int value = -1;

	memset(&status, 0, sizeof(status));
	OK(MPI_Status_set_source(&status, 3));
	OK(MPI_Status_set_tag(&status, 4));
	OK(MPI_Status_set_error(&status, MPI_ERR_RANK));
	OK(MPI_Status_get_source(&status, &value));
	CHECK(value == 3 && status.MPI_SOURCE == 3,
		"the source that was set is returned: %d", value);
	OK(MPI_Status_get_tag(&status, &value));
	CHECK(value == 4 && status.MPI_TAG == 4,
		"the tag that was set is returned: %d", value);
	OK(MPI_Status_get_error(&status, &value));
	CHECK(value == MPI_ERR_RANK && status.MPI_ERROR == MPI_ERR_RANK,
		"the error that was set is returned: %d", value);
	OK(MPI_Status_set_elements_x(&status, pair, 3));
	OK(MPI_Get_elements_x(&status, pair, &n));
	CHECK(n == 3, "the elements that were set are returned: %lld",
		(long long)n);
	OK(MPI_Status_set_elements_c(&status, pair, 4));
	OK(MPI_Get_elements_c(&status, pair, &n));
	CHECK(n == 4, "the elements that were set are returned: %lld",
		(long long)n);
	OK(MPI_Get_count(&status, pair, &value));
	CHECK(value == 2, "two pairs are counted: %d", value);
}

/* ---- types ---- */

static void check_extents(MPI_Datatype pair)
{
	MPI_Count low = -1, extent = -1, size = -1;
	MPI_Aint at = -1;

	OK(MPI_Type_get_extent_x(pair, &low, &extent));
	CHECK(low == 0 && extent == 16, "the bounds are 0 and 16: %lld, %lld",
		(long long)low, (long long)extent);
	OK(MPI_Type_get_true_extent_x(pair, &low, &extent));
	CHECK(low == 0 && extent == 16, "the bounds are 0 and 16: %lld, %lld",
		(long long)low, (long long)extent);
	OK(MPI_Type_size_x(pair, &size));
	CHECK(size == 8, "the size is 8: %lld bytes", (long long)size);
	OK(MPI_Type_extent(pair, &at));
	CHECK(at == 16, "the extent is 16: %lld", (long long)at);
	OK(MPI_Type_lb(pair, &at));
	CHECK(at == 0, "the lower bound is 0: %lld", (long long)at);
	OK(MPI_Type_ub(pair, &at));
	CHECK(at == 16, "the upper bound is 16: %lld", (long long)at);
	CHECK(MPI_Aint_diff((MPI_Aint)40, (MPI_Aint)16) == 24, "40 - 16 is 24");
}

static void check_envelope(MPI_Datatype pair)
{
	int n_ints = -1, n_addresses = -1, n_types = -1, combiner = -1;
	int ints[3];
	MPI_Datatype of;

	OK(MPI_Type_get_envelope(
		pair, &n_ints, &n_addresses, &n_types, &combiner));
	CHECK(n_ints == 3 && n_addresses == 0 && n_types == 1 &&
			combiner == MPI_COMBINER_VECTOR,
		"the envelope is that of a vector: %d, %d, %d, %d", n_ints,
		n_addresses, n_types, combiner);
	OK(MPI_Type_get_contents(pair, 3, 0, 1, ints, NULL, &of));
	CHECK(ints[0] == 2 && ints[1] == 1 && ints[2] == 3 && of == MPI_INT,
		"the contents are 2, 1, 3: %d, %d, %d", ints[0], ints[1],
		ints[2]);
}

static void check_type_attributes(MPI_Datatype pair)
{
	int keyval, flag = 0, x = 1;
	void *value = NULL;
	MPI_Datatype twin;

	OK(MPI_Type_create_keyval(
		MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &keyval, NULL));
	OK(MPI_Type_set_attr(pair, keyval, &x));
	OK(MPI_Type_dup(pair, &twin));
	OK(MPI_Type_get_attr(twin, keyval, &value, &flag));
	CHECK(flag && value == &x, "the copy has the key");
	OK(MPI_Type_delete_attr(twin, keyval));
	OK(MPI_Type_get_attr(twin, keyval, &value, &flag));
	CHECK(!flag, "the key is deleted in the copy");
	OK(MPI_Type_get_attr(pair, keyval, &value, &flag));
	CHECK(flag, "the original keeps the key");
	OK(MPI_Type_free(&twin));
	OK(MPI_Type_delete_attr(pair, keyval));
	OK(MPI_Type_free_keyval(&keyval));
}

static void check_complex(void)
{
	MPI_Datatype type;
	int size = -1;

	OK(MPI_Type_create_f90_complex(10, 100, &type));
	OK(MPI_Type_size(type, &size));
	CHECK(size == 16, "the size is 16: %d bytes", size);
}

/* ---- the older attribute procedures ---- */

static void check_old_attributes(void)
{
	int keyval, flag = 0, x = 1;
	void *value = NULL;
	MPI_Comm twin;

	OK(MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, &keyval, NULL));
	OK(MPI_Attr_put(MPI_COMM_SELF, keyval, &x));
	OK(MPI_Attr_get(MPI_COMM_SELF, keyval, &value, &flag));
	CHECK(flag && value == &x, "the value is the one that was put");
	OK(MPI_Comm_dup(MPI_COMM_SELF, &twin));
	OK(MPI_Attr_get(twin, keyval, &value, &flag));
	CHECK(flag && value == &x, "the copy has the key");
	OK(MPI_Attr_delete(MPI_COMM_SELF, keyval));
	OK(MPI_Attr_get(MPI_COMM_SELF, keyval, &value, &flag));
	CHECK(!flag, "the key is deleted");
	OK(MPI_Comm_free(&twin));
	OK(MPI_Keyval_free(&keyval));
	CHECK(keyval == MPI_KEYVAL_INVALID, "the keyval is freed");
}

/* ---- handles as integers ---- */

static void check_integers(MPI_Request req, MPI_Session session)
{
	MPI_Group group;

	CHECK(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD)) ==
			MPI_COMM_WORLD,
		"a communicator is converted to an integer and back");
	CHECK(MPI_Type_fromint(MPI_Type_toint(MPI_INT)) == MPI_INT,
		"a datatype is converted to an integer and back");
	CHECK(MPI_Op_fromint(MPI_Op_toint(MPI_MAX)) == MPI_MAX,
		"an operation is converted to an integer and back");
	CHECK(MPI_Errhandler_fromint(MPI_Errhandler_toint(MPI_ERRORS_RETURN)) ==
			MPI_ERRORS_RETURN,
		"an error handler is converted to an integer and back");
	CHECK(MPI_Message_fromint(MPI_Message_toint(MPI_MESSAGE_NO_PROC)) ==
			MPI_MESSAGE_NO_PROC,
		"a message is converted to an integer and back");
	CHECK(MPI_Request_fromint(MPI_Request_toint(req)) == req,
		"a request is converted to an integer and back");
	CHECK(MPI_Session_fromint(MPI_Session_toint(session)) == session,
		"a session is converted to an integer and back");
	OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
	CHECK(MPI_Group_fromint(MPI_Group_toint(group)) == group,
		"a group is converted to an integer and back");
	CHECK(MPI_Group_f2c(MPI_Group_c2f(group)) == group,
		"a group is converted to an integer and back");
	OK(MPI_Group_free(&group));
}

static void check_fortran(MPI_Request req, MPI_Session session)
{
	CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_SELF)) == MPI_COMM_SELF,
		"a communicator is converted to an integer and back");
	CHECK(MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE)) == MPI_DOUBLE,
		"a datatype is converted to an integer and back");
	CHECK(MPI_Errhandler_f2c(MPI_Errhandler_c2f(MPI_ERRORS_ABORT)) ==
			MPI_ERRORS_ABORT,
		"an error handler is converted to an integer and back");
	CHECK(MPI_Message_f2c(MPI_Message_c2f(MPI_MESSAGE_NULL)) ==
			MPI_MESSAGE_NULL,
		"a message is converted to an integer and back");
	CHECK(MPI_Request_f2c(MPI_Request_c2f(req)) == req,
		"a request is converted to an integer and back");
	CHECK(MPI_Session_f2c(MPI_Session_c2f(session)) == session,
		"a session is converted to an integer and back");
}

static void check_handles(void)
{
	MPI_Session session;
	MPI_Request req;
	int x = 0;

	OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
	OK(MPI_Send_init(&x, 1, MPI_INT, 0, TAG, MPI_COMM_SELF, &req));
	check_integers(req, session);
	check_fortran(req, session);
	OK(MPI_Request_free(&req));
	OK(MPI_Session_finalize(&session));
}

/* ---- information ---- */

static void check_information(void)
{
	int flag = 0, result = -1, n = -1, code, class;
	char value[MPI_MAX_INFO_VAL + 1] = "";
	MPI_Request req;
	MPI_Comm twin;
	MPI_Info info;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "k", "value"));
	OK(MPI_Info_get(info, "k", MPI_MAX_INFO_VAL, value, &flag));
	CHECK(flag && !strcmp(value, "value"), "\"%s\"", value);
	OK(MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &twin, &req));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	OK(MPI_Comm_compare(MPI_COMM_WORLD, twin, &result));
	CHECK(result == MPI_CONGRUENT, "the communicators are congruent: %d",
		result);
	OK(MPI_Comm_free(&twin));
	OK(MPI_Info_free(&info));
	OK(MPI_Get_hw_resource_info(&info));
	OK(MPI_Info_get_nkeys(info, &n));
	CHECK(n >= 0, "the info object has keys: %d", n);
	OK(MPI_Info_free(&info));
	OK(MPI_Add_error_class(&class));
	OK(MPI_Add_error_code(class, &code));
	OK(MPI_Add_error_string(code, "cold"));
	OK(MPI_Remove_error_string(code));
	OK(MPI_Error_string(code, value, &n));
	CHECK(!strstr(value, "cold"), "a removed text is not returned: \"%s\"",
		value);
	OK(MPI_Remove_error_code(code));
	OK(MPI_Remove_error_class(class));
}

/* A reduction function with MPI_Count: adds ints. */
static void add(void *in, void *inout, MPI_Count *n, MPI_Datatype *type)
{
	CHECK(*type == MPI_INT, "the type is passed");
	for (MPI_Count i = 0; i < *n; i++)
		((int *)inout)[i] += ((int *)in)[i];
}

static void check_op(void)
{
	int in[3] = { 1, 2, 3 }, sum[3] = { 10, 20, 30 };
	MPI_Op op;

	OK(MPI_Op_create_c(add, 1, &op));
	OK(MPI_Reduce_local_c(in, sum, 3, MPI_INT, op));
	CHECK(sum[0] == 11 && sum[1] == 22 && sum[2] == 33,
		"the sums are 11, 22, 33: %d, %d, %d", sum[0], sum[1], sum[2]);
	OK(MPI_Op_free(&op));
}

int main(int argc, char **argv)
{
	MPI_Datatype pair;

	mtest_init(&argc, &argv);
	OK(MPI_Type_vector(2, 1, 3, MPI_INT, &pair));
	OK(MPI_Type_commit(&pair));
	check_requests();
	check_statuses(pair);
	check_extents(pair);
	check_envelope(pair);
	check_type_attributes(pair);
	check_complex();
	check_old_attributes();
	check_handles();
	check_information();
	check_op();
	OK(MPI_Type_free(&pair));
	return mtest_finish();
}
