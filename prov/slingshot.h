/* SPDX-License-Identifier: BSD-3-Clause */
/* slingshot: what a launcher tells a process on a Slingshot network
 *
 * Slurm's and Flux's plugins and PALS set SLINGSHOT_VNIS (the networks a job
 * may use, the first its own), SLINGSHOT_DEVICES and, in the same order,
 * SLINGSHOT_SVC_IDS (the service of each device that lets it in), and
 * SLINGSHOT_TCS (the traffic classes it may use, a bit mask). The provider
 * reads all but the last by itself; that one nobody reads but us. */
#ifndef WEFT_SLINGSHOT_H
#define WEFT_SLINGSHOT_H

#include "prov/cxi_ext.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True when the launcher named devices and this is none of them. */
bool weft_slingshot_is_foreign(const char *device);

/* The key of a device: the job's own network and the device's service. False
 * when the launcher said nothing usable; *key_out is written on success. What
 * is there and cannot be read is warned of. */
bool weft_slingshot_key(const char *device, struct weft_cxi_auth_key *key_out);

/* The class to use (FI_TC_...) for a value of the knob TCLASS: the one wished
 * for if SLINGSHOT_TCS permits it, else best effort, else any that is
 * permitted. *why_out is NULL, or says as a phrase that lives for ever what
 * of the wish is not met. "default" gives FI_TC_UNSPEC where that may be. */
uint32_t weft_slingshot_tclass(const char *wish, const char **why_out);

/* The knob's value for a class: "low_latency" and so on, or "default". */
const char *weft_slingshot_tclass_name(uint32_t tclass);

#endif
