/* SPDX-License-Identifier: BSD-3-Clause */
/* port: names by which processes of any job find each other
 *
 * A port's name says where its process is reached and carries the key that
 * lets in whoever has the name, and nobody else. Connecting is a connect
 * request with the connector's own business card; the answer makes a
 * communicator of the two roots, over which the sides are bridged like any two
 * groups (intercomm.c). */
#ifndef WEFT_PORT_H
#define WEFT_PORT_H

#include "core/comm.h"

#include <stddef.h>

enum { WEFT_PORT_NAME_MAX = 512 }; /* with its NUL */

/* Installs the handler of connect requests; called when the VCI opens. */
void weft_port_listen(struct weft_vci *vci);

/* Opens a port; its name is written to buf of WEFT_PORT_NAME_MAX bytes. */
int weft_port_open(char *buf);

/* Who asked to connect and was not accepted is refused. WEFT_ERR_PORT when this
 * process has no such port. */
int weft_port_close(const char *name);

/* Names for ports, among the processes that one process manager serves.
 * WEFT_ERR_SERVICE, and WEFT_ERR_NAME when nobody published it. */
int weft_port_publish(const char *service, const char *name);
int weft_port_unpublish(const char *service);
int weft_port_lookup(const char *service, char *buf, size_t len);

/* Both are collective over comm and block; name and timeout_s matter at root
 * only, and err, which is what is wrong there: all get it. The result is tied
 * to comm's session. All members of comm get the same error: WEFT_ERR_PORT when
 * there is no such port, when it was closed meanwhile, when its process is gone
 * or did not accept in time. */
int weft_port_accept(struct weft_comm *comm, int32_t root, int err,
	const char *name, struct weft_comm **comm_out);
/* The same for a job that was asked for at root and may end before it comes:
 * WEFT_ERR_SPAWN then. err says that there is none (job). */
int weft_port_accept_job(struct weft_comm *comm, int32_t root, int err,
	const char *name, const char *job, struct weft_comm **comm_out);
int weft_port_connect(struct weft_comm *comm, int32_t root, int err,
	const char *name, uint32_t timeout_s, struct weft_comm **comm_out);

#endif
