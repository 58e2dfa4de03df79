/* SPDX-License-Identifier: BSD-3-Clause */
/* libfabric: loads the library libfabric when a network is first needed */
#include "config.h"

#include "net/libfabric.h"

#include "base/err.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#include <rdma/fi_errno.h>

struct weft_libfabric weft_libfabric;

enum { WHY_MAX = 256 };

static struct {
	pthread_once_t once;
	bool is_there;
	char why[WHY_MAX]; /* reason why loading failed, or "" */
} loading = { .once = PTHREAD_ONCE_INIT };

/* Finds a function, with the symbol version of the headers, as the linker
 * would. */
static bool take_function(
	void *lib, const char *name, const char *version, void *to)
{
	void *f = dlvsym(lib, name, version);

	if (f)
		*(void **)to = f;
	else
		snprintf(loading.why, sizeof(loading.why), "%s", dlerror());
	return f;
}

static void load_functions(void *lib)
{
	struct weft_libfabric *f = &weft_libfabric;

	loading.is_there =
		take_function(
			lib, "fi_getinfo", WEFT_FI_GETINFO, &f->getinfo) &&
		take_function(
			lib, "fi_freeinfo", WEFT_FI_FREEINFO, &f->freeinfo) &&
		take_function(
			lib, "fi_dupinfo", WEFT_FI_DUPINFO, &f->dupinfo) &&
		take_function(lib, "fi_fabric", WEFT_FI_FABRIC, &f->fabric) &&
		take_function(
			lib, "fi_strerror", WEFT_FI_STRERROR, &f->strerror) &&
		take_function(
			lib, "fi_tostr_r", WEFT_FI_TOSTR_R, &f->tostr_r) &&
		take_function(lib, "fi_version", WEFT_FI_VERSION, &f->version);
}

/* Loads libfabric and restores the signal handlers afterwards, because some of
 * its libraries install handlers for fatal signals when they are loaded. */
static void load_once(void)
{
	static const int fatal[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT,
		SIGINT, SIGTERM };
	enum { N_FATAL = sizeof(fatal) / sizeof(fatal[0]) };
	struct sigaction before[N_FATAL];
	void *lib;

	for (int i = 0; i < N_FATAL; i++)
		sigaction(fatal[i], NULL, &before[i]);
	lib = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
	for (int i = 0; i < N_FATAL; i++)
		sigaction(fatal[i], &before[i], NULL);
	if (lib)
		load_functions(lib);
	else
		snprintf(loading.why, sizeof(loading.why), "%s", dlerror());
}

int weft_libfabric_load(void)
{
	pthread_once(&loading.once, load_once);
	if (loading.is_there)
		return 0;
	return weft_err_set(WEFT_ERR_NOPROV,
		"libfabric cannot be loaded: %s; set LD_LIBRARY_PATH to its "
		"directory",
		loading.why);
}

/* ---- functions that libfabric's headers declare ---- */

int fi_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **info)
{
	if (weft_libfabric_load())
		return -FI_ENOSYS;
	return weft_libfabric.getinfo(
		version, node, service, flags, hints, info);
}

void fi_freeinfo(struct fi_info *info)
{
	if (info && !weft_libfabric_load())
		weft_libfabric.freeinfo(info);
}

struct fi_info *fi_dupinfo(const struct fi_info *info)
{
	return weft_libfabric_load() ? NULL : weft_libfabric.dupinfo(info);
}

int fi_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	return weft_libfabric_load()
		       ? -FI_ENOSYS
		       : weft_libfabric.fabric(attr, fabric, context);
}

const char *fi_strerror(int errnum)
{
	return weft_libfabric_load() ? "libfabric is not there"
				     : weft_libfabric.strerror(errnum);
}

char *fi_tostr_r(char *buf, size_t len, const void *data, enum fi_type datatype)
{
	if (!weft_libfabric_load())
		return weft_libfabric.tostr_r(buf, len, data, datatype);
	if (len)
		*buf = '\0';
	return buf;
}

uint32_t fi_version(void)
{
	return weft_libfabric_load() ? 0 : weft_libfabric.version();
}
