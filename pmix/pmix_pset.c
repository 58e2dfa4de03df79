/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_pset: lists, resolves, defines and deletes process sets
 *
 * Sets are read with the queries for names and for membership, because under
 * PRRTE PMIx_Get returns wrong values for PMIX_PSET_NAME. Managers without
 * process sets refuse the queries with four different codes. Then the library
 * uses the sets in the variable WEFT_PSETS, which mpiexec sets when another
 * launcher starts the job. The library also records the sets that notices
 * announce, because PRRTE's queries do not return sets that a program defines.
 * Under Weft's launcher it does not: the queries return all sets, and
 * libpmix 4.2 repeats old notices in the reverse order, so that a deleted set
 * would return.
 */
#include "pmix/pmix_boot_priv.h"
#include "pmix/pmix_codec.h"

#include "base/err.h"
#include "base/knob.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The answer to a query; info is NULL if there is no answer. */
struct reply {
	pmix_info_t *info;
	size_t n;
};

/* Queries one key, with the name of a set as qualifier unless pset is NULL. */
static void pmix_pset_query(
	const char *key, const char *pset, struct reply *reply_out)
{
	pmix_query_t *query;
	pmix_status_t status;

	*reply_out = (struct reply){ 0 };
	PMIX_QUERY_CREATE(query, 1);
	if (!query)
		return;
	PMIX_ARGV_APPEND(status, query->keys, key);
	if (pset) {
		PMIX_QUERY_QUALIFIERS_CREATE(query, 1);
		PMIX_INFO_LOAD(&query->qualifiers[0], PMIX_PSET_NAME, pset,
			PMIX_STRING);
	}
	status = PMIx_Query_info(query, 1, &reply_out->info, &reply_out->n);
	PMIX_QUERY_FREE(query, 1);
	/* a failed query may leave a value in the reply that is no answer */
	if (status != PMIX_SUCCESS) {
		weft_log_debug("PMIX-QUERY", "query %s: %s", key,
			PMIx_Error_string(status));
		*reply_out = (struct reply){ 0 };
	}
}

static void reply_free(struct reply *reply)
{
	if (reply->info)
		PMIX_INFO_FREE(reply->info, reply->n);
}

static const pmix_value_t *reply_peek(
	const struct reply *reply, const char *key)
{
	for (size_t i = 0; i < reply->n; i++)
		if (PMIX_CHECK_KEY(&reply->info[i], key))
			return &reply->info[i].value;
	return NULL;
}

/* Parses WEFT_PSETS, such as "ocean=0-3;ice=4,5". If name is NULL, returns the
 * names ("ocean,ice"). Otherwise, returns the ranks of the set ("0-3"), joined
 * if the name appears twice. The caller frees the text. */
static char *knob_psets(const char *name)
{
	const char *p = weft_knobs.psets;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	while (out && *p) {
		size_t entry = strcspn(p, ";"), n = strcspn(p, "=;");

		if (p[n] == '=' && !name)
			fprintf(out, "%.*s,", (int)n, p);
		else if (p[n] == '=' && strlen(name) == n &&
			 !memcmp(p, name, n))
			fprintf(out, "%s%.*s", ftell(out) ? "," : "",
				(int)(entry - n - 1), p + n + 1);
		p += entry + (p[entry] == ';');
	}
	if (out)
		fclose(out);
	return text;
}

/* ---- sets known from notices ---- */

struct pmix_set {
	struct weft_link link;
	char name[PMIX_MAX_KEYLEN + 1];
	size_t n;
	uint64_t procs[];
};

static struct pmix_set *pmix_pset_set_find(
	const struct pmix_boot *boot, const char *name)
{
	weft_list_for_each(it, next, &boot->sets)
	{
		struct pmix_set *set =
			weft_container_of(it, struct pmix_set, link);

		if (!strcmp(set->name, name))
			return set;
	}
	return NULL;
}

int weft_pmix_pset_record(struct pmix_boot *boot, const char *name,
	const uint64_t *procs, size_t n)
{
	struct pmix_set *set;

	if (boot->has_query || !n || pmix_pset_set_find(boot, name))
		return 0;
	set = calloc(1, sizeof(*set) + n * sizeof(*procs));
	if (!set)
		return WEFT_ERR_NOMEM;
	snprintf(set->name, sizeof(set->name), "%s", name);
	set->n = n;
	memcpy(set->procs, procs, n * sizeof(*procs));
	weft_list_push_back(&boot->sets, &set->link);
	return 0;
}

void weft_pmix_pset_remove(struct pmix_boot *boot, const char *name)
{
	weft_list_for_each(it, next, &boot->sets)
	{
		struct pmix_set *set =
			weft_container_of(it, struct pmix_set, link);

		if (name && strcmp(set->name, name))
			continue;
		weft_list_remove(&set->link);
		free(set);
	}
}

static int recorded_members(
	const struct pmix_set *set, uint64_t **procs_out, size_t *n_out)
{
	uint64_t *procs = malloc(set->n * sizeof(*procs));

	if (!procs)
		return WEFT_ERR_NOMEM;
	memcpy(procs, set->procs, set->n * sizeof(*procs));
	*procs_out = procs;
	*n_out = set->n;
	return 0;
}

/* Sets *names_out to the names in text, followed by the sets known from
 * notices. */
static int merge_names(const struct pmix_boot *boot, const char *text,
	char ***names_out, size_t *n_out)
{
	char *all = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&all, &len);
	int err;

	if (!out)
		return WEFT_ERR_NOMEM;
	fputs(text, out);
	weft_list_for_each(it, next, &boot->sets) fprintf(
		out, ",%s", weft_container_of(it, struct pmix_set, link)->name);
	fclose(out);
	err = all ? weft_names_split(all, names_out, n_out) : WEFT_ERR_NOMEM;
	free(all);
	return err;
}

static int knob_members(const struct pmix_boot *boot, const char *name,
	uint64_t **procs_out, size_t *n_out)
{
	char *text = knob_psets(name);
	uint32_t *ranks = NULL;
	uint64_t *procs = NULL;
	size_t n = 0;
	int err = text && *text ? weft_ranks_parse(text, &ranks, &n)
				: WEFT_ERR_NOTFOUND;

	free(text);
	if (!err && ranks[n - 1] < boot->size)
		procs = malloc(n * sizeof(*procs));
	for (size_t i = 0; procs && i < n; i++)
		procs[i] = boot->first_proc + ranks[i];
	free(ranks);
	if (!procs)
		return weft_err_set(WEFT_ERR_NOTFOUND,
			"process set \"%s\" does not exist", name);
	*procs_out = procs;
	*n_out = n;
	return 0;
}

int weft_pmix_pset_list(
	struct weft_boot *boot, char ***names_out, size_t *n_out)
{
	const pmix_value_t *value;
	const char *text = NULL;
	char *knob = NULL;
	struct reply reply;
	int err;

	pmix_pset_query(PMIX_QUERY_PSET_NAMES, NULL, &reply);
	value = reply_peek(&reply, PMIX_QUERY_PSET_NAMES);
	if (!value || weft_value_peek_str(value, &text))
		text = knob = knob_psets(NULL);
	err = text ? merge_names(pmix_boot_of(boot), text, names_out, n_out)
		   : WEFT_ERR_NOMEM;
	free(knob);
	reply_free(&reply);
	return err;
}

/* Returns all processes of the job, for a set whose only member is the
 * wildcard. */
static int all_procs(
	const struct pmix_boot *boot, uint64_t **procs_out, size_t *n_out)
{
	uint64_t *procs = malloc(boot->size * sizeof(*procs));

	if (!procs)
		return WEFT_ERR_NOMEM;
	for (uint32_t r = 0; r < boot->size; r++)
		procs[r] = boot->first_proc + r;
	*procs_out = procs;
	*n_out = boot->size;
	return 0;
}

/* True if the processes are members that groups can have. PRRTE also notifies
 * of the sets of other jobs, whose names are in use in these jobs only. So a
 * set without a member of this job does not exist here. Weft's launcher reports
 * only sets that this job may use. */
static bool are_members(
	const struct pmix_boot *boot, const uint64_t *procs, size_t n)
{
	size_t n_own = 0;

	for (size_t i = 0; i < n; i++) {
		bool is_own = procs[i] >> 32 == boot->first_proc >> 32;

		if ((uint32_t)procs[i] > PMIX_RANK_VALID ||
			(is_own && (uint32_t)procs[i] >= boot->size))
			return false;
		n_own += is_own;
	}
	return n_own || boot->has_query;
}

int weft_pmix_pset_read(const struct pmix_boot *boot, const pmix_value_t *value,
	uint64_t **procs_out, size_t *n_out)
{
	const pmix_data_array_t *array =
		value->type == PMIX_DATA_ARRAY ? value->data.darray : NULL;
	const pmix_proc_t *from;
	uint64_t *procs;

	if (!array || array->type != PMIX_PROC)
		return WEFT_ERR_NOTFOUND;
	from = array->array;
	if (array->size == 1 && from->rank == PMIX_RANK_WILDCARD &&
		PMIX_CHECK_NSPACE(from->nspace, boot->me.nspace))
		return all_procs(boot, procs_out, n_out);
	procs = malloc((array->size + 1) * sizeof(*procs));
	if (!procs)
		return WEFT_ERR_NOMEM;
	for (size_t i = 0; i < array->size; i++)
		procs[i] = weft_pmix_number(&from[i]);
	if (!are_members(boot, procs, array->size)) {
		free(procs);
		return WEFT_ERR_NOTFOUND;
	}
	*procs_out = procs;
	*n_out = array->size;
	return 0;
}

int weft_pmix_pset_members(struct weft_boot *base, const char *name,
	uint64_t **procs_out, size_t *n_out)
{
	const struct pmix_boot *boot = pmix_boot_of(base);
	const struct pmix_set *set = pmix_pset_set_find(boot, name);
	const pmix_value_t *value;
	struct reply reply;
	int err;

	pmix_pset_query(PMIX_QUERY_PSET_MEMBERSHIP, name, &reply);
	value = reply_peek(&reply, PMIX_QUERY_PSET_MEMBERSHIP);
	if (value && value->type == PMIX_DATA_ARRAY && value->data.darray &&
		value->data.darray->type == PMIX_PROC)
		err = weft_pmix_pset_read(boot, value, procs_out, n_out);
	else if (set) /* PRRTE notifies of the set, but its queries fail */
		err = recorded_members(set, procs_out, n_out);
	else
		err = knob_members(boot, name, procs_out, n_out);
	reply_free(&reply);
	return err;
}

/* ---- sets that a program defines ---- */

static bool pmix_pset_is_known(struct weft_boot *boot, const char *name)
{
	uint64_t *procs = NULL;
	size_t n = 0;

	if (weft_pmix_pset_members(boot, name, &procs, &n))
		return false;
	free(procs);
	return true;
}

/* Sends the manager a job-control directive about the set. */
static int job_control(const struct pmix_boot *boot, const char *key,
	const char *name, const uint64_t *procs, size_t n)
{
	pmix_proc_t *targets = n ? calloc(n, sizeof(*targets)) : NULL;
	struct weft_infovec vec = { 0 };
	pmix_status_t status = PMIX_ERR_NOMEM;
	pmix_info_t *results = NULL;
	size_t n_results = 0;

	for (size_t i = 0; targets && i < n; i++)
		weft_pmix_proc_load(&targets[i], boot->me.nspace, procs[i]);
	weft_infovec_set_str(&vec, key, name);
	if (!vec.err && (targets || !n))
		status = PMIx_Job_control(
			targets, n, vec.info, vec.n, &results, &n_results);
	if (results)
		PMIX_INFO_FREE(results, n_results);
	weft_infovec_fini(&vec);
	free(targets);
	if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED)
		return 0;
	if (status == PMIX_ERR_NOMEM)
		return WEFT_ERR_NOMEM;
	if (status == PMIX_ERR_OUT_OF_RESOURCE)
		return weft_err_set(WEFT_ERR_ARG,
			"process set \"%s\" with members of other jobs: its "
			"members are more than 256 runs of consecutive ranks; "
			"sort them, or publish several sets",
			name);
	if (status == PMIX_ERR_UNREACH)
		return weft_err_set(WEFT_ERR_UNSUPPORTED,
			"process set \"%s\" has members of a job that has "
			"ended, or that no job of this mpiexec has spawned; "
			"MPIX_Session_create_pset defines such a set in a "
			"session",
			name);
	if (status == PMIX_ERR_DUPLICATE_KEY || status == PMIX_ERR_NOT_FOUND)
		return weft_err_set(WEFT_ERR_NAME,
			status == PMIX_ERR_NOT_FOUND
				? "no process of this job has defined a "
				  "process "
				  "set \"%s\""
				: "process set \"%s\" exists already",
			name);
	return weft_err_set(WEFT_ERR_UNSUPPORTED,
		"process set \"%s\": the process manager of this job does not "
		"%s sets while a job runs (%s)",
		name, strcmp(key, WEFT_PMIX_DELETE_PSET) ? "define" : "delete",
		PMIx_Error_string(status));
}

int weft_pmix_pset_define(struct weft_boot *base, const char *name,
	const uint64_t *procs, size_t n)
{
	struct pmix_boot *boot = pmix_boot_of(base);
	int err;

	if (!n || !*name || strchr(name, ',') || strlen(name) > PMIX_MAX_KEYLEN)
		return weft_err_set(WEFT_ERR_ARG,
			"process set \"%s\" of %zu members: it needs members, "
			"and a name of 1 to %d characters without a comma",
			name, n, PMIX_MAX_KEYLEN);
	if (pmix_pset_is_known(base, name)) /* some managers do not check */
		return weft_err_set(WEFT_ERR_NAME,
			"process set \"%s\" exists already", name);
	err = job_control(boot, PMIX_JOB_CTRL_DEFINE_PSET, name, procs, n);
	/* the notice may arrive later, so the set is recorded here */
	return err ? err : weft_pmix_pset_record(boot, name, procs, n);
}

int weft_pmix_pset_delete(struct weft_boot *base, const char *name)
{
	struct pmix_boot *boot = pmix_boot_of(base);
	int err = job_control(boot, WEFT_PMIX_DELETE_PSET, name, NULL, 0);

	if (!err)
		weft_pmix_pset_remove(boot, name);
	return err;
}
