/* SPDX-License-Identifier: BSD-3-Clause */
/* monitor: publishes the addresses of the state that weft-top reads
 *
 * A process publishes one page, an unnamed file in shared memory, which
 * weft-top finds in /proc/PID/fd. The page contains the addresses of the
 * registry of waits, the counters and the communicators. weft-top reads these
 * from /proc/PID/mem, as a debugger does. So the process copies nothing for
 * weft-top, except facts and edges of long waits.
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
 * same values when the default VCI opens again. The addresses are valid in the
 * process that publishes them. */
struct weft_monitor_page {
	_Atomic uint32_t magic;
	int32_t pid; /* pid of the process that wrote the page, not of a child
			of fork() */
	char build[WEFT_MONITOR_BUILD];
	char job[WEFT_MONITOR_JOB];
	uint64_t proc; /* process number; its low half is the rank */
	uint32_t size; /* processes of the job; 0: the number can change, and
			  all run on this node */
	uint32_t local_size;
	uint64_t opened_ns;	  /* time when the first session opened */
	uint64_t registry;	  /* address of a struct weft_wait_registry */
	uint64_t counters_open;	  /* address of a struct weft_link: the list of
				     open counters */
	uint64_t counters_closed; /* address of the sums of closed counters */
	uint64_t comms;		  /* address of a struct weft_table */
	uint64_t n_sessions;	  /* address of an atomic_int */
	_Atomic uint64_t watched_ns; /* time of weft-top's last request, written
					by weft-top; 0: never */
};

/* Publishes the page. If the page cannot be created, weft-top does not find
 * this process. Called when the default VCI opens. */
void weft_monitor_open(void);

/* Returns the time at which weft-top last requested the needs of long waits, or
 * 0. */
uint64_t weft_monitor_watched_ns(void);

/* Prints the version and the sizes of the structs that weft-top reads. */
void weft_monitor_print_build(char build[WEFT_MONITOR_BUILD]);

#endif
