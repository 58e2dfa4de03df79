/* SPDX-License-Identifier: BSD-3-Clause */
/* run_repeat: prints one line for a long wait that many processes report
 *
 * If one process of a job makes no progress, many other processes report that
 * they wait for it, with the same cause. The launcher prints the first such
 * warning, drops those of other processes, and prints their number. */
#ifndef WEFT_RUN_REPEAT_H
#define WEFT_RUN_REPEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	WEFT_RUN_REPEAT_MAX = 16,
	WEFT_RUN_REPEAT_TEXT = 160,
};

/* All zero: no warnings. Only the launcher's main thread uses it. */
struct weft_run_repeat {
	struct {
		uint64_t hash;	  /* hash of the cause; 0: unused entry */
		uint64_t seen_ns; /* time of the last warning */
		uint32_t n_more;  /* dropped warnings, not yet reported */
		char text[WEFT_RUN_REPEAT_TEXT]; /* the cause, shortened */
	} causes[WEFT_RUN_REPEAT_MAX];
};

/* True if the line (with its newline) warns of a long wait with the same cause
 * as another warning of the last minute. Such a line is counted, and the caller
 * drops it. */
bool weft_run_repeat_has(struct weft_run_repeat *repeat, const char *line,
	size_t len, uint64_t now_ns);

/* Returns the number of dropped warnings of one cause, one second after the
 * last of them, with the text of the cause (valid until the next call of
 * weft_run_repeat_has()). Returns 0 if no cause is due, and lowers *timeout_ms
 * to the time until one is due. */
uint32_t weft_run_repeat_due(struct weft_run_repeat *repeat, uint64_t now_ns,
	const char **text_out, int *timeout_ms);

#endif
