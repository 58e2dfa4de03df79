/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_log: settings from the environment, and the record of operations
 *
 * CXISTAND_LOG names a file ("%d" becomes the process); each operation is one
 * line of it, written immediately. */
#include "stand.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct stand_env stand_env;

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static const char *log_pattern;
static int log_fd = -1;
static pid_t log_pid;

static unsigned number(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);

	return text && *text ? (unsigned)strtoul(text, NULL, 0) : otherwise;
}

void stand_env_init(void)
{
	log_pattern = getenv("CXISTAND_LOG");
	stand_env = (struct stand_env){
		.seed = number("CXISTAND_SEED", 1),
		.delay_us = number("CXISTAND_DELAY_US", 2000),
		.reorder = number("CXISTAND_REORDER", 1),
		.eagain = number("CXISTAND_EAGAIN", 0),
		.cqerr = number("CXISTAND_CQERR", 0),
		.cqerr_msg = number("CXISTAND_CQERR_MSG", 0),
		.lose = number("CXISTAND_LOSE", 0),
		.lose_msg = number("CXISTAND_LOSE_MSG", 0),
		.devices = number("CXISTAND_DEVICES", 1),
		.pcie_amo = number("CXISTAND_PCIE_AMO", 0),
		.no_service = number("CXISTAND_NO_SERVICE", 0),
		.hmem = number("CXISTAND_HMEM", 1),
		.fail_hmem = number("CXISTAND_FAIL_HMEM", 0),
		.profiles = number("CXISTAND_PROFILES", WEFT_CXI_PROFILES),
	};
}

/* A forked child opens a file of its own. */
static void log_open(void)
{
	char path[512];
	const char *at = strstr(log_pattern, "%d");

	if (log_fd >= 0)
		close(log_fd);
	log_pid = getpid();
	if (at)
		snprintf(path, sizeof(path), "%.*s%d%s",
			(int)(at - log_pattern), log_pattern, (int)log_pid,
			at + 2);
	else
		snprintf(path, sizeof(path), "%s", log_pattern);
	log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

void stand_log(const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int n;

	if (!log_pattern || !*log_pattern)
		return;
	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n > sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	pthread_mutex_lock(&log_lock);
	if (log_pid != getpid())
		log_open();
	if (log_fd >= 0 && write(log_fd, line, (size_t)n) != n)
		log_pattern = NULL;
	pthread_mutex_unlock(&log_lock);
}

static const struct {
	uint64_t bit;
	const char *name;
} flag_names[] = {
	{ FI_INJECT, "INJECT" },
	{ FI_COMPLETION, "COMPLETION" },
	{ FI_MORE, "MORE" },
	{ FI_FENCE, "FENCE" },
	{ FI_INJECT_COMPLETE, "IC" },
	{ FI_TRANSMIT_COMPLETE, "TC" },
	{ FI_DELIVERY_COMPLETE, "DC" },
	{ FI_MATCH_COMPLETE, "MC" },
	{ FI_REMOTE_CQ_DATA, "CQDATA" },
	{ FI_MULTI_RECV, "MULTI" },
	{ WEFT_CXI_HRP, "HRP" },
	{ WEFT_CXI_UNRELIABLE, "UNRELIABLE" },
	{ WEFT_CXI_PCIE_AMO, "PCIE" },
	{ WEFT_CXI_WEAK_FENCE, "WEAKFENCE" },
};

const char *stand_flags(uint64_t flags, char *buf, size_t len)
{
	size_t used = 0;

	snprintf(buf, len, "0");
	for (size_t i = 0; i < sizeof(flag_names) / sizeof(*flag_names); i++) {
		if (!(flags & flag_names[i].bit))
			continue;
		used += (size_t)snprintf(buf + used, len - used, "%s%s",
			used ? "|" : "", flag_names[i].name);
		flags &= ~flag_names[i].bit;
		if (used >= len)
			return buf;
	}
	if (flags)
		snprintf(buf + used, len - used, "%s0x%llx", used ? "|" : "",
			(unsigned long long)flags);
	return buf;
}

const char *stand_tclass(uint32_t tclass)
{
	switch (tclass) {
	case FI_TC_BULK_DATA:
		return "BULK_DATA";
	case FI_TC_DEDICATED_ACCESS:
		return "DEDICATED_ACCESS";
	case FI_TC_LOW_LATENCY:
		return "LOW_LATENCY";
	default:
		return "BEST_EFFORT";
	}
}

uint64_t stand_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

unsigned stand_random(struct stand_nic *nic)
{
	return (unsigned)rand_r(&nic->random);
}

bool stand_chance(struct stand_nic *nic, unsigned n)
{
	return n && stand_random(nic) % n == 0;
}
