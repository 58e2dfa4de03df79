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

	weft_shmem_check_sym(fn, "sig_addr", sig, sizeof(*sig));
	weft_shmem_ok(fn, weft_rma_amo(weft_shmem_rma(fn, ctx), sig, &amo, to));
}

static void put_signal(const char *fn, shmem_ctx_t ctx, void *dest,
	const void *source, size_t len, const struct update *u, int pe)
{
	uint32_t to = weft_shmem_pe(fn, ctx, pe);
	enum weft_amo_op op = op_of(fn, u->op);

	weft_shmem_check_sym(fn, "dest", dest, len);
	weft_shmem_check_sym(fn, "sig_addr", u->sig, sizeof(*u->sig));
	if (weft_unlikely(weft_shmem.tested_max) && len &&
		weft_shmem_stage_put(fn, ctx, dest, source,
			&(struct weft_rma_stride){ len, 1, 0, 0 }, to)) {
		weft_shmem_ok(fn, weft_rma_fence(weft_shmem_rma(fn, ctx)));
		update(fn, ctx, u->sig, u->value, u->op, pe);
		return;
	}
	weft_shmem_ok(
		fn, weft_rma_put_signal(weft_shmem_rma(fn, ctx), dest, source,
			    len, u->sig, op, u->value, to, u->is_nbi));
}

uint64_t pshmem_signal_fetch(const uint64_t *sig_addr)
{
	return __atomic_load_n(sig_addr, __ATOMIC_ACQUIRE);
}

#include "api_shmem_signal.h"
