/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_signal: put with signal, and operations on signals */
#include "shmem_priv.h"

struct update {
	uint64_t *sig;
	uint64_t value;
	int op;
	bool is_nbi;
};

static enum weft_amo_op op_of(const char *fn, int op)
{
	if (op == SHMEM_SIGNAL_SET)
		return WEFT_AMO_SET;
	if (op != SHMEM_SIGNAL_ADD)
		weft_shmem_fatal(fn,
			"sig_op is %d; it must be SHMEM_SIGNAL_SET or "
			"SHMEM_SIGNAL_ADD",
			op);
	return WEFT_AMO_ADD;
}

static void update(const char *fn, shmem_ctx_t ctx, uint64_t *sig,
	uint64_t value, int op, int pe)
{
	const struct weft_amo amo = { op_of(fn, op), sizeof(*sig), value, 0 };
	uint32_t to = weft_shmem_pe(fn, ctx, pe);

	if (weft_unlikely(weft_shmem.tested_max) &&
		weft_shmem_ext_amo(fn, ctx, "sig_addr", sig, &amo, NULL, to))
		return;
	weft_shmem_check_sym(fn, "sig_addr", sig, sizeof(*sig));
	weft_shmem_ok(fn, weft_rma_amo(weft_shmem_rma(fn, ctx), sig, &amo, to));
}

/* Called if buffers may be in device memory. False if all are in host memory.
 * Otherwise the put is complete at this PE. */
__attribute__((noinline, cold)) static bool put_signal_staged(const char *fn,
	shmem_ctx_t ctx, void *dest, const void *source, size_t len,
	const struct update *u, int pe)
{
	const struct weft_rma_stride how = { len, 1, 0, 0 };
	uint32_t to = weft_shmem_pe(fn, ctx, pe);
	bool is_ext = weft_shmem_in_ext(u->sig);

	if (!is_ext)
		weft_shmem_check_sym(fn, "sig_addr", u->sig, sizeof(*u->sig));
	if (!len || !weft_shmem_stage_put(fn, ctx, dest, source, &how, to)) {
		if (!is_ext && !weft_shmem_in_ext(dest))
			return false;
		weft_shmem_check_sym(fn, "dest", dest, len);
		if (len)
			weft_shmem_ok(fn, weft_rma_put(weft_shmem_rma(fn, ctx),
						  dest, source, len, to));
	}
	weft_shmem_ok(fn, weft_rma_fence(weft_shmem_rma(fn, ctx)));
	update(fn, ctx, u->sig, u->value, u->op, pe);
	return true;
}

static void put_signal(const char *fn, shmem_ctx_t ctx, void *dest,
	const void *source, size_t len, const struct update *u, int pe)
{
	uint32_t to = weft_shmem_pe(fn, ctx, pe);
	enum weft_amo_op op = op_of(fn, u->op);

	if (weft_unlikely(weft_shmem.tested_max) &&
		put_signal_staged(fn, ctx, dest, source, len, u, pe))
		return;
	weft_shmem_check_sym(fn, "dest", dest, len);
	weft_shmem_check_sym(fn, "sig_addr", u->sig, sizeof(*u->sig));
	weft_shmem_ok(
		fn, weft_rma_put_signal(weft_shmem_rma(fn, ctx), dest, source,
			    len, u->sig, op, u->value, to, u->is_nbi));
}

/* Called if buffers may be in device memory. */
__attribute__((noinline, cold)) static uint64_t fetch_staged(
	const uint64_t *sig_addr)
{
	const struct weft_amo amo = { WEFT_AMO_FETCH, sizeof(*sig_addr), 0, 0 };
	static const char fn[] = "shmem_signal_fetch";
	uint64_t was;

	if (weft_shmem_ext_amo(fn, SHMEM_CTX_DEFAULT, "sig_addr", sig_addr,
		    &amo, &was, weft_rma.my_pe))
		return was;
	return __atomic_load_n(sig_addr, __ATOMIC_ACQUIRE);
}

uint64_t pshmem_signal_fetch(const uint64_t *sig_addr)
{
	if (weft_unlikely(weft_shmem.tested_max))
		return fetch_staged(sig_addr);
	return __atomic_load_n(sig_addr, __ATOMIC_ACQUIRE);
}

#include "api_shmem_signal.h"
