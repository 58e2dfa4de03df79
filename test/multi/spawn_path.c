/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn_path: processes of two jobs on one node send through shared memory, and
 * open no fabric; the memory is freed after a job has ended
 *
 * With WEFT_SHM=off, all messages use the fabric. */
#include "mappings.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TURNS = 3, LEN = 1 << 20, TAG = 3 };

static int rank, size;

static MPI_T_pvar_session session;
static MPI_T_pvar_handle n_shm, n_net, net_memory;

static MPI_T_pvar_handle open_counter(const char *name, int class)
{
	MPI_T_pvar_handle handle;
	int index = -1, count;

	OK(MPI_T_pvar_get_index(name, class, &index));
	OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
	return handle;
}

static void open_counters(void)
{
	int provided;

	OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
	OK(MPI_T_pvar_session_create(&session));
	n_shm = open_counter("shm_sent", MPI_T_PVAR_CLASS_COUNTER);
	n_net = open_counter("net_sent", MPI_T_PVAR_CLASS_COUNTER);
	net_memory = open_counter("net_memory", MPI_T_PVAR_CLASS_LEVEL);
}

static unsigned long long value_of(MPI_T_pvar_handle handle)
{
	unsigned long long value = 0;

	OK(MPI_T_pvar_read(session, handle, &value));
	return value;
}

/* Each pair of processes exchanges messages of len bytes. */
static void exchange(MPI_Comm comm, int len)
{
	char *in = mtest_alloc(LEN), *out = mtest_alloc(LEN);

	for (int i = 1; i < size; i++) {
		int to = (rank + i) % size, from = (rank + size - i) % size;

		mtest_fill(out, (size_t)len, (unsigned)(size * rank + to));
		OK(MPI_Sendrecv(out, len, MPI_BYTE, to, TAG, in, len, MPI_BYTE,
			from, TAG, comm, MPI_STATUS_IGNORE));
		CHECK(mtest_same(
			      in, (size_t)len, (unsigned)(size * from + rank)),
			"%d bytes from rank %d", len, from);
	}
	free(in);
	free(out);
}

static void check_path(void)
{
	const char *shm = getenv("WEFT_SHM");
	int is_off = shm && !strcmp(shm, "off");
	unsigned long long shm_sent = value_of(n_shm),
			   net_sent = value_of(n_net);

	CHECK(is_off ? !shm_sent && net_sent : shm_sent && !net_sent,
		"%llu messages through shared memory, %llu over the fabric",
		shm_sent, net_sent);
	CHECK(is_off || !value_of(net_memory),
		"the fabric is not open: it uses %llu bytes",
		value_of(net_memory));
}

/* Returns the number of mappings while the two jobs are connected. The pids of
 * all processes are written to pids. */
static int meet(MPI_Comm inter, int is_new, pid_t *pids)
{
	MPI_Comm merged;
	int n;

	OK(MPI_Intercomm_merge(inter, is_new, &merged));
	OK(MPI_Comm_rank(merged, &rank));
	OK(MPI_Comm_size(merged, &size));
	exchange(merged, 8);
	exchange(merged, 4096);
	exchange(merged, LEN);
	check_path();
	pids[rank] = getpid();
	OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, pids,
		sizeof(*pids), MPI_BYTE, merged));
	n = n_mappings();
	OK(MPI_Comm_disconnect(&merged));
	OK(MPI_Comm_disconnect(&inter));
	return n;
}

int main(int argc, char **argv)
{
	enum { CHILDREN = 2, MOST = 16 };
	MPI_Comm parent, inter;
	pid_t pids[MOST];
	int rc, first = 0, n;

	mtest_init(&argc, &argv);
	open_counters();
	OK(MPI_Comm_get_parent(&parent));
	if (parent != MPI_COMM_NULL) {
		meet(parent, 1, pids);
		OK(MPI_T_pvar_session_free(&session));
		OK(MPI_T_finalize());
		return mtest_finish();
	}
	for (int i = 0; i < TURNS; i++) {
		rc = MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, CHILDREN,
			MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
			MPI_ERRCODES_IGNORE);
		if (!i && mtest_class(rc) == MPI_ERR_SPAWN &&
			!getenv("WEFT_JOB"))
			mtest_skip("this launcher starts no further processes");
		if (!OK(rc))
			break;
		n = meet(inter, 0, pids);
		first = i ? first : n;
		CHECK(n <= first,
			"the memory of the first job was freed: %d mappings, "
			"%d in the first turn",
			n, first);
		for (int k = size - CHILDREN; k < size; k++)
			while (!kill(pids[k], 0) || errno != ESRCH)
				usleep(1000);
	}
	OK(MPI_T_pvar_session_free(&session));
	OK(MPI_T_finalize());
	return mtest_finish();
}
