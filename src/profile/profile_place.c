/* SPDX-License-Identifier: BSD-3-Clause */
/* profile_place: finds source lines of call sites, by addr2line(1)
 *
 * addr2line is started once per object. Without addr2line, or without symbols,
 * the place remains "object+offset". */
#include "profile/profile_report.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PLACES_MAX = 256, PLACE_WAIT_S = 20, FIRST_ARGS = 4 };

/* Starts addr2line for the offsets in words; its output is in *fd_out. */
static pid_t place_start(char *const *words, int *fd_out)
{
	static char *const env[] = { "LC_ALL=C", NULL };
	posix_spawn_file_actions_t actions;
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(
		&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, words[0], &actions, NULL, words, env))
		pid = -1;
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	if (pid < 0)
		close(fds[0]);
	else
		*fd_out = fds[0];
	return pid;
}

/* Reads until the end of the output or the deadline, at most 64 KiB. The caller
 * frees the text. */
static char *place_read(int fd)
{
	uint64_t until = weft_now_ns() + PLACE_WAIT_S * WEFT_NS_PER_S, now;
	size_t len = 0, max = 1 << 16;
	char *text = malloc(max);
	struct pollfd poller = { .fd = fd, .events = POLLIN };

	while (text && (now = weft_now_ns()) < until && len < max - 1) {
		ssize_t n;

		if (poll(&poller, 1, (int)((until - now) / 1000000) + 1) <= 0)
			continue;
		n = read(fd, text + len, max - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	if (text)
		text[len] = '\0';
	return text;
}

/* "f(int, double)" of C++ becomes "f". */
static void cut_arguments(char *function)
{
	size_t i = strlen(function);
	int depth = 0;

	if (!i || function[i - 1] != ')')
		return;
	while (i-- > 1) {
		depth += (function[i] == ')') - (function[i] == '(');
		if (!depth) {
			function[i] = '\0';
			return;
		}
	}
}

/* Parses two lines: the function, and "file:line". "??" means unknown. */
static void place_parse(struct weft_profile_sum *sum, char **text)
{
	char *function = strsep(text, "\n"), *line = strsep(text, "\n");
	char *note;

	if (!function || !line || *function == '?')
		return;
	cut_arguments(function);
	note = strstr(line, " (disc"); /* " (discriminator 1)" */
	if (note)
		*note = '\0';
	if (*line == '?')
		snprintf(sum->place, sizeof(sum->place), "%s", function);
	else
		snprintf(sum->place, sizeof(sum->place), "%s (%s)", function,
			line);
}

/* Sets the places of the sums in this object, among the first n sums. */
static void object_places(
	struct weft_profile_report *report, size_t n, const char *object)
{
	char offsets[PLACES_MAX][20], *words[PLACES_MAX + FIRST_ARGS + 1];
	struct weft_profile_sum *sums[PLACES_MAX];
	char path[256], *text = NULL, *rest;
	size_t n_sums = 0;
	int fd = -1;
	pid_t pid;

	snprintf(path, sizeof(path), "%s", object);
	words[0] = "addr2line";
	words[1] = "-fCs";
	words[2] = "-e";
	words[3] = path;
	for (size_t i = 0; i < n && n_sums < PLACES_MAX; i++) {
		if (strcmp(report->sums[i].object, object))
			continue;
		/* the call is before the address to which it returns */
		snprintf(offsets[n_sums], sizeof(*offsets), "0x%llx",
			(unsigned long long)report->sums[i].offset - 1);
		words[FIRST_ARGS + n_sums] = offsets[n_sums];
		sums[n_sums++] = &report->sums[i];
	}
	words[FIRST_ARGS + n_sums] = NULL;
	pid = place_start(words, &fd);
	if (pid < 0)
		return;
	text = rest = place_read(fd);
	kill(pid, SIGKILL);
	close(fd);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	for (size_t i = 0; i < n_sums && rest; i++)
		place_parse(sums[i], &rest);
	free(text);
}

void weft_profile_report_places(struct weft_profile_report *report, size_t n)
{
	if (n > report->n_sums)
		n = report->n_sums;
	for (size_t i = 0; i < n; i++) {
		const char *object = report->sums[i].object;
		size_t before = 0;

		while (before < i &&
			strcmp(report->sums[before].object, object))
			before++;
		if (before == i && *object)
			object_places(report, n, object);
	}
}
