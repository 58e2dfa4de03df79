/* SPDX-License-Identifier: BSD-3-Clause */
/* file: files that the processes of a communicator open together */
#include "io/file_priv.h"

#include "base/knob.h"
#include "base/log.h"
#include "comm/create.h"
#include "comm/disconnect.h"
#include "core/errh.h"
#include "core/info.h"
#include "core/req.h"
#include "io/cb.h"
#include "io/pool.h"
#include "io/range.h"
#include "io/stat.h"
#include "io/stripe.h"
#include "io/syscall.h"
#include "io/uring.h"
#include "p2p/p2p.h"
#include "transport/progress.h"
#include "transport/vci.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct weft_table weft_files =
	WEFT_TABLE_INIT(struct weft_file, WEFT_KIND_FILE);
struct weft_errh *weft_file_errh = &weft_errh_builtin[WEFT_ERRH_RETURN];

/* Sets each hint for collective buffering to the lowest value of all members.
 * amode is 0 unless the file is being opened. */
static int file_agree_hints(struct weft_file *file, int err, int amode)
{
	struct weft_file_hints *hints = &file->hints;
	int64_t read = hints->cb_read, write = hints->cb_write;
	int64_t reports_stats = weft_knobs.stats[0] == '1';
	int64_t has_pool = weft_knobs.io_threads > 0;
	struct weft_file_agreement on = { .n_same = amode != 0,
		.same = { amode },
		.names = { "amode" },
		.n_least = 8,
		.least = { &read, &write, &hints->cb_nodes, &hints->cb_per_node,
			&hints->cb_buffer_size, &hints->striping_unit,
			&reports_stats, &has_pool } };

	err = weft_file_agree_on(file, err, &on);
	hints->cb_read = (enum weft_file_choice)read;
	hints->cb_write = (enum weft_file_choice)write;
	file->all_have_pool = has_pool;
	file->reports_stats = reports_stats;
	return err;
}

void weft_file_drain(struct weft_file *file, bool colls_only, const char *call)
{
	struct weft_vci *vci = file->comm->vci;
	struct weft_req *req;

	weft_vci_lock(vci);
	while ((req = weft_file_pending_locked(file, colls_only)) != NULL) {
		weft_req_wait_in(vci, req, call);
		weft_req_put(req);
	}
	weft_vci_unlock(vci);
}

/* ---- ending ---- */

static void file_destroy(struct weft_file *file)
{
	if (file->has_uring)
		weft_uring_put();
	if (file->has_pool)
		weft_pool_put();
	weft_info_destroy(file->info);
	weft_errh_set(&file->errh, NULL);
	weft_view_put(file->view);
	pthread_mutex_destroy(&file->range_lock);
	if (file->folder_fd >= 0)
		close(file->folder_fd);
	weft_counters_close(&file->counters);
	free(file->name);
	weft_table_free(&weft_files, file);
}

static struct weft_comm *file_comm_of(struct weft_child *child)
{
	return weft_container_of(child, struct weft_comm, child);
}

/* Called if the session ends before the program has closed the file. */
static int file_start_close(struct weft_child *child)
{
	struct weft_file *file = file_comm_of(child)->file;

	if (file)
		weft_file_pointer_close_locked(file);
	return weft_disconnect_ops.start_close(child);
}

static bool file_test_close(struct weft_child *child)
{
	struct weft_file *file = file_comm_of(child)->file;

	return !(file && (!weft_list_is_empty(&file->active) ||
				 file->pointer.recv)) &&
	       weft_disconnect_ops.test_close(child);
}

/* Closes the descriptor. Rank 0 first deletes a file of DELETE_ON_CLOSE: while
 * the file is open, no other file can have its inode number. */
static int file_close_fd(struct weft_file *file)
{
	char why[WEFT_ERR_TEXT];
	int rc, err = 0;

	if (file->fd < 0)
		return 0;
	if (file->folder_fd >= 0)
		err = weft_syscall_unlink_opened(
			file->folder_fd, file->name, file->fd);
	snprintf(why, sizeof(why), "%s", err ? weft_err_detail_peek(err) : "");
	rc = weft_syscall_close(file->fd, file->name);
	file->fd = -1;
	return rc || !err ? rc : weft_err_set(err, "%s", why);
}

static void file_child_destroy(struct weft_child *child)
{
	struct weft_comm *comm = file_comm_of(child);
	struct weft_file *file = comm->file;
	int err = 0;

	if (file) {
		comm->file = NULL;
		weft_file_drop_split_locked(file);
		weft_range_close(file);
		err = file_close_fd(file);
		weft_cb_close(file, false);
	}
	if (err)
		weft_log_warn("FILE-CLOSE", "%s", weft_err_detail_peek(err));
	weft_disconnect_ops.destroy(child);
	if (file)
		file_destroy(file);
}

static const struct weft_child_ops file_ops = {
	.noun = "file",
	.is_comm = true,
	.start_close = file_start_close,
	.test_close = file_test_close,
	.destroy = file_child_destroy,
};

/* Disconnects the file's communicator together with the other members. */
static int file_disconnect(struct weft_file *file)
{
	struct weft_comm *comm = file->comm;
	struct weft_vci *vci = comm->vci;
	int err;

	weft_vci_lock(vci);
	weft_file_pointer_close_locked(file);
	while (file->pointer.recv)
		weft_progress_wait(vci);
	comm->file = NULL;
	weft_comm_get(comm);
	weft_vci_unlock(vci);
	err = weft_disconnect_wait(comm);
	weft_cb_close(file, !err && !weft_comm_is_revoked(comm));
	weft_vci_lock(vci);
	weft_comm_put(comm);
	weft_vci_unlock(vci);
	file_destroy(file);
	return err;
}

/* The members agree on the error of a close. If the file is revoked, each
 * member closes it alone. */
static int file_agree_on_close(struct weft_file *file, int err)
{
	char why[WEFT_ERR_TEXT];
	int rc;

	snprintf(why, sizeof(why), "%s", err ? weft_err_detail_peek(err) : "");
	rc = weft_file_agree(file, err);
	if (rc != WEFT_ERR_REVOKED)
		return rc;
	return err ? weft_err_set(err, "%s", why) : 0;
}

int weft_file_close(struct weft_file *file)
{
	char why[WEFT_ERR_TEXT];
	int err, leave_err;

	weft_file_finish_split(file);
	weft_file_drain(file, false, "MPI_File_close");
	if (file->reports_stats)
		weft_stat_report(file);
	weft_range_close(file);
	/* rank 0 deletes the file after all others have closed it */
	err = file->folder_fd >= 0 ? 0 : file_close_fd(file);
	err = file_agree_on_close(file, err);
	if (file->amode & WEFT_FILE_DELETE_ON_CLOSE) {
		int first = err;

		snprintf(why, sizeof(why), "%s", weft_err_detail_peek(err));
		err = file_agree_on_close(file, file_close_fd(file));
		if (first)
			err = weft_err_set(first, "%s", why);
	}
	snprintf(why, sizeof(why), "%s", err ? weft_err_detail_peek(err) : "");
	leave_err = file_disconnect(file);
	return err ? weft_err_set(err, "%s", why) : leave_err;
}

void weft_file_revoke(struct weft_file *file)
{
	weft_revoke(file->comm);
}

int weft_file_delete(const char *name)
{
	return weft_syscall_unlink(name);
}

/* ---- opening ---- */

static int file_check_mode(int amode)
{
	const int kinds = WEFT_FILE_RDONLY | WEFT_FILE_RDWR | WEFT_FILE_WRONLY;
	const int all = 2 * WEFT_FILE_WRONLY - 1;
	int kind = amode & kinds;

	if (amode < 0 || amode & ~all)
		return weft_err_set(WEFT_ERR_AMODE,
			"amode 0x%x has the unknown bits 0x%x", (unsigned)amode,
			(unsigned)(amode & ~all));
	if (kind != WEFT_FILE_RDONLY && kind != WEFT_FILE_RDWR &&
		kind != WEFT_FILE_WRONLY)
		return weft_err_set(WEFT_ERR_AMODE,
			"amode 0x%x must have one of MPI_MODE_RDONLY, "
			"MPI_MODE_WRONLY and MPI_MODE_RDWR",
			(unsigned)amode);
	if (kind == WEFT_FILE_RDONLY &&
		(amode & (WEFT_FILE_CREATE | WEFT_FILE_EXCL)))
		return weft_err_set(WEFT_ERR_AMODE,
			"amode has both MPI_MODE_RDONLY and %s",
			amode & WEFT_FILE_CREATE ? "MPI_MODE_CREATE"
						 : "MPI_MODE_EXCL");
	if (kind == WEFT_FILE_RDWR && (amode & WEFT_FILE_SEQUENTIAL))
		return weft_err_set(WEFT_ERR_AMODE,
			"amode has both MPI_MODE_RDWR and MPI_MODE_SEQUENTIAL");
	return 0;
}

/* A write-only file is also opened for reading if permissions allow it, because
 * scatter.h and shared locks need read permission. A sequential write-only file
 * is opened only for writing: it may be a pipe, and this process would become a
 * reader of the pipe. */
static int file_open_fd(struct weft_file *file, int flags, unsigned permissions)
{
	bool is_wronly = file->amode & WEFT_FILE_WRONLY;
	int err, mode = O_RDWR;

	if (file->amode & WEFT_FILE_RDONLY)
		mode = O_RDONLY;
	else if (is_wronly && (file->amode & WEFT_FILE_SEQUENTIAL))
		mode = O_WRONLY;
	err = weft_syscall_open(
		file->name, flags | mode, permissions, &file->fd);
	if (err == WEFT_ERR_ACCESS && is_wronly && mode == O_RDWR) {
		mode = O_WRONLY;
		err = weft_syscall_open(
			file->name, flags | mode, permissions, &file->fd);
	}
	file->is_readable = mode != O_WRONLY;
	return err;
}

/* Rank 0 creates the file before the other members open it. */
static int file_create(
	struct weft_file *file, const struct weft_file_config *config)
{
	const struct weft_stripe wanted = { config->hints.striping_unit,
		config->hints.striping_factor };
	int flags = O_CREAT | (file->amode & WEFT_FILE_EXCL ? O_EXCL : 0);

	if ((wanted.unit || wanted.factor) &&
		weft_stripe_create(
			file->name, config->hints.permissions, &wanted))
		flags = 0;
	return file_open_fd(file, flags, config->hints.permissions);
}

static int file_open_all(
	struct weft_file *file, const struct weft_file_config *config)
{
	bool creates = (file->amode & WEFT_FILE_CREATE) != 0, is_mine;
	int err = 0;

	is_mine = creates && file->comm->rank == 0;
	if (is_mine)
		err = file_create(file, config);
	if (creates)
		err = weft_file_agree(file, err);
	if (err)
		return err;
	if (file->fd < 0)
		err = file_open_fd(file, 0, 0);
	if (!err && file->comm->rank == 0 &&
		(file->amode & WEFT_FILE_DELETE_ON_CLOSE))
		err = weft_syscall_parent(file->name, &file->folder_fd);
	err = weft_file_agree(file, err);
	weft_range_open(file);
	atomic_init(&file->can_store_runs, weft_knob_is_on(weft_knobs.cma));
	/* the open failed and this process has created the file: delete it */
	if (err && is_mine && (file->amode & WEFT_FILE_EXCL)) {
		char why[WEFT_ERR_TEXT];

		snprintf(why, sizeof(why), "%s", weft_err_detail_peek(err));
		weft_syscall_unlink(file->name);
		weft_err_set(err, "%s", why);
	}
	return err;
}

static int file_make_default_view(struct weft_file *file)
{
	struct weft_type *byte = weft_type_builtin(WEFT_TYPE_BYTE);
	struct weft_view_config config = { .etype = byte,
		.filetype = byte,
		.rep = weft_datarep_find("native") };

	return weft_view_make(&config, &file->view);
}

/* MPI_MODE_APPEND: all file pointers begin at the end of the file. */
static int file_seek_to_end(struct weft_file *file)
{
	int64_t size = 0;
	int err = weft_syscall_size(file->fd, file->name, &size);

	file->position = size;
	file->pointer.value = size;
	return weft_file_agree(file, err);
}

/* Initializes the file, without communication. */
static int file_init(
	struct weft_file *file, const struct weft_file_config *config)
{
	int err = config->err ? config->err : file_check_mode(config->amode);

	weft_list_init(&file->colls);
	weft_list_init(&file->active);
	pthread_mutex_init(&file->range_lock, NULL);
	weft_counters_open(&file->counters, WEFT_COUNTER_PROCESS);
	file->fd = file->folder_fd = -1;
	file->range_fds[0] = file->range_fds[1] = -1;
	file->amode = config->amode;
	file->hints = config->hints;
	file->name = strdup(config->name ? config->name : "");
	file->errh = weft_errh_get(weft_file_errh);
	if (!file->name && !err)
		err = weft_err_set(WEFT_ERR_NOMEM, "no memory for a file");
	return err ? err : file_make_default_view(file);
}

static int file_open_agreed(
	struct weft_file *file, const struct weft_file_config *config, int err)
{
	err = file_agree_hints(file, err, config->amode);
	if (!err)
		err = file_open_all(file, config);
	if (!err && (file->amode & WEFT_FILE_APPEND))
		err = file_seek_to_end(file);
	if (!err)
		weft_file_pointer_open(file);
	return err;
}

/* Registers the file with the session, in place of its communicator. */
static void file_attach(struct weft_file *file, struct weft_comm *own)
{
	file->comm = own;
	weft_vci_lock(own->vci);
	snprintf(own->name, sizeof(own->name), "of file %.100s",
		file->name ? file->name : "");
	own->file = file;
	if (own->child.ops)
		own->child.ops = &file_ops;
	weft_vci_unlock(own->vci);
}

int weft_file_open(struct weft_comm *comm,
	const struct weft_file_config *config, struct weft_file **file_out)
{
	char why[WEFT_ERR_TEXT];
	struct weft_comm *own;
	struct weft_file *file = weft_table_new(&weft_files);
	int err, dup_err;

	if (!file)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a file");
	err = file_init(file, config);
	snprintf(why, sizeof(why), "%s", err ? weft_err_detail_peek(err) : "");
	dup_err = weft_create_dup(comm, NULL, &own);
	if (dup_err) {
		file_destroy(file);
		return dup_err;
	}
	if (err)
		weft_err_set(err, "%s", why);
	file_attach(file, own);
	err = file_open_agreed(file, config, err);
	if (!err) {
		*file_out = file;
		return 0;
	}
	snprintf(why, sizeof(why), "%s", weft_err_detail_peek(err));
	if (file->fd >= 0)
		weft_syscall_close(file->fd, file->name);
	file_disconnect(file);
	return weft_err_set(err, "%s", why);
}

/* ---- size and storage ---- */

int weft_file_size(struct weft_file *file, int64_t *size_out)
{
	return weft_syscall_size(file->fd, file->name, size_out);
}

static int file_check_writable(const struct weft_file *file)
{
	if (file->amode & WEFT_FILE_RDONLY)
		return weft_err_set(WEFT_ERR_READ_ONLY,
			"\"%s\" was opened with MPI_MODE_RDONLY",
			weft_syscall_short_name(file->name));
	return 0;
}

typedef int file_size_fn(int fd, const char *name, int64_t size);

/* Rank 0 calls fn for all members. */
static int file_change_size(
	struct weft_file *file, int64_t size, file_size_fn *fn)
{
	const struct weft_file_agreement on = {
		.n_same = 1, .same = { size }, .names = { "size" }
	};
	int err = file_check_writable(file);

	if (!err && size < 0)
		err = weft_err_set(WEFT_ERR_ARG,
			"size is %lld, must be at least 0", (long long)size);
	if (!err && (file->amode & WEFT_FILE_SEQUENTIAL))
		err = weft_err_set(WEFT_ERR_UNSUPPORTED,
			"\"%s\" was opened with MPI_MODE_SEQUENTIAL",
			weft_syscall_short_name(file->name));
	weft_file_drain(file, false, "MPI_File_set_size");
	err = weft_file_agree_on(file, err, &on);
	if (err)
		return err;
	if (file->comm->rank == 0)
		err = fn(file->fd, file->name, size);
	return weft_file_agree(file, err);
}

int weft_file_set_size(struct weft_file *file, int64_t size)
{
	return file_change_size(file, size, weft_syscall_resize);
}

int weft_file_preallocate(struct weft_file *file, int64_t size)
{
	return file_change_size(file, size, weft_syscall_allocate);
}

int weft_file_sync(struct weft_file *file)
{
	int err = 0;

	weft_file_drain(file, false, "MPI_File_sync");
	if (!(file->amode & WEFT_FILE_RDONLY))
		err = weft_syscall_sync(file->fd, file->name);
	return weft_file_agree(file, err);
}

/* ---- atomic mode, hints and views ---- */

int weft_file_set_atomic(struct weft_file *file, bool is_atomic)
{
	const struct weft_file_agreement on = {
		.n_same = 1, .same = { is_atomic }, .names = { "flag" }
	};
	int err = 0;

	/* try a lock, so that this call fails if the file system has no locks,
	 * and no later access does */
	if (is_atomic)
		err = weft_syscall_lock(file->fd, file->name, false, 0, 1);
	if (is_atomic && !err)
		weft_syscall_unlock(file->fd, file->name, 0, 1);
	weft_file_drain(file, false, "MPI_File_set_atomicity");
	err = weft_file_agree_on(file, err, &on);
	if (!err)
		/* release: the accesses before this call happen before an
		 * access that loads the new mode (acquire) */
		atomic_store_explicit(
			&file->is_atomic, is_atomic, memory_order_release);
	return err;
}

int weft_file_set_hints(
	struct weft_file *file, const struct weft_file_hints *hints, int err)
{
	weft_file_drain(file, false, "MPI_File_set_info");
	weft_cb_close(file, !weft_comm_is_revoked(file->comm));
	file->hints = *hints;
	return file_agree_hints(file, err, 0);
}

struct weft_view *weft_file_view(struct weft_file *file)
{
	struct weft_view *view;

	weft_spin_acquire(&file->spin);
	view = weft_view_get(file->view);
	weft_spin_release(&file->spin);
	return view;
}

/* Replaces the view and sets all file pointers to its beginning. */
static void file_replace_view(struct weft_file *file, struct weft_view *view)
{
	struct weft_view *old;

	weft_spin_acquire(&file->spin);
	old = file->view;
	file->view = view;
	file->position = 0;
	weft_spin_release(&file->spin);
	weft_view_put(old);
	if (file->comm->rank == 0)
		weft_file_pointer_set(file, 0);
}

/* The byte offset of the shared pointer, for MPI_DISPLACEMENT_CURRENT. */
static int file_current_disp(struct weft_file *file, int64_t *place_out)
{
	int64_t at = 0;
	int err = weft_file_pointer_fetch_add(file, 0, &at);

	return err ? err : weft_file_byte_offset(file, at, place_out);
}

static int64_t name_hash(const char *name)
{
	int64_t code = 0;

	while (*name)
		code = (code * 31 + (unsigned char)*name++) & 0xffffffff;
	return code;
}

static int file_make_view(struct weft_file *file,
	const struct weft_view_config *config, struct weft_view **view_out)
{
	struct weft_view_config wanted = *config;
	bool is_sequential = (file->amode & WEFT_FILE_SEQUENTIAL) != 0;
	int err = 0;

	wanted.is_writable = !(file->amode & WEFT_FILE_RDONLY);
	if (is_sequential != (config->disp == WEFT_FILE_CURRENT))
		err = weft_err_set(WEFT_ERR_ARG,
			is_sequential ? "disp must be MPI_DISPLACEMENT_CURRENT "
					"in a sequential file"
				      : "disp is MPI_DISPLACEMENT_CURRENT, "
					"which only a sequential file has");
	else if (is_sequential)
		err = file_current_disp(file, &wanted.disp);
	if (!err && !config->rep)
		err = weft_err_set(WEFT_ERR_UNSUPPORTED_DATAREP,
			"datarep is not native, internal, external32 or a "
			"registered one");
	return err ? err : weft_view_make(&wanted, view_out);
}

int weft_file_set_view(struct weft_file *file,
	const struct weft_view_config *config, int err, bool *has_hints)
{
	struct weft_view *view = NULL;
	int64_t is_plain = false, has_none = !*has_hints;
	struct weft_file_agreement on = { .n_same = 2,
		.names = { "the extent of etype",
			"the name of datarep, as a number" },
		.n_least = 2,
		.least = { &is_plain, &has_none } };

	weft_file_drain(file, false, "MPI_File_set_view");
	if (!err)
		err = file_make_view(file, config, &view);
	if (!err) {
		is_plain = weft_view_is_contig(view);
		on.same[0] = config->etype->extent;
		on.same[1] = name_hash(config->rep->name);
	}
	err = weft_file_agree_on(file, err, &on);
	*has_hints = !has_none;
	if (err) {
		weft_view_put(view);
		return err;
	}
	file->has_gaps_in_view = !is_plain;
	file->needs_conversion = config->rep->kind != WEFT_DATAREP_NATIVE;
	if (!is_plain)
		weft_range_start_locking(file);
	file_replace_view(file, view);
	return weft_file_agree(file, 0);
}

int weft_file_byte_offset(
	struct weft_file *file, int64_t offset, int64_t *place_out)
{
	struct weft_view *view;
	int64_t at;

	if (offset < 0)
		return weft_err_set(WEFT_ERR_ARG,
			"offset is %lld, must be at least 0",
			(long long)offset);
	view = weft_file_view(file);
	if (!__builtin_mul_overflow(offset, view->etype_size, &at))
		*place_out = weft_view_byte_offset(view, at);
	else
		*place_out = INT64_MAX;
	weft_view_put(view);
	return 0;
}

/* ---- pointers ---- */

static int file_check_not_sequential(const struct weft_file *file)
{
	if (file->amode & WEFT_FILE_SEQUENTIAL)
		return weft_err_set(WEFT_ERR_UNSUPPORTED,
			"\"%s\" was opened with MPI_MODE_SEQUENTIAL and "
			"has the shared pointer only",
			weft_syscall_short_name(file->name));
	return 0;
}

/* Sets *etypes_out to the end of the file in etypes of the view, rounded up. */
static int file_end(struct weft_file *file, int64_t *etypes_out)
{
	struct weft_view *view = weft_file_view(file);
	int64_t size, unit = view->etype_size;
	int err = weft_syscall_size(file->fd, file->name, &size);

	if (!err && unit)
		*etypes_out =
			(weft_view_bytes_before(view, size) + unit - 1) / unit;
	else
		*etypes_out = 0;
	weft_view_put(view);
	return err;
}

static int file_seek_to(struct weft_file *file, int64_t offset,
	enum weft_file_whence whence, int64_t *position)
{
	int64_t from = whence == WEFT_FILE_SEEK_CUR ? *position : 0, to;
	int err = 0;

	if (whence == WEFT_FILE_SEEK_END)
		err = file_end(file, &from);
	if (err)
		return err;
	if (__builtin_add_overflow(from, offset, &to) || to < 0)
		return weft_err_set(WEFT_ERR_ARG,
			"offset is %lld, and the position would be below 0",
			(long long)offset);
	*position = to;
	return 0;
}

int weft_file_seek(
	struct weft_file *file, int64_t offset, enum weft_file_whence whence)
{
	int64_t position;
	int err = file_check_not_sequential(file);

	if (err)
		return err;
	weft_spin_acquire(&file->spin);
	position = file->position;
	weft_spin_release(&file->spin);
	err = file_seek_to(file, offset, whence, &position);
	if (err)
		return err;
	weft_spin_acquire(&file->spin);
	file->position = position;
	weft_spin_release(&file->spin);
	return 0;
}

int weft_file_position(struct weft_file *file, int64_t *offset_out)
{
	int err = file_check_not_sequential(file);

	if (err)
		return err;
	weft_spin_acquire(&file->spin);
	*offset_out = file->position;
	weft_spin_release(&file->spin);
	return 0;
}

/* All members synchronize before and after the change. So no member reads the
 * new value before its call, or the old value after its call. */
int weft_file_seek_shared(struct weft_file *file, int64_t offset,
	enum weft_file_whence whence, int err)
{
	const struct weft_file_agreement on = { .n_same = 2,
		.same = { offset, whence },
		.names = { "offset", "whence" } };
	int64_t position = 0;

	weft_file_drain(file, false, "MPI_File_seek_shared");
	err = weft_file_agree_on(file, err, &on);
	if (err)
		return err;
	if (file->comm->rank == 0) {
		err = weft_file_pointer_fetch_add(file, 0, &position);
		if (!err)
			err = file_seek_to(file, offset, whence, &position);
		if (!err)
			weft_file_pointer_set(file, position);
	}
	return weft_file_agree(file, err);
}

int weft_file_position_shared(struct weft_file *file, int64_t *offset_out)
{
	return weft_file_pointer_fetch_add(file, 0, offset_out);
}
