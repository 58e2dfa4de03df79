/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_pair: opens two endpoints and returns their state */
#include "test/fake/cxi/stand_pair.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { DEADLINE_S = 60 };

struct score *score;

void score_open(void)
{
	score = mmap(NULL, sizeof(*score), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (score == MAP_FAILED)
		abort();
}

void claim(bool ok, const char *fmt, ...)
{
	va_list ap;

	score->n_claims++;
	score->n_wrong += !ok;
	printf("%s %d - ", ok ? "ok" : "not ok", score->n_claims);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

static void must(int rc, const char *what)
{
	if (!rc)
		return;
	printf("Bail out! %s: %s\n", what, fi_strerror(rc < 0 ? -rc : rc));
	fflush(stdout);
	_exit(1);
}

static void put_key(struct fi_info *h, uint32_t svc, uint16_t vni)
{
	struct weft_cxi_auth_key key = { svc, vni };

	h->domain_attr->auth_key = malloc(sizeof(key));
	memcpy(h->domain_attr->auth_key, &key, sizeof(key));
	h->domain_attr->auth_key_size = sizeof(key);
}

struct fi_info *pair_hints(const struct pair_wish *wish, int which)
{
	struct fi_info *h = fi_allocinfo();

	must(h ? 0 : -FI_ENOMEM, "fi_allocinfo");
	h->caps = wish->caps ? wish->caps : PAIR_CAPS;
	h->ep_attr->type = FI_EP_RDM;
	h->fabric_attr->prov_name = strdup("cxi");
	h->domain_attr->mr_mode = FI_MR_ENDPOINT | FI_MR_ALLOCATED;
	h->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	h->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	h->tx_attr->msg_order = wish->order;
	h->rx_attr->msg_order = wish->order;
	h->tx_attr->size = wish->tx_size;
	if (wish->vni[which])
		put_key(h, wish->svc, wish->vni[which]);
	return h;
}

static void open_side(struct side *s, const struct pair_wish *wish, int which)
{
	struct fi_info *h = pair_hints(wish, which);
	struct fi_av_attr av = { .type = FI_AV_TABLE };
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_cntr_attr cntr = { .events = FI_CNTR_EVENTS_COMP };

	must(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, h, &s->info),
		"fi_getinfo");
	fi_freeinfo(h);
	must(fi_fabric(s->info->fabric_attr, &s->fabric, NULL), "fi_fabric");
	must(fi_domain(s->fabric, s->info, &s->domain, NULL), "fi_domain");
	must(fi_av_open(s->domain, &av, &s->av, NULL), "fi_av_open");
	must(fi_cq_open(s->domain, &cq, &s->cq, NULL), "fi_cq_open");
	must(fi_cntr_open(s->domain, &cntr, &s->writes, NULL), "fi_cntr_open");
	must(fi_cntr_open(s->domain, &cntr, &s->reads, NULL), "fi_cntr_open");
	must(fi_endpoint(s->domain, s->info, &s->ep, NULL), "fi_endpoint");
	must(fi_ep_bind(s->ep, &s->av->fid, 0), "bind av");
	must(fi_ep_bind(s->ep, &s->cq->fid,
		     FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION),
		"bind cq");
	must(fi_ep_bind(s->ep, &s->writes->fid, FI_WRITE), "bind writes");
	must(fi_ep_bind(s->ep, &s->reads->fid, FI_READ), "bind reads");
	must(fi_enable(s->ep), "fi_enable");
}

static fi_addr_t introduce(struct side *of, struct side *to)
{
	char name[WEFT_CXI_ADDR_LEN];
	size_t len = sizeof(name);
	fi_addr_t addr = FI_ADDR_UNSPEC;

	must(fi_getname(&of->ep->fid, name, &len), "fi_getname");
	must(fi_av_insert(to->av, name, 1, &addr, 0, NULL) == 1 ? 0
								: -FI_EINVAL,
		"fi_av_insert");
	return addr;
}

static struct fid_mr *open_mem(struct pair *p, uint64_t key)
{
	struct fid_mr *mr;

	must(fi_mr_reg(p->b.domain, p->mem, PAIR_MEM,
		     FI_REMOTE_READ | FI_REMOTE_WRITE, 0, key, 0, &mr, NULL),
		"fi_mr_reg");
	must(fi_mr_bind(mr, &p->b.ep->fid, 0), "fi_mr_bind");
	must(fi_mr_enable(mr), "fi_mr_enable");
	return mr;
}

void pair_open(struct pair *p, const struct pair_wish *wish)
{
	memset(p, 0, sizeof(*p));
	p->mem = calloc(1, PAIR_MEM);
	open_side(&p->a, wish, 0);
	open_side(&p->b, wish, 1);
	p->to_b = introduce(&p->b, &p->a);
	p->to_a = introduce(&p->a, &p->b);
	p->mr = open_mem(p, PAIR_KEY);
	p->slow_mr = open_mem(p, PAIR_SLOW_KEY);
}

static void close_side(struct side *s)
{
	must(fi_close(&s->ep->fid), "close ep");
	must(fi_close(&s->reads->fid), "close reads");
	must(fi_close(&s->writes->fid), "close writes");
	must(fi_close(&s->cq->fid), "close cq");
	must(fi_close(&s->av->fid), "close av");
	must(fi_close(&s->domain->fid), "close domain");
	must(fi_close(&s->fabric->fid), "close fabric");
	fi_freeinfo(s->info);
}

void pair_close(struct pair *p)
{
	must(fi_close(&p->mr->fid), "close mr");
	must(fi_close(&p->slow_mr->fid), "close mr");
	close_side(&p->a);
	close_side(&p->b);
	free(p->mem);
}

bool pair_wait(struct fid_cntr *cntr, uint64_t n)
{
	time_t end = time(NULL) + DEADLINE_S;

	while (fi_cntr_read(cntr) + fi_cntr_readerr(cntr) < n) {
		if (time(NULL) > end)
			return false;
		sched_yield();
	}
	return true;
}

int pair_next(struct side *s, void **context_out)
{
	time_t end = time(NULL) + DEADLINE_S;
	struct fi_cq_tagged_entry e;
	struct fi_cq_err_entry err = { 0 };
	ssize_t n;

	while ((n = fi_cq_read(s->cq, &e, 1)) == -FI_EAGAIN) {
		if (time(NULL) > end)
			must(-FI_ETIMEDOUT, "no completion");
		sched_yield();
	}
	if (n == 1) {
		*context_out = e.op_context;
		return 0;
	}
	must(n == -FI_EAVAIL ? 0 : (int)n, "fi_cq_read");
	must(fi_cq_readerr(s->cq, &err, 0) == 1 ? 0 : -FI_EOTHER,
		"fi_cq_readerr");
	*context_out = err.op_context;
	return err.err;
}

static ssize_t write_at(struct pair *p, uint64_t addr, const void *data,
	size_t len, uint64_t flags)
{
	struct iovec iov = { (void *)(uintptr_t)data, len };
	struct fi_rma_iov there = { addr, len, PAIR_KEY };
	struct fi_msg_rma msg = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = p->to_b,
		.rma_iov = &there,
		.rma_iov_count = 1,
	};

	return fi_writemsg(p->a.ep, &msg, flags);
}

ssize_t pair_put(struct pair *p, size_t at, uint64_t value, uint64_t flags)
{
	return write_at(p, at * 8, &value, 8, flags | FI_INJECT);
}

ssize_t pair_flush(struct pair *p, uint64_t flags)
{
	return write_at(p, 0, NULL, 0, flags);
}

uint64_t pair_see(const struct pair *p, size_t at)
{
	const uint64_t *mem = (const uint64_t *)(const void *)p->mem;

	return __atomic_load_n(mem + at, __ATOMIC_ACQUIRE);
}
