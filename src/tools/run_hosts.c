/* SPDX-License-Identifier: BSD-3-Clause */
/* run_hosts: the hosts of -host and --hostfile */
#include "tools/run_hosts.h"

#include "base/err.h"
#include "base/input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Appends the host name at word, unless the list has it. The name ends at a
 * blank, a comma, or the colon before its slots. */
static void run_hosts_add(char *list, const char *word)
{
	size_t len = strcspn(word, ": \t\r\n,#"), n = strlen(list);

	if (!len)
		return;
	for (const char *at = list; *at;) {
		size_t part = strcspn(at, ",");

		if (part == len && !memcmp(at, word, len))
			return;
		at += part + (at[part] == ',');
	}
	sprintf(list + n, "%s%.*s", n ? "," : "", (int)len, word);
}

/* Reads "a,b:2". */
static int from_option(const char *hosts, char **list_out)
{
	*list_out = calloc(strlen(hosts) + 2, 1);
	if (!*list_out)
		return WEFT_ERR_NOMEM;
	while (*hosts) {
		size_t part = strcspn(hosts, ",");

		run_hosts_add(*list_out, hosts);
		hosts += part + (hosts[part] == ',');
	}
	return 0;
}

/* Reads a file with one host per line: "name", "name slots=2", "name:2". */
static int from_file(const char *name, char **list_out)
{
	const char *why;
	FILE *file = weft_input_open(name, true, &why);
	char *line = NULL, *grown;
	size_t cap = 0, len = 0;
	int err = 0;

	if (!file)
		return weft_err_set(
			WEFT_ERR_ARG, "--hostfile %s: %s", name, why);
	*list_out = calloc(1, 1);
	while (*list_out && !err && getline(&line, &cap, file) > 0) {
		len += strlen(line) + 2;
		grown = realloc(*list_out, len);
		err = grown ? 0 : WEFT_ERR_NOMEM;
		if (!err)
			run_hosts_add(*list_out = grown,
				line + strspn(line, " \t"));
	}
	free(line);
	fclose(file);
	return *list_out ? err : WEFT_ERR_NOMEM;
}

int weft_run_hosts_list(const struct weft_run_opt *opt, char **list_out)
{
	int err = 0;

	*list_out = NULL;
	if (opt->hosts)
		err = from_option(opt->hosts, list_out);
	else if (opt->hostfile)
		err = from_file(opt->hostfile, list_out);
	if (!err)
		return 0;
	free(*list_out);
	*list_out = NULL;
	return err;
}

/* True if a name means this host, with or without its domain. */
static bool is_this_host(const char *name, size_t len, const char *host)
{
	static const char *const here[] = { "localhost", "127.0.0.1", "::1" };
	size_t n = strlen(host), first = strcspn(host, ".");

	for (size_t i = 0; i < sizeof(here) / sizeof(*here); i++)
		if (strlen(here[i]) == len && !memcmp(here[i], name, len))
			return true;
	return (len == n && !memcmp(name, host, n)) ||
	       (len == first && !memcmp(name, host, first)) ||
	       (len > n && n == first && name[n] == '.' &&
		       !memcmp(name, host, n));
}

int weft_run_hosts_check(const struct weft_run_opt *opt, const char *host)
{
	char *list = NULL;
	int err = weft_run_hosts_list(opt, &list);

	for (const char *at = list; !err && at && *at;) {
		size_t part = strcspn(at, ",");

		if (!is_this_host(at, part, host))
			err = weft_err_set(WEFT_ERR_ARG,
				"-%s %s: mpiexec starts processes on this host "
				"(%s) only, and %.*s is another host; use srun "
				"or prterun for several hosts",
				opt->hosts ? "host" : "-hostfile",
				opt->hosts ? opt->hosts : opt->hostfile, host,
				(int)part, at);
		at += part + (at[part] == ',');
	}
	free(list);
	return err;
}
