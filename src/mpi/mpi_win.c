/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_win: windows as objects: creation, freeing, queries, hints and names
 *
 * MPI-5.0, 12.2. An error in creation is raised on the communicator's handler,
 * any other error on the window's handler. */
#include "mpi_check.h"
#include "mpi_stage.h"
#include "mpi_widen.h"

#include "core/hint.h"
#include "core/info.h"
#include "core/attr.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- hints ---- */

static enum weft_hint_object hint_object(enum weft_win_flavor flavor)
{
	_Static_assert(WEFT_HINT_OF_WIN_CREATE << WEFT_WIN_ALLOCATE ==
				       WEFT_HINT_OF_WIN_ALLOCATE &&
			       WEFT_HINT_OF_WIN_CREATE << WEFT_WIN_DYNAMIC ==
				       WEFT_HINT_OF_WIN_DYNAMIC &&
			       WEFT_HINT_OF_WIN_CREATE << WEFT_WIN_SHARED ==
				       WEFT_HINT_OF_WIN_SHARED,
		"flavors");
	return (enum weft_hint_object)(WEFT_HINT_OF_WIN_CREATE << flavor);
}

/* Sets the fields of config that hints determine. */
static void apply_hints(
	struct weft_win_config *config, const struct weft_info *info)
{
	config->has_no_locks = weft_hint_is(info, WEFT_HINT_NO_LOCKS, "true");
	config->is_noncontig = weft_hint_is(info, WEFT_HINT_NONCONTIG, "true");
	config->align = (size_t)weft_hint_number(
		info, WEFT_HINT_ALIGNMENT, (int64_t)config->align);
}

static int mpi_win_set_info(struct weft_win *win, const struct weft_info *info)
{
	if (!win->info)
		win->info = weft_info_create();
	return win->info ? weft_hint_accept(hint_object(win->flavor), false,
				   info, win->info)
			 : WEFT_ERR_NOMEM;
}

static int mpi_win_get_info(
	const struct weft_win *win, struct weft_info **info_out)
{
	return weft_hint_in_effect(hint_object(win->flavor), win->info,
		win->comm->child.session, info_out);
}

/* ---- creation ---- */

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

/* Creates the window from config and hints, and stores the hints in it. */
static int win_make(struct weft_comm *comm, struct weft_win_config *config,
	MPI_Info info, struct weft_win **made_out)
{
	struct weft_info *asked = NULL, *hints = NULL;
	int err = weft_check_info_or_null(info, &asked);

	if (!err && asked) {
		hints = weft_info_create();
		err = hints ? weft_hint_accept(hint_object(config->flavor),
				      true, asked, hints)
			    : WEFT_ERR_NOMEM;
	}
	if (!err) {
		apply_hints(config, hints);
		err = weft_win_create(comm, config, made_out);
	}
	if (err)
		weft_info_destroy(hints);
	else
		(*made_out)->info = hints;
	return err;
}

/* The arguments of all flavors. */
struct win_args {
	MPI_Info info;
	MPI_Comm comm;
	void *baseptr; /* where the address is returned; NULL for flavors
			  without one */
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
	if (!err && (config->flavor == WEFT_WIN_ALLOCATE ||
			    config->flavor == WEFT_WIN_SHARED))
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
	if (!err) /* a delete function may have started an epoch */
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
