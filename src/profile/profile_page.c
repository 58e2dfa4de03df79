/* SPDX-License-Identifier: BSD-3-Clause */
/* profile_page: prints the report as one page of text */
#include "profile/profile_report.h"

#include <stdlib.h>
#include <string.h>

enum { N_PROCEDURES = 10, N_SITES = 12, N_PAIRS = 8, NAME_COLUMNS = 24 };

/* Returns part in percent of whole; 0 if whole is 0. */
static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

/* Writes a text such as "1.5 MiB". Returns buf. */
static const char *bytes_text(char buf[16], double bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	size_t i = 0;

	while (bytes >= 1024 && i < 4) {
		bytes /= 1024;
		i++;
	}
	snprintf(buf, 16, i ? "%.1f %s" : "%.0f %s", bytes, units[i]);
	return buf;
}

static const char *name_of(const struct weft_profile_sum *sum)
{
	return weft_profile_names[sum->procedure].name;
}

/* ---- the advice ---- */

/* Returns the site with the longest waits; NULL: no waits. */
static const struct weft_profile_sum *most_waiting(
	const struct weft_profile_report *report)
{
	const struct weft_profile_sum *most = NULL;

	for (size_t i = 0; i < report->n_sums; i++)
		if (report->sums[i].waiting > (most ? most->waiting : 0))
			most = &report->sums[i];
	return most;
}

/* Returns the pair with the longest waits of the receiver `to` for messages of
 * `from`; NULL: no waits. */
static const struct weft_profile_pair *longest_wait(
	const struct weft_profile_report *report)
{
	const struct weft_profile_pair *most = NULL;

	for (size_t i = 0; i < report->n_pairs; i++)
		if (report->pairs[i].to >= 0 &&
			report->pairs[i].waiting > (most ? most->waiting : 0))
			most = &report->pairs[i];
	return most;
}

static uint64_t count_small(const struct weft_profile_sum *sum)
{
	uint64_t n = 0;

	for (int i = 1; i <= 10; i++) /* less than 1 KiB */
		n += sum->sizes[i];
	return n;
}

/* True for a collective operation: every member waits for all. */
static bool waits_for_all(const struct weft_profile_sum *sum)
{
	const struct weft_profile_name *name =
		&weft_profile_names[sum->procedure];

	return name->waits && !name->receives && !name->completes &&
	       !strstr(name->name, "end") && !strstr(name->name, "recv") &&
	       !strstr(name->name, "robe") && strncmp(name->name, "MPI_Win", 7);
}

static void print_waiting(const struct weft_profile_report *report,
	const struct weft_profile_sum *sum, FILE *out)
{
	const struct weft_profile_pair *pair = longest_wait(report);
	double mean = sum->seconds / (double)sum->n_entries;

	fprintf(out, "%s in %s causes %.0f %% of the waiting. ", name_of(sum),
		sum->place, percent(sum->waiting, report->waiting));
	if (waits_for_all(sum) && sum->n_entries > 1 && sum->least < mean / 2)
		fprintf(out,
			"Rank %u arrives last (it spends %.3f s there, the "
			"mean is %.3f s): give it less work.\n",
			sum->fastest, sum->least, mean);
	else if (!waits_for_all(sum) && pair &&
		 pair->waiting > sum->waiting / (double)report->n_recorded)
		fprintf(out,
			"Rank %lld waits %.3f s for messages from rank %u: see "
			"what rank %u does before it sends.\n",
			(long long)pair->to, pair->waiting, pair->from,
			pair->from);
	else
		fprintf(out,
			"The waits are spread over the ranks: let "
			"communication "
			"overlap with computation, or call it less often.\n");
}

/* True for a procedure that starts or ends MPI or OpenSHMEM. */
static bool is_setup(const struct weft_profile_sum *sum)
{
	const char *name = name_of(sum);

	return strstr(name, "_Init") || strstr(name, "inalize") ||
	       !strncmp(name, "MPI_Session_init", 16) ||
	       !strncmp(name, "shmem_init", 10);
}

static void print_advice(const struct weft_profile_report *report, FILE *out)
{
	const struct weft_profile_sum *wait = most_waiting(report);
	const struct weft_profile_sum *top = NULL;
	double setup = 0, busy;

	for (size_t i = 0; i < report->n_sums; i++) {
		if (is_setup(&report->sums[i]))
			setup += report->sums[i].seconds;
		else if (!top)
			top = &report->sums[i];
	}
	busy = report->in_mpi - setup;
	fputs("Look first: ", out);
	if (!top || percent(busy, report->seconds - setup) < 5)
		fprintf(out,
			"Communication takes little of the time. Improve the "
			"computation first.\n");
	else if (wait && report->waiting > busy / 2)
		print_waiting(report, wait, out);
	else if (count_small(top) > top->calls / 2)
		fprintf(out,
			"%s in %s takes %.0f %% of the time in MPI (set-up and "
			"finalize not counted), with messages of %.0f bytes "
			"on average. Send fewer and longer messages.\n",
			name_of(top), top->place, percent(top->seconds, busy),
			(double)top->bytes / (double)top->calls);
	else
		fprintf(out,
			"%s in %s takes %.0f %% of the time in MPI (set-up and "
			"finalize not counted).\n",
			name_of(top), top->place, percent(top->seconds, busy));
	if (setup > report->seconds / 2)
		fprintf(out,
			"Starting and ending MPI takes %.0f %% of this short "
			"run; the shares of a longer run differ.\n",
			percent(setup, report->seconds));
}

/* ---- tables ---- */

static void print_head(const struct weft_profile_report *report, FILE *out)
{
	const struct weft_profile_rank *least = NULL, *most = NULL;
	const char *program = "?";

	for (uint32_t r = 0; r < report->n_ranks; r++) {
		const struct weft_profile_rank *rank = &report->ranks[r];

		if (!rank->head)
			continue;
		if (!least)
			program = rank->head->program;
		if (!least || percent(rank->in_mpi, rank->seconds) <
				      percent(least->in_mpi, least->seconds))
			least = rank;
		if (!most || percent(rank->in_mpi, rank->seconds) >
				     percent(most->in_mpi, most->seconds))
			most = rank;
	}
	fprintf(out, "\nWeft profile: %s, %u process%s on %u node%s, %.3f s\n",
		program, report->n_ranks, report->n_ranks == 1 ? "" : "es",
		report->n_nodes, report->n_nodes == 1 ? "" : "s",
		report->longest);
	if (report->n_recorded < report->n_ranks)
		fprintf(out, "%u of %u processes left no record.\n",
			report->n_ranks - report->n_recorded, report->n_ranks);
	if (!least)
		return;
	fprintf(out,
		"In MPI: %.1f %% of the time, from %.1f %% (rank %td) to %.1f "
		"%% (rank %td); waiting: %.1f %%\n",
		percent(report->in_mpi, report->seconds),
		percent(least->in_mpi, least->seconds), least - report->ranks,
		percent(most->in_mpi, most->seconds), most - report->ranks,
		percent(report->waiting, report->seconds));
	print_advice(report, out);
}

static void print_times(const struct weft_profile_report *report,
	const struct weft_profile_sum *sum, const char *name, FILE *out)
{
	fprintf(out, "  %-*s %10llu %6.1f %6.1f %9.3f %9.3f %9.3f %6u",
		NAME_COLUMNS, name, (unsigned long long)sum->calls,
		percent(sum->seconds, report->seconds),
		percent(sum->waiting, report->seconds),
		sum->n_entries < report->n_recorded ? 0 : sum->least,
		sum->seconds / (double)report->n_recorded, sum->most,
		sum->slowest);
}

static void print_columns(const char *title, const char *last, FILE *out)
{
	fprintf(out, "\n%-*s %10s %6s %6s %9s %9s %9s %6s%s\n",
		NAME_COLUMNS + 2, title, "calls", "time%", "wait%", "min s",
		"mean s", "max s", "rank", last);
}

static int by_seconds(const void *a, const void *b)
{
	const struct weft_profile_sum *x = a, *y = b;

	return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

/* Computes the seconds of each rank in a procedure, and sets least, most and
 * slowest. */
static void procedure_spread(const struct weft_profile_report *report,
	struct weft_profile_sum *sum, double *seconds)
{
	memset(seconds, 0, report->n_ranks * sizeof(*seconds));
	for (size_t i = 0; i < report->n_sums; i++) {
		const struct weft_profile_sum *site = &report->sums[i];

		for (size_t e = 0; site->procedure == sum->procedure &&
				   e < site->n_entries;
			e++)
			seconds[site->entries[e].rank] +=
				site->entries[e].seconds;
	}
	sum->least = 1e300;
	for (uint32_t r = 0; r < report->n_ranks; r++) {
		if (!report->ranks[r].head)
			continue;
		if (seconds[r] < sum->least)
			sum->least = seconds[r];
		if (seconds[r] > sum->most) {
			sum->most = seconds[r];
			sum->slowest = r;
		}
	}
}

static void print_procedures(
	const struct weft_profile_report *report, FILE *out)
{
	struct weft_profile_sum *sums =
		calloc(weft_profile_n_names, sizeof(*sums));
	double *seconds = calloc(report->n_ranks, sizeof(*seconds));

	for (size_t i = 0; sums && seconds && i < report->n_sums; i++) {
		const struct weft_profile_sum *site = &report->sums[i];
		struct weft_profile_sum *sum = &sums[site->procedure];

		sum->procedure = site->procedure;
		sum->n_entries = report->n_recorded;
		sum->calls += site->calls;
		sum->seconds += site->seconds;
		sum->waiting += site->waiting;
	}
	if (sums && seconds) {
		qsort(sums, weft_profile_n_names, sizeof(*sums), by_seconds);
		print_columns("Procedures", "", out);
		for (size_t i = 0; i < N_PROCEDURES && sums[i].calls; i++) {
			procedure_spread(report, &sums[i], seconds);
			print_times(report, &sums[i], name_of(&sums[i]), out);
			fputc('\n', out);
		}
	}
	free(sums);
	free(seconds);
}

static void print_sites(const struct weft_profile_report *report, FILE *out)
{
	print_columns("Call sites", "  place", out);
	for (size_t i = 0; i < N_SITES && i < report->n_sums; i++) {
		print_times(report, &report->sums[i], name_of(&report->sums[i]),
			out);
		fprintf(out, "  %s%s%s%s\n", report->sums[i].place,
			*report->sums[i].algorithm ? " [" : "",
			report->sums[i].algorithm,
			*report->sums[i].algorithm ? "]" : "");
	}
}

static void print_sizes(const struct weft_profile_report *report, FILE *out)
{
	uint64_t sizes[WEFT_PROFILE_SIZES] = { 0 }, all = 0;
	char low[16], high[16];

	for (size_t i = 0; i < report->n_sums; i++)
		for (int c = 0; c < WEFT_PROFILE_SIZES; c++)
			sizes[c] += report->sums[i].sizes[c];
	for (int c = 0; c < WEFT_PROFILE_SIZES; c++)
		all += sizes[c];
	if (!all)
		return;
	fprintf(out,
		"\nBytes per call (sends, one-sided, collectives, files)"
		"%14s %6s\n",
		"calls", "%");
	for (int c = 0; c < WEFT_PROFILE_SIZES; c++) {
		if (!sizes[c])
			continue;
		if (c)
			fprintf(out, "  %10s to less than %-10s%33llu %6.1f\n",
				bytes_text(low, (double)(1ull << (c - 1))),
				bytes_text(high, (double)(1ull << c)),
				(unsigned long long)sizes[c],
				percent((double)sizes[c], (double)all));
		else
			fprintf(out, "  %10s%61llu %6.1f\n", "none",
				(unsigned long long)sizes[c],
				percent((double)sizes[c], (double)all));
	}
}

static void print_pair(const struct weft_profile_pair *pair, FILE *out)
{
	char size[16], to[24] = "others";

	if (pair->to >= 0)
		snprintf(to, sizeof(to), "%lld", (long long)pair->to);
	fprintf(out, "  %6u -> %-8s %12llu %12s %11.3f  %s\n", pair->from, to,
		(unsigned long long)pair->messages,
		bytes_text(size, (double)pair->bytes), pair->waiting,
		pair->is_local ? "on the node" : "between nodes");
}

static void print_pairs(const struct weft_profile_report *report, FILE *out)
{
	double bytes[2] = { 0, 0 };
	uint64_t messages[2] = { 0, 0 };
	char near[16], far[16];

	for (size_t i = 0; i < report->n_pairs; i++) {
		bytes[report->pairs[i].is_local] +=
			(double)report->pairs[i].bytes;
		messages[report->pairs[i].is_local] +=
			report->pairs[i].messages;
	}
	if (!report->n_pairs)
		return;
	fprintf(out,
		"\nMessages between ranks: on a node %llu (%s), between nodes "
		"%llu (%s)\n",
		(unsigned long long)messages[1], bytes_text(near, bytes[1]),
		(unsigned long long)messages[0], bytes_text(far, bytes[0]));
	fprintf(out, "  %18s %12s %12s %11s\n", "from -> to      ", "messages",
		"bytes", "awaited s");
	for (size_t i = 0; i < N_PAIRS && i < report->n_pairs; i++)
		print_pair(&report->pairs[i], out);
	if (report->n_pairs > N_PAIRS)
		fprintf(out, "  and %zu more pairs\n",
			report->n_pairs - N_PAIRS);
}

void weft_profile_page(const struct weft_profile_report *report, FILE *out)
{
	print_head(report, out);
	if (!report->n_sums)
		return;
	print_procedures(report, out);
	print_sites(report, out);
	print_sizes(report, out);
	print_pairs(report, out);
	fputs("\nShares are of the time of all processes, from the first call "
	      "to the last. Waiting is\nthe time of blocking calls beyond the "
	      "shortest call at the same place. Awaited is how\nlong the "
	      "receiver waited for these messages.\n\n",
		out);
}
