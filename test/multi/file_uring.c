/* SPDX-License-Identifier: BSD-3-Clause */
/* file_uring: nonblocking accesses by io_uring, complete and with errors
 *
 * The program replaces io_uring_submit_and_wait(). The replacement counts
 * requests, shortens them, makes them fail and finally refuses all. Without
 * io_uring (no liburing, no support by the kernel, WEFT_IO_ENGINE=threads)
 * results are the same and the counts are 0. */
#define _GNU_SOURCE
#include "file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LEN = (5 << 20) + 7, N = 200, SMALL = 3000 };

static atomic_int n_entered, short_by;
static atomic_bool is_spoilt, is_refused;
static char mine[LEN], got[LEN];

#ifdef WEFT_URING

#include <liburing.h>

/* Changes requests before submission: fewer bytes, or an invalid descriptor. */
static void change_some(struct io_uring *ring)
{
	struct io_uring_sq *sq = &ring->sq;

	for (unsigned i = *sq->khead; i != sq->sqe_tail; i++) {
		struct io_uring_sqe *sqe = &sq->sqes[i & *sq->kring_mask];

		if (!sqe->user_data)
			continue;
		if (short_by && sqe->len > 1)
			sqe->len = 1 + sqe->len / (unsigned)short_by;
		if (is_spoilt)
			sqe->fd = -1;
	}
}

int io_uring_submit_and_wait(struct io_uring *ring, unsigned n)
{
	int (*next)(struct io_uring *, unsigned) = (int (*)(struct io_uring *,
		unsigned))dlsym(RTLD_NEXT, "io_uring_submit_and_wait");

	n_entered++;
	if (is_refused)
		return -EPERM;
	change_some(ring);
	return next(ring, n);
}

static const char *why_not(void)
{
	const char *engine = getenv("WEFT_IO_ENGINE");
	struct io_uring ring;
	int rc;

	if (!engine || strcmp(engine, "uring") != 0)
		return "WEFT_IO_ENGINE is not uring";
	rc = io_uring_queue_init(2, &ring, 0);
	if (rc)
		return strerror(-rc);
	io_uring_queue_exit(&ring);
	return NULL;
}

#else

static const char *why_not(void)
{
	return "built without liburing";
}

#endif

static void fill(int by)
{
	for (int i = 0; i < LEN; i++)
		mine[i] = (char)(i * 31 + i / 4096 + mtest.rank + by);
}

static void check_status(const MPI_Status *status, int wanted)
{
	CHECK(file_count(status, MPI_BYTE) == wanted,
		"%d bytes are transferred of %d", file_count(status, MPI_BYTE),
		wanted);
}

/* Writes, reads and compares. */
static void there_and_back(MPI_File fh, MPI_Offset at, int len)
{
	MPI_Request request;
	MPI_Status status;

	OK(MPI_File_iwrite_at(fh, at, mine, len, MPI_BYTE, &request));
	OK(MPI_Wait(&request, &status));
	check_status(&status, len);
	memset(got, 0, sizeof(got));
	OK(MPI_File_iread_at(fh, at, got, len, MPI_BYTE, &request));
	OK(MPI_Wait(&request, &status));
	check_status(&status, len);
	CHECK(!memcmp(mine, got, (size_t)len), "%d bytes are read back", len);
}

static void moved(void)
{
	MPI_File fh = file_scratch("moved");
	MPI_Offset at = (MPI_Offset)mtest.rank * LEN, size;
	MPI_Request request;
	MPI_Status status;

	fill(0);
	n_entered = 0;
	there_and_back(fh, at, 5);
	there_and_back(fh, at, LEN);
	CHECK((n_entered > 0) == !why_not(),
		"io_uring is used if it is available: %d calls", n_entered);
	fill(1);
	short_by = 7;
	there_and_back(fh, at, LEN);
	short_by = 0;
	fill(2);
	is_spoilt = true;
	there_and_back(fh, at, LEN);
	is_spoilt = false;
	/* at the end of the file */
	file_turn(fh);
	OK(MPI_File_get_size(fh, &size));
	OK(MPI_File_iread_at(fh, size - 1000, got, LEN, MPI_BYTE, &request));
	OK(MPI_Wait(&request, &status));
	check_status(&status, 1000);
	OK(MPI_File_close(&fh));
}

/* Reads long runs with gaps between them, by nonblocking and by blocking calls.
 */
static void in_runs(void)
{
	enum { RUN = 8192, RUNS = 300 };
	MPI_File fh = file_scratch("runs");
	MPI_Request request;
	MPI_Datatype runs;
	MPI_Status status;

	fill(3);
	MPI_Type_vector(RUNS, RUN, (mtest.size + 1) * RUN, MPI_BYTE, &runs);
	MPI_Type_commit(&runs);
	OK(MPI_File_set_view(fh, (MPI_Offset)mtest.rank * RUN, MPI_BYTE, runs,
		"native", MPI_INFO_NULL));
	OK(MPI_File_write_at(
		fh, 0, mine, RUN * RUNS - 5, MPI_BYTE, MPI_STATUS_IGNORE));
	file_turn(fh);
	for (int i = 0; i < 4; i++) {
		short_by = i & 1 ? 3 : 0;
		memset(got, 0, sizeof(got));
		if (i & 2) {
			OK(MPI_File_read_at(
				fh, 0, got, RUN * RUNS - 5, MPI_BYTE, &status));
		} else {
			OK(MPI_File_iread_at(fh, 0, got, RUN * RUNS - 5,
				MPI_BYTE, &request));
			OK(MPI_Wait(&request, &status));
		}
		check_status(&status, RUN * RUNS - 5);
		CHECK(!memcmp(mine, got, RUN * RUNS - 5),
			"all runs are read, access %d", i);
	}
	short_by = 0;
	MPI_Type_free(&runs);
	OK(MPI_File_close(&fh));
}

/* Starts more accesses than the ring has entries: individual ones, and
 * collective ones, which all processes start in the same order. */
static void many(void)
{
	MPI_File fh = file_scratch("many");
	MPI_Offset base = (MPI_Offset)mtest.rank * N * SMALL;
	MPI_Request requests[N];

	fill(4);
	for (int round = 0; round < 4; round++) {
		memset(got, 0, sizeof(got));
		for (int i = 0; i < N; i++) {
			MPI_Offset at = base + (MPI_Offset)(i * 7 % N) * SMALL;
			char *to = (round & 1 ? got : mine) +
				   (size_t)(i * 7 % N) * SMALL;

			switch (round) {
			case 0:
				OK(MPI_File_iwrite_at(fh, at, to, SMALL,
					MPI_BYTE, &requests[i]));
				break;
			case 1:
				OK(MPI_File_iread_at(fh, at, to, SMALL,
					MPI_BYTE, &requests[i]));
				break;
			case 2:
				OK(MPI_File_iwrite_at_all(fh, at, to, SMALL,
					MPI_BYTE, &requests[i]));
				break;
			default:
				OK(MPI_File_iread_at_all(fh, at, to, SMALL,
					MPI_BYTE, &requests[i]));
			}
		}
		OK(MPI_Waitall(N, requests, MPI_STATUSES_IGNORE));
		CHECK(!(round & 1) || !memcmp(mine, got, N * SMALL),
			"all bytes are read back, %d", round);
	}
	OK(MPI_File_close(&fh));
}

/* A nonblocking write completes without further calls. */
static void without_calls(void)
{
	const char *name = file_named("calls");
	MPI_File fh = MPI_FILE_NULL;
	MPI_Request request;
	char byte = 0;
	int fd;

	fill(5);
	OK(MPI_File_open(MPI_COMM_WORLD, name,
		MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
		MPI_INFO_NULL, &fh));
	fd = open(name, O_RDONLY);
	OK(MPI_File_iwrite_at(fh, (MPI_Offset)mtest.rank * LEN, mine, LEN,
		MPI_BYTE, &request));
	for (double end = MPI_Wtime() + 60;
		byte != mine[LEN - 1] && MPI_Wtime() < end;)
		if (pread(fd, &byte, 1, (off_t)(mtest.rank + 1) * LEN - 1) < 0)
			break;
	CHECK(byte == mine[LEN - 1],
		"the write completes without a call of MPI");
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	close(fd);
	OK(MPI_File_close(&fh));
}

/* A write above the file size limit has the same error and count as without
 * io_uring. */
static void limited(void)
{
	MPI_File fh = file_scratch("limited");
	MPI_Offset at = (MPI_Offset)mtest.rank * LEN;
	struct rlimit old, limit;
	MPI_Request request;
	MPI_Status status;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = (rlim_t)at + LEN - 1001;
	setrlimit(RLIMIT_FSIZE, &limit);
	OK(MPI_File_iwrite_at(fh, at, mine, LEN, MPI_BYTE, &request));
	FAILS(MPI_Wait(&request, &status), MPI_ERR_IO);
	check_status(&status, LEN - 1001);
	OK(MPI_File_iwrite_at_all(fh, at, mine, LEN, MPI_BYTE, &request));
	FAILS(MPI_Wait(&request, &status), MPI_ERR_IO);
	check_status(&status, LEN - 1001);
	setrlimit(RLIMIT_FSIZE, &old);
	OK(MPI_File_close(&fh));
}

static MPI_File thread_file;
static MPI_Request thread_request;

static void *begin_and_end(void *arg)
{
	(void)arg;
	OK(MPI_File_iwrite_at(thread_file, (MPI_Offset)mtest.rank * LEN, mine,
		LEN, MPI_BYTE, &thread_request));
	return NULL;
}

/* Waits for an access whose thread has ended. */
static void by_a_thread(void)
{
	MPI_Status status;
	pthread_t thread;

	thread_file = file_scratch("thread");
	pthread_create(&thread, NULL, begin_and_end, NULL);
	pthread_join(thread, NULL);
	OK(MPI_Wait(&thread_request, &status));
	check_status(&status, LEN);
	OK(MPI_File_close(&thread_file));
}

/* All requests are refused, as after seccomp(2). */
static void refused(void)
{
	MPI_File fh = file_scratch("refused");

	fill(6);
	there_and_back(fh, (MPI_Offset)mtest.rank * LEN, LEN);
	is_refused = true;
	there_and_back(fh, (MPI_Offset)mtest.rank * LEN, LEN);
	there_and_back(fh, (MPI_Offset)mtest.rank * LEN, LEN);
	OK(MPI_File_close(&fh));
	fh = file_scratch("refused");
	there_and_back(fh, (MPI_Offset)mtest.rank * LEN, LEN);
	OK(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	if (why_not() && mtest.rank == 0)
		printf("# no io_uring: %s\n", why_not());
	moved();
	in_runs();
	many();
	without_calls();
	limited();
	by_a_thread();
	refused();
	return mtest_finish();
}
