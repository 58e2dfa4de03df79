/* SPDX-License-Identifier: BSD-3-Clause */
/* pmixcount: counts the PMIx calls of a process, for contrib/scale.md
 *
 *     cc -shared -fPIC $(pkg-config --cflags pmix) -o pmixcount.so pmixcount.c
 *     PMIXCOUNT=FILE LD_PRELOAD=$PWD/pmixcount.so LAUNCHER PROGRAM
 *
 * At its end, each process that has called PMIx_Init appends a line to FILE:
 * "name count" for each function that it has called. PMIx_Get() of libpmix
 * calls PMIx_Get_nb(), so Get_nb counts all gets. Any MPI library may be
 * counted if it calls PMIx in a shared library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pmix.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

/* Defines a function that counts its calls, and calls the real one. */
#define COUNTED(name, parameters, arguments)                               \
	static atomic_uint n_##name;                                       \
	pmix_status_t PMIx_##name parameters                               \
	{                                                                  \
		static pmix_status_t(*real) parameters;                    \
                                                                           \
		atomic_fetch_add(&n_##name, 1);                            \
		if (!real)                                                 \
			*(void **)&real = dlsym(RTLD_NEXT, "PMIx_" #name); \
		return real arguments;                                     \
	}

COUNTED(Init, (pmix_proc_t * proc, pmix_info_t info[], size_t n),
	(proc, info, n))
COUNTED(Finalize, (const pmix_info_t info[], size_t n), (info, n))
COUNTED(Put, (pmix_scope_t scope, const char key[], pmix_value_t *value),
	(scope, key, value))
COUNTED(Commit, (void), ())
COUNTED(Get,
	(const pmix_proc_t *proc, const char key[], const pmix_info_t info[],
		size_t n, pmix_value_t **value),
	(proc, key, info, n, value))
COUNTED(Get_nb,
	(const pmix_proc_t *proc, const char key[], const pmix_info_t info[],
		size_t n, pmix_value_cbfunc_t fn, void *arg),
	(proc, key, info, n, fn, arg))
COUNTED(Fence,
	(const pmix_proc_t procs[], size_t n_procs, const pmix_info_t info[],
		size_t n),
	(procs, n_procs, info, n))
COUNTED(Fence_nb,
	(const pmix_proc_t procs[], size_t n_procs, const pmix_info_t info[],
		size_t n, pmix_op_cbfunc_t fn, void *arg),
	(procs, n_procs, info, n, fn, arg))
COUNTED(Query_info,
	(pmix_query_t queries[], size_t n, pmix_info_t **results,
		size_t *n_results),
	(queries, n, results, n_results))
COUNTED(Query_info_nb,
	(pmix_query_t queries[], size_t n, pmix_info_cbfunc_t fn, void *arg),
	(queries, n, fn, arg))
COUNTED(Register_event_handler,
	(pmix_status_t codes[], size_t n_codes, pmix_info_t info[], size_t n,
		pmix_notification_fn_t handler,
		pmix_hdlr_reg_cbfunc_t registered, void *arg),
	(codes, n_codes, info, n, handler, registered, arg))

static void print(FILE *out, const char *name, unsigned n)
{
	if (n)
		fprintf(out, "%s %u ", name, n);
}

static __attribute__((destructor)) void print_counts(void)
{
	const char *path = getenv("PMIXCOUNT");
	FILE *out = path && n_Init ? fopen(path, "a") : NULL;
	char line[1024];

	if (!out)
		return;
	/* one write, so that lines of several processes do not mix */
	setvbuf(out, line, _IOFBF, sizeof(line));
	print(out, "Init", n_Init);
	print(out, "Put", n_Put);
	print(out, "Commit", n_Commit);
	print(out, "Get", n_Get);
	print(out, "Get_nb", n_Get_nb);
	print(out, "Fence", n_Fence);
	print(out, "Fence_nb", n_Fence_nb);
	print(out, "Query_info", n_Query_info);
	print(out, "Query_info_nb", n_Query_info_nb);
	print(out, "Register_event_handler", n_Register_event_handler);
	print(out, "Finalize", n_Finalize);
	fputc('\n', out);
	fclose(out);
}
