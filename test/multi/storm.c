/* SPDX-License-Identifier: BSD-3-Clause */
/* storm: a mixed workload that checks its own data, to run under faults
 *
 *   storm SEED ROUNDS DIRECTORY [nospawn]
 *
 * Each round is one operation that all ranks choose from the seed: messages,
 * wildcard receives, collectives, windows, files, sessions opened by two
 * threads, communicators, spawned processes (not with nospawn). Every byte
 * received is compared with the byte that the seed implies.
 *
 * Exit status: 0: all rounds passed; 3: another process failed or an operation
 * was refused, with a line "stopped" that names the call and the class; 4:
 * wrong data, with a line "WRONG". */
#include "storm.h"

#include <mpi.h>

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

enum {
	LONGEST = 1 << 19, /* bytes of one message */
	N_BATCH = 8,
	N_ANY = 24,
	ANY_LEN = 3000,
	BUFFERED_MAX = 4096,
	N_MEMBERS = 64,
	N_THREADS = 2,
};

static struct {
	MPI_Comm comm;
	const char *directory, *program;
	bool has_threads, has_spawn;
	unsigned char *out, *in; /* N_BATCH * LONGEST bytes each */
} storm;

/* ---- the end ---- */

static _Noreturn void stop(const char *call, int rc)
{
	char text[MPI_MAX_ERROR_STRING] = "?";
	int class = 0, len;

	MPI_Error_class(rc, &class);
	MPI_Error_string(rc, text, &len);
	printf("stopped: rank %d round %llu class %d %s: %s\n", place.rank,
		(unsigned long long)place.round, class, call, text);
	fflush(stdout);
	_exit(STORM_STOPPED);
}

#define DO(call)                          \
	do {                              \
		int rc_ = (call);         \
                                          \
		if (rc_ != MPI_SUCCESS)   \
			stop(#call, rc_); \
	} while (0)

/* MPI_Waitall(), with the error of an operation in place of MPI_ERR_IN_STATUS.
 */
static int wait_all(int n, MPI_Request *reqs, MPI_Status *statuses)
{
	int rc = MPI_Waitall(n, reqs, statuses), class = MPI_SUCCESS;

	if (rc != MPI_SUCCESS)
		MPI_Error_class(rc, &class);
	for (int i = 0; class == MPI_ERR_IN_STATUS && i < n; i++)
		if (statuses[i].MPI_ERROR != MPI_SUCCESS &&
			statuses[i].MPI_ERROR != MPI_ERR_PENDING)
			return statuses[i].MPI_ERROR;
	return rc;
}

/* ---- the operations ---- */

/* Sends in synchronous, buffered or standard mode. The attached buffer has
 * space for the short messages of several rounds. */
static int send_in_mode(uint64_t mode, const void *from, int len, int to,
	int tag, MPI_Request *req)
{
	if (mode == 0)
		return MPI_Issend(
			from, len, MPI_BYTE, to, tag, storm.comm, req);
	if (mode == 1 && len <= BUFFERED_MAX)
		return MPI_Ibsend(
			from, len, MPI_BYTE, to, tag, storm.comm, req);
	return MPI_Isend(from, len, MPI_BYTE, to, tag, storm.comm, req);
}

/* Sends batches around a ring. The receives are posted in the reverse order. */
static void do_ring(void)
{
	int shift = 1 + (int)choose((uint64_t)place.size, 1, 0, 0);
	int to = (place.rank + shift) % place.size;
	int from = (place.rank + place.size - shift % place.size) % place.size;
	MPI_Request reqs[2 * N_BATCH];
	MPI_Status statuses[2 * N_BATCH];
	int n = 1 + (int)choose(N_BATCH, 2, 0, 0);

	for (int i = n - 1; i >= 0; i--)
		DO(MPI_Irecv(storm.in + (size_t)i * LONGEST, LONGEST, MPI_BYTE,
			from, i, storm.comm, &reqs[i]));
	for (int i = 0; i < n; i++) {
		unsigned char *data = storm.out + (size_t)i * LONGEST;
		size_t len = choose_len(3, (uint64_t)place.rank, (uint64_t)i);

		fill(data, len, key_of(place.rank, to, (uint64_t)i));
		DO(send_in_mode(choose(4, 4, (uint64_t)place.rank, (uint64_t)i),
			data, (int)len, to, i, &reqs[n + i]));
	}
	DO(wait_all(2 * n, reqs, statuses));
	for (int i = 0; i < n; i++) {
		size_t len = choose_len(3, (uint64_t)from, (uint64_t)i);
		int got;

		MPI_Get_count(&statuses[i], MPI_BYTE, &got);
		if ((size_t)got != len)
			wrong("message %d has %d bytes, not %zu", i, got, len);
		check(storm.in + (size_t)i * LONGEST, len,
			key_of(from, place.rank, (uint64_t)i), "message");
	}
}

static int any_target(int from, int i)
{
	return (int)choose(
		(uint64_t)place.size, 5, (uint64_t)from, (uint64_t)i);
}

/* Short messages to random ranks; wildcard receives. The messages of a sender
 * arrive in the order of their tags. */
static void do_any(void)
{
	static unsigned char out[N_ANY][ANY_LEN], in[ANY_LEN];
	MPI_Request reqs[N_ANY];
	MPI_Status statuses[N_ANY];
	int last[N_MEMBERS], n = 0;

	memset(last, -1, sizeof(last));
	for (int from = 0; from < place.size; from++)
		for (int i = 0; i < N_ANY; i++)
			n += any_target(from, i) == place.rank;
	for (int i = 0; i < N_ANY; i++) {
		int to = any_target(place.rank, i);
		size_t len =
			choose(ANY_LEN, 6, (uint64_t)place.rank, (uint64_t)i);

		fill(out[i], len, key_of(place.rank, to, (uint64_t)i));
		DO(MPI_Isend(out[i], (int)len, MPI_BYTE, to, i, storm.comm,
			&reqs[i]));
	}
	while (n-- > 0) {
		MPI_Status status;
		int from, tag, got;

		DO(MPI_Recv(in, ANY_LEN, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
			storm.comm, &status));
		from = status.MPI_SOURCE;
		tag = status.MPI_TAG;
		MPI_Get_count(&status, MPI_BYTE, &got);
		if (from < 0 || from >= place.size || tag <= last[from] ||
			any_target(from, tag) != place.rank ||
			(size_t)got != choose(ANY_LEN, 6, (uint64_t)from,
					       (uint64_t)tag))
			wrong("rank %d tag %d, %d bytes: lost, repeated or out "
			      "of order",
				from, tag, got);
		last[from] = tag;
		check(in, (size_t)got, key_of(from, place.rank, (uint64_t)tag),
			"any source");
	}
	DO(wait_all(N_ANY, reqs, statuses));
	/* the wildcards above must not match messages of the next round */
	DO(MPI_Barrier(storm.comm));
}

/* Three collectives at a time, blocking or not. */
static void do_coll(void)
{
	int n = 1 + (int)(choose_len(7, 0, 0) / 17), root;
	int64_t *sums = (int64_t *)(void *)storm.in, *mine = sums + n;
	size_t block = 1 + choose_len(8, 0, 0) / (size_t)place.size;
	unsigned char *from = storm.out + LONGEST, *to = storm.in + LONGEST;
	unsigned char *whole = storm.out + 2 * LONGEST;
	size_t len = 1 + choose_len(9, 0, 0);
	MPI_Request reqs[3];
	MPI_Status statuses[3];

	block = block > LONGEST / (size_t)place.size
			? LONGEST / (size_t)place.size
			: block;
	len = len > LONGEST ? LONGEST : len;
	root = (int)choose((uint64_t)place.size, 10, 0, 0);
	for (int i = 0; i < n; i++)
		mine[i] = place.rank + i;
	for (int r = 0; r < place.size; r++)
		fill(from + (size_t)r * block, block, key_of(place.rank, r, 0));
	if (place.rank == root)
		fill(whole, len, key_of(root, root, 1));
	if (choose(2, 11, 0, 0)) {
		DO(MPI_Iallreduce(mine, sums, n, MPI_INT64_T, MPI_SUM,
			storm.comm, &reqs[0]));
		DO(MPI_Ialltoall(from, (int)block, MPI_BYTE, to, (int)block,
			MPI_BYTE, storm.comm, &reqs[1]));
		DO(MPI_Ibcast(
			whole, (int)len, MPI_BYTE, root, storm.comm, &reqs[2]));
		DO(wait_all(3, reqs, statuses));
	} else {
		DO(MPI_Allreduce(
			mine, sums, n, MPI_INT64_T, MPI_SUM, storm.comm));
		DO(MPI_Alltoall(from, (int)block, MPI_BYTE, to, (int)block,
			MPI_BYTE, storm.comm));
		DO(MPI_Bcast(whole, (int)len, MPI_BYTE, root, storm.comm));
	}
	for (int i = 0; i < n; i++) {
		int64_t sum = (int64_t)place.size * i +
			      (int64_t)place.size * (place.size - 1) / 2;

		if (sums[i] != sum)
			wrong("sum %d of %d", i, n);
	}
	for (int r = 0; r < place.size; r++)
		check(to + (size_t)r * block, block, key_of(r, place.rank, 0),
			"alltoall");
	check(whole, len, key_of(root, root, 1), "bcast");
}

/* Each rank puts data into a place of its own at each target. Then each rank
 * adds to the counters of several targets. */
static void do_window(void)
{
	size_t slot = 8 + choose_len(12, 0, 0) / 8;
	int64_t *counter, one = 1, before;
	unsigned char *memory;
	MPI_Win win;

	DO(MPI_Win_allocate((MPI_Aint)(8 + slot * (size_t)place.size), 1,
		MPI_INFO_NULL, storm.comm, &memory, &win));
	MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
	counter = (int64_t *)(void *)memory;
	*counter = 0;
	DO(MPI_Win_fence(0, win));
	for (int to = 0; to < place.size; to++) {
		unsigned char *data = storm.out + (size_t)(to % 4) * LONGEST;

		if (to >= 4)
			DO(MPI_Win_fence(0, win));
		fill(data, slot, key_of(place.rank, to, 2));
		DO(MPI_Put(data, (int)slot, MPI_BYTE, to,
			(MPI_Aint)(8 + slot * (size_t)place.rank), (int)slot,
			MPI_BYTE, win));
	}
	DO(MPI_Win_fence(0, win));
	for (int from = 0; from < place.size; from++)
		check(memory + 8 + slot * (size_t)from, slot,
			key_of(from, place.rank, 2), "window");
	DO(MPI_Win_lock_all(0, win));
	for (int i = 0; i < 10; i++)
		DO(MPI_Accumulate(&one, 1, MPI_INT64_T,
			(place.rank + i) % place.size, 0, 1, MPI_INT64_T,
			MPI_SUM, win));
	DO(MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 0, 0, MPI_SUM, win));
	DO(MPI_Win_unlock_all(win));
	DO(MPI_Barrier(storm.comm));
	DO(MPI_Win_lock(MPI_LOCK_SHARED, place.rank, 0, win));
	before = *counter;
	DO(MPI_Win_unlock(place.rank, win));
	DO(MPI_Allreduce(
		MPI_IN_PLACE, &before, 1, MPI_INT64_T, MPI_SUM, storm.comm));
	if (before != 11 * (int64_t)place.size)
		wrong("additions are lost: %lld of %d", (long long)before,
			11 * place.size);
	DO(MPI_Win_free(&win));
}

/* Each rank writes a part of a file together with the others, and reads the
 * part of another rank. */
static void do_file(void)
{
	size_t len = 1 + choose_len(13, 0, 0) / 2;
	int other = (place.rank + 1) % place.size;
	MPI_File file;
	char name[300];

	snprintf(name, sizeof(name), "%s/file.%llu", storm.directory,
		(unsigned long long)place.round);
	DO(MPI_File_open(storm.comm, name,
		MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
		MPI_INFO_NULL, &file));
	fill(storm.out, len, key_of(place.rank, 0, 3));
	DO(MPI_File_write_at_all(file, (MPI_Offset)((size_t)place.rank * len),
		storm.out, (int)len, MPI_BYTE, MPI_STATUS_IGNORE));
	DO(MPI_File_sync(file));
	DO(MPI_Barrier(storm.comm));
	DO(MPI_File_sync(file));
	DO(MPI_File_read_at(file, (MPI_Offset)((size_t)other * len), storm.in,
		(int)len, MPI_BYTE, MPI_STATUS_IGNORE));
	check(storm.in, len, key_of(other, 0, 3), "file");
	DO(MPI_Barrier(storm.comm));
	DO(MPI_File_close(&file));
}

static void *use_session(void *arg)
{
	const char *tag = arg;
	int one = 1, sum = 0;
	MPI_Session session;
	MPI_Group group;
	MPI_Comm comm;

	DO(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
	DO(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
	DO(MPI_Comm_create_from_group(
		group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
	DO(MPI_Group_free(&group));
	DO(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
	if (sum != place.size)
		wrong("session %s: %d members, not %d", tag, sum, place.size);
	DO(MPI_Comm_disconnect(&comm));
	DO(MPI_Session_finalize(&session));
	return NULL;
}

static void do_session(void)
{
	static char tags[N_THREADS][8] = { "first", "second" };
	pthread_t threads[N_THREADS];
	int n = 0;

	while (storm.has_threads && n < N_THREADS &&
		!pthread_create(&threads[n], NULL, use_session, tags[n]))
		n++;
	for (int i = 0; i < N_THREADS; i++)
		if (i < n)
			pthread_join(threads[i], NULL);
		else
			use_session(tags[i]);
}

static void do_comm(void)
{
	int color = (int)choose(3, 14, (uint64_t)place.rank, 0), sum = 0;
	int one = 1, want = 0;
	MPI_Comm dup, part;

	for (int r = 0; r < place.size; r++)
		want += (int)choose(3, 14, (uint64_t)r, 0) == color;
	DO(MPI_Comm_dup(storm.comm, &dup));
	DO(MPI_Comm_split(dup, color, -place.rank, &part));
	DO(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, part));
	if (sum != want)
		wrong("part %d has %d members, not %d", color, sum, want);
	DO(MPI_Comm_free(&part));
	DO(MPI_Comm_free(&dup));
}

static void do_spawn(void)
{
	char *argv[] = { "child", NULL };
	int word = (int)choose(1000, 15, 0, 0), sum = 0;
	MPI_Comm child;

	DO(MPI_Comm_spawn(storm.program, argv, 2, MPI_INFO_NULL, 0, storm.comm,
		&child, MPI_ERRCODES_IGNORE));
	MPI_Comm_set_errhandler(child, MPI_ERRORS_RETURN);
	DO(MPI_Bcast(&word, 1, MPI_INT, place.rank ? MPI_PROC_NULL : MPI_ROOT,
		child));
	DO(MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, child));
	if (sum != 2 * word)
		wrong("the children's sum is %d, not %d", sum, 2 * word);
	DO(MPI_Comm_disconnect(&child));
}

static int be_child(void)
{
	MPI_Comm parent;
	int word, sum;

	DO(MPI_Comm_get_parent(&parent));
	MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
	DO(MPI_Bcast(&word, 1, MPI_INT, 0, parent));
	DO(MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, parent));
	DO(MPI_Comm_disconnect(&parent));
	MPI_Finalize();
	return 0;
}

static void do_round(void)
{
	switch (choose(20, 0, 0, 0)) {
	case 0:
	case 1:
	case 2:
		do_window();
		return;
	case 3:
		do_file();
		return;
	case 4:
		do_session();
		return;
	case 5:
		do_comm();
		return;
	case 6:
		if (storm.has_spawn && !choose(4, 16, 0, 0))
			do_spawn();
		return;
	case 7:
	case 8:
	case 9:
	case 10:
		do_coll();
		return;
	case 11:
	case 12:
	case 13:
		do_any();
		return;
	default:
		do_ring();
	}
}

/* Connects all processes before a fault: over sockets, the provider may lose
 * messages if packets are lost while two processes connect to each other. */
static void connect_all(void)
{
	for (int d = 1; d < place.size; d++)
		DO(MPI_Sendrecv(NULL, 0, MPI_INT, (place.rank + d) % place.size,
			0, NULL, 0, MPI_INT,
			(place.rank + place.size - d) % place.size, 0,
			storm.comm, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
	static unsigned char
		buffer[100 * N_BATCH * (BUFFERED_MAX + MPI_BSEND_OVERHEAD)];
	uint64_t n_rounds;
	int level;

	DO(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	storm.program = argv[0];
	if (argc > 1 && !strcmp(argv[1], "child"))
		return be_child();
	if (argc < 4) {
		fprintf(stderr,
			"usage: storm SEED ROUNDS DIRECTORY [nospawn]\n");
		return 2;
	}
	place.seed = strtoull(argv[1], NULL, 10);
	n_rounds = strtoull(argv[2], NULL, 10);
	storm.directory = argv[3];
	storm.has_spawn = argc < 5;
	storm.comm = MPI_COMM_WORLD;
	storm.has_threads = level == MPI_THREAD_MULTIPLE;
	MPI_Comm_rank(storm.comm, &place.rank);
	MPI_Comm_size(storm.comm, &place.size);
	storm.out = malloc((size_t)N_BATCH * LONGEST);
	storm.in = malloc((size_t)N_BATCH * LONGEST);
	if (!storm.out || !storm.in || place.size > N_MEMBERS)
		MPI_Abort(MPI_COMM_WORLD, 2);
	DO(MPI_Buffer_attach(buffer, sizeof(buffer)));
	connect_all();
	printf("started: rank %d pid %d\n", place.rank, (int)getpid());
	fflush(stdout);
	for (; place.round < n_rounds; place.round++)
		do_round();
	MPI_Finalize();
	return 0;
}
