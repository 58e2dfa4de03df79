/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * codec: our types to and from PMIx's, and the one writer of pmix_info_t
 *
 * An infovec grows as it is filled and remembers its first failure, so that
 * a caller sets twenty entries and asks once.
 */
#ifndef WEFT_PMIX_CODEC_H
#define WEFT_PMIX_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pmix.h>

/* What a job control asks of a server: to define a process set of the targets,
 * or to take one back.  libpmix 4.2 has no name for the first; the second is
 * known to our own server only. */
#ifndef PMIX_JOB_CTRL_DEFINE_PSET
#define PMIX_JOB_CTRL_DEFINE_PSET "pmix.jctrl.defpset"
#endif
#define WEFT_PMIX_DELETE_PSET "weft.pset.delete"

/* The launcher asks where a process is; the answer is in boot/liveness.h. */
#define WEFT_PMIX_WHERE (PMIX_EXTERNAL_ERR_BASE - 5)

/* A process calls one of its node, with bytes under that key; libpmix's server
 * half passes it on without its host. */
#define WEFT_PMIX_CALL (PMIX_EXTERNAL_ERR_BASE - 6)
#define WEFT_PMIX_CALL_DATA "weft.call"

/* A query that only our own server answers: the processes that have ended. */
#define WEFT_PMIX_ENDED "weft.procs.ended"

/* Of the job: the host's whole name, where PMIx is told the start of it. */
#define WEFT_PMIX_HOST "weft.job.host"

/* Caller's memory: all zero is a valid empty vector. */
struct weft_infovec {
	pmix_info_t *info; /* NULL while empty */
	size_t n;
	size_t cap;
	int err; /* first failure, a negative weft_err; later sets do nothing */
};

/* Free the entries; the vector is empty and usable again. */
void weft_infovec_fini(struct weft_infovec *vec);

/* Append one entry; keys and values are copied.  Errors are kept in vec. */
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
/* The entries of sub become the value of one entry of vec; sub is kept. */
void weft_infovec_set_vec(struct weft_infovec *vec, const char *key,
	const struct weft_infovec *sub);

/*
 * Read a value.  0, or WEFT_ERR_TYPE when it holds something else; managers
 * differ in the integer type they use for the same key, so any that can hold
 * the number is taken.  The outputs of _peek are lent from value.
 */
int weft_value_get_u32(const pmix_value_t *value, uint32_t *v_out);
int weft_value_get_int(const pmix_value_t *value, int *v_out);
int weft_value_peek_str(const pmix_value_t *value, const char **s_out);
int weft_value_peek_bytes(
	const pmix_value_t *value, const void **data_out, size_t *len_out);

/* A pmix_status_t as a negative weft_err; success of either kind as 0. */
int weft_pmix_err(pmix_status_t status);

/*
 * Parse "0,3-5,9" into ascending distinct ranks; the caller frees the array.
 * 0, WEFT_ERR_ARG for anything else than such a list or more than 16 M ranks,
 * WEFT_ERR_NOMEM.
 */
int weft_ranks_parse(const char *text, uint32_t **ranks_out, size_t *n_out);

/*
 * Split "a,b,a" into its distinct parts in order, empty parts left out.  One
 * allocation: the caller frees the array, the strings lie inside it.  No
 * parts: 0, NULL and 0.
 */
int weft_names_split(const char *text, char ***names_out, size_t *n_out);

#endif
