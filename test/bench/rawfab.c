/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rawfab: the speed of the provider itself between two processes of this host,
 * as a limit for the library. No MPI; two forked processes exchange endpoint
 * addresses over pipes.
 *
 * 	rawfab [-t|-u] [-p] [-a ADDRESS] PROVIDER
 *
 * 	-t, -u	tagged (default) or untagged messages
 * 	-p	pin the processes to cores 0 and 1
 * 	-a	source address to request (default: 127.0.0.1; "" for
 * 		providers without addresses, such as shm)
 *
 * It measures messages and, if the provider has them, one-sided accesses, with
 * the names of the window workloads. An access is complete when it is visible
 * at the target.
 *
 * Build: cc -O2 -o rawfab rawfab.c -lfabric
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

enum {
	MAX_LEN = 4 << 20,
	WINDOW = 64,
	N_REPS = 5,
	TAG = 7,
	N_ADDR = 256,
	DEADLINE_S = 120,
};

/* The state of one of the two processes; on the stack of side(). */
struct side {
	bool tagged;
	bool rma;   /* untagged, and one-sided accesses */
	bool first; /* this side sends first, measures and prints */
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fid_mr *mr;
	void *desc;
	fi_addr_t peer;
	char *buf;
	long n_sent;	 /* sends whose completion was read */
	long n_received; /* receives whose completion was read */
	/* one-sided: the peer's address and key, and the parameters of
	 * measure() */
	uint64_t remote, key;
	bool is_read;
	int n_many;
};

static void check(long rc, const char *what)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "rawfab: %s: %s\n", what, fi_strerror((int)-rc));
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Finds the provider. False if s->rma is set and the provider has no one-sided
 * accesses. */
static bool open_info(struct side *s, const char *provider, const char *source)
{
	struct fi_info *hints = fi_allocinfo();
	int rc;

	if (!hints)
		check(-FI_ENOMEM, "fi_allocinfo");
	hints->caps = s->rma ? FI_MSG | FI_RMA : s->tagged ? FI_TAGGED : FI_MSG;
	hints->mode = FI_CONTEXT;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR |
				      FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->fabric_attr->prov_name = strdup(provider);
	rc = fi_getinfo(FI_VERSION(1, 17), *source ? source : NULL, NULL,
		*source ? FI_SOURCE : 0, hints, &s->info);
	fi_freeinfo(hints);
	check(s->rma && rc == -FI_ENODATA ? 0 : rc, provider);
	return !rc;
}

static void open_side(struct side *s)
{
	struct fi_cq_attr cq_attr = {
		.format = FI_CQ_FORMAT_MSG,
		.size = 4 * WINDOW,
	};
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };

	check(fi_fabric(s->info->fabric_attr, &s->fabric, NULL), "fi_fabric");
	check(fi_domain(s->fabric, s->info, &s->domain, NULL), "fi_domain");
	check(fi_av_open(s->domain, &av_attr, &s->av, NULL), "fi_av_open");
	check(fi_cq_open(s->domain, &cq_attr, &s->cq, NULL), "fi_cq_open");
	check(fi_endpoint(s->domain, s->info, &s->ep, NULL), "fi_endpoint");
	check(fi_ep_bind(s->ep, &s->av->fid, 0), "fi_ep_bind av");
	check(fi_ep_bind(s->ep, &s->cq->fid, FI_SEND | FI_RECV),
		"fi_ep_bind cq");
	check(fi_enable(s->ep), "fi_enable");
	if (posix_memalign((void **)&s->buf, 4096, 2 * MAX_LEN))
		check(-FI_ENOMEM, "buffer");
	memset(s->buf, 0, 2 * MAX_LEN);
	if (s->rma || s->info->domain_attr->mr_mode & FI_MR_LOCAL) {
		check(fi_mr_reg(s->domain, s->buf, 2 * MAX_LEN,
			      FI_SEND | FI_RECV |
				      (s->rma ? FI_READ | FI_WRITE |
							      FI_REMOTE_READ |
							      FI_REMOTE_WRITE
					      : 0),
			      0, 1, 0, &s->mr, NULL),
			"fi_mr_reg");
		s->desc = fi_mr_desc(s->mr);
	}
}

static void close_side(struct side *s)
{
	fi_close(&s->ep->fid);
	if (s->mr)
		fi_close(&s->mr->fid);
	fi_close(&s->cq->fid);
	fi_close(&s->av->fid);
	fi_close(&s->domain->fid);
	fi_close(&s->fabric->fid);
	fi_freeinfo(s->info);
	free(s->buf);
}

static void swap(const void *mine, void *theirs, size_t len, int in, int out)
{
	char *at = theirs;
	size_t left = len;

	if (write(out, mine, len) != (ssize_t)len)
		check(-errno, "write");
	while (left > 0) {
		ssize_t n = read(in, at, left);

		check(n > 0 ? 0 : -EPIPE, "address of the peer");
		at += n;
		left -= (size_t)n;
	}
}

static void swap_addresses(struct side *s, int in, int out)
{
	char mine[N_ADDR] = { 0 }, theirs[N_ADDR];
	size_t len = sizeof(mine);

	check(fi_getname(&s->ep->fid, mine, &len), "fi_getname");
	swap(mine, theirs, sizeof(mine), in, out);
	if (fi_av_insert(s->av, theirs, 1, &s->peer, 0, NULL) != 1)
		check(-FI_EINVAL, "fi_av_insert");
}

static void swap_keys(struct side *s, int in, int out)
{
	bool is_virtual = s->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR;
	uint64_t mine[2] = { is_virtual ? (uintptr_t)s->buf : 0,
		fi_mr_key(s->mr) };
	uint64_t theirs[2];

	swap(mine, theirs, sizeof(mine), in, out);
	s->remote = theirs[0];
	s->key = theirs[1];
}

static void poll_cq(struct side *s)
{
	struct fi_cq_msg_entry entries[16];
	ssize_t n = fi_cq_read(s->cq, entries, 16);

	if (n == -FI_EAGAIN)
		return;
	check(n, "fi_cq_read");
	for (ssize_t i = 0; i < n; i++) {
		if (entries[i].flags & (FI_SEND | FI_READ | FI_WRITE))
			s->n_sent++;
		else
			s->n_received++;
	}
}

static void post_send(struct side *s, size_t len, struct fi_context *context)
{
	ssize_t rc;

	do {
		rc = s->tagged ? fi_tsend(s->ep, s->buf, len, s->desc, s->peer,
					 TAG, context)
			       : fi_send(s->ep, s->buf, len, s->desc, s->peer,
					 context);
		if (rc == -FI_EAGAIN)
			poll_cq(s);
	} while (rc == -FI_EAGAIN);
	check(rc, "send");
}

/* Posts a small message by inject. It has no completion, so it is counted
 * here. */
static void post_small(struct side *s, size_t len, struct fi_context *context)
{
	ssize_t rc;

	if (len > s->info->tx_attr->inject_size) {
		post_send(s, len, context);
		return;
	}
	do {
		rc = s->tagged ? fi_tinject(s->ep, s->buf, len, s->peer, TAG)
			       : fi_inject(s->ep, s->buf, len, s->peer);
		if (rc == -FI_EAGAIN)
			poll_cq(s);
	} while (rc == -FI_EAGAIN);
	check(rc, "inject");
	s->n_sent++;
}

static void post_recv(struct side *s, size_t len, struct fi_context *context)
{
	char *to = s->buf + MAX_LEN;
	ssize_t rc;

	do {
		rc = s->tagged ? fi_trecv(s->ep, to, len, s->desc, s->peer, TAG,
					 0, context)
			       : fi_recv(s->ep, to, len, s->desc, s->peer,
					 context);
		if (rc == -FI_EAGAIN)
			poll_cq(s);
	} while (rc == -FI_EAGAIN);
	check(rc, "recv");
}

static void wait_for(struct side *s, long n_sent, long n_received)
{
	while (s->n_sent < n_sent || s->n_received < n_received)
		poll_cq(s);
	s->n_sent -= n_sent;
	s->n_received -= n_received;
}

/* Returns half of the seconds of n round trips. */
static double bounce(struct side *s, size_t len, long n)
{
	struct fi_context contexts[2];
	double start = now();

	for (long i = 0; i < n; i++) {
		post_recv(s, len, &contexts[0]);
		if (s->first)
			post_small(s, len, &contexts[1]);
		wait_for(s, s->first, 1);
		if (!s->first) {
			post_small(s, len, &contexts[1]);
			wait_for(s, 1, 0);
		}
	}
	return (now() - start) / 2;
}

/* Returns the seconds of n windows from first to second, each acknowledged. */
static double stream(struct side *s, size_t len, long n)
{
	struct fi_context contexts[WINDOW + 1];
	double start = now();

	for (long i = 0; i < n; i++) {
		if (s->first)
			post_recv(s, len, &contexts[WINDOW]);
		for (int k = 0; k < WINDOW; k++) {
			if (s->first)
				post_small(s, len, &contexts[k]);
			else
				post_recv(s, len, &contexts[k]);
		}
		if (s->first) {
			wait_for(s, WINDOW, 1);
		} else {
			wait_for(s, 0, WINDOW);
			post_small(s, 8, &contexts[WINDOW]);
			wait_for(s, 1, 0);
		}
	}
	return now() - start;
}

/* Posts a write. Requests delivery-complete in the call, because some providers
 * ignore the endpoint's default. */
static ssize_t start_write(struct side *s, size_t len, void *context)
{
	struct iovec iov = { s->buf, len };
	struct fi_rma_iov there = { s->remote, len, s->key };
	const struct fi_msg_rma msg = { .msg_iov = &iov,
		.desc = &s->desc,
		.iov_count = 1,
		.addr = s->peer,
		.rma_iov = &there,
		.rma_iov_count = 1,
		.context = context };

	return fi_writemsg(s->ep, &msg, FI_DELIVERY_COMPLETE | FI_COMPLETION);
}

static void post_access(struct side *s, size_t len, struct fi_context *context)
{
	ssize_t rc;

	do {
		rc = s->is_read ? fi_read(s->ep, s->buf, len, s->desc, s->peer,
					  s->remote, s->key, context)
				: start_write(s, len, context);
		if (rc == -FI_EAGAIN)
			poll_cq(s);
	} while (rc == -FI_EAGAIN);
	check(rc, "read or write");
}

/* Returns the seconds of n times n_many accesses, while the peer waits for a
 * message. */
static double access_run(struct side *s, size_t len, long n)
{
	struct fi_context contexts[WINDOW];
	double start = now();

	for (long i = 0; s->first && i < n; i++) {
		for (int k = 0; k < s->n_many; k++)
			post_access(s, len, &contexts[k]);
		wait_for(s, s->n_many, 0);
	}
	start = now() - start;
	if (s->first)
		post_small(s, 8, &contexts[0]);
	else
		post_recv(s, 8, &contexts[0]);
	wait_for(s, s->first, !s->first);
	return start;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median seconds per iteration; both sides run the same fixed counts. */
static double measure(struct side *s,
	double (*run)(struct side *, size_t, long), size_t len, long n)
{
	double t[N_REPS];

	run(s, len, n / 10 + 1);
	for (int i = 0; i < N_REPS; i++)
		t[i] = run(s, len, n) / (double)n;
	qsort(t, N_REPS, sizeof(t[0]), compare_doubles);
	return t[N_REPS / 2];
}

static void report(const struct side *s, const char *name, size_t len,
	double value, const char *unit)
{
	char full[64];

	if (!s->first)
		return;
	snprintf(full, sizeof(full), "raw_%s_%zu", name, len);
	printf("%-32s %14.4f %s\n", full, value, unit);
	fflush(stdout);
}

static void run_all(struct side *s)
{
	static const struct {
		size_t len;
		long n_bounces;
		long n_windows;
	} plan[] = {
		{ 8, 5000, 100 },
		{ 64, 5000, 100 },
		{ 1024, 4000, 100 },
		{ 8192, 2000, 40 },
		{ 65536, 500, 10 },
		{ 1 << 20, 60, 2 },
	};
	const size_t n = sizeof(plan) / sizeof(plan[0]);
	double t;

	for (size_t i = 0; i < n; i++) {
		t = measure(s, bounce, plan[i].len, plan[i].n_bounces);
		report(s, "latency", plan[i].len, t * 1e6, "us");
	}
	t = measure(s, stream, 8, 200);
	report(s, "rate", 8, WINDOW / t / 1e6, "M/s");
	for (size_t i = 2; i < n; i++) {
		t = measure(s, stream, plan[i].len, plan[i].n_windows);
		report(s, "bandwidth", plan[i].len,
			WINDOW * (double)plan[i].len / t / 1e6, "MB/s");
	}
}

static void run_rma(struct side *s)
{
	static const struct {
		size_t len;
		long n_single, n_many;
	} plan[] = {
		{ 8, 5000, 100 },
		{ 1024, 4000, 100 },
		{ 4096, 4000, 60 },
		{ 65536, 500, 10 },
		{ 1 << 20, 60, 2 },
		{ 4 << 20, 20, 1 },
	};

	for (int i = 0; i < 12; i++) {
		size_t len = plan[i / 2].len;
		double t;

		s->is_read = i % 2;
		s->n_many = 1;
		t = measure(s, access_run, len, plan[i / 2].n_single);
		report(s, s->is_read ? "alloc_get" : "alloc_put", len, t * 1e6,
			"us");
		/* the same number between two flushes as in the window
		 * workloads */
		s->n_many =
			len * WINDOW > MAX_LEN ? (int)(MAX_LEN / len) : WINDOW;
		t = measure(s, access_run, len, plan[i / 2].n_many);
		if (len == 8)
			report(s,
				s->is_read ? "alloc_get_rate"
					   : "alloc_put_rate",
				len, s->n_many / t / 1e6, "M/s");
		else
			report(s, s->is_read ? "alloc_get_bw" : "alloc_put_bw",
				len, s->n_many * (double)len / t / 1e6, "MB/s");
	}
}

static void side(struct side *s, const char *provider, const char *source,
	int in, int out)
{
	alarm(DEADLINE_S);
	if (!open_info(s, provider, source))
		return;
	open_side(s);
	swap_addresses(s, in, out);
	if (s->first)
		printf("# provider %s, %s\n", s->info->fabric_attr->prov_name,
			s->rma	    ? "one-sided"
			: s->tagged ? "tagged"
				    : "untagged");
	if (s->rma) {
		swap_keys(s, in, out);
		run_rma(s);
	} else {
		run_all(s);
	}
	/* no side closes before both have received all answers */
	swap("", &(char){ 0 }, 1, in, out);
	close_side(s);
}

static void pin_to_core(int core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)core, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("rawfab: sched_setaffinity");
}

static int usage(void)
{
	fputs("usage: rawfab [-t|-u] [-p] [-a ADDRESS] PROVIDER\n", stderr);
	return 2;
}

/* Waits for the second process. Returns its exit status, or 1 if it was killed.
 */
static int reap(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	struct side s = { .tagged = true }, one_sided = { .rma = true };
	const char *source = "127.0.0.1";
	bool pin = false;
	int c, in, out, up[2], down[2];
	pid_t child;

	while ((c = getopt(argc, argv, "tupa:")) != -1) {
		if (c == 't' || c == 'u')
			s.tagged = c == 't';
		else if (c == 'p')
			pin = true;
		else if (c == 'a')
			source = optarg;
		else
			return usage();
	}
	if (argc - optind != 1)
		return usage();
	if (pipe(up) || pipe(down))
		check(-errno, "pipe");
	child = fork();
	check(child < 0 ? -errno : 0, "fork");
	s.first = child > 0;
	if (pin)
		pin_to_core(s.first ? 0 : 1);
	in = s.first ? up[0] : down[0];
	out = s.first ? down[1] : up[1];
	side(&s, argv[optind], source, in, out);
	one_sided.first = s.first;
	side(&one_sided, argv[optind], source, in, out);
	if (s.first)
		return reap(child);
	return 0;
}
