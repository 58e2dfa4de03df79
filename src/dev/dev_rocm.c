/* SPDX-License-Identifier: BSD-3-Clause */
/* dev_rocm: ROCm device memory, through the HSA runtime libhsa-runtime64.so.1
 *
 * The types, numbers and layouts here are those of the runtime's binary
 * interface, so no header of ROCm is needed to build. A handle is a structure
 * of one uint64_t there, which has the same calling convention.
 *
 * A device is an agent. The context of a copy is its agent, and the stream is a
 * signal that counts the copies that are not complete. HSA has neither, so a
 * copy never waits for the program's streams. */
#include "dev/dev_priv.h"

#include "base/err.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
	AGENT_DEVICE = 17, /* the attribute that has the type of an agent */
	CPU = 0,
	GPU = 1,

	TYPE_HSA = 1,
	TYPE_GRAPHICS = 3,
	TYPE_IPC = 4,
	TYPE_VIRTUAL = 6,

	LESS_THAN = 2,
	WAIT_BLOCKED = 0,

	MAX_GPUS = 64,
	MAX_PINNED = 8, /* regions of the pool */
	N_ALLOCATIONS = 256,
	ALLOCATION_UNIT = 4096,
};

/* hsa_amd_pointer_info_t; later releases append fields */
struct rocm_pointer {
	uint32_t size; /* of this structure */
	uint32_t type;
	void *agent_base, *host_base;
	size_t len;
	void *user_data;
	uint64_t owner; /* an agent; 0: not visible to this process */
	uint32_t flags;
};

/* hsa_amd_ipc_memory_t */
struct rocm_handle {
	uint32_t words[8];
};

static_assert(sizeof(struct rocm_handle) <= WEFT_DEV_HANDLE, "handle");

typedef void rocm_freed_fn(void *base, void *arg);

/* The functions of the runtime. Set once, before the driver is open. */
static struct {
	int (*init)(void);
	int (*status_string)(int err, const char **text_out);
	int (*iterate_agents)(int (*fn)(uint64_t agent, void *arg), void *arg);
	int (*agent_info)(uint64_t agent, int attr, void *value_out);
	int (*pointer_info)(const void *ptr, struct rocm_pointer *info,
		void *(*alloc)(size_t len), uint32_t *n_agents_out,
		uint64_t **agents_out);
	int (*copy)(void *dst, const void *src, size_t len);
	int (*copy_async)(void *dst, uint64_t dst_agent, const void *src,
		uint64_t src_agent, size_t len, uint32_t n_before,
		const uint64_t *before, uint64_t signal);
	int (*signal_create)(int64_t value, uint32_t n_consumers,
		const uint64_t *consumers, uint64_t *signal_out);
	int (*signal_destroy)(uint64_t signal);
	void (*signal_add)(uint64_t signal, int64_t value);
	int64_t (*signal_wait)(uint64_t signal, int condition, int64_t value,
		uint64_t timeout, int how);
	int (*lock)(void *at, size_t len, uint64_t *agents, int n_agents,
		void **agent_at_out);
	int (*unlock)(void *at);
	int (*notify_free)(void *ptr, rocm_freed_fn *fn, void *arg);
	int (*stop_notify)(void *ptr, rocm_freed_fn *fn);
	int (*ipc_create)(
		void *base, size_t len, struct rocm_handle *handle_out);
	int (*ipc_attach)(const struct rocm_handle *handle, size_t len,
		uint32_t n_agents, const uint64_t *agents, void **at_out);
	int (*ipc_detach)(void *at);
} hsa;

static const struct weft_dev_symbol hsa_symbols[] = {
	{ "hsa_init", &hsa.init },
	{ "hsa_status_string", &hsa.status_string },
	{ "hsa_iterate_agents", &hsa.iterate_agents },
	{ "hsa_agent_get_info", &hsa.agent_info },
	{ "hsa_amd_pointer_info", &hsa.pointer_info },
	{ "hsa_memory_copy", &hsa.copy },
	{ "hsa_amd_memory_async_copy", &hsa.copy_async },
	{ "hsa_signal_create", &hsa.signal_create },
	{ "hsa_signal_destroy", &hsa.signal_destroy },
	{ "hsa_signal_add_relaxed", &hsa.signal_add },
	{ "hsa_signal_wait_scacquire", &hsa.signal_wait },
	{ "hsa_amd_memory_lock", &hsa.lock },
	{ "hsa_amd_memory_unlock", &hsa.unlock },
	{ "hsa_amd_register_deallocation_callback", &hsa.notify_free },
	{ "hsa_amd_deregister_deallocation_callback", &hsa.stop_notify },
	{ "hsa_amd_ipc_memory_create", &hsa.ipc_create },
	{ "hsa_amd_ipc_memory_attach", &hsa.ipc_attach },
	{ "hsa_amd_ipc_memory_detach", &hsa.ipc_detach },
};

/* The agents of this process. Set once, when the runtime is initialised. */
static struct {
	pthread_once_t once;
	int err;
	uint64_t cpu;
	uint64_t gpus[MAX_GPUS];
	int n_gpus;
} agents = { .once = PTHREAD_ONCE_INIT };

/* An allocation that the library has identified, and not been notified that it
 * is freed. */
struct rocm_allocation {
	void *base; /* NULL: unused */
	uint64_t id;
};

static struct {
	pthread_mutex_t lock;
	struct rocm_allocation allocations[N_ALLOCATIONS]; /* by address */
	uint64_t last_id;
	struct {
		char *at;
		size_t len;
		char *agent_at; /* the same memory, for the agents */
	} pinned[MAX_PINNED];
	int n_pinned;
	uint64_t used; /* an agent that has copied; 0: none */
} rocm = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- the runtime ---- */

/* Returns the first word of the description, which is the name of the error. */
static const char *status_name(int err, char *name, size_t len)
{
	const char *text = NULL;

	if (hsa.status_string(err, &text) || !text)
		text = "unknown error";
	snprintf(name, len, "%.*s", (int)strcspn(text, ":"), text);
	return name;
}

static int rocm_fault(const char *call, int err)
{
	char name[64];

	return weft_err_set(WEFT_ERR_BUFFER,
		"%s failed with %s (0x%x); check that the device memory is "
		"allocated",
		call, status_name(err, name, sizeof(name)), err);
}

static int add_agent(uint64_t agent, void *arg)
{
	uint32_t type = 0;
	int err = hsa.agent_info(agent, AGENT_DEVICE, &type);

	(void)arg;
	if (!err && type == GPU && agents.n_gpus < MAX_GPUS)
		agents.gpus[agents.n_gpus++] = agent;
	if (!err && type == CPU && !agents.cpu)
		agents.cpu = agent;
	return err;
}

/* Adds a reference to the runtime, which is never dropped. So agents and
 * notifications stay valid if the program shuts the runtime down. */
static void find_agents(void)
{
	agents.err = hsa.init();
	if (!agents.err)
		agents.err = hsa.iterate_agents(add_agent, NULL);
	if (agents.err)
		agents.n_gpus = 0;
}

static int rocm_open(char *why, size_t len)
{
	char name[64];

	pthread_once(&agents.once, find_agents);
	if (!agents.n_gpus)
		snprintf(why, len, "the ROCm runtime has no device: %s",
			agents.err ? status_name(agents.err, name, sizeof(name))
				   : "0 devices");
	return agents.n_gpus;
}

/* ---- addresses ---- */

/* Describes the allocation of an address. False: host memory that is unknown,
 * managed or pinned; or the runtime is not initialised. */
static bool is_allocated(const void *ptr, struct rocm_pointer *info_out)
{
	struct rocm_pointer info = { .size = sizeof(info) };

	if (hsa.pointer_info(ptr, &info, NULL, NULL, NULL))
		return false;
	*info_out = info;
	return info.type == TYPE_HSA || info.type == TYPE_GRAPHICS ||
	       info.type == TYPE_IPC || info.type == TYPE_VIRTUAL;
}

/* The owner of host memory of the runtime is a CPU. */
static bool rocm_find(const void *ptr, struct weft_dev_where *where_out)
{
	struct rocm_pointer info;
	int i = 0;

	if (!is_allocated(ptr, &info))
		return false;
	pthread_once(&agents.once, find_agents);
	if (info.type != TYPE_IPC || info.owner)
		while (i < agents.n_gpus && agents.gpus[i] != info.owner)
			i++;
	if (i == agents.n_gpus)
		return false;
	where_out->context = (void *)(uintptr_t)agents.gpus[i];
	where_out->device = i;
	return true;
}

/* ---- copies ---- */

static int rocm_begin(
	const struct weft_dev_where *where, struct weft_dev_copies *copies_out)
{
	uint64_t signal = 0;
	int err = hsa.signal_create(0, 0, NULL, &signal);

	if (err)
		return rocm_fault("hsa_signal_create", err);
	*copies_out = (struct weft_dev_copies){ .context = where->context,
		.stream = (void *)(uintptr_t)signal };
	pthread_mutex_lock(&rocm.lock);
	rocm.used = (uintptr_t)where->context;
	pthread_mutex_unlock(&rocm.lock);
	return 0;
}

/* Returns the address that agents use for memory that rocm_pin() has pinned.
 * NULL: other memory. */
static void *agent_address(const void *host, size_t len)
{
	char *found = NULL;

	pthread_mutex_lock(&rocm.lock);
	for (int i = 0; i < rocm.n_pinned; i++) {
		uintptr_t at = (uintptr_t)host - (uintptr_t)rocm.pinned[i].at;

		if (at < rocm.pinned[i].len && len <= rocm.pinned[i].len - at)
			found = rocm.pinned[i].agent_at + at;
	}
	pthread_mutex_unlock(&rocm.lock);
	return found;
}

/* The agent copies between its memory, or memory that is mapped for it, and
 * memory that it can access: of its own, or pinned. For other host memory,
 * hsa_memory_copy() pins the pages during the copy. The runtime does not use
 * the owner of mapped memory, which cannot access the agent's memory. */
static int rocm_add(const struct weft_dev_copies *copies, void *dst,
	const void *src, size_t len)
{
	const uint64_t agent = (uintptr_t)copies->context;
	const uint64_t signal = (uintptr_t)copies->stream;
	uint64_t dst_agent = agent, src_agent = agent;
	struct weft_dev_where where;
	void *to = dst;
	const void *from = src;
	int err;

	if (!len)
		return 0;
	if (copies->is_to_host) {
		to = agent_address(dst, len);
		dst_agent = to ? agents.cpu : agent;
		if (!to && rocm_find(dst, &where))
			to = dst;
	} else {
		from = agent_address(src, len);
		src_agent = agents.cpu;
	}
	if (!to || !from) {
		err = hsa.copy(dst, src, len);
		return err ? rocm_fault("hsa_memory_copy", err) : 0;
	}
	hsa.signal_add(signal, 1);
	err = hsa.copy_async(
		to, dst_agent, from, src_agent, len, 0, NULL, signal);
	if (!err)
		return 0;
	hsa.signal_add(signal, -1);
	return rocm_fault("hsa_amd_memory_async_copy", err);
}

/* The value of the signal is negative after the failure of a copy. */
static int rocm_end(const struct weft_dev_copies *copies, int err)
{
	const uint64_t signal = (uintptr_t)copies->stream;
	int64_t left =
		hsa.signal_wait(signal, LESS_THAN, 1, UINT64_MAX, WAIT_BLOCKED);

	(void)hsa.signal_destroy(signal);
	if (left < 0 && !err)
		err = weft_err_set(WEFT_ERR_BUFFER,
			"hsa_amd_memory_async_copy failed; check that the "
			"device memory is allocated");
	return err;
}

/* ---- pinned memory ---- */

static bool rocm_pin(const struct weft_dev_where *where, void *at, size_t len)
{
	void *agent_at = NULL;
	bool is_pinned;

	(void)where; /* for all agents */
	pthread_mutex_lock(&rocm.lock);
	is_pinned = rocm.n_pinned < MAX_PINNED;
	pthread_mutex_unlock(&rocm.lock);
	if (!is_pinned || hsa.lock(at, len, NULL, 0, &agent_at))
		return false;
	pthread_mutex_lock(&rocm.lock);
	is_pinned = rocm.n_pinned < MAX_PINNED;
	if (is_pinned) {
		rocm.pinned[rocm.n_pinned].at = at;
		rocm.pinned[rocm.n_pinned].len = len;
		rocm.pinned[rocm.n_pinned++].agent_at = agent_at;
	}
	pthread_mutex_unlock(&rocm.lock);
	if (!is_pinned)
		(void)hsa.unlock(at);
	return is_pinned;
}

static bool rocm_unpin(void *at)
{
	if (hsa.unlock(at))
		return false;
	pthread_mutex_lock(&rocm.lock);
	for (int i = 0; i < rocm.n_pinned; i++)
		if (rocm.pinned[i].at == at)
			rocm.pinned[i] = rocm.pinned[--rocm.n_pinned];
	pthread_mutex_unlock(&rocm.lock);
	return true;
}

/* ---- memory of other processes ---- */

static struct rocm_allocation *allocation_of(const void *base)
{
	return &rocm.allocations[(uintptr_t)base / ALLOCATION_UNIT %
				 N_ALLOCATIONS];
}

/* The runtime calls this function before it frees an allocation, without a lock
 * of its own. */
static void forget_allocation(void *base, void *arg)
{
	struct rocm_allocation *a = allocation_of(base);

	(void)arg;
	pthread_mutex_lock(&rocm.lock);
	if (a->base == base)
		a->base = NULL;
	pthread_mutex_unlock(&rocm.lock);
}

/* Returns the id of an allocation. Another allocation at its address has
 * another id, because the runtime notifies the library when memory is freed.
 * 0: the runtime does not notify, so the memory has no id. */
static uint64_t allocation_id(void *base)
{
	struct rocm_allocation *a = allocation_of(base);
	uint64_t id = 0;

	pthread_mutex_lock(&rocm.lock);
	if (a->base != base &&
		!hsa.notify_free(base, forget_allocation, NULL)) {
		if (a->base)
			(void)hsa.stop_notify(a->base, forget_allocation);
		*a = (struct rocm_allocation){ base, ++rocm.last_id };
	}
	if (a->base == base)
		id = a->id;
	pthread_mutex_unlock(&rocm.lock);
	return id;
}

static bool rocm_range(const void *ptr, struct weft_dev_range *range_out)
{
	struct rocm_pointer info;
	uint64_t id;

	if (!is_allocated(ptr, &info) || info.type != TYPE_HSA)
		return false;
	id = allocation_id(info.agent_base);
	*range_out = (struct weft_dev_range){ (uintptr_t)info.agent_base,
		info.len, id };
	return id != 0;
}

static bool rocm_export(const struct weft_dev_where *where, uint64_t base,
	uint8_t handle_out[WEFT_DEV_HANDLE])
{
	void *at = (void *)(uintptr_t)base;
	struct rocm_handle handle;
	struct rocm_pointer info;

	(void)where;
	if (!is_allocated(at, &info) || hsa.ipc_create(at, info.len, &handle))
		return false;
	memset(handle_out, 0, WEFT_DEV_HANDLE);
	memcpy(handle_out, &handle, sizeof(handle));
	return true;
}

/* All agents can access the mapping, also the owner, which hsa_memory_copy()
 * uses. */
static int rocm_map(const struct weft_dev_copies *copies,
	const uint8_t handle[WEFT_DEV_HANDLE], size_t len, void **at_out)
{
	struct rocm_handle copy;
	char name[64];
	int err;

	(void)copies;
	memcpy(&copy, handle, sizeof(copy));
	err = hsa.ipc_attach(&copy, len, 0, NULL, at_out);
	if (err)
		return weft_err_set(WEFT_ERR_ACCESS,
			"hsa_amd_ipc_memory_attach failed with %s (0x%x)",
			status_name(err, name, sizeof(name)), err);
	return 0;
}

static void rocm_unmap(void *context, void *at)
{
	(void)context;
	(void)hsa.ipc_detach(at);
}

static bool rocm_used(struct weft_dev_where *where_out)
{
	pthread_mutex_lock(&rocm.lock);
	where_out->context = (void *)(uintptr_t)rocm.used;
	pthread_mutex_unlock(&rocm.lock);
	return where_out->context != NULL;
}

static void rocm_close(void)
{
	pthread_mutex_lock(&rocm.lock);
	for (int i = 0; i < N_ALLOCATIONS; i++) {
		struct rocm_allocation *a = &rocm.allocations[i];

		if (a->base)
			(void)hsa.stop_notify(a->base, forget_allocation);
		a->base = NULL;
	}
	pthread_mutex_unlock(&rocm.lock);
}

const struct weft_dev_vendor weft_dev_rocm = {
	.name = "ROCm",
	.kind = "rocm",
	.common = "managed",
	.library = "libhsa-runtime64.so.1",
	.needs = "ROCm 4 or later",
	.node = "/dev/kfd",
	.alloc = "hipMalloc",
	.pin_min = 1,
	.id = WEFT_DEV_ROCM,
	.symbols = hsa_symbols,
	.n_symbols = sizeof(hsa_symbols) / sizeof(hsa_symbols[0]),
	.open = rocm_open,
	.find = rocm_find,
	.begin = rocm_begin,
	.add = rocm_add,
	.add_rows = weft_dev_add_runs,
	.end = rocm_end,
	.pin = rocm_pin,
	.unpin = rocm_unpin,
	.range = rocm_range,
	.export = rocm_export,
	.map = rocm_map,
	.unmap = rocm_unmap,
	.used = rocm_used,
	.close = rocm_close,
};
