/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_ext: the external heap, device memory of the program that is symmetric
 *
 * The external heap of all PEs is one window (src/win). So the CPU of the owner
 * carries out the accesses, and the driver copies the data. Each access is
 * complete at both PEs when its procedure returns, so fences and quiets have
 * nothing to do for it. Before a write, the operations of the context at the PE
 * are completed. So an earlier fence of the context orders them. */
#include "shmem_priv.h"

#include "base/err.h"
#include "comm/create.h"
#include "dev/dev.h"
#include "win/win.h"

#include <stdlib.h>
#include <string.h>

/* --- opening and closing ---------------------------------------------------
 */

struct ext_vendor {
	const char *name;
	const char *kind; /* of memory */
};

static const struct ext_vendor *vendor_of(const char *fn, int device_type)
{
	static const struct ext_vendor vendors[] = {
		[SHMEMX_EXTERNAL_HEAP_ZE] = { "Level Zero", "level_zero" },
		[SHMEMX_EXTERNAL_HEAP_CUDA] = { "CUDA", "cuda" },
		[SHMEMX_EXTERNAL_HEAP_ROCM] = { "ROCm", "rocm" },
	};

	if (device_type < 0 ||
		(size_t)device_type >= sizeof(vendors) / sizeof(vendors[0]))
		weft_shmem_fatal(fn,
			"device_type is %d, which is not supported; pass "
			"SHMEMX_EXTERNAL_HEAP_ZE (%d), "
			"SHMEMX_EXTERNAL_HEAP_CUDA (%d) or "
			"SHMEMX_EXTERNAL_HEAP_ROCM (%d)",
			device_type, SHMEMX_EXTERNAL_HEAP_ZE,
			SHMEMX_EXTERNAL_HEAP_CUDA, SHMEMX_EXTERNAL_HEAP_ROCM);
	return &vendors[device_type];
}

static void check_memory(const char *fn, char *base, size_t size,
	const struct ext_vendor *vendor)
{
	struct weft_dev_where where;

	if (!weft_shmem.session->has_dev)
		weft_shmem_fatal(fn,
			"base is %p, but this job has no device memory; "
			"request the kind \"%s\" (mpiexec "
			"-memory-alloc-kinds)",
			(void *)base, vendor->kind);
	if (!weft_dev_find(base, &where) ||
		strcmp(weft_dev_name(&where), vendor->name))
		weft_shmem_fatal(fn,
			"base is %p, which is not %s device memory; pass the "
			"address of an allocation of the device",
			(void *)base, vendor->name);
	if (size - 1 > UINTPTR_MAX - (uintptr_t)base ||
		!weft_dev_find(base + size - 1, &where))
		weft_shmem_fatal(fn,
			"size is %zu, but the device memory at %p ends before; "
			"pass the size of the allocation",
			size, (void *)base);
}

/* device_index is not used, because the driver knows the device. */
void pshmemx_heap_create(
	void *base, size_t size, int device_type, int device_index)
{
	static const char fn[] = "shmemx_heap_create";
	struct weft_shmem_ext *ext = &weft_shmem.ext;

	(void)device_index;
	if (!ext->is_pending)
		weft_shmem_fatal(fn,
			"no heap can be created now; call it between "
			"shmemx_heap_preinit and shmemx_heap_postinit");
	if (ext->asked)
		weft_shmem_fatal(fn,
			"the external heap was already created at %p, with "
			"%zu bytes; call it once",
			(void *)ext->base, ext->asked);
	if (!base)
		weft_shmem_fatal(
			fn, "base is NULL; pass the address of device memory");
	if (!size)
		weft_shmem_fatal(fn, "size is 0; it must be positive");
	check_memory(fn, base, size, vendor_of(fn, device_type));
	ext->base = base;
	ext->asked = size;
}

/* Returns the same result at every PE. */
static int compare_sizes(void)
{
	uint64_t mine = weft_shmem.ext.asked;
	uint64_t *all;
	int err = weft_create_gather(
		weft_shmem.world.comm, &mine, sizeof(mine), (void **)&all);

	if (err)
		return err;
	for (uint32_t i = 0; !err && i < weft_rma.n_pes; i++)
		if (all[i] != all[0])
			err = weft_err_set(WEFT_ERR_NOT_SAME,
				"the external heap has %zu bytes at PE 0 and "
				"%zu at PE %u; pass the same size to "
				"shmemx_heap_create at all PEs",
				(size_t)all[0], (size_t)all[i], i);
	free(all);
	return err;
}

void pshmemx_heap_postinit(void)
{
	static const char fn[] = "shmemx_heap_postinit";
	struct weft_shmem_ext *ext = &weft_shmem.ext;
	const struct weft_win_config config = { .flavor = WEFT_WIN_CREATE,
		.base = ext->base,
		.size = ext->asked,
		.disp_unit = 1 };

	if (!ext->is_pending)
		weft_shmem_fatal(fn,
			"no heap is being set up; call shmemx_heap_preinit "
			"first, in place of shmem_init");
	ext->is_pending = false;
	weft_shmem_set_caller(fn);
	weft_shmem_ok(fn, compare_sizes());
	if (ext->asked) {
		weft_shmem_ok(fn, weft_win_create(weft_shmem.world.comm,
					  &config, &ext->win));
		weft_win_name(ext->win, "external heap");
		weft_shmem_ok(
			fn, weft_win_lock_all(ext->win, WEFT_WIN_NOCHECK));
		ext->len = ext->asked;
	}
	weft_shmem_set_caller(NULL);
}

int weft_shmem_ext_close(void)
{
	struct weft_shmem_ext *ext = &weft_shmem.ext;
	int err = 0, free_err = 0;

	if (ext->win) {
		err = weft_win_unlock_all(ext->win);
		free_err = weft_win_free(ext->win);
	}
	*ext = (struct weft_shmem_ext){ .len = 0 };
	return err ? err : free_err;
}

/* --- access ----------------------------------------------------------------
 */

void weft_shmem_ext_check(
	const char *fn, const char *arg, const void *sym, size_t len)
{
	const struct weft_shmem_ext *ext = &weft_shmem.ext;

	if (len > ext->len - (size_t)((const char *)sym - ext->base))
		weft_shmem_fatal(fn,
			"%s is %p, %zu bytes, which passes the end of the "
			"external heap (%p to %p)",
			arg, sym, len, (void *)ext->base,
			(void *)(ext->base + ext->len));
}

int weft_shmem_spaced(size_t len, ptrdiff_t step, struct weft_type **type_out)
{
	struct weft_type *one = NULL;
	int err = weft_type_make_contiguous(
		(int64_t)len, weft_type_builtin(WEFT_TYPE_BYTE), &one);

	if (!err)
		err = weft_type_make_resized(one, 0, (int64_t)step, type_out);
	if (one)
		weft_type_put(one);
	if (!err)
		weft_type_commit(*type_out);
	return err;
}

/* A type for n blocks of len bytes. The caller owns a reference. */
static int describe(size_t n, size_t len, ptrdiff_t step,
	struct weft_type **type_out, int64_t *count_out)
{
	int err;

	if (n == 1 || step == (ptrdiff_t)len) {
		*type_out = weft_type_get(weft_type_builtin(WEFT_TYPE_BYTE));
		*count_out = (int64_t)(n * len);
		return 0;
	}
	err = weft_shmem_spaced(len, step, type_out);
	if (!err)
		*count_out = (int64_t)n;
	return err;
}

/* A transfer between blocks at a PE and blocks of this process. */
static int move(char *host, ptrdiff_t host_step, const void *sym,
	ptrdiff_t sym_step, const struct weft_rma_stride *how, uint32_t pe,
	bool is_put)
{
	struct weft_win *win = weft_shmem.ext.win;
	struct weft_type *here = NULL, *there = NULL;
	struct weft_win_access a = { .origin.buf = host,
		.rank = (int32_t)pe,
		.disp = (const char *)sym - weft_shmem.ext.base };
	int err = describe(how->n, how->len, host_step, &here, &a.origin.count);

	if (!err)
		err = describe(how->n, how->len, sym_step, &there, &a.count);
	a.origin.type = here;
	a.type = there;
	if (!err)
		err = is_put ? weft_win_put(win, &a, NULL)
			     : weft_win_get(win, &a, NULL);
	if (!err)
		err = weft_win_flush(win, (int32_t)pe);
	if (there)
		weft_type_put(there);
	if (here)
		weft_type_put(here);
	return err;
}

int weft_shmem_ext_iput(const char *fn, struct weft_rma_ctx *ctx, void *dest,
	const void *src, const struct weft_rma_stride *how, uint32_t pe)
{
	int err = weft_rma_quiet_pe(ctx, pe);

	weft_shmem_set_caller(fn);
	if (!err)
		err = move((char *)(uintptr_t)src, how->src, dest, how->dest,
			how, pe, true);
	weft_shmem_set_caller(NULL);
	return err;
}

int weft_shmem_ext_iget(const char *fn, struct weft_rma_ctx *ctx, void *dest,
	const void *src, const struct weft_rma_stride *how, uint32_t pe)
{
	int err;

	(void)ctx;
	weft_shmem_set_caller(fn);
	err = move(dest, how->dest, src, how->src, how, pe, false);
	weft_shmem_set_caller(NULL);
	return err;
}

bool weft_shmem_ext_put(const char *fn, shmem_ctx_t ctx, void *dest,
	const void *source, const struct weft_rma_stride *how, uint32_t pe)
{
	if (!weft_shmem_in_ext(dest))
		return false;
	weft_shmem_ext_check(
		fn, "dest", dest, weft_shmem_spread(how, how->dest));
	weft_shmem_ok(fn, weft_shmem_ext_iput(fn, weft_shmem_rma(fn, ctx), dest,
				  source, how, pe));
	return true;
}

bool weft_shmem_ext_get(const char *fn, shmem_ctx_t ctx, void *dest,
	const void *source, const struct weft_rma_stride *how, uint32_t pe)
{
	if (!weft_shmem_in_ext(source))
		return false;
	weft_shmem_ext_check(
		fn, "source", source, weft_shmem_spread(how, how->src));
	weft_shmem_ok(fn, weft_shmem_ext_iget(fn, weft_shmem_rma(fn, ctx), dest,
				  source, how, pe));
	return true;
}

static int update_ext_word(const struct weft_amo *amo, const void *dest,
	uint64_t *was_out, uint32_t pe)
{
	static const enum weft_redop_builtin ops[] = {
		[WEFT_AMO_SET] = WEFT_OP_REPLACE,
		[WEFT_AMO_ADD] = WEFT_OP_SUM,
		[WEFT_AMO_AND] = WEFT_OP_BAND,
		[WEFT_AMO_OR] = WEFT_OP_BOR,
		[WEFT_AMO_XOR] = WEFT_OP_BXOR,
		[WEFT_AMO_FETCH] = WEFT_OP_NO_OP,
		[WEFT_AMO_SWAP] = WEFT_OP_REPLACE,
	};
	struct weft_win *win = weft_shmem.ext.win;
	const struct weft_type *type = weft_type_builtin(
		amo->width == 4 ? WEFT_TYPE_UINT32 : WEFT_TYPE_UINT64);
	uint64_t value = amo->value, was = 0;
	struct weft_win_access a = { .origin = { &value, 1, type },
		.result = { &was, 1, type },
		.rank = (int32_t)pe,
		.disp = (const char *)dest - weft_shmem.ext.base,
		.count = 1,
		.type = type,
		.compare = &amo->cond };
	int err;

	if (amo->op == WEFT_AMO_CSWAP) {
		err = weft_win_compare_and_swap(win, &a);
	} else {
		a.op = weft_redop_builtin(ops[amo->op]);
		err = weft_win_fetch_and_op(win, &a);
	}
	if (!err)
		err = weft_win_flush(win, (int32_t)pe);
	if (!err && was_out)
		*was_out = was;
	return err;
}

bool weft_shmem_ext_amo(const char *fn, shmem_ctx_t ctx, const char *arg,
	const void *dest, const struct weft_amo *amo, uint64_t *was_out,
	uint32_t pe)
{
	if (!weft_shmem_in_ext(dest))
		return false;
	weft_shmem_ext_check(fn, arg, dest, amo->width);
	weft_shmem_ok(fn, weft_rma_quiet_pe(weft_shmem_rma(fn, ctx), pe));
	weft_shmem_set_caller(fn);
	weft_shmem_ok(fn, update_ext_word(amo, dest, was_out, pe));
	weft_shmem_set_caller(NULL);
	return true;
}

#include "api_shmem_ext.h"
