/* SPDX-License-Identifier: BSD-3-Clause */
/* run_repeat: prints one line for a long wait that many processes report */
#include "tools/run_repeat.h"

#include "base/clock.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { LINE_MAX_LEN = 1100, FORGET_S = 60 };

static const char begin[] = "weft warn ";
static const char waited[] = " has waited ";
static const char end[] = " (WEFT_STALL_WARN)\n";

/* Copies the cause of a warning: the line without process and seconds. False if
 * the line is no warning of a long wait. watchdog/report.c, rma/rma_wait.c and
 * io/syscall.c write these lines through base/log.c. */
static bool cause_of(const char *line, size_t len, char cause[LINE_MAX_LEN])
{
	const char *from, *at, *rest;

	if (len >= LINE_MAX_LEN || len < sizeof(begin) + sizeof(end) ||
		memcmp(line, begin, sizeof(begin) - 1) != 0 ||
		memcmp(line + len - (sizeof(end) - 1), end, sizeof(end) - 1) !=
			0)
		return false;
	from = memchr(line, ']', len);
	at = from ? memmem(from, len - (size_t)(from - line), waited,
			    sizeof(waited) - 1)
		  : NULL;
	if (!at)
		return false;
	from++;
	rest = at + sizeof(waited) - 1;
	while (isdigit((unsigned char)*rest))
		rest++;
	rest += strncmp(rest, " s", 2) ? 0 : 2;
	snprintf(cause, LINE_MAX_LEN, "%.*s waits%.*s", (int)(at - from), from,
		(int)(line + len - (sizeof(end) - 1) - rest), rest);
	return true;
}

static uint64_t repeat_hash(const char *text)
{
	uint64_t hash = 14695981039346656037U; /* FNV-1a */

	while (*text)
		hash = (hash ^ (unsigned char)*text++) * 1099511628211U;
	return hash ? hash : 1;
}

bool weft_run_repeat_has(struct weft_run_repeat *repeat, const char *line,
	size_t len, uint64_t now_ns)
{
	char cause[LINE_MAX_LEN];
	uint64_t hash;
	int oldest = 0;

	if (!cause_of(line, len, cause))
		return false;
	hash = repeat_hash(cause);
	for (int i = 0; i < WEFT_RUN_REPEAT_MAX; i++) {
		if (repeat->causes[i].hash == hash &&
			now_ns - repeat->causes[i].seen_ns <
				FORGET_S * WEFT_NS_PER_S) {
			repeat->causes[i].seen_ns = now_ns;
			repeat->causes[i].n_more++;
			return true;
		}
		if (repeat->causes[i].seen_ns < repeat->causes[oldest].seen_ns)
			oldest = i;
	}
	repeat->causes[oldest].hash = hash;
	repeat->causes[oldest].seen_ns = now_ns;
	repeat->causes[oldest].n_more = 0;
	cause[strcspn(cause, ";")] = 0; /* the missing processes follow */
	snprintf(repeat->causes[oldest].text, WEFT_RUN_REPEAT_TEXT, "%.*s",
		WEFT_RUN_REPEAT_TEXT - 1, cause + (cause[0] == ' '));
	return false;
}

uint32_t weft_run_repeat_due(struct weft_run_repeat *repeat, uint64_t now_ns,
	const char **text_out, int *timeout_ms)
{
	for (int i = 0; i < WEFT_RUN_REPEAT_MAX; i++) {
		uint64_t age = now_ns - repeat->causes[i].seen_ns;
		uint32_t n = repeat->causes[i].n_more;
		int left_ms;

		if (!n)
			continue;
		if (age >= WEFT_NS_PER_S) {
			repeat->causes[i].n_more = 0;
			*text_out = repeat->causes[i].text;
			return n;
		}
		left_ms = (int)((WEFT_NS_PER_S - age) / 1000000) + 1;
		if (*timeout_ms < 0 || *timeout_ms > left_ms)
			*timeout_ms = left_ms;
	}
	return 0;
}
