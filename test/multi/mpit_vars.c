/* SPDX-License-Identifier: BSD-3-Clause */
/* mpit_vars: the values of control and performance variables, their isolation
 * by handle, bound objects that were freed, categories, several threads */
#include "mtest.h"

#include <pthread.h>

enum {
	N = 10,
	TAG = 5,
	THREADS = 4,
	ROUNDS = 200,
	TEXT = 2048,
	LONG = 4 << 20,
};

typedef unsigned long long value_t;

static MPI_T_pvar_handle pvar_open(
	MPI_T_pvar_session session, const char *name, int class, void *object)
{
	MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
	int index = -1, count = 0;

	OK(MPI_T_pvar_get_index(name, class, &index));
	OK(MPI_T_pvar_handle_alloc(session, index, object, &handle, &count));
	CHECK(count == 1, "the variable has one value");
	return handle;
}

static value_t pvar_value(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
	value_t value = 4711;

	OK(MPI_T_pvar_read(session, handle, &value));
	return value;
}

static MPI_T_cvar_handle cvar_open(const char *name, int *count)
{
	MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
	int index = -1;

	OK(MPI_T_cvar_get_index(name, &index));
	OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, count));
	return handle;
}

/* Before the first session, all numeric control variables can be set.
 * Afterwards, only some of them can be set. */
static void set_cvars(bool is_before)
{
	MPI_T_cvar_handle handle;
	MPI_Count number, was = 0;
	char text[TEXT], bad[] = "nonsense";
	int count, item;

	handle = cvar_open("WEFT_STALL_WARN", &count);
	CHECK(count == 1, "a number has one value");
	OK(MPI_T_cvar_read(handle, &was));
	number = 77;
	OK(MPI_T_cvar_write(handle, &number));
	number = 0;
	OK(MPI_T_cvar_read(handle, &number));
	CHECK(number == 77, "the variable has the value written");
	number = -1;
	CHECK(MPI_T_cvar_write(handle, &number) == MPI_T_ERR_INVALID,
		"a value out of range is refused");
	OK(MPI_T_cvar_read(handle, &number));
	CHECK(number == 77, "a refused value changes nothing");
	OK(MPI_T_cvar_write(handle, &was));
	OK(MPI_T_cvar_handle_free(&handle));

	handle = cvar_open("WEFT_LOG", &count);
	CHECK(count > 8 && count <= TEXT, "a text has a maximum length");
	strcpy(text, "error");
	OK(MPI_T_cvar_write(handle, text));
	CHECK(MPI_T_cvar_write(handle, bad) == MPI_T_ERR_INVALID,
		"a value that is not in the list is refused");
	OK(MPI_T_cvar_read(handle, text));
	CHECK(!strcmp(text, "error"), "the variable has the text written");
	OK(MPI_T_cvar_write(handle, "warn"));
	OK(MPI_T_cvar_handle_free(&handle));

	handle = cvar_open("WEFT_NET_LINGER", &count);
	OK(MPI_T_cvar_read(handle, &number));
	CHECK(MPI_T_cvar_write(handle, &number) ==
			(is_before ? MPI_SUCCESS : MPI_T_ERR_CVAR_SET_NOT_NOW),
		"the variable can be set before the first session only");
	OK(MPI_T_cvar_handle_free(&handle));

	handle = cvar_open("WEFT_WAIT", &count);
	OK(MPI_T_cvar_read(handle, &item));
	CHECK(item == 0 || item == 1,
		"the value is an item of the enumeration");
	CHECK(MPI_T_cvar_write(handle, &item) == MPI_T_ERR_CVAR_SET_NEVER,
		"only the environment sets the variable");
	OK(MPI_T_cvar_handle_free(&handle));
}

/* Checks the description of WEFT_WAIT: texts that are cut, their whole lengths,
 * and the enumeration of its values. */
static void describe_cvar(void)
{
	int index, verbosity, bind, scope, n, value;
	int name_len = 6, desc_len = 0, item_len;
	char name[64] = "", item[64];
	MPI_Datatype type;
	MPI_T_enum items;

	OK(MPI_T_cvar_get_index("WEFT_WAIT", &index));
	OK(MPI_T_cvar_get_info(index, name, &name_len, &verbosity, &type,
		&items, NULL, &desc_len, &bind, &scope));
	CHECK(!strcmp(name, "WEFT_"), "the name is cut, \"%s\"", name);
	CHECK(name_len == sizeof("WEFT_WAIT"), "the whole length is returned");
	CHECK(desc_len > 100, "the variable has a description");
	CHECK(type == MPI_INT && items != MPI_T_ENUM_NULL,
		"the variable has an enumeration");
	CHECK(bind == MPI_T_BIND_NO_OBJECT && scope == MPI_T_SCOPE_CONSTANT,
		"the variable is bound to no object and constant");
	item_len = sizeof(item);
	OK(MPI_T_enum_get_info(items, &n, item, &item_len));
	CHECK(n == 2 && !strcmp(item, "WAIT"), "the enumeration has two items");
	item_len = sizeof(item);
	OK(MPI_T_enum_get_item(items, 1, &value, item, &item_len));
	CHECK(value == 1 && !strcmp(item, "block"), "the second item is block");
	CHECK(MPI_T_enum_get_item(items, 2, &value, item, &item_len) ==
			MPI_T_ERR_INVALID_INDEX,
		"the enumeration has no third item");
}

/* Two handles of one counter are independent. */
static void count_sessions(void)
{
	MPI_T_pvar_session sessions[2];
	MPI_T_pvar_handle handles[2];
	MPI_Session session;
	value_t value;

	for (int i = 0; i < 2; i++) {
		OK(MPI_T_pvar_session_create(&sessions[i]));
		handles[i] = pvar_open(sessions[i], "sessions",
			MPI_T_PVAR_CLASS_COUNTER, NULL);
		CHECK(pvar_value(sessions[i], handles[i]) == 0,
			"the counter starts at 0");
	}
	OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
	OK(MPI_Session_finalize(&session));
	CHECK(pvar_value(sessions[0], handles[0]) == 1,
		"one session was opened");
	OK(MPI_T_pvar_readreset(sessions[0], handles[0], &value));
	CHECK(value == 1 && pvar_value(sessions[0], handles[0]) == 0,
		"readreset returns the value and resets it");
	CHECK(pvar_value(sessions[1], handles[1]) == 1,
		"the other handle keeps its value");
	value = 100;
	OK(MPI_T_pvar_write(sessions[1], handles[1], &value));
	OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
	OK(MPI_Session_finalize(&session));
	CHECK(pvar_value(sessions[1], handles[1]) == 101,
		"the counter continues from the value written");
	OK(MPI_T_pvar_reset(sessions[1], MPI_T_PVAR_ALL_HANDLES));
	CHECK(pvar_value(sessions[1], handles[1]) == 0,
		"all handles of the session are reset");
	CHECK(pvar_value(sessions[0], handles[0]) == 1,
		"handles of another session are not reset");
	CHECK(MPI_T_pvar_start(sessions[0], handles[0]) ==
			MPI_T_ERR_PVAR_NO_STARTSTOP,
		"a variable that is always active cannot be started");
	OK(MPI_T_pvar_start(sessions[0], MPI_T_PVAR_ALL_HANDLES));
	OK(MPI_T_pvar_stop(sessions[0], MPI_T_PVAR_ALL_HANDLES));
	CHECK(MPI_T_pvar_read(sessions[0], handles[1], &value) ==
			MPI_T_ERR_INVALID_HANDLE,
		"a handle of another session is refused");
	CHECK(MPI_T_pvar_read(sessions[0], MPI_T_PVAR_ALL_HANDLES, &value) ==
			MPI_T_ERR_INVALID_HANDLE,
		"all handles cannot be read");
	for (int i = 0; i < 2; i++)
		OK(MPI_T_pvar_session_free(&sessions[i]));
}

/* Reads the number of posted receives and of unexpected messages of one
 * communicator, and frees it while handles are bound to it. */
static void watch_queues(void)
{
	MPI_T_pvar_handle posted, unexpected;
	MPI_T_pvar_session session;
	MPI_Request reqs[N];
	MPI_Comm comm, other;
	value_t value = 0;
	int bytes[N], flag;

	OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
	OK(MPI_T_pvar_session_create(&session));
	posted = pvar_open(
		session, "posted_receives", MPI_T_PVAR_CLASS_LEVEL, &comm);
	unexpected = pvar_open(
		session, "unexpected_messages", MPI_T_PVAR_CLASS_LEVEL, &comm);
	for (int i = 0; i < N; i++)
		OK(MPI_Irecv(&bytes[i], 1, MPI_INT, 0, TAG, comm, &reqs[i]));
	CHECK(pvar_value(session, posted) == N, "receives are posted");
	for (int i = 0; i < N; i++)
		OK(MPI_Send(&i, 1, MPI_INT, 0, TAG, comm));
	OK(MPI_Waitall(N, reqs, MPI_STATUSES_IGNORE));
	CHECK(pvar_value(session, posted) == 0,
		"no receive is posted any more");
	for (int i = 0; i < 3; i++)
		OK(MPI_Send(&i, 1, MPI_INT, 0, TAG, comm));
	OK(MPI_Iprobe(0, TAG, comm, &flag, MPI_STATUS_IGNORE));
	CHECK(pvar_value(session, unexpected) == 3, "messages are unexpected");
	CHECK(MPI_T_pvar_write(session, unexpected, &value) ==
				MPI_T_ERR_PVAR_NO_WRITE &&
			MPI_T_pvar_reset(session, unexpected) ==
				MPI_T_ERR_PVAR_NO_WRITE &&
			MPI_T_pvar_readreset(session, unexpected, &value) ==
				MPI_T_ERR_PVAR_NO_ATOMIC,
		"a level is read-only");
	for (int i = 0; i < 3; i++)
		OK(MPI_Recv(
			bytes, 1, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE));
	OK(MPI_Comm_free(&comm));
	CHECK(MPI_T_pvar_read(session, unexpected, &value) ==
			MPI_T_ERR_INVALID_HANDLE,
		"a variable of a freed communicator is invalid");
	OK(MPI_Comm_dup(MPI_COMM_SELF, &other));
	CHECK(MPI_T_pvar_read(session, posted, &value) ==
			MPI_T_ERR_INVALID_HANDLE,
		"a new communicator does not replace the freed one");
	OK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
	OK(MPI_T_pvar_handle_free(session, &posted));
	OK(MPI_Comm_free(&other));
	OK(MPI_T_pvar_session_free(&session));
}

/* Creates, uses and frees a communicator. Returns the bytes of communicators
 * while it exists. */
static value_t use_comm(MPI_T_pvar_session session, MPI_T_pvar_handle comms)
{
	enum { LEN = 100000 };
	char *data = calloc(1, LEN);
	MPI_Request req;
	MPI_Comm comm;
	value_t value;

	OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
	OK(MPI_Isend(data, LEN, MPI_BYTE, 0, TAG, comm, &req));
	OK(MPI_Recv(data, LEN, MPI_BYTE, 0, TAG, comm, MPI_STATUS_IGNORE));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	value = pvar_value(session, comms);
	OK(MPI_Comm_free(&comm));
	free(data);
	return value;
}

/* The memory of a room grows and shrinks with its objects. The library may
 * destroy a freed communicator only when the next one is freed. */
static void watch_memory(void)
{
	enum { LEN = 100000 };
	MPI_T_pvar_handle comms, windows;
	MPI_T_pvar_session session;
	value_t bare, before, used, now;
	void *mem;

	OK(MPI_T_pvar_session_create(&session));
	comms = pvar_open(session, "comm_memory", MPI_T_PVAR_CLASS_LEVEL, NULL);
	windows = pvar_open(
		session, "window_memory", MPI_T_PVAR_CLASS_LEVEL, NULL);

	bare = pvar_value(session, comms);
	used = use_comm(session, comms);
	CHECK(used > bare && used < bare + (1 << 20),
		"a communicator adds to %llu bytes: %llu", bare, used);
	before = pvar_value(session, comms);
	for (int i = 0; i < N; i++)
		use_comm(session, comms);
	now = pvar_value(session, comms);
	CHECK(now == before, "freed communicators add nothing to %llu: %llu",
		before, now);

	before = pvar_value(session, windows);
	OK(MPI_Alloc_mem(LEN, MPI_INFO_NULL, &mem));
	now = pvar_value(session, windows);
	CHECK(now == before || now >= before + LEN,
		"shared memory is counted: %llu", now);
	OK(MPI_Free_mem(mem));
	now = pvar_value(session, windows);
	CHECK(now == before, "freed memory is not counted: %llu", now);
	OK(MPI_T_pvar_session_free(&session));
}

/* The data of an unexpected message is in memory of the library. Rank 0 sends
 * the message, and rank 1 reads its own variables. */
static void watch_transport(void)
{
	enum { LEN = 2000 };
	MPI_T_pvar_handle rings, net, unexpected;
	MPI_T_pvar_session session;
	value_t before, now;
	char data[LEN] = "";

	OK(MPI_T_pvar_session_create(&session));
	rings = pvar_open(session, "ring_memory", MPI_T_PVAR_CLASS_LEVEL, NULL);
	net = pvar_open(session, "net_memory", MPI_T_PVAR_CLASS_LEVEL, NULL);
	unexpected = pvar_open(
		session, "unexpected_memory", MPI_T_PVAR_CLASS_LEVEL, NULL);
	CHECK(pvar_value(session, rings) + pvar_value(session, net) > LEN,
		"rings have %llu bytes, receive buffers %llu",
		pvar_value(session, rings), pvar_value(session, net));
	before = pvar_value(session, unexpected);
	if (!mtest.rank) {
		OK(MPI_Send(data, LEN, MPI_BYTE, 1, TAG, MPI_COMM_WORLD));
	} else {
		OK(MPI_Probe(0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		now = pvar_value(session, unexpected);
		CHECK(now >= LEN && now - before <= 4096,
			"the data is in memory of the library: %llu", now);
		OK(MPI_Recv(data, LEN, MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
	}
	OK(MPI_T_pvar_session_free(&session));
}

/* Objects that a variable cannot be bound to. */
static void bind_wrongly(void)
{
	MPI_T_pvar_session session;
	MPI_T_pvar_handle handle;
	MPI_Comm comm = MPI_COMM_NULL, freed;
	int index, count;

	OK(MPI_T_pvar_session_create(&session));
	OK(MPI_T_pvar_get_index(
		"posted_receives", MPI_T_PVAR_CLASS_LEVEL, &index));
	CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) ==
			MPI_T_ERR_INVALID_HANDLE,
		"a missing object is refused");
	CHECK(MPI_T_pvar_handle_alloc(session, index, (void *)MPI_COMM_WORLD,
		      &handle, &count) == MPI_T_ERR_INVALID_HANDLE,
		"a handle instead of its address is refused");
	CHECK(MPI_T_pvar_handle_alloc(session, index, &comm, &handle, &count) ==
			MPI_T_ERR_INVALID_HANDLE,
		"the null communicator is refused");
	OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
	freed = comm;
	OK(MPI_Comm_free(&comm));
	CHECK(MPI_T_pvar_handle_alloc(session, index, &freed, &handle,
		      &count) == MPI_T_ERR_INVALID_HANDLE,
		"a freed communicator is refused");
	OK(MPI_T_pvar_session_free(&session));
}

/* Every variable and event is in exactly one category. */
static void sum_categories(void)
{
	int n_cat, n_cvars, n_pvars, n_subs, n_events, stamp, again;
	int cvars = 0, pvars = 0, events = 0, n, index, len;
	char name[64], desc[TEXT];
	int members[500];

	OK(MPI_T_category_changed(&stamp));
	OK(MPI_T_category_get_num(&n_cat));
	for (int i = 0; i < n_cat; i++) {
		int name_len = sizeof(name), desc_len = sizeof(desc);

		OK(MPI_T_category_get_info(i, name, &name_len, desc, &desc_len,
			&n_cvars, &n_pvars, &n_subs));
		CHECK(*name && *desc,
			"a category has a name and a description");
		OK(MPI_T_category_get_index(name, &index));
		CHECK(index == i, "a category is found by its name");
		OK(MPI_T_category_get_num_events(i, &n_events));
		CHECK(i == 0 ? n_subs == n_cat - 1 : n_subs == 0,
			"the first category contains the others");
		cvars += n_cvars;
		pvars += n_pvars;
		events += n_events;
		len = n_cvars ? 1 : 0;
		members[0] = members[1] = -1;
		OK(MPI_T_category_get_cvars(i, len, members));
		CHECK((members[0] >= 0) == (len == 1) && members[1] == -1,
			"at most len members are returned");
		OK(MPI_T_category_get_pvars(i, 500, members));
		OK(MPI_T_category_get_events(i, 500, members));
		OK(MPI_T_category_get_categories(i, 500, members));
	}
	OK(MPI_T_cvar_get_num(&n));
	CHECK(cvars == n, "the categories have all control variables: %d of %d",
		cvars, n);
	OK(MPI_T_pvar_get_num(&n));
	CHECK(pvars == n,
		"the categories have all performance variables: %d of %d",
		pvars, n);
	OK(MPI_T_event_get_num(&n));
	CHECK(events == n, "the categories have all events: %d of %d", events,
		n);
	OK(MPI_T_category_changed(&again));
	CHECK(stamp == again, "categories are constant");
}

/* Reads every variable that needs no object. */
static void read_all(void)
{
	MPI_T_pvar_session session;
	MPI_T_pvar_handle handle;
	int n, bind, class, count, index;
	char name[128], text[TEXT];
	union {
		value_t number;
		double seconds;
	} value;

	OK(MPI_T_pvar_session_create(&session));
	OK(MPI_T_pvar_get_num(&n));
	for (int i = 0; i < n; i++) {
		int name_len = sizeof(name), len = sizeof(text);

		OK(MPI_T_pvar_get_info(i, name, &name_len, NULL, &class, NULL,
			NULL, text, &len, &bind, NULL, NULL, NULL));
		CHECK(len > 10 && len < TEXT, "%s is described", name);
		OK(MPI_T_pvar_get_index(name, class, &index));
		CHECK(index == i, "%s is unique in its class", name);
		if (bind != MPI_T_BIND_NO_OBJECT)
			continue;
		OK(MPI_T_pvar_handle_alloc(session, i, NULL, &handle, &count));
		OK(MPI_T_pvar_read(session, handle, &value));
	}
	OK(MPI_T_pvar_session_free(&session));
}

static void *run_thread(void *arg)
{
	MPI_T_pvar_session session;
	MPI_T_pvar_handle handle;
	int provided, index, count, errs = 0;
	value_t value;

	for (int i = 0; i < ROUNDS; i++) {
		MPI_Comm comm =
			__atomic_load_n((MPI_Comm *)arg, __ATOMIC_RELAXED);

		errs += MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
		errs += MPI_T_pvar_session_create(&session);
		errs += MPI_T_pvar_get_index(
			"posted_receives", MPI_T_PVAR_CLASS_LEVEL, &index);
		if (!MPI_T_pvar_handle_alloc(
			    session, index, &comm, &handle, &count))
			MPI_T_pvar_read(session, handle, &value);
		errs += MPI_T_pvar_session_free(&session);
		errs += MPI_T_finalize();
	}
	return (void *)(intptr_t)errs;
}

/* Threads read variables of a communicator that this thread frees meanwhile. */
static void use_threads(void)
{
	pthread_t threads[THREADS];
	MPI_Comm comm = MPI_COMM_SELF;
	void *errs;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run_thread, &comm);
	for (int i = 0; i < ROUNDS; i++) {
		MPI_Comm dup;

		OK(MPI_Comm_dup(MPI_COMM_SELF, &dup));
		__atomic_store_n(&comm, dup, __ATOMIC_RELAXED);
		OK(MPI_Comm_free(&dup));
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &errs);
		CHECK(!errs, "no thread had an error");
	}
}

/* Messages between two processes are counted, those by the fabric also at
 * their provider and rail. */
static void count_messages(void)
{
	static const char *const providers[] = { "cxi", "verbs", "tcp",
		"sockets", "shm", "other" };
	enum { N_PROVIDERS = sizeof(providers) / sizeof(providers[0]) };
	MPI_T_pvar_session session;
	MPI_T_pvar_handle shm, net, rail, by[N_PROVIDERS];
	value_t sum = 0;
	char name[64];
	int word = 0;

	OK(MPI_T_pvar_session_create(&session));
	shm = pvar_open(session, "shm_sent", MPI_T_PVAR_CLASS_COUNTER, NULL);
	net = pvar_open(session, "net_sent", MPI_T_PVAR_CLASS_COUNTER, NULL);
	rail = pvar_open(
		session, "rail0_net_sent", MPI_T_PVAR_CLASS_COUNTER, NULL);
	for (int i = 0; i < N_PROVIDERS; i++) {
		snprintf(name, sizeof(name), "%s_net_sent", providers[i]);
		by[i] = pvar_open(
			session, name, MPI_T_PVAR_CLASS_COUNTER, NULL);
	}
	for (int i = 0; i < N; i++) {
		OK(MPI_Sendrecv_replace(&word, 1, MPI_INT, !mtest.rank, TAG,
			!mtest.rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	}
	CHECK(pvar_value(session, shm) + pvar_value(session, net) >= N,
		"all messages are counted: %llu by shared memory, %llu by the "
		"fabric",
		pvar_value(session, shm), pvar_value(session, net));
	for (int i = 0; i < N_PROVIDERS; i++)
		sum += pvar_value(session, by[i]);
	CHECK(sum == pvar_value(session, net),
		"all providers sent %llu messages of %llu", sum,
		pvar_value(session, net));
	CHECK(pvar_value(session, rail) == pvar_value(session, net),
		"rail 0 sent all messages");
	OK(MPI_T_pvar_session_free(&session));
}

/* Data of a long message that the fabric carries is counted at both sides. */
static void count_long_message(void)
{
	MPI_T_pvar_session session;
	MPI_T_pvar_handle bytes, messages;
	char *data = calloc(1, LONG);
	value_t value;

	OK(MPI_T_pvar_session_create(&session));
	bytes = pvar_open(session,
		mtest.rank ? "net_received_bytes" : "net_sent_bytes",
		MPI_T_PVAR_CLASS_AGGREGATE, NULL);
	messages = pvar_open(session, mtest.rank ? "net_received" : "net_sent",
		MPI_T_PVAR_CLASS_COUNTER, NULL);
	if (!mtest.rank)
		OK(MPI_Send(data, LONG, MPI_BYTE, 1, TAG, MPI_COMM_WORLD));
	else
		OK(MPI_Recv(data, LONG, MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
	value = pvar_value(session, messages);
	CHECK(!value || pvar_value(session, bytes) >= LONG,
		"%llu messages have %llu of %d bytes", value,
		pvar_value(session, bytes), LONG);
	OK(MPI_T_pvar_session_free(&session));
	free(data);
}

/* Each nonblocking operation uses one algorithm, or several between nodes. */
static void count_algorithms(void)
{
	enum { MAX = 64 };
	MPI_T_pvar_handle handles[MAX];
	MPI_T_pvar_session session;
	value_t sum = 0;
	int n, n_handles = 0, in = 1, out, count;

	OK(MPI_T_pvar_session_create(&session));
	OK(MPI_T_pvar_get_num(&n));
	for (int i = 0; i < n && n_handles < MAX; i++) {
		char name[128];
		int name_len = sizeof(name);

		OK(MPI_T_pvar_get_info(i, name, &name_len, NULL, NULL, NULL,
			NULL, NULL, NULL, NULL, NULL, NULL, NULL));
		if (!strncmp(name, "coll_allreduce_", 15))
			OK(MPI_T_pvar_handle_alloc(session, i, NULL,
				&handles[n_handles++], &count));
	}
	CHECK(n_handles > 2, "allreduce has more than two algorithms: %d",
		n_handles);
	for (int i = 0; i < N; i++) {
		MPI_Request request;

		OK(MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM,
			MPI_COMM_WORLD, &request));
		OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	}
	for (int i = 0; i < n_handles; i++)
		sum += pvar_value(session, handles[i]);
	CHECK(sum >= N,
		"each operation counts at its algorithm: %llu uses, %d "
		"operations",
		sum, N);
	OK(MPI_T_pvar_session_free(&session));
}

int main(int argc, char **argv)
{
	int provided;

	mtest_start(argv[0]);
	OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
	read_all();
	set_cvars(true);
	OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &mtest.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &mtest.size);
	set_cvars(false);
	describe_cvar();
	count_sessions();
	watch_queues();
	watch_memory();
	bind_wrongly();
	sum_categories();
	read_all();
	use_threads();
	if (mtest.size > 1 && mtest.rank < 2) {
		watch_transport();
		count_messages();
		count_long_message();
	}
	if (mtest.size > 1)
		count_algorithms();
	OK(MPI_Finalize());
	read_all();
	OK(MPI_T_finalize());
	return mtest_done();
}
