/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tool_run: mpiexec, the launcher for one host
 *
 * One thread and one loop: signals and ended processes come through a
 * signalfd, news of the PMIx server through its descriptor, output through
 * pipes.  The first process that fails decides the exit status and, unless
 * told to continue, ends the job: TERM, a moment of grace, KILL.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/knob.h"
#include "boot/liveness.h"
#include "pmix/pmix_serve.h"
#include "tools/run_claim.h"
#include "tools/run_elf.h"
#include "tools/run_guard.h"
#include "tools/run_hand.h"
#include "tools/run_hosts.h"
#include "tools/run_io.h"
#include "tools/run_opt.h"
#include "tools/run_proc.h"
#include "tools/run_spawn.h"
#include "tools/run_where.h"
#include "topo/place.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	EXIT_USAGE = 2,
	EXIT_TIMEOUT = 124,
	EXIT_NOT_STARTED = 127,
	EXIT_SIGNAL = 128,
	FDS_FIXED = 3,	   /* signals, server, launcher above */
	FDS_SPARE = 64,	   /* descriptors the launcher needs for itself */
	OUTPUT_WAIT_S = 1, /* for pipes somebody else holds open */
	REPEAT_S = 1,	   /* signals within this time are one */
	ANSWER_MS = 20,	   /* between looks for the answers of processes */
};

enum run_state {
	RUN_GOING,
	RUN_ENDING, /* asked to end; kill at kill_ns */
	RUN_KILLED,
};

/* One launch.  Lives in main; fields in the order they are set up. */
struct run {
	struct weft_run_opt opt;
	uint32_t n;
	char host[256];
	char name[WEFT_RUN_NAME_MAX];	  /* of the job */
	char parent[WEFT_RUN_PARENT_MAX]; /* port it connects to, or "" */
	char dir[4096]; /* session directory; "" when there is none */
	char mark[96];	/* in the environment of all processes */
	struct weft_run_guard guard;
	int signal_fd;
	int above_fd; /* from the launcher that started this one, or -1 */
	struct weft_run_spawn *spawned; /* launchers this one started */
	struct weft_run_io *io;
	struct weft_serve *serve;
	struct weft_run_fault *faults;
	int liveness_fd;
	struct weft_liveness *liveness; /* one a process */
	struct weft_run_proc *procs;
	cpu_set_t *cpus;     /* one a process, or NULL */
	const char *unbound; /* why not, where cpus is NULL */
	struct weft_run_claim claim;
	struct pollfd *fds;
	uint32_t n_running;
	enum run_state state;
	bool is_all_ending; /* the jobs beneath, too */
	bool has_failed;    /* status is decided */
	int status;
	uint64_t timeout_ns; /* 0: none */
	uint64_t kill_ns;    /* while ENDING */
	uint64_t abort_ns;   /* when to kill the aborted ones; 0: never */
	uint64_t output_ns;  /* when to stop waiting for output; 0: not yet */
	uint64_t said_ns;    /* when to say what we wait for; 0: not yet */
	bool has_said;
	int n_ends_asked;   /* INT, TERM, HUP and QUIT so far */
	uint64_t repeat_ns; /* until when one more is the same */
	struct weft_run_where where;
	bool is_stuck; /* the server's thread did not end */
};

static int tool_run_complain(const char *what, int err)
{
	const char *detail = weft_err_detail_peek(err);

	fprintf(stderr, "mpiexec: %s%s%s\n", what, *what ? ": " : "",
		*detail ? detail : weft_err_str(err));
	return EXIT_FAILURE;
}

static uint64_t after_ns(double seconds)
{
	return weft_now_ns() + (uint64_t)(seconds * 1e9);
}

/* ---- set up ---- */

/* What we open is never to become standard input or output. */
static bool fill_std_fds(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	return fd >= 0 && !close(fd);
}

static void set_signals(struct run *run)
{
	static const int sigs[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1,
		SIGUSR2, SIGTSTP, SIGCONT, SIGCHLD };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(sigs) / sizeof(*sigs); i++) {
		signal(sigs[i], SIG_DFL); /* else an ignored one never comes */
		sigaddset(&set, sigs[i]);
	}
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	run->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Each process costs two descriptors here, and one for its core. */
static int raise_limit(uint32_t n)
{
	rlim_t need = 3 * (rlim_t)n + FDS_SPARE;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= need)
		return 0;
	limit.rlim_cur = need < limit.rlim_max ? need : limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur >= need)
		return 0;
	return weft_err_set(WEFT_ERR_OTHER,
		"%u processes need %llu open files and the limit is %llu "
		"(ulimit -n)",
		n, (unsigned long long)need,
		(unsigned long long)limit.rlim_max);
}

static int make_dir(struct run *run)
{
	const char *tmp = weft_knob_foreign("TMPDIR");

	snprintf(run->dir, sizeof(run->dir), "%s/weft-run-%u-XXXXXX",
		tmp ? tmp : "/tmp", (unsigned)getuid());
	if (mkdtemp(run->dir))
		return 0;
	weft_err_set(WEFT_ERR_OTHER,
		"session directory %s: %s (TMPDIR says where it is made)",
		run->dir, strerror(errno));
	run->dir[0] = '\0';
	return WEFT_ERR_OTHER;
}

static int make_names(struct run *run, uint8_t key[16])
{
	uint32_t salt[2];

	if (getrandom(key, 16, 0) != 16 ||
		getrandom(salt, sizeof(salt), 0) != sizeof(salt))
		return weft_err_set(
			WEFT_ERR_OTHER, "getrandom: %s", strerror(errno));
	if (!*run->name)
		snprintf(run->name, sizeof(run->name), "weft-%d-%08x%08x",
			getpid(), salt[0], salt[1]);
	snprintf(run->mark, sizeof(run->mark), "WEFT_JOB=%s", run->name);
	return 0;
}

/* The PMIx server and the processes talk over IPv4 on this interface. */
static int check_loopback(void)
{
	struct ifaddrs *list = NULL;
	bool has = false;

	if (getifaddrs(&list))
		return 0; /* the server will say what it misses */
	for (struct ifaddrs *at = list; at; at = at->ifa_next)
		has |= !strcmp(at->ifa_name, "lo") &&
		       (at->ifa_flags & IFF_UP) && at->ifa_addr &&
		       at->ifa_addr->sa_family == AF_INET;
	freeifaddrs(list);
	if (has)
		return 0;
	return weft_err_set(WEFT_ERR_BOOT,
		"PMIx needs the loopback interface \"lo\", up and with an IPv4 "
		"address: ip link set lo up; ip addr add 127.0.0.1/8 dev lo");
}

static int serve_start(struct run *run, const struct weft_serve_job *job)
{
	static const char name[] = "PMIX_MCA_ptl_base_if_include";
	int err;

	if (weft_knob_foreign(name))
		return weft_serve_open(&run->serve, job);
	err = check_loopback();
	if (err)
		return err;
	/* one host: nobody outside it has business with our server */
	setenv(name, "lo", 0);
	err = weft_serve_open(&run->serve, job);
	unsetenv(name);
	return err;
}

static int serve_open(struct run *run, const uint8_t key[16])
{
	size_t n_apps = run->opt.n_apps;
	struct weft_serve_app *apps = calloc(n_apps, sizeof(*apps));
	struct weft_serve_job job = { .name = run->name,
		.host = run->host,
		.tmpdir = run->dir,
		.apps = apps,
		.n_apps = (uint32_t)n_apps };
	int err;

	if (!apps)
		return WEFT_ERR_NOMEM;
	for (size_t a = 0; a < n_apps; a++)
		apps[a] = (struct weft_serve_app){ run->opt.apps[a].n,
			run->opt.apps[a].pset };
	memcpy(job.key, key, sizeof(job.key));
	err = serve_start(run, &job);
	free(apps);
	return err;
}

static int alloc_procs(struct run *run)
{
	run->procs = calloc(run->n, sizeof(*run->procs));
	run->faults = weft_run_fault_map(run->n);
	run->fds = calloc(
		FDS_FIXED + weft_run_io_n_poll(run->io), sizeof(*run->fds));
	if (!run->procs || !run->faults || !run->fds)
		return WEFT_ERR_NOMEM;
	if (weft_liveness_make(run->n, &run->liveness_fd, &run->liveness))
		return WEFT_ERR_NOMEM;
	for (uint32_t r = 0; r < run->n; r++) {
		run->procs[r].rank = r;
		run->procs[r].fault = &run->faults[r];
	}
	return 0;
}

/* Threads would have to share the core of their process. */
static bool is_threaded(const struct run *run)
{
	static const char name[] = "OMP_NUM_THREADS=";
	const char *text = weft_knob_foreign("OMP_NUM_THREADS");
	bool is = text && atoi(text) > 1;

	for (size_t a = 0; a < run->opt.n_apps; a++) {
		const struct weft_run_env *from[] = { &run->opt.env,
			&run->opt.apps[a].env };

		for (size_t k = 0; k < 2; k++)
			for (size_t i = 0; i < from[k]->n_set; i++)
				is |= !strncmp(from[k]->set[i], name,
					      strlen(name)) &&
				      atoi(from[k]->set[i] + strlen(name)) > 1;
	}
	return is;
}

static int place_by_choice(struct run *run, bool is_wanted)
{
	static const char *const why[] = {
		[WEFT_PLACE_ALONE] = "there is one",
		[WEFT_PLACE_ONE] = "more than two would be bound to NUMA "
				   "nodes, and there is one",
		[WEFT_PLACE_CROWDED] = "there are more processes than cores "
				       "that mpiexec may use",
		[WEFT_PLACE_SHARED] = "other jobs are on the cores",
	};
	enum weft_place_choice choice;
	int err = weft_place_choose(NULL, run->n, is_threaded(run),
		weft_run_claim_core, &run->claim, run->cpus, &choice);

	if (err)
		return err;
	if (!is_wanted)
		run->unbound = "--bind-to none";
	else if (choice != WEFT_PLACE_CORES && choice != WEFT_PLACE_NUMA)
		run->unbound = why[choice];
	if (!run->unbound)
		return 0;
	free(run->cpus);
	run->cpus = NULL;
	return 0;
}

/* Whatever is said, the cores are claimed: later jobs are not bound to them. */
static int place_procs(struct run *run)
{
	struct weft_place place = { run->opt.bind, run->opt.map, NULL };
	bool is_none = place.bind && !strcmp(place.bind, "none");
	int err;

	run->cpus = calloc(run->n, sizeof(*run->cpus));
	if (!run->cpus)
		return WEFT_ERR_NOMEM;
	if (is_none || (!place.bind && !place.map))
		return place_by_choice(run, !is_none);
	err = weft_place_deal(&place, run->n, run->cpus);
	if (err)
		return err;
	return weft_place_claim(
		NULL, run->cpus, run->n, weft_run_claim_core, &run->claim);
}

/* "0-3,8" */
static void print_cpus(const cpu_set_t *cpus, char *buf, size_t len)
{
	size_t n = 0;

	*buf = '\0';
	for (int c = 0; c < CPU_SETSIZE && n < len; c++) {
		int from = c;

		if (!CPU_ISSET(c, cpus))
			continue;
		while (c + 1 < CPU_SETSIZE && CPU_ISSET(c + 1, cpus))
			c++;
		n += (size_t)snprintf(buf + n, len - n,
			c > from ? "%s%d-%d" : "%s%d", n ? "," : "", from, c);
	}
}

static void report_bindings(struct run *run)
{
	char cpus[512];

	if (run->unbound)
		weft_run_io_say(run->io, "the processes are not bound: %s",
			run->unbound);
	for (uint32_t r = 0; run->cpus && r < run->n; r++) {
		print_cpus(&run->cpus[r], cpus, sizeof(cpus));
		weft_run_io_say(
			run->io, "rank %u is bound to processors %s", r, cpus);
	}
}

/* Nodes and processes a node are for launchers of several hosts. */
static int check_shape(const struct run *run)
{
	const struct weft_run_opt *opt = &run->opt;

	if (opt->n_nodes > 1)
		return weft_err_set(WEFT_ERR_ARG,
			"-N %u: nodes are counted, and mpiexec by itself "
			"starts "
			"processes on this host only; -n says how many "
			"(several "
			"hosts: srun or prterun)",
			opt->n_nodes);
	if (opt->per_node && opt->per_node < run->n)
		fprintf(stderr,
			"mpiexec: warning: -ppn %u: there is one host, and it "
			"gets all %u processes\n",
			opt->per_node, run->n);
	return weft_run_hosts_check(opt, run->host);
}

static int set_up(struct run *run)
{
	uint8_t key[16];
	int err = raise_limit(run->n);

	if (!err)
		err = make_names(run, key);
	if (!err)
		err = make_dir(run);
	if (!err)
		err = weft_run_guard_start(&run->guard, run->dir, run->mark);
	if (!err)
		err = weft_run_io_create(&run->io, run->n, run->opt.tag);
	if (!err)
		err = alloc_procs(run);
	if (!err)
		err = place_procs(run);
	if (!err)
		err = serve_open(run, key);
	return err;
}

/* ---- start ---- */

/* The program of app as a file: as it is named, or found on the way that the
 * process will look. */
static void tool_run_find_program(
	const struct weft_run_app *app, char *file, size_t len)
{
	const char *dirs = app->path ? app->path : weft_knob_foreign("PATH");
	const char *name = app->argv[0];

	if (strchr(name, '/')) {
		bool is_remote = app->wdir && *name != '/';

		snprintf(file, len, "%s%s%s", is_remote ? app->wdir : "",
			is_remote ? "/" : "", name);
		return;
	}
	while (dirs && *dirs) {
		size_t part = strcspn(dirs, ":");

		snprintf(file, len, "%.*s/%s", (int)part, dirs, name);
		if (!access(file, X_OK))
			return;
		dirs += part + (dirs[part] == ':');
	}
	*file = '\0';
}

/* It would start as so many jobs of one, or not at all. */
static void warn_of_others(struct run *run)
{
	char file[4096], name[64];

	for (size_t a = 0; a < run->opt.n_apps; a++) {
		tool_run_find_program(&run->opt.apps[a], file, sizeof(file));
		if (weft_run_elf_other_mpi(file, name, sizeof(name)))
			weft_run_io_say(run->io,
				"warning: %s is linked to another MPI (%s), "
				"for "
				"which each process may be a job of one: "
				"compile "
				"it with Weft's mpicc, or use that MPI's own "
				"launcher",
				run->opt.apps[a].argv[0], name);
	}
}

/* Standard input: ours for rank 0, nothing for the others. */
static int open_input(struct run *run, uint32_t rank, int *fd_out)
{
	if (rank == 0 && isatty(STDIN_FILENO))
		return weft_run_io_open_tty(run->io, fd_out);
	*fd_out = -1;
	if (rank == 0)
		*fd_out = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	if (*fd_out < 0)
		*fd_out = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (*fd_out < 0)
		return weft_err_set(
			WEFT_ERR_OTHER, "/dev/null: %s", strerror(errno));
	return 0;
}

static int tool_run_make_env(
	struct run *run, struct weft_run_proc *proc, char ***env)
{
	char liveness[64], parent[WEFT_RUN_PARENT_MAX + 16];
	int err;

	snprintf(parent, sizeof(parent), "WEFT_PARENT=%s", run->parent);
	snprintf(liveness, sizeof(liveness), "%s=%d", WEFT_LIVENESS_ENV,
		run->liveness_fd);
	*env = weft_run_env_make(&run->opt, proc->app);
	err = *env ? weft_run_env_set(env, run->mark) : WEFT_ERR_NOMEM;
	if (!err)
		err = weft_run_env_set(env, liveness);
	if (!err && *run->parent)
		err = weft_run_env_set(env, parent);
	if (!err)
		err = weft_serve_env(run->serve, proc->rank, env);
	return err;
}

static int start_one(struct run *run, struct weft_run_proc *proc)
{
	struct weft_run_start start = { .launcher = getpid(),
		.fds = { -1, -1, -1 },
		.cpus = run->cpus ? &run->cpus[proc->rank] : NULL };
	int err = tool_run_make_env(run, proc, &start.env);

	if (!err)
		err = open_input(run, proc->rank, &start.fds[0]);
	if (!err)
		err = weft_run_io_open(run->io, proc->rank, &start.fds[1]);
	if (!err)
		err = weft_run_proc_start(proc, &start);
	if (!err) {
		weft_run_guard_add(&run->guard, proc->pid);
		run->n_running++;
	}
	for (int i = 0; i < 3; i++)
		if (start.fds[i] >= 0)
			close(start.fds[i]);
	weft_run_env_free(start.env);
	return err;
}

static int start_all(struct run *run)
{
	uint32_t rank = 0;
	int err = 0;

	warn_of_others(run);
	if (run->opt.report_bindings)
		report_bindings(run);
	for (size_t a = 0; a < run->opt.n_apps; a++)
		for (uint32_t i = 0; i < run->opt.apps[a].n && !err; i++) {
			run->procs[rank].app = &run->opt.apps[a];
			err = start_one(run, &run->procs[rank++]);
		}
	if (run->opt.is_verbose && !err)
		weft_run_io_say(run->io, "job %s: %u processes on %s",
			run->name, run->n, run->host);
	return err;
}

/* ---- the end ---- */

static void kill_all(struct run *run, int sig)
{
	for (uint32_t r = 0; run->procs && r < run->n; r++)
		weft_run_proc_kill(&run->procs[r], sig);
}

/* The jobs that were started from this one, too. */
static void signal_all(struct run *run, int sig)
{
	kill_all(run, sig);
	weft_run_spawn_kill(run->spawned, sig);
}

static void tool_run_end_job(struct run *run)
{
	if (run->state != RUN_GOING)
		return;
	run->state = RUN_ENDING;
	run->kill_ns = after_ns(run->opt.grace_s);
	kill_all(run, SIGTERM);
	kill_all(run, SIGCONT); /* a stopped process cannot end */
}

static void kill_job(struct run *run)
{
	run->state = RUN_KILLED;
	kill_all(run, SIGKILL);
	if (run->is_all_ending)
		weft_run_spawn_kill(run->spawned, SIGKILL);
}

static void decide(struct run *run, int status)
{
	if (run->has_failed)
		return;
	run->has_failed = true;
	run->status = status;
}

static int code_of(const struct weft_run_proc *proc)
{
	return WIFSIGNALED(proc->status) ? EXIT_SIGNAL + WTERMSIG(proc->status)
					 : WEXITSTATUS(proc->status);
}

static void say_fault(struct run *run, const struct weft_run_proc *proc)
{
	const struct weft_run_fault *fault = proc->fault;

	if (fault->stage == WEFT_RUN_STAGE_WDIR)
		weft_run_io_say(run->io,
			"rank %u could not be started in directory %s: %s",
			proc->rank, proc->app->wdir, strerror(fault->error));
	else if (fault->stage == WEFT_RUN_STAGE_BIND)
		weft_run_io_say(run->io,
			"rank %u could not be bound to its cores: %s",
			proc->rank, strerror(fault->error));
	else
		weft_run_io_say(run->io, "rank %u could not be started: %s: %s",
			proc->rank, proc->app->argv[0], strerror(fault->error));
}

/* Did it take leave, or end with all its sessions closed? */
static bool has_left(struct run *run, const struct weft_run_proc *proc)
{
	return proc->is_finalized ||
	       (proc->is_connected &&
		       atomic_load(&run->liveness[proc->rank].state) ==
			       WEFT_LIVENESS_IDLE);
}

static void tool_run_say_end(struct run *run, const struct weft_run_proc *proc)
{
	static const char remedy[] =
		": MPI_Finalize or MPI_Session_finalize is missing "
		"(--allow-exit-without-finalize takes that for a good end)";
	const char *how = "";
	int code = code_of(proc);

	if (has_left(run, proc))
		how = " after finalizing";
	else if (proc->is_connected)
		how = " without finalizing";
	if (WIFSIGNALED(proc->status))
		weft_run_io_say(run->io,
			"rank %u (pid %d on %s) was killed by signal %d (%s)%s",
			proc->rank, proc->pid, run->host,
			WTERMSIG(proc->status),
			strsignal(WTERMSIG(proc->status)),
			WCOREDUMP(proc->status) ? ", core dumped" : "");
	else
		weft_run_io_say(run->io,
			"rank %u (pid %d on %s) exited with code %d%s%s",
			proc->rank, proc->pid, run->host, code, how,
			code ? "" : remedy);
}

static void tell_others(struct run *run, const struct weft_run_proc *proc)
{
	enum weft_serve_end how = WEFT_SERVE_END_NO_FINALIZE;

	if (proc->is_aborted)
		how = WEFT_SERVE_END_ABORTED;
	else if (WIFSIGNALED(proc->status))
		how = WEFT_SERVE_END_SIGNAL;
	else if (code_of(proc))
		how = WEFT_SERVE_END_NONZERO;
	weft_serve_died(run->serve, proc->rank, how, code_of(proc));
}

/*
 * A process ended; was it as it should be?  One that joined and neither took
 * leave nor had all its sessions closed is a failure even with code 0: the
 * others may wait for it.
 */
static void on_end(struct run *run, const struct weft_run_proc *proc)
{
	int code = code_of(proc);
	bool is_gone = proc->is_connected && !has_left(run, proc);
	bool is_mine = run->state != RUN_GOING; /* we made it end */

	run->n_running--;
	weft_serve_ended(run->serve, proc->rank);
	if (!run->n_running)
		weft_run_spawn_tell(run->spawned, run->name);
	if (proc->is_aborted && !is_mine) {
		tell_others(run, proc); /* whoever is left goes on */
		return;
	}
	if (!code && (!is_gone || run->opt.needs_no_finalize)) {
		if (is_gone && !is_mine)
			tell_others(run, proc);
		return;
	}
	if (!is_mine && proc->fault->stage)
		say_fault(run, proc);
	else if (!is_mine)
		tool_run_say_end(run, proc);
	decide(run, code ? code : EXIT_FAILURE);
	if (is_mine)
		return;
	if (WIFSIGNALED(proc->status) || !has_left(run, proc))
		tell_others(run, proc);
	/* one that has left owes the others nothing; its code is kept */
	if (!run->opt.keep_going &&
		(WIFSIGNALED(proc->status) || !has_left(run, proc)))
		tool_run_end_job(run);
}

static void kill_aborted(struct run *run, int sig)
{
	for (uint32_t r = 0; r < run->n; r++)
		if (run->procs[r].is_aborted)
			weft_run_proc_kill(&run->procs[r], sig);
}

/* A part of the job ends, as tool_run_end_job() does it; the rest hears of
 * deaths. */
static void abort_some(struct run *run, const struct weft_serve_event *event)
{
	if (run->state == RUN_GOING)
		weft_run_io_say(run->io,
			"rank %u aborted %zu of %u processes with code %d%s%s",
			event->rank, event->n_ranks, run->n, event->code,
			*event->text ? ": " : "", event->text);
	for (size_t i = 0; i < event->n_ranks; i++)
		run->procs[event->ranks[i]].is_aborted = true;
	run->abort_ns = after_ns(run->opt.grace_s);
	kill_aborted(run, SIGTERM);
	kill_aborted(run, SIGCONT);
}

static void tool_run_on_abort(
	struct run *run, const struct weft_serve_event *event)
{
	int code = event->code & 0xff;

	if (event->ranks) {
		decide(run, code ? code : EXIT_FAILURE);
		abort_some(run, event);
		return;
	}
	if (run->state == RUN_GOING)
		weft_run_io_say(run->io,
			"rank %u aborted the job with code %d%s%s", event->rank,
			event->code, *event->text ? ": " : "", event->text);
	/* no fault where the code is 0: all are done */
	decide(run, event->code && !code ? EXIT_FAILURE : code);
	tool_run_end_job(run);
}

/* A process wants another job: a launcher of its own runs it. */
static void tool_run_on_spawn(struct run *run, struct weft_serve_event *event)
{
	int err = WEFT_ERR_SPAWN;

	if (run->state == RUN_GOING)
		err = weft_run_spawn_start(
			&run->spawned, event->argv, event->parent);
	if (err)
		tool_run_complain("cannot start another job", err);
	weft_serve_spawned(
		run->serve, event->asked, err, err ? "" : run->spawned->name);
	weft_serve_argv_free(event->argv);
	free(event->parent);
}

/* Some child ended that is no process of the job. */
static void on_other_end(void *arg, pid_t pid, int status)
{
	struct run *run = arg;
	struct weft_run_spawn *s =
		weft_run_spawn_ended(run->spawned, pid, status);

	if (!s)
		return;
	if (status)
		decide(run, code_of(&s->proc));
	weft_serve_job_ended(run->serve, s->name);
	weft_run_spawn_tell(run->spawned, s->name);
}

/* Another job is over, says the launcher above. */
static void hear_above(struct run *run)
{
	char name[WEFT_RUN_NAME_MAX];

	while (weft_run_spawn_hear(&run->above_fd, name)) {
		weft_serve_job_ended(run->serve, name);
		weft_run_spawn_tell(run->spawned, name);
	}
}

static void take_news(struct run *run)
{
	struct weft_serve_event event;

	while (weft_serve_next(run->serve, &event)) {
		if (event.kind == WEFT_SERVE_ABORT)
			tool_run_on_abort(run, &event);
		if (event.kind == WEFT_SERVE_SPAWN)
			tool_run_on_spawn(run, &event);
		free(event.ranks);
		if (event.rank >= run->n)
			continue;
		if (event.kind == WEFT_SERVE_CONNECTED) {
			run->procs[event.rank].is_connected = true;
			run->procs[event.rank].is_finalized = false;
		}
		if (event.kind == WEFT_SERVE_FINALIZED)
			run->procs[event.rank].is_finalized = true;
	}
}

static void reap(struct run *run)
{
	struct weft_run_proc *proc;

	do {
		proc = weft_run_proc_reap(
			run->procs, run->n, on_other_end, run);
		/* what it told the server before it ended counts */
		take_news(run);
		if (proc)
			on_end(run, proc);
	} while (proc);
}

/* ---- signals ---- */

static void on_end_signal(struct run *run, int sig)
{
	/* timeout(1) sends one to us and one to our group */
	if (run->n_ends_asked && weft_now_ns() < run->repeat_ns)
		return;
	run->repeat_ns = after_ns(REPEAT_S);
	signal_all(run, sig);
	run->is_all_ending = true;
	if (++run->n_ends_asked == 1)
		return;
	weft_run_io_say(run->io, "second signal %d (%s): killing the job", sig,
		strsignal(sig));
	decide(run, EXIT_SIGNAL + sig);
	kill_job(run);
}

/* Ask where every process is; when that is printed, sig goes on as it would
 * have otherwise. */
static void ask_where(struct run *run, int sig, const char *why)
{
	weft_run_io_say(
		run->io, "%s: where the processes of %s are:", why, run->name);
	weft_run_where_open(&run->where, run->liveness, run->n);
	run->where.sig = sig;
	weft_serve_ask_where(run->serve);
}

/* Programs may have a use of their own for it; the others it would end. */
static void pass_usr1(struct run *run)
{
	for (uint32_t r = 0; r < run->n; r++) {
		const struct weft_run_proc *proc = &run->procs[r];

		if (proc->is_running &&
			weft_run_where_catches(proc->pid, SIGUSR1))
			kill(proc->pid, SIGUSR1);
	}
	weft_run_spawn_kill(run->spawned, SIGUSR1);
}

static void on_usr1(struct run *run)
{
	pass_usr1(run);
	if (!run->where.until_ns)
		ask_where(run, SIGUSR1, "signal USR1");
}

static void on_quit(struct run *run)
{
	if (run->state == RUN_GOING && run->where.until_ns &&
		run->where.sig == SIGUSR1)
		run->where.sig = SIGQUIT; /* once that is answered */
	else if (run->state != RUN_GOING || run->where.until_ns)
		on_end_signal(run, SIGQUIT);
	else
		ask_where(run, SIGQUIT, "signal QUIT");
}

static void on_signal(struct run *run, int sig)
{
	switch (sig) {
	case SIGCHLD:
		return; /* reap runs in any case */
	case SIGINT:
	case SIGTERM:
	case SIGHUP:
		on_end_signal(run, sig);
		return;
	case SIGQUIT:
		on_quit(run);
		return;
	case SIGUSR1:
		on_usr1(run);
		return;
	case SIGTSTP:
		signal_all(run, SIGTSTP);
		raise(SIGSTOP);
		return;
	default:
		signal_all(run, sig);
	}
}

static void take_signals(struct run *run)
{
	struct signalfd_siginfo info;

	while (read(run->signal_fd, &info, sizeof(info)) ==
		(ssize_t)sizeof(info))
		on_signal(run, (int)info.ssi_signo);
}

/* ---- the loop ---- */

/* Milliseconds until when_ns, rounded up, into *ms if sooner; true if over. */
static bool is_due(uint64_t when_ns, int *ms)
{
	uint64_t now = weft_now_ns(), left;

	if (!when_ns)
		return false;
	if (now >= when_ns)
		return true;
	left = (when_ns - now) / 1000000 + 1;
	if (left < 60000 && (*ms < 0 || (int)left < *ms))
		*ms = (int)left;
	else if (*ms < 0)
		*ms = 60000;
	return false;
}

/* The status is decided now, whatever ends while it is said where they are. */
static void on_timeout(struct run *run)
{
	run->timeout_ns = 0;
	weft_run_io_say(run->io,
		"the timeout of %g s is over with %u of %u processes running: "
		"ending the job",
		run->opt.timeout_s, run->n_running, run->n);
	decide(run, EXIT_TIMEOUT);
	weft_run_spawn_kill(run->spawned, SIGUSR1);
	ask_where(run, SIGALRM, "timeout");
}

static void tool_run_end_late(struct run *run)
{
	run->is_all_ending = true;
	weft_run_spawn_kill(run->spawned, SIGTERM);
	tool_run_end_job(run);
}

/* Answers come into memory, which nothing tells of. */
static void check_where(struct run *run, int *ms)
{
	if (!run->where.until_ns)
		return;
	if (!weft_run_where_is_over(
		    &run->where, run->procs, run->liveness, run->n)) {
		if (*ms < 0 || *ms > ANSWER_MS)
			*ms = ANSWER_MS;
		return;
	}
	weft_run_where_print(
		&run->where, run->io, run->procs, run->liveness, run->n);
	if (run->where.sig == SIGQUIT)
		on_end_signal(run, SIGQUIT);
	if (run->where.sig == SIGALRM)
		tool_run_end_late(run);
}

static void check_times(struct run *run, int *ms)
{
	if (is_due(run->timeout_ns, ms))
		on_timeout(run);
	check_where(run, ms);
	if (run->state == RUN_ENDING && is_due(run->kill_ns, ms))
		kill_job(run);
	if (is_due(run->abort_ns, ms)) {
		run->abort_ns = 0;
		kill_aborted(run, SIGKILL);
	}
}

/* All processes ended and we are still here: for what is said once. */
static void say_wait(struct run *run, int *ms)
{
	size_t n = weft_run_spawn_running(run->spawned);

	if (!run->said_ns)
		run->said_ns = after_ns((double)weft_knobs.stall_warn);
	if (!weft_knobs.stall_warn || run->has_said ||
		!is_due(run->said_ns, ms))
		return;
	run->has_said = true;
	if (n)
		weft_run_io_say(run->io,
			"all processes have ended; waiting for %zu job%s that "
			"they started (WEFT_STALL_WARN)",
			n, n > 1 ? "s" : "");
	else
		weft_run_io_say(run->io,
			"all processes have ended; waiting for the reader of "
			"their output (WEFT_STALL_WARN)");
}

/* All processes ended: is their output all out, too? */
static bool tool_run_is_over(struct run *run, int *ms)
{
	if (!run->n_running)
		say_wait(run, ms);
	if (run->n_running || weft_run_spawn_running(run->spawned))
		return false;
	if (!run->output_ns)
		run->output_ns = after_ns(OUTPUT_WAIT_S);
	if (weft_run_io_is_open(run->io))
		return is_due(run->output_ns, ms);
	/* as long as a reader takes, unless we were told to go */
	return !weft_run_io_is_unwritten(run->io) || run->n_ends_asked;
}

/* Output that cannot be written is lost, and that is not success. */
static void check_output(struct run *run)
{
	static const char *const names[] = { "standard output",
		"standard error" };

	for (int which = 0; which < 2; which++) {
		int error = weft_run_io_error(run->io, which);

		if (!error)
			continue;
		weft_run_io_say(run->io, "cannot write %s: %s", names[which],
			strerror(error));
		decide(run, EXIT_FAILURE);
	}
}

static void loop(struct run *run)
{
	for (;;) {
		int ms = -1;
		size_t n;

		check_times(run, &ms);
		run->fds[0] = (struct pollfd){ run->signal_fd, POLLIN, 0 };
		run->fds[1] =
			(struct pollfd){ weft_serve_fd(run->serve), POLLIN, 0 };
		run->fds[2] = (struct pollfd){ run->above_fd, POLLIN, 0 };
		n = weft_run_io_fill(run->io, &run->fds[FDS_FIXED], &ms);
		check_output(run);
		if (tool_run_is_over(run, &ms))
			return;
		if (poll(run->fds, FDS_FIXED + n, ms) < 0 && errno != EINTR)
			return;
		weft_run_io_step(run->io, &run->fds[FDS_FIXED], n);
		check_output(run);
		take_signals(run);
		hear_above(run);
		take_news(run);
		reap(run);
	}
}

static void tear_down(struct run *run)
{
	kill_job(run);
	weft_run_proc_sweep(run->guard.pid);
	weft_run_spawn_free(run->spawned);
	weft_run_io_destroy(run->io);
	run->is_stuck = !weft_serve_close(run->serve);
	if (run->is_stuck)
		fputs("mpiexec: the PMIx server does not end; leaving it\n",
			stderr);
	if (run->dir[0])
		weft_run_dir_remove(run->dir);
	weft_run_guard_stop(&run->guard);
	weft_run_fault_unmap(run->faults, run->n);
	weft_liveness_unmake(run->n, run->liveness_fd, run->liveness);
	free(run->procs);
	weft_run_claim_fini(&run->claim);
	free(run->cpus);
	free(run->fds);
}

static int tool_run_launch(struct run *run)
{
	int err;

	run->n = weft_run_opt_size(&run->opt);
	run->above_fd = weft_run_spawn_above(run->name, run->parent);
	if (gethostname(run->host, sizeof(run->host) - 1))
		strcpy(run->host, "localhost");
	err = check_shape(run);
	if (err) {
		tool_run_complain("", err);
		return EXIT_USAGE;
	}
	set_signals(run);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	err = set_up(run);
	if (run->opt.timeout_s > 0)
		run->timeout_ns = after_ns(run->opt.timeout_s);
	if (!err)
		err = start_all(run);
	if (err)
		run->status = tool_run_complain("cannot start the job", err);
	else
		loop(run);
	tear_down(run);
	return run->status;
}

static int complain_output(void)
{
	fprintf(stderr, "mpiexec: cannot write standard output: %s\n",
		strerror(errno));
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct run run = { .signal_fd = -1, .above_fd = -1 };
	int err, status = 0;

	if (!fill_std_fds())
		return EXIT_FAILURE;
	err = weft_run_opt_parse(&run.opt, argc, argv);
	if (err) {
		tool_run_complain("", err);
		status = EXIT_USAGE;
	} else if (run.opt.task == WEFT_RUN_HELP) {
		fputs(weft_run_opt_help(), stdout);
	} else if (run.opt.task == WEFT_RUN_VERSION) {
		puts("mpiexec (Weft) " WEFT_VERSION);
	} else {
		weft_knob_load();
		status = weft_run_hand_over(&run.opt);
		if (status == WEFT_RUN_HAND_SELF)
			status = tool_run_launch(&run);
	}
	weft_run_opt_fini(&run.opt);
	if (fflush(stdout) && !status)
		status = complain_output();
	if (run.is_stuck)
		_exit(status);
	return status;
}
