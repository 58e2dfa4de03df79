/* SPDX-License-Identifier: BSD-3-Clause */
/* nic: network devices of this host and how near they are
 *
 * Reads the machine with its devices, which takes tens of milliseconds; for
 * tools. Any thread; keeps nothing. */
#ifndef WEFT_NIC_H
#define WEFT_NIC_H

#include <stdbool.h>
#include <stddef.h>

struct weft_nic {
	const char *name;   /* of the interface or the RDMA device */
	const char *kind;   /* "network", "rdma" */
	const char *pci;    /* "0000:3b:00.0"; "" when not on the bus */
	const char *vendor; /* "", or as the bus knows it */
	const char *near;   /* the piece of the machine it hangs on, such as
			     * "NUMANode:1" or "Machine:0" */
	bool is_local;	    /* all our processors are in that piece */
};

typedef void weft_nic_fn(void *arg, const struct weft_nic *nic);

/* Calls fn for each, in the machine's order; what it gets is lent for the call.
 * Virtual interfaces without a device, such as the loopback, are not there.
 * WEFT_ERR_OTHER when the machine cannot be read. */
int weft_nic_visit(weft_nic_fn *fn, void *arg);

/* The local ones as "a,b": names and places on the bus. What does not fit is
 * left out; "" when the machine cannot be read. */
void weft_nic_near(char *list, size_t len);

#endif
