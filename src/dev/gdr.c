/* SPDX-License-Identifier: BSD-3-Clause */
/* gdr: copies short data through mappings of CUDA memory (GDRCopy) */
#include "dev/gdr.h"

#include "base/knob.h"
#include "base/log.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

/* Reads through a mapping are slow: 4 KiB take as long as a copy of the driver.
 * Writes have 10 GB/s (contrib/notes/014-device-memory-costs.md). */
enum {
	PAGE = 65536, /* of the device, which the library maps as a whole */
	PAGES = 64,
	READ_MAX = 2048,
	WRITE_MAX = 32768,
	USES = 256, /* copies by the driver before a page is mapped */
};

/* gdr_mh_t of gdrapi.h */
struct gdr_handle {
	unsigned long h;
};

/* A page of one allocation. The id of an allocation is never used again, so a
 * mapping of freed memory is not used. */
struct gdr_page {
	uint64_t at, id;
	uint64_t last; /* time of the last use, in copies of the process */
	uint32_t n_uses;
	char *map; /* NULL: not mapped */
	struct gdr_handle handle;
};

static struct {
	pthread_mutex_t lock;
	atomic_bool is_absent; /* the library cannot be used */
	void *gdr;	       /* gdr_t; NULL: not open */
	int (*pin)(void *gdr, unsigned long at, size_t len, uint64_t token,
		uint32_t space, struct gdr_handle *handle_out);
	int (*unpin)(void *gdr, struct gdr_handle handle);
	int (*map)(
		void *gdr, struct gdr_handle handle, void **at_out, size_t len);
	int (*unmap)(void *gdr, struct gdr_handle handle, void *at, size_t len);
	int (*write)(struct gdr_handle handle, void *to, const void *from,
		size_t len);
	int (*read)(struct gdr_handle handle, void *to, const void *from,
		size_t len);
	uint64_t n_copies;
	struct gdr_page pages[PAGES];
} gdr = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The lock is held in the next functions. */

static const char *gdr_load(void)
{
	static const struct {
		const char *name;
		void *function;
	} symbols[] = {
		{ "gdr_pin_buffer", &gdr.pin },
		{ "gdr_unpin_buffer", &gdr.unpin },
		{ "gdr_map", &gdr.map },
		{ "gdr_unmap", &gdr.unmap },
		{ "gdr_copy_to_mapping", &gdr.write },
		{ "gdr_copy_from_mapping", &gdr.read },
	};
	void *lib = dlopen("libgdrapi.so.2", RTLD_NOW | RTLD_LOCAL);
	void *(*open)(void);

	if (!lib)
		return "there is no libgdrapi.so.2";
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		*(void **)symbols[i].function = dlsym(lib, symbols[i].name);
		if (!*(void **)symbols[i].function)
			return "libgdrapi.so.2 has not all functions";
	}
	*(void **)&open = dlsym(lib, "gdr_open");
	gdr.gdr = open ? open() : NULL;
	return gdr.gdr ? NULL : "gdr_open failed: the module gdrdrv is needed";
}

static bool gdr_is_open(void)
{
	const char *why;

	if (gdr.gdr)
		return true;
	why = gdr_load();
	if (!why)
		return true;
	atomic_store_explicit(&gdr.is_absent, true, memory_order_relaxed);
	weft_log_debug("DEV-NOGDR",
		"the driver copies short data of devices: %s", why);
	return false;
}

static void page_unmap(struct gdr_page *page)
{
	if (page->map) {
		gdr.unmap(gdr.gdr, page->handle, page->map, PAGE);
		gdr.unpin(gdr.gdr, page->handle);
	}
	*page = (struct gdr_page){ 0 };
}

/* Returns the entry of a page, which replaces the least recently used one if
 * the page has none. */
static struct gdr_page *page_of(uint64_t at, uint64_t id)
{
	struct gdr_page *oldest = gdr.pages;

	for (int i = 0; i < PAGES; i++) {
		struct gdr_page *page = &gdr.pages[i];

		if (page->at == at && page->id == id)
			return page;
		if (page->last < oldest->last)
			oldest = page;
	}
	page_unmap(oldest);
	oldest->at = at;
	oldest->id = id;
	return oldest;
}

/* Maps a page. Only memory that has an IPC handle: the ids of memory of other
 * kinds may not change when it is freed and allocated again. */
static void page_map(const struct weft_dev_where *where, const void *dev,
	struct gdr_page *page)
{
	uint8_t handle[WEFT_DEV_HANDLE];
	struct weft_dev_range range;
	void *map = NULL;
	int err;

	if (!weft_dev_range(where, dev, &range) ||
		!weft_dev_export(where, range.base, handle) || !gdr_is_open())
		return;
	err = gdr.pin(gdr.gdr, page->at, PAGE, 0, 0, &page->handle);
	if (!err && gdr.map(gdr.gdr, page->handle, &map, PAGE)) {
		gdr.unpin(gdr.gdr, page->handle);
		map = NULL;
	}
	page->map = map;
	weft_log_debug(map ? "DEV-GDR" : "DEV-NOGDR",
		"%s a page of device memory for short copies",
		map ? "mapped" : "cannot map");
}

bool weft_gdr_copy(const struct weft_dev_where *where, void *dev, void *host,
	size_t len, bool is_to_host)
{
	const size_t offset = (uintptr_t)dev % PAGE;
	struct weft_dev_where now;
	struct gdr_page *page;
	bool is_done = false;

	if (!where->id || len > (is_to_host ? READ_MAX : WRITE_MAX) ||
		offset + len > PAGE || !weft_knob_is_on(weft_knobs.dev_gdr) ||
		atomic_load_explicit(&gdr.is_absent, memory_order_relaxed))
		return false;
	pthread_mutex_lock(&gdr.lock);
	page = page_of((uintptr_t)dev - offset, where->id);
	page->last = ++gdr.n_copies;
	if (++page->n_uses == USES)
		page_map(where, dev, page);
	/* the memory may have been freed since `where` was found */
	if (page->map && weft_dev_find(dev, &now) && now.id == where->id)
		is_done = is_to_host ? !gdr.read(page->handle, host,
					       page->map + offset, len)
				     : !gdr.write(page->handle,
					       page->map + offset, host, len);
	pthread_mutex_unlock(&gdr.lock);
	return is_done;
}

void weft_gdr_close(void)
{
	pthread_mutex_lock(&gdr.lock);
	for (int i = 0; i < PAGES; i++)
		page_unmap(&gdr.pages[i]);
	pthread_mutex_unlock(&gdr.lock);
}
