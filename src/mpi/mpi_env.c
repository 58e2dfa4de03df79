/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_env: versions, names, clocks, memory */
#include "mpi_check.h"

#include "base/clock.h"
#include "transport/proc.h"
#include "core/hardware.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int PMPI_Get_version(int *version, int *subversion)
{
	int err = weft_check_ptr(version, "version");

	if (!err)
		err = weft_check_ptr(subversion, "subversion");
	if (err)
		return weft_mpi_raise_none("MPI_Get_version", err);
	*version = MPI_VERSION;
	*subversion = MPI_SUBVERSION;
	return MPI_SUCCESS;
}

/* Where a text and its length go. */
static int mpi_env_check_text(
	const char *text, const char *name, const int *len)
{
	int err = weft_check_ptr(text, name);

	return err ? err : weft_check_ptr(len, "resultlen");
}

int PMPI_Get_library_version(char *version, int *resultlen)
{
	int err = mpi_env_check_text(version, "version", resultlen);

	if (err)
		return weft_mpi_raise_none("MPI_Get_library_version", err);
	*resultlen = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING,
		"Weft %d.%d.%d, MPI %d.%d, standard ABI %d.%d",
		WEFT_VERSION / 10000, WEFT_VERSION / 100 % 100,
		WEFT_VERSION % 100, MPI_VERSION, MPI_SUBVERSION,
		MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
	return MPI_SUCCESS;
}

int PMPI_Get_processor_name(char *name, int *resultlen)
{
	int err = mpi_env_check_text(name, "name", resultlen);

	if (err)
		return weft_mpi_raise_none("MPI_Get_processor_name", err);
	if (weft_proc.facts.host[0])
		snprintf(name, MPI_MAX_PROCESSOR_NAME, "%s",
			weft_proc.facts.host);
	else if (gethostname(name, MPI_MAX_PROCESSOR_NAME))
		snprintf(name, MPI_MAX_PROCESSOR_NAME, "unknown");
	name[MPI_MAX_PROCESSOR_NAME - 1] = 0;
	*resultlen = (int)strlen(name);
	return MPI_SUCCESS;
}

/* Kinds of hardware that MPI_Comm_split_type can be guided by; "true" where
 * this process runs within one piece of that kind. */
int PMPI_Get_hw_resource_info(MPI_Info *hw_info)
{
	struct weft_info *info = NULL;
	int err = weft_check_ptr(hw_info, "hw_info");

	if (!err)
		info = weft_info_create();
	if (!err && !info)
		err = WEFT_ERR_NOMEM;
	if (!err)
		err = weft_info_set(info, "mpi_shared_memory", "true");
	weft_vci_lock(&weft_proc.vci);
	for (int i = 0; !err && weft_hardware_name(i); i++)
		err = weft_info_set(info, weft_hardware_name(i),
			weft_hardware_is_known(i) ? "true" : "false");
	weft_vci_unlock(&weft_proc.vci);
	if (err) {
		weft_info_destroy(info);
		return weft_mpi_raise_none("MPI_Get_hw_resource_info", err);
	}
	*hw_info = weft_mpi_info_handle(info);
	return MPI_SUCCESS;
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

int PMPI_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr)
{
	enum { ALIGN = 4096 };
	struct weft_info *unused;
	void *base = NULL;
	int err = weft_check_range(WEFT_ERR_ARG, "size", size, 0, INT64_MAX);

	if (!err)
		err = weft_check_info_or_null(info, &unused);
	if (!err)
		err = weft_check_ptr(baseptr, "baseptr");
	if (!err && posix_memalign(&base, size < ALIGN ? 64 : ALIGN,
			    size ? (size_t)size : 1))
		err = weft_err_set(WEFT_ERR_NOMEM, "no memory for %lld bytes",
			(long long)size);
	if (err)
		return weft_mpi_raise_none("MPI_Alloc_mem", err);
	memcpy(baseptr, &base, sizeof(base));
	return MPI_SUCCESS;
}

int PMPI_Free_mem(void *base)
{
	free(base);
	return MPI_SUCCESS;
}

#include "api_env.h"
