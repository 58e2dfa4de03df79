/* SPDX-License-Identifier: BSD-3-Clause */
/* stat: reports the counters of a file when the file is closed */
#include "io/stat.h"

#include "base/log.h"
#include "io/file_priv.h"

#include <stdio.h>

enum { SHORT_RUN = 4096 };

static const char *stat_advice(
	const struct weft_file *file, const struct weft_counters *n)
{
	uint64_t calls = n->file_reads + n->file_writes;
	bool is_off = file->hints.cb_write == WEFT_FILE_DISABLE ||
		      file->hints.cb_read == WEFT_FILE_DISABLE;

	if (n->file_holes > n->file_windows)
		return "romio_cb_write=disable, because collective writes "
		       "overlap and have holes";
	if (n->file_gaps_read > 2 * n->file_bytes)
		return "romio_ds_read=disable, because most bytes that are "
		       "read are gaps";
	if (n->file_runs <= calls || file->comm->size == 1 ||
		n->file_bytes / n->file_runs >= SHORT_RUN)
		return "none";
	if (is_off)
		return "romio_cb_read and romio_cb_write=automatic, because "
		       "runs are short";
	if (n->file_collective < calls / 2)
		return "none; collective calls would help, because runs are "
		       "short";
	return "none";
}

void weft_stat_report(struct weft_file *file)
{
	struct weft_counters sum = { 0 };
	char owner[250];

	if (weft_file_numbers(file, WEFT_COLL_ALLREDUCE, WEFT_OP_SUM,
		    (int)weft_counter_count(), (int64_t *)&file->counters,
		    (int64_t *)&sum) ||
		file->comm->rank != 0)
		return;
	snprintf(owner, sizeof(owner), "\"%.200s\" of %d processes", file->name,
		(int)file->comm->size);
	weft_counters_print_one(owner, &sum);
	weft_log_write(WEFT_LOG_INFO, "FILE-ADVICE",
		"\"%.200s\": the hint that would help most: %s", file->name,
		stat_advice(file, &sum));
}
