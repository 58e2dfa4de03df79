/* SPDX-License-Identifier: BSD-3-Clause */
/* hsastand: a stand-in for the HSA runtime of ROCm, libhsa-runtime64.so.1;
 * README.md */
#include "../dev/devstand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	SUCCESS = 0,
	ERROR = 0x1000,
	INVALID_ARGUMENT = 0x1001,
	INVALID_ALLOCATION = 0x1003,
	INVALID_AGENT = 0x1004,
	INVALID_SIGNAL = 0x1006,
	OUT_OF_RESOURCES = 0x1008,
	NOT_INITIALIZED = 0x100B,

	TYPE_UNKNOWN = 0,
	TYPE_HSA = 1,
	TYPE_LOCKED = 2,
	TYPE_IPC = 4,

	AGENT_DEVICE = 17,
	POOL_SEGMENT = 0,
	POOL_FLAGS = 1,
	POOL_MAY_ALLOCATE = 5,
	FINE_GRAINED = 2,
	COARSE_GRAINED = 4,
	LESS_THAN = 2,

	/* agents and pools have the same numbers; GPU i is FIRST_GPU + i */
	CPU = 0x1000,
	FIRST_GPU = 0x2000,

	MAX_NOTIFIERS = 1024,
};

typedef void freed_fn(void *ptr, void *arg);

/* hsa_amd_pointer_info_t */
struct pointer {
	uint32_t size, type;
	void *agent_base, *host_base;
	size_t len;
	void *user_data;
	uint64_t owner;
	uint32_t flags;
};

_Static_assert(sizeof(struct stand_handle) == 32, "layout of the runtime");

struct signal {
	int64_t value;
	int64_t n_copies; /* in the queue */
	struct stand_queue queue;
};

static struct {
	int n_references;
	struct {
		char *ptr;
		freed_fn *fn;
		void *arg;
	} notifiers[MAX_NOTIFIERS];
	int n_notifiers;
} hsa;

static int begin(bool is_counted)
{
	if (!hsa.n_references || !stand_is_started())
		return NOT_INITIALIZED;
	return is_counted && stand_fails() ? ERROR : SUCCESS;
}

/* The driver's errors for the results of devstand. */
static const int errors[] = { [STAND_OK] = SUCCESS,
	[STAND_INVALID] = INVALID_ARGUMENT,
	[STAND_NO_MEMORY] = OUT_OF_RESOURCES,
	[STAND_CONFLICT] = ERROR };

static bool is_gpu(uint64_t agent)
{
	return agent >= FIRST_GPU &&
	       agent < FIRST_GPU + (uint64_t)stand.n_devices;
}

/* ---- start, agents, pools ---- */

static int init(void)
{
	stand_start();
	if (stand.n_devices < 1)
		return OUT_OF_RESOURCES;
	hsa.n_references++;
	return SUCCESS;
}

int hsa_init(void);
int hsa_init(void)
{
	return LOCKED(init());
}

static int shut_down(void)
{
	int err = begin(false);

	if (!err)
		hsa.n_references--;
	return err;
}

int hsa_shut_down(void);
int hsa_shut_down(void)
{
	return LOCKED(shut_down());
}

int hsa_status_string(int err, const char **text);
int hsa_status_string(int err, const char **text)
{
	switch (err) {
	case SUCCESS:
		*text = "HSA_STATUS_SUCCESS: the call succeeded";
		break;
	case ERROR:
		*text = "HSA_STATUS_ERROR: the call failed";
		break;
	case INVALID_ARGUMENT:
		*text = "HSA_STATUS_ERROR_INVALID_ARGUMENT: of a call";
		break;
	case INVALID_ALLOCATION:
		*text = "HSA_STATUS_ERROR_INVALID_ALLOCATION: of memory";
		break;
	case OUT_OF_RESOURCES:
		*text = "HSA_STATUS_ERROR_OUT_OF_RESOURCES: no memory";
		break;
	case NOT_INITIALIZED:
		*text = "HSA_STATUS_ERROR_NOT_INITIALIZED: no hsa_init";
		break;
	default:
		return INVALID_ARGUMENT;
	}
	return SUCCESS;
}

int hsa_iterate_agents(int (*fn)(uint64_t agent, void *arg), void *arg);
int hsa_iterate_agents(int (*fn)(uint64_t agent, void *arg), void *arg)
{
	int err = begin(false);

	if (!err)
		err = fn(CPU, arg);
	for (int i = 0; !err && i < stand.n_devices; i++)
		err = fn(FIRST_GPU + (uint64_t)i, arg);
	return err;
}

int hsa_agent_get_info(uint64_t agent, int attr, void *value);
int hsa_agent_get_info(uint64_t agent, int attr, void *value)
{
	const uint32_t type = is_gpu(agent);
	int err = begin(false);

	if (!err && agent != CPU && !type)
		err = INVALID_AGENT;
	if (!err && attr != AGENT_DEVICE)
		err = INVALID_ARGUMENT;
	if (!err)
		memcpy(value, &type, sizeof(type));
	return err;
}

/* Each agent has one pool. */
int hsa_amd_agent_iterate_memory_pools(
	uint64_t agent, int (*fn)(uint64_t pool, void *arg), void *arg);
int hsa_amd_agent_iterate_memory_pools(
	uint64_t agent, int (*fn)(uint64_t pool, void *arg), void *arg)
{
	int err = begin(false);

	return err ? err : fn(agent, arg);
}

int hsa_amd_memory_pool_get_info(uint64_t pool, int attr, void *value);
int hsa_amd_memory_pool_get_info(uint64_t pool, int attr, void *value)
{
	const uint32_t segment = 0;
	const uint32_t flags = pool == CPU ? FINE_GRAINED : COARSE_GRAINED;

	switch (attr) {
	case POOL_SEGMENT:
		memcpy(value, &segment, sizeof(segment));
		break;
	case POOL_FLAGS:
		memcpy(value, &flags, sizeof(flags));
		break;
	case POOL_MAY_ALLOCATE:
		*(bool *)value = true;
		break;
	default:
		return INVALID_ARGUMENT;
	}
	return begin(false);
}

static int pool_allocate(uint64_t pool, size_t len, void **at)
{
	struct stand_alloc *a;
	int err = begin(true);

	if (!err && pool != CPU && !is_gpu(pool))
		err = INVALID_ARGUMENT;
	if (!err)
		err = errors[stand_make(len,
			pool == CPU ? STAND_PINNED : STAND_DEVICE,
			pool == CPU ? 0 : (int)(pool - FIRST_GPU), &a)];
	if (!err)
		*at = a->base;
	return err;
}

int hsa_amd_memory_pool_allocate(
	uint64_t pool, size_t len, uint32_t flags, void **at);
int hsa_amd_memory_pool_allocate(
	uint64_t pool, size_t len, uint32_t flags, void **at)
{
	(void)flags;
	return LOCKED(pool_allocate(pool, len, at));
}

/* Calls the notifiers of an allocation that is in no table any more, without
 * the lock. */
static void notify_freed(const struct stand_alloc *a)
{
	for (int i = 0; i < hsa.n_notifiers; i++) {
		char *ptr = hsa.notifiers[i].ptr;
		freed_fn *fn = hsa.notifiers[i].fn;
		void *arg = hsa.notifiers[i].arg;

		if (ptr < a->base || ptr >= a->base + a->len)
			continue;
		hsa.notifiers[i--] = hsa.notifiers[--hsa.n_notifiers];
		pthread_mutex_unlock(&stand.lock);
		fn(ptr, arg);
		pthread_mutex_lock(&stand.lock);
	}
}

static int pool_free(uint64_t at)
{
	struct stand_alloc *a = stand_alloc_of(at);
	struct stand_alloc freed;
	int err = begin(false);

	if (!err &&
		(!a || at != (uintptr_t)a->base ||
			(a->kind != STAND_DEVICE && a->kind != STAND_PINNED)))
		err = INVALID_ALLOCATION;
	if (err)
		return err;
	freed = *a;
	a->base = NULL;
	notify_freed(&freed);
	stand_unmake(&freed);
	return SUCCESS;
}

int hsa_amd_memory_pool_free(void *at);
int hsa_amd_memory_pool_free(void *at)
{
	return LOCKED(pool_free((uintptr_t)at));
}

static int register_notifier(char *ptr, freed_fn *fn, void *arg)
{
	const struct stand_alloc *a = stand_alloc_of((uintptr_t)ptr);
	int err = begin(false);

	if (!err &&
		(!a || (a->kind != STAND_DEVICE && a->kind != STAND_PINNED)))
		err = INVALID_ALLOCATION;
	if (!err && hsa.n_notifiers == MAX_NOTIFIERS)
		err = OUT_OF_RESOURCES;
	if (err)
		return err;
	hsa.notifiers[hsa.n_notifiers].ptr = ptr;
	hsa.notifiers[hsa.n_notifiers].fn = fn;
	hsa.notifiers[hsa.n_notifiers++].arg = arg;
	return SUCCESS;
}

int hsa_amd_register_deallocation_callback(void *ptr, freed_fn *fn, void *arg);
int hsa_amd_register_deallocation_callback(void *ptr, freed_fn *fn, void *arg)
{
	return LOCKED(register_notifier(ptr, fn, arg));
}

static int deregister_notifier(char *ptr, freed_fn *fn)
{
	int err = begin(false);

	for (int i = 0; !err && i < hsa.n_notifiers; i++)
		if (hsa.notifiers[i].ptr == ptr && hsa.notifiers[i].fn == fn) {
			hsa.notifiers[i] = hsa.notifiers[--hsa.n_notifiers];
			return SUCCESS;
		}
	return err ? err : INVALID_ARGUMENT;
}

int hsa_amd_deregister_deallocation_callback(void *ptr, freed_fn *fn);
int hsa_amd_deregister_deallocation_callback(void *ptr, freed_fn *fn)
{
	return LOCKED(deregister_notifier(ptr, fn));
}

/* ---- addresses ---- */

/* The entry of registered memory at the addresses of the agents. */
static struct stand_alloc *alias_of(const struct stand_alloc *host)
{
	for (int i = 0; i < stand.n_allocs; i++) {
		struct stand_alloc *a = &stand.allocs[i];

		if (a->base && a->kind == STAND_ALIAS && a->alias == host->base)
			return a;
	}
	return NULL;
}

static void describe(struct stand_alloc *a, struct pointer *p)
{
	struct stand_alloc *alias = a;

	p->type = a->kind == STAND_IMPORTED ? TYPE_IPC : TYPE_HSA;
	p->owner =
		a->kind == STAND_PINNED ? CPU : FIRST_GPU + (uint64_t)a->device;
	p->host_base = a->base;
	p->len = a->len;
	if (a->kind == STAND_REGISTERED)
		alias = alias_of(a);
	if (a->kind == STAND_REGISTERED || a->kind == STAND_ALIAS) {
		p->type = TYPE_LOCKED;
		p->owner = CPU;
		p->host_base = alias->alias;
	}
	p->agent_base = alias->base;
}

static int pointer_info(char *ptr, struct pointer *info)
{
	struct stand_alloc *a = stand_alloc_of((uintptr_t)ptr);
	struct pointer p = { .size = sizeof(p) };
	int err = begin(false);

	stand.n_queries++;
	if (!err && (!ptr || !info->size))
		err = INVALID_ARGUMENT;
	if (err)
		return err;
	if (a)
		describe(a, &p);
	else if (stand.owns_all)
		p = (struct pointer){ .size = sizeof(p),
			.type = TYPE_HSA,
			.agent_base = ptr,
			.host_base = ptr,
			.len = 1,
			.owner = FIRST_GPU };
	p.size = info->size < p.size ? info->size : p.size;
	memcpy(info, &p, p.size);
	return SUCCESS;
}

int hsa_amd_pointer_info(const void *ptr, struct pointer *info,
	void *(*alloc)(size_t len), uint32_t *n_agents, uint64_t **agents);
int hsa_amd_pointer_info(const void *ptr, struct pointer *info,
	void *(*alloc)(size_t len), uint32_t *n_agents, uint64_t **agents)
{
	(void)alloc;
	(void)n_agents;
	(void)agents;
	return LOCKED(pointer_info((char *)(uintptr_t)ptr, info));
}

/* ---- registered host memory ---- */

/* The agents have another address for it than the CPU. */
static int lock_memory(void *at, size_t len, void **agent_at)
{
	struct stand_alloc *host, *alias;
	int err = begin(false);

	if (!err)
		err = errors[stand_register(at, len, 0, &host)];
	if (err)
		return err;
	alias = stand_free_entry();
	if (!alias) {
		stand_unmake(host);
		return OUT_OF_RESOURCES;
	}
	*alias = *host;
	alias->kind = STAND_ALIAS;
	alias->base = mmap(NULL, len, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (alias->base == MAP_FAILED) {
		alias->base = NULL;
		stand_unmake(host);
		return OUT_OF_RESOURCES;
	}
	*agent_at = alias->base;
	return SUCCESS;
}

int hsa_amd_memory_lock(
	void *at, size_t len, uint64_t *agents, int n_agents, void **agent_at);
int hsa_amd_memory_lock(
	void *at, size_t len, uint64_t *agents, int n_agents, void **agent_at)
{
	if (!agents != !n_agents)
		return INVALID_ARGUMENT;
	return LOCKED(lock_memory(at, len, agent_at));
}

static int unlock_memory(uint64_t at)
{
	struct stand_alloc *host = stand_alloc_of(at), *alias;
	int err = begin(false);

	if (!err && (!host || host->kind != STAND_REGISTERED ||
			    at != (uintptr_t)host->base))
		err = INVALID_ARGUMENT;
	if (err)
		return err;
	alias = alias_of(host);
	stand_check_unused("hsa_amd_memory_unlock", alias);
	stand_unmake(alias);
	stand_unmake(host);
	return SUCCESS;
}

int hsa_amd_memory_unlock(void *at);
int hsa_amd_memory_unlock(void *at)
{
	return LOCKED(unlock_memory((uintptr_t)at));
}

/* ---- copies ---- */

static int memory_copy(uint64_t dst, uint64_t src, size_t len)
{
	int err = begin(true);

	return err ? err : errors[stand_move(dst, src, len)];
}

int hsa_memory_copy(void *dst, const void *src, size_t len);
int hsa_memory_copy(void *dst, const void *src, size_t len)
{
	return LOCKED(memory_copy((uintptr_t)dst, (uintptr_t)src, len));
}

static int signal_create(int64_t value, uint64_t *handle)
{
	struct signal *s;
	int err = begin(true);

	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return OUT_OF_RESOURCES;
	s->value = value;
	stand_queue_init(&s->queue);
	*handle = (uintptr_t)s;
	return SUCCESS;
}

int hsa_signal_create(int64_t value, uint32_t n_consumers,
	const uint64_t *consumers, uint64_t *handle);
int hsa_signal_create(int64_t value, uint32_t n_consumers,
	const uint64_t *consumers, uint64_t *handle)
{
	(void)n_consumers;
	(void)consumers;
	return LOCKED(signal_create(value, handle));
}

static struct signal *signal_of(uint64_t handle)
{
	return (struct signal *)(uintptr_t)handle;
}

static int signal_destroy(struct signal *s)
{
	if (s->n_copies) {
		fprintf(stderr, "hsa_signal_destroy: a copy uses the signal\n");
		abort();
	}
	stand_queue_fini(&s->queue);
	free(s);
	return SUCCESS;
}

int hsa_signal_destroy(uint64_t handle);
int hsa_signal_destroy(uint64_t handle)
{
	return LOCKED(signal_destroy(signal_of(handle)));
}

void hsa_signal_add_relaxed(uint64_t handle, int64_t value);
void hsa_signal_add_relaxed(uint64_t handle, int64_t value)
{
	pthread_mutex_lock(&stand.lock);
	signal_of(handle)->value += value;
	pthread_mutex_unlock(&stand.lock);
}

int64_t hsa_signal_wait_scacquire(uint64_t handle, int condition, int64_t value,
	uint64_t timeout, int how);
int64_t hsa_signal_wait_scacquire(uint64_t handle, int condition, int64_t value,
	uint64_t timeout, int how)
{
	struct signal *s = signal_of(handle);
	int64_t now;

	(void)timeout;
	(void)how;
	pthread_mutex_lock(&stand.lock);
	s->value = stand_run(&s->queue, false) ? -1 : s->value - s->n_copies;
	s->n_copies = 0;
	now = s->value;
	pthread_mutex_unlock(&stand.lock);
	if (condition != LESS_THAN || now >= value) {
		fprintf(stderr, "hsa_signal_wait: the value stays %ld\n",
			(long)now);
		abort();
	}
	return now;
}

/* True if the agent can access the memory. The CPU's address of registered
 * memory is not one of the agents. */
static bool can_access(uint64_t agent, uint64_t at)
{
	const struct stand_alloc *a = stand_alloc_of(at);

	if (!a)
		return stand.owns_all;
	if (a->kind == STAND_DEVICE)
		return agent == FIRST_GPU + (uint64_t)a->device;
	return a->kind != STAND_REGISTERED;
}

static int copy_async(struct signal *s, uint64_t dst, uint64_t dst_agent,
	uint64_t src, uint64_t src_agent, size_t len)
{
	const uint64_t agent = is_gpu(src_agent) ? src_agent : dst_agent;
	int err = begin(true);

	if (!err && !is_gpu(agent))
		err = INVALID_AGENT;
	if (!err && (!can_access(agent, dst) || !can_access(agent, src)))
		err = INVALID_ARGUMENT;
	if (!err)
		err = errors[stand_add(&s->queue, dst, src, len)];
	if (!err)
		s->n_copies++;
	return err;
}

int hsa_amd_memory_async_copy(void *dst, uint64_t dst_agent, const void *src,
	uint64_t src_agent, size_t len, uint32_t n_before,
	const uint64_t *before, uint64_t signal);
int hsa_amd_memory_async_copy(void *dst, uint64_t dst_agent, const void *src,
	uint64_t src_agent, size_t len, uint32_t n_before,
	const uint64_t *before, uint64_t signal)
{
	if (n_before || before || !signal)
		return INVALID_SIGNAL;
	return LOCKED(copy_async(signal_of(signal), (uintptr_t)dst, dst_agent,
		(uintptr_t)src, src_agent, len));
}

/* ---- memory of other processes ---- */

/* As with the runtime, the handle has no number of the allocation. Another
 * allocation at its address has the same handle. */
static int ipc_create(uint64_t at, size_t len, struct stand_handle *handle)
{
	const struct stand_alloc *a = stand_alloc_of(at);
	int err = begin(false);

	if (!err && (!a || at != (uintptr_t)a->base || len != a->len))
		err = INVALID_ARGUMENT;
	if (!err)
		err = errors[stand_export(a, handle)];
	if (!err)
		handle->id = 0;
	return err;
}

int hsa_amd_ipc_memory_create(
	void *at, size_t len, struct stand_handle *handle);
int hsa_amd_ipc_memory_create(void *at, size_t len, struct stand_handle *handle)
{
	return LOCKED(ipc_create((uintptr_t)at, len, handle));
}

static int ipc_attach(const struct stand_handle *handle, size_t len, void **at)
{
	struct stand_alloc *a;
	int err = begin(false);

	if (!err && len != handle->len)
		err = INVALID_ARGUMENT;
	if (!err)
		err = errors[stand_import(handle, 0, false, &a)];
	if (!err)
		*at = a->base;
	return err;
}

int hsa_amd_ipc_memory_attach(const struct stand_handle *handle, size_t len,
	uint32_t n_agents, const uint64_t *agents, void **at);
int hsa_amd_ipc_memory_attach(const struct stand_handle *handle, size_t len,
	uint32_t n_agents, const uint64_t *agents, void **at)
{
	(void)agents;
	if (n_agents)
		return INVALID_ARGUMENT;
	return LOCKED(ipc_attach(handle, len, at));
}

static int ipc_detach(uint64_t at)
{
	struct stand_alloc *a = stand_alloc_of(at);
	int err = begin(false);

	if (!err &&
		(!a || a->kind != STAND_IMPORTED || at != (uintptr_t)a->base))
		err = INVALID_ARGUMENT;
	if (!err)
		stand_drop("hsa_amd_ipc_memory_detach", a);
	return err;
}

int hsa_amd_ipc_memory_detach(void *at);
int hsa_amd_ipc_memory_detach(void *at)
{
	return LOCKED(ipc_detach((uintptr_t)at));
}
