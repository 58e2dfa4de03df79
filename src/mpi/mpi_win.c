/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_win: windows as objects: made, freed, asked, their hints and names
 *
 * MPI-5.0, 12.2. An error in making one goes to the communicator's handler,
 * all others to the window's. */
#include "mpi_check.h"
#include "mpi_twin.h"

#include "core/hint.h"
#include "core/info.h"
#include "core/attr.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- hints ---- */

static bool is_flag(const char *value)
{
	return !strcmp(value, "true") || !strcmp(value, "false");
}

/* "none", or some of the four orders. */
static bool is_ordering(const char *value)
{
	char copy[WEFT_INFO_VALUE_MAX + 1], *rest = copy, *word;

	snprintf(copy, sizeof(copy), "%s", value);
	if (!strcmp(value, "none"))
		return true;
	while ((word = strsep(&rest, ",")) != NULL) {
		word += strspn(word, " ");
		word[strcspn(word, " ")] = 0;
		if (strcmp(word, "rar") && strcmp(word, "war") &&
			strcmp(word, "raw") && strcmp(word, "waw"))
			return false;
	}
	return true;
}

static bool is_ops(const char *value)
{
	return !strcmp(value, "same_op") || !strcmp(value, "same_op_no_op");
}

/* A number of bytes, or -1. */
static int64_t to_bytes(const char *value)
{
	char *end;
	long long n = strtoll(value, &end, 10);

	return end == value || *end || n < 0 ? -1 : n;
}

static bool is_bytes(const char *value)
{
	return to_bytes(value) >= 0;
}

static bool is_alignment(const char *value)
{
	int64_t n = to_bytes(value);

	return n > 0 && (n & (n - 1)) == 0;
}

enum {
	OF_ANY = ~0,
	OF_ALLOCATED = 1 << WEFT_WIN_ALLOCATE | 1 << WEFT_WIN_SHARED,
	OF_SHARED = 1 << WEFT_WIN_SHARED,
};

/* The keys that windows know, MPI-5.0 12.2.1 and 12.2.2. */
static const struct hint {
	const char *key;
	const char *otherwise; /* in effect where nothing was said; NULL: none
				*/
	bool (*is_good)(const char *value);
	int flavors;   /* bits: those that know it */
	bool is_fixed; /* with the making of the window */
} win_hints[] = {
	{ "no_locks", "false", is_flag, OF_ANY, true },
	{ "accumulate_ordering", "rar,raw,war,waw", is_ordering, OF_ANY,
		false },
	{ "accumulate_ops", "same_op_no_op", is_ops, OF_ANY, false },
	{ "mpi_accumulate_granularity", "0", is_bytes, OF_ANY, true },
	{ "same_size", "false", is_flag, OF_ANY, true },
	{ "same_disp_unit", "false", is_flag, OF_ANY, true },
	{ "alloc_shared_noncontig", "false", is_flag, OF_SHARED, true },
	{ "mpi_minimum_memory_alignment", "64", is_alignment, OF_ALLOCATED,
		true },
	{ WEFT_HINT_ASSERT_KINDS, NULL, weft_hint_are_kinds, OF_ANY, false },
};

enum { N_HINTS = sizeof(win_hints) / sizeof(win_hints[0]) };

/* Puts those of the hints into info that a window of this flavor heeds and may
 * still be given. A value that makes no sense is passed over, like a key. */
static int win_take_hints(enum weft_win_flavor flavor, bool is_new,
	const struct weft_info *asked, struct weft_info *info)
{
	char value[WEFT_INFO_VALUE_MAX + 1];
	int err = 0;

	weft_hint_check(asked);
	for (int i = 0; i < N_HINTS && !err; i++) {
		const struct hint *hint = &win_hints[i];

		if (!(hint->flavors & 1 << flavor) ||
			(hint->is_fixed && !is_new))
			continue;
		if (weft_info_value(asked, hint->key, value, sizeof(value)) >=
				0 &&
			hint->is_good(value))
			err = weft_info_set(info, hint->key, value);
	}
	return err;
}

/* What a window that is to be made does of its hints. */
static void heed_hints(
	struct weft_win_config *config, const struct weft_info *info)
{
	char value[WEFT_INFO_VALUE_MAX + 1];

	if (weft_info_value(info, "no_locks", value, sizeof(value)) >= 0)
		config->has_no_locks = value[0] == 't';
	if (weft_info_value(
		    info, "alloc_shared_noncontig", value, sizeof(value)) >= 0)
		config->is_noncontig = value[0] == 't';
	if (weft_info_value(info, "mpi_minimum_memory_alignment", value,
		    sizeof(value)) >= 0)
		config->align = (size_t)to_bytes(value);
}

int PMPI_Win_set_info(MPI_Win win, MPI_Info info)
{
	struct weft_win *of = NULL;
	struct weft_info *asked = NULL;
	int err = weft_check_win(win, &of);

	if (!err)
		err = weft_check_info(info, &asked);
	if (!err && !of->info) {
		of->info = weft_info_create();
		err = of->info ? 0 : WEFT_ERR_NOMEM;
	}
	if (!err)
		err = win_take_hints(of->flavor, false, asked, of->info);
	return weft_mpi_end_win(of, "MPI_Win_set_info", err);
}

/* All that is in effect, said or not. */
static int all_hints(const struct weft_win *win, struct weft_info *info)
{
	char value[WEFT_INFO_VALUE_MAX + 1];
	int err = 0;

	for (int i = 0; i < N_HINTS && !err; i++) {
		const struct hint *hint = &win_hints[i];
		const char *in_effect = hint->otherwise;

		if (!(hint->flavors & 1 << win->flavor))
			continue;
		if (weft_info_value(
			    win->info, hint->key, value, sizeof(value)) >= 0)
			in_effect = value;
		if (in_effect)
			err = weft_info_set(info, hint->key, in_effect);
	}
	return err ? err : weft_hint_put_kinds(win->comm->child.session, info);
}

int PMPI_Win_get_info(MPI_Win win, MPI_Info *info_used)
{
	struct weft_win *of = NULL;
	struct weft_info *made = NULL;
	int err;

	weft_mpi_null(info_used, MPI_INFO_NULL);
	err = weft_check_win(win, &of);
	if (!err)
		err = weft_check_ptr(info_used, "info_used");
	if (!err) {
		made = weft_info_create();
		err = made ? all_hints(of, made) : WEFT_ERR_NOMEM;
	}
	if (err) {
		weft_info_destroy(made);
		return weft_mpi_raise_win(of, "MPI_Win_get_info", err);
	}
	*info_used = weft_mpi_info_handle(made);
	return MPI_SUCCESS;
}

/* ---- making ---- */

static int check_config(const struct weft_win_config *config)
{
	int err = weft_check_range(
		WEFT_ERR_SIZE, "size", (int64_t)config->size, 0, INT64_MAX);

	if (!err)
		err = weft_check_range(WEFT_ERR_DISP, "disp_unit",
			config->disp_unit, 1, INT64_MAX);
	if (!err && config->flavor == WEFT_WIN_CREATE && !config->base &&
		config->size && weft_check_is_on())
		err = weft_err_set(WEFT_ERR_BUFFER, "base is NULL, size is %zu",
			config->size);
	return err;
}

/* The window that config and the hints say; *made_out has them. */
static int win_make(struct weft_comm *comm, struct weft_win_config *config,
	MPI_Info info, struct weft_win **made_out)
{
	struct weft_info *asked = NULL, *hints = NULL;
	int err = weft_check_info_or_null(info, &asked);

	if (!err && asked) {
		hints = weft_info_create();
		err = hints ? win_take_hints(config->flavor, true, asked, hints)
			    : WEFT_ERR_NOMEM;
	}
	if (!err) {
		heed_hints(config, hints);
		err = weft_win_create(comm, config, made_out);
	}
	if (err)
		weft_info_destroy(hints);
	else
		(*made_out)->info = hints;
	return err;
}

/* The arguments that all flavors have. */
struct win_args {
	MPI_Info info;
	MPI_Comm comm;
	void *baseptr; /* where the address goes; NULL for who has none */
	MPI_Win *win;
};

static int win_new(const char *func, struct weft_win_config *config,
	const struct win_args *a)
{
	struct weft_comm *comm = NULL;
	struct weft_win *made = NULL;
	int err;

	weft_mpi_null(a->win, MPI_WIN_NULL);
	err = weft_check_intra(a->comm, &comm);
	if (!err)
		err = check_config(config);
	if (!err && (OF_ALLOCATED & 1 << config->flavor))
		err = weft_check_ptr(a->baseptr, "baseptr");
	if (!err)
		err = weft_check_ptr(a->win, "win");
	if (!err)
		err = win_make(comm, config, a->info, &made);
	if (err)
		return weft_mpi_raise(comm, func, err);
	if (a->baseptr)
		memcpy(a->baseptr, &made->base, sizeof(made->base));
	*a->win = weft_mpi_win_handle(made);
	return MPI_SUCCESS;
}

static inline int mpi_win_create(const char *func, void *base, MPI_Aint size,
	MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
	struct weft_win_config config = { .flavor = WEFT_WIN_CREATE,
		.base = base,
		.size = (size_t)size,
		.disp_unit = disp_unit };

	return win_new(func, &config,
		&(struct win_args){ .info = info, .comm = comm, .win = win });
}

static inline int mpi_win_allocate(const char *func, MPI_Aint size,
	MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr,
	MPI_Win *win)
{
	struct weft_win_config config = { .flavor = WEFT_WIN_ALLOCATE,
		.size = (size_t)size,
		.disp_unit = disp_unit };

	return win_new(
		func, &config, &(struct win_args){ info, comm, baseptr, win });
}

static inline int mpi_win_allocate_shared(const char *func, MPI_Aint size,
	MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void *baseptr,
	MPI_Win *win)
{
	struct weft_win_config config = { .flavor = WEFT_WIN_SHARED,
		.size = (size_t)size,
		.disp_unit = disp_unit };

	return win_new(
		func, &config, &(struct win_args){ info, comm, baseptr, win });
}

int PMPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
	struct weft_win_config config = { .flavor = WEFT_WIN_DYNAMIC,
		.disp_unit = 1 };

	return win_new("MPI_Win_create_dynamic", &config,
		&(struct win_args){ .info = info, .comm = comm, .win = win });
}

/* ---- freeing ---- */

int PMPI_Win_free(MPI_Win *win)
{
	struct weft_win *of = NULL;
	struct weft_errh *errh;
	int err = weft_check_ptr(win, "win");

	if (!err)
		err = weft_check_win(*win, &of);
	if (!err)
		err = weft_win_may_free(of);
	if (!err)
		err = weft_attr_delete_all(&of->attrs, *win);
	if (!err) /* a callback may have begun an epoch */
		err = weft_win_may_free(of);
	if (err)
		return weft_mpi_raise_win(of, "MPI_Win_free", err);
	errh = weft_errh_get(of->errh);
	err = weft_win_free(of);
	*win = MPI_WIN_NULL;
	if (err)
		err = weft_mpi_raise_obj(
			WEFT_KIND_WIN, *win, errh, NULL, "MPI_Win_free", err);
	weft_errh_put(errh);
	return err;
}

/* ---- memory ---- */

int PMPI_Win_attach(MPI_Win win, void *base, MPI_Aint size)
{
	struct weft_win *of = NULL;
	int err = weft_check_win(win, &of);

	if (!err)
		err = weft_check_range(
			WEFT_ERR_SIZE, "size", size, 0, INT64_MAX);
	if (!err && !base && size && weft_check_is_on())
		err = weft_err_set(WEFT_ERR_BUFFER, "base is NULL, size is %zu",
			(size_t)size);
	if (!err)
		err = weft_win_attach(of, base, (size_t)size);
	return weft_mpi_end_win(of, "MPI_Win_attach", err);
}

int PMPI_Win_detach(MPI_Win win, const void *base)
{
	struct weft_win *of = NULL;
	int err = weft_check_win(win, &of);

	if (!err)
		err = weft_win_detach(of, base);
	return weft_mpi_end_win(of, "MPI_Win_detach", err);
}

static inline int mpi_win_shared_query(const char *func, MPI_Win win, int rank,
	MPI_Aint *size, MPI_Aint *disp_unit, void *baseptr)
{
	struct weft_win *of = NULL;
	size_t bytes;
	int64_t unit;
	void *base;
	int err = weft_check_win(win, &of);

	if (!err)
		err = weft_check_target(of, rank);
	if (!err)
		err = weft_check_ptr(size, "size");
	if (!err)
		err = weft_check_ptr(disp_unit, "disp_unit");
	if (!err)
		err = weft_check_ptr(baseptr, "baseptr");
	if (!err)
		err = weft_win_query(of, rank, &bytes, &unit, &base);
	if (err)
		return weft_mpi_raise_win(of, func, err);
	*size = (MPI_Aint)bytes;
	*disp_unit = unit;
	memcpy(baseptr, &base, sizeof(base));
	return MPI_SUCCESS;
}

/* ---- group and name ---- */

int PMPI_Win_get_group(MPI_Win win, MPI_Group *group)
{
	struct weft_win *of = NULL;
	struct weft_group *copy;
	int err;

	weft_mpi_null(group, MPI_GROUP_NULL);
	err = weft_check_win(win, &of);
	if (!err)
		err = weft_check_ptr(group, "group");
	if (!err)
		err = weft_group_dup(of->comm->group, &copy);
	if (!err)
		*group = weft_mpi_group_handle(copy);
	return weft_mpi_end_win(of, "MPI_Win_get_group", err);
}

int PMPI_Win_set_name(MPI_Win win, const char *win_name)
{
	struct weft_win *of = NULL;
	int err = weft_check_win(win, &of);

	if (!err)
		err = weft_check_ptr(win_name, "win_name");
	if (err)
		return weft_mpi_raise_win(of, "MPI_Win_set_name", err);
	weft_win_name(of, win_name);
	return MPI_SUCCESS;
}

int PMPI_Win_get_name(MPI_Win win, char *win_name, int *resultlen)
{
	struct weft_win *of = NULL;
	int err;

	if (win == MPI_WIN_NULL && win_name && resultlen) {
		strcpy(win_name, "MPI_WIN_NULL");
		*resultlen = (int)strlen(win_name);
		return MPI_SUCCESS;
	}
	err = weft_check_win(win, &of);
	if (!err)
		err = weft_check_ptr(win_name, "win_name");
	if (!err)
		err = weft_check_ptr(resultlen, "resultlen");
	if (err)
		return weft_mpi_raise_win(of, "MPI_Win_get_name", err);
	weft_vci_lock(of->comm->vci);
	strcpy(win_name, of->name);
	weft_vci_unlock(of->comm->vci);
	*resultlen = (int)strlen(win_name);
	return MPI_SUCCESS;
}

#include "api_win.h"
