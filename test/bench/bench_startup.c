/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_startup: MPI_Init, MPI_Finalize and the memory of a process that only
 * initializes. The memory is read from smaps_rollup.
 */
#include "bench.h"

#include <stdio.h>
#include <string.h>

/* KiB of the named line in the kernel's summary of this process's mappings,
 * else -1. */
static double smaps_kib(const char *name)
{
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	char line[256];
	double kib = -1;

	while (f && kib < 0 && fgets(line, sizeof(line), f)) {
		if (strncmp(line, name, strlen(name)) == 0)
			sscanf(line + strlen(name), " %lf", &kib);
	}
	if (f)
		fclose(f);
	return kib;
}

static void report_memory(const struct bench *b)
{
	double dirty = smaps_kib("Private_Dirty:");
	double clean = smaps_kib("Private_Clean:");

	bench_report(b, "memory_private", dirty + clean, "KiB");
	bench_report(b, "memory_private_dirty", dirty, "KiB");
	bench_report(b, "memory_proportional", smaps_kib("Pss:"), "KiB");
	bench_report(b, "memory_resident", smaps_kib("Rss:"), "KiB");
}

int bench_startup(struct bench *b)
{
	double before = smaps_kib("Private_Dirty:");
	double start = bench_now();
	double init_s, fini_s;

	MPI_Init(NULL, NULL);
	init_s = bench_now() - start;
	MPI_Comm_rank(MPI_COMM_WORLD, &b->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &b->n_ranks);
	report_memory(b);
	bench_report(b, "memory_dirty_before_init", before, "KiB");
	MPI_Barrier(MPI_COMM_WORLD);
	start = bench_now();
	MPI_Finalize();
	fini_s = bench_now() - start;
	bench_report(b, "init", init_s * 1e3, "ms");
	bench_report(b, "finalize", fini_s * 1e3, "ms");
	return 0;
}
