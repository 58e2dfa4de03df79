/* SPDX-License-Identifier: BSD-3-Clause */
/* file_full: a file system of a few megabytes that becomes full
 *
 * A child of the first process mounts a tmpfs in a namespace of its own, which
 * the others reach through /proc; or the argument names a directory. All kinds
 * of access fail at all members with MPI_ERR_NO_SPACE. No process dies, and the
 * space is free again after the file is deleted. */
#define _GNU_SOURCE
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

enum { RECORD = 64 };

static char folder[256];
static char *mine, *got;
static int room; /* free bytes */

/* ---- the file system ---- */

static int put(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		close(fd);
	return n < 0 ? -1 : 0;
}

/* Enters a new mount namespace, in a new user namespace if necessary. */
static int alone(void)
{
	char users[64], groups[64];

	snprintf(users, sizeof(users), "0 %u 1", (unsigned)geteuid());
	snprintf(groups, sizeof(groups), "0 %u 1", (unsigned)getegid());
	if (unshare(CLONE_NEWNS)) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) ||
			put("/proc/self/setgroups", "deny") ||
			put("/proc/self/uid_map", users) ||
			put("/proc/self/gid_map", groups))
			return errno;
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		mount("weft", "/tmp", "tmpfs", 0, "size=4m"))
		return errno;
	return 0;
}

/* Mounts the file system in a child, which ends when its pipe is closed.
 * Returns 0 or an errno. */
static int mounted(void)
{
	int said[2], end[2], err = 0;
	pid_t child;

	if (pipe2(said, O_CLOEXEC) || pipe2(end, O_CLOEXEC))
		return errno;
	child = fork();
	if (child < 0)
		return errno;
	if (child == 0) {
		char c;

		dup2(said[1], 1);
		dup2(end[0], 0);
		close_range(3, ~0U, 0);
		err = alone();
		if (write(1, &err, sizeof(err)) == sizeof(err) && !err)
			while (read(0, &c, 1) < 0 && errno == EINTR)
				;
		_exit(0);
	}
	close(said[1]);
	close(end[0]);
	if (read(said[0], &err, sizeof(err)) != sizeof(err))
		err = EIO;
	close(said[0]);
	snprintf(folder, sizeof(folder), "/proc/%d/root/tmp", (int)child);
	return err;
}

static void make_room(int argc, char **argv)
{
	struct statvfs st;
	char reason[128], here[300];
	int err = 0;

	if (argc > 1)
		snprintf(folder, sizeof(folder), "%s", argv[1]);
	else if (mtest.rank == 0)
		err = mounted();
	MPI_Bcast(&err, 1, MPI_INT, 0, MPI_COMM_WORLD);
	snprintf(reason, sizeof(reason), "no file system of our own: %s",
		strerror(err));
	if (err)
		mtest_skip(reason);
	MPI_Bcast(folder, sizeof(folder), MPI_BYTE, 0, MPI_COMM_WORLD);
	/* the pid may exist in another namespace, too */
	snprintf(here, sizeof(here), "%s/here", folder);
	if (mtest.rank == 0)
		err = put(here, "1") ? errno : 0;
	MPI_Barrier(MPI_COMM_WORLD);
	if (access(here, R_OK) || statvfs(folder, &st))
		err = errno;
	MPI_Allreduce(MPI_IN_PLACE, &err, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	if (mtest.rank == 0)
		unlink(here);
	snprintf(
		reason, sizeof(reason), "not to be reached: %s", strerror(err));
	if (err)
		mtest_skip(reason);
	room = (int)(st.f_bavail * st.f_bsize) / RECORD * RECORD;
	CHECK(room > 1 << 20 && room < 1 << 28,
		"the full file system had room for 1 to 256 MiB: %d bytes",
		room);
	mine = malloc(2 * (size_t)room);
	got = malloc(2 * (size_t)room);
	for (int i = 0; mine && i < 2 * room; i++)
		mine[i] = (char)mtest_byte((size_t)i, (unsigned)mtest.rank);
}

/* ---- cases ---- */

static MPI_File fresh(const char *name)
{
	char path[512];
	MPI_File fh = MPI_FILE_NULL;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	OK(MPI_File_open(MPI_COMM_WORLD, path,
		MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
		MPI_INFO_NULL, &fh));
	return fh;
}

/* Closes the file. Checks before that its space is free again when its size is
 * 0. */
static void closed(MPI_File *fh)
{
	MPI_Status status;

	OK(MPI_File_set_view(
		*fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
	OK(MPI_File_set_size(*fh, 0));
	OK(MPI_File_write_at_all(*fh, (MPI_Offset)mtest.rank * RECORD, mine,
		RECORD, MPI_BYTE, &status));
	OK(MPI_File_close(fh));
}

/* Each process writes its own range, individually or collectively. */
static void whole(void)
{
	MPI_File fh = fresh("whole");
	char text[MPI_MAX_ERROR_STRING];
	MPI_Request request;
	MPI_Status status;
	MPI_Offset len;
	int n, rc;

	if (mtest.rank == mtest.size - 1) {
		rc = MPI_File_write_at(
			fh, 0, mine, 2 * room, MPI_BYTE, &status);
		FAILS(rc, MPI_ERR_NO_SPACE);
		MPI_Error_string(rc, text, &n);
		CHECK(strstr(text, "whole") && strstr(text, strerror(ENOSPC)),
			"the text names the file and the reason: %s", text);
		n = file_count(&status, MPI_BYTE);
		OK(MPI_File_get_size(fh, &len));
		CHECK(n > room / 2 && n < 2 * room && len == n,
			"%d bytes were written, the file has %lld", n,
			(long long)len);
		OK(MPI_File_read_at(fh, 0, got, 2 * room, MPI_BYTE, &status));
		CHECK(file_count(&status, MPI_BYTE) == n &&
				!memcmp(mine, got, (size_t)n),
			"all written bytes are in the file: %d",
			file_count(&status, MPI_BYTE));
	}
	MPI_Barrier(MPI_COMM_WORLD);
	FAILS(MPI_File_preallocate(fh, 2 * (MPI_Offset)room), MPI_ERR_NO_SPACE);
	OK(MPI_File_set_size(fh, 0));
	FAILS(MPI_File_write_at_all(fh, (MPI_Offset)mtest.rank * room, mine,
		      room, MPI_BYTE, &status),
		MPI_ERR_NO_SPACE);
	OK(MPI_File_iwrite_at_all(fh, (MPI_Offset)mtest.rank * room, mine, room,
		MPI_BYTE, &request));
	FAILS(MPI_Wait(&request, &status), MPI_ERR_NO_SPACE);
	FAILS(MPI_File_write_ordered(fh, mine, room, MPI_BYTE, &status),
		MPI_ERR_NO_SPACE);
	closed(&fh);
}

/* Writes interleaved records of all processes. Each process writes as many
 * bytes as are free, so the space is exhausted in any order of the processes.
 */
static void records(const char *aggregators, bool is_long)
{
	MPI_File fh = fresh("records");
	MPI_Datatype turn;
	MPI_Request request;
	MPI_Status status;
	MPI_Info info;

	MPI_Type_vector(
		room / RECORD, RECORD, RECORD * mtest.size, MPI_BYTE, &turn);
	MPI_Type_commit(&turn);
	MPI_Info_create(&info);
	MPI_Info_set(info, "romio_cb_write", aggregators);
	OK(MPI_File_set_view(fh, (MPI_Offset)mtest.rank * RECORD, MPI_BYTE,
		turn, "native", info));
	MPI_Info_free(&info);
	if (is_long) /* scatter to pages that do not exist */
		OK(MPI_File_set_size(fh, (MPI_Offset)mtest.size * room));
	FAILS(MPI_File_write_at_all(fh, 0, mine, room, MPI_BYTE, &status),
		MPI_ERR_NO_SPACE);
	OK(MPI_File_iwrite_at_all(fh, 0, mine, room, MPI_BYTE, &request));
	FAILS(MPI_Wait(&request, &status), MPI_ERR_NO_SPACE);
	OK(MPI_File_set_size(fh, is_long ? (MPI_Offset)mtest.size * room : 0));
	FAILS(MPI_File_write_at(fh, 0, mine, room, MPI_BYTE, &status),
		MPI_ERR_NO_SPACE);
	OK(MPI_File_iwrite_at(fh, 0, mine, room, MPI_BYTE, &request));
	FAILS(MPI_Wait(&request, &status), MPI_ERR_NO_SPACE);
	MPI_Type_free(&turn);
	closed(&fh);
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	mtest_need(2);
	make_room(argc, argv);
	if (mine && got) {
		whole();
		for (int is_long = 0; is_long < 2; is_long++) {
			records("enable", is_long);
			records("disable", is_long);
		}
	}
	free(mine);
	free(got);
	return mtest_finish();
}
