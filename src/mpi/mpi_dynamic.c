/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_dynamic: processes that were not started together find each other */
#include "mpi_check.h"

#include "core/info.h"
#include "session/port.h"

#include <stdio.h>
#include <stdlib.h>

_Static_assert((int)WEFT_PORT_NAME_MAX <= MPI_MAX_PORT_NAME, "room for names");

/* ---- ports ---- */

int PMPI_Open_port(MPI_Info info, char *port_name)
{
	struct weft_info *hints;
	int err;

	err = weft_check_ptr(port_name, "port_name");
	if (!err)
		err = weft_check_info_or_null(info, &hints);
	if (!err)
		err = weft_check_up();
	if (!err)
		err = weft_port_open(port_name);
	return weft_mpi_end(NULL, "MPI_Open_port", err);
}

int PMPI_Close_port(const char *port_name)
{
	int err;

	err = weft_check_ptr(port_name, "port_name");
	if (!err)
		err = weft_check_up();
	if (!err)
		err = weft_port_close(port_name);
	return weft_mpi_end(NULL, "MPI_Close_port", err);
}

/* What accept and connect have in common; the name matters at root only. */
static int check_meeting(const char *port_name, MPI_Info info, int root,
	MPI_Comm comm, MPI_Comm *newcomm, struct weft_comm **comm_out,
	struct weft_info **info_out)
{
	int err;

	err = weft_check_ptr(newcomm, "newcomm");
	if (!err)
		err = weft_check_intra(comm, comm_out);
	if (!err)
		err = weft_check_range(
			WEFT_ERR_ROOT, "root", root, 0, (*comm_out)->size - 1);
	*info_out = NULL;
	if (err || (*comm_out)->rank != root)
		return err;
	err = weft_check_ptr(port_name, "port_name");
	return err ? err : weft_check_info_or_null(info, info_out);
}

int PMPI_Comm_accept(const char *port_name, MPI_Info info, int root,
	MPI_Comm comm, MPI_Comm *newcomm)
{
	struct weft_comm *of = NULL, *made;
	struct weft_info *hints;
	int err;

	err = check_meeting(port_name, info, root, comm, newcomm, &of, &hints);
	if (!err)
		err = weft_port_accept(of, root, port_name, &made);
	if (!err)
		*newcomm = weft_mpi_comm_handle(made);
	return weft_mpi_end(of, "MPI_Comm_accept", err);
}

/* Seconds, as the info says or the user set. */
static int timeout_of(const struct weft_info *info, uint32_t *timeout_out)
{
	char text[32], *end;
	long value;

	*timeout_out = (uint32_t)weft_knobs.connect_timeout;
	if (weft_info_value(info, "timeout", text, sizeof(text)) < 0)
		return 0;
	value = strtol(text, &end, 10);
	if (*end || end == text || value < 1 || value > INT32_MAX)
		return weft_err_set(WEFT_ERR_INFO_VALUE,
			"timeout is \"%s\", which is no number of seconds",
			text);
	*timeout_out = (uint32_t)value;
	return 0;
}

int PMPI_Comm_connect(const char *port_name, MPI_Info info, int root,
	MPI_Comm comm, MPI_Comm *newcomm)
{
	struct weft_comm *of = NULL, *made;
	struct weft_info *hints;
	uint32_t timeout;
	int err;

	err = check_meeting(port_name, info, root, comm, newcomm, &of, &hints);
	if (!err)
		err = timeout_of(hints, &timeout);
	if (!err)
		err = weft_port_connect(of, root, port_name, timeout, &made);
	if (!err)
		*newcomm = weft_mpi_comm_handle(made);
	return weft_mpi_end(of, "MPI_Comm_connect", err);
}

#include "api_dynamic.h"
