/* SPDX-License-Identifier: BSD-3-Clause */
/* nic: network devices of this host, and the objects they are attached to
 *
 * Each call reads the topology of the machine, with its devices, which takes
 * tens of milliseconds. Any thread; nothing is cached. */
#ifndef WEFT_NIC_H
#define WEFT_NIC_H

#include <stdbool.h>
#include <stddef.h>

struct weft_nic {
	const char *name;   /* name of the interface or the RDMA device */
	const char *kind;   /* "network" or "rdma" */
	const char *pci;    /* PCI address "0000:3b:00.0"; "" if it is no PCI
			       device */
	const char *vendor; /* the PCI vendor's name, or "" */
	const char *near;   /* object to which it is attached, such as
			       "NUMANode:1" or "Machine:0" */
	bool is_local;	    /* all processors of the calling thread are in the
			       object `near` */
};

typedef void weft_nic_fn(void *arg, const struct weft_nic *nic);

/* Calls fn for each device, in the machine's order. The argument is valid
 * during the call. Virtual interfaces without a device, such as the loopback,
 * are left out. WEFT_ERR_OTHER: the machine cannot be read. */
int weft_nic_visit(weft_nic_fn *fn, void *arg);

/* Lists the names and PCI addresses of the local devices as "a,b". Entries that
 * do not fit are left out. "" if the machine cannot be read. */
void weft_nic_near(char *list, size_t len);

#endif
