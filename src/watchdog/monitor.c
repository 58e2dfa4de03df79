/* SPDX-License-Identifier: BSD-3-Clause */
/* monitor: publishes the addresses at which weft-top reads the state of this
 * process */
#include "config.h"

#include "watchdog/monitor.h"

#include "base/clock.h"
#include "base/counter.h"
#include "base/memfd.h"
#include "core/comm.h"
#include "transport/proc.h"
#include "watchdog/wait.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* The page is mapped once. The mapping and its descriptor are kept until the
 * process ends. */
static struct weft_monitor_page *monitor_page;

void weft_monitor_print_build(char build[WEFT_MONITOR_BUILD])
{
	snprintf(build, WEFT_MONITOR_BUILD, "%.40s (%zu %zu %zu %zu %zu %zu)",
		PACKAGE_VERSION, sizeof(struct weft_monitor_page),
		sizeof(struct weft_wait), sizeof(struct weft_wait_registry),
		sizeof(struct weft_counters), sizeof(struct weft_comm),
		sizeof(struct weft_table));
}

static struct weft_monitor_page *monitor_map(void)
{
	int fd = weft_memfd_open(WEFT_MONITOR_FILE, MFD_CLOEXEC,
		sizeof(struct weft_monitor_page));
	void *page = MAP_FAILED;

	if (fd < 0)
		return NULL;
	page = mmap(NULL, sizeof(struct weft_monitor_page),
		PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED)
		return page;
	close(fd);
	return NULL;
}

void weft_monitor_open(void)
{
	struct weft_counters_root counters = weft_counters_root();
	struct weft_monitor_page *page = monitor_page;

	if (!page)
		page = monitor_page = monitor_map();
	if (!page)
		return;
	page->pid = getpid();
	weft_monitor_print_build(page->build);
	snprintf(page->job, sizeof(page->job), "%s", weft_proc.facts.job);
	page->proc = weft_proc.proc;
	page->size = weft_proc.facts.max_procs ? 0 : weft_proc.facts.world_size;
	page->local_size = weft_proc.facts.local_size;
	if (!page->opened_ns)
		page->opened_ns = weft_now_ns();
	page->registry = (uintptr_t)weft_wait_registry();
	page->counters_open = (uintptr_t)counters.open;
	page->counters_closed = (uintptr_t)counters.closed;
	page->comms = (uintptr_t)&weft_comms;
	page->n_sessions = (uintptr_t)&weft_proc.n_sessions;
	/* release: publishes the page's fields before its magic; weft-top
	 * checks the magic before it uses them */
	atomic_store_explicit(
		&page->magic, WEFT_MONITOR_MAGIC, memory_order_release);
}

uint64_t weft_monitor_watched_ns(void)
{
	return monitor_page ? atomic_load_explicit(&monitor_page->watched_ns,
				      memory_order_relaxed)
			    : 0;
}
