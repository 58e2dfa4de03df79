/* SPDX-License-Identifier: BSD-3-Clause */
/* profile: the format of the record that the profile library writes for a
 * process
 *
 * A record is a head and one table per thread, in this order, in a file that
 * the process maps. If the process ends in any way, the file is complete up to
 * its last call. A reader accepts only files of its own build: the head has the
 * sizes of the parts, and the reader refuses other sizes. */
#ifndef WEFT_PROFILE_H
#define WEFT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	WEFT_PROFILE_SITES = 1024, /* per thread; a power of 2 */
	WEFT_PROFILE_PEERS = 1024, /* per thread; a power of 2 */
	WEFT_PROFILE_OBJECTS = 64, /* programs and libraries that call MPI */
	WEFT_PROFILE_SIZES = 48,   /* classes of message sizes */
	WEFT_PROFILE_THREADS = 1024,
	WEFT_PROFILE_EVENTS = 65536,	/* per thread, with a timeline */
	WEFT_PROFILE_PROCEDURES = 4096, /* above the number of procedures */
	WEFT_PROFILE_KEYS = 4,
};

/* The value of key_peer if a call has no peer. */
#define WEFT_PROFILE_NONE UINT32_MAX

/* Value of `proc` in the entry for all further peers, if the table of peers is
 * full. */
#define WEFT_PROFILE_OTHERS UINT64_MAX

/* A call site: a return address and a procedure.
 *
 * A call with the same key as the previous call only decrements `left`. Such
 * calls are pending: mark - left calls are not yet in the numbers below. Every
 * reader first adds them, by weft_profile_site_settle(). */
struct weft_profile_site {
	/* the first cache line is all that a call with the same key accesses */
	uint64_t address; /* 0: free; 1: all sites beyond the table's space */
	uint32_t left;	  /* calls before the next timed call */
	uint32_t mark;	  /* `left` when pending calls were last added */
	uint64_t key[WEFT_PROFILE_KEYS]; /* arguments on which the bytes and the
					  * peer of a call depend */
	uint64_t key_bytes;
	uint32_t key_size; /* class of key_bytes; WEFT_PROFILE_SIZES: the call
			    * transfers no data */
	uint32_t key_peer; /* index in the table, or WEFT_PROFILE_NONE */

	uint32_t procedure;
	uint32_t object; /* index in the head */
	uint64_t offset; /* offset of the call in the object's file */
	uint64_t calls;	 /* without the pending calls */
	uint64_t ticks;	 /* time of all calls; estimated for calls that are not
			  * timed */
	uint64_t shortest, longest;
	uint64_t bytes;
	uint32_t period;  /* value of `left` after the last timed call */
	uint32_t n_short; /* timed calls since the last long call */
	uint32_t n_timed;
	char algorithm[24]; /* last algorithm of a collective; "" if unknown */
	/* number of calls by size: [0] 0 bytes, [i] less than 2^i bytes */
	uint64_t sizes[WEFT_PROFILE_SIZES];
};

/* A peer, to which this process sends or from which it receives. */
struct weft_profile_peer {
	uint64_t proc;		  /* process number + 1; 0: free */
	uint64_t messages, bytes; /* sent, put or got by this process */
	uint64_t waits;		  /* ticks in blocking receives from the peer */
};

/* A call in a timeline, and the message that it sends or receives. Ranks are
 * those of the communicator. */
struct weft_profile_event {
	uint64_t start, end; /* ticks */
	uint64_t context;    /* id of the communicator */
	uint64_t bytes;
	uint32_t procedure;
	int32_t me, to, to_tag, from, from_tag;
	bool sends, receives; /* which message fields are valid */
};

/* The table of a thread. The file has holes, so an unused part uses no storage.
 */
struct weft_profile_table {
	/* always zeroed: the site of procedures without a call, whose offset in
	 * latest[] is 0 */
	struct weft_profile_site none;
	/* by procedure: offset of its last site in the table */
	uint32_t latest[WEFT_PROFILE_PROCEDURES];
	uint64_t first, last; /* ticks at the start of its first call and at the
				 end of its last timed call or sleep */
	uint32_t n_sites, n_peers;
	uint32_t n_events, max_events; /* max_events 0: no timeline */
	uint64_t n_dropped;	       /* calls beyond max_events */
	struct weft_profile_site sites[WEFT_PROFILE_SITES];
	struct weft_profile_peer peers[WEFT_PROFILE_PEERS];
	struct weft_profile_event events[WEFT_PROFILE_EVENTS];
};

struct weft_profile_head {
	char magic[8];
	uint64_t head_len, table_len;
	uint64_t proc;	/* process number: job in the upper half, rank */
	double tick_s;	/* seconds per tick */
	double epoch_s; /* time of day at epoch_ticks */
	uint64_t epoch_ticks;
	uint32_t pid;
	uint32_t n_tables;
	uint32_t n_objects;
	/* used by the lowest rank of a node: its clock compared with that of
	 * rank 0, at the start and the end of the job */
	uint32_t n_clocks;
	struct {
		double at_s;	 /* time of this clock */
		double offset_s; /* this clock minus that of rank 0 */
	} clocks[2];
	char host[256];
	char program[256];
	char objects[WEFT_PROFILE_OBJECTS][256]; /* paths of the objects */
};

#define WEFT_PROFILE_MAGIC "weftprf2"

/* Returns the time of day of a tick count of the record. */
static inline double weft_profile_seconds(
	const struct weft_profile_head *head, uint64_t ticks)
{
	return head->epoch_s +
	       (double)(int64_t)(ticks - head->epoch_ticks) * head->tick_s;
}

/* A procedure of the interface. */
struct weft_profile_name {
	const char *name;
	bool waits;	/* waits for another process */
	bool completes; /* completes nonblocking receives */
	bool receives;	/* waits for a message of one rank */
};

/* Adds the pending calls of a site to its numbers and to those of the peer. */
static inline void weft_profile_site_settle(
	struct weft_profile_table *table, struct weft_profile_site *site)
{
	uint64_t n = site->mark - site->left;

	site->mark = site->left;
	site->calls += n;
	if (site->key_size == WEFT_PROFILE_SIZES)
		return;
	site->bytes += n * site->key_bytes;
	site->sizes[site->key_size] += n;
	if (site->key_peer == WEFT_PROFILE_NONE)
		return;
	table->peers[site->key_peer].messages += n;
	table->peers[site->key_peer].bytes += n * site->key_bytes;
}

/* True if the value of WEFT_PROFILE requests a timeline. */
static inline bool weft_profile_is_trace(const char *value)
{
	size_t len = strlen(value);

	return len >= 10 && !strcmp(value + len - 10, "trace.json");
}

/* Generated: the procedures by number. */
extern const struct weft_profile_name weft_profile_names[];
extern const uint32_t weft_profile_n_names;

#endif
