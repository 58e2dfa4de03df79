/* SPDX-License-Identifier: BSD-3-Clause */
/* two_jobs: one of two jobs that connect through a port
 *
 * usage: two_jobs ROLE FILE HOW
 * ROLE is server or client. The server writes its port name to FILE, and the
 * client waits for that file. HOW selects the test case. Rank 0 of each job
 * prints TAP, one line per claim. */
#include "claim.h"

#include <mpix.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WAIT_S = 60, BIG = 300000 };

/* Path of a file that the client creates when the server may continue. */
static char go_file[2048];

/* Writes another file and renames it, so that no process reads half of it. */
static void write_port_name(const char *file, const char *name)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s.new", file);
	f = fopen(path, "w");
	if (!f || fputs(name, f) < 0 || fclose(f) || rename(path, file)) {
		perror(path);
		MPI_Abort(MPI_COMM_WORLD, 3);
	}
}

static void read_port_name(const char *file, char *name)
{
	time_t end = time(NULL) + WAIT_S;
	FILE *f;

	while (!(f = fopen(file, "r"))) {
		if (time(NULL) > end) {
			fprintf(stderr, "no %s\n", file);
			MPI_Abort(MPI_COMM_WORLD, 3);
		}
		nap(10);
	}
	if (!fgets(name, MPI_MAX_PORT_NAME, f))
		MPI_Abort(MPI_COMM_WORLD, 3);
	fclose(f);
}

static MPI_Comm meet(int is_server, const char *name)
{
	MPI_Comm inter = MPI_COMM_NULL;

	if (is_server)
		MPI_Comm_accept(name, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
	else
		MPI_Comm_connect(
			name, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
	return inter;
}

/* Each process exchanges a long and a short message with each process of the
 * other job. */
static int swap_all(MPI_Comm inter, int is_server)
{
	int n_remote, ok = 1, *out, *in;

	MPI_Comm_remote_size(inter, &n_remote);
	out = malloc(BIG * sizeof(*out));
	in = malloc(BIG * sizeof(*in));
	for (int r = 0; r < n_remote; r++)
		for (int n = 1; n <= BIG; n += BIG - 1) {
			for (int i = 0; i < n; i++) {
				out[i] = is_server * 1000 + rank * 10 + i;
				in[i] = -1;
			}
			MPI_Sendrecv(out, n, MPI_INT, r, 5, in, n, MPI_INT, r,
				5, inter, MPI_STATUS_IGNORE);
			for (int i = 0; i < n; i++)
				ok &= in[i] == !is_server * 1000 + r * 10 + i;
		}
	free(out);
	free(in);
	return ok;
}

/* The processes of both jobs are on one node, so they have shared windows. */
static int has_shared_window(MPI_Comm all, int n, int me)
{
	MPI_Comm node;
	MPI_Win win;
	MPI_Aint len;
	int n_near, unit, ok, *mine, *next;

	MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Comm_size(node, &n_near);
	MPI_Win_allocate_shared(
		sizeof(int), sizeof(int), MPI_INFO_NULL, node, &mine, &win);
	MPI_Win_fence(0, win);
	*mine = me;
	MPI_Win_fence(0, win);
	MPI_Win_shared_query(win, (me + 1) % n, &len, &unit, &next);
	ok = n_near == n && *next == (me + 1) % n;
	MPI_Win_free(&win);
	MPI_Comm_disconnect(&node);
	return ok;
}

static void use(MPI_Comm inter, int is_server)
{
	MPI_Comm all, copy, half;
	int n_remote, is_inter, sum, n, me, other;

	MPI_Comm_test_inter(inter, &is_inter);
	MPI_Comm_remote_size(inter, &n_remote);
	claim(is_inter && n_remote > 0, "the result is an intercommunicator");
	claim(swap_all(inter, is_server), "all pairs exchange messages");
	MPI_Allreduce(&size, &other, 1, MPI_INT, MPI_MAX, inter);
	claim(other == n_remote, "a collective reaches the other side");
	MPI_Comm_dup(inter, &copy);
	MPI_Barrier(copy);
	MPI_Comm_free(&copy);
	MPI_Intercomm_merge(inter, !is_server, &all);
	MPI_Comm_size(all, &n);
	MPI_Comm_rank(all, &me);
	sum = me;
	MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, all);
	claim(n == size + n_remote && sum == n * (n - 1) / 2 &&
			me == (is_server ? rank : n_remote + rank),
		"both sides merge into one communicator");
	claim(has_shared_window(all, n, me), "both sides share a window");
	MPI_Comm_split(all, me % 2, 0, &half);
	MPI_Barrier(half);
	MPI_Comm_disconnect(&half);
	MPI_Comm_disconnect(&all);
}

/* Calls MPI_Comm_connect and returns the class of its error. timeout: value of
 * the info key, or NULL. */
static int refusal(const char *name, const char *timeout)
{
	MPI_Comm inter;
	MPI_Info info = MPI_INFO_NULL;
	int code, class = MPI_SUCCESS;

	if (timeout) {
		MPI_Info_create(&info);
		MPI_Info_set(info, "timeout", timeout);
	}
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	code = MPI_Comm_connect(name, info, 0, MPI_COMM_WORLD, &inter);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Error_class(code, &class);
	if (timeout)
		MPI_Info_free(&info);
	return class;
}

/* ---- the test cases, one function for each HOW ---- */

/* No launcher knows both jobs, so none can define a set with members of both.
 */
static void publish_both(MPI_Comm inter)
{
	MPI_Session session;
	MPI_Group far;
	int rc, class;

	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
	MPI_Comm_remote_group(inter, &far);
	rc = MPIX_Session_publish_pset(session, "far", far);
	MPI_Error_class(rc, &class);
	claim(class == MPI_ERR_UNSUPPORTED_OPERATION,
		"a set with members of an unrelated job is refused");
	MPI_Group_free(&far);
	MPI_Session_finalize(&session);
}

static void do_meet(int is_server, const char *name)
{
	MPI_Comm inter = meet(is_server, name), again;

	use(inter, is_server);
	publish_both(inter);
	again = meet(is_server, name);
	MPI_Barrier(again);
	MPI_Comm_disconnect(&inter);
	use(again, is_server);
	MPI_Comm_disconnect(&again);
	claim(inter == MPI_COMM_NULL, "the communicator is disconnected");
}

/* Both jobs call MPI_Finalize without a disconnect. */
static void do_finalize(int is_server, const char *name)
{
	MPI_Comm inter = meet(is_server, name);

	claim(swap_all(inter, is_server), "all pairs exchange messages");
}

/* Waits until the client has created go_file, at most WAIT_S seconds. */
static void wait_go(void)
{
	time_t end = time(NULL) + WAIT_S;

	while (access(go_file, F_OK) && time(NULL) <= end)
		nap(10);
}

/* After both jobs have disconnected, the server calls _exit (is_exit) or
 * MPI_Abort, and the client continues. Statement S90 of contrib/conformance.md.
 */
static void part_and_end(int is_server, const char *name, int is_exit)
{
	MPI_Comm inter = meet(is_server, name), all;
	int token = 0;

	MPI_Intercomm_merge(inter, !is_server, &all);
	MPI_Barrier(all);
	MPI_Comm_disconnect(&all);
	MPI_Comm_disconnect(&inter);
	MPI_Barrier(MPI_COMM_WORLD);
	if (is_server)
		wait_go();
	else if (rank == 0)
		write_port_name(go_file, "parted");
	if (is_server && is_exit)
		_exit(7);
	if (is_server)
		MPI_Abort(MPI_COMM_WORLD, 7);
	for (int i = 0; i < 100; i++) {
		nap(10);
		token += i;
		MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
	claim(token == 4950, "the client continues without the server");
}

static void do_abort(int is_server, const char *name)
{
	part_and_end(is_server, name, 0);
}

static void do_exit(int is_server, const char *name)
{
	part_and_end(is_server, name, 1);
}

/* The server is killed while the jobs are connected. Receives of the client
 * that wait for the server return an error. */
static void do_crash(int is_server, const char *name)
{
	MPI_Comm inter = meet(is_server, name);
	int buf, code;

	MPI_Barrier(inter);
	if (is_server)
		raise(SIGKILL);
	MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
	code = MPI_Recv(&buf, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE);
	claim(code != MPI_SUCCESS, "the crash ends a wait with an error");
	MPI_Comm_disconnect(&inter);
}

/* The server is killed. The client makes only calls that do not wait; how: the
 * call. */
static void poll_crash(int is_server, const char *name, char how)
{
	MPI_Comm inter = meet(is_server, name);
	MPI_Request reqs[2] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL };
	int buf[2], code = MPI_SUCCESS, flag, index, last;
	time_t end;

	MPI_Barrier(inter);
	if (is_server)
		raise(SIGKILL);
	MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
	MPI_Comm_remote_size(inter, &last);
	last--;
	if (how != 'p')
		MPI_Irecv(&buf[0], 1, MPI_INT, last, 1, inter, &reqs[0]);
	if (how == 'a')
		MPI_Irecv(&buf[1], 1, MPI_INT, MPI_ANY_SOURCE, 2, inter,
			&reqs[1]);
	end = time(NULL) + WAIT_S;
	while (!code && time(NULL) < end) {
		if (how == 'p')
			code = MPI_Iprobe(
				last, 1, inter, &flag, MPI_STATUS_IGNORE);
		else if (how == 't')
			code = MPI_Test(&reqs[0], &flag, MPI_STATUS_IGNORE);
		else
			code = MPI_Testany(
				2, reqs, &index, &flag, MPI_STATUS_IGNORE);
	}
	claim(code != MPI_SUCCESS, "the crash ends calls that do not wait");
	for (int i = 0; i < 2; i++)
		if (reqs[i] != MPI_REQUEST_NULL) {
			MPI_Cancel(&reqs[i]);
			MPI_Request_free(&reqs[i]);
		}
	MPI_Comm_disconnect(&inter);
}

static void do_poll_test(int is_server, const char *name)
{
	poll_crash(is_server, name, 't');
}

static void do_poll_probe(int is_server, const char *name)
{
	poll_crash(is_server, name, 'p');
}

static void do_poll_any(int is_server, const char *name)
{
	poll_crash(is_server, name, 'a');
}

static void do_refuse(int is_server, const char *name)
{
	MPI_Comm inter;
	char other[MPI_MAX_PORT_NAME];
	int n = (int)strlen(name);

	if (is_server) {
		inter = meet(1, name);
		/* the server waits here and accepts no connection */
		MPI_Barrier(inter);
		if (rank == 0)
			MPI_Close_port(name);
		MPI_Barrier(inter);
		/* the server waits here and answers connect requests */
		MPI_Barrier(inter);
		MPI_Comm_disconnect(&inter);
		return;
	}
	inter = meet(0, name);
	claim(refusal(name, "1") == MPI_ERR_PORT,
		"a connect without an accept times out");
	MPI_Barrier(inter);
	MPI_Barrier(inter);
	claim(refusal(name, NULL) == MPI_ERR_PORT,
		"a closed port refuses connections");
	claim(refusal("hello", NULL) == MPI_ERR_PORT,
		"an invalid port name is refused");
	claim(refusal("", NULL) == MPI_ERR_PORT,
		"an empty port name is refused");
	strcpy(other, name);
	if (n > 80) /* changes a digit of the key */
		other[70] = other[70] == '0' ? '1' : '0';
	claim(refusal(other, "2") == MPI_ERR_PORT, "a wrong key is refused");
	MPI_Barrier(inter);
	MPI_Comm_disconnect(&inter);
}

/* The first connect of the client times out, because the server makes no MPI
 * call. The client connects again. The server must accept the second request
 * and not the first, which was cancelled. */
static void do_late(int is_server, const char *name)
{
	MPI_Comm inter;

	if (is_server) {
		wait_go();
	} else {
		claim(refusal(name, "1") == MPI_ERR_PORT,
			"a connect without an accept times out");
		if (rank == 0)
			write_port_name(go_file, "given up");
	}
	inter = meet(is_server, name);
	claim(swap_all(inter, is_server),
		"the second connect request succeeds");
	MPI_Comm_disconnect(&inter);
}

static const struct {
	const char *name;
	void (*run)(int is_server, const char *name);
} hows[] = {
	{ "meet", do_meet },
	{ "finalize", do_finalize },
	{ "abort", do_abort },
	{ "exit", do_exit },
	{ "crash", do_crash },
	{ "poll_test", do_poll_test },
	{ "poll_probe", do_poll_probe },
	{ "poll_any", do_poll_any },
	{ "refuse", do_refuse },
	{ "late", do_late },
};

int main(int argc, char **argv)
{
	char name[MPI_MAX_PORT_NAME] = "";
	int is_server, is_known = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc != 4)
		MPI_Abort(MPI_COMM_WORLD, 2);
	is_server = !strcmp(argv[1], "server");
	snprintf(go_file, sizeof(go_file), "%s.parted", argv[2]);
	if (is_server && rank == 0) {
		MPI_Open_port(MPI_INFO_NULL, name);
		write_port_name(argv[2], name);
	} else if (rank == 0) {
		read_port_name(argv[2], name);
	}
	for (size_t i = 0; i < sizeof(hows) / sizeof(*hows); i++)
		if (!strcmp(hows[i].name, argv[3])) {
			hows[i].run(is_server, name);
			is_known = 1;
		}
	if (!is_known)
		MPI_Abort(MPI_COMM_WORLD, 2);
	MPI_Finalize();
	return n_bad != 0;
}
