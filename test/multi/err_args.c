/* SPDX-License-Identifier: BSD-3-Clause */
/* err_args: wrong arguments return the right error class, and all objects still
 * work */
#include "mtest.h"

static int buf[4];

static void messages(MPI_Comm c)
{
	MPI_Request req = MPI_REQUEST_NULL;
	MPI_Status st;
	int n, flag, neg = -4;

	MPI_Comm_size(c, &n);
	FAILS(MPI_Send(buf, 1, MPI_INT, n, 0, c), MPI_ERR_RANK);
	FAILS(MPI_Send(buf, 1, MPI_INT, -77, 0, c), MPI_ERR_RANK);
	FAILS(MPI_Send(buf, 1, MPI_INT, MPI_ANY_SOURCE, 0, c), MPI_ERR_RANK);
	FAILS(MPI_Send(buf, neg, MPI_INT, 0, 0, c), MPI_ERR_COUNT);
	FAILS(MPI_Send(buf, 1, MPI_INT, 0, -55, c), MPI_ERR_TAG);
	FAILS(MPI_Send(buf, 1, MPI_INT, 0, MPI_ANY_TAG, c), MPI_ERR_TAG);
	FAILS(MPI_Send(buf, 1, MPI_DATATYPE_NULL, 0, 0, c), MPI_ERR_TYPE);
	FAILS(MPI_Ssend(buf, 1, MPI_INT, n, 0, c), MPI_ERR_RANK);
	FAILS(MPI_Rsend(buf, 1, MPI_INT, n, 0, c), MPI_ERR_RANK);
	FAILS(MPI_Isend(buf, 1, MPI_INT, n, 0, c, &req), MPI_ERR_RANK);
	FAILS(MPI_Issend(buf, neg, MPI_INT, 0, 0, c, &req), MPI_ERR_COUNT);
	FAILS(MPI_Irsend(buf, 1, MPI_INT, 0, -55, c, &req), MPI_ERR_TAG);
	FAILS(MPI_Recv(buf, 1, MPI_INT, n, 0, c, &st), MPI_ERR_RANK);
	FAILS(MPI_Recv(buf, neg, MPI_INT, 0, 0, c, &st), MPI_ERR_COUNT);
	FAILS(MPI_Recv(buf, 1, MPI_INT, 0, -55, c, &st), MPI_ERR_TAG);
	FAILS(MPI_Irecv(buf, 1, MPI_INT, n + 1, 0, c, &req), MPI_ERR_RANK);
	FAILS(MPI_Irecv(buf, 1, MPI_DATATYPE_NULL, 0, 0, c, &req),
		MPI_ERR_TYPE);
	FAILS(MPI_Probe(n, 0, c, &st), MPI_ERR_RANK);
	FAILS(MPI_Iprobe(0, -55, c, &flag, &st), MPI_ERR_TAG);
	FAILS(MPI_Sendrecv(
		      buf, 1, MPI_INT, n, 0, buf + 1, 1, MPI_INT, 0, 0, c, &st),
		MPI_ERR_RANK);
	FAILS(MPI_Sendrecv_replace(buf, 1, MPI_INT, 0, -55, 0, 0, c, &st),
		MPI_ERR_TAG);
	CHECK(req == MPI_REQUEST_NULL, "a failed call creates no request");
}

static void types(MPI_Comm c)
{
	const int lens[2] = { 1, -1 };
	const MPI_Aint at[2] = { 0, 8 };
	const MPI_Datatype bad[2] = { MPI_INT, MPI_DATATYPE_NULL };
	MPI_Datatype type, raw, predefined = MPI_INT;

	FAILS(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);
	FAILS(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type), MPI_ERR_TYPE);
	CHECK(MPI_Type_vector(2, -1, 1, MPI_INT, &type),
		"a negative block length of a vector is refused");
	CHECK(MPI_Type_create_struct(
		      2, lens, at, (MPI_Datatype[]){ MPI_INT, MPI_INT }, &type),
		"a negative block length is refused");
	FAILS(MPI_Type_create_struct(2, (int[]){ 1, 1 }, at, bad, &type),
		MPI_ERR_TYPE);
	FAILS(MPI_Type_free(&predefined), MPI_ERR_TYPE);
	CHECK(predefined == MPI_INT, "a predefined type cannot be freed");
	OK(MPI_Type_contiguous(2, MPI_INT, &raw));
	FAILS(MPI_Send(buf, 1, raw, 0, 0, c), MPI_ERR_TYPE);
	type = raw;
	OK(MPI_Type_free(&raw));
	FAILS(MPI_Type_commit(&type), MPI_ERR_TYPE);
	FAILS(MPI_Send(buf, 1, type, 0, 0, c), MPI_ERR_TYPE);
}

static void collectives(MPI_Comm c)
{
	MPI_Op op;
	int n;

	MPI_Comm_size(c, &n);
	FAILS(MPI_Bcast(buf, 1, MPI_INT, n, c), MPI_ERR_ROOT);
	FAILS(MPI_Bcast(buf, 1, MPI_INT, -1, c), MPI_ERR_ROOT);
	FAILS(MPI_Bcast(buf, -1, MPI_INT, 0, c), MPI_ERR_COUNT);
	FAILS(MPI_Bcast(buf, 1, MPI_DATATYPE_NULL, 0, c), MPI_ERR_TYPE);
	FAILS(MPI_Reduce(buf, buf + 1, 1, MPI_INT, MPI_OP_NULL, 0, c),
		MPI_ERR_OP);
	FAILS(MPI_Allreduce(buf, buf + 1, 1, MPI_INT, MPI_OP_NULL, c),
		MPI_ERR_OP);
	FAILS(MPI_Allreduce(buf, buf + 1, -1, MPI_INT, MPI_SUM, c),
		MPI_ERR_COUNT);
	FAILS(MPI_Gather(buf, 1, MPI_INT, buf, 1, MPI_INT, n, c), MPI_ERR_ROOT);
	op = MPI_SUM;
	FAILS(MPI_Op_free(&op), MPI_ERR_OP);
	op = MPI_OP_NULL;
	FAILS(MPI_Op_free(&op), MPI_ERR_OP);
}

/* Passes one array as send and as receive buffer. That is an error unless the
 * data of the two is disjoint. */
static void aliases(MPI_Comm c)
{
	enum { MAX = 64 };
	int data[2 * MAX] = { 0 }, counts[MAX], here[MAX], there[MAX];
	int bytes[MAX], none[MAX] = { 0 };
	MPI_Datatype ints[MAX];
	int n;

	MPI_Comm_size(c, &n);
	for (int i = 0; i < n && i < MAX; i++) {
		counts[i] = 1;
		here[i] = i;
		there[i] = n + i;
		bytes[i] = i * (int)sizeof(int);
		ints[i] = MPI_INT;
	}
	FAILS(MPI_Allgather(data + mtest.rank, 1, MPI_INT, data, 1, MPI_INT, c),
		MPI_ERR_BUFFER);
	FAILS(MPI_Alltoall(data, 1, MPI_INT, data, 1, MPI_INT, c),
		MPI_ERR_BUFFER);
	FAILS(MPI_Alltoallv(data, counts, here, MPI_INT, data, counts, here,
		      MPI_INT, c),
		MPI_ERR_BUFFER);
	FAILS(MPI_Alltoallw(
		      data, counts, bytes, ints, data, counts, bytes, ints, c),
		MPI_ERR_BUFFER);
	FAILS(MPI_Allreduce(data, data, 1, MPI_INT, MPI_SUM, c),
		MPI_ERR_BUFFER);
	OK(MPI_Alltoallv(
		data, counts, here, MPI_INT, data, counts, there, MPI_INT, c));
	OK(MPI_Alltoallv(
		data, none, here, MPI_INT, data, none, here, MPI_INT, c));
	OK(MPI_Allgather(
		data + n + mtest.rank, 1, MPI_INT, data, 1, MPI_INT, c));
}

static void communicators(void)
{
	int rank, flag;
	MPI_Comm none = MPI_COMM_NULL, out = MPI_COMM_NULL;
	MPI_Group group = MPI_GROUP_NULL;
	MPI_Request req;

	FAILS(MPI_Comm_rank(MPI_COMM_NULL, &rank), MPI_ERR_COMM);
	FAILS(MPI_Comm_size(MPI_COMM_NULL, &rank), MPI_ERR_COMM);
	FAILS(MPI_Send(buf, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
	FAILS(MPI_Irecv(buf, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &req),
		MPI_ERR_COMM);
	FAILS(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
	FAILS(MPI_Comm_dup(MPI_COMM_NULL, &out), MPI_ERR_COMM);
	FAILS(MPI_Comm_free(&none), MPI_ERR_COMM);
	FAILS(MPI_Comm_disconnect(&none), MPI_ERR_COMM);
	FAILS(MPI_Comm_group(MPI_COMM_NULL, &group), MPI_ERR_COMM);
	FAILS(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &out),
		MPI_ERR_GROUP);
	FAILS(MPI_Comm_remote_size(MPI_COMM_WORLD, &rank), MPI_ERR_COMM);
	FAILS(MPI_Comm_test_inter(MPI_COMM_NULL, &flag), MPI_ERR_COMM);
	CHECK(MPI_Comm_split(MPI_COMM_WORLD, -12345, 0, &out),
		"a negative colour is refused");
	CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRHANDLER_NULL),
		"the null error handler is refused");
}

static void infos(void)
{
	MPI_Info none = MPI_INFO_NULL, info;
	char key[MPI_MAX_INFO_KEY + 10], value[8];
	int flag = 0, len = sizeof(value);

	FAILS(MPI_Info_free(&none), MPI_ERR_INFO);
	FAILS(MPI_Info_set(MPI_INFO_NULL, "a", "b"), MPI_ERR_INFO);
	OK(MPI_Info_create(&info));
	memset(key, 'k', sizeof(key));
	key[sizeof(key) - 1] = 0;
	FAILS(MPI_Info_set(info, key, "b"), MPI_ERR_INFO_KEY);
	FAILS(MPI_Info_set(info, "", "b"), MPI_ERR_INFO_KEY);
	FAILS(MPI_Info_delete(info, "absent"), MPI_ERR_INFO_NOKEY);
	OK(MPI_Info_get_string(info, "absent", &len, value, &flag));
	CHECK(!flag, "an absent key is no error");
	OK(MPI_Info_free(&info));
}

static void requests(void)
{
	MPI_Request copy, req;
	MPI_Status st;
	int flag;

	OK(MPI_Isend(buf, 0, MPI_INT, 0, 0, MPI_COMM_SELF, &req));
	copy = req;
	OK(MPI_Recv(buf, 0, MPI_INT, 0, 0, MPI_COMM_SELF, &st));
	OK(MPI_Wait(&req, &st));
	FAILS(MPI_Test(&copy, &flag, &st), MPI_ERR_REQUEST);
	CHECK(copy != MPI_REQUEST_NULL, "a refused handle is unchanged");
	FAILS(MPI_Request_free(&copy), MPI_ERR_REQUEST);
	FAILS(MPI_Waitall(-1, NULL, MPI_STATUSES_IGNORE), MPI_ERR_COUNT);
}

int main(int argc, char **argv)
{
	MPI_Comm dup;
	int sum = 0, one = 1;

	mtest_init(&argc, &argv);
	OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
	messages(MPI_COMM_WORLD);
	messages(dup);
	types(dup);
	collectives(dup);
	aliases(dup);
	communicators();
	infos();
	requests();
	OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, dup));
	CHECK(sum == mtest.size, "everything still works");
	OK(MPI_Comm_free(&dup));
	return mtest_finish();
}
