/* SPDX-License-Identifier: BSD-3-Clause */
/* profile_report: the sums of a job's records, and their output */
#ifndef WEFT_PROFILE_REPORT_H
#define WEFT_PROFILE_REPORT_H

#include "profile/profile.h"

#include <stdio.h>

/* The calls of one rank at one site. */
struct weft_profile_entry {
	uint32_t rank;
	const struct weft_profile_site *site; /* the site in the record of one
						 thread of the rank */
	uint64_t calls, bytes;
	uint64_t sizes[WEFT_PROFILE_SIZES];
	double seconds, shortest, longest;
	double waiting; /* seconds of calls beyond the site's shortest call */
};

/* The calls of all ranks at one site. */
struct weft_profile_sum {
	uint32_t procedure;
	const char *object; /* path, or "" */
	uint64_t offset;
	const char *algorithm; /* "" if unknown */
	char place[256];       /* "function (file:line)", or "object+offset" */
	struct weft_profile_entry *entries; /* in rank order; not owned */
	size_t n_entries;
	uint64_t calls, bytes;
	uint64_t sizes[WEFT_PROFILE_SIZES];
	double seconds, waiting, shortest, longest;
	double least, most; /* seconds of the fastest and the slowest rank */
	uint32_t slowest, fastest;
};

/* The messages of one rank to another. */
struct weft_profile_pair {
	uint32_t from;
	int64_t to; /* rank; -1: other jobs, and peers beyond the table */
	uint64_t messages, bytes;
	double waiting; /* seconds that `to` waited for these messages */
	bool is_local;	/* both ranks are on one node */
};

struct weft_profile_rank {
	const struct weft_profile_head *head; /* NULL: no record */
	size_t len;
	uint32_t n_threads;
	double seconds;		/* time from the first call of a thread to its
				   last, summed over the threads */
	double in_mpi, waiting; /* parts of `seconds` */
};

/* Filled by weft_profile_report_make(), freed by weft_profile_report_fini(). */
struct weft_profile_report {
	struct weft_profile_rank *ranks;
	uint32_t n_ranks, n_recorded, n_nodes;
	struct weft_profile_entry *entries;
	size_t n_entries;
	struct weft_profile_sum *sums; /* sorted by time, longest first */
	size_t n_sums;
	struct weft_profile_pair *pairs; /* sorted by bytes, most first */
	size_t n_pairs;
	double seconds, in_mpi, waiting; /* sums over all ranks */
	double longest; /* time from the first call of a thread to its last,
			   averaged over the threads of a rank, at the rank
			   where it is longest */
};

/* weft_profile_report_make() maps the records profile.0 to profile.(n - 1) of a
 * directory, and computes the sums. A file that is missing, or not of this
 * build, is left out. 0, or WEFT_ERR_NOMEM. weft_profile_report_fini() unmaps
 * the records and frees the sums. */
int weft_profile_report_make(
	struct weft_profile_report *report, const char *dir, uint32_t n);
void weft_profile_report_fini(struct weft_profile_report *report);

/* Returns the table of thread i, which must be less than n_threads. */
const struct weft_profile_table *weft_profile_table_at(
	const struct weft_profile_rank *rank, uint32_t i);

/* Finds the source lines of the first n sums, by addr2line(1). */
void weft_profile_report_places(struct weft_profile_report *report, size_t n);

/* Writes the path of libweft_profile.so: the file that belongs to this tool, in
 * the build tree or installed; or else the place where this build installs it.
 */
void weft_profile_library(char *path, size_t len);

/* True if the value of WEFT_PROFILE names a file: it is neither on nor 1. */
bool weft_profile_is_file(const char *profile);

/* Writes the value of WEFT_PROFILE for one job to buf. If `profile` names a
 * file, the name of a spawned job is inserted before "trace.json" or ".json",
 * or else appended, so that each job writes its own file. job is "" for the
 * first job, whose value is `profile` itself. */
void weft_profile_job_file(
	char *buf, size_t len, const char *profile, const char *job);

/* Prints the page on standard error, and writes the file if WEFT_PROFILE, with
 * the value `profile`, names one. program is the name in warnings. */
void weft_profile_output(struct weft_profile_report *report,
	const char *profile, const char *program);

/* Prints the page. */
void weft_profile_page(const struct weft_profile_report *report, FILE *out);

/* Writes the whole report as one JSON object. */
void weft_profile_json(const struct weft_profile_report *report, FILE *out);

/* Writes the timeline. 0. WEFT_ERR_NOMEM: nothing is written. */
int weft_profile_trace(const struct weft_profile_report *report, FILE *out);

#endif
