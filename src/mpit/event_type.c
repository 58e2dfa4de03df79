/* SPDX-License-Identifier: BSD-3-Clause */
/* event_type: sources of events, and the types of events of base/event.def
 *
 * The first types are all events of the table. The events in bound_events
 * follow once more, as types that are bound to a communicator. Their names
 * begin with "comm_".
 *
 * Sources 0 to 15 are the VCIs. A VCI's events are delivered under its lock, so
 * they are in order of time. The last source is the process, whose events
 * several threads may raise at the same time. */
#include "mpit_priv.h"

#include "base/clock.h"
#include "base/event.h"

#include <stdio.h>
#include <string.h>

enum { SOURCE_NAME_MAX = 16, SOURCE_DESC_MAX = 100, EVENT_NAME_MAX = 64 };

/* The events that can be bound to a communicator. The first element of each is
 * the context of the communicator. */
static const enum weft_event bound_events[] = {
	WEFT_EVENT_unexpected_queued,
	WEFT_EVENT_rndv_started,
};

enum { N_BOUND_EVENTS = sizeof(bound_events) / sizeof(bound_events[0]) };

int weft_event_type(int index, bool *is_bound_out)
{
	*is_bound_out = index >= WEFT_EVENT_END;
	if (index < 0 || index >= WEFT_EVENT_END + N_BOUND_EVENTS)
		return -1;
	return *is_bound_out ? (int)bound_events[index - WEFT_EVENT_END]
			     : index;
}

const char *weft_event_type_room(int index)
{
	bool is_bound;
	int event = weft_event_type(index, &is_bound);

	return event < 0 ? NULL : weft_event_desc((size_t)event)->room;
}

static void event_type_name(int event, bool is_bound, char *buf)
{
	snprintf(buf, EVENT_NAME_MAX, "%s%s", is_bound ? "comm_" : "",
		weft_event_desc((size_t)event)->name);
}

static bool is_source(int index)
{
	return index >= 0 && index < WEFT_COUNTER_OWNERS;
}

/* Returns a new info object without keys through an argument that may be NULL.
 */
static int put_info(MPI_Info *info)
{
	struct weft_info *made;

	if (!info)
		return MPI_SUCCESS;
	made = weft_info_create();
	if (!made)
		return MPI_T_ERR_MEMORY;
	*info = weft_mpi_info_handle(made);
	return MPI_SUCCESS;
}

int PMPI_T_source_get_num(int *num_sources)
{
	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!num_sources)
		return weft_mpit_leave(MPI_T_ERR_INVALID);
	*num_sources = WEFT_COUNTER_OWNERS;
	return weft_mpit_leave(MPI_SUCCESS);
}

int PMPI_T_source_get_info(int source_index, char *name, int *name_len,
	char *desc, int *desc_len, MPI_T_source_order *ordering,
	MPI_Count *ticks_per_second, MPI_Count *max_ticks, MPI_Info *info)
{
	char text[SOURCE_DESC_MAX];
	bool is_vci = source_index != WEFT_COUNTER_PROCESS;
	int code;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!is_source(source_index))
		return weft_mpit_leave(MPI_T_ERR_INVALID_INDEX);
	code = put_info(info);
	if (code)
		return weft_mpit_leave(code);
	snprintf(text, SOURCE_NAME_MAX, is_vci ? "vci%d" : "process",
		source_index);
	weft_mpit_string(text, name, name_len);
	snprintf(text, sizeof(text),
		is_vci ? "Virtual communication interface %d."
		       : "The process: sessions, and events of no VCI.",
		source_index);
	weft_mpit_string(text, desc, desc_len);
	weft_mpit_put(ordering,
		is_vci ? MPI_T_SOURCE_ORDERED : MPI_T_SOURCE_UNORDERED);
	weft_mpit_put(ticks_per_second, (MPI_Count)WEFT_NS_PER_S);
	weft_mpit_put(max_ticks, INT64_MAX);
	return weft_mpit_leave(MPI_SUCCESS);
}

int PMPI_T_source_get_timestamp(int source_index, MPI_Count *timestamp)
{
	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!is_source(source_index))
		return weft_mpit_leave(MPI_T_ERR_INVALID_INDEX);
	if (!timestamp)
		return weft_mpit_leave(MPI_T_ERR_INVALID);
	*timestamp = (MPI_Count)weft_now_ns();
	return weft_mpit_leave(MPI_SUCCESS);
}

int PMPI_T_event_get_num(int *num_events)
{
	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!num_events)
		return weft_mpit_leave(MPI_T_ERR_INVALID);
	*num_events = WEFT_EVENT_END + N_BOUND_EVENTS;
	return weft_mpit_leave(MPI_SUCCESS);
}

/* Describes the elements of an event: 64-bit integers, one after the other. */
static void put_elements(const struct weft_event_desc *event,
	MPI_Datatype types[], MPI_Aint displacements[], int *num_elements)
{
	int n = weft_mpit_list_count(event->elements);

	if (!num_elements)
		return;
	for (int i = 0; i < n && i < *num_elements; i++) {
		if (types)
			types[i] = MPI_COUNT;
		if (displacements)
			displacements[i] = i * (MPI_Aint)sizeof(MPI_Count);
	}
	*num_elements = n;
}

int PMPI_T_event_get_info(int event_index, char *name, int *name_len,
	int *verbosity, MPI_Datatype array_of_datatypes[],
	MPI_Aint array_of_displacements[], int *num_elements,
	MPI_T_enum *enumtype, MPI_Info *info, char *desc, int *desc_len,
	int *bind)
{
	const struct weft_event_desc *event;
	char text[EVENT_NAME_MAX];
	bool is_bound;
	int code, type;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	type = weft_event_type(event_index, &is_bound);
	if (type < 0)
		return weft_mpit_leave(MPI_T_ERR_INVALID_INDEX);
	event = weft_event_desc((size_t)type);
	code = put_info(info);
	if (code)
		return weft_mpit_leave(code);
	event_type_name(type, is_bound, text);
	weft_mpit_string(text, name, name_len);
	weft_mpit_string(event->sentence, desc, desc_len);
	put_elements(event, array_of_datatypes, array_of_displacements,
		num_elements);
	weft_mpit_put(verbosity, weft_mpit_verbosity(event->verbosity));
	weft_mpit_put(enumtype, weft_mpit_event_enum((size_t)type));
	weft_mpit_put(
		bind, is_bound ? MPI_T_BIND_MPI_COMM : MPI_T_BIND_NO_OBJECT);
	return weft_mpit_leave(MPI_SUCCESS);
}

int PMPI_T_event_get_index(const char *name, int *event_index)
{
	char text[EVENT_NAME_MAX];
	bool is_bound;
	int type;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!name || !event_index)
		return weft_mpit_leave(MPI_T_ERR_INVALID);
	for (int i = 0; (type = weft_event_type(i, &is_bound)) >= 0; i++) {
		event_type_name(type, is_bound, text);
		if (!strcmp(text, name)) {
			*event_index = i;
			return weft_mpit_leave(MPI_SUCCESS);
		}
	}
	return weft_mpit_leave(MPI_T_ERR_INVALID_NAME);
}

#include "api_event_type.h"
