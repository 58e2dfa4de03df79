/* SPDX-License-Identifier: BSD-3-Clause */
/* file: files that the processes of a communicator open together
 *
 * A file owns a private duplicate of the communicator, which makes it a child
 * of the session. Each member has its own descriptor, view and file pointer.
 * Rank 0 holds the shared file pointer.
 *
 * The caller has checked arguments that do not depend on the file: types are
 * committed, counts are not negative. This room checks mode, view and offsets.
 * The VCI's lock is not held, unless the name of a function ends in _locked.
 * Any thread may call. One thread at a time makes collective calls on a file,
 * in the same order at all members.
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

/* Descriptors on which range.c locks a byte, to announce a writer to other
 * processes. */
enum { WEFT_FILE_RANGE_FDS = 2 };

/* MPI_DISPLACEMENT_CURRENT */
enum { WEFT_FILE_CURRENT = -1 };

/* The value of a hint that enables a method. */
enum weft_file_choice {
	WEFT_FILE_DISABLE,
	WEFT_FILE_ENABLE,
	WEFT_FILE_AUTOMATIC, /* the library chooses for each access */
};

/* The hints that the library uses. */
struct weft_file_hints {
	enum weft_file_choice read_sieve; /* data sieving */
	int64_t read_sieve_max;		  /* bytes of one transfer, with gaps */
	enum weft_file_choice write_sieve;
	int64_t write_sieve_max;
	unsigned permissions; /* of a created file */
	/* collective buffering; the lowest value of the members applies, up to
	 * striping_unit */
	enum weft_file_choice cb_read, cb_write;
	int64_t cb_nodes;    /* aggregators; 0: one per node, or as many as
				cb_per_node permits */
	int64_t cb_per_node; /* aggregators on a node, at most; 0: no limit */
	int64_t cb_buffer_size;	 /* bytes; 0: the default of weft_cb_len() */
	int64_t striping_unit;	 /* bytes; 0: as the file system reports */
	int64_t striping_factor; /* servers for a file that rank 0 creates; 0:
				    the file system's default */
};

struct weft_file_config {
	const char *name; /* without a prefix such as ufs: */
	int amode;	  /* bits of enum weft_file_mode */
	struct weft_file_hints hints;
	int err; /* error in this process's arguments, described, or 0 */
};

/* The shared file pointer, at rank 0; pointer.c. */
struct weft_file_pointer {
	int64_t value;	       /* etypes; guarded by the VCI's lock */
	int64_t request[2];    /* buffer of the receive */
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
	void *stage; /* only mpi_transfer.c: copies of the buffer of a split
			collective that is in device memory; NULL: none */
	/* ---- private to this room ---- */
	int fd;	       /* descriptor of the file; -1: none */
	int folder_fd; /* rank 0, DELETE_ON_CLOSE: directory of the name; or -1
			*/
	_Atomic bool is_atomic;
	_Atomic bool can_store_runs;	  /* scatter.h can be used */
	bool is_readable;		  /* fd permits reading */
	_Atomic(enum weft_syscall_fs) fs; /* kind of the file system */
	/* range.c: this process locks the ranges that it writes; this process
	 * has announced whether it does */
	_Atomic bool range_is_locking, range_is_announced;
	int range_fds[WEFT_FILE_RANGE_FDS]; /* directory, /dev/null; or -1 */
	int64_t range_offset; /* byte offset of the announcements in range_fds
			       */
	bool has_pool;	      /* has a pool reference; guarded by spin */
	bool has_uring;	      /* set by uring.c */
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
	/* for collective buffering; same values at all members, except cb */
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

/* Collective over comm, an intracommunicator. If the call fails at one member,
 * it fails at all. */
int weft_file_open(struct weft_comm *comm,
	const struct weft_file_config *config, struct weft_file **file_out);

/* Collective. Closes and destroys the file, even if the function returns an
 * error. */
int weft_file_close(struct weft_file *file);

/* Revokes the file at all live members; any thread. Later accesses fail with
 * WEFT_ERR_REVOKED, and so do collective calls, also those that wait. Pending
 * accesses that are not collective complete normally. Closing the file waits
 * for no member. */
void weft_file_revoke(struct weft_file *file);

int weft_file_delete(const char *name);

/* Collective. */
int weft_file_set_size(struct weft_file *file, int64_t size);
int weft_file_preallocate(struct weft_file *file, int64_t size);
int weft_file_sync(struct weft_file *file);
int weft_file_set_atomic(struct weft_file *file, bool is_atomic);
/* err is a described error of the caller's arguments, or 0. If a member has an
 * error, all members return an error. */
int weft_file_set_hints(
	struct weft_file *file, const struct weft_file_hints *hints, int err);

int weft_file_size(struct weft_file *file, int64_t *size_out);

/* Collective; err as for weft_file_set_hints(). config->disp must be
 * WEFT_FILE_CURRENT if and only if the file is sequential. The caller sets
 * *has_hints if it will call weft_file_set_hints(). On return, *has_hints is
 * true if any member has set it; then all members must call
 * weft_file_set_hints(). */
int weft_file_set_view(struct weft_file *file,
	const struct weft_view_config *config, int err, bool *has_hints);

/* Returns the view of the file, with a new reference that the caller owns. */
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
/* Collective; err as for weft_file_set_hints(). */
int weft_file_seek_shared(struct weft_file *file, int64_t offset,
	enum weft_file_whence whence, int err);
int weft_file_position_shared(struct weft_file *file, int64_t *offset_out);

/* Sets *place_out to the byte offset in the file of an offset in etypes of the
 * view. */
int weft_file_byte_offset(
	struct weft_file *file, int64_t offset, int64_t *place_out);

/* --- access ------------------------------------------------------------ */

enum weft_file_at {
	WEFT_FILE_AT_OFFSET,
	WEFT_FILE_AT_POSITION, /* individual file pointer */
	WEFT_FILE_AT_SHARED,   /* shared file pointer */
	WEFT_FILE_AT_ORDERED,  /* shared, in the order of ranks; collective */
};

/* A transfer of count items of `type` between buf and the file. If err is not
 * 0, it is a described error of the program's arguments, and buf, count and
 * type are not read. The other members of a collective access return this
 * error, too. */
struct weft_file_access {
	int err;
	bool is_write;
	bool is_collective;
	enum weft_file_at at;
	int64_t offset; /* AT_OFFSET: etypes */
	void *buf;	/* of a write: not changed */
	int64_t count;
	struct weft_type *type;
};

/* Blocking access. Sets *moved_out to the number of bytes of memory that were
 * transferred, also on an error. At the end of the file, a read transfers less
 * than requested. */
int weft_file_transfer(struct weft_file *file,
	const struct weft_file_access *access, int64_t *moved_out);

/* Nonblocking access. Its data moves without further calls, unless no thread
 * can move it: WEFT_IO_THREADS is 0, or a function of the program converts the
 * data. Then the call itself moves the data. The agreement of a collective
 * access is a nonblocking collective, which needs progress. The caller owns the
 * one reference of *req_out. The status.len of the request is the number of
 * bytes of memory transferred. The program must not use the buffer until the
 * request completes. */
int weft_file_start(struct weft_file *file,
	const struct weft_file_access *access, struct weft_req **req_out);

/* weft_file_begin() starts a split collective, and weft_file_end() waits for
 * it. A file has at most one split collective. WEFT_ERR_OTHER: one is pending
 * at weft_file_begin(), or none matches weft_file_end(). */
int weft_file_begin(
	struct weft_file *file, const struct weft_file_access *access);
int weft_file_end(struct weft_file *file, const struct weft_file_access *access,
	int64_t *moved_out);

#endif
