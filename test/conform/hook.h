/* SPDX-License-Identifier: BSD-3-Clause */
/* hook: records and limits the calls from a net to its provider
 *
 * Replaces the operations of an open endpoint of any provider. Limits have the
 * same effect as in a provider: a full transmit queue returns "again", and a
 * full address table or table of registrations returns an error. */
#ifndef WEFT_TEST_CONFORM_HOOK_H
#define WEFT_TEST_CONFORM_HOOK_H

#include "net/net.h"

/* Limits that a hook imposes; 0: no limit. */
struct hook_limits {
	uint32_t n_tx; /* operations in flight, without injections */
	uint32_t n_av; /* addresses that can still be added */
	uint32_t n_mr; /* registrations that can still be opened */
};

enum hook_call {
	HOOK_SEND,
	HOOK_INJECT,
	HOOK_RECV,
	HOOK_TSEND,
	HOOK_TRECV,
	HOOK_AV,
	HOOK_MR,
	HOOK_N_CALLS,
};

/* One call and its result. */
struct hook_record {
	enum hook_call call;
	uint64_t len;
	uint64_t flags;
	ssize_t rc;
};

struct hook;

/* Installs a hook on an open net. NULL when out of memory, or when too many
 * nets have hooks. */
struct hook *hook_on(struct weft_net *net, const struct hook_limits *limits);

/* Removes the hook. Called before the net is closed. */
void hook_off(struct hook *hook);

/* hook_count() returns the number of calls of a kind. hook_refused() returns
 * how many of them the provider or a limit refused. */
uint64_t hook_count(const struct hook *hook, enum hook_call call);
uint64_t hook_refused(const struct hook *hook, enum hook_call call);

/* Returns the highest number of active operations. */
uint32_t hook_most(const struct hook *hook);

/* Returns the record of the i-th last call; 0 is the last one. NULL: not
 * recorded any more. */
const struct hook_record *hook_last(const struct hook *hook, size_t i);

/* Prints all counts as one comment line of TAP. */
void hook_print(const struct hook *hook);

#endif
