/* SPDX-License-Identifier: BSD-3-Clause */
/* file_stripes: striped files, as on Lustre
 *
 * The program replaces statfs, fstatfs, open, ioctl and pwrite. A created file
 * gets the stripes of the hints, file domains begin at stripes, and
 * MPI_File_get_info returns what the file system reports. */
#define _GNU_SOURCE
#include "behind.h"
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

enum {
	LUSTRE = 0x0bd00bd0,
	LAYOUT_V1 = 0x0bd10bd0,
	LAYOUT_V3 = 0x0bd30bd0,
	DELAY_CREATE = 0100000000,
	STRIPE = 128 << 10,
	RECORD = 64,
	EACH = 8192, /* records of each process */
};

#define LAYOUT_SET _IOW('f', 154, long)
#define LAYOUT_GET _IOW('f', 155, long)

struct layout {
	uint32_t magic, pattern;
	uint64_t object[2];
	uint32_t len;
	uint16_t n_wide, first;
};

static struct {
	bool is_on, refuses;
	int n_made, n_set, n_got;
	struct layout layout;	/* len 0: not set */
	MPI_Offset least, most; /* range of the bytes that were written */
} disk;

int statfs(const char *path, struct statfs *fs)
{
	int rc = ((int (*)(const char *, struct statfs *))behind("statfs"))(
		path, fs);

	if (!rc && disk.is_on)
		fs->f_type = LUSTRE;
	return rc;
}

int fstatfs(int fd, struct statfs *fs)
{
	int rc = ((int (*)(int, struct statfs *))behind("fstatfs"))(fd, fs);

	if (!rc && disk.is_on)
		fs->f_type = LUSTRE;
	return rc;
}

int open(const char *path, int flags, ...)
{
	va_list args;
	int mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, int) : 0;
	va_end(args);
	if (flags & DELAY_CREATE)
		disk.n_made++;
	return ((int (*)(const char *, int, ...))behind("open"))(
		path, flags & ~DELAY_CREATE, mode);
}

int ioctl(int fd, unsigned long request, ...)
{
	struct layout *layout;
	va_list args;

	va_start(args, request);
	layout = va_arg(args, void *);
	va_end(args);
	if (request == LAYOUT_SET) {
		disk.n_set++;
		errno = EINVAL;
		if (disk.refuses)
			return -1;
		disk.layout = *layout;
		return 0;
	}
	if (request == LAYOUT_GET) {
		disk.n_got++;
		errno = ENODATA;
		if (!disk.layout.len)
			return -1;
		*layout = disk.layout;
		return 0;
	}
	return ((int (*)(int, unsigned long, ...))behind("ioctl"))(
		fd, request, layout);
}

typedef ssize_t pwrite_fn(int fd, const void *buf, size_t len, off_t at);

ssize_t pwrite(int fd, const void *buf, size_t len, off_t at)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		if (at < disk.least)
			disk.least = at;
		if (at + (MPI_Offset)len > disk.most)
			disk.most = at + (MPI_Offset)len;
	}
	return ((pwrite_fn *)behind("pwrite"))(fd, buf, len, at);
}

/* ---- cases ---- */

static const char *hint_of(MPI_File fh, const char *key)
{
	static char value[64];
	int there = 0, len = sizeof(value);
	MPI_Info info;

	OK(MPI_File_get_info(fh, &info));
	OK(MPI_Info_get_string(info, key, &len, value, &there));
	OK(MPI_Info_free(&info));
	return there ? value : "none";
}

static MPI_File opened(
	const char *name, int amode, const char *unit, const char *factor)
{
	MPI_File fh = MPI_FILE_NULL;
	MPI_Info info;

	MPI_Info_create(&info);
	MPI_Info_set(info, "striping_unit", unit);
	MPI_Info_set(info, "striping_factor", factor);
	MPI_Info_set(info, "cb_nodes", "3");
	MPI_Info_set(info, "cb_buffer_size", "32768");
	OK(MPI_File_open(MPI_COMM_WORLD, name,
		amode | MPI_MODE_RDWR | MPI_MODE_CREATE, info, &fh));
	MPI_Info_free(&info);
	/* all processes see the file that one of them created */
	MPI_Bcast(
		&disk.layout, sizeof(disk.layout), MPI_BYTE, 0, MPI_COMM_WORLD);
	return fh;
}

/* Writes and reads interleaved records. Checks that the range that each process
 * writes begins at a stripe. */
static void write_records(MPI_File fh)
{
	static char records[EACH * RECORD], back[EACH * RECORD];
	int n = mtest.size;
	MPI_Datatype type;
	MPI_Offset all[16][2];

	memset(records, 'a' + mtest.rank, sizeof(records));
	MPI_Type_vector(EACH, RECORD, RECORD * n, MPI_BYTE, &type);
	MPI_Type_commit(&type);
	OK(MPI_File_set_view(fh, (MPI_Offset)mtest.rank * RECORD, MPI_BYTE,
		type, "native", MPI_INFO_NULL));
	MPI_Type_free(&type);
	disk.least = INT64_MAX;
	disk.most = 0;
	OK(MPI_File_write_at_all(
		fh, 0, records, sizeof(records), MPI_BYTE, MPI_STATUS_IGNORE));
	OK(MPI_File_read_at_all(
		fh, 0, back, sizeof(back), MPI_BYTE, MPI_STATUS_IGNORE));
	CHECK(!memcmp(records, back, sizeof(back)),
		"the records are read back");
	MPI_Allgather(
		&disk.least, 2, MPI_OFFSET, all, 2, MPI_OFFSET, MPI_COMM_WORLD);
	for (int i = 0; i < n && n > 1; i++)
		CHECK(!all[i][1] || all[i][0] % STRIPE == 0,
			"%d begins at %lld, which begins a stripe", i,
			(long long)all[i][0]);
}

static void created(const char *name)
{
	MPI_File fh = opened(name, MPI_MODE_EXCL, "131072", "3");
	bool is_first = mtest.rank == 0;

	CHECK(disk.n_made == is_first && disk.n_set == is_first,
		"one process creates the file: %d, %d", disk.n_made,
		disk.n_set);
	CHECK(disk.layout.magic == LAYOUT_V1 && disk.layout.len == STRIPE &&
			disk.layout.n_wide == 3 &&
			disk.layout.first == UINT16_MAX,
		"the layout is the requested one: %u wide of %u",
		disk.layout.n_wide, disk.layout.len);
	CHECK(!strcmp(hint_of(fh, "striping_unit"), "131072"),
		"striping_unit is returned");
	CHECK(!strcmp(hint_of(fh, "striping_factor"), "3"),
		"striping_factor is the number of stripes");
	write_records(fh);
	OK(MPI_File_close(&fh));
}

/* An existing file keeps its stripes, whatever the hints are. */
static void there(const char *name)
{
	int n_set = disk.n_set;
	MPI_File fh;

	disk.layout.magic = LAYOUT_V3;
	fh = opened(name, 0, "65536", "7");
	CHECK(disk.n_set == n_set, "an existing file keeps its layout");
	CHECK(!strcmp(hint_of(fh, "striping_unit"), "131072"),
		"striping_unit is that of the file");
	CHECK(!strcmp(hint_of(fh, "striping_factor"), "3"),
		"striping_factor is the number of stripes");
	write_records(fh);
	OK(MPI_File_close(&fh));
	FAILS(MPI_File_open(MPI_COMM_WORLD, name,
		      MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL,
		      MPI_INFO_NULL, &fh),
		MPI_ERR_FILE_EXISTS);
}

/* If the layout is refused, the file exists, and the hint only sets domains. */
static void refused(const char *name)
{
	MPI_File fh;

	disk.refuses = true;
	disk.layout.len = 0;
	disk.n_set = 0;
	fh = opened(name, MPI_MODE_DELETE_ON_CLOSE, "131072", "3");
	CHECK(disk.n_set == (mtest.rank == 0),
		"the call to set the layout was tried");
	CHECK(!strcmp(hint_of(fh, "striping_factor"), "none"),
		"a factor that could not be set is not returned");
	write_records(fh);
	OK(MPI_File_close(&fh));
}

/* On other file systems there is no ioctl. */
static void elsewhere(const char *name)
{
	MPI_File fh;

	disk.is_on = false;
	disk.n_set = disk.n_got = disk.n_made = 0;
	fh = opened(name, MPI_MODE_DELETE_ON_CLOSE, "131072", "3");
	CHECK(!strcmp(hint_of(fh, "striping_factor"), "none"),
		"a file without stripes has no striping_factor");
	CHECK(!strcmp(hint_of(fh, "striping_unit"), "131072"),
		"striping_unit is that of the file domains");
	write_records(fh);
	CHECK(!disk.n_set && !disk.n_got && !disk.n_made,
		"the file system is not asked for a layout");
	OK(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
	const char *name, *other;

	mtest_init(&argc, &argv);
	name = file_named("stripes");
	other = file_named("stripes_other");
	disk.is_on = true;
	created(name);
	there(name);
	MPI_Barrier(MPI_COMM_WORLD);
	if (mtest.rank == 0)
		OK(MPI_File_delete(name, MPI_INFO_NULL));
	refused(other);
	elsewhere(other);
	return mtest_finish();
}
