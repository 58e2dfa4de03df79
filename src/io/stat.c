/* SPDX-License-Identifier: BSD-3-Clause */
/* stat: the counters that WEFT_IO_STATS prints when a file is closed */
#include "io/stat.h"

#include "base/bits.h"
#include "base/log.h"
#include "io/cb.h"
#include "io/file_priv.h"

enum { SHORT_RUN = 4096 };

static const char *stat_advice(const struct weft_file *file, const int64_t *n)
{
	int64_t calls = n[WEFT_STAT_READS] + n[WEFT_STAT_WRITES];
	int64_t run =
		n[WEFT_STAT_RUNS] ? n[WEFT_STAT_BYTES] / n[WEFT_STAT_RUNS] : 0;
	bool is_off = file->hints.cb_write == WEFT_FILE_DISABLE ||
		      file->hints.cb_read == WEFT_FILE_DISABLE;

	if (n[WEFT_STAT_HOLES] > n[WEFT_STAT_WINDOWS])
		return "romio_cb_write=disable, because collective writes "
		       "overlap and have holes";
	if (n[WEFT_STAT_EXTRA] > 2 * n[WEFT_STAT_BYTES])
		return "romio_ds_read=disable, because most bytes that are "
		       "read are gaps";
	if (run >= SHORT_RUN || n[WEFT_STAT_RUNS] <= calls ||
		file->comm->size == 1)
		return "none";
	if (is_off)
		return "romio_cb_read and romio_cb_write=automatic, because "
		       "runs are short";
	if (n[WEFT_STAT_COLLECTIVE] < calls / 2)
		return "none; collective calls would help, because runs are "
		       "short";
	return "none";
}

static long long per(int64_t sum, int64_t n)
{
	return n ? sum / n : 0;
}

static double ms(int64_t ns)
{
	return (double)ns / 1e6;
}

static void stat_print(const struct weft_file *file, const int64_t *n)
{
	int64_t calls = n[WEFT_STAT_READS] + n[WEFT_STAT_WRITES];

	weft_log_warn("FILE-STATS",
		"\"%.200s\", %d processes (WEFT_IO_STATS). Requested: %lld "
		"reads, %lld writes, %lld of them collective; %lld bytes, %lld "
		"per call, in runs of about %lld bytes, %lld bytes from one to "
		"the next. Performed: %lld system calls in %.1f ms, %lld bytes "
		"of gaps read, %lld bytes of gaps written back",
		file->name, (int)file->comm->size,
		(long long)n[WEFT_STAT_READS], (long long)n[WEFT_STAT_WRITES],
		(long long)n[WEFT_STAT_COLLECTIVE],
		(long long)n[WEFT_STAT_BYTES], per(n[WEFT_STAT_BYTES], calls),
		per(n[WEFT_STAT_BYTES], n[WEFT_STAT_RUNS]),
		per(n[WEFT_STAT_STRIDE_BYTES], n[WEFT_STAT_STRIDES]),
		(long long)n[WEFT_STAT_SYSTEM], ms(n[WEFT_STAT_IO_NS]),
		(long long)n[WEFT_STAT_EXTRA], (long long)n[WEFT_STAT_AROUND]);
	weft_log_warn("FILE-STATS",
		"\"%.200s\": %lld calls through %d aggregators, %lld windows "
		"moved and %lld left to the members because of holes; sum of "
		"all members: %.1f ms moving data, %.1f ms exchanging and "
		"waiting. The hint that would help most: %s",
		file->name, (long long)n[WEFT_STAT_BUFFERED],
		weft_cb_nodes(file), (long long)n[WEFT_STAT_WINDOWS],
		(long long)n[WEFT_STAT_HOLES], ms(n[WEFT_STAT_CB_IO_NS]),
		ms(weft_max64(n[WEFT_STAT_CB_NS] - n[WEFT_STAT_CB_IO_NS], 0)),
		stat_advice(file, n));
}

void weft_stat_report(struct weft_file *file)
{
	int64_t mine[WEFT_STAT_N], all[WEFT_STAT_N];

	for (int i = 0; i < WEFT_STAT_N; i++)
		mine[i] = weft_stat_of(file->stat, (enum weft_stat_kind)i);
	if (!weft_file_numbers(file, WEFT_COLL_ALLREDUCE, WEFT_OP_SUM,
		    WEFT_STAT_N, mine, all) &&
		file->comm->rank == 0)
		stat_print(file, all);
}
