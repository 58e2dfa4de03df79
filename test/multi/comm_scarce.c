/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * comm_scarce: a member without memory for a new communicator blocks no other
 * member: the members that depend on it get an error, and later calls succeed
 */
#define _GNU_SOURCE
#include "behind.h"
#include "mtest.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static bool is_refused;	   /* the next calloc() fails */
static size_t refused_len; /* the next malloc() of this length fails; 0: none */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CAN_REFUSE = 0 }; /* sanitizers replace malloc */
#else
enum { CAN_REFUSE = 1 };

/* True if a provider of libfabric calls. Its allocations do not fail, because a
 * provider without memory fails the peer. */
static bool is_of_provider(const void *caller)
{
	Dl_info info;

	return dladdr(caller, &info) &&
	       (strstr(info.dli_fname, "/libfabric.") ||
		       strstr(info.dli_fname, "-fi.so"));
}

void *calloc(size_t n, size_t len)
{
	static void *(*real)(size_t n, size_t len);

	if (!real)
		*(void **)&real = behind("calloc");
	if (is_refused && !is_of_provider(__builtin_return_address(0))) {
		is_refused = false;
		errno = ENOMEM;
		return NULL;
	}
	return real(n, len);
}

void *malloc(size_t len)
{
	static void *(*real)(size_t len);

	if (!real)
		*(void **)&real = behind("malloc");
	if (refused_len && len == refused_len) {
		refused_len = 0;
		errno = ENOMEM;
		return NULL;
	}
	return real(len);
}
#endif

/* Returns the number of members whose call failed. */
static int count_errors(int rc)
{
	int mine = rc != MPI_SUCCESS, n;

	CHECK(!mine || mtest_class(rc) == MPI_ERR_NO_MEM,
		"the error is a lack of memory: %s", mtest_error(rc));
	OK(MPI_Allreduce(&mine, &n, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
	return n;
}

static void split_up(int scarce)
{
	MPI_Comm comm = MPI_COMM_NULL;
	int rc;

	is_refused = mtest.rank == scarce;
	rc = MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &comm);
	CHECK(!is_refused, "the library allocated memory");
	CHECK(count_errors(rc) == mtest.size,
		"rank %d has no memory: the split fails at all members",
		scarce);
}

/* Refuses the memory for the group of the result, after the members have agreed
 * on the split. Only rank `scarce` fails. The communicator of the other members
 * is revoked. The keys make the order 2, 0, 3, 1, for which the library lists
 * the members. */
static void split_late(int scarce)
{
	MPI_Comm comm = MPI_COMM_NULL;
	int rc;

	if (mtest.rank == scarce)
		refused_len = (size_t)mtest.size * sizeof(uint64_t) + 1;
	rc = MPI_Comm_split(MPI_COMM_WORLD, 0, (2 * mtest.rank + 1) % 5, &comm);
	CHECK(!refused_len, "the library allocated a list of members");
	CHECK((rc != MPI_SUCCESS) == (mtest.rank == scarce),
		"the split fails at rank %d only: %s", scarce, mtest_error(rc));
	CHECK(count_errors(rc) == 1, "one member fails");
	if (comm == MPI_COMM_NULL)
		return;
	FAILS(MPI_Barrier(comm), MPIX_ERR_REVOKED);
	OK(MPI_Comm_free(&comm));
}

static void duplicate(int with_info)
{
	MPI_Comm comm = MPI_COMM_NULL;
	int rc;

	is_refused = mtest.rank == 0;
	rc = with_info ? MPI_Comm_dup_with_info(
				 MPI_COMM_WORLD, MPI_INFO_NULL, &comm)
		       : MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	CHECK(!is_refused, "the library allocated memory");
	CHECK(count_errors(rc) == mtest.size,
		"rank 0 has no memory: the dup fails at all members");
}

/* Refuses an allocation in MPI_Comm_idup at one rank. Only that rank fails, and
 * the next operation still belongs to the same round at all members. */
static void duplicate_later(int scarce)
{
	MPI_Request req = MPI_REQUEST_NULL;
	MPI_Comm comm = MPI_COMM_NULL;
	int rc;

	is_refused = mtest.rank == scarce;
	rc = MPI_Comm_idup(MPI_COMM_WORLD, &comm, &req);
	CHECK(!is_refused, "the library allocated memory");
	CHECK(rc == MPI_SUCCESS || req == MPI_REQUEST_NULL,
		"a failed duplication creates no request");
	if (rc == MPI_SUCCESS)
		rc = MPI_Wait(&req, MPI_STATUS_IGNORE);
	CHECK((rc != MPI_SUCCESS) == (mtest.rank == scarce),
		"the dup at rank %d succeeds or fails as expected: %s",
		mtest.rank, mtest_error(rc));
	CHECK(count_errors(rc) == 1, "only rank %d fails", scarce);
	if (comm != MPI_COMM_NULL)
		OK(MPI_Comm_free(&comm));
}

/* Refuses an allocation in MPI_Comm_free at one rank. The call succeeds, and
 * the communicator closes later. */
static void free_scarce(int scarce)
{
	MPI_Comm comm, freed;
	int size;

	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
	freed = comm;
	is_refused = mtest.rank == scarce;
	OK(MPI_Comm_free(&comm));
	CHECK(!is_refused, "the library allocated memory");
	FAILS(MPI_Comm_size(freed, &size), MPI_ERR_COMM);
}

/* Refuses one allocation at rank `scarce`. If the creation needs this memory,
 * only that rank fails, and a barrier of the other members returns an error.
 * Returns the number of members whose creation failed. */
static int create_from_group(MPI_Session session, int scarce)
{
	MPI_Group group = MPI_GROUP_NULL;
	MPI_Comm comm = MPI_COMM_NULL;
	int rc, n;

	OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
	is_refused = mtest.rank == scarce;
	rc = MPI_Comm_create_from_group(
		group, "scarce", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
	CHECK(!is_refused, "the library allocated memory");
	CHECK(rc == MPI_SUCCESS || mtest.rank == scarce,
		"the creation at rank %d succeeds: %s", mtest.rank,
		mtest_error(rc));
	n = count_errors(rc);
	if (comm != MPI_COMM_NULL) {
		rc = MPI_Barrier(comm);
		CHECK(mtest_class(rc) == (n ? MPIX_ERR_REVOKED : MPI_SUCCESS),
			"the barrier succeeds, or reports a revoked "
			"communicator if a creation failed (%d failed): %s",
			n, mtest_error(rc));
		OK(MPI_Comm_free(&comm));
	}
	OK(MPI_Group_free(&group));
	return n;
}

/* Repeats the creation, because it may succeed without the first allocation. */
static void create_scarce(int scarce)
{
	MPI_Session session = MPI_SESSION_NULL;
	int n_failed = 0;

	OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
	for (int i = 0; i < 3; i++)
		n_failed += create_from_group(session, scarce);
	CHECK(n_failed,
		"at least one creation fails for lack of memory at "
		"rank %d",
		scarce);
	OK(MPI_Session_finalize(&session));
}

int main(int argc, char **argv)
{
	MPI_Comm comm;

	mtest_init(&argc, &argv);
	if (!CAN_REFUSE)
		mtest_skip("allocations cannot be refused here");
	for (int i = 0; i < mtest.size; i++)
		split_up(i);
	for (int i = 0; i < mtest.size; i++)
		split_late(i);
	duplicate(0);
	duplicate(1);
	for (int i = 0; i < mtest.size; i++)
		duplicate_later(i);
	for (int i = 0; i < mtest.size; i++)
		free_scarce(i);
	for (int i = 0; i < mtest.size; i++)
		create_scarce(i);
	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	OK(MPI_Barrier(comm));
	OK(MPI_Comm_free(&comm));
	return mtest_finish();
}
