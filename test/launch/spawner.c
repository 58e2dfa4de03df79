/* SPDX-License-Identifier: BSD-3-Clause */
/* spawner: a job that spawns jobs, and the spawned program
 *
 * usage: spawner HOW [ARGUMENT]
 * HOW selects the test case. The spawned processes run this program, too, with
 * a HOW that begins with "child-". Rank 0 of each job prints TAP, one line per
 * claim. */
#include "claim.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static char **arguments;

/* Spawns n processes with the arguments how and second. */
static MPI_Comm start(const char *how, int n, const char *second)
{
	char *argv[] = { (char *)(size_t)how, (char *)(size_t)second, NULL };
	MPI_Comm inter = MPI_COMM_NULL;
	int codes[8];

	memset(codes, -1, sizeof(codes));
	MPI_Comm_spawn(arguments[0], argv, n, MPI_INFO_NULL, size - 1,
		MPI_COMM_WORLD, &inter, codes);
	for (int i = 0; i < n; i++)
		if (codes[i] != MPI_SUCCESS)
			MPI_Abort(MPI_COMM_WORLD, 4);
	return inter;
}

/* Returns the sum of the ranks in a merged communicator. */
static int merged_sum(MPI_Comm inter, int is_high, int *n_out)
{
	MPI_Comm all;
	int sum;

	MPI_Intercomm_merge(inter, is_high, &all);
	MPI_Comm_size(all, n_out);
	MPI_Comm_rank(all, &sum);
	MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, all);
	MPI_Comm_disconnect(&all);
	return sum;
}

static void parent_talk(void)
{
	MPI_Comm inter = start("child-talk", 3, "two words"), none;
	int n_remote, n, sum;

	MPI_Comm_get_parent(&none);
	claim(none == MPI_COMM_NULL,
		"a process that was not spawned has no parent");
	MPI_Comm_remote_size(inter, &n_remote);
	claim(n_remote == 3, "three processes were spawned");
	sum = merged_sum(inter, 0, &n);
	claim(n == size + 3 && sum == n * (n - 1) / 2,
		"both sides merge into one communicator");
	MPI_Comm_disconnect(&inter);
}

/* True if the launcher's command line contains the port name, or cannot be
 * read. Every user may read that command line. */
static int is_told(void)
{
	const char *port = getenv("WEFT_PARENT");
	char path[64], line[65536] = "";
	size_t n, len = port ? strlen(port) : 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)getppid());
	file = fopen(path, "r");
	n = file ? fread(line, 1, sizeof(line), file) : 0;
	if (file)
		fclose(file);
	return !n || !len || memmem(line, n, port, len) != NULL;
}

static void child_talk(MPI_Comm parent)
{
	MPI_Comm again;
	int n, sum;

	claim(parent != MPI_COMM_NULL, "child: there is a parent");
	claim(!strcmp(arguments[2], "two words"),
		"child: an argument with a blank is not split");
	claim(!is_told(), "child: the port's name stays a secret");
	sum = merged_sum(parent, 1, &n);
	claim(n > size && sum == n * (n - 1) / 2,
		"child: both sides merge into one communicator");
	MPI_Comm_disconnect(&parent);
	MPI_Comm_get_parent(&again);
	claim(again == MPI_COMM_NULL,
		"child: MPI_Comm_get_parent returns null after disconnecting");
}

static int own_sum(MPI_Comm comm, int value)
{
	MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, comm);
	return value;
}

/* Creates an intercommunicator whose two groups both have processes of both
 * jobs, and sends messages over it. */
static void cross(MPI_Comm parent_or_child, int is_high)
{
	MPI_Comm all, half, inter;
	int at, n, n_remote = 0, got = -1, sum = 0, inter_rank;

	MPI_Intercomm_merge(parent_or_child, is_high, &all);
	MPI_Comm_rank(all, &at);
	MPI_Comm_size(all, &n);
	MPI_Comm_split(all, at % 2, at, &half);
	MPI_Intercomm_create(half, 0, all, !(at % 2), 7, &inter);
	MPI_Comm_remote_size(inter, &n_remote);
	MPI_Comm_rank(inter, &inter_rank);
	MPI_Sendrecv(&at, 1, MPI_INT, inter_rank, 1, &got, 1, MPI_INT,
		inter_rank, 1, inter, MPI_STATUS_IGNORE);
	MPI_Allreduce(&at, &sum, 1, MPI_INT, MPI_SUM, inter);
	claim(n_remote == n / 2 && got == (at ^ 1) &&
			sum == n * (n - 1) / 2 - own_sum(half, at),
		"groups of several jobs create an intercommunicator");
	MPI_Comm_disconnect(&inter);
	MPI_Comm_disconnect(&half);
	MPI_Comm_disconnect(&all);
	MPI_Comm_disconnect(&parent_or_child);
}

static void parent_mixed(void)
{
	cross(start("child-mixed", size, ""), 0);
}

static void child_mixed(MPI_Comm parent)
{
	cross(parent, 1);
}

/* Two programs in one spawn, with different arguments. */
static void parent_multiple(void)
{
	char *commands[] = { arguments[0], arguments[0] };
	char *first[] = { "child-multiple", "first", NULL };
	char *second[] = { "child-multiple", "second", NULL };
	char **argvs[] = { first, second };
	int maxprocs[] = { 1, 2 }, codes[3] = { -1, -1, -1 }, got[3] = { 0 };
	MPI_Info infos[] = { MPI_INFO_NULL, MPI_INFO_NULL };
	MPI_Comm inter;

	MPI_Info_create(&infos[1]);
	MPI_Info_set(infos[1], "wdir", "/");
	MPI_Comm_spawn_multiple(2, commands, argvs, maxprocs, infos, 0,
		MPI_COMM_WORLD, &inter, codes);
	MPI_Info_free(&infos[1]);
	claim(!codes[0] && !codes[1] && !codes[2],
		"all processes were started");
	if (rank == 0)
		for (int i = 0; i < 3; i++)
			MPI_Recv(&got[i], 1, MPI_INT, i, 1, inter,
				MPI_STATUS_IGNORE);
	claim(rank || (got[0] == 1 && got[1] == 12 && got[2] == 12),
		"each process has the arguments, directory and number of its "
		"app");
	MPI_Comm_disconnect(&inter);
}

static void child_multiple(MPI_Comm parent)
{
	char dir[4096] = "";
	int is_second = !strcmp(arguments[2], "second"), *appnum, has, word;

	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &has);
	word = has && *appnum == is_second ? 1 : 100;
	if (is_second)
		word += getcwd(dir, sizeof(dir)) && !strcmp(dir, "/") ? 11 : 50;
	MPI_Send(&word, 1, MPI_INT, 0, 1, parent);
	MPI_Comm_disconnect(&parent);
}

static void parent_fail(void)
{
	MPI_Comm inter = MPI_COMM_NULL;
	char text[MPI_MAX_ERROR_STRING] = "";
	int codes[2] = { -1, -1 }, code, class, len;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	code = MPI_Comm_spawn("/no/such/program", MPI_ARGV_NULL, 2,
		MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes);
	MPI_Error_class(code, &class);
	claim(class == MPI_ERR_SPAWN, "a missing program is MPI_ERR_SPAWN");
	claim(rank || (codes[0] == MPI_ERR_SPAWN && codes[1] == MPI_ERR_SPAWN),
		"each process that was not started has an error code");
	code = MPI_Comm_spawn("/bin/true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0,
		MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
	MPI_Error_class(code, &class);
	claim(class == MPI_ERR_SPAWN, "a program without MPI is MPI_ERR_SPAWN");
	code = MPI_Comm_spawn(arguments[0], MPI_ARGV_NULL, rank ? 1 : -1,
		MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
	MPI_Error_class(code, &class);
	claim(class == MPI_ERR_ARG,
		"an invalid maxprocs at the root is an error at all members");
	code = MPI_Comm_spawn(arguments[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL,
		size, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
	MPI_Error_class(code, &class);
	claim(class == MPI_ERR_ROOT, "an invalid root is MPI_ERR_ROOT");
	code = MPI_Comm_connect(rank ? NULL : "no port", MPI_INFO_NULL, 0,
		MPI_COMM_WORLD, &inter);
	MPI_Error_class(code, &class);
	claim(class == MPI_ERR_PORT,
		"an invalid port at the root is an error at all members");
	code = MPI_Comm_accept(NULL, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
	MPI_Error_class(code, &class);
	claim(class == MPI_ERR_ARG,
		"a null port name is an error at all members");
	code = MPI_Intercomm_create(
		MPI_COMM_WORLD, 0, MPI_COMM_WORLD, 4711, 1, &inter);
	MPI_Error_string(code, text, &len);
	claim(strstr(text, "4711") != NULL,
		"the error text is that of the member that detected the error");
}

/* Spawns eight jobs, one after the other. `own` was created before the first
 * spawn, so the first communicator of a child may have the same context id. */
static void parent_many(void)
{
	MPI_Comm inter, own;
	char *argv[] = { "child-many", NULL };
	int n_good = 0;

	MPI_Comm_dup(MPI_COMM_WORLD, &own);
	for (int i = 0; i < 8; i++) {
		MPI_Comm_spawn(arguments[0], argv, 2, MPI_INFO_NULL, 0,
			i % 2 ? MPI_COMM_SELF : MPI_COMM_WORLD, &inter,
			MPI_ERRCODES_IGNORE);
		n_good += MPI_Barrier(inter) == MPI_SUCCESS;
		MPI_Comm_disconnect(&inter);
	}
	claim(n_good == 8, "jobs are spawned one after the other");
	MPI_Comm_free(&own);
}

static void child_many(MPI_Comm parent)
{
	MPI_Barrier(parent);
	MPI_Comm_disconnect(&parent);
}

/* The path of a file that the parent creates. The surviving job removes it when
 * all its processes have disconnected. The other job aborts only after that. */
static char sign[] = "/tmp/weft-spawner-XXXXXX";

static MPI_Comm start_with_sign(const char *how)
{
	int fd = rank == size - 1 ? mkstemp(sign) : -1;

	if (fd >= 0)
		close(fd);
	return start(how, 2, sign);
}

static void publish_disconnect(const char *file)
{
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == size - 1)
		unlink(file);
}

static void wait_disconnect(const char *file)
{
	for (int i = 0; i < 6000 && access(file, F_OK) == 0; i++)
		nap(10);
}

/* The child aborts after both jobs have disconnected. */
static void parent_part(void)
{
	MPI_Comm inter = start_with_sign("child-abort");
	int token = 0;

	MPI_Comm_disconnect(&inter);
	publish_disconnect(sign);
	for (int i = 0; i < 100; i++) {
		nap(10);
		token += i;
		MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
	claim(token == 4950, "the parent continues without the child");
}

static void child_abort(MPI_Comm parent)
{
	MPI_Comm_disconnect(&parent);
	wait_disconnect(arguments[2]);
	MPI_Abort(MPI_COMM_WORLD, 9);
}

/* The parent aborts after both jobs have disconnected. */
static void parent_abort(void)
{
	MPI_Comm inter = start_with_sign("child-stay");

	MPI_Comm_disconnect(&inter);
	wait_disconnect(sign);
	MPI_Abort(MPI_COMM_WORLD, 9);
}

static void child_stay(MPI_Comm parent)
{
	MPI_Comm_disconnect(&parent);
	publish_disconnect(arguments[2]);
	for (int i = 0; i < 100; i++) {
		nap(10);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	claim(1, "child: continues without the parent");
}

/* The child is killed while the parent waits for a message from it. */
static void parent_crash(void)
{
	MPI_Comm inter = start("child-crash", 1, "");
	int word, code;

	word = 0;
	MPI_Send(&word, 1, MPI_INT, 0, 1, inter);
	MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
	code = MPI_Recv(&word, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE);
	claim(code != MPI_SUCCESS,
		"a crash of the child ends a wait for it with an error");
	MPI_Comm_disconnect(&inter);
}

/* Ends after the parent's call has returned. Before, the call may fail. */
static void child_crash(MPI_Comm parent)
{
	int word;

	MPI_Recv(&word, 1, MPI_INT, 0, 1, parent, MPI_STATUS_IGNORE);
	raise(SIGKILL);
}

/* Parent and child call MPI_Finalize without a disconnect. */
static void parent_finalize(void)
{
	start("child-finalize", 2, "");
}

static void child_finalize(MPI_Comm parent)
{
	(void)parent;
	nap(500);
}

/* Publishes, looks up and unpublishes the name of a service. */
static void parent_names(void)
{
	char port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME] = "";
	int code, class = MPI_SUCCESS;

	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	if (rank == 0) {
		MPI_Open_port(MPI_INFO_NULL, port);
		MPI_Publish_name("the service", MPI_INFO_NULL, port);
	}
	MPI_Bcast(port, sizeof(port), MPI_CHAR, 0, MPI_COMM_WORLD);
	MPI_Lookup_name("the service", MPI_INFO_NULL, found);
	claim(*port && !strcmp(port, found), "a published name is found");
	code = MPI_Lookup_name("another", MPI_INFO_NULL, found);
	MPI_Error_class(code, &class);
	claim(class == MPI_ERR_NAME, "an unknown name is not found");
	if (rank == 0) {
		code = MPI_Publish_name("the service", MPI_INFO_NULL, port);
		MPI_Error_class(code, &class);
	}
	claim(rank || class == MPI_ERR_SERVICE,
		"a name cannot be published twice");
	if (rank == 0) {
		MPI_Unpublish_name("the service", MPI_INFO_NULL, port);
		MPI_Close_port(port);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	code = MPI_Lookup_name("the service", MPI_INFO_NULL, found);
	MPI_Error_class(code, &class);
	claim(class == MPI_ERR_NAME, "an unpublished name is not found");
	code = MPI_Unpublish_name("the service", MPI_INFO_NULL, port);
	MPI_Error_class(code, &class);
	claim(class == MPI_ERR_SERVICE, "a name cannot be unpublished twice");
}

static int class_of(int code)
{
	int class = -1;

	MPI_Error_class(code, &class);
	return class;
}

/* Spawns up to n processes, with the info key soft and further info keys.
 * Returns the error of MPI_Comm_spawn. */
static int spawn_softly(const char *soft, int n, MPI_Comm *inter, int codes[8])
{
	char *argv[] = { "child-keys", NULL };
	char dir[4096] = "", *name = strrchr(arguments[0], '/');
	MPI_Info info;
	int code;

	memset(codes, -1, (size_t)n * sizeof(*codes));
	/* the values of path and wdir are relative to the current directory of
	 * this process, which differs from the launcher's */
	if (chdir("/"))
		claim(0, "parent: the current directory is changed");
	snprintf(dir, sizeof(dir), "/nowhere:%.*s",
		(int)(name - arguments[0]) - 1, arguments[0] + 1);
	MPI_Info_create(&info);
	MPI_Info_set(info, "soft", soft);
	MPI_Info_set(info, "path", dir);
	MPI_Info_set(info, "wdir", ".");
	MPI_Info_set(info, "weft_pset", "kids");
	MPI_Info_set(info, "mpi_memory_alloc_kinds", "system,MPI:alloc_mem");
	MPI_Info_set(info, "mpi_initial_errhandler", "mpi_errors_return");
	MPI_Info_set(info, "arch", "any");
	code = MPI_Comm_spawn(
		name + 1, argv, n, info, 0, MPI_COMM_WORLD, inter, codes);
	MPI_Info_free(&info);
	return code;
}

/* The info keys have their effect. spawn.test checks the warning about the
 * unsupported key. */
static void parent_keys(void)
{
	MPI_Comm inter = MPI_COMM_NULL;
	int codes[8], n = 0, code, of_rest = rank ? -1 : MPI_ERR_SPAWN;

	code = spawn_softly("1:2,5:9:4", 4, &inter, codes);
	claim(code == MPI_SUCCESS, "a spawn with info keys succeeds");
	MPI_Comm_remote_size(inter, &n);
	claim(n == 2, "soft: the largest number of the set up to maxprocs is "
		      "started");
	claim(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS &&
			codes[2] == of_rest && codes[3] == of_rest,
		"soft: processes that were not started have error codes");
	MPI_Comm_disconnect(&inter);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	code = spawn_softly("5:9", 4, &inter, codes);
	claim(class_of(code) == MPI_ERR_SPAWN,
		"soft: a set without a possible number is MPI_ERR_SPAWN");
	code = spawn_softly("few", 4, &inter, codes);
	claim(class_of(code) == MPI_ERR_INFO_VALUE,
		"soft: an invalid set is MPI_ERR_INFO_VALUE");
}

/* Requests more processes than there are free slots. Argument: the number of
 * slots. */
static void parent_fewer(void)
{
	MPI_Comm inter = MPI_COMM_NULL;
	int codes[16], n = 0, code = spawn_softly("1:12", 12, &inter, codes);

	claim(code == MPI_SUCCESS, "a spawn with a soft set succeeds");
	MPI_Comm_remote_size(inter, &n);
	claim(n && n <= atoi(arguments[2]),
		"no more processes than slots were started");
	claim(rank || (codes[n - 1] == MPI_SUCCESS &&
			      codes[n] == MPI_ERR_SPAWN),
		"processes that were not started have error codes");
	MPI_Comm_disconnect(&inter);
}

static int is_in_set(const char *wanted)
{
	MPI_Session session;
	int n = 0, found = 0;

	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
	MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n);
	for (int i = 0; i < n; i++) {
		char name[MPI_MAX_PSET_NAME_LEN] = "";
		int len = sizeof(name);

		MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &len, name);
		found |= !strcmp(name, wanted);
	}
	MPI_Session_finalize(&session);
	return found;
}

static int has_kinds(const char *wanted)
{
	int len = 128, flag = 0;
	char value[128] = "";
	MPI_Info info;

	MPI_Comm_get_info(MPI_COMM_WORLD, &info);
	MPI_Info_get_string(info, "mpi_memory_alloc_kinds", &len, value, &flag);
	MPI_Info_free(&info);
	return flag && !strcmp(value, wanted);
}

static void child_keys(MPI_Comm parent)
{
	char dir[4096] = "";
	MPI_Errhandler handler;

	claim(getcwd(dir, sizeof(dir)) && !strcmp(dir, "/"),
		"child: wdir is the current directory");
	claim(is_in_set("kids"), "child: the process is in its set");
	MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
	claim(handler == MPI_ERRORS_RETURN,
		"child: the initial error handler is set");
	claim(has_kinds("system,mpi:alloc_mem,mpi"),
		"child: the memory kinds are set");
	MPI_Comm_disconnect(&parent);
}

/* Connects ranks 0 and 1 over the loopback interface. Returns the socket, or -1
 * after a failure. */
static int connect_two(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM, 0), other = -1;

	if (rank == 0) {
		if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
			listen(fd, 1) ||
			getsockname(fd, (struct sockaddr *)&addr, &len))
			return -1;
	}
	MPI_Bcast(&addr.sin_port, sizeof(addr.sin_port), MPI_BYTE, 0,
		MPI_COMM_WORLD);
	if (rank == 1)
		return connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ? -1
									   : fd;
	other = accept(fd, NULL, NULL);
	close(fd);
	return other;
}

static void parent_join(void)
{
	MPI_Comm inter = MPI_COMM_NULL;
	int fd = connect_two(), got = -1, n = 0, is_inter = 0, code;
	char word = 'w', back = 0;

	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	claim(fd >= 0, "a socket is open");
	claim(MPI_Comm_join(fd, &inter) == MPI_SUCCESS,
		"MPI_Comm_join succeeds");
	MPI_Comm_test_inter(inter, &is_inter);
	MPI_Comm_remote_size(inter, &n);
	claim(is_inter && n == 1, "the remote group has one process");
	MPI_Sendrecv(&rank, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, inter,
		MPI_STATUS_IGNORE);
	claim(got == !rank, "the remote process is the other process");
	claim(write(fd, &word, 1) == 1 && read(fd, &back, 1) == 1 &&
			back == 'w',
		"the socket has no data in flight after the call");
	MPI_Comm_disconnect(&inter);
	MPI_Barrier(MPI_COMM_WORLD);
	close(fd);
	code = MPI_Comm_join(fd, &inter);
	claim(class_of(code) == MPI_ERR_OTHER,
		"joining without a socket fails");
	fd = connect_two();
	code = MPI_Comm_join(fd, rank ? &inter : NULL);
	claim(class_of(code) == (rank ? MPI_ERR_OTHER : MPI_ERR_ARG),
		"an invalid argument of one process fails at both");
	close(fd);
}

/* Argument: the expected MPI_UNIVERSE_SIZE; 0: the attribute must not be set.
 */
static void parent_universe(void)
{
	int *universe = NULL, has = 0;

	MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &has);
	if (!atoi(arguments[2]))
		claim(!has, "MPI_UNIVERSE_SIZE is not set");
	else
		claim(has && *universe == atoi(arguments[2]),
			"MPI_UNIVERSE_SIZE is set");
}

/* ---- while the launcher is stopped ---- */

static atomic_int is_back; /* the call of the second thread has returned */
static int slow_code;	   /* error code of that call */

static void *look_up(void *arg)
{
	char port[MPI_MAX_PORT_NAME];

	(void)arg;
	slow_code = MPI_Lookup_name("nobody's", MPI_INFO_NULL, port);
	atomic_store(&is_back, 1);
	return NULL;
}

static void *spawn_one(void *arg)
{
	char *argv[] = { "child-many", NULL };
	MPI_Comm inter = MPI_COMM_NULL;

	(void)arg;
	slow_code = MPI_Comm_spawn(arguments[0], argv, 1, MPI_INFO_NULL, 0,
		MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE);
	atomic_store(&is_back, 1);
	if (slow_code)
		return NULL;
	MPI_Barrier(inter);
	MPI_Comm_disconnect(&inter);
	return NULL;
}

/* Forks a process that continues the launcher after 30 s, or when its parent
 * has ended. Returns its pid. */
static pid_t set_alarm(pid_t launcher)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	for (int i = 0; i < 300 && getppid() == parent; i++)
		nap(100);
	kill(launcher, SIGCONT);
	_exit(0);
}

static int talk(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++) {
		int got = -1;

		MPI_Sendrecv(&i, 1, MPI_INT, !rank, 2, &got, 1, MPI_INT, !rank,
			2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		sum += got == i;
	}
	return sum;
}

static int is_thread_stopped(pid_t pid, const char *thread)
{
	char path[300], line[512] = "", *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", pid, thread);
	f = fopen(path, "r");
	if (!f)
		return 1; /* the process has ended */
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	end = strrchr(line, ')');
	return end && end[1] == ' ' && end[2] == 'T';
}

static int is_stopped(pid_t pid)
{
	char path[64];
	struct dirent *entry;
	int is = 1;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			is &= is_thread_stopped(pid, entry->d_name);
	if (dir)
		closedir(dir);
	return is;
}

/* Stops the launcher. Waits until all its threads are stopped, because kill()
 * returns earlier. */
static void stop_launcher(pid_t launcher)
{
	kill(launcher, SIGSTOP);
	for (int i = 0; i < 6000 && !is_stopped(launcher); i++)
		nap(10);
}

/* Runs `wait` in a second thread of rank 0 while the launcher is stopped, so
 * that the call in it blocks. Ranks 0 and 1 exchange messages during that time.
 */
static void meanwhile(void *(*wait)(void *), const char *what)
{
	pid_t launcher = getppid(), alarm = -1;
	pthread_t thread;
	int was_back = 0, n;

	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		atomic_store(&is_back, 0);
		alarm = set_alarm(launcher);
		stop_launcher(launcher);
		pthread_create(&thread, NULL, wait, NULL);
		nap(200); /* until the thread is in the call */
	}
	n = talk(1000);
	if (rank == 0) {
		was_back = atomic_load(&is_back);
		kill(launcher, SIGCONT);
		kill(alarm, SIGKILL);
		waitpid(alarm, NULL, 0);
		pthread_join(thread, NULL);
	}
	claim(n == 1000 && !was_back, what);
}

static void parent_stopped(void)
{
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	meanwhile(look_up, "messages move while another thread looks up");
	claim(rank || class_of(slow_code) == MPI_ERR_NAME,
		"no published name was found");
	meanwhile(spawn_one, "and while another thread spawns");
	claim(rank || slow_code == MPI_SUCCESS, "the processes were spawned");
}

static const struct {
	const char *name;
	void (*parent)(void);
	void (*child)(MPI_Comm parent);
} hows[] = {
	{ "talk", parent_talk, NULL },
	{ "mixed", parent_mixed, NULL },
	{ "many", parent_many, NULL },
	{ "multiple", parent_multiple, NULL },
	{ "fail", parent_fail, NULL },
	{ "part", parent_part, NULL },
	{ "abort", parent_abort, NULL },
	{ "crash", parent_crash, NULL },
	{ "finalize", parent_finalize, NULL },
	{ "names", parent_names, NULL },
	{ "keys", parent_keys, NULL },
	{ "fewer", parent_fewer, NULL },
	{ "join", parent_join, NULL },
	{ "universe", parent_universe, NULL },
	{ "stopped", parent_stopped, NULL },
	{ "child-keys", NULL, child_keys },
	{ "child-talk", NULL, child_talk },
	{ "child-mixed", NULL, child_mixed },
	{ "child-many", NULL, child_many },
	{ "child-multiple", NULL, child_multiple },
	{ "child-abort", NULL, child_abort },
	{ "child-stay", NULL, child_stay },
	{ "child-crash", NULL, child_crash },
	{ "child-finalize", NULL, child_finalize },
};

int main(int argc, char **argv)
{
	MPI_Comm parent;
	int is_known = 0, level;

	arguments = argv;
	if (argc > 1 && !strcmp(argv[1], "stopped"))
		MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	else
		MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_get_parent(&parent);
	for (size_t i = 0; i < sizeof(hows) / sizeof(*hows); i++) {
		if (argc < 2 || strcmp(hows[i].name, argv[1]))
			continue;
		is_known = 1;
		if (hows[i].parent)
			hows[i].parent();
		else
			hows[i].child(parent);
	}
	if (!is_known)
		MPI_Abort(MPI_COMM_WORLD, 2);
	MPI_Finalize();
	return n_bad != 0;
}
