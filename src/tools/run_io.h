/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run_io: output of many processes onto two descriptors, line by line
 *
 * A line of one process is never cut by another's.  A line without its end
 * is shown after a moment's silence, so that prompts and progress dots
 * appear.  A reader that goes away closes the processes' pipes, and they get
 * SIGPIPE as in any shell pipeline.  A reader that is slow slows them down.
 */
#ifndef WEFT_RUN_IO_H
#define WEFT_RUN_IO_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/run_opt.h"

struct weft_run_io;

/* Up to n_procs processes, whose lines are marked as tag says. */
int weft_run_io_create(
	struct weft_run_io **io_out, uint32_t n_procs, enum weft_run_tag tag);

/* Write what is left, as far as it goes without waiting, and free. */
void weft_run_io_destroy(struct weft_run_io *io);

/*
 * Make the pipes of rank.  The write ends, for the process, go to fds_out[0]
 * (standard output) and fds_out[1] (standard error); the caller closes them.
 */
int weft_run_io_open(struct weft_run_io *io, uint32_t rank, int fds_out[2]);

/*
 * Copy the terminal's input to a process: the read end for it goes to fd_out.
 */
int weft_run_io_open_tty(struct weft_run_io *io, int *fd_out);

/* How many descriptors fill needs room for, at most. */
size_t weft_run_io_n_poll(const struct weft_run_io *io);

/*
 * Add what is to be polled at fds; returns how many.  Lowers *timeout_ms if a
 * waiting line is due before.
 */
size_t weft_run_io_fill(
	struct weft_run_io *io, struct pollfd *fds, int *timeout_ms);

/* Move data according to what poll said of the n descriptors of fill. */
void weft_run_io_step(
	struct weft_run_io *io, const struct pollfd *fds, size_t n);

/* Is some process's output still open? */
bool weft_run_io_is_open(const struct weft_run_io *io);

/* Have the readers not yet taken all? */
bool weft_run_io_is_unwritten(const struct weft_run_io *io);

/*
 * Why standard output (which 0) or error (1) cannot be written, once; 0 when
 * it can be, or when its reader has merely gone away.
 */
int weft_run_io_error(struct weft_run_io *io, int which);

/* A line of the launcher itself, onto standard error; "\n" is added, and
 * control characters become \xNN. */
void weft_run_io_print(struct weft_run_io *io, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
