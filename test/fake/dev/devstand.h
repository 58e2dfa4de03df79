/* SPDX-License-Identifier: BSD-3-Clause */
/* devstand: memory of devices for the stand-ins of drivers; README.md
 *
 * A stand-in holds stand.lock in each of its calls. All functions here need
 * it. */
#ifndef DEVSTAND_H
#define DEVSTAND_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { STAND_MAX_ALLOCS = 1024, STAND_PAGE = 4096 };

enum stand_kind {
	STAND_DEVICE,
	STAND_MANAGED,	  /* host memory that counts as device memory */
	STAND_PINNED,	  /* host memory of the driver */
	STAND_REGISTERED, /* host memory of the program */
	STAND_ALIAS,	  /* registered memory, at the address of the devices */
	STAND_IMPORTED,	  /* device memory of another process */
};

/* The results of a function that can fail. */
enum { STAND_OK, STAND_INVALID, STAND_NO_MEMORY, STAND_CONFLICT };

/* An IPC handle. */
struct stand_handle {
	uint64_t id;   /* of the allocation in its process; 0: any */
	uint64_t base; /* its address there */
	uint64_t len;
	int32_t pid, fd;
};

struct stand_alloc {
	char *base;  /* for the program; NULL: unused */
	char *alias; /* the same memory for the stand-in */
	size_t len, mapped;
	enum stand_kind kind;
	int device;
	uint64_t id;
	int fd;			   /* DEVICE: its memory file */
	struct stand_handle owner; /* IMPORTED */
	int n_opened;		   /* IMPORTED: calls that opened it */
	int n_held;		   /* registrations of network cards */
};

struct stand_copy {
	struct stand_copy *next;
	uint64_t dst, src;
	size_t len;
};

/* Copies that only stand_run() carries out. */
struct stand_queue {
	struct stand_queue *next;
	struct stand_copy *first, **last;
};

extern struct stand {
	pthread_mutex_t lock;
	pid_t pid; /* 0: not started */
	bool owns_all, has_no_ipc;
	int n_devices;
	struct stand_alloc allocs[STAND_MAX_ALLOCS];
	int n_allocs;
	uint64_t n_allocated;
	struct stand_queue *queues;
	long n_queries, n_crossed;
	long n_calls, fail_at;
	long n_pins, pin_fails_at;
	long n_opens, open_fails_at;
	void (*on_open)(void);
} stand;

static inline void stand_lock(void)
{
	pthread_mutex_lock(&stand.lock);
}

static inline int stand_unlock(int err)
{
	pthread_mutex_unlock(&stand.lock);
	return err;
}

/* Evaluates a call with the lock held, and has its result. */
#define LOCKED(call) (stand_lock(), stand_unlock(call))

/* Reads the environment. No effect after the first call. */
void stand_start(void);

/* True in the process that has called stand_start(), not in its children. */
bool stand_is_started(void);

/* Counts a call of the driver. True if the call must fail. */
bool stand_fails(void);

/* The value of a number in the environment. */
long stand_number(const char *name, long otherwise);

/* The allocation of an address. NULL: the driver does not know it. */
struct stand_alloc *stand_alloc_of(uint64_t at);

/* The first allocation with one of these bytes. NULL: none. */
struct stand_alloc *stand_alloc_among(uint64_t at, size_t len);

bool stand_is_host(const struct stand_alloc *a);

/* An entry without an allocation. NULL: there are too many. */
struct stand_alloc *stand_free_entry(void);

int stand_make(
	size_t len, enum stand_kind kind, int device, struct stand_alloc **out);

/* Unmaps the memory and frees the entry. */
void stand_unmake(struct stand_alloc *a);

/* Registers whole pages that are mapped. CONFLICT: they are registered. */
int stand_register(char *at, size_t len, int device, struct stand_alloc **out);

/* Ends the program if a copy that is under way needs the memory. */
void stand_check_unused(const char *call, const struct stand_alloc *a);

/* INVALID: the copy would leave an allocation. */
int stand_move(uint64_t dst, uint64_t src, size_t len);

void stand_queue_init(struct stand_queue *queue);
void stand_queue_fini(struct stand_queue *queue);

/* INVALID as stand_move(). */
int stand_add(
	struct stand_queue *queue, uint64_t dst, uint64_t src, size_t len);

/* Carries out, or drops, the copies. Returns the first error. */
int stand_run(struct stand_queue *queue, bool is_dropped);

/* INVALID: the memory has no handle. */
int stand_export(const struct stand_alloc *a, struct stand_handle *handle);

/* Maps an allocation of another process, or counts the mapping. CONFLICT:
 * another mapping has these addresses of its owner. */
int stand_import(const struct stand_handle *handle, int device, bool is_shared,
	struct stand_alloc **out);

/* Drops a mapping that stand_import() has returned. */
void stand_drop(const char *call, struct stand_alloc *a);

#endif
