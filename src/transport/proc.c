/* SPDX-License-Identifier: BSD-3-Clause */
/* proc: the state that all VCIs of the process share: context ids, knobs,
 * locality, abort */
#include "transport/proc.h"

#include "base/hash.h"
#include "base/knob.h"
#include "net/net.h"
#include "shm/share.h"
#include "topo/nic.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	CTX_RANK_SHIFT = 36, /* in a context id, the rank that allocated the id
				is above this bit */
	CTX_SELF = 2,
	CTX_FOREIGN_SHIFT = 63, /* this bit is set in random ids, so that they
				   differ from ids of rank and counter */
};

struct weft_proc weft_proc = { .lock = PTHREAD_MUTEX_INITIALIZER,
	.open_boot = weft_boot_open };

static uint64_t draw_ctx(uint64_t counter)
{
	uint64_t what[2] = { weft_proc.proc, counter };
	uint64_t drawn = weft_hash(weft_proc.facts.own_key, what, sizeof(what));

	/* the shift clears the upper bits, so that consecutive ids do not
	 * overflow; the mask clears the offset */
	return (uint64_t)1 << CTX_FOREIGN_SHIFT |
	       (drawn >> 2 & ~(uint64_t)(WEFT_CTX_OFFSET_END - 1));
}

uint64_t weft_proc_new_ctx(uint32_t n)
{
	uint64_t counter = atomic_fetch_add_explicit(
		&weft_proc.next_ctx, n, memory_order_relaxed);

	if (atomic_load_explicit(&weft_proc.has_foreign, memory_order_relaxed))
		return draw_ctx(counter);
	return (uint64_t)weft_proc.facts.rank << CTX_RANK_SHIFT |
	       counter * WEFT_CTX_OFFSET_END;
}

uint64_t weft_proc_self_ctx(void)
{
	return (uint64_t)weft_proc.facts.rank << CTX_RANK_SHIFT |
	       CTX_SELF * WEFT_CTX_OFFSET_END;
}

void weft_proc_foreign_key(uint8_t key_out[16])
{
	static const char *const names[2] = { "weft far key 1",
		"weft far key 2" };

	for (int i = 0; i < 2; i++) {
		uint64_t half = weft_hash(
			weft_proc.facts.own_key, names[i], strlen(names[i]));

		memcpy(key_out + 8 * i, &half, sizeof(half));
	}
}

bool weft_proc_is_local(uint64_t proc)
{
	return proc >> 32 == weft_proc.proc >> 32 &&
	       weft_boot_is_local(weft_proc.boot, (uint32_t)proc);
}

uint64_t weft_proc_node_id(void)
{
	const char *host = weft_proc.facts.host;
	const char *number = strchr(host, '#');
	size_t len = strcspn(host, ".#");
	uint64_t id = weft_mix(weft_share_machine());

	for (size_t i = 0; i < len; i++)
		id = weft_mix(id ^ (uint8_t)host[i]);
	for (; number && *number; number++)
		id = weft_mix(id ^ (uint8_t)*number);
	return id;
}

void weft_proc_query_exit(struct weft_vci *held, uint64_t proc)
{
	bool is_other = held != &weft_proc.vci;

	if (!weft_proc_is_member(proc))
		return;
	if (is_other)
		weft_vci_lock(&weft_proc.vci);
	weft_boot_query_exit(weft_proc.boot, (uint32_t)proc);
	if (is_other)
		weft_vci_unlock(&weft_proc.vci);
}

/* Finds the device near this process. The search needs tens of milliseconds, so
 * it runs only if there are several devices. */
static const char *find_near(void)
{
	if (!weft_proc.near[0])
		weft_nic_near(weft_proc.near, sizeof(weft_proc.near));
	return weft_proc.near;
}

bool weft_proc_is_one_host(void)
{
	return weft_proc.facts.n_nodes <= 1 &&
	       strcmp(weft_knobs.scope, "network") != 0;
}

/* True if MPI_Comm_spawn may start processes on other hosts. */
static bool spawns_elsewhere(void)
{
	return !strcmp(weft_proc.facts.manager, "prrte");
}

void weft_proc_net_hints(struct weft_net_hints *hints)
{
	const struct weft_vci_hints *vci_hints = &weft_proc.vci_hints;

	*hints = (struct weft_net_hints){
		.provider = vci_hints->provider,
		.iface = vci_hints->iface,
		.tclass = vci_hints->tclass,
		.place = weft_proc.facts.local_rank,
		.is_one_host = weft_proc_is_one_host(),
		.may_grow = spawns_elsewhere(),
		.has_devices = atomic_load_explicit(
			&weft_proc.has_devices, memory_order_relaxed),
	};
	if (!strcmp(weft_knobs.nics, "near") &&
		(!hints->is_one_host || hints->may_grow))
		hints->find_near = find_near;
}

void weft_proc_read_knobs(void)
{
	pthread_mutex_lock(&weft_proc.lock);
	weft_knob_load();
	pthread_mutex_unlock(&weft_proc.lock);
}

int weft_proc_set_knob(size_t i, const char *text, bool is_live)
{
	int err = WEFT_ERR_OTHER;

	pthread_mutex_lock(&weft_proc.lock);
	if (is_live || !weft_proc.is_open)
		err = weft_knob_set(i, text);
	pthread_mutex_unlock(&weft_proc.lock);
	return err;
}

int weft_proc_status(int code)
{
	return code && !(code & 0xff) ? 1 : code;
}

void weft_proc_abort(
	int code, const char *text, const uint32_t *ranks, size_t n)
{
	code = code ? weft_proc_status(code) : 1;
	fflush(stdout); /* writes the program's output before the process ends
			 */
	if (weft_proc.boot)
		weft_boot_abort(weft_proc.boot, code, text, ranks, n);
	_exit(code);
}
