/* SPDX-License-Identifier: BSD-3-Clause */
/* codec: converts between the library's types and PMIx's; only pmix_codec.c
 * writes pmix_info_t
 *
 * An infovec grows when entries are appended. It records its first failure, so
 * that a caller checks `err` once after all entries. */
#ifndef WEFT_PMIX_CODEC_H
#define WEFT_PMIX_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pmix.h>

/* Begin of the namespace of another job that is known by its number only, which
 * follows in hexadecimal. Weft's launcher and its processes use it. */
#define WEFT_PMIX_JOB "weft.job."

/* Job-control directives: define a process set of the targets, or delete a set.
 * libpmix 4.2 has no name for the first directive. Only the server of Weft's
 * launcher supports the second. */
#ifndef PMIX_JOB_CTRL_DEFINE_PSET
#define PMIX_JOB_CTRL_DEFINE_PSET "pmix.jctrl.defpset"
#endif
#define WEFT_PMIX_DELETE_PSET "weft.pset.delete"

/* Event: the launcher requests the state of a process. The answer is written to
 * the memory of boot/liveness.h. */
#define WEFT_PMIX_WHERE (PMIX_EXTERNAL_ERR_BASE - 5)

/* Event: a process calls another process of its node (weft_boot_call). The
 * bytes are under the key WEFT_PMIX_CALL_DATA. libpmix's server half delivers
 * the event within the node. */
#define WEFT_PMIX_CALL (PMIX_EXTERNAL_ERR_BASE - 6)
#define WEFT_PMIX_CALL_DATA "weft.call"

/* Query: the processes that have ended. Only the server of Weft's launcher
 * answers this query. */
#define WEFT_PMIX_ENDED "weft.procs.ended"

/* Changes of the size of a job. A process sends an allocation request, which
 * only the server of Weft's launcher answers:
 * - a request to grow or shrink: RESIZE_DELTA and RESIZE_PSET, the name of the
 *   set of the members,
 * - the report that the change is complete: RESIZE_DONE, the new set,
 * - the end of the change without a result: RESIZE_CANCEL, the new set.
 * The answer to a request contains RESIZE_PSET, the name of the new set. A
 * refusal contains RESIZE_STATUS, a pmix_status_t, and RESIZE_WHY, a sentence.
 * Its own status is PMIX_SUCCESS, because libpmix 4.2 drops the entries of
 * other answers. */
#define WEFT_PMIX_RESIZE_DELTA "weft.resize.delta"
#define WEFT_PMIX_RESIZE_PSET "weft.resize.pset"
#define WEFT_PMIX_RESIZE_DONE "weft.resize.done"
#define WEFT_PMIX_RESIZE_CANCEL "weft.resize.cancel"
#define WEFT_PMIX_RESIZE_STATUS "weft.resize.status"
#define WEFT_PMIX_RESIZE_WHY "weft.resize.why"

/* Event: the launcher offers RESIZE_DELTA processes (below 0: requests them
 * back; 0: withdraws its offer) for RESIZE_DEADLINE seconds (0: no limit). A
 * query of RESIZE_OFFER returns its number, RESIZE_DEADLINE, and in RESIZE_PSET
 * the set of the members. */
#define WEFT_PMIX_OFFER (PMIX_EXTERNAL_ERR_BASE - 7)
#define WEFT_PMIX_RESIZE_DEADLINE "weft.resize.deadline"
#define WEFT_PMIX_RESIZE_OFFER "weft.resize.offer"

/* Event: the end of a process that the launcher ended because the change with
 * which it joined was cancelled. The entries are those of a death. */
#define WEFT_PMIX_CANCELLED (PMIX_EXTERNAL_ERR_BASE - 8)

/* Job facts of a job whose size can change: the number of processes at its
 * start, and the least and greatest number. PMIX_JOB_SIZE also counts ranks
 * that may exist later. */
#define WEFT_PMIX_START "weft.job.start"
#define WEFT_PMIX_MIN "weft.job.min"
#define WEFT_PMIX_MAX "weft.job.max"

/* Job fact: the whole name of the host, if the name in PMIx is cut. */
#define WEFT_PMIX_HOST "weft.job.host"

/* Caller's memory: all zero is a valid empty vector. */
struct weft_infovec {
	pmix_info_t *info; /* NULL while empty */
	size_t n;
	size_t cap;
	int err; /* first failure, a negative weft_err; later calls have no
		    effect */
};

/* Frees the entries; the vector is empty and usable again. */
void weft_infovec_fini(struct weft_infovec *vec);

/* Each function appends one entry. The key and the value are copied. Errors are
 * recorded in vec->err. */
void weft_infovec_set_bool(struct weft_infovec *vec, const char *key, bool v);
void weft_infovec_set_int(struct weft_infovec *vec, const char *key, int v);
void weft_infovec_set_u16(
	struct weft_infovec *vec, const char *key, uint16_t v);
void weft_infovec_set_u32(
	struct weft_infovec *vec, const char *key, uint32_t v);
void weft_infovec_set_size(struct weft_infovec *vec, const char *key, size_t v);
void weft_infovec_set_ptr(struct weft_infovec *vec, const char *key, void *v);
void weft_infovec_set_rank(
	struct weft_infovec *vec, const char *key, pmix_rank_t v);
void weft_infovec_set_proc(
	struct weft_infovec *vec, const char *key, const pmix_proc_t *v);
void weft_infovec_set_str(
	struct weft_infovec *vec, const char *key, const char *v);
void weft_infovec_set_regex(
	struct weft_infovec *vec, const char *key, const char *v);
void weft_infovec_set_bytes(struct weft_infovec *vec, const char *key,
	const void *data, size_t len);
void weft_infovec_set_procs(struct weft_infovec *vec, const char *key,
	const pmix_proc_t *procs, size_t n);
/* Appends one entry whose value is a copy of all entries of sub. */
void weft_infovec_set_vec(struct weft_infovec *vec, const char *key,
	const struct weft_infovec *sub);

/* Each function reads a value. WEFT_ERR_TYPE: the value has another type, or
 * its number does not fit. Managers use different integer types for the same
 * key, so every integer type is accepted. The outputs of the _peek functions
 * point into value. */
int weft_value_get_u32(const pmix_value_t *value, uint32_t *v_out);
int weft_value_get_int(const pmix_value_t *value, int *v_out);

/* Returns the number of the last of n entries with this key; def if there is no
 * such entry, or if its value is no number. */
int weft_info_get_int(
	const pmix_info_t *info, size_t n, const char *key, int def);
int weft_value_peek_str(const pmix_value_t *value, const char **s_out);
int weft_value_peek_bytes(
	const pmix_value_t *value, const void **data_out, size_t *len_out);

/* weft_pmix_number() returns the number of a process. weft_pmix_proc_load()
 * writes the process with this number; own is the namespace of this job. */
uint64_t weft_pmix_number(const pmix_proc_t *proc);
void weft_pmix_proc_load(pmix_proc_t *proc, const char *own, uint64_t number);

/* Converts a pmix_status_t to a negative enum weft_err. PMIX_SUCCESS and
 * PMIX_OPERATION_SUCCEEDED become 0. */
int weft_pmix_err(pmix_status_t status);

/* Parses a list such as "0,3-5,9" to distinct ranks in ascending order. The
 * caller frees the array. WEFT_ERR_ARG: the text is no such list, or has more
 * than 16 M ranks. WEFT_ERR_NOMEM. */
int weft_ranks_parse(const char *text, uint32_t **ranks_out, size_t *n_out);

/* Splits "a,b,a" into its distinct parts in order, without empty parts. The
 * caller frees the array, which also contains the strings. Without parts,
 * returns 0 with *names_out NULL and *n_out 0. */
int weft_names_split(const char *text, char ***names_out, size_t *n_out);

#endif
