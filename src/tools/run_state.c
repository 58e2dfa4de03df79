/* SPDX-License-Identifier: BSD-3-Clause */
/* run_state: queries the state of every process, and prints it */
#include "tools/run_state.h"

#include "base/clock.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	QUERY_MS = 2000,       /* wait for the answers */
	FAILED_QUERY_MS = 500, /* wait before a failed job is ended */
	LINES_MAX = 16, /* with more lines, ranks within texts become "*" */
	FAILED_LINES_MAX = 4, /* as LINES_MAX; further lines are dropped */
};

/* The state of one process. */
struct place {
	uint32_t first;		       /* lowest rank with the same text */
	unsigned long least_s, most_s; /* range of the time in the text */
	char text[WEFT_LIVENESS_TEXT]; /* "%" stands for the time */
};

void weft_run_state_open(struct weft_run_state *inquiry, int sig,
	struct weft_liveness *lives, uint32_t n)
{
	uint64_t ms = sig == SIGCHLD ? FAILED_QUERY_MS : QUERY_MS;

	inquiry->number++;
	inquiry->sig = sig;
	inquiry->until_ns = weft_now_ns() + ms * (WEFT_NS_PER_S / 1000);
	for (uint32_t r = 0; r < n; r++)
		atomic_store_explicit(
			&lives[r].asked, inquiry->number, memory_order_relaxed);
}

static bool is_in_mpi(const struct weft_run_proc *proc)
{
	return proc->is_running && proc->is_connected && !proc->is_finalized;
}

bool weft_run_state_is_over(const struct weft_run_state *inquiry,
	const struct weft_run_proc *procs, struct weft_liveness *lives,
	uint32_t n)
{
	char text[WEFT_LIVENESS_TEXT];

	if (weft_now_ns() >= inquiry->until_ns)
		return true;
	for (uint32_t r = 0; r < n; r++)
		if (is_in_mpi(&procs[r]) &&
			!weft_liveness_read(&lives[r], text))
			return false;
	return true;
}

/* Reads the value of the line "Name:\tvalue" of /proc/PID/status; "" if there
 * is no such line. */
static void kernel_status(pid_t pid, const char *name, char *buf, size_t len)
{
	char path[64], line[256];
	size_t n = strlen(name);
	FILE *file;

	*buf = '\0';
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, n) && line[n] == ':') {
			line[strcspn(line, "\n")] = '\0';
			snprintf(buf, len, "%s",
				line + n + 1 + strspn(line + n + 1, " \t"));
			break;
		}
	if (file)
		fclose(file);
}

bool weft_run_state_catches(pid_t pid, int sig)
{
	char mask[64];

	kernel_status(pid, "SigCgt", mask, sizeof(mask));
	return strtoull(mask, NULL, 16) >> (sig - 1) & 1;
}

/* Describes a process that has not answered. */
static void describe_unanswered(
	struct place *place, const struct weft_run_proc *proc)
{
	const char *what = "no answer: it is stopped, or too busy";
	char state[32];

	if (!proc->is_running) {
		snprintf(place->text, sizeof(place->text), "has ended");
		return;
	}
	if (!proc->is_connected)
		what = "not in MPI: not initialized, or no MPI program";
	else if (proc->is_finalized)
		what = "has finalized MPI";
	kernel_status(proc->pid, "State", state, sizeof(state));
	snprintf(place->text, sizeof(place->text), "%s; state %s", what,
		*state ? state : "unknown");
}

/* Replaces control characters and "%": a process of the job wrote the text. */
static void run_state_clean(char *text)
{
	for (; *text; text++)
		if (iscntrl((unsigned char)*text) || *text == '%')
			*text = '?';
}

/* Replaces a final ", for 12 s" by ", for % s", and stores 12. */
static void extract_time(struct place *place)
{
	static const char before[] = ", for ";
	char *at = place->text, *found = NULL, *end;

	while ((at = strstr(at, before)) != NULL)
		found = at++;
	if (!found)
		return;
	found += strlen(before);
	place->least_s = place->most_s = strtoul(found, &end, 10);
	if (end > found && !strcmp(end, " s"))
		strcpy(found, "% s");
}

/* Replaces "from rank 12" by "from rank *". */
static void mask_ranks(struct place *place)
{
	static const char before[] = " rank ";
	char *at = place->text;

	while ((at = strstr(at, before)) != NULL) {
		size_t n = strspn(at += strlen(before), "0123456789");

		if (!n)
			continue;
		*at++ = '*';
		memmove(at, at + n - 1, strlen(at + n - 1) + 1);
	}
}

static void run_state_place_of(struct place *place,
	const struct weft_run_proc *proc, struct weft_liveness *liveness)
{
	*place = (struct place){ .first = proc->rank };
	if (!is_in_mpi(proc) || !weft_liveness_read(liveness, place->text))
		describe_unanswered(place, proc);
	run_state_clean(place->text);
	extract_time(place);
}

/* Combines the processes with the same text under the first of them. */
static void run_state_combine(struct place *places, uint32_t n, uint32_t first)
{
	struct place *of = &places[first];

	for (uint32_t r = first + 1; r < n; r++) {
		struct place *p = &places[r];

		if (p->first != r || strcmp(p->text, of->text))
			continue;
		p->first = first;
		if (p->least_s < of->least_s)
			of->least_s = p->least_s;
		if (p->most_s > of->most_s)
			of->most_s = p->most_s;
	}
}

/* Prints "rank 3 (pid 12)" or "ranks 0-3,5". */
static void print_ranks(FILE *out, const struct place *places, uint32_t n,
	uint32_t first, pid_t pid)
{
	uint32_t count = 0, from = first;

	for (uint32_t r = first; r < n; r++)
		count += places[r].first == first;
	if (count == 1) {
		fprintf(out, "rank %u (pid %d)", first, pid);
		return;
	}
	fputs("ranks ", out);
	for (uint32_t r = first; r < n; r++) {
		bool is_in = places[r].first == first;

		if (is_in && (r == first || places[r - 1].first != first))
			fprintf(out, "%s%u", r == first ? "" : ",", from = r);
		if (is_in && (r + 1 == n || places[r + 1].first != first) &&
			r > from)
			fprintf(out, "-%u", r);
	}
}

static void print_text(FILE *out, const struct place *place)
{
	size_t n = strcspn(place->text, "%");

	fprintf(out, ": %.*s", (int)n, place->text);
	if (!place->text[n])
		return;
	if (place->least_s == place->most_s)
		fprintf(out, "%lu", place->least_s);
	else
		fprintf(out, "%lu to %lu", place->least_s, place->most_s);
	fputs(place->text + n + 1, out);
}

/* Combines all equal states; returns the number of lines. */
static uint32_t combine_all(struct place *places, uint32_t n)
{
	uint32_t lines = 0;

	for (uint32_t r = 0; r < n; r++) {
		if (places[r].first != r)
			continue;
		run_state_combine(places, n, r);
		lines++;
	}
	return lines;
}

/* True if the text names the call in which a process waits. */
static bool is_wait(const struct place *place)
{
	return !strncmp(place->text, "in ", 3);
}

static void print_all(struct weft_run_io *io, struct place *places,
	const struct weft_run_proc *procs, uint32_t n, bool only_waits)
{
	uint32_t lines_max = only_waits ? FAILED_LINES_MAX : LINES_MAX;

	if (combine_all(places, n) > lines_max) {
		for (uint32_t r = 0; r < n; r++)
			mask_ranks(&places[r]);
		combine_all(places, n);
	}
	for (uint32_t r = 0, n_lines = 0; r < n; r++) {
		char *line = NULL;
		size_t len = 0;
		FILE *out;

		if (places[r].first != r)
			continue;
		if (only_waits &&
			(!is_wait(&places[r]) || n_lines++ == FAILED_LINES_MAX))
			continue;
		out = open_memstream(&line, &len);
		if (!out)
			return;
		print_ranks(out, places, n, r, procs[r].pid);
		print_text(out, &places[r]);
		if (!fclose(out))
			weft_run_io_print(io, "  %s", line);
		free(line);
	}
}

void weft_run_state_print(struct weft_run_state *inquiry,
	struct weft_run_io *io, const struct weft_run_proc *procs,
	struct weft_liveness *lives, uint32_t n)
{
	struct place *places = calloc(n, sizeof(*places));

	inquiry->until_ns = 0;
	for (uint32_t r = 0; places && r < n; r++)
		run_state_place_of(&places[r], &procs[r], &lives[r]);
	if (places)
		print_all(io, places, procs, n, inquiry->sig == SIGCHLD);
	free(places);
}
