/* SPDX-License-Identifier: BSD-3-Clause */
/* pvar: performance variables, which are the counters of base/counter.def
 *
 * Indices: first each counter, summed over the process. Then each counter of a
 * VCI or of a file again: "vci_" bound to a session, for the VCI that the
 * session uses; "open_" bound to a file. Then the counters of objects. Then
 * "coll_", the uses of each algorithm of each collective operation. Then the
 * traffic of the fabric again, for each provider ("tcp_net_sent_bytes") and
 * for each rail ("rail1_net_sent_bytes").
 *
 * All variables are always active. A handle stores the difference between its
 * variable and the counter. So handles do not affect each other, and the
 * library only adds to counters. A reset of a high watermark resets the counter
 * itself, after all other handles of that counter have stored its value
 * (pvar_fold). A level cannot be written.
 *
 * A handle that is bound to an object stores the object's handle and looks it
 * up at each use. Objects live in memory that is never freed (base/handle.h),
 * so reading an object that another thread frees meanwhile is harmless; the
 * handle is looked up again afterwards. */
#include "mpit_priv.h"

#include "base/counter.h"
#include "coll/coll_algo.h"
#include "net/net.h"

#include <stdio.h>
#include <string.h>

enum { PVAR_NAME_MAX = 80, PVAR_DESC_MAX = 400 };

struct weft_pvar_session {
	struct weft_obj obj;
};

struct weft_pvar {
	struct weft_obj obj;
	uint64_t session; /* handle of the session of the tool interface */
	size_t index;
	uint64_t object; /* handle of the bound object; 0: none */
	uint8_t vci;	 /* number of the VCI of the bound MPI session */
	uint64_t shift;	 /* counter - value */
	uint64_t mark;	 /* HIGHWATERMARK: the largest stored value */
};

static struct weft_table pvars =
	WEFT_TABLE_INIT(struct weft_pvar, WEFT_KIND_TOOL);
static struct weft_table pvar_sessions =
	WEFT_TABLE_INIT(struct weft_pvar_session, WEFT_KIND_TOOL);

/* The tables of the objects of counter.def. */
static const struct pvar_object {
	const char *name;
	int bind;
	struct weft_table *table;
} pvar_objects[] = {
	{ "comm", MPI_T_BIND_MPI_COMM, &weft_comms },
	{ "win", MPI_T_BIND_MPI_WIN, &weft_wins },
	{ "file", MPI_T_BIND_MPI_FILE, &weft_files },
	{ "session", MPI_T_BIND_MPI_SESSION, &weft_sessions },
};

/* The offset and size of a counter in its object. */
static const struct pvar_field {
	size_t offset;
	size_t size;
} pvar_fields[] = {
#define OBJECT_COUNTER(                                              \
	object, field, name, class, verbosity, unit, room, sentence) \
	{ offsetof(struct weft_##object, field),                     \
		sizeof(((struct weft_##object *)0)->field) },
#include "base/counter.def"
};

enum {
	N_PVAR_FIELDS = sizeof(pvar_fields) / sizeof(pvar_fields[0]),
	N_PVAR_OBJECTS = sizeof(pvar_objects) / sizeof(pvar_objects[0]),
};

/* One variable. */
struct pvar_info {
	const struct weft_counter_desc *desc;
	const struct pvar_object *object; /* NULL: none */
	struct pvar_field field;	  /* size 0: not a field of an object */
	size_t counter; /* its index among the counters, fields or algorithms */
	const struct weft_coll_algo *algo; /* NULL: counts no algorithm */
	bool is_path; /* traffic of a provider (rail is ANY), or of a rail
			 (fabric is ANY) */
	uint8_t fabric, rail;
};

static const struct weft_counter_desc pvar_of_algo = {
	.name = "coll",
	.unit = "uses",
	.object = "process",
	.room = "coll",
	.sentence =
		"operations, and parts of them within or between nodes, whose "
		"steps this algorithm wrote; a persistent operation counts "
		"once, and one in the segment of a node does not count",
	.class = WEFT_CLASS_COUNTER,
	.verbosity = WEFT_VERBOSITY_TUNER,
};

/* True for a counter of a VCI or of a file. */
static bool is_of_part(size_t counter)
{
	return strcmp(weft_counter_desc(counter)->object, "process") != 0;
}

static size_t n_of_parts(void)
{
	size_t n = 0;

	for (size_t i = 0; i < weft_counter_count(); i++)
		n += is_of_part(i);
	return n;
}

static const struct pvar_object *pvar_object(const char *name)
{
	for (size_t i = 0; i < N_PVAR_OBJECTS; i++)
		if (!strcmp(pvar_objects[i].name, name))
			return &pvar_objects[i];
	return NULL;
}

static size_t n_of_algos(void)
{
	size_t n = 0;

	while (weft_coll_algo_at(n))
		n++;
	return n;
}

/* True for a counter of the traffic of the fabric. */
static bool is_of_path(size_t counter)
{
	const struct weft_counter_desc *desc = weft_counter_desc(counter);

	return !strcmp(desc->room, "net") &&
	       desc->verbosity == WEFT_VERBOSITY_USER &&
	       desc->class != WEFT_CLASS_LEVEL;
}

static size_t n_of_path(void)
{
	size_t n = 0;

	for (size_t i = 0; i < weft_counter_count(); i++)
		n += is_of_path(i);
	return n;
}

static size_t n_of_fabrics(void)
{
	size_t n = 0;

	while (weft_net_fabric_name(n))
		n++;
	return n;
}

static int pvar_count(void)
{
	return (int)(weft_counter_count() + n_of_parts() + N_PVAR_FIELDS +
		     n_of_algos() +
		     n_of_path() * (n_of_fabrics() + WEFT_COUNTER_RAILS));
}

/* Describes the i-th variable of a provider or a rail. False: there are fewer
 * variables. */
static bool path_info(size_t i, struct pvar_info *info_out)
{
	size_t path = i / n_of_path(), left = i % n_of_path() + 1, counter = 0;
	size_t n_fabrics = n_of_fabrics();

	if (path >= n_fabrics + WEFT_COUNTER_RAILS)
		return false;
	for (; left; counter++)
		left -= is_of_path(counter);
	info_out->counter = counter - 1;
	info_out->desc = weft_counter_desc(counter - 1);
	info_out->is_path = true;
	info_out->fabric = info_out->rail = WEFT_COUNTER_ANY;
	if (path < n_fabrics)
		info_out->fabric = (uint8_t)path;
	else
		info_out->rail = (uint8_t)(path - n_fabrics);
	return true;
}

/* Describes the variable of a counter of a VCI or of a file, bound to an
 * object. */
static void bound_counter(size_t counter, struct pvar_info *info_out)
{
	info_out->counter = counter;
	info_out->desc = weft_counter_desc(counter);
	if (!strcmp(info_out->desc->object, "VCI")) {
		info_out->object = pvar_object("session");
		return;
	}
	info_out->object = pvar_object("file");
	info_out->field = (struct pvar_field){
		offsetof(struct weft_file, counters) +
			counter * sizeof(uint64_t),
		sizeof(uint64_t),
	};
}

/* False: the index is out of range. */
static bool pvar_info(int index, struct pvar_info *info_out)
{
	size_t i = (size_t)index, n = weft_counter_count();

	*info_out = (struct pvar_info){ 0 };
	if (i < n) {
		info_out->counter = i;
		info_out->desc = weft_counter_desc(i);
		return true;
	}
	i -= n;
	if (i < n_of_parts()) {
		size_t counter = 0;

		for (size_t left = i + 1; left; counter++)
			left -= is_of_part(counter);
		bound_counter(counter - 1, info_out);
		return true;
	}
	i -= n_of_parts();
	if (i >= N_PVAR_FIELDS + n_of_algos())
		return path_info(i - N_PVAR_FIELDS - n_of_algos(), info_out);
	if (i >= N_PVAR_FIELDS) {
		info_out->counter = i - N_PVAR_FIELDS;
		info_out->algo = weft_coll_algo_at(info_out->counter);
		info_out->desc = &pvar_of_algo;
		return true;
	}
	info_out->desc = weft_object_counter_desc(i);
	info_out->object = pvar_object(info_out->desc->object);
	info_out->field = pvar_fields[i];
	info_out->counter = i;
	return true;
}

static void pvar_name(const struct pvar_info *info, char *buf)
{
	const char *prefix = "";

	if (info->algo) {
		snprintf(buf, PVAR_NAME_MAX, "coll_%s_%s",
			weft_coll_kind_name(info->algo->kind),
			info->algo->name);
		return;
	}
	if (info->is_path && info->fabric != WEFT_COUNTER_ANY) {
		snprintf(buf, PVAR_NAME_MAX, "%s_%s",
			weft_net_fabric_name(info->fabric), info->desc->name);
		return;
	}
	if (info->is_path) {
		snprintf(buf, PVAR_NAME_MAX, "rail%u_%s", info->rail,
			info->desc->name);
		return;
	}
	if (info->object && !info->field.size)
		prefix = "vci_";
	else if (info->object && info->desc == weft_counter_desc(info->counter))
		prefix = "open_";
	snprintf(buf, PVAR_NAME_MAX, "%s%s", prefix, info->desc->name);
}

const char *weft_pvar_room(int index)
{
	struct pvar_info info;

	return pvar_info(index, &info) ? info.desc->room : NULL;
}

static int pvar_class(enum weft_counter_class class)
{
	static const int classes[] = {
		[WEFT_CLASS_LEVEL] = MPI_T_PVAR_CLASS_LEVEL,
		[WEFT_CLASS_HIGHWATERMARK] = MPI_T_PVAR_CLASS_HIGHWATERMARK,
		[WEFT_CLASS_COUNTER] = MPI_T_PVAR_CLASS_COUNTER,
		[WEFT_CLASS_AGGREGATE] = MPI_T_PVAR_CLASS_AGGREGATE,
		[WEFT_CLASS_TIMER] = MPI_T_PVAR_CLASS_TIMER,
	};

	return classes[class];
}

static void pvar_describe(const struct pvar_info *info, char *buf)
{
	const char *fabric = weft_net_fabric_name(info->fabric);
	char path[64] = "";

	if (info->is_path && info->rail != WEFT_COUNTER_ANY)
		snprintf(path, sizeof(path), " on rail %u (WEFT_STRIPE)",
			info->rail);
	else if (info->is_path)
		snprintf(path, sizeof(path), " by provider %s", fabric);
	snprintf(buf, PVAR_DESC_MAX, "%c%s, in %s%s%s.",
		info->desc->sentence[0] & ~0x20, info->desc->sentence + 1,
		info->desc->unit,
		!info->object	   ? ", of this process"
		: info->field.size ? ""
				   : ", of the VCI that the session uses",
		path);
}

/* Returns the handle of the MPI object at `where`, as its table knows it; 0:
 * none. */
static uint64_t bound_handle(
	const struct pvar_object *object, const void *where)
{
	const void *o = NULL;

	/* predefined handles are no addresses, but some tools pass them */
	if ((uintptr_t)where < WEFT_HANDLE_PREDEFINED_END)
		return 0;
	switch (object->bind) {
	case MPI_T_BIND_MPI_COMM:
		o = weft_mpi_comm(*(const MPI_Comm *)where);
		break;
	case MPI_T_BIND_MPI_WIN:
		o = weft_mpi_win(*(const MPI_Win *)where);
		break;
	case MPI_T_BIND_MPI_FILE:
		o = weft_mpi_file(*(const MPI_File *)where);
		break;
	case MPI_T_BIND_MPI_SESSION:
		o = weft_mpi_session(*(const MPI_Session *)where);
		break;
	}
	return o ? weft_obj_handle(o) : 0;
}

/* Returns the address of an object's counter; NULL: the object has been
 * freed. */
static void *field_of(
	const struct pvar_info *info, const struct weft_pvar *pvar)
{
	char *object = weft_table_get(info->object->table, pvar->object);

	return object ? object + info->field.offset : NULL;
}

/* Reads the counter itself. False: the object has been freed. */
static bool counter_now(const struct pvar_info *info,
	const struct weft_pvar *pvar, uint64_t *value_out)
{
	const void *field = NULL;

	if (info->object) {
		field = field_of(info, pvar);
		if (!field)
			return false;
	}
	if (info->algo)
		*value_out = weft_coll_algo_uses(info->counter);
	else if (info->is_path)
		*value_out = weft_counter_read_fabric(
			info->counter, info->fabric, info->rail);
	else if (!info->object)
		*value_out = weft_counter_total(info->counter);
	else if (!info->field.size)
		*value_out = weft_counter_read(info->counter, pvar->vci);
	else if (info->field.size == sizeof(uint32_t))
		*value_out = __atomic_load_n(
			(const uint32_t *)field, __ATOMIC_RELAXED);
	else
		*value_out = __atomic_load_n(
			(const uint64_t *)field, __ATOMIC_RELAXED);
	return !info->object || field_of(info, pvar);
}

/* Reads the LEVEL that belongs to a HIGHWATERMARK. In counter.def, the LEVEL is
 * the line before the HIGHWATERMARK. */
static bool level_now(const struct pvar_info *info,
	const struct weft_pvar *pvar, uint64_t *value_out)
{
	struct pvar_info level = *info;

	level.field = pvar_fields[info->counter - 1];
	return counter_now(&level, pvar, value_out);
}

/* Stores the present value of a high watermark in all its handles, and sets the
 * counter to the present level. The object may raise the counter at the same
 * time, and this raise may be lost. */
static bool pvar_fold(const struct pvar_info *info, const struct weft_pvar *of)
{
	uint64_t now, level;
	struct weft_pvar *pvar;
	uint32_t pos = 0;
	void *field;

	if (!counter_now(info, of, &now) || !level_now(info, of, &level))
		return false;
	while ((pvar = weft_table_next(&pvars, &pos)) != NULL)
		if (pvar->index == of->index && pvar->object == of->object)
			pvar->mark = weft_max(pvar->mark, now);
	field = field_of(info, of);
	if (field)
		__atomic_store_n(
			(uint32_t *)field, (uint32_t)level, __ATOMIC_RELAXED);
	return field != NULL;
}

/* Computes the value of a handle. */
static int pvar_now(const struct weft_pvar *pvar, uint64_t *value_out)
{
	struct pvar_info info;
	uint64_t now;

	pvar_info((int)pvar->index, &info);
	if (!counter_now(&info, pvar, &now))
		return MPI_T_ERR_INVALID_HANDLE;
	*value_out = info.desc->class == WEFT_CLASS_HIGHWATERMARK
			     ? weft_max(pvar->mark, now)
			     : now - pvar->shift;
	return MPI_SUCCESS;
}

/* Sets the value of a handle. If value is NULL, sets the starting value of its
 * class. */
static int pvar_set(struct weft_pvar *pvar, const uint64_t *value)
{
	struct pvar_info info;
	uint64_t now;

	pvar_info((int)pvar->index, &info);
	if (info.desc->class == WEFT_CLASS_HIGHWATERMARK) {
		if (!pvar_fold(&info, pvar))
			return MPI_T_ERR_INVALID_HANDLE;
		pvar->mark = value ? *value : 0;
		return MPI_SUCCESS;
	}
	if (!counter_now(&info, pvar, &now))
		return MPI_T_ERR_INVALID_HANDLE;
	if (info.desc->class != WEFT_CLASS_LEVEL)
		pvar->shift = now - (value ? *value : 0);
	return MPI_SUCCESS;
}

static bool pvar_is_readonly(const struct weft_pvar *pvar)
{
	struct pvar_info info;

	pvar_info((int)pvar->index, &info);
	return info.desc->class == WEFT_CLASS_LEVEL;
}

/* Writes a value to the tool's buffer: a TIMER as a double, in seconds; any
 * other class as a 64-bit integer. */
static void store_value(const struct weft_pvar *pvar, uint64_t value, void *buf)
{
	struct pvar_info info;

	pvar_info((int)pvar->index, &info);
	if (info.desc->class == WEFT_CLASS_TIMER)
		*(double *)buf = (double)value * 1e-9;
	else
		*(unsigned long long *)buf = value;
}

static uint64_t load_value(const struct weft_pvar *pvar, const void *buf)
{
	struct pvar_info info;

	pvar_info((int)pvar->index, &info);
	if (info.desc->class == WEFT_CLASS_TIMER)
		return (uint64_t)(*(const double *)buf * 1e9);
	return *(const unsigned long long *)buf;
}

static void free_handles(uint64_t session)
{
	struct weft_pvar *pvar;
	uint32_t pos = 0;

	while ((pvar = weft_table_next(&pvars, &pos)) != NULL)
		if (pvar->session == session)
			weft_table_free(&pvars, pvar);
}

void weft_pvar_free_all(void)
{
	struct weft_pvar_session *session;
	uint32_t pos = 0;

	while ((session = weft_table_next(&pvar_sessions, &pos)) != NULL) {
		free_handles(weft_obj_handle(session));
		weft_table_free(&pvar_sessions, session);
	}
}

int PMPI_T_pvar_get_num(int *num_pvar)
{
	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!num_pvar)
		return weft_mpit_leave(MPI_T_ERR_INVALID);
	*num_pvar = pvar_count();
	return weft_mpit_leave(MPI_SUCCESS);
}

int PMPI_T_pvar_get_info(int pvar_index, char *name, int *name_len,
	int *verbosity, int *var_class, MPI_Datatype *datatype,
	MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind,
	int *readonly, int *continuous, int *atomic)
{
	char text[PVAR_DESC_MAX];
	struct pvar_info info;
	bool is_level;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!pvar_info(pvar_index, &info))
		return weft_mpit_leave(MPI_T_ERR_INVALID_INDEX);
	pvar_name(&info, text);
	weft_mpit_string(text, name, name_len);
	pvar_describe(&info, text);
	weft_mpit_string(text, desc, desc_len);
	is_level = info.desc->class == WEFT_CLASS_LEVEL;
	weft_mpit_put(verbosity, weft_mpit_verbosity(info.desc->verbosity));
	weft_mpit_put(var_class, pvar_class(info.desc->class));
	weft_mpit_put(datatype, info.desc->class == WEFT_CLASS_TIMER
					? MPI_DOUBLE
					: MPI_UNSIGNED_LONG_LONG);
	weft_mpit_put(enumtype, MPI_T_ENUM_NULL);
	weft_mpit_put(
		bind, info.object ? info.object->bind : MPI_T_BIND_NO_OBJECT);
	weft_mpit_put(readonly, is_level);
	weft_mpit_put(continuous, 1);
	weft_mpit_put(atomic, !is_level);
	return weft_mpit_leave(MPI_SUCCESS);
}

int PMPI_T_pvar_get_index(const char *name, int var_class, int *pvar_index)
{
	char text[PVAR_NAME_MAX];
	struct pvar_info info;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!name || !pvar_index)
		return weft_mpit_leave(MPI_T_ERR_INVALID);
	for (int i = 0; pvar_info(i, &info); i++) {
		pvar_name(&info, text);
		if (!strcmp(text, name) &&
			pvar_class(info.desc->class) == var_class) {
			*pvar_index = i;
			return weft_mpit_leave(MPI_SUCCESS);
		}
	}
	return weft_mpit_leave(MPI_T_ERR_INVALID_NAME);
}

int PMPI_T_pvar_session_create(MPI_T_pvar_session *session)
{
	struct weft_pvar_session *made;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!session)
		return weft_mpit_leave(MPI_T_ERR_INVALID);
	made = weft_table_new(&pvar_sessions);
	if (!made)
		return weft_mpit_leave(MPI_T_ERR_OUT_OF_SESSIONS);
	*session = (MPI_T_pvar_session)(uintptr_t)weft_obj_handle(made);
	return weft_mpit_leave(MPI_SUCCESS);
}

int PMPI_T_pvar_session_free(MPI_T_pvar_session *session)
{
	struct weft_pvar_session *of;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!session)
		return weft_mpit_leave(MPI_T_ERR_INVALID);
	of = weft_table_get(&pvar_sessions, (uintptr_t)*session);
	if (!of)
		return weft_mpit_leave(MPI_T_ERR_INVALID_SESSION);
	free_handles((uintptr_t)*session);
	weft_table_free(&pvar_sessions, of);
	*session = MPI_T_PVAR_SESSION_NULL;
	return weft_mpit_leave(MPI_SUCCESS);
}

/* Binds a new handle to its object. MPI_T_ERR_INVALID_HANDLE: there is no such
 * object. */
static int bind_pvar(struct weft_pvar *pvar, const void *obj_handle)
{
	const struct weft_session *session;
	struct pvar_info info;

	pvar_info((int)pvar->index, &info);
	if (info.object) {
		pvar->object = bound_handle(info.object, obj_handle);
		if (!pvar->object)
			return MPI_T_ERR_INVALID_HANDLE;
	}
	if (info.object && !info.field.size) {
		const struct weft_vci *vci;

		session = weft_table_get(&weft_sessions, pvar->object);
		vci = session ? session->vci : NULL;
		if (!vci)
			return MPI_T_ERR_INVALID_HANDLE;
		pvar->vci = vci->number;
	}
	return pvar_set(pvar, NULL);
}

int PMPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index,
	void *obj_handle, MPI_T_pvar_handle *handle, int *count)
{
	struct pvar_info info;
	struct weft_pvar *pvar;
	int code;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!weft_table_get(&pvar_sessions, (uintptr_t)session))
		return weft_mpit_leave(MPI_T_ERR_INVALID_SESSION);
	if (!pvar_info(pvar_index, &info))
		return weft_mpit_leave(MPI_T_ERR_INVALID_INDEX);
	if (!handle || !count)
		return weft_mpit_leave(MPI_T_ERR_INVALID);
	pvar = weft_table_new(&pvars);
	if (!pvar)
		return weft_mpit_leave(MPI_T_ERR_OUT_OF_HANDLES);
	pvar->session = (uintptr_t)session;
	pvar->index = (size_t)pvar_index;
	code = bind_pvar(pvar, obj_handle);
	if (code) {
		weft_table_free(&pvars, pvar);
		return weft_mpit_leave(code);
	}
	*handle = (MPI_T_pvar_handle)(uintptr_t)weft_obj_handle(pvar);
	*count = 1;
	return weft_mpit_leave(MPI_SUCCESS);
}

/* Returns the variable of a handle. NULL, and an error in *code_out, if the
 * session or the handle is invalid, or the handle is of another session. */
static struct weft_pvar *pvar_of(
	MPI_T_pvar_session session, MPI_T_pvar_handle handle, int *code_out)
{
	struct weft_pvar *pvar = weft_table_get(&pvars, (uintptr_t)handle);

	*code_out = MPI_SUCCESS;
	if (!weft_table_get(&pvar_sessions, (uintptr_t)session))
		*code_out = MPI_T_ERR_INVALID_SESSION;
	else if (!pvar || pvar->session != (uintptr_t)session)
		*code_out = MPI_T_ERR_INVALID_HANDLE;
	return *code_out ? NULL : pvar;
}

int PMPI_T_pvar_handle_free(
	MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
	struct weft_pvar *pvar;
	int code;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	if (!handle)
		return weft_mpit_leave(MPI_T_ERR_INVALID);
	pvar = pvar_of(session, *handle, &code);
	if (!pvar)
		return weft_mpit_leave(code);
	weft_table_free(&pvars, pvar);
	*handle = MPI_T_PVAR_HANDLE_NULL;
	return weft_mpit_leave(MPI_SUCCESS);
}

/* All variables are always active, so no variable can be started or stopped. */
static int startstop(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
	int code;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	pvar_of(session, handle, &code);
	if (handle == MPI_T_PVAR_ALL_HANDLES &&
		code == MPI_T_ERR_INVALID_HANDLE)
		return weft_mpit_leave(MPI_SUCCESS);
	return weft_mpit_leave(code ? code : MPI_T_ERR_PVAR_NO_STARTSTOP);
}

int PMPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
	return startstop(session, handle);
}

int PMPI_T_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
	return startstop(session, handle);
}

int PMPI_T_pvar_read(
	MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
	struct weft_pvar *pvar;
	uint64_t value;
	int code;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	pvar = pvar_of(session, handle, &code);
	if (!code && !buf)
		code = MPI_T_ERR_INVALID;
	if (!code)
		code = pvar_now(pvar, &value);
	if (!code)
		store_value(pvar, value, buf);
	return weft_mpit_leave(code);
}

int PMPI_T_pvar_write(
	MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf)
{
	struct weft_pvar *pvar;
	uint64_t value;
	int code;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	pvar = pvar_of(session, handle, &code);
	if (!code && !buf)
		code = MPI_T_ERR_INVALID;
	if (!code && pvar_is_readonly(pvar))
		code = MPI_T_ERR_PVAR_NO_WRITE;
	if (!code) {
		value = load_value(pvar, buf);
		code = pvar_set(pvar, &value);
	}
	return weft_mpit_leave(code);
}

/* Resets all variables that can be reset, even if the bound object of one
 * handle has been freed. */
static int reset_all(uint64_t session)
{
	struct weft_pvar *pvar;
	uint32_t pos = 0;
	int code = MPI_SUCCESS;

	while ((pvar = weft_table_next(&pvars, &pos)) != NULL)
		if (pvar->session == session && !pvar_is_readonly(pvar) &&
			pvar_set(pvar, NULL))
			code = MPI_T_ERR_PVAR_NO_WRITE;
	return code;
}

int PMPI_T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
	struct weft_pvar *pvar;
	int code;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	pvar = pvar_of(session, handle, &code);
	if (code == MPI_T_ERR_INVALID_HANDLE &&
		handle == MPI_T_PVAR_ALL_HANDLES)
		return weft_mpit_leave(reset_all((uintptr_t)session));
	if (!code && pvar_is_readonly(pvar))
		code = MPI_T_ERR_PVAR_NO_WRITE;
	if (!code)
		code = pvar_set(pvar, NULL);
	return weft_mpit_leave(code);
}

/* Returns the value of a handle and resets the handle. A counter is read once,
 * so that no concurrent increment is lost. */
static int read_reset(struct weft_pvar *pvar, uint64_t *value_out)
{
	uint64_t zero = 0;
	int code = pvar_now(pvar, value_out);
	struct pvar_info info;

	if (code)
		return code;
	pvar_info((int)pvar->index, &info);
	if (info.desc->class == WEFT_CLASS_HIGHWATERMARK)
		return pvar_set(pvar, &zero);
	pvar->shift += *value_out;
	return MPI_SUCCESS;
}

int PMPI_T_pvar_readreset(
	MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
	struct weft_pvar *pvar;
	uint64_t value;
	int code;

	if (!weft_mpit_enter())
		return MPI_T_ERR_NOT_INITIALIZED;
	pvar = pvar_of(session, handle, &code);
	if (!code && !buf)
		code = MPI_T_ERR_INVALID;
	if (!code && pvar_is_readonly(pvar))
		code = MPI_T_ERR_PVAR_NO_ATOMIC;
	if (!code)
		code = read_reset(pvar, &value);
	if (!code)
		store_value(pvar, value, buf);
	return weft_mpit_leave(code);
}

#include "api_pvar.h"
