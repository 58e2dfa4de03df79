/* SPDX-License-Identifier: BSD-3-Clause */
/* err_walk: calls every procedure with each of its arguments wrong in turn. The
 * error calls the handler of the object of the call once, and no other handler
 *
 * The procedures and the kinds of their arguments are in err_walk_calls.h,
 * which gen-walk makes. Each call has one wrong argument, so it must have no
 * effect. The program uses communicators, requests and a message afterwards to
 * prove that. Arguments: only=MPI_X walks one procedure. */
#include "mtest.h"

#include <fnmatch.h>
#include <setjmp.h>

enum { ARGS_MAX = 16, ROOM = 512 };

/* Kind of an argument. A handle may be passed by value, by pointer, as an
 * array, or as the place of a new handle. */
enum kind {
	A_OUT, /* place for a result */
	A_INOUT,
	A_ARRAY, /* array that the procedure reads */
	A_BUF,
	A_STRING,
	A_STRINGS,
	A_FN,
	A_STATUS,
	A_STATUS_OUT, /* MPI_STATUS_IGNORE is NULL */
	A_OPAQUE,     /* any address is valid */
	A_WEIGHTS,
	A_COUNT,
	A_RANK,
	A_TAG,
	A_ROOT,
	A_KEYVAL,
	A_NATURAL, /* not negative */
	A_PLAIN,   /* a number without an invalid value */
#define HANDLE(X) A_##X, A_##X##_REF, A_##X##_ARRAY, A_##X##_OUT
	HANDLE(COMM),
	HANDLE(GROUP),
	HANDLE(DATATYPE),
	HANDLE(OP),
	HANDLE(INFO),
	HANDLE(ERRHANDLER),
	HANDLE(SESSION),
	HANDLE(REQUEST),
	HANDLE(MESSAGE),
	HANDLE(WIN),
	HANDLE(FILE),
};

union value {
	void *p;
	int64_t n;
};

struct argument {
	const char *name;
	enum kind kind;
};

struct procedure {
	const char *name;
	int (*call)(const union value *v);
	int n;
	struct argument args[ARGS_MAX];
};

#include "test/multi/err_walk_calls.h"

/* ---- procedures that are left out, and arguments that are not wrong ---- */

static const struct exception {
	const char *procedure; /* patterns of the shell */
	const char *argument;
	const char *reason;
} exceptions[] = {
	{ "MPI_Init*", "*", "has been called" },
	{ "MPI_Abort", "*", "ends the job" },
	{ "MPI_*_call_errhandler", "*", "calls it" },
	{ "MPI_Comm_spawn*", "array_of_errcodes", "MPI_ERRCODES_IGNORE" },
	{ "MPI_Comm_get_name", "comm", "MPI_COMM_NULL has a name" },
	{ "MPI_Type_get_name", "datatype", "MPI_DATATYPE_NULL has a name" },
	{ "MPI_Win_get_name", "win", "MPI_WIN_NULL has a name" },
	{ "MPI_Win_detach", "base", "nothing may be attached at NULL" },
	{ "MPI_Type_get_contents_c", "array_of_large_counts", "has none" },
	{ "MPI_Type_create_darray*", "rank", "is of no communicator" },
	{ "MPI_Status_set_*", "source", "any value" },
	{ "MPI_Status_set_*", "tag", "any value" },
	{ "MPI_File_[sg]et_errhandler", "file", "MPI_FILE_NULL has one" },
	{ "MPI_File_*_end", "buf", "says which begin it ends" },
	{ "MPI_*lltoallw*_c", "*buf", "MPI_BOTTOM and addresses" },
	{ "MPI_*eighbor_alltoallw*", "*buf", "MPI_BOTTOM and addresses" },
};

static bool is_exception(const struct procedure *p, const char *argument)
{
	for (size_t i = 0; i < sizeof(exceptions) / sizeof(exceptions[0]); i++)
		if (fnmatch(exceptions[i].procedure, p->name, 0) == 0 &&
			fnmatch(exceptions[i].argument, argument, 0) == 0)
			return true;
	return false;
}

/* ---- the handlers, which record their caller ---- */

static struct {
	int n;
	void *object;
	int code;
} heard;

static void record_call(void *object, int code)
{
	heard.n++;
	heard.object = object;
	heard.code = code;
}

static void on_comm(MPI_Comm *comm, int *code, ...)
{
	record_call(*comm, *code);
}

static void on_session(MPI_Session *session, int *code, ...)
{
	record_call(*session, *code);
}

static void on_win(MPI_Win *win, int *code, ...)
{
	record_call(*win, *code);
}

static void on_file(MPI_File *file, int *code, ...)
{
	record_call(*file, *code);
}

static MPI_Errhandler comm_handler, session_handler, win_handler, file_handler;

/* ---- the objects ---- */

enum { SELF, CART, GRAPH, DIST, INTER, N_COMMS };

/* A communicator and the objects that were created on it. */
struct place {
	MPI_Comm comm;
	MPI_Request request, sending, receiving;
	MPI_Message message;
	int sent;
	MPI_Request send;
};

static struct place places[N_COMMS];
static MPI_Session session;
static MPI_Group group;
static MPI_Info info;
static MPI_Win window;
static int exposed[16];
static MPI_File file;
static char file_name[64];
static MPI_Datatype derived;
static MPI_Op op;
static int comm_keyval, type_keyval, win_keyval;

/* Handles of freed objects. */
static void *stale[A_FILE + 1];

static void nothing(void *in, void *inout, int *len, MPI_Datatype *type)
{
	(void)in;
	(void)inout;
	(void)len;
	(void)type;
}

static void make_place(struct place *at)
{
	int n;

	MPI_Comm_set_errhandler(at->comm, comm_handler);
	OK(MPI_Recv_init(
		NULL, 0, MPI_INT, MPI_PROC_NULL, 0, at->comm, &at->request));
	OK(MPI_Psend_init(&at->sent, 1, 1, MPI_INT, MPI_PROC_NULL, 0, at->comm,
		MPI_INFO_NULL, &at->sending));
	OK(MPI_Precv_init(&at->sent, 1, 1, MPI_INT, MPI_PROC_NULL, 0, at->comm,
		MPI_INFO_NULL, &at->receiving));
	OK(MPI_Start(&at->sending));
	OK(MPI_Start(&at->receiving));
	at->sent = 42;
	MPI_Comm_rank(at->comm, &n);
	OK(MPI_Isend(&at->sent, 1, MPI_INT, at == &places[INTER] ? 0 : n, 7,
		at->comm, &at->send));
	OK(MPI_Mprobe(at == &places[INTER] ? 0 : n, 7, at->comm, &at->message,
		MPI_STATUS_IGNORE));
}

static void make_comms(void)
{
	const int one[] = { 1 }, zero[] = { 0 };
	MPI_Comm half;

	OK(MPI_Comm_dup(MPI_COMM_SELF, &places[SELF].comm));
	OK(MPI_Cart_create(MPI_COMM_SELF, 1, one, one, 0, &places[CART].comm));
	OK(MPI_Graph_create(
		MPI_COMM_SELF, 1, one, zero, 0, &places[GRAPH].comm));
	OK(MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 1, zero, one, 1, zero,
		one, MPI_INFO_NULL, 0, &places[DIST].comm));
	OK(MPI_Comm_split(MPI_COMM_WORLD, mtest.rank, 0, &half));
	OK(MPI_Intercomm_create(
		half, 0, MPI_COMM_WORLD, !mtest.rank, 1, &places[INTER].comm));
	OK(MPI_Comm_free(&half));
	for (int i = 0; i < N_COMMS; i++)
		make_place(&places[i]);
}

static void make_others(void)
{
	OK(MPI_Session_init(MPI_INFO_NULL, session_handler, &session));
	OK(MPI_Comm_group(MPI_COMM_SELF, &group));
	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "walk", "one"));
	OK(MPI_Info_set(info, "other", "two"));
	OK(MPI_Type_create_hvector(2, 1, 8, MPI_INT, &derived));
	OK(MPI_Type_commit(&derived));
	OK(MPI_Op_create(nothing, 1, &op));
	OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN,
		MPI_COMM_NULL_DELETE_FN, &comm_keyval, NULL));
	OK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN,
		MPI_TYPE_NULL_DELETE_FN, &type_keyval, NULL));
	OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN,
		&win_keyval, NULL));
	OK(MPI_Win_create(exposed, sizeof(exposed), 1, MPI_INFO_NULL,
		MPI_COMM_SELF, &window));
	OK(MPI_Win_set_errhandler(window, win_handler));
}

static void make_file(void)
{
	snprintf(file_name, sizeof(file_name), "walk.%d.%d", (int)getpid(),
		mtest.rank);
	OK(MPI_File_open(MPI_COMM_SELF, file_name,
		MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
		MPI_INFO_NULL, &file));
	OK(MPI_File_set_errhandler(file, file_handler));
	stale[A_FILE] = file;
	OK(MPI_File_close(&file));
	OK(MPI_File_open(MPI_COMM_SELF, file_name,
		MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
		MPI_INFO_NULL, &file));
	OK(MPI_File_set_errhandler(file, file_handler));
	OK(MPI_File_set_errhandler(MPI_FILE_NULL, file_handler));
}

static void make_stale(void)
{
	MPI_Comm comm;
	MPI_Group g;
	MPI_Datatype type;
	MPI_Op o;
	MPI_Info i;
	MPI_Errhandler handler;
	MPI_Session s;
	MPI_Request request;
	MPI_Win win;

	OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, &win));
	OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
	OK(MPI_Comm_group(MPI_COMM_SELF, &g));
	OK(MPI_Type_dup(MPI_INT, &type));
	OK(MPI_Op_create(nothing, 1, &o));
	OK(MPI_Info_create(&i));
	OK(MPI_Comm_create_errhandler(on_comm, &handler));
	OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &s));
	OK(MPI_Recv_init(
		NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request));
	stale[A_COMM] = comm;
	stale[A_GROUP] = g;
	stale[A_DATATYPE] = type;
	stale[A_OP] = o;
	stale[A_INFO] = i;
	stale[A_ERRHANDLER] = handler;
	stale[A_SESSION] = s;
	stale[A_REQUEST] = request;
	stale[A_MESSAGE] = (void *)(uintptr_t)0x7654321;
	stale[A_WIN] = win;
	OK(MPI_Win_free(&win));
	OK(MPI_Comm_free(&comm));
	OK(MPI_Group_free(&g));
	OK(MPI_Type_free(&type));
	OK(MPI_Op_free(&o));
	OK(MPI_Info_free(&i));
	OK(MPI_Errhandler_free(&handler));
	OK(MPI_Session_finalize(&s));
	OK(MPI_Request_free(&request));
}

/* ---- arguments that are right ---- */

/* One area per argument, so that no two are the same memory. */
static int64_t areas[ARGS_MAX][ROOM];

static enum kind base_of(enum kind kind)
{
	return kind < A_COMM ? kind : A_COMM + (kind - A_COMM) / 4 * 4;
}

static bool is_new(enum kind kind)
{
	return kind >= A_COMM && (kind - A_COMM) % 4 == 3;
}

/* Initial value at the place of a new handle. */
static void *const untouched = (void *)(uintptr_t)0x5a5a5a5a;

static void *handle(
	const struct procedure *p, const struct place *at, enum kind kind)
{
	switch (base_of(kind)) {
	case A_COMM:
		return at->comm;
	case A_GROUP:
		return group;
	case A_DATATYPE:
		return strstr(p->name, "contents") ||
				       (kind != A_DATATYPE &&
					       kind != A_DATATYPE_ARRAY)
			       ? derived
			       : MPI_INT;
	case A_OP:
		return kind == A_OP ? MPI_SUM : op;
	case A_INFO:
		return info;
	case A_ERRHANDLER:
		return strstr(p->name, "Session") ? session_handler
		       : strstr(p->name, "Win")	  ? win_handler
		       : strstr(p->name, "File")  ? file_handler
						  : comm_handler;
	case A_SESSION:
		return session;
	case A_WIN:
		return window;
	case A_FILE:
		return file;
	case A_MESSAGE:
		return at->message;
	case A_REQUEST:
		return strstr(p->name, "Pready")     ? at->sending
		       : strstr(p->name, "Parrived") ? at->receiving
						     : at->request;
	default:
		return NULL;
	}
}

static int64_t number(const struct procedure *p, const struct argument *a)
{
	switch (a->kind) {
	case A_RANK:
	case A_TAG:
	case A_ROOT:
		return 0;
	case A_COUNT:
		return 1;
	case A_KEYVAL:
		return strstr(p->name, "Type")	? type_keyval
		       : strstr(p->name, "Win") ? win_keyval
						: comm_keyval;
	case A_NATURAL:
		return strncmp(a->name, "partition_", 10) == 0 ? 0 : 1;
	default:
		break;
	}
	if (strcmp(a->name, "split_type") == 0)
		return MPI_COMM_TYPE_SHARED;
	if (strcmp(a->name, "order") == 0)
		return MPI_ORDER_C;
	if (strcmp(a->name, "lock_type") == 0)
		return MPI_LOCK_SHARED;
	if (strcmp(a->name, "direction") == 0 || strcmp(a->name, "assert") == 0)
		return 0;
	if (strstr(a->name, "size"))
		return 64;
	if (strncmp(a->name, "max", 3) == 0)
		return 4;
	return strncmp(a->name, "error", 5) == 0 ? MPI_ERR_OTHER : 1;
}

/* Fills an array argument. Counts, sizes, dimensions and degrees are 1, the
 * length of a place for a text is 16, and all other numbers are 0. */
static void fill_numbers(const struct argument *a, int64_t *area)
{
	static const char *const ones[] = { "counts", "dims", "sizes",
		"lengths", "degrees", "indx", "maxprocs" };
	bool is_one = false;

	for (size_t i = 0; i < sizeof(ones) / sizeof(ones[0]); i++)
		is_one = is_one || strstr(a->name, ones[i]);
	memset(area, 0, ROOM);
	if (is_one) /* the value 1, as an int and as a wide integer */
		area[0] = 1;
	else if (strstr(a->name, "len")) /* length of the place for a text */
		area[0] = 16;
	if (strcmp(a->name, "ranges") == 0)
		((int *)area)[2] = 1;
}

static union value right(const struct procedure *p, const struct argument *a,
	const struct place *at, int64_t *area)
{
	static char words[] = "no/such/thing";
	union value v = { .p = area };

	switch (a->kind) {
	case A_COUNT:
	case A_RANK:
	case A_TAG:
	case A_ROOT:
	case A_KEYVAL:
	case A_NATURAL:
	case A_PLAIN:
		v.n = number(p, a);
		return v;
	case A_STRING:
		v.p = strcmp(a->name, "datarep") == 0 ? "external32" : words;
		return v;
	case A_STRINGS:
		area[0] = (intptr_t)words;
		return v;
	case A_OPAQUE:
		if (strstr(a->name, "argv") || strstr(a->name, "fn"))
			v.p = NULL;
		return v;
	case A_FN:
		v.p = (void *)(uintptr_t)nothing;
		return v;
	case A_WEIGHTS:
		v.p = (void *)(uintptr_t)MPI_UNWEIGHTED;
		return v;
	case A_OUT:
	case A_BUF:
	case A_STATUS:
	case A_STATUS_OUT:
		memset(area, 0, ROOM);
		return v;
	case A_INOUT:
	case A_ARRAY:
		fill_numbers(a, area);
		return v;
	default:
		break;
	}
	if (is_new(a->kind))
		*(void **)area = untouched;
	else if (a->kind == base_of(a->kind))
		v.p = handle(p, at, a->kind);
	else
		*(void **)area = handle(p, at, a->kind);
	return v;
}

/* ---- arguments that are wrong ---- */

static void *null_of(enum kind base)
{
	static void *const nulls[] = { MPI_COMM_NULL, MPI_GROUP_NULL,
		MPI_DATATYPE_NULL, MPI_OP_NULL, MPI_INFO_NULL,
		MPI_ERRHANDLER_NULL, MPI_SESSION_NULL, MPI_REQUEST_NULL,
		MPI_MESSAGE_NULL, MPI_WIN_NULL, MPI_FILE_NULL };

	return nulls[(base - A_COMM) / 4];
}

/* Writes wrong value number `way` of this argument, counted from 0, and its
 * description. False if there are no more. */
static bool wrong(
	const struct argument *a, int way, union value *v, const char **how)
{
	enum kind base = base_of(a->kind);

	*how = "a wrong number";
	switch (a->kind) {
	case A_OPAQUE:
	case A_PLAIN:
	case A_WEIGHTS:
	case A_STATUS_OUT:
		return false;
	case A_COUNT:
	case A_NATURAL:
		v->n = -1;
		return way < 1;
	case A_RANK:
	case A_ROOT:
		v->n = way ? -77 : 99999;
		return way < 2;
	case A_TAG:
		v->n = -77;
		return way < 1;
	case A_KEYVAL:
		v->n = way ? 987654 : MPI_KEYVAL_INVALID;
		return way < 2;
	default:
		break;
	}
	*how = "NULL";
	if (a->kind != base && way-- == 0) {
		v->p = NULL;
		return true;
	}
	if (is_new(a->kind))
		return false;
	if (a->kind < A_COMM) {
		v->p = NULL;
		return way < 1;
	}
	if (base == A_INFO || base == A_REQUEST)
		way++; /* the null handle is valid */
	*how = way ? "freed" : "the null handle";
	if (a->kind == base)
		v->p = way ? stale[base] : null_of(base);
	else
		*(void **)v->p = way ? stale[base] : null_of(base);
	return way < 2;
}

static int class_of(const struct argument *a)
{
	switch (is_new(a->kind) ? A_OUT : a->kind) {
	case A_OUT:
	case A_INOUT:
		return MPI_ERR_ARG;
	case A_BUF:
		return MPI_ERR_BUFFER;
	case A_COUNT:
		return MPI_ERR_COUNT;
	case A_RANK:
		return MPI_ERR_RANK;
	case A_TAG:
		return MPI_ERR_TAG;
	case A_ROOT:
		return MPI_ERR_ROOT;
	case A_KEYVAL:
		return MPI_ERR_KEYVAL;
	case A_COMM:
		return MPI_ERR_COMM;
	case A_DATATYPE:
		return MPI_ERR_TYPE;
	case A_OP:
		return MPI_ERR_OP;
	case A_GROUP:
		return MPI_ERR_GROUP;
	case A_SESSION:
		return MPI_ERR_SESSION;
	case A_WIN:
		return MPI_ERR_WIN;
	case A_FILE:
		return MPI_ERR_FILE;
	case A_REQUEST:
		return MPI_ERR_REQUEST;
	default:
		return MPI_SUCCESS; /* any class is accepted */
	}
}

/* ---- the object whose handler runs ---- */

static bool is_object(enum kind kind)
{
	return kind == A_COMM || kind == A_SESSION || kind == A_WIN ||
	       kind == A_FILE;
}

static bool has_comm(enum kind kind)
{
	enum kind base = base_of(kind);

	return (base == A_REQUEST || base == A_MESSAGE) && !is_new(kind);
}

/* The object on whose handler the error must be raised: that of the call, else
 * the error handler argument, else the communicator of the request or message
 * if it is valid, else MPI_COMM_SELF. */
static void *owner(const struct procedure *p, int bad, const struct place *at)
{
	if (strstr(p->name, "datarep") || strstr(p->name, "File_open") ||
		strstr(p->name, "File_close") || strstr(p->name, "File_delete"))
		return MPI_FILE_NULL;
	for (int i = 0; i < p->n; i++)
		if (p->args[i].kind == A_FILE && i == bad)
			return MPI_FILE_NULL;
	for (int i = 0; i < p->n; i++)
		if (is_object(p->args[i].kind))
			return i == bad ? MPI_COMM_SELF
					: handle(p, at, p->args[i].kind);
	for (int i = 0; i < p->n; i++)
		if (p->args[i].kind == A_ERRHANDLER && i != bad)
			return strstr(p->name, "Session_init")
				       ? (void *)MPI_SESSION_NULL
				       : (void *)MPI_COMM_NULL;
	for (int i = 0; i < p->n; i++)
		if (has_comm(p->args[i].kind) && i != bad &&
			(p->args[bad].kind != A_COUNT ||
				p->args[i].kind == A_MESSAGE_REF))
			return at->comm;
	return MPI_COMM_SELF;
}

static bool needs_comm(const struct procedure *p)
{
	for (int i = 0; i < p->n; i++)
		if (p->args[i].kind == A_COMM || has_comm(p->args[i].kind))
			return true;
	return false;
}

/* ---- one call ---- */

static const char *volatile now_in = "nothing";
static volatile int now_at;
static sigjmp_buf back;

static void on_crash(int signal_number)
{
	siglongjmp(back, signal_number);
}

static void on_late(int signal_number)
{
	fprintf(stderr, "# FAILED err_walk: blocks: %s, argument %d\n", now_in,
		now_at);
	mtest_late(signal_number);
}

/* Makes this process the root on the intercommunicator (MPI_ROOT) if only the
 * root uses the wrong argument: other processes do not check it. */
static void choose_root(const struct procedure *p, int bad,
	const struct place *at, union value *v)
{
	const char *name = p->args[bad].name;
	bool of_root = strstr(p->name, "catter")
			       ? strncmp(name, "send", 4) == 0 ||
					 strcmp(name, "displs") == 0
			       : strncmp(name, "recv", 4) == 0 ||
					 strcmp(name, "displs") == 0;

	for (int i = 0; i < p->n; i++)
		if (p->args[i].kind == A_ROOT && i != bad && of_root &&
			at == &places[INTER])
			v[i].n = MPI_ROOT;
}

static int call(const struct procedure *p, const union value *v)
{
	int signal_number = sigsetjmp(back, 1);

	if (signal_number)
		return -signal_number;
	heard.n = 0;
	return p->call(v);
}

/* The header writes indx, because index is also a function of the C library. */
static const char *argument_name(const struct argument *a)
{
	return strcmp(a->name, "indx") == 0 ? "index" : a->name;
}

/* Checks that the place of the new handle has the null handle after the
 * error. */
static void check_null(const struct procedure *p, int bad, const char *how,
	const union value *v)
{
	for (int i = 0; i < p->n; i++) {
		enum kind kind = p->args[i].kind;

		if (i == bad || !is_new(kind) || base_of(kind) == A_REQUEST)
			continue;
		CHECK(*(void **)v[i].p == null_of(base_of(kind)),
			"%s: %s is %s: %s is the null handle, not %p", p->name,
			p->args[bad].name, how, p->args[i].name,
			*(void **)v[i].p);
	}
}

/* Makes one call. True if the error class is that of the argument, or if a
 * failed check was reported. */
static bool walk_call(const struct procedure *p, int bad, const char *how,
	const struct place *at, const union value *v)
{
	const struct argument *a = &p->args[bad];
	void *object = owner(p, bad, at);
	int wanted = class_of(a), class = 0, len;
	char text[MPI_MAX_ERROR_STRING] = "";
	int rc;

	now_in = p->name;
	now_at = bad;
	rc = call(p, v);
	if (!CHECK(rc >= 0, "%s: %s is %s: signal %d, place %td", p->name,
		    a->name, how, -rc, at - places) ||
		!CHECK(rc > 0, "%s: %s is %s: is accepted, place %td", p->name,
			a->name, how, at - places))
		return true;
	CHECK(heard.n == 1 && heard.code == rc,
		"%s: %s is %s: one handler runs, with the code: %d ran, %d and "
		"%d, place %td",
		p->name, a->name, how, heard.n, heard.code, rc, at - places);
	MPI_Error_string(rc, text, &len);
	CHECK(heard.object == object,
		"%s: %s is %s: the handler is that of %p, not of %p, place "
		"%td; %s",
		p->name, a->name, how, object, heard.object, at - places, text);
	check_null(p, bad, how, v);
	MPI_Error_class(rc, &class);
	if (wanted == MPI_ERR_ARG && class == wanted)
		CHECK(strstr(text, argument_name(a)),
			"%s: the text names %s: %s", p->name, a->name, text);
	return !wanted || class == wanted;
}

/* Calls the procedure with all wrong values of one argument, on all
 * communicators. */
static int walk_argument(const struct procedure *p, int bad)
{
	int n_places = needs_comm(p) ? N_COMMS : 1, n = 0;
	union value v[ARGS_MAX];
	const char *how;

	for (int way = 0;; way++) {
		bool is_of_class = false;

		for (int i = 0; i < n_places; i++) {
			for (int k = 0; k < p->n; k++)
				v[k] = right(
					p, &p->args[k], &places[i], areas[k]);
			if (!wrong(&p->args[bad], way, &v[bad], &how))
				return n;
			choose_root(p, bad, &places[i], v);
			is_of_class |= walk_call(p, bad, how, &places[i], v);
			n++;
		}
		CHECK(is_of_class,
			"%s: %s is %s: the error has the class of the argument",
			p->name, p->args[bad].name, how);
	}
}

static int walk(const char *only)
{
	int n = 0;

	for (size_t i = 0; i < sizeof(procedures) / sizeof(procedures[0]);
		i++) {
		const struct procedure *p = &procedures[i];

		if (only && strcmp(only, p->name) != 0)
			continue;
		for (int k = 0; k < p->n; k++)
			if (!is_exception(p, p->args[k].name))
				n += walk_argument(p, k);
	}
	return n;
}

/* ---- the objects are unchanged ---- */

static void use(struct place *at)
{
	int mine = 5, sum = 0, got = 0;

	heard.n = 0;
	OK(MPI_Mrecv(&got, 1, MPI_INT, &at->message, MPI_STATUS_IGNORE));
	CHECK(got == 42, "a message that was not received is still there");
	OK(MPI_Wait(&at->send, MPI_STATUS_IGNORE));
	OK(MPI_Pready(0, at->sending));
	OK(MPI_Wait(&at->sending, MPI_STATUS_IGNORE));
	OK(MPI_Wait(&at->receiving, MPI_STATUS_IGNORE));
	OK(MPI_Start(&at->request));
	OK(MPI_Wait(&at->request, MPI_STATUS_IGNORE));
	OK(MPI_Request_free(&at->request));
	OK(MPI_Request_free(&at->sending));
	OK(MPI_Request_free(&at->receiving));
	OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, at->comm));
	CHECK(sum == 5, "the communicator works");
	OK(MPI_Comm_free(&at->comm));
	CHECK(heard.n == 0, "no handler runs without an error");
}

static void use_file(void)
{
	int seven = 7, got = 0;

	heard.n = 0;
	OK(MPI_File_write_at(file, 0, &seven, 4, MPI_BYTE, MPI_STATUS_IGNORE));
	OK(MPI_File_read_at(file, 0, &got, 4, MPI_BYTE, MPI_STATUS_IGNORE));
	CHECK(got == 7, "the file works: %d", got);
	OK(MPI_File_close(&file));
	OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
	CHECK(heard.n == 0, "no handler runs without an error");
}

static void use_window(void)
{
	int seven = 7;

	heard.n = 0;
	OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window));
	OK(MPI_Put(&seven, 1, MPI_INT, 0, 0, 1, MPI_INT, window));
	OK(MPI_Win_unlock(0, window));
	CHECK(exposed[0] == 7, "the window works");
	OK(MPI_Win_free(&window));
	CHECK(heard.n == 0, "no handler runs without an error");
}

static void finish(void)
{
	use_window();
	use_file();
	for (int i = 0; i < N_COMMS; i++)
		use(&places[i]);
	OK(MPI_Session_finalize(&session));
	OK(MPI_Group_free(&group));
	OK(MPI_Info_free(&info));
	OK(MPI_Type_free(&derived));
	OK(MPI_Op_free(&op));
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	OK(MPI_Errhandler_free(&comm_handler));
	OK(MPI_Errhandler_free(&session_handler));
	OK(MPI_Errhandler_free(&win_handler));
	OK(MPI_Errhandler_free(&file_handler));
}

int main(int argc, char **argv)
{
	const char *only = NULL;
	int n;

	mtest_init(&argc, &argv);
	if (mtest.size != 2)
		mtest_skip("is for two processes");
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "only=", 5) == 0)
			only = argv[i] + 5;
	signal(SIGALRM, on_late);
	signal(SIGSEGV, on_crash);
	signal(SIGBUS, on_crash);
	OK(MPI_Comm_create_errhandler(on_comm, &comm_handler));
	OK(MPI_Session_create_errhandler(on_session, &session_handler));
	OK(MPI_Win_create_errhandler(on_win, &win_handler));
	OK(MPI_File_create_errhandler(on_file, &file_handler));
	make_comms();
	make_others();
	make_file();
	make_stale();
	MPI_Comm_set_errhandler(MPI_COMM_SELF, comm_handler);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, comm_handler);
	n = walk(only);
	if (!only)
		CHECK(n > 5000, "the walk has more than 5000 calls: %d", n);
	if (mtest.rank == 0)
		printf("# %d calls\n", n);
	finish();
	return mtest_finish();
}
