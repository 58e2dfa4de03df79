/* SPDX-License-Identifier: BSD-3-Clause */
/* file_faults: system calls that move less, are interrupted or fail
 *
 * The program replaces pread, pwrite, process_vm_readv, fsync and close. Short
 * transfers are continued. An error of one process is returned at all members
 * of a collective access, with its class, and the status has the number of
 * bytes moved. */
#define _GNU_SOURCE
#include "behind.h"
#include "file.h"

#include <errno.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/uio.h>
#include <sys/vfs.h>

enum { LEN = 100003 };

/* How the replaced calls treat descriptors of files. */
static struct {
	atomic_int short_by;  /* move len / short_by bytes; 0: all */
	atomic_int interrupt; /* fail every n-th call with EINTR; 0: none */
	atomic_int again;     /* fail every n-th call with EAGAIN; 0: none */
	atomic_long full_at;  /* first offset that cannot be written; 0: none */
	atomic_int write_err, read_err, sync_err, close_err;
	atomic_int n_calls;
	atomic_bool is_slow; /* writes wait while it is set */
	/* process_vm_readv: at most so many runs, or an error */
	atomic_int most_runs, scatter_err;
	atomic_int n_scatters;
} faults;

static void no_faults(void)
{
	memset(&faults, 0, sizeof(faults));
}

static bool is_file(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* Returns the errno of the next fault of a call on this descriptor, or 0. */
static int fault_of(int fd, int err)
{
	int n;

	if (!is_file(fd))
		return 0;
	n = ++faults.n_calls;
	if (faults.interrupt && n % faults.interrupt == 0)
		return EINTR;
	if (faults.again && n % faults.again == 1)
		return EAGAIN;
	return err;
}

static size_t shorter(int fd, size_t len)
{
	return faults.short_by && is_file(fd) && len > 1
		       ? 1 + len / (size_t)faults.short_by
		       : len;
}

ssize_t pread(int fd, void *buf, size_t len, off_t at)
{
	int err = fault_of(fd, faults.read_err);

	errno = err;
	return err ? -1
		   : ((pread_fn *)behind("pread"))(
			     fd, buf, shorter(fd, len), at);
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t at)
{
	int err = fault_of(fd, faults.write_err);

	while (faults.is_slow && is_file(fd))
		sched_yield();
	if (!err && faults.full_at && is_file(fd)) {
		if (at >= faults.full_at)
			err = ENOSPC;
		else if (at + (off_t)len > faults.full_at)
			len = (size_t)(faults.full_at - at);
	}
	errno = err;
	return err ? -1
		   : ((pwrite_fn *)behind("pwrite"))(
			     fd, buf, shorter(fd, len), at);
}

typedef ssize_t vm_fn(pid_t pid, const struct iovec *to, unsigned long n_to,
	const struct iovec *from, unsigned long n_from, unsigned long flags);

/* A call with the pid of this process is the library's scatter of short runs.
 */
ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n_to,
	const struct iovec *from, unsigned long n_from, unsigned long flags)
{
	int err = pid == getpid() ? faults.scatter_err : 0;

	if (pid == getpid()) {
		faults.n_scatters++;
		if (faults.most_runs && n_to > (unsigned long)faults.most_runs)
			n_to = (unsigned long)faults.most_runs;
	}
	errno = err;
	return err ? -1
		   : ((vm_fn *)behind("process_vm_readv"))(
			     pid, to, n_to, from, n_from, flags);
}

int fsync(int fd)
{
	int err = faults.sync_err && is_file(fd) ? faults.sync_err : 0;

	errno = err;
	return err ? -1 : ((int (*)(int))behind("fsync"))(fd);
}

int close(int fd)
{
	int err = faults.close_err && is_file(fd) ? faults.close_err : 0;
	int rc = ((int (*)(int))behind("close"))(fd);

	if (err)
		errno = err;
	return err ? -1 : rc;
}

/* ---- cases ---- */

static char mine[LEN], got[LEN];

static void fill(void)
{
	for (int i = 0; i < LEN; i++)
		mine[i] = (char)(i * 31 + mtest.rank);
}

static void continued(void)
{
	MPI_File fh = file_scratch("continued");
	MPI_Offset at = (MPI_Offset)mtest.rank * LEN;
	MPI_Request request;
	MPI_Status status;

	faults.short_by = 7;
	faults.interrupt = 3;
	faults.again = 40;
	OK(MPI_File_write_at(fh, at, mine, LEN, MPI_BYTE, &status));
	CHECK(file_count(&status, MPI_BYTE) == LEN, "all bytes are moved: %d",
		file_count(&status, MPI_BYTE));
	OK(MPI_File_read_at(fh, at, got, LEN, MPI_BYTE, &status));
	CHECK(file_count(&status, MPI_BYTE) == LEN && !memcmp(mine, got, LEN),
		"all bytes are read back");
	memset(got, 0, LEN);
	OK(MPI_File_iread_at(fh, at, got, LEN, MPI_BYTE, &request));
	OK(MPI_Wait(&request, &status));
	CHECK(file_count(&status, MPI_BYTE) == LEN && !memcmp(mine, got, LEN),
		"a nonblocking read returns all bytes");
	CHECK(faults.n_calls > 50, "short calls were repeated: %d",
		faults.n_calls);
	no_faults();
	OK(MPI_File_close(&fh));
}

static bool is_last(void)
{
	return mtest.rank == mtest.size - 1;
}

/* Checks the text of the last rank's error. At the other members, the text of a
 * blocking access is whole; that of a nonblocking access has only the file and
 * the rank. */
static void check_words(int rc, const char *name, bool is_begun)
{
	char text[MPI_MAX_ERROR_STRING], whose[32];
	int len;

	MPI_Error_string(rc, text, &len);
	CHECK(strstr(text, name), "the text names the file: %s", text);
	if (is_last() || !is_begun)
		CHECK(strstr(text, "100003 bytes at offset") &&
				strstr(text, strerror(ENOSPC)),
			"the text names offset, length and reason: %s", text);
	snprintf(whose, sizeof(whose), "at rank %d", mtest.size - 1);
	CHECK(is_last() || strstr(text, whose), "the text names the rank: %s",
		text);
}

/* The last process has no space. A collective access fails at all processes. */
static void full(void)
{
	MPI_File fh = file_scratch("full");
	MPI_Offset at = (MPI_Offset)mtest.rank * LEN;
	MPI_Request request;
	MPI_Status status;
	int wanted = is_last() ? 1000 : LEN, rc;

	if (is_last())
		faults.full_at = at + 1000;
	rc = MPI_File_write_at_all(fh, at, mine, LEN, MPI_BYTE, &status);
	check_words(rc, "weft_full", false);
	FAILS(rc, MPI_ERR_NO_SPACE);
	CHECK(file_count(&status, MPI_BYTE) == wanted,
		"the length in the status is right: %d",
		file_count(&status, MPI_BYTE));
	OK(MPI_File_iwrite_at_all(fh, at, mine, LEN, MPI_BYTE, &request));
	rc = MPI_Wait(&request, &status);
	check_words(rc, "weft_full", true);
	FAILS(rc, MPI_ERR_NO_SPACE);
	CHECK(file_count(&status, MPI_BYTE) == wanted,
		"the length in the status of a nonblocking access is right: %d",
		file_count(&status, MPI_BYTE));
	OK(MPI_File_write_at_all_begin(fh, at, mine, LEN, MPI_BYTE));
	FAILS(MPI_File_write_at_all_end(fh, mine, &status), MPI_ERR_NO_SPACE);
	if (is_last())
		faults.full_at = 1000;
	FAILS(MPI_File_write_ordered(
		      fh, mine, is_last() ? LEN : 0, MPI_BYTE, &status),
		MPI_ERR_NO_SPACE);
	if (is_last())
		FAILS(MPI_File_write_at(fh, at, mine, LEN, MPI_BYTE, &status),
			MPI_ERR_NO_SPACE);
	no_faults();
	OK(MPI_File_write_at_all(fh, at, mine, LEN, MPI_BYTE, &status));
	OK(MPI_File_close(&fh));
}

/* One aggregator writes for all: all get its error, and each status has the
 * number of the process's bytes that are in the file. */
static void full_together(void)
{
	enum { RUN = 8, N = 4096 };
	MPI_File fh = file_scratch("together");
	MPI_Request requests[2];
	MPI_Datatype runs;
	MPI_Status status;
	MPI_Info info;
	int size = mtest.size, last = N / 2 * RUN * size + 3 * RUN + 5;
	int wanted = N / 2 * RUN, rc;

	/* three more runs and a part of one */
	for (int i = mtest.rank; i < 4; i += size)
		wanted += i < 3 ? RUN : 5;
	MPI_Type_vector(N, RUN, RUN * size, MPI_BYTE, &runs);
	MPI_Type_commit(&runs);
	MPI_Info_create(&info);
	MPI_Info_set(info, "romio_cb_write", "enable");
	MPI_Info_set(info, "romio_cb_read", "enable");
	MPI_Info_set(info, "cb_buffer_size", "16384");
	MPI_Info_set(info, "cb_nodes", "1");
	OK(MPI_File_set_view(
		fh, mtest.rank * RUN, MPI_BYTE, runs, "native", info));
	MPI_Info_free(&info);
	if (mtest.rank == 0)
		faults.full_at = last;
	rc = MPI_File_write_at_all(fh, 0, mine, N * RUN, MPI_BYTE, &status);
	FAILS(rc, MPI_ERR_NO_SPACE);
	CHECK(file_count(&status, MPI_BYTE) == wanted,
		"%d own bytes are in the file, the status has %d", wanted,
		file_count(&status, MPI_BYTE));
	OK(MPI_File_iwrite_at_all(
		fh, 0, mine, N * RUN, MPI_BYTE, &requests[0]));
	OK(MPI_File_iwrite_at_all(
		fh, 0, mine, N * RUN / 4, MPI_BYTE, &requests[1]));
	FAILS(MPI_Wait(&requests[0], &status), MPI_ERR_NO_SPACE);
	CHECK(file_count(&status, MPI_BYTE) == wanted,
		"the length in the status of a nonblocking access is right: %d",
		file_count(&status, MPI_BYTE));
	OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
	no_faults();
	OK(MPI_File_read_at_all(fh, 0, got, N * RUN, MPI_BYTE, &status));
	CHECK(file_count(&status, MPI_BYTE) == wanted &&
			!memcmp(mine, got, (size_t)wanted),
		"the bytes in the file are read: %d",
		file_count(&status, MPI_BYTE));
	if (mtest.rank == 0)
		faults.read_err = EIO;
	FAILS(MPI_File_read_at_all(fh, 0, got, N * RUN, MPI_BYTE, &status),
		MPI_ERR_IO);
	CHECK(file_count(&status, MPI_BYTE) == 0, "nothing was read: %d",
		file_count(&status, MPI_BYTE));
	no_faults();
	faults.short_by = 5;
	faults.interrupt = 3;
	OK(MPI_File_write_at_all(fh, 0, mine, N * RUN, MPI_BYTE, &status));
	OK(MPI_File_read_at_all(fh, 0, got, N * RUN, MPI_BYTE, &status));
	no_faults();
	CHECK(!memcmp(mine, got, N * RUN), "short calls are continued");
	MPI_Type_free(&runs);
	OK(MPI_File_close(&fh));
}

/* ---- short runs, without aggregators ---- */

enum { RECORD = 24, N_RECORDS = 4000 }; /* of each process */

static bool is_stored_at_once(void)
{
	const char *cma = getenv("WEFT_CMA");
	struct statfs fs = { 0 };

	if (cma && !strcmp(cma, "off"))
		return false;
	statfs(".", &fs);
	return fs.f_type == TMPFS_MAGIC || fs.f_type == EXT4_SUPER_MAGIC ||
	       fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

static MPI_File open_records(const char *name, int amode, const char *sieve)
{
	MPI_Datatype runs;
	MPI_File fh = MPI_FILE_NULL;
	MPI_Info info;

	MPI_Info_create(&info);
	MPI_Info_set(info, "romio_ds_write", sieve);
	OK(MPI_File_open(MPI_COMM_WORLD, name,
		amode | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, info, &fh));
	MPI_Info_free(&info);
	MPI_Type_vector(
		N_RECORDS, RECORD, RECORD * mtest.size, MPI_BYTE, &runs);
	MPI_Type_commit(&runs);
	OK(MPI_File_set_view(fh, 3 + mtest.rank * RECORD, MPI_BYTE, runs,
		"native", MPI_INFO_NULL));
	MPI_Type_free(&runs);
	return fh;
}

/* Each process reads its own data, independent of the data that others wrote
 * between. */
static void check_records(MPI_File fh, int n_bytes)
{
	MPI_Status status;

	file_turn(fh);
	memset(got, 0, sizeof(got));
	OK(MPI_File_read_at(fh, 0, got, n_bytes, MPI_BYTE, &status));
	CHECK(file_count(&status, MPI_BYTE) == n_bytes &&
			!memcmp(mine, got, (size_t)n_bytes),
		"%d bytes of %d are in the file", file_count(&status, MPI_BYTE),
		n_bytes);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void write_records(MPI_File fh, int n_bytes)
{
	MPI_Status status;

	MPI_Barrier(MPI_COMM_WORLD);
	OK(MPI_File_write_at(fh, 0, mine, n_bytes, MPI_BYTE, &status));
	CHECK(file_count(&status, MPI_BYTE) == n_bytes,
		"all bytes are moved: %d", file_count(&status, MPI_BYTE));
}

/* Opens another handle, which writes without locks. Because of it, the library
 * must not write gaps back. */
static MPI_File open_beside(const char *name)
{
	MPI_File fh = MPI_FILE_NULL;

	OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_WRONLY | MPI_MODE_CREATE,
		MPI_INFO_NULL, &fh));
	OK(MPI_File_write_at(fh, 0, mine, 1, MPI_BYTE, MPI_STATUS_IGNORE));
	return fh;
}

static void scattered(void)
{
	enum { ALL = RECORD * N_RECORDS - 5 };
	const char *name = file_named("scattered");
	MPI_File beside = open_beside(name);
	MPI_File fh = open_records(name, MPI_MODE_RDWR, "automatic");
	bool is_at_once = is_stored_at_once();
	MPI_Status status;
	MPI_Offset len;
	int before, rc;

	write_records(fh, ALL);
	CHECK((faults.n_scatters > 0) == is_at_once,
		"many runs were stored by one call %d times",
		faults.n_scatters);
	check_records(fh, ALL);
	OK(MPI_File_get_size(fh, &len));
	CHECK(len == 3 + (MPI_Offset)RECORD * N_RECORDS * mtest.size - 5,
		"the file ends with the last record: %lld", (long long)len);
	MPI_Barrier(MPI_COMM_WORLD);
	OK(MPI_File_set_size(fh, 0));
	faults.most_runs = 100;
	write_records(fh, ALL);
	check_records(fh, ALL);
	no_faults();
	OK(MPI_File_set_size(fh, 0));
	/* as if a page cannot be allocated or the file was truncated */
	faults.scatter_err = EFAULT;
	faults.full_at = (MPI_Offset)RECORD * mtest.size * 1000 + 3;
	MPI_Barrier(MPI_COMM_WORLD);
	rc = MPI_File_write_at(fh, 0, mine, ALL, MPI_BYTE, &status);
	FAILS(rc, MPI_ERR_NO_SPACE);
	CHECK(file_count(&status, MPI_BYTE) == RECORD * 1000,
		"the status has the bytes before the full page: %d",
		file_count(&status, MPI_BYTE));
	check_records(fh, RECORD * 1000);
	no_faults();
	faults.scatter_err = EPERM;
	write_records(fh, ALL);
	before = faults.n_scatters;
	write_records(fh, ALL);
	CHECK(faults.n_scatters == before && before == is_at_once,
		"a forbidden call is tried once: %d", faults.n_scatters);
	check_records(fh, ALL);
	no_faults();
	OK(MPI_File_close(&beside));
	OK(MPI_File_close(&fh));
}

/* Scatter works on a write-only file; the hint disables it. */
static void scattered_only(void)
{
	const char *name = file_named("only");
	MPI_File beside = open_beside(name);
	MPI_File fh = open_records(name, MPI_MODE_WRONLY, "automatic");
	MPI_Status status;

	write_records(fh, RECORD * N_RECORDS);
	CHECK((faults.n_scatters > 0) == is_stored_at_once(),
		"runs were stored by one call %d times", faults.n_scatters);
	FAILS(MPI_File_read_at(fh, 0, got, 1, MPI_BYTE, &status),
		MPI_ERR_ACCESS);
	OK(MPI_File_close(&beside));
	OK(MPI_File_close(&fh));
	no_faults();
	fh = open_records(file_named("off"), MPI_MODE_RDWR, "disable");
	write_records(fh, RECORD * N_RECORDS);
	CHECK(faults.n_scatters == 0, "the hint disables scatter: %d calls",
		faults.n_scatters);
	check_records(fh, RECORD * N_RECORDS);
	OK(MPI_File_close(&fh));
}

/* With a slow disk, starting an access does not wait for earlier accesses. */
static void begun(void)
{
	MPI_File fh = file_scratch("begun");
	MPI_Offset at = (MPI_Offset)mtest.rank * 2 * LEN;
	MPI_Request requests[2];
	MPI_Status statuses[2];

	faults.is_slow = true;
	for (int i = 0; i < 2; i++)
		OK(MPI_File_iwrite_at_all(
			fh, at + i * LEN, mine, LEN, MPI_BYTE, &requests[i]));
	faults.is_slow = false;
	OK(MPI_Waitall(2, requests, statuses));
	for (int i = 0; i < 2; i++) {
		CHECK(file_count(&statuses[i], MPI_BYTE) == LEN,
			"all bytes are moved: %d",
			file_count(&statuses[i], MPI_BYTE));
		OK(MPI_File_read_at_all(
			fh, at + i * LEN, got, LEN, MPI_BYTE, &statuses[i]));
		CHECK(!memcmp(mine, got, LEN), "the data is in the file");
	}
	OK(MPI_File_close(&fh));
}

/* Errors of close and fsync are returned. */
static void late(void)
{
	MPI_File fh = file_scratch("late");
	MPI_Status status;

	if (is_last())
		faults.sync_err = EDQUOT;
	FAILS(MPI_File_sync(fh), MPI_ERR_QUOTA);
	no_faults();
	OK(MPI_File_sync(fh));
	if (is_last())
		faults.write_err = EIO;
	FAILS(MPI_File_write_all(fh, mine, LEN, MPI_BYTE, &status), MPI_ERR_IO);
	no_faults();
	if (is_last())
		faults.read_err = EIO;
	FAILS(MPI_File_read_all(fh, mine, LEN, MPI_BYTE, &status), MPI_ERR_IO);
	no_faults();
	if (is_last())
		faults.close_err = ENOSPC;
	FAILS(MPI_File_close(&fh), MPI_ERR_NO_SPACE);
	no_faults();
	CHECK(fh == MPI_FILE_NULL, "a failed close sets the handle to null");
}

int main(int argc, char **argv)
{
	faults.short_by = 7; /* collective accesses, too */
	mtest_init(&argc, &argv);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	no_faults();
	fill();
	continued();
	full();
	full_together();
	scattered();
	scattered_only();
	begun();
	late();
	return mtest_finish();
}
