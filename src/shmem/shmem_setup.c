/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_setup: init and finalize, the number of PEs, the end of the job
 *
 * OpenSHMEM opens a session, as the World Model of MPI does. The session has a
 * communicator of all processes, which one-sided access uses. Each init needs a
 * finalize. The last finalize closes the session. */
#include "shmem_priv.h"

#include "base/err.h"
#include "base/log.h"
#include "core/info.h"
#include "comm/create.h"
#include "session/exit.h"
#include "session/session_hint.h"
#include "session/pset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int open_session(enum weft_thread_level level)
{
	struct weft_info *asked = weft_info_create();
	int err = asked ? weft_hint_set(asked, WEFT_HINT_THREAD_LEVEL,
				  weft_session_hint_level_name(level))
			: WEFT_ERR_NOMEM;

	if (!err)
		err = weft_session_open(asked, NULL, &weft_shmem.session);
	weft_info_destroy(asked);
	return err;
}

static int open_comm(struct weft_comm **comm_out)
{
	struct weft_group *all = NULL;
	int err = weft_pset_group(weft_shmem.session, "mpi://WORLD", &all);

	if (!err)
		err = weft_create_in_session(weft_shmem.session, all,
			"weft.shmem.world", NULL, NULL, comm_out);
	weft_group_put(all);
	return err;
}

static int open_access(struct weft_comm *comm)
{
	size_t heap_len;
	int err = weft_shmem_env_heap(&heap_len);

	if (!err)
		err = weft_rma_open(comm, heap_len);
	if (err)
		return err;
	err = weft_shmem_teams_open(comm);
	if (err)
		weft_rma_close();
	else
		weft_counters_open(&weft_shmem.counters, WEFT_COUNTER_PROCESS);
	return err;
}

static void greet(void)
{
	weft_shmem.is_debug = weft_shmem_env_has("DEBUG");
	if (weft_rma.my_pe)
		return;
	if (weft_shmem_env_has("VERSION"))
		printf("%s, OpenSHMEM %d.%d\n", SHMEM_VENDOR_STRING,
			SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
	if (weft_shmem_env_has("INFO"))
		weft_shmem_env_print();
	fflush(stdout);
}

static int open_all(int level)
{
	struct weft_comm *comm = NULL;
	int err = open_session((enum weft_thread_level)level);

	if (err)
		return err;
	err = open_comm(&comm);
	if (!err)
		err = open_access(comm);
	if (err) {
		weft_session_close(weft_shmem.session);
		weft_shmem.session = NULL;
		return err;
	}
	weft_shmem.level = (int)weft_shmem.session->level;
	weft_shmem.inline_max =
		weft_shmem.session->has_dev ? 0 : WEFT_SHMEM_INLINE;
	weft_shmem.tested_max = weft_shmem.session->has_dev ? SIZE_MAX : 0;
	greet();
	return 0;
}

static int shmem_setup_start(int level)
{
	int err = weft_shmem.n_inits ? 0 : open_all(level);

	if (!err)
		weft_shmem.n_inits++;
	return err;
}

void pshmem_init(void)
{
	weft_shmem_ok("shmem_init", shmem_setup_start(SHMEM_THREAD_SINGLE));
}

/* shmem_init_thread() for the procedure fn. */
static int init_thread(const char *fn, int requested, int *provided)
{
	int err = 0;

	if (requested < SHMEM_THREAD_SINGLE ||
		requested > SHMEM_THREAD_MULTIPLE)
		err = weft_err_set(WEFT_ERR_ARG,
			"requested is %d, which is no thread level", requested);
	if (!err)
		err = shmem_setup_start(requested);
	if (err) {
		weft_log_error(
			"SHMEM-INIT", "%s: %s", fn, weft_err_detail_peek(err));
		return 1;
	}
	if (provided)
		*provided = weft_shmem.level;
	return 0;
}

int pshmem_init_thread(int requested, int *provided)
{
	return init_thread("shmem_init_thread", requested, provided);
}

static int check_closed(void)
{
	return weft_shmem.n_inits
		       ? weft_err_set(WEFT_ERR_ARG,
				 "the library is already initialized; call "
				 "this procedure in place of shmem_init")
		       : 0;
}

void pshmemx_heap_preinit(void)
{
	static const char fn[] = "shmemx_heap_preinit";

	weft_shmem_ok(fn, check_closed());
	weft_shmem_ok(fn, shmem_setup_start(SHMEM_THREAD_SINGLE));
	weft_shmem.ext.is_pending = true;
}

int pshmemx_heap_preinit_thread(int requested, int *provided)
{
	static const char fn[] = "shmemx_heap_preinit_thread";

	if (check_closed()) {
		weft_log_error("SHMEM-INIT", "%s: %s", fn,
			weft_err_detail_peek(WEFT_ERR_ARG));
		return 1;
	}
	if (init_thread(fn, requested, provided))
		return 1;
	weft_shmem.ext.is_pending = true;
	return 0;
}

static void stop(const char *fn)
{
	int err, ext_err;

	weft_shmem_check_open(fn);
	weft_shmem_barrier(fn);
	if (--weft_shmem.n_inits)
		return;
	weft_shmem.inline_max = weft_shmem.tested_max = 0;
	weft_counters_close(&weft_shmem.counters);
	weft_shmem_ctxs_close(NULL);
	weft_shmem_set_caller(fn);
	ext_err = weft_shmem_ext_close();
	err = weft_rma_close();
	weft_shmem_set_caller(NULL);
	weft_shmem_sets_close();
	weft_shmem_teams_close();
	if (weft_session_close(weft_shmem.session) && !err)
		err = WEFT_ERR_PEER;
	weft_shmem.session = NULL;
	weft_shmem_ok(fn, err ? err : ext_err);
}

void pshmem_finalize(void)
{
	stop("shmem_finalize");
}

/* Closes the library when the program exits, after start_pes(). */
static void stop_at_exit(void)
{
	while (weft_shmem.n_inits)
		stop("exit");
}

void pstart_pes(int npes)
{
	(void)npes;
	if (weft_shmem.n_inits)
		return;
	weft_shmem_ok("start_pes", shmem_setup_start(SHMEM_THREAD_SINGLE));
	atexit(stop_at_exit);
}

void pshmem_query_initialized(int *initialized)
{
	*initialized = weft_shmem.n_inits > 0;
}

void pshmem_query_thread(int *provided)
{
	weft_shmem_check_open("shmem_query_thread");
	*provided = weft_shmem.level;
}

void pshmem_global_exit(int status)
{
	char text[80];

	snprintf(text, sizeof(text), "shmem_global_exit(%d) by PE %u", status,
		weft_rma.my_pe);
	fflush(NULL);
	weft_exit_all(status, text);
}

int pshmem_my_pe(void)
{
	if (weft_unlikely(!weft_rma.n_pes))
		weft_shmem_check_open("shmem_my_pe");
	return (int)weft_rma.my_pe;
}

int pshmem_n_pes(void)
{
	if (weft_unlikely(!weft_rma.n_pes))
		weft_shmem_check_open("shmem_n_pes");
	return (int)weft_rma.n_pes;
}

int pshmem_pe_accessible(int pe)
{
	return (uint32_t)pe < weft_rma.n_pes;
}

int pshmem_addr_accessible(const void *addr, int pe)
{
	return (uint32_t)pe < weft_rma.n_pes &&
	       (weft_rma_is_symmetric(addr, 1) || weft_shmem_in_ext(addr));
}

void *pshmem_ptr(const void *dest, int pe)
{
	return (uint32_t)pe < weft_rma.n_pes
		       ? weft_rma_local(dest, (uint32_t)pe)
		       : NULL;
}

void pshmem_info_get_version(int *major, int *minor)
{
	*major = SHMEM_MAJOR_VERSION;
	*minor = SHMEM_MINOR_VERSION;
}

void pshmem_info_get_name(char *name)
{
	memcpy(name, SHMEM_VENDOR_STRING, sizeof(SHMEM_VENDOR_STRING));
}

void pshmem_pcontrol(int level, ...)
{
	(void)level;
}

#include "api_shmem_setup.h"
