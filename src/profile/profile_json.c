/* SPDX-License-Identifier: BSD-3-Clause */
/* profile_json: writes the whole report as JSON
 *
 * Times are seconds. The page has sums of these numbers. */
#include "profile/profile_report.h"

/* Bytes outside ASCII are written as if they were Latin-1, so that the file is
 * valid whatever a path contains. */
static void json_string(FILE *out, const char *name, const char *text)
{
	fprintf(out, "\"%s\": \"", name);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static void json_ranks(const struct weft_profile_report *report, FILE *out)
{
	const char *comma = "";

	fputs("\"ranks\": [", out);
	for (uint32_t r = 0; r < report->n_ranks; r++) {
		const struct weft_profile_rank *rank = &report->ranks[r];

		if (!rank->head)
			continue;
		fprintf(out, "%s\n {\"rank\": %u, ", comma, r);
		json_string(out, "host", rank->head->host);
		fprintf(out,
			", \"pid\": %u, \"threads\": %u, \"seconds\": %.9f, "
			"\"in_mpi\": %.9f, \"waiting\": %.9f}",
			rank->head->pid, rank->n_threads, rank->seconds,
			rank->in_mpi, rank->waiting);
		comma = ",";
	}
	fputs("],\n", out);
}

/* Number of calls by size, as pairs: upper limit of the bytes (exclusive),
 * calls. */
static void json_sizes(FILE *out, const uint64_t *sizes)
{
	const char *comma = "";

	fputs("\"sizes\": [", out);
	for (int i = 0; i < WEFT_PROFILE_SIZES; i++)
		if (sizes[i]) {
			fprintf(out, "%s[%llu, %llu]", comma, 1ull << i,
				(unsigned long long)sizes[i]);
			comma = ", ";
		}
	fputs("]", out);
}

static void json_entry(FILE *out, const struct weft_profile_entry *entry)
{
	fprintf(out,
		"\n   {\"rank\": %u, \"calls\": %llu, \"bytes\": %llu, "
		"\"seconds\": %.9f, \"shortest\": %.9f, \"longest\": %.9f, "
		"\"waiting\": %.9f, ",
		entry->rank, (unsigned long long)entry->calls,
		(unsigned long long)entry->bytes, entry->seconds,
		entry->shortest, entry->longest, entry->waiting);
	json_sizes(out, entry->sizes);
	fputc('}', out);
}

static void json_sites(const struct weft_profile_report *report, FILE *out)
{
	fputs("\"sites\": [", out);
	for (size_t i = 0; i < report->n_sums; i++) {
		const struct weft_profile_sum *sum = &report->sums[i];

		fprintf(out, "%s\n {", i ? "," : "");
		json_string(out, "procedure",
			weft_profile_names[sum->procedure].name);
		fputs(", ", out);
		json_string(out, "object", sum->object);
		fprintf(out, ", \"offset\": %llu, ",
			(unsigned long long)sum->offset);
		json_string(out, "place", sum->place);
		fputs(", ", out);
		json_string(out, "algorithm", sum->algorithm);
		fprintf(out,
			", \"calls\": %llu, \"bytes\": %llu, \"seconds\": "
			"%.9f, \"waiting\": %.9f, ",
			(unsigned long long)sum->calls,
			(unsigned long long)sum->bytes, sum->seconds,
			sum->waiting);
		json_sizes(out, sum->sizes);
		fputs(", \"ranks\": [", out);
		for (size_t e = 0; e < sum->n_entries; e++) {
			if (e)
				fputc(',', out);
			json_entry(out, &sum->entries[e]);
		}
		fputs("]}", out);
	}
	fputs("],\n", out);
}

static void json_pairs(const struct weft_profile_report *report, FILE *out)
{
	fputs("\"messages\": [", out);
	for (size_t i = 0; i < report->n_pairs; i++) {
		const struct weft_profile_pair *pair = &report->pairs[i];

		fprintf(out, "%s\n {\"from\": %u, \"to\": ", i ? "," : "",
			pair->from);
		if (pair->to < 0)
			fputs("null", out);
		else
			fprintf(out, "%lld", (long long)pair->to);
		fprintf(out,
			", \"messages\": %llu, \"bytes\": %llu, \"waiting\": "
			"%.9f, \"on_node\": %s}",
			(unsigned long long)pair->messages,
			(unsigned long long)pair->bytes, pair->waiting,
			pair->is_local ? "true" : "false");
	}
	fputs("]\n", out);
}

void weft_profile_json(const struct weft_profile_report *report, FILE *out)
{
	fputs("{\"weft_profile\": 1, ", out);
	for (uint32_t r = 0; r < report->n_ranks; r++)
		if (report->ranks[r].head) {
			json_string(
				out, "program", report->ranks[r].head->program);
			break;
		}
	fprintf(out,
		", \"processes\": %u, \"recorded\": %u, \"nodes\": %u,\n"
		"\"seconds\": %.9f, \"in_mpi\": %.9f, \"waiting\": %.9f,\n",
		report->n_ranks, report->n_recorded, report->n_nodes,
		report->seconds, report->in_mpi, report->waiting);
	json_ranks(report, out);
	json_sites(report, out);
	json_pairs(report, out);
	fputs("}\n", out);
}
