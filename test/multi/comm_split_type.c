/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_split_type: shared memory and hardware-guided splitting */
#include "mtest.h"

static void works(MPI_Comm comm, const char *what)
{
	int size = 0, one = 1, sum = 0;

	OK(MPI_Comm_size(comm, &size));
	OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
	CHECK(sum == size, "%s: all members contribute to the sum", what);
}

/* All members of the shared communicator have this host's name, and no other
 * process has that name. */
static void shared(void)
{
	char mine[MPI_MAX_PROCESSOR_NAME] = "", *all;
	int len = 0, same = 0, size = 0;
	MPI_Comm comm;

	OK(MPI_Get_processor_name(mine, &len));
	CHECK(len == (int)strlen(mine) && len > 0, "a processor has a name");
	all = mtest_alloc((size_t)mtest.size * sizeof(mine));
	OK(MPI_Allgather(mine, sizeof(mine), MPI_CHAR, all, sizeof(mine),
		MPI_CHAR, MPI_COMM_WORLD));
	for (int i = 0; i < mtest.size; i++)
		same += strcmp(mine, all + i * sizeof(mine)) == 0;
	OK(MPI_Comm_split_type(
		MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
	OK(MPI_Comm_size(comm, &size));
	CHECK(size == same,
		"a communicator has the %d processes of this host, got %d",
		same, size);
	works(comm, "shared");
	OK(MPI_Comm_free(&comm));
	free(all);
}

static void keys_and_undefined(void)
{
	int rank = -1, size = 0, odd = mtest.rank % 2;
	MPI_Comm comm;

	OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED,
		-mtest.rank, MPI_INFO_NULL, &comm));
	OK(MPI_Comm_rank(comm, &rank));
	OK(MPI_Comm_size(comm, &size));
	CHECK(size != mtest.size || rank == size - 1 - mtest.rank,
		"the key orders the members");
	OK(MPI_Comm_free(&comm));
	OK(MPI_Comm_split_type(MPI_COMM_WORLD,
		odd ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
		&comm));
	CHECK((comm == MPI_COMM_NULL) == odd,
		"MPI_UNDEFINED creates no communicator");
	if (comm != MPI_COMM_NULL) {
		works(comm, "some shared");
		OK(MPI_Comm_free(&comm));
	}
}

/* Checks the resource type that an unguided split reports: present if there is
 * a communicator, and the same at all members. */
static void check_level(MPI_Comm made, MPI_Info info)
{
	char mine[64] = "", first[64] = "";
	int len = sizeof(mine), flag = 0;

	OK(MPI_Info_get_string(
		info, "mpi_hw_resource_type", &len, mine, &flag));
	CHECK((made != MPI_COMM_NULL) == flag,
		"the info has the resource type if a communicator was created");
	if (made == MPI_COMM_NULL)
		return;
	memcpy(first, mine, sizeof(mine));
	OK(MPI_Bcast(first, sizeof(first), MPI_CHAR, 0, made));
	CHECK(!strcmp(first, mine),
		"all members have the resource type of rank 0: \"%s\", not "
		"\"%s\"",
		first, mine);
}

/* Unguided splits: each communicator is a proper subset of the one before,
 * until the result is MPI_COMM_NULL. */
static void unguided(void)
{
	MPI_Comm comm = MPI_COMM_WORLD, next;
	MPI_Info info;
	int depth, size = 0, below = 0;

	for (depth = 0; depth < 20; depth++) {
		OK(MPI_Info_create(&info));
		OK(MPI_Comm_split_type(
			comm, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &next));
		check_level(next, info);
		OK(MPI_Info_free(&info));
		if (next == MPI_COMM_NULL)
			break;
		OK(MPI_Comm_size(comm, &size));
		OK(MPI_Comm_size(next, &below));
		CHECK(below < size, "each step is a proper subset");
		works(next, "unguided");
		if (comm != MPI_COMM_WORLD)
			OK(MPI_Comm_free(&comm));
		comm = next;
	}
	CHECK(depth < 20, "unguided splitting reaches an end");
	if (comm != MPI_COMM_WORLD)
		OK(MPI_Comm_free(&comm));
}

/* One member passes MPI_UNDEFINED, for each kind of split. It gets no
 * communicator, and the calls of the other members return. */
static void without_one(void)
{
	static const int kinds[] = { MPI_COMM_TYPE_SHARED,
		MPI_COMM_TYPE_HW_GUIDED, MPI_COMM_TYPE_HW_UNGUIDED,
		MPI_COMM_TYPE_RESOURCE_GUIDED };
	MPI_Comm comm;
	MPI_Info info;

	OK(MPI_Info_create(&info));
	for (int out = 0; out < mtest.size; out++) {
		for (size_t i = 0; i < 4; i++) {
			OK(MPI_Info_set(info, "mpi_hw_resource_type",
				"mpi_shared_memory"));
			OK(MPI_Comm_split_type(MPI_COMM_WORLD,
				mtest.rank == out ? MPI_UNDEFINED : kinds[i], 0,
				info, &comm));
			CHECK(mtest.rank != out || comm == MPI_COMM_NULL,
				"MPI_UNDEFINED creates no communicator");
			if (comm == MPI_COMM_NULL)
				continue;
			works(comm, "without one");
			OK(MPI_Comm_free(&comm));
		}
	}
	OK(MPI_Info_free(&info));
}

/* A member that passes two keys gets an error. The others get no communicator.
 */
static void two_keys(void)
{
	bool is_last = mtest.rank == mtest.size - 1;
	MPI_Comm comm = MPI_COMM_SELF;
	MPI_Info info;
	int rc;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "mpi_pset_name", "mpi://WORLD"));
	if (is_last)
		OK(MPI_Info_set(
			info, "mpi_hw_resource_type", "mpi_shared_memory"));
	rc = MPI_Comm_split_type(
		MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, info, &comm);
	OK(MPI_Info_free(&info));
	if (is_last) {
		FAILS(rc, MPI_ERR_INFO);
		CHECK(comm == MPI_COMM_NULL, "no communicator is created");
	} else if (OK(rc) && comm != MPI_COMM_NULL) {
		works(comm, "process set");
		OK(MPI_Comm_free(&comm));
	}
}

static void guided(void)
{
	MPI_Comm comm;
	MPI_Info info;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory"));
	OK(MPI_Comm_split_type(
		MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &comm));
	if (CHECK(comm != MPI_COMM_NULL,
		    "a split guided by shared memory creates a communicator")) {
		works(comm, "guided");
		OK(MPI_Comm_free(&comm));
	}
	OK(MPI_Info_set(info, "mpi_hw_resource_type", "no_such_thing"));
	OK(MPI_Comm_split_type(
		MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &comm));
	CHECK(comm == MPI_COMM_NULL,
		"an unknown resource creates no communicator");
	OK(MPI_Info_free(&info));
}

/* Splits an intercommunicator of two halves: a new one has the members of both
 * halves that share memory. */
static void both_sides(void)
{
	int half = mtest.rank >= mtest.size / 2, local = 0, remote = 0;
	MPI_Comm mine, inter, comm;

	OK(MPI_Comm_split(MPI_COMM_WORLD, half, 0, &mine));
	OK(MPI_Intercomm_create(
		mine, 0, MPI_COMM_WORLD, half ? 0 : mtest.size / 2, 1, &inter));
	OK(MPI_Comm_split_type(
		inter, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm));
	if (comm != MPI_COMM_NULL) { /* NULL if the halves are on different
				      * nodes */
		OK(MPI_Comm_size(comm, &local));
		OK(MPI_Comm_remote_size(comm, &remote));
		CHECK(local > 0 && remote > 0,
			"both sides have members: %d and %d", local, remote);
		OK(MPI_Barrier(comm));
		OK(MPI_Comm_free(&comm));
	}
	OK(MPI_Comm_split_type(inter,
		half ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
		&comm));
	CHECK(comm == MPI_COMM_NULL,
		"an empty group on one side creates no communicator");
	OK(MPI_Comm_split_type(
		inter, MPI_COMM_TYPE_HW_UNGUIDED, 0, MPI_INFO_NULL, &comm));
	CHECK(comm == MPI_COMM_NULL,
		"an unguided split of an intercommunicator creates none");
	OK(MPI_Comm_free(&inter));
	OK(MPI_Comm_free(&mine));
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	shared();
	keys_and_undefined();
	guided();
	unguided();
	without_one();
	two_keys();
	if (mtest.size > 1)
		both_sides();
	return mtest_finish();
}
