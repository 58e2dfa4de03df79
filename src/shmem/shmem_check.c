/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_check: the library's state; reports a fault of the caller and ends the
 * job */
#include "shmem_priv.h"

#include "base/err.h"
#include "base/knob.h"
#include "base/log.h"
#include "dev/dev.h"
#include "transport/proc.h"

#include <stdarg.h>
#include <stdio.h>

struct weft_shmem weft_shmem;

static void shmem_check_end_job(const char *fn, const char *what)
{
	char text[512];

	snprintf(text, sizeof(text), "%s: %s", fn, what);
	weft_log_error("SHMEM-FAULT", "%s", text);
	fflush(NULL);
	weft_proc_abort(1, text, NULL, 0);
}

void weft_shmem_fatal(const char *fn, const char *fmt, ...)
{
	char what[400];
	va_list args;

	va_start(args, fmt);
	vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	shmem_check_end_job(fn, what);
	__builtin_unreachable();
}

void weft_shmem_fatal_err(const char *fn, int err)
{
	const char *detail = weft_err_detail_peek(err);

	weft_shmem_fatal(fn, "%s", *detail ? detail : weft_err_str(err));
}

void weft_shmem_check_open(const char *fn)
{
	if (!weft_rma.n_pes)
		weft_shmem_fatal(fn,
			"the library is not initialized; call shmem_init "
			"first, and no procedure after the last "
			"shmem_finalize");
}

void weft_shmem_fatal_pe(const char *fn, int pe, uint32_t n_pes)
{
	weft_shmem_check_open(fn);
	weft_shmem_fatal(
		fn, "pe is %d; it must be from 0 to %u", pe, n_pes - 1);
}

void weft_shmem_check_sym(
	const char *fn, const char *arg, const void *sym, size_t len)
{
	struct weft_dev_where where;

	/* "off"; the other values are "on" and "strict" */
	if (weft_knobs.check[1] == 'f' || !len ||
		weft_rma_is_symmetric(sym, len))
		return;
	if (weft_shmem_in_ext(sym))
		weft_shmem_fatal(fn,
			"%s is %p, which is in the external heap; this "
			"procedure needs memory from shmem_malloc",
			arg, sym);
	if (weft_dev_find(sym, &where))
		weft_shmem_fatal(fn,
			"%s is %p, which is %s device memory (device %d) and "
			"not symmetric memory; copy the data to memory from "
			"shmem_malloc",
			arg, sym, weft_dev_name(&where), where.device);
	weft_shmem_fatal(fn,
		"%s is %p, %zu bytes, which is not symmetric memory; pass an "
		"address from shmem_malloc or of a global or static variable "
		"(heap %p to %p, data %p to %p)",
		arg, sym, len, (void *)weft_rma.heap.base,
		(void *)(weft_rma.heap.base + weft_rma.heap.len),
		(void *)weft_rma.data.base,
		(void *)(weft_rma.data.base + weft_rma.data.len));
}
