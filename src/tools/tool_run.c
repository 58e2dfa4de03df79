/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_run: mpiexec, the launcher for one host
 *
 * One thread runs one loop. It polls a signalfd for signals and ended
 * processes, the descriptor of the PMIx server for events, and pipes for output
 * and for notices of other launchers. The first process that fails determines
 * the exit status. Without --continue, it also ends the job: the launcher sends
 * SIGTERM, and SIGKILL after the grace time. */
#include "config.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/knob.h"
#include "boot/liveness.h"
#include "pmix/pmix_serve.h"
#include "tools/run_delegate.h"
#include "tools/run_io.h"
#include "tools/run_job.h"
#include "tools/run_mpir.h"
#include "tools/run_proc.h"
#include "tools/run_profile.h"
#include "tools/run_resize.h"
#include "tools/run_sets.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	EXIT_USAGE = 2,
	EXIT_TIMEOUT = 124,
	EXIT_SIGNAL = 128,
	OUTPUT_WAIT_S = 1, /* wait for pipes that other processes keep open */
	REPEAT_S = 1,	   /* signals within this time count once */
	LOADED_MS = 250,   /* time until the first check of loaded libraries */
	LOADED_MAX_S = 16,
	ANSWER_MS = 20, /* interval of checks for answers of processes */
};

static int tool_run_fail(const char *what, int err)
{
	const char *detail = weft_err_detail_peek(err);

	fprintf(stderr, "mpiexec: %s%s%s\n", what, *what ? ": " : "",
		*detail ? detail : weft_err_str(err));
	return err == WEFT_ERR_ARG ? EXIT_USAGE : EXIT_FAILURE;
}

static uint64_t after_ns(double seconds)
{
	return weft_now_ns() + (uint64_t)(seconds * 1e9);
}

/* ---- set up ---- */

/* Opens the standard descriptors, so that no file of the launcher gets their
 * numbers. */
static bool fill_std_fds(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	return fd >= 0 && !close(fd);
}

static void set_signals(struct weft_run_job *run)
{
	static const int sigs[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1,
		SIGUSR2, SIGTSTP, SIGCONT, SIGCHLD };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(sigs) / sizeof(*sigs); i++) {
		signal(sigs[i],
			SIG_DFL); /* an ignored signal is not received */
		sigaddset(&set, sigs[i]);
	}
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	run->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* ---- the end ---- */

static void kill_all(struct weft_run_job *run, int sig)
{
	for (uint32_t r = 0; run->procs && r < run->n; r++)
		weft_run_proc_kill(&run->procs[r], sig);
}

/* Signals all processes, and the launchers of spawned jobs. */
static void signal_all(struct weft_run_job *run, int sig)
{
	kill_all(run, sig);
	weft_run_spawn_kill(run->spawned, sig);
}

static void tool_run_end_job(struct weft_run_job *run)
{
	if (run->state > WEFT_RUN_JOB_FAILED)
		return;
	run->state = WEFT_RUN_JOB_ENDING;
	weft_run_mpir_abort();
	run->kill_ns = after_ns(run->opt.grace_s);
	kill_all(run, SIGTERM);
	kill_all(run, SIGCONT); /* a stopped process cannot end */
}

static void kill_job(struct weft_run_job *run)
{
	run->state = WEFT_RUN_JOB_KILLED;
	kill_all(run, SIGKILL);
	if (run->is_all_ending)
		weft_run_spawn_kill(run->spawned, SIGKILL);
}

static void set_exit_status(struct weft_run_job *run, int status)
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

static void print_fault(
	struct weft_run_job *run, const struct weft_run_proc *proc)
{
	const struct weft_run_fault *fault = proc->fault;

	if (fault->stage == WEFT_RUN_STAGE_WDIR)
		weft_run_io_print(run->io,
			"rank %u could not be started in directory %s: %s",
			proc->rank, proc->app->wdir, strerror(fault->error));
	else if (fault->stage == WEFT_RUN_STAGE_BIND)
		weft_run_io_print(run->io,
			"rank %u could not be bound to its cores: %s",
			proc->rank, strerror(fault->error));
	else
		weft_run_io_print(run->io,
			"rank %u could not be started: %s: %s", proc->rank,
			proc->app->argv[0], strerror(fault->error));
}

/* True if the process has finalized, or had closed all its sessions when it
 * exited. */
static bool has_left(struct weft_run_job *run, const struct weft_run_proc *proc)
{
	return proc->is_finalized ||
	       (proc->is_connected &&
		       atomic_load(&run->liveness[proc->rank].state) ==
			       WEFT_LIVENESS_IDLE);
}

static void tool_run_print_end(
	struct weft_run_job *run, const struct weft_run_proc *proc)
{
	static const char remedy[] =
		": MPI_Finalize, MPI_Session_finalize or shmem_finalize is "
		"missing (--allow-exit-without-finalize accepts that)";
	const char *how = "";
	int code = code_of(proc);

	if (has_left(run, proc))
		how = " after finalizing";
	else if (proc->is_connected)
		how = " without finalizing";
	if (WIFSIGNALED(proc->status))
		weft_run_io_print(run->io,
			"rank %u (pid %d on %s) was killed by signal %d (%s)%s",
			proc->rank, proc->pid, run->host,
			WTERMSIG(proc->status),
			strsignal(WTERMSIG(proc->status)),
			WCOREDUMP(proc->status) ? ", core dumped" : "");
	else
		weft_run_io_print(run->io,
			"rank %u (pid %d on %s) exited with code %d%s%s",
			proc->rank, proc->pid, run->host, code, how,
			code		     ? ""
			: proc->is_connected ? remedy
					     : " before it joined the job");
}

static struct weft_run_notice notice_of(const char *job)
{
	struct weft_run_notice notice = { .kind = WEFT_RUN_JOB_ENDED };

	snprintf(notice.job, sizeof(notice.job), "%s", job);
	return notice;
}

/* Notifies the processes of this job, and the launchers of other jobs, of the
 * end of a process. */
static void notify_others(
	struct weft_run_job *run, const struct weft_run_proc *proc)
{
	struct weft_run_notice notice = notice_of(run->name);

	notice.kind = WEFT_RUN_DEATH;
	notice.rank = proc->rank;
	notice.code = code_of(proc);
	notice.how = WEFT_SERVE_END_NO_FINALIZE;
	if (proc->is_aborted)
		notice.how = WEFT_SERVE_END_ABORTED;
	else if (proc->is_cancelled)
		notice.how = WEFT_SERVE_END_CANCELLED;
	else if (WIFSIGNALED(proc->status))
		notice.how = WEFT_SERVE_END_SIGNAL;
	else if (notice.code)
		notice.how = WEFT_SERVE_END_NONZERO;
	weft_serve_died(run->serve, proc->rank, notice.how, notice.code);
	weft_run_spawn_notify(run->spawned, &notice);
	weft_run_spawn_report(&run->pipes, &notice);
	if (run->opt.n_max)
		weft_run_resize_on_death(run, proc->rank);
}

/* Ends the job after the failure of a process. */
static void end_failed(struct weft_run_job *run)
{
	notify_others(run, run->failed);
	tool_run_end_job(run);
}

/* Handles a failure that ends the job. First requests the states of the other
 * processes, so that their waiting calls are printed before the processes end.
 */
static void on_failed(
	struct weft_run_job *run, const struct weft_run_proc *proc)
{
	run->failed = proc;
	run->state = WEFT_RUN_JOB_FAILED;
	if (run->inquiry.until_ns) {
		end_failed(run);
		return;
	}
	weft_run_state_open(&run->inquiry, SIGCHLD, run->liveness, run->n);
	weft_serve_ask_states(run->serve);
}

/* True if a process has not finalized that has joined the job, or that was
 * started because the job grows. Other processes may wait for it. */
static bool is_missed(
	struct weft_run_job *run, const struct weft_run_proc *proc)
{
	return !has_left(run, proc) &&
	       (proc->is_connected ||
		       weft_run_resize_is_joining(run, proc->rank));
}

/* True if the process has failed. Its end is announced by notify_others(). */
static bool is_failure(
	struct weft_run_job *run, const struct weft_run_proc *proc)
{
	return WIFSIGNALED(proc->status) || is_missed(run, proc) ||
	       (!has_left(run, proc) && code_of(proc));
}

/*
 * Handles the end of a process. A process that others may wait for has failed,
 * even with code 0.
 */
static void on_end(struct weft_run_job *run, const struct weft_run_proc *proc)
{
	int code = code_of(proc);
	bool has_not_left = is_missed(run, proc);
	/* the launcher may have killed the process */
	bool is_ending = run->state != WEFT_RUN_JOB_GOING;

	run->n_running--;
	if (!is_failure(run, proc))
		weft_serve_ended(run->serve, proc->rank);
	if (run->opt.n_max)
		weft_run_job_free_cores(run, proc->rank);
	if (!run->n_running) {
		struct weft_run_notice notice = notice_of(run->name);

		weft_run_spawn_notify(run->spawned, &notice);
		weft_run_spawn_report(&run->pipes, &notice);
	}
	if (proc->is_aborted && !is_ending) {
		notify_others(run, proc); /* the other processes continue */
		return;
	}
	if (proc->is_cancelled) {
		notify_others(run, proc);
		return;
	}
	if (!code && (!has_not_left || run->opt.needs_no_finalize)) {
		if (has_not_left && !is_ending)
			notify_others(run, proc);
		return;
	}
	if (!is_ending && proc->fault->stage)
		print_fault(run, proc);
	else if (!is_ending)
		tool_run_print_end(run, proc);
	if (!is_ending && weft_run_resize_is_joining(run, proc->rank)) {
		notify_others(run, proc); /* the change fails, not the job */
		return;
	}
	set_exit_status(run, code ? code : EXIT_FAILURE);
	/* No process waits for a process that has finalized. So the other
	 * processes continue, and the exit code becomes the job's status. */
	if (is_ending || (!WIFSIGNALED(proc->status) && has_left(run, proc)))
		return;
	if (run->opt.keep_going && !weft_run_resize_is_short(run, proc->rank))
		notify_others(run, proc);
	else
		on_failed(run, proc);
}

static void kill_aborted(struct weft_run_job *run, int sig)
{
	for (uint32_t r = 0; r < run->n; r++)
		if (run->procs[r].is_aborted)
			weft_run_proc_kill(&run->procs[r], sig);
}

/* Ends a part of the job, as tool_run_end_job() ends the whole job. The other
 * processes are notified of each death. */
static void abort_some(
	struct weft_run_job *run, const struct weft_serve_event *event)
{
	if (run->state == WEFT_RUN_JOB_GOING)
		weft_run_io_print(run->io,
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
	struct weft_run_job *run, const struct weft_serve_event *event)
{
	int code = event->code & 0xff;

	if (event->ranks) {
		set_exit_status(run, code ? code : EXIT_FAILURE);
		abort_some(run, event);
		return;
	}
	if (run->state == WEFT_RUN_JOB_GOING)
		weft_run_io_print(run->io,
			"rank %u aborted the job with code %d%s%s", event->rank,
			event->code, *event->text ? ": " : "", event->text);
	/* an abort with code 0 is no failure */
	set_exit_status(run, event->code && !code ? EXIT_FAILURE : code);
	tool_run_end_job(run);
}

/* Starts a launcher for a job that a process spawns. */
static void tool_run_on_spawn(
	struct weft_run_job *run, struct weft_serve_event *event)
{
	int err = WEFT_ERR_SPAWN;

	if (run->state == WEFT_RUN_JOB_GOING)
		err = weft_run_spawn_start(&run->spawned, &run->pipes,
			event->argv, event->parent, run->opt.keep_going);
	if (err)
		tool_run_fail("cannot spawn a job", err);
	weft_serve_spawned(run->serve, event->spawn_request, err,
		err ? "" : run->spawned->name);
	weft_serve_argv_free(event->argv);
	free(event->parent);
}

/* Passes the notice of another launcher to the processes and to the child
 * launchers. */
static void tool_run_on_notice(
	struct weft_run_job *run, const struct weft_run_notice *notice)
{
	if (notice->kind == WEFT_RUN_DEATH)
		weft_serve_other_died(run->serve, notice->job, notice->rank,
			notice->how, notice->code);
	else
		weft_serve_job_ended(run->serve, notice->job);
	weft_run_spawn_notify(run->spawned, notice);
}

/* Handles the end of a child that is no process of the job. */
static void on_other_end(void *arg, pid_t pid, int status)
{
	struct weft_run_job *run = arg;
	struct weft_run_spawn *s =
		weft_run_spawn_ended(run->spawned, pid, status);
	struct weft_run_notice notice;

	if (!s)
		return;
	if (status)
		set_exit_status(run, code_of(&s->proc));
	notice = notice_of(s->name);
	tool_run_on_notice(run, &notice);
	weft_run_spawn_report(&run->pipes, &notice);
	weft_run_sets_on_end(run, s);
}

/* Receives notices from the parent launcher, and from the child launchers. */
static void receive_notices(struct weft_run_job *run)
{
	bool had_parent = run->pipes.from_above >= 0;
	struct weft_run_notice notice;

	while (weft_run_spawn_receive(&run->pipes.from_above, &notice))
		if (notice.kind <= WEFT_RUN_DEATH)
			tool_run_on_notice(run, &notice);
		else
			weft_run_sets_on_notice(run, &notice, NULL);
	if (had_parent && run->pipes.from_above < 0)
		weft_run_sets_on_end(run, NULL);
	while (weft_run_spawn_receive(&run->pipes.below[0], &notice)) {
		struct weft_run_spawn *from =
			weft_run_spawn_find(run->spawned, notice.job);

		if (notice.kind <= WEFT_RUN_DEATH) {
			tool_run_on_notice(run, &notice);
			weft_run_spawn_report(&run->pipes, &notice);
		} else if (from) {
			weft_run_sets_on_notice(run, &notice, from);
		}
	}
}

static void tool_run_on_events(struct weft_run_job *run)
{
	struct weft_serve_event event;

	while (weft_serve_next(run->serve, &event)) {
		if (event.kind == WEFT_SERVE_ABORT)
			tool_run_on_abort(run, &event);
		if (event.kind == WEFT_SERVE_SPAWN)
			tool_run_on_spawn(run, &event);
		if (event.kind == WEFT_SERVE_RESIZE)
			weft_run_resize_on_request(run, &event);
		if (event.kind == WEFT_SERVE_SET)
			weft_run_sets_on_request(run, &event);
		free(event.ranks);
		if (event.rank >= run->n)
			continue;
		if (event.kind == WEFT_SERVE_CONNECTED) {
			run->procs[event.rank].is_connected = true;
			run->procs[event.rank].is_finalized = false;
			/* other MPI libraries also connect to PMIx */
			weft_run_job_check_loaded(run, event.rank);
		}
		if (event.kind == WEFT_SERVE_FINALIZED)
			run->procs[event.rank].is_finalized = true;
	}
}

static void reap(struct weft_run_job *run)
{
	struct weft_run_proc *proc;

	do {
		proc = weft_run_proc_next_ended(
			run->procs, run->n, on_other_end, run);
		/* first handles events that the process sent before it ended */
		tool_run_on_events(run);
		if (!proc)
			continue;
		on_end(run, proc);
		weft_run_proc_reap(proc); /* last, because it may be slow */
		if (run->opt.n_max)
			weft_run_resize_on_end(run);
	} while (proc);
}

/* ---- signals ---- */

static void on_end_signal(struct weft_run_job *run, int sig)
{
	/* timeout(1) sends the signal to the launcher, and to its group */
	if (run->n_ends_asked && weft_now_ns() < run->repeat_ns)
		return;
	run->repeat_ns = after_ns(REPEAT_S);
	signal_all(run, sig);
	run->is_all_ending = true;
	if (++run->n_ends_asked == 1)
		return;
	weft_run_io_print(run->io, "second signal %d (%s): killing the job",
		sig, strsignal(sig));
	set_exit_status(run, EXIT_SIGNAL + sig);
	kill_job(run);
}

/* Queries the state of every process. After the answers are printed, sig has
 * its usual effect. */
static void ask_states(struct weft_run_job *run, int sig, const char *why)
{
	weft_run_io_print(
		run->io, "%s: states of the processes of %s:", why, run->name);
	weft_run_state_open(&run->inquiry, sig, run->liveness, run->n);
	weft_serve_ask_states(run->serve);
}

/* Forwards SIGUSR1 to the processes that have a handler for it. The signal
 * would kill the other processes. */
static void pass_usr1(struct weft_run_job *run)
{
	for (uint32_t r = 0; r < run->n; r++) {
		const struct weft_run_proc *proc = &run->procs[r];

		if (proc->is_running &&
			weft_run_state_catches(proc->pid, SIGUSR1))
			kill(proc->pid, SIGUSR1);
	}
	weft_run_spawn_kill(run->spawned, SIGUSR1);
}

static void on_usr1(struct weft_run_job *run)
{
	pass_usr1(run);
	if (!run->inquiry.until_ns)
		ask_states(run, SIGUSR1, "signal USR1");
}

static void on_quit(struct weft_run_job *run)
{
	if (run->state == WEFT_RUN_JOB_GOING && run->inquiry.until_ns &&
		run->inquiry.sig == SIGUSR1)
		run->inquiry.sig = SIGQUIT; /* handled after the answers to
					       USR1 */
	else if (run->state != WEFT_RUN_JOB_GOING || run->inquiry.until_ns)
		on_end_signal(run, SIGQUIT);
	else
		ask_states(run, SIGQUIT, "signal QUIT");
}

static void on_signal(struct weft_run_job *run, int sig)
{
	switch (sig) {
	case SIGCHLD:
		return; /* the loop reaps processes in any case */
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

static void read_signals(struct weft_run_job *run)
{
	struct signalfd_siginfo info;

	while (read(run->signal_fd, &info, sizeof(info)) ==
		(ssize_t)sizeof(info))
		on_signal(run, (int)info.ssi_signo);
}

/* ---- the loop ---- */

/* Sets the status first: processes that end while the states are printed do not
 * change it. */
static void on_timeout(struct weft_run_job *run)
{
	run->timeout_ns = 0;
	weft_run_io_print(run->io,
		"the timeout of %g s is over with %u of %u processes still "
		"running: ending the job",
		run->opt.timeout_s, run->n_running, run->n);
	set_exit_status(run, EXIT_TIMEOUT);
	weft_run_spawn_kill(run->spawned, SIGUSR1);
	ask_states(run, SIGALRM, "timeout");
}

static void tool_run_on_timeout_end(struct weft_run_job *run)
{
	run->is_all_ending = true;
	weft_run_spawn_kill(run->spawned, SIGTERM);
	tool_run_end_job(run);
}

/* Polls for the answers of the processes, which write them to shared memory
 * without a notification. */
static void check_states(struct weft_run_job *run, int *ms)
{
	if (!run->inquiry.until_ns)
		return;
	if (!weft_run_state_is_over(
		    &run->inquiry, run->procs, run->liveness, run->n)) {
		if (*ms < 0 || *ms > ANSWER_MS)
			*ms = ANSWER_MS;
		return;
	}
	weft_run_state_print(
		&run->inquiry, run->io, run->procs, run->liveness, run->n);
	if (run->inquiry.sig == SIGCHLD && run->state == WEFT_RUN_JOB_FAILED)
		end_failed(run);
	if (run->inquiry.sig == SIGQUIT)
		on_end_signal(run, SIGQUIT);
	if (run->inquiry.sig == SIGALRM)
		tool_run_on_timeout_end(run);
}

/* Checks the loaded libraries after pauses of 1/4 s, 1 s, 4 s and 16 s, because
 * the launcher is not notified of a load. */
static void check_loaded(struct weft_run_job *run, int *ms)
{
	if (run->has_other_mpi || !weft_run_job_is_due(run->check_ns, ms))
		return;
	for (uint32_t r = 0; r < run->n; r++)
		weft_run_job_check_loaded(run, r);
	run->pause_ns *= 4;
	run->check_ns = run->pause_ns > LOADED_MAX_S * WEFT_NS_PER_S
				? 0
				: weft_now_ns() + run->pause_ns;
}

static void check_times(struct weft_run_job *run, int *ms)
{
	check_loaded(run, ms);
	if (weft_run_job_is_due(run->timeout_ns, ms))
		on_timeout(run);
	check_states(run, ms);
	if (run->state == WEFT_RUN_JOB_ENDING &&
		weft_run_job_is_due(run->kill_ns, ms))
		kill_job(run);
	if (weft_run_job_is_due(run->abort_ns, ms)) {
		run->abort_ns = 0;
		kill_aborted(run, SIGKILL);
	}
	if (run->opt.n_max)
		weft_run_resize_check(run, ms);
}

/* Reports once what the launcher waits for after all processes have ended. */
static void warn_of_wait(struct weft_run_job *run, int *ms)
{
	size_t n = weft_run_spawn_running(run->spawned);

	if (!run->warn_ns)
		run->warn_ns = after_ns((double)weft_knobs.stall_warn);
	if (!weft_knobs.stall_warn || run->has_warned ||
		!weft_run_job_is_due(run->warn_ns, ms))
		return;
	run->has_warned = true;
	if (n)
		weft_run_io_print(run->io,
			"all processes have ended; waiting for %zu job%s that "
			"they started (WEFT_STALL_WARN)",
			n, n > 1 ? "s" : "");
	else
		weft_run_io_print(run->io,
			"all processes have ended; waiting for the reader of "
			"their output (WEFT_STALL_WARN)");
}

/* True if all processes and all spawned jobs have ended, and the output is
 * written or no longer waited for. */
static bool tool_run_is_over(struct weft_run_job *run, int *ms)
{
	if (!run->n_running)
		warn_of_wait(run, ms);
	if (run->n_running || weft_run_spawn_running(run->spawned))
		return false;
	if (!run->output_ns)
		run->output_ns = after_ns(OUTPUT_WAIT_S);
	if (weft_run_io_is_open(run->io))
		return weft_run_job_is_due(run->output_ns, ms);
	/* waits for a slow reader, unless a signal ended the job */
	return !weft_run_io_is_unwritten(run->io) || run->n_ends_asked;
}

/* Reports output that cannot be written, which is a failure. */
static void check_output(struct weft_run_job *run)
{
	static const char *const names[] = { "standard output",
		"standard error" };

	for (int which = 0; which < 2; which++) {
		int error = weft_run_io_error(run->io, which);

		if (!error)
			continue;
		weft_run_io_print(run->io, "cannot write %s: %s", names[which],
			strerror(error));
		set_exit_status(run, EXIT_FAILURE);
	}
}

/* Reports processes that exited with 0 and never joined the job, if other
 * processes joined it. */
static void report_unjoined(struct weft_run_job *run)
{
	uint32_t n = 0, first = 0;

	for (uint32_t r = run->n; r-- > 0;) {
		if (run->procs[r].is_connected || run->procs[r].status ||
			atomic_load(&run->liveness[r].state) !=
				WEFT_LIVENESS_UNKNOWN)
			continue;
		n++;
		first = r;
	}
	if (n && n < run->n && !run->has_other_mpi && !run->has_failed)
		weft_run_io_print(run->io,
			"note: %u of %u processes never joined the job, rank "
			"%u first: they exited without initializing Weft's "
			"MPI or OpenSHMEM",
			n, run->n, first);
}

static void loop(struct weft_run_job *run)
{
	for (;;) {
		int ms = -1;
		size_t n;

		check_times(run, &ms);
		run->fds[0] = (struct pollfd){ run->signal_fd, POLLIN, 0 };
		run->fds[1] =
			(struct pollfd){ weft_serve_fd(run->serve), POLLIN, 0 };
		run->fds[2] =
			(struct pollfd){ run->pipes.from_above, POLLIN, 0 };
		run->fds[3] = (struct pollfd){ run->pipes.below[0], POLLIN, 0 };
		run->fds[4] = (struct pollfd){ run->resize.fd, POLLIN, 0 };
		n = weft_run_io_fill(run->io, &run->fds[WEFT_RUN_JOB_FDS], &ms);
		check_output(run);
		if (tool_run_is_over(run, &ms))
			return;
		if (poll(run->fds, WEFT_RUN_JOB_FDS + n, ms) < 0 &&
			errno != EINTR)
			return;
		weft_run_io_step(run->io, &run->fds[WEFT_RUN_JOB_FDS], n);
		check_output(run);
		read_signals(run);
		receive_notices(run);
		tool_run_on_events(run);
		weft_run_resize_receive(run);
		reap(run);
	}
}

static void tear_down(struct weft_run_job *run)
{
	kill_job(run);
	weft_run_proc_sweep(run->cleanup.pid);
	weft_run_spawn_free(run->spawned);
	weft_run_io_destroy(run->io);
	run->is_stuck = !weft_serve_close(run->serve);
	if (run->is_stuck)
		fputs("mpiexec: the PMIx server does not end: exiting without "
		      "it\n",
			stderr);
	if (run->dir[0])
		weft_run_dir_remove(run->dir);
	weft_run_cleanup_stop(&run->cleanup);
	weft_run_fault_unmap(run->faults, run->n_places);
	weft_liveness_destroy(run->n_places, run->liveness_fd, run->liveness);
	weft_run_resize_close(&run->resize);
	weft_run_sets_close(run);
	free(run->procs);
	weft_run_claim_fini(&run->claim);
	free(run->cpus);
	free(run->fds);
}

static int tool_run_launch(struct weft_run_job *run)
{
	int err;

	run->n = weft_run_opt_size(&run->opt);
	run->n_places = weft_run_opt_places(&run->opt);
	weft_run_spawn_above(&run->pipes, run->name, run->parent);
	if (gethostname(run->host, sizeof(run->host) - 1))
		strcpy(run->host, "localhost");
	err = weft_run_job_check(run);
	if (err) {
		tool_run_fail("", err);
		return EXIT_USAGE;
	}
	set_signals(run);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	err = weft_run_job_set_up(run);
	if (run->opt.timeout_s > 0)
		run->timeout_ns = after_ns(run->opt.timeout_s);
	if (!err)
		err = weft_run_job_start(run);
	run->pause_ns = LOADED_MS * 1000000ULL;
	run->check_ns = weft_now_ns() + run->pause_ns;
	if (err) {
		run->status = tool_run_fail("cannot start the job", err);
	} else {
		loop(run);
		report_unjoined(run);
		if (run->opt.profile)
			weft_run_profile_print(run->opt.profile,
				*run->parent ? run->name : "", run->dir,
				run->n);
	}
	tear_down(run);
	return run->status;
}

/* Starts weft-debug for each process: the one in the directory of this program,
 * or else the first one in PATH. */
static int set_up_debug(struct weft_run_opt *opt)
{
	char path[4096] = "weft-debug";
	char dir[sizeof(path) - sizeof("/weft-debug")];
	ssize_t n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	char *slash;

	if (!opt->is_debugged)
		return 0;
	dir[n > 0 ? n : 0] = '\0';
	slash = strrchr(dir, '/');
	if (slash) {
		*slash = '\0';
		snprintf(path, sizeof(path), "%s/weft-debug", dir);
		if (access(path, X_OK))
			strcpy(path, "weft-debug");
	}
	return weft_run_opt_prefix(opt, path);
}

static int fail_output(void)
{
	fprintf(stderr, "mpiexec: cannot write standard output: %s\n",
		strerror(errno));
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct weft_run_job run = { .signal_fd = -1, .resize.fd = -1 };
	const char *what = "--profile";
	int err, status = 0;

	if (!fill_std_fds())
		return EXIT_FAILURE;
	err = weft_run_opt_parse(&run.opt, argc, argv);
	if (err) {
		tool_run_fail("", err);
		status = EXIT_USAGE;
	} else if (run.opt.task == WEFT_RUN_HELP) {
		fputs(weft_run_opt_help(), stdout);
	} else if (run.opt.task == WEFT_RUN_VERSION) {
		puts("mpiexec (Weft) " PACKAGE_VERSION);
	} else {
		weft_knob_load();
		err = weft_run_profile_set_up(&run.opt);
		if (!err) {
			what = "--debug";
			err = set_up_debug(&run.opt);
		}
		if (err)
			status = tool_run_fail(what, err);
		else
			status = weft_run_delegate(&run.opt);
		if (!err && status == WEFT_RUN_DELEGATE_NONE)
			status = tool_run_launch(&run);
	}
	weft_run_opt_fini(&run.opt);
	if (fflush(stdout) && !status)
		status = fail_output();
	if (run.is_stuck)
		_exit(status);
	return status;
}
