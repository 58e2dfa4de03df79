/* SPDX-License-Identifier: BSD-3-Clause */
/* file: files that the processes of a communicator open together
 *
 * A file owns a private duplicate of that communicator, through which it is a
 * child of the session. Each process has a descriptor of its own, a view, and a
 * pointer; the shared pointer is at rank 0.
 *
 * Arguments have been checked: types are committed, counts not negative. What
 * depends on the file (mode, view, offsets) is checked here. No call needs the
 * VCI's lock; any thread, but collective calls on a file are made by one thread
 * at a time, in the same order by all members.
 *
 * Errors: 0, or a negative enum weft_err described by weft_err_set(). Of a
 * collective call all members have the error when one has. MPI-5.0, chapter 14.
 */
#ifndef WEFT_FILE_H
#define WEFT_FILE_H

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
struct weft_stat;
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

/* Where range.h announces an open of a file to others. */
enum { WEFT_FILE_RANGE_FDS = 2 };

/* MPI_DISPLACEMENT_CURRENT */
enum { WEFT_FILE_CURRENT = -1 };

/* Of several members' choices the least counts. */
enum weft_file_choice {
	WEFT_FILE_DISABLE,
	WEFT_FILE_ENABLE,
	WEFT_FILE_AUTOMATIC, /* where it pays */
};

/* The hints that are heeded. */
struct weft_file_hints {
	/* reading several runs as one with the gaps between them */
	enum weft_file_choice read_sieve;
	int64_t read_sieve_max; /* bytes read at once, gaps included */
	/* writing several short runs at once */
	enum weft_file_choice write_sieve;
	int64_t write_sieve_max; /* bytes at once, gaps included */
	unsigned permissions;	 /* of a file that is created */
	/* collective buffering; all members have the least of theirs */
	enum weft_file_choice cb_read, cb_write;
	int64_t cb_nodes;	 /* aggregators; 0: one per node */
	int64_t cb_per_node;	 /* at most; 0: as many as need be */
	int64_t cb_buffer_size;	 /* of a buffer of theirs; 0: a good one */
	int64_t striping_unit;	 /* bytes; 0: what the file system says */
	int64_t striping_factor; /* servers of a file that is created; 0: the
				    same */
};

struct weft_file_config {
	const char *name; /* of the file, without a prefix */
	int amode;	  /* sum of enum weft_file_mode */
	struct weft_file_hints hints;
	int err; /* why this process cannot take part, described; or 0 */
};

/* The shared pointer, and who serves it; pointer.c. */
struct weft_file_pointer {
	int64_t value;	       /* rank 0: etypes; VCI's lock */
	int64_t request[2];    /* rank 0: where questions come */
	struct weft_req *recv; /* rank 0: of the next question, or NULL */
};

/* Created by weft_file_open, destroyed by weft_file_close or with its session.
 */
struct weft_file {
	struct weft_obj obj;
	struct weft_comm *comm; /* its own */
	char *name;
	int amode;
	/* only core/info.c, core/errh.c */
	struct weft_info *info;
	struct weft_errh *errh;
	/* ---- below: only this room ---- */
	int fd;	       /* -1: none */
	int folder_fd; /* rank 0, DELETE_ON_CLOSE: where the name is; or -1 */
	_Atomic bool is_atomic;
	_Atomic bool scatter_works;	  /* scatter.h can be used */
	bool is_readable;		  /* the descriptor */
	_Atomic(enum weft_syscall_fs) fs; /* its file system */
	/* range.h */
	_Atomic bool range_is_locking, range_is_announced;
	int range_fds[WEFT_FILE_RANGE_FDS]; /* its folder, /dev/null; or -1 */
	int64_t range_place;
	bool has_pool;		    /* something was begun; spin */
	bool has_uring;		    /* uring.c */
	pthread_mutex_t range_lock; /* an access that locks a stretch, as such
				       locks are this process's */
	struct weft_file_hints hints;
	struct weft_spin spin; /* guards view and position */
	struct weft_view *view;
	int64_t position; /* etypes */
	struct weft_file_pointer pointer;
	struct weft_link active; /* begun and not done; VCI's lock */
	struct weft_link colls;	 /* collectives begun whose agreement is not;
				    VCI's lock */
	struct weft_file_split *split; /* NULL: none */
	/* of collective buffering, the same at all members */
	struct weft_cb *_Atomic cb; /* NULL: not yet set up */
	bool cb_is_unavailable;	    /* a member cannot */
	bool has_gaps_in_view;	    /* a member's view has gaps */
	bool needs_conversion;	    /* data is not as in memory */
	bool all_have_pool;	    /* threads that move what was begun */
	struct weft_stat *stat;	    /* NULL: not wanted by all, or no memory */
};

extern struct weft_table weft_files;

/* The handler of files to be opened, and of what concerns no file. Any thread.
 */
extern struct weft_errh *weft_file_errh;

/* Collective over comm, an intracommunicator; all fail or none. */
int weft_file_open(struct weft_comm *comm,
	const struct weft_file_config *config, struct weft_file **file_out);

/* Collective; the file is gone afterwards, whatever is returned. */
int weft_file_close(struct weft_file *file);

int weft_file_delete(const char *name);

/* Collective. */
int weft_file_set_size(struct weft_file *file, int64_t size);
int weft_file_preallocate(struct weft_file *file, int64_t size);
int weft_file_sync(struct weft_file *file);
int weft_file_set_atomic(struct weft_file *file, bool is_atomic);
/* err is the caller's own, described, or 0: so nobody takes any. */
int weft_file_set_hints(
	struct weft_file *file, const struct weft_file_hints *hints, int err);

int weft_file_size(struct weft_file *file, int64_t *size_out);

/* Collective; err as above. disp may be WEFT_FILE_CURRENT in sequential mode,
 * and must be. *has_hints is whether the caller has hints to give, and then
 * whether anybody has, so that all do. */
int weft_file_set_view(struct weft_file *file,
	const struct weft_view_config *config, int err, bool *has_hints);

/* The view with a reference of the caller's. */
struct weft_view *weft_file_view(struct weft_file *file);

enum weft_file_whence {
	WEFT_FILE_SEEK_SET,
	WEFT_FILE_SEEK_CUR,
	WEFT_FILE_SEEK_END,
};

/* All in etypes of the view. */
int weft_file_seek(
	struct weft_file *file, int64_t offset, enum weft_file_whence whence);
int weft_file_position(struct weft_file *file, int64_t *offset_out);
/* Collective; err as above. */
int weft_file_seek_shared(struct weft_file *file, int64_t offset,
	enum weft_file_whence whence, int err);
int weft_file_position_shared(struct weft_file *file, int64_t *offset_out);

/* Where in the file that is. */
int weft_file_byte_offset(
	struct weft_file *file, int64_t offset, int64_t *place_out);

/* --- access ------------------------------------------------------------ */

enum weft_file_at {
	WEFT_FILE_AT_OFFSET,
	WEFT_FILE_AT_POSITION, /* the caller's own pointer */
	WEFT_FILE_AT_SHARED,
	WEFT_FILE_AT_ORDERED, /* the shared one, by ranks; collective */
};

/* count items of type at buf, to or from the file. With err, described, an
 * argument of the program's is wrong: the rest is not looked at, and who takes
 * part in a collective hears of it. */
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

/* Blocks. *moved_out is the bytes of memory that were moved, also after an
 * error; fewer than request for where the file ends. */
int weft_file_transfer(struct weft_file *file,
	const struct weft_file_access *access, int64_t *moved_out);

/* Goes on without calls. *req_out has one reference, the caller's; its
 * status.len is what was moved. Buffers are lent until it is done. */
int weft_file_start(struct weft_file *file,
	const struct weft_file_access *access, struct weft_req **req_out);

/* The two halves of a split collective; one at a time. WEFT_ERR_OTHER for an
 * end without its begin, or with another buffer. */
int weft_file_begin(
	struct weft_file *file, const struct weft_file_access *access);
int weft_file_end(struct weft_file *file, const struct weft_file_access *access,
	int64_t *moved_out);

#endif
