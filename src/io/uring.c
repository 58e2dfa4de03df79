/* SPDX-License-Identifier: BSD-3-Clause */
/* uring: transfers of many runs through io_uring */
#include "io/uring.h"

#include "base/bits.h"
#include "base/knob.h"
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#ifdef WEFT_URING

#include "io/file.h"
#include "io/move.h"
#include "io/range.h"
#include "io/stat.h"
#include "transport/thread_check.h"
#include "transport/vci.h"

#include <liburing.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
	DEPTH = 64,	    /* pieces in flight */
	LEN_MAX = 64 << 10, /* longest suitable access that is one run, bytes */
	RUN_MAX = 256 << 10,	  /* longest average of several runs, bytes */
	RUNS_MIN = 8,		  /* fewer runs are moved by the caller */
	PIECE_MAX = 1 << 20,	  /* most bytes of a piece */
	PROBE_EVERY = 4,	  /* one run in four is probed for the cache */
	BROKEN_POLL_NS = 1000000, /* ns between polls of a broken ring */
};

struct piece {
	struct weft_uring_task *task;
	int64_t skip, len; /* the piece's bytes of the move */
	struct piece *next_free;
};

/* The lock is acquired after a VCI's lock and guards the fields above it. Only
 * the ring's thread accesses the fields below it. Exceptions: the creator of
 * the thread before the thread starts, and `event` in ring_wake(). */
static struct {
	struct weft_link tasks; /* tasks that are not submitted completely */
	unsigned n_users;
	bool has_thread, sleeps, is_broken;
	pthread_mutex_t lock;
	struct io_uring uring;
	int event; /* descriptor of an eventfd that wakes the thread */
	uint64_t event_value;
	bool is_polling_event; /* a read of the event is submitted */
	struct piece pieces[DEPTH];
	struct piece *free;
	/* prepared requests; NULL: the read of the event */
	struct piece *unsubmitted[DEPTH + 1];
	unsigned n_unsubmitted;
} ring = {
	.tasks = { &ring.tasks, &ring.tasks },
	.lock = PTHREAD_MUTEX_INITIALIZER,
};

/* Submits a request as a test, because a kernel may permit the ring but refuse
 * requests. 0 or an errno. */
static int ring_try(void)
{
	struct io_uring uring;
	int rc = io_uring_queue_init(2, &uring, 0);

	if (rc)
		return -rc;
	io_uring_prep_nop(io_uring_get_sqe(&uring));
	rc = io_uring_submit_and_wait(&uring, 1);
	io_uring_queue_exit(&uring);
	return rc < 0 ? -rc : 0;
}

/* ---- pieces ---- */

static void free_piece(struct piece *piece)
{
	piece->next_free = ring.free;
	ring.free = piece;
}

/* Prepares the next piece of a task. */
static void prepare_piece(struct weft_uring_task *task, struct piece *piece)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring.uring);
	const struct weft_move *m = task->m;
	struct iovec run;
	int64_t some;
	uint64_t at;
	void *buf;

	weft_view_runs(m->view, m->at + task->next, m->len - task->next, &run,
		1, &some);
	piece->task = task;
	piece->skip = task->next;
	piece->len = weft_min64(some, PIECE_MAX);
	buf = weft_move_contig_buf(m) + piece->skip;
	at = (uint64_t)weft_view_run_begin(&run);
	if (m->is_write)
		io_uring_prep_write(
			sqe, m->file->fd, buf, (unsigned)piece->len, at);
	else
		io_uring_prep_read(
			sqe, m->file->fd, buf, (unsigned)piece->len, at);
	io_uring_sqe_set_data(sqe, piece);
	ring.unsubmitted[ring.n_unsubmitted++] = piece;
	task->next += piece->len;
	task->n_in_flight++;
	weft_counter_add(&m->file->counters.file_calls, 1);
}

/* True if no more pieces will be submitted. */
static bool is_all_submitted(const struct weft_uring_task *task)
{
	return task->next >= task->m->len || task->stop < INT64_MAX;
}

static void prepare_event(void)
{
	struct io_uring_sqe *sqe;

	if (ring.is_polling_event || ring.is_broken)
		return;
	sqe = io_uring_get_sqe(&ring.uring);
	io_uring_prep_read(sqe, ring.event, &ring.event_value,
		sizeof(ring.event_value), 0);
	io_uring_sqe_set_data(sqe, NULL);
	ring.unsubmitted[ring.n_unsubmitted++] = NULL;
	ring.is_polling_event = true;
}

static void ring_prepare_pieces(void)
{
	while (ring.free && !weft_list_is_empty(&ring.tasks)) {
		struct weft_uring_task *task = weft_container_of(
			ring.tasks.next, struct weft_uring_task, link);
		struct piece *piece = ring.free;

		ring.free = piece->next_free;
		prepare_piece(task, piece);
		if (is_all_submitted(task))
			weft_list_remove(&task->link);
	}
}

static void ring_close(void)
{
	io_uring_queue_exit(&ring.uring);
	close(ring.event);
	ring.has_thread = false;
}

/* Prepares pieces of the queued tasks before the thread sleeps. From now on,
 * ring_wake() wakes the thread. If the ring has no users, closes the ring and
 * returns false; the thread must end. */
static bool ring_prepare(void)
{
	bool has_users;

	pthread_mutex_lock(&ring.lock);
	has_users = ring.n_users > 0;
	ring.sleeps = true;
	ring_prepare_pieces();
	prepare_event();
	if (!has_users)
		ring_close();
	pthread_mutex_unlock(&ring.lock);
	return has_users;
}

static void task_complete(struct weft_uring_task *task)
{
	struct weft_file *file = task->m->file;

	weft_stat_time(file, &file->counters.file_call_ns, task->since);
	task->on_done(task, weft_min64(task->stop, task->m->len));
}

/* Completes a piece, and the task after the last piece of the task. */
static void piece_complete(struct piece *piece, int64_t moved)
{
	struct weft_uring_task *task = piece->task;

	if (moved < piece->len) {
		task->stop = weft_min64(
			task->stop, piece->skip + weft_max64(moved, 0));
		pthread_mutex_lock(&ring.lock);
		weft_list_remove(&task->link);
		pthread_mutex_unlock(&ring.lock);
	}
	free_piece(piece);
	task->n_in_flight--;
	if (!task->n_in_flight && is_all_submitted(task))
		task_complete(task);
}

/* ---- the thread ---- */

/* Removes the first n requests, which the kernel has accepted. */
static void drop_submitted(unsigned n)
{
	ring.n_unsubmitted -= n;
	memmove(ring.unsubmitted, ring.unsubmitted + n,
		ring.n_unsubmitted * sizeof(ring.unsubmitted[0]));
}

/* Removes the first task from the list. No more of its pieces will be
 * submitted. NULL: the list is empty. */
static struct weft_uring_task *ring_drop_task(void)
{
	struct weft_uring_task *task = NULL;
	struct weft_link *link;

	pthread_mutex_lock(&ring.lock);
	ring.is_broken = true;
	link = weft_list_pop_front(&ring.tasks);
	if (link) {
		task = weft_container_of(link, struct weft_uring_task, link);
		task->stop = weft_min64(task->stop, task->next);
	}
	pthread_mutex_unlock(&ring.lock);
	return task;
}

/* The kernel accepts no more requests, for example after seccomp(2). Requests
 * that it has accepted will complete. The owners of the tasks move all other
 * data, and the data of later tasks, by other means. */
static void ring_break(void)
{
	struct weft_uring_task *task;

	while ((task = ring_drop_task()) != NULL)
		if (!task->n_in_flight)
			task_complete(task);
	while (ring.n_unsubmitted) {
		struct piece *piece = ring.unsubmitted[--ring.n_unsubmitted];

		if (piece)
			piece_complete(piece, 0);
	}
}

static void ring_wait(void)
{
	struct timespec some = { .tv_nsec = BROKEN_POLL_NS };
	int rc;

	if (ring.is_broken) {
		nanosleep(&some, NULL);
		return;
	}
	rc = io_uring_submit_and_wait(&ring.uring, 1);
	pthread_mutex_lock(&ring.lock);
	ring.sleeps = false;
	pthread_mutex_unlock(&ring.lock);
	if (rc >= 0)
		drop_submitted((unsigned)rc);
	else if (rc != -EINTR && rc != -EAGAIN && rc != -EBUSY)
		ring_break();
}

static void ring_reap(void)
{
	struct io_uring_cqe *cqe;

	while (!io_uring_peek_cqe(&ring.uring, &cqe)) {
		struct piece *piece = io_uring_cqe_get_data(cqe);
		int64_t moved = cqe->res;

		io_uring_cqe_seen(&ring.uring, cqe);
		if (piece)
			piece_complete(piece, moved);
		else
			ring.is_polling_event = false;
	}
}

static void *ring_thread(void *arg)
{
	(void)arg;
	while (ring_prepare()) {
		ring_wait();
		ring_reap();
	}
	return NULL;
}

/* ---- for other files ---- */

/* Creates the ring and its thread. All signals are blocked in the thread, so
 * that threads of the program handle them. Lock held. */
static bool ring_start(void)
{
	unsigned workers[2] = { (unsigned)weft_knobs.io_threads, 0 };
	bool began = weft_thread_check_begin();
	sigset_t all, old;
	pthread_t thread;

	ring.event = eventfd(0, EFD_CLOEXEC);
	if (ring.event >= 0 &&
		io_uring_queue_init(2 * DEPTH, &ring.uring, 0) == 0) {
		io_uring_ring_dontfork(&ring.uring);
		io_uring_register_iowq_max_workers(&ring.uring, workers);
		ring.free = NULL;
		for (int i = 0; i < DEPTH; i++)
			free_piece(&ring.pieces[i]);
		ring.n_unsubmitted = 0;
		ring.is_polling_event = ring.sleeps = false;
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		ring.has_thread =
			!pthread_create(&thread, NULL, ring_thread, NULL);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		if (ring.has_thread)
			pthread_detach(thread);
		else
			io_uring_queue_exit(&ring.uring);
	}
	if (!ring.has_thread && ring.event >= 0)
		close(ring.event);
	ring.is_broken = !ring.has_thread;
	weft_thread_check_end(began);
	return ring.has_thread;
}

/* Wakes the thread if it may sleep. Lock held. */
static void ring_wake(void)
{
	uint64_t one = 1;

	if (ring.has_thread && ring.sleeps &&
		write(ring.event, &one, sizeof(one)) == sizeof(one))
		ring.sleeps = false;
}

void weft_uring_put(void)
{
	pthread_mutex_lock(&ring.lock);
	if (--ring.n_users == 0)
		ring_wake();
	pthread_mutex_unlock(&ring.lock);
}

bool weft_uring_add(struct weft_uring_task *task)
{
	struct weft_file *file = task->m->file;
	bool is_added;

	task->next = task->m->n_moved;
	task->stop = INT64_MAX;
	task->n_in_flight = 0;
	task->since = weft_stat_now(file);
	pthread_mutex_lock(&ring.lock);
	ring.n_users += !file->has_uring; /* until weft_uring_put() */
	file->has_uring = true;
	is_added = !ring.is_broken && (ring.has_thread || ring_start());
	if (is_added) {
		weft_list_push_back(&ring.tasks, &task->link);
		ring_wake();
	}
	pthread_mutex_unlock(&ring.lock);
	return is_added;
}

/* *n_runs_out is the estimated number of runs. */
static bool is_uring_suitable(const struct weft_move *m, int64_t *n_runs_out)
{
	const char *engine = weft_knobs.io_engine;
	int64_t run;

	if (m->view->rep->kind != WEFT_DATAREP_NATIVE || !m->len ||
		!weft_move_is_per_run(m, &run))
		return false;
	*n_runs_out = m->len / run;
	if (engine[0] == 'a' &&
		(m->is_write || run > (*n_runs_out > 1 ? RUN_MAX : LEN_MAX) ||
			weft_range_fs(m->file) == WEFT_SYSCALL_FS_MEMORY))
		return false;
	return !weft_uring_refusal() &&
	       !(m->is_write && weft_range_must_lock(m->file));
}

bool weft_uring_is_suitable(const struct weft_move *m)
{
	int64_t n;

	return is_uring_suitable(m, &n);
}

/* A thread that waits for a task. */
struct waiter {
	struct weft_uring_task task;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool is_done;
	int64_t n_moved;
};

static void waiter_complete(struct weft_uring_task *task, int64_t n_moved)
{
	struct waiter *w = weft_container_of(task, struct waiter, task);

	pthread_mutex_lock(&w->lock);
	w->n_moved = n_moved;
	w->is_done = true;
	pthread_cond_signal(&w->cond);
	pthread_mutex_unlock(&w->lock);
}

/* Reads runs up to the first run that a probe finds not cached. For cached
 * runs, io_uring is slower than pread(2). A probe costs a tenth of reading 8
 * KiB, so only one run in PROBE_EVERY is probed. */
static void move_cached(struct weft_move *m)
{
	struct iovec runs[DEPTH];
	int64_t some;

	while (m->n_moved < m->len) {
		size_t n = weft_view_runs(m->view, m->at + m->n_moved,
			m->len - m->n_moved, runs, DEPTH, &some);

		for (size_t i = 0; i < n; i++) {
			const struct iovec to = { weft_move_contig_buf(m) +
							  m->n_moved,
				runs[i].iov_len };
			off_t at = (off_t)weft_view_run_begin(&runs[i]);
			ssize_t got = i % PROBE_EVERY
					      ? pread(m->file->fd, to.iov_base,
							to.iov_len, at)
					      : preadv2(m->file->fd, &to, 1, at,
							RWF_NOWAIT);

			weft_counter_add(&m->file->counters.file_calls, 1);
			m->n_moved += weft_max64(got, 0);
			if (got < (ssize_t)to.iov_len)
				return;
		}
	}
}

void weft_uring_move(struct weft_move *m)
{
	struct waiter w = {
		.task = { .m = m, .on_done = waiter_complete },
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.cond = PTHREAD_COND_INITIALIZER,
	};
	struct weft_vci *vci = m->file->comm->vci;
	bool is_added;
	int64_t n;

	if (m->is_write || m->n_moved || !is_uring_suitable(m, &n) ||
		n < RUNS_MIN)
		return;
	move_cached(m);
	if (m->n_moved == m->len)
		return;
	weft_vci_lock(vci);
	is_added = weft_uring_add(&w.task);
	weft_vci_unlock(vci);
	pthread_mutex_lock(&w.lock);
	while (is_added && !w.is_done)
		pthread_cond_wait(&w.cond, &w.lock);
	pthread_mutex_unlock(&w.lock);
	if (is_added)
		m->n_moved = w.n_moved;
}

#else

static int ring_try(void)
{
	return ENOSYS;
}

void weft_uring_put(void)
{
}

bool weft_uring_add(struct weft_uring_task *task)
{
	(void)task;
	return false;
}

bool weft_uring_is_suitable(const struct weft_move *m)
{
	(void)m;
	return false;
}

void weft_uring_move(struct weft_move *m)
{
	(void)m;
}

#endif

/* ---- availability ---- */

static struct {
	pthread_once_t once;
	char why_not[96]; /* "": io_uring works */
} probe = { .once = PTHREAD_ONCE_INIT };

static void probe_once(void)
{
	int rc = ring_try();

#ifdef WEFT_URING
	if (rc)
		snprintf(probe.why_not, sizeof(probe.why_not),
			"the kernel refuses it: %s", strerror(rc));
#else
	snprintf(
		probe.why_not, sizeof(probe.why_not), "built without liburing");
#endif
	if (rc && weft_knobs.io_engine[0] == 'u')
		weft_log_warn("FILE-URING",
			"WEFT_IO_ENGINE=uring: %s; threads carry out "
			"nonblocking accesses",
			probe.why_not);
}

const char *weft_uring_refusal(void)
{
	if (!weft_knobs.io_threads)
		return "WEFT_IO_THREADS is 0";
	if (weft_knobs.io_engine[0] == 't')
		return "WEFT_IO_ENGINE is threads";
	pthread_once(&probe.once, probe_once);
	return probe.why_not[0] ? probe.why_not : NULL;
}
