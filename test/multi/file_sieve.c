/* SPDX-License-Identifier: BSD-3-Clause */
/* file_sieve: data sieving loses no byte of other writers
 *
 * Each process writes records between those of the others, and bytes between
 * the records through another handle of the same file, at the same time. The
 * number of system calls shows whether records were written individually. */
#define _GNU_SOURCE
#include "behind.h"
#include "file.h"
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/uio.h>
#include <sys/vfs.h>

enum {
	RECORD = 24, /* bytes that are written through the first handle */
	GAP = 8,     /* bytes that are written through the second handle */
	SLOT = RECORD + GAP,
	N = 2000,
	ROUNDS = 8,
	BUFFER = 301000,
	BUFFERS = (2 * BUFFER + 4095) / 4096 * 4096,
};

static atomic_int n_reads, n_writes, n_made;
static _Atomic size_t longest; /* bytes of the longest write */
static bool is_cold;	       /* no page of the file is cached */
static uint32_t
	magic; /* statfs type to report to the library; 0: the real one */
static int rank, size;

/* Delays the time between the read and the write of a sieve. */
ssize_t pread(int fd, void *buf, size_t len, off_t at)
{
	ssize_t n = ((pread_fn *)behind("pread"))(fd, buf, len, at);

	n_reads++;
	for (int i = 0; i < 3; i++)
		sched_yield();
	return n;
}

/* The library calls preadv2 with RWF_NOWAIT to find out whether a byte is
 * cached. */
ssize_t preadv2(int fd, const struct iovec *to, int n, off_t at, int flags)
{
	typedef ssize_t preadv2_fn(
		int fd, const struct iovec *to, int n, off_t at, int flags);

	errno = EAGAIN;
	return is_cold ? -1
		       : ((preadv2_fn *)behind("preadv2"))(
				 fd, to, n, at, flags);
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t at)
{
	n_writes++;
	if (len > longest)
		longest = len;
	return ((pwrite_fn *)behind("pwrite"))(fd, buf, len, at);
}

int fstatfs(int fd, struct statfs *fs)
{
	int rc = ((int (*)(int, struct statfs *))behind("fstatfs"))(fd, fs);

	if (!rc && magic)
		fs->f_type = (__typeof__(fs->f_type))magic;
	return rc;
}

/* Counts the aggregators' buffers that the library creates in kept(): they have
 * BUFFERS bytes. */
int ftruncate(int fd, off_t len)
{
	n_made += len == BUFFERS;
	return ((int (*)(int, off_t))behind("ftruncate"))(fd, len);
}

/* True if the library treats the file system of this directory as local. */
static bool is_local(void)
{
	struct statfs fs;

	OK(statfs(".", &fs));
	switch ((uint32_t)fs.f_type) {
	case TMPFS_MAGIC:
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case OVERLAYFS_SUPER_MAGIC:
		return true;
	default:
		return false;
	}
}

/* Sets a view of len bytes in each slot of this process, from byte `from` of
 * the slot. */
static void set_view(MPI_File fh, int from, int len)
{
	MPI_Datatype bytes, type;

	MPI_Type_contiguous(len, MPI_BYTE, &bytes);
	MPI_Type_create_resized(bytes, 0, SLOT * size, &type);
	MPI_Type_commit(&type);
	OK(MPI_File_set_view(fh, (MPI_Offset)rank * SLOT + from, MPI_BYTE, type,
		"native", MPI_INFO_NULL));
	MPI_Type_free(&bytes);
	MPI_Type_free(&type);
}

static MPI_File opened(MPI_Comm comm, const char *name)
{
	MPI_File fh = MPI_FILE_NULL;

	OK(MPI_File_open(comm, name, MPI_MODE_RDWR | MPI_MODE_CREATE,
		MPI_INFO_NULL, &fh));
	return fh;
}

static unsigned char byte_of(int round, int i, int in)
{
	return (unsigned char)(round * 31 + rank * 57 + i * 7 + in);
}

/* Checks that all bytes of this process have their last value. */
static void check_slots(const char *name, int record_round, int gap_round)
{
	int fd = open(name, O_RDONLY), wrong = 0;
	unsigned char slot[SLOT];

	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < N; i++) {
		off_t at = ((off_t)i * size + rank) * SLOT;
		ssize_t n = ((pread_fn *)behind("pread"))(fd, slot, SLOT, at);

		for (int k = 0; k < SLOT; k++) {
			int round = k < RECORD ? record_round : gap_round;

			if (round >= 0 &&
				(k >= n || slot[k] != byte_of(round, i, k)))
				wrong++;
		}
	}
	close(fd);
	CHECK(!wrong, "no byte of another writer is overwritten: %d", wrong);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void fill(unsigned char *to, int round, int from, int len)
{
	for (int i = 0; i < N; i++)
		for (int k = 0; k < len; k++)
			to[i * len + k] = byte_of(round, i, from + k);
}

static void write_records(MPI_File fh, int round)
{
	static unsigned char mine[N * RECORD];
	MPI_Status status;

	fill(mine, round, 0, RECORD);
	MPI_Barrier(MPI_COMM_WORLD);
	OK(MPI_File_write_at(fh, 0, mine, N * RECORD, MPI_BYTE, &status));
	CHECK(file_count(&status, MPI_BYTE) == N * RECORD,
		"all bytes are moved: %d", file_count(&status, MPI_BYTE));
}

/* How write_gaps() writes through the second handle. */
enum way { ONE_BY_ONE, SIEVED, TOGETHER };

static void write_gaps(MPI_File fh, enum way way, int round)
{
	static unsigned char mine[N * GAP];
	MPI_Status status;

	fill(mine, round, RECORD, GAP);
	if (way == TOGETHER)
		OK(MPI_File_write_at_all(
			fh, 0, mine, N * GAP, MPI_BYTE, &status));
	else if (way == SIEVED)
		OK(MPI_File_write_at(fh, 0, mine, N * GAP, MPI_BYTE, &status));
	else
		for (int i = 0; i < N; i++)
			OK(MPI_File_write_at(fh,
				((MPI_Offset)i * size + rank) * SLOT + RECORD,
				mine + i * GAP, GAP, MPI_BYTE, &status));
}

/* Writes records with a nonblocking access, and meanwhile the gaps between them
 * through the other handle. */
static void both(MPI_File records, MPI_File gaps, enum way way, int round)
{
	static unsigned char mine[N * RECORD];
	MPI_Request request;
	MPI_Status status;

	fill(mine, round, 0, RECORD);
	MPI_Barrier(MPI_COMM_WORLD);
	OK(MPI_File_iwrite_at(
		records, 0, mine, N * RECORD, MPI_BYTE, &request));
	write_gaps(gaps, way, round);
	OK(MPI_Wait(&request, &status));
}

/* Reads all records in one access, and makes one access beyond the end of the
 * file. */
static void read_records(MPI_File fh, int round)
{
	static unsigned char mine[N * RECORD], wanted[N * RECORD];
	int before = n_reads;
	MPI_Status status;

	fill(wanted, round, 0, RECORD);
	OK(MPI_File_read_at(fh, 0, mine, N * RECORD, MPI_BYTE, &status));
	CHECK(n_reads - before == 1, "one call reads all records: %d for %d",
		n_reads - before, N);
	CHECK(file_count(&status, MPI_BYTE) == N * RECORD &&
			!memcmp(mine, wanted, N * RECORD),
		"all bytes are as written: %d bytes read",
		file_count(&status, MPI_BYTE));
	OK(MPI_File_read_at(
		fh, (N - 60) * RECORD, mine, 61 * RECORD, MPI_BYTE, &status));
	CHECK(file_count(&status, MPI_BYTE) == 60 * RECORD &&
			!memcmp(mine, wanted + (N - 60) * RECORD, 60 * RECORD),
		"a read ends at the end of the file: %d bytes",
		file_count(&status, MPI_BYTE));
}

/* Many records are written by a few system calls, and no byte of another writer
 * is lost. */
static void alone(void)
{
	const char *name = file_named("sieve");
	MPI_File fh = opened(MPI_COMM_WORLD, name);
	int before;

	set_view(fh, 0, RECORD);
	for (int round = 0; round < ROUNDS; round++) {
		before = n_writes;
		write_records(fh, round);
		CHECK(!is_local() || n_writes - before < N / 100,
			"few calls write all records: %d for %d",
			n_writes - before, N);
		check_slots(name, round, -1);
	}
	read_records(fh, ROUNDS - 1);
	OK(MPI_File_close(&fh));
	if (rank == 0)
		OK(MPI_File_delete(name, MPI_INFO_NULL));
}

/* Sets a view of runs of len bytes with gaps of the same length, which begins
 * at byte `from` of the file. */
static void set_turns(MPI_File fh, int from, int len)
{
	MPI_Datatype run, turn;

	MPI_Type_contiguous(len, MPI_BYTE, &run);
	MPI_Type_create_resized(run, 0, 2 * len, &turn);
	MPI_Type_commit(&turn);
	OK(MPI_File_set_view(
		fh, from, MPI_BYTE, turn, "native", MPI_INFO_NULL));
	MPI_Type_free(&run);
	MPI_Type_free(&turn);
}

/* Writes runs with gaps of the same length, longer than a block. On a disk, the
 * runs are sieved, unless the gaps are not cached and the runs fill whole pages
 * (from = 0). In tmpfs, they are written individually. */
static void on_disk(bool is_disk, int from)
{
	enum { RUN = 8192, RUNS = 64 };
	bool is_along = is_disk && (!is_cold || from);
	const char *name = file_named("disk");
	char *mine = calloc(RUNS, RUN);
	MPI_File fh;
	int before;

	magic = is_disk ? EXT4_SUPER_MAGIC : TMPFS_MAGIC;
	fh = opened(MPI_COMM_SELF, name);
	set_turns(fh, from, RUN);
	before = n_writes;
	longest = 0;
	OK(MPI_File_write_at(
		fh, 0, mine, RUNS * RUN, MPI_BYTE, MPI_STATUS_IGNORE));
	CHECK(is_along ? n_writes - before <= 4 : n_writes - before == RUNS,
		"%d runs from %d take the right number of calls: %d, %s%s",
		RUNS, from, n_writes - before, is_cold ? "cold " : "",
		is_disk ? "disk" : "memory");
	CHECK(longest == (is_along ? (size_t)(512 << 10) - (size_t)from : RUN),
		"the longest call has the right length: %zu bytes", longest);
	free(mine);
	OK(MPI_File_close(&fh));
	OK(MPI_File_delete(name, MPI_INFO_NULL));
	magic = 0;
}

/* As on_disk(), if the pages of the file are cached and each run fills whole
 * pages. On a disk, runs of up to 8192 bytes are sieved. */
static void on_pages(bool is_disk, int run_len)
{
	enum { RUNS = 64 };
	bool is_along = is_disk && run_len <= 8192;
	const char *name = file_named("pages");
	char *mine = calloc(RUNS, (size_t)run_len * 2);
	MPI_File fh;
	int before;

	magic = is_disk ? EXT4_SUPER_MAGIC : TMPFS_MAGIC;
	fh = opened(MPI_COMM_SELF, name);
	OK(MPI_File_write_at(
		fh, 0, mine, RUNS * run_len * 2, MPI_BYTE, MPI_STATUS_IGNORE));
	set_turns(fh, 0, run_len);
	before = n_writes;
	OK(MPI_File_write_at(
		fh, 0, mine, RUNS * run_len, MPI_BYTE, MPI_STATUS_IGNORE));
	CHECK(is_along ? n_writes - before <= 5 : n_writes - before == RUNS,
		"%d runs of %d bytes take the right number of calls: %d, %s",
		RUNS, run_len, n_writes - before, is_disk ? "disk" : "memory");
	free(mine);
	OK(MPI_File_close(&fh));
	OK(MPI_File_delete(name, MPI_INFO_NULL));
	magic = 0;
}

/* Moves the file to another directory. */
static const char *moved_to(const char *name, const char *folder)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		CHECK(!mkdir(folder, 0700) && !rename(name, path),
			"the file is moved: %s", strerror(errno));
	MPI_Barrier(MPI_COMM_WORLD);
	return path;
}

/* Two handles of one file. is_first: the handle of the gaps writes before the
 * handle of the records sieves; otherwise it is opened afterwards. folder: the
 * file is moved there between the two; NULL: it is not moved. */
static void with_another(enum way way, bool is_first, const char *folder)
{
	const char *name = file_named("another");
	MPI_File records = opened(MPI_COMM_WORLD, name), gaps;
	MPI_Comm comm = way == TOGETHER ? MPI_COMM_WORLD : MPI_COMM_SELF;

	if (!is_first) {
		set_view(records, 0, RECORD);
		write_records(records, 0);
		if (folder)
			name = moved_to(name, folder);
	}
	gaps = opened(comm, name);
	if (way != ONE_BY_ONE)
		set_view(gaps, RECORD, GAP);
	write_gaps(gaps, way, 0);
	if (is_first && folder)
		name = moved_to(name, folder);
	if (is_first)
		set_view(records, 0, RECORD);
	for (int round = 0; round < ROUNDS; round++) {
		both(records, gaps, way, round);
		check_slots(name, round, round);
	}
	OK(MPI_File_close(&gaps));
	OK(MPI_File_close(&records));
	if (rank == 0) {
		OK(MPI_File_delete(name, MPI_INFO_NULL));
		CHECK(!folder || !rmdir(folder), "the folder is empty");
	}
}

/* The program holds a process lock of the whole file; neither this nor another
 * process waits for it. */
static void locked(void)
{
	const char *name = file_named("locked");
	MPI_File fh = opened(MPI_COMM_WORLD, name);
	int fd = open(name, O_RDWR);

	set_view(fh, 0, RECORD);
	write_records(fh, 0);
	for (int i = 0; i < 2; i++) {
		if (rank == i % size)
			OK(lockf(fd, F_LOCK, 0));
		write_records(fh, i + 1);
		check_slots(name, i + 1, -1);
		if (rank == i % size)
			OK(lockf(fd, F_ULOCK, 0));
	}
	close(fd);
	OK(MPI_File_close(&fh));
	if (rank == 0)
		OK(MPI_File_delete(name, MPI_INFO_NULL));
}

/* Another open file description holds a lock of the file for long. The access
 * that waits for the lock prints FILE-LOCK. */
static void stopped(bool is_atomic)
{
	static unsigned char mine[N * RECORD];
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	const char *name = file_named("stopped");
	MPI_File fh = opened(MPI_COMM_WORLD, name);
	int fd = open(name, O_RDWR);
	MPI_Request request;

	set_view(fh, 0, RECORD);
	OK(MPI_File_set_atomicity(fh, is_atomic));
	lock.l_len = 1 << 20;
	OK(fcntl(fd, F_OFD_SETLK, &lock));
	output_capture();
	OK(MPI_File_iwrite_at(fh, 0, mine, N * RECORD, MPI_BYTE, &request));
	for (double end = MPI_Wtime() + 60; MPI_Wtime() < end; sched_yield()) {
		output_read();
		if (output_count("FILE-LOCK"))
			break;
	}
	output_restore();
	CHECK(output_count("FILE-LOCK") == 1 && output_count(name) == 1,
		"the wait is reported: %s", output_text);
	lock.l_type = F_UNLCK;
	OK(fcntl(fd, F_OFD_SETLK, &lock));
	close(fd);
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	OK(MPI_File_close(&fh));
	OK(MPI_File_delete(name, MPI_INFO_NULL));
}

/* Aggregators' buffers are created once, not for each file. */
static void kept(void)
{
	static unsigned char mine[N * SLOT];
	const char *name = file_named("kept");
	int before = 0;
	MPI_Info info;

	for (int i = 0; i < 10; i++) {
		MPI_File fh = opened(MPI_COMM_WORLD, name);

		MPI_Info_create(&info);
		MPI_Info_set(info, "cb_buffer_size", "301000");
		OK(MPI_File_set_info(fh, info));
		MPI_Info_free(&info);
		set_view(fh, 0, SLOT);
		fill(mine, i, 0, SLOT);
		OK(MPI_File_write_at_all(
			fh, 0, mine, N * SLOT, MPI_BYTE, MPI_STATUS_IGNORE));
		check_slots(name, i, i);
		OK(MPI_File_close(&fh));
		if (i == 0)
			before = n_made;
	}
	CHECK(n_made == before && before <= 1,
		"buffers made for later files: %d, and %d for the first",
		n_made - before, before);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		OK(MPI_File_delete(name, MPI_INFO_NULL));
}

/* Aggregators write runs of several blocks. Process 1 is not an aggregator. */
static void gathered(void)
{
	enum { RUN = 16384, RUNS = 64 };
	const char *name = file_named("gathered");
	MPI_File fh = opened(MPI_COMM_WORLD, name);
	char *mine = calloc(RUNS, RUN);
	MPI_Datatype run, turn;
	int before;

	MPI_Type_contiguous(RUN, MPI_BYTE, &run);
	MPI_Type_create_resized(run, 0, (MPI_Aint)RUN * size, &turn);
	MPI_Type_commit(&turn);
	OK(MPI_File_set_view(fh, (MPI_Offset)rank * RUN, MPI_BYTE, turn,
		"native", MPI_INFO_NULL));
	before = n_writes;
	OK(MPI_File_write_at_all(
		fh, 0, mine, RUNS * RUN, MPI_BYTE, MPI_STATUS_IGNORE));
	CHECK(rank != 1 || n_writes == before,
		"process 1 writes nothing: %d calls", n_writes - before);
	MPI_Type_free(&run);
	MPI_Type_free(&turn);
	free(mine);
	OK(MPI_File_close(&fh));
	if (rank == 0)
		OK(MPI_File_delete(name, MPI_INFO_NULL));
}

/* The number of aggregators' buffers that are mapped in this process. */
static int n_mapped(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long begin, end;
	char line[512];
	int n = 0;

	while (maps && fgets(line, sizeof(line), maps))
		n += strstr(line, "/memfd:") &&
		     sscanf(line, "%lx-%lx", &begin, &end) == 2 &&
		     end - begin == BUFFERS;
	if (maps)
		fclose(maps);
	return n;
}

int main(int argc, char **argv)
{
	int rc, kept_until_now;

	mtest_init(&argc, &argv);
	rank = mtest.rank;
	size = mtest.size;
	alone();
	for (int is_first = 0; is_first < 2; is_first++)
		for (int way = ONE_BY_ONE; way <= TOGETHER; way++)
			for (int moves = 0; moves < 2; moves++)
				with_another((enum way)way, is_first,
					moves ? file_named("folder") : NULL);
	locked();
	for (int is_atomic = 0; is_atomic < 2 && size == 1 && is_local();
		is_atomic++)
		stopped(is_atomic);
	if (size == 1) {
		on_disk(false, 0);
		on_disk(true, 0);
		is_cold = true;
		on_disk(true, 0);
		on_disk(true,
			1); /* the first and last pages of runs are read */
		is_cold = false;
		on_pages(false, 4096);
		on_pages(true, 4096);
		on_pages(true, 16384);
	}
	gathered();
	kept();
	kept_until_now = n_mapped();
	rc = mtest_finish();
	if (n_mapped()) {
		printf("# FAILED file_sieve: %d of %d not given back\n",
			n_mapped(), kept_until_now);
		return 1;
	}
	return rc;
}
