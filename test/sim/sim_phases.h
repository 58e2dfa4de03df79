/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_phases: the calls of the simulated program, which a real job can make too
 */
#ifndef WEFT_TEST_SIM_PHASES_H
#define WEFT_TEST_SIM_PHASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_phase {
	const char *name;
	void (*run)(void);
	uint32_t most;	/* processes; 0: any number */
	bool is_repair; /* runs with --repair, too */
	uint32_t kib;	/* memory that a process needs up to this phase */
};

/* The phases in their order; NULL: there are no more. */
const struct sim_phase *sim_phase_at(size_t i);

/* Called once, before the first phase. */
void sim_phases_set(uint32_t rank, uint32_t n_procs, uint32_t n_dead);

/* sim_coll.c: a collective by its name of weft-info --coll. begin() creates a
 * communicator of the whole job; each call has the same data of at least
 * `bytes` bytes. end() closes the communicator. */
bool sim_coll_is_known(const char *name);
void sim_coll_begin(const char *name, uint32_t n_procs);
void sim_coll_set(uint64_t bytes);
void sim_coll_call(void);
void sim_coll_end(void);

/* The functions below belong to the program that runs the phases. */

/* Ends the run with a message and status 1. */
void sim_fail(const char *format, ...)
	__attribute__((format(printf, 1, 2), noreturn));

/* This process dies some time later, also while the others repair a
 * communicator. */
void sim_die_later(void);

#endif
