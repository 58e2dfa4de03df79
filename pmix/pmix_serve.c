/* SPDX-License-Identifier: BSD-3-Clause */
/* serve: registers a job with libpmix's server half, and reports its events */
#include "pmix/pmix_serve.h"
#include "pmix/pmix_serve_priv.h"
#include "pmix/pmix_codec.h"

#include "base/bits.h"
#include "base/clock.h"
#include "base/err.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HOST_MAX = 48, FINALIZE_S = 8 };

/* The wait for one answer of PMIx's thread. */
struct waiter {
	pthread_mutex_t lock;
	pthread_cond_t done_cond;
	bool is_done;
	pmix_status_t status;
};

static void waiter_init(struct waiter *waiter)
{
	*waiter = (struct waiter){ .lock = PTHREAD_MUTEX_INITIALIZER,
		.done_cond = PTHREAD_COND_INITIALIZER };
}

static void pmix_serve_on_answer(pmix_status_t status, void *arg)
{
	struct waiter *waiter = arg;

	pthread_mutex_lock(&waiter->lock);
	waiter->is_done = true;
	waiter->status = status;
	pthread_cond_signal(&waiter->done_cond);
	pthread_mutex_unlock(&waiter->lock);
}

/* Returns the result of a PMIx call that returned `status`. If status is
 * PMIX_SUCCESS, waits for the callback, which delivers the result. */
static int waiter_join(struct waiter *waiter, pmix_status_t status)
{
	if (status != PMIX_SUCCESS)
		return weft_pmix_err(status);
	pthread_mutex_lock(&waiter->lock);
	while (!waiter->is_done)
		pthread_cond_wait(&waiter->done_cond, &waiter->lock);
	pthread_mutex_unlock(&waiter->lock);
	return weft_pmix_err(waiter->status);
}

/* Returns the number of processes at the start. */
static uint32_t job_size(const struct weft_serve_job *job)
{
	uint32_t n = 0;

	for (uint32_t a = 0; a < job->n_apps; a++)
		n += job->apps[a].n;
	return n;
}

/* Returns the text "0,1,...,n-1". The caller frees it. */
static char *peers_text(uint32_t n)
{
	char *text = malloc((size_t)n * 11 + 1), *p = text;

	if (!text)
		return NULL;
	*p = '\0';
	for (uint32_t r = 0; r < n; r++)
		p += sprintf(p, r ? ",%u" : "%u", r);
	return text;
}

static void describe_job(struct weft_serve *serve, struct weft_infovec *vec,
	const struct weft_serve_job *job, const char *peers)
{
	/* libpmix 4.2 passes no facts of a rank above PMIX_JOB_SIZE on */
	weft_infovec_set_u32(vec, PMIX_JOB_SIZE, serve->size);
	weft_infovec_set_u32(vec, PMIX_MAX_PROCS, serve->size);
	if (job->n_max) {
		weft_infovec_set_u32(vec, WEFT_PMIX_START, job_size(job));
		weft_infovec_set_u32(vec, WEFT_PMIX_MIN, job->n_min);
		weft_infovec_set_u32(vec, WEFT_PMIX_MAX, job->n_max);
	}
	weft_infovec_set_u32(vec, PMIX_LOCAL_SIZE, serve->size);
	weft_infovec_set_u32(vec, PMIX_JOB_NUM_APPS, job->n_apps);
	weft_infovec_set_u32(vec, PMIX_NUM_NODES, 1);
	weft_infovec_set_str(vec, PMIX_JOBID, job->name);
	weft_infovec_set_str(vec, PMIX_NSPACE, job->name);
	weft_infovec_set_str(vec, PMIX_NODE_LIST, serve->host);
	if (strcmp(serve->host, job->host))
		weft_infovec_set_str(vec, WEFT_PMIX_HOST, job->host);
	weft_infovec_set_str(vec, PMIX_LOCAL_PEERS, peers);
	weft_infovec_set_rank(vec, PMIX_LOCALLDR, 0);
	weft_infovec_set_bytes(vec, "weft.job.key", job->key, sizeof(job->key));
}

static int describe_maps(
	struct weft_infovec *vec, const char *host, const char *peers)
{
	char *nodes = NULL, *procs = NULL;
	pmix_status_t status = PMIx_generate_regex(host, &nodes);

	if (status == PMIX_SUCCESS)
		status = PMIx_generate_ppn(peers, &procs);
	if (status == PMIX_SUCCESS) {
		weft_infovec_set_regex(vec, PMIX_NODE_MAP, nodes);
		weft_infovec_set_regex(vec, PMIX_PROC_MAP, procs);
	}
	free(nodes);
	free(procs);
	return weft_pmix_err(status);
}

static void describe_proc(struct weft_serve *serve, struct weft_infovec *vec,
	uint32_t rank, uint32_t app, uint32_t app_rank)
{
	struct weft_infovec proc = { 0 };

	weft_infovec_set_rank(&proc, PMIX_RANK, rank); /* PMIX_RANK must be the
							  first entry */
	weft_infovec_set_u32(&proc, PMIX_APPNUM, app);
	weft_infovec_set_rank(&proc, PMIX_APP_RANK, app_rank);
	weft_infovec_set_rank(&proc, PMIX_GLOBAL_RANK, rank);
	weft_infovec_set_u16(&proc, PMIX_LOCAL_RANK, (uint16_t)rank);
	weft_infovec_set_u16(&proc, PMIX_NODE_RANK, (uint16_t)rank);
	weft_infovec_set_str(&proc, PMIX_HOSTNAME, serve->host);
	weft_infovec_set_u32(&proc, PMIX_NODEID, 0);
	weft_infovec_set_u32(&proc, PMIX_REINCARNATION, 0);
	weft_infovec_set_vec(vec, PMIX_PROC_INFO_ARRAY, &proc);
	weft_infovec_fini(&proc);
}

static void describe_apps(struct weft_serve *serve, struct weft_infovec *vec,
	const struct weft_serve_job *job)
{
	uint32_t first = 0;

	for (uint32_t a = 0; a < job->n_apps; a++) {
		struct weft_infovec app = { 0 };

		weft_infovec_set_u32(&app, PMIX_APPNUM, a);
		weft_infovec_set_u32(&app, PMIX_APP_SIZE, job->apps[a].n);
		weft_infovec_set_rank(&app, PMIX_APPLDR, first);
		weft_infovec_set_vec(vec, PMIX_APP_INFO_ARRAY, &app);
		weft_infovec_fini(&app);
		for (uint32_t r = 0; r < job->apps[a].n; r++)
			describe_proc(serve, vec, first + r, a, r);
		first += job->apps[a].n;
	}
	for (uint32_t r = first; r < serve->size; r++)
		describe_proc(serve, vec, r, 0, r);
}

static int register_job(
	struct weft_serve *serve, const struct weft_serve_job *job)
{
	struct weft_infovec vec = { 0 };
	char *peers = peers_text(serve->size);
	struct waiter waiter;
	int err;

	if (!peers)
		return WEFT_ERR_NOMEM;
	describe_job(serve, &vec, job, peers);
	err = describe_maps(&vec, serve->host, peers);
	free(peers);
	describe_apps(serve, &vec, job);
	if (!err)
		err = vec.err;
	if (!err) {
		waiter_init(&waiter);
		err = waiter_join(
			&waiter, PMIx_server_register_nspace(serve->nspace,
					 (int)serve->size, vec.info, vec.n,
					 pmix_serve_on_answer, &waiter));
	}
	weft_infovec_fini(&vec);
	return err;
}

static struct serve_pset *pset_find(struct weft_serve *serve, const char *name)
{
	weft_list_for_each(it, next, &serve->psets)
	{
		struct serve_pset *pset =
			weft_container_of(it, struct serve_pset, link);

		if (!strcmp(pset->name, name))
			return pset;
	}
	return NULL;
}

static void pset_free(struct serve_pset *pset)
{
	if (!pset)
		return;
	free(pset->members);
	free(pset);
}

/* Creates a set of n members, which the caller fills in. */
static struct serve_pset *pset_create(const char *name, size_t n)
{
	struct serve_pset *pset = calloc(1, sizeof(*pset));

	if (!pset)
		return NULL;
	pset->members = calloc(n ? n : 1, sizeof(*pset->members));
	if (!pset->members) {
		pset_free(pset);
		return NULL;
	}
	pset->n = n;
	snprintf(pset->name, sizeof(pset->name), "%s", name);
	return pset;
}

/* Adds a set to the list. The lock is held. */
static struct serve_pset *pset_add(struct weft_serve *serve, const char *name,
	const uint32_t *ranks, size_t n)
{
	struct serve_pset *pset = pset_create(name, n);

	if (!pset)
		return NULL;
	for (size_t i = 0; i < n; i++)
		PMIX_LOAD_PROCID(&pset->members[i], serve->nspace, ranks[i]);
	weft_list_push_back(&serve->psets, &pset->link);
	return pset;
}

/* Adds a process set and notifies the processes. WEFT_ERR_NAME: the name exists
 * already or is not valid. */
static int pset_define_first(struct weft_serve *serve, const char *name,
	const uint32_t *ranks, size_t n)
{
	struct serve_pset *pset = NULL;
	bool is_taken;

	pthread_mutex_lock(&serve->lock);
	is_taken = pset_find(serve, name) != NULL;
	if (!is_taken && *name && strlen(name) <= PMIX_MAX_KEYLEN)
		pset = pset_add(serve, name, ranks, n);
	pthread_mutex_unlock(&serve->lock);
	if (is_taken || !*name || strlen(name) > PMIX_MAX_KEYLEN)
		return weft_err_set(WEFT_ERR_NAME,
			"process set name \"%s\" is empty, too long or taken",
			name);
	if (!pset)
		return WEFT_ERR_NOMEM;
	/* This call sends the event. Queries read serve->psets. The returned
	 * status is ignored, because libpmix 4.2 returns an uninitialized one.
	 */
	PMIx_server_define_process_set(pset->members, pset->n, pset->name);
	return 0;
}

/* ---- sets that processes define ---- */

static void notice_free(struct serve_notice *notice)
{
	if (!notice)
		return;
	free(notice->members);
	free(notice);
}

/* Creates the notice that a set was deleted. */
static struct serve_notice *notice_create(const char *name)
{
	struct serve_notice *notice = calloc(1, sizeof(*notice));

	if (!notice)
		return NULL;
	notice->is_delete = true;
	snprintf(notice->name, sizeof(notice->name), "%s", name);
	return notice;
}

/* Creates the notice that a set of n processes was defined. The caller fills in
 * the members. */
static struct serve_notice *notice_create_defined(const char *name, size_t n)
{
	struct serve_notice *notice = notice_create(name);

	if (!notice)
		return NULL;
	notice->is_delete = false;
	notice->n = n;
	notice->members = calloc(n ? n : 1, sizeof(*notice->members));
	if (notice->members)
		return notice;
	notice_free(notice);
	return NULL;
}

/* Queues a notice, which the launcher's thread sends and frees. */
static void post_notice(struct weft_serve *serve, struct serve_notice *notice)
{
	weft_serve_post(serve, &serve->notices, &notice->link);
}

pmix_status_t weft_serve_pset_define(struct weft_serve *serve, const char *name,
	const uint32_t *ranks, size_t n)
{
	struct serve_notice *notice = notice_create_defined(name, n);
	pmix_status_t status = PMIX_ERR_NOMEM;
	struct serve_pset *pset = NULL;

	pthread_mutex_lock(&serve->lock);
	if (pset_find(serve, name))
		status = PMIX_ERR_DUPLICATE_KEY;
	else if (notice)
		pset = pset_add(serve, name, ranks, n);
	if (pset) {
		pset->is_by_process = true;
		memcpy(notice->members, pset->members,
			n * sizeof(*notice->members));
	}
	pthread_mutex_unlock(&serve->lock);
	if (pset) {
		post_notice(serve, notice);
		return PMIX_SUCCESS;
	}
	notice_free(notice);
	return status;
}

/* Queues the event that a set with members of other jobs was deleted. Without
 * memory, the set remains in the other jobs. */
static void post_deleted(
	struct weft_serve *serve, const struct serve_pset *pset)
{
	struct serve_item *item = calloc(1, sizeof(*item));
	struct weft_serve_set *set = calloc(1, sizeof(*set));

	if (!item || !set) {
		free(item);
		free(set);
		return;
	}
	set->by = pset->by;
	snprintf(set->name, sizeof(set->name), "%s", pset->name);
	item->event.kind = WEFT_SERVE_SET;
	item->event.set = set;
	weft_serve_post(serve, &serve->items, &item->link);
}

/* Removes a set, and queues the notice. is_by_process: only a set that a
 * process defined. */
static pmix_status_t pset_remove(
	struct weft_serve *serve, const char *name, bool is_by_process)
{
	struct serve_notice *notice = notice_create(name);
	struct serve_pset *pset;

	if (!notice)
		return PMIX_ERR_NOMEM;
	pthread_mutex_lock(&serve->lock);
	pset = pset_find(serve, name);
	if (pset && pset->is_by_process != is_by_process)
		pset = NULL;
	if (pset)
		weft_list_remove(&pset->link);
	pthread_mutex_unlock(&serve->lock);
	if (!pset) {
		notice_free(notice);
		return PMIX_ERR_NOT_FOUND;
	}
	post_notice(serve, notice);
	if (pset->is_shared)
		post_deleted(serve, pset);
	pset_free(pset);
	return PMIX_SUCCESS;
}

pmix_status_t weft_serve_pset_delete(struct weft_serve *serve, const char *name)
{
	return pset_remove(serve, name, true);
}

int weft_serve_set_define(struct weft_serve *serve, const char *name,
	const uint32_t *ranks, size_t n)
{
	return pset_define_first(serve, name, ranks, n);
}

void weft_serve_set_delete(struct weft_serve *serve, const char *name)
{
	(void)pset_remove(serve, name, false);
}

static struct serve_pset *pset_of_set(
	const struct weft_serve *serve, const struct weft_serve_set *set)
{
	struct serve_pset *pset;
	size_t n = 0;

	for (uint32_t i = 0; i < set->n_runs; i++)
		n += set->runs[i].n;
	pset = pset_create(set->name, n);
	if (!pset)
		return NULL;
	pset->is_by_process = pset->is_shared = true;
	pset->by = set->by;
	n = 0;
	for (uint32_t i = 0; i < set->n_runs; i++) {
		const struct weft_serve_run *run = &set->runs[i];
		uint64_t job = (uint64_t)run->job << 32;

		for (uint32_t k = 0; k < run->n; k++)
			weft_pmix_proc_load(&pset->members[n++], serve->nspace,
				job | (run->first + k));
	}
	return pset;
}

int weft_serve_set_add(
	struct weft_serve *serve, const struct weft_serve_set *set)
{
	struct serve_pset *pset = pset_of_set(serve, set);
	struct serve_notice *notice =
		pset ? notice_create_defined(set->name, pset->n) : NULL;
	bool is_taken;

	if (!notice) {
		pset_free(pset);
		return WEFT_ERR_NOMEM;
	}
	memcpy(notice->members, pset->members,
		pset->n * sizeof(*pset->members));
	pthread_mutex_lock(&serve->lock);
	is_taken = pset_find(serve, set->name) != NULL;
	if (!is_taken)
		weft_list_push_back(&serve->psets, &pset->link);
	pthread_mutex_unlock(&serve->lock);
	if (is_taken) {
		pset_free(pset);
		notice_free(notice);
		return WEFT_ERR_NAME;
	}
	post_notice(serve, notice);
	return 0;
}

void weft_serve_set_remove(
	struct weft_serve *serve, const struct weft_serve_set *set)
{
	struct serve_notice *notice = notice_create(set->name);
	struct serve_pset *pset;

	pthread_mutex_lock(&serve->lock);
	pset = pset_find(serve, set->name);
	if (pset && (!pset->is_shared || pset->by != set->by))
		pset = NULL;
	if (pset)
		weft_list_remove(&pset->link);
	pthread_mutex_unlock(&serve->lock);
	if (pset && notice)
		post_notice(serve, notice);
	else
		notice_free(notice);
	pset_free(pset);
}

static void send_notices(struct weft_serve *serve)
{
	for (;;) {
		struct weft_link *link;
		struct serve_notice *notice;

		pthread_mutex_lock(&serve->lock);
		link = weft_list_pop_front(&serve->notices);
		pthread_mutex_unlock(&serve->lock);
		if (!link)
			return;
		notice = weft_container_of(link, struct serve_notice, link);
		if (notice->is_delete)
			PMIx_server_delete_process_set(notice->name);
		else
			PMIx_server_define_process_set(
				notice->members, notice->n, notice->name);
		notice_free(notice);
	}
}

/* Defines the set of the ranks of app a. Apps with the same name share the set.
 */
static int pset_of_apps(
	struct weft_serve *serve, const struct weft_serve_job *job, uint32_t a)
{
	uint32_t *ranks = malloc((serve->size + 1) * sizeof(*ranks));
	uint32_t first = 0;
	size_t n = 0;
	int err;

	if (!ranks)
		return WEFT_ERR_NOMEM;
	for (uint32_t b = 0; b < job->n_apps; b++) {
		const struct weft_serve_app *app = &job->apps[b];

		if (app->pset && !strcmp(app->pset, job->apps[a].pset))
			for (uint32_t r = 0; r < app->n; r++)
				ranks[n++] = first + r;
		first += app->n;
	}
	err = pset_define_first(serve, job->apps[a].pset, ranks, n);
	free(ranks);
	return err;
}

static int define_psets(
	struct weft_serve *serve, const struct weft_serve_job *job)
{
	for (uint32_t a = 0; a < job->n_apps; a++) {
		int err = 0;

		if (job->apps[a].pset && !pset_find(serve, job->apps[a].pset))
			err = pset_of_apps(serve, job, a);
		if (err)
			return err;
	}
	return 0;
}

/* Makes PMIx store the keys of this job in memory instead of in shared files.
 * With shared files, a client on a busy machine sometimes reads "not found" for
 * a key that the server has just written (4.2.2). A value from the user is not
 * changed. */
static int set_gds_hash(void)
{
	return setenv("PMIX_MCA_gds", "hash", 0) ? WEFT_ERR_NOMEM : 0;
}

/* Returns the number of threads of this process; 0: unknown. */
static unsigned count_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	unsigned n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n < 2 ? 0 : n - 2; /* without . and .. */
}

/* libpmix 4 does not detect that its listening thread could not be created, for
 * example under a memory limit. The processes would then wait forever. */
static int check_listener(unsigned n_before)
{
	const char *version = strstr(PMIx_Get_version(), "PMIx ");
	int major = version ? atoi(version + strlen("PMIx ")) : 0;
	unsigned n = count_threads();
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };

	if (major != 4 || !n || n >= n_before + 2)
		return 0;
	getrlimit(RLIMIT_AS, &limit);
	return weft_err_set(WEFT_ERR_BOOT,
		"the PMIx server could not create a thread: %s (ulimit -v %llu "
		"KiB, ulimit -u)",
		strerror(EAGAIN), (unsigned long long)limit.rlim_cur / 1024);
}

/* Disables Nagle's algorithm on the server's sockets: accepted sockets inherit
 * the option. Otherwise the second of two messages to a process waits 40 ms,
 * until that process acknowledges the first one. libpmix has no such option. */
static void send_undelayed(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL) {
		int fd = atoi(entry->d_name), on = 1, listens = 0;
		socklen_t len = sizeof(listens);

		if (fd > STDERR_FILENO &&
			!getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens,
				&len) &&
			listens) /* fails for sockets other than TCP */
			setsockopt(
				fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	}
	if (dir)
		closedir(dir);
}

static int server_start(
	struct weft_serve *serve, const struct weft_serve_job *job)
{
	struct weft_infovec vec = { 0 };
	pmix_status_t status = PMIX_ERR_NOMEM;
	unsigned n_threads = count_threads();

	weft_infovec_set_str(&vec, PMIX_SERVER_TMPDIR, job->tmpdir);
	weft_infovec_set_str(&vec, PMIX_SYSTEM_TMPDIR, job->tmpdir);
	weft_infovec_set_str(&vec, PMIX_HOSTNAME, serve->host);
	weft_serve_upcall_owner(serve);
	if (!vec.err)
		vec.err = set_gds_hash();
	if (!vec.err)
		status = PMIx_server_init(&weft_serve_module, vec.info, vec.n);
	weft_infovec_fini(&vec);
	serve->is_up = status == PMIX_SUCCESS;
	if (!serve->is_up)
		return weft_err_set(WEFT_ERR_BOOT,
			"the PMIx server does not start: %s",
			PMIx_Error_string(status));
	send_undelayed();
	return check_listener(n_threads);
}

/* Registers all processes before the first one starts. The server waits for
 * keys of a registered process. For keys of an unregistered process, it returns
 * "not found". */
static int register_clients(struct weft_serve *serve)
{
	int err = 0;

	for (uint32_t rank = 0; !err && rank < serve->size; rank++) {
		struct waiter waiter;
		pmix_proc_t proc;

		PMIX_LOAD_PROCID(&proc, serve->nspace, rank);
		waiter_init(&waiter);
		err = waiter_join(&waiter,
			PMIx_server_register_client(&proc, getuid(), getgid(),
				serve, pmix_serve_on_answer, &waiter));
	}
	return err;
}

int weft_serve_open(
	struct weft_serve **serve_out, const struct weft_serve_job *job)
{
	struct weft_serve *serve = calloc(1, sizeof(*serve));
	int err = WEFT_ERR_NOMEM;

	if (!serve)
		return err;
	pthread_mutex_init(&serve->lock, NULL);
	weft_list_init(&serve->items);
	weft_list_init(&serve->notices);
	weft_list_init(&serve->psets);
	weft_list_init(&serve->pubs);
	serve->next_context = 1;
	serve->size = job->n_max ? job->n_places : job_size(job);
	serve->n_min = job->n_min;
	serve->n_max = job->n_max;
	PMIX_LOAD_NSPACE(serve->nspace, job->name);
	/* libpmix 4.2 overruns its own buffer when it builds a regular
	 * expression from a name of 57 characters or more */
	snprintf(serve->host, sizeof(serve->host), "%.*s", HOST_MAX, job->host);
	serve->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (serve->wake_fd < 0)
		goto fail;
	err = server_start(serve, job);
	if (err)
		goto fail;
	err = register_job(serve, job);
	if (err)
		goto fail;
	err = register_clients(serve);
	if (err)
		goto fail;
	err = define_psets(serve, job);
	if (err)
		goto fail;
	*serve_out = serve;
	return 0;
fail:
	weft_serve_close(serve);
	return err;
}

static void *finalize(void *arg)
{
	pmix_serve_on_answer(PMIx_server_finalize(), arg);
	return NULL;
}

/* Waits a second at most. A longer stall of the machine counts as one
 * second. */
static void waiter_wait_1s(struct waiter *waiter)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	while (!waiter->is_done && pthread_cond_timedwait(&waiter->done_cond,
					   &waiter->lock, &until) != ETIMEDOUT)
		;
}

/* Returns false if PMIx_server_finalize() does not return in time. In that
 * case, its thread continues and uses the waiter and libpmix's memory. */
static bool server_stop(void)
{
	struct waiter *waiter = malloc(sizeof(*waiter));
	pthread_t thread;
	bool is_done;

	if (!waiter)
		return false;
	waiter_init(waiter);
	if (pthread_create(&thread, NULL, finalize, waiter)) {
		free(waiter);
		return false;
	}
	pthread_mutex_lock(&waiter->lock);
	for (int i = 0; i < FINALIZE_S && !waiter->is_done; i++)
		waiter_wait_1s(waiter);
	is_done = waiter->is_done;
	pthread_mutex_unlock(&waiter->lock);
	if (!is_done) {
		pthread_detach(thread); /* the thread may still end */
		return false;
	}
	pthread_join(thread, NULL);
	free(waiter);
	return true;
}

bool weft_serve_close(struct weft_serve *serve)
{
	if (!serve)
		return true;
	if (serve->is_up && !server_stop())
		return false;
	weft_serve_upcall_owner(NULL);
	weft_list_for_each(it, next, &serve->psets)
		pset_free(weft_container_of(it, struct serve_pset, link));
	weft_list_for_each(it, next, &serve->notices)
		notice_free(weft_container_of(it, struct serve_notice, link));
	weft_list_for_each(it, next, &serve->items)
	{
		struct serve_item *item =
			weft_container_of(it, struct serve_item, link);

		free(item->event.ranks);
		if (item->event.spawn_request)
			weft_serve_spawned(serve, item->event.spawn_request,
				WEFT_ERR_SPAWN, "");
		free(item->event.resize_request); /* the server has stopped */
		free(item->event.set_request);
		free(item->event.set);
		weft_serve_argv_free(item->event.argv);
		free(item->event.parent);
		free(item);
	}
	weft_serve_pubs_free(serve);
	if (serve->wake_fd >= 0)
		close(serve->wake_fd);
	pthread_mutex_destroy(&serve->lock);
	free(serve->ended);
	free(serve);
	return true;
}

int weft_serve_fd(const struct weft_serve *serve)
{
	return serve->wake_fd;
}

bool weft_serve_next(
	struct weft_serve *serve, struct weft_serve_event *event_out)
{
	struct weft_link *link;
	uint64_t n;

	if (read(serve->wake_fd, &n, sizeof(n)) < 0 && errno != EAGAIN)
		return false;
	send_notices(serve);
	pthread_mutex_lock(&serve->lock);
	link = weft_list_pop_front(&serve->items);
	pthread_mutex_unlock(&serve->lock);
	if (!link)
		return false;
	*event_out = weft_container_of(link, struct serve_item, link)->event;
	free(weft_container_of(link, struct serve_item, link));
	return true;
}

int weft_serve_env(struct weft_serve *serve, uint32_t rank, char ***env)
{
	pmix_proc_t proc;

	PMIX_LOAD_PROCID(&proc, serve->nspace, rank);
	return weft_pmix_err(PMIx_server_setup_fork(&proc, env));
}

static pmix_status_t end_status(enum weft_serve_end how)
{
	switch (how) {
	case WEFT_SERVE_END_SIGNAL:
		return PMIX_ERR_PROC_ABORTED_BY_SIG;
	case WEFT_SERVE_END_NONZERO:
		return PMIX_ERR_EXIT_NONZERO_TERM;
	case WEFT_SERVE_END_ABORTED:
		return PMIX_ERR_PROC_REQUESTED_ABORT;
	case WEFT_SERVE_END_CANCELLED:
		return WEFT_PMIX_CANCELLED;
	default:
		return PMIX_ERR_PROC_TERM_WO_SYNC;
	}
}

/* Called when PMIx has sent the notice and no longer refers to the entries. */
static void on_notified(pmix_status_t status, void *arg)
{
	struct weft_infovec *vec = arg;

	(void)status;
	weft_infovec_fini(vec);
	free(vec);
}

void weft_serve_ended(struct weft_serve *serve, uint32_t rank)
{
	pthread_mutex_lock(&serve->lock);
	if (!serve->ended)
		serve->ended = calloc(serve->size, sizeof(*serve->ended));
	if (serve->ended && serve->n_ended < serve->size) {
		PMIX_LOAD_PROCID(
			&serve->ended[serve->n_ended], serve->nspace, rank);
		serve->n_ended++;
	}
	pthread_mutex_unlock(&serve->lock);
}

/* A notice of a death, until PMIx has sent the notice. */
struct death {
	struct weft_serve *serve;
	uint32_t rank;
	struct weft_infovec vec;
};

/* Records the end after the notice was sent, so that no process receives the
 * answer to a query before the notice. */
static void on_death_notified(pmix_status_t status, void *arg)
{
	struct death *death = arg;

	(void)status;
	weft_serve_ended(death->serve, death->rank);
	weft_infovec_fini(&death->vec);
	free(death);
}

void weft_serve_died(struct weft_serve *serve, uint32_t rank,
	enum weft_serve_end how, int code)
{
	struct death *death = calloc(1, sizeof(*death));
	pmix_proc_t proc;
	pmix_status_t status;

	if (!death)
		return;
	death->serve = serve;
	death->rank = rank;
	PMIX_LOAD_PROCID(&proc, serve->nspace, rank);
	weft_infovec_set_proc(&death->vec, PMIX_EVENT_AFFECTED_PROC, &proc);
	weft_infovec_set_int(&death->vec, PMIX_EXIT_CODE, code);
	status = death->vec.err
			 ? PMIX_ERR_NOMEM
			 : PMIx_Notify_event(end_status(how), &proc,
				   PMIX_RANGE_LOCAL, death->vec.info,
				   death->vec.n, on_death_notified, death);
	if (status != PMIX_SUCCESS)
		on_death_notified(status, death);
}

/* Notifies all processes. Frees vec, which may be NULL. */
static void notify_all(
	struct weft_serve *serve, pmix_status_t code, struct weft_infovec *vec)
{
	pmix_status_t status = PMIX_ERR_NOMEM;
	pmix_proc_t me;

	if (!vec)
		return;
	/* no rank is the source, because PMIx does not notify the source */
	PMIX_LOAD_PROCID(&me, serve->nspace, PMIX_RANK_UNDEF);
	if (!vec->err)
		status = PMIx_Notify_event(code, &me, PMIX_RANGE_LOCAL,
			vec->info, vec->n, on_notified, vec);
	if (status != PMIX_SUCCESS)
		on_notified(status, vec);
}

void weft_serve_ask_states(struct weft_serve *serve)
{
	notify_all(
		serve, WEFT_PMIX_WHERE, calloc(1, sizeof(struct weft_infovec)));
}

uint32_t weft_serve_offer_seconds(const struct weft_serve *serve)
{
	uint64_t now = weft_now_ns(), until = serve->offer_until_ns;

	if (!serve->offer || !until)
		return 0;
	return until <= now ? 1
			    : (uint32_t)((until - now - 1) / WEFT_NS_PER_S) + 1;
}

void weft_serve_offer(struct weft_serve *serve, int delta, uint64_t until_ns)
{
	struct weft_infovec *vec = calloc(1, sizeof(*vec));
	uint32_t seconds;

	pthread_mutex_lock(&serve->lock);
	serve->offer = delta;
	serve->offer_until_ns = until_ns;
	seconds = weft_serve_offer_seconds(serve);
	pthread_mutex_unlock(&serve->lock);
	if (vec) {
		weft_infovec_set_int(vec, WEFT_PMIX_RESIZE_DELTA, delta);
		weft_infovec_set_u32(vec, WEFT_PMIX_RESIZE_DEADLINE, seconds);
	}
	notify_all(serve, WEFT_PMIX_OFFER, vec);
}

void weft_serve_set_current(struct weft_serve *serve, const char *name)
{
	pthread_mutex_lock(&serve->lock);
	snprintf(serve->current, sizeof(serve->current), "%s", name);
	pthread_mutex_unlock(&serve->lock);
}

void weft_serve_other_died(struct weft_serve *serve, const char *job,
	uint32_t rank, enum weft_serve_end how, int code)
{
	struct weft_infovec *vec = calloc(1, sizeof(*vec));
	pmix_proc_t proc;

	PMIX_LOAD_PROCID(&proc, job, rank);
	if (vec) {
		weft_infovec_set_proc(vec, PMIX_EVENT_AFFECTED_PROC, &proc);
		weft_infovec_set_int(vec, PMIX_EXIT_CODE, code);
	}
	notify_all(serve, end_status(how), vec);
}

void weft_serve_job_ended(struct weft_serve *serve, const char *name)
{
	struct weft_infovec *vec = calloc(1, sizeof(*vec));
	pmix_proc_t job;

	PMIX_LOAD_PROCID(&job, name, PMIX_RANK_WILDCARD);
	if (vec)
		weft_infovec_set_proc(vec, PMIX_EVENT_AFFECTED_PROC, &job);
	notify_all(serve, PMIX_EVENT_JOB_END, vec);
}
