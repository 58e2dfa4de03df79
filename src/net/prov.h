/* SPDX-License-Identifier: BSD-3-Clause */
/* prov: the interface of a provider entry
 *
 * The room prov/ holds policy as data. For each kind of fabric it has
 * libfabric's provider and its names, the changes to the request, and the
 * changes to the resulting plan. No entry has a data path. */
#ifndef WEFT_PROV_H
#define WEFT_PROV_H

#include "net/plan.h"

#include <stdbool.h>
#include <stddef.h>

struct fi_info;

/* When the library uses an entry that the user has not named. */
enum weft_prov_use {
	WEFT_PROV_AUTO,	    /* whenever libfabric offers it */
	WEFT_PROV_MULTI,    /* when the job has several hosts; on one host the
			       loopback suffices and needs no hardware */
	WEFT_PROV_ON_DEMAND /* only when named by the user */
};

enum { WEFT_PROV_FORMS = 4 };

/* One entry. All functions are optional. They run when libfabric is queried or
 * a candidate opens, on the calling thread. Their arguments are valid during
 * the call. */
struct weft_prov {
	const char *name; /* name of the entry in WEFT_PROVIDER */
	const char *note; /* a phrase: the reason for its use, or why it is used
			   * only if named */
	enum weft_prov_use use;
	bool is_one_host; /* connects only processes of this host */
	bool has_iface;	  /* domains are network interfaces: the loopback is
			   * chosen on one host and avoided otherwise */
	const char *iface_env; /* the provider's variable that names an
				* interface, or NULL */

	const char *devices; /* a directory that exists if the kernel has such
				devices, or NULL. If the directory is missing,
				libfabric is not queried */

	bool wants_hmem; /* an endpoint for messages requests FI_HMEM if the
			  * process uses a driver of devices */

	uint64_t rma_caps; /* further capabilities of an endpoint for
			    * one-sided access (net/rma_ep.h) */

	const char *remedy; /* a phrase with a remedy, for the error message of
			     * a device that does not open; or NULL */

	/* libfabric's names of the provider, the best first */
	const char *forms[WEFT_PROV_FORMS];

	/* Changes the request before libfabric is queried. */
	void (*hints)(struct fi_info *hints);

	/* Checks an fi_info: NULL if it is usable, else a static phrase with
	 * the reason. */
	const char *(*refuse)(const struct fi_info *info);

	/* Completes the chosen fi_info before it is opened: keys, the traffic
	 * class (a value of the knob TCLASS). Records the result in the plan. 0
	 * or a described error. */
	int (*prepare)(struct weft_plan *plan, struct fi_info *info,
		const char *tclass);

	/* Corrects the plan: thresholds, flags, lost features. */
	void (*tune)(struct weft_plan *plan, const struct fi_info *info);
};

/* The entries in order of preference, then NULL. */
extern const struct weft_prov *const weft_prov_table[];

/* The generic entry, for a provider that the user names and that the table does
 * not list. */
extern const struct weft_prov weft_prov_other;

#endif
