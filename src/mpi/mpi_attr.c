/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_attr: attributes of communicators and types, keys of all kinds */
#include "mpi_attr.h"
#include "mpi_check.h"

#include "core/attr.h"
#include "core/errcode.h"
#include "transport/proc.h"
#include "session/session.h"

static int mpi_attr_end(const char *func, int err)
{
	return weft_likely(!err) ? MPI_SUCCESS : weft_mpi_raise_none(func, err);
}

/* ---- keys ---- */

/* The argument's name, which MPI_Keyval_create has without its beginning. */
static const char *key_name(int kind)
{
	return kind == WEFT_KIND_TYPE  ? "type_keyval"
	       : kind == WEFT_KIND_WIN ? "win_keyval"
				       : "comm_keyval";
}

/* The user's functions differ only in the handle's type, which is a pointer
 * for each kind of object. */
static int mpi_attr_create(int kind, enum weft_attr_lang lang,
	void (*copy)(void), void (*del)(void), void *extra, int *keyval)
{
	int err = weft_check_ptr(keyval, key_name(kind));

	return err ? err
		   : weft_keyval_create(kind, lang, (weft_attr_copy_fn *)copy,
			     (weft_attr_delete_fn *)del, extra, keyval);
}

static int free_key(int kind, int *keyval)
{
	int err = weft_check_ptr(keyval, key_name(kind));

	if (!err)
		err = weft_keyval_free(kind, *keyval);
	if (!err)
		*keyval = MPI_KEYVAL_INVALID;
	return err;
}

typedef void plain_fn(void);

int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy,
	MPI_Comm_delete_attr_function *del, int *keyval, void *extra_state)
{
	return mpi_attr_end("MPI_Comm_create_keyval",
		mpi_attr_create(WEFT_KIND_COMM, WEFT_ATTR_C, (plain_fn *)copy,
			(plain_fn *)del, extra_state, keyval));
}

int PMPI_Keyval_create(MPI_Copy_function *copy, MPI_Delete_function *del,
	int *keyval, void *extra_state)
{
	return mpi_attr_end("MPI_Keyval_create",
		mpi_attr_create(WEFT_KIND_COMM, WEFT_ATTR_C, (plain_fn *)copy,
			(plain_fn *)del, extra_state, keyval));
}

int PMPI_Type_create_keyval(MPI_Type_copy_attr_function *copy,
	MPI_Type_delete_attr_function *del, int *keyval, void *extra_state)
{
	return mpi_attr_end("MPI_Type_create_keyval",
		mpi_attr_create(WEFT_KIND_TYPE, WEFT_ATTR_C, (plain_fn *)copy,
			(plain_fn *)del, extra_state, keyval));
}

int PMPI_Win_create_keyval(MPI_Win_copy_attr_function *copy,
	MPI_Win_delete_attr_function *del, int *keyval, void *extra_state)
{
	return mpi_attr_end("MPI_Win_create_keyval",
		mpi_attr_create(WEFT_KIND_WIN, WEFT_ATTR_C, (plain_fn *)copy,
			(plain_fn *)del, extra_state, keyval));
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

int PMPI_Comm_free_keyval(int *keyval)
{
	return mpi_attr_end(
		"MPI_Comm_free_keyval", free_key(WEFT_KIND_COMM, keyval));
}

int PMPI_Keyval_free(int *keyval)
{
	return mpi_attr_end(
		"MPI_Keyval_free", free_key(WEFT_KIND_COMM, keyval));
}

int PMPI_Type_free_keyval(int *keyval)
{
	return mpi_attr_end(
		"MPI_Type_free_keyval", free_key(WEFT_KIND_TYPE, keyval));
}

int PMPI_Win_free_keyval(int *keyval)
{
	return mpi_attr_end(
		"MPI_Win_free_keyval", free_key(WEFT_KIND_WIN, keyval));
}

/* ---- communicators ---- */

static bool is_predefined(int keyval)
{
	return keyval >= MPI_TAG_UB && keyval <= MPI_UNIVERSE_SIZE;
}

/* Address of a predefined attribute's value. */
static const void *predefined(const struct weft_comm *comm, int keyval)
{
	static const int tag_ub = WEFT_TAG_UB, host = MPI_PROC_NULL,
			 io = MPI_ANY_SOURCE, is_global = 0;
	const int *nic_ub;

	switch (keyval) {
	case MPI_TAG_UB:
		nic_ub = weft_nic_tag_ub(comm);
		return nic_ub ? nic_ub : &tag_ub;
	case MPI_HOST:
		return &host;
	case MPI_IO:
		return &io;
	case MPI_WTIME_IS_GLOBAL:
		return &is_global;
	case MPI_APPNUM:
		return &weft_proc.facts.appnum;
	case MPI_UNIVERSE_SIZE:
		return &weft_proc.facts.univ_size;
	default:
		return weft_errcode_last_peek();
	}
}

/* What describes the World is not found on a session's communicators, but
 * for the largest tag. */
static bool has_predefined(const struct weft_comm *comm, int keyval)
{
	const struct weft_session *session = comm->child.session;

	if (keyval == MPI_UNIVERSE_SIZE && !weft_proc.facts.univ_size)
		return false;
	return keyval == MPI_TAG_UB || !session ||
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

static int set_comm(MPI_Comm comm, int keyval, enum weft_attr_lang lang,
	intptr_t value, const char *func)
{
	struct weft_comm *of = NULL;
	int err = weft_check_comm(comm, &of);

	if (!err)
		err = check_not_predefined(keyval);
	if (!err)
		err = weft_attr_set(
			&of->attrs, WEFT_KIND_COMM, comm, keyval, lang, value);
	return weft_mpi_end(of, func, err);
}

static int get_comm(MPI_Comm comm, int keyval, enum weft_attr_lang lang,
	void *attribute_val, int *flag, const char *func)
{
	struct weft_comm *of = NULL;
	intptr_t value = 0;
	bool found = true;
	int err = weft_check_comm(comm, &of);

	if (!err)
		err = weft_check_ptr(attribute_val, "attribute_val");
	if (!err)
		err = weft_check_ptr(flag, "flag");
	if (!err && is_predefined(keyval)) {
		const int *set = predefined(of, keyval);

		found = has_predefined(of, keyval);
		value = lang == WEFT_ATTR_C ? (intptr_t)set : *set;
	} else if (!err) {
		err = weft_attr_get(&of->attrs, WEFT_KIND_COMM, keyval, lang,
			&value, &found);
	}
	if (err)
		return weft_mpi_raise(of, func, err);
	*flag = found;
	if (found)
		memcpy(attribute_val, &value, sizeof(value));
	return MPI_SUCCESS;
}

static int delete_comm(MPI_Comm comm, int keyval, const char *func)
{
	struct weft_comm *of = NULL;
	int err = weft_check_comm(comm, &of);

	if (!err)
		err = check_not_predefined(keyval);
	if (!err)
		err = weft_attr_delete(
			&of->attrs, WEFT_KIND_COMM, comm, keyval);
	return weft_mpi_end(of, func, err);
}

int PMPI_Comm_set_attr(MPI_Comm comm, int keyval, void *attribute_val)
{
	return set_comm(comm, keyval, WEFT_ATTR_C, (intptr_t)attribute_val,
		"MPI_Comm_set_attr");
}

int weft_f_comm_set_attr(MPI_Comm comm, int keyval, MPI_Aint value)
{
	return set_comm(
		comm, keyval, WEFT_ATTR_FORTRAN, value, "MPI_Comm_set_attr");
}

int PMPI_Attr_put(MPI_Comm comm, int keyval, void *attribute_val)
{
	return set_comm(comm, keyval, WEFT_ATTR_C, (intptr_t)attribute_val,
		"MPI_Attr_put");
}

int PMPI_Comm_get_attr(
	MPI_Comm comm, int keyval, void *attribute_val, int *flag)
{
	return get_comm(comm, keyval, WEFT_ATTR_C, attribute_val, flag,
		"MPI_Comm_get_attr");
}

int weft_f_comm_get_attr(
	MPI_Comm comm, int keyval, MPI_Aint *value_out, int *flag_out)
{
	return get_comm(comm, keyval, WEFT_ATTR_FORTRAN, value_out, flag_out,
		"MPI_Comm_get_attr");
}

int PMPI_Attr_get(MPI_Comm comm, int keyval, void *attribute_val, int *flag)
{
	return get_comm(
		comm, keyval, WEFT_ATTR_C, attribute_val, flag, "MPI_Attr_get");
}

int PMPI_Comm_delete_attr(MPI_Comm comm, int keyval)
{
	return delete_comm(comm, keyval, "MPI_Comm_delete_attr");
}

int PMPI_Attr_delete(MPI_Comm comm, int keyval)
{
	return delete_comm(comm, keyval, "MPI_Attr_delete");
}

/* ---- types ---- */

static struct weft_attrs **type_attrs(struct weft_type *type)
{
	return (struct weft_attrs **)(void *)&type->attrs;
}

static int set_type(MPI_Datatype datatype, int keyval, enum weft_attr_lang lang,
	intptr_t value)
{
	struct weft_type *type = NULL;
	int err = weft_check_type(datatype, &type);

	if (!err)
		err = weft_attr_set(type_attrs(type), WEFT_KIND_TYPE, datatype,
			keyval, lang, value);
	return mpi_attr_end("MPI_Type_set_attr", err);
}

static int get_type(MPI_Datatype datatype, int keyval, enum weft_attr_lang lang,
	void *attribute_val, int *flag)
{
	struct weft_type *type = NULL;
	intptr_t value = 0;
	bool found = false;
	int err = weft_check_type(datatype, &type);

	if (!err)
		err = weft_check_ptr(attribute_val, "attribute_val");
	if (!err)
		err = weft_check_ptr(flag, "flag");
	if (!err)
		err = weft_attr_get(type_attrs(type), WEFT_KIND_TYPE, keyval,
			lang, &value, &found);
	if (err)
		return mpi_attr_end("MPI_Type_get_attr", err);
	*flag = found;
	if (found)
		memcpy(attribute_val, &value, sizeof(value));
	return MPI_SUCCESS;
}

int PMPI_Type_set_attr(MPI_Datatype datatype, int keyval, void *attribute_val)
{
	return set_type(datatype, keyval, WEFT_ATTR_C, (intptr_t)attribute_val);
}

int weft_f_type_set_attr(MPI_Datatype datatype, int keyval, MPI_Aint value)
{
	return set_type(datatype, keyval, WEFT_ATTR_FORTRAN, value);
}

int PMPI_Type_get_attr(
	MPI_Datatype datatype, int keyval, void *attribute_val, int *flag)
{
	return get_type(datatype, keyval, WEFT_ATTR_C, attribute_val, flag);
}

int weft_f_type_get_attr(
	MPI_Datatype datatype, int keyval, MPI_Aint *value_out, int *flag_out)
{
	return get_type(
		datatype, keyval, WEFT_ATTR_FORTRAN, value_out, flag_out);
}

int PMPI_Type_delete_attr(MPI_Datatype datatype, int keyval)
{
	struct weft_type *type = NULL;
	int err = weft_check_type(datatype, &type);

	if (!err)
		err = weft_attr_delete(
			type_attrs(type), WEFT_KIND_TYPE, datatype, keyval);
	return mpi_attr_end("MPI_Type_delete_attr", err);
}

#include "api_attr.h"
