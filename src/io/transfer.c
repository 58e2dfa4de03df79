/* SPDX-License-Identifier: BSD-3-Clause */
/* transfer: data between memory and a file
 *
 * An access becomes a job: a stretch of the view's stream, and memory. Who runs
 * it, the caller or a thread of the pool, moves it; of a collective, the
 * members then agree on the outcome, those that were begun in the order of
 * beginning. */
#include "io/file_priv.h"

#include "base/bits.h"
#include "coll/coll.h"
#include "core/req.h"
#include "dt/pack.h"
#include "io/pool.h"
#include "io/syscall.h"
#include "transport/vci.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	TYPE_INT64 = 0x258,
	STAGE = 4 << 20, /* bytes packed or converted at once */
	RUNS = 256,	 /* looked at at once */
	GAP_MAX = 4096,	 /* reading it costs less than another call */
};

struct job {
	struct weft_pool_task task;
	struct weft_link link; /* among the file's colls */
	struct weft_file *file;
	struct weft_view *view;
	struct weft_req *req; /* NULL: the caller waits */
	bool is_write, is_collective;
	bool is_moved;	 /* what follows is known */
	int64_t at, len; /* of the stream */
	void *buf;
	int64_t count;
	struct weft_type *type; /* req: a reference */
	int64_t n_moved;	/* bytes of memory */
	int err;
	char why[WEFT_ERR_TEXT];
	int64_t code, least; /* agreement */
};

/* ---- between a buffer and the stream ---- */

static int move_piece(const struct job *job, char *buf, int64_t place,
	int64_t len, int64_t *moved)
{
	struct weft_syscall_move move = { .fd = job->file->fd,
		.is_write = job->is_write,
		.name = job->file->name,
		.buf = buf,
		.len = (size_t)len,
		.at = place };
	size_t n;
	int err = weft_syscall_move(&move, &n);

	*moved = (int64_t)n;
	return err;
}

static int64_t run_at(const struct iovec *run)
{
	return (int64_t)(uintptr_t)run->iov_base;
}

/* How many of the first runs are read as one, with the gaps between. */
static size_t sieved(const struct job *job, const struct iovec *runs, size_t n)
{
	const struct weft_file_hints *hints = &job->file->hints;
	size_t k = 1;

	if (job->is_write || hints->read_sieve == WEFT_FILE_SIEVE_NEVER)
		return 1;
	while (k < n) {
		int64_t begin = run_at(&runs[k]);
		int64_t gap = begin - run_at(&runs[k - 1]) -
			      (int64_t)runs[k - 1].iov_len;
		int64_t span =
			begin + (int64_t)runs[k].iov_len - run_at(&runs[0]);

		if (gap < 0 || span > hints->read_sieve_max ||
			(gap > GAP_MAX &&
				hints->read_sieve != WEFT_FILE_SIEVE_ALWAYS))
			break;
		k++;
	}
	return k;
}

/* Reads n runs as one. */
static int read_sieved(const struct job *job, char *buf,
	const struct iovec *runs, size_t n, int64_t *moved)
{
	int64_t begin = run_at(&runs[0]), got;
	int64_t span =
		run_at(&runs[n - 1]) + (int64_t)runs[n - 1].iov_len - begin;
	char *aside = malloc((size_t)span);
	int err;

	*moved = 0;
	if (!aside)
		return weft_err_set(WEFT_ERR_NOMEM,
			"no memory to read %lld bytes", (long long)span);
	err = move_piece(job, aside, begin, span, &got);
	for (size_t i = 0; i < n; i++) {
		int64_t from = run_at(&runs[i]) - begin;
		int64_t len = (int64_t)runs[i].iov_len;

		if (len > got - from)
			len = got - from;
		if (len <= 0)
			break;
		memcpy(buf + *moved, aside + from, (size_t)len);
		*moved += len;
	}
	free(aside);
	return err;
}

/* Runs one after the other; ends early where the file does. */
static int move_pieces(const struct job *job, char *buf,
	const struct iovec *runs, size_t n, int64_t *moved)
{
	int err = 0;

	*moved = 0;
	for (size_t i = 0, k; i < n && !err; i += k) {
		int64_t wanted = 0, some;

		k = sieved(job, &runs[i], n - i);
		for (size_t j = i; j < i + k; j++)
			wanted += (int64_t)runs[j].iov_len;
		err = k > 1 ? read_sieved(job, buf + *moved, &runs[i], k, &some)
			    : move_piece(job, buf + *moved, run_at(&runs[i]),
				      wanted, &some);
		*moved += some;
		if (some < wanted)
			break;
	}
	return err;
}

/* Bytes [at, at + len) of the stream, contiguous in memory. */
static int move_stream(const struct job *job, char *buf, int64_t at,
	int64_t len, int64_t *moved)
{
	struct iovec runs[RUNS];
	int err = 0;

	if (weft_view_is_plain(job->view))
		return move_piece(
			job, buf, weft_view_place(job->view, at), len, moved);
	*moved = 0;
	while (*moved < len && !err) {
		int64_t wanted, some;
		size_t n = weft_view_runs(job->view, at + *moved, len - *moved,
			runs, RUNS, &wanted);

		err = move_pieces(job, buf + *moved, runs, n, &some);
		*moved += some;
		if (some < wanted || !n)
			break;
	}
	return err;
}

/* ---- between memory and the stream ---- */

/* Memory that is not one run goes through another, a piece at a time. */
static int move_packed(struct job *job)
{
	int64_t piece = weft_min(job->len, (int64_t)STAGE), some = 0, wanted;
	char *stage = malloc((size_t)piece);
	int err = stage ? 0
			: weft_err_set(WEFT_ERR_NOMEM,
				  "no memory for %lld bytes", (long long)piece);

	while (!err && job->n_moved < job->len) {
		wanted = weft_min(piece, job->len - job->n_moved);
		if (job->is_write)
			weft_pack(job->type, job->count, job->buf,
				(size_t)job->n_moved, stage, (size_t)wanted);
		err = move_stream(
			job, stage, job->at + job->n_moved, wanted, &some);
		if (!job->is_write)
			weft_unpack(job->type, job->count, job->buf,
				(size_t)job->n_moved, stage, (size_t)some);
		job->n_moved += some;
		if (some < wanted)
			break;
	}
	free(stage);
	return err;
}

static int move_native(struct job *job)
{
	char *run =
		(char *)((uintptr_t)job->buf + (uintptr_t)job->type->true_lb);

	if (!weft_type_is_run(job->type, job->count))
		return move_packed(job);
	return move_stream(job, run, job->at, job->len, &job->n_moved);
}

/* Some items, of size bytes each in the file, through stage. */
static int convert_items(struct job *job, struct weft_datarep_move *move,
	int64_t size, bool *is_over)
{
	const struct weft_datarep *rep = job->view->rep;
	int64_t at = job->at + move->first * size, some = 0, memory;
	int err = job->is_write ? weft_datarep_write(rep, move) : 0;

	if (!err)
		err = move_stream(
			job, move->data, at, move->count * size, &some);
	if (!job->is_write && some) {
		int rc = weft_datarep_read(rep, move, some);

		err = err ? err : rc;
	}
	*is_over = some < move->count * size;
	if (!weft_datarep_in_memory(rep, job->type, some, &memory))
		job->n_moved += memory;
	return err;
}

/* Whole items at a time, in another form. */
static int move_converted(struct job *job)
{
	struct weft_datarep_move move = { .type = job->type, .buf = job->buf };
	int64_t size = job->len / job->count;
	int64_t n = size < STAGE ? STAGE / size : 1;
	bool is_over = false;
	int err = 0;

	n = weft_min(n, job->count);
	move.data = calloc((size_t)n, (size_t)size);
	if (!move.data)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for %lld bytes",
			(long long)(n * size));
	for (; move.first < job->count && !err && !is_over; move.first += n) {
		move.count = weft_min(n, job->count - move.first);
		err = convert_items(job, &move, size, &is_over);
	}
	free(move.data);
	return err;
}

static int move_any(struct job *job)
{
	return job->view->rep->kind == WEFT_DATAREP_NATIVE
		       ? move_native(job)
		       : move_converted(job);
}

/* Nobody else of this file sees half of it. */
static int move_atomically(struct job *job)
{
	struct weft_file *file = job->file;
	int64_t first = weft_view_place(job->view, job->at);
	int64_t last = weft_view_place(job->view, job->at + job->len - 1) + 1;
	int err;

	pthread_mutex_lock(&file->atomic_lock);
	err = weft_syscall_lock(
		file->fd, file->name, job->is_write, first, last);
	if (!err) {
		int rc;

		err = move_any(job);
		rc = weft_syscall_unlock(file->fd, file->name, first, last);
		err = err ? err : rc;
	}
	pthread_mutex_unlock(&file->atomic_lock);
	return err;
}

static void job_move(struct job *job)
{
	if (job->err || !job->len)
		return;
	/* pairs with the store of weft_file_set_atomic */
	if (atomic_load_explicit(&job->file->is_atomic, memory_order_acquire))
		job->err = move_atomically(job);
	else
		job->err = move_any(job);
	if (job->err)
		snprintf(job->why, sizeof(job->why), "%s",
			weft_err_detail_peek(job->err));
}

/* ---- an access becomes a job ---- */

static int check_mode(
	const struct weft_file *file, const struct weft_file_access *access)
{
	bool is_own = access->at == WEFT_FILE_AT_OFFSET ||
		      access->at == WEFT_FILE_AT_POSITION;

	if (access->is_write && (file->amode & WEFT_FILE_RDONLY))
		return weft_err_set(WEFT_ERR_READ_ONLY,
			"\"%.160s\" was opened with MPI_MODE_RDONLY",
			file->name);
	if (!access->is_write && (file->amode & WEFT_FILE_WRONLY))
		return weft_err_set(WEFT_ERR_ACCESS,
			"\"%.160s\" was opened with MPI_MODE_WRONLY",
			file->name);
	if (is_own && (file->amode & WEFT_FILE_SEQUENTIAL))
		return weft_err_set(WEFT_ERR_UNSUPPORTED,
			"\"%.120s\" was opened with MPI_MODE_SEQUENTIAL and "
			"has the shared pointer only",
			file->name);
	if (access->at == WEFT_FILE_AT_OFFSET && access->offset < 0)
		return weft_err_set(WEFT_ERR_ARG,
			"offset is %lld, must be at least 0",
			(long long)access->offset);
	return 0;
}

/* How long it is in the file. */
static int measure(struct job *job)
{
	const struct weft_view *view = job->view;
	int64_t size;
	int err = weft_datarep_size(view->rep, job->type, &size);

	if (err)
		return err;
	if (__builtin_mul_overflow(size, job->count, &job->len))
		return weft_err_set(WEFT_ERR_COUNT,
			"count is %lld, of %lld bytes each: more than 2^63",
			(long long)job->count, (long long)size);
	if (view->etype_size ? job->len % view->etype_size : job->len)
		return weft_err_set(WEFT_ERR_IO,
			"%lld bytes of datatype are no number of etypes of "
			"%lld",
			(long long)job->len, (long long)view->etype_size);
	return 0;
}

static int64_t move_position(struct weft_file *file, int64_t by)
{
	int64_t old;

	weft_spin_take(&file->spin);
	old = file->position;
	file->position += by;
	weft_spin_drop(&file->spin);
	return old;
}

/* Where it begins; moves pointers on. With err the caller has one, and takes
 * part in what is collective. */
static int find_place(
	struct job *job, const struct weft_file_access *access, int err)
{
	int64_t unit = job->view->etype_size, at = access->offset;
	int64_t n = !err && unit ? job->len / unit : 0;

	if (access->at == WEFT_FILE_AT_ORDERED) {
		int rc = weft_file_pointer_ordered(job->file, n, &at);

		err = err ? err : rc;
	} else if (!err && access->at == WEFT_FILE_AT_SHARED) {
		err = weft_file_pointer_add(job->file, n, &at);
	} else if (!err && access->at == WEFT_FILE_AT_POSITION) {
		at = move_position(job->file, n);
	}
	if (!err && (__builtin_mul_overflow(at, unit, &job->at) ||
			    job->at > INT64_MAX - job->len))
		err = weft_err_set(WEFT_ERR_ARG,
			"offset %lld is beyond 2^63 bytes", (long long)at);
	return err;
}

static void job_prepare(struct job *job, struct weft_file *file,
	const struct weft_file_access *access)
{
	int err = check_mode(file, access);
	char why[WEFT_ERR_TEXT] = "";

	job->file = file;
	job->view = weft_file_view(file);
	job->is_write = access->is_write;
	job->is_collective = access->is_collective;
	job->buf = access->buf;
	job->count = access->count;
	job->type = access->type;
	if (!err)
		err = measure(job);
	if (err)
		snprintf(why, sizeof(why), "%s", weft_err_detail_peek(err));
	if (access->is_collective)
		weft_file_drain(file, true);
	job->err = find_place(job, access, err);
	if (job->err)
		snprintf(job->why, sizeof(job->why), "%s",
			err ? why : weft_err_detail_peek(job->err));
	if (!job->view->tile->size)
		job->len = 0;
}

int weft_file_run(struct weft_file *file, const struct weft_file_access *access,
	int64_t *moved_out)
{
	struct job job = { 0 };
	int err;

	job_prepare(&job, file, access);
	job_move(&job);
	weft_view_put(job.view);
	*moved_out = job.n_moved;
	err = job.err ? weft_err_set(job.err, "%s", job.why) : 0;
	return access->is_collective ? weft_file_agree(file, err) : err;
}

/* ---- jobs that were begun ---- */

static void job_free(struct job *job)
{
	weft_view_put(job->view);
	weft_type_put(job->type);
	free(job);
}

/* The words go to the thread that asks. */
static int job_query(struct weft_req *req, struct weft_status *status)
{
	const struct job *job = req->attached;

	(void)status;
	return job->err ? weft_err_set(job->err, "%s", job->why) : 0;
}

static int job_has_no_free(struct weft_req *req)
{
	(void)req;
	return 0;
}

static void job_release(struct weft_req *req)
{
	job_free(req->attached);
}

static const struct weft_req_ops job_ops = {
	.query = job_query,
	.free = job_has_no_free,
	.release = job_release,
};

/* VCI's lock held for all below. */

static void job_finish(struct job *job)
{
	struct weft_vci *vci = job->req->vci;

	job->file->n_active--;
	job->req->status.len = job->n_moved;
	weft_req_complete(job->req, job->err);
	weft_req_put(job->req);
	weft_vci_wake(vci);
}

static void job_agreed(void *arg, struct weft_req *req)
{
	struct job *job = arg;
	int err = req->status.err;

	weft_req_put(req);
	if (!err || job->err)
		err = weft_file_err_of(
			job->file, job->err, job->why, err ? 0 : job->least);
	if (err && !job->err)
		snprintf(job->why, sizeof(job->why), "%s",
			weft_err_detail_peek(err));
	job->err = err;
	job_finish(job);
}

static void job_agree(struct job *job)
{
	struct weft_type *type = weft_type_builtin(TYPE_INT64);
	struct weft_coll args = { .comm = job->file->comm,
		.ctx_offset = WEFT_CTX_OFFSET_COLL,
		.send = { .buf = &job->code, .count = 1, .type = type },
		.recv = { .buf = &job->least, .count = 1, .type = type },
		.op = weft_redop_builtin(WEFT_OP_MIN) };
	struct weft_req *req;
	int err;

	job->code = weft_file_err_code(job->file, job->err);
	err = weft_coll_start_locked(WEFT_COLL_ALLREDUCE, &args, &req);
	if (err) {
		if (!job->err)
			snprintf(job->why, sizeof(job->why), "%s",
				weft_err_detail_peek(err));
		job->err = job->err ? job->err : err;
		job_finish(job);
	} else if (req->is_done) {
		job_agreed(job, req);
	} else {
		req->on_done = job_agreed;
		req->on_done_arg = job;
	}
}

/* Those of the file's collectives that are next and moved. */
static void jobs_advance(struct weft_file *file)
{
	while (!weft_list_is_empty(&file->colls)) {
		struct job *job =
			weft_container_of(file->colls.next, struct job, link);

		if (!job->is_moved)
			return;
		weft_list_remove(&job->link);
		job_agree(job);
	}
}

/* In a thread of the pool, or of the program: no lock held. */
static void job_run(struct weft_pool_task *task)
{
	struct job *job = weft_container_of(task, struct job, task);
	struct weft_vci *vci = job->req->vci;

	job_move(job);
	weft_vci_lock(vci);
	job->is_moved = true;
	if (job->is_collective)
		jobs_advance(job->file);
	else
		job_finish(job);
	weft_vci_unlock(vci);
}

static int job_request(struct job *job)
{
	struct weft_comm *comm = job->file->comm;
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

static void job_use_pool(struct weft_file *file)
{
	bool is_first;

	weft_spin_take(&file->spin);
	is_first = !file->has_pool;
	file->has_pool = true;
	weft_spin_drop(&file->spin);
	if (is_first)
		weft_pool_get();
}

/* Those with functions of the program's are run by it. */
static bool job_may_wait(const struct job *job)
{
	return !job->err && job->len &&
	       job->view->rep->kind != WEFT_DATAREP_USER;
}

static int job_begin(struct job *job, struct weft_req **req_out)
{
	struct weft_file *file = job->file;
	struct weft_vci *vci = file->comm->vci;
	bool is_queued = false;
	int err;

	job->task.run = job_run;
	weft_vci_lock(vci);
	err = job_request(job);
	if (!err) {
		*req_out = job->req;
		file->n_active++;
		if (job->is_collective)
			weft_list_push_back(&file->colls, &job->link);
		is_queued = job_may_wait(job) && weft_pool_add(&job->task);
	}
	weft_vci_unlock(vci);
	if (!err && !is_queued)
		job_run(&job->task);
	return err;
}

int weft_file_start(struct weft_file *file,
	const struct weft_file_access *access, struct weft_req **req_out)
{
	struct job *job = calloc(1, sizeof(*job));
	int err;

	if (!job)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a request");
	job_use_pool(file);
	job_prepare(job, file, access);
	job->type = weft_type_get(access->type);
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
			"a split collective of \"%.120s\" was begun and not "
			"ended",
			file->name);
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

void weft_file_forget_split_locked(struct weft_file *file)
{
	if (file->split)
		weft_req_put(file->split->req);
	free(file->split);
	file->split = NULL;
}

static int split_wait(struct weft_file *file, int64_t *moved_out)
{
	struct weft_vci *vci = file->comm->vci;
	const struct job *job = file->split->req->attached;
	int err;

	weft_vci_lock(vci);
	weft_req_wait_in(
		vci, file->split->req, "the end of a split collective");
	*moved_out = job->n_moved;
	err = job->err ? weft_err_set(job->err, "%s", job->why) : 0;
	weft_file_forget_split_locked(file);
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
			"no such split collective of \"%.120s\" was begun",
			file->name);
	return split_wait(file, moved_out);
}
