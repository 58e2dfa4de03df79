/* SPDX-License-Identifier: BSD-3-Clause */
/* profile_clock: compares the clocks of the nodes, for a timeline
 *
 * The clock of a node is that of the lowest rank on the node. In MPI_Init and
 * MPI_Finalize, rank 0 exchanges a few messages with the lowest rank of each
 * other node. Only the fastest exchange counts. That rank is assumed to read
 * its clock midway between the two times of rank 0. The messages use a private
 * communicator. */
#include "profile/profile_record.h"

#include "base/knob.h"
#include "transport/proc.h"

#include <stdlib.h>
#include <string.h>

enum { EXCHANGES = 20 };

/* Used only in MPI_Init and MPI_Finalize. MPI_COMM_NULL: no timeline, or one
 * process. */
static MPI_Comm clock_comm = MPI_COMM_NULL;

static double head_now(const struct weft_profile_head *head)
{
	return weft_profile_seconds(head, weft_profile_now());
}

/* Measures, at rank 0, the clock of another node minus that of rank 0. leader:
 * the lowest rank of that node. */
static void clock_ask(const struct weft_profile_head *head, int leader)
{
	double best = 1e300, offset = 0;

	for (int i = 0; i < EXCHANGES; i++) {
		double start = head_now(head), theirs, end;

		if (PMPI_Sendrecv(&start, 1, MPI_DOUBLE, leader, 0, &theirs, 1,
			    MPI_DOUBLE, leader, 0, clock_comm,
			    MPI_STATUS_IGNORE))
			return;
		end = head_now(head);
		if (end - start >= best)
			continue;
		best = end - start;
		offset = theirs - (start + end) / 2;
	}
	PMPI_Send(&offset, 1, MPI_DOUBLE, leader, 0, clock_comm);
}

static void clock_answer(struct weft_profile_head *head)
{
	double theirs, mine, offset;

	for (int i = 0; i < EXCHANGES; i++) {
		if (PMPI_Recv(&theirs, 1, MPI_DOUBLE, 0, 0, clock_comm,
			    MPI_STATUS_IGNORE))
			return;
		mine = head_now(head);
		PMPI_Send(&mine, 1, MPI_DOUBLE, 0, 0, clock_comm);
	}
	if (PMPI_Recv(&offset, 1, MPI_DOUBLE, 0, 0, clock_comm,
		    MPI_STATUS_IGNORE))
		return;
	head->clocks[head->n_clocks].at_s = head_now(head);
	head->clocks[head->n_clocks++].offset_s = offset;
}

/* True for the lowest rank of a node other than that of rank 0. Ranks without
 * a record have no node. */
static bool is_clock_leader(const uint64_t *nodes, int rank)
{
	int first = 0;

	while (nodes[first] != nodes[rank])
		first++;
	return first == rank && rank && nodes[rank] && nodes[0];
}

/* Returns a number for the node; 0: this process has no record. */
static uint64_t clock_node(const struct weft_profile_head *head)
{
	uint64_t node = 0xcbf29ce484222325ull;

	for (const char *c = head ? head->host : ""; *c; c++)
		node = (node ^ (unsigned char)*c) * 0x100000001b3ull;
	return head ? node | 1 : 0;
}

/* Collective over the job, also for processes without a record. If a process
 * has no memory, no clocks are compared. */
static void clock_compare(void)
{
	struct weft_profile_head *head = weft_profile_traced();
	uint64_t node = clock_node(head), *nodes;
	int rank, size, can;

	PMPI_Comm_rank(clock_comm, &rank);
	PMPI_Comm_size(clock_comm, &size);
	nodes = calloc((size_t)size, sizeof(*nodes));
	can = nodes != NULL;
	if (!PMPI_Allreduce(
		    MPI_IN_PLACE, &can, 1, MPI_INT, MPI_MIN, clock_comm) &&
		can &&
		!PMPI_Allgather(&node, 1, MPI_UINT64_T, nodes, 1, MPI_UINT64_T,
			clock_comm)) {
		for (int r = 1; r < size && !rank; r++)
			if (is_clock_leader(nodes, r))
				clock_ask(head, r);
		if (is_clock_leader(nodes, rank))
			clock_answer(head);
	}
	free(nodes);
}

void weft_profile_clock_begin(void)
{
	if (!weft_profile_is_trace(weft_knobs.profile) ||
		weft_proc.facts.world_size < 2 ||
		PMPI_Comm_dup(MPI_COMM_WORLD, &clock_comm))
		return;
	PMPI_Comm_set_errhandler(clock_comm, MPI_ERRORS_RETURN);
	clock_compare();
}

void weft_profile_clock_end(void)
{
	if (clock_comm == MPI_COMM_NULL)
		return;
	clock_compare();
	PMPI_Comm_free(&clock_comm);
}
