/* SPDX-License-Identifier: BSD-3-Clause */
/* singleton: one process without a manager; the reference for the meaning of
 * each call */
#include "boot/singleton.h"

#include "base/bits.h"
#include "base/err.h"
#include "base/knob.h"
#include "base/list.h"
#include "boot/launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

struct value {
	struct weft_link link;
	bool is_visible;
	char *key;
	size_t len;
	unsigned char data[];
};

/* A process set: its only possible member is rank 0. */
struct singleton_set {
	struct weft_link link;
	char name[WEFT_BOOT_NAME_MAX];
};

/* A get or fence whose callback was not called yet, or an event. */
struct answer {
	struct weft_link link;
	weft_boot_get_fn *get_fn;   /* callback of a get, or NULL */
	weft_boot_done_fn *done_fn; /* callback of a fence, or NULL */
	void *arg;
	char *key; /* key of a get; set name of an event */
	enum weft_boot_event_kind kind;
};

/* Created by weft_singleton_open, destroyed by close; used by one thread at a
 * time. */
struct singleton {
	struct weft_boot boot;
	char host[WEFT_BOOT_HOST_MAX];
	uint64_t proc; /* number of this process */
	struct weft_link values;
	struct weft_link sets;
	struct weft_link answers;
	struct weft_launch
		launch; /* jobs that this process started; any thread */
};

static struct singleton *singleton_of(struct weft_boot *boot)
{
	return weft_container_of(boot, struct singleton, boot);
}

static struct value *value_find(struct singleton *singleton, const char *key)
{
	weft_list_for_each(it, next, &singleton->values)
	{
		struct value *value = weft_container_of(it, struct value, link);

		if (!strcmp(value->key, key))
			return value;
	}
	return NULL;
}

static void answer_free(struct answer *answer)
{
	weft_list_remove(&answer->link);
	free(answer->key);
	free(answer);
}

static void singleton_close(struct weft_boot *boot, int clean)
{
	struct singleton *singleton = singleton_of(boot);

	(void)clean; /* there is no manager */
	weft_launch_fini(&singleton->launch);
	weft_list_for_each(it, next, &singleton->answers)
		answer_free(weft_container_of(it, struct answer, link));
	weft_list_for_each(it, next, &singleton->values)
	{
		struct value *value = weft_container_of(it, struct value, link);

		free(value->key);
		free(value);
	}
	weft_list_for_each(it, next, &singleton->sets)
		free(weft_container_of(it, struct singleton_set, link));
	free(singleton);
}

/* Does nothing: this process is the whole job, and the caller ends it. */
static int singleton_abort(struct weft_boot *boot, int code, const char *text,
	const uint32_t *ranks, size_t n)
{
	(void)boot, (void)code, (void)text, (void)ranks, (void)n;
	return 0;
}

static int singleton_put(
	struct weft_boot *boot, const char *key, const void *data, size_t len)
{
	struct singleton *singleton = singleton_of(boot);
	struct value *value;

	if (value_find(singleton, key))
		return weft_err_set(
			WEFT_ERR_NAME, "key \"%s\" is published already", key);
	value = calloc(1, sizeof(*value) + len);
	if (!value)
		return WEFT_ERR_NOMEM;
	value->key = strdup(key);
	if (!value->key) {
		free(value);
		return WEFT_ERR_NOMEM;
	}
	value->len = len;
	memcpy(value->data, data, len);
	weft_list_push_back(&singleton->values, &value->link);
	return 0;
}

static int singleton_commit(struct weft_boot *boot)
{
	weft_list_for_each(it, next, &singleton_of(boot)->values)
		weft_container_of(it, struct value, link)
			->is_visible = true;
	return 0;
}

static int answer_add(struct weft_boot *boot, const struct answer *model)
{
	struct answer *answer = malloc(sizeof(*answer));

	if (!answer)
		return WEFT_ERR_NOMEM;
	*answer = *model;
	weft_list_push_back(&singleton_of(boot)->answers, &answer->link);
	atomic_fetch_add_explicit(&boot->pending, 1, memory_order_relaxed);
	return 0;
}

static int singleton_get(struct weft_boot *boot, uint32_t rank, const char *key,
	weft_boot_get_fn *fn, void *arg)
{
	struct answer model = { .get_fn = fn, .arg = arg };
	int err;

	if (rank != 0)
		return weft_err_set(WEFT_ERR_RANK,
			"rank %u does not exist in a job of one process", rank);
	model.key = strdup(key);
	err = model.key ? answer_add(boot, &model) : WEFT_ERR_NOMEM;
	if (err)
		free(model.key);
	return err;
}

static int singleton_fence(struct weft_boot *boot, const uint32_t *ranks,
	size_t n, weft_boot_done_fn *fn, void *arg)
{
	struct answer model = { .done_fn = fn, .arg = arg };

	if (ranks && (n != 1 || ranks[0] != 0))
		return weft_err_set(WEFT_ERR_RANK,
			"a fence of %zu ranks, with rank %u: this job has only "
			"rank 0",
			n, n ? ranks[0] : 0);
	return answer_add(boot, &model);
}

static int singleton_host_of(
	struct weft_boot *boot, uint32_t rank, char *buf, size_t len)
{
	if (rank != 0)
		return weft_err_set(WEFT_ERR_RANK,
			"rank %u does not exist in a job of one process", rank);
	snprintf(buf, len, "%s", singleton_of(boot)->host);
	return 0;
}

static int singleton_local(
	struct weft_boot *boot, const uint32_t **ranks_out, size_t *n_out)
{
	static const uint32_t me = 0;

	(void)boot;
	*ranks_out = &me;
	*n_out = 1;
	return 0;
}

static struct singleton_set *singleton_set_find(
	struct singleton *singleton, const char *name)
{
	weft_list_for_each(it, next, &singleton->sets)
	{
		struct singleton_set *set =
			weft_container_of(it, struct singleton_set, link);

		if (!strcmp(set->name, name))
			return set;
	}
	return NULL;
}

static int singleton_pset_list(
	struct weft_boot *boot, char ***names_out, size_t *n_out)
{
	struct singleton *singleton = singleton_of(boot);
	size_t n = 0, i = 0;
	char **names;

	weft_list_for_each(it, next, &singleton->sets) n++;
	*names_out = NULL;
	*n_out = n;
	if (!n)
		return 0;
	names = malloc(n * (sizeof(*names) + WEFT_BOOT_NAME_MAX));
	if (!names)
		return WEFT_ERR_NOMEM;
	weft_list_for_each(it, next, &singleton->sets)
	{
		names[i] = (char *)&names[n] + i * WEFT_BOOT_NAME_MAX;
		strcpy(names[i++],
			weft_container_of(it, struct singleton_set, link)
				->name);
	}
	*names_out = names;
	return 0;
}

static int singleton_pset_members(struct weft_boot *boot, const char *name,
	uint64_t **procs_out, size_t *n_out)
{
	uint64_t *procs;

	if (!singleton_set_find(singleton_of(boot), name))
		return WEFT_ERR_NOTFOUND;
	procs = malloc(sizeof(*procs));
	if (!procs)
		return WEFT_ERR_NOMEM;
	procs[0] = singleton_of(boot)->proc;
	*procs_out = procs;
	*n_out = 1;
	return 0;
}

static int event_add(struct weft_boot *boot, const char *name,
	enum weft_boot_event_kind kind)
{
	struct answer model = { .key = strdup(name), .kind = kind };
	int err = model.key ? answer_add(boot, &model) : WEFT_ERR_NOMEM;

	if (err)
		free(model.key);
	return err;
}

static int singleton_pset_define(struct weft_boot *boot, const char *name,
	const uint64_t *procs, size_t n)
{
	struct singleton_set *set;
	int err;

	if (n != 1 || procs[0] != singleton_of(boot)->proc)
		return weft_err_set(WEFT_ERR_UNSUPPORTED,
			"process set \"%s\" of %zu processes: without a "
			"process manager, only this process can be a member; "
			"start the program by mpiexec",
			name, n);
	if (!*name || strlen(name) >= WEFT_BOOT_NAME_MAX ||
		singleton_set_find(singleton_of(boot), name))
		return weft_err_set(WEFT_ERR_NAME,
			"process set name \"%s\" is empty, too long or taken",
			name);
	set = calloc(1, sizeof(*set));
	if (!set)
		return WEFT_ERR_NOMEM;
	strcpy(set->name, name);
	err = event_add(boot, name, WEFT_BOOT_PSET_DEFINED);
	if (err) {
		free(set);
		return err;
	}
	weft_list_push_back(&singleton_of(boot)->sets, &set->link);
	return 0;
}

static int singleton_pset_delete(struct weft_boot *boot, const char *name)
{
	struct singleton_set *set =
		singleton_set_find(singleton_of(boot), name);
	int err;

	if (!set)
		return weft_err_set(WEFT_ERR_NAME,
			"process set \"%s\" does not exist", name);
	err = event_add(boot, name, WEFT_BOOT_PSET_DELETED);
	if (err)
		return err;
	weft_list_remove(&set->link);
	free(set);
	return 0;
}

static int singleton_spawn(struct weft_boot *boot,
	const struct weft_boot_app *apps, size_t n, char *job_out)
{
	return weft_launch_start(&singleton_of(boot)->launch, apps, n, job_out);
}

/* True if the answer can be delivered. A get waits until its value is
 * published. */
static bool is_ready(struct singleton *singleton, const struct answer *answer)
{
	const struct value *value;

	if (!answer->get_fn)
		return true;
	value = value_find(singleton, answer->key);
	return value && value->is_visible;
}

static void singleton_deliver_event(
	const struct answer *answer, weft_boot_event_fn *fn, void *arg)
{
	struct weft_boot_event event = { .kind = answer->kind, .code = -1 };

	snprintf(event.name, sizeof(event.name), "%s", answer->key);
	if (fn)
		fn(arg, &event);
}

static void singleton_deliver(struct singleton *singleton,
	struct answer *answer, weft_boot_event_fn *fn, void *arg)
{
	struct answer copy = *answer;

	weft_list_remove(&answer->link);
	free(answer);
	atomic_fetch_sub_explicit(
		&singleton->boot.pending, 1, memory_order_relaxed);
	if (copy.done_fn) {
		copy.done_fn(copy.arg, 0);
	} else if (!copy.get_fn) {
		singleton_deliver_event(&copy, fn, arg);
	} else {
		const struct value *value = value_find(singleton, copy.key);

		copy.get_fn(copy.arg, 0, value->data, value->len);
	}
	free(copy.key);
}

static int singleton_poll(
	struct weft_boot *boot, weft_boot_event_fn *fn, void *arg)
{
	struct singleton *singleton = singleton_of(boot);
	struct weft_link *last = singleton->answers.prev,
			 *it = singleton->answers.next;
	int n = weft_launch_poll(&singleton->launch, fn, arg);

	/* the next poll delivers the items that a callback adds */
	while (it != &singleton->answers) {
		struct answer *answer =
			weft_container_of(it, struct answer, link);
		bool is_last = it == last;

		it = it->next;
		if (is_ready(singleton, answer)) {
			singleton_deliver(singleton, answer, fn, arg);
			n++;
		}
		if (is_last)
			break;
	}
	return n;
}

static const struct weft_boot_ops singleton_ops = {
	.name = "singleton",
	.close = singleton_close,
	.abort = singleton_abort,
	.put = singleton_put,
	.commit = singleton_commit,
	.get = singleton_get,
	.fence = singleton_fence,
	.host_of = singleton_host_of,
	.local = singleton_local,
	.pset_list = singleton_pset_list,
	.pset_members = singleton_pset_members,
	.pset_define = singleton_pset_define,
	.pset_delete = singleton_pset_delete,
	.spawn = singleton_spawn,
	.poll = singleton_poll,
};

int weft_singleton_open(
	struct weft_boot **boot_out, struct weft_boot_facts *facts_out)
{
	struct weft_boot_facts facts = {
		.manager = "singleton",
		.size = 1,
		.univ_size = 1,
		.local_size = 1,
		.n_nodes = 1,
	};
	struct singleton *singleton = calloc(1, sizeof(*singleton));

	if (!singleton)
		return WEFT_ERR_NOMEM;
	if (getrandom(facts.own_key, sizeof(facts.own_key), 0) !=
		(ssize_t)sizeof(facts.own_key)) {
		free(singleton);
		return weft_err_set(
			WEFT_ERR_OTHER, "getrandom: %s", strerror(errno));
	}
	if (gethostname(facts.host, sizeof(facts.host) - 1))
		strcpy(facts.host, "localhost");
	snprintf(facts.job, sizeof(facts.job), "singleton-%d", getpid());
	memcpy(singleton->host, facts.host, sizeof(singleton->host));
	singleton->proc = weft_boot_proc_number(facts.job, 0);
	singleton->boot.ops = &singleton_ops;
	weft_list_init(&singleton->values);
	weft_list_init(&singleton->sets);
	weft_list_init(&singleton->answers);
	weft_launch_init(&singleton->launch, &singleton->boot);
	*boot_out = &singleton->boot;
	*facts_out = facts;
	return 0;
}
