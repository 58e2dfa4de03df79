/* SPDX-License-Identifier: BSD-3-Clause */
/* crash: a crash stays a crash
 *
 * libfabric is linked against libraries of the PSM family where it has these
 * providers, and they take over the fatal signals when they are loaded, fabric
 * or not: they print a backtrace and exit with 1. No core is written then,
 * and the launcher reports an exit where there was a crash. This is for
 * programs that are linked with it themselves; libfabric.c loads it without
 * that. */
#include "net/net.h"

#include <dlfcn.h>
#include <signal.h>
#include <string.h>

/* Whether a handler is one of those libraries'. */
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

void weft_net_keep_crashes(void)
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
