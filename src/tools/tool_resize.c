/* SPDX-License-Identifier: BSD-3-Clause */
/* tool_resize: weft-resize, offers that change the size of a running job
 *
 * A launcher with --max opens a socket in its session directory. Every session
 * directory of this user below TMPDIR is tried, and the launcher answers with
 * the name of its job. The socket of this command is connected, so the kernel
 * delivers datagrams of that launcher only. */
#include "tools/run_resize.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	EXIT_USAGE = 2,
	ANSWER_S = 30,	    /* longest wait for an answer */
	NAME_LEN = 256,	    /* of a job, with its end */
	COUNT_MAX = 0xffff, /* of processes */
};

/* A job whose size can change, as its launcher describes it. */
struct resize_job {
	int fd; /* socket, connected to the launcher */
	char name[NAME_LEN];
	int pid; /* of the launcher */
	unsigned n, n_min, n_max;
	int offer;			 /* processes offered; 0: no offer */
	char set[WEFT_RUN_RESIZE_NAME];	 /* of the members */
	char next[WEFT_RUN_RESIZE_NAME]; /* of the change; "-": no change */
};

static int resize_usage(void)
{
	printf("usage: weft-resize JOB +N | -N | =N | cancel\n"
	       "       weft-resize --list\n"
	       "Offers processes to a running job, or asks for processes back. "
	       "The program\n"
	       "decides when it follows.\n"
	       "  JOB          the name of the job, or the pid of its "
	       "launcher\n"
	       "  +N, -N       offer N more processes, or ask for N back\n"
	       "  =N           offer the difference to N processes\n"
	       "  cancel       withdraw the offer\n"
	       "  --list       the jobs of this user on this node whose size "
	       "can change\n"
	       "See weft-resize(1).\n");
	return 0;
}

/* ---- requests ---- */

/* Sends a request and reads the answer. False if there is no answer; errno has
 * the reason. */
static bool resize_ask(int fd, const char *request, char *answer)
{
	ssize_t n;

	do
		n = send(fd, request, strlen(request), MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return false;
	do
		n = recv(fd, answer, WEFT_RUN_RESIZE_TEXT - 1, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return false;
	answer[n] = '\0';
	return true;
}

static void resize_report_silence(const char *whom)
{
	if (errno == EAGAIN || errno == EWOULDBLOCK)
		fprintf(stderr,
			"weft-resize: %s: the launcher has not answered within "
			"%d s: it is stopped (kill -CONT), or it is in another "
			"network namespace (run weft-resize in the container "
			"of mpiexec)\n",
			whom, ANSWER_S);
	else if (errno == ECONNREFUSED || errno == ECONNRESET)
		fprintf(stderr, "weft-resize: %s: the job has ended\n", whom);
	else
		fprintf(stderr,
			"weft-resize: %s: cannot reach the launcher: %s\n",
			whom, strerror(errno));
}

/* ---- jobs ---- */

/* Connects to the socket in a session directory. The launcher needs an address
 * for its answers, so the kernel selects one. -1: failed, with errno. */
static int resize_connect(int dir)
{
	const struct timeval limit = { .tv_sec = ANSWER_S };
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), failed;

	if (fd < 0)
		return -1;
	failed = bind(fd, (struct sockaddr *)&name, sizeof(sa_family_t));
	snprintf(name.sun_path, sizeof(name.sun_path), "/proc/self/fd/%d/%s",
		dir, WEFT_RUN_RESIZE_SOCKET);
	if (!failed)
		failed = connect(fd, (struct sockaddr *)&name, sizeof(name));
	if (!failed)
		failed = setsockopt(
			fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (!failed)
		failed = setsockopt(
			fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (!failed)
		return fd;
	failed = errno;
	close(fd);
	errno = failed;
	return -1;
}

/* Opens a session directory, which must be this user's. -1: it is not, or it
 * was removed meanwhile. */
static int session_dir_open(int tmp, const char *name)
{
	int fd = openat(
		tmp, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || st.st_uid != getuid())) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Connects to the launcher of a session directory. False if the size of its job
 * is fixed, or if the launcher does not answer. */
static bool resize_job_open(int tmp, const char *name, struct resize_job *job)
{
	int dir = session_dir_open(tmp, name);
	char answer[WEFT_RUN_RESIZE_TEXT];

	if (dir < 0)
		return false;
	job->fd = resize_connect(dir);
	if (job->fd < 0) {
		/* a job of fixed size, or one that ends */
		if (errno != ENOENT && errno != ECONNREFUSED)
			resize_report_silence(name);
		close(dir);
		return false;
	}
	close(dir);
	if (!resize_ask(job->fd, "list", answer))
		resize_report_silence(name);
	else if (sscanf(answer, "ok %255s %d %u %u %u %d %31s %31s", job->name,
			 &job->pid, &job->n, &job->n_min, &job->n_max,
			 &job->offer, job->set, job->next) == 8)
		return true;
	else
		fprintf(stderr,
			"weft-resize: %s: the answer of the launcher is not "
			"known: use the weft-resize of its installation\n",
			name);
	close(job->fd);
	return false;
}

/* Opens the next job of the directory that contains the session directories. */
static bool resize_job_next(DIR *tmp, struct resize_job *job)
{
	const struct dirent *entry;
	char prefix[32];

	snprintf(prefix, sizeof(prefix), WEFT_RUN_RESIZE_DIR,
		(unsigned)getuid());
	while ((entry = readdir(tmp)) != NULL)
		if (!strncmp(entry->d_name, prefix, strlen(prefix)) &&
			resize_job_open(dirfd(tmp), entry->d_name, job))
			return true;
	return false;
}

/* ---- the command ---- */

static const char *resize_tmpdir(void)
{
	const char *tmp = getenv("TMPDIR");

	return tmp && *tmp ? tmp : "/tmp";
}

static int resize_list(DIR *tmp)
{
	struct resize_job job;

	while (resize_job_next(tmp, &job)) {
		printf("%s: launcher %d, %u process%s, min %u, max %u",
			job.name, job.pid, job.n, job.n > 1 ? "es" : "",
			job.n_min, job.n_max);
		if (job.offer)
			printf(", offer %+d", job.offer);
		if (strcmp(job.next, "-"))
			printf(", changes from %s to %s", job.set, job.next);
		putchar('\n');
		close(job.fd);
	}
	return 0;
}

static bool resize_find(DIR *tmp, const char *word, struct resize_job *job)
{
	char pid[16];

	while (resize_job_next(tmp, job)) {
		snprintf(pid, sizeof(pid), "%d", job->pid);
		if (!strcmp(word, job->name) || !strcmp(word, pid))
			return true;
		close(job->fd);
	}
	return false;
}

static int resize_send(
	DIR *tmp, const char *word, const char *change, const char *request)
{
	char answer[WEFT_RUN_RESIZE_TEXT];
	struct resize_job job;
	bool is_answered;

	if (!resize_find(tmp, word, &job)) {
		fprintf(stderr,
			"weft-resize: this user has no job \"%s\" on this node "
			"whose size can change: give a name or the pid of a "
			"launcher of weft-resize --list (TMPDIR must be that "
			"of mpiexec, here %s, and mpiexec needs --max)\n",
			word, resize_tmpdir());
		return EXIT_FAILURE;
	}
	is_answered = resize_ask(job.fd, request, answer);
	if (!is_answered)
		resize_report_silence(word);
	close(job.fd);
	if (!is_answered)
		return EXIT_FAILURE;
	if (strncmp(answer, "ok ", 3)) {
		fprintf(stderr,
			"weft-resize: job %s refuses %s: %s (weft-resize "
			"--list prints the state of the job)\n",
			job.name, change,
			strncmp(answer, "no ", 3) ? answer : answer + 3);
		return EXIT_FAILURE;
	}
	printf("%s: %s\n", job.name, answer + 3);
	return 0;
}

/* Writes the request of a word of the command line. False if the word is no
 * change. */
static bool read_change(const char *word, char *request)
{
	char *end = NULL;
	unsigned long n;

	if (!strcmp(word, "cancel")) {
		strcpy(request, word);
		return true;
	}
	if ((*word != '+' && *word != '-' && *word != '=') || word[1] < '0' ||
		word[1] > '9')
		return false;
	n = strtoul(word + 1, &end, 10);
	if (*end || n > COUNT_MAX)
		return false;
	if (*word == '=')
		snprintf(request, WEFT_RUN_RESIZE_TEXT, "size %lu", n);
	else
		snprintf(
			request, WEFT_RUN_RESIZE_TEXT, "offer %c%lu", *word, n);
	return true;
}

int main(int argc, char **argv)
{
	bool is_list = argc == 2 && !strcmp(argv[1], "--list");
	char request[WEFT_RUN_RESIZE_TEXT];
	DIR *tmp;
	int code;

	if (argc > 1 && !strcmp(argv[1], "--help"))
		return resize_usage();
	if (argc > 1 && argv[1][0] == '-' && strcmp(argv[1], "--list")) {
		fprintf(stderr,
			"weft-resize: %s is no option; --help lists them\n",
			argv[1]);
		return EXIT_USAGE;
	}
	if (!is_list && (argc != 3 || argv[1][0] == '-')) {
		fprintf(stderr,
			"weft-resize: %d words are given; the arguments are a "
			"job and a change, such as \"weft-resize JOB +2\", or "
			"--list alone\n",
			argc - 1);
		return EXIT_USAGE;
	}
	if (!is_list && !read_change(argv[2], request)) {
		fprintf(stderr,
			"weft-resize: \"%s\" is no change of a size: give +N, "
			"-N, =N or cancel, with a number N up to %d\n",
			argv[2], COUNT_MAX);
		return EXIT_USAGE;
	}
	tmp = opendir(resize_tmpdir());
	if (!tmp) {
		fprintf(stderr,
			"weft-resize: cannot read the directory %s: %s (TMPDIR "
			"must be that of mpiexec)\n",
			resize_tmpdir(), strerror(errno));
		return EXIT_FAILURE;
	}
	code = is_list ? resize_list(tmp)
		       : resize_send(tmp, argv[1], argv[2], request);
	closedir(tmp);
	return code;
}
