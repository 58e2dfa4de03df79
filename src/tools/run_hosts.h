/* SPDX-License-Identifier: BSD-3-Clause */
/* run_hosts: what -host and --hostfile name */
#ifndef WEFT_RUN_HOSTS_H
#define WEFT_RUN_HOSTS_H

#include "tools/run_opt.h"

/*
 * Names of hosts with commas between, without slots, in the order given; NULL
 * in *list_out when none were named.  The caller frees it.  WEFT_ERR_ARG for a
 * file that cannot be read.
 */
int weft_run_hosts_list(const struct weft_run_opt *opt, char **list_out);

/* WEFT_ERR_ARG if a host is named that is not this one, which is called me. */
int weft_run_hosts_check(const struct weft_run_opt *opt, const char *me);

#endif
