/* SPDX-License-Identifier: BSD-3-Clause */
/* port: names by which processes of any job find each other
 *
 * A port's name contains the address of its process and the key that a connect
 * request must carry. So a process needs the name to connect. A connect request
 * contains the business card of the connecting process. After an accept, the
 * two roots create a communicator, and over it the two sides create an
 * intercommunicator (comm/intercomm.c). */
#ifndef WEFT_PORT_H
#define WEFT_PORT_H

#include "core/comm.h"

#include <stddef.h>

enum { WEFT_PORT_NAME_MAX = 512 }; /* with its NUL */

/* Installs the handler of connect requests; called when the VCI opens. */
void weft_port_listen(struct weft_vci *vci);

/* Opens a port; its name is written to buf of WEFT_PORT_NAME_MAX bytes.
 * is_near: only processes of this host connect, and share memory with this
 * process. */
int weft_port_open(char *buf, bool is_near);

/* Closes a port, and refuses the connect requests that wait at it.
 * WEFT_ERR_PORT: this process has no such port. */
int weft_port_close(const char *name);

/* weft_port_publish() publishes the name of a port under a service name.
 * weft_port_unpublish() removes a service name. weft_port_lookup() writes the
 * name of the port to buf. The service names are valid among the processes that
 * one process manager serves. WEFT_ERR_SERVICE: there is no process manager, or
 * the service name is invalid, already published, or not published by this
 * process. WEFT_ERR_NAME: weft_port_lookup() finds no such name. */
int weft_port_publish(const char *service, const char *name);
int weft_port_unpublish(const char *service);
int weft_port_lookup(const char *service, char *buf, size_t len);

/* weft_port_accept() waits for a connect request at a port of the root.
 * weft_port_connect() connects to a port of another process. Both create an
 * intercommunicator, are collective over comm, and block. Only the root uses
 * name, timeout_s and err. err is a fault of the root's arguments, which all
 * members return. The result belongs to comm's session. All members of comm
 * return the same error. WEFT_ERR_PORT: there is no such port, or it was
 * closed, or its process has failed or did not accept in time. */
int weft_port_accept(struct weft_comm *comm, int32_t root, int err,
	const char *name, struct weft_comm **comm_out);
/* Like weft_port_accept(), for the job `job` that the root has started.
 * WEFT_ERR_SPAWN: that job has ended before it connected. If err is not 0,
 * there is no job. */
int weft_port_accept_job(struct weft_comm *comm, int32_t root, int err,
	const char *name, const char *job, struct weft_comm **comm_out);
int weft_port_connect(struct weft_comm *comm, int32_t root, int err,
	const char *name, uint32_t timeout_s, struct weft_comm **comm_out);

#endif
