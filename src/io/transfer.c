/* SPDX-License-Identifier: BSD-3-Clause */
/* transfer: accesses to a file
 *
 * An access becomes a job: a part of the view's stream and a buffer. The
 * caller, a thread of the pool or io_uring moves the data. The members of a
 * collective access then agree on its error. The agreements of nonblocking
 * accesses start in the order in which the accesses started. */
#include "io/file_priv.h"

#include "base/bits.h"
#include "coll/coll.h"
#include "core/req.h"
#include "io/cb.h"
#include "io/move.h"
#include "io/pool.h"
#include "io/range.h"
#include "io/syscall.h"
#include "io/uring.h"
#include "p2p/p2p.h"
#include "transport/vci.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
	struct weft_pool_task task;
	struct weft_uring_task uring;
	struct weft_link link;	 /* in the file's colls */
	struct weft_link active; /* in the file's active */
	struct weft_req *agreed; /* the pending agreement, or NULL */
	struct weft_move m; /* a nonblocking job owns a reference to the type */
	struct weft_req *req; /* of a nonblocking access; NULL: blocking */
	bool is_collective;
	bool is_buffered; /* may use aggregators; such jobs start in order */
	bool is_started;  /* buffered: a thread moves the job or has moved it */
	bool is_for_uring;
	bool is_moved; /* the data was moved, and m.n_moved is final */
	int err;
	int64_t code, least_code; /* weft_file_err_encode() of this member's
				     error; the lowest of all members */
	char why[WEFT_ERR_TEXT];  /* last field: set with err only */
};

/* Moves the data of a job. Meanwhile, the range of the whole access is locked
 * against other open file descriptions and other threads. */
static int move_atomically(struct job *job)
{
	struct weft_file *file = job->m.file;
	int64_t first = weft_view_byte_offset(job->m.view, job->m.at);
	int64_t last =
		weft_view_byte_offset(job->m.view, job->m.at + job->m.len - 1) +
		1;
	int err;

	pthread_mutex_lock(&file->range_lock);
	err = weft_syscall_lock(
		file->fd, file->name, job->m.is_write, first, last);
	if (!err) {
		int rc;

		err = weft_move_all(&job->m);
		rc = weft_syscall_unlock(file->fd, file->name, first, last);
		err = err ? err : rc;
	}
	pthread_mutex_unlock(&file->range_lock);
	return err;
}

static void job_set_err(struct job *job, int err)
{
	if (!err || job->err)
		return;
	job->err = err;
	snprintf(job->why, sizeof(job->why), "%s", weft_err_detail_peek(err));
}

/* Moves the data of a job through aggregators. False if collective buffering is
 * not used; each member must then move its own data. */
static bool job_move_buffered(struct job *job)
{
	bool is_done = false;

	if (weft_cb_is_possible(job->m.file, job->m.is_write))
		job_set_err(job, weft_cb_move(&job->m, job->err, &is_done));
	return is_done;
}

static void job_move(struct job *job)
{
	int err;

	if (job->err || !job->m.len)
		return;
	/* acquire: accesses before weft_file_set_atomic() happen before this
	 * access */
	if (atomic_load_explicit(&job->m.file->is_atomic, memory_order_acquire))
		err = move_atomically(job);
	else
		err = weft_move_all(&job->m);
	job_set_err(job, err);
}

/* ---- an access becomes a job ---- */

static int check_mode(
	const struct weft_file *file, const struct weft_file_access *access)
{
	bool is_own = access->at == WEFT_FILE_AT_OFFSET ||
		      access->at == WEFT_FILE_AT_POSITION;

	if (weft_comm_is_revoked(file->comm))
		return weft_comm_revoked(file->comm);
	if (access->is_write && (file->amode & WEFT_FILE_RDONLY))
		return weft_err_set(WEFT_ERR_READ_ONLY,
			"\"%s\" was opened with MPI_MODE_RDONLY",
			weft_syscall_short_name(file->name));
	if (!access->is_write && (file->amode & WEFT_FILE_WRONLY))
		return weft_err_set(WEFT_ERR_ACCESS,
			"\"%s\" was opened with MPI_MODE_WRONLY",
			weft_syscall_short_name(file->name));
	if (is_own && (file->amode & WEFT_FILE_SEQUENTIAL))
		return weft_err_set(WEFT_ERR_UNSUPPORTED,
			"\"%s\" was opened with MPI_MODE_SEQUENTIAL and "
			"has the shared pointer only",
			weft_syscall_short_name(file->name));
	if (access->at == WEFT_FILE_AT_OFFSET && access->offset < 0)
		return weft_err_set(WEFT_ERR_ARG,
			"offset is %lld, must be at least 0",
			(long long)access->offset);
	return 0;
}

/* Sets the number of bytes that the access transfers in the file. */
static int job_set_len(struct job *job)
{
	const struct weft_view *view = job->m.view;
	int64_t size;
	int err = weft_datarep_size(view->rep, job->m.type, &size);

	if (err)
		return err;
	if (__builtin_mul_overflow(size, job->m.count, &job->m.len))
		return weft_err_set(WEFT_ERR_COUNT,
			"count is %lld, of %lld bytes each: above 2^63 bytes",
			(long long)job->m.count, (long long)size);
	if (view->etype_size ? job->m.len % view->etype_size : job->m.len)
		return weft_err_set(WEFT_ERR_IO,
			"the access has %lld bytes, which is not a multiple of "
			"the etype's %lld",
			(long long)job->m.len, (long long)view->etype_size);
	return 0;
}

static int64_t advance_position(struct weft_file *file, int64_t by)
{
	int64_t old;

	weft_spin_acquire(&file->spin);
	old = file->position;
	file->position += by;
	weft_spin_release(&file->spin);
	return old;
}

/* Sets the first stream byte and advances the file pointer. If err is not 0,
 * only calls the collective functions, with n = 0, and returns err. */
static int job_set_range(
	struct job *job, const struct weft_file_access *access, int err)
{
	int64_t unit = job->m.view->etype_size, at = access->offset;
	int64_t n = !err && unit ? job->m.len / unit : 0;

	if (access->at == WEFT_FILE_AT_ORDERED) {
		int rc = weft_file_pointer_ordered(job->m.file, n, &at);

		err = err ? err : rc;
	} else if (!err && access->at == WEFT_FILE_AT_SHARED) {
		err = weft_file_pointer_fetch_add(job->m.file, n, &at);
	} else if (!err && access->at == WEFT_FILE_AT_POSITION) {
		at = advance_position(job->m.file, n);
	}
	if (!err && (__builtin_mul_overflow(at, unit, &job->m.at) ||
			    job->m.at > INT64_MAX - job->m.len))
		err = weft_err_set(WEFT_ERR_ARG,
			"offset %lld is beyond 2^63 bytes", (long long)at);
	return err;
}

static void job_count(const struct job *job)
{
	struct weft_counters *n = &job->m.file->counters;
	struct weft_view_sample sample;

	if (job->err)
		return;
	weft_counter_add(job->m.is_write ? &n->file_writes : &n->file_reads, 1);
	weft_counter_add(&n->file_collective, job->is_collective);
	weft_counter_add(&n->file_bytes, job->m.len);
	if (!job->m.file->reports_stats)
		return;
	sample = weft_view_sample(job->m.view, job->m.at, job->m.len);
	if (sample.len)
		weft_counter_add(&n->file_runs,
			(int64_t)((double)job->m.len / (double)sample.len *
				  (double)sample.n));
	if (sample.n > 1) {
		weft_counter_add(&n->file_strides, sample.n - 1);
		weft_counter_add(&n->file_stride_bytes,
			sample.last_begin - sample.begin);
	}
}

/* True if the collective messages of the access must follow those of all
 * earlier nonblocking accesses: the access blocks, or exchanges lengths before
 * it starts. */
static bool must_drain(const struct weft_file_access *access, bool blocks)
{
	return access->is_collective &&
	       (blocks || access->at == WEFT_FILE_AT_ORDERED);
}

static void job_prepare(struct job *job, struct weft_file *file,
	const struct weft_file_access *access, bool blocks)
{
	int err = access->err ? access->err : check_mode(file, access);
	char why[WEFT_ERR_TEXT];

	job->m.file = file;
	job->m.view = weft_file_view(file);
	job->m.is_write = access->is_write;
	job->is_collective = access->is_collective;
	job->m.type = weft_type_builtin(WEFT_TYPE_BYTE);
	if (!err) {
		job->m.buf = access->buf;
		job->m.count = access->count;
		job->m.type = access->type;
		err = job_set_len(job);
	}
	if (err)
		snprintf(why, sizeof(why), "%s", weft_err_detail_peek(err));
	if (must_drain(access, blocks))
		weft_file_drain(file, true, "a collective access to a file");
	job->err = job_set_range(job, access, err);
	if (job->err)
		snprintf(job->why, sizeof(job->why), "%s",
			err ? why : weft_err_detail_peek(job->err));
	if (!job->m.view->tile->size)
		job->m.len = 0;
	job_count(job);
}

int weft_file_transfer(struct weft_file *file,
	const struct weft_file_access *access, int64_t *moved_out)
{
	struct job job;
	int err;

	memset(&job, 0, offsetof(struct job, why));
	job_prepare(&job, file, access, true);
	if (!access->is_collective || !job_move_buffered(&job))
		job_move(&job);
	weft_view_put(job.m.view);
	*moved_out = job.m.n_moved;
	err = job.err ? weft_err_set(job.err, "%s", job.why) : 0;
	return access->is_collective ? weft_file_agree(file, err) : err;
}

/* ---- nonblocking jobs ---- */

static void job_free(struct job *job)
{
	weft_view_put(job->m.view);
	weft_type_put(job->m.type);
	free(job);
}

/* Sets the error text for the thread that waits. */
static int job_query(struct weft_req *req, struct weft_status *status)
{
	const struct job *job = req->attached;

	(void)status;
	return job->err ? weft_err_set(job->err, "%s", job->why) : 0;
}

static int job_free_nothing(struct weft_req *req)
{
	(void)req;
	return 0;
}

static void job_release(struct weft_req *req)
{
	job_free(req->attached);
}

/* MPI_Cancel has no effect on a request of a file, as in ROMIO and OMPIO. */
static int job_cancel(struct weft_req *req)
{
	(void)req;
	return 0;
}

static const struct weft_req_ops job_ops = {
	.cancel = job_cancel,
	.query = job_query,
	.free = job_free_nothing,
	.release = job_release,
};

/* The functions from here to job_on_moved() are called with the VCI's lock
 * held. */

static void job_finish(struct job *job)
{
	struct weft_vci *vci = job->req->vci;

	weft_list_remove(&job->active);
	job->req->status.len = job->m.n_moved;
	weft_req_complete(job->req, job->err);
	weft_req_put(job->req);
	weft_vci_wake(vci);
}

static void job_on_agreed(void *arg, struct weft_req *req)
{
	struct job *job = arg;
	int err = req->status.err;

	weft_req_put(req);
	if (!err || job->err)
		err = weft_file_err_decode(job->m.file, job->err, job->why,
			err ? 0 : job->least_code);
	if (err && !job->err)
		snprintf(job->why, sizeof(job->why), "%s",
			weft_err_detail_peek(err));
	job->err = err;
	job_finish(job);
}

static void job_agree(struct job *job)
{
	struct weft_type *type = weft_type_builtin(WEFT_TYPE_INT64);
	struct weft_coll args = { .comm = job->m.file->comm,
		.ctx_offset = WEFT_CTX_OFFSET_COLL,
		.send = { .buf = &job->code, .count = 1, .type = type },
		.recv = { .buf = &job->least_code, .count = 1, .type = type },
		.op = weft_redop_builtin(WEFT_OP_MIN) };
	struct weft_req *req;
	int err;

	job->code = weft_file_err_encode(job->m.file, job->err);
	err = weft_coll_start_locked(WEFT_COLL_ALLREDUCE, &args, &req);
	if (err) {
		if (!job->err)
			snprintf(job->why, sizeof(job->why), "%s",
				weft_err_detail_peek(err));
		job->err = job->err ? job->err : err;
		job_finish(job);
	} else if (req->is_done) {
		job_on_agreed(job, req);
	} else {
		req->on_done = job_on_agreed;
		req->on_done_arg = job;
		job->agreed = req;
	}
}

struct weft_req *weft_file_pending_locked(
	struct weft_file *file, bool colls_only)
{
	const struct weft_link *list =
		colls_only ? &file->colls : &file->active;
	struct job *job;

	if (weft_list_is_empty(list))
		return NULL;
	job = colls_only ? weft_container_of(list->next, struct job, link)
			 : weft_container_of(list->next, struct job, active);
	return weft_req_get(job->agreed ? job->agreed : job->req);
}

/* Starts moving a buffered job. All earlier collective jobs have exchanged
 * their data and started their agreement. False if the caller must move the
 * job. */
static bool job_start_move(struct job *job)
{
	job->is_started = true;
	return weft_pool_add(&job->task);
}

/* Starts the agreements of collective jobs in order, up to the first job whose
 * data is not moved yet. Returns a job that the caller must move after it
 * releases the lock, or NULL. */
static struct job *advance_collectives(struct weft_file *file)
{
	while (!weft_list_is_empty(&file->colls)) {
		struct job *job =
			weft_container_of(file->colls.next, struct job, link);

		if (!job->is_moved && job->is_buffered && !job->is_started &&
			!job_start_move(job))
			return job;
		if (!job->is_moved)
			return NULL;
		weft_list_remove(&job->link);
		job_agree(job);
	}
	return NULL;
}

/* Called when the data of a job has been moved. Returns a job that the caller
 * must move after it releases the lock, or NULL. */
static struct job *job_on_moved(struct job *job)
{
	job->is_moved = true;
	if (job->is_collective)
		return advance_collectives(job->m.file);
	job_finish(job);
	return NULL;
}

/* Runs in a thread of the pool, of the program or of io_uring. No lock held. */
static void job_run(struct weft_pool_task *task)
{
	struct job *job = weft_container_of(task, struct job, task);
	struct weft_vci *vci = job->req->vci;

	while (job) {
		if (!job->is_buffered || !job_move_buffered(job))
			job_move(job);
		weft_vci_lock(vci);
		job = job_on_moved(job);
		weft_vci_unlock(vci);
	}
}

/* False if the caller must run the job. For example, only a thread of the
 * program may call the program's conversion functions. */
static bool job_can_defer(const struct job *job)
{
	return !job->err && job->m.len &&
	       job->m.view->rep->kind != WEFT_DATAREP_USER;
}

/* Called after io_uring has moved the first n_moved bytes. A thread of the pool
 * moves the rest, or this thread if the pool has none. */
static void job_on_uring_done(struct weft_uring_task *task, int64_t n_moved)
{
	struct job *job = weft_container_of(task, struct job, uring), *mine;
	struct weft_vci *vci = job->req->vci;

	job->m.n_moved = n_moved;
	weft_vci_lock(vci);
	if (n_moved == job->m.len)
		mine = job_on_moved(job);
	else
		mine = weft_pool_add(&job->task) ? NULL : job;
	weft_vci_unlock(vci);
	if (mine)
		job_run(&mine->task);
}

/* True if io_uring can move the data of the job without a lock. */
static bool job_is_for_uring(const struct job *job)
{
	return job_can_defer(job) && !job->is_buffered &&
	       /* acquire: accesses before weft_file_set_atomic() happen before
		* this access */
	       !atomic_load_explicit(
		       &job->m.file->is_atomic, memory_order_acquire) &&
	       weft_uring_is_suitable(&job->m);
}

static int job_request(struct job *job)
{
	struct weft_comm *comm = job->m.file->comm;
	struct weft_req *req = weft_req_new(comm->vci, WEFT_REQ_OTHER);

	if (!req)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a request");
	req->ops = &job_ops;
	req->attached = job;
	req->comm = weft_comm_get(comm);
	req->status.source = WEFT_ANY_SOURCE;
	req->status.tag = WEFT_ANY_TAG;
	job->req = weft_req_get(req); /* until it completes */
	return 0;
}

static void open_pool(struct weft_file *file)
{
	bool is_first;

	weft_spin_acquire(&file->spin);
	is_first = !file->has_pool;
	file->has_pool = true;
	weft_spin_release(&file->spin);
	if (is_first)
		weft_pool_get();
}

/* Queues a job. Returns a job that the caller must run, or NULL. VCI's lock
 * held.
 */
static struct job *job_queue(struct job *job)
{
	struct weft_file *file = job->m.file;

	weft_list_push_back(&file->active, &job->active);
	if (job->is_collective)
		weft_list_push_back(&file->colls, &job->link);
	if (job->is_buffered)
		return advance_collectives(file);
	if (job->is_for_uring && weft_uring_add(&job->uring))
		return NULL;
	return job_can_defer(job) && weft_pool_add(&job->task) ? NULL : job;
}

static int job_begin(struct job *job, struct weft_req **req_out)
{
	struct weft_file *file = job->m.file;
	struct weft_vci *vci = file->comm->vci;
	struct job *mine = NULL;
	int err;

	job->task.run = job_run;
	job->is_buffered = job->is_collective && file->all_have_pool &&
			   weft_cb_is_possible(file, job->m.is_write);
	job->task.waits_for_others = job->is_buffered;
	job->m.is_background = job->is_buffered;
	job->is_for_uring = job_is_for_uring(job);
	job->uring.m = &job->m;
	job->uring.on_done = job_on_uring_done;
	weft_vci_lock(vci);
	err = job_request(job);
	if (!err) {
		*req_out = job->req;
		mine = job_queue(job);
	}
	weft_vci_unlock(vci);
	if (mine)
		job_run(&mine->task);
	return err;
}

/* Returns the error of the program's arguments, without a request. The job of a
 * collective access still runs, because the other members need its agreement.
 */
static int job_start_failed(struct job *job)
{
	struct weft_vci *vci = job->m.file->comm->vci;
	int err = job->err;
	char why[WEFT_ERR_TEXT];
	struct weft_req *req;

	memcpy(why, job->why, sizeof(why));
	if (!job->is_collective || job_begin(job, &req)) {
		job_free(job);
	} else {
		weft_vci_lock(vci);
		weft_req_put(req);
		weft_vci_unlock(vci);
	}
	return weft_err_set(err, "%s", why);
}

int weft_file_start(struct weft_file *file,
	const struct weft_file_access *access, struct weft_req **req_out)
{
	struct job *job = calloc(1, sizeof(*job));
	int err;

	if (!job)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a request");
	open_pool(file);
	job_prepare(job, file, access, false);
	job->m.type = weft_type_get(job->m.type);
	if (access->err)
		return job_start_failed(job);
	err = job->err && !access->is_collective
		      ? weft_err_set(job->err, "%s", job->why)
		      : job_begin(job, req_out);
	if (err)
		job_free(job);
	return err;
}

/* ---- split collectives ---- */

struct weft_file_split {
	struct weft_req *req;
	bool is_write;
	enum weft_file_at at;
};

int weft_file_begin(
	struct weft_file *file, const struct weft_file_access *access)
{
	struct weft_file_split *split;
	int err;

	if (file->split)
		return weft_err_set(WEFT_ERR_OTHER,
			"a split collective of \"%s\" was begun and not "
			"ended",
			weft_syscall_short_name(file->name));
	split = malloc(sizeof(*split));
	if (!split)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a request");
	*split = (struct weft_file_split){ .is_write = access->is_write,
		.at = access->at };
	err = weft_file_start(file, access, &split->req);
	if (err)
		free(split);
	else
		file->split = split;
	return err;
}

void weft_file_drop_split_locked(struct weft_file *file)
{
	if (file->split)
		weft_req_put(file->split->req);
	free(file->split);
	file->split = NULL;
}

static int split_wait(struct weft_file *file, int64_t *moved_out)
{
	const struct weft_file_split *split = file->split;
	struct weft_vci *vci = file->comm->vci;
	const struct job *job = split->req->attached;
	int err;

	weft_vci_lock(vci);
	weft_req_wait_in(vci, split->req, "the end of a split collective");
	*moved_out = job->m.n_moved;
	err = job->err ? weft_err_set(job->err, "%s", job->why) : 0;
	weft_file_drop_split_locked(file);
	weft_vci_unlock(vci);
	return err;
}

void weft_file_finish_split(struct weft_file *file)
{
	int64_t moved;

	if (file->split)
		split_wait(file, &moved);
}

int weft_file_end(struct weft_file *file, const struct weft_file_access *access,
	int64_t *moved_out)
{
	const struct weft_file_split *split = file->split;

	if (!split || split->is_write != access->is_write ||
		split->at != access->at)
		return weft_err_set(WEFT_ERR_OTHER,
			"no such split collective of \"%s\" was begun",
			weft_syscall_short_name(file->name));
	return split_wait(file, moved_out);
}
