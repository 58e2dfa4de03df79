/* SPDX-License-Identifier: BSD-3-Clause */
/* domain: a libfabric domain with its address table
 *
 * A net (ep.c) and an RMA domain (rma_ep.c) open this part in the same way. */
#ifndef WEFT_DOMAIN_H
#define WEFT_DOMAIN_H

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <stdint.h>

/* Embedded in a net or an RMA domain, its owner. Fields are in the order in
 * which they are set up. */
struct weft_domain {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
};

/* Opens the domain and its address table on info and fabric, which the caller
 * has set. 0, or libfabric's code, and *call_out names the call that failed.
 * The owner calls weft_domain_close() in either case. */
int weft_domain_open(struct weft_domain *dom, const char **call_out);

/* Closes the open objects and frees info. */
void weft_domain_close(struct weft_domain *dom);

/* Closes an object of the domain; a failure is logged. */
void weft_domain_close_fid(struct fid *fid, const char *what);

/* Returns the time of an idle poll of this queue, in ns: the minimum of several
 * polls. */
uint32_t weft_domain_poll_ns(struct fid_cq *cq);

#endif
