/* SPDX-License-Identifier: BSD-3-Clause */
/* fortran_call: Fortran procedures that the library calls
 *
 * Operations and error handlers are called directly: they get the address of a
 * C handle, whose low half is the Fortran handle. Attribute functions, request
 * functions and conversion functions take arguments by reference and have a
 * wrapper. The extra state of a generalized request or a representation is the
 * program's variable, as in other libraries. A key stores a copy of its extra
 * state, because the key may outlive the variable. */
#include "fortran.h"
#include "mpi/mpi_attr.h"

#include <pthread.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "handles in halves");

/* ---- attributes ---- */

typedef void copy_fn(int *object, int *keyval, MPI_Aint *extra, MPI_Aint *in,
	MPI_Aint *out, int *flag, int *ierror);
typedef void delete_fn(int *object, int *keyval, MPI_Aint *value,
	MPI_Aint *extra, int *ierror);
typedef void old_copy_fn(int *comm, int *keyval, int *extra, int *in, int *out,
	int *flag, int *ierror);
typedef void old_delete_fn(
	int *comm, int *keyval, int *value, int *extra, int *ierror);

/* The functions of a key. A key may exist after its handle is freed, so its
 * record is never freed. Keys with the same functions and extra state share a
 * record. */
struct key {
	struct key *next;
	weft_f_fn *copy, *del;
	MPI_Aint extra;
};

/* All records. The lock guards the list; records are immutable. */
static struct {
	pthread_mutex_t lock;
	struct key *first;
} keys = { PTHREAD_MUTEX_INITIALIZER, NULL };

static struct key *fortran_call_key_of(
	weft_f_fn *copy, weft_f_fn *del, MPI_Aint extra)
{
	struct key *key;

	pthread_mutex_lock(&keys.lock);
	for (key = keys.first; key; key = key->next)
		if (key->copy == copy && key->del == del && key->extra == extra)
			break;
	if (!key) {
		key = calloc(1, sizeof(*key));
		if (key) {
			*key = (struct key){ keys.first, copy, del, extra };
			keys.first = key;
		}
	}
	pthread_mutex_unlock(&keys.lock);
	return key;
}

static int fortran_call_copy(
	int object, int keyval, struct key *key, void *in, void *out, int *flag)
{
	MPI_Aint extra = key->extra, from = (MPI_Aint)in, to = 0;
	int ierror = MPI_SUCCESS;

	*flag = 0;
	((copy_fn *)key->copy)(
		&object, &keyval, &extra, &from, &to, flag, &ierror);
	if (ierror == MPI_SUCCESS && *flag)
		*(void **)out = (void *)to;
	return ierror;
}

static int delete (int object, int keyval, void *value, struct key *key)
{
	MPI_Aint extra = key->extra, was = (MPI_Aint)value;
	int ierror = MPI_SUCCESS;

	((delete_fn *)key->del)(&object, &keyval, &was, &extra, &ierror);
	return ierror;
}

/* clang-format off */
#define KEYVAL(low, noun, ctype)                                              \
	static int low##_copy(ctype object, int keyval, void *key, void *in,  \
		void *out, int *flag)                                         \
	{                                                                     \
		return fortran_call_copy(PMPI_##noun##_toint(object), keyval, key, in,\
			out, flag);                                           \
	}                                                                     \
	static int low##_delete(ctype object, int keyval, void *value,        \
		void *key)                                                    \
	{                                                                     \
		return delete(PMPI_##noun##_toint(object), keyval, value,     \
			key);                                                 \
	}                                                                     \
	void pmpi_##low##_create_keyval_(weft_f_fn *copy_it,                  \
		weft_f_fn *delete_it, int *keyval, const MPI_Aint *extra,     \
		int *ierror)                                                  \
	{                                                                     \
		struct key *key = fortran_call_key_of(copy_it, delete_it, *extra);\
		weft_f_return(ierror, key ? weft_f_##low##_create_keyval(low##_copy,\
			low##_delete, keyval, key) : MPI_ERR_NO_MEM);         \
	}
/* clang-format on */

KEYVAL(comm, Comm, MPI_Comm)
KEYVAL(type, Type, MPI_Datatype)
KEYVAL(win, Win, MPI_Win)

/* clang-format off */
#define ATTR(low, noun)                                                       \
	void pmpi_##low##_set_attr_(const int *of, const int *keyval,         \
		const MPI_Aint *value, int *ierror)                           \
	{                                                                     \
		weft_f_return(ierror, weft_f_##low##_set_attr(            \
			PMPI_##noun##_fromint(*of), *keyval, *value));        \
	}                                                                     \
	void pmpi_##low##_get_attr_(const int *of, const int *keyval,         \
		MPI_Aint *value, int *flag, int *ierror)                      \
	{                                                                     \
		weft_f_return(ierror, weft_f_##low##_get_attr(            \
			PMPI_##noun##_fromint(*of), *keyval, value, flag));   \
	}
/* clang-format on */

ATTR(comm, Comm)
ATTR(type, Type)
ATTR(win, Win)

/* ---- attributes of MPI-1: plain integers ---- */

static int old_copy(MPI_Comm comm, int keyval, void *extra_state, void *in,
	void *out, int *flag)
{
	struct key *key = extra_state;
	int object = PMPI_Comm_toint(comm), extra = (int)key->extra;
	int from = (int)(MPI_Aint)in, to = 0, ierror = MPI_SUCCESS;

	*flag = 0;
	((old_copy_fn *)key->copy)(
		&object, &keyval, &extra, &from, &to, flag, &ierror);
	/* an unchanged value keeps its upper half, which an integer lacks */
	if (ierror == MPI_SUCCESS && *flag)
		*(void **)out = to == from ? in : (void *)(MPI_Aint)to;
	return ierror;
}

static int old_delete(MPI_Comm comm, int keyval, void *value, void *extra_state)
{
	struct key *key = extra_state;
	int object = PMPI_Comm_toint(comm), extra = (int)key->extra;
	int was = (int)(MPI_Aint)value, ierror = MPI_SUCCESS;

	((old_delete_fn *)key->del)(&object, &keyval, &was, &extra, &ierror);
	return ierror;
}

void pmpi_keyval_create_(weft_f_fn *copy_it, weft_f_fn *delete_it, int *keyval,
	const int *extra, int *ierror)
{
	struct key *key = fortran_call_key_of(copy_it, delete_it, *extra);

	weft_f_return(ierror, key ? weft_f_comm_create_keyval(
					    old_copy, old_delete, keyval, key)
				  : MPI_ERR_NO_MEM);
}

void pmpi_attr_put_(
	const int *comm, const int *keyval, const int *value, int *ierror)
{
	weft_f_return(ierror, weft_f_comm_set_attr(PMPI_Comm_fromint(*comm),
				      *keyval, *value));
}

void pmpi_attr_get_(
	const int *comm, const int *keyval, int *value, int *flag, int *ierror)
{
	MPI_Aint whole = *value;

	pmpi_comm_get_attr_(comm, keyval, &whole, flag, ierror);
	*value = (int)whole;
}

/* ---- predefined attribute functions ---- */

/* clang-format off */
#define PREDEFINED(low, integer)                                              \
	void mpi_##low##null_copy_fn_(int *object, int *keyval,               \
		integer *extra, integer *in, integer *out, int *flag,         \
		int *ierror)                                                  \
	{                                                                     \
		(void)object, (void)keyval, (void)extra, (void)in, (void)out; \
		*flag = 0;                                                    \
		*ierror = MPI_SUCCESS;                                        \
	}                                                                     \
	void mpi_##low##dup_fn_(int *object, int *keyval, integer *extra,     \
		integer *in, integer *out, int *flag, int *ierror)            \
	{                                                                     \
		(void)object, (void)keyval, (void)extra;                      \
		*out = *in;                                                   \
		*flag = 1;                                                    \
		*ierror = MPI_SUCCESS;                                        \
	}                                                                     \
	void mpi_##low##null_delete_fn_(int *object, int *keyval,             \
		integer *value, integer *extra, int *ierror)                  \
	{                                                                     \
		(void)object, (void)keyval, (void)value, (void)extra;         \
		*ierror = MPI_SUCCESS;                                        \
	}
/* clang-format on */

PREDEFINED(comm_, MPI_Aint)
PREDEFINED(type_, MPI_Aint)
PREDEFINED(win_, MPI_Aint)
PREDEFINED(, int)

/* ---- generalized requests ---- */

typedef void query_fn(MPI_Aint *extra, MPI_Status *status, int *ierror);
typedef void free_fn(MPI_Aint *extra, int *ierror);
typedef void cancel_fn(MPI_Aint *extra, int *complete, int *ierror);

/* Exists from the start of the request until MPI calls its free function. extra
 * is the program's variable, which its functions may change. */
struct grequest {
	weft_f_fn *query, *free, *cancel;
	MPI_Aint *extra;
};

static int grequest_query(void *extra_state, MPI_Status *status)
{
	struct grequest *g = extra_state;
	int ierror = MPI_SUCCESS;

	((query_fn *)g->query)(g->extra, status, &ierror);
	return ierror;
}

static int grequest_free(void *extra_state)
{
	struct grequest *g = extra_state;
	int ierror = MPI_SUCCESS;

	((free_fn *)g->free)(g->extra, &ierror);
	free(g);
	return ierror;
}

static int grequest_cancel(void *extra_state, int complete)
{
	struct grequest *g = extra_state;
	int ierror = MPI_SUCCESS;

	((cancel_fn *)g->cancel)(g->extra, &complete, &ierror);
	return ierror;
}

void pmpi_grequest_start_(weft_f_fn *query, weft_f_fn *release,
	weft_f_fn *cancel, MPI_Aint *extra, int *request, int *ierror)
{
	struct grequest *g = malloc(sizeof(*g));
	MPI_Request handle;
	int rc = MPI_ERR_NO_MEM;

	if (g) {
		*g = (struct grequest){ query, release, cancel, extra };
		rc = PMPI_Grequest_start(grequest_query, grequest_free,
			grequest_cancel, g, &handle);
	}
	if (rc == MPI_SUCCESS)
		*request = PMPI_Request_toint(handle);
	else
		free(g);
	weft_f_return(ierror, rc);
}

/* ---- representations of file data ---- */

typedef void convert_fn(void *userbuf, int *datatype, int *count, void *filebuf,
	MPI_Offset *position, MPI_Aint *extra, int *ierror);
typedef void convert_large_fn(void *userbuf, int *datatype, MPI_Count *count,
	void *filebuf, MPI_Offset *position, MPI_Aint *extra, int *ierror);
typedef void extent_fn(
	int *datatype, MPI_Aint *extent, MPI_Aint *extra, int *ierror);

/* The functions of a representation, never freed. extra is the program's
 * variable, as for generalized requests. */
struct rep {
	weft_f_fn *read, *write, *extent;
	MPI_Aint *extra;
};

/* The constants MPI_CONVERSION_FN_NULL and _NULL_C; never called. */
void mpi_conversion_fn_null_(void)
{
}

void mpi_conversion_fn_null_c_(void)
{
}

static bool is_no_conversion(weft_f_fn *fn)
{
	return fn == mpi_conversion_fn_null_ || fn == mpi_conversion_fn_null_c_;
}

/* clang-format off */
#define CONVERSION(name, which, number, type)                                 \
	static int name(void *userbuf, MPI_Datatype datatype, number count,   \
		void *filebuf, MPI_Offset position, void *extra_state)        \
	{                                                                     \
		struct rep *rep = extra_state;                                \
		int of = PMPI_Type_toint(datatype), ierror = MPI_SUCCESS;     \
		((type *)rep->which)(userbuf, &of, &count, filebuf,           \
			&position, rep->extra, &ierror);                      \
		return ierror;                                                \
	}
/* clang-format on */

CONVERSION(rep_read, read, int, convert_fn)
CONVERSION(rep_write, write, int, convert_fn)
CONVERSION(rep_read_large, read, MPI_Count, convert_large_fn)
CONVERSION(rep_write_large, write, MPI_Count, convert_large_fn)

static int rep_extent(
	MPI_Datatype datatype, MPI_Aint *extent, void *extra_state)
{
	struct rep *rep = extra_state;
	int of = PMPI_Type_toint(datatype), ierror = MPI_SUCCESS;

	((extent_fn *)rep->extent)(&of, extent, rep->extra, &ierror);
	return ierror;
}

static struct rep *rep_make(
	weft_f_fn *read, weft_f_fn *write, weft_f_fn *extent, MPI_Aint *extra)
{
	struct rep *rep = malloc(sizeof(*rep));

	if (rep)
		*rep = (struct rep){ read, write, extent, extra };
	return rep;
}

/* Frees the name; after a failure, also frees the record. */
static int rep_finish(int rc, struct rep *rep, char *name)
{
	if (rc != MPI_SUCCESS)
		free(rep);
	free(name);
	return rc;
}

/* clang-format off */
#define REGISTER(low, Name, read_it, write_it)                                \
	void pmpi_##low##_(const char *datarep, weft_f_fn *read,              \
		weft_f_fn *write, weft_f_fn *extent, MPI_Aint *extra,         \
		int *ierror, size_t datarep_len)                              \
	{                                                                     \
		char *name = weft_f_string(datarep, datarep_len);             \
		struct rep *rep = rep_make(read, write, extent, extra);       \
		int rc = MPI_ERR_NO_MEM;                                      \
		if (name && rep)                                              \
			rc = PMPI_##Name(name,                                \
				is_no_conversion(read) ? NULL : read_it,      \
				is_no_conversion(write) ? NULL : write_it,    \
				rep_extent, rep);                             \
		weft_f_return(ierror, rep_finish(rc, rep, name));         \
	}
/* clang-format on */

REGISTER(register_datarep, Register_datarep, rep_read, rep_write)
REGISTER(
	register_datarep_c, Register_datarep_c, rep_read_large, rep_write_large)

#include "fortran/f_calls.h"
