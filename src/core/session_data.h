/* SPDX-License-Identifier: BSD-3-Clause */
/* session_data: a session as data, and its list of children
 *
 * session/session.c opens and closes sessions. Communicators, windows and files
 * register with their session through the functions of this header. */
#ifndef WEFT_SESSION_DATA_H
#define WEFT_SESSION_DATA_H

#include "base/handle.h"
#include "base/list.h"
#include "core/child.h"
#include "core/group.h"
#include "transport/vci.h"

#include <pthread.h>
#include <stdbool.h>

struct weft_comm;
struct weft_errh;
struct weft_info;

enum { WEFT_LEAK_TEXT = 240 };

/* Messages and requests left on the communicators that one call closes. The
 * caller zeroes the struct. */
struct weft_leak {
	uint32_t n;	  /* messages and requests that this process should have
			     received or completed */
	uint32_t n_comms; /* communicators with a message or request left */
	uint32_t n_unreported; /* messages and requests left on communicators
				  beyond SHOWN_COMMS (comm/leak.c) */
	uint32_t n_done; /* complete requests that the program never waited for
			    or freed */
	char text[WEFT_LEAK_TEXT]; /* describes the first of n */
	char done[WEFT_LEAK_TEXT]; /* describes the first of n_done */
};

/* In ascending order. MPI's numbers are in src/mpi. */
enum weft_thread_level {
	WEFT_THREAD_SINGLE,
	WEFT_THREAD_FUNNELED,
	WEFT_THREAD_SERIALIZED,
	WEFT_THREAD_MULTIPLE,
};

/* The processes that an abort in a session ends; see abort.h. */
enum weft_abort_scope {
	WEFT_ABORT_JOB,
	WEFT_ABORT_SESSION,
	WEFT_ABORT_GROUP,
};

/* Created by weft_session_open(), destroyed by weft_session_close(). The lock
 * of a VCI guards the children on that VCI. The fields from level to vci do not
 * change after creation. */
struct weft_session {
	struct weft_obj obj;
	enum weft_thread_level level;
	bool is_world;
	uint32_t number; /* counts this process's sessions from 1 */
	bool is_strict;	 /* does not close while it has open children */
	bool has_dev;	 /* buffers may be in device memory */
	enum weft_abort_scope abort_scope;
	struct weft_vci *vci;
	struct weft_vci *vcis[WEFT_VCIS]; /* the VCIs of its children: vci, the
					     default VCI, and VCIs that spread.c
					     acquired */
	atomic_uint n_vcis;		  /* entries of vcis in use */
	pthread_mutex_t acquiring;	  /* held while a VCI is added */
	struct weft_errh *errh;		  /* see weft_errh_set(); NULL: fatal */
	struct weft_info *info;		  /* hints in effect */
	struct weft_link children[WEFT_VCIS]; /* a list for each VCI number,
						 oldest child first */
	atomic_bool is_closing;		      /* new children are refused */
	struct weft_leak leak;		      /* faults found while it closes */
	struct weft_bsend *bsend; /* attached buffer; guarded by the lock of the
				     default VCI */
	struct weft_psets *psets; /* its process sets; see pset.h */
};

extern struct weft_table weft_sessions;

enum weft_world_state {
	WEFT_WORLD_NEVER,
	WEFT_WORLD_OPENING,
	WEFT_WORLD_OPEN,
	WEFT_WORLD_CLOSING,
	WEFT_WORLD_CLOSED,
};

/* The World Model's session and its two communicators. One per process. state
 * is exchanged atomically. The other fields are written only while OPENING or
 * CLOSING, except parent, which MPI_Init sets afterwards. */
struct weft_world {
	atomic_int state; /* enum weft_world_state */
	struct weft_session *session;
	struct weft_comm *comms[2]; /* MPI_COMM_WORLD and MPI_COMM_SELF; NULL
				       unless the World is OPEN */
	uint64_t parent; /* handle of the communicator to the parent job */
	pthread_t main_thread;
};

extern struct weft_world weft_world;

/* Registers a child. Child's VCI's lock held. WEFT_ERR_SESSION: the session is
 * closing. */
int weft_session_add_child(struct weft_session *session,
	struct weft_child *child, const struct weft_child_ops *ops);

/* Removes a child, closed or not. Its VCI's lock is held. */
void weft_session_remove_child(struct weft_child *child);

/* Finds the session that a group was derived from. For groups of the World
 * Model and predefined groups, that is the World's session. WEFT_ERR_SESSION:
 * the session was finalized. WEFT_ERR_GROUP: the group has no session. */
int weft_session_of_group(
	const struct weft_group *group, struct weft_session **session_out);

#endif
