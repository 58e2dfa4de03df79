/* SPDX-License-Identifier: BSD-3-Clause */
/* fortran_hand: procedures that the generator cannot describe */
#include "fortran.h"

#include "base/log.h"

#include <stdatomic.h>
#include <string.h>

/* The functions weft_f_* of libmpi_abi have no version node, because its MPI
 * names have none. This reference to libweft has one (src/weft.map.in), so the
 * loader refuses a libweft_fortran of another build than libweft and
 * libmpi_abi. */
static void (*const hand_needs_build)(enum weft_log_level level, const char *id,
	const char *fmt, ...) __attribute__((used)) = weft_log_write;

/* ---- environment ---- */

__attribute__((weak)) void mpi_init_(int *ierror)
{
	weft_f_return(ierror, MPI_Init(NULL, NULL));
}

void pmpi_init_(int *ierror)
{
	weft_f_return(ierror, PMPI_Init(NULL, NULL));
}

__attribute__((weak)) void mpi_init_thread_(
	const int *required, int *provided, int *ierror)
{
	weft_f_return(ierror, MPI_Init_thread(NULL, NULL, *required, provided));
}

void pmpi_init_thread_(const int *required, int *provided, int *ierror)
{
	weft_f_return(
		ierror, PMPI_Init_thread(NULL, NULL, *required, provided));
}

void pmpi_info_create_env_(int *info, int *ierror)
{
	MPI_Info handle;
	int rc = PMPI_Info_create_env(0, NULL, &handle);

	if (rc == MPI_SUCCESS)
		*info = PMPI_Info_toint(handle);
	weft_f_return(ierror, rc);
}

void pmpi_pcontrol_(const int *level)
{
	PMPI_Pcontrol(*level);
}

double pmpi_wtime_(void)
{
	return PMPI_Wtime();
}

double pmpi_wtick_(void)
{
	return PMPI_Wtick();
}

MPI_Aint pmpi_aint_add_(const MPI_Aint *base, const MPI_Aint *disp)
{
	return PMPI_Aint_add(*base, *disp);
}

MPI_Aint pmpi_aint_diff_(const MPI_Aint *addr1, const MPI_Aint *addr2)
{
	return PMPI_Aint_diff(*addr1, *addr2);
}

WEFT_F_ALIAS(mpi_pcontrol_, pmpi_pcontrol_)
WEFT_F_ALIAS(mpi_wtime_, pmpi_wtime_)
WEFT_F_ALIAS(mpi_wtick_, pmpi_wtick_)
WEFT_F_ALIAS(mpi_aint_add_, pmpi_aint_add_)
WEFT_F_ALIAS(mpi_aint_diff_, pmpi_aint_diff_)

void pmpi_sizeof_f08ts_(const CFI_cdesc_t *x, int *size, int *ierror)
{
	*size = (int)x->elem_len;
	weft_f_return(ierror, MPI_SUCCESS);
}

/* The call itself makes the compiler reload the variable. */
void pmpi_f_sync_reg_f08ts_(CFI_cdesc_t *buf)
{
	(void)buf;
}

void pmpi_f_sync_reg_(void *buf)
{
	(void)buf;
}

WEFT_F_ALIAS(mpi_sizeof_f08ts_, pmpi_sizeof_f08ts_)
WEFT_F_ALIAS(mpi_f_sync_reg_f08ts_, pmpi_f_sync_reg_f08ts_)
WEFT_F_ALIAS(mpi_f_sync_reg_, pmpi_f_sync_reg_)

/* ---- buffers: only mpi_f08 returns the address ---- */

/* clang-format off */
#define DETACH_AS(attribute, p, low, call, type)                              \
	attribute void p##mpi_##low##_f08_(void **addr, type *size,           \
		int *ierror)                                                  \
	{                                                                     \
		weft_f_return(ierror, call(addr, size));                      \
	}                                                                     \
	attribute void p##mpi_##low##_(void *unused, type *size, int *ierror) \
	{                                                                     \
		void *addr;                                                   \
		(void)unused;                                                 \
		weft_f_return(ierror, call(&addr, size));                     \
	}
#define DETACH(low, name, type)                                               \
	DETACH_AS(__attribute__((weak)), , low, MPI_##name, type)             \
	DETACH_AS(, p, low, PMPI_##name, type)
#define DETACH_OF_AS(attribute, p, low, call, noun, type)                     \
	attribute void p##mpi_##low##_f08_(const int *of, void **addr,        \
		type *size, int *ierror)                                      \
	{                                                                     \
		weft_f_return(ierror,                                         \
			call(PMPI_##noun##_fromint(*of), addr, size));        \
	}                                                                     \
	attribute void p##mpi_##low##_(const int *of, void *unused,           \
		type *size, int *ierror)                                      \
	{                                                                     \
		void *addr;                                                   \
		(void)unused;                                                 \
		weft_f_return(ierror,                                         \
			call(PMPI_##noun##_fromint(*of), &addr, size));       \
	}
#define DETACH_OF(low, name, noun, type)                                      \
	DETACH_OF_AS(__attribute__((weak)), , low, MPI_##name, noun, type)    \
	DETACH_OF_AS(, p, low, PMPI_##name, noun, type)
/* clang-format on */

DETACH(buffer_detach, Buffer_detach, int)
DETACH(buffer_detach_c, Buffer_detach_c, MPI_Count)
DETACH_OF(comm_detach_buffer, Comm_detach_buffer, Comm, int)
DETACH_OF(comm_detach_buffer_c, Comm_detach_buffer_c, Comm, MPI_Count)
DETACH_OF(session_detach_buffer, Session_detach_buffer, Session, int)
DETACH_OF(session_detach_buffer_c, Session_detach_buffer_c, Session, MPI_Count)

/* ---- Waitsome and its like: indices begin at 1 ---- */

typedef int some_fn(int, MPI_Request *, int *, int *, MPI_Status *);

static int fortran_hand_some(some_fn *call, const int *incount, int *requests,
	int *outcount, int *indices, void *statuses, bool keep)
{
	MPI_Request *handles = weft_f_request_array(requests, *incount);
	int rc = MPI_ERR_NO_MEM;

	if (handles)
		rc = call(*incount, handles, outcount, indices,
			weft_f_status(statuses));
	if ((rc == MPI_SUCCESS || rc == MPI_ERR_IN_STATUS) && handles &&
		*outcount != MPI_UNDEFINED)
		for (int i = 0; i < *outcount; i++)
			indices[i]++;
	if (keep)
		weft_f_request_array_free(handles, NULL, 0);
	else
		weft_f_request_array_put(handles, requests, *incount);
	return rc;
}

__attribute__((weak)) void mpi_waitsome_(const int *incount, int *requests,
	int *outcount, int *indices, void *statuses, int *ierror)
{
	weft_f_return(ierror, fortran_hand_some(MPI_Waitsome, incount, requests,
				      outcount, indices, statuses, false));
}

void pmpi_waitsome_(const int *incount, int *requests, int *outcount,
	int *indices, void *statuses, int *ierror)
{
	weft_f_return(
		ierror, fortran_hand_some(PMPI_Waitsome, incount, requests,
				outcount, indices, statuses, false));
}

__attribute__((weak)) void mpi_testsome_(const int *incount, int *requests,
	int *outcount, int *indices, void *statuses, int *ierror)
{
	weft_f_return(ierror, fortran_hand_some(MPI_Testsome, incount, requests,
				      outcount, indices, statuses, false));
}

void pmpi_testsome_(const int *incount, int *requests, int *outcount,
	int *indices, void *statuses, int *ierror)
{
	weft_f_return(
		ierror, fortran_hand_some(PMPI_Testsome, incount, requests,
				outcount, indices, statuses, false));
}

static int status_some(
	int n, MPI_Request *requests, int *out, int *indices, MPI_Status *st)
{
	return MPI_Request_get_status_some(n, requests, out, indices, st);
}

static int pstatus_some(
	int n, MPI_Request *requests, int *out, int *indices, MPI_Status *st)
{
	return PMPI_Request_get_status_some(n, requests, out, indices, st);
}

__attribute__((weak)) void mpi_request_get_status_some_(const int *incount,
	const int *requests, int *outcount, int *indices, void *statuses,
	int *ierror)
{
	weft_f_return(
		ierror, fortran_hand_some(status_some, incount, (int *)requests,
				outcount, indices, statuses, true));
}

void pmpi_request_get_status_some_(const int *incount, const int *requests,
	int *outcount, int *indices, void *statuses, int *ierror)
{
	weft_f_return(ierror,
		fortran_hand_some(pstatus_some, incount, (int *)requests,
			outcount, indices, statuses, true));
}

__attribute__((weak)) void mpi_cancel_(const int *request, int *ierror)
{
	MPI_Request handle = PMPI_Request_fromint(*request);

	weft_f_return(ierror, MPI_Cancel(&handle));
}

void pmpi_cancel_(const int *request, int *ierror)
{
	MPI_Request handle = PMPI_Request_fromint(*request);

	weft_f_return(ierror, PMPI_Cancel(&handle));
}

/* ---- results that are stored when a request completes ---- */

enum { UNFINISHED = 1 }; /* first character of a name that is not stored yet */

/* A pending operation. The library stores the result here; the wait or test
 * that completes the request copies it to the program's variable. Created by
 * pending_new(), freed by pending_complete() on any thread. */
struct pending {
	struct pending *next;
	int request;
	MPI_Comm newcomm;	      /* the result for comm_to */
	int *comm_to;		      /* NULL: the result is a name */
	char pset[MPIX_MAX_JOB_PSET]; /* the result for pset_to; "": the
					 operation failed */
	char *pset_to;
	size_t pset_len;
};

/* All pending operations. */
static struct {
	atomic_flag busy;
	_Atomic int n;
	struct pending *first;
} all_pending = { ATOMIC_FLAG_INIT, 0, NULL };

static void pending_lock(void)
{
	/* pairs with the release in pending_unlock */
	while (atomic_flag_test_and_set_explicit(
		&all_pending.busy, memory_order_acquire))
		;
}

static void pending_unlock(void)
{
	atomic_flag_clear_explicit(&all_pending.busy, memory_order_release);
}

/* Returns the record of an operation. NULL: out of memory. */
static struct pending *pending_new(void)
{
	struct pending *pending = calloc(1, sizeof(*pending));

	if (pending)
		pending->newcomm = MPI_COMM_NULL;
	return pending;
}

/* Stores the request of a call that returned rc. Keeps the record, which may be
 * NULL, until the request completes. */
static void pending_add(
	struct pending *pending, MPI_Request req, int rc, int *request)
{
	*request = PMPI_Request_toint(req);
	if (rc != MPI_SUCCESS) {
		free(pending);
		return;
	}
	pending->request = *request;
	pending_lock();
	pending->next = all_pending.first;
	all_pending.first = pending;
	pending_unlock();
	atomic_fetch_add_explicit(&all_pending.n, 1, memory_order_relaxed);
}

typedef int idup_fn(MPI_Comm, MPI_Info, MPI_Comm *, MPI_Request *);

static int idup_plain(
	MPI_Comm comm, MPI_Info unused, MPI_Comm *newcomm, MPI_Request *request)
{
	(void)unused;
	return MPI_Comm_idup(comm, newcomm, request);
}

static int pidup_plain(
	MPI_Comm comm, MPI_Info unused, MPI_Comm *newcomm, MPI_Request *request)
{
	(void)unused;
	return PMPI_Comm_idup(comm, newcomm, request);
}

static void idup(idup_fn *call, const int *comm, const int *info, int *newcomm,
	int *request, int *ierror)
{
	struct pending *dup = pending_new();
	MPI_Request req = MPI_REQUEST_NULL;
	int rc = MPI_ERR_NO_MEM;

	if (dup)
		rc = call(PMPI_Comm_fromint(*comm), PMPI_Info_fromint(*info),
			&dup->newcomm, &req);
	weft_f_return(ierror, rc);
	if (rc == MPI_SUCCESS) {
		dup->comm_to = newcomm;
		*newcomm = PMPI_Comm_toint(MPI_COMM_NULL);
	}
	pending_add(dup, req, rc, request);
}

__attribute__((weak)) void mpi_comm_idup_(
	const int *comm, int *newcomm, int *request, int *ierror)
{
	int none = PMPI_Info_toint(MPI_INFO_NULL);

	idup(idup_plain, comm, &none, newcomm, request, ierror);
}

void pmpi_comm_idup_(const int *comm, int *newcomm, int *request, int *ierror)
{
	int none = PMPI_Info_toint(MPI_INFO_NULL);

	idup(pidup_plain, comm, &none, newcomm, request, ierror);
}

__attribute__((weak)) void mpi_comm_idup_with_info_(const int *comm,
	const int *info, int *newcomm, int *request, int *ierror)
{
	idup(MPI_Comm_idup_with_info, comm, info, newcomm, request, ierror);
}

void pmpi_comm_idup_with_info_(const int *comm, const int *info, int *newcomm,
	int *request, int *ierror)
{
	idup(PMPI_Comm_idup_with_info, comm, info, newcomm, request, ierror);
}

static int ishrink_plain(
	MPI_Comm comm, MPI_Info unused, MPI_Comm *newcomm, MPI_Request *request)
{
	(void)unused;
	return MPIX_Comm_ishrink(comm, newcomm, request);
}

static int pishrink_plain(
	MPI_Comm comm, MPI_Info unused, MPI_Comm *newcomm, MPI_Request *request)
{
	(void)unused;
	return PMPIX_Comm_ishrink(comm, newcomm, request);
}

__attribute__((weak)) void mpix_comm_ishrink_(
	const int *comm, int *newcomm, int *request, int *ierror)
{
	int none = PMPI_Info_toint(MPI_INFO_NULL);

	idup(ishrink_plain, comm, &none, newcomm, request, ierror);
}

void pmpix_comm_ishrink_(
	const int *comm, int *newcomm, int *request, int *ierror)
{
	int none = PMPI_Info_toint(MPI_INFO_NULL);

	idup(pishrink_plain, comm, &none, newcomm, request, ierror);
}

typedef int resize_fn(
	MPI_Session, MPI_Comm, int, MPI_Info, char *, MPI_Request *);

static void resize(resize_fn *call, const int *session, const int *members,
	const int *delta, const int *info, char *new_pset, int *request,
	int *ierror, size_t len)
{
	struct pending *pending = pending_new();
	MPI_Request req = MPI_REQUEST_NULL;
	int rc = MPI_ERR_NO_MEM;

	if (pending) {
		pending->pset_to = new_pset;
		pending->pset_len = len;
		pending->pset[0] = UNFINISHED;
		rc = call(PMPI_Session_fromint(*session),
			PMPI_Comm_fromint(*members), *delta,
			PMPI_Info_fromint(*info), pending->pset, &req);
	}
	weft_f_return(ierror, rc);
	pending_add(pending, req, rc, request);
}

__attribute__((weak)) void mpix_session_resize_(const int *session,
	const int *members, const int *delta, const int *info, char *new_pset,
	int *request, int *ierror, size_t new_pset_len)
{
	resize(MPIX_Session_resize, session, members, delta, info, new_pset,
		request, ierror, new_pset_len);
}

void pmpix_session_resize_(const int *session, const int *members,
	const int *delta, const int *info, char *new_pset, int *request,
	int *ierror, size_t new_pset_len)
{
	resize(PMPIX_Session_resize, session, members, delta, info, new_pset,
		request, ierror, new_pset_len);
}

/* True if the library has stored the result. */
static bool pending_is_over(const struct pending *pending)
{
	return pending->pset_to ? pending->pset[0] != UNFINISHED
				: pending->newcomm != MPI_COMM_NULL;
}

/* Copies the result of a completed request. If the request was freed before
 * completion, the library may still store the result, so the record is not
 * freed. */
static void pending_complete(int request)
{
	struct pending **at, *pending;

	pending_lock();
	for (at = &all_pending.first; *at; at = &(*at)->next)
		if ((*at)->request == request)
			break;
	pending = *at;
	if (pending && pending_is_over(pending))
		*at = pending->next;
	else
		pending = NULL;
	pending_unlock();
	if (!pending)
		return;
	if (pending->comm_to)
		*pending->comm_to = PMPI_Comm_toint(pending->newcomm);
	else
		weft_f_string_put(
			pending->pset_to, pending->pset_len, pending->pset);
	free(pending);
	atomic_fetch_sub_explicit(&all_pending.n, 1, memory_order_relaxed);
}

void weft_f_request_put(int *to, MPI_Request request)
{
	int before = *to;

	*to = PMPI_Request_toint(request);
	if (atomic_load_explicit(&all_pending.n, memory_order_relaxed) &&
		request == MPI_REQUEST_NULL && *to != before)
		pending_complete(before);
}

/* ---- strings with a length argument ---- */

void pmpi_info_get_(const int *info, const char *key, const int *valuelen,
	char *value, int *flag, int *ierror, size_t key_len, size_t value_len)
{
	char *k = weft_f_key(key, key_len);
	size_t room = *valuelen > 0 ? (size_t)*valuelen : 0;
	char *v = calloc(1, room + 1);
	int rc = MPI_ERR_NO_MEM;

	if (k && v)
		rc = PMPI_Info_get(
			PMPI_Info_fromint(*info), k, *valuelen, v, flag);
	if (rc == MPI_SUCCESS && *flag)
		weft_f_string_put(value, value_len, v);
	free(k);
	free(v);
	weft_f_return(ierror, rc);
}

/* In C, buflen includes the final zero. */
void pmpi_info_get_string_(const int *info, const char *key, int *buflen,
	char *value, int *flag, int *ierror, size_t key_len, size_t value_len)
{
	char *k = weft_f_key(key, key_len);
	int len = *buflen > 0 ? *buflen + 1 : *buflen;
	char *v = calloc(1, len > 0 ? (size_t)len : 1);
	int rc = MPI_ERR_NO_MEM;

	if (k && v)
		rc = PMPI_Info_get_string(
			PMPI_Info_fromint(*info), k, &len, v, flag);
	if (rc == MPI_SUCCESS && *flag) {
		if (*buflen > 0)
			weft_f_string_put(value, value_len, v);
		*buflen = len - 1;
	}
	free(k);
	free(v);
	weft_f_return(ierror, rc);
}

void pmpi_session_get_nth_pset_(const int *session, const int *info,
	const int *n, int *pset_len, char *name, int *ierror, size_t name_len)
{
	int len = *pset_len > 0 ? *pset_len + 1 : *pset_len;
	char *v = calloc(1, len > 0 ? (size_t)len : 1);
	int rc = MPI_ERR_NO_MEM;

	if (v)
		rc = PMPI_Session_get_nth_pset(PMPI_Session_fromint(*session),
			PMPI_Info_fromint(*info), *n, &len, v);
	if (rc == MPI_SUCCESS) {
		if (*pset_len > 0)
			weft_f_string_put(name, name_len, v);
		*pset_len = len - 1;
	}
	free(v);
	weft_f_return(ierror, rc);
}

/* ---- starting processes ---- */

static bool is_blank(const char *text, size_t len)
{
	while (len && text[len - 1] == ' ')
		len--;
	return !len;
}

static void string_array_free(char **list)
{
	for (char **word = list; word && *word; word++)
		free(*word);
	free(list);
}

/* Returns an array of C strings, made from strings of len characters that are
 * step bytes apart, up to the first blank string. NULL if out of memory. */
static char **string_array(const char *text, size_t len, size_t step)
{
	char **list;
	size_t n = 0;

	while (!is_blank(text + n * step, len))
		n++;
	list = calloc(n + 1, sizeof(*list));
	for (size_t i = 0; list && i < n; i++) {
		list[i] = weft_f_key(text + i * step, len);
		if (!list[i]) {
			string_array_free(list);
			return NULL;
		}
	}
	return list;
}

/* The strings are significant only at the root. If the root has no memory for
 * them, it passes no command, so that the library reports a fault to all
 * members. */
static int spawn_error(int rc, bool has_memory)
{
	return rc && !has_memory ? MPI_ERR_NO_MEM : rc;
}

static int *errcodes(int *array)
{
	return array == weft_f_errcodes_ ? MPI_ERRCODES_IGNORE : array;
}

static bool is_spawn_root(MPI_Comm comm, int root)
{
	int rank = -1;

	return comm != MPI_COMM_NULL &&
	       PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root;
}

typedef int spawn_fn(
	const char *, char **, int, MPI_Info, int, MPI_Comm, MPI_Comm *, int *);

static void fortran_hand_spawn(spawn_fn *call, const char *command,
	const char *argv, const int *maxprocs, const int *info, const int *root,
	const int *comm, int *intercomm, int *array_of_errcodes, int *ierror,
	size_t command_len, size_t argv_len)
{
	MPI_Comm c_comm = PMPI_Comm_fromint(*comm), made;
	char *program = NULL, **args = MPI_ARGV_NULL;
	bool has_memory = true;
	int rc;

	if (is_spawn_root(c_comm, *root)) {
		program = weft_f_key(command, command_len);
		has_memory = program != NULL;
		if (argv != weft_f_argv_) {
			args = string_array(argv, argv_len, argv_len);
			has_memory = has_memory && args;
		}
	}
	rc = call(has_memory ? program : NULL, args, *maxprocs,
		PMPI_Info_fromint(*info), *root, c_comm, &made,
		errcodes(array_of_errcodes));
	if (rc == MPI_SUCCESS)
		*intercomm = PMPI_Comm_toint(made);
	string_array_free(args);
	free(program);
	weft_f_return(ierror, spawn_error(rc, has_memory));
}

__attribute__((weak)) void mpi_comm_spawn_(const char *command,
	const char *argv, const int *maxprocs, const int *info, const int *root,
	const int *comm, int *intercomm, int *array_of_errcodes, int *ierror,
	size_t command_len, size_t argv_len)
{
	fortran_hand_spawn(MPI_Comm_spawn, command, argv, maxprocs, info, root,
		comm, intercomm, array_of_errcodes, ierror, command_len,
		argv_len);
}

void pmpi_comm_spawn_(const char *command, const char *argv,
	const int *maxprocs, const int *info, const int *root, const int *comm,
	int *intercomm, int *array_of_errcodes, int *ierror, size_t command_len,
	size_t argv_len)
{
	fortran_hand_spawn(PMPI_Comm_spawn, command, argv, maxprocs, info, root,
		comm, intercomm, array_of_errcodes, ierror, command_len,
		argv_len);
}

/* The arguments of MPI_Comm_spawn_multiple, which only the root reads. */
struct apps {
	char **commands;
	char ***argvs;
	MPI_Info *infos;
	int n;
};

static void apps_free(struct apps *apps)
{
	for (int i = 0; i < apps->n; i++) {
		if (apps->commands)
			free(apps->commands[i]);
		if (apps->argvs)
			string_array_free(apps->argvs[i]);
	}
	free(apps->commands);
	free(apps->argvs);
	free(apps->infos);
}

static bool apps_init(struct apps *apps, const char *commands, size_t len,
	const char *argv, size_t argv_len, const int *infos)
{
	size_t n = (size_t)apps->n;

	apps->commands = calloc(n, sizeof(*apps->commands));
	apps->infos = calloc(n, sizeof(*apps->infos));
	if (argv != weft_f_argvs_)
		apps->argvs = calloc(n, sizeof(*apps->argvs));
	if (!apps->commands || !apps->infos ||
		(argv != weft_f_argvs_ && !apps->argvs))
		return false;
	for (size_t i = 0; i < n; i++) {
		apps->commands[i] = weft_f_key(commands + i * len, len);
		apps->infos[i] = PMPI_Info_fromint(infos[i]);
		if (apps->argvs)
			apps->argvs[i] = string_array(
				argv + i * argv_len, argv_len, n * argv_len);
		if (!apps->commands[i] || (apps->argvs && !apps->argvs[i]))
			return false;
	}
	return true;
}

typedef int spawn_multiple_fn(int, char **, char ***, const int *,
	const MPI_Info *, int, MPI_Comm, MPI_Comm *, int *);

static void fortran_hand_spawn_multiple(spawn_multiple_fn *call,
	const int *count, const char *array_of_commands,
	const char *array_of_argv, const int *array_of_maxprocs,
	const int *array_of_info, const int *root, const int *comm,
	int *intercomm, int *array_of_errcodes, int *ierror,
	size_t commands_len, size_t argv_len)
{
	MPI_Comm c_comm = PMPI_Comm_fromint(*comm), made;
	struct apps apps = { 0 };
	bool has_memory = true;
	int rc;

	if (is_spawn_root(c_comm, *root) && *count > 0) {
		apps.n = *count;
		has_memory = apps_init(&apps, array_of_commands, commands_len,
			array_of_argv, argv_len, array_of_info);
	}
	rc = call(*count, has_memory ? apps.commands : NULL, apps.argvs,
		array_of_maxprocs, apps.infos, *root, c_comm, &made,
		errcodes(array_of_errcodes));
	if (rc == MPI_SUCCESS)
		*intercomm = PMPI_Comm_toint(made);
	apps_free(&apps);
	weft_f_return(ierror, spawn_error(rc, has_memory));
}

__attribute__((weak)) void mpi_comm_spawn_multiple_(const int *count,
	const char *array_of_commands, const char *array_of_argv,
	const int *array_of_maxprocs, const int *array_of_info, const int *root,
	const int *comm, int *intercomm, int *array_of_errcodes, int *ierror,
	size_t commands_len, size_t argv_len)
{
	fortran_hand_spawn_multiple(MPI_Comm_spawn_multiple, count,
		array_of_commands, array_of_argv, array_of_maxprocs,
		array_of_info, root, comm, intercomm, array_of_errcodes, ierror,
		commands_len, argv_len);
}

void pmpi_comm_spawn_multiple_(const int *count, const char *array_of_commands,
	const char *array_of_argv, const int *array_of_maxprocs,
	const int *array_of_info, const int *root, const int *comm,
	int *intercomm, int *array_of_errcodes, int *ierror,
	size_t commands_len, size_t argv_len)
{
	fortran_hand_spawn_multiple(PMPI_Comm_spawn_multiple, count,
		array_of_commands, array_of_argv, array_of_maxprocs,
		array_of_info, root, comm, intercomm, array_of_errcodes, ierror,
		commands_len, argv_len);
}

/* ---- statuses ---- */

void pmpi_status_f2f08_(
	const MPI_Fint *f_status, MPI_F08_status *f08_status, int *ierror)
{
	weft_f_return(ierror, PMPI_Status_f2f08(f_status, f08_status));
}

void pmpi_status_f082f_(
	const MPI_F08_status *f08_status, MPI_Fint *f_status, int *ierror)
{
	weft_f_return(ierror, PMPI_Status_f082f(f08_status, f_status));
}

#include "fortran/f_names.h"
