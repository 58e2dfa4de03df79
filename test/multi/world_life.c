/* SPDX-License-Identifier: BSD-3-Clause */
/* world_life: the calls around MPI_Init and MPI_Finalize */
#include "mtest.h"

static void before(void)
{
	int a = -1, b = -1, len = 0;
	char text[MPI_MAX_LIBRARY_VERSION_STRING];

	OK(MPI_Initialized(&a));
	OK(MPI_Finalized(&b));
	CHECK(!a && !b,
		"MPI is neither initialized nor finalized at the start");
	OK(MPI_Get_version(&a, &b));
	CHECK(a == MPI_VERSION && b == MPI_SUBVERSION,
		"the version is that of mpi.h: %d.%d", a, b);
	OK(MPI_Get_library_version(text, &len));
	CHECK(len == (int)strlen(text) && len > 0,
		"the library version has a text");
}

static void inside(int level)
{
	int flag = 0, got = -1, rank = -1, size = -1, len = 0;
	char name[MPI_MAX_PROCESSOR_NAME];
	MPI_Comm parent;
	double begin;

	OK(MPI_Initialized(&flag));
	CHECK(flag, "MPI is initialized");
	OK(MPI_Finalized(&flag));
	CHECK(!flag, "MPI is not finalized");
	OK(MPI_Query_thread(&got));
	CHECK(got == level,
		"MPI_Query_thread returns the level of MPI_Init: %d, %d", level,
		got);
	OK(MPI_Is_thread_main(&flag));
	CHECK(flag, "this is the main thread");
	OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
	OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
	CHECK(rank >= 0 && rank < size, "the rank is below the size: %d of %d",
		rank, size);
	OK(MPI_Comm_rank(MPI_COMM_SELF, &rank));
	OK(MPI_Comm_size(MPI_COMM_SELF, &size));
	CHECK(rank == 0 && size == 1, "SELF is rank 0 of 1");
	OK(MPI_Get_processor_name(name, &len));
	CHECK(len > 0 && len == (int)strlen(name), "the processor has a name");
	begin = MPI_Wtime();
	mtest_linger(20);
	CHECK(MPI_Wtime() - begin > 0.015, "MPI_Wtime advances");
	CHECK(MPI_Wtick() > 0 && MPI_Wtick() < 0.01,
		"MPI_Wtick is below 10 ms");
	OK(MPI_Pcontrol(0));
	if (MPI_Comm_get_parent(&parent) == MPI_SUCCESS)
		CHECK(parent == MPI_COMM_NULL, "the process has no parent");
	CHECK(MPI_Init(NULL, NULL) != MPI_SUCCESS, "a second MPI_Init fails");
}

static void memory(void)
{
	char *mem = NULL;

	OK(MPI_Alloc_mem(100000, MPI_INFO_NULL, &mem));
	if (CHECK(mem != NULL, "MPI_Alloc_mem returns memory")) {
		memset(mem, 1, 100000);
		OK(MPI_Free_mem(mem));
	}
}

int main(int argc, char **argv)
{
	int level = -1, wanted, flag = 0, n_args = argc;

	mtest_start(argv[0]);
	wanted = mtest_arg(argc, argv, "level", 0);
	wanted = (int[]){ MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED,
		MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE }[wanted & 3];
	before();
	if (mtest_arg(argc, argv, "null", 0))
		OK(MPI_Init_thread(NULL, NULL, wanted, &level));
	else
		OK(MPI_Init_thread(&argc, &argv, wanted, &level));
	CHECK(level >= wanted,
		"the level is at least the one requested: %d for %d", level,
		wanted);
	CHECK(argc == n_args, "the arguments are unchanged");
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &mtest.rank);
	inside(level);
	memory();
	OK(MPI_Finalize());
	OK(MPI_Initialized(&flag));
	CHECK(flag, "MPI stays initialized after finalize");
	OK(MPI_Finalized(&flag));
	CHECK(flag, "MPI is finalized after finalize");
	return mtest_done();
}
