/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_coll: one collective, with data of a given length */
#include "test/sim/sim_phases.h"

#include <mpi.h>

#include <stdlib.h>
#include <string.h>

enum { ITEM = 8 }; /* bytes of MPI_INT64_T */

static const char *const names[] = { "barrier", "bcast", "gather", "scatter",
	"allgather", "alltoall", "reduce", "allreduce", "reduce_scatter",
	"scan", "exscan" };
enum {
	BARRIER,
	BCAST,
	GATHER,
	SCATTER,
	ALLGATHER,
	ALLTOALL,
	REDUCE,
	ALLREDUCE,
	REDUCE_SCATTER,
	SCAN,
	EXSCAN,
	N_COLLS
};

static int coll, count; /* items of each call's count argument */
static uint32_t n_members;
static int64_t *in, *out;
static MPI_Session coll_session;
static MPI_Comm on;

static int coll_number(const char *name)
{
	int i = 0;

	while (i < N_COLLS && strcmp(names[i], name) != 0)
		i++;
	return i;
}

bool sim_coll_is_known(const char *name)
{
	return coll_number(name) < N_COLLS;
}

static void succeed(int rc)
{
	if (rc != MPI_SUCCESS)
		sim_fail("a call for --coll %s failed", names[coll]);
}

void sim_coll_begin(const char *name, uint32_t n_procs)
{
	MPI_Group group;

	coll = coll_number(name);
	n_members = n_procs;
	succeed(MPI_Session_init(
		MPI_INFO_NULL, MPI_ERRORS_RETURN, &coll_session));
	succeed(MPI_Group_from_session_pset(
		coll_session, "mpi://WORLD", &group));
	succeed(MPI_Comm_create_from_group(
		group, "coll", MPI_INFO_NULL, MPI_ERRORS_RETURN, &on));
	MPI_Group_free(&group);
}

void sim_coll_set(uint64_t bytes)
{
	uint64_t n_blocks = 1, unit = ITEM;

	if (coll >= GATHER && coll <= ALLTOALL)
		n_blocks = n_members;
	if (coll == REDUCE_SCATTER)
		unit *= n_members; /* bytes are those of all parts */
	count = (int)((bytes + unit - 1) / unit);
	free(in);
	free(out);
	in = calloc((size_t)count * n_blocks * unit / ITEM + 1, ITEM);
	out = calloc((size_t)count * n_blocks * unit / ITEM + 1, ITEM);
	if (!in || !out)
		sim_fail("too little memory for --size %llu",
			(unsigned long long)bytes);
}

void sim_coll_call(void)
{
	const MPI_Datatype type = MPI_INT64_T;
	int rc = MPI_SUCCESS;

	if (coll == BARRIER)
		rc = MPI_Barrier(on);
	else if (coll == BCAST)
		rc = MPI_Bcast(out, count, type, 0, on);
	else if (coll == GATHER)
		rc = MPI_Gather(in, count, type, out, count, type, 0, on);
	else if (coll == SCATTER)
		rc = MPI_Scatter(in, count, type, out, count, type, 0, on);
	else if (coll == ALLGATHER)
		rc = MPI_Allgather(in, count, type, out, count, type, on);
	else if (coll == ALLTOALL)
		rc = MPI_Alltoall(in, count, type, out, count, type, on);
	else if (coll == REDUCE)
		rc = MPI_Reduce(in, out, count, type, MPI_SUM, 0, on);
	else if (coll == ALLREDUCE)
		rc = MPI_Allreduce(in, out, count, type, MPI_SUM, on);
	else if (coll == REDUCE_SCATTER)
		rc = MPI_Reduce_scatter_block(
			in, out, count, type, MPI_SUM, on);
	else if (coll == SCAN)
		rc = MPI_Scan(in, out, count, type, MPI_SUM, on);
	else
		rc = MPI_Exscan(in, out, count, type, MPI_SUM, on);
	succeed(rc);
}

void sim_coll_end(void)
{
	succeed(MPI_Comm_disconnect(&on));
	succeed(MPI_Session_finalize(&coll_session));
	free(in);
	free(out);
	in = out = NULL;
}
