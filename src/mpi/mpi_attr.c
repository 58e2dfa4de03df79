/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_attr: attributes of communicators, types and windows, and their keys */
#include "mpi_attr.h"
#include "mpi_check.h"

#include "core/attr.h"
#include "core/errcode.h"
#include "transport/proc.h"
#include "session/session.h"

#include <mpix.h>

static int mpi_attr_end(const char *func, int err)
{
	return weft_likely(!err) ? MPI_SUCCESS : weft_mpi_raise_none(func, err);
}

/* ---- keys ---- */

typedef void plain_fn(void);

/* The user's functions for the three kinds of object differ only in the type of
 * the handle. All handles are pointers. */
static int mpi_attr_create(int kind, enum weft_attr_lang lang, plain_fn *copy,
	plain_fn *del, void *extra, int *keyval)
{
	return weft_keyval_create(kind, lang, (weft_attr_copy_fn *)copy,
		(weft_attr_delete_fn *)del, extra, keyval);
}

static int free_key(int kind, int *keyval)
{
	int err = weft_keyval_free(kind, *keyval);

	if (!err)
		*keyval = MPI_KEYVAL_INVALID;
	return err;
}

static int mpi_comm_create_keyval(MPI_Comm_copy_attr_function *copy,
	MPI_Comm_delete_attr_function *del, int *keyval, void *extra_state)
{
	return mpi_attr_create(WEFT_KIND_COMM, WEFT_ATTR_C, (plain_fn *)copy,
		(plain_fn *)del, extra_state, keyval);
}

static int mpi_keyval_create(MPI_Copy_function *copy, MPI_Delete_function *del,
	int *keyval, void *extra_state)
{
	return mpi_comm_create_keyval(copy, del, keyval, extra_state);
}

static int mpi_type_create_keyval(MPI_Type_copy_attr_function *copy,
	MPI_Type_delete_attr_function *del, int *keyval, void *extra_state)
{
	return mpi_attr_create(WEFT_KIND_TYPE, WEFT_ATTR_C, (plain_fn *)copy,
		(plain_fn *)del, extra_state, keyval);
}

static int mpi_win_create_keyval(MPI_Win_copy_attr_function *copy,
	MPI_Win_delete_attr_function *del, int *keyval, void *extra_state)
{
	return mpi_attr_create(WEFT_KIND_WIN, WEFT_ATTR_C, (plain_fn *)copy,
		(plain_fn *)del, extra_state, keyval);
}

int weft_f_comm_create_keyval(MPI_Comm_copy_attr_function *copy,
	MPI_Comm_delete_attr_function *del, int *keyval_out, void *extra)
{
	return mpi_attr_end("MPI_Comm_create_keyval",
		mpi_attr_create(WEFT_KIND_COMM, WEFT_ATTR_FORTRAN,
			(plain_fn *)copy, (plain_fn *)del, extra, keyval_out));
}

int weft_f_type_create_keyval(MPI_Type_copy_attr_function *copy,
	MPI_Type_delete_attr_function *del, int *keyval_out, void *extra)
{
	return mpi_attr_end("MPI_Type_create_keyval",
		mpi_attr_create(WEFT_KIND_TYPE, WEFT_ATTR_FORTRAN,
			(plain_fn *)copy, (plain_fn *)del, extra, keyval_out));
}

int weft_f_win_create_keyval(MPI_Win_copy_attr_function *copy,
	MPI_Win_delete_attr_function *del, int *keyval_out, void *extra)
{
	return mpi_attr_end("MPI_Win_create_keyval",
		mpi_attr_create(WEFT_KIND_WIN, WEFT_ATTR_FORTRAN,
			(plain_fn *)copy, (plain_fn *)del, extra, keyval_out));
}

static int mpi_comm_free_keyval(int *keyval)
{
	return free_key(WEFT_KIND_COMM, keyval);
}

static int mpi_keyval_free(int *keyval)
{
	return free_key(WEFT_KIND_COMM, keyval);
}

static int mpi_type_free_keyval(int *keyval)
{
	return free_key(WEFT_KIND_TYPE, keyval);
}

static int mpi_win_free_keyval(int *keyval)
{
	return free_key(WEFT_KIND_WIN, keyval);
}

/* ---- communicators ---- */

static bool is_predefined(int keyval)
{
	return (keyval >= MPI_TAG_UB && keyval <= MPI_UNIVERSE_SIZE) ||
	       keyval == MPIX_FT;
}

/* Returns the address of a predefined attribute's value. */
static const void *predefined(int keyval)
{
	static const int tag_ub = WEFT_TAG_UB, host = MPI_PROC_NULL,
			 io = MPI_ANY_SOURCE, is_global = 0, ft[] = { 0, 1 };

	switch (keyval) {
	case MPI_TAG_UB:
		return &tag_ub;
	case MPI_HOST:
		return &host;
	case MPI_IO:
		return &io;
	case MPI_WTIME_IS_GLOBAL:
		return &is_global;
	case MPIX_FT:
		return &ft[weft_knob_is_on(weft_knobs.ft)];
	case MPI_APPNUM:
		return &weft_proc.facts.appnum;
	case MPI_UNIVERSE_SIZE:
		return &weft_proc.facts.univ_size;
	default:
		return weft_errcode_last_peek();
	}
}

/* True if the communicator has the predefined attribute. Communicators of a
 * session have only MPI_TAG_UB and MPIX_FT, because all other predefined
 * attributes describe the World. */
static bool has_predefined(const struct weft_comm *comm, int keyval)
{
	const struct weft_session *session = comm->child.session;

	if (keyval == MPI_UNIVERSE_SIZE && !weft_proc.facts.univ_size)
		return false;
	return keyval == MPI_TAG_UB || keyval == MPIX_FT || !session ||
	       session == weft_world.session;
}

static int check_not_predefined(int keyval)
{
	return is_predefined(keyval)
		       ? weft_err_set(WEFT_ERR_KEYVAL,
				 "keyval %d is predefined and cannot be "
				 "changed",
				 keyval)
		       : 0;
}

static int set_comm(struct weft_comm *comm, int keyval,
	enum weft_attr_lang lang, intptr_t value)
{
	int err = check_not_predefined(keyval);

	return err ? err
		   : weft_attr_set(&comm->attrs, WEFT_KIND_COMM,
			     weft_mpi_comm_handle(comm), keyval, lang, value);
}

/* Returns an attribute, as an address or an integer. */
static int put_attr(int err, bool found, intptr_t value, void *to, int *flag)
{
	if (err)
		return err;
	*flag = found;
	if (found)
		memcpy(to, &value, sizeof(value));
	return 0;
}

static int get_comm(const struct weft_comm *comm, int keyval,
	enum weft_attr_lang lang, void *attribute_val, int *flag)
{
	intptr_t value = 0;
	bool found = true;
	int err = 0;

	if (is_predefined(keyval)) {
		const int *set = predefined(keyval);

		found = has_predefined(comm, keyval);
		value = lang == WEFT_ATTR_C ? (intptr_t)set : *set;
	} else {
		err = weft_attr_get(&comm->attrs, WEFT_KIND_COMM, keyval, lang,
			&value, &found);
	}
	return put_attr(err, found, value, attribute_val, flag);
}

static int mpi_comm_set_attr(
	struct weft_comm *comm, int keyval, void *attribute_val)
{
	return set_comm(comm, keyval, WEFT_ATTR_C, (intptr_t)attribute_val);
}

static int mpi_attr_put(struct weft_comm *comm, int keyval, void *attribute_val)
{
	return mpi_comm_set_attr(comm, keyval, attribute_val);
}

int weft_f_comm_set_attr(MPI_Comm comm, int keyval, MPI_Aint value)
{
	struct weft_comm *of = NULL;
	int err = weft_check_comm(comm, &of);

	if (!err)
		err = set_comm(of, keyval, WEFT_ATTR_FORTRAN, value);
	return weft_mpi_end(of, "MPI_Comm_set_attr", err);
}

static int mpi_comm_get_attr(const struct weft_comm *comm, int keyval,
	void *attribute_val, int *flag)
{
	return get_comm(comm, keyval, WEFT_ATTR_C, attribute_val, flag);
}

static int mpi_attr_get(const struct weft_comm *comm, int keyval,
	void *attribute_val, int *flag)
{
	return mpi_comm_get_attr(comm, keyval, attribute_val, flag);
}

int weft_f_comm_get_attr(
	MPI_Comm comm, int keyval, MPI_Aint *value_out, int *flag_out)
{
	struct weft_comm *of = NULL;
	int err = weft_check_comm(comm, &of);

	if (!err)
		err = get_comm(
			of, keyval, WEFT_ATTR_FORTRAN, value_out, flag_out);
	return weft_mpi_end(of, "MPI_Comm_get_attr", err);
}

static int mpi_comm_delete_attr(struct weft_comm *comm, int keyval)
{
	int err = check_not_predefined(keyval);

	return err ? err
		   : weft_attr_delete(&comm->attrs, WEFT_KIND_COMM,
			     weft_mpi_comm_handle(comm), keyval);
}

static int mpi_attr_delete(struct weft_comm *comm, int keyval)
{
	return mpi_comm_delete_attr(comm, keyval);
}

/* ---- types ---- */

static struct weft_attrs **type_attrs(struct weft_type *type)
{
	return (struct weft_attrs **)(void *)&type->attrs;
}

static int set_type(struct weft_type *type, int keyval,
	enum weft_attr_lang lang, intptr_t value)
{
	return weft_attr_set(type_attrs(type), WEFT_KIND_TYPE,
		weft_mpi_type_handle(type), keyval, lang, value);
}

static int get_type(struct weft_type *type, int keyval,
	enum weft_attr_lang lang, void *attribute_val, int *flag)
{
	intptr_t value = 0;
	bool found = false;
	int err = weft_attr_get(
		type_attrs(type), WEFT_KIND_TYPE, keyval, lang, &value, &found);

	return put_attr(err, found, value, attribute_val, flag);
}

static int mpi_type_set_attr(
	struct weft_type *type, int keyval, void *attribute_val)
{
	return set_type(type, keyval, WEFT_ATTR_C, (intptr_t)attribute_val);
}

int weft_f_type_set_attr(MPI_Datatype datatype, int keyval, MPI_Aint value)
{
	struct weft_type *type = NULL;
	int err = weft_check_type(datatype, &type);

	if (!err)
		err = set_type(type, keyval, WEFT_ATTR_FORTRAN, value);
	return mpi_attr_end("MPI_Type_set_attr", err);
}

static int mpi_type_get_attr(
	struct weft_type *type, int keyval, void *attribute_val, int *flag)
{
	return get_type(type, keyval, WEFT_ATTR_C, attribute_val, flag);
}

int weft_f_type_get_attr(
	MPI_Datatype datatype, int keyval, MPI_Aint *value_out, int *flag_out)
{
	struct weft_type *type = NULL;
	int err = weft_check_type(datatype, &type);

	if (!err)
		err = get_type(
			type, keyval, WEFT_ATTR_FORTRAN, value_out, flag_out);
	return mpi_attr_end("MPI_Type_get_attr", err);
}

static int mpi_type_delete_attr(struct weft_type *type, int keyval)
{
	return weft_attr_delete(type_attrs(type), WEFT_KIND_TYPE,
		weft_mpi_type_handle(type), keyval);
}

/* ---- windows ---- */

/* Returns a predefined attribute as C reads it: the base address for
 * MPI_WIN_BASE, and the address of a constant number for the others. */
static const void *win_predefined(const struct weft_win *win, int keyval)
{
	static const int flavors[] = {
		[WEFT_WIN_CREATE] = MPI_WIN_FLAVOR_CREATE,
		[WEFT_WIN_ALLOCATE] = MPI_WIN_FLAVOR_ALLOCATE,
		[WEFT_WIN_DYNAMIC] = MPI_WIN_FLAVOR_DYNAMIC,
		[WEFT_WIN_SHARED] = MPI_WIN_FLAVOR_SHARED,
	};
	static const int models[] = { MPI_WIN_SEPARATE, MPI_WIN_UNIFIED };

	switch (keyval) {
	case MPI_WIN_BASE:
		return win->base;
	case MPI_WIN_SIZE:
		return &win->size;
	case MPI_WIN_DISP_UNIT:
		return &win->disp_unit; /* C reads an int: the lower half */
	case MPI_WIN_CREATE_FLAVOR:
		return &flavors[win->flavor];
	default: /* MPI_WIN_MODEL */
		return &models[win->is_unified];
	}
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "MPI_WIN_DISP_UNIT");
_Static_assert(sizeof(size_t) == sizeof(MPI_Aint), "MPI_WIN_SIZE");

static bool is_win_predefined(int keyval)
{
	return keyval >= MPI_WIN_BASE && keyval <= MPI_WIN_MODEL;
}

/* Returns a predefined attribute as C or Fortran reads it. */
static intptr_t win_predefined_in(
	const struct weft_win *win, int keyval, enum weft_attr_lang lang)
{
	const void *at = win_predefined(win, keyval);

	if (lang == WEFT_ATTR_C || keyval == MPI_WIN_BASE)
		return (intptr_t)at;
	if (keyval == MPI_WIN_SIZE)
		return (intptr_t)win->size;
	if (keyval == MPI_WIN_DISP_UNIT)
		return (intptr_t)win->disp_unit;
	return *(const int *)at;
}

static int check_not_win_predefined(int keyval)
{
	return is_win_predefined(keyval)
		       ? weft_err_set(WEFT_ERR_KEYVAL,
				 "win_keyval %d is predefined and cannot be "
				 "changed",
				 keyval)
		       : 0;
}

static int set_win(
	MPI_Win win, int keyval, enum weft_attr_lang lang, intptr_t value)
{
	struct weft_win *of = NULL;
	int err = weft_check_win(win, &of);

	if (!err)
		err = check_not_win_predefined(keyval);
	if (!err)
		err = weft_attr_set(
			&of->attrs, WEFT_KIND_WIN, win, keyval, lang, value);
	return weft_mpi_end_win(of, "MPI_Win_set_attr", err);
}

static int get_win(MPI_Win win, int keyval, enum weft_attr_lang lang,
	void *attribute_val, int *flag)
{
	struct weft_win *of = NULL;
	intptr_t value = 0;
	bool found = true;
	int err = weft_check_win(win, &of);

	if (!err)
		err = weft_check_ptr(attribute_val, "attribute_val");
	if (!err)
		err = weft_check_ptr(flag, "flag");
	if (!err && is_win_predefined(keyval))
		value = win_predefined_in(of, keyval, lang);
	else if (!err)
		err = weft_attr_get(&of->attrs, WEFT_KIND_WIN, keyval, lang,
			&value, &found);
	if (err)
		return weft_mpi_raise_win(of, "MPI_Win_get_attr", err);
	*flag = found;
	if (found)
		memcpy(attribute_val, &value, sizeof(value));
	return MPI_SUCCESS;
}

int PMPI_Win_set_attr(MPI_Win win, int keyval, void *attribute_val)
{
	return set_win(win, keyval, WEFT_ATTR_C, (intptr_t)attribute_val);
}

int weft_f_win_set_attr(MPI_Win win, int keyval, MPI_Aint value)
{
	return set_win(win, keyval, WEFT_ATTR_FORTRAN, value);
}

int PMPI_Win_get_attr(MPI_Win win, int keyval, void *attribute_val, int *flag)
{
	return get_win(win, keyval, WEFT_ATTR_C, attribute_val, flag);
}

int weft_f_win_get_attr(
	MPI_Win win, int keyval, MPI_Aint *value_out, int *flag_out)
{
	return get_win(win, keyval, WEFT_ATTR_FORTRAN, value_out, flag_out);
}

int PMPI_Win_delete_attr(MPI_Win win, int keyval)
{
	struct weft_win *of = NULL;
	int err = weft_check_win(win, &of);

	if (!err)
		err = check_not_win_predefined(keyval);
	if (!err)
		err = weft_attr_delete(&of->attrs, WEFT_KIND_WIN, win, keyval);
	return weft_mpi_end_win(of, "MPI_Win_delete_attr", err);
}

#include "api_attr.h"
