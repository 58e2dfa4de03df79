/* SPDX-License-Identifier: BSD-3-Clause */
/* session_hint: the hints of a session, requested and in effect */
#include "session/session_hint.h"

#include "base/err.h"
#include "base/knob.h"
#include "base/log.h"
#include "core/info.h"
#include "dev/dev.h"
#include "transport/proc.h"
#include "session/abort.h"
#include "session/open_handles.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char *const level_names[] = {
	[WEFT_THREAD_SINGLE] = "MPI_THREAD_SINGLE",
	[WEFT_THREAD_FUNNELED] = "MPI_THREAD_FUNNELED",
	[WEFT_THREAD_SERIALIZED] = "MPI_THREAD_SERIALIZED",
	[WEFT_THREAD_MULTIPLE] = "MPI_THREAD_MULTIPLE",
};

const char *weft_session_hint_level_name(enum weft_thread_level level)
{
	return level_names[level];
}

static enum weft_thread_level read_level(const struct weft_info *requested)
{
	char value[WEFT_INFO_VALUE_MAX + 1];
	int level = WEFT_THREAD_MULTIPLE;

	if (weft_hint_value(requested, WEFT_HINT_THREAD_LEVEL, value,
		    sizeof(value)) >= 0)
		while (level > WEFT_THREAD_SINGLE &&
			strcmp(value, level_names[level]) != 0)
			level--;
	return (enum weft_thread_level)level;
}

/* Appends a kind to a comma-separated list, unless the list contains it. */
static void add_kind(char *list, size_t len, const char *kind)
{
	size_t n = strlen(list), k = strlen(kind);

	for (char *at = list; (at = strstr(at, kind)) != NULL; at += k)
		if ((at == list || at[-1] == ',') && (!at[k] || at[k] == ','))
			return;
	if (n + k + 2 <= len)
		snprintf(list + n, len - n, "%s%s", n ? "," : "", kind);
}

/* Writes the kinds of memory that the session or the launcher requests. */
static void requested_kinds(
	const struct weft_info *requested, char *list, size_t len)
{
	if (weft_hint_value(requested, WEFT_HINT_ALLOC_KINDS, list, len) < 0)
		snprintf(list, len, "%s", weft_knobs.alloc_kinds);
}

/* True if buffers may be in device memory: such a kind is requested and
 * supported, or no kinds are requested, and the process may get such memory. */
static bool may_have_dev(const struct weft_info *requested)
{
	char list[WEFT_INFO_VALUE_MAX + 1];

	requested_kinds(requested, list, sizeof(list));
	return list[0] ? weft_hint_lists_dev(list) : weft_dev_watch();
}

/* Lists the requested kinds of memory that are supported, and "mpi" and
 * "system". */
static void read_kinds(
	const struct weft_info *requested, char *list, size_t list_len)
{
	char value[WEFT_INFO_VALUE_MAX + 1];
	char *rest = value, *kind;

	requested_kinds(requested, value, sizeof(value));
	list[0] = 0;
	while ((kind = strsep(&rest, ",")) != NULL) {
		kind += strspn(kind, " ");
		kind[strcspn(kind, " ")] = 0;
		for (char *c = kind; *c; c++)
			*c = (char)tolower((unsigned char)*c);
		if (weft_hint_is_kind(kind))
			add_kind(list, list_len, kind);
	}
	add_kind(list, list_len, "mpi");
	add_kind(list, list_len, "system");
}

static void read_abort(
	struct weft_session *session, const struct weft_info *requested)
{
	char value[WEFT_INFO_VALUE_MAX + 1];

	if (weft_hint_value(requested, WEFT_HINT_ABORT, value, sizeof(value)) >=
		0)
		weft_abort_scope_of(value, &session->abort_scope);
}

/* Reads the hints for the fabric. */
static void read_vci_hints(
	const struct weft_info *requested, struct weft_vci_hints *vci_hints)
{
	*vci_hints = (struct weft_vci_hints){ 0 };
	weft_hint_value(requested, WEFT_HINT_PROVIDER, vci_hints->provider,
		sizeof(vci_hints->provider));
	weft_hint_value(requested, WEFT_HINT_IFACE, vci_hints->iface,
		sizeof(vci_hints->iface));
	weft_hint_value(requested, WEFT_HINT_TCLASS, vci_hints->tclass,
		sizeof(vci_hints->tclass));
}

void weft_session_hint_requested(const struct weft_info *requested)
{
	weft_proc_read_knobs();
	/* a program that has not loaded a driver has messages of host memory
	 * only, which FI_HMEM may slow down */
	if (may_have_dev(requested) && weft_dev_is_open())
		atomic_store_explicit(
			&weft_proc.has_devices, true, memory_order_relaxed);
	pthread_mutex_lock(&weft_proc.lock);
	if (!weft_proc.is_open) {
		weft_proc.vci_hints = (struct weft_vci_hints){ 0 };
		if (!weft_hint_is(requested, WEFT_HINT_VCI, "dedicated"))
			read_vci_hints(requested, &weft_proc.vci_hints);
	}
	pthread_mutex_unlock(&weft_proc.lock);
}

/* True if the default VCI's fabric meets the hints. */
static bool has_default_fabric(const struct weft_vci_hints *vci_hints)
{
	const struct weft_vci_hints *first = &weft_proc.vci_hints;
	struct weft_vci_hints names;

	if (!strcmp(vci_hints->provider, first->provider) &&
		!strcmp(vci_hints->iface, first->iface))
		return true; /* a hint that is not met caused a warning when the
				fabric opened */
	weft_vci_lock(&weft_proc.vci);
	weft_vci_names(&weft_proc.vci, &names);
	weft_vci_unlock(&weft_proc.vci);
	return (!*vci_hints->provider ||
		       !strcmp(vci_hints->provider, names.provider)) &&
	       (!*vci_hints->iface || !strcmp(vci_hints->iface, names.iface));
}

int weft_session_hint_vci(const struct weft_info *requested,
	weft_vci_open_fn *on_open, struct weft_vci **vci_out)
{
	struct weft_vci_hints vci_hints;
	int err = weft_hint_check_values(WEFT_HINT_OF_SESSION, requested);

	*vci_out = &weft_proc.vci;
	if (err)
		return err;
	read_vci_hints(requested, &vci_hints);
	if (weft_hint_is(requested, WEFT_HINT_VCI, "shared") ||
		(!weft_hint_is(requested, WEFT_HINT_VCI, "dedicated") &&
			has_default_fabric(&vci_hints)))
		return 0;
	err = weft_vci_acquire(&vci_hints, on_open, vci_out);
	if (err)
		weft_log_warn("SESSION-LANE",
			"the session requested a dedicated VCI (provider "
			"\"%s\", interface \"%s\"), which cannot be opened; it "
			"uses the default VCI: %s",
			vci_hints.provider, vci_hints.iface,
			weft_err_detail_peek(err));
	return 0;
}

int weft_session_hint_apply(
	struct weft_session *session, const struct weft_info *requested)
{
	char kinds[WEFT_INFO_VALUE_MAX + 1];
	int err;

	weft_hint_warn_unknown(requested);
	session->level = read_level(requested);
	session->is_strict =
		weft_hint_is(requested, WEFT_HINT_FINALIZE, "strict");
	read_abort(session, requested);
	session->has_dev = may_have_dev(requested);
	read_kinds(requested, kinds, sizeof(kinds));
	session->info = weft_info_create();
	if (!session->info)
		return WEFT_ERR_NOMEM;
	err = weft_hint_set(session->info, WEFT_HINT_THREAD_LEVEL,
		level_names[session->level]);
	if (!err)
		err = weft_hint_set(
			session->info, WEFT_HINT_ALLOC_KINDS, kinds);
	if (!err)
		err = weft_hint_set(session->info, WEFT_HINT_VCI,
			session->vci->number ? "dedicated" : "shared");
	if (!err)
		err = weft_hint_set(session->info, WEFT_HINT_TCLASS, "default");
	if (!err)
		err = weft_hint_set(session->info, WEFT_HINT_FINALIZE,
			session->is_strict ? "strict" : "synchronise");
	if (!err)
		err = weft_hint_set(session->info, WEFT_HINT_ABORT,
			weft_abort_scope_name(session->abort_scope));
	return err;
}

int weft_session_hint_used(
	struct weft_session *session, struct weft_info **info_out)
{
	struct weft_vci_hints net;
	char waits[24];
	char open_handles[WEFT_INFO_VALUE_MAX + 1];
	struct weft_info *info;
	int err = weft_info_dup(session->info, &info);

	if (err)
		return err;
	weft_vci_lock(session->vci);
	weft_vci_names(session->vci, &net);
	weft_vci_unlock(session->vci);
	snprintf(waits, sizeof(waits), "%lu",
		atomic_load_explicit(
			&session->vci->lock.n_contended, memory_order_relaxed));
	err = weft_hint_set(info, WEFT_HINT_PROVIDER, net.provider);
	if (!err)
		err = weft_hint_set(info, WEFT_HINT_IFACE, net.iface);
	if (!err)
		err = weft_hint_set(info, WEFT_HINT_TCLASS, net.tclass);
	if (!err)
		err = weft_hint_set(info, WEFT_HINT_CONTENDED, waits);
	weft_open_handles_list(session, open_handles, sizeof(open_handles));
	if (!err && open_handles[0])
		err = weft_hint_set(info, WEFT_HINT_OPEN_HANDLES, open_handles);
	if (err) {
		weft_info_destroy(info);
		return err;
	}
	*info_out = info;
	return 0;
}
