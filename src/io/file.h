/* SPDX-License-Identifier: BSD-3-Clause */
/* file: files that the processes of a communicator open together
 *
 * A file owns a private duplicate of the communicator, which makes it a child
 * of the session. Each member has its own descriptor, view and file pointer.
 * Rank 0 holds the shared file pointer.
 *
 * The caller has checked arguments that do not depend on the file: types are
 * committed, counts are not negative. This room checks mode, view and offsets.
 * The VCI's lock is not held, unless a function ends in _locked. Any thread may
 * call; collective calls on one file are made by one thread at a time, in the
 * same order at all members.
 *
 * Functions return 0 or a negative enum weft_err that weft_err_set() described.
 * If a collective call fails at one member, it fails at all. MPI-5.0, chapter
 * 14. */
#ifndef WEFT_FILE_H
#define WEFT_FILE_H

#include "base/counter.h"
#include "base/err.h"
#include "base/handle.h"
#include "base/list.h"
#include "base/lock.h"
#include "core/comm.h"
#include "dt/type.h"
#include "io/datarep.h"
#include "io/syscall.h"
#include "io/view.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct weft_errh;
struct weft_cb;
struct weft_file_split;
struct weft_info;
struct weft_req;

/* The values are those of the standard ABI. */
enum weft_file_mode {
	WEFT_FILE_APPEND = 1,
	WEFT_FILE_CREATE = 2,
	WEFT_FILE_DELETE_ON_CLOSE = 4,
	WEFT_FILE_EXCL = 8,
	WEFT_FILE_RDONLY = 16,
	WEFT_FILE_RDWR = 32,
	WEFT_FILE_SEQUENTIAL = 64,
	WEFT_FILE_UNIQUE_OPEN = 128,
	WEFT_FILE_WRONLY = 256,
};

/* Files in which range.c announces an open file to other processes. */
enum { WEFT_FILE_RANGE_FDS = 2 };

/* MPI_DISPLACEMENT_CURRENT */
enum { WEFT_FILE_CURRENT = -1 };

/* If members differ, the lowest value applies to all. */
enum weft_file_choice {
	WEFT_FILE_DISABLE,
	WEFT_FILE_ENABLE,
	WEFT_FILE_AUTOMATIC, /* the library decides for each access */
};

/* The hints that have an effect. */
struct weft_file_hints {
	enum weft_file_choice read_sieve; /* data sieving */
	int64_t read_sieve_max;		  /* bytes read at once, with gaps */
	enum weft_file_choice write_sieve;
	int64_t write_sieve_max;
	unsigned permissions; /* of a created file */
	/* collective buffering; the lowest value of the members applies */
	enum weft_file_choice cb_read, cb_write;
	int64_t cb_nodes;	 /* aggregators; 0: one per node */
	int64_t cb_per_node;	 /* limit; 0: none */
	int64_t cb_buffer_size;	 /* bytes; 0: the default of weft_cb_len() */
	int64_t striping_unit;	 /* bytes; 0: as the file system reports */
	int64_t striping_factor; /* servers; 0: the file system's default */
};

struct weft_file_config {
	const char *name; /* without a prefix such as ufs: */
	int amode;	  /* sum of enum weft_file_mode */
	struct weft_file_hints hints;
	int err; /* error in this process's arguments, described, or 0 */
};

/* The shared file pointer, at rank 0; pointer.c. */
struct weft_file_pointer {
	int64_t value;	       /* etypes; VCI's lock */
	int64_t request[2];    /* receive buffer */
	struct weft_req *recv; /* receive of the next request, or NULL */
};

/* Created by weft_file_open, destroyed by weft_file_close or with its session.
 */
struct weft_file {
	struct weft_obj obj;
	struct weft_comm *comm; /* private duplicate */
	char *name;
	int amode;
	/* only core/info.c, core/errh.c */
	struct weft_info *info;
	struct weft_errh *errh;
	/* ---- private to this room ---- */
	int fd;	       /* -1: none */
	int folder_fd; /* rank 0, DELETE_ON_CLOSE: directory of the name; or -1
			*/
	_Atomic bool is_atomic;
	_Atomic bool can_store_runs;	  /* scatter.h can be used */
	bool is_readable;		  /* fd permits reading */
	_Atomic(enum weft_syscall_fs) fs; /* its file system */
	/* range.h */
	_Atomic bool range_is_locking, range_is_announced;
	int range_fds[WEFT_FILE_RANGE_FDS]; /* directory, /dev/null; or -1 */
	int64_t range_place;
	bool has_pool;		    /* holds a reference to the pool; spin */
	bool has_uring;		    /* uring.c */
	pthread_mutex_t range_lock; /* held while a range of the file is locked:
				       the kernel's lock does not exclude other
				       threads of this process */
	struct weft_file_hints hints;
	struct weft_spin spin; /* guards view and position */
	struct weft_view *view;
	int64_t position; /* individual file pointer, etypes */
	struct weft_file_pointer pointer;
	struct weft_link active; /* nonblocking accesses that are not done;
				    VCI's lock */
	struct weft_link colls;	 /* nonblocking collective accesses whose
				    agreement has not started; VCI's lock */
	struct weft_file_split *split; /* pending split collective, or NULL */
	/* collective buffering, the same at all members */
	struct weft_cb *_Atomic cb; /* NULL: not yet set up */
	bool cb_is_unavailable;	    /* a member has no buffer */
	bool has_gaps_in_view;	    /* a member's view has gaps */
	bool needs_conversion;	    /* not a native representation */
	bool all_have_pool;	    /* no member has WEFT_IO_THREADS=0 */
	bool reports_stats;	    /* all members have WEFT_STATS=1 */
	struct weft_counters counters;
};

extern struct weft_table weft_files;

/* The error handler of MPI_FILE_NULL, which new files inherit. Any thread. */
extern struct weft_errh *weft_file_errh;

/* Collective over comm, an intracommunicator; all members fail or none. */
int weft_file_open(struct weft_comm *comm,
	const struct weft_file_config *config, struct weft_file **file_out);

/* Collective; destroys the file also when it returns an error. */
int weft_file_close(struct weft_file *file);

int weft_file_delete(const char *name);

/* Collective. */
int weft_file_set_size(struct weft_file *file, int64_t size);
int weft_file_preallocate(struct weft_file *file, int64_t size);
int weft_file_sync(struct weft_file *file);
int weft_file_set_atomic(struct weft_file *file, bool is_atomic);
/* err is an error of the caller's arguments, described, or 0; all members
 * return the error of one. */
int weft_file_set_hints(
	struct weft_file *file, const struct weft_file_hints *hints, int err);

int weft_file_size(struct weft_file *file, int64_t *size_out);

/* Collective; err as above. disp is WEFT_FILE_CURRENT if and only if the file
 * is sequential. *has_hints is true if the caller will call
 * weft_file_set_hints(). On return it is true if any member will, and then all
 * members must call it. */
int weft_file_set_view(struct weft_file *file,
	const struct weft_view_config *config, int err, bool *has_hints);

/* The view, with a new reference that the caller owns. */
struct weft_view *weft_file_view(struct weft_file *file);

enum weft_file_whence {
	WEFT_FILE_SEEK_SET,
	WEFT_FILE_SEEK_CUR,
	WEFT_FILE_SEEK_END,
};

/* Offsets are in etypes of the view. */
int weft_file_seek(
	struct weft_file *file, int64_t offset, enum weft_file_whence whence);
int weft_file_position(struct weft_file *file, int64_t *offset_out);
/* Collective; err as above. */
int weft_file_seek_shared(struct weft_file *file, int64_t offset,
	enum weft_file_whence whence, int err);
int weft_file_position_shared(struct weft_file *file, int64_t *offset_out);

/* Converts an offset in etypes of the view to a byte offset in the file. */
int weft_file_byte_offset(
	struct weft_file *file, int64_t offset, int64_t *place_out);

/* --- access ------------------------------------------------------------ */

enum weft_file_at {
	WEFT_FILE_AT_OFFSET,
	WEFT_FILE_AT_POSITION, /* individual file pointer */
	WEFT_FILE_AT_SHARED,   /* shared file pointer */
	WEFT_FILE_AT_ORDERED,  /* shared, in the order of ranks; collective */
};

/* A transfer of count items of type between buf and the file. If err,
 * described, is not 0, an argument of the program is wrong and the other fields
 * are not read; the other members of a collective access get the error. */
struct weft_file_access {
	int err;
	bool is_write;
	bool is_collective;
	enum weft_file_at at;
	int64_t offset; /* AT_OFFSET: etypes */
	void *buf;	/* const for what is written */
	int64_t count;
	struct weft_type *type;
};

/* Blocking access. *moved_out is the number of bytes of memory that were moved,
 * also after an error; fewer than requested at the end of the file. */
int weft_file_transfer(struct weft_file *file,
	const struct weft_file_access *access, int64_t *moved_out);

/* Nonblocking access; it progresses without further calls. The caller owns the
 * one reference of *req_out, whose status.len is the number of bytes moved. The
 * buffer belongs to the access until the request completes. */
int weft_file_start(struct weft_file *file,
	const struct weft_file_access *access, struct weft_req **req_out);

/* The two calls of a split collective; one per file at a time. WEFT_ERR_OTHER
 * for an end without the matching begin. */
int weft_file_begin(
	struct weft_file *file, const struct weft_file_access *access);
int weft_file_end(struct weft_file *file, const struct weft_file_access *access,
	int64_t *moved_out);

#endif
