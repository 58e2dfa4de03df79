/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run_repeat: one line for a long wait that many processes report
 *
 * When one process of a job makes no progress, many others report that they
 * wait for it, with the same cause. The launcher passes the first such warning
 * on, drops those of other processes, and prints how many there were.
 */
#ifndef WEFT_RUN_REPEAT_H
#define WEFT_RUN_REPEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	WEFT_RUN_REPEAT_MAX = 16,
	WEFT_RUN_REPEAT_TEXT = 160,
};

/* Zeroed by its owner, the launcher's one thread. */
struct weft_run_repeat {
	struct {
		uint64_t hash;	  /* of the cause; 0: unused */
		uint64_t seen_ns; /* the last time */
		uint32_t n_more;  /* dropped, and not yet printed */
		char text[WEFT_RUN_REPEAT_TEXT]; /* the cause, shortened */
	} causes[WEFT_RUN_REPEAT_MAX];
};

/* True if the line, with its "\n", warns of a long wait whose cause another
 * warning of the last minute named: it is counted, and is to be dropped. */
bool weft_run_repeat_has(struct weft_run_repeat *repeat, const char *line,
	size_t len, uint64_t now_ns);

/* The number of warnings of one cause that were dropped, one second after the
 * last one, with its text (lent until the next call); 0 when none is due.
 * Lowers *timeout_ms to the time until one is. */
uint32_t weft_run_repeat_due(struct weft_run_repeat *repeat, uint64_t now_ns,
	const char **text_out, int *timeout_ms);

#endif
