/* SPDX-License-Identifier: BSD-3-Clause */
/* upcall: the functions that libpmix calls in the server
 *
 * All of them run on libpmix's thread, which must not wait for libpmix. So the
 * functions make no blocking PMIx_server_* call. All processes are on one host,
 * so libpmix completes fences and fetches by itself. on_fence and on_fetch
 * exist because libpmix interprets NULL in their place as "not supported". */
#include "pmix/pmix_serve_priv.h"
#include "pmix/pmix_codec.h"

#include "base/bits.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The server that the functions use. libpmix does not pass it to query, group
 * or publish, and permits one server per process. `owner` is written only while
 * no upcall can run. */
static struct weft_serve *owner;

void weft_serve_upcall_owner(struct weft_serve *serve)
{
	owner = serve;
}

void weft_serve_post(struct weft_serve *serve, struct weft_link *list,
	struct weft_link *link)
{
	uint64_t one = 1;

	pthread_mutex_lock(&serve->lock);
	weft_list_push_back(list, link);
	pthread_mutex_unlock(&serve->lock);
	if (write(serve->wake_fd, &one, sizeof(one)) < 0)
		return; /* the counter is full, so the descriptor is readable
			   already */
}

static void pmix_upcall_post(enum weft_serve_kind kind, const pmix_proc_t *proc)
{
	struct serve_item *item = calloc(1, sizeof(*item));

	if (!item)
		return;
	item->event.kind = kind;
	item->event.rank = proc->rank;
	weft_serve_post(owner, &owner->items, &item->link);
}

static pmix_status_t on_connected(const pmix_proc_t *proc, void *object,
	pmix_info_t info[], size_t n, pmix_op_cbfunc_t done, void *arg)
{
	(void)object, (void)info, (void)n, (void)done, (void)arg;
	pmix_upcall_post(WEFT_SERVE_CONNECTED, proc);
	return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_finalized(
	const pmix_proc_t *proc, void *object, pmix_op_cbfunc_t done, void *arg)
{
	(void)object, (void)done, (void)arg;
	pmix_upcall_post(WEFT_SERVE_FINALIZED, proc);
	return PMIX_OPERATION_SUCCEEDED;
}

/* Returns the ranks of procs, in an array that the caller frees. NULL if n is
 * 0, or if a proc is the wildcard or not a rank of this job. */
static uint32_t *pmix_upcall_ranks_of(const pmix_proc_t *procs, size_t n)
{
	uint32_t *ranks = n ? calloc(n, sizeof(*ranks)) : NULL;

	for (size_t i = 0; ranks && i < n; i++) {
		if (!PMIX_CHECK_NSPACE(procs[i].nspace, owner->nspace) ||
			procs[i].rank >= owner->size) {
			free(ranks);
			return NULL;
		}
		ranks[i] = procs[i].rank;
	}
	return ranks;
}

static pmix_status_t pmix_upcall_on_abort(const pmix_proc_t *proc, void *object,
	int status, const char text[], pmix_proc_t procs[], size_t n,
	pmix_op_cbfunc_t done, void *arg)
{
	struct serve_item *item = calloc(1, sizeof(*item));

	(void)object, (void)done, (void)arg;
	if (!item)
		return PMIX_ERR_NOMEM;
	item->event.kind = WEFT_SERVE_ABORT;
	item->event.rank = proc->rank;
	item->event.code = status;
	snprintf(item->event.text, sizeof(item->event.text), "%s",
		text ? text : "");
	item->event.ranks = pmix_upcall_ranks_of(procs, n);
	item->event.n_ranks = item->event.ranks ? n : 0;
	weft_serve_post(owner, &owner->items, &item->link);
	return PMIX_OPERATION_SUCCEEDED;
}

/* Completes a fence: the data is complete, because all processes are on this
 * host. */
static pmix_status_t on_fence(const pmix_proc_t procs[], size_t n_procs,
	const pmix_info_t info[], size_t n_info, char *data, size_t len,
	pmix_modex_cbfunc_t done, void *arg)
{
	(void)procs, (void)n_procs, (void)info, (void)n_info;
	done(PMIX_SUCCESS, data, len, arg, free, data);
	return PMIX_SUCCESS;
}

static pmix_status_t on_fetch(const pmix_proc_t *proc, const pmix_info_t info[],
	size_t n, pmix_modex_cbfunc_t done, void *arg)
{
	(void)proc, (void)info, (void)n, (void)done, (void)arg;
	return PMIX_ERR_NOT_FOUND;
}

static void pub_free(struct serve_pub *pub)
{
	weft_list_remove(&pub->link);
	PMIX_INFO_DESTRUCT(&pub->info);
	free(pub);
}

void weft_serve_pubs_free(struct weft_serve *serve)
{
	weft_list_for_each(it, next, &serve->pubs)
		pub_free(weft_container_of(it, struct serve_pub, link));
}

/* Returns the published entry with this key, or NULL. owner->lock is held. */
static struct serve_pub *pub_find(const char *key)
{
	weft_list_for_each(it, next, &owner->pubs)
	{
		struct serve_pub *pub =
			weft_container_of(it, struct serve_pub, link);

		if (PMIX_CHECK_KEY(&pub->info, key))
			return pub;
	}
	return NULL;
}

static pmix_status_t pub_add(const pmix_proc_t *proc, const pmix_info_t *info)
{
	struct serve_pub *pub;

	if (pub_find(info->key))
		return PMIX_ERR_DUPLICATE_KEY;
	pub = calloc(1, sizeof(*pub));
	if (!pub)
		return PMIX_ERR_NOMEM;
	PMIX_INFO_XFER(&pub->info, info);
	pub->by = *proc;
	weft_list_push_back(&owner->pubs, &pub->link);
	return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_publish(const pmix_proc_t *proc,
	const pmix_info_t info[], size_t n, pmix_op_cbfunc_t done, void *arg)
{
	pmix_status_t status = PMIX_OPERATION_SUCCEEDED;

	(void)done, (void)arg;
	pthread_mutex_lock(&owner->lock);
	for (size_t i = 0; i < n && status == PMIX_OPERATION_SUCCEEDED; i++)
		if (strncmp(info[i].key, "pmix.", 5)) /* PMIx's own keys are
							 directives */
			status = pub_add(proc, &info[i]);
	pthread_mutex_unlock(&owner->lock);
	return status;
}

static size_t lookup(char **keys, pmix_pdata_t *found, size_t n_max)
{
	size_t n = 0;

	for (char **key = keys; *key && n < n_max; key++) {
		struct serve_pub *pub = pub_find(*key);
		pmix_status_t status = PMIX_SUCCESS;

		if (!pub)
			continue;
		found[n].proc = pub->by;
		PMIX_LOAD_KEY(found[n].key, *key);
		PMIX_VALUE_XFER_DIRECT(
			status, &found[n].value, &pub->info.value);
		n += status == PMIX_SUCCESS;
	}
	return n;
}

static pmix_status_t on_lookup(const pmix_proc_t *proc, char **keys,
	const pmix_info_t info[], size_t n_info, pmix_lookup_cbfunc_t done,
	void *arg)
{
	size_t n_max = 0, n;
	pmix_pdata_t *found;

	(void)proc, (void)info, (void)n_info;
	while (keys && keys[n_max])
		n_max++;
	if (!n_max)
		return PMIX_ERR_BAD_PARAM;
	PMIX_PDATA_CREATE(found, n_max);
	if (!found)
		return PMIX_ERR_NOMEM;
	pthread_mutex_lock(&owner->lock);
	n = lookup(keys, found, n_max);
	pthread_mutex_unlock(&owner->lock);
	if (n)
		done(n == n_max ? PMIX_SUCCESS : PMIX_ERR_PARTIAL_SUCCESS,
			found, n, arg);
	PMIX_PDATA_FREE(found, n_max);
	return n ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

static pmix_status_t on_unpublish(const pmix_proc_t *proc, char **keys,
	const pmix_info_t info[], size_t n, pmix_op_cbfunc_t done, void *arg)
{
	(void)info, (void)n, (void)done, (void)arg;
	pthread_mutex_lock(&owner->lock);
	for (char **key = keys; key && *key; key++) {
		struct serve_pub *pub = pub_find(*key);

		if (pub && PMIX_CHECK_PROCID(&pub->by, proc))
			pub_free(pub);
	}
	pthread_mutex_unlock(&owner->lock);
	return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_connect(const pmix_proc_t procs[], size_t n_procs,
	const pmix_info_t info[], size_t n, pmix_op_cbfunc_t done, void *arg)
{
	(void)procs, (void)n_procs, (void)info, (void)n, (void)done, (void)arg;
	return PMIX_OPERATION_SUCCEEDED;
}

/* libpmix stores the registrations and delivers local events itself. */
static pmix_status_t on_register(pmix_status_t *codes, size_t n,
	const pmix_info_t info[], size_t n_info, pmix_op_cbfunc_t done,
	void *arg)
{
	(void)codes, (void)n, (void)info, (void)n_info, (void)done, (void)arg;
	return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_deregister(
	pmix_status_t *codes, size_t n, pmix_op_cbfunc_t done, void *arg)
{
	(void)codes, (void)n, (void)done, (void)arg;
	return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t on_notify(pmix_status_t code, const pmix_proc_t *source,
	pmix_data_range_t range, pmix_info_t info[], size_t n,
	pmix_op_cbfunc_t done, void *arg)
{
	(void)code, (void)source, (void)range, (void)info, (void)n;
	(void)done, (void)arg;
	return PMIX_OPERATION_SUCCEEDED;
}

/* Returns the names of all sets as "a,b,c". The caller frees the text.
 * owner->lock is held. */
static char *pset_names(void)
{
	size_t len = 1;
	char *text, *p;

	weft_list_for_each(it, next, &owner->psets) len +=
		strlen(weft_container_of(it, struct serve_pset, link)->name) +
		1;
	p = text = malloc(len);
	if (!text)
		return NULL;
	*p = '\0';
	weft_list_for_each(it, next, &owner->psets) p +=
		sprintf(p, p == text ? "%s" : ",%s",
			weft_container_of(it, struct serve_pset, link)->name);
	return text;
}

static const struct serve_pset *pset_of_query(const pmix_query_t *query)
{
	const char *name = NULL;

	for (size_t i = 0; i < query->nqual; i++)
		if (PMIX_CHECK_KEY(&query->qualifiers[i], PMIX_PSET_NAME) &&
			query->qualifiers[i].value.type == PMIX_STRING)
			name = query->qualifiers[i].value.data.string;
	if (!name)
		return NULL;
	weft_list_for_each(it, next, &owner->psets)
	{
		const struct serve_pset *pset =
			weft_container_of(it, struct serve_pset, link);

		if (!strcmp(pset->name, name))
			return pset;
	}
	return NULL;
}

static void answer_count(struct weft_infovec *vec)
{
	size_t n = 0;

	weft_list_for_each(it, next, &owner->psets) n++;
	weft_infovec_set_size(vec, PMIX_QUERY_NUM_PSETS, n);
}

static void answer_names(struct weft_infovec *vec)
{
	char *names = pset_names();

	if (names && *names)
		weft_infovec_set_str(vec, PMIX_QUERY_PSET_NAMES, names);
	free(names);
}

static void answer_offer(struct weft_infovec *vec)
{
	weft_infovec_set_int(vec, WEFT_PMIX_RESIZE_OFFER, owner->offer);
	weft_infovec_set_u32(vec, WEFT_PMIX_RESIZE_DEADLINE,
		weft_serve_offer_seconds(owner));
	weft_infovec_set_str(vec, WEFT_PMIX_RESIZE_PSET, owner->current);
}

/* Appends the answer to one key of a query, if there is one. owner->lock is
 * held. */
static void pmix_upcall_answer(
	struct weft_infovec *vec, const pmix_query_t *query, const char *key)
{
	const struct serve_pset *pset;

	if (!strcmp(key, PMIX_QUERY_NUM_PSETS))
		answer_count(vec);
	else if (!strcmp(key, PMIX_QUERY_PSET_NAMES))
		answer_names(vec);
	else if (!strcmp(key, PMIX_QUERY_NAMESPACES))
		weft_infovec_set_str(vec, key, owner->nspace);
	else if (!strcmp(key, PMIX_QUERY_PSET_MEMBERSHIP)) {
		pset = pset_of_query(query);
		if (pset)
			weft_infovec_set_procs(
				vec, key, pset->members, pset->n);
	} else if (!strcmp(key, WEFT_PMIX_RESIZE_OFFER) && owner->n_max)
		answer_offer(vec);
	else if (!strcmp(key, WEFT_PMIX_ENDED) && owner->n_ended)
		weft_infovec_set_procs(vec, key, owner->ended, owner->n_ended);
}

/* Called when libpmix has copied the answer. */
static void pmix_upcall_on_answered(void *arg)
{
	struct weft_infovec *vec = arg;

	weft_infovec_fini(vec);
	free(vec);
}

static pmix_status_t on_query(pmix_proc_t *proc, pmix_query_t *queries,
	size_t n, pmix_info_cbfunc_t done, void *arg)
{
	struct weft_infovec *vec = calloc(1, sizeof(*vec));

	(void)proc;
	if (!vec)
		return PMIX_ERR_NOMEM;
	pthread_mutex_lock(&owner->lock);
	for (size_t i = 0; i < n; i++)
		for (char **key = queries[i].keys; key && *key; key++)
			pmix_upcall_answer(vec, &queries[i], *key);
	pthread_mutex_unlock(&owner->lock);
	if (vec->err || !vec->n) {
		pmix_upcall_on_answered(vec);
		return PMIX_ERR_NOT_FOUND;
	}
	done(PMIX_SUCCESS, vec->info, vec->n, arg, pmix_upcall_on_answered,
		vec);
	return PMIX_SUCCESS;
}

/* Returns the name of the set that a job-control directive defines or deletes;
 * NULL for other directives. */
static const char *pset_of_directive(
	const pmix_info_t *directive, bool *is_delete_out)
{
	const char *name = NULL;

	*is_delete_out = PMIX_CHECK_KEY(directive, WEFT_PMIX_DELETE_PSET);
	if (!*is_delete_out &&
		!PMIX_CHECK_KEY(directive, PMIX_JOB_CTRL_DEFINE_PSET))
		return NULL;
	return weft_value_peek_str(&directive->value, &name) ? NULL : name;
}

/* ---- answers of the launcher ---- */

/* The callback for the answer to a request, and the answer. */
struct late_request {
	pmix_info_cbfunc_t done;
	void *arg;
	pmix_status_t status;
	struct weft_infovec vec;
};

/* Called when libpmix has copied the answer. */
static void late_request_free(void *arg)
{
	struct late_request *request = arg;

	weft_infovec_fini(&request->vec);
	free(request);
}

static void late_answer_send(pmix_status_t status, void *arg)
{
	struct late_request *request = arg;

	(void)status;
	request->done(request->vec.err ? PMIX_ERR_NOMEM : request->status,
		request->vec.info, request->vec.n, request->arg,
		late_request_free, request);
}

/* Passes the answer of the launcher's thread to libpmix's thread, which sends
 * it. libpmix 4.2 may lose an answer that another thread sends. */
static void late_answer(struct late_request *request)
{
	pmix_nspace_t none;

	/* removes a job that does not exist: its only effect is that libpmix's
	 * thread calls late_answer_send() */
	PMIX_LOAD_NSPACE(none, "weft-no-such-job");
	PMIx_server_deregister_nspace(none, late_answer_send, request);
}

/* Appends a process to a set. False if the process is no valid member, or the
 * set would have too many runs. */
static bool set_append(struct weft_serve_set *set, const pmix_proc_t *proc)
{
	struct weft_serve_run *last =
		set->n_runs ? &set->runs[set->n_runs - 1] : NULL;
	uint64_t number = weft_pmix_number(proc);
	uint32_t job = (uint32_t)(number >> 32);

	if (proc->rank > PMIX_RANK_VALID ||
		(PMIX_CHECK_NSPACE(proc->nspace, owner->nspace) &&
			proc->rank >= owner->size))
		return false;
	if (last && last->job == job && last->first + last->n == proc->rank) {
		last->n++;
		return true;
	}
	if (set->n_runs == WEFT_SERVE_RUNS_MAX)
		return false;
	set->runs[set->n_runs++] =
		(struct weft_serve_run){ job, proc->rank, 1 };
	return true;
}

static bool has_foreign(const pmix_proc_t *procs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!PMIX_CHECK_NSPACE(procs[i].nspace, owner->nspace))
			return true;
	return false;
}

/* Passes the definition of a set with members of other jobs to the launcher,
 * which answers. */
static pmix_status_t share_pset(const char *name, const pmix_proc_t targets[],
	size_t n, pmix_info_cbfunc_t done, void *arg)
{
	struct serve_item *item = calloc(1, sizeof(*item));
	struct weft_serve_set *set = calloc(1, sizeof(*set));
	struct late_request *request = calloc(1, sizeof(*request));
	bool is_valid = item && set && request;
	pmix_proc_t me;

	for (size_t i = 0; is_valid && i < n; i++)
		is_valid = set_append(set, &targets[i]);
	if (!is_valid) {
		free(item);
		free(set);
		free(request);
		return PMIX_ERR_OUT_OF_RESOURCE;
	}
	PMIX_LOAD_PROCID(&me, owner->nspace, 0);
	set->by = (uint32_t)(weft_pmix_number(&me) >> 32);
	snprintf(set->name, sizeof(set->name), "%s", name);
	request->done = done;
	request->arg = arg;
	item->event.kind = WEFT_SERVE_SET;
	item->event.set = set;
	item->event.set_request = request;
	weft_serve_post(owner, &owner->items, &item->link);
	return PMIX_SUCCESS;
}

void weft_serve_set_answer(struct weft_serve *serve, void *set_request, int err)
{
	struct late_request *request = set_request;

	(void)serve;
	if (err == WEFT_ERR_NAME)
		request->status = PMIX_ERR_DUPLICATE_KEY;
	else if (err == WEFT_ERR_UNSUPPORTED)
		request->status = PMIX_ERR_UNREACH;
	else if (err)
		request->status = PMIX_ERR_NOMEM;
	late_answer(request);
}

static pmix_status_t pmix_upcall_define_pset(
	const char *name, const pmix_proc_t targets[], size_t n)
{
	uint32_t *ranks = pmix_upcall_ranks_of(targets, n);
	pmix_status_t status =
		ranks ? weft_serve_pset_define(owner, name, ranks, n)
		      : PMIX_ERR_BAD_PARAM;

	free(ranks);
	return status;
}

/* Accepts one directive per call, about a process set. The answer is sent from
 * this thread, because libpmix 4.2 may lose an answer that another thread
 * sends. */
static pmix_status_t on_control(const pmix_proc_t *proc,
	const pmix_proc_t targets[], size_t n, const pmix_info_t directives[],
	size_t n_directives, pmix_info_cbfunc_t done, void *arg)
{
	bool is_delete = false;
	const char *name =
		n_directives ? pset_of_directive(&directives[0], &is_delete)
			     : NULL;
	pmix_status_t status;

	(void)proc;
	if (!name || n_directives != 1)
		return PMIX_ERR_NOT_SUPPORTED;
	if (!*name || strlen(name) > PMIX_MAX_KEYLEN || (!is_delete && !n))
		return PMIX_ERR_BAD_PARAM;
	if (!is_delete && has_foreign(targets, n))
		return share_pset(name, targets, n, done, arg);
	status = is_delete ? weft_serve_pset_delete(owner, name)
			   : pmix_upcall_define_pset(name, targets, n);
	done(status, NULL, 0, arg, NULL, NULL);
	return PMIX_SUCCESS;
}

static bool has_context_request(const pmix_info_t *info, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (PMIX_CHECK_KEY(&info[i], PMIX_GROUP_ASSIGN_CONTEXT_ID))
			return PMIX_INFO_TRUE(&info[i]);
	return false;
}

/* Weft does not use PMIx groups, but other clients do. Clients of libpmix 5
 * refuse an answer without the membership. A destruction is answered by the
 * return value. If this function called `done`, libpmix 5.0 would run `done`
 * twice. */
static pmix_status_t on_group(pmix_group_operation_t op, char *group,
	const pmix_proc_t procs[], size_t n, const pmix_info_t info[],
	size_t n_info, pmix_info_cbfunc_t done, void *arg)
{
	struct weft_infovec *vec;

	(void)group;
	if (op != PMIX_GROUP_CONSTRUCT)
		return PMIX_OPERATION_SUCCEEDED;
	vec = calloc(1, sizeof(*vec));
	if (!vec)
		return PMIX_ERR_NOMEM;
	weft_infovec_set_procs(vec, PMIX_GROUP_MEMBERSHIP, procs, n);
	if (has_context_request(info, n_info))
		weft_infovec_set_size(
			vec, PMIX_GROUP_CONTEXT_ID, owner->next_context++);
	done(PMIX_SUCCESS, vec->info, vec->n, arg, pmix_upcall_on_answered,
		vec);
	return PMIX_SUCCESS;
}

/* ---- new jobs ---- */

/* The callback for the answer to a request for a job. */
struct spawn_request {
	pmix_spawn_cbfunc_t done;
	void *arg;
};

void weft_serve_spawned(struct weft_serve *serve, void *spawn_request, int err,
	const char *name)
{
	struct spawn_request *request = spawn_request;
	pmix_nspace_t nspace;

	(void)serve;
	PMIX_LOAD_NSPACE(nspace, name);
	request->done(err ? PMIX_ERR_JOB_FAILED_TO_LAUNCH : PMIX_SUCCESS,
		nspace, request->arg);
	free(request);
}

void weft_serve_argv_free(char **argv)
{
	for (char **arg = argv; arg && *arg; arg++)
		free(*arg);
	free(argv);
}

/* A growing NULL-ended list. is_bad after an allocation failed or an argument
 * was not valid. */
struct mpiexec_args {
	char **list;
	size_t n;
	bool is_bad;
};

static void args_add(struct mpiexec_args *args, const char *arg_text)
{
	char **list = realloc(args->list, (args->n + 2) * sizeof(*list));

	if (list) {
		args->list = list;
		list[args->n] = strdup(arg_text);
		args->is_bad |= !list[args->n];
		list[++args->n] = NULL;
	}
	args->is_bad |= !list;
}

/* Returns the value of a key in the app's info, or NULL. */
static const char *app_peek(const pmix_app_t *app, const char *key)
{
	const char *value = NULL;

	for (size_t i = 0; i < app->ninfo; i++)
		if (PMIX_CHECK_KEY(&app->info[i], key))
			weft_value_peek_str(&app->info[i].value, &value);
	return value;
}

/* Returns the value of an environment variable of the app, or NULL. */
static const char *env_peek(const pmix_app_t *app, const char *name)
{
	size_t n = strlen(name);

	for (char **e = app->env; e && *e; e++)
		if (!strncmp(*e, name, n) && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

/* Appends the hosts. mpiexec refuses added hosts as it refuses other hosts. */
static void add_hosts(struct mpiexec_args *args, const pmix_app_t *app)
{
	static const char *const keys[] = { PMIX_HOST, PMIX_ADD_HOST,
		PMIX_ADD_HOSTFILE };

	for (int i = 0; i < 3; i++) {
		const char *value = app_peek(app, keys[i]);

		if (!value || !strcmp(value, owner->host))
			continue;
		args_add(args, i < 2 ? "-host" : "--hostfile");
		args_add(args, value);
	}
}

/* Appends the app in the syntax of mpiexec's command line. */
static void add_app(struct mpiexec_args *args, const pmix_app_t *app)
{
	const char *pset = app_peek(app, PMIX_PSET_NAME);
	char n[16];

	snprintf(n, sizeof(n), "%d", app->maxprocs);
	args_add(args, "-n");
	args_add(args, n);
	add_hosts(args, app);
	if (app->cwd) {
		args_add(args, "-wdir");
		args_add(args, app->cwd);
	}
	if (pset) {
		args_add(args, "--pset");
		args_add(args, pset);
	}
	args_add(args, "--");
	args_add(args, app->cmd);
	for (char **arg = app->argv; arg && *arg; arg++) {
		args->is_bad |= !strcmp(*arg, ":"); /* ":" would begin another
						       app */
		if (arg != app->argv)
			args_add(args, *arg);
	}
}

/* Returns a copy of the port in the app's environment, or NULL. The caller
 * frees it. */
static char *parent_of(const pmix_app_t *app)
{
	const char *port = env_peek(app, "WEFT_PARENT");

	return port ? strdup(port) : NULL;
}

/* Appends an option, whose value is that of the environment variable `name` of
 * the app. The variables of the first app apply to all apps. */
static void add_option(struct mpiexec_args *args, const pmix_app_t *app,
	const char *name, const char *option)
{
	const char *value = env_peek(app, name);

	if (!value)
		return;
	args_add(args, option);
	args_add(args, value);
}

static pmix_status_t pmix_upcall_on_spawn(const pmix_proc_t *proc,
	const pmix_info_t info[], size_t n_info, const pmix_app_t apps[],
	size_t n, pmix_spawn_cbfunc_t done, void *arg)
{
	struct serve_item *item = calloc(1, sizeof(*item));
	struct spawn_request *request = calloc(1, sizeof(*request));
	struct mpiexec_args args = { 0 };

	(void)info, (void)n_info;
	args_add(&args, "mpiexec");
	if (n) {
		add_option(&args, &apps[0], "WEFT_INITIAL_ERRHANDLER",
			"-initial-errhandler");
		add_option(&args, &apps[0], "WEFT_MEMORY_ALLOC_KINDS",
			"-memory-alloc-kinds");
	}
	for (size_t i = 0; i < n; i++) {
		if (i)
			args_add(&args, ":");
		args.is_bad |= !apps[i].cmd || apps[i].maxprocs < 1;
		if (!args.is_bad)
			add_app(&args, &apps[i]);
	}
	if (!item || !request || args.is_bad || !n) {
		weft_serve_argv_free(args.list);
		free(item);
		free(request);
		return PMIX_ERR_BAD_PARAM;
	}
	*request = (struct spawn_request){ done, arg };
	item->event.kind = WEFT_SERVE_SPAWN;
	item->event.rank = proc->rank;
	item->event.argv = args.list;
	item->event.parent = parent_of(&apps[0]);
	item->event.spawn_request = request;
	weft_serve_post(owner, &owner->items, &item->link);
	return PMIX_SUCCESS;
}

/* ---- changes of the size of the job ---- */

static pmix_status_t status_of(enum weft_serve_verdict verdict)
{
	static const pmix_status_t statuses[] = {
		[WEFT_SERVE_ACCEPTED] = PMIX_SUCCESS,
		[WEFT_SERVE_ABOVE_MAX] = PMIX_ERR_OUT_OF_RESOURCE,
		[WEFT_SERVE_BELOW_MIN] = PMIX_ERR_BAD_PARAM,
		[WEFT_SERVE_NOT_CURRENT] = PMIX_ERR_NOT_FOUND,
		[WEFT_SERVE_BUSY] = PMIX_ERR_RESOURCE_BUSY,
		[WEFT_SERVE_NOT_STARTED] = PMIX_ERR_JOB_FAILED_TO_LAUNCH,
	};

	return statuses[verdict];
}

void weft_serve_resized(struct weft_serve *serve, void *resize_request,
	enum weft_serve_verdict verdict, const char *set, const char *why)
{
	struct late_request *request = resize_request;

	(void)serve;
	weft_infovec_set_int(
		&request->vec, WEFT_PMIX_RESIZE_STATUS, status_of(verdict));
	if (set)
		weft_infovec_set_str(&request->vec, WEFT_PMIX_RESIZE_PSET, set);
	if (why)
		weft_infovec_set_str(&request->vec, WEFT_PMIX_RESIZE_WHY, why);
	late_answer(request);
}

/* Reads the entries of a request into the event. False if they are no request
 * about the size of the job. */
static bool resize_read(struct weft_serve_event *event,
	pmix_alloc_directive_t directive, const pmix_info_t *info, size_t n)
{
	const char *set = NULL;
	bool is_valid = false;

	for (size_t i = 0; i < n; i++) {
		const pmix_value_t *value = &info[i].value;

		if (PMIX_CHECK_KEY(&info[i], WEFT_PMIX_RESIZE_DELTA)) {
			event->resize = WEFT_SERVE_ASK;
			is_valid = !weft_value_get_int(value, &event->code);
		} else if (PMIX_CHECK_KEY(&info[i], WEFT_PMIX_RESIZE_PSET)) {
			weft_value_peek_str(value, &set);
		} else if (PMIX_CHECK_KEY(&info[i], WEFT_PMIX_RESIZE_DONE)) {
			event->resize = WEFT_SERVE_DONE;
			is_valid = !weft_value_peek_str(value, &set);
		} else if (PMIX_CHECK_KEY(&info[i], WEFT_PMIX_RESIZE_CANCEL)) {
			event->resize = WEFT_SERVE_CANCEL;
			is_valid = !weft_value_peek_str(value, &set);
		}
	}
	if (set)
		snprintf(event->text, sizeof(event->text), "%s", set);
	return is_valid && (directive == PMIX_ALLOC_EXTEND ||
				   directive == PMIX_ALLOC_RELEASE);
}

static pmix_status_t on_allocate(const pmix_proc_t *proc,
	pmix_alloc_directive_t directive, const pmix_info_t info[], size_t n,
	pmix_info_cbfunc_t done, void *arg)
{
	struct serve_item *item = calloc(1, sizeof(*item));
	struct late_request *request = calloc(1, sizeof(*request));
	pmix_status_t status = PMIX_ERR_NOMEM;

	if (item && request && owner->n_max &&
		resize_read(&item->event, directive, info, n)) {
		request->done = done;
		request->arg = arg;
		item->event.kind = WEFT_SERVE_RESIZE;
		item->event.rank = proc->rank;
		item->event.resize_request = request;
		weft_serve_post(owner, &owner->items, &item->link);
		return PMIX_SUCCESS;
	}
	if (item && request)
		status = PMIX_ERR_NOT_SUPPORTED;
	free(item);
	free(request);
	return status;
}

pmix_server_module_t weft_serve_module = {
	.client_connected2 = on_connected,
	.client_finalized = on_finalized,
	.abort = pmix_upcall_on_abort,
	.fence_nb = on_fence,
	.direct_modex = on_fetch,
	.publish = on_publish,
	.lookup = on_lookup,
	.unpublish = on_unpublish,
	.connect = on_connect,
	.disconnect = on_connect,
	.register_events = on_register,
	.deregister_events = on_deregister,
	.notify_event = on_notify,
	.spawn = pmix_upcall_on_spawn,
	.query = on_query,
	.job_control = on_control,
	.allocate = on_allocate,
	.group = on_group,
};
