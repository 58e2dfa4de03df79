/* SPDX-License-Identifier: BSD-3-Clause */
/* monitor: publishes the addresses of the state that weft-top reads
 *
 * A process publishes one page, an unnamed file in shared memory, which
 * weft-top finds in /proc/PID/fd. The page contains the addresses of the
 * registry of waits, the counters and the communicators. weft-top reads these
 * from /proc/PID/mem, as a debugger does. So the process writes nothing for
 * weft-top while it runs.
 *
 * The kernel permits the user of the process and root to read this memory.
 * weft-top must be of the same build, because it reads the structs of the
 * library. */
#ifndef WEFT_MONITOR_H
#define WEFT_MONITOR_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define WEFT_MONITOR_FILE "weft-monitor"

enum {
	WEFT_MONITOR_MAGIC = 0x6d6f6e69,
	WEFT_MONITOR_JOB = 256,
	WEFT_MONITOR_BUILD = 96,
};

/* Constant once magic is set, except watched_ns: the page is rewritten with the
 * same values when the default VCI opens again. Addresses are of the process
 * that publishes them. */
struct weft_monitor_page {
	_Atomic uint32_t magic;
	int32_t pid; /* a child of fork() has another pid than this */
	char build[WEFT_MONITOR_BUILD];
	char job[WEFT_MONITOR_JOB];
	uint64_t proc; /* process number; its low half is the rank */
	uint32_t size;
	uint32_t local_size;
	uint64_t opened_ns;	/* of the first session */
	uint64_t registry;	/* struct weft_wait_registry */
	uint64_t counters_open; /* struct weft_link */
	uint64_t counters_closed;
	uint64_t comms;		     /* struct weft_table */
	uint64_t n_sessions;	     /* atomic_int */
	_Atomic uint64_t watched_ns; /* weft-top writes it: time of its last
					reading; 0: never */
};

/* Publishes the page. If the page cannot be created, weft-top does not find
 * this process. Called when the default VCI opens. */
void weft_monitor_open(void);

/* The time at which weft-top last requested the needs of long waits; 0: never.
 */
uint64_t weft_monitor_watched_ns(void);

/* Prints the version and the sizes of the structs that weft-top reads. */
void weft_monitor_print_build(char build[WEFT_MONITOR_BUILD]);

#endif
