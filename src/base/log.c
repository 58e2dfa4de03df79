/* SPDX-License-Identifier: BSD-3-Clause */
/* log: one line per event on standard error, written with one system call */
#include "base/log.h"
#include "base/err.h"
#include "base/plain.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum weft_log_level weft_log_level = WEFT_LOG_WARN;

static int log_rank = -1;

static const char *const level_names[] = {
	[WEFT_LOG_ERROR] = "error",
	[WEFT_LOG_WARN] = "warn",
	[WEFT_LOG_INFO] = "info",
	[WEFT_LOG_DEBUG] = "debug",
	[WEFT_LOG_TRACE] = "trace",
};

int weft_log_set_level(const char *name)
{
	if (!name)
		return 0;
	for (int i = WEFT_LOG_ERROR; i <= WEFT_LOG_TRACE; i++) {
		if (strcmp(name, level_names[i]) == 0) {
			weft_log_level = (enum weft_log_level)i;
			return 0;
		}
	}
	return weft_err_set(WEFT_ERR_ARG,
		"log level \"%s\" is none of error, warn, info, debug, trace",
		name);
}

void weft_log_set_rank(int rank)
{
	log_rank = rank;
}

void weft_log_write(
	enum weft_log_level level, const char *id, const char *fmt, ...)
{
	char line[1024];
	char host[64] = "?";
	va_list ap;
	size_t n;

	gethostname(host, sizeof(host) - 1);
	if (log_rank >= 0)
		n = (size_t)snprintf(line, sizeof(line),
			"weft %s %s:%d[%d] %s ", level_names[level], host,
			(int)getpid(), log_rank, id);
	else
		n = (size_t)snprintf(line, sizeof(line), "weft %s %s:%d %s ",
			level_names[level], host, (int)getpid(), id);
	va_start(ap, fmt);
	vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	va_end(ap);
	n = weft_plain(line, sizeof(line) - 1);
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, n) < 0)
		return; /* standard error is closed: the line is lost */
}
