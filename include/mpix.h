/* SPDX-License-Identifier: BSD-3-Clause */
/* mpix.h: extensions of Weft's libmpi_abi beyond the standard
 *
 * These procedures are not part of the standard ABI. A program that calls them
 * runs only with this library. Each procedure has a manual page, and a PMPIX_
 * name for tools. An error calls the error handler of the session or
 * communicator. Its class is one of MPI's, or of the MPIX_ERR_ classes below.
 */
#ifndef WEFT_MPIX_H
#define WEFT_MPIX_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* clang-format off */

/* Like MPI_Comm_create_from_group, without blocking: *newcomm is set when the
 * request completes. Other members may use the blocking call. */
int MPIX_Comm_icreate_from_group(MPI_Group group, const char *stringtag, MPI_Info info, MPI_Errhandler errhandler, MPI_Comm *newcomm, MPI_Request *request);
int PMPIX_Comm_icreate_from_group(MPI_Group group, const char *stringtag, MPI_Info info, MPI_Errhandler errhandler, MPI_Comm *newcomm, MPI_Request *request);

/* Like MPI_Comm_disconnect, without blocking: *comm is MPI_COMM_NULL on return,
 * and the disconnect is complete when the request completes. */
int MPIX_Comm_idisconnect(MPI_Comm *comm, MPI_Request *request);
int PMPIX_Comm_idisconnect(MPI_Comm *comm, MPI_Request *request);

/* MPIX_Session_create_pset defines a process set by its members.
 * MPIX_Session_delete_pset deletes a set. Both are local: the name is known in
 * this session of this process. */
int MPIX_Session_create_pset(MPI_Session session, const char *pset_name, MPI_Group group);
int PMPIX_Session_create_pset(MPI_Session session, const char *pset_name, MPI_Group group);
int MPIX_Session_delete_pset(MPI_Session session, const char *pset_name);
int PMPIX_Session_delete_pset(MPI_Session session, const char *pset_name);

/* MPIX_Session_publish_pset defines a process set for the whole job, and
 * MPIX_Session_unpublish_pset deletes one. One process calls them. The members
 * may be of several jobs that processes spawned. The process manager notifies
 * every process of the members' jobs; if it cannot, the error is
 * MPI_ERR_UNSUPPORTED_OPERATION. */
int MPIX_Session_publish_pset(MPI_Session session, const char *pset_name, MPI_Group group);
int PMPIX_Session_publish_pset(MPI_Session session, const char *pset_name, MPI_Group group);
int MPIX_Session_unpublish_pset(MPI_Session session, const char *pset_name);
int PMPIX_Session_unpublish_pset(MPI_Session session, const char *pset_name);

/* Each call defines a process set from two existing sets, as MPI_Group_union
 * and the like do. */
int MPIX_Session_pset_union(MPI_Session session, const char *pset1, const char *pset2, const char *pset_name);
int PMPIX_Session_pset_union(MPI_Session session, const char *pset1, const char *pset2, const char *pset_name);
int MPIX_Session_pset_intersection(MPI_Session session, const char *pset1, const char *pset2, const char *pset_name);
int PMPIX_Session_pset_intersection(MPI_Session session, const char *pset1, const char *pset2, const char *pset_name);
int MPIX_Session_pset_difference(MPI_Session session, const char *pset1, const char *pset2, const char *pset_name);
int PMPIX_Session_pset_difference(MPI_Session session, const char *pset1, const char *pset2, const char *pset_name);

/* Returns the number of process sets that were defined or deleted since the
 * session first queried its process sets. If the number has grown, query the
 * sets again. Each failure of a process counts as a change of weft://alive. */
int MPIX_Session_get_pset_changes(MPI_Session session, MPI_Count *n_changes);
int PMPIX_Session_get_pset_changes(MPI_Session session, MPI_Count *n_changes);

/* Registers a function that is called for each definition or deletion of a
 * process set, and after failures as a definition of weft://alive. An offer of
 * the launcher is the change MPIX_PSET_OFFER of weft://job. MPI calls
 * that wait, and calls about process sets, call the function. NULL removes the
 * function. */
enum { MPIX_PSET_DEFINED = 1, MPIX_PSET_DELETED = 2, MPIX_PSET_OFFER = 3 };
typedef void MPIX_Session_pset_function(MPI_Session session, const char *pset_name, int change, void *extra_state);
int MPIX_Session_set_pset_callback(MPI_Session session, MPIX_Session_pset_function *pset_fn, void *extra_state);
int PMPIX_Session_set_pset_callback(MPI_Session session, MPIX_Session_pset_function *pset_fn, void *extra_state);

/* ---- jobs that grow and shrink: weft-malleable(7) ----
 *
 * mpiexec --max starts a job whose size can change. The process set
 * weft://job/K has the members of the job after K changes. */

/* Longest name of such a set, with its NUL. */
#define MPIX_MAX_JOB_PSET 64

/* Returns the number of processes that the launcher offers in *delta. Below 0,
 * the launcher requests processes back; 0: no offer. *info is a new info object
 * with weft_min_procs, weft_max_procs, and weft_deadline_s, the seconds until
 * the offer ends. Local. A callback for process sets is called with
 * MPIX_PSET_OFFER and the name weft://job when an offer is made or withdrawn. */
int MPIX_Session_get_offer(MPI_Session session, int *delta, MPI_Info *info);
int PMPIX_Session_get_offer(MPI_Session session, int *delta, MPI_Info *info);

/* Requests delta more processes, or -delta fewer. Collective over members, whose
 * members are those of the current set weft://job/K that have not failed; all
 * pass the same delta, with or without an offer. Does not block. When the
 * request completes, the name of the new set is in new_pset, of
 * MPIX_MAX_JOB_PSET bytes, and joined processes are started. new_pset must exist
 * until then. If the request fails, the current set remains, and new_pset is
 * empty: the launcher refused, or a member failed. info is MPI_INFO_NULL, or
 * ignored. MPI_ERR_UNSUPPORTED_OPERATION: the size of the job is fixed. */
int MPIX_Session_resize(MPI_Session session, MPI_Comm members, int delta, MPI_Info info, char *new_pset, MPI_Request *request);
int PMPIX_Session_resize(MPI_Session session, MPI_Comm members, int delta, MPI_Info info, char *new_pset, MPI_Request *request);

/* Completes a change: the former set is deleted. Collective over members, whose
 * members are those of new_pset. Processes that are in the former set only end
 * their sessions and exit. MPI_ERR_SPAWN: a joined process has ended. */
int MPIX_Session_resize_done(MPI_Session session, MPI_Comm members, const char *new_pset);
int PMPIX_Session_resize_done(MPI_Session session, MPI_Comm members, const char *new_pset);

/* Cancels a change that is not complete: new_pset is deleted, the launcher ends
 * the joined processes, and the former set remains. One process calls this. A
 * change that was cancelled before is no error. With mpiexec --continue, the
 * failure of a member of the former set cancels a change, too. MPI_ERR_SERVICE:
 * no answer in 60 seconds. */
int MPIX_Session_resize_cancel(MPI_Session session, const char *new_pset);
int PMPIX_Session_resize_cancel(MPI_Session session, const char *new_pset);

/* Returns hosts to PRRTE, for example those that the info key add-host of
 * MPI_Comm_spawn added. hosts has names separated by commas. PRRTE ends the
 * processes that still run there. One process calls this. Waits until PRRTE has
 * accepted the request. MPI_ERR_ARG: the caller runs on one of the hosts, or
 * PRRTE does not use one of them. MPI_ERR_UNSUPPORTED_OPERATION: the process
 * manager accepts no hosts. PRRTE does from version 5. MPI_ERR_SERVICE: no
 * answer in 60 seconds. PRRTE 3 answers only processes on the host of prterun. */
int MPIX_Session_release_hosts(MPI_Session session, const char *hosts);
int PMPIX_Session_release_hosts(MPI_Session session, const char *hosts);

/* Moves an array that the members of comm hold in contiguous blocks, in the
 * order of their ranks, to blocks of other sizes. Before the call a member
 * holds n_from items, and afterwards n_to items. Either may be 0. The sums of
 * both over all members must be equal, and the buffers must not overlap.
 * Collective. If a member passes an invalid argument, the call fails at all
 * members, and no item moves. */
int MPIX_Redistribute_block(const void *from, MPI_Count n_from, void *to, MPI_Count n_to, MPI_Datatype datatype, MPI_Comm comm);
int PMPIX_Redistribute_block(const void *from, MPI_Count n_from, void *to, MPI_Count n_to, MPI_Datatype datatype, MPI_Comm comm);

/* ---- process failures: User Level Failure Mitigation of the MPI Forum ----
 *
 * The error classes are not part of the standard ABI. Compare classes
 * (MPI_Error_class), not codes. */
#define MPIX_HAVE_FT 1
/* A process of the operation has failed. */
#define MPIX_ERR_PROC_FAILED 101
/* A receive from any source is still active, although a member has failed. */
#define MPIX_ERR_PROC_FAILED_PENDING 102
/* The communicator is revoked. */
#define MPIX_ERR_REVOKED 103

/* Attribute of communicators. Its value is the address of an int, which is 1 if
 * the other processes continue when a process fails (mpiexec --continue,
 * --with-ft mpi). */
#define MPIX_FT 599

/* Names of the next version of the standard. */
#define MPI_FT MPIX_FT
#define MPI_ERR_PROC_FAILED MPIX_ERR_PROC_FAILED
#define MPI_ERR_PROC_FAILED_PENDING MPIX_ERR_PROC_FAILED_PENDING
#define MPI_ERR_REVOKED MPIX_ERR_REVOKED
#define MPI_Comm_get_failed MPIX_Comm_get_failed
#define PMPI_Comm_get_failed PMPIX_Comm_get_failed
#define MPI_Comm_ack_failed MPIX_Comm_ack_failed
#define PMPI_Comm_ack_failed PMPIX_Comm_ack_failed
#define MPI_Comm_revoke MPIX_Comm_revoke
#define PMPI_Comm_revoke PMPIX_Comm_revoke
#define MPI_Comm_is_revoked MPIX_Comm_is_revoked
#define PMPI_Comm_is_revoked PMPIX_Comm_is_revoked

/* MPIX_Comm_get_failed returns the failed members that this process knows.
 * Their order does not change. MPIX_Comm_ack_failed acknowledges the first
 * num_to_ack members of that group. */
int MPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failedgrp);
int PMPIX_Comm_get_failed(MPI_Comm comm, MPI_Group *failedgrp);
int MPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int *num_acked);
int PMPIX_Comm_ack_failed(MPI_Comm comm, int num_to_ack, int *num_acked);

/* MPIX_Comm_revoke ends communication on the communicator at all members. It is
 * not collective: any member may call it. MPIX_Comm_is_revoked returns whether
 * the communicator is revoked. */
int MPIX_Comm_revoke(MPI_Comm comm);
int PMPIX_Comm_revoke(MPI_Comm comm);
int MPIX_Comm_is_revoked(MPI_Comm comm, int *flag);
int PMPIX_Comm_is_revoked(MPI_Comm comm, int *flag);

/* MPIX_Win_revoke ends accesses and synchronization of a window at all members,
 * and MPIX_File_revoke ends accesses and collective calls of a file. Both are
 * called like MPIX_Comm_revoke. MPIX_Win_get_failed returns the failed members
 * of a window that this process knows. */
int MPIX_Win_revoke(MPI_Win win);
int PMPIX_Win_revoke(MPI_Win win);
int MPIX_Win_get_failed(MPI_Win win, MPI_Group *failedgrp);
int PMPIX_Win_get_failed(MPI_Win win, MPI_Group *failedgrp);
int MPIX_File_revoke(MPI_File fh);
int PMPIX_File_revoke(MPI_File fh);

/* MPIX_Comm_failure_ack acknowledges all failed members that this process
 * knows, and MPIX_Comm_failure_get_acked returns the acknowledged members.
 * MPIX_Comm_get_failed and MPIX_Comm_ack_failed replace these older calls. */
int MPIX_Comm_failure_ack(MPI_Comm comm);
int PMPIX_Comm_failure_ack(MPI_Comm comm);
int MPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failedgrp);
int PMPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failedgrp);

/* MPIX_Comm_agree returns the bitwise AND of the flags of all members.
 * MPIX_Comm_shrink creates a communicator of the live members. All live members
 * get the same result, also if members fail during the call. MPIX_Comm_iagree
 * and MPIX_Comm_ishrink do the same without blocking. */
int MPIX_Comm_agree(MPI_Comm comm, int *flag);
int PMPIX_Comm_agree(MPI_Comm comm, int *flag);
int MPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request);
int PMPIX_Comm_iagree(MPI_Comm comm, int *flag, MPI_Request *request);
int MPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm);
int PMPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *newcomm);
int MPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request);
int PMPIX_Comm_ishrink(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request);

/* Returns 1 if the World, or without the World any session, was granted the
 * memory kind "cuda", so that buffers may be in the memory of CUDA devices;
 * else 0. May be called at any time. weft(7) has the calls that accept them. */
int MPIX_Query_cuda_support(void);
int PMPIX_Query_cuda_support(void);

/* The same for the kind "rocm" and devices of ROCm. */
int MPIX_Query_rocm_support(void);
int PMPIX_Query_rocm_support(void);

/* The same for the kind "level_zero" and devices of Level Zero. */
int MPIX_Query_ze_support(void);
int PMPIX_Query_ze_support(void);

/* clang-format on */

#ifdef __cplusplus
}
#endif

#endif
