/* SPDX-License-Identifier: BSD-3-Clause */
/* prov: contract of a provider entry
 *
 * Room prov/ is policy as data: for each kind of fabric which libfabric
 * provider to ask for, in which forms, how to shape the request, and how to
 * tune the plan that comes out. No entry holds a data path. */
#ifndef WEFT_PROV_H
#define WEFT_PROV_H

#include "net/plan.h"

#include <stdbool.h>
#include <stddef.h>

struct fi_info;

/* When the library takes an entry by itself, without being told to. */
enum weft_prov_use {
	WEFT_PROV_AUTO,	    /* whenever libfabric offers it */
	WEFT_PROV_MULTI,    /* when the job spans hosts; a loopback serves one
			     * host as well without taking the hardware */
	WEFT_PROV_ON_DEMAND /* only when named by the user */
};

enum { WEFT_PROV_FORMS = 4 };

/* One entry. All functions are optional and run once per open, on the opening
 * thread; none may keep what it is given. */
struct weft_prov {
	const char *name; /* what WEFT_PROVIDER calls it */
	const char *note; /* why it stands where it stands, one sentence */
	enum weft_prov_use use;
	bool is_one_host; /* reaches processes of this host only */
	bool has_iface;	  /* domains are network interfaces: the loopback is
			   * chosen on one host and avoided otherwise */
	const char *iface_env; /* foreign variable that names an interface, or
				* NULL */

	const char *devices; /* a directory that is there where the kernel knows
			      * such devices, so that libfabric need not look
			      * for what it needs with them; or NULL */

	uint64_t rma_caps; /* asked for besides one-sided access when an
			    * endpoint for that is opened (net/rma_ep.h) */

	const char *remedy; /* said when a device of it does not open: what else
			     * may help, a phrase; or NULL */

	/* libfabric's names for it, the best first */
	const char *forms[WEFT_PROV_FORMS];

	/* Shapes the request before libfabric is asked. */
	void (*hints)(struct fi_info *hints);

	/* Looks at one answer: NULL when it will do, otherwise the reason why
	 * not, a phrase that lives for ever. */
	const char *(*refuse)(const struct fi_info *info);

	/* Completes the answer that was chosen, before it is opened: keys, the
	 * traffic class (a value of the knob TCLASS). Notes in the plan what
	 * came of it. 0 or an error with its detail. */
	int (*prepare)(struct weft_plan *plan, struct fi_info *info,
		const char *tclass);

	/* Corrects the plan: thresholds, flags, what was lost. */
	void (*tune)(struct weft_plan *plan, const struct fi_info *info);
};

/* The entries in order of preference, then NULL. */
extern const struct weft_prov *const weft_prov_table[];

/* The entry used for a provider that the user named and no entry knows. */
extern const struct weft_prov weft_prov_other;

#endif
