/* SPDX-License-Identifier: BSD-3-Clause */
/* boot: chooses an implementation of the boot interface */
#include "boot/boot.h"

#include "base/err.h"
#include "base/knob.h"
#include "boot/singleton.h"
#include "boot/rank_lock.h"
#include "pmix/pmix_boot.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* True if the launcher of a PMIx server started this process. Such a launcher
 * sets both variables. With only one of them, PMIx would search for servers. */
static bool has_manager(void)
{
	return weft_knob_getenv("PMIX_NAMESPACE") &&
	       weft_knob_getenv("PMIX_RANK");
}

/* Variables in which other launchers publish the rank and the number of
 * processes. */
static const struct {
	const char *rank, *size, *name;
} launchers[] = {
	{ "PMI_RANK", "PMI_SIZE", "MPICH's or Intel MPI's launcher" },
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
		"Open MPI's launcher" },
	{ "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MVAPICH's launcher" },
	{ "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "srun without --mpi=pmix" },
};

/* Refuses a process that another launcher started as one of several without a
 * PMIx server: otherwise each such process would silently become a job of one
 * process. */
static int check_alone(void)
{
	if (!strcmp(weft_knobs.singleton, "allow"))
		return 0;
	for (size_t i = 0; i < sizeof(launchers) / sizeof(*launchers); i++) {
		const char *rank = weft_knob_getenv(launchers[i].rank);
		const char *size = weft_knob_getenv(launchers[i].size);

		if (!rank || !size || atoi(size) < 2)
			continue;
		return weft_err_set(WEFT_ERR_BOOT,
			"%s=%s, %s=%s: %s started this process as one of "
			"several, but there is no PMIx server, so each would "
			"be a job of its own; start them with Weft's mpiexec, "
			"srun --mpi=pmix or prterun (WEFT_SINGLETON=allow if "
			"jobs of one are meant)",
			launchers[i].rank, rank, launchers[i].size, size,
			launchers[i].name);
	}
	return 0;
}

static int open_singleton(
	struct weft_boot **boot_out, struct weft_boot_facts *facts_out)
{
	int err = check_alone();

	return err ? err : weft_singleton_open(boot_out, facts_out);
}

static int open_managed(
	struct weft_boot **boot_out, struct weft_boot_facts *facts_out)
{
	int err = weft_rank_lock_acquire(weft_knob_getenv("PMIX_NAMESPACE"),
		weft_knob_getenv("PMIX_RANK"));

	return err ? err : weft_pmix_open(boot_out, facts_out);
}

int weft_boot_open(
	struct weft_boot **boot_out, struct weft_boot_facts *facts_out)
{
	int err = has_manager() ? open_managed(boot_out, facts_out)
				: open_singleton(boot_out, facts_out);

	if (!err && weft_knobs.universe_size)
		facts_out->univ_size = (uint32_t)weft_knobs.universe_size;
	return err;
}

static int boot_rank_order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

int weft_boot_local_index(struct weft_boot *boot, uint32_t rank)
{
	const uint32_t *ranks = NULL, *at = NULL;
	size_t n = 0;

	if (!weft_boot_local(boot, &ranks, &n))
		at = bsearch(&rank, ranks, n, sizeof(rank), boot_rank_order);
	return at ? (int)(at - ranks) : -1;
}
