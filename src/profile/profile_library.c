/* SPDX-License-Identifier: BSD-3-Clause */
/* profile_library: finds the profile library */
#include "profile/profile_report.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

void weft_profile_library(char *path, size_t len)
{
	/* in a build: beside a program, or beside what libtool has linked for
	 * its script; and in an installation */
	static const char *const beside[] = { ".libs", ".", "../lib" };
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	for (size_t i = 0; slash && i < sizeof(beside) / sizeof(*beside); i++) {
		snprintf(path, len, "%.*s/%s/libweft_profile.so",
			(int)(slash - self), self, beside[i]);
		if (!access(path, R_OK))
			return;
	}
	snprintf(path, len, "%s/libweft_profile.so", WEFT_LIBDIR);
}
