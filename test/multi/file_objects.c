/* SPDX-License-Identifier: BSD-3-Clause */
/* file_objects: open, close, size, hints and views; errors are returned at all
 * members */
#include "file.h"

#include <errno.h>
#include <fcntl.h>

static bool is_there(const char *name)
{
	struct stat st;

	return stat(name, &st) == 0;
}

static int open_it(const char *name, int amode)
{
	MPI_File fh = (MPI_File)(uintptr_t)1;
	int rc = MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &fh);

	if (rc == MPI_SUCCESS)
		OK(MPI_File_close(&fh));
	else
		CHECK(fh == MPI_FILE_NULL, "the handle is null after an error");
	return rc;
}

static void modes(void)
{
	const char *name = file_named("modes");
	char text[MPI_MAX_ERROR_STRING];
	int len, rc;

	FAILS(open_it(name, 0), MPI_ERR_AMODE);
	FAILS(open_it(name, MPI_MODE_RDWR | MPI_MODE_RDONLY), MPI_ERR_AMODE);
	FAILS(open_it(name, MPI_MODE_RDONLY | MPI_MODE_CREATE), MPI_ERR_AMODE);
	FAILS(open_it(name, MPI_MODE_RDONLY | MPI_MODE_EXCL), MPI_ERR_AMODE);
	FAILS(open_it(name, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL),
		MPI_ERR_AMODE);
	FAILS(open_it(name, 1 << 20 | MPI_MODE_RDWR), MPI_ERR_AMODE);
	if (mtest.size > 1)
		FAILS(open_it(name,
			      mtest.rank ? MPI_MODE_RDONLY : MPI_MODE_RDWR),
			MPI_ERR_NOT_SAME);
	rc = open_it(name, MPI_MODE_RDWR);
	MPI_Error_string(rc, text, &len);
	CHECK(strstr(text, name) && strstr(text, strerror(ENOENT)),
		"the text has the name and the text of errno: %s", text);
	FAILS(rc, MPI_ERR_NO_SUCH_FILE);
	FAILS(open_it("/", MPI_MODE_RDWR), MPI_ERR_BAD_FILE);
	MPI_Barrier(MPI_COMM_WORLD);
	CHECK(!is_there(name), "a failed open leaves no file");
	OK(open_it(name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL));
	FAILS(open_it(name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL),
		MPI_ERR_FILE_EXISTS);
	OK(open_it(name, MPI_MODE_WRONLY | MPI_MODE_UNIQUE_OPEN));
	OK(open_it(name, MPI_MODE_RDONLY));
	OK(open_it(name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE));
	MPI_Barrier(MPI_COMM_WORLD);
	CHECK(!is_there(name), "the file is deleted when it is closed");
	MPI_Barrier(MPI_COMM_WORLD);
	if (mtest.rank == 0) {
		FAILS(MPI_File_delete(name, MPI_INFO_NULL),
			MPI_ERR_NO_SUCH_FILE);
		close(open(name, O_CREAT | O_WRONLY, 0600));
		snprintf(text, sizeof(text), "ufs:%s", name);
		OK(MPI_File_delete(text, MPI_INFO_NULL));
		CHECK(!is_there(name), "a prefix is not part of the file name");
	}
}

/* An error of one process fails the call at all members. */
static void one_only(void)
{
	const char *name = file_named("one_only");
	MPI_File fh;

	FAILS(MPI_File_open(MPI_COMM_WORLD,
		      mtest.rank == mtest.size - 1 ? "no/such/folder/x" : name,
		      MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &fh),
		MPI_ERR_NO_SUCH_FILE);
	MPI_Barrier(MPI_COMM_WORLD);
	if (mtest.rank == 0)
		MPI_File_delete(name, MPI_INFO_NULL);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void sizes(void)
{
	MPI_File fh = file_scratch("sizes");
	MPI_Offset size = -1;
	MPI_Group group, world;
	int amode, result;

	OK(MPI_File_get_size(fh, &size));
	CHECK(size == 0, "a new file is empty: %lld", (long long)size);
	OK(MPI_File_set_size(fh, 1000));
	OK(MPI_File_get_size(fh, &size));
	CHECK(size == 1000, "set_size sets the size to 1000: %lld",
		(long long)size);
	OK(MPI_File_preallocate(fh, 100));
	OK(MPI_File_get_size(fh, &size));
	CHECK(size == 1000, "preallocate never shrinks: %lld", (long long)size);
	OK(MPI_File_preallocate(fh, 70000));
	OK(MPI_File_get_size(fh, &size));
	CHECK(size == 70000, "preallocate extends the file: %lld",
		(long long)size);
	OK(MPI_File_set_size(fh, 10));
	OK(MPI_File_get_size(fh, &size));
	CHECK(size == 10, "set_size shrinks: %lld", (long long)size);
	FAILS(MPI_File_set_size(fh, -1), MPI_ERR_ARG);
	if (mtest.size > 1)
		FAILS(MPI_File_set_size(fh, mtest.rank), MPI_ERR_NOT_SAME);
	OK(MPI_File_get_amode(fh, &amode));
	CHECK(amode == (MPI_MODE_RDWR | MPI_MODE_CREATE |
			       MPI_MODE_DELETE_ON_CLOSE),
		"the mode is that of the open: %d", amode);
	OK(MPI_File_get_group(fh, &group));
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_compare(group, world, &result);
	CHECK(result == MPI_IDENT, "the group is that of the communicator");
	MPI_Group_free(&group);
	MPI_Group_free(&world);
	CHECK(MPI_File_f2c(MPI_File_c2f(fh)) == fh &&
			MPI_File_fromint(MPI_File_toint(fh)) == fh,
		"a handle is converted to an integer and back");
	OK(MPI_File_close(&fh));
	CHECK(fh == MPI_FILE_NULL, "the handle is null");
}

static char value_of[MPI_MAX_INFO_VAL];

static const char *hint(MPI_File fh, const char *key)
{
	MPI_Info info;
	int there, len = sizeof(value_of);

	OK(MPI_File_get_info(fh, &info));
	OK(MPI_Info_get_string(info, key, &len, value_of, &there));
	OK(MPI_Info_free(&info));
	return there ? value_of : "none";
}

static void hints(void)
{
	const char *name = file_named("hints");
	struct stat st;
	MPI_Info info;
	MPI_File fh;

	umask(0);
	MPI_Info_create(&info);
	MPI_Info_set(info, "file_perm", "0640");
	MPI_Info_set(info, "romio_ds_read", "disable");
	MPI_Info_set(info, "ind_rd_buffer_size", "many");
	MPI_Info_set(info, "filename", "other");
	MPI_Info_set(info, "no_such_key", "1");
	OK(MPI_File_open(MPI_COMM_WORLD, name,
		MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
		info, &fh));
	CHECK(stat(name, &st) == 0 && (st.st_mode & 0777) == 0640,
		"file_perm sets the permissions to 640: %o",
		(unsigned)st.st_mode);
	CHECK(!strcmp(hint(fh, "file_perm"), "0640"), "file_perm is returned");
	CHECK(!strcmp(hint(fh, "romio_ds_read"), "disable"),
		"romio_ds_read is returned");
	CHECK(!strcmp(hint(fh, "ind_rd_buffer_size"), "524288"),
		"an invalid value is ignored: %s", value_of);
	CHECK(!strcmp(hint(fh, "filename"), name),
		"the hint filename is the name: %s", value_of);
	CHECK(!strcmp(hint(fh, "no_such_key"), "none"),
		"an unknown key is not returned");
	CHECK(!strcmp(hint(fh, "romio_ds_write"), "automatic"),
		"cb_config_list is returned");
	MPI_Info_set(info, "ind_rd_buffer_size", "65536");
	MPI_Info_set(info, "file_perm", "0600");
	OK(MPI_File_set_info(fh, info));
	CHECK(!strcmp(hint(fh, "ind_rd_buffer_size"), "65536"),
		"a hint is changed after the open");
	CHECK(!strcmp(hint(fh, "file_perm"), "0640"),
		"file_perm cannot be changed later");
	MPI_Info_free(&info);
	OK(MPI_File_close(&fh));
}

static MPI_File open_with_hints(const char *keys[][2], int n)
{
	MPI_File fh = MPI_FILE_NULL;
	MPI_Info info;

	MPI_Info_create(&info);
	for (int i = 0; i < n; i++)
		MPI_Info_set(info, keys[i][0], keys[i][1]);
	OK(MPI_File_open(MPI_COMM_WORLD, file_named("said"),
		MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
		info, &fh));
	MPI_Info_free(&info);
	return fh;
}

static bool is_one_node(void)
{
	MPI_Comm node;
	int n;

	MPI_Comm_split_type(
		MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Comm_size(node, &n);
	MPI_Comm_free(&node);
	return n == mtest.size;
}

/* True if cb_nodes is n. On several nodes, cb_nodes must be absent, because the
 * library selects the aggregators there when it needs them. */
static bool has_aggregators(MPI_File fh, int n)
{
	return is_one_node() ? atoi(hint(fh, "cb_nodes")) == n
			     : !strcmp(hint(fh, "cb_nodes"), "none");
}

/* ROMIO's keys for the number of aggregators. */
static void aggregators(void)
{
	const char *of_node[][2] = { { "cb_config_list", "*:2" } };
	const char *all[][2] = { { "cb_config_list", "*:*" },
		{ "cb_nodes", "3" } };
	const char *other[][2] = { { "cb_config_list", "host:4,*:1" } };
	const char *only[][2] = { { "romio_no_indep_rw", "true" },
		{ "romio_cb_read", "disable" } };
	int size = mtest.size;
	MPI_File fh = open_with_hints(of_node, 1);

	CHECK(!strcmp(hint(fh, "cb_config_list"), "*:2"),
		"cb_config_list is returned");
	CHECK(has_aggregators(fh, size < 2 ? size : 2),
		"two aggregators on the node: %s", value_of);
	CHECK(!strcmp(hint(fh, "romio_no_indep_rw"), "false"),
		"romio_no_indep_rw is false by default");
	OK(MPI_File_close(&fh));
	fh = open_with_hints(all, 2);
	CHECK(atoi(hint(fh, "cb_nodes")) == (size < 3 ? size : 3),
		"three aggregators in all: %s", value_of);
	OK(MPI_File_close(&fh));
	fh = open_with_hints(other, 1);
	CHECK(!strcmp(hint(fh, "cb_config_list"), "none") &&
			has_aggregators(fh, 1),
		"named hosts are ignored: %s", value_of);
	OK(MPI_File_close(&fh));
	fh = open_with_hints(only, 2);
	CHECK(!strcmp(hint(fh, "romio_no_indep_rw"), "true"),
		"cb_config_list is returned");
	CHECK(!strcmp(hint(fh, "romio_cb_read"), "enable"),
		"romio_no_indep_rw enables aggregators: %s", value_of);
	OK(MPI_File_close(&fh));
}

/* The file that ROMIO_HINTS names: the library uses its first line for a key,
 * also in place of the program's value. */
static void system_hints(void)
{
	char path[64];
	FILE *file;
	MPI_Info info;
	MPI_File fh;

	snprintf(path, sizeof(path), "/tmp/weft-hints-%d", (int)getpid());
	file = fopen(path, "w");
	CHECK(file, "%s is created", path);
	if (!file)
		return;
	fprintf(file, "romio_ds_read enable\n# a remark\n\n"
		      "ind_rd_buffer_size 4900\nind_rd_buffer_size 6000\n");
	fclose(file);
	setenv("ROMIO_HINTS", path, 1);
	MPI_Info_create(&info);
	MPI_Info_set(info, "romio_ds_read", "disable");
	OK(MPI_File_open(
		MPI_COMM_SELF, "/dev/null", MPI_MODE_RDONLY, info, &fh));
	CHECK(!strcmp(hint(fh, "ind_rd_buffer_size"), "4900"),
		"the first line of a key is used: %s", value_of);
	CHECK(!strcmp(hint(fh, "romio_ds_read"), "enable"),
		"the file takes precedence over the program: %s", value_of);
	OK(MPI_File_close(&fh));
	MPI_Info_free(&info);
	unsetenv("ROMIO_HINTS");
	unlink(path);
}

static int n_called;
static MPI_File called_with;

static void on_file(MPI_File *fh, int *code, ...)
{
	n_called++;
	called_with = *fh;
	CHECK(*code != MPI_SUCCESS, "an error has a code");
}

static void handlers(void)
{
	MPI_Errhandler made, got;
	MPI_File fh;
	MPI_Offset at;

	OK(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
	CHECK(got == MPI_ERRORS_RETURN, "the default is to return");
	OK(MPI_File_create_errhandler(on_file, &made));
	OK(MPI_File_set_errhandler(MPI_FILE_NULL, made));
	n_called = 0;
	CHECK(open_it("no/such/file", MPI_MODE_RDONLY) != MPI_SUCCESS &&
			n_called == 1 && called_with == MPI_FILE_NULL,
		"opening raises on MPI_FILE_NULL: %d", n_called);
	fh = file_scratch("handlers");
	OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
	CHECK(MPI_File_seek(fh, -1, MPI_SEEK_SET) != MPI_SUCCESS &&
			n_called == 2 && called_with == fh,
		"a file has the error handler of the time of its open: %d",
		n_called);
	OK(MPI_File_call_errhandler(fh, MPI_ERR_IO));
	CHECK(n_called == 3, "the error handler of the file is called: %d",
		n_called);
	OK(MPI_File_get_errhandler(fh, &got));
	CHECK(got == made, "the error handler is the one that was set");
	OK(MPI_Errhandler_free(&got));
	OK(MPI_Errhandler_free(&made));
	OK(MPI_File_set_errhandler(fh, MPI_ERRORS_RETURN));
	OK(MPI_File_close(&fh));
	FAILS(MPI_File_get_position(MPI_FILE_NULL, &at), MPI_ERR_FILE);
	CHECK(n_called == 3, "a replaced error handler is not called: %d",
		n_called);
}

/* Finalize closes an open file of a session's communicator. */
static void of_session(void)
{
	const char *name = file_named("of_session");
	MPI_Session session;
	MPI_Group group;
	MPI_Comm comm;
	MPI_File fh, was;
	MPI_Offset size;
	int n = mtest.rank;

	OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
	OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
	OK(MPI_Comm_create_from_group(group, "weft.test.file", MPI_INFO_NULL,
		MPI_ERRORS_RETURN, &comm));
	MPI_Group_free(&group);
	OK(MPI_File_open(comm, name,
		MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
		MPI_INFO_NULL, &fh));
	OK(MPI_Comm_free(&comm));
	OK(MPI_File_write_at(fh, mtest.rank * (MPI_Offset)sizeof(n), &n, 1,
		MPI_INT, MPI_STATUS_IGNORE));
	was = fh;
	OK(MPI_Session_finalize(&session));
	FAILS(MPI_File_get_size(was, &size), MPI_ERR_FILE);
	MPI_Barrier(MPI_COMM_WORLD);
	CHECK(!is_there(name), "finalize closed and deleted the file");
}

static void many_times(void)
{
	for (int i = 0; i < 40; i++) {
		MPI_File fh = file_scratch("many"), self;

		OK(MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_WRONLY,
			MPI_INFO_NULL, &self));
		OK(MPI_File_write(self, &i, 1, MPI_INT, MPI_STATUS_IGNORE));
		OK(MPI_File_sync(self));
		OK(MPI_File_close(&self));
		OK(MPI_File_close(&fh));
	}
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	modes();
	one_only();
	sizes();
	hints();
	aggregators();
	system_hints();
	handlers();
	of_session();
	many_times();
	return mtest_finish();
}
