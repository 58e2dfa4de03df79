/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_dynamic: connects processes that were started independently, and starts
 * processes */
#include "mpi_check.h"

#include "core/hint.h"
#include "core/info.h"
#include "base/log.h"
#include "spawn/port.h"
#include "spawn/spawn_soft.h"
#include "spawn/spawn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

_Static_assert((int)WEFT_PORT_NAME_MAX <= MPI_MAX_PORT_NAME, "space for names");

/* ---- ports ---- */

static int mpi_open_port(const struct weft_info *info, char *port_name)
{
	int err = weft_check_up();

	(void)info;
	return err ? err : weft_port_open(port_name, false);
}

static int mpi_close_port(const char *port_name)
{
	int err = weft_check_up();

	return err ? err : weft_port_close(port_name);
}

/* Checks the common arguments of accept and connect. The port name is
 * significant at the root only. *bad_out is the error of the port name, which
 * all members return, so the caller passes *bad_out on. */
static int check_meeting(const char *port_name, MPI_Info info, int root,
	MPI_Comm comm, MPI_Comm *newcomm, struct weft_comm **comm_out,
	struct weft_info **info_out, int *bad_out)
{
	int err;

	err = weft_check_intra(comm, comm_out);
	if (!err)
		err = weft_check_ptr(newcomm, "newcomm");
	if (!err)
		err = weft_check_range(
			WEFT_ERR_ROOT, "root", root, 0, (*comm_out)->size - 1);
	*info_out = NULL;
	*bad_out = 0;
	if (err || (*comm_out)->rank != root)
		return err;
	*bad_out = weft_check_ptr(port_name, "port_name");
	if (!*bad_out)
		*bad_out = weft_check_info_or_null(info, info_out);
	return 0;
}

int PMPI_Comm_accept(const char *port_name, MPI_Info info, int root,
	MPI_Comm comm, MPI_Comm *newcomm)
{
	struct weft_comm *of = NULL, *made;
	struct weft_info *hints;
	int err, bad;

	weft_mpi_null(newcomm, MPI_COMM_NULL);
	err = check_meeting(
		port_name, info, root, comm, newcomm, &of, &hints, &bad);
	if (!err)
		err = weft_port_accept(of, root, bad, port_name, &made);
	if (!err)
		*newcomm = weft_mpi_comm_handle(made);
	return weft_mpi_end(of, "MPI_Comm_accept", err);
}

/* Reads the timeout in seconds, from the info or from the user's variable. */
static int timeout_of(const struct weft_info *info, uint32_t *timeout_out)
{
	*timeout_out = (uint32_t)weft_hint_number(
		info, WEFT_HINT_TIMEOUT, weft_knobs.connect_timeout);
	return weft_hint_check_values(WEFT_HINT_OF_CONNECT, info);
}

int PMPI_Comm_connect(const char *port_name, MPI_Info info, int root,
	MPI_Comm comm, MPI_Comm *newcomm)
{
	struct weft_comm *of = NULL, *made;
	struct weft_info *hints;
	uint32_t timeout = 0;
	int err, bad;

	weft_mpi_null(newcomm, MPI_COMM_NULL);
	err = check_meeting(
		port_name, info, root, comm, newcomm, &of, &hints, &bad);
	if (!err && !bad)
		bad = timeout_of(hints, &timeout);
	if (!err)
		err = weft_port_connect(
			of, root, bad, port_name, timeout, &made);
	if (!err)
		*newcomm = weft_mpi_comm_handle(made);
	return weft_mpi_end(of, "MPI_Comm_connect", err);
}

/* ---- names ---- */

static int mpi_publish_name(const char *service_name,
	const struct weft_info *info, const char *port_name)
{
	int err = weft_check_up();

	(void)info;
	return err ? err : weft_port_publish(service_name, port_name);
}

static int mpi_unpublish_name(const char *service_name,
	const struct weft_info *info, const char *port_name)
{
	int err = weft_check_up();

	(void)info;
	(void)port_name;
	return err ? err : weft_port_unpublish(service_name);
}

static int mpi_lookup_name(
	const char *service_name, const struct weft_info *info, char *port_name)
{
	int err = weft_check_up();

	(void)info;
	return err ? err
		   : weft_port_lookup(
			     service_name, port_name, MPI_MAX_PORT_NAME);
}

/* ---- a socket ---- */

/* The first data that both ends of the socket exchange. */
struct greeting {
	uint64_t proc;
	char port[WEFT_PORT_NAME_MAX]; /* "": the sender has an error */
};

static int fail_socket(int fd, const char *what)
{
	return weft_err_set(WEFT_ERR_OTHER, "fd %d: %s: %s", fd, what,
		errno ? strerror(errno) : "the other end closed it");
}

/* Sends the greeting. False, with errno, if the socket does not accept it. */
static bool send_greeting(int fd, const struct greeting *mine)
{
	size_t n = 0;
	ssize_t rc;

	while (n < sizeof(*mine)) {
		rc = send(fd, (const char *)mine + n, sizeof(*mine) - n,
			MSG_NOSIGNAL);
		if (rc < 0 && errno != EINTR)
			return false;
		n += rc > 0 ? (size_t)rc : 0;
	}
	return true;
}

static int swap_greetings(
	int fd, const struct greeting *mine, struct greeting *theirs)
{
	size_t n;
	ssize_t rc;

	if (!send_greeting(fd, mine))
		return fail_socket(fd, "send");
	for (n = 0; n<sizeof(*theirs); n += rc> 0 ? (size_t)rc : 0) {
		errno = 0;
		rc = read(fd, (char *)theirs + n, sizeof(*theirs) - n);
		if (rc == 0 || (rc < 0 && errno != EINTR))
			return fail_socket(fd, "read");
	}
	theirs->port[sizeof(theirs->port) - 1] = 0;
	return theirs->port[0] ? 0
			       : weft_err_set(WEFT_ERR_OTHER,
					 "fd %d: MPI_Comm_join failed in the "
					 "process at the other end",
					 fd);
}

/* Sends a refusal, because the process at the other end waits for a greeting.
 * Keeps the text of this process's error. */
static void send_refusal(int fd)
{
	const struct greeting failed = { .port = "" };

	(void)send_greeting(fd, &failed);
}

static int mpi_dynamic_join(
	int fd, struct weft_comm *self, struct weft_comm **made_out)
{
	struct greeting mine = { .proc = weft_proc.proc }, theirs;
	int err = weft_port_open(mine.port, false);

	if (err) {
		send_refusal(fd);
		return err;
	}
	err = swap_greetings(fd, &mine, &theirs);
	if (!err && theirs.proc == mine.proc)
		err = weft_err_set(WEFT_ERR_ARG,
			"both ends of fd %d belong to this process", fd);
	if (!err && mine.proc < theirs.proc)
		err = weft_port_accept(self, 0, 0, mine.port, made_out);
	else if (!err)
		err = weft_port_connect(self, 0, 0, theirs.port,
			(uint32_t)weft_knobs.connect_timeout, made_out);
	weft_port_close(mine.port);
	return err;
}

int PMPI_Comm_join(int fd, MPI_Comm *intercomm)
{
	struct weft_comm *self = weft_world.comms[1], *made;
	int err;

	weft_mpi_null(intercomm, MPI_COMM_NULL);
	err = weft_check_ptr(intercomm, "intercomm");
	if (!err && !self)
		err = weft_err_set(
			WEFT_ERR_OTHER, "the World Model is not initialized");
	if (err)
		send_refusal(fd);
	else
		err = mpi_dynamic_join(fd, self, &made);
	if (!err)
		*intercomm = weft_mpi_comm_handle(made);
	return weft_mpi_end(self, "MPI_Comm_join", err);
}

/* ---- starting processes ---- */

/* The root's arguments. The struct owns its strings. */
struct order {
	struct weft_boot_app *apps;
	int n;
	char *soft; /* value of the key soft of the only app, or NULL */
};

static void order_free(struct order *order)
{
	for (int i = 0; order->apps && i < order->n; i++) {
		free((char *)(uintptr_t)order->apps[i].program);
		free((char *)(uintptr_t)order->apps[i].wdir);
		free((char *)(uintptr_t)order->apps[i].host);
		free((char *)(uintptr_t)order->apps[i].add_host);
		free((char *)(uintptr_t)order->apps[i].add_hostfile);
		free((char *)(uintptr_t)order->apps[i].pset);
		for (char *const *e = order->apps[i].env; e && *e; e++)
			free(*e);
		free((char **)(uintptr_t)order->apps[i].env);
	}
	free(order->apps);
	free(order->soft);
}

/* Returns the value of a key, or NULL. The caller frees it. */
static char *value_of(const struct weft_info *info, enum weft_hint key)
{
	char text[WEFT_INFO_VALUE_MAX + 1];

	if (weft_hint_value(info, key, text, sizeof(text)) < 0)
		return NULL;
	return strdup(text);
}

/* Makes name an absolute path, because the process that starts the program may
 * have another current directory. Takes ownership of name. NULL when out of
 * memory. */
static char *absolute_take(char *name)
{
	bool is_relative = name && *name != '/';
	char *folder = is_relative ? getcwd(NULL, 0) : NULL;
	char *whole = NULL;

	if (!folder)
		return name;
	if (asprintf(&whole, "%s/%s", folder, name) < 0)
		whole = NULL;
	free(folder);
	free(name);
	return whole;
}

/* Searches the directories "a:b" for the program. Returns its path, or else the
 * command itself. */
static char *mpi_dynamic_find_program(const char *command, const char *dirs)
{
	char path[4096];

	while (dirs && *dirs && !strchr(command, '/')) {
		size_t len = strcspn(dirs, ":");

		snprintf(
			path, sizeof(path), "%.*s/%s", (int)len, dirs, command);
		if (!access(path, X_OK))
			return absolute_take(strdup(path));
		dirs += len + (dirs[len] == ':');
	}
	return strdup(command);
}

static void warn_ignored_keys(const struct weft_info *info)
{
	uint32_t n = info ? weft_info_n_keys(info) : 0;
	char key[WEFT_INFO_KEY_MAX + 1];

	for (uint32_t i = 0; i < n && !weft_info_key(info, i, key); i++)
		if (!weft_hint_is_accepted(WEFT_HINT_OF_SPAWN, key))
			weft_log_warn("MPI-SPAWN-KEY",
				"MPI_Comm_spawn: info key \"%s\" is not "
				"supported and is ignored",
				key);
}

static int app_env_add(char **env, int *n, const char *name, const char *value)
{
	if (asprintf(&env[*n], "%s=%s", name, value) < 0) {
		env[*n] = NULL;
		return WEFT_ERR_NOMEM;
	}
	++*n;
	return 0;
}

/* Adds environment variables for the new processes: the error handler and the
 * memory kinds. */
static int fill_app_env(
	struct weft_boot_app *app, const struct weft_info *hints)
{
	char *name = value_of(hints, WEFT_HINT_SPAWN_ERRHANDLER);
	char *kinds = value_of(hints, WEFT_HINT_ALLOC_KINDS);
	char **env = calloc(WEFT_BOOT_APP_ENV + 1, sizeof(*env));
	int err = env ? 0 : WEFT_ERR_NOMEM, n = 0;

	if (!err)
		err = weft_hint_check_values(WEFT_HINT_OF_SPAWN, hints);
	if (!err && name)
		err = app_env_add(env, &n, "WEFT_INITIAL_ERRHANDLER", name);
	if (!err && kinds)
		err = app_env_add(env, &n, "WEFT_MEMORY_ALLOC_KINDS", kinds);
	app->env = env;
	free(name);
	free(kinds);
	return err;
}

static int mpi_dynamic_fill_app(struct weft_boot_app *app, const char *command,
	char *argv[], int maxprocs, MPI_Info info)
{
	struct weft_info *hints;
	char *dirs;
	int err;

	err = weft_check_ptr(command, "command");
	if (!err)
		err = weft_check_info_or_null(info, &hints);
	if (!err && maxprocs < 1)
		err = weft_check_range(
			WEFT_ERR_ARG, "maxprocs", maxprocs, 1, INT32_MAX);
	if (err)
		return err;
	dirs = value_of(hints, WEFT_HINT_SPAWN_PATH);
	*app = (struct weft_boot_app){
		.n = (uint32_t)maxprocs,
		.program = mpi_dynamic_find_program(command, dirs),
		.argv = argv,
		.wdir = absolute_take(value_of(hints, WEFT_HINT_SPAWN_WDIR)),
		.host = value_of(hints, WEFT_HINT_SPAWN_HOST),
		.add_host = value_of(hints, WEFT_HINT_SPAWN_ADD_HOST),
		.add_hostfile = absolute_take(
			value_of(hints, WEFT_HINT_SPAWN_ADD_HOSTFILE)),
		.pset = value_of(hints, WEFT_HINT_SPAWN_PSET),
	};
	free(dirs);
	warn_ignored_keys(hints);
	if (!app->wdir)
		app->wdir = getcwd(NULL, 0);
	return app->program ? fill_app_env(app, hints) : WEFT_ERR_NOMEM;
}

/* Reads the numbers of processes that the key soft accepts. */
static int fill_soft(struct order *order, int i, MPI_Info info)
{
	struct weft_info *hints;
	char *soft;
	uint32_t n = 0;
	int err = weft_check_info_or_null(info, &hints);

	soft = err ? NULL : value_of(hints, WEFT_HINT_SPAWN_SOFT);
	if (!soft)
		return err;
	err = weft_spawn_soft_max(soft, order->apps[i].n, &n);
	if (!err && !n)
		err = weft_err_set(WEFT_ERR_SPAWN,
			"soft is \"%s\", with no number from 1 to %u", soft,
			order->apps[i].n);
	if (!err && order->n > 1)
		order->apps[i].n = n;
	if (!err && order->n == 1)
		order->soft = soft;
	else
		free(soft);
	return err;
}

/* The arguments of both spawn calls. Most are significant at the root only. */
struct spawning {
	const char *func;
	int count;
	char **commands;
	char ***argvs;
	const int *maxprocs;
	const MPI_Info *infos;
	int root;
	MPI_Comm comm;
	MPI_Comm *intercomm;
	int *errcodes;
};

static int read_order(const struct spawning *s, struct order *order)
{
	int err = weft_check_range(
		WEFT_ERR_COUNT, "count", s->count, 1, INT32_MAX);

	if (!err)
		err = weft_check_ptr(s->commands, "array_of_commands");
	if (!err)
		err = weft_check_ptr(s->maxprocs, "array_of_maxprocs");
	if (!err)
		err = weft_check_ptr(s->infos, "array_of_info");
	if (err)
		return err;
	order->apps = calloc((size_t)s->count, sizeof(*order->apps));
	order->n = s->count;
	if (!order->apps)
		return WEFT_ERR_NOMEM;
	for (int i = 0; !err && i < s->count; i++) {
		err = mpi_dynamic_fill_app(&order->apps[i], s->commands[i],
			s->argvs ? s->argvs[i] : NULL, s->maxprocs[i],
			s->infos[i]);
		if (!err)
			err = fill_soft(order, i, s->infos[i]);
	}
	return err;
}

/* Writes the error codes. Without the key soft, all processes or none are
 * started; with it, fewer may be. Only the root knows the requested number. */
static void put_errcodes(const struct spawning *s, const struct order *order,
	const struct weft_comm *made, bool is_root)
{
	int *code = s->errcodes;

	for (int i = 0; code && is_root && i < s->count; i++)
		for (int k = 0; k < s->maxprocs[i]; k++)
			*code++ = made && (uint32_t)k < order->apps[i].n
					  ? MPI_SUCCESS
					  : MPI_ERR_SPAWN;
	for (int i = 0; code && !is_root && made && i < made->remote_size; i++)
		code[i] = MPI_SUCCESS;
}

static int spawn(const struct spawning *s)
{
	struct weft_comm *of = NULL, *made = NULL;
	struct order order = { 0 };
	bool is_root;
	int err, bad = 0;

	weft_mpi_null(s->intercomm, MPI_COMM_NULL);
	err = weft_check_intra(s->comm, &of);
	if (!err)
		err = weft_check_ptr(s->intercomm, "intercomm");
	if (!err)
		err = weft_check_range(
			WEFT_ERR_ROOT, "root", s->root, 0, of->size - 1);
	is_root = !err && of->rank == s->root;
	if (is_root)
		bad = read_order(s, &order);
	if (!err) { /* a fault of the root reaches all members */
		err = weft_spawn(of, s->root, bad, order.apps, (size_t)order.n,
			order.soft, &made);
		if (!bad)
			put_errcodes(s, &order, made, is_root);
	}
	order_free(&order);
	if (!err)
		*s->intercomm = weft_mpi_comm_handle(made);
	return weft_mpi_end(of, s->func, err);
}

int PMPI_Comm_spawn(const char *command, char *argv[], int maxprocs,
	MPI_Info info, int root, MPI_Comm comm, MPI_Comm *intercomm,
	int array_of_errcodes[])
{
	char *name = (char *)(uintptr_t)command;

	return spawn(&(struct spawning){ "MPI_Comm_spawn", 1, &name,
		argv ? &argv : NULL, &maxprocs, &info, root, comm, intercomm,
		array_of_errcodes });
}

int PMPI_Comm_spawn_multiple(int count, char *array_of_commands[],
	char **array_of_argv[], const int array_of_maxprocs[],
	const MPI_Info array_of_info[], int root, MPI_Comm comm,
	MPI_Comm *intercomm, int array_of_errcodes[])
{
	return spawn(&(struct spawning){ "MPI_Comm_spawn_multiple", count,
		array_of_commands, array_of_argv, array_of_maxprocs,
		array_of_info, root, comm, intercomm, array_of_errcodes });
}

#include "api_dynamic.h"
