/* SPDX-License-Identifier: BSD-3-Clause */
/* mem_kinds: memory allocation kinds in the info of every object (MPI-5.0
 * 11.4.3)
 *
 * kinds=LIST: the kinds of MPI_COMM_WORLD; without it, the kinds that always
 * exist. */
#include "file.h"

static const char kinds_key[] = "mpi_memory_alloc_kinds";
static const char assert_key[] = "mpi_assert_memory_alloc_kinds";

/* Checks the value of the key in info; wanted NULL: the key is absent. Frees
 * info. */
static void has(
	MPI_Info info, const char *key, const char *wanted, const char *where)
{
	char value[MPI_MAX_INFO_VAL] = "";
	int len = sizeof(value), flag = 0;

	OK(MPI_Info_get_string(info, key, &len, value, &flag));
	CHECK(!flag == !wanted && (!wanted || !strcmp(value, wanted)),
		"%s of %s is %s, not %s", key, where, flag ? value : "absent",
		wanted ? wanted : "absent");
	OK(MPI_Info_free(&info));
}

static MPI_Info info_of(const char *key, const char *value)
{
	MPI_Info info;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, key, value));
	return info;
}

static void comm_has(
	MPI_Comm comm, const char *key, const char *wanted, const char *where)
{
	MPI_Info info;

	OK(MPI_Comm_get_info(comm, &info));
	has(info, key, wanted, where);
}

static void win_has(MPI_Win win, const char *key, const char *wanted)
{
	MPI_Info info;

	OK(MPI_Win_get_info(win, &info));
	has(info, key, wanted, "a window");
}

static void file_has(MPI_File fh, const char *key, const char *wanted)
{
	MPI_Info info;

	OK(MPI_File_get_info(fh, &info));
	has(info, key, wanted, "a file");
}

static void derived(MPI_Comm from, const char *kinds)
{
	MPI_Comm comm;
	MPI_File fh;
	MPI_Win win;
	void *base;

	comm_has(from, kinds_key, kinds, "a communicator");
	comm_has(from, assert_key, NULL, "a communicator");
	OK(MPI_Comm_dup(from, &comm));
	comm_has(comm, kinds_key, kinds, "a duplicate");
	OK(MPI_Comm_free(&comm));
	OK(MPI_Comm_split(from, 0, -mtest.rank, &comm));
	comm_has(comm, kinds_key, kinds, "a part");
	OK(MPI_Comm_free(&comm));
	OK(MPI_Win_allocate(64, 1, MPI_INFO_NULL, from, &base, &win));
	win_has(win, kinds_key, kinds);
	win_has(win, assert_key, NULL);
	OK(MPI_Win_free(&win));
	OK(MPI_File_open(from, file_named("kinds"),
		MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
		MPI_INFO_NULL, &fh));
	file_has(fh, kinds_key, kinds);
	file_has(fh, assert_key, NULL);
	OK(MPI_File_close(&fh));
}

/* An assertion is returned as it was given, if all its kinds are supported. */
static void asserted(const char *list, bool is_known, const char *kinds)
{
	MPI_Info info = info_of(assert_key, list);
	const char *listed = is_known ? list : NULL;
	MPI_Comm comm;
	MPI_File fh;
	MPI_Win win;
	char base[64];

	OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
	comm_has(comm, assert_key, listed, "a duplicate");
	comm_has(comm, kinds_key, kinds, "a duplicate");
	OK(MPI_Win_create(base, sizeof(base), 1, info, comm, &win));
	win_has(win, assert_key, listed);
	win_has(win, kinds_key, kinds);
	OK(MPI_Win_free(&win));
	OK(MPI_File_open(comm, "/dev/null", MPI_MODE_RDONLY, info, &fh));
	file_has(fh, assert_key, listed);
	file_has(fh, kinds_key, kinds);
	OK(MPI_File_close(&fh));
	OK(MPI_Comm_free(&comm));

	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	OK(MPI_Comm_set_info(comm, info));
	comm_has(comm, assert_key, listed, "a communicator");
	OK(MPI_Comm_free(&comm));
	OK(MPI_Info_free(&info));
}

static void session_grants(const char *asked, const char *granted)
{
	MPI_Info info = info_of(kinds_key, asked);
	MPI_Session session;
	MPI_Group group;
	MPI_Comm comm;

	OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
	OK(MPI_Info_free(&info));
	OK(MPI_Session_get_info(session, &info));
	has(info, kinds_key, granted, "a session");
	OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
	OK(MPI_Comm_create_from_group(
		group, "kinds", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
	OK(MPI_Group_free(&group));
	derived(comm, granted);
	OK(MPI_Comm_disconnect(&comm));
	OK(MPI_Session_finalize(&session));
}

int main(int argc, char **argv)
{
	const char *kinds = "mpi,system";

	mtest_init(&argc, &argv);
	if (argc > 1 && !strncmp(argv[1], "kinds=", 6))
		kinds = argv[1] + 6;
	derived(MPI_COMM_WORLD, kinds);
	comm_has(MPI_COMM_SELF, kinds_key, kinds, "MPI_COMM_SELF");
	asserted("system", true, kinds);
	asserted("mpi:win_allocate,System", true, kinds);
	asserted("", true, kinds);
	asserted("system,rocm:device", false, kinds);
	asserted("mpi:pinned", false, kinds);
	session_grants("MPI:alloc_mem:win_allocate",
		"mpi:alloc_mem:win_allocate,mpi,system");
	session_grants("System, rocm:device,mpi:Win_allocate_shared",
		"system,mpi:win_allocate_shared,mpi");
	session_grants("mpi:device,system:alloc_mem,mpi:", "mpi,system");
	return mtest_finish();
}
