/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ft_revoke_file: a file is revoked while its members wait in calls on it
 *
 * In each round the last rank revokes a new file. All others wait in a call
 * that only the revocation ends. Then every access and collective call fails
 * with the class REVOKED, and closing the file succeeds and deletes it.
 *
 * kill=1: in the last round the last rank is killed right after the revocation.
 */
#include "file.h"

enum { TAG = 3, N = 4096 };

static MPI_File fh;
static int last; /* the rank that revokes */
static int numbers[N];

/* ---- calls that only the revocation ends ---- */

static int read_all(void)
{
	return MPI_File_read_at_all(
		fh, 0, numbers, N, MPI_INT, MPI_STATUS_IGNORE);
}

/* In the strided view, aggregators write the file. */
static int write_all(void)
{
	return MPI_File_write_all(fh, numbers, N, MPI_INT, MPI_STATUS_IGNORE);
}

static int iwrite_all(void)
{
	MPI_Request request;
	int rc = MPI_File_iwrite_all(fh, numbers, N, MPI_INT, &request);

	return rc ? rc : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int split_read(void)
{
	int rc = MPI_File_read_all_begin(fh, numbers, N, MPI_INT);

	return rc ? rc : MPI_File_read_all_end(fh, numbers, MPI_STATUS_IGNORE);
}

static int write_ordered(void)
{
	return MPI_File_write_ordered(
		fh, numbers, 1, MPI_INT, MPI_STATUS_IGNORE);
}

static int sync_file(void)
{
	return MPI_File_sync(fh);
}

static int set_size(void)
{
	return MPI_File_set_size(fh, 0);
}

static int set_view(void)
{
	return MPI_File_set_view(
		fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
}

static int seek_shared(void)
{
	return MPI_File_seek_shared(fh, 0, MPI_SEEK_SET);
}

typedef int call_fn(void);

static const struct {
	const char *name;
	call_fn *fn;
} calls[] = {
	{ "read_at_all", read_all },
	{ "write_all", write_all },
	{ "iwrite_all", iwrite_all },
	{ "split read", split_read },
	{ "write_ordered", write_ordered },
	{ "sync", sync_file },
	{ "set_size", set_size },
	{ "set_view", set_view },
	{ "seek_shared", seek_shared },
};

enum { N_CALLS = sizeof(calls) / sizeof(calls[0]) };

/* ---- after the revocation ---- */

static void all_fail(void)
{
	MPI_Request request;
	MPI_Offset offset;
	MPI_Status status;

	FAILS(MPI_File_read_at(fh, 0, numbers, 1, MPI_INT, &status),
		MPIX_ERR_REVOKED);
	FAILS(MPI_File_write(fh, numbers, 1, MPI_INT, &status),
		MPIX_ERR_REVOKED);
	FAILS(MPI_File_read_shared(fh, numbers, 1, MPI_INT, &status),
		MPIX_ERR_REVOKED);
	FAILS(MPI_File_iread_at(fh, 0, numbers, 1, MPI_INT, &request),
		MPIX_ERR_REVOKED);
	FAILS(MPI_File_get_position_shared(fh, &offset), MPIX_ERR_REVOKED);
	for (int i = 0; i < N_CALLS; i++) {
		int rc = calls[i].fn();

		CHECK(mtest_class(rc) == MPIX_ERR_REVOKED, "%s: got %s",
			calls[i].name, rc ? mtest_error(rc) : "success");
	}
	OK(MPI_File_get_size(fh, &offset));
	OK(MPIX_File_revoke(fh));
}

/* ---- rounds ---- */

/* Rank r has every size-th number from the r-th one on. */
static void stride_view(void)
{
	MPI_Datatype type, strided;

	OK(MPI_Type_create_resized(
		MPI_INT, 0, (MPI_Aint)(mtest.size * (int)sizeof(int)), &type));
	OK(MPI_Type_dup(type, &strided));
	OK(MPI_Type_commit(&strided));
	OK(MPI_File_set_view(fh, mtest.rank * (MPI_Offset)sizeof(int), MPI_INT,
		strided, "native", MPI_INFO_NULL));
	OK(MPI_Type_free(&strided));
	OK(MPI_Type_free(&type));
}

static void wait_revoked(int i)
{
	double began = mtest_now();
	int rc;

	OK(MPI_Send(NULL, 0, MPI_INT, last, TAG, MPI_COMM_WORLD));
	rc = calls[i].fn();
	CHECK(mtest_class(rc) == MPIX_ERR_REVOKED, "%s: got %s", calls[i].name,
		rc ? mtest_error(rc) : "success");
	CHECK(mtest_now() - began < MTEST_SOON_S, "%s ends soon",
		calls[i].name);
}

static void revoke_file(bool is_killed)
{
	for (int r = 0; r < last; r++)
		OK(MPI_Recv(NULL, 0, MPI_INT, r, TAG, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
	OK(MPIX_File_revoke(fh));
	if (is_killed)
		raise(SIGKILL);
}

static void revoke_round(int i, bool is_killed)
{
	const char *name = file_named("revoke");
	struct stat st;

	OK(MPI_File_open(MPI_COMM_WORLD, name,
		MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
		MPI_INFO_NULL, &fh));
	stride_view();
	OK(MPI_File_write_all(fh, numbers, N, MPI_INT, MPI_STATUS_IGNORE));
	if (mtest.rank == last)
		revoke_file(is_killed);
	else
		wait_revoked(i);
	all_fail();
	OK(MPI_File_close(&fh));
	if (mtest.rank == 0)
		CHECK(stat(name, &st), "closing a revoked file deletes it");
	if (!is_killed)
		OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* One member waits in MPI_File_close. */
static void close_round(void)
{
	fh = file_scratch("close");
	OK(MPI_Barrier(MPI_COMM_WORLD)); /* all have opened the file */
	if (mtest.rank == 0)
		OK(MPI_Send(NULL, 0, MPI_INT, last, TAG, MPI_COMM_WORLD));
	if (mtest.rank == last) {
		OK(MPI_Recv(NULL, 0, MPI_INT, 0, TAG, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		OK(MPIX_File_revoke(fh));
	}
	OK(MPI_File_close(&fh));
	OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
	bool is_killed;

	mtest_init(&argc, &argv);
	mtest_need(2);
	is_killed = mtest_arg(argc, argv, "kill", 0);
	last = mtest.size - 1;
	mtest_connect_all(MPI_COMM_WORLD);
	for (int i = 0; i < N_CALLS; i++)
		revoke_round(i, false);
	close_round();
	if (is_killed)
		revoke_round(1, true);
	return mtest_finish();
}
