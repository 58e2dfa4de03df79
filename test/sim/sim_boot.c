/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_boot: the process manager of the simulation
 *
 * A daemon on each node answers requests for cards individually. A request for
 * the card of a process on another node takes get_ns longer. The manager
 * reports deaths. It has no process sets of its own. */
#include "boot/boot.h"
#include "test/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
	weft_boot_get_fn *fn;
	void *arg;
};

static struct weft_boot *sim_boot;
static struct sim_event *taken, **taken_end = &taken;
static uint32_t *local_ranks;
static uint64_t *daemon_free; /* by node */

static void sim_boot_close(struct weft_boot *boot, int clean)
{
	(void)clean;
	free(local_ranks);
	local_ranks = NULL;
	sim_boot = NULL;
	free(boot);
}

static int sim_boot_abort(struct weft_boot *boot, int code, const char *text,
	const uint32_t *ranks, size_t n)
{
	(void)boot;
	(void)ranks;
	(void)n;
	sim_fail("process %u aborts with code %d: %s", sim_rank(), code, text);
}

static int sim_boot_put(
	struct weft_boot *boot, const char *key, const void *data, size_t len)
{
	void *card = sim_alloc(len);

	(void)boot;
	(void)key;
	if (sim_self()->card)
		sim_fail("process %u publishes a second value, %s", sim_rank(),
			key);
	memcpy(card, data, len);
	sim_self()->card = card;
	sim_self()->card_len = len;
	return 0;
}

/* Returns the time at which the daemon of this node has handled a request. */
static uint64_t daemon_done(uint64_t arrival)
{
	uint64_t *is_free = &daemon_free[sim_node(sim_rank())];

	if (*is_free < arrival)
		*is_free = arrival;
	*is_free += sim_options()->service_ns;
	return *is_free;
}

static int sim_boot_commit(struct weft_boot *boot)
{
	struct sim_event *waiter = sim_self()->card_waiters;

	(void)boot;
	sim_self()->card_waiters = NULL;
	while (waiter) {
		struct sim_event *next = waiter->next;

		sim_event_post_take(
			waiter, sim_self()->clock + sim_options()->get_ns);
		waiter = next;
	}
	return 0;
}

static int sim_boot_get(struct weft_boot *boot, uint32_t rank, const char *key,
	weft_boot_get_fn *fn, void *arg)
{
	struct request *request = malloc(sizeof(*request));
	struct sim_event *event = sim_event_create(SIM_ANSWER, sim_rank(), 0);
	struct sim_proc *owner = sim_proc(rank);
	uint64_t at = daemon_done(sim_self()->clock);

	(void)boot;
	(void)key;
	if (!request)
		return WEFT_ERR_NOMEM;
	*request = (struct request){ fn, arg };
	event->from = rank;
	event->context = request;
	sim_self()->counts.n_gets++;
	if (!owner->card) {
		event->next = owner->card_waiters;
		owner->card_waiters = event;
		return 0;
	}
	if (sim_node(rank) != sim_node(sim_rank()))
		at += sim_options()->get_ns;
	sim_event_post_take(event, at);
	return 0;
}

static int sim_boot_fence(struct weft_boot *boot, const uint32_t *ranks,
	size_t n, weft_boot_done_fn *fn, void *arg)
{
	(void)boot;
	(void)ranks;
	(void)n;
	(void)fn;
	(void)arg;
	return WEFT_ERR_UNSUPPORTED;
}

static int sim_boot_host_of(
	struct weft_boot *boot, uint32_t rank, char *buf, size_t len)
{
	(void)boot;
	snprintf(buf, len, "node%u", sim_node(rank));
	return 0;
}

static uint32_t first_local(void)
{
	return sim_node(sim_rank()) * sim_options()->per_node;
}

static uint32_t n_local(void)
{
	uint32_t left = sim_options()->n_procs - first_local();

	return left < sim_options()->per_node ? left : sim_options()->per_node;
}

static int sim_boot_local(
	struct weft_boot *boot, const uint32_t **ranks_out, size_t *n_out)
{
	(void)boot;
	if (!local_ranks) {
		local_ranks = malloc(n_local() * sizeof(*local_ranks));
		if (!local_ranks)
			return WEFT_ERR_NOMEM;
		for (uint32_t i = 0; i < n_local(); i++)
			local_ranks[i] = first_local() + i;
	}
	*ranks_out = local_ranks;
	*n_out = n_local();
	return 0;
}

static int sim_boot_pset_list(
	struct weft_boot *boot, char ***names_out, size_t *n_out)
{
	(void)boot;
	*names_out = NULL;
	*n_out = 0;
	return 0;
}

static int sim_boot_pset_members(struct weft_boot *boot, const char *name,
	uint64_t **procs_out, size_t *n_out)
{
	(void)boot;
	(void)name;
	(void)procs_out;
	(void)n_out;
	return WEFT_ERR_NOTFOUND;
}

static int sim_boot_pset_define(struct weft_boot *boot, const char *name,
	const uint64_t *procs, size_t n)
{
	(void)boot;
	(void)name;
	(void)procs;
	(void)n;
	return WEFT_ERR_UNSUPPORTED;
}

static int sim_boot_pset_delete(struct weft_boot *boot, const char *name)
{
	(void)boot;
	(void)name;
	return WEFT_ERR_UNSUPPORTED;
}

void sim_boot_take(struct sim_event *event)
{
	event->next = NULL;
	*taken_end = event;
	taken_end = &event->next;
	if (sim_boot)
		atomic_fetch_add(&sim_boot->pending, 1);
}

static void deliver_answer(struct sim_event *event)
{
	struct request request = *(struct request *)event->context;
	const struct sim_proc *owner = sim_proc(event->from);

	free(event->context);
	request.fn(request.arg, 0, owner->card, owner->card_len);
}

static int sim_boot_poll(
	struct weft_boot *boot, weft_boot_event_fn *fn, void *arg)
{
	int n = 0;

	while (taken) {
		struct sim_event *event = taken;

		taken = event->next;
		if (!taken)
			taken_end = &taken;
		atomic_fetch_sub(&boot->pending, 1);
		n++;
		sim_fabric_on_news(event->kind == SIM_DIED);
		if (event->kind == SIM_ANSWER) {
			deliver_answer(event);
		} else if (fn) {
			struct weft_boot_event died = {
				.kind = WEFT_BOOT_PEER_DIED,
				.rank = event->from,
				.code = 137,
				.end = WEFT_BOOT_END_CRASHED,
			};

			fn(arg, &died);
		}
		sim_event_free(event);
	}
	return n;
}

static const struct weft_boot_ops sim_boot_ops = {
	.name = "sim",
	.close = sim_boot_close,
	.abort = sim_boot_abort,
	.put = sim_boot_put,
	.commit = sim_boot_commit,
	.get = sim_boot_get,
	.fence = sim_boot_fence,
	.host_of = sim_boot_host_of,
	.local = sim_boot_local,
	.pset_list = sim_boot_pset_list,
	.pset_members = sim_boot_pset_members,
	.pset_define = sim_boot_pset_define,
	.pset_delete = sim_boot_pset_delete,
	.poll = sim_boot_poll,
};

int sim_boot_open(
	struct weft_boot **boot_out, struct weft_boot_facts *facts_out)
{
	const struct sim_options *options = sim_options();

	sim_boot = calloc(1, sizeof(*sim_boot));
	if (!sim_boot)
		return WEFT_ERR_NOMEM;
	sim_boot->ops = &sim_boot_ops;
	*facts_out = (struct weft_boot_facts){
		.job = "sim",
		.manager = "sim",
		.rank = sim_rank(),
		.size = options->n_procs,
		.univ_size = options->n_procs,
		.local_rank = sim_rank() % options->per_node,
		.local_size = n_local(),
		.n_nodes = sim_node(options->n_procs - 1) + 1,
	};
	snprintf(facts_out->host, sizeof(facts_out->host), "node%u",
		sim_node(sim_rank()));
	memset(facts_out->own_key, 7, sizeof(facts_out->own_key));
	*boot_out = sim_boot;
	return 0;
}

void sim_boot_install(void)
{
	size_t n_nodes = sim_node(sim_options()->n_procs - 1) + 1;

	daemon_free = sim_alloc(n_nodes * sizeof(*daemon_free));
	memset(daemon_free, 0, n_nodes * sizeof(*daemon_free));
}
