/* SPDX-License-Identifier: BSD-3-Clause */
/* profile_finish: prints the page if Weft's mpiexec does not
 *
 * A process that exits creates the file done.<job>.<rank> beside its record. A
 * process that then finds the files of all ranks tries to create the file
 * printed.<job>. The process that creates it prints the page. If a process is
 * killed, no page is printed, and the records stay for weft-info --profile. The
 * job's name separates the files of jobs that use the same directory. */
#include "profile/profile_finish.h"

#include "profile/profile_report.h"

#include <fcntl.h>
#include <unistd.h>

#define FILE_PATH_MAX 4096

static void done_path(char path[FILE_PATH_MAX], const char *dir,
	const char *job, uint32_t rank)
{
	snprintf(path, FILE_PATH_MAX, "%s/done.%s.%u", dir, job, rank);
}

static void printed_path(
	char path[FILE_PATH_MAX], const char *dir, const char *job)
{
	snprintf(path, FILE_PATH_MAX, "%s/printed.%s", dir, job);
}

/* True if this call created the file. */
static bool create_mark(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool have_all_marks(const char *dir, const char *job, uint32_t n)
{
	char path[FILE_PATH_MAX];

	for (uint32_t r = 0; r < n; r++) {
		done_path(path, dir, job, r);
		if (access(path, F_OK))
			return false;
	}
	return true;
}

static void remove_records(const char *dir, const char *job, uint32_t n)
{
	char path[FILE_PATH_MAX];

	for (uint32_t r = 0; r < n; r++) {
		snprintf(path, sizeof(path), "%s/profile.%u", dir, r);
		unlink(path);
		done_path(path, dir, job, r);
		unlink(path);
	}
	printed_path(path, dir, job);
	unlink(path);
	rmdir(dir);
}

void weft_profile_finish(const char *profile, const char *dir, const char *job,
	uint32_t rank, uint32_t n, bool is_temporary)
{
	struct weft_profile_report report;
	char done[FILE_PATH_MAX], printed[FILE_PATH_MAX];

	done_path(done, dir, job, rank);
	printed_path(printed, dir, job);
	if (!create_mark(done) || !have_all_marks(dir, job, n) ||
		!create_mark(printed) ||
		weft_profile_report_make(&report, dir, n))
		return;
	weft_profile_output(&report, profile, "weft");
	weft_profile_report_fini(&report);
	if (is_temporary)
		remove_records(dir, job, n);
}
