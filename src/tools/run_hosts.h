/* SPDX-License-Identifier: BSD-3-Clause */
/* run_hosts: the hosts of -host and --hostfile */
#ifndef WEFT_RUN_HOSTS_H
#define WEFT_RUN_HOSTS_H

#include "tools/run_opt.h"

/*
 * Writes the names of the hosts to *list_out, separated by commas, without
 * slots, in the order of the option; NULL without such an option. The caller
 * frees the list. 0, WEFT_ERR_NOMEM, or WEFT_ERR_ARG, described, if the file
 * cannot be read.
 */
int weft_run_hosts_list(const struct weft_run_opt *opt, char **list_out);

/* Fails with WEFT_ERR_ARG, described, if the options name another host, or as
 * weft_run_hosts_list() fails. host is the name of this host. */
int weft_run_hosts_check(const struct weft_run_opt *opt, const char *host);

#endif
