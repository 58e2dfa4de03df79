/* SPDX-License-Identifier: BSD-3-Clause */
/* top_verdict: whether a job makes progress, waits for a process, or can never
 * end */
#ifndef WEFT_TOP_VERDICT_H
#define WEFT_TOP_VERDICT_H

#include "tools/top_read.h"
#include "watchdog/graph.h"

enum weft_top_state {
	WEFT_TOP_MOVES,
	WEFT_TOP_WAITS, /* ranks wait for more than a second, but in no cycle */
	WEFT_TOP_STUCK, /* a cycle of waits */
};

enum { WEFT_TOP_SENTENCE = 700, WEFT_TOP_STEPS = 8, WEFT_TOP_STEP = 300 };

struct weft_top_verdict {
	enum weft_top_state state;
	char sentence[WEFT_TOP_SENTENCE];
	uint32_t n_waiting; /* ranks that have waited for more than a second */
	uint32_t n_ranks;   /* number of `ranks` */
	uint32_t n_missing; /* largest number of processes for which one rank
			       waits and that do not wait themselves */
	bool is_elsewhere;  /* a rank waits for a process of another job */
	char steps[WEFT_TOP_STEPS][WEFT_TOP_STEP]; /* text of the steps of the
						      cycle */
	uint32_t n_steps;
	/* STUCK: the ranks of the cycle; WAITS: the ranks that others wait for
	 */
	uint32_t ranks[WEFT_GRAPH_NODES];
};

/* Judges the last reading of a job. */
void weft_top_judge(
	const struct weft_top_job *job, struct weft_top_verdict *verdict);

/* True if the needs of all waits of more than a second were queried after
 * `since_ns`, so that a cycle is complete. Waits of stopped processes do not
 * count. */
bool weft_top_is_known(const struct weft_top_job *job, uint64_t since_ns);

/* Returns the rate of a number between the last two readings, per second. */
uint64_t weft_top_rate(
	const struct weft_top_proc *proc, uint64_t before, uint64_t now);

#endif
