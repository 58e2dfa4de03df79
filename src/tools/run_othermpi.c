/* SPDX-License-Identifier: BSD-3-Clause */
/* run_othermpi: options of other launchers, and the remedy for each */
#include "tools/run_othermpi.h"

#include <stddef.h>
#include <string.h>

#define PARAMETERS                                                          \
	"parameters of other libraries have no meaning; weft(7) lists the " \
	"variables of this library"
#define PLACES                                                               \
	"--map-by and --bind-to accept core, socket, numa or hwthread, and " \
	"--report-bindings prints the result"
#define ONE_HOST                                                            \
	"mpiexec starts processes on this host only, and srun and prterun " \
	"have their own ways to reach other hosts"
#define TO_FILES                                                            \
	"redirect the output to a file with the shell; -l or --tag-output " \
	"starts each line with its rank"
#define DEBUGGER "--debug starts each process under gdb in a window of its own"

const struct weft_run_othermpi *weft_run_othermpi_find(const char *option)
{
	static const struct weft_run_othermpi table[] = {
		{ "mca", 2, false, PARAMETERS },
		{ "gmca", 2, false, PARAMETERS },
		{ "omca", 2, false, PARAMETERS },
		{ "prtemca", 2, false, PARAMETERS },
		{ "pmixmca", 2, false, PARAMETERS },
		{ "am", 1, false, PARAMETERS },
		{ "tune", 1, false, PARAMETERS },
		{ "prefix", 1, false,
			"a program finds the library by its own run path" },
		{ "launcher", 1, false, ONE_HOST },
		{ "launcher-exec", 1, false, ONE_HOST },
		{ "bootstrap", 1, false, ONE_HOST },
		{ "rmk", 1, false, ONE_HOST },
		{ "nolocal", 0, true, ONE_HOST },
		{ "iface", 1, true,
			"the variable WEFT_IFACE chooses a network interface" },
		{ "nooversubscribe", 0, false,
			"a job of more processes than cores is not bound" },
		{ "use-hwthread-cpus", 0, false, PLACES },
		{ "display-map", 0, false, PLACES },
		{ "display", 1, false, PLACES },
		{ "print-rank-map", 0, false, PLACES },
		{ "report-state-on-timeout", 0, false,
			"--timeout always prints the state of every process" },
		{ "get-stack-traces", 0, false,
			"--timeout always prints the state of every process" },
		{ "print-all-exitcodes", 0, false,
			"each process that fails is reported with its code" },
		{ "bind-to-core", 0, true, PLACES },
		{ "bind-to-socket", 0, true, PLACES },
		{ "bycore", 0, true, PLACES },
		{ "bysocket", 0, true, PLACES },
		{ "bynode", 0, true, PLACES },
		{ "npersocket", 1, true, PLACES },
		{ "rank-by", 1, true, PLACES },
		{ "rankfile", 1, true, PLACES },
		{ "cpu-set", 1, true, "taskset -c, before mpiexec" },
		{ "cpu-list", 1, true, "taskset -c, before mpiexec" },
		{ "output-filename", 1, true, TO_FILES },
		{ "outfile-pattern", 1, true, TO_FILES },
		{ "errfile-pattern", 1, true, TO_FILES },
		{ "output", 1, true, TO_FILES },
		{ "timestamp-output", 0, false, TO_FILES },
		{ "merge-stderr-to-stdout", 0, true,
			"append 2>&1 to the command" },
		{ "stdin", 1, true, "only rank 0 reads standard input" },
		{ "s", 1, true, "only rank 0 reads standard input" },
		{ "gdb", 0, true, DEBUGGER },
		{ "xterm", 1, true, DEBUGGER },
		{ "soft", 1, true, "-n accepts one number" },
		{ "arch", 1, true, ONE_HOST },
		{ "file", 1, true, "-configfile reads app contexts" },
		{ "app", 1, true, "-configfile reads app contexts" },
	};
	const char *word = option + strspn(option, "-");
	size_t len = strcspn(word, "=");

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (strlen(table[i].name) == len &&
			!memcmp(table[i].name, word, len))
			return &table[i];
	return NULL;
}
