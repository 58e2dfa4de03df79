/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_sim: all members of a communicator in one process
 *
 * The simulation records the steps that the algorithms write (coll/sched.h). It
 * executes them individually, with the messages between the members, in an
 * order that a seed selects. The data of a send may be read immediately, or
 * only when its receive is written. A receive may be written as late as
 * possible: when no member can continue without it. A step that changes data
 * that a message still needs therefore gives a wrong result in one of the
 * orders. */
#ifndef WEFT_TEST_COLL_SIM_H
#define WEFT_TEST_COLL_SIM_H

#include "coll/coll_algo.h"
#include "core/group.h"
#include "dt/pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { SIM_MAX = 80, SIM_WHAT = 300 };

enum sim_order { SIM_EARLY, SIM_LATE, SIM_MIXED, SIM_ORDERS };

struct sim_msg {
	struct sim_msg *next; /* next message of the pair, while its send or
			       * receive is missing */
	const struct weft_step *send, *recv;
	int32_t from, to;
	void *packed; /* data that was read immediately */
};

struct sim_member {
	struct weft_sched sched;
	struct weft_comm comm;
	struct weft_coll_view view;
	struct weft_coll args;
	struct weft_step *steps;
	size_t n_steps, n_room, at;
	size_t n_pending;
	bool is_held; /* the test has stopped the member */
};

struct sim {
	int32_t n;
	enum sim_order order;
	uint64_t seed;
	const char *what; /* description of the case, for failures */
	struct sim_member *members;
	struct sim_msg *half[SIM_MAX][SIM_MAX]; /* messages of each pair that
						 * lack the send or the receive,
						 * in order */
	struct sim_msg **ready;			/* messages with both sides */
	size_t n_ready, n_room;
};

static inline uint32_t sim_rnd(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*seed >> 33) % n;
}

/* ---- members ---- */

static inline void sim_add(
	struct weft_sched *sched, const struct weft_step *step)
{
	struct sim_member *m = (struct sim_member *)sched;

	if (m->n_steps == m->n_room) {
		m->n_room = m->n_room ? 2 * m->n_room : 64;
		m->steps = realloc(m->steps, m->n_room * sizeof(*m->steps));
		assert_non_null(m->steps);
	}
	m->steps[m->n_steps++] = *step;
}

/* Opens a simulation of n members without steps. */
static inline void sim_open(struct sim *sim, int32_t n, const char *what)
{
	*sim = (struct sim){ .n = n, .what = what };
	assert_true(n <= SIM_MAX);
	sim->members = calloc((size_t)n, sizeof(*sim->members));
	assert_non_null(sim->members);
	for (int32_t i = 0; i < n; i++) {
		struct sim_member *m = &sim->members[i];

		m->sched.add = sim_add;
		m->comm.rank = i;
		m->comm.size = m->comm.remote_size = n;
		m->view = weft_coll_view_of(&m->comm);
		m->args.comm = &m->comm;
		m->args.ctx_offset = WEFT_CTX_OFFSET_COLL;
	}
}

static inline void sim_close(struct sim *sim)
{
	for (int32_t i = 0; i < sim->n; i++) {
		weft_sched_free_tmps(&sim->members[i].sched);
		free(sim->members[i].steps);
	}
	free(sim->members);
	free(sim->ready);
}

/* ---- messages ---- */

static inline void sim_fail(const struct sim *sim, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));
static inline void sim_fail(const struct sim *sim, const char *format, ...)
{
	char text[SIM_WHAT];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	fail_msg("%s: %s", sim->what, text);
	abort();
}

static inline int64_t sim_len(const struct weft_span *span)
{
	return span->count ? span->count * span->type->size : 0;
}

/* Reads the data of a send immediately. */
static inline void sim_pack(struct sim_msg *msg)
{
	const struct weft_span *span = &msg->send->span;
	int64_t len = sim_len(span);

	msg->packed = malloc((size_t)len + 1);
	assert_non_null(msg->packed);
	if (len)
		assert_int_equal(
			weft_type_copy(span->type, span->count, span->buf,
				weft_type_builtin(WEFT_TYPE_BYTE), len,
				msg->packed),
			0);
}

static inline void sim_pair(struct sim *sim, struct sim_msg *msg)
{
	if (sim_len(&msg->send->span) != sim_len(&msg->recv->span))
		sim_fail(sim, "%d sends %lld bytes, %d waits for %lld",
			(int)msg->from, (long long)sim_len(&msg->send->span),
			(int)msg->to, (long long)sim_len(&msg->recv->span));
	if (sim->n_ready == sim->n_room) {
		sim->n_room = sim->n_room ? 2 * sim->n_room : 64;
		sim->ready = realloc(
			sim->ready, sim->n_room * sizeof(struct sim_msg *));
		assert_non_null(sim->ready);
	}
	sim->ready[sim->n_ready++] = msg;
}

/* Finds the first message of the pair that lacks this side, or creates one. */
static inline struct sim_msg *sim_match(
	struct sim *sim, int32_t from, int32_t to, bool is_send)
{
	struct sim_msg **at = &sim->half[from][to], *msg = *at;

	if (msg && (is_send ? !msg->send : !msg->recv)) {
		*at = msg->next;
		return msg;
	}
	msg = calloc(1, sizeof(*msg));
	assert_non_null(msg);
	msg->from = from;
	msg->to = to;
	while (*at)
		at = &(*at)->next;
	*at = msg;
	return msg;
}

static inline void sim_message(
	struct sim *sim, int32_t me, const struct weft_step *step)
{
	bool is_send = step->kind == WEFT_STEP_SEND;
	struct sim_msg *msg;

	if (step->rank == WEFT_PROC_NULL)
		return;
	if (step->rank < 0 || step->rank >= sim->n)
		sim_fail(sim, "%d names rank %d", (int)me, (int)step->rank);
	if (step->comm != &sim->members[me].comm)
		sim_fail(sim, "%d uses another communicator", (int)me);
	msg = is_send ? sim_match(sim, me, step->rank, true)
		      : sim_match(sim, step->rank, me, false);
	if (is_send)
		msg->send = step;
	else
		msg->recv = step;
	sim->members[me].n_pending++;
	if (is_send &&
		(sim->order == SIM_EARLY ||
			(sim->order == SIM_MIXED && sim_rnd(&sim->seed, 2)))) {
		sim_pack(msg);
		sim->members[me].n_pending--;
	}
	if (msg->send && msg->recv)
		sim_pair(sim, msg);
}

static inline void sim_deliver(struct sim *sim, size_t i)
{
	struct sim_msg *msg = sim->ready[i];
	const struct weft_span *from = &msg->send->span;
	const struct weft_span *to = &msg->recv->span;
	int64_t len = sim_len(from);
	int err = 0;

	sim->ready[i] = sim->ready[--sim->n_ready];
	if (len && msg->packed)
		err = weft_type_copy(weft_type_builtin(WEFT_TYPE_BYTE), len,
			msg->packed, to->type, to->count, to->buf);
	else if (len)
		err = weft_type_copy(from->type, from->count, from->buf,
			to->type, to->count, to->buf);
	if (err)
		sim_fail(sim, "message from %d to %d: error %d", (int)msg->from,
			(int)msg->to, err);
	if (!msg->packed)
		sim->members[msg->from].n_pending--;
	sim->members[msg->to].n_pending--;
	free(msg->packed);
	free(msg);
}

/* ---- execution ---- */

static inline bool sim_can_go_on(const struct sim_member *m)
{
	return !m->is_held && m->at < m->n_steps &&
	       (m->steps[m->at].kind != WEFT_STEP_FENCE || !m->n_pending);
}

static inline bool sim_is_done(const struct sim_member *m)
{
	return m->at == m->n_steps && !m->n_pending;
}

static inline void sim_step(struct sim *sim, int32_t me)
{
	struct sim_member *m = &sim->members[me];
	const struct weft_step *step = &m->steps[m->at++];
	int err = 0;

	if (step->kind == WEFT_STEP_SEND || step->kind == WEFT_STEP_RECV)
		sim_message(sim, me, step);
	else if (step->kind == WEFT_STEP_REDUCE && !step->op->is_builtin)
		weft_redop_call(step->op, step->in, step->span.buf,
			step->span.count, step->span.type);
	else if (step->kind != WEFT_STEP_FENCE)
		err = weft_step_local(&m->sched, step);
	if (err)
		sim_fail(sim, "step %zu of %d: error %d", m->at - 1, (int)me,
			err);
}

/* Returns a member that can continue, or -1. */
static inline int32_t sim_pick(struct sim *sim)
{
	int32_t first = (int32_t)sim_rnd(&sim->seed, (uint32_t)sim->n);

	for (int32_t i = 0; i < sim->n; i++)
		if (sim_can_go_on(&sim->members[(first + i) % sim->n]))
			return (first + i) % sim->n;
	return -1;
}

/* Runs until no member can continue. Members may be held, so that is no
 * failure. */
static inline void sim_advance(struct sim *sim)
{
	for (;;) {
		bool is_message = sim->n_ready &&
				  (sim->order == SIM_EARLY ||
					  (sim->order == SIM_MIXED &&
						  sim_rnd(&sim->seed, 2)));
		int32_t me = is_message ? -1 : sim_pick(sim);

		if (me >= 0)
			do
				sim_step(sim, me);
			while (sim->order != SIM_MIXED &&
				sim_can_go_on(&sim->members[me]));
		else if (sim->n_ready)
			sim_deliver(sim,
				sim_rnd(&sim->seed, (uint32_t)sim->n_ready));
		else
			return;
	}
}

/* Runs the steps of all members to their end. */
static inline void sim_run(struct sim *sim, enum sim_order order, uint64_t seed)
{
	sim->order = order;
	sim->seed = seed;
	for (int32_t i = 0; i < sim->n; i++)
		sim->members[i].at = 0;
	sim_advance(sim);
	for (int32_t i = 0; i < sim->n; i++) {
		const struct sim_member *m = &sim->members[i];

		if (!sim_is_done(m))
			sim_fail(sim, "%d stays at step %zu of %zu", (int)i,
				m->at, m->n_steps);
		for (int32_t j = 0; j < sim->n; j++)
			if (sim->half[i][j])
				sim_fail(sim,
					"a message from %d to %d has no %s",
					(int)i, (int)j,
					sim->half[i][j]->send ? "receive"
							      : "send");
	}
}

#endif
