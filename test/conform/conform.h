/* SPDX-License-Identifier: BSD-3-Clause */
/* conform: common parts of the suite
 *
 * The suite uses the interface of net/net.h. Built for Weft's shared memory
 * (CONFORM_OWN), test/conform/own.c implements the same interface. */
#ifndef WEFT_TEST_CONFORM_H
#define WEFT_TEST_CONFORM_H

#include "base/clock.h"
#include "net/net.h"

#ifdef CONFORM_OWN
#include "test/conform/own.h"
#endif

enum {
	DEADLINE_S = 90,
	SKIP = 77,
	BIG = 4 << 20,
};

/* The running case checks untagged messages that arrive. */
struct side {
	int rank;
	int fd; /* socket to the other side */
	struct weft_net *net;
	uint64_t peer;
	const char *provider;
	uint64_t n_got;
	uint64_t n_pings; /* messages for which the bench waits; part of
			   * n_got */
	uint64_t n_bad;
	size_t want_len;
	size_t last_len;
	uint64_t next_seq;
};

struct wait_op {
	struct weft_op op;
	int n_done;
	int err;
	size_t len;
};

extern int n_tests;
extern int n_failed;

/* Prints one line of TAP at side 0. Side 1 prints one only for a failure.
 */
void claim(const struct side *s, bool ok, const char *sentence);

/* Reports a claim that is skipped, with the reason. */
void claim_not(const struct side *s, const char *sentence, const char *why);

void die(const struct side *s, const char *what) __attribute__((noreturn));

/* Runs one round of a wait that began at start. Ends the process after the
 * deadline. */
void tick(const struct side *s, uint64_t start, const char *what);

void op_init(struct wait_op *w);
int op_wait(const struct side *s, struct wait_op *w, const char *what);
void wait_got(const struct side *s, uint64_t n, const char *what);

/* Runs a barrier of both sides. Makes progress on the fabric while it waits. */
void sync_sides(const struct side *s);
void swap_bytes(
	const struct side *s, const void *mine, void *theirs, size_t len);

/* Resets the counters. Messages must have len bytes; SIZE_MAX: any length. */
void expect(struct side *s, size_t len);

/* Calls expect() on both sides, at the start of a case. */
void begin(struct side *s, size_t len);

/* The values of the bytes depend on their position and on seed. */
unsigned char pattern(size_t i, uint64_t seed);
void fill(unsigned char *buf, size_t len, uint64_t seed);
bool is_filled(const unsigned char *buf, size_t len, uint64_t seed);
void make_msg(unsigned char *buf, size_t len, uint64_t seq);

/* The receive function of every net of the suite; arg is its struct side. */
void on_recv(void *arg, const void *data, size_t len);

/* Posts that retry on back-pressure. cut: length of the first of two pieces; 0:
 * one piece. The functions named post_ return the result of the post. */
void send_inject(const struct side *s, const void *buf, size_t len);
int post_send(const struct side *s, const void *buf, size_t len, size_t cut,
	struct wait_op *w);
int post_tsend(const struct side *s, const void *buf, size_t len, uint64_t tag,
	struct wait_op *w);
int post_trecv(const struct side *s, void *buf, size_t len, uint64_t tag,
	struct wait_op *w);

/* Runs fn in a process of its own and returns its result, or 1 if it did not
 * return; its claims count as those of this process. State that a provider
 * keeps for a process (verbs: threads, channels) does not survive a fork. A
 * process that forks must therefore not have opened a provider, so each part
 * that forks runs in a process of its own. */
int apart(int (*fn)(void *arg), void *arg);

/* cases.c: cases between the two sides, which run them in the same order. */
void run_cases(struct side *s);

/* alone.c: cases with one process, or with one process and a child that
 * ends. */
void run_alone(const struct side *s);

/* limits.c: two nets in one process, with exhausted tables. */
void run_limits(const char *provider);

/* bench.c: prints latency and bandwidth. */
void bench(struct side *s);

#endif
