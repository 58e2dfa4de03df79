/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_shore: the messages in which the leader of the remote group of an
 * intercommunicator describes that group
 *
 * The first byte is the length of the received struct weft_leader. The fields
 * of the struct and the runs of processes follow. */
#include "base/err.h"
#include "transport/proc.h"
#include "comm/leader.h"
#include "test/fuzz/fuzz.h"

enum { JOB = 50, RUNS = 60 };

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	weft_proc.proc = weft_proc_number(7, 3);
	weft_proc.facts.rank = 3;
	weft_proc.facts.size = JOB;
	return 0;
}

/* Reads a run of processes. Valid numbers are more frequent than by chance. */
static struct weft_run read_run(struct fuzz_in *in)
{
	uint8_t how = fuzz_u8(in);
	struct weft_run run = {
		.first = weft_proc_number(how & 1 ? 8 : 7, fuzz_u8(in)),
		.stride = (int8_t)fuzz_u8(in),
		.n = fuzz_u8(in),
		.rank = fuzz_u8(in),
	};

	if (how & 2)
		run.first = fuzz_u64(in);
	if (how & 4)
		run.stride = (int64_t)fuzz_u64(in);
	if (how & 8)
		run.n = fuzz_u32(in);
	return run;
}

/* Checks that a group has members of the job only, each once. */
static void look(const struct weft_group *group)
{
	FUZZ_CHECK(group->size <= JOB);
	for (uint32_t i = 0; i < group->size; i++) {
		uint64_t proc = weft_group_proc(group, i);

		FUZZ_CHECK(weft_proc_is_member(proc));
		FUZZ_CHECK(weft_group_rank_of(group, proc) == (int32_t)i);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_in in = { data, len };
	size_t came = fuzz_u8(&in) % 24;
	struct weft_leader shore = {
		.ctx = fuzz_u64(&in),
		.n_runs = fuzz_u32(&in),
		.has_vcis = fuzz_u8(&in),
	};
	struct weft_group *group = NULL;
	struct weft_run *runs;
	uint32_t n;

	if (!weft_leader_check(&shore, came)) {
		FUZZ_CHECK(came == sizeof(shore));
		FUZZ_CHECK(shore.n_runs >= 1 && shore.n_runs <= JOB);
		FUZZ_CHECK(shore.ctx && shore.has_vcis <= 1);
	}
	n = fuzz_u8(&in) % RUNS;
	runs = malloc(n * sizeof(*runs) + 1);
	FUZZ_CHECK(runs);
	for (uint32_t i = 0; i < n; i++)
		runs[i] = read_run(&in);
	if (!weft_leader_group(runs, n, &group)) {
		look(group);
		weft_group_put(group);
	}
	free(runs);
	return 0;
}
