/* SPDX-License-Identifier: BSD-3-Clause */
/* run_job: prepares a job and starts its processes */
#include "base/clock.h"
#include "base/err.h"
#include "base/knob.h"
#include "boot/liveness.h"
#include "pmix/pmix_serve.h"
#include "tools/run_job.h"
#include "tools/run_elf.h"
#include "tools/run_hosts.h"
#include "tools/run_io.h"
#include "tools/run_mpir.h"
#include "tools/run_proc.h"
#include "topo/allowance.h"
#include "topo/place.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	FDS_SPARE = 64, /* descriptors for the launcher itself */
};

/* Raises the limit of open files. The launcher needs three for each process:
 * two pipes and the socket that claims its core. */
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
		"%u processes need %llu open files, and the limit is %llu "
		"(raise it: ulimit -n)",
		n, (unsigned long long)need,
		(unsigned long long)limit.rlim_max);
}

static int make_dir(struct weft_run_job *run)
{
	const char *tmp = weft_knob_getenv("TMPDIR");
	char *absolute = realpath(tmp ? tmp : "/tmp", NULL);

	/* absolute, because the processes and the cleanup process may have
	 * other current directories */
	snprintf(run->dir, sizeof(run->dir), "%s/" WEFT_RUN_RESIZE_DIR "XXXXXX",
		absolute ? absolute
		: tmp	 ? tmp
			 : "/tmp",
		(unsigned)getuid());
	free(absolute);
	if (mkdtemp(run->dir))
		return 0;
	weft_err_set(WEFT_ERR_OTHER,
		"cannot create the session directory %s: %s (TMPDIR selects "
		"the place)",
		run->dir, strerror(errno));
	run->dir[0] = '\0';
	return WEFT_ERR_OTHER;
}

static int make_names(struct weft_run_job *run, uint8_t key[16])
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

/* The PMIx server and the processes communicate over IPv4 on the loopback
 * interface. */
static int check_loopback(void)
{
	struct ifaddrs *list = NULL;
	bool has = false;

	if (getifaddrs(&list))
		return 0; /* the server reports the missing interface */
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

static int serve_start(
	struct weft_run_job *run, const struct weft_serve_job *job)
{
	static const char name[] = "PMIX_MCA_ptl_base_if_include";
	int err;

	if (weft_knob_getenv(name))
		return weft_serve_open(&run->serve, job);
	err = check_loopback();
	if (err)
		return err;
	/* the job has one host: no other host needs the server */
	setenv(name, "lo", 0);
	err = weft_serve_open(&run->serve, job);
	unsetenv(name);
	return err;
}

static int serve_open(struct weft_run_job *run, const uint8_t key[16])
{
	size_t n_apps = run->opt.n_apps;
	struct weft_serve_app *apps = calloc(n_apps, sizeof(*apps));
	struct weft_serve_job job = { .name = run->name,
		.host = run->host,
		.tmpdir = run->dir,
		.apps = apps,
		.n_apps = (uint32_t)n_apps,
		.n_places = run->n_places,
		.n_min = run->opt.n_min,
		.n_max = run->opt.n_max };
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

static int alloc_procs(struct weft_run_job *run)
{
	run->procs = calloc(run->n_places, sizeof(*run->procs));
	run->faults = weft_run_fault_map(run->n_places);
	run->fds = calloc(WEFT_RUN_JOB_FDS + weft_run_io_n_poll(run->io),
		sizeof(*run->fds));
	if (!run->procs || !run->faults || !run->fds)
		return WEFT_ERR_NOMEM;
	if (weft_liveness_create(
		    run->n_places, &run->liveness_fd, &run->liveness))
		return WEFT_ERR_NOMEM;
	for (uint32_t r = 0; r < run->n_places; r++) {
		run->procs[r].rank = run->procs[r].slot = r;
		run->procs[r].fault = &run->faults[r];
	}
	return 0;
}

/* Returns the value of a variable in an environment, or NULL. */
static const char *run_job_value(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; env && *env; env++)
		if (!strncmp(*env, name, len) && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

/* Returns the number of OpenMP threads of each process of an app context.
 * *has_policy_out: a variable sets how idle threads wait. */
static uint32_t n_threads_of(struct weft_run_job *run, struct weft_run_app *app,
	bool *has_policy_out)
{
	char **env = weft_run_env_make(&run->opt, app);
	const char *n = run_job_value(env, "OMP_NUM_THREADS");
	uint32_t n_threads = n && atoi(n) > 1 ? (uint32_t)atoi(n) : 1;

	*has_policy_out = run_job_value(env, "OMP_WAIT_POLICY") ||
			  run_job_value(env, "GOMP_SPINCOUNT") ||
			  run_job_value(env, "KMP_BLOCKTIME");
	weft_run_env_free(env);
	return n_threads;
}

/* True if a process has several OpenMP threads: these would share the core that
 * the process is bound to. */
static bool is_threaded(struct weft_run_job *run)
{
	bool is = false, none;

	for (size_t a = 0; a < run->opt.n_apps; a++)
		is |= n_threads_of(run, &run->opt.apps[a], &none) > 1;
	return is;
}

/* Idle OpenMP threads poll for a while. If there are more threads than
 * processors, computing threads wait for a processor meanwhile. */
static void warn_of_threads(struct weft_run_job *run)
{
	uint64_t n_all = 0;
	bool is_set = true;

	for (size_t a = 0; a < run->opt.n_apps; a++) {
		struct weft_run_app *app = &run->opt.apps[a];
		bool has_policy;
		uint32_t n = n_threads_of(run, app, &has_policy);

		n_all += (uint64_t)n * app->n;
		is_set &= has_policy || n == 1;
	}
	if (!is_set && n_all > weft_allowance_cpus())
		weft_run_io_print(run->io,
			"warning: %llu OpenMP threads (OMP_NUM_THREADS) share "
			"%u processors, and idle threads keep these busy: set "
			"OMP_WAIT_POLICY=passive, see weft(7)",
			(unsigned long long)n_all, weft_allowance_cpus());
}

static int place_by_choice(struct weft_run_job *run, bool is_wanted)
{
	static const char *const why[] = {
		[WEFT_PLACE_ONE_PROCESS] = "the job has one process",
		[WEFT_PLACE_ONE_NUMA] =
			"jobs of more than two processes are bound "
			"to NUMA nodes, and there is one node",
		[WEFT_PLACE_TOO_FEW_CORES] =
			"there are more processes than cores "
			"that mpiexec may use",
		[WEFT_PLACE_CORES_CLAIMED] = "other jobs use the cores",
	};
	int err = weft_place_choose(NULL, run->n, is_threaded(run),
		weft_run_claim_core, &run->claim, run->cpus, &run->choice);

	if (err)
		return err;
	for (size_t i = 0; i < run->claim.n; i++)
		run->claim.cores[i].rank = (uint32_t)i;
	if (!is_wanted)
		run->unbound = "--bind-to none";
	else if (run->choice != WEFT_PLACE_CORES &&
		 run->choice != WEFT_PLACE_NUMA)
		run->unbound = why[run->choice];
	if (!run->unbound)
		return 0;
	free(run->cpus);
	run->cpus = NULL;
	return 0;
}

/* Chooses the cores of n processes by the options. */
static int place_by_options(
	const struct weft_run_job *run, uint32_t n, cpu_set_t *cpus)
{
	struct weft_place place = { .bind = run->opt.bind,
		.map = run->opt.map,
		.n_cores = run->opt.n_cores };

	return weft_place_assign(&place, n, cpus);
}

/* Claims the cores of a rank for it. */
static int claim_cores_of(struct weft_run_job *run, uint32_t rank)
{
	run->claim.rank = rank;
	return weft_place_claim(
		NULL, &run->cpus[rank], 1, weft_run_claim_core, &run->claim);
}

/* Chooses the cores of the processes. Claims cores even if the processes are
 * not bound, so that later jobs are not bound to these cores. */
static int place_procs(struct weft_run_job *run)
{
	const struct weft_run_opt *opt = &run->opt;
	bool is_none = opt->bind && !strcmp(opt->bind, "none");
	int err;

	run->cpus = calloc(run->n_places, sizeof(*run->cpus));
	if (!run->cpus)
		return WEFT_ERR_NOMEM;
	run->is_placed = !is_none && (opt->bind || opt->map || opt->n_cores);
	if (!run->is_placed)
		return place_by_choice(run, !is_none);
	err = place_by_options(run, run->n, run->cpus);
	if (err)
		return err;
	if (!opt->n_max) /* the claims end with the job */
		return weft_place_claim(NULL, run->cpus, run->n,
			weft_run_claim_core, &run->claim);
	for (uint32_t r = 0; r < run->n && !err; r++)
		err = claim_cores_of(run, r);
	return err;
}

/* Returns the lowest slot that no running process has. */
static uint32_t free_slot(const struct weft_run_job *run)
{
	uint32_t slot = 0, r = 0;

	while (r < run->n)
		if (run->procs[r].is_running && run->procs[r].slot == slot) {
			slot++;
			r = 0;
		} else {
			r++;
		}
	return slot;
}

/* Chooses the cores of one more process. */
static int place_late(struct weft_run_job *run, uint32_t rank)
{
	cpu_set_t none, *cpus;
	int err;

	if (!run->is_placed) {
		run->claim.rank = rank;
		return weft_place_add(NULL, run->choice == WEFT_PLACE_NUMA,
			weft_run_claim_core, &run->claim,
			run->cpus ? &run->cpus[rank] : &none);
	}
	run->procs[rank].slot = free_slot(run);
	cpus = calloc(run->procs[rank].slot + 1, sizeof(*cpus));
	if (!cpus)
		return WEFT_ERR_NOMEM;
	err = place_by_options(run, run->procs[rank].slot + 1, cpus);
	if (!err) {
		run->cpus[rank] = cpus[run->procs[rank].slot];
		err = claim_cores_of(run, rank);
	}
	free(cpus);
	return err;
}

/* Returns a running process that the options bind to a core, or `none`. */
static uint32_t core_user(
	const struct weft_run_job *run, unsigned cpu, uint32_t none)
{
	for (uint32_t r = 0; run->is_placed && r < run->n; r++)
		if (run->procs[r].is_running && CPU_ISSET(cpu, &run->cpus[r]))
			return r;
	return none;
}

void weft_run_job_free_cores(struct weft_run_job *run, uint32_t rank)
{
	struct weft_run_claim *claim = &run->claim;

	for (size_t i = claim->n; i-- > 0;) {
		if (claim->cores[i].rank != rank)
			continue;
		claim->cores[i].rank =
			core_user(run, claim->cores[i].cpu, rank);
		if (claim->cores[i].rank == rank)
			weft_run_claim_drop(claim, i);
	}
}

/* Prints a set as "0-3,8". */
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

static void report_binding(struct weft_run_job *run, uint32_t rank)
{
	char cpus[512];

	print_cpus(&run->cpus[rank], cpus, sizeof(cpus));
	if (*cpus)
		weft_run_io_print(run->io, "rank %u is bound to processors %s",
			rank, cpus);
	else
		weft_run_io_print(run->io,
			"rank %u is not bound: other jobs use the cores", rank);
}

static void report_bindings(struct weft_run_job *run)
{
	if (run->unbound)
		weft_run_io_print(run->io, "the processes are not bound: %s",
			run->unbound);
	for (uint32_t r = 0; run->cpus && r < run->n; r++)
		report_binding(run, r);
}

int weft_run_job_check(const struct weft_run_job *run)
{
	const struct weft_run_opt *opt = &run->opt;

	if (opt->n_nodes > 1)
		return weft_err_set(WEFT_ERR_ARG,
			"-N %u is a number of nodes, and mpiexec starts "
			"processes on this host only; use -n for the number of "
			"processes, or srun or prterun for several hosts",
			opt->n_nodes);
	if (opt->per_node && opt->per_node < run->n)
		fprintf(stderr,
			"mpiexec: warning: -ppn %u is ignored: mpiexec starts "
			"all %u processes on this host\n",
			opt->per_node, run->n);
	return weft_run_hosts_check(opt, run->host);
}

int weft_run_job_set_up(struct weft_run_job *run)
{
	uint8_t key[16];
	int err = raise_limit(run->opt.n_max ? run->opt.n_max : run->n);

	if (!err)
		err = make_names(run, key);
	if (!err)
		err = make_dir(run);
	if (!err)
		err = weft_run_cleanup_start(
			&run->cleanup, run->dir, run->mark);
	if (!err)
		err = weft_run_io_create(&run->io, run->n_places, run->opt.tag);
	if (!err)
		err = alloc_procs(run);
	if (!err)
		err = place_procs(run);
	if (!err)
		err = serve_open(run, key);
	if (!err && run->opt.n_max)
		err = weft_run_resize_open(run);
	return err;
}

/* ---- start ---- */

/* Finds the file of an app context's program as the process will find it; ""
 * if there is none. */
static void tool_run_find_program(
	const struct weft_run_app *app, char *file, size_t len)
{
	const char *dirs = app->path ? app->path : weft_knob_getenv("PATH");
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

/* Warns of programs that are linked to another MPI. Each of their processes
 * would be a job of one process, or fail. */
static void warn_of_other_mpi(struct weft_run_job *run)
{
	char file[4096], name[64];

	for (size_t a = 0; a < run->opt.n_apps; a++) {
		tool_run_find_program(&run->opt.apps[a], file, sizeof(file));
		if (!weft_run_elf_other_mpi(file, name, sizeof(name)))
			continue;
		run->has_other_mpi = true;
		weft_run_io_print(run->io,
			"warning: %s is linked to another MPI (%s), for which "
			"each process may be a job of one process: compile it "
			"with Weft's mpicc, or use that MPI's own launcher",
			run->opt.apps[a].argv[0], name);
	}
}

void weft_run_job_check_loaded(struct weft_run_job *run, uint32_t rank)
{
	const struct weft_run_proc *proc = &run->procs[rank];
	char name[64];

	if (run->has_other_mpi || !proc->is_running ||
		atomic_load(&run->liveness[rank].state) !=
			WEFT_LIVENESS_UNKNOWN ||
		!weft_run_elf_has_loaded(proc->pid, name, sizeof(name)))
		return;
	run->has_other_mpi = true;
	weft_run_io_print(run->io,
		"warning: rank %u (%s) has loaded another MPI (%s), for which "
		"each process may be a job of one process: use a build with "
		"Weft's mpicc (also of mpi4py), or that MPI's own launcher",
		rank, proc->app->argv[0], name);
}

/* Opens the standard input of a process. For rank 0, this is the launcher's
 * standard input, or a pipe to which a terminal's input is copied. For other
 * ranks, and if the launcher's standard input is closed, it is /dev/null. */
static int open_input(struct weft_run_job *run, uint32_t rank, int *fd_out)
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

static int tool_run_make_env(struct weft_run_job *run,
	struct weft_run_proc *proc, const char *step, char ***env)
{
	char liveness[96], parent[WEFT_RUN_PARENT_MAX + 16];
	char profile[sizeof(run->dir) + 32];
	int err;

	snprintf(parent, sizeof(parent), "WEFT_PARENT=%s", run->parent);
	snprintf(profile, sizeof(profile), "WEFT_PROFILE_DIR=%s", run->dir);
	weft_liveness_print(run->liveness_fd, liveness, sizeof(liveness));
	*env = weft_run_env_make(&run->opt, proc->app);
	err = *env ? weft_run_env_set(env, run->mark) : WEFT_ERR_NOMEM;
	if (!err)
		err = weft_run_env_set(env, liveness);
	if (!err && step)
		err = weft_run_env_set(env, step);
	if (!err && *run->parent)
		err = weft_run_env_set(env, parent);
	if (!err && run->opt.profile)
		err = weft_run_env_set(env, profile);
	if (!err)
		err = weft_serve_env(run->serve, proc->rank, env);
	return err;
}

/* step: a variable of a process that starts after the job, or NULL. A debugger
 * knows only the processes that start with the job. */
static int start_process(
	struct weft_run_job *run, struct weft_run_proc *proc, const char *step)
{
	struct weft_run_start start = { .launcher = getpid(),
		.is_held = !step && weft_run_mpir_is_debugged(),
		.fds = { -1, -1, -1 },
		.kept = { run->liveness_fd } };
	int err = tool_run_make_env(run, proc, step, &start.env);

	if (run->cpus && CPU_COUNT(&run->cpus[proc->rank]))
		start.cpus = &run->cpus[proc->rank];
	if (!err)
		err = open_input(run, proc->rank, &start.fds[0]);
	if (!err)
		err = weft_run_io_open(run->io, proc->rank, &start.fds[1]);
	if (!err)
		err = weft_run_proc_start(proc, &start);
	if (!err) {
		weft_run_cleanup_add(&run->cleanup, proc->pid);
		run->n_running++;
	}
	for (int i = 0; i < 3; i++)
		if (start.fds[i] >= 0)
			close(start.fds[i]);
	weft_run_env_free(start.env);
	return err;
}

int weft_run_job_start(struct weft_run_job *run)
{
	uint32_t rank = 0;
	int err = 0;

	warn_of_other_mpi(run);
	warn_of_threads(run);
	if (run->opt.report_bindings)
		report_bindings(run);
	for (size_t a = 0; a < run->opt.n_apps; a++)
		for (uint32_t i = 0; i < run->opt.apps[a].n && !err; i++) {
			run->procs[rank].app = &run->opt.apps[a];
			err = start_process(run, &run->procs[rank++], NULL);
		}
	if (!err)
		weft_run_mpir_publish(
			run->procs, run->n, run->host, tool_run_find_program);
	if (run->opt.is_verbose && !err)
		weft_run_io_print(run->io, "job %s: %u process%s on %s",
			run->name, run->n, run->n > 1 ? "es" : "", run->host);
	return err;
}

int weft_run_job_start_late(struct weft_run_job *run, const char *step)
{
	struct weft_run_proc *proc = &run->procs[run->n];
	int err = place_late(run, proc->rank);

	proc->app = &run->opt.apps[0];
	if (!err)
		err = start_process(run, proc, step);
	if (err) {
		weft_run_job_free_cores(run, proc->rank);
		return err;
	}
	run->n++;
	if (run->opt.report_bindings && run->cpus)
		report_binding(run, proc->rank);
	return 0;
}

bool weft_run_job_is_due(uint64_t when_ns, int *ms)
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
