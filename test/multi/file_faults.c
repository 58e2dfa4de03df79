/* SPDX-License-Identifier: BSD-3-Clause */
/* file_faults: a kernel that stops short, is interrupted and fails
 *
 * The program has pread, pwrite, fsync and close of its own, which the library
 * comes to. What is moved short is continued; an error of one process reaches
 * all of a collective, with its class, and the status has what was moved. */
#define _GNU_SOURCE
#include "file.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

enum { LEN = 100003 };

/* What the kernel is to do to descriptors of files, from now on. */
static struct {
	atomic_int short_by;  /* moves 1 of so many bytes; 0: all */
	atomic_int interrupt; /* every so manieth call; 0: never */
	atomic_int again;     /* the same */
	atomic_long full_at;  /* no byte is written from here on; 0: all are */
	atomic_int write_err, read_err, sync_err, close_err;
	atomic_int n_calls;
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

/* Not 0: what errno is to be. */
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

typedef ssize_t pread_fn(int fd, void *buf, size_t len, off_t at);
typedef ssize_t pwrite_fn(int fd, const void *buf, size_t len, off_t at);

static void *next(const char *name)
{
	void *fn = dlsym(RTLD_NEXT, name);

	if (!fn)
		abort();
	return fn;
}

ssize_t pread(int fd, void *buf, size_t len, off_t at)
{
	int err = fault_of(fd, faults.read_err);

	errno = err;
	return err ? -1
		   : ((pread_fn *)next("pread"))(fd, buf, shorter(fd, len), at);
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t at)
{
	int err = fault_of(fd, faults.write_err);

	if (!err && faults.full_at && is_file(fd)) {
		if (at >= faults.full_at)
			err = ENOSPC;
		else if (at + (off_t)len > faults.full_at)
			len = (size_t)(faults.full_at - at);
	}
	errno = err;
	return err ? -1
		   : ((pwrite_fn *)next("pwrite"))(
			     fd, buf, shorter(fd, len), at);
}

int fsync(int fd)
{
	int err = faults.sync_err && is_file(fd) ? faults.sync_err : 0;

	errno = err;
	return err ? -1 : ((int (*)(int))next("fsync"))(fd);
}

int close(int fd)
{
	int err = faults.close_err && is_file(fd) ? faults.close_err : 0;
	int rc = ((int (*)(int))next("close"))(fd);

	if (err)
		errno = err;
	return err ? -1 : rc;
}

/* ---- what is tried ---- */

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
	CHECK(file_count(&status, MPI_BYTE) == LEN, "all of it: %d",
		file_count(&status, MPI_BYTE));
	OK(MPI_File_read_at(fh, at, got, LEN, MPI_BYTE, &status));
	CHECK(file_count(&status, MPI_BYTE) == LEN && !memcmp(mine, got, LEN),
		"and back");
	memset(got, 0, LEN);
	OK(MPI_File_iread_at(fh, at, got, LEN, MPI_BYTE, &request));
	OK(MPI_Wait(&request, &status));
	CHECK(file_count(&status, MPI_BYTE) == LEN && !memcmp(mine, got, LEN),
		"also in a thread");
	CHECK(faults.n_calls > 50, "there were many calls: %d", faults.n_calls);
	no_faults();
	OK(MPI_File_close(&fh));
}

static bool is_last(void)
{
	return mtest.rank == mtest.size - 1;
}

static void check_words(int rc, const char *name)
{
	char text[MPI_MAX_ERROR_STRING];
	int len;

	MPI_Error_string(rc, text, &len);
	CHECK(strstr(text, name), "the words name the file: %s", text);
	if (is_last())
		CHECK(strstr(text, "100003 bytes at offset") &&
				strstr(text, strerror(ENOSPC)),
			"and offset, length and reason: %s", text);
	else
		CHECK(strstr(text, "rank"), "and whose it is: %s", text);
}

/* The last has no room; in a collective all hear it. */
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
	check_words(rc, "weft_full");
	FAILS(rc, MPI_ERR_NO_SPACE);
	CHECK(file_count(&status, MPI_BYTE) == wanted, "what was moved: %d",
		file_count(&status, MPI_BYTE));
	OK(MPI_File_iwrite_at_all(fh, at, mine, LEN, MPI_BYTE, &request));
	rc = MPI_Wait(&request, &status);
	check_words(rc, "weft_full");
	FAILS(rc, MPI_ERR_NO_SPACE);
	CHECK(file_count(&status, MPI_BYTE) == wanted, "and when begun: %d",
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

/* Runs of all that one of them writes: its error is everybody's, and each has
 * the count of its own bytes that are in the file. */
static void full_together(void)
{
	enum { RUN = 8, N = 4096 };
	MPI_File fh = file_scratch("together");
	MPI_Datatype runs;
	MPI_Status status;
	MPI_Info info;
	int size = mtest.size, last = N / 2 * RUN * size + 3 * RUN + 5;
	int wanted = N / 2 * RUN, rc;

	/* three more runs and a piece of one */
	for (int i = mtest.rank; i < 4; i += size)
		wanted += i < 3 ? RUN : 5;
	MPI_Type_vector(N, RUN, RUN * size, MPI_BYTE, &runs);
	MPI_Type_commit(&runs);
	MPI_Info_create(&info);
	MPI_Info_set(info, "romio_cb_write", "enable");
	MPI_Info_set(info, "romio_cb_read", "enable");
	MPI_Info_set(info, "cb_buffer_size", "16384");
	OK(MPI_File_set_view(
		fh, mtest.rank * RUN, MPI_BYTE, runs, "native", info));
	MPI_Info_free(&info);
	if (mtest.rank == 0)
		faults.full_at = last;
	rc = MPI_File_write_at_all(fh, 0, mine, N * RUN, MPI_BYTE, &status);
	FAILS(rc, MPI_ERR_NO_SPACE);
	CHECK(file_count(&status, MPI_BYTE) == wanted,
		"of the bytes in the file mine are %d, told are %d", wanted,
		file_count(&status, MPI_BYTE));
	no_faults();
	OK(MPI_File_read_at_all(fh, 0, got, N * RUN, MPI_BYTE, &status));
	CHECK(file_count(&status, MPI_BYTE) == wanted &&
			!memcmp(mine, got, (size_t)wanted),
		"and these are read: %d", file_count(&status, MPI_BYTE));
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
	CHECK(!memcmp(mine, got, N * RUN), "short ones are continued");
	MPI_Type_free(&runs);
	OK(MPI_File_close(&fh));
}

/* What comes late is not swallowed. */
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
	CHECK(fh == MPI_FILE_NULL, "closed all the same");
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	fill();
	continued();
	full();
	full_together();
	late();
	return mtest_finish();
}
