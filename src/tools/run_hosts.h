/* SPDX-License-Identifier: BSD-3-Clause */
/* run_hosts: the hosts of -host and --hostfile */
#ifndef WEFT_RUN_HOSTS_H
#define WEFT_RUN_HOSTS_H

#include "tools/run_opt.h"

/*
 * Returns the names of the hosts, divided by commas, without slots, in the
 * order of the option; *list_out is NULL without such an option. The caller
 * frees it. WEFT_ERR_ARG if the file cannot be read.
 */
int weft_run_hosts_list(const struct weft_run_opt *opt, char **list_out);

/* WEFT_ERR_ARG, described, if the options name another host. host is the name
 * of this host. */
int weft_run_hosts_check(const struct weft_run_opt *opt, const char *host);

#endif
