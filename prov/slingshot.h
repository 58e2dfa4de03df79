/* SPDX-License-Identifier: BSD-3-Clause */
/* slingshot: a launcher's variables for a process on a Slingshot network
 *
 * Slurm's and Flux's plugins and PALS set SLINGSHOT_VNIS (the networks that a
 * job may use, its own first), SLINGSHOT_DEVICES and, in the same order,
 * SLINGSHOT_SVC_IDS (the service of each device that admits the job), and
 * SLINGSHOT_TCS (the permitted traffic classes, a bit mask). The provider reads
 * all but the last, which only this library reads. */
#ifndef WEFT_SLINGSHOT_H
#define WEFT_SLINGSHOT_H

#include "prov/cxi_ext.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if the launcher has named devices, but not this device. */
bool weft_slingshot_is_foreign(const char *device);

/* Writes the key of a device to *key_out: the job's own network and the
 * device's service. False if the variables have no key. A value that cannot be
 * parsed causes a warning. */
bool weft_slingshot_key(const char *device, struct weft_cxi_auth_key *key_out);

/* Returns the class (FI_TC_...) for a value of the knob TCLASS: the named class
 * if SLINGSHOT_TCS permits it, else best effort, else any permitted class. For
 * "default", returns FI_TC_UNSPEC if that is permitted. *why_out is NULL, or a
 * static phrase with the reason for another class. */
uint32_t weft_slingshot_tclass(const char *wish, const char **why_out);

/* Returns the knob's value for a class: "low_latency" and so on, or
 * "default". */
const char *weft_slingshot_tclass_name(uint32_t tclass);

#endif
