/* SPDX-License-Identifier: BSD-3-Clause */
/* dev: the drivers of all vendors: when they are opened, and which one owns an
 * address */
#include "dev/dev_priv.h"
#include "dev/gdr.h"

#include "base/bits.h"
#include "base/err.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const struct weft_dev_vendor *const vendors[WEFT_DEV_N] = {
	[WEFT_DEV_CUDA] = &weft_dev_cuda,
	[WEFT_DEV_ROCM] = &weft_dev_rocm,
	[WEFT_DEV_ZE] = &weft_dev_ze,
};

enum { OPEN_MASK = (1 << WEFT_DEV_N) - 1 };

atomic_uint weft_dev_state;

/* The results of loading the libraries, and of initialising the drivers. Each
 * is set once. */
static struct {
	pthread_mutex_t lock;
	struct {
		bool is_load_tried, is_open_tried, is_loaded;
		int n_devices;
		char why[160];
	} of[WEFT_DEV_N];
} drivers = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The last library in the loader's list at the last test for the drivers'
 * libraries. Libraries that are loaded later follow it. It stays loaded, so
 * that any thread may read its entry. NULL: unknown. */
static struct link_map *_Atomic last_library;

/* ---- opening ---- */

static bool find_functions(
	const struct weft_dev_vendor *vendor, void *lib, char *why, size_t len)
{
	for (size_t i = 0; i < vendor->n_symbols; i++) {
		void *function = dlsym(lib, vendor->symbols[i].name);

		if (!function) {
			snprintf(why, len, "%s has no function %s: it needs %s",
				vendor->library, vendor->symbols[i].name,
				vendor->needs);
			return false;
		}
		memcpy(vendor->symbols[i].function, &function,
			sizeof(function));
	}
	return true;
}

/* Lock of drivers held. */
static bool load_driver(enum weft_dev_id id)
{
	char *why = drivers.of[id].why;
	const size_t len = sizeof(drivers.of[id].why);
	void *lib;

	if (drivers.of[id].is_load_tried)
		return drivers.of[id].is_loaded;
	drivers.of[id].is_load_tried = true;
	lib = dlopen(vendors[id]->library, RTLD_NOW | RTLD_LOCAL);
	if (lib) {
		drivers.of[id].is_loaded =
			find_functions(vendors[id], lib, why, len);
	} else {
		const char *error = dlerror();

		snprintf(why, len, "%s", error ? error : vendors[id]->library);
	}
	return drivers.of[id].is_loaded;
}

static void set_open(enum weft_dev_id id)
{
	/* pairs with the acquire in open_vendors(): the functions are set */
	atomic_fetch_or_explicit(
		&weft_dev_state, 1u << id, memory_order_release);
	atomic_fetch_and_explicit(&weft_dev_state,
		~(1u << (WEFT_DEV_WATCHED + id)), memory_order_relaxed);
}

int weft_dev_open(enum weft_dev_id id, const char **why_out)
{
	int n;

	pthread_mutex_lock(&drivers.lock);
	if (!drivers.of[id].is_open_tried && load_driver(id)) {
		drivers.of[id].n_devices = vendors[id]->open(
			drivers.of[id].why, sizeof(drivers.of[id].why));
		if (drivers.of[id].n_devices)
			set_open(id);
	}
	drivers.of[id].is_open_tried = true;
	n = drivers.of[id].n_devices;
	pthread_mutex_unlock(&drivers.lock);
	if (!n && why_out)
		*why_out = drivers.of[id].why;
	return n;
}

/* ---- a driver that the program loads ---- */

struct last {
	struct link_map *map;
	char name[PATH_MAX];
};

/* Finds the last library. The loader's lock is held, so its list is constant.
 */
static int find_last(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct last *last = arg;

	(void)info;
	(void)size;
	while (last->map->l_next)
		last->map = last->map->l_next;
	snprintf(last->name, sizeof(last->name), "%s", last->map->l_name);
	return 1; /* no further call */
}

static __attribute__((noinline)) void note_last(void)
{
	void *self = dlopen(NULL, RTLD_NOW | RTLD_LOCAL);
	struct link_map *map = NULL;
	struct last last;

	if (!self || dlinfo(self, RTLD_DI_LINKMAP, &last.map))
		return;
	dl_iterate_phdr(find_last, &last);
	/* a reference, which is never dropped */
	self = dlopen(last.name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	if (self && !dlinfo(self, RTLD_DI_LINKMAP, &map) && map == last.map)
		/* pairs with the acquire in has_new_libraries() */
		atomic_store_explicit(&last_library, map, memory_order_release);
}

/* Opens the driver if the process has loaded its library. */
static bool open_loaded(enum weft_dev_id id)
{
	void *lib = dlopen(
		vendors[id]->library, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	bool is_loaded;

	if (!lib)
		return false;
	dlclose(lib);
	pthread_mutex_lock(&drivers.lock);
	is_loaded = load_driver(id);
	if (is_loaded)
		set_open(id);
	pthread_mutex_unlock(&drivers.lock);
	return is_loaded;
}

static inline bool has_new_libraries(void)
{
	/* pairs with the release in note_last() */
	struct link_map *last =
		atomic_load_explicit(&last_library, memory_order_acquire);

	/* relaxed: memory of a device comes from a thread that has loaded the
	 * driver, or has synchronized with that thread */
	return weft_unlikely(
		!last || __atomic_load_n(&last->l_next, __ATOMIC_RELAXED));
}

/* Returns a bit for each open driver. First opens the watched drivers that the
 * process has loaded meanwhile. */
static unsigned open_vendors(void)
{
	unsigned state =
		atomic_load_explicit(&weft_dev_state, memory_order_acquire);

	if (state >> WEFT_DEV_WATCHED && has_new_libraries()) {
		note_last();
		for (int i = 0; i < WEFT_DEV_N; i++)
			if (state >> (WEFT_DEV_WATCHED + i) & 1 &&
				open_loaded((enum weft_dev_id)i))
				state |= 1u << i;
	}
	return state & OPEN_MASK;
}

bool weft_dev_watch(void)
{
	bool may_have = false;

	for (int i = 0; i < WEFT_DEV_N; i++) {
		if (open_vendors() >> i & 1 ||
			open_loaded((enum weft_dev_id)i)) {
			may_have = true;
		} else if (!access(vendors[i]->node, F_OK)) {
			may_have = true;
			/* the next question clears it if another thread has
			 * opened the driver */
			atomic_fetch_or_explicit(&weft_dev_state,
				1u << (WEFT_DEV_WATCHED + i),
				memory_order_relaxed);
		}
	}
	return may_have;
}

/* ---- kinds of memory ---- */

static bool is_dev_restrictor(
	const struct weft_dev_vendor *vendor, const char *word, size_t len)
{
	const char *const known[] = { "host", "device", vendor->common };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i]) == len &&
			!strncasecmp(word, known[i], len))
			return true;
	return false;
}

bool weft_dev_has_kind(const char *kind)
{
	size_t len = strcspn(kind, ":");
	int id = 0;

	while (id < WEFT_DEV_N &&
		(strlen(vendors[id]->kind) != len ||
			strncasecmp(kind, vendors[id]->kind, len) != 0))
		id++;
	if (id == WEFT_DEV_N)
		return false;
	for (kind += len; *kind; kind += len) {
		kind++;
		len = strcspn(kind, ":");
		if (!is_dev_restrictor(vendors[id], kind, len))
			return false;
	}
	return weft_dev_open((enum weft_dev_id)id, NULL) > 0;
}

/* ---- addresses ---- */

bool weft_dev_is_open(void)
{
	return open_vendors() != 0;
}

bool weft_dev_find(const void *ptr, struct weft_dev_where *where_out)
{
	unsigned open = open_vendors();

	where_out->id = 0;
	for (int i = 0; open; i++, open >>= 1)
		if (open & 1 && vendors[i]->find(ptr, where_out)) {
			where_out->vendor = vendors[i];
			return true;
		}
	return false;
}

enum weft_dev_id weft_dev_vendor_of(const struct weft_dev_where *where)
{
	return where->vendor->id;
}

const char *weft_dev_name(const struct weft_dev_where *where)
{
	return where->vendor->name;
}

int weft_dev_refuse(const void *ptr, const char *name, const char *remedy)
{
	struct weft_dev_where where;

	if (!weft_dev_find(ptr, &where))
		return 0;
	return weft_err_set(WEFT_ERR_BUFFER,
		"%s %p is %s device memory (device %d), which this procedure "
		"does not support; %s",
		name, ptr, where.vendor->name, where.device, remedy);
}

/* ---- copies ---- */

int weft_dev_begin(const struct weft_dev_where *where, bool is_to_host,
	struct weft_dev_copies *copies_out)
{
	int err = where->vendor->begin(where, copies_out);

	if (!err) {
		copies_out->vendor = where->vendor;
		copies_out->is_to_host = is_to_host;
	}
	return err;
}

int weft_dev_add(const struct weft_dev_copies *copies, void *dst,
	const void *src, size_t len)
{
	return copies->vendor->add(copies, dst, src, len);
}

int weft_dev_add_rows(
	const struct weft_dev_copies *copies, const struct weft_dev_rows *rows)
{
	return copies->vendor->add_rows(copies, rows);
}

int weft_dev_add_runs(
	const struct weft_dev_copies *copies, const struct weft_dev_rows *rows)
{
	int err = 0;

	for (size_t i = 0; !err && i < rows->n; i++)
		err = copies->vendor->add(copies,
			(char *)rows->dst + (ptrdiff_t)i * rows->dst_stride,
			(const char *)rows->src +
				(ptrdiff_t)i * rows->src_stride,
			rows->len);
	return err;
}

int weft_dev_end(const struct weft_dev_copies *copies, int err)
{
	return copies->vendor->end(copies, err);
}

int weft_dev_copy_rows(const struct weft_dev_where *where,
	const struct weft_dev_rows *rows, bool is_to_host)
{
	void *dev = is_to_host ? (void *)(uintptr_t)rows->src : rows->dst;
	void *host = is_to_host ? rows->dst : (void *)(uintptr_t)rows->src;
	struct weft_dev_copies copies;
	int err;

	if (rows->n == 1 && where->id &&
		weft_gdr_copy(where, dev, host, rows->len, is_to_host))
		return 0;
	err = weft_dev_begin(where, is_to_host, &copies);
	return err ? err
		   : weft_dev_end(&copies, weft_dev_add_rows(&copies, rows));
}

/* ---- pinned memory ---- */

bool weft_dev_pin(const struct weft_dev_where *where, void *at, size_t len)
{
	return where->vendor->pin(where, at, len);
}

bool weft_dev_unpin(const struct weft_dev_where *where, void *at)
{
	return where->vendor->unpin(at);
}

/* ---- memory of other processes ---- */

bool weft_dev_range(const struct weft_dev_where *where, const void *ptr,
	struct weft_dev_range *range_out)
{
	struct weft_dev_range range;

	if (!where->vendor->range(ptr, &range))
		return false;
	range.id |= (uint64_t)where->vendor->id << WEFT_DEV_ID_SHIFT;
	*range_out = range;
	return true;
}

bool weft_dev_export(const struct weft_dev_where *where, uint64_t base,
	uint8_t handle_out[WEFT_DEV_HANDLE])
{
	return where->vendor->export(where, base, handle_out);
}

int weft_dev_map(const struct weft_dev_copies *copies,
	const uint8_t handle[WEFT_DEV_HANDLE], size_t len, void **at_out)
{
	return copies->vendor->map(copies, handle, len, at_out);
}

void weft_dev_unmap(enum weft_dev_id id, void *context, void *at)
{
	vendors[id]->unmap(context, at);
}

bool weft_dev_used(enum weft_dev_id id, struct weft_dev_where *where_out)
{
	if (!(open_vendors() >> id & 1) || !vendors[id]->used(where_out))
		return false;
	where_out->vendor = vendors[id];
	return true;
}

void weft_dev_close(void)
{
	unsigned open = open_vendors();

	for (int i = 0; open; i++, open >>= 1)
		if (open & 1)
			vendors[i]->close();
}
