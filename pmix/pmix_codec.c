/* SPDX-License-Identifier: BSD-3-Clause */
/* codec: converts between the library's types and PMIx's; only this file writes
 * pmix_info_t */
#include "pmix/pmix_codec.h"

#include "base/err.h"
#include "boot/boot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAP = 8 };

void weft_infovec_fini(struct weft_infovec *vec)
{
	for (size_t i = 0; i < vec->n; i++)
		PMIX_INFO_DESTRUCT(&vec->info[i]);
	free(vec->info);
	*vec = (struct weft_infovec){ 0 };
}

/* Appends an entry, or returns NULL with vec->err set. */
static pmix_info_t *infovec_append(struct weft_infovec *vec)
{
	if (vec->err)
		return NULL;
	if (vec->n == vec->cap) {
		size_t cap = vec->cap ? 2 * vec->cap : FIRST_CAP;
		pmix_info_t *info = realloc(vec->info, cap * sizeof(*info));

		if (!info) {
			vec->err = WEFT_ERR_NOMEM;
			return NULL;
		}
		vec->info = info;
		vec->cap = cap;
	}
	PMIX_INFO_CONSTRUCT(&vec->info[vec->n]);
	return &vec->info[vec->n++];
}

static void pmix_codec_load(struct weft_infovec *vec, const char *key,
	const void *data, pmix_data_type_t type)
{
	pmix_info_t *info = infovec_append(vec);

	if (info)
		PMIX_INFO_LOAD(info, key, data, type);
}

void weft_infovec_set_bool(struct weft_infovec *vec, const char *key, bool v)
{
	pmix_codec_load(vec, key, &v, PMIX_BOOL);
}

void weft_infovec_set_int(struct weft_infovec *vec, const char *key, int v)
{
	pmix_codec_load(vec, key, &v, PMIX_INT);
}

void weft_infovec_set_u16(struct weft_infovec *vec, const char *key, uint16_t v)
{
	pmix_codec_load(vec, key, &v, PMIX_UINT16);
}

void weft_infovec_set_u32(struct weft_infovec *vec, const char *key, uint32_t v)
{
	pmix_codec_load(vec, key, &v, PMIX_UINT32);
}

void weft_infovec_set_size(struct weft_infovec *vec, const char *key, size_t v)
{
	pmix_codec_load(vec, key, &v, PMIX_SIZE);
}

void weft_infovec_set_ptr(struct weft_infovec *vec, const char *key, void *v)
{
	pmix_codec_load(vec, key, v, PMIX_POINTER);
}

void weft_infovec_set_rank(
	struct weft_infovec *vec, const char *key, pmix_rank_t v)
{
	pmix_codec_load(vec, key, &v, PMIX_PROC_RANK);
}

void weft_infovec_set_proc(
	struct weft_infovec *vec, const char *key, const pmix_proc_t *v)
{
	pmix_codec_load(vec, key, v, PMIX_PROC);
}

void weft_infovec_set_str(
	struct weft_infovec *vec, const char *key, const char *v)
{
	pmix_codec_load(vec, key, v, PMIX_STRING);
}

void weft_infovec_set_regex(
	struct weft_infovec *vec, const char *key, const char *v)
{
	pmix_codec_load(vec, key, v, PMIX_REGEX);
}

void weft_infovec_set_bytes(
	struct weft_infovec *vec, const char *key, const void *data, size_t len)
{
	/* the cast removes const for PMIx's type only: the load copies the data
	 */
	pmix_byte_object_t bytes = { .bytes = (char *)data, .size = len };

	pmix_codec_load(vec, key, &bytes, PMIX_BYTE_OBJECT);
}

static void load_array(struct weft_infovec *vec, const char *key,
	pmix_data_type_t type, const void *items, size_t n)
{
	pmix_data_array_t array = {
		.type = type, .size = n, .array = (void *)items
	};

	pmix_codec_load(vec, key, &array, PMIX_DATA_ARRAY);
}

void weft_infovec_set_procs(struct weft_infovec *vec, const char *key,
	const pmix_proc_t *procs, size_t n)
{
	load_array(vec, key, PMIX_PROC, procs, n);
}

void weft_infovec_set_vec(struct weft_infovec *vec, const char *key,
	const struct weft_infovec *sub)
{
	if (sub->err && !vec->err)
		vec->err = sub->err;
	load_array(vec, key, PMIX_INFO, sub->info, sub->n);
}

/* Reads any integer type as 64 bits. Unsigned values above INT64_MAX become
 * negative, which the callers refuse. */
static int get_i64(const pmix_value_t *value, int64_t *v_out)
{
	switch (value->type) {
	case PMIX_SIZE:
		*v_out = (int64_t)value->data.size;
		break;
	case PMIX_INT:
		*v_out = value->data.integer;
		break;
	case PMIX_INT8:
		*v_out = value->data.int8;
		break;
	case PMIX_INT16:
		*v_out = value->data.int16;
		break;
	case PMIX_INT32:
		*v_out = value->data.int32;
		break;
	case PMIX_INT64:
		*v_out = value->data.int64;
		break;
	case PMIX_UINT:
		*v_out = value->data.uint;
		break;
	case PMIX_UINT8:
		*v_out = value->data.uint8;
		break;
	case PMIX_UINT16:
		*v_out = value->data.uint16;
		break;
	case PMIX_UINT32:
		*v_out = value->data.uint32;
		break;
	case PMIX_UINT64:
		*v_out = (int64_t)value->data.uint64;
		break;
	case PMIX_PROC_RANK:
		*v_out = value->data.rank;
		break;
	case PMIX_STATUS:
		*v_out = value->data.status;
		break;
	default:
		return WEFT_ERR_TYPE;
	}
	return 0;
}

int weft_value_get_u32(const pmix_value_t *value, uint32_t *v_out)
{
	int64_t v = 0;
	int err = get_i64(value, &v);

	if (err)
		return err;
	if (v < 0 || v > UINT32_MAX)
		return WEFT_ERR_TYPE;
	*v_out = (uint32_t)v;
	return 0;
}

int weft_value_get_int(const pmix_value_t *value, int *v_out)
{
	int64_t v = 0;
	int err = get_i64(value, &v);

	if (err)
		return err;
	if (v < INT32_MIN || v > INT32_MAX)
		return WEFT_ERR_TYPE;
	*v_out = (int)v;
	return 0;
}

int weft_info_get_int(
	const pmix_info_t *info, size_t n, const char *key, int def)
{
	int v = def;

	for (size_t i = 0; i < n; i++)
		if (PMIX_CHECK_KEY(&info[i], key) &&
			weft_value_get_int(&info[i].value, &v))
			v = def;
	return v;
}

int weft_value_peek_str(const pmix_value_t *value, const char **s_out)
{
	/* for some keys, PRRTE's library returns success without a string */
	if (value->type != PMIX_STRING || !value->data.string)
		return WEFT_ERR_TYPE;
	*s_out = value->data.string;
	return 0;
}

int weft_value_peek_bytes(
	const pmix_value_t *value, const void **data_out, size_t *len_out)
{
	if (value->type != PMIX_BYTE_OBJECT)
		return WEFT_ERR_TYPE;
	*data_out = value->data.bo.bytes;
	*len_out = value->data.bo.size;
	return 0;
}

uint64_t weft_pmix_number(const pmix_proc_t *proc)
{
	const size_t len = sizeof(WEFT_PMIX_JOB) - 1;

	if (!strncmp(proc->nspace, WEFT_PMIX_JOB, len))
		return (uint64_t)strtoul(proc->nspace + len, NULL, 16) << 32 |
		       proc->rank;
	return weft_boot_proc_number(proc->nspace, proc->rank);
}

void weft_pmix_proc_load(pmix_proc_t *proc, const char *own, uint64_t number)
{
	pmix_nspace_t nspace;

	if (number >> 32 == weft_boot_proc_number(own, 0) >> 32)
		PMIX_LOAD_NSPACE(nspace, own);
	else
		snprintf(nspace, sizeof(nspace), WEFT_PMIX_JOB "%08x",
			(unsigned)(number >> 32));
	PMIX_LOAD_PROCID(proc, nspace, (uint32_t)number);
}

int weft_pmix_err(pmix_status_t status)
{
	switch (status) {
	case PMIX_SUCCESS:
	case PMIX_OPERATION_SUCCEEDED:
		return 0;
	case PMIX_ERR_NOMEM:
		return WEFT_ERR_NOMEM;
	case PMIX_ERR_NOT_FOUND:
		return WEFT_ERR_NOTFOUND;
	case PMIX_ERR_NOT_SUPPORTED:
		return WEFT_ERR_UNSUPPORTED;
	case PMIX_ERR_TIMEOUT:
		return WEFT_ERR_TIMEOUT;
	case PMIX_ERR_LOST_CONNECTION:
	case PMIX_ERR_PARTIAL_SUCCESS:
	case PMIX_ERR_PROC_ABORTED_BY_SIG:
	case PMIX_ERR_PROC_TERM_WO_SYNC:
	case PMIX_ERR_EXIT_NONZERO_TERM:
		return WEFT_ERR_PEER;
	default:
		return WEFT_ERR_BOOT;
	}
}

static int pmix_codec_rank_order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Sorts the ranks and drops duplicates. Returns the new number of ranks. */
static size_t ranks_sort_unique(uint32_t *ranks, size_t n)
{
	size_t kept = 0;

	qsort(ranks, n, sizeof(*ranks), pmix_codec_rank_order);
	for (size_t i = 0; i < n; i++)
		if (!kept || ranks[kept - 1] != ranks[i])
			ranks[kept++] = ranks[i];
	return kept;
}

enum { RANKS_MAX = 1 << 24 }; /* a list with more ranks is refused */

/* Parses "7" or "7-9" at *text and advances *text past it. */
static int range_parse(const char **text, uint32_t *lo_out, uint32_t *hi_out)
{
	char *end = NULL;
	unsigned long lo, hi;

	if (**text < '0' || **text > '9')
		return WEFT_ERR_ARG;
	lo = hi = strtoul(*text, &end, 10);
	if (*end == '-') {
		const char *second = end + 1;

		if (*second < '0' || *second > '9')
			return WEFT_ERR_ARG;
		hi = strtoul(second, &end, 10);
	}
	if (hi < lo || hi >= UINT32_MAX)
		return WEFT_ERR_ARG;
	*text = end;
	*lo_out = (uint32_t)lo;
	*hi_out = (uint32_t)hi;
	return 0;
}

/* Appends lo..hi to an array that grows by doubling. */
static int rank_append(
	uint32_t **ranks, size_t *n, size_t *cap, uint32_t lo, uint32_t hi)
{
	size_t need = *n + (size_t)(hi - lo) + 1;

	if (need > RANKS_MAX)
		return WEFT_ERR_ARG;
	if (need > *cap) {
		size_t grown = 2 * need;
		uint32_t *p = realloc(*ranks, grown * sizeof(*p));

		if (!p)
			return WEFT_ERR_NOMEM;
		*ranks = p;
		*cap = grown;
	}
	for (uint32_t r = lo; r <= hi; r++)
		(*ranks)[(*n)++] = r;
	return 0;
}

int weft_ranks_parse(const char *text, uint32_t **ranks_out, size_t *n_out)
{
	uint32_t *ranks = NULL;
	size_t n = 0, cap = 0;
	int err = 0;

	for (;;) {
		uint32_t lo = 0, hi = 0;

		err = range_parse(&text, &lo, &hi);
		if (!err)
			err = rank_append(&ranks, &n, &cap, lo, hi);
		if (!err && *text && *text != ',')
			err = WEFT_ERR_ARG;
		if (err) {
			free(ranks);
			return err;
		}
		if (!*text)
			break;
		text++;
	}
	*n_out = ranks_sort_unique(ranks, n);
	*ranks_out = ranks;
	return 0;
}

static bool name_is_in(char **names, size_t n, const char *name, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(names[i], name, len) && !names[i][len])
			return true;
	return false;
}

int weft_names_split(const char *text, char ***names_out, size_t *n_out)
{
	size_t parts = 1, n = 0;
	char **names, *store;

	for (const char *p = text; *p; p++)
		parts += *p == ',';
	names = malloc(parts * sizeof(*names) + strlen(text) + 1);
	if (!names)
		return WEFT_ERR_NOMEM;
	store = (char *)(names + parts);
	while (*text) {
		size_t len = strcspn(text, ",");

		if (len && !name_is_in(names, n, text, len)) {
			names[n++] = memcpy(store, text, len);
			store[len] = '\0';
			store += len + 1;
		}
		text += len + (text[len] == ',');
	}
	if (!n) {
		free(names);
		names = NULL;
	}
	*names_out = names;
	*n_out = n;
	return 0;
}
