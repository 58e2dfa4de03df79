/* SPDX-License-Identifier: BSD-3-Clause */
/* crash: restores the default action of fatal signals
 *
 * A libfabric with PSM providers is linked against libraries that install
 * handlers for fatal signals when they are loaded. The handlers print a
 * backtrace and exit with 1. So no core is written, and the launcher reports an
 * exit instead of a crash. This file restores the default action in programs
 * that are linked with libfabric. If the library loads libfabric itself,
 * libfabric.c restores the handlers. */
#include "net/net.h"

#include <dlfcn.h>
#include <signal.h>
#include <string.h>

/* True if a handler belongs to a library of the PSM providers. */
static bool is_theirs(void (*handler)(int, siginfo_t *, void *))
{
	static const char *const libs[] = { "libinfinipath", "libpsm" };
	Dl_info info;

	if (!dladdr((void *)(uintptr_t)handler, &info) || !info.dli_fname)
		return false;
	for (size_t i = 0; i < sizeof(libs) / sizeof(libs[0]); i++)
		if (strstr(info.dli_fname, libs[i]))
			return true;
	return false;
}

void weft_crash_reset(void)
{
	static const int fatal[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT,
		SIGINT, SIGTERM };
	struct sigaction now, plain = { .sa_handler = SIG_DFL };

	for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++)
		if (!sigaction(fatal[i], NULL, &now) &&
			now.sa_handler != SIG_DFL &&
			now.sa_handler != SIG_IGN &&
			is_theirs(now.sa_sigaction))
			sigaction(fatal[i], &plain, NULL);
}
