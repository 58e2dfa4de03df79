/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_test_hmem: device memory in messages, with CUDA's stand-in */
#include "test/fake/cuda/cudaopen.h"
#include "test/fake/cxi/stand_pair.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20, DEADLINE_S = 60 };

static const struct pair_wish plain;
static const struct pair_wish hmem = { .caps = PAIR_CAPS | FI_HMEM };

static char *device_alloc(size_t len)
{
	uint64_t at = 0;

	if (cuda.alloc(&at, len))
		abort();
	return (char *)(uintptr_t)at;
}

static void device_free(char *at)
{
	if (cuda.free((uintptr_t)at))
		abort();
}

/* Registrations */

/* A registration that a case tries. */
struct wish {
	enum fi_hmem_iface iface;
	int device;
	uint64_t access, key;
};

static int enrol(struct side *s, void *at, size_t len, const struct wish *w,
	struct fid_mr **mr)
{
	struct iovec iov = { at, len };
	struct fi_mr_attr attr = {
		.mr_iov = &iov,
		.iov_count = 1,
		.access = w->access ? w->access : FI_SEND | FI_RECV,
		.requested_key = w->key,
		.iface = w->iface,
		.device.cuda = w->device,
	};
	int rc = fi_mr_regattr(s->domain, &attr, 0, mr);

	if (!rc)
		rc = fi_mr_bind(*mr, &s->ep->fid, 0);
	return rc ? rc : fi_mr_enable(*mr);
}

static struct fid_mr *must_enrol(
	struct side *s, char *at, size_t len, uint64_t key)
{
	const struct wish w = { .iface = FI_HMEM_CUDA, .key = key };
	struct fid_mr *mr;

	if (enrol(s, at, len, &w, &mr))
		abort();
	return mr;
}

void case_hmem_info(void)
{
	struct fi_info *h = pair_hints(&hmem, 0);
	struct fi_info *i = NULL;

	h->domain_attr->mr_mode |= FI_MR_HMEM;
	claim(!fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, h, &i) &&
			i->caps & FI_HMEM,
		"FI_HMEM is offered if it is requested");
	claim(i && !(i->domain_attr->mr_mode & FI_MR_HMEM),
		"the device does not require FI_MR_HMEM");
	fi_freeinfo(i);
	h->caps &= ~FI_HMEM;
	claim(!fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, h, &i) &&
			!(i->caps & FI_HMEM),
		"FI_HMEM is not offered if it is not requested");
	fi_freeinfo(i);
	fi_freeinfo(h);
}

void case_hmem_off(void)
{
	struct fi_info *h = pair_hints(&hmem, 0);
	struct fi_info *i = NULL;

	claim(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, h, &i) ==
			-FI_ENODATA,
		"CXISTAND_HMEM=0 refuses FI_HMEM");
	fi_freeinfo(h);
}

void case_hmem_mr(void)
{
	struct wish as_host = { .iface = FI_HMEM_SYSTEM, .key = 200 };
	struct wish as_cuda = { .iface = FI_HMEM_CUDA, .key = 201 };
	struct wish other = { .iface = FI_HMEM_CUDA, .device = 1, .key = 202 };
	struct wish rocr = { .iface = FI_HMEM_ROCR, .key = 203 };
	struct wish remote = {
		.iface = FI_HMEM_CUDA, .access = FI_REMOTE_WRITE, .key = 204
	};
	char host[64], *dev;
	struct fid_mr *mr = NULL;
	struct pair p;

	claim(cuda_open(), "CUDA's stand-in is there");
	dev = device_alloc(8192);
	pair_open(&p, &hmem);
	claim(enrol(&p.a, dev, 64, &as_host, &mr) == -FI_EFAULT,
		"device memory is not registered as host memory");
	claim(enrol(&p.a, host, 64, &as_cuda, &mr) == -FI_EINVAL,
		"host memory is not registered as device memory");
	claim(enrol(&p.a, dev + 4096, 8192, &as_cuda, &mr) == -FI_EINVAL,
		"an allocation is not registered beyond its end");
	claim(enrol(&p.a, dev, 64, &other, &mr) == -FI_EINVAL,
		"memory is not registered for another device");
	claim(enrol(&p.a, dev, 64, &rocr, &mr) == -FI_ENOSYS,
		"an iface without a driver is refused");
	claim(enrol(&p.a, dev, 64, &remote, &mr) == -FI_EOPNOTSUPP,
		"device memory is not registered for one-sided access");
	claim(enrol(&p.a, dev, 8192, &as_cuda, &mr) == 0 && fi_mr_desc(mr),
		"registered device memory has a descriptor");
	fi_close(&mr->fid);
	pair_close(&p);
	pair_open(&p, &plain);
	claim(enrol(&p.a, dev, 64, &as_cuda, &mr) == -FI_EFAULT,
		"without FI_HMEM the iface is ignored");
	pair_close(&p);
	device_free(dev);
}

void case_hmem_fail(void)
{
	const struct wish w = { .iface = FI_HMEM_CUDA, .key = 300 };
	struct fid_mr *first, *third, *mr = NULL;
	struct pair p;
	char *dev;

	claim(cuda_open(), "CUDA's stand-in is there");
	dev = device_alloc(64);
	pair_open(&p, &hmem);
	first = must_enrol(&p.a, dev, 64, 301);
	claim(enrol(&p.a, dev, 64, &w, &mr) == -FI_ENOSPC,
		"CXISTAND_FAIL_HMEM=2 refuses each second registration");
	third = must_enrol(&p.a, dev, 64, 302);
	fi_close(&first->fid);
	fi_close(&third->fid);
	pair_close(&p);
	device_free(dev);
}

/* Messages */

struct buffer {
	char *at;
	struct fid_mr *mr; /* NULL: host memory */
};

static struct buffer buffer_make(struct side *s, bool is_device, uint64_t key)
{
	struct buffer b = { is_device ? device_alloc(MIB) : malloc(MIB), NULL };

	if (is_device)
		b.mr = must_enrol(s, b.at, MIB, key);
	return b;
}

static void buffer_free(struct buffer *b)
{
	if (!b->mr) {
		free(b->at);
		return;
	}
	fi_close(&b->mr->fid);
	device_free(b->at);
}

static ssize_t tagged(struct fid_ep *ep, const struct buffer *b, size_t len,
	fi_addr_t peer, bool is_send)
{
	struct iovec iov = { b->at, len };
	void *desc = b->mr ? fi_mr_desc(b->mr) : NULL;
	struct fi_msg_tagged msg = {
		.msg_iov = &iov,
		.desc = &desc,
		.iov_count = 1,
		.addr = peer,
		.tag = 5,
		.context = b->at,
	};

	return is_send ? fi_tsendmsg(
				 ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE)
		       : fi_trecvmsg(ep, &msg, FI_COMPLETION);
}

/* Polls both sides until each has a completion. */
static bool both_complete(struct pair *p)
{
	time_t end = time(NULL) + DEADLINE_S;
	bool a = false, b = false;
	struct fi_cq_tagged_entry e;

	while ((!a || !b) && time(NULL) < end) {
		a = a || fi_cq_read(p->a.cq, &e, 1) == 1;
		b = b || fi_cq_read(p->b.cq, &e, 1) == 1;
		sched_yield();
	}
	return a && b;
}

static void transfer(
	struct pair *p, bool from_device, bool to_device, size_t len)
{
	struct buffer from = buffer_make(&p->a, from_device, 400);
	struct buffer to = buffer_make(&p->b, to_device, 401);
	char *want = malloc(len), *got = calloc(1, len);

	for (size_t i = 0; i < len; i++)
		want[i] = (char)(i * 7 + i / 251);
	cuda.write(from.at, want, len);
	claim(!tagged(p->b.ep, &to, len, FI_ADDR_UNSPEC, false) &&
			!tagged(p->a.ep, &from, len, p->to_b, true) &&
			both_complete(p),
		"a message of %zu bytes is received, device memory %d to %d",
		len, from_device, to_device);
	cuda.read(got, to.at, len);
	claim(!memcmp(want, got, len), "and has its data");
	buffer_free(&from);
	buffer_free(&to);
	free(want);
	free(got);
}

static int count_lines(const char *path, const char *what)
{
	FILE *f = fopen(path, "r");
	char line[512];
	int n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, what) != NULL;
	if (f)
		fclose(f);
	return n;
}

void case_hmem_message(void)
{
	const char *path = getenv("CXISTAND_LOG");
	struct pair p;

	claim(cuda_open(), "CUDA's stand-in is there");
	pair_open(&p, &hmem);
	for (int i = 0; i < 8; i++)
		transfer(&p, i & 1, i & 2, i & 4 ? MIB : 8);
	claim(cuda.crossed() == 0, "the process copies no device memory");
	pair_close(&p);
	claim(count_lines(path, "fi_tsendmsg peer=0 len=1048576 tag=0x5 "
				"flags=COMPLETION|DC tclass=BEST_EFFORT "
				"on=cxi0 hmem=cuda") == 2 &&
			count_lines(path, "fi_tsendmsg") == 8,
		"the record names the device memory of sends");
	claim(count_lines(path, "fi_trecv len=1048576 tag=0x5 on=cxi0 "
				"hmem=cuda") == 2,
		"the record has the receives in device memory");
	unlink(path);
}

/* Faults, each of which ends a process */

static void send_without_hmem(void)
{
	struct pair p;

	pair_open(&p, &plain);
	fi_tsend(p.a.ep, device_alloc(64), 64, NULL, p.to_b, 5, NULL);
}

static void inject(void)
{
	char *dev = device_alloc(64);
	struct pair p;

	pair_open(&p, &hmem);
	must_enrol(&p.a, dev, 64, 400);
	fi_tinject(p.a.ep, dev, 64, p.to_b, 5);
}

static void send_without_descriptor(void)
{
	char *dev = device_alloc(64);
	struct pair p;

	pair_open(&p, &hmem);
	must_enrol(&p.a, dev, 64, 400);
	fi_tsend(p.a.ep, dev, 64, NULL, p.to_b, 5, NULL);
}

static void send_beyond_registration(void)
{
	char *dev = device_alloc(64);
	struct pair p;
	struct fid_mr *mr;

	pair_open(&p, &hmem);
	mr = must_enrol(&p.a, dev, 32, 400);
	fi_tsend(p.a.ep, dev, 64, fi_mr_desc(mr), p.to_b, 5, NULL);
}

static void send_after_close(void)
{
	char *dev = device_alloc(64);
	struct pair p;
	struct fid_mr *mr;
	void *desc;

	pair_open(&p, &hmem);
	mr = must_enrol(&p.a, dev, 64, 400);
	desc = fi_mr_desc(mr);
	fi_close(&mr->fid);
	fi_tsend(p.a.ep, dev, 64, desc, p.to_b, 5, NULL);
}

static void close_before_the_message(void)
{
	struct fi_cq_tagged_entry e;
	struct buffer to;
	struct pair p;

	pair_open(&p, &hmem);
	to = buffer_make(&p.b, true, 400);
	tagged(p.b.ep, &to, 64, FI_ADDR_UNSPEC, false);
	fi_close(&to.mr->fid);
	fi_tinject(p.a.ep, "hello", 6, p.to_b, 5);
	while (fi_cq_read(p.b.cq, &e, 1) == -FI_EAGAIN)
		sched_yield();
}

static void free_registered(void)
{
	char *dev = device_alloc(64);
	struct pair p;

	pair_open(&p, &hmem);
	must_enrol(&p.a, dev, 64, 400);
	device_free(dev);
}

static void put(void)
{
	struct pair p;

	pair_open(&p, &hmem);
	fi_write(p.a.ep, device_alloc(64), 64, NULL, p.to_b, 0, PAIR_KEY, NULL);
}

/* Loads libfabric's providers, and restores the signal for which some of them
 * install a handler. */
static void load_providers(void)
{
	struct fi_info *h = pair_hints(&plain, 0);
	struct fi_info *i = NULL;

	fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, h, &i);
	fi_freeinfo(i);
	fi_freeinfo(h);
	signal(SIGABRT, SIG_DFL);
}

/* True if the function ends its process by abort(). */
static bool aborts(void (*fn)(void))
{
	const struct rlimit no_core = { 0, 0 };
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		alarm(120);
		setrlimit(RLIMIT_CORE, &no_core);
		load_providers();
		if (!freopen("/dev/null", "w", stderr) || !cuda_open())
			_exit(1);
		fn();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

void case_hmem_faults(void)
{
	claim(aborts(send_without_hmem),
		"device memory on an endpoint without FI_HMEM ends the "
		"program");
	claim(aborts(inject), "so does device memory that is injected");
	claim(aborts(send_without_descriptor),
		"so does device memory without a descriptor");
	claim(aborts(send_beyond_registration),
		"so does device memory beyond its registration");
	claim(aborts(send_after_close),
		"so does the descriptor of a closed registration");
	claim(aborts(close_before_the_message),
		"so does a message to memory whose registration is closed");
	claim(aborts(free_registered),
		"so does memory that is freed while it is registered");
	claim(aborts(put), "so does a put from device memory");
}
