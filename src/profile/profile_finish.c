/* SPDX-License-Identifier: BSD-3-Clause */
/* profile_finish: prints the page if Weft's mpiexec does not
 *
 * A process that exits creates the file done.<rank> beside its record. A
 * process that then finds the files of all ranks tries to create the file
 * "printed". The process that creates it prints the page. If a process is
 * killed, no page is printed, and the records stay for weft-info --profile. */
#include "profile/profile_finish.h"

#include "profile/profile_report.h"

#include <fcntl.h>
#include <unistd.h>

/* True if this call created the file. */
static bool create_mark(const char *dir, const char *name)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool have_all_marks(const char *dir, uint32_t n)
{
	char path[4096];

	for (uint32_t r = 0; r < n; r++) {
		snprintf(path, sizeof(path), "%s/done.%u", dir, r);
		if (access(path, F_OK))
			return false;
	}
	return true;
}

static void remove_records(const char *dir, uint32_t n)
{
	static const char *const names[] = { "profile", "done" };
	char path[4096];

	for (uint32_t i = 0; i < 2 * n; i++) {
		snprintf(path, sizeof(path), "%s/%s.%u", dir, names[i % 2],
			i / 2);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/printed", dir);
	unlink(path);
	rmdir(dir);
}

void weft_profile_finish(const char *profile, const char *dir, uint32_t rank,
	uint32_t n, bool is_temporary)
{
	struct weft_profile_report report;
	char name[32];

	snprintf(name, sizeof(name), "done.%u", rank);
	if (!create_mark(dir, name) || !have_all_marks(dir, n) ||
		!create_mark(dir, "printed") ||
		weft_profile_report_make(&report, dir, n))
		return;
	weft_profile_output(&report, profile, "weft");
	weft_profile_report_fini(&report);
	if (is_temporary)
		remove_records(dir, n);
}
