/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_init: the last step of every creation */
#ifndef WEFT_COMM_INIT_H
#define WEFT_COMM_INIT_H

#include "core/session_data.h"

struct weft_comm_init {
	struct weft_session *session;
	struct weft_vci *vci; /* where it matches; NULL: the default VCI */
	const uint8_t
		*vcis; /* VCI numbers of those it sends to, by rank, or NULL */
	const uint8_t *local_vcis; /* inter: of the local members, or NULL */
	struct weft_comm *parent;  /* it is derived from this one and has the
				      same VCIs; or NULL */
	uint64_t ctx;
	bool is_fixed;	    /* the id was known beforehand, without agreement */
	uint64_t local_ctx; /* of the local intracommunicator, if inter */
	struct weft_group *group;
	struct weft_group *remote; /* NULL for an intracommunicator */
	struct weft_errh *errh;
	const struct weft_info *info;
	const char *tag; /* NULL: none */
};

/* Creates the communicator and attaches it to the session. Takes its own
 * references and copies. Local. WEFT_ERR_PEER when a member is known to have
 * failed, unless the id is fixed; other members may still get the communicator.
 * The lock of that VCI held. */
int weft_comm_init(
	const struct weft_comm_init *init, struct weft_comm **comm_out);

#endif
