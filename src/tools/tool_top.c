/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_top: weft-top, the state of a running job from outside */
#include "tools/top_nodes.h"
#include "tools/top_print.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	EXIT_USAGE = 2,
	FIRST_MS = 1000,   /* interval between the first two readings */
	ANSWERS_MS = 4000, /* longest wait for the needs of all waits */
	AGAIN_MS = 200,
	DELAY_MAX_S = 3600,
};

static struct {
	struct weft_top_want want;
	bool is_json, is_once, is_list, is_part;
	const char *nodes; /* command that starts a weft-top on each node; NULL:
			      none */
	double delay_s;
} top_options = { .delay_s = 2 };

static void top_sleep_ms(uint64_t ms)
{
	const struct timespec time = { .tv_sec = (time_t)(ms / 1000),
		.tv_nsec = (long)(ms % 1000) * 1000000 };

	nanosleep(&time, NULL);
}

static int top_usage(void)
{
	printf("usage: weft-top [--once] [--json] [--delay SECONDS]\n"
	       "                [--nodes COMMAND] [JOB | PID]\n"
	       "       weft-top --list\n"
	       "Shows what every rank of a running job does, and "
	       "whether the job moves,\n"
	       "waits for a rank, or cannot end. The job continues meanwhile.\n"
	       "  JOB, PID     the job: its name, or the pid of its launcher "
	       "or "
	       "of a rank;\n"
	       "               default: the newest job of this user\n"
	       "  --once       print all ranks once, after a second\n"
	       "  --json       print JSON objects\n"
	       "  --delay S    seconds between two readings (default 2)\n"
	       "  --nodes CMD  the ranks of all nodes on which CMD starts "
	       "programs\n"
	       "               (default: this node)\n"
	       "  --list       the jobs of this user on this node\n"
	       "See weft-top(1) for the columns.\n");
	return 0;
}

static int top_refuse(const char *what, const char *remedy)
{
	fprintf(stderr, "weft-top: %s%s\n", what, remedy);
	return EXIT_USAGE;
}

/* Parses the value of --delay. False unless it is a number of seconds from 0.1
 * to DELAY_MAX_S. */
static bool read_delay(const char *text)
{
	char *end = NULL;

	if (!text)
		return false;
	top_options.delay_s = strtod(text, &end);
	return end != text && !*end && top_options.delay_s >= 0.1 &&
	       top_options.delay_s <= DELAY_MAX_S;
}

/* A word of digits is a pid. */
static void choose_job(const char *word)
{
	top_options.want = (struct weft_top_want){ 0 };
	if (strspn(word, "0123456789") == strlen(word) && strlen(word) < 10)
		top_options.want.pid = atoi(word);
	if (!top_options.want.pid)
		top_options.want.name = word;
}

static unsigned terminal_rows(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_row;
}

/* Reads the state of the job until the needs of all waits are known, for at
 * most ANSWERS_MS. */
static void read_whole(struct weft_top_job *job)
{
	const uint64_t watched_ns = weft_top_job_watch(job);
	const uint64_t until_ns =
		watched_ns + ANSWERS_MS * (WEFT_NS_PER_S / 1000);

	weft_top_job_read(job);
	top_sleep_ms(FIRST_MS);
	weft_top_job_read(job);
	while (!weft_top_is_known(job, watched_ns) &&
		weft_now_ns() < until_ns) {
		top_sleep_ms(AGAIN_MS);
		weft_top_job_read(job);
	}
}

static void top_show(const struct weft_top_job *job)
{
	bool is_screen = isatty(STDOUT_FILENO) && !top_options.is_once;
	struct weft_top_verdict verdict;

	weft_top_judge(job, &verdict);
	if (top_options.is_json) {
		weft_top_print_json(job, &verdict, stdout);
	} else if (is_screen) {
		fputs("\033[H\033[J", stdout);
		weft_top_print(job, &verdict, terminal_rows(), stdout);
	} else {
		weft_top_print(job, &verdict, 0, stdout);
		if (!top_options.is_once)
			putchar('\n');
	}
	fflush(stdout);
}

static int top_watch(void)
{
	char why[WEFT_TOP_WHY];
	struct weft_top_job job;
	bool was_shown = false;

	if (!weft_top_job_find(&job, &top_options.want, why)) {
		fprintf(stderr, "weft-top: %s\n", why);
		return EXIT_FAILURE;
	}
	read_whole(&job);
	while (job.n) {
		top_show(&job);
		was_shown = true;
		if (top_options.is_once)
			break;
		weft_top_job_watch(&job);
		top_sleep_ms((uint64_t)(top_options.delay_s * 1e3));
		weft_top_job_read(&job);
	}
	if (!job.n)
		fprintf(stderr, "weft-top: job %s has ended\n", job.name);
	weft_top_job_fini(&job);
	return was_shown ? 0 : EXIT_FAILURE;
}

/* Prints the job's processes on this node for the weft-top that started this
 * one. */
static int top_part(void)
{
	char why[WEFT_TOP_WHY];
	struct weft_top_job job;

	if (weft_top_job_find(&job, &top_options.want, why))
		read_whole(&job);
	weft_top_part_print(&job, stdout);
	weft_top_job_fini(&job);
	return 0;
}

/* Finds the name of the job on all nodes. If the user names a pid, or no job,
 * the job must have a process on this node. */
static bool name_job(char name[WEFT_MONITOR_JOB])
{
	char why[WEFT_TOP_WHY];
	struct weft_top_job job;

	if (top_options.want.name) {
		snprintf(name, WEFT_MONITOR_JOB, "%s", top_options.want.name);
		return true;
	}
	if (!weft_top_job_find(&job, &top_options.want, why)) {
		fprintf(stderr,
			"weft-top: %s (--nodes needs the name of a job without "
			"processes on this node; weft-top --list prints the "
			"name on a node of the job)\n",
			why);
		return false;
	}
	snprintf(name, WEFT_MONITOR_JOB, "%s", job.name);
	weft_top_job_fini(&job);
	return true;
}

static int watch_nodes(void)
{
	char name[WEFT_MONITOR_JOB], why[WEFT_TOP_WHY];
	struct weft_top_job job;
	bool was_shown = false;

	if (!name_job(name))
		return EXIT_FAILURE;
	while (weft_top_nodes_read(&job, top_options.nodes, name, why)) {
		top_show(&job);
		weft_top_job_fini(&job);
		was_shown = true;
		if (top_options.is_once)
			return 0;
		top_sleep_ms((uint64_t)(top_options.delay_s * 1e3));
	}
	fprintf(stderr, "weft-top: %s\n", why);
	return was_shown ? 0 : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help"))
			return top_usage();
		if (!strcmp(argv[i], "--json"))
			top_options.is_json = true;
		else if (!strcmp(argv[i], "--once"))
			top_options.is_once = true;
		else if (!strcmp(argv[i], "--list"))
			top_options.is_list = true;
		else if (!strcmp(argv[i], "--part"))
			top_options.is_part = true;
		else if (!strcmp(argv[i], "--nodes")) {
			top_options.nodes = argv[++i];
			if (!top_options.nodes)
				return top_refuse("--nodes needs a command",
					", such as \"srun --jobid=ID --overlap "
					"--ntasks-per-node=1\"");
		} else if (!strcmp(argv[i], "--delay")) {
			if (!read_delay(argv[++i]))
				return top_refuse("--delay needs a number of "
						  "seconds, ",
					"0.1 to 3600");
		} else if (argv[i][0] == '-')
			return top_refuse(
				argv[i], " is no option; --help lists them");
		else
			choose_job(argv[i]);
	}
	if (top_options.is_list) {
		weft_top_jobs_print(stdout);
		return 0;
	}
	if (top_options.is_part)
		return top_part();
	return top_options.nodes ? watch_nodes() : top_watch();
}
