/* SPDX-License-Identifier: BSD-3-Clause */
/* port: names by which processes of any job find each other
 *
 * A port's name holds the address of its process and the key that a connect
 * request must carry: a process needs the name to connect. A connect request
 * brings the business card of the connecting process. The answer makes a
 * communicator of the two roots; over it the two sides make an
 * intercommunicator (intercomm.c). */
#ifndef WEFT_PORT_H
#define WEFT_PORT_H

#include "core/comm.h"

#include <stddef.h>

enum { WEFT_PORT_NAME_MAX = 512 }; /* with its NUL */

/* Installs the handler of connect requests; called when the VCI opens. */
void weft_port_listen(struct weft_vci *vci);

/* Opens a port; its name is written to buf of WEFT_PORT_NAME_MAX bytes. */
int weft_port_open(char *buf);

/* Refuses the connect requests that wait at the port. WEFT_ERR_PORT when this
 * process has no such port. */
int weft_port_close(const char *name);

/* Names for ports, among the processes that one process manager serves.
 * WEFT_ERR_SERVICE; WEFT_ERR_NAME when the name is not published. */
int weft_port_publish(const char *service, const char *name);
int weft_port_unpublish(const char *service);
int weft_port_lookup(const char *service, char *buf, size_t len);

/* Both are collective over comm and block. name, timeout_s and err matter at
 * root only; err is a fault of the root's arguments, which all members return.
 * The result is tied to comm's session. All members of comm return the same
 * error: WEFT_ERR_PORT when there is no such port, when it was closed, or when
 * its process has failed or did not accept in time. */
int weft_port_accept(struct weft_comm *comm, int32_t root, int err,
	const char *name, struct weft_comm **comm_out);
/* The same for a job that the root has started: WEFT_ERR_SPAWN when that job
 * ends before it connects. With an err there is no job. */
int weft_port_accept_job(struct weft_comm *comm, int32_t root, int err,
	const char *name, const char *job, struct weft_comm **comm_out);
int weft_port_connect(struct weft_comm *comm, int32_t root, int err,
	const char *name, uint32_t timeout_s, struct weft_comm **comm_out);

#endif
