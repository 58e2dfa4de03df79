/* SPDX-License-Identifier: BSD-3-Clause */
/* fakeboot: see fakeboot.h */
#include "fakeboot.h"

#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t job_rank, job_size = 1, job_local = 1;
static struct fakeboot_counts counts;
static uint32_t *local_ranks;
static struct {
	weft_boot_get_fn *fn;
	void *arg;
} last_get;

void fakeboot_set_job(uint32_t rank, uint32_t size, uint32_t local_size)
{
	job_rank = rank;
	job_size = size;
	job_local = local_size;
}

const struct fakeboot_counts *fakeboot_counts(void)
{
	return &counts;
}

void fakeboot_answer(const void *data, size_t len)
{
	last_get.fn(last_get.arg, 0, data, len);
}

static void fake_close(struct weft_boot *boot, int clean)
{
	(void)clean;
	free(local_ranks);
	free(boot);
}

static int fake_abort(struct weft_boot *boot, int code, const char *text,
	const uint32_t *ranks, size_t n)
{
	(void)boot;
	(void)code;
	(void)ranks;
	(void)n;
	fprintf(stderr, "abort: %s\n", text);
	return 0;
}

static int fake_put(
	struct weft_boot *boot, const char *key, const void *data, size_t len)
{
	(void)boot;
	(void)key;
	(void)data;
	(void)len;
	counts.n_put++;
	return 0;
}

static int fake_commit(struct weft_boot *boot)
{
	(void)boot;
	counts.n_commit++;
	return 0;
}

static int fake_get(struct weft_boot *boot, uint32_t rank, const char *key,
	weft_boot_get_fn *fn, void *arg)
{
	(void)boot;
	(void)rank;
	(void)key;
	last_get.fn = fn;
	last_get.arg = arg;
	counts.n_get++;
	return 0;
}

static int fake_fence(struct weft_boot *boot, const uint32_t *ranks, size_t n,
	weft_boot_done_fn *fn, void *arg)
{
	(void)boot;
	(void)ranks;
	(void)n;
	(void)fn;
	(void)arg;
	counts.n_fence++;
	return WEFT_ERR_UNSUPPORTED;
}

static int fake_host_of(
	struct weft_boot *boot, uint32_t rank, char *buf, size_t len)
{
	(void)boot;
	snprintf(buf, len, "node%u", rank / job_local);
	return 0;
}

static int fake_local(
	struct weft_boot *boot, const uint32_t **ranks_out, size_t *n_out)
{
	(void)boot;
	if (!local_ranks) {
		local_ranks = malloc(job_local * sizeof(*local_ranks));
		if (!local_ranks)
			return WEFT_ERR_NOMEM;
		for (uint32_t i = 0; i < job_local; i++)
			local_ranks[i] = job_rank / job_local * job_local + i;
	}
	*ranks_out = local_ranks;
	*n_out = job_local;
	return 0;
}

static int fake_pset_list(
	struct weft_boot *boot, char ***names_out, size_t *n_out)
{
	(void)boot;
	counts.n_pset++;
	*names_out = NULL;
	*n_out = 0;
	return 0;
}

static int fake_pset_members(struct weft_boot *boot, const char *name,
	uint64_t **procs_out, size_t *n_out)
{
	(void)boot;
	(void)name;
	(void)procs_out;
	(void)n_out;
	counts.n_pset++;
	return WEFT_ERR_NOTFOUND;
}

static int fake_pset_define(struct weft_boot *boot, const char *name,
	const uint64_t *procs, size_t n)
{
	(void)boot;
	(void)name;
	(void)procs;
	(void)n;
	return WEFT_ERR_UNSUPPORTED;
}

static int fake_pset_delete(struct weft_boot *boot, const char *name)
{
	(void)boot;
	(void)name;
	return WEFT_ERR_UNSUPPORTED;
}

static int fake_poll(struct weft_boot *boot, weft_boot_event_fn *fn, void *arg)
{
	(void)boot;
	(void)fn;
	(void)arg;
	return 0;
}

static const struct weft_boot_ops fake_ops = {
	.name = "fake",
	.close = fake_close,
	.abort = fake_abort,
	.put = fake_put,
	.commit = fake_commit,
	.get = fake_get,
	.fence = fake_fence,
	.host_of = fake_host_of,
	.local = fake_local,
	.pset_list = fake_pset_list,
	.pset_members = fake_pset_members,
	.pset_define = fake_pset_define,
	.pset_delete = fake_pset_delete,
	.poll = fake_poll,
};

int fakeboot_open(
	struct weft_boot **boot_out, struct weft_boot_facts *facts_out)
{
	struct weft_boot *boot = calloc(1, sizeof(*boot));

	if (!boot)
		return WEFT_ERR_NOMEM;
	boot->ops = &fake_ops;
	*facts_out = (struct weft_boot_facts){
		.host = "node",
		.job = "fake",
		.manager = "fake",
		.rank = job_rank,
		.size = job_size,
		.univ_size = job_size,
		.local_rank = job_rank % job_local,
		.local_size = job_local,
		.n_nodes = (job_size + job_local - 1) / job_local,
	};
	memset(facts_out->own_key, 7, sizeof(facts_out->own_key));
	*boot_out = boot;
	return 0;
}
