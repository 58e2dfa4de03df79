/* SPDX-License-Identifier: BSD-3-Clause */
/* win_count: the bytes of one-sided operations, counted by path
 *
 * The sum over all paths is exact. Memory that is mapped here is accessed by no
 * other path. Long puts to other memory of the node are copied by the kernel,
 * if it copies messages, too. */
#include "mtest.h"

enum { N = 20, LONG = 64 << 10, BULK = 4 << 20, TAG = 5 };

enum path { MAPPED, COPIED, MESSAGES, POSTED, N_PATHS };

static const char *const path_names[N_PATHS] = { "rma_mapped", "rma_copied",
	"rma_messages", "rma_posted" };
static const char *const win_names[N_PATHS] = { "win_mapped", "win_copied",
	"win_messages" };

static MPI_T_pvar_session pvars;

struct counts {
	MPI_T_pvar_handle ops[N_PATHS], bytes[N_PATHS];
};

static MPI_T_pvar_handle pvar_open(const char *name, int class, void *object)
{
	MPI_T_pvar_handle handle;
	int index, count;

	if (MPI_T_pvar_get_index(name, class, &index)) {
		printf("this MPI has no variable %s\n", name);
		exit(MTEST_SKIP);
	}
	OK(MPI_T_pvar_handle_alloc(pvars, index, object, &handle, &count));
	return handle;
}

/* Opens the counters of paths that have a name. A new handle counts from 0. */
static struct counts counts_open(const char *const *names, void *object)
{
	struct counts c;
	char name[64];

	for (int i = 0; i < N_PATHS && names[i]; i++) {
		c.ops[i] =
			pvar_open(names[i], MPI_T_PVAR_CLASS_COUNTER, object);
		snprintf(name, sizeof(name), "%s_bytes", names[i]);
		c.bytes[i] =
			pvar_open(name, MPI_T_PVAR_CLASS_AGGREGATE, object);
	}
	return c;
}

static unsigned long long value_of(MPI_T_pvar_handle handle)
{
	unsigned long long value = 0;

	OK(MPI_T_pvar_read(pvars, handle, &value));
	return value;
}

/* True if the kernel copied a long message. */
static bool copies_messages(void)
{
	MPI_T_pvar_handle copied =
		pvar_open("cma_reads", MPI_T_PVAR_CLASS_COUNTER, NULL);
	char *bulk = calloc(1, BULK);
	int reads, peer = !mtest.rank;

	if (mtest.rank)
		OK(MPI_Send(bulk, BULK, MPI_BYTE, peer, TAG, MPI_COMM_WORLD));
	else
		OK(MPI_Recv(bulk, BULK, MPI_BYTE, peer, TAG, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
	reads = value_of(copied) > 0;
	OK(MPI_Bcast(&reads, 1, MPI_INT, 0, MPI_COMM_WORLD));
	free(bulk);
	return reads;
}

/* Makes N short puts and gets, N atomics, and one long put. Returns the bytes.
 */
static int make_accesses(MPI_Win win, const char *data)
{
	int peer = !mtest.rank;
	long one = 1, old;

	for (int i = 0; i < N; i++) {
		OK(MPI_Put(&one, 1, MPI_LONG, peer, 0, 1, MPI_LONG, win));
		OK(MPI_Win_flush(peer, win));
		OK(MPI_Get(&old, 1, MPI_LONG, peer, 0, 1, MPI_LONG, win));
		OK(MPI_Win_flush(peer, win));
		CHECK(old == 1, "the get returns the data of the put");
		OK(MPI_Accumulate(
			&one, 1, MPI_LONG, peer, 8, 1, MPI_LONG, MPI_SUM, win));
		OK(MPI_Fetch_and_op(
			&one, &old, MPI_LONG, peer, 8, MPI_SUM, win));
		OK(MPI_Compare_and_swap(
			&one, &one, &old, MPI_LONG, peer, 16, win));
	}
	OK(MPI_Put(data, LONG, MPI_BYTE, peer, 64, LONG, MPI_BYTE, win));
	OK(MPI_Win_flush(peer, win));
	return 5 * N * 8 + LONG;
}

static void check_counts(const struct counts *all, const struct counts *own,
	bool is_mapped, unsigned long long bytes)
{
	unsigned long long sum = 0;

	for (int i = 0; i < N_PATHS; i++)
		sum += value_of(all->bytes[i]);
	CHECK(sum == bytes, "%llu bytes are counted of %llu", sum, bytes);
	for (int i = 0; win_names[i]; i++) {
		CHECK(value_of(own->ops[i]) == value_of(all->ops[i]),
			"%s counts the operations of the window", win_names[i]);
		CHECK(value_of(own->bytes[i]) == value_of(all->bytes[i]),
			"%s_bytes counts their data", win_names[i]);
	}
	CHECK(value_of(all->ops[MAPPED]) == (is_mapped ? 5 * N + 1 : 0),
		"mapped memory is accessed directly: %llu operations",
		value_of(all->ops[MAPPED]));
	CHECK(value_of(all->bytes[MAPPED]) == (is_mapped ? bytes : 0),
		"with all data");
}

static void count_window(MPI_Win win, bool copies)
{
	struct counts all = counts_open(path_names, NULL);
	struct counts own = counts_open(win_names, &win);
	char *data = calloc(1, LONG), *base;
	bool is_mapped;
	MPI_Aint size;
	int unit;

	is_mapped =
		!MPI_Win_shared_query(win, !mtest.rank, &size, &unit, &base) &&
		base;
	OK(MPI_Win_lock_all(0, win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	check_counts(&all, &own, is_mapped, make_accesses(win, data));
	if (copies && !is_mapped)
		CHECK(value_of(all.bytes[COPIED]) >= LONG,
			"the kernel copies the long put: %llu bytes",
			value_of(all.bytes[COPIED]));
	OK(MPI_Win_unlock_all(win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	free(data);
}

/* The counters of a freed window stay in those of the process. */
static void count_freed(void)
{
	MPI_T_pvar_handle mapped =
		pvar_open("rma_mapped", MPI_T_PVAR_CLASS_COUNTER, NULL);
	unsigned long long before, after;
	long *base, one = 1;
	MPI_Win win;

	OK(MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_SELF, &base, &win));
	before = value_of(mapped);
	OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
	OK(MPI_Put(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
	OK(MPI_Win_unlock(0, win));
	OK(MPI_Win_free(&win));
	after = value_of(mapped);
	CHECK(after == before + 1, "%llu operations, %llu before", after,
		before);
}

int main(int argc, char **argv)
{
	static char memory[64 + LONG];
	bool copies;
	int provided;
	char *base;
	MPI_Win win;

	mtest_init(&argc, &argv);
	OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
	OK(MPI_T_pvar_session_create(&pvars));
	copies = copies_messages();
	OK(MPI_Win_allocate(
		64 + LONG, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
	MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
	count_window(win, copies);
	OK(MPI_Win_free(&win));
	OK(MPI_Win_create(memory, sizeof(memory), 1, MPI_INFO_NULL,
		MPI_COMM_WORLD, &win));
	MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
	count_window(win, copies);
	OK(MPI_Win_free(&win));
	count_freed();
	OK(MPI_T_pvar_session_free(&pvars));
	OK(MPI_T_finalize());
	return mtest_finish();
}
