/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_test: the stand-in behaves as the real provider is documented
 *
 * Each case is a process, because the provider reads its variables when
 * libfabric loads it. */
#include "test/fake/cxi/stand_find.h"
#include "test/fake/cxi/stand_pair.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct pair_wish plain;

/* Offered attributes */

static void case_info(void)
{
	struct fi_info *h = pair_hints(&plain, 0);
	struct fi_info *i = NULL;
	int rc = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, h, &i);
	const struct fi_domain_attr *d;

	claim(!rc && i, "cxi is offered");
	if (rc)
		return;
	d = i->domain_attr;
	claim(!strcmp(i->fabric_attr->prov_name, "cxi") &&
			!strcmp(i->fabric_attr->name, "cxi") &&
			!strcmp(d->name, "cxi0"),
		"under the real names");
	claim(i->addr_format == FI_ADDR_CXI &&
			i->src_addrlen == WEFT_CXI_ADDR_LEN &&
			i->ep_attr->protocol == WEFT_CXI_PROTO,
		"the device has the address format and protocol of cxi");
	claim(d->mr_mode == (FI_MR_ENDPOINT | FI_MR_ALLOCATED) &&
			d->mr_key_size == 4,
		"client keys have 32 bits");
	claim(d->data_progress == FI_PROGRESS_MANUAL &&
			d->control_progress == FI_PROGRESS_MANUAL,
		"progress is manual");
	claim(i->tx_attr->inject_size == 192 && i->tx_attr->iov_limit == 1 &&
			i->tx_attr->rma_iov_limit == 1 &&
			i->tx_attr->size == 1024,
		"192 bytes are injected, one piece each");
	claim(i->ep_attr->max_msg_size == 0xffffffff &&
			i->ep_attr->mem_tag_format == 0xaaaaaaaaaaaaull,
		"messages are below 4 GiB, and tags have 48 bits");
	claim(d->cntr_cnt == 16 && d->max_ep_stx_ctx == 0 && d->ep_cnt == 128,
		"sixteen counters exist, and no shared contexts");
	claim(i->nic && !strcmp(i->nic->device_attr->name, "cxi0"),
		"a device is described");
	fi_freeinfo(i);
	h->domain_attr->mr_mode |= FI_MR_PROV_KEY;
	rc = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, h, &i);
	claim(!rc && i->domain_attr->mr_mode & FI_MR_PROV_KEY &&
			i->domain_attr->mr_key_size == 8,
		"keys of the provider are preferred if the caller accepts "
		"them");
	fi_freeinfo(i);
	fi_freeinfo(h);
}

typedef void spoil_fn(struct fi_info *h);

static void no_endpoint_mr(struct fi_info *h)
{
	h->domain_attr->mr_mode = FI_MR_ALLOCATED;
}
static void auto_data(struct fi_info *h)
{
	h->domain_attr->data_progress = FI_PROGRESS_AUTO;
}
static void auto_control(struct fi_info *h)
{
	h->domain_attr->control_progress = FI_PROGRESS_AUTO;
}
static void read_after_write(struct fi_info *h)
{
	h->tx_attr->msg_order = FI_ORDER_RAW;
}
static void long_inject(struct fi_info *h)
{
	h->tx_attr->inject_size = 193;
}
static void two_pieces(struct fi_info *h)
{
	h->tx_attr->iov_limit = 2;
}
static void other_type(struct fi_info *h)
{
	h->ep_attr->type = FI_EP_MSG;
}
static void other_address(struct fi_info *h)
{
	h->addr_format = FI_SOCKADDR_IN;
}
static void long_queue(struct fi_info *h)
{
	h->tx_attr->size = 16385;
}
static void no_capability(struct fi_info *h)
{
	h->caps |= FI_VARIABLE_MSG;
}

static void case_hints(void)
{
	static const struct {
		spoil_fn *spoil;
		const char *what;
	} cases[] = {
		{ no_endpoint_mr, "registrations without FI_MR_ENDPOINT" },
		{ auto_data, "automatic data progress" },
		{ auto_control, "automatic control progress" },
		{ read_after_write, "reads after writes in order" },
		{ long_inject, "193 injected bytes" },
		{ two_pieces, "two pieces" },
		{ other_type, "connected endpoints" },
		{ other_address, "Internet addresses" },
		{ long_queue, "16385 operations" },
		{ no_capability, "a capability it lacks" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fi_info *h = pair_hints(&plain, 0);
		struct fi_info *got = NULL;
		int rc;

		cases[i].spoil(h);
		rc = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, h, &got);
		claim(rc == -FI_ENODATA, "refused: %s", cases[i].what);
		fi_freeinfo(got);
		fi_freeinfo(h);
	}
}

/* Flags */

static ssize_t atomic_add(struct pair *p, enum fi_datatype type, uint64_t key,
	size_t at, uint64_t flags)
{
	uint64_t one = 1;
	struct fi_ioc io = { &one, 1 };
	struct fi_rma_ioc there = { at * 8, 1, key };
	struct fi_msg_atomic msg = {
		.msg_iov = &io,
		.iov_count = 1,
		.addr = p->to_b,
		.rma_iov = &there,
		.rma_iov_count = 1,
		.datatype = type,
		.op = FI_SUM,
	};

	return fi_atomicmsg(p->a.ep, &msg, flags);
}

static void case_flags(void)
{
	uint64_t hrp = WEFT_CXI_HRP, once = WEFT_CXI_UNRELIABLE;
	struct pair p;
	char buf[256] = { 0 };
	uint64_t n = 0;

	pair_open(&p, &plain);
	claim(pair_put(&p, 0, 1, FI_REMOTE_CQ_DATA) == -FI_EBADFLAGS,
		"a put with data for the target's queue is refused");
	claim(pair_put(&p, 0, 1, once) == -FI_EBADFLAGS,
		"a put cannot be unreliable");
	claim(pair_put(&p, 0, 1, hrp) == 0, "a put may be of high rate");
	claim(pair_put(&p, 0, 1, WEFT_CXI_WEAK_FENCE) == 0,
		"the flag of the weak fence is accepted");
	n += 2;
	claim(atomic_add(&p, FI_INT64, PAIR_KEY, 9, hrp) == -FI_EINVAL,
		"an atomic of high rate must be unreliable");
	claim(atomic_add(&p, FI_INT64, PAIR_KEY, 9, hrp | once) == 0,
		"an unreliable atomic may be of high rate");
	claim(atomic_add(&p, FI_INT64, PAIR_SLOW_KEY, 9, hrp) == 0,
		"an atomic with a standard key is not restricted");
	n += 2;
	claim(atomic_add(&p, FI_INT64, PAIR_KEY, 9, FI_REMOTE_CQ_DATA) ==
			-FI_EBADFLAGS,
		"an atomic with data for the queue is refused");
	claim(fi_inject_write(p.a.ep, buf, 193, p.to_b, 0, PAIR_KEY) ==
			-FI_EMSGSIZE,
		"193 bytes are not injected");
	claim(fi_inject_write(p.a.ep, buf, 192, p.to_b, 0, PAIR_KEY) == 0,
		"192 bytes are injected");
	n++;
	claim(fi_writedata(p.a.ep, buf, 8, NULL, 1, p.to_b, 0, PAIR_KEY,
		      NULL) == -FI_ENOSYS,
		"puts with data are refused");
	claim(fi_atomic(p.a.ep, buf, 2, NULL, p.to_b, 0, PAIR_KEY, FI_INT64,
		      FI_SUM, NULL) == -FI_EINVAL,
		"atomics have one element");
	claim(fi_atomic(p.a.ep, buf, 1, NULL, p.to_b, 0, PAIR_KEY, FI_INT64,
		      FI_PROD, NULL) == -FI_EOPNOTSUPP,
		"products are refused");
	claim(fi_tinject(p.a.ep, buf, 1, p.to_b, 1ull << 48) == -FI_EINVAL,
		"a tag of 49 bits is refused");
	claim(fi_tinject(p.a.ep, buf, 1, p.to_b, (1ull << 48) - 1) == 0,
		"a tag of 48 bits is accepted");
	claim(pair_wait(p.a.writes, n) && fi_cntr_readerr(p.a.writes) == 0,
		"all accepted operations complete");
	pair_close(&p);
}

static void case_no_fence(void)
{
	struct pair_wish w = { .caps = FI_RMA };
	struct pair p;

	pair_open(&p, &w);
	claim(pair_flush(&p, FI_FENCE) == -FI_EINVAL,
		"a fence needs the capability");
	claim(atomic_add(&p, FI_INT64, PAIR_KEY, 0, 0) == -FI_EOPNOTSUPP,
		"atomics need the capability");
	pair_close(&p);
}

/* Registrations */

static int write_with(struct pair *p, uint64_t addr, uint64_t key)
{
	static uint64_t value;
	void *context;

	if (fi_write(p->a.ep, &value, 8, NULL, p->to_b, addr, key, &value))
		return -1;
	/* unsignalled: only errors are reported */
	return pair_next(&p->a, &context);
}

static void case_mr(void)
{
	struct pair p;
	struct fid_mr *mr = NULL;
	char mem[64];

	pair_open(&p, &plain);
	claim(fi_mr_reg(p.b.domain, mem, 64, FI_REMOTE_WRITE, 0, 1ull << 32, 0,
		      &mr, NULL) == -FI_EKEYREJECTED,
		"a key of 33 bits is refused");
	claim(!fi_mr_reg(p.b.domain, mem, 64, FI_REMOTE_READ, 0, 9, 0, &mr,
		      NULL) &&
			fi_mr_key(mr) == FI_KEY_NOTAVAIL,
		"a registration has no key before it is enabled");
	claim(fi_mr_enable(mr) == -FI_EINVAL,
		"a registration cannot be enabled before it is bound");
	claim(!fi_mr_bind(mr, &p.b.ep->fid, 0) && !fi_mr_enable(mr) &&
			fi_mr_key(mr) == 9,
		"a bound and enabled registration has a key");
	claim(write_with(&p, 0, 8) == FI_ENOKEY, "an unknown key is an error");
	claim(write_with(&p, 0, 9) == FI_EACCES,
		"an access without permission is an error");
	claim(write_with(&p, PAIR_MEM - 7, PAIR_KEY) == FI_EINVAL,
		"an access beyond the end is an error");
	claim(write_with(&p, (uintptr_t)p.mem, PAIR_KEY) == FI_EINVAL,
		"addresses are offsets");
	claim(fi_cntr_readerr(p.a.writes) == 4,
		"the counter counts the errors");
	claim(fi_close(&p.b.ep->fid) == -FI_EBUSY,
		"an endpoint with registrations cannot be closed");
	fi_close(&mr->fid);
	pair_close(&p);
}

/* The doorbell */

enum { N_MORE = 100 };

static void case_more(void)
{
	struct pair p;
	struct timespec nap = { 0, 30000000 };
	void *context;
	int seen = 0;
	int bad = 0;

	pair_open(&p, &plain);
	for (int i = 0; i < N_MORE; i++)
		bad += pair_put(&p, i, i + 1, FI_MORE) != 0;
	nanosleep(&nap, NULL);
	for (int i = 0; i < N_MORE; i++)
		seen += pair_see(&p, i) != 0;
	claim(!bad && !seen && fi_cntr_read(p.a.writes) == 0,
		"FI_MORE alone sends nothing");
	claim(pair_flush(&p, FI_FENCE | FI_DELIVERY_COMPLETE | FI_COMPLETION) ==
			0,
		"a post without FI_MORE rings the doorbell");
	claim(pair_next(&p.a, &context) == 0 &&
			fi_cntr_read(p.a.writes) == N_MORE + 1,
		"one doorbell submits all pending posts");
	for (int i = 0; i < N_MORE; i++)
		bad += pair_see(&p, i) != (uint64_t)i + 1;
	claim(!bad, "a fenced post with delivery-complete makes all earlier "
		    "ones visible");
	pair_put(&p, 0, 77, FI_MORE);
	pair_close(&p);
}

/* Visibility */

static void case_late(void)
{
	struct pair p;
	int hidden = 0;
	int wrong = 0;
	void *context;

	pair_open(&p, &plain);
	for (int i = 0; i < N_MORE; i++)
		pair_put(&p, i, 1, i + 1 < N_MORE ? FI_MORE : 0);
	pair_wait(p.a.writes, N_MORE);
	for (int i = 0; i < N_MORE; i++)
		hidden += pair_see(&p, i) == 0;
	claim(hidden > N_MORE / 2,
		"writes complete before they are visible (%d of %d)", hidden,
		N_MORE);
	pair_put(&p, N_MORE, 1, FI_DELIVERY_COMPLETE | FI_COMPLETION);
	claim(pair_next(&p.a, &context) == 0 && pair_see(&p, N_MORE) == 1,
		"a later post with delivery-complete is visible");
	pair_flush(&p, FI_FENCE | FI_COMPLETION);
	pair_next(&p.a, &context);
	hidden = 0;
	for (int i = 0; i < N_MORE; i++)
		hidden += pair_see(&p, i) == 0;
	claim(hidden > 0, "a fence alone makes nothing visible");
	pair_flush(&p, FI_FENCE | FI_DELIVERY_COMPLETE | FI_COMPLETION);
	pair_next(&p.a, &context);
	for (int i = 0; i < N_MORE; i++)
		wrong += pair_see(&p, i) != 1;
	claim(!wrong, "a fence with delivery-complete makes all earlier posts "
		      "visible");
	pair_close(&p);
}

/* Counts how often a write is visible while an earlier write is not. */
static int overtakes(uint64_t order)
{
	struct pair_wish w = { .order = order };
	struct pair p;
	int n = 0;
	bool all = false;

	pair_open(&p, &w);
	for (int i = 0; i < N_MORE; i++)
		pair_put(&p, i, 1, i + 1 < N_MORE ? FI_MORE : 0);
	while (!all) {
		bool later = pair_see(&p, N_MORE - 1);

		all = true;
		for (int i = N_MORE - 2; i >= 0; i--) {
			bool this = pair_see(&p, i);

			n += later && !this;
			all = all && this;
			later = later || this;
		}
		all = all && later;
		sched_yield();
	}
	pair_close(&p);
	return n;
}

static void case_order(void)
{
	claim(overtakes(0) > 0, "writes without an order overtake each other");
	claim(overtakes(FI_ORDER_RMA_WAW | FI_ORDER_WAW) == 0,
		"writes in order do not overtake each other");
}

/* Messages */

static void case_manual(void)
{
	struct pair p;
	struct timespec nap = { 0, 50000000 };
	char in[8] = "";
	struct iovec iov = { in, sizeof(in) };
	struct fi_msg_tagged want = {
		.msg_iov = &iov,
		.iov_count = 1,
		.addr = FI_ADDR_UNSPEC,
		.tag = 5,
		.context = in,
	};
	void *context = NULL;

	pair_open(&p, &plain);
	claim(fi_trecvmsg(p.b.ep, &want, FI_COMPLETION) == 0,
		"a receive is posted");
	fi_tinject(p.a.ep, "hello", 6, p.to_b, 5);
	nanosleep(&nap, NULL);
	claim(!in[0], "a message is not delivered before a poll");
	claim(pair_next(&p.b, &context) == 0 && context == in &&
			!strcmp(in, "hello"),
		"a message is delivered by a poll");
	pair_close(&p);
}

/* Limits */

static void case_limits(void)
{
	struct pair_wish w = { .tx_size = 16 };
	struct pair p;
	struct fid_cntr *cntrs[20];
	uint32_t tclass = FI_TC_LOW_LATENCY;
	struct fi_fid_var var = { .name = WEFT_CXI_SET_TCLASS, .val = &tclass };
	struct fid_ep *alias = NULL;
	int n = 0;
	ssize_t rc = 0;

	pair_open(&p, &w);
	while (n < 20 && !fi_cntr_open(p.a.domain, NULL, &cntrs[n], NULL))
		n++;
	claim(n == 14, "a domain has sixteen counters (%d and two)", n);
	while (n)
		fi_close(&cntrs[--n]->fid);
	for (n = 0; n < 40 && !rc; n++)
		rc = pair_put(&p, 0, 1, FI_MORE | FI_COMPLETION);
	claim(rc == -FI_EAGAIN && n == 17,
		"a full queue pushes back (after %d)", n - 1);
	claim(pair_wait(p.a.writes, 16), "a full queue rings the doorbell");
	claim(!fi_ep_alias(p.a.ep, &alias, FI_TRANSMIT) &&
			!fi_control(&alias->fid, FI_SET_VAL, &var),
		"an alias has a traffic class of its own");
	if (!alias)
		return;
	claim(fi_inject_write(alias, "1234567", 8, p.to_b, 0, PAIR_KEY) ==
			-FI_ENOSPC,
		"the hardware has no free profile for the class");
	tclass = 0x205;
	claim(fi_control(&alias->fid, FI_SET_VAL, &var) == -FI_EINVAL,
		"network control is no class for users");
	fi_close(&alias->fid);
	pair_close(&p);
}

static void case_extensions(void)
{
	struct pair p;
	void *ops = NULL;
	void *counter_ops = NULL;
	bool on = false;
	struct fi_fid_var var = { .name = WEFT_CXI_SET_OPTIMIZED_MRS,
		.val = &on };

	pair_open(&p, &plain);
	for (char version = '1'; version <= '6'; version++) {
		char name[] = "dom_ops_v0";

		name[9] = version;
		claim(!fi_open_ops(&p.a.domain->fid, name, 0, &ops, NULL) &&
				ops,
			"%s can be opened", name);
	}
	claim(fi_open_ops(&p.a.domain->fid, "dom_ops_v7", 0, &ops, NULL) ==
			-FI_EINVAL,
		"dom_ops_v7 cannot be opened");
	claim(!fi_open_ops(&p.a.writes->fid, "cxi_counter_ops", 0, &counter_ops,
		      NULL) &&
			counter_ops,
		"the operations on counters can be opened");
	claim(fi_control(&p.a.domain->fid, FI_SET_VAL, &var) == -FI_EINVAL,
		"client keys are optimized or not by their value");
	var.name = WEFT_CXI_GET_OPTIMIZED_MRS;
	claim(!fi_control(&p.a.domain->fid, FI_GET_VAL, &var) && on,
		"the setting of optimized keys can be queried");
	pair_close(&p);
}

/* Faults that the environment requests */

static void case_eagain(void)
{
	struct pair p;
	int refused = 0;

	pair_open(&p, &plain);
	for (int i = 0; i < N_MORE; i++)
		while (pair_put(&p, i, 1, FI_MORE) == -FI_EAGAIN)
			refused++;
	while (pair_flush(&p, FI_FENCE | FI_DELIVERY_COMPLETE) == -FI_EAGAIN)
		refused++;
	claim(refused > N_MORE / 10 && pair_wait(p.a.writes, N_MORE + 1),
		"refused posts succeed when repeated (%d)", refused);
	claim(fi_cntr_readerr(p.a.writes) == 0,
		"no refused post was executed twice");
	pair_close(&p);
}

static void case_cqerr(void)
{
	struct pair p;
	unsigned n_err = 0;
	void *context;

	pair_open(&p, &plain);
	for (int i = 0; i < N_MORE; i++)
		pair_put(&p, i, 1, 0);
	pair_wait(p.a.writes, N_MORE);
	for (uint64_t i = fi_cntr_readerr(p.a.writes); i; i--)
		n_err += pair_next(&p.a, &context) == FI_EIO;
	claim(n_err > 5 && n_err == fi_cntr_readerr(p.a.writes),
		"errors of unsignalled puts are reported (%u)", n_err);
	pair_close(&p);
}

static void case_lose(void)
{
	struct pair p;
	uint64_t errors;
	void *context;

	pair_open(&p, &plain);
	for (int i = 0; i < N_MORE; i++)
		atomic_add(&p, FI_INT64, PAIR_KEY, 3,
			WEFT_CXI_UNRELIABLE | WEFT_CXI_HRP);
	for (int i = 0; i < N_MORE; i++)
		atomic_add(&p, FI_INT64, PAIR_KEY, 4, 0);
	pair_wait(p.a.writes, 2 * N_MORE);
	errors = fi_cntr_readerr(p.a.writes);
	claim(errors > 5 && pair_next(&p.a, &context) == FI_ETIMEDOUT,
		"unreliable atomics get lost (%d)", (int)errors);
	pair_flush(&p, FI_FENCE | FI_DELIVERY_COMPLETE);
	pair_wait(p.a.writes, 2 * N_MORE + 1);
	claim(pair_see(&p, 4) == N_MORE, "reliable atomics are not lost");
	claim(pair_see(&p, 3) <= N_MORE, "no atomic is executed twice");
	pair_close(&p);
}

/* Networks */

static void case_vni(void)
{
	struct pair_wish w = { .vni = { 234, 234 }, .svc = 5 };
	struct fi_info *h, *got = NULL;
	void *context;
	struct pair p;

	pair_open(&p, &w);
	claim(p.a.info->domain_attr->auth_key_size == 8,
		"the key that the caller passes is kept");
	pair_put(&p, 0, 1, FI_COMPLETION);
	claim(pair_next(&p.a, &context) == 0,
		"a NIC of the same network is reachable");
	pair_close(&p);
	w.vni[1] = 1024;
	pair_open(&p, &w);
	pair_put(&p, 0, 1, FI_COMPLETION);
	claim(pair_next(&p.a, &context) == FI_EHOSTUNREACH,
		"a NIC of another network is not reachable");
	pair_close(&p);
	w.vni[0] = 1024;
	pair_open(&p, &w);
	pair_put(&p, 0, 1, FI_COMPLETION);
	claim(pair_next(&p.a, &context) == 0,
		"the other network of the job is reachable");
	pair_close(&p);
	w.vni[0] = 99;
	h = pair_hints(&w, 0);
	claim(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, h, &got) ==
			-FI_ENODATA,
		"a network outside SLINGSHOT_VNIS is refused");
	fi_freeinfo(h);
}

static void case_no_service(void)
{
	struct fi_info *h = pair_hints(&plain, 0);
	struct fi_info *got = NULL;
	struct fid_fabric *fabric;
	struct fid_domain *domain;

	claim(!fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, h, &got),
		"without a launcher and an open service there is a device");
	if (!got)
		return;
	fi_fabric(got->fabric_attr, &fabric, NULL);
	claim(fi_domain(fabric, got, &domain, NULL) == -FI_EINVAL,
		"the device does not open");
	fi_close(&fabric->fid);
	fi_freeinfo(got);
	fi_freeinfo(h);
}

/* The record, line by line */

static const char golden[] =
	"profile 1 vni=10 tclass=BEST_EFFORT type=hrp\n"
	"fi_writemsg peer=0 len=8 key=0x7 flags=INJECT|MORE|HRP "
	"tclass=BEST_EFFORT path=hrp\n"
	"profile 2 vni=10 tclass=BEST_EFFORT type=restricted\n"
	"fi_writemsg peer=0 len=0 key=0x7 flags=FENCE|DC tclass=BEST_EFFORT "
	"path=restricted\n"
	"profile 3 vni=10 tclass=BEST_EFFORT type=default\n"
	"fi_inject_write peer=0 len=8 key=0x64 flags=INJECT "
	"tclass=BEST_EFFORT path=unrestricted\n"
	"fi_atomicmsg peer=0 op=FI_SUM type=FI_INT64 key=0x7 "
	"flags=HRP|UNRELIABLE tclass=BEST_EFFORT path=hrp\n"
	"fi_atomicmsg peer=0 op=FI_SUM type=FI_UINT32 key=0x7 "
	"flags=HRP|UNRELIABLE tclass=BEST_EFFORT path=restricted(hrp-demoted)\n"
	"fi_inject peer=0 len=2 flags=INJECT tclass=BEST_EFFORT on=cxi0\n"
	"close ops=6 doorbells=5 lost=0\n";

/* True for lines of opening, and of the target, which posts no operation. */
static bool is_aside(const char *line)
{
	return !strncmp(line, "domain ", 7) || !strncmp(line, "endpoint ", 9) ||
	       !strncmp(line, "mr_enable ", 10) ||
	       !strncmp(line, "close ops=0 ", 12);
}

static bool same_log(const char *path)
{
	FILE *f = fopen(path, "r");
	const char *want = golden;
	char line[512];
	bool same = f != NULL;

	while (same && fgets(line, sizeof(line), f)) {
		size_t len = strlen(line);

		if (is_aside(line))
			continue;
		same = !strncmp(line, want, len);
		if (same)
			want += len;
		else
			printf("# %s# wanted: %.*s", line,
				(int)strcspn(want, "\n") + 1, want);
	}
	if (f)
		fclose(f);
	return same && !*want;
}

static void case_log(void)
{
	const char *path = getenv("CXISTAND_LOG");
	struct pair p;

	pair_open(&p, &plain);
	pair_put(&p, 0, 1, FI_MORE | WEFT_CXI_HRP);
	pair_flush(&p, FI_FENCE | FI_DELIVERY_COMPLETE);
	fi_inject_write(p.a.ep, "1234567", 8, p.to_b, 0, PAIR_SLOW_KEY);
	atomic_add(
		&p, FI_INT64, PAIR_KEY, 9, WEFT_CXI_HRP | WEFT_CXI_UNRELIABLE);
	atomic_add(
		&p, FI_UINT32, PAIR_KEY, 9, WEFT_CXI_HRP | WEFT_CXI_UNRELIABLE);
	fi_inject(p.a.ep, "x", 2, p.to_b);
	pair_wait(p.a.writes, 5);
	pair_close(&p);
	claim(same_log(path), "the log lists the operations");
	unlink(path);
}

/* Cases and what they need */

static const struct {
	const char *name;
	void (*run)(void);
	const char *env[5];
} cases[] = {
	{ "info", case_info, { NULL } },
	{ "hints", case_hints, { NULL } },
	{ "flags", case_flags, { NULL } },
	{ "no_fence", case_no_fence, { NULL } },
	{ "mr", case_mr, { NULL } },
	{ "more", case_more, { NULL } },
	{ "late", case_late, { "CXISTAND_DELAY_US=4000000" } },
	{ "order", case_order, { "CXISTAND_DELAY_US=100000" } },
	{ "manual", case_manual, { NULL } },
	{ "limits", case_limits, { "CXISTAND_PROFILES=1" } },
	{ "extensions", case_extensions, { NULL } },
	{ "atomic_tables", case_atomic_tables, { NULL } },
	{ "atomics", case_atomics, { NULL } },
	{ "eagain", case_eagain, { "CXISTAND_EAGAIN=3" } },
	{ "cqerr", case_cqerr, { "CXISTAND_CQERR=4" } },
	{ "lose", case_lose, { "CXISTAND_LOSE=4" } },
	{ "vni", case_vni,
		{ "SLINGSHOT_VNIS=234,1024", "SLINGSHOT_DEVICES=cxi0",
			"SLINGSHOT_SVC_IDS=5" } },
	{ "no_service", case_no_service, { "CXISTAND_NO_SERVICE=1" } },
	{ "hmem_info", case_hmem_info, { NULL } },
	{ "hmem_off", case_hmem_off, { "CXISTAND_HMEM=0" } },
	{ "hmem_mr", case_hmem_mr, { "DEVSTAND_DEVICES=2" } },
	{ "hmem_fail", case_hmem_fail, { "CXISTAND_FAIL_HMEM=2" } },
	{ "hmem_message", case_hmem_message,
		{ "CXISTAND_LOG=stand_test_hmem.log" } },
	{ "hmem_faults", case_hmem_faults, { NULL } },
	{ "log", case_log, { "CXISTAND_LOG=stand_test.log" } },
};

static int in_child(size_t at)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		alarm(120);
		for (size_t i = 0; cases[at].env[i]; i++)
			putenv((char *)(uintptr_t)cases[at].env[i]);
		cases[at].run();
		fflush(stdout);
		exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static bool is_there(void)
{
	char file[4096];

	snprintf(file, sizeof(file), "%s/libcxi-fi.so",
		getenv("FI_PROVIDER_PATH") ? getenv("FI_PROVIDER_PATH") : ".");
	return access(file, R_OK) == 0;
}

int main(void)
{
	score_open();
	stand_find("cxi");
	if (!is_there()) {
		printf("1..0 # SKIP libcxi-fi.so was not built, or "
		       "FI_PROVIDER_PATH is elsewhere\n");
		return 0;
	}
	setenv("FI_PROVIDER", "cxi", 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		claim(in_child(i) == 0, "%s ends normally", cases[i].name);
	}
	printf("1..%d\n", score->n_claims);
	return score->n_wrong != 0;
}
