/* SPDX-License-Identifier: BSD-3-Clause */
/* run_io: output of many processes onto two descriptors, line by line */
#include "tools/run_io.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/plain.h"
#include "tools/run_repeat.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	BUF_LEN = 65536,     /* first size of a buffer; doubled as needed */
	LINE_MAX_KIB = 1024, /* longest line that is not printed in parts */
	SINK_MAX = 1 << 20,  /* with more bytes in its queue, a sink accepts no
				output */
	CHUNK = 4096,	     /* bytes that a writable pipe accepts */
	PARTIAL_MS = 100,    /* age at which an incomplete line is printed */
	NO_STREAM = -1,
};

/* One output of a process. Between steps, buf has at most the beginning of a
 * line. */
struct stream {
	int fd; /* -1: closed */
	char *buf;
	size_t len, cap;
	uint64_t last_ns; /* time of the last data */
	bool is_long;	  /* a line was too long, and was printed in parts */
};

/* Standard output or standard error of the launcher. */
struct sink {
	int fd;
	bool is_pipe;
	bool is_broken;	 /* a write failed */
	int error;	 /* errno of that write; 0 if the reader closed the
			    pipe */
	int64_t partial; /* the stream whose incomplete line was added last, or
			    NO_STREAM */
	char *queue;
	size_t len, pos, cap;
};

/* The input of the terminal, which the launcher copies to rank 0. */
struct tty {
	int from, to; /* terminal and write end of a pipe; -1: not used */
	char buf[CHUNK];
	size_t len;
};

/* Created, used and destroyed by the launcher's main thread. */
struct weft_run_io {
	enum weft_run_tag tag;
	uint32_t n_procs;
	struct sink sinks[2];
	struct stream *streams; /* 2 * rank + (0 output, 1 error) */
	struct tty tty;
	struct weft_run_repeat repeat;
	bool has_warned_long;
};

static void sink_init(struct sink *sink, int fd)
{
	struct stat st;

	*sink = (struct sink){ .fd = fd, .partial = NO_STREAM };
	sink->is_pipe = !fstat(fd, &st) &&
			(S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

int weft_run_io_create(
	struct weft_run_io **io_out, uint32_t n_procs, enum weft_run_tag tag)
{
	struct weft_run_io *io = calloc(1, sizeof(*io));

	if (!io)
		return WEFT_ERR_NOMEM;
	io->streams = calloc(2 * (size_t)n_procs, sizeof(*io->streams));
	if (!io->streams) {
		free(io);
		return WEFT_ERR_NOMEM;
	}
	for (size_t i = 0; i < 2 * (size_t)n_procs; i++)
		io->streams[i].fd = -1;
	io->n_procs = n_procs;
	io->tag = tag;
	io->tty.from = io->tty.to = -1;
	sink_init(&io->sinks[0], STDOUT_FILENO);
	sink_init(&io->sinks[1], STDERR_FILENO);
	*io_out = io;
	return 0;
}

static void stream_close(struct stream *stream)
{
	if (stream->fd >= 0)
		close(stream->fd);
	stream->fd = -1;
	free(stream->buf);
	stream->buf = NULL;
	stream->len = stream->cap = 0;
}

/* Appends data to the queue. Drops it when out of memory. */
static void sink_add(struct sink *sink, const void *data, size_t len)
{
	if (sink->is_broken || !len)
		return;
	if (sink->pos == sink->len)
		sink->pos = sink->len = 0;
	if (sink->len + len > sink->cap) {
		size_t cap = 2 * (sink->len + len);
		char *queue = realloc(sink->queue, cap);

		if (!queue)
			return;
		sink->queue = queue;
		sink->cap = cap;
	}
	memcpy(sink->queue + sink->len, data, len);
	sink->len += len;
}

static bool can_write(const struct sink *sink)
{
	struct pollfd fd = { .fd = sink->fd, .events = POLLOUT };

	return poll(&fd, 1, 0) > 0;
}

static void sink_fail(struct sink *sink)
{
	sink->error = errno == EPIPE ? 0 : errno;
	sink->is_broken = true;
	sink->pos = sink->len = 0;
}

/* Writes as much as the reader accepts without blocking. */
static void sink_flush(struct sink *sink)
{
	while (sink->pos < sink->len) {
		size_t len = sink->len - sink->pos;
		ssize_t n;

		if (!can_write(sink))
			return;
		if (sink->is_pipe && len > CHUNK)
			len = CHUNK;
		n = write(sink->fd, sink->queue + sink->pos, len);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {
			sink_fail(sink);
			return;
		}
		sink->pos += (size_t)n;
	}
}

static void add_tag(struct weft_run_io *io, struct sink *sink, size_t index)
{
	char text[48];
	int n = 0;

	if (io->tag == WEFT_RUN_TAG_RANK)
		n = snprintf(text, sizeof(text), "[%zu] ", index / 2);
	else if (io->tag == WEFT_RUN_TAG_STREAM)
		n = snprintf(text, sizeof(text), "[%zu]<%s>: ", index / 2,
			index % 2 ? "stderr" : "stdout");
	sink_add(sink, text, (size_t)n);
}

/* Called before data of one stream is added after an incomplete line of another
 * stream. If lines have tags, a newline ends the incomplete line. Otherwise the
 * output is not changed, and the first interruption of a long line causes a
 * warning. */
static void end_partial_line(struct weft_run_io *io, struct sink *sink)
{
	size_t other = (size_t)sink->partial;

	sink->partial = NO_STREAM;
	if (io->tag != WEFT_RUN_TAG_NONE)
		sink_add(sink, "\n", 1);
	else if (io->streams[other].is_long && !io->has_warned_long) {
		io->has_warned_long = true;
		weft_run_io_print(io,
			"warning: rank %zu writes lines of more than %d KiB; "
			"output of other ranks can appear within them (let "
			"each rank write to a file of its own instead)",
			other / 2, LINE_MAX_KIB);
	}
}

/* Adds len bytes to the sink. Only the last byte may be a newline. */
static void emit_line(
	struct weft_run_io *io, size_t index, const char *data, size_t len)
{
	struct sink *sink = &io->sinks[index % 2];

	if (index % 2 && sink->partial != (int64_t)index &&
		weft_run_repeat_has(&io->repeat, data, len, weft_now_ns()))
		return;
	if (sink->partial != NO_STREAM && sink->partial != (int64_t)index)
		end_partial_line(io, sink);
	if (sink->partial == NO_STREAM)
		add_tag(io, sink, index);
	sink_add(sink, data, len);
	sink->partial = data[len - 1] == '\n' ? NO_STREAM : (int64_t)index;
}

/* Moves complete lines to the sink; all data if all is set. */
static void emit(struct weft_run_io *io, size_t index, bool all)
{
	struct stream *stream = &io->streams[index];
	char *p = stream->buf, *end = p + stream->len;

	while (p < end) {
		char *eol = memchr(p, '\n', (size_t)(end - p));

		if (!eol && !all)
			break;
		eol = eol ? eol + 1 : end;
		emit_line(io, index, p, (size_t)(eol - p));
		p = eol;
	}
	stream->len = (size_t)(end - p);
	if (stream->len)
		memmove(stream->buf, p, stream->len);
}

/* Makes space for more data; false if the line is too long, or when out of
 * memory. */
static bool stream_grow(struct stream *stream)
{
	size_t cap = stream->cap ? 2 * stream->cap : BUF_LEN;
	char *buf;

	if (stream->len < stream->cap)
		return true;
	buf = cap > LINE_MAX_KIB * 1024UL ? NULL : realloc(stream->buf, cap);
	if (!buf)
		return false;
	stream->buf = buf;
	stream->cap = cap;
	return true;
}

static void stream_read(struct weft_run_io *io, size_t index)
{
	struct stream *stream = &io->streams[index];
	ssize_t n;

	if (!stream_grow(stream)) {
		stream->is_long = true;
		emit(io, index, true);
	}
	if (!stream->buf)
		return;
	n = read(stream->fd, stream->buf + stream->len,
		stream->cap - stream->len);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		emit(io, index, true);
		stream_close(stream);
		return;
	}
	stream->len += (size_t)n;
	stream->last_ns = weft_now_ns();
	emit(io, index, false);
}

static int pipe_make(int fds[2])
{
	if (pipe2(fds, O_CLOEXEC))
		return weft_err_set(
			WEFT_ERR_OTHER, "pipe: %s", strerror(errno));
	return 0;
}

int weft_run_io_open(struct weft_run_io *io, uint32_t rank, int fds_out[2])
{
	int out[2], err[2], rc = pipe_make(out);

	if (rc)
		return rc;
	rc = pipe_make(err);
	if (rc) {
		close(out[0]);
		close(out[1]);
		return rc;
	}
	fcntl(out[0], F_SETFL, O_NONBLOCK);
	fcntl(err[0], F_SETFL, O_NONBLOCK);
	io->streams[2 * (size_t)rank].fd = out[0];
	io->streams[2 * (size_t)rank + 1].fd = err[0];
	fds_out[0] = out[1];
	fds_out[1] = err[1];
	return 0;
}

int weft_run_io_open_tty(struct weft_run_io *io, int *fd_out)
{
	int fds[2], rc = pipe_make(fds);

	if (rc)
		return rc;
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	io->tty.from = STDIN_FILENO;
	io->tty.to = fds[1];
	*fd_out = fds[0];
	return 0;
}

static void tty_close(struct tty *tty)
{
	if (tty->to >= 0)
		close(tty->to);
	tty->from = tty->to = -1;
}

/* True if the launcher is in the foreground: in the background, a read would
 * stop it. */
static bool tty_is_foreground(const struct tty *tty)
{
	return tty->from >= 0 && tcgetpgrp(tty->from) == getpgrp();
}

static void tty_step(struct tty *tty, const struct pollfd *fd)
{
	ssize_t n;

	if (tty->len) {
		n = write(tty->to, tty->buf, tty->len);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			tty_close(tty);
		if (n > 0)
			memmove(tty->buf, tty->buf + n, tty->len -= (size_t)n);
	} else if (fd->revents && tty_is_foreground(tty)) {
		n = read(tty->from, tty->buf, sizeof(tty->buf));
		if (n > 0)
			tty->len = (size_t)n;
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			tty_close(tty);
	}
}

size_t weft_run_io_n_poll(const struct weft_run_io *io)
{
	return 2 * (size_t)io->n_procs + 3;
}

static bool is_full(const struct sink *sink)
{
	return sink->len - sink->pos > SINK_MAX;
}

/* Prints an incomplete line that has waited long enough; otherwise lowers
 * *timeout_ms to the remaining time. */
static void print_partial(struct weft_run_io *io, size_t index, int *timeout_ms)
{
	struct stream *stream = &io->streams[index];
	uint64_t age_ms;

	if (!stream->len)
		return;
	age_ms = (weft_now_ns() - stream->last_ns) / 1000000;
	if (age_ms >= PARTIAL_MS)
		emit(io, index, true);
	else if (*timeout_ms < 0 || *timeout_ms > PARTIAL_MS - (int)age_ms)
		*timeout_ms = PARTIAL_MS - (int)age_ms;
}

/* Prints how many more processes reported the same wait. */
static void print_repeats(struct weft_run_io *io, int *timeout_ms)
{
	const char *text;
	uint32_t n;

	while ((n = weft_run_repeat_due(
			&io->repeat, weft_now_ns(), &text, timeout_ms)) != 0)
		weft_run_io_print(io, "%u more process%s: %s", (unsigned)n,
			n > 1 ? "es" : "", text);
}

size_t weft_run_io_fill(
	struct weft_run_io *io, struct pollfd *fds, int *timeout_ms)
{
	size_t n = 0;

	print_repeats(io, timeout_ms);
	for (size_t i = 0; i < 2 * (size_t)io->n_procs; i++) {
		struct stream *stream = &io->streams[i];
		struct sink *sink = &io->sinks[i % 2];

		if (stream->fd >= 0)
			print_partial(io, i, timeout_ms);
		if (stream->fd >= 0 && !is_full(sink))
			fds[n++] = (struct pollfd){ stream->fd, POLLIN, 0 };
	}
	for (int i = 0; i < 2; i++) {
		sink_flush(&io->sinks[i]);
		if (io->sinks[i].pos < io->sinks[i].len)
			fds[n++] =
				(struct pollfd){ io->sinks[i].fd, POLLOUT, 0 };
	}
	if (io->tty.len)
		fds[n++] = (struct pollfd){ io->tty.to, POLLOUT, 0 };
	else if (tty_is_foreground(&io->tty))
		fds[n++] = (struct pollfd){ io->tty.from, POLLIN, 0 };
	return n;
}

/* Closes the pipes of the processes after a failed write (the reader has closed
 * its end, or the disk is full), so that the processes receive SIGPIPE. */
static void close_broken(struct weft_run_io *io, int which)
{
	if (!io->sinks[which].is_broken)
		return;
	for (uint32_t r = 0; r < io->n_procs; r++)
		stream_close(&io->streams[2 * (size_t)r + (size_t)which]);
}

void weft_run_io_step(
	struct weft_run_io *io, const struct pollfd *fds, size_t n)
{
	size_t at = 0;

	for (size_t i = 0; i < 2 * (size_t)io->n_procs && at < n; i++) {
		if (io->streams[i].fd < 0 || io->streams[i].fd != fds[at].fd)
			continue;
		if (fds[at++].revents)
			stream_read(io, i);
	}
	for (int i = 0; i < 2; i++) {
		if (at < n && fds[at].fd == io->sinks[i].fd &&
			fds[at].events == POLLOUT)
			at++;
		sink_flush(&io->sinks[i]);
		close_broken(io, i);
	}
	if (at < n)
		tty_step(&io->tty, &fds[at]);
}

bool weft_run_io_is_open(const struct weft_run_io *io)
{
	for (size_t i = 0; i < 2 * (size_t)io->n_procs; i++)
		if (io->streams[i].fd >= 0)
			return true;
	return false;
}

bool weft_run_io_is_unwritten(const struct weft_run_io *io)
{
	return io->sinks[0].pos < io->sinks[0].len ||
	       io->sinks[1].pos < io->sinks[1].len;
}

int weft_run_io_error(struct weft_run_io *io, int which)
{
	int error = io->sinks[which].error;

	io->sinks[which].error = 0;
	return error;
}

void weft_run_io_print(struct weft_run_io *io, const char *fmt, ...)
{
	struct sink *sink = &io->sinks[1];
	char text[1024];
	va_list args;
	size_t len;
	int n;

	va_start(args, fmt);
	n = vsnprintf(text, sizeof(text) - 1, fmt, args);
	va_end(args);
	if (n < 0)
		return;
	len = weft_plain(text, sizeof(text) - 1);
	text[len++] = '\n';
	if (sink->partial != NO_STREAM)
		sink_add(sink, "\n", 1);
	sink->partial = NO_STREAM;
	sink_add(sink, "mpiexec: ", 9);
	sink_add(sink, text, len);
	sink_flush(sink); /* because the next poll() may not include this
			     sink */
}

void weft_run_io_destroy(struct weft_run_io *io)
{
	if (!io)
		return;
	for (size_t i = 0; i < 2 * (size_t)io->n_procs; i++) {
		if (io->streams[i].len)
			emit(io, i, true);
		stream_close(&io->streams[i]);
	}
	for (int i = 0; i < 2; i++) {
		struct sink *sink = &io->sinks[i];

		sink_flush(sink);
		free(sink->queue);
	}
	tty_close(&io->tty);
	free(io->streams);
	free(io);
}
