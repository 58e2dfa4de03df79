/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * run_io: output of many processes onto two descriptors, line by line
 *
 * Output of other processes never appears within a line, unless the line is
 * incomplete for 0.1 s or too long. An incomplete line is printed after 0.1 s,
 * so that prompts and progress dots appear. If the reader closes its end or a
 * write fails, the launcher closes the processes' pipes, and they receive
 * SIGPIPE as in a shell pipeline. A slow reader slows the processes down.
 */
#ifndef WEFT_RUN_IO_H
#define WEFT_RUN_IO_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/run_opt.h"

struct weft_run_io;

/* Creates the output of n_procs processes; tag is the kind of prefix of each
 * line. 0 or WEFT_ERR_NOMEM. */
int weft_run_io_create(
	struct weft_run_io **io_out, uint32_t n_procs, enum weft_run_tag tag);

/* Writes the remaining output as far as possible without blocking, and frees
 * all. Accepts NULL. */
void weft_run_io_destroy(struct weft_run_io *io);

/*
 * Creates the pipes of a rank. The write ends are for the process: fds_out[0]
 * is standard output, fds_out[1] standard error. The caller closes them. 0 or
 * WEFT_ERR_OTHER, described.
 */
int weft_run_io_open(struct weft_run_io *io, uint32_t rank, int fds_out[2]);

/*
 * Creates a pipe, over which weft_run_io_step() copies the terminal's input to
 * a process. *fd_out is the read end for the process; the caller closes it. 0
 * or WEFT_ERR_OTHER, described.
 */
int weft_run_io_open_tty(struct weft_run_io *io, int *fd_out);

/* Returns the largest number of descriptors that weft_run_io_fill() writes. */
size_t weft_run_io_n_poll(const struct weft_run_io *io);

/*
 * Writes the descriptors to poll to fds, and returns their number. Lowers
 * *timeout_ms if a line must be printed earlier.
 */
size_t weft_run_io_fill(
	struct weft_run_io *io, struct pollfd *fds, int *timeout_ms);

/* Moves data after poll() has returned; fds and n are those of the last
 * weft_run_io_fill(). */
void weft_run_io_step(
	struct weft_run_io *io, const struct pollfd *fds, size_t n);

/* True if an output of a process is still open. */
bool weft_run_io_is_open(const struct weft_run_io *io);

/* True if the readers have not yet accepted all output. */
bool weft_run_io_is_unwritten(const struct weft_run_io *io);

/*
 * Returns the errno of a failed write to standard output (which 0) or standard
 * error (1), once. 0 if no write failed, or if the reader closed the pipe.
 */
int weft_run_io_error(struct weft_run_io *io, int which);

/* Prints a line of the launcher on standard error. Adds "mpiexec: " and "\n",
 * and replaces control characters by \xNN. */
void weft_run_io_print(struct weft_run_io *io, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
