/* SPDX-License-Identifier: BSD-3-Clause */
/* file_chdir: relative names refer to the directory of the open, also after
 * chdir() */
#include "file.h"

#include <errno.h>

enum {
	CREATE = MPI_MODE_CREATE | MPI_MODE_RDWR,
	GOES = CREATE | MPI_MODE_DELETE_ON_CLOSE,
};

static bool is_there(const char *folder, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return !access(path, F_OK);
}

static void put_file(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	CHECK(f && fputs(text, f) >= 0 && !fclose(f), "%s is written", path);
}

static MPI_File open_going(const char *name)
{
	MPI_File fh = MPI_FILE_NULL;

	OK(MPI_File_open(MPI_COMM_WORLD, name, GOES, MPI_INFO_NULL, &fh));
	MPI_Barrier(MPI_COMM_WORLD);
	return fh;
}

/* The close deletes the file although the process has changed to a directory,
 * which has no file of that name, or has one. */
static void delete_elsewhere(const char *folder, const char *name)
{
	for (int has = 0; has < 2; has++) {
		MPI_File fh;

		if (mtest.rank == 0 && has)
			put_file(folder, name, "somebody's");
		fh = open_going(name);
		CHECK(!chdir(folder), "the process changes into the folder");
		OK(MPI_File_close(&fh));
		CHECK(!chdir(".."), "the process changes back");
		MPI_Barrier(MPI_COMM_WORLD);
		CHECK(!is_there(".", name), "the file is gone");
		CHECK(is_there(folder, name) == has,
			"the file of the same name elsewhere stays");
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

/* The directory is renamed, and another directory gets its name. */
static void delete_where_it_went(const char *folder)
{
	char name[200], away[200];
	MPI_File fh;

	snprintf(name, sizeof(name), "%s/moved", folder);
	snprintf(away, sizeof(away), "%s.away", folder);
	fh = open_going(name);
	if (mtest.rank == 0) {
		CHECK(!rename(folder, away), "a folder is renamed");
		CHECK(!mkdir(folder, 0755), "a folder is created");
		put_file(folder, "moved", "somebody's");
	}
	MPI_Barrier(MPI_COMM_WORLD);
	OK(MPI_File_close(&fh));
	MPI_Barrier(MPI_COMM_WORLD);
	CHECK(!is_there(away, "moved"), "the file is gone");
	CHECK(is_there(folder, "moved"),
		"the file of the same name elsewhere stays");
	MPI_Barrier(MPI_COMM_WORLD);
	if (mtest.rank == 0) {
		unlink(name);
		CHECK(!rmdir(folder) && !rename(away, folder),
			"the folder is renamed back");
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Another file gets the name. */
static void replaced_stays(const char *name)
{
	MPI_File fh = open_going(name);
	char other[200];

	if (mtest.rank == 0) {
		snprintf(other, sizeof(other), "%s.new", name);
		put_file(".", other, "somebody's");
		CHECK(!rename(other, name), "a file is replaced");
	}
	MPI_Barrier(MPI_COMM_WORLD);
	FAILS(MPI_File_close(&fh), MPI_ERR_NO_SUCH_FILE);
	CHECK(fh == MPI_FILE_NULL, "a failed close sets the handle to null");
	CHECK(is_there(".", name), "the file that replaced it stays");
	MPI_Barrier(MPI_COMM_WORLD);
	if (mtest.rank == 0)
		unlink(name);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* A symbolic link is deleted, and its target is not. */
static void link_goes(const char *name)
{
	char target[200];
	MPI_File fh;

	snprintf(target, sizeof(target), "%s.target", name);
	if (mtest.rank == 0) {
		put_file(".", target, "kept");
		CHECK(!symlink(target, name), "a link is created");
	}
	MPI_Barrier(MPI_COMM_WORLD);
	fh = open_going(name);
	OK(MPI_File_close(&fh));
	MPI_Barrier(MPI_COMM_WORLD);
	CHECK(!is_there(".", name), "the link is gone");
	CHECK(is_there(".", target), "its target stays");
	MPI_Barrier(MPI_COMM_WORLD);
	if (mtest.rank == 0)
		unlink(target);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void hints_count_from_the_start(const char *folder, const char *name)
{
	MPI_File fh = MPI_FILE_NULL;
	MPI_Info info;
	char value[64] = "";
	int flag = 0, len = sizeof(value);

	if (mtest.rank == 0)
		put_file(".", name, "cb_buffer_size 7340032\n");
	MPI_Barrier(MPI_COMM_WORLD);
	setenv("ROMIO_HINTS", name, 1);
	CHECK(!chdir(folder), "the process changes into the folder");
	fh = open_going("hinted");
	OK(MPI_File_get_info(fh, &info));
	OK(MPI_Info_get_string(info, "cb_buffer_size", &len, value, &flag));
	CHECK(flag && !strcmp(value, "7340032"), "cb_buffer_size is %s", value);
	MPI_Info_free(&info);
	OK(MPI_File_close(&fh));
	CHECK(!chdir(".."), "the process changes back");
	unsetenv("ROMIO_HINTS");
	MPI_Barrier(MPI_COMM_WORLD);
	if (mtest.rank == 0)
		unlink(name);
}

static void environment_is_of_the_start(const char *folder)
{
	char start[4096], value[4096] = "";
	int flag = 0, len = sizeof(value);

	CHECK(getcwd(start, sizeof(start)), "the current folder has a name");
	CHECK(!chdir(folder), "the process changes into the folder");
	OK(MPI_Info_get_string(MPI_INFO_ENV, "wdir", &len, value, &flag));
	CHECK(!flag || !strcmp(value, start), "wdir is %s, not %s", value,
		start);
	CHECK(!chdir(".."), "the process changes back");
}

int main(int argc, char **argv)
{
	const char *folder, *name;

	mtest_init(&argc, &argv);
	folder = file_named("folder");
	name = file_named("chdir");
	if (mtest.rank == 0)
		CHECK(!mkdir(folder, 0755), "a folder is created");
	MPI_Barrier(MPI_COMM_WORLD);
	environment_is_of_the_start(folder);
	delete_elsewhere(folder, name);
	if (mtest.rank == 0) {
		char path[256];

		snprintf(path, sizeof(path), "%s/%s", folder, name);
		unlink(path);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	delete_where_it_went(folder);
	replaced_stays(name);
	link_goes(name);
	hints_count_from_the_start(folder, name);
	MPI_Barrier(MPI_COMM_WORLD);
	if (mtest.rank == 0)
		CHECK(!rmdir(folder), "the folder is empty");
	return mtest_finish();
}
