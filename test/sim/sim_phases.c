/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_phases: the phases of the simulated program */
#include "test/sim/sim_phases.h"

#include <mpi.h>
#include <mpix.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIMS = 3, FACES = 2 * DIMS, SESSIONS = 3, ROUNDS = 20 };

static uint32_t rank, n_procs, n_deaths;
static MPI_Session session, sessions[SESSIONS];
static MPI_Comm comm, dup, half, grid, comms[SESSIONS], fragile, alive;

static void check(int rc, const char *call)
{
	char text[MPI_MAX_ERROR_STRING];
	int len;

	if (rc == MPI_SUCCESS)
		return;
	MPI_Error_string(rc, text, &len);
	sim_fail("process %u: %s: %s", rank, call, text);
}

static void demand(bool is_right, const char *what)
{
	if (!is_right)
		sim_fail("process %u: wrong result: %s", rank, what);
}

static void create_world(MPI_Session from, const char *tag, MPI_Comm *comm_out)
{
	MPI_Group group;
	int size;

	check(MPI_Group_from_session_pset(from, "mpi://WORLD", &group),
		"MPI_Group_from_session_pset");
	check(MPI_Comm_create_from_group(
		      group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, comm_out),
		"MPI_Comm_create_from_group");
	MPI_Group_free(&group);
	MPI_Comm_size(*comm_out, &size);
	demand((uint32_t)size == n_procs, "the size of the communicator");
}

static void phase_open(void)
{
	check(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session),
		"MPI_Session_init");
}

static void phase_create(void)
{
	create_world(session, "sim", &comm);
}

static void phase_barrier(void)
{
	check(MPI_Barrier(comm), "MPI_Barrier");
}

static void phase_allreduce(void)
{
	int64_t mine = rank + 1, sum = 0;

	check(MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, comm),
		"MPI_Allreduce");
	demand(sum == (int64_t)n_procs * (n_procs + 1) / 2, "the sum");
}

static void phase_bcast(void)
{
	int64_t words[1024] = { 0 };

	if (!rank)
		for (int i = 0; i < 1024; i++)
			words[i] = i;
	check(MPI_Bcast(words, 1024, MPI_INT64_T, 0, comm), "MPI_Bcast");
	demand(words[1023] == 1023, "the data of the root");
}

static void phase_dup(void)
{
	check(MPI_Comm_dup(comm, &dup), "MPI_Comm_dup");
}

static void phase_dup_again(void)
{
	check(MPI_Comm_dup(comm, &fragile), "MPI_Comm_dup");
}

static void phase_split(void)
{
	int size;

	check(MPI_Comm_split(comm, (int)rank % 2, -(int)rank, &half),
		"MPI_Comm_split");
	MPI_Comm_size(half, &size);
	demand((uint32_t)size == (n_procs + !(rank % 2)) / 2,
		"the size of a half");
}

static void phase_neighbor(void)
{
	int dims[DIMS] = { 0 }, periods[DIMS] = { 1, 1, 1 };
	int in[FACES], out[FACES], left, right;

	MPI_Dims_create((int)n_procs, DIMS, dims);
	check(MPI_Cart_create(comm, DIMS, dims, periods, 0, &grid),
		"MPI_Cart_create");
	for (int i = 0; i < FACES; i++)
		out[i] = (int)rank;
	check(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, grid),
		"MPI_Neighbor_alltoall");
	for (int d = 0; d < DIMS; d++) {
		MPI_Cart_shift(grid, d, 1, &left, &right);
		demand(in[2 * d] == left && in[2 * d + 1] == right,
			"the data of the neighbours");
	}
}

static void phase_alltoall(void)
{
	int *out = malloc(n_procs * sizeof(*out));
	int *in = malloc(n_procs * sizeof(*in));

	demand(out && in, "memory of alltoall");
	for (uint32_t i = 0; i < n_procs; i++)
		out[i] = (int)(rank ^ i << 1);
	check(MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm),
		"MPI_Alltoall");
	for (uint32_t i = 0; i < n_procs; i++)
		demand(in[i] == (int)(i ^ rank << 1), "the data of alltoall");
	free(in);
	free(out);
}

static void phase_free(void)
{
	MPI_Comm_free(&grid);
	MPI_Comm_free(&half);
	check(MPI_Comm_disconnect(&dup), "MPI_Comm_disconnect");
}

static void phase_sessions(void)
{
	char tag[16];

	for (int i = 0; i < SESSIONS; i++) {
		snprintf(tag, sizeof(tag), "s%d", i);
		check(MPI_Session_init(
			      MPI_INFO_NULL, MPI_ERRORS_RETURN, &sessions[i]),
			"MPI_Session_init");
		create_world(sessions[i], tag, &comms[i]);
		check(MPI_Barrier(comms[i]), "MPI_Barrier");
	}
}

/* Each process closes the communicators and the sessions in an order of its
 * own. */
static void phase_close(void)
{
	for (uint32_t i = 0; i < SESSIONS; i++)
		MPI_Comm_free(&comms[(i + rank) % SESSIONS]);
	for (uint32_t i = 0; i < SESSIONS; i++)
		check(MPI_Session_finalize(
			      &sessions[(i + rank / SESSIONS) % SESSIONS]),
			"MPI_Session_finalize");
}

/* The processes that die are spread over the job; process 0 survives. */
static bool is_dead(uint32_t who)
{
	uint64_t step = n_deaths ? n_procs / n_deaths : 0;

	return n_deaths && who % step == step - 1 && who / step < n_deaths;
}

static void phase_agree(void)
{
	int flag = 1;

	check(MPIX_Comm_agree(fragile, &flag), "MPIX_Comm_agree");
	demand(flag == 1, "the agreed flag");
}

/* True if a call has succeeded, false if a member has died or the communicator
 * is revoked. */
static bool is_unbroken(int rc, const char *call)
{
	int class = MPI_SUCCESS;

	if (rc != MPI_SUCCESS)
		MPI_Error_class(rc, &class);
	if (class != MPIX_ERR_PROC_FAILED && class != MPIX_ERR_REVOKED)
		check(rc, call);
	return rc == MPI_SUCCESS;
}

/* Calls collectives while members die. False if a call has ended with an error;
 * results of other calls are right. */
static bool works(MPI_Comm on)
{
	int64_t mine = rank + 1, sum = 0, word = rank ? 0 : 7;
	MPI_Comm part;

	if (!is_unbroken(
		    MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, on),
		    "MPI_Allreduce"))
		return false;
	demand(sum == (int64_t)n_procs * (n_procs + 1) / 2,
		"the sum while processes die");
	if (!is_unbroken(MPI_Bcast(&word, 1, MPI_INT64_T, 0, on), "MPI_Bcast"))
		return false;
	demand(word == 7, "the data of the root while processes die");
	if (!is_unbroken(MPI_Comm_split(on, (int)rank % 2, 0, &part),
		    "MPI_Comm_split"))
		return false;
	MPI_Comm_free(&part);
	return is_unbroken(MPI_Barrier(on), "MPI_Barrier");
}

/* Shrinks a communicator of its own until all its members are alive, and have
 * agreed on that. Deaths may follow later. */
static void phase_shrink(void)
{
	int flag, size, rc;

	if (is_dead(rank))
		sim_die_later();
	for (int i = 0; i < ROUNDS && works(fragile); i++)
		continue;
	alive = fragile;
	do {
		MPI_Comm broken = alive;

		MPIX_Comm_revoke(broken);
		check(MPIX_Comm_shrink(broken, &alive), "MPIX_Comm_shrink");
		MPI_Comm_free(&broken);
		flag = MPI_Barrier(alive) == MPI_SUCCESS;
		rc = MPIX_Comm_agree(alive, &flag);
	} while (!flag || rc != MPI_SUCCESS);
	MPI_Comm_size(alive, &size);
	demand((uint32_t)size >= n_procs - n_deaths,
		"the size of the shrunken communicator");
}

/* A communicator with dead members cannot be disconnected. */
static void phase_disconnect(void)
{
	if (n_deaths) {
		MPI_Comm_free(&alive);
		MPI_Comm_free(&comm);
		return;
	}
	check(MPI_Comm_disconnect(&alive), "MPI_Comm_disconnect");
	check(MPI_Comm_disconnect(&comm), "MPI_Comm_disconnect");
}

static void phase_finalize(void)
{
	check(MPI_Session_finalize(&session), "MPI_Session_finalize");
}

/* Measured with 4,096 to a million processes. */
enum { FEW_KIB = 22, MANY_KIB = 40 };

static const struct sim_phase phases[] = {
	{ "open", phase_open, 0, true, FEW_KIB },
	{ "create", phase_create, 0, true, FEW_KIB },
	{ "barrier", phase_barrier, 0, false, FEW_KIB },
	{ "barrier", phase_barrier, 0, false, FEW_KIB },
	{ "allreduce", phase_allreduce, 0, false, FEW_KIB },
	{ "allreduce", phase_allreduce, 0, false, FEW_KIB },
	{ "bcast", phase_bcast, 0, false, FEW_KIB },
	{ "dup", phase_dup, 0, false, FEW_KIB },
	{ "split", phase_split, 0, false, FEW_KIB },
	{ "neighbor", phase_neighbor, 0, false, FEW_KIB },
	{ "alltoall", phase_alltoall, 512, false, MANY_KIB },
	{ "free", phase_free, 0, false, MANY_KIB },
	{ "sessions", phase_sessions, 0, false, MANY_KIB },
	{ "close", phase_close, 0, false, MANY_KIB },
	{ "dup", phase_dup_again, 0, true, MANY_KIB },
	{ "agree", phase_agree, 0, true, MANY_KIB },
	{ "shrink", phase_shrink, 0, true, MANY_KIB },
	{ "disconnect", phase_disconnect, 0, true, MANY_KIB },
	{ "finalize", phase_finalize, 0, true, MANY_KIB },
};

const struct sim_phase *sim_phase_at(size_t i)
{
	return i < sizeof(phases) / sizeof(phases[0]) ? &phases[i] : NULL;
}

void sim_phases_set(uint32_t me, uint32_t n, uint32_t n_dead)
{
	rank = me;
	n_procs = n;
	n_deaths = n_dead;
}
