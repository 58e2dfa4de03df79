/* SPDX-License-Identifier: BSD-3-Clause */
/* top_read: reads the state of a job's processes on this node from outside
 *
 * The processes are found by their pages (watchdog/monitor.h), and their state
 * is read from /proc/PID/mem. The processes continue to run, so a list that
 * changes while it is read is read again. All values are checked, because the
 * processes may have written anything. */
#ifndef WEFT_TOP_READ_H
#define WEFT_TOP_READ_H

#include "base/counter.h"
#include "core/comm.h"
#include "watchdog/monitor.h"
#include "watchdog/wait.h"

#include <stdio.h>
#include <sys/types.h>

enum {
	WEFT_TOP_COUNTERS = sizeof(struct weft_counters) / sizeof(uint64_t),
	WEFT_TOP_COMMS = 1024, /* most communicators that are read from one
				  process */
	WEFT_TOP_WHY = 400,
	WEFT_TOP_HOST = 65,
};

/* The queues of one communicator. */
struct weft_top_comm {
	char name[WEFT_WIRE_LABEL];
	int32_t size;
	uint32_t n_posted, n_unexpected;
};

/* The numbers of one reading. */
struct weft_top_numbers {
	uint64_t at_ns; /* 0: no reading */
	uint64_t counters[WEFT_TOP_COUNTERS];
	uint64_t n_collectives;
};

/* One process. top_read.c owns its memory and its descriptor. */
struct weft_top_proc {
	struct weft_monitor_page page;
	pid_t pid;
	char host[WEFT_TOP_HOST]; /* node of the weft-top that read the process
				     (top_nodes.h); "": this weft-top */
	uint32_t rank;
	int mem_fd;
	int mem_errno; /* why mem_fd is negative; 0: the process is of another
			  build */
	int page_fd;
	bool is_readable; /* its memory was read; otherwise only the values from
			     /proc are known */
	char state;	  /* state in the kernel: R, S, D, T, Z */
	uint64_t memory, shared_memory; /* resident bytes */
	bool has_session;
	/* is_waiting: a call waits. is_polling: no call waits, but calls that
	 * return without waiting are repeated. The next four fields describe
	 * the first such wait, or the series of polls. */
	bool is_waiting, is_polling;
	struct weft_wait_facts facts;
	char text[WEFT_WAIT_TEXT];
	uint64_t since_ns;
	uint64_t epoch;
	bool is_sure;
	uint64_t edges_ns; /* time of the oldest edges; 0: not yet known */
	uint32_t n_edges;
	struct weft_wire_edge edges[WEFT_WIRE_EDGES];
	uint32_t n_comms;
	struct weft_top_comm *comms; /* array of WEFT_TOP_COMMS, owned;
					n_comms are set */
	struct weft_top_numbers now, before;
};

/* The processes of one job on this node, or on the nodes of top_nodes.h, by
 * rank. */
struct weft_top_job {
	char name[WEFT_MONITOR_JOB];
	uint32_t size;
	uint32_t n_nodes; /* number of nodes; 0: only this node was read */
	size_t n;
	struct weft_top_proc *procs;
};

/* The job to find: by its name, or by the pid of its launcher or of one of its
 * processes. Without both: the newest job of this user. */
struct weft_top_want {
	const char *name; /* NULL: any */
	pid_t pid;	  /* 0: any */
};

/* Finds the processes of a job. False and a reason if there is none, or if none
 * of its processes can be read. The caller calls weft_top_job_fini(). */
bool weft_top_job_find(struct weft_top_job *job,
	const struct weft_top_want *want, char why[WEFT_TOP_WHY]);
void weft_top_job_fini(struct weft_top_job *job);

/* Sorts the processes by rank. */
void weft_top_job_sort(struct weft_top_job *job);

/* Prints one line for each job that this user runs on this node. */
void weft_top_jobs_print(FILE *to);

/* Reads the present state of all processes. Adds those that have joined the
 * job, and removes those that have ended. */
void weft_top_job_read(struct weft_top_job *job);

/* Requests that the processes query the needs of their waits. Returns the
 * present time. The edges of a wait are newer than this time once the queried
 * processes have answered. */
uint64_t weft_top_job_watch(struct weft_top_job *job);

#endif
