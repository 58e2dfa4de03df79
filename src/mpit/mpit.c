/* SPDX-License-Identifier: BSD-3-Clause */
/* mpit: start and end of the tool interface, texts, enumerations */
#include "mpit_priv.h"

#include "base/event.h"
#include "base/knob.h"
#include "transport/proc.h"

#include <string.h>

struct weft_mpit weft_mpit = { .lock = PTHREAD_MUTEX_INITIALIZER };

enum { ENUM_FIRST = 0x1000 }; /* the handle of enumeration 0 */

bool weft_mpit_enter(void)
{
	pthread_mutex_lock(&weft_mpit.lock);
	if (weft_mpit.n_inits)
		return true;
	pthread_mutex_unlock(&weft_mpit.lock);
	return false;
}

int weft_mpit_leave(int code)
{
	pthread_mutex_unlock(&weft_mpit.lock);
	return code;
}

/* Returns a text of this length as section 15.3.3 requires: at most *len_inout
 * bytes with the NUL, and the length of the whole text. Either pointer may be
 * NULL. */
static void mpit_text(const char *text, size_t len, char *buf, int *len_inout)
{
	size_t n;

	if (!len_inout)
		return;
	if (buf && *len_inout > 0) {
		n = weft_min(len, (size_t)*len_inout - 1);
		memcpy(buf, text, n);
		buf[n] = 0;
	}
	*len_inout = (int)len + 1;
}

void weft_mpit_string(const char *text, char *buf, int *len_inout)
{
	mpit_text(text, strlen(text), buf, len_inout);
}

int weft_mpit_list_count(const char *list)
{
	int n = *list != 0;

	for (; *list; list++)
		n += *list == '|';
	return n;
}

const char *weft_mpit_list_item(const char *list, int i, size_t *len_out)
{
	for (; i > 0; i--)
		list = strchr(list, '|') + 1;
	*len_out = strcspn(list, "|");
	return list;
}

MPI_T_enum weft_mpit_knob_enum(size_t knob)
{
	return (MPI_T_enum)(uintptr_t)(ENUM_FIRST + knob);
}

MPI_T_enum weft_mpit_event_enum(size_t event)
{
	return weft_mpit_knob_enum(weft_knob_count() + event);
}

int weft_mpit_verbosity(enum weft_counter_verbosity verbosity)
{
	static const int numbers[] = {
		[WEFT_VERBOSITY_USER] = MPI_T_VERBOSITY_USER_BASIC,
		[WEFT_VERBOSITY_TUNER] = MPI_T_VERBOSITY_TUNER_BASIC,
		[WEFT_VERBOSITY_MPIDEV] = MPI_T_VERBOSITY_MPIDEV_BASIC,
	};

	return numbers[verbosity];
}

/* Finds the name and the list of items of an enumeration. False: there is no
 * such enumeration. */
static bool find_enum(
	MPI_T_enum handle, const char **name_out, const char **list_out)
{
	uintptr_t i = (uintptr_t)handle - ENUM_FIRST;
	const struct weft_event_desc *event =
		weft_event_desc(i - weft_knob_count());
	const struct weft_knob_desc *knob = weft_knob_desc(i);

	if (event) {
		*name_out = event->name;
		*list_out = event->elements;
		return true;
	}
	if (!knob || !*knob->values)
		return false;
	*name_out = knob->name;
	*list_out = knob->values;
	return true;
}

int PMPI_T_init_thread(int required, int *provided)
{
	if (required != MPI_THREAD_SINGLE && required != MPI_THREAD_FUNNELED &&
		required != MPI_THREAD_SERIALIZED &&
		required != MPI_THREAD_MULTIPLE)
		return MPI_T_ERR_INVALID;
	if (!provided)
		return MPI_T_ERR_INVALID;
	/* before a callback runs, the library has read the knobs */
	if (!weft_registration_is_inside())
		weft_proc_read_knobs();
	pthread_mutex_lock(&weft_mpit.lock);
	weft_mpit.n_inits++;
	*provided = MPI_THREAD_MULTIPLE;
	return weft_mpit_leave(MPI_SUCCESS);
}

int PMPI_T_finalize(void)
{
	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (--weft_mpit.n_inits == 0) {
		weft_cvar_free_all();
		weft_pvar_free_all();
		weft_registration_free_all();
	}
	return weft_mpit_leave(MPI_SUCCESS);
}

int PMPI_T_enum_get_info(
	MPI_T_enum enumtype, int *num, char *name, int *name_len)
{
	const char *text, *list;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!find_enum(enumtype, &text, &list))
		return weft_mpit_leave(MPI_T_ERR_INVALID_HANDLE);
	weft_mpit_put(num, weft_mpit_list_count(list));
	weft_mpit_string(text, name, name_len);
	return weft_mpit_leave(MPI_SUCCESS);
}

int PMPI_T_enum_get_item(
	MPI_T_enum enumtype, int indx, int *value, char *name, int *name_len)
{
	const char *text, *list;
	size_t len;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!find_enum(enumtype, &text, &list))
		return weft_mpit_leave(MPI_T_ERR_INVALID_HANDLE);
	if (indx < 0 || indx >= weft_mpit_list_count(list))
		return weft_mpit_leave(MPI_T_ERR_INVALID_INDEX);
	text = weft_mpit_list_item(list, indx, &len);
	weft_mpit_put(value, indx);
	mpit_text(text, len, name, name_len);
	return weft_mpit_leave(MPI_SUCCESS);
}

#include "api_mpit.h"
