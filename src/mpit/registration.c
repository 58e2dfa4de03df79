/* SPDX-License-Identifier: BSD-3-Clause */
/* registration: callbacks of tools for events, and event instances
 *
 * registration_deliver() runs on the thread that raises an event, perhaps with
 * a VCI's lock held. Under the lock of the tool interface it chooses the
 * callbacks and counts the event as dropped for registrations with a dropped
 * handler where none qualifies. The function calls the callbacks without that
 * lock, so that they may call the tool interface. n_active keeps a registration
 * that was freed meanwhile until its last callback has returned; then the
 * tool's free callback runs.
 *
 * Safety levels: while a thread holds a lock of the library, callbacks may call
 * the tool interface only (MPI_RESTRICTED). In a process with several threads
 * two callbacks may run at the same time (THREAD_SAFE). Otherwise a callback
 * may do anything (NONE). No event is raised in a signal handler. */
#include "mpit_priv.h"

#include "base/clock.h"
#include "base/event.h"
#include "base/lock.h"

#include <string.h>

enum {
	N_LEVELS = 4,
	PER_EVENT_MAX = 32, /* registrations for one event */
	CALLS_MAX = 2 * PER_EVENT_MAX,
};

static const MPI_T_cb_safety levels[N_LEVELS] = { MPI_T_CB_REQUIRE_NONE,
	MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_T_CB_REQUIRE_THREAD_SAFE,
	MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE };

struct callback {
	MPI_T_event_cb_function *fn; /* NULL: none */
	void *user_data;
	struct weft_info *info; /* owned; NULL: no hints */
};

struct weft_registration {
	struct weft_obj obj;
	enum weft_event event;
	bool is_bound;	  /* only for events of one communicator */
	uint64_t context; /* context of that communicator */
	struct callback callbacks[N_LEVELS];
	struct weft_info *info; /* owned; NULL: no hints */
	MPI_T_event_dropped_cb_function *dropped;
	MPI_Count n_dropped[WEFT_COUNTER_OWNERS]; /* indexed by source */
	uint32_t n_active; /* calls that have been added, not yet returned */
	bool is_freed;
	MPI_T_event_free_cb_function *on_freed;
	void *freed_data;
};

/* An event that is being delivered. It is on the stack of
 * registration_deliver(), and valid during the callbacks. */
struct instance {
	const struct weft_event_raised *raised;
	MPI_Count timestamp;
	int level; /* safety level that callbacks need; index of levels */
	struct instance *outer;
};

/* A call of a callback that must be made. */
struct call {
	struct weft_registration *registration;
	MPI_T_event_registration handle;
	MPI_T_event_cb_function *fn; /* NULL: call `dropped` */
	MPI_T_event_dropped_cb_function *dropped;
	MPI_Count n_dropped;
	void *user_data;
};

static struct weft_table registrations =
	WEFT_TABLE_INIT(struct weft_registration, WEFT_KIND_TOOL);

/* The innermost event that is being delivered on this thread. */
static _Thread_local struct instance *instances;

bool weft_registration_is_inside(void)
{
	return instances && instances->level > 0;
}

static int level_of(MPI_T_cb_safety safety)
{
	for (int i = 0; i < N_LEVELS; i++)
		if (levels[i] == safety)
			return i;
	return -1;
}

/* Returns the least level (an index of levels) that a callback must have now.
 */
static int level_needed(bool is_locked)
{
	return weft_lock_is_mt() ? 2 : is_locked ? 1 : 0;
}

/* Returns the callback with the lowest sufficient safety level; NULL: none. */
static struct callback *select_callback(
	struct weft_registration *registration, int level)
{
	for (; level < N_LEVELS; level++)
		if (registration->callbacks[level].fn)
			return &registration->callbacks[level];
	return NULL;
}

static struct weft_registration *registration_next(uint32_t *pos)
{
	struct weft_registration *registration;

	do
		registration = weft_table_next(&registrations, pos);
	while (registration && registration->is_freed);
	return registration;
}

static void add_call(struct call *call, struct weft_registration *registration,
	const struct callback *callback)
{
	registration->n_active++;
	*call = (struct call){ .registration = registration,
		.handle = (MPI_T_event_registration)(uintptr_t)weft_obj_handle(
			registration),
		.user_data = callback->user_data };
}

/* Adds the calls of handlers that report dropped events of this source. They
 * are called before the next event of the source is delivered. */
static int add_dropped(struct call *calls, int source, int level)
{
	struct weft_registration *registration;
	const struct callback *callback;
	uint32_t pos = 0;
	int n = 0;

	while (n < PER_EVENT_MAX &&
		(registration = registration_next(&pos)) != NULL) {
		if (!registration->n_dropped[source] || !registration->dropped)
			continue;
		callback = select_callback(registration, level);
		if (!callback)
			continue;
		add_call(&calls[n], registration, callback);
		calls[n].dropped = registration->dropped;
		calls[n].n_dropped = registration->n_dropped[source];
		registration->n_dropped[source] = 0;
		n++;
	}
	return n;
}

static bool is_for(const struct weft_registration *registration,
	const struct weft_event_raised *raised)
{
	return registration->event == raised->event &&
	       (!registration->is_bound ||
		       (uint64_t)raised->elements[0] - registration->context <
			       WEFT_CTX_OFFSET_END);
}

/* Adds the calls of an event's callbacks. For a registration that has a dropped
 * handler, but no sufficient callback, counts the event as dropped. */
static int add_callbacks(
	struct call *calls, const struct weft_event_raised *raised, int level)
{
	struct weft_registration *registration;
	const struct callback *callback;
	uint32_t pos = 0;
	int n = 0;

	while (n < PER_EVENT_MAX &&
		(registration = registration_next(&pos)) != NULL) {
		if (!is_for(registration, raised))
			continue;
		callback = select_callback(registration, level);
		if (callback) {
			add_call(&calls[n], registration, callback);
			calls[n++].fn = callback->fn;
		} else if (registration->dropped &&
			   registration->n_dropped[raised->owner] < INT64_MAX) {
			registration->n_dropped[raised->owner]++;
		}
	}
	return n;
}

static void registration_destroy(struct weft_registration *registration)
{
	for (int i = 0; i < N_LEVELS; i++)
		weft_info_destroy(registration->callbacks[i].info);
	weft_info_destroy(registration->info);
	weft_table_free(&registrations, registration);
}

/* Called without the lock after a callback has returned. If this was the last
 * call of a freed registration, calls the free callback. */
static void end_call(const struct call *call, int level)
{
	struct weft_registration *registration = call->registration;
	MPI_T_event_free_cb_function *on_freed = NULL;
	void *user_data = NULL;

	pthread_mutex_lock(&weft_mpit.lock);
	if (--registration->n_active == 0 && registration->is_freed) {
		on_freed = registration->on_freed;
		user_data = registration->freed_data;
		registration_destroy(registration);
	}
	pthread_mutex_unlock(&weft_mpit.lock);
	if (on_freed)
		on_freed(call->handle, levels[level], user_data);
}

static void registration_deliver(const struct weft_event_raised *raised)
{
	int level = level_needed(raised->is_locked);
	struct call calls[CALLS_MAX];
	struct instance instance = { raised, 0, level, instances };
	int n;

	pthread_mutex_lock(&weft_mpit.lock);
	instance.timestamp = (MPI_Count)weft_now_ns();
	n = add_dropped(calls, raised->owner, level);
	n += add_callbacks(calls + n, raised, level);
	pthread_mutex_unlock(&weft_mpit.lock);
	for (int i = 0; i < n; i++) {
		instances = &instance;
		if (calls[i].fn)
			calls[i].fn((MPI_T_event_instance)&instance,
				calls[i].handle, levels[level],
				calls[i].user_data);
		else
			calls[i].dropped(calls[i].n_dropped, calls[i].handle,
				raised->owner, levels[level],
				calls[i].user_data);
		end_call(&calls[i], level);
		instances = instance.outer;
	}
}

/* Requests the events for which a registration exists. Lock held. */
static void update_wanted(void)
{
	struct weft_registration *registration;
	uint32_t wanted = 0, pos = 0;

	while ((registration = registration_next(&pos)) != NULL)
		wanted |= (uint32_t)1 << registration->event;
	weft_event_install(registration_deliver, wanted);
}

static int n_registered(enum weft_event event)
{
	struct weft_registration *registration;
	uint32_t pos = 0;
	int n = 0;

	while ((registration = registration_next(&pos)) != NULL)
		n += registration->event == event;
	return n;
}

void weft_registration_free_all(void)
{
	struct weft_registration *registration;
	uint32_t pos = 0;

	while ((registration = registration_next(&pos)) != NULL) {
		registration->is_freed = true;
		if (!registration->n_active)
			registration_destroy(registration);
	}
	update_wanted();
}

/* Returns the registration of a handle; NULL: there is none. */
static struct weft_registration *registration_of(
	MPI_T_event_registration handle)
{
	struct weft_registration *registration =
		weft_table_get(&registrations, (uintptr_t)handle);

	return registration && !registration->is_freed ? registration : NULL;
}

/* Sets *hints_out to the hints of an argument, or to NULL if there are none.
 * False: the argument is no info object. */
static bool hints_of(MPI_Info info, struct weft_info **hints_out)
{
	*hints_out = info == MPI_INFO_NULL ? NULL : weft_mpi_info(info);
	return *hints_out || info == MPI_INFO_NULL;
}

/* Adds hints to those of an object. No hint has an effect; they are stored. */
static int merge_hints(struct weft_info **hints, MPI_Info info)
{
	struct weft_info *from;

	if (!hints_of(info, &from))
		return MPI_T_ERR_INVALID;
	if (!from)
		return MPI_SUCCESS;
	if (!*hints)
		*hints = weft_info_create();
	return *hints && !weft_info_merge(*hints, from) ? MPI_SUCCESS
							: MPI_T_ERR_MEMORY;
}

static int return_hints(const struct weft_info *hints, MPI_Info *info_used)
{
	struct weft_info *copy;

	if (!info_used)
		return MPI_T_ERR_INVALID;
	if (weft_info_dup(hints, &copy))
		return MPI_T_ERR_MEMORY;
	*info_used = weft_mpi_info_handle(copy);
	return MPI_SUCCESS;
}

/* Binds a new registration to the communicator at obj_handle. */
static int bind_registration(
	struct weft_registration *registration, const void *obj_handle)
{
	const struct weft_comm *comm = NULL;

	/* predefined handles are no addresses, but some tools pass them */
	if ((uintptr_t)obj_handle >= WEFT_HANDLE_PREDEFINED_END)
		comm = weft_mpi_comm(*(const MPI_Comm *)obj_handle);
	if (!comm)
		return MPI_T_ERR_INVALID_HANDLE;
	registration->is_bound = true;
	registration->context = comm->ctx;
	return MPI_SUCCESS;
}

int PMPI_T_event_handle_alloc(int event_index, void *obj_handle, MPI_Info info,
	MPI_T_event_registration *event_registration)
{
	struct weft_registration *made;
	int code, event;
	bool is_bound;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	event = weft_event_type(event_index, &is_bound);
	if (event < 0)
		return weft_mpit_leave(MPI_T_ERR_INVALID_INDEX);
	if (!event_registration)
		return weft_mpit_leave(MPI_T_ERR_INVALID);
	made = n_registered((enum weft_event)event) < PER_EVENT_MAX
		       ? weft_table_new(&registrations)
		       : NULL;
	if (!made)
		return weft_mpit_leave(MPI_T_ERR_OUT_OF_HANDLES);
	made->event = (enum weft_event)event;
	code = is_bound ? bind_registration(made, obj_handle) : MPI_SUCCESS;
	if (!code)
		code = merge_hints(&made->info, info);
	if (code) {
		registration_destroy(made);
		return weft_mpit_leave(code);
	}
	*event_registration =
		(MPI_T_event_registration)(uintptr_t)weft_obj_handle(made);
	update_wanted();
	return weft_mpit_leave(MPI_SUCCESS);
}

int PMPI_T_event_handle_set_info(
	MPI_T_event_registration event_registration, MPI_Info info)
{
	struct weft_registration *registration;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	registration = registration_of(event_registration);
	if (!registration)
		return weft_mpit_leave(MPI_T_ERR_INVALID_HANDLE);
	return weft_mpit_leave(merge_hints(&registration->info, info));
}

int PMPI_T_event_handle_get_info(
	MPI_T_event_registration event_registration, MPI_Info *info_used)
{
	struct weft_registration *registration;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	registration = registration_of(event_registration);
	if (!registration)
		return weft_mpit_leave(MPI_T_ERR_INVALID_HANDLE);
	return weft_mpit_leave(return_hints(registration->info, info_used));
}

int PMPI_T_event_register_callback(MPI_T_event_registration event_registration,
	MPI_T_cb_safety cb_safety, MPI_Info info, void *user_data,
	MPI_T_event_cb_function event_cb_function)
{
	struct weft_registration *registration;
	struct weft_info *hints = NULL;
	struct callback *callback;
	int code, level = level_of(cb_safety);

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	registration = registration_of(event_registration);
	if (!registration)
		return weft_mpit_leave(MPI_T_ERR_INVALID_HANDLE);
	if (level < 0)
		return weft_mpit_leave(MPI_T_ERR_INVALID);
	code = merge_hints(&hints, info);
	if (code) {
		weft_info_destroy(hints);
		return weft_mpit_leave(code);
	}
	callback = &registration->callbacks[level];
	weft_info_destroy(callback->info);
	*callback = (struct callback){ event_cb_function, user_data, hints };
	return weft_mpit_leave(MPI_SUCCESS);
}

/* Returns the callback of a level. NULL, and an error in *code_out, if a handle
 * or level is invalid. */
static struct callback *callback_of(MPI_T_event_registration handle,
	MPI_T_cb_safety cb_safety, int *code_out)
{
	struct weft_registration *registration = registration_of(handle);
	int level = level_of(cb_safety);

	*code_out = MPI_T_ERR_INVALID_HANDLE;
	if (!registration)
		return NULL;
	*code_out = MPI_T_ERR_INVALID;
	if (level < 0 || !registration->callbacks[level].fn)
		return NULL;
	return &registration->callbacks[level];
}

int PMPI_T_event_callback_set_info(MPI_T_event_registration event_registration,
	MPI_T_cb_safety cb_safety, MPI_Info info)
{
	struct callback *callback;
	int code;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	callback = callback_of(event_registration, cb_safety, &code);
	if (callback)
		code = merge_hints(&callback->info, info);
	return weft_mpit_leave(code);
}

int PMPI_T_event_callback_get_info(MPI_T_event_registration event_registration,
	MPI_T_cb_safety cb_safety, MPI_Info *info_used)
{
	struct callback *callback;
	int code;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	callback = callback_of(event_registration, cb_safety, &code);
	if (callback)
		code = return_hints(callback->info, info_used);
	return weft_mpit_leave(code);
}

/* Reports drops that no later event will report. `freed` is a copy of a freed
 * registration, because callbacks run without the lock. */
static void report_drops(struct weft_registration *freed,
	MPI_T_event_registration handle, int level)
{
	const struct callback *callback = select_callback(freed, level);

	if (!callback || !freed->dropped)
		return;
	for (int i = 0; i < WEFT_COUNTER_OWNERS; i++)
		if (freed->n_dropped[i])
			freed->dropped(freed->n_dropped[i], handle, i,
				levels[level], callback->user_data);
}

int PMPI_T_event_handle_free(MPI_T_event_registration event_registration,
	void *user_data, MPI_T_event_free_cb_function free_cb_function)
{
	int level = instances ? instances->level : 0;
	struct call call = { .handle = event_registration };
	struct weft_registration *registration, copy;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	registration = registration_of(event_registration);
	if (!registration)
		return weft_mpit_leave(MPI_T_ERR_INVALID_HANDLE);
	registration->is_freed = true;
	registration->on_freed = free_cb_function;
	registration->freed_data = user_data;
	registration->n_active++; /* until end_call() below */
	call.registration = registration;
	copy = *registration;
	update_wanted();
	weft_mpit_leave(MPI_SUCCESS);
	report_drops(&copy, event_registration, level);
	end_call(&call, level);
	return MPI_SUCCESS;
}

int PMPI_T_event_set_dropped_handler(
	MPI_T_event_registration event_registration,
	MPI_T_event_dropped_cb_function dropped_cb_function)
{
	struct weft_registration *registration;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	registration = registration_of(event_registration);
	if (!registration)
		return weft_mpit_leave(MPI_T_ERR_INVALID_HANDLE);
	registration->dropped = dropped_cb_function;
	memset(registration->n_dropped, 0, sizeof(registration->n_dropped));
	return weft_mpit_leave(MPI_SUCCESS);
}

/* ---- event instances ---- */

/* Returns the instance of a handle; NULL if this thread does not deliver it
 * now. */
static const struct instance *instance_of(MPI_T_event_instance handle)
{
	const struct instance *instance = instances;

	while (instance && (const void *)instance != (const void *)handle)
		instance = instance->outer;
	return instance;
}

static int n_elements(const struct instance *instance)
{
	return weft_mpit_list_count(
		weft_event_desc(instance->raised->event)->elements);
}

/* Checks the arguments of a procedure that reads an event. */
static int check_instance(MPI_T_event_instance handle, const void *out)
{
	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	weft_mpit_leave(MPI_SUCCESS);
	if (!instance_of(handle))
		return MPI_T_ERR_INVALID_HANDLE;
	return out ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

int PMPI_T_event_read(
	MPI_T_event_instance event_instance, int element_index, void *buffer)
{
	int code = check_instance(event_instance, buffer);
	const struct instance *instance = instance_of(event_instance);

	if (code)
		return code;
	if (element_index < 0 || element_index >= n_elements(instance))
		return MPI_T_ERR_INVALID_INDEX;
	memcpy(buffer, &instance->raised->elements[element_index],
		sizeof(int64_t));
	return MPI_SUCCESS;
}

int PMPI_T_event_copy(MPI_T_event_instance event_instance, void *buffer)
{
	int code = check_instance(event_instance, buffer);
	const struct instance *instance = instance_of(event_instance);

	if (code)
		return code;
	memcpy(buffer, instance->raised->elements,
		(size_t)n_elements(instance) * sizeof(int64_t));
	return MPI_SUCCESS;
}

int PMPI_T_event_get_timestamp(
	MPI_T_event_instance event_instance, MPI_Count *event_timestamp)
{
	int code = check_instance(event_instance, event_timestamp);

	if (!code)
		*event_timestamp = instance_of(event_instance)->timestamp;
	return code;
}

int PMPI_T_event_get_source(
	MPI_T_event_instance event_instance, int *source_index)
{
	int code = check_instance(event_instance, source_index);

	if (!code)
		*source_index = instance_of(event_instance)->raised->owner;
	return code;
}

#include "api_registration.h"
