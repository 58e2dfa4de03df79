/* SPDX-License-Identifier: BSD-3-Clause */
/* mpit_events: events of sessions, communicators and messages reach callbacks,
 * with their elements, sources and times; dropped events; registrations that
 * are freed inside their callback */
#include "mtest.h"

enum { LONG = 1 << 20, TAG = 77, ELEMENTS = 4 };

/* The data that the callbacks of one registration record. */
struct seen {
	int n;
	MPI_Count last[ELEMENTS];
	MPI_Count time;
	int source;
	MPI_T_cb_safety safety;
	bool is_late; /* a time stamp was lower than the one before */
	MPI_Count n_dropped;
	int n_freed;
	bool frees_itself;
};

static MPI_T_event_instance last_instance;

static void on_freed(
	MPI_T_event_registration reg, MPI_T_cb_safety safety, void *user_data)
{
	struct seen *seen = user_data;

	(void)reg;
	(void)safety;
	seen->n_freed++;
}

static void on_event(MPI_T_event_instance ev, MPI_T_event_registration reg,
	MPI_T_cb_safety safety, void *user_data)
{
	struct seen *seen = user_data;
	MPI_Count all[ELEMENTS], one, before = seen->time;
	int n;

	seen->n++;
	seen->safety = safety;
	last_instance = ev;
	OK(MPI_T_event_get_timestamp(ev, &seen->time));
	seen->is_late |= seen->time < before;
	OK(MPI_T_event_get_source(ev, &seen->source));
	OK(MPI_T_event_copy(ev, all));
	for (n = 0; n < ELEMENTS && MPI_T_event_read(ev, n, &one) == 0; n++) {
		CHECK(one == all[n], "element %d is in the copy", n);
		seen->last[n] = one;
	}
	CHECK(n > 0, "there is an element");
	CHECK(MPI_T_event_read(ev, n, &one) == MPI_T_ERR_INVALID_INDEX ||
			n == ELEMENTS,
		"element %d does not exist", n);
	CHECK(MPI_T_event_read(ev, -1, &one) == MPI_T_ERR_INVALID_INDEX,
		"element -1 does not exist");
	CHECK(MPI_T_event_read(ev, 0, NULL) == MPI_T_ERR_INVALID,
		"a null buffer is refused");
	if (seen->frees_itself) {
		OK(MPI_T_event_handle_free(reg, seen, on_freed));
		CHECK(seen->n_freed == 0, "a registration is not freed before "
					  "its callback returns");
	}
}

static void on_dropped(MPI_Count count, MPI_T_event_registration reg,
	int source, MPI_T_cb_safety safety, void *user_data)
{
	struct seen *seen = user_data;

	(void)reg;
	(void)source;
	(void)safety;
	seen->n_dropped += count;
}

static MPI_T_event_registration listen(
	const char *name, MPI_T_cb_safety safety, struct seen *seen)
{
	MPI_T_event_registration reg;
	int index = -1;

	memset(seen, 0, sizeof(*seen));
	OK(MPI_T_event_get_index(name, &index));
	OK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &reg));
	OK(MPI_T_event_register_callback(
		reg, safety, MPI_INFO_NULL, seen, on_event));
	return reg;
}

static void stop(MPI_T_event_registration reg, struct seen *seen)
{
	OK(MPI_T_event_handle_free(reg, seen, on_freed));
	CHECK(seen->n_freed == 1, "the free callback ran");
	CHECK(MPI_T_event_handle_free(reg, seen, on_freed) ==
			MPI_T_ERR_INVALID_HANDLE,
		"a registration is freed once");
}

/* Watches sessions. The callbacks need the level THREAD_SAFE, because a session
 * permits threads unless its info requests less. */
static void watch_sessions(void)
{
	struct seen opened, closed;
	MPI_T_event_registration regs[2];
	MPI_Session session;
	MPI_Count now;

	regs[0] =
		listen("session_opened", MPI_T_CB_REQUIRE_THREAD_SAFE, &opened);
	regs[1] =
		listen("session_closed", MPI_T_CB_REQUIRE_THREAD_SAFE, &closed);
	OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
	CHECK(opened.n == 1 && closed.n == 0, "one session was opened");
	CHECK(opened.last[1] > 0, "the event has the time of opening: %lld ns",
		(long long)opened.last[1]);
	OK(MPI_T_source_get_timestamp(opened.source, &now));
	CHECK(opened.time <= now && now - opened.time < 60000000000,
		"the event has a time of its source's clock");
	OK(MPI_Session_finalize(&session));
	CHECK(opened.n == 1 && closed.n == 1, "one session was closed");
	CHECK(opened.last[0] == closed.last[0],
		"the session that was opened is closed");
	stop(regs[0], &opened);
	OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
	CHECK(opened.n == 1, "no event after the registration was freed");
	OK(MPI_Session_finalize(&session));
	stop(regs[1], &closed);
}

static void watch_comms(void)
{
	struct seen made, freed;
	MPI_T_event_registration regs[2];
	MPI_Comm comm;

	regs[0] = listen(
		"comm_created", MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, &made);
	regs[1] = listen("comm_freed", MPI_T_CB_REQUIRE_THREAD_SAFE, &freed);
	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	CHECK(made.n == 1, "one communicator was created, %d", made.n);
	CHECK(made.last[1] == mtest.rank && made.last[2] == mtest.size,
		"the event has rank and size");
	CHECK(made.safety != MPI_T_CB_REQUIRE_NONE,
		"the event is raised under a lock");
	OK(MPI_Comm_disconnect(&comm));
	CHECK(freed.n == 1 && freed.last[0] == made.last[0],
		"the communicator that was created is freed");
	stop(regs[0], &made);
	stop(regs[1], &freed);
}

/* Rank 1 sends before rank 0 receives: a short and a long message. */
static void watch_messages(void)
{
	struct seen queued, rndv;
	MPI_T_event_registration regs[2];
	char *buf = mtest_alloc(LONG);
	MPI_Request req;
	int flag = 0;

	regs[0] = listen("unexpected_queued",
		MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, &queued);
	regs[1] = listen(
		"rndv_started", MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, &rndv);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (mtest.rank == 1) {
		OK(MPI_Send(buf, 5, MPI_CHAR, 0, TAG, MPI_COMM_WORLD));
		OK(MPI_Issend(
			buf, LONG, MPI_CHAR, 0, TAG + 1, MPI_COMM_WORLD, &req));
		OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
		CHECK(rndv.n == 1 && rndv.last[1] == 0 &&
				rndv.last[2] == TAG + 1 && rndv.last[3] == LONG,
			"the rendezvous event has rank, tag and length");
	} else if (mtest.rank == 0) {
		OK(MPI_Probe(1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		CHECK(queued.n >= 1, "a message was unexpected");
		while (!flag)
			OK(MPI_Iprobe(1, TAG + 1, MPI_COMM_WORLD, &flag,
				MPI_STATUS_IGNORE));
		CHECK(queued.last[1] == 1 && queued.last[2] == TAG + 1 &&
				queued.last[3] == LONG,
			"the last event is of the long message, with its "
			"length");
		CHECK(!queued.is_late && queued.source < 16,
			"events of a VCI are in order");
		OK(MPI_Recv(buf, 5, MPI_CHAR, 1, TAG, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		OK(MPI_Recv(buf, LONG, MPI_CHAR, 1, TAG + 1, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
	}
	stop(regs[0], &queued);
	stop(regs[1], &rndv);
	free(buf);
}

/* A registration that is bound to one of two communicators. */
static void watch_one_comm(void)
{
	MPI_T_event_registration reg;
	int index, word = 0, bind;
	struct seen seen = { 0 };
	MPI_Comm comms[2], none = MPI_COMM_NULL;

	if (mtest.rank > 1)
		return;
	OK(MPI_T_event_get_index("comm_unexpected_queued", &index));
	OK(MPI_T_event_get_info(index, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
		NULL, NULL, NULL, &bind));
	CHECK(bind == MPI_T_BIND_MPI_COMM,
		"the event is bound to a communicator");
	CHECK(MPI_T_event_handle_alloc(index, &none, MPI_INFO_NULL, &reg) ==
			MPI_T_ERR_INVALID_HANDLE,
		"the null communicator is refused");
	CHECK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &reg) ==
			MPI_T_ERR_INVALID_HANDLE,
		"a missing communicator is refused");
	for (int i = 0; i < 2; i++)
		OK(MPI_Comm_dup(MPI_COMM_SELF, &comms[i]));
	OK(MPI_T_event_handle_alloc(index, &comms[1], MPI_INFO_NULL, &reg));
	OK(MPI_T_event_register_callback(reg,
		MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, &seen,
		on_event));
	for (int i = 0; i < 5; i++)
		OK(MPI_Send(&word, 1, MPI_INT, 0, TAG + i, comms[i == 2]));
	for (int i = 0; i < 5; i++)
		OK(MPI_Recv(&word, 1, MPI_INT, 0, TAG + i, comms[i == 2],
			MPI_STATUS_IGNORE));
	CHECK(seen.n == 1 && seen.last[2] == TAG + 2,
		"one event comes, that of comms[1]: %d, tag %d", seen.n,
		(int)seen.last[2]);
	stop(reg, &seen);
	for (int i = 0; i < 2; i++)
		OK(MPI_Comm_free(&comms[i]));
}

static void watch_collectives(void)
{
	struct seen seen;
	MPI_T_event_registration reg =
		listen("coll_algorithm", MPI_T_CB_REQUIRE_THREAD_SAFE, &seen);

	for (int i = 0; i < 10; i++)
		OK(MPI_Barrier(MPI_COMM_WORLD));
	CHECK(seen.n >= 10, "each barrier has an algorithm, %d", seen.n);
	CHECK(seen.last[3] == mtest.size,
		"the event has the number of members");
	stop(reg, &seen);
}

/* An event that is raised under a lock is dropped if its registration has only
 * a callback of level NONE. The drop is reported before the next event of the
 * source. */
static void drop(void)
{
	struct seen seen;
	MPI_T_event_registration reg =
		listen("comm_created", MPI_T_CB_REQUIRE_NONE, &seen);
	MPI_Comm comms[3];

	OK(MPI_Comm_dup(MPI_COMM_SELF, &comms[0]));
	CHECK(seen.n == 0, "a callback of an insufficient level is not called");
	OK(MPI_T_event_set_dropped_handler(reg, on_dropped));
	OK(MPI_Comm_dup(MPI_COMM_SELF, &comms[1]));
	CHECK(seen.n == 0 && seen.n_dropped == 0,
		"the drop is not reported yet");
	OK(MPI_T_event_register_callback(reg,
		MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, &seen,
		on_event));
	OK(MPI_Comm_dup(MPI_COMM_SELF, &comms[2]));
	CHECK(seen.n_dropped == 1, "one drop since the handler was set, %lld",
		(long long)seen.n_dropped);
	CHECK(seen.n == 1, "the next event is delivered");
	OK(MPI_T_event_register_callback(reg,
		MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, &seen,
		NULL));
	OK(MPI_Comm_free(&comms[0]));
	OK(MPI_Comm_dup(MPI_COMM_SELF, &comms[0]));
	OK(MPI_Comm_free(&comms[1]));
	stop(reg, &seen);
	CHECK(seen.n == 1 && seen.n_dropped == 2,
		"the last drop is reported when the registration is freed");
	OK(MPI_Comm_free(&comms[0]));
	OK(MPI_Comm_free(&comms[2]));
}

static void free_inside(void)
{
	struct seen seen;
	MPI_T_event_registration reg =
		listen("session_opened", MPI_T_CB_REQUIRE_THREAD_SAFE, &seen);
	MPI_Session session;
	MPI_Count count;

	seen.frees_itself = true;
	OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
	OK(MPI_Session_finalize(&session));
	CHECK(seen.n == 1 && seen.n_freed == 1,
		"the registration is freed by its callback");
	CHECK(MPI_T_event_handle_free(reg, NULL, NULL) ==
			MPI_T_ERR_INVALID_HANDLE,
		"the freed registration is invalid");
	CHECK(MPI_T_event_read(last_instance, 0, &count) ==
			MPI_T_ERR_INVALID_HANDLE,
		"an event exists inside its callback only");
}

/* A registration and its callback store their hints separately. */
static void hint(void)
{
	struct seen seen;
	MPI_T_event_registration reg =
		listen("comm_freed", MPI_T_CB_REQUIRE_NONE, &seen);
	MPI_Info info, used;
	int n;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "colour", "red"));
	OK(MPI_T_event_handle_set_info(reg, info));
	OK(MPI_T_event_handle_get_info(reg, &used));
	OK(MPI_Info_get_nkeys(used, &n));
	CHECK(n == 1, "the registration has the hint");
	OK(MPI_Info_free(&used));
	OK(MPI_T_event_callback_get_info(reg, MPI_T_CB_REQUIRE_NONE, &used));
	OK(MPI_Info_get_nkeys(used, &n));
	CHECK(n == 0, "its callback has no hint");
	OK(MPI_Info_free(&used));
	OK(MPI_T_event_callback_set_info(reg, MPI_T_CB_REQUIRE_NONE, info));
	OK(MPI_T_event_callback_get_info(reg, MPI_T_CB_REQUIRE_NONE, &used));
	OK(MPI_Info_get_nkeys(used, &n));
	CHECK(n == 1, "the callback has the hint after it was set");
	OK(MPI_Info_free(&used));
	OK(MPI_Info_free(&info));
	stop(reg, &seen);
}

int main(int argc, char **argv)
{
	struct seen left;
	int provided;

	mtest_start(argv[0]);
	OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
	listen("peer_connected", MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, &left);
	mtest_init(&argc, &argv);
	mtest_need(2);
	watch_sessions();
	watch_comms();
	watch_messages();
	watch_one_comm();
	CHECK(left.n >= 1, "a process was connected");
	watch_collectives();
	drop();
	free_inside();
	hint();
	OK(MPI_T_finalize()); /* a registration is still open */
	return mtest_finish();
}
