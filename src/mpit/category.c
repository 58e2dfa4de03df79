/* SPDX-License-Identifier: BSD-3-Clause */
/* category: one category for each room of the library that has variables or
 * events, and a category that contains all these
 *
 * Category 0 contains the other categories, which contain no categories. The
 * members of a category are in the order of their indices and never change. */
#include "mpit_priv.h"

#include "base/knob.h"

#include <string.h>

static const struct category {
	const char *name; /* name of the room */
	const char *sentence;
} categories[] = {
	{ "weft", "All variables and events of the library, by room." },
	{ "base", "Log output." },
	{ "boot", "The process manager: process sets, nodes, launch." },
	{ "net",
		"The fabric: providers, interfaces, messages, registrations." },
	{ "shm", "Shared memory within a node." },
	{ "dev", "Device memory." },
	{ "transport", "Peers, virtual communication interfaces, progress." },
	{ "core", "Waiting, statistics, communicators." },
	{ "p2p", "Point-to-point messages: matching, eager, rendezvous." },
	{ "coll", "Collective operations and their algorithms." },
	{ "collshm", "Collective operations in the segment of a node." },
	{ "watchdog", "Reports of long waits and of deadlocks." },
	{ "era", "Agreement among the members of a communicator when some of "
		 "them fail." },
	{ "comm", "Creation and disconnection of communicators." },
	{ "win", "Windows: one-sided communication." },
	{ "io", "Files." },
	{ "rma", "Symmetric memory of OpenSHMEM." },
	{ "session", "Sessions, connections between jobs." },
	{ "mpi", "The MPI interface: checks and error handlers." },
	{ "profile", "The profile of time in MPI." },
	{ "tools", "Launchers." },
};

enum { N_CATEGORIES = sizeof(categories) / sizeof(categories[0]) };

/* Returns the room of a member; NULL: the index is out of range. */
typedef const char *room_fn(int index);

static const char *cvar_room(int index)
{
	const struct weft_knob_desc *knob = weft_knob_desc((size_t)index);

	return knob ? knob->room : NULL;
}

/* Writes the first members of a category, at most len, to indices. Returns the
 * number of all its members. */
static int category_members(
	int category, room_fn *room_of, int len, int indices[])
{
	const char *room;
	int n = 0;

	for (int i = 0; (room = room_of(i)) != NULL; i++)
		if (!strcmp(room, categories[category].name)) {
			if (n < len)
				indices[n] = i;
			n++;
		}
	return n;
}

static bool is_category(int index)
{
	return index >= 0 && index < N_CATEGORIES;
}

static int category_get(int cat_index, room_fn *room_of, int len, int indices[])
{
	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!is_category(cat_index))
		return weft_mpit_leave(MPI_T_ERR_INVALID_INDEX);
	if (len < 0 || (len > 0 && !indices))
		return weft_mpit_leave(MPI_T_ERR_INVALID);
	category_members(cat_index, room_of, len, indices);
	return weft_mpit_leave(MPI_SUCCESS);
}

int PMPI_T_category_get_num(int *num_cat)
{
	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!num_cat)
		return weft_mpit_leave(MPI_T_ERR_INVALID);
	*num_cat = N_CATEGORIES;
	return weft_mpit_leave(MPI_SUCCESS);
}

int PMPI_T_category_get_info(int cat_index, char *name, int *name_len,
	char *desc, int *desc_len, int *num_cvars, int *num_pvars,
	int *num_categories)
{
	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!is_category(cat_index))
		return weft_mpit_leave(MPI_T_ERR_INVALID_INDEX);
	weft_mpit_string(categories[cat_index].name, name, name_len);
	weft_mpit_string(categories[cat_index].sentence, desc, desc_len);
	weft_mpit_put(
		num_cvars, category_members(cat_index, cvar_room, 0, NULL));
	weft_mpit_put(num_pvars,
		category_members(cat_index, weft_pvar_room, 0, NULL));
	weft_mpit_put(num_categories, cat_index ? 0 : N_CATEGORIES - 1);
	return weft_mpit_leave(MPI_SUCCESS);
}

int PMPI_T_category_get_num_events(int cat_index, int *num_events)
{
	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!is_category(cat_index))
		return weft_mpit_leave(MPI_T_ERR_INVALID_INDEX);
	if (!num_events)
		return weft_mpit_leave(MPI_T_ERR_INVALID);
	*num_events =
		category_members(cat_index, weft_event_type_room, 0, NULL);
	return weft_mpit_leave(MPI_SUCCESS);
}

int PMPI_T_category_get_index(const char *name, int *cat_index)
{
	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!name || !cat_index)
		return weft_mpit_leave(MPI_T_ERR_INVALID);
	for (int i = 0; i < N_CATEGORIES; i++)
		if (!strcmp(categories[i].name, name)) {
			*cat_index = i;
			return weft_mpit_leave(MPI_SUCCESS);
		}
	return weft_mpit_leave(MPI_T_ERR_INVALID_NAME);
}

int PMPI_T_category_get_cvars(int cat_index, int len, int indices[])
{
	return category_get(cat_index, cvar_room, len, indices);
}

int PMPI_T_category_get_pvars(int cat_index, int len, int indices[])
{
	return category_get(cat_index, weft_pvar_room, len, indices);
}

int PMPI_T_category_get_events(int cat_index, int len, int indices[])
{
	return category_get(cat_index, weft_event_type_room, len, indices);
}

int PMPI_T_category_get_categories(int cat_index, int len, int indices[])
{
	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!is_category(cat_index))
		return weft_mpit_leave(MPI_T_ERR_INVALID_INDEX);
	if (len < 0 || (len > 0 && !indices))
		return weft_mpit_leave(MPI_T_ERR_INVALID);
	for (int i = 1; cat_index == 0 && i < N_CATEGORIES && i <= len; i++)
		indices[i - 1] = i;
	return weft_mpit_leave(MPI_SUCCESS);
}

int PMPI_T_category_changed(int *update_number)
{
	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!update_number)
		return weft_mpit_leave(MPI_T_ERR_INVALID);
	*update_number = 0; /* categories are constant */
	return weft_mpit_leave(MPI_SUCCESS);
}

#include "api_category.h"
