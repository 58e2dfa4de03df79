/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpix.h: what Weft's libmpi_abi offers beyond the standard
 *
 * Not part of the standard ABI: a program that calls one of these runs with
 * this library only.  Each has a PMPIX_ name for tools and a man page.  Errors
 * are those of MPI, raised through the handler of the session or communicator.
 */
#ifndef WEFT_MPIX_H
#define WEFT_MPIX_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */

/* As MPI_Comm_create_from_group, without blocking: *newcomm is set when the
 * request completes.  Members may also use the blocking call. */
int MPIX_Comm_icreate_from_group(MPI_Group group, const char *stringtag, MPI_Info info, MPI_Errhandler errhandler, MPI_Comm *newcomm, MPI_Request *request);
int PMPIX_Comm_icreate_from_group(MPI_Group group, const char *stringtag, MPI_Info info, MPI_Errhandler errhandler, MPI_Comm *newcomm, MPI_Request *request);

/* As MPI_Comm_disconnect, without blocking: *comm is MPI_COMM_NULL at once,
 * everything is over when the request completes. */
int MPIX_Comm_idisconnect(MPI_Comm *comm, MPI_Request *request);
int PMPIX_Comm_idisconnect(MPI_Comm *comm, MPI_Request *request);

/* Defines a process set by its members, or takes one back.  Local: the name is
 * known in this session of this process. */
int MPIX_Session_create_pset(MPI_Session session, const char *pset_name, MPI_Group group);
int PMPIX_Session_create_pset(MPI_Session session, const char *pset_name, MPI_Group group);
int MPIX_Session_delete_pset(MPI_Session session, const char *pset_name);
int PMPIX_Session_delete_pset(MPI_Session session, const char *pset_name);

/* Defines a process set from two others, as MPI_Group_union and so on do. */
int MPIX_Session_pset_union(MPI_Session session, const char *pset1, const char *pset2, const char *pset_name);
int PMPIX_Session_pset_union(MPI_Session session, const char *pset1, const char *pset2, const char *pset_name);
int MPIX_Session_pset_intersection(MPI_Session session, const char *pset1, const char *pset2, const char *pset_name);
int PMPIX_Session_pset_intersection(MPI_Session session, const char *pset1, const char *pset2, const char *pset_name);
int MPIX_Session_pset_difference(MPI_Session session, const char *pset1, const char *pset2, const char *pset_name);
int PMPIX_Session_pset_difference(MPI_Session session, const char *pset1, const char *pset2, const char *pset_name);

/* How often process sets were defined or deleted since the session first
 * looked at them: a number that has grown says "look again". */
int MPIX_Session_get_pset_changes(MPI_Session session, MPI_Count *n_changes);
int PMPIX_Session_get_pset_changes(MPI_Session session, MPI_Count *n_changes);

/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
