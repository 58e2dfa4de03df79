/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_hmem: device memory, through the stand-ins of the drivers
 *
 * A driver's stand-in (test/fake/dev) owns the memory, and reads and writes it
 * for the card. The process may load the stand-in at any time, so its functions
 * are searched again whenever the process has loaded a library. */
#include "stand.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stand_driver {
	enum fi_hmem_iface iface;
	const char *name, *library;
	void *loaded; /* the library; NULL: the process has not loaded it */
	int (*hold)(const void *at, size_t len, int *device_out);
	void (*drop)(const void *at);
	bool (*has)(const void *at, size_t len);
	int (*read)(void *to, const void *at, size_t len);
	int (*write)(void *at, const void *from, size_t len);
};

enum { N_DRIVERS = 3 };

static struct stand_driver drivers[N_DRIVERS] = {
	{ .iface = FI_HMEM_CUDA, .name = "cuda", .library = "libcuda.so.1" },
	{ .iface = FI_HMEM_ROCR,
		.name = "rocr",
		.library = "libhsa-runtime64.so.1" },
	{ .iface = FI_HMEM_ZE, .name = "ze", .library = "libze_loader.so.1" },
};

static pthread_mutex_t drivers_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long long n_libraries; /* loaded at the last search */
static atomic_uint n_registered;

static int count_libraries(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(unsigned long long *)arg = info->dlpi_adds;
	return 1; /* no further call */
}

/* A real driver has none of these functions, and counts as not loaded. */
static void find_functions(struct stand_driver *d)
{
	void *lib = dlopen(d->library, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);

	if (!lib)
		return;
	*(void **)&d->hold = dlsym(lib, "devstandHold");
	*(void **)&d->drop = dlsym(lib, "devstandDrop");
	*(void **)&d->has = dlsym(lib, "devstandHas");
	*(void **)&d->read = dlsym(lib, "devstandRead");
	*(void **)&d->write = dlsym(lib, "devstandWrite");
	if (d->hold && d->drop && d->has && d->read && d->write)
		d->loaded = lib;
	else
		dlclose(lib);
}

static void find_drivers(void)
{
	unsigned long long now = 0;

	pthread_mutex_lock(&drivers_lock);
	dl_iterate_phdr(count_libraries, &now);
	if (now != n_libraries)
		for (int i = 0; i < N_DRIVERS; i++)
			if (!drivers[i].loaded)
				find_functions(&drivers[i]);
	n_libraries = now;
	pthread_mutex_unlock(&drivers_lock);
}

static struct stand_driver *driver_of(enum fi_hmem_iface iface)
{
	find_drivers();
	for (int i = 0; i < N_DRIVERS; i++)
		if (drivers[i].iface == iface && drivers[i].loaded)
			return &drivers[i];
	return NULL;
}

/* True if the CPU cannot access some of these bytes. */
static bool has_device_bytes(const void *at, size_t len)
{
	find_drivers();
	for (int i = 0; i < N_DRIVERS; i++)
		if (drivers[i].loaded && drivers[i].has(at, len))
			return true;
	return false;
}

static _Noreturn void fault(const char *call, const char *what)
{
	fprintf(stderr, "stand-in for cxi: %s: %s\n", call, what);
	stand_log("%s ended the program: %s", call, what);
	abort();
}

const char *stand_hmem_name(const struct stand_mr *mr)
{
	return mr->driver->name;
}

/* Registrations */

static int refuse(int rc, const char *why)
{
	stand_log("mr_reg refused: %s", why);
	return rc;
}

int stand_hmem_register(struct stand_mr *mr, const struct fi_mr_attr *attr)
{
	enum fi_hmem_iface iface =
		mr->dom->has_hmem ? attr->iface : FI_HMEM_SYSTEM;
	struct stand_driver *d;
	int device;

	if (iface == FI_HMEM_SYSTEM)
		return has_device_bytes(mr->base, mr->len)
			       ? refuse(-FI_EFAULT,
					 "device memory as host memory")
			       : 0;
	if (attr->access & (FI_REMOTE_READ | FI_REMOTE_WRITE))
		return refuse(-FI_EOPNOTSUPP,
			"one-sided access to device memory is not modelled");
	if (stand_env.fail_hmem && ++n_registered % stand_env.fail_hmem == 0)
		return refuse(-FI_ENOSPC, "CXISTAND_FAIL_HMEM");
	d = driver_of(iface);
	if (!d)
		return refuse(-FI_ENOSYS, "no driver of the iface is loaded");
	if (d->hold(mr->base, mr->len, &device))
		return refuse(-FI_EINVAL, "no device memory of the iface");
	/* fi_mr_attr has no number of a device for ROCR */
	if (iface != FI_HMEM_ROCR && device >= 0 &&
		device != attr->device.cuda) {
		d->drop(mr->base);
		return refuse(-FI_EINVAL, "memory of another device");
	}
	mr->driver = d;
	mr->fid.mem_desc = mr;
	return 0;
}

void stand_hmem_close(struct stand_mr *mr)
{
	mr->is_closed = true;
	mr->driver->drop(mr->base);
}

/* Messages */

/* The registration with this descriptor, if it has all bytes. nic.lock held. */
static struct stand_mr *find_mr(
	struct stand_nic *nic, const void *desc, const char *at, size_t len)
{
	for (struct stand_mr *mr = nic->mrs; mr; mr = mr->next)
		if (mr == desc && mr->driver && at >= mr->base &&
			len <= mr->len && at + len <= mr->base + mr->len)
			return mr;
	return NULL;
}

struct stand_mr *stand_hmem_use(struct stand_nic *nic, const char *call,
	const void *at, size_t len, void *desc, uint64_t flags)
{
	struct stand_mr *mr;

	if (!len || (!desc && !has_device_bytes(at, len)))
		return NULL;
	if (!(nic->caps & FI_HMEM))
		fault(call, "device memory on an endpoint without FI_HMEM");
	if (flags & FI_INJECT)
		fault(call, "device memory is injected");
	pthread_mutex_lock(&nic->lock);
	mr = find_mr(nic, desc, at, len);
	if (mr)
		mr->n_refs++;
	pthread_mutex_unlock(&nic->lock);
	if (!mr)
		fault(call, "the descriptor is none of an open registration of "
			    "this device memory");
	return mr;
}

void stand_hmem_unuse(struct stand_mr *mr)
{
	if (mr && !--mr->n_refs)
		free(mr);
}

void stand_hmem_refuse(const char *call, const void *at, size_t len)
{
	if (len && has_device_bytes(at, len))
		fault(call, "one-sided access with device memory is not "
			    "modelled");
}

static void check_open(const struct stand_mr *mr)
{
	if (mr->is_closed)
		fault("the card", "it uses device memory after its "
				  "registration was closed");
}

void stand_hmem_read(struct stand_mr *mr, void *to, const void *at, size_t len)
{
	check_open(mr);
	if (mr->driver->read(to, at, len))
		fault("the card", "the driver cannot read the memory");
}

void stand_hmem_write(
	struct stand_mr *mr, void *at, const void *from, size_t len)
{
	check_open(mr);
	if (mr->driver->write(at, from, len))
		fault("the card", "the driver cannot write the memory");
}
