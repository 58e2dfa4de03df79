/* SPDX-License-Identifier: BSD-3-Clause */
/* mpit: declarations that the files of the tool interface share
 *
 * Every procedure except MPI_T_init_thread begins with weft_mpit_enter(), and
 * calls weft_mpit_leave() later. In between, the procedure holds one lock,
 * which guards the handles and sessions of all tools. While this lock is held,
 * the procedure calls no function of the library that calls callbacks or waits.
 * The reason is that an event callback may call the procedure with a VCI's lock
 * held. */
#ifndef WEFT_MPIT_PRIV_H
#define WEFT_MPIT_PRIV_H

#include "base/counter.h"
#include "base/handle.h"
#include "mpi/mpi_map.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct weft_mpit {
	pthread_mutex_t lock; /* guards n_inits and all tool handles */
	uint32_t n_inits;     /* MPI_T_init_thread minus MPI_T_finalize calls */
};

extern struct weft_mpit weft_mpit;

/* Acquires the lock. False, without the lock, if the interface is not
 * initialized: the procedure then returns MPI_T_ERR_NOT_INITIALIZED. */
bool weft_mpit_enter(void);

/* Releases the lock; returns code. */
int weft_mpit_leave(int code);

/* Returns a text as section 15.3.3 requires: at most *len_inout bytes with the
 * NUL, and the length of the whole text. Either pointer may be NULL. */
void weft_mpit_string(const char *text, char *buf, int *len_inout);

/* Writes an output argument that may be NULL. */
#define weft_mpit_put(where, value) \
	((where) ? (void)(*(where) = (value)) : (void)0)

/* weft_mpit_knob_enum() returns the enumeration of the values of a control
 * variable that has a list of values. weft_mpit_event_enum() returns that of
 * the elements of an event. */
MPI_T_enum weft_mpit_knob_enum(size_t knob);
MPI_T_enum weft_mpit_event_enum(size_t event);

int weft_mpit_verbosity(enum weft_counter_verbosity verbosity);

/* weft_mpit_list_count() returns the number of items in a list such as
 * "on|off". weft_mpit_list_item() returns the start of item i, which must
 * exist, and its length; the item does not end with NUL. */
int weft_mpit_list_count(const char *list);
const char *weft_mpit_list_item(const char *list, int i, size_t *len_out);

/* Frees all handles of control variables. Lock held. */
void weft_cvar_free_all(void);

/* Returns the room of a performance variable; NULL: none. */
const char *weft_pvar_room(int index);

/* Frees all sessions of performance variables and their handles. Lock held. */
void weft_pvar_free_all(void);

/* Returns the event of a type index; -1: there is no such type. *is_bound_out
 * is true if the type is bound to a communicator. */
int weft_event_type(int index, bool *is_bound_out);

/* Returns the room of an event type; NULL: none. */
const char *weft_event_type_room(int index);

/* True inside a callback in which parts of the library must not be called. */
bool weft_registration_is_inside(void);

/* Frees all registrations. Callbacks that run continue. Lock held. */
void weft_registration_free_all(void);

#endif
