/* SPDX-License-Identifier: BSD-3-Clause */
/* mpit_args: wrong arguments for each procedure of the tool interface, which is
 * used before, between and after sessions
 *
 * The error handlers are fatal throughout: a procedure that called one would
 * end the process. */
#include "mtest.h"

#define IS(call, code) \
	mtest_check((call) == (code), __FILE__, __LINE__, #call, "is " #code)

static MPI_T_cvar_handle stale_cvar;
static MPI_T_pvar_handle stale_pvar;
static MPI_T_pvar_session stale_session;
static MPI_T_event_registration stale_registration;
static MPI_T_event_instance stale_instance;

static void on_event(MPI_T_event_instance instance,
	MPI_T_event_registration registration, MPI_T_cb_safety safety,
	void *user_data)
{
	(void)registration;
	(void)safety;
	(void)user_data;
	stale_instance = instance;
}

/* Calls every procedure except MPI_T_init_thread while the interface is not
 * initialized. */
static void call_uninitialized(void)
{
	MPI_T_cvar_handle cvar = stale_cvar;
	MPI_T_pvar_handle pvar = stale_pvar;
	MPI_T_pvar_session session = stale_session;
	MPI_T_event_registration reg = stale_registration;
	MPI_T_event_instance ev = stale_instance;
	MPI_Info info;
	MPI_Count count;
	int n, m;

	IS(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &n, NULL, NULL),
		MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_enum_get_item(MPI_T_ENUM_NULL, 0, &n, NULL, NULL),
		MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_cvar_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_cvar_get_info(
		   0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
		MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_cvar_get_index("WEFT_LOG", &n), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_cvar_handle_alloc(0, NULL, &cvar, &n),
		MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_cvar_handle_free(&cvar), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_cvar_read(cvar, &n), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_cvar_write(cvar, &n), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_pvar_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_pvar_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
		   NULL, NULL, NULL, NULL, NULL),
		MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_pvar_get_index("sessions", MPI_T_PVAR_CLASS_COUNTER, &n),
		MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_pvar_session_create(&session), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_pvar_session_free(&session), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_pvar_handle_alloc(session, 0, NULL, &pvar, &n),
		MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_pvar_handle_free(session, &pvar), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_pvar_start(session, pvar), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_pvar_stop(session, pvar), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_pvar_read(session, pvar, &count), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_pvar_write(session, pvar, &count), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_pvar_reset(session, pvar), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_pvar_readreset(session, pvar, &count),
		MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_source_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_source_get_info(
		   0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
		MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_source_get_timestamp(0, &count), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_event_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_event_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
		   NULL, NULL, NULL, NULL),
		MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_event_get_index("comm_freed", &n), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &reg),
		MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_event_handle_set_info(reg, MPI_INFO_NULL),
		MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_event_handle_get_info(reg, &info), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_event_register_callback(
		   reg, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, on_event),
		MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_event_callback_set_info(
		   reg, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL),
		MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_event_callback_get_info(reg, MPI_T_CB_REQUIRE_NONE, &info),
		MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_event_handle_free(reg, NULL, NULL), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_event_set_dropped_handler(reg, NULL),
		MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_event_read(ev, 0, &count), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_event_copy(ev, &count), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_event_get_timestamp(ev, &count), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_event_get_source(ev, &n), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_category_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_category_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
		MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_category_get_index("weft", &n), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_category_get_cvars(0, 1, &m), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_category_get_pvars(0, 1, &m), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_category_get_categories(0, 1, &m), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_category_get_num_events(0, &n), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_category_get_events(0, 1, &m), MPI_T_ERR_NOT_INITIALIZED);
	IS(MPI_T_category_changed(&n), MPI_T_ERR_NOT_INITIALIZED);
}

static void initialize(void)
{
	int provided = -1;

	OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
	CHECK(provided == MPI_THREAD_MULTIPLE, "any thread may call");
}

static void call_life(void)
{
	int provided;

	IS(MPI_T_init_thread(4711, &provided), MPI_T_ERR_INVALID);
	IS(MPI_T_init_thread(MPI_THREAD_SINGLE, NULL), MPI_T_ERR_INVALID);
	initialize();
	OK(MPI_T_finalize());
	OK(MPI_T_cvar_get_num(&provided));
}

/* Invalid indices and names, for every kind of object. */
static void call_indices(void)
{
	static const int bad[] = { -1, 1 << 20, -2147483647 - 1, 2147483647 };
	MPI_T_event_registration reg;
	MPI_T_cvar_handle cvar;
	MPI_T_pvar_handle pvar;
	MPI_T_pvar_session session;
	MPI_Count count;
	int n, m;

	OK(MPI_T_pvar_session_create(&session));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		IS(MPI_T_cvar_get_info(bad[i], NULL, NULL, NULL, NULL, NULL,
			   NULL, NULL, NULL, NULL),
			MPI_T_ERR_INVALID_INDEX);
		IS(MPI_T_cvar_handle_alloc(bad[i], NULL, &cvar, &n),
			MPI_T_ERR_INVALID_INDEX);
		IS(MPI_T_pvar_get_info(bad[i], NULL, NULL, NULL, NULL, NULL,
			   NULL, NULL, NULL, NULL, NULL, NULL, NULL),
			MPI_T_ERR_INVALID_INDEX);
		IS(MPI_T_pvar_handle_alloc(session, bad[i], NULL, &pvar, &n),
			MPI_T_ERR_INVALID_INDEX);
		IS(MPI_T_source_get_info(bad[i], NULL, NULL, NULL, NULL, NULL,
			   NULL, NULL, NULL),
			MPI_T_ERR_INVALID_INDEX);
		IS(MPI_T_source_get_timestamp(bad[i], &count),
			MPI_T_ERR_INVALID_INDEX);
		IS(MPI_T_event_get_info(bad[i], NULL, NULL, NULL, NULL, NULL,
			   NULL, NULL, NULL, NULL, NULL, NULL),
			MPI_T_ERR_INVALID_INDEX);
		IS(MPI_T_event_handle_alloc(bad[i], NULL, MPI_INFO_NULL, &reg),
			MPI_T_ERR_INVALID_INDEX);
		IS(MPI_T_category_get_info(
			   bad[i], NULL, NULL, NULL, NULL, NULL, NULL, NULL),
			MPI_T_ERR_INVALID_INDEX);
		IS(MPI_T_category_get_cvars(bad[i], 1, &m),
			MPI_T_ERR_INVALID_INDEX);
		IS(MPI_T_category_get_pvars(bad[i], 1, &m),
			MPI_T_ERR_INVALID_INDEX);
		IS(MPI_T_category_get_categories(bad[i], 1, &m),
			MPI_T_ERR_INVALID_INDEX);
		IS(MPI_T_category_get_num_events(bad[i], &n),
			MPI_T_ERR_INVALID_INDEX);
		IS(MPI_T_category_get_events(bad[i], 1, &m),
			MPI_T_ERR_INVALID_INDEX);
	}
	OK(MPI_T_pvar_session_free(&session));
	IS(MPI_T_cvar_get_index("no variable", &n), MPI_T_ERR_INVALID_NAME);
	IS(MPI_T_cvar_get_index("WEFT_", &n), MPI_T_ERR_INVALID_NAME);
	IS(MPI_T_pvar_get_index("no variable", MPI_T_PVAR_CLASS_COUNTER, &n),
		MPI_T_ERR_INVALID_NAME);
	IS(MPI_T_pvar_get_index("sessions", MPI_T_PVAR_CLASS_TIMER, &n),
		MPI_T_ERR_INVALID_NAME);
	IS(MPI_T_pvar_get_index("sessions", 4711, &n), MPI_T_ERR_INVALID_NAME);
	IS(MPI_T_event_get_index("no event", &n), MPI_T_ERR_INVALID_NAME);
	IS(MPI_T_category_get_index("no category", &n), MPI_T_ERR_INVALID_NAME);
}

/* Passes NULL for arguments that may not be NULL. */
static void call_null(void)
{
	MPI_T_pvar_session session;
	MPI_T_event_registration reg;
	MPI_T_cvar_handle cvar;
	MPI_T_pvar_handle pvar;
	int n;

	OK(MPI_T_pvar_session_create(&session));
	IS(MPI_T_cvar_get_num(NULL), MPI_T_ERR_INVALID);
	IS(MPI_T_pvar_get_num(NULL), MPI_T_ERR_INVALID);
	IS(MPI_T_source_get_num(NULL), MPI_T_ERR_INVALID);
	IS(MPI_T_event_get_num(NULL), MPI_T_ERR_INVALID);
	IS(MPI_T_category_get_num(NULL), MPI_T_ERR_INVALID);
	IS(MPI_T_category_changed(NULL), MPI_T_ERR_INVALID);
	IS(MPI_T_category_get_num_events(0, NULL), MPI_T_ERR_INVALID);
	IS(MPI_T_source_get_timestamp(0, NULL), MPI_T_ERR_INVALID);
	IS(MPI_T_cvar_get_index(NULL, &n), MPI_T_ERR_INVALID);
	IS(MPI_T_cvar_get_index("WEFT_LOG", NULL), MPI_T_ERR_INVALID);
	IS(MPI_T_pvar_get_index(NULL, MPI_T_PVAR_CLASS_COUNTER, &n),
		MPI_T_ERR_INVALID);
	IS(MPI_T_event_get_index(NULL, &n), MPI_T_ERR_INVALID);
	IS(MPI_T_category_get_index("weft", NULL), MPI_T_ERR_INVALID);
	IS(MPI_T_category_get_cvars(0, 1, NULL), MPI_T_ERR_INVALID);
	IS(MPI_T_category_get_categories(0, -1, &n), MPI_T_ERR_INVALID);
	IS(MPI_T_cvar_handle_alloc(0, NULL, NULL, &n), MPI_T_ERR_INVALID);
	IS(MPI_T_cvar_handle_alloc(0, NULL, &cvar, NULL), MPI_T_ERR_INVALID);
	IS(MPI_T_cvar_handle_free(NULL), MPI_T_ERR_INVALID);
	IS(MPI_T_pvar_session_create(NULL), MPI_T_ERR_INVALID);
	IS(MPI_T_pvar_session_free(NULL), MPI_T_ERR_INVALID);
	IS(MPI_T_pvar_handle_alloc(session, 0, NULL, NULL, &n),
		MPI_T_ERR_INVALID);
	IS(MPI_T_pvar_handle_alloc(session, 0, NULL, &pvar, NULL),
		MPI_T_ERR_INVALID);
	IS(MPI_T_pvar_handle_free(session, NULL), MPI_T_ERR_INVALID);
	IS(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, NULL),
		MPI_T_ERR_INVALID);
	IS(MPI_T_event_handle_alloc(0, NULL, (MPI_Info)(intptr_t)-1, &reg),
		MPI_T_ERR_INVALID);
	OK(MPI_T_event_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
		NULL, NULL, NULL, NULL));
	OK(MPI_T_source_get_info(
		0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
	OK(MPI_T_category_get_info(
		0, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
	OK(MPI_T_pvar_session_free(&session));
}

/* Passes invalid handles: the value `bits`, or freed handles if bits is 0. */
static void call_handles(uintptr_t bits)
{
	MPI_T_cvar_handle cvar = bits ? (MPI_T_cvar_handle)bits : stale_cvar;
	MPI_T_pvar_handle pvar = bits ? (MPI_T_pvar_handle)bits : stale_pvar;
	MPI_T_pvar_session session =
		bits ? (MPI_T_pvar_session)bits : stale_session;
	MPI_T_pvar_session good;
	MPI_T_event_registration reg =
		bits ? (MPI_T_event_registration)bits : stale_registration;
	MPI_T_event_instance ev =
		bits ? (MPI_T_event_instance)bits : stale_instance;
	char buf[1024];
	MPI_Info info;
	int n;

	OK(MPI_T_pvar_session_create(&good));
	IS(MPI_T_enum_get_info((MPI_T_enum)bits, &n, NULL, NULL),
		MPI_T_ERR_INVALID_HANDLE);
	IS(MPI_T_enum_get_item((MPI_T_enum)bits, 0, &n, NULL, NULL),
		MPI_T_ERR_INVALID_HANDLE);
	IS(MPI_T_cvar_read(cvar, buf), MPI_T_ERR_INVALID_HANDLE);
	IS(MPI_T_cvar_write(cvar, buf), MPI_T_ERR_INVALID_HANDLE);
	IS(MPI_T_cvar_handle_free(&cvar), MPI_T_ERR_INVALID_HANDLE);
	IS(MPI_T_pvar_session_free(&session), MPI_T_ERR_INVALID_SESSION);
	IS(MPI_T_pvar_handle_alloc(session, 0, NULL, &pvar, &n),
		MPI_T_ERR_INVALID_SESSION);
	IS(MPI_T_pvar_read(session, pvar, buf), MPI_T_ERR_INVALID_SESSION);
	IS(MPI_T_pvar_read(good, pvar, buf), MPI_T_ERR_INVALID_HANDLE);
	IS(MPI_T_pvar_write(good, pvar, buf), MPI_T_ERR_INVALID_HANDLE);
	IS(MPI_T_pvar_readreset(good, pvar, buf), MPI_T_ERR_INVALID_HANDLE);
	IS(MPI_T_pvar_handle_free(good, &pvar), MPI_T_ERR_INVALID_HANDLE);
	if (pvar != MPI_T_PVAR_ALL_HANDLES) {
		IS(MPI_T_pvar_start(good, pvar), MPI_T_ERR_INVALID_HANDLE);
		IS(MPI_T_pvar_stop(good, pvar), MPI_T_ERR_INVALID_HANDLE);
		IS(MPI_T_pvar_reset(good, pvar), MPI_T_ERR_INVALID_HANDLE);
	}
	IS(MPI_T_event_handle_set_info(reg, MPI_INFO_NULL),
		MPI_T_ERR_INVALID_HANDLE);
	IS(MPI_T_event_handle_get_info(reg, &info), MPI_T_ERR_INVALID_HANDLE);
	IS(MPI_T_event_register_callback(
		   reg, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, on_event),
		MPI_T_ERR_INVALID_HANDLE);
	IS(MPI_T_event_callback_set_info(
		   reg, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL),
		MPI_T_ERR_INVALID_HANDLE);
	IS(MPI_T_event_callback_get_info(reg, MPI_T_CB_REQUIRE_NONE, &info),
		MPI_T_ERR_INVALID_HANDLE);
	IS(MPI_T_event_set_dropped_handler(reg, NULL),
		MPI_T_ERR_INVALID_HANDLE);
	IS(MPI_T_event_handle_free(reg, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
	IS(MPI_T_event_read(ev, 0, buf), MPI_T_ERR_INVALID_HANDLE);
	IS(MPI_T_event_copy(ev, buf), MPI_T_ERR_INVALID_HANDLE);
	IS(MPI_T_event_get_timestamp(ev, (MPI_Count *)(void *)buf),
		MPI_T_ERR_INVALID_HANDLE);
	IS(MPI_T_event_get_source(ev, &n), MPI_T_ERR_INVALID_HANDLE);
	OK(MPI_T_pvar_session_free(&good));
}

/* Passes wrong arguments with valid handles. */
static void call_registration(void)
{
	MPI_T_event_registration reg, more[64];
	MPI_T_cb_safety bad = (MPI_T_cb_safety)0x2;
	MPI_Info info = (MPI_Info)(intptr_t)-1;
	int n = 0;

	OK(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &reg));
	IS(MPI_T_event_register_callback(
		   reg, bad, MPI_INFO_NULL, NULL, on_event),
		MPI_T_ERR_INVALID);
	IS(MPI_T_event_register_callback(
		   reg, MPI_T_CB_REQUIRE_NONE, info, NULL, on_event),
		MPI_T_ERR_INVALID);
	IS(MPI_T_event_handle_set_info(reg, info), MPI_T_ERR_INVALID);
	IS(MPI_T_event_handle_get_info(reg, NULL), MPI_T_ERR_INVALID);
	IS(MPI_T_event_callback_get_info(reg, MPI_T_CB_REQUIRE_NONE, &info),
		MPI_T_ERR_INVALID);
	IS(MPI_T_event_callback_set_info(reg, bad, MPI_INFO_NULL),
		MPI_T_ERR_INVALID);
	while (n < 64 && MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL,
				 &more[n]) == MPI_SUCCESS)
		n++;
	CHECK(n < 64, "registrations for one event are limited");
	IS(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &more[0]),
		MPI_T_ERR_OUT_OF_HANDLES);
	while (n > 0)
		OK(MPI_T_event_handle_free(more[--n], NULL, NULL));
	stale_registration = reg;
	OK(MPI_T_event_handle_free(reg, NULL, NULL));
}

/* Creates and frees objects of each kind, which leaves stale handles. */
static void make_stale(void)
{
	MPI_T_pvar_session session;
	MPI_T_cvar_handle cvar;
	MPI_T_pvar_handle pvar;
	int n;

	OK(MPI_T_cvar_handle_alloc(0, NULL, &cvar, &n));
	IS(MPI_T_cvar_read(cvar, NULL), MPI_T_ERR_INVALID);
	IS(MPI_T_cvar_write(cvar, NULL), MPI_T_ERR_INVALID);
	stale_cvar = cvar;
	OK(MPI_T_cvar_handle_free(&cvar));
	CHECK(cvar == MPI_T_CVAR_HANDLE_NULL, "the handle becomes null");
	OK(MPI_T_pvar_session_create(&stale_session));
	OK(MPI_T_pvar_handle_alloc(stale_session, 0, NULL, &pvar, &n));
	IS(MPI_T_pvar_read(stale_session, pvar, NULL), MPI_T_ERR_INVALID);
	stale_pvar = pvar;
	session = stale_session;
	OK(MPI_T_pvar_session_free(&session)); /* frees its handle, too */
	CHECK(session == MPI_T_PVAR_SESSION_NULL, "the session becomes null");
}

static void call_all(void)
{
	call_uninitialized();
	initialize();
	call_life();
	call_indices();
	call_null();
	make_stale();
	call_registration();
	call_handles(0);
	call_handles(1);
	call_handles(4711);
	call_handles((uintptr_t)&initialize);
	call_handles(UINTPTR_MAX);
	OK(MPI_T_finalize());
	call_uninitialized();
}

int main(int argc, char **argv)
{
	MPI_Session session;

	mtest_start(argv[0]);
	call_all();
	OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
	call_all();
	OK(MPI_Session_finalize(&session));
	call_all();
	OK(MPI_Init(&argc, &argv));
	call_all();
	OK(MPI_Finalize());
	call_all();
	for (int i = 0; i < 1000; i++) {
		initialize();
		OK(MPI_T_finalize());
	}
	return mtest_done();
}
