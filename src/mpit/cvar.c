/* SPDX-License-Identifier: BSD-3-Clause */
/* cvar: control variables, which are the tunables of base/knobs.def
 *
 * The index of a control variable is that of its knob. A number is an
 * MPI_COUNT, a text is an array of MPI_CHAR, and a knob with a list of values
 * is an MPI_INT with an enumeration, which cannot be written. Most other knobs
 * are read only when the first session opens, so a tool can write them only
 * before that. A knob with a list that can be written at any time is a text,
 * because an MPI_INT accepts any number (MPICH's test cvarwrite relies on
 * that). */
#include "mpit_priv.h"

#include "base/knob.h"
#include "transport/proc.h"

#include <stdio.h>
#include <string.h>

enum {
	TEXT_MAX = 512,	 /* bytes of a text that can be written */
	DESC_MAX = 2048, /* bytes of a description */
	NUMBER_MAX = 32,
};

struct weft_cvar {
	struct weft_obj obj;
	size_t knob;
};

static struct weft_table cvars =
	WEFT_TABLE_INIT(struct weft_cvar, WEFT_KIND_TOOL);

/* Knobs that the library reads each time that it uses them. */
static const struct {
	const char *name;
	int scope;
} live_knobs[] = {
	{ "LOG", MPI_T_SCOPE_LOCAL },
	{ "CHECK", MPI_T_SCOPE_LOCAL },
	{ "STALL_WARN", MPI_T_SCOPE_LOCAL },
	{ "DEADLOCK", MPI_T_SCOPE_LOCAL },
	{ "REACH_LIMIT", MPI_T_SCOPE_LOCAL },
	{ "CONNECT_TIMEOUT", MPI_T_SCOPE_LOCAL },
	{ "COLL_SCRATCH", MPI_T_SCOPE_LOCAL },
	{ "STATS", MPI_T_SCOPE_LOCAL },
	{ "COMM_VCIS", MPI_T_SCOPE_ALL_EQ },
};

static bool cvar_is_live(const struct weft_knob_desc *knob, int *scope_out)
{
	for (size_t i = 0; i < sizeof(live_knobs) / sizeof(live_knobs[0]); i++)
		if (!strcmp(live_knobs[i].name, knob->name)) {
			*scope_out = live_knobs[i].scope;
			return true;
		}
	return false;
}

static bool cvar_has_enum(const struct weft_knob_desc *knob)
{
	int scope;

	return *knob->values && !cvar_is_live(knob, &scope);
}

static int cvar_scope(const struct weft_knob_desc *knob)
{
	int scope = MPI_T_SCOPE_ALL_EQ;

	if (cvar_has_enum(knob))
		return MPI_T_SCOPE_CONSTANT;
	cvar_is_live(knob, &scope);
	return scope;
}

static MPI_Datatype cvar_type(const struct weft_knob_desc *knob)
{
	return knob->unit	     ? MPI_COUNT
	       : cvar_has_enum(knob) ? MPI_INT
				     : MPI_CHAR;
}

static const char *cvar_when_set(const struct weft_knob_desc *knob)
{
	int scope;

	if (cvar_has_enum(knob))
		return "It can be set in the environment only";
	return cvar_is_live(knob, &scope)
		       ? "It can be set at any time"
		       : "It can be set until the first session is opened";
}

/* Writes the description: the sentence of the table, the values, the default,
 * the source of the current value, and when the knob can be written. */
static void cvar_describe(size_t i, char *buf, size_t len)
{
	static const char *const sources[] = {
		[WEFT_KNOB_DEFAULT] = "The environment does not set it",
		[WEFT_KNOB_ENV] = "The environment sets it",
		[WEFT_KNOB_REFUSED] =
			"The value in the environment was refused",
	};
	const struct weft_knob_desc *knob = weft_knob_desc(i);
	char values[200] = "";
	int64_t min, max;

	weft_knob_range(i, &min, &max);
	if (knob->unit)
		snprintf(values, sizeof(values), " From %lld to %lld %s.",
			(long long)min, (long long)max, knob->unit);
	else if (*knob->values)
		snprintf(values, sizeof(values), " One of %s.", knob->values);
	snprintf(buf, len, "%s.%s Default: %s. %s. %s.", knob->sentence, values,
		*knob->def ? knob->def : "empty", sources[knob->source],
		cvar_when_set(knob));
}

/* Returns the index of the knob with the name of a control variable. The number
 * of knobs if there is none. */
static size_t cvar_find(const char *name)
{
	size_t i = 0;

	if (strncmp(name, "WEFT_", 5) != 0)
		return weft_knob_count();
	while (i < weft_knob_count() &&
		strcmp(weft_knob_desc(i)->name, name + 5))
		i++;
	return i;
}

/* Returns the number of a knob's value in its list. */
static int cvar_item(const struct weft_knob_desc *knob, const char *value)
{
	int n = weft_mpit_list_count(knob->values);

	for (int i = 0; i < n; i++) {
		size_t len;
		const char *item = weft_mpit_list_item(knob->values, i, &len);

		if (strlen(value) == len && !memcmp(item, value, len))
			return i;
	}
	return 0;
}

static int cvar_code(int err)
{
	if (err == WEFT_ERR_OTHER)
		return MPI_T_ERR_CVAR_SET_NOT_NOW;
	if (err == WEFT_ERR_NOMEM)
		return MPI_T_ERR_MEMORY;
	return err ? MPI_T_ERR_INVALID : MPI_SUCCESS;
}

void weft_cvar_free_all(void)
{
	struct weft_cvar *cvar;
	uint32_t pos = 0;

	while ((cvar = weft_table_next(&cvars, &pos)) != NULL)
		weft_table_free(&cvars, cvar);
}

int PMPI_T_cvar_get_num(int *num_cvar)
{
	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!num_cvar)
		return weft_mpit_leave(MPI_T_ERR_INVALID);
	*num_cvar = (int)weft_knob_count();
	return weft_mpit_leave(MPI_SUCCESS);
}

int PMPI_T_cvar_get_info(int cvar_index, char *name, int *name_len,
	int *verbosity, MPI_Datatype *datatype, MPI_T_enum *enumtype,
	char *desc, int *desc_len, int *bind, int *scope)
{
	const struct weft_knob_desc *knob;
	char text[DESC_MAX];

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	knob = weft_knob_desc((size_t)cvar_index);
	if (!knob)
		return weft_mpit_leave(MPI_T_ERR_INVALID_INDEX);
	snprintf(text, sizeof(text), "WEFT_%s", knob->name);
	weft_mpit_string(text, name, name_len);
	cvar_describe((size_t)cvar_index, text, sizeof(text));
	weft_mpit_string(text, desc, desc_len);
	weft_mpit_put(verbosity, knob->is_debug ? MPI_T_VERBOSITY_MPIDEV_BASIC
						: MPI_T_VERBOSITY_USER_BASIC);
	weft_mpit_put(datatype, cvar_type(knob));
	weft_mpit_put(enumtype,
		cvar_has_enum(knob) ? weft_mpit_knob_enum((size_t)cvar_index)
				    : MPI_T_ENUM_NULL);
	weft_mpit_put(bind, MPI_T_BIND_NO_OBJECT);
	weft_mpit_put(scope, cvar_scope(knob));
	return weft_mpit_leave(MPI_SUCCESS);
}

int PMPI_T_cvar_get_index(const char *name, int *cvar_index)
{
	size_t i;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!name || !cvar_index)
		return weft_mpit_leave(MPI_T_ERR_INVALID);
	i = cvar_find(name);
	if (i == weft_knob_count())
		return weft_mpit_leave(MPI_T_ERR_INVALID_NAME);
	*cvar_index = (int)i;
	return weft_mpit_leave(MPI_SUCCESS);
}

int PMPI_T_cvar_handle_alloc(
	int cvar_index, void *obj_handle, MPI_T_cvar_handle *handle, int *count)
{
	const struct weft_knob_desc *knob;
	struct weft_cvar *cvar;
	char number[NUMBER_MAX];

	(void)obj_handle; /* no variable is bound to an object */
	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	knob = weft_knob_desc((size_t)cvar_index);
	if (!knob)
		return weft_mpit_leave(MPI_T_ERR_INVALID_INDEX);
	if (!handle || !count)
		return weft_mpit_leave(MPI_T_ERR_INVALID);
	cvar = weft_table_new(&cvars);
	if (!cvar)
		return weft_mpit_leave(MPI_T_ERR_OUT_OF_HANDLES);
	cvar->knob = (size_t)cvar_index;
	*handle = (MPI_T_cvar_handle)(uintptr_t)weft_obj_handle(cvar);
	*count = 1;
	if (cvar_type(knob) == MPI_CHAR)
		*count = (int)weft_max(strlen(weft_knob_value(cvar->knob,
					       number, sizeof(number))) +
					       1,
			(size_t)TEXT_MAX);
	return weft_mpit_leave(MPI_SUCCESS);
}

int PMPI_T_cvar_handle_free(MPI_T_cvar_handle *handle)
{
	struct weft_cvar *cvar;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!handle)
		return weft_mpit_leave(MPI_T_ERR_INVALID);
	cvar = weft_table_get(&cvars, (uintptr_t)*handle);
	if (!cvar)
		return weft_mpit_leave(MPI_T_ERR_INVALID_HANDLE);
	weft_table_free(&cvars, cvar);
	*handle = MPI_T_CVAR_HANDLE_NULL;
	return weft_mpit_leave(MPI_SUCCESS);
}

/* Returns the object of a handle, for a call with a buffer. NULL, and an error
 * in *code_out, if an argument is invalid. */
static struct weft_cvar *cvar_of(
	MPI_T_cvar_handle handle, const void *buf, int *code_out)
{
	struct weft_cvar *cvar = weft_table_get(&cvars, (uintptr_t)handle);

	*code_out = !cvar  ? MPI_T_ERR_INVALID_HANDLE
		    : !buf ? MPI_T_ERR_INVALID
			   : MPI_SUCCESS;
	return *code_out ? NULL : cvar;
}

int PMPI_T_cvar_read(MPI_T_cvar_handle handle, void *buf)
{
	const struct weft_knob_desc *knob;
	char number[NUMBER_MAX];
	struct weft_cvar *cvar;
	const char *value;
	int code;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	cvar = cvar_of(handle, buf, &code);
	if (!cvar)
		return weft_mpit_leave(code);
	knob = weft_knob_desc(cvar->knob);
	value = weft_knob_value(cvar->knob, number, sizeof(number));
	if (knob->unit)
		*(MPI_Count *)buf = (MPI_Count)weft_knob_number(cvar->knob);
	else if (cvar_has_enum(knob))
		*(int *)buf = cvar_item(knob, value);
	else
		memcpy(buf, value, strlen(value) + 1);
	return weft_mpit_leave(MPI_SUCCESS);
}

int PMPI_T_cvar_write(MPI_T_cvar_handle handle, const void *buf)
{
	const struct weft_knob_desc *knob;
	char number[NUMBER_MAX];
	struct weft_cvar *cvar;
	const char *text = buf;
	int code, scope;
	size_t i;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	cvar = cvar_of(handle, buf, &code);
	if (!cvar)
		return weft_mpit_leave(code);
	i = cvar->knob;
	knob = weft_knob_desc(i);
	if (cvar_has_enum(knob))
		return weft_mpit_leave(MPI_T_ERR_CVAR_SET_NEVER);
	if (knob->unit) {
		snprintf(number, sizeof(number), "%lld",
			(long long)*(const MPI_Count *)buf);
		text = number;
	} else if (strnlen(text, TEXT_MAX) == TEXT_MAX) {
		return weft_mpit_leave(MPI_T_ERR_INVALID);
	}
	weft_mpit_leave(MPI_SUCCESS);
	/* weft_proc_set_knob() acquires the process's lock, which the function
	 * that raised the event may hold */
	if (weft_registration_is_inside())
		return MPI_T_ERR_NOT_ACCESSIBLE;
	return cvar_code(
		weft_proc_set_knob(i, text, cvar_is_live(knob, &scope)));
}

#include "api_cvar.h"
