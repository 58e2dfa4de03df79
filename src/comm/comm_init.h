/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_init: the last step of every creation */
#ifndef WEFT_COMM_INIT_H
#define WEFT_COMM_INIT_H

#include "core/session_data.h"

struct weft_comm_init {
	int err; /* error of an earlier step of this process: the call revokes
		    the communicator, which other members may have, and returns
		    this error */
	struct weft_session *session;
	struct weft_vci *vci;	   /* NULL: the default VCI */
	const uint8_t *vcis;	   /* VCI numbers of the remote group, by rank,
				      or NULL */
	const uint8_t *local_vcis; /* intercommunicator: VCI numbers of the
				      local group, or NULL */
	struct weft_comm *parent;  /* the communicator from which the new one is
				      derived, with the same VCIs; or NULL */
	uint64_t ctx;
	bool is_fixed;	    /* the creation succeeds although a member is known
			       to have failed */
	uint64_t local_ctx; /* intercommunicator: context id of the local
			       communicator */
	struct weft_group *group;
	struct weft_group *remote; /* NULL for an intracommunicator */
	struct weft_errh *errh;
	const struct weft_info *info;
	const char *tag; /* string tag; NULL: none */
};

/* Creates the communicator and adds it to the session. References the objects
 * of init and copies its arrays. Does not wait for other members.
 * WEFT_ERR_PEER: is_fixed is not set, and a member is known to have failed; the
 * call may succeed at other members. The lock of init's VCI is held. */
int weft_comm_init(
	const struct weft_comm_init *init, struct weft_comm **comm_out);

#endif
