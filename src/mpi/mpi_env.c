/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_env: versions, names, clocks, memory */
#include "config.h"

#include "mpi_check.h"

#include "base/clock.h"
#include "transport/proc.h"
#include "core/hardware.h"
#include "core/hint.h"
#include "core/info.h"
#include "win/win.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int mpi_get_version(int *version, int *subversion)
{
	*version = MPI_VERSION;
	*subversion = MPI_SUBVERSION;
	return 0;
}

static int mpi_get_library_version(char *version, int *resultlen)
{
	*resultlen = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING,
		"Weft %s, MPI %d.%d, standard ABI %d.%d", PACKAGE_VERSION,
		MPI_VERSION, MPI_SUBVERSION, MPI_ABI_VERSION,
		MPI_ABI_SUBVERSION);
	return 0;
}

static int mpi_get_processor_name(char *name, int *resultlen)
{
	if (weft_proc.facts.host[0])
		snprintf(name, MPI_MAX_PROCESSOR_NAME, "%s",
			weft_proc.facts.host);
	else if (gethostname(name, MPI_MAX_PROCESSOR_NAME))
		snprintf(name, MPI_MAX_PROCESSOR_NAME, "unknown");
	name[MPI_MAX_PROCESSOR_NAME - 1] = 0;
	*resultlen = (int)strlen(name);
	return 0;
}

/* Lists the hardware types of MPI_Comm_split_type. The value is "true" if this
 * process runs within one object of that type. */
static int mpi_get_hw_resource_info(struct weft_info **made)
{
	struct weft_info *info = weft_info_create();
	int err = info ? weft_info_set(info, "mpi_shared_memory", "true")
		       : WEFT_ERR_NOMEM;

	weft_vci_lock(&weft_proc.vci);
	for (int i = 0; !err && weft_hardware_name(i); i++)
		err = weft_info_set(info, weft_hardware_name(i),
			weft_hardware_is_known(i) ? "true" : "false");
	weft_vci_unlock(&weft_proc.vci);
	if (err)
		weft_info_destroy(info);
	*made = info;
	return err;
}

double PMPI_Wtime(void)
{
	return (double)weft_now_ns() * 1e-9;
}

double PMPI_Wtick(void)
{
	struct timespec ts;

	if (clock_getres(CLOCK_MONOTONIC, &ts))
		return 1e-9;
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

int PMPI_Pcontrol(const int level, ...)
{
	(void)level;
	return MPI_SUCCESS;
}

static int mpi_alloc_mem(
	MPI_Aint size, const struct weft_info *info, void *baseptr)
{
	enum { ALIGN = 4096 };
	size_t align =
		weft_max((size_t)weft_hint_number(info, WEFT_HINT_ALIGNMENT, 0),
			(size_t)(size < ALIGN ? 64 : ALIGN));
	void *base = NULL;
	int err = weft_check_range(WEFT_ERR_ARG, "size", size, 0, INT64_MAX);

	if (!err) {
		base = weft_win_mem_alloc((size_t)size, align);
		err = base ? 0 : WEFT_ERR_NOMEM;
	}
	if (!err)
		memcpy(baseptr, &base, sizeof(base));
	return err;
}

int PMPI_Free_mem(void *base)
{
	weft_win_mem_free(base);
	return MPI_SUCCESS;
}

#include "api_env.h"
