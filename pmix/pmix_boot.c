/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_boot: opens and closes PMIx's client library, aborts the job, reads the
 * job's facts */
#include "pmix/pmix_boot.h"
#include "pmix/pmix_boot_priv.h"
#include "pmix/pmix_codec.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/knob.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum { LAST_ANSWER_S = 30 };

/* Reads the value of key for rank (PMIX_RANK_WILDCARD: of the job) from the
 * client library, without waiting. The caller releases *value_out. */
static int pmix_fact(struct pmix_boot *boot, pmix_rank_t rank, const char *key,
	pmix_value_t **value_out)
{
	struct weft_infovec vec = { 0 };
	pmix_value_t *value = NULL;
	pmix_status_t status = PMIX_ERR_NOMEM;
	pmix_proc_t proc;

	PMIX_LOAD_PROCID(&proc, boot->me.nspace, rank);
	weft_infovec_set_bool(&vec, PMIX_OPTIONAL, true);
	if (!vec.err)
		status = PMIx_Get(&proc, key, vec.info, vec.n, &value);
	weft_infovec_fini(&vec);
	if (status != PMIX_SUCCESS || !value)
		return WEFT_ERR_NOTFOUND;
	*value_out = value;
	return 0;
}

static uint32_t pmix_boot_number(
	struct pmix_boot *boot, pmix_rank_t rank, const char *key, uint32_t def)
{
	pmix_value_t *value = NULL;
	uint32_t v = def;

	if (pmix_fact(boot, rank, key, &value))
		return def;
	if (weft_value_get_u32(value, &v))
		v = def;
	PMIX_VALUE_RELEASE(value);
	return v;
}

/* Returns the ranks as PMIx names them. The caller frees the array. NULL: out
 * of memory. */
static pmix_proc_t *pmix_procs(
	const struct pmix_boot *boot, const uint32_t *ranks, size_t n)
{
	pmix_proc_t *procs = calloc(n ? n : 1, sizeof(*procs));

	for (size_t i = 0; procs && i < n; i++)
		PMIX_LOAD_PROCID(&procs[i], boot->me.nspace, ranks[i]);
	return procs;
}

static int pmix_text(struct pmix_boot *boot, pmix_rank_t rank, const char *key,
	char *buf, size_t len)
{
	pmix_value_t *value = NULL;
	const char *s = NULL;
	int err = pmix_fact(boot, rank, key, &value);

	if (err)
		return err;
	err = weft_value_peek_str(value, &s);
	if (!err)
		snprintf(buf, len, "%s", s);
	PMIX_VALUE_RELEASE(value);
	return err;
}

static int local_self(struct pmix_boot *boot)
{
	boot->local = malloc(sizeof(*boot->local));
	if (!boot->local)
		return WEFT_ERR_NOMEM;
	boot->local[0] = boot->me.rank;
	boot->n_local = 1;
	return 0;
}

/* Called if there is no list of local peers. Compares the node of every rank
 * with this node. */
static int local_by_host(struct pmix_boot *boot)
{
	uint32_t *ranks = NULL;
	size_t n = 0, cap = 0;

	for (uint32_t r = 0; r < boot->size; r++) {
		char host[WEFT_BOOT_HOST_MAX] = "";

		if (r != boot->me.rank && (pmix_text(boot, r, PMIX_HOSTNAME,
						   host, sizeof(host)) ||
						  strcmp(host, boot->host)))
			continue;
		if (n == cap) {
			uint32_t *grown;

			cap = cap ? 2 * cap : 16;
			grown = realloc(ranks, cap * sizeof(*ranks));
			if (!grown) {
				free(ranks);
				return WEFT_ERR_NOMEM;
			}
			ranks = grown;
		}
		ranks[n++] = r;
	}
	boot->local = ranks;
	boot->n_local = n;
	return 0;
}

/* True if all local ranks are ranks of the job, and this process is among them.
 */
static bool local_is_valid(const struct pmix_boot *boot)
{
	bool has_me = false;

	for (size_t i = 0; i < boot->n_local; i++)
		has_me |= boot->local[i] == boot->me.rank;
	return has_me && boot->local[boot->n_local - 1] < boot->size;
}

/* Loads the list of local ranks. Managers return the list unsorted, or have no
 * list. */
static int local_load(struct pmix_boot *boot)
{
	pmix_value_t *value = NULL;
	const char *peers = NULL;
	int err;

	if (boot->size == 1)
		return local_self(boot);
	if (pmix_fact(boot, PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS, &value))
		return local_by_host(boot);
	err = weft_value_peek_str(value, &peers);
	if (!err)
		err = weft_ranks_parse(peers, &boot->local, &boot->n_local);
	PMIX_VALUE_RELEASE(value);
	if (!err && local_is_valid(boot))
		return 0;
	free(boot->local);
	boot->local = NULL;
	return local_by_host(boot);
}

/* Returns the virtual node to which WEFT_NODES assigns a rank. All ranks are on
 * one real node. A job that can grow is distributed in turn, so that each node
 * has processes from the start. */
static uint32_t virtual_node_of(const struct pmix_boot *boot, uint32_t rank)
{
	if (boot->has_places)
		return rank % boot->n_virtual_nodes;
	return (uint32_t)((uint64_t)rank * boot->n_virtual_nodes / boot->size);
}

/* Splits one node into WEFT_NODES virtual nodes. Ranks of the other virtual
 * nodes are remote. */
static void local_split(struct pmix_boot *boot)
{
	uint32_t mine = virtual_node_of(boot, boot->me.rank);
	size_t n = 0;

	if (boot->n_virtual_nodes < 2)
		return;
	if (boot->n_local < boot->size) {
		weft_log_warn("BOOT-NODES",
			"WEFT_NODES=%u is ignored: it needs all %u processes "
			"on one node, but %zu are on this node",
			boot->n_virtual_nodes, boot->size, boot->n_local);
		boot->n_virtual_nodes = 1;
		return;
	}
	for (size_t i = 0; i < boot->n_local; i++)
		if (virtual_node_of(boot, boot->local[i]) == mine)
			boot->local[n++] = boot->local[i];
	boot->n_local = n;
}

static int local_resolve(struct pmix_boot *boot)
{
	int err = local_load(boot);

	if (!err)
		local_split(boot);
	return err;
}

static int pmix_local(
	struct weft_boot *base, const uint32_t **ranks_out, size_t *n_out)
{
	struct pmix_boot *boot = pmix_boot_of(base);
	int err = boot->local ? 0 : local_resolve(boot);

	if (err)
		return err;
	*ranks_out = boot->local;
	*n_out = boot->n_local;
	return 0;
}

/* Appends the number of rank's node to the name, if WEFT_NODES splits the node.
 */
static void append_virtual_node(
	const struct pmix_boot *boot, uint32_t rank, char *buf, size_t len)
{
	size_t n = strlen(buf);

	if (boot->n_virtual_nodes > 1)
		snprintf(buf + n, len - n, "#%u", virtual_node_of(boot, rank));
}

/* Replaces the alias that Weft's launcher registers with PMIx by the node's
 * real name. */
static void real_host_name(
	struct pmix_boot *boot, uint32_t rank, char *buf, size_t len)
{
	(void)pmix_text(boot, PMIX_RANK_WILDCARD, WEFT_PMIX_HOST, buf, len);
	append_virtual_node(boot, rank, buf, len);
}

static int pmix_host_of(
	struct weft_boot *base, uint32_t rank, char *buf, size_t len)
{
	struct pmix_boot *boot = pmix_boot_of(base);
	int err;

	if (rank >= boot->size)
		return weft_err_set(WEFT_ERR_RANK,
			"rank %u is not in this job of %u processes", rank,
			boot->size);
	err = pmix_text(boot, rank, PMIX_HOSTNAME, buf, len);
	if (!err)
		real_host_name(boot, rank, buf, len);
	return err;
}

const char *weft_pmix_manager(const struct pmix_boot *boot)
{
	const char *nspace = boot->me.nspace;

	if (!strncmp(nspace, "slurm.", 6))
		return "slurm";
	if (!strncmp(nspace, "prte", 4) || !strncmp(nspace, "prun", 4))
		return "prrte";
	return "pmix";
}

static int pmix_abort(struct weft_boot *base, int code, const char *why,
	const uint32_t *ranks, size_t n)
{
	const struct pmix_boot *boot = pmix_boot_of(base);
	pmix_proc_t *procs = NULL;
	pmix_status_t status;

	/* Slurm kills the step, and srun returns 137 for code 0 */
	if (!code && !strcmp(weft_pmix_manager(boot), "slurm"))
		return weft_err_set(WEFT_ERR_UNSUPPORTED,
			"Slurm cannot end a step with code 0; use another "
			"code");
	if (ranks)
		procs = pmix_procs(boot, ranks, n);
	status = PMIx_Abort(code, why, procs, procs ? n : 0);
	free(procs);
	return weft_pmix_err(status);
}

static void boot_free(struct pmix_boot *boot)
{
	weft_list_for_each(it, next, &boot->outstanding) weft_pmix_item_destroy(
		weft_container_of(it, struct pmix_item, link));
	weft_list_for_each(it, next, &boot->queue) weft_pmix_item_destroy(
		weft_container_of(it, struct pmix_item, link));
	sem_destroy(&boot->started);
	pthread_mutex_destroy(&boot->name_lock);
	pthread_mutex_destroy(&boot->lock);
	weft_pmix_pset_remove(boot, NULL);
	free(boot->local);
	free(boot->failed);
	free(boot);
}

/* Waits until PMIx has sent and answered all queries and registrations, at most
 * LAST_ANSWER_S. PMIx_Finalize hangs if a query or registration is not sent
 * yet. After all of them are sent, PMIx_Finalize returns even if the server
 * never answers. */
static void await_answers(struct pmix_boot *boot)
{
	const struct timespec pause = { .tv_nsec = 200000 };
	uint64_t end = weft_now_ns() + LAST_ANSWER_S * WEFT_NS_PER_S;

	while (atomic_load(&boot->n_unanswered) && weft_now_ns() < end)
		nanosleep(&pause, NULL);
}

static void pmix_close(struct weft_boot *base, int clean)
{
	struct pmix_boot *boot = pmix_boot_of(base);
	pmix_status_t status;

	if (!clean)
		return; /* PMIx's thread may still queue items in boot */
	await_answers(boot);
	status = PMIx_Finalize(NULL, 0);
	if (status != PMIX_SUCCESS)
		weft_log_warn("PMIX-FINALIZE",
			"disconnecting from the process manager failed: %s",
			PMIx_Error_string(status));
	boot_free(boot);
}

static const struct weft_boot_ops pmix_ops = {
	.name = "pmix",
	.close = pmix_close,
	.abort = pmix_abort,
	.put = weft_pmix_put,
	.commit = weft_pmix_commit,
	.get = weft_pmix_get,
	.fence = weft_pmix_fence,
	.host_of = pmix_host_of,
	.local = pmix_local,
	.pset_list = weft_pmix_pset_list,
	.pset_members = weft_pmix_pset_members,
	.pset_define = weft_pmix_pset_define,
	.pset_delete = weft_pmix_pset_delete,
	.spawn = weft_pmix_spawn,
	.publish = weft_pmix_publish,
	.unpublish = weft_pmix_unpublish,
	.lookup = weft_pmix_lookup,
	.query_exit = weft_pmix_query_exit,
	.call = weft_pmix_call,
	.resize = weft_pmix_resize,
	.offer = weft_pmix_offer,
	.poll = weft_pmix_poll,
};

/* Loads the secret that first messages to this process must carry. Weft's
 * launcher provides the secret. Under other managers, this process draws a
 * random number. The business card contains the secret. */
static int load_key(struct pmix_boot *boot, struct weft_boot_facts *facts)
{
	pmix_value_t *value = NULL;
	const void *data = NULL;
	size_t len = 0;

	if (!pmix_fact(boot, PMIX_RANK_WILDCARD, "weft.job.key", &value)) {
		if (!weft_value_peek_bytes(value, &data, &len) &&
			len == sizeof(facts->own_key))
			memcpy(facts->own_key, data, len);
		else
			len = 0;
		PMIX_VALUE_RELEASE(value);
		if (len) {
			strcpy(facts->manager, "mpiexec");
			return 0;
		}
	}
	if (getrandom(facts->own_key, sizeof(facts->own_key), 0) !=
		(ssize_t)sizeof(facts->own_key))
		return weft_err_set(
			WEFT_ERR_OTHER, "getrandom: %s", strerror(errno));
	return 0;
}

/* Returns the number of nodes. PRRTE 3.0 returns different numbers to processes
 * of different nodes, so the number is limited. It is 1 exactly if all ranks
 * are local. Each remote rank adds at most one node. */
static uint32_t count_nodes(
	struct pmix_boot *boot, const struct weft_boot_facts *facts)
{
	uint32_t n_remote = facts->size - facts->local_size;
	uint32_t n =
		pmix_boot_number(boot, PMIX_RANK_WILDCARD, PMIX_NUM_NODES, 2);

	if (!n_remote)
		return 1;
	return n < 2 ? 2 : n > n_remote + 1 ? n_remote + 1 : n;
}

/* Loads the ranks of MPI_COMM_WORLD, and the limits of a job whose size can
 * change. Weft's launcher describes a later step in the environment of the
 * processes that it starts in that step. */
static int load_step(struct pmix_boot *boot, struct weft_boot_facts *facts)
{
	const char *text = weft_knob_getenv(WEFT_BOOT_STEP_ENV);
	unsigned first, size, generation;

	facts->world_size = pmix_boot_number(
		boot, PMIX_RANK_WILDCARD, WEFT_PMIX_START, facts->size);
	facts->max_procs =
		pmix_boot_number(boot, PMIX_RANK_WILDCARD, WEFT_PMIX_MAX, 0);
	if (!facts->max_procs)
		return 0;
	boot->has_places = true;
	facts->min_procs =
		pmix_boot_number(boot, PMIX_RANK_WILDCARD, WEFT_PMIX_MIN, 1);
	if (facts->rank < facts->world_size)
		return 0;
	if (!text ||
		sscanf(text, "%u %u %u", &first, &size, &generation) != 3 ||
		facts->rank < first || facts->rank - first >= size ||
		size > facts->size - first)
		return weft_err_set(WEFT_ERR_BOOT,
			"rank %u was started after the job, but %s=%s does not "
			"describe the processes that started with it: do not "
			"change that variable",
			facts->rank, WEFT_BOOT_STEP_ENV, text ? text : "");
	facts->world_first = first;
	facts->world_size = size;
	facts->generation = generation;
	return 0;
}

static int load_facts(struct pmix_boot *boot, struct weft_boot_facts *facts)
{
	const uint32_t *local = NULL;
	size_t n_local = 0;
	int err;

	facts->rank = boot->me.rank;
	facts->size = boot->size =
		pmix_boot_number(boot, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, 0);
	if (!boot->size || facts->rank >= boot->size)
		return weft_err_set(WEFT_ERR_BOOT,
			"the process manager names no valid rank: rank %u in a "
			"job of %u processes",
			facts->rank, boot->size);
	err = load_step(boot, facts);
	if (err)
		return err;
	snprintf(facts->job, sizeof(facts->job), "%s", boot->me.nspace);
	snprintf(facts->manager, sizeof(facts->manager), "%s",
		weft_pmix_manager(boot));
	err = pmix_text(boot, boot->me.rank, PMIX_HOSTNAME, boot->host,
		sizeof(boot->host));
	if (err)
		return weft_err_set(WEFT_ERR_BOOT,
			"the process manager has no name for this node "
			"(PMIX_HOSTNAME)");
	boot->n_virtual_nodes = (uint32_t)weft_knobs.nodes;
	err = pmix_local(&boot->boot, &local, &n_local);
	if (err)
		return err;
	memcpy(facts->host, boot->host, sizeof(facts->host));
	real_host_name(boot, facts->rank, facts->host, sizeof(facts->host));
	facts->local_size = (uint32_t)n_local;
	for (size_t i = 0; i < n_local && local[i] != facts->rank; i++)
		facts->local_rank = (uint32_t)i + 1;
	facts->univ_size =
		pmix_boot_number(boot, PMIX_RANK_WILDCARD, PMIX_UNIV_SIZE, 0);
	facts->n_nodes = count_nodes(boot, facts);
	facts->appnum = pmix_boot_number(boot, boot->me.rank, PMIX_APPNUM, 0);
	return load_key(boot, facts);
}

int weft_pmix_open(
	struct weft_boot **boot_out, struct weft_boot_facts *facts_out)
{
	struct weft_boot_facts facts = { 0 };
	struct pmix_boot *boot = calloc(1, sizeof(*boot));
	pmix_status_t status;
	int err;

	if (!boot)
		return WEFT_ERR_NOMEM;
	boot->boot.ops = &pmix_ops;
	pthread_mutex_init(&boot->lock, NULL);
	pthread_mutex_init(&boot->name_lock, NULL);
	sem_init(&boot->started, 0, 0);
	weft_list_init(&boot->sets);
	weft_list_init(&boot->outstanding);
	weft_list_init(&boot->queue);
	status = PMIx_Init(&boot->me, NULL, 0);
	if (status != PMIX_SUCCESS) {
		boot_free(boot);
		return weft_err_set(WEFT_ERR_BOOT,
			"PMIx does not connect to the process manager: %s",
			PMIx_Error_string(status));
	}
	err = load_facts(boot, &facts);
	if (err) {
		pmix_close(&boot->boot, 1);
		return err;
	}
	boot->first_proc = weft_boot_proc_number(facts.job, 0);
	boot->has_query = !strcmp(facts.manager, "mpiexec");
	weft_pmix_event_open(boot, boot->has_query);
	*boot_out = &boot->boot;
	*facts_out = facts;
	return 0;
}
