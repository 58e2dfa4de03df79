/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_world: the World Model, a session like any other */
#include "mpi_buffer.h"
#include "mpi_check.h"
#include "mpi_level.h"

#include "base/log.h"
#include "core/attr.h"
#include "transport/proc.h"
#include "session/abort.h"
#include "session/parent.h"
#include "spawn/spawn.h"

#include <stdio.h>

int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	enum weft_thread_level level = WEFT_THREAD_SINGLE;
	int err;

	(void)argc;
	(void)argv;
	err = weft_mpi_level_in(required, &level);
	if (!err)
		err = weft_world_open(NULL, level);
	if (!err)
		err = weft_parent_join(true);
	if (err)
		return weft_mpi_raise_none("MPI_Init_thread", err);
	if (provided)
		*provided = weft_mpi_level_out(weft_world.session->level);
	return MPI_SUCCESS;
}

int PMPI_Init(int *argc, char ***argv)
{
	int err;

	(void)argc;
	(void)argv;
	err = weft_world_open(NULL, WEFT_THREAD_SINGLE);
	if (!err)
		err = weft_parent_join(true);
	return err ? weft_mpi_raise_none("MPI_Init", err) : MPI_SUCCESS;
}

int PMPI_Initialized(int *flag)
{
	int err = weft_check_ptr(flag, "flag");

	if (err)
		return weft_mpi_raise_none("MPI_Initialized", err);
	*flag = atomic_load(&weft_world.state) >= WEFT_WORLD_OPEN;
	return MPI_SUCCESS;
}

int PMPI_Finalized(int *flag)
{
	int err = weft_check_ptr(flag, "flag");

	if (err)
		return weft_mpi_raise_none("MPI_Finalized", err);
	*flag = atomic_load(&weft_world.state) == WEFT_WORLD_CLOSED;
	return MPI_SUCCESS;
}

/* Deletes the attributes of the World's communicators before anything is
 * closed: first those of MPI_COMM_SELF, then those of MPI_COMM_WORLD, and the
 * newest first on each. */
static int delete_attrs(void)
{
	int err = 0;

	for (int i = 1; !err && i >= 0; i--) {
		struct weft_comm *comm = weft_world.comms[i];

		if (comm)
			err = weft_attr_delete_all(
				&comm->attrs, weft_mpi_comm_handle(comm));
	}
	return err;
}

/* Raises an error of closing the World. Pending messages are reported already,
 * so a fatal handler does not end the job because of them. */
static int raise_closed(struct weft_errh *errh, int err)
{
	bool is_fatal = !errh || errh->action == WEFT_ERRH_FATAL ||
			errh->action == WEFT_ERRH_ABORT;

	if (!err || (is_fatal && err == WEFT_ERR_PENDING))
		return MPI_SUCCESS;
	return weft_mpi_raise_obj(
		0, MPI_COMM_NULL, errh, NULL, "MPI_Finalize", err);
}

int PMPI_Finalize(void)
{
	struct weft_errh *errh;
	int err = 0;

	if (atomic_load(&weft_world.state) == WEFT_WORLD_OPEN)
		err = delete_attrs();
	if (err)
		return weft_mpi_raise_none("MPI_Finalize", err);
	errh = weft_errh_get(weft_mpi_errh_without_object());
	err = raise_closed(errh, weft_world_close());
	weft_mpi_buffer_drop();
	weft_errh_put(errh);
	return err;
}

static int check_open(void)
{
	return weft_world.session
		       ? 0
		       : weft_err_set(WEFT_ERR_OTHER,
				 "the World Model is not initialized");
}

int PMPI_Query_thread(int *provided)
{
	int err = check_open();

	if (!err)
		err = weft_check_ptr(provided, "provided");
	if (err)
		return weft_mpi_raise_none("MPI_Query_thread", err);
	*provided = weft_mpi_level_out(weft_world.session->level);
	return MPI_SUCCESS;
}

int PMPI_Is_thread_main(int *flag)
{
	int err = check_open();

	if (!err)
		err = weft_check_ptr(flag, "flag");
	if (err)
		return weft_mpi_raise_none("MPI_Is_thread_main", err);
	*flag = pthread_equal(pthread_self(), weft_world.main_thread) != 0;
	return MPI_SUCCESS;
}

int PMPI_Abort(MPI_Comm comm, int errorcode)
{
	struct weft_comm *of = weft_mpi_comm(comm);
	char text[256];

	snprintf(text, sizeof(text), "MPI_Abort(%s, %d) by rank %d",
		of && of->name[0] ? of->name : "comm", errorcode,
		of ? of->rank : -1);
	weft_log_error("MPI-ABORT", "%s", text);
	weft_abort_end(of, of ? of->child.session : NULL, errorcode, text);
}

int PMPI_Comm_get_parent(MPI_Comm *parent)
{
	struct weft_comm *comm;
	int err = check_open();

	if (!err)
		err = weft_check_ptr(parent, "parent");
	if (err)
		return weft_mpi_raise_none("MPI_Comm_get_parent", err);
	comm = weft_spawn_parent();
	*parent = comm ? weft_mpi_comm_handle(comm) : MPI_COMM_NULL;
	return MPI_SUCCESS;
}

#include "api_world.h"
