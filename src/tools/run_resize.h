/* SPDX-License-Identifier: BSD-3-Clause */
/* run_resize: changes of the number of processes of a running job
 *
 * With --max, ranks are reserved: the PMIx server knows them from the start.
 * Ranks are used in ascending order, and a rank is not used twice. The members
 * of the job are the process set weft://job/K. One of them requests a change
 * (ASK). The launcher defines the next set, starts the processes of a grow, and
 * answers with the name of that set. When the members have changed over to the
 * new set, one of them reports that (DONE), and the launcher deletes the old
 * set. Until then, CANCEL restores the old set: the processes that joined are
 * ended. The failure of a member has the same effect, because the members may
 * not have received the name of the new set. A repeated CANCEL succeeds. There
 * is one change at a time.
 *
 * An offer tells the processes that the launcher wishes a change. Offers arrive
 * from weft-resize, through a socket in the session directory, and from
 * --resize-at. */
#ifndef WEFT_RUN_RESIZE_H
#define WEFT_RUN_RESIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_run_job;
struct weft_serve_event;

/* Start of the name of the session directory, with the number of the user. */
#define WEFT_RUN_RESIZE_DIR "weft-run-%u-"

/* Name of the socket in the session directory. A request and its answer are one
 * datagram each, of at most WEFT_RUN_RESIZE_TEXT bytes. Requests: "list",
 * "offer DELTA", "size N", "cancel". An answer begins with "ok " or "no ". */
#define WEFT_RUN_RESIZE_SOCKET "resize"
enum { WEFT_RUN_RESIZE_TEXT = 512, WEFT_RUN_RESIZE_NAME = 32 };

/* The state of a job whose size can change. The launcher's main thread uses it.
 * All zero with fd -1: the size of the job is fixed. */
struct weft_run_resize {
	int fd;				      /* socket; -1: none */
	uint32_t generation;		      /* highest number of a set */
	char set[WEFT_RUN_RESIZE_NAME];	      /* of the members */
	char next[WEFT_RUN_RESIZE_NAME];      /* of the change; "": no change */
	char cancelled[WEFT_RUN_RESIZE_NAME]; /* of the last cancelled change */
	uint32_t *members, *next_members;
	uint32_t n_members, n_next;
	uint32_t n_joining; /* the last ranks of the change; 0: a shrink */
	uint32_t n_lost;    /* members that failed */
	uint64_t kill_ns;   /* time to kill cancelled processes; 0: never */
	int offer;	    /* processes offered; 0: no offer */
	uint64_t until_ns;  /* end of the offer; 0: none */
	uint64_t start_ns;  /* start of the job */
	size_t n_made;	    /* offers of --resize-at that were made */
};

/* Defines the set of the first processes and opens the socket. 0 or an error,
 * described. */
int weft_run_resize_open(struct weft_run_job *run);

/* Closes the socket and frees the members. */
void weft_run_resize_close(struct weft_run_resize *resize);

/* Answers a request of a process, an event RESIZE. */
void weft_run_resize_on_request(
	struct weft_run_job *run, const struct weft_serve_event *event);

/* Answers requests of weft-resize. Does not block. */
void weft_run_resize_receive(struct weft_run_job *run);

/* True if the process belongs to a change that is not complete. */
bool weft_run_resize_is_joining(const struct weft_run_job *run, uint32_t rank);

/* Records that a process failed. True if fewer members than --min are left. */
bool weft_run_resize_is_short(struct weft_run_job *run, uint32_t rank);

/* Called when the other processes are notified of the failure of a process. If
 * it is a member: cancels a change that is under way, and raises the offer by
 * one, so that the job can replace the process. */
void weft_run_resize_on_death(struct weft_run_job *run, uint32_t rank);

/* Called after the end of a process. Cancels a grow if no member is left that
 * could complete it. */
void weft_run_resize_on_end(struct weft_run_job *run);

/* Handles what is due: offers of --resize-at, the end of an offer, processes to
 * kill. Lowers *ms to the next of these times. */
void weft_run_resize_check(struct weft_run_job *run, int *ms);

#endif
