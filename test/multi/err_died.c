/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * err_died: a member dies while the others are in a call. Each kind of call
 * ends with one error class, and its text names the call and the rank of the
 * failed process in the communicator, window or file of that call
 *
 * The first three processes survive. Each round has a communicator of them and
 * a victim. The victim has rank 1 there, and a greater rank in the job. It
 * sleeps, and is killed about 40 ms after the survivors begin their calls. When
 * the failure is known, each survivor makes all calls of the round again.
 *
 * part= 0: messages, 1: collectives, 2: windows, 3: files, 4: communicators
 */
#include "mtest.h"

#include <pthread.h>

enum {
	LIVING = 3,
	DEAD = 1,     /* rank of the victim in each crew */
	SHORT = 4,    /* ints */
	LONG = 400000 /* ints, for a message that needs a rendezvous */
};

/* The object that the text of the error names, by its entry in crew.name.
 * ON_MADE: an object of unknown name, such as the one to be created. */
enum object { ON_COMM, ON_WIN, ON_FILE, ON_MADE };

/* The survivors and one victim. */
struct crew {
	MPI_Comm comm, half, inter;
	MPI_Win win;
	MPI_File file;
	MPI_Group dead, alive;
	int rank;
	int victim; /* process id of the victim */
	int n;	    /* number of the round */
	char name[3][80];
	char text[MPI_MAX_ERROR_STRING]; /* text of the last error, or "" */
};

struct call {
	const char *name;  /* name of the procedure in the text of the error */
	const char *other; /* another name that the text may have; or NULL */
	int (*fn)(struct crew *c);
	/* the call must fail; false: it may succeed at a process that does
	 * not need the failed process */
	bool is_needed;
	enum object on;
};

/* Survivor i is in calls[i] at the death; in calls[0] if calls[i] is NULL. */
struct round {
	const struct call *calls[LIVING];
};

static int buf[LONG], buf2[LONG];
static char *program;

/* ---- messages ---- */

static int recv_dead(struct crew *c)
{
	return MPI_Recv(buf, 1, MPI_INT, DEAD, 1, c->comm, MPI_STATUS_IGNORE);
}

static int recv_any(struct crew *c)
{
	return MPI_Recv(
		buf, 1, MPI_INT, MPI_ANY_SOURCE, 2, c->comm, MPI_STATUS_IGNORE);
}

static int ssend(struct crew *c)
{
	return MPI_Ssend(buf, SHORT, MPI_INT, DEAD, 3, c->comm);
}

static int send_long(struct crew *c)
{
	return MPI_Send(buf, LONG, MPI_INT, DEAD, 4, c->comm);
}

/* Eager sends succeed until their space is exhausted or the death is known. */
static int send_short(struct crew *c)
{
	int rc = MPI_SUCCESS;

	for (int i = 0; i < 1000000 && !rc; i++)
		rc = MPI_Send(buf, 1000, MPI_INT, DEAD, 5, c->comm);
	return rc;
}

static int probe(struct crew *c)
{
	return MPI_Probe(DEAD, 6, c->comm, MPI_STATUS_IGNORE);
}

static int probe_any(struct crew *c)
{
	return MPI_Probe(MPI_ANY_SOURCE, 6, c->comm, MPI_STATUS_IGNORE);
}

static int mprobe(struct crew *c)
{
	MPI_Message message;

	return MPI_Mprobe(DEAD, 6, c->comm, &message, MPI_STATUS_IGNORE);
}

static int iprobe(struct crew *c)
{
	int rc = MPI_SUCCESS, flag = 0;

	while (!rc && !flag)
		rc = MPI_Iprobe(DEAD, 6, c->comm, &flag, MPI_STATUS_IGNORE);
	return rc;
}

static int improbe(struct crew *c)
{
	int rc = MPI_SUCCESS, flag = 0;
	MPI_Message message;

	while (!rc && !flag)
		rc = MPI_Improbe(
			DEAD, 6, c->comm, &flag, &message, MPI_STATUS_IGNORE);
	return rc;
}

static int sendrecv(struct crew *c)
{
	return MPI_Sendrecv(buf, 1, MPI_INT, c->rank, 7, buf2, 1, MPI_INT, DEAD,
		7, c->comm, MPI_STATUS_IGNORE);
}

static int sendrecv_replace(struct crew *c)
{
	return MPI_Sendrecv_replace(buf, LONG, MPI_INT, DEAD, 7, DEAD, 7,
		c->comm, MPI_STATUS_IGNORE);
}

static MPI_Request irecv(struct crew *c)
{
	MPI_Request request = MPI_REQUEST_NULL;

	OK(MPI_Irecv(buf, 1, MPI_INT, DEAD, 8, c->comm, &request));
	return request;
}

static int wait_recv(struct crew *c)
{
	MPI_Request request = irecv(c);

	return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int wait_send(struct crew *c)
{
	MPI_Request request;

	int rc = MPI_Issend(buf, LONG, MPI_INT, DEAD, 8, c->comm, &request);

	return rc ? rc : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* The receive remains active after the error. */
static int wait_any_source(struct crew *c)
{
	MPI_Request request;
	int rc;

	OK(MPI_Irecv(buf, 1, MPI_INT, MPI_ANY_SOURCE, 8, c->comm, &request));
	rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
	if (request != MPI_REQUEST_NULL) {
		OK(MPI_Cancel(&request));
		OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	}
	return rc;
}

static int test_recv(struct crew *c)
{
	MPI_Request request = irecv(c);
	int rc = MPI_SUCCESS, flag = 0;

	while (!rc && !flag)
		rc = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
	return rc;
}

static int waitany(struct crew *c)
{
	MPI_Request requests[2] = { MPI_REQUEST_NULL, irecv(c) };
	int which;

	return MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);
}

/* Returns the error of a request from its status, if the call failed with rc.
 */
static int in_status(int rc, const MPI_Status *status)
{
	if (!rc)
		return rc;
	CHECK(mtest_class(rc) == MPI_ERR_IN_STATUS,
		"the class is MPI_ERR_IN_STATUS, got %s", mtest_error(rc));
	return status->MPI_ERROR;
}

static int waitall(struct crew *c)
{
	MPI_Request requests[2] = { MPI_REQUEST_NULL, irecv(c) };
	MPI_Status statuses[2];

	return in_status(MPI_Waitall(2, requests, statuses), &statuses[1]);
}

static int waitsome(struct crew *c)
{
	MPI_Request requests[2] = { MPI_REQUEST_NULL, irecv(c) };
	MPI_Status statuses[2];
	int n, which[2];

	return in_status(
		MPI_Waitsome(2, requests, &n, which, statuses), &statuses[0]);
}

static int persistent(struct crew *c)
{
	MPI_Request request;
	int rc;

	OK(MPI_Recv_init(buf, 1, MPI_INT, DEAD, 9, c->comm, &request));
	rc = MPI_Start(&request);
	if (!rc)
		rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
	OK(MPI_Request_free(&request));
	return rc;
}

static int partitioned(struct crew *c)
{
	MPI_Request request;
	int rc;

	OK(MPI_Precv_init(buf, 2, 1, MPI_INT, DEAD, 10, c->comm, MPI_INFO_NULL,
		&request));
	rc = MPI_Start(&request);
	if (!rc)
		rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
	OK(MPI_Request_free(&request));
	return rc;
}

#define EITHER(name, other, fn, is_needed, on) \
	&(const struct call)                   \
	{                                      \
		name, other, fn, is_needed, on \
	}
#define CALL(name, fn) EITHER(name, NULL, fn, true, ON_COMM)
#define MAY(name, fn) EITHER(name, NULL, fn, false, ON_COMM)

static const struct round messages[] = {
	{ { CALL("MPI_Recv", recv_dead), CALL("MPI_Ssend", ssend),
		CALL("MPI_Probe", probe) } },
	{ { CALL("MPI_Recv", recv_any), CALL("MPI_Send", send_long),
		CALL("MPI_Mprobe", mprobe) } },
	{ { CALL("MPI_Iprobe", iprobe), CALL("MPI_Improbe", improbe),
		CALL("MPI_Probe", probe_any) } },
	{ { CALL("MPI_Sendrecv", sendrecv),
		CALL("MPI_Sendrecv_replace", sendrecv_replace),
		CALL("MPI_Wait", wait_recv) } },
	{ { EITHER("MPI_Issend", "MPI_Wait", wait_send, true, ON_COMM),
		CALL("MPI_Wait", wait_any_source),
		CALL("MPI_Test", test_recv) } },
	{ { CALL("MPI_Waitany", waitany), CALL("MPI_Waitall", waitall),
		CALL("MPI_Waitsome", waitsome) } },
	{ { CALL("MPI_Wait", persistent), CALL("MPI_Wait", partitioned),
		CALL("MPI_Send", send_short) } },
	{ { NULL } },
};

/* ---- collectives ---- */

static int barrier(struct crew *c)
{
	return MPI_Barrier(c->comm);
}

static int ibarrier(struct crew *c)
{
	MPI_Request request;
	int rc = MPI_Ibarrier(c->comm, &request);

	return rc ? rc : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int bcast(struct crew *c)
{
	return MPI_Bcast(buf, SHORT, MPI_INT, DEAD, c->comm);
}

static int bcast_long(struct crew *c)
{
	return MPI_Bcast(buf, LONG, MPI_INT, DEAD, c->comm);
}

static int reduce(struct crew *c)
{
	return MPI_Reduce(buf, buf2, SHORT, MPI_INT, MPI_SUM, 0, c->comm);
}

static int allreduce(struct crew *c)
{
	return MPI_Allreduce(buf, buf2, SHORT, MPI_INT, MPI_SUM, c->comm);
}

static int allreduce_long(struct crew *c)
{
	return MPI_Allreduce(buf, buf2, LONG, MPI_INT, MPI_SUM, c->comm);
}

static int iallreduce(struct crew *c)
{
	MPI_Request request;
	int rc = MPI_Iallreduce(
		buf, buf2, SHORT, MPI_INT, MPI_SUM, c->comm, &request);

	return rc ? rc : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int gather(struct crew *c)
{
	return MPI_Gather(
		buf, SHORT, MPI_INT, buf2, SHORT, MPI_INT, 2, c->comm);
}

static int scatter(struct crew *c)
{
	return MPI_Scatter(
		buf, SHORT, MPI_INT, buf2, SHORT, MPI_INT, DEAD, c->comm);
}

static int allgather(struct crew *c)
{
	return MPI_Allgather(
		buf, SHORT, MPI_INT, buf2, SHORT, MPI_INT, c->comm);
}

static int alltoall(struct crew *c)
{
	return MPI_Alltoall(
		buf, LONG / 4, MPI_INT, buf2, LONG / 4, MPI_INT, c->comm);
}

static int reduce_scatter(struct crew *c)
{
	return MPI_Reduce_scatter_block(
		buf, buf2, SHORT, MPI_INT, MPI_SUM, c->comm);
}

static int scan(struct crew *c)
{
	return MPI_Scan(buf, buf2, SHORT, MPI_INT, MPI_SUM, c->comm);
}

static int persistent_coll(struct crew *c)
{
	MPI_Request request;
	int rc = MPI_Allreduce_init(buf, buf2, SHORT, MPI_INT, MPI_SUM, c->comm,
		MPI_INFO_NULL, &request);

	if (!rc)
		rc = MPI_Start(&request);
	if (!rc)
		rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
	return rc;
}

static const struct round collectives[] = {
	{ { CALL("MPI_Barrier", barrier) } },
	{ { CALL("MPI_Wait", ibarrier) } },
	{ { CALL("MPI_Bcast", bcast) } },
	{ { CALL("MPI_Bcast", bcast_long) } },
	{ { MAY("MPI_Reduce", reduce) } },
	{ { CALL("MPI_Allreduce", allreduce) } },
	{ { CALL("MPI_Allreduce", allreduce_long) } },
	{ { CALL("MPI_Wait", iallreduce) } },
	{ { MAY("MPI_Gather", gather) } },
	{ { CALL("MPI_Scatter", scatter) } },
	{ { CALL("MPI_Allgather", allgather) } },
	{ { CALL("MPI_Alltoall", alltoall) } },
	{ { CALL("MPI_Reduce_scatter_block", reduce_scatter) } },
	{ { MAY("MPI_Scan", scan) } },
	{ { CALL("MPI_Wait", persistent_coll) } },
	{ { NULL } },
};

/* ---- windows ---- */

static int fence(struct crew *c)
{
	int rc = MPI_Win_fence(0, c->win);

	return rc ? rc : MPI_Win_fence(MPI_MODE_NOSUCCEED, c->win);
}

static int start(struct crew *c)
{
	int rc = MPI_Win_start(c->dead, 0, c->win);

	return rc ? rc : MPI_Win_complete(c->win);
}

static int post_wait(struct crew *c)
{
	int rc = MPI_Win_post(c->dead, 0, c->win);

	return rc ? rc : MPI_Win_wait(c->win);
}

/* Repeats the access, because memory that is mapped here stays valid when its
 * owner dies. */
static int until_error(struct crew *c, int (*access)(struct crew *c))
{
	double end = MPI_Wtime() + 0.3;
	int rc, len;

	rc = MPI_Win_lock(MPI_LOCK_SHARED, DEAD, 0, c->win);
	if (rc)
		return rc;
	while (!rc && MPI_Wtime() < end)
		rc = access(c);
	if (rc)
		MPI_Error_string(rc, c->text, &len);
	MPI_Win_unlock(DEAD, c->win); /* after MPI_Error_string: unlock sets
				       * another text */
	return rc;
}

static int put_flush(struct crew *c)
{
	int rc = MPI_Put(buf, SHORT, MPI_INT, DEAD, 0, SHORT, MPI_INT, c->win);

	return rc ? rc : MPI_Win_flush(DEAD, c->win);
}

static int rget_wait(struct crew *c)
{
	MPI_Request request;
	int rc = MPI_Rget(
		buf, SHORT, MPI_INT, DEAD, 0, SHORT, MPI_INT, c->win, &request);

	return rc ? rc : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int fetch_flush(struct crew *c)
{
	int rc = MPI_Fetch_and_op(buf, buf2, MPI_INT, DEAD, 0, MPI_SUM, c->win);

	return rc ? rc : MPI_Win_flush(DEAD, c->win);
}

static int puts_flush(struct crew *c)
{
	return until_error(c, put_flush);
}

static int rgets_wait(struct crew *c)
{
	return until_error(c, rget_wait);
}

static int fetches_flush(struct crew *c)
{
	return until_error(c, fetch_flush);
}

static int win_free(struct crew *c)
{
	return MPI_Win_free(&c->win);
}

static int win_allocate(struct crew *c)
{
	MPI_Win win;
	void *base;

	return MPI_Win_allocate(4096, 1, MPI_INFO_NULL, c->comm, &base, &win);
}

static int win_create(struct crew *c)
{
	MPI_Win win;

	return MPI_Win_create(buf, 4096, 1, MPI_INFO_NULL, c->comm, &win);
}

static const struct round windows[] = {
	{ { EITHER("MPI_Win_fence", NULL, fence, true, ON_WIN) } },
	{ { EITHER("MPI_Win_start", "MPI_Win_complete", start, true, ON_WIN),
		EITHER("MPI_Win_wait", "MPI_Win_post", post_wait, true, ON_WIN),
		EITHER("MPI_Put", "MPI_Win_flush", puts_flush, false,
			ON_WIN) } },
	{ { EITHER("MPI_Rget", "MPI_Wait", rgets_wait, false, ON_WIN),
		EITHER("MPI_Fetch_and_op", "MPI_Win_flush", fetches_flush,
			false, ON_WIN),
		EITHER("MPI_Put", "MPI_Win_flush", puts_flush, false,
			ON_WIN) } },
	{ { CALL("MPI_Win_allocate", win_allocate) } },
	{ { CALL("MPI_Win_create", win_create) } },
	{ { EITHER("MPI_Win_free", NULL, win_free, false, ON_WIN) } },
	{ { NULL } },
};

/* ---- files ---- */

static int file_open(struct crew *c)
{
	MPI_File file;

	return MPI_File_open(
		c->comm, c->name[ON_FILE], MPI_MODE_RDWR, MPI_INFO_NULL, &file);
}

static int write_all(struct crew *c)
{
	return MPI_File_write_at_all(c->file, c->rank * SHORT, buf, SHORT,
		MPI_INT, MPI_STATUS_IGNORE);
}

static int read_all(struct crew *c)
{
	return MPI_File_read_all(
		c->file, buf, SHORT, MPI_INT, MPI_STATUS_IGNORE);
}

static int iwrite_all(struct crew *c)
{
	MPI_Request request;
	int rc = MPI_File_iwrite_at_all(
		c->file, c->rank * SHORT, buf, SHORT, MPI_INT, &request);

	return rc ? rc : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int write_ordered(struct crew *c)
{
	return MPI_File_write_ordered(
		c->file, buf, SHORT, MPI_INT, MPI_STATUS_IGNORE);
}

static int set_size(struct crew *c)
{
	return MPI_File_set_size(c->file, 4096);
}

static int file_sync(struct crew *c)
{
	return MPI_File_sync(c->file);
}

static int file_close(struct crew *c)
{
	return MPI_File_close(&c->file);
}

static const struct round files[] = {
	{ { EITHER("MPI_File_open", NULL, file_open, true, ON_MADE) } },
	{ { EITHER("MPI_File_write_at_all", NULL, write_all, true, ON_FILE) } },
	{ { EITHER("MPI_File_read_all", NULL, read_all, true, ON_FILE) } },
	{ { EITHER("MPI_File_iwrite_at_all", "MPI_Wait", iwrite_all, true,
		ON_FILE) } },
	{ { EITHER("MPI_File_write_ordered", NULL, write_ordered, true,
		ON_FILE) } },
	{ { EITHER("MPI_File_set_size", NULL, set_size, true, ON_FILE) } },
	{ { EITHER("MPI_File_sync", NULL, file_sync, false, ON_FILE) } },
	{ { EITHER("MPI_File_close", NULL, file_close, true, ON_FILE) } },
	{ { NULL } },
};

/* ---- communicators ---- */

static int comm_dup(struct crew *c)
{
	MPI_Comm comm;

	return MPI_Comm_dup(c->comm, &comm);
}

static int comm_idup(struct crew *c)
{
	MPI_Request request;
	MPI_Comm comm;
	int rc = MPI_Comm_idup(c->comm, &comm, &request);

	return rc ? rc : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int comm_split(struct crew *c)
{
	MPI_Comm comm;

	return MPI_Comm_split(c->comm, c->rank % 2, 0, &comm);
}

static int split_type(struct crew *c)
{
	MPI_Comm comm;

	return MPI_Comm_split_type(
		c->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
}

static int comm_create(struct crew *c)
{
	MPI_Comm comm;

	return MPI_Comm_create(c->comm, c->alive, &comm);
}

static int create_group(struct crew *c)
{
	MPI_Group group;
	MPI_Comm comm;
	int rc;

	OK(MPI_Comm_group(c->comm, &group));
	rc = MPI_Comm_create_group(c->comm, group, 3, &comm);
	OK(MPI_Group_free(&group));
	return rc;
}

static int from_group(struct crew *c)
{
	MPI_Group group;
	MPI_Comm comm;
	int rc;

	OK(MPI_Comm_group(c->comm, &group));
	rc = MPI_Comm_create_from_group(group, c->name[ON_COMM], MPI_INFO_NULL,
		MPI_ERRORS_RETURN, &comm);
	OK(MPI_Group_free(&group));
	return rc;
}

static int intercomm_create(struct crew *c)
{
	MPI_Comm comm;

	return MPI_Intercomm_create(
		c->half, 0, c->comm, c->rank < 2 ? 2 : 0, 4, &comm);
}

static int inter_barrier(struct crew *c)
{
	return MPI_Barrier(c->inter);
}

static int inter_recv(struct crew *c)
{
	if (c->rank < 2)
		return MPI_SUCCESS;
	return MPI_Recv(buf, 1, MPI_INT, DEAD, 1, c->inter, MPI_STATUS_IGNORE);
}

static int graph_create(struct crew *c)
{
	int dims[1] = { LIVING + 1 }, periods[1] = { 1 };
	MPI_Comm comm;

	return MPI_Cart_create(c->comm, 1, dims, periods, 0, &comm);
}

static int accept_any(struct crew *c)
{
	char port[MPI_MAX_PORT_NAME] = "";
	MPI_Comm comm;
	int rc;

	if (c->rank == 0)
		OK(MPI_Open_port(MPI_INFO_NULL, port));
	rc = MPI_Comm_accept(port, MPI_INFO_NULL, 0, c->comm, &comm);
	if (c->rank == 0)
		OK(MPI_Close_port(port));
	return rc;
}

/* Connects to a port of a survivor that does not accept. */
static int connect_none(struct crew *c)
{
	char port[MPI_MAX_PORT_NAME] = "";
	MPI_Comm comm;
	int rc;

	if (c->rank == 2) {
		OK(MPI_Open_port(MPI_INFO_NULL, port));
		OK(MPI_Send(port, sizeof(port), MPI_CHAR, 0, 7, c->comm));
	}
	if (c->rank == 0)
		OK(MPI_Recv(port, sizeof(port), MPI_CHAR, 2, 7, c->comm,
			MPI_STATUS_IGNORE));
	rc = MPI_Comm_connect(port, MPI_INFO_NULL, 0, c->comm, &comm);
	if (c->rank == 0)
		OK(MPI_Send(NULL, 0, MPI_CHAR, 2, 8, c->comm));
	if (c->rank == 2) { /* the root has connected to the open port */
		OK(MPI_Recv(
			NULL, 0, MPI_CHAR, 0, 8, c->comm, MPI_STATUS_IGNORE));
		OK(MPI_Close_port(port));
	}
	return rc;
}

/* The program that was spawned calls no MPI procedure, and ends with the
 * process that spawned it. */
static void child_wait(pid_t parent)
{
	if (!parent)
		return;
	while (!kill(parent, 0))
		mtest_linger(50);
	exit(0);
}

static int spawn_late(struct crew *c)
{
	char arg[32];
	char *args[] = { arg, NULL };
	MPI_Comm comm;

	snprintf(arg, sizeof(arg), "child=%d", (int)getpid());
	return MPI_Comm_spawn(program, args, 1, MPI_INFO_NULL, 0, c->comm,
		&comm, MPI_ERRCODES_IGNORE);
}

static int disconnect(struct crew *c)
{
	return MPI_Comm_disconnect(&c->comm);
}

static const struct round comms[] = {
	{ { MAY("MPI_Comm_dup", comm_dup) } },
	{ { EITHER("MPI_Comm_idup", "MPI_Wait", comm_idup, false, ON_COMM) } },
	{ { CALL("MPI_Comm_split", comm_split) } },
	{ { CALL("MPI_Comm_split_type", split_type) } },
	{ { MAY("MPI_Comm_create", comm_create) } },
	{ { MAY("MPI_Comm_create_group", create_group) } },
	{ { MAY("MPI_Comm_create_from_group", from_group) } },
	{ { EITHER("MPI_Intercomm_create", NULL, intercomm_create, false,
		ON_MADE) } },
	{ { EITHER("MPI_Barrier", NULL, inter_barrier, true, ON_MADE) } },
	{ { EITHER("MPI_Recv", NULL, inter_recv, false, ON_MADE) } },
	{ { MAY("MPI_Cart_create", graph_create) } },
	{ { EITHER("MPI_Comm_accept", NULL, accept_any, true, ON_COMM) } },
	{ { EITHER("MPI_Comm_connect", NULL, connect_none, true, ON_COMM) } },
	{ { EITHER("MPI_Comm_spawn", NULL, spawn_late, true, ON_COMM) } },
	{ { MAY("MPI_Comm_disconnect", disconnect) } },
	{ { NULL } },
};

/* ---- a round ---- */

static const struct round *const parts[] = { messages, collectives, windows,
	files, comms };

enum { PARTS = sizeof(parts) / sizeof(parts[0]) };

static int n_rounds(const struct round *rounds)
{
	int n = 0;

	while (rounds[n].calls[0])
		n++;
	return n;
}

static void crew_name(struct crew *c)
{
	snprintf(c->name[ON_COMM], sizeof(c->name[0]), "crew %d", c->n);
	snprintf(c->name[ON_WIN], sizeof(c->name[0]), "sea %d", c->n);
	OK(MPI_Comm_set_name(c->comm, c->name[ON_COMM]));
	OK(MPI_Comm_set_errhandler(c->comm, MPI_ERRORS_RETURN));
}

static void crew_window(struct crew *c)
{
	void *base;

	OK(MPI_Win_allocate(
		LONG, sizeof(int), MPI_INFO_NULL, c->comm, &base, &c->win));
	OK(MPI_Win_set_errhandler(c->win, MPI_ERRORS_RETURN));
	OK(MPI_Win_set_name(c->win, c->name[ON_WIN]));
}

static void crew_file(struct crew *c, int id)
{
	snprintf(c->name[ON_FILE], sizeof(c->name[0]), "weft_err_died.%d.%d",
		id, c->n);
	OK(MPI_File_open(c->comm, c->name[ON_FILE],
		MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &c->file));
}

static void crew_halves(struct crew *c)
{
	OK(MPI_Comm_split(c->comm, c->rank < 2, 0, &c->half));
	OK(MPI_Comm_set_errhandler(c->half, MPI_ERRORS_RETURN));
	OK(MPI_Intercomm_create(
		c->half, 0, c->comm, c->rank < 2 ? 2 : 0, 4, &c->inter));
	OK(MPI_Comm_set_errhandler(c->inter, MPI_ERRORS_RETURN));
}

/* Collective over the crew of round n. */
static void crew_make(struct crew *c, int n, int part, int id)
{
	int ranks[LIVING + 1] = { 0, LIVING + n, 1, 2 }, dead = DEAD;
	MPI_Group world, all;
	int pid = (int)getpid();

	c->n = n;
	OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
	OK(MPI_Group_incl(world, LIVING + 1, ranks, &all));
	OK(MPI_Comm_create_group(MPI_COMM_WORLD, all, n, &c->comm));
	OK(MPI_Group_incl(all, 1, &dead, &c->dead));
	OK(MPI_Group_excl(all, 1, &dead, &c->alive));
	OK(MPI_Group_free(&all));
	OK(MPI_Group_free(&world));
	OK(MPI_Comm_rank(c->comm, &c->rank));
	crew_name(c);
	c->victim = pid;
	OK(MPI_Bcast(&c->victim, 1, MPI_INT, DEAD, c->comm));
	if (parts[part] == windows)
		crew_window(c);
	if (parts[part] == files)
		crew_file(c, id);
	if (parts[part] == comms)
		crew_halves(c);
	OK(MPI_Barrier(c->comm));
}

/* Kills the victim 40 ms later. The call of this process may start before or
 * after that. */
static void *kill_later(void *arg)
{
	mtest_linger(40);
	kill(*(int *)arg, SIGKILL);
	return NULL;
}

static bool names_call(const struct call *call, const char *text)
{
	char name[64];

	snprintf(name, sizeof(name), " %s: ", call->name);
	if (strstr(text, name))
		return true;
	snprintf(name, sizeof(name), " %s: ", call->other ? call->other : "?");
	return strstr(text, name);
}

static void check_error(
	struct crew *c, const struct call *call, int rc, const char *when)
{
	static const char *const kinds[] = { "rank %d of communicator \"%s\"",
		"rank %d of window %s", "rank %d of file %s", "rank %d of " };
	char text[MPI_MAX_ERROR_STRING] = "", named[160];
	int len, wanted = call->fn == wait_any_source
				  ? MPIX_ERR_PROC_FAILED_PENDING
				  : MPIX_ERR_PROC_FAILED;

	if (!rc && !call->is_needed)
		return;
	MPI_Error_string(rc, text, &len);
	if (c->text[0])
		snprintf(text, sizeof(text), "%s", c->text);
	c->text[0] = 0;
	CHECK(mtest_class(rc) == wanted, "%s %s: got %s", call->name, when,
		rc ? mtest_error(rc) : "success");
	if (!rc)
		return;
	CHECK(names_call(call, text), "%s %s: names the call: %s", call->name,
		when, text);
	snprintf(
		named, sizeof(named), kinds[call->on], DEAD, c->name[call->on]);
	CHECK(strstr(text, named), "%s %s: names %s: %s", call->name, when,
		named, text);
}

static void round_run(const struct round *r, struct crew *c)
{
	const struct call *call = r->calls[mtest.rank];
	pthread_t killer;
	int rc;

	if (!call)
		call = r->calls[0];
	if (mtest.rank == 0)
		pthread_create(&killer, NULL, kill_later, &c->victim);
	rc = call->fn(c);
	check_error(c, call, rc, "at the death");
	if (mtest.rank == 0)
		pthread_join(killer, NULL);
}

/* Each survivor makes all the calls of the round. */
static void round_again(const struct round *r, struct crew *c)
{
	if (c->win == MPI_WIN_NULL && r->calls[0]->on == ON_WIN)
		return;
	if (c->file == MPI_FILE_NULL && r->calls[0]->on == ON_FILE)
		return;
	recv_dead(c); /* after this call the death is known here */
	for (int i = 0; i < LIVING && r->calls[i]; i++)
		check_error(c, r->calls[i], r->calls[i]->fn(c), "after it");
}

static void round_end(struct crew *c)
{
	if (c->file != MPI_FILE_NULL)
		MPI_File_close(&c->file);
	if (c->win != MPI_WIN_NULL)
		MPI_Win_free(&c->win);
	if (mtest.rank == 0 && c->name[ON_FILE][0])
		unlink(c->name[ON_FILE]);
	MPI_Group_free(&c->dead);
	MPI_Group_free(&c->alive);
	if (c->inter != MPI_COMM_NULL)
		MPI_Comm_free(&c->inter);
	if (c->half != MPI_COMM_NULL)
		MPI_Comm_free(&c->half);
	if (c->comm != MPI_COMM_NULL)
		MPI_Comm_free(&c->comm);
}

int main(int argc, char **argv)
{
	int part, n, rc, id = (int)getpid();
	struct crew *crews;

	program = argv[0];
	child_wait((pid_t)mtest_arg(argc, argv, "child", 0));
	mtest_init(&argc, &argv);
	part = (int)mtest_arg(argc, argv, "part", 0);
	n = n_rounds(parts[part % PARTS]);
	mtest_need(LIVING + n);
	OK(MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD));
	crews = mtest_alloc((size_t)n * sizeof(*crews));
	for (int i = 0; i < n; i++) {
		crews[i].win = MPI_WIN_NULL;
		crews[i].file = MPI_FILE_NULL;
		crews[i].comm = crews[i].half = crews[i].inter = MPI_COMM_NULL;
		if (mtest.rank < LIVING || mtest.rank == LIVING + i)
			crew_make(&crews[i], i, part, id);
	}
	if (mtest.rank >= LIVING + n)
		return mtest_finish(); /* no round needs this process */
	while (mtest.rank >= LIVING)
		pause();
	for (int i = 0; i < n; i++) {
		round_run(&parts[part][i], &crews[i]);
		if (crews[i].comm != MPI_COMM_NULL)
			round_again(&parts[part][i], &crews[i]);
	}
	for (int i = 0; i < n; i++)
		round_end(&crews[i]);
	free(crews);
	rc = MPI_Finalize();
	CHECK(!rc, "MPI_Finalize succeeds without the failed processes, %s",
		mtest_error(rc));
	return mtest_done();
}
