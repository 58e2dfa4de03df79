/* SPDX-License-Identifier: BSD-3-Clause */
/* fabric_test: the choice of provider and interface, and its messages
 *
 * The test replaces libfabric's fi_getinfo() and fi_fabric(): they return a
 * table of the devices of a simulated machine. */
#include "base/knob.h"
#include "base/log.h"
#include "net/libfabric.h"
#include "test/fake/fakefab.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A device of the simulated machine. */
struct offer {
	const char *provider;
	const char *domain;
	const char *address; /* IPv4 or IPv6 text, or NULL */
	const char *fabric;  /* NULL: the name of the domain */
	uint64_t lacks;	     /* capabilities that the device lacks */
	int mr_mode;	     /* modes that the device requires of the caller */
	size_t mr_key_size;
	bool is_broken;	     /* fi_fabric fails */
	bool is_broken_hmem; /* fi_fabric fails after a request for FI_HMEM */
};

static const struct offer *offers;
static size_t n_offers;
static struct fakefab fab;
static char opened[128]; /* provider@domain of the last fi_fabric */
static char opened_address[64];
static int n_queries;
static char asked[32];	/* the levels of the requests for cxi; an H follows the
			 * level of a request for FI_HMEM */
static bool asked_hmem; /* by the last request */
static bool knows_rdma = true; /* the kernel has RDMA devices */

/* Replaces access() for the path of RDMA devices only. */
int access(const char *path, int mode)
{
	if (strcmp(path, "/sys/class/infiniband") == 0)
		return knows_rdma ? 0 : -1;
	return faccessat(AT_FDCWD, path, mode, 0);
}

static void set_address(struct fi_info *info, const char *text)
{
	struct sockaddr_in in4 = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	if (!text)
		return;
	if (inet_pton(AF_INET, text, &in4.sin_addr) == 1) {
		info->addr_format = FI_SOCKADDR_IN;
		info->src_addrlen = sizeof(in4);
		info->src_addr = malloc(sizeof(in4));
		memcpy(info->src_addr, &in4, sizeof(in4));
	} else if (inet_pton(AF_INET6, text, &in6.sin6_addr) == 1) {
		info->addr_format = FI_SOCKADDR_IN6;
		info->src_addrlen = sizeof(in6);
		info->src_addr = malloc(sizeof(in6));
		memcpy(info->src_addr, &in6, sizeof(in6));
	}
}

static struct fi_info *answer(const struct offer *o, const struct fi_info *h)
{
	struct fi_info *info = fakefab_info();

	info->caps = h->caps;
	info->domain_attr->mr_mode = o->mr_mode & h->domain_attr->mr_mode;
	info->domain_attr->mr_key_size = o->mr_key_size;
	free(info->domain_attr->name);
	free(info->fabric_attr->prov_name);
	info->domain_attr->name = strdup(o->domain);
	info->fabric_attr->prov_name = strdup(o->provider);
	set_address(info, o->address);
	free(info->fabric_attr->name);
	info->fabric_attr->name = malloc(128);
	snprintf(info->fabric_attr->name, 128, "%s@%s", o->provider,
		o->fabric ? o->fabric : o->domain);
	/* for fi_fabric(): the index of the device */
	info->fabric_attr->prov_version = (uint32_t)(o - offers);
	return info;
}

static bool suits(const struct offer *o, const struct fi_info *h)
{
	size_t core = strcspn(o->provider, ";");
	const char *want = h->fabric_attr->prov_name;

	/* like libfabric, also matches layered forms of the named provider */
	if (strcmp(o->provider, want) != 0 &&
		!(strlen(want) == core && !strncmp(o->provider, want, core)))
		return false;
	return !(h->caps & o->lacks) &&
	       (!(o->mr_mode & FI_MR_LOCAL) ||
		       (h->domain_attr->mr_mode & FI_MR_LOCAL));
}

static void note_request(const struct fi_info *h)
{
	const char *level = !(h->caps & FI_MULTI_RECV)		    ? "2"
			    : h->domain_attr->mr_mode & FI_MR_LOCAL ? "1"
								    : "0";

	strcat(asked, level);
	if (asked_hmem)
		strcat(asked, "H");
}

static int offered_info(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **info)
{
	struct fi_info **at = info;

	(void)version;
	(void)node;
	(void)service;
	(void)flags;
	n_queries++;
	asked_hmem = hints->caps & FI_HMEM;
	assert_true(asked_hmem == !!(hints->domain_attr->mr_mode & FI_MR_HMEM));
	if (strcmp(hints->fabric_attr->prov_name, "cxi") == 0)
		note_request(hints);
	*info = NULL;
	for (size_t i = 0; i < n_offers; i++)
		if (suits(&offers[i], hints)) {
			*at = answer(&offers[i], hints);
			at = &(*at)->next;
		}
	return *info ? 0 : -FI_ENODATA;
}

static int offered_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	const struct offer *o = &offers[attr->prov_version];

	(void)context;
	if (o->is_broken || (o->is_broken_hmem && asked_hmem))
		return -FI_EBUSY;
	snprintf(opened, sizeof(opened), "%s@%s", o->provider, o->domain);
	memset(&fab, 0, sizeof(fab));
	fakefab_init(&fab);
	*fabric = &fab.fabric;
	return 0;
}

static void on_recv(void *arg, const void *data, size_t len)
{
	(void)arg;
	(void)data;
	(void)len;
}

static int open_with(const struct weft_net_hints *hints, size_t n,
	const struct offer *list, struct weft_net **net_out)
{
	offers = list;
	n_offers = n;
	n_queries = 0;
	opened[0] = asked[0] = '\0';
	return weft_net_open(hints, on_recv, NULL, net_out);
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Opens a net, checks the choice, and closes it. */
static void expect_choice(const struct weft_net_hints *hints, size_t n,
	const struct offer *list, const char *want, const char *address)
{
	struct weft_net *net = NULL;
	const struct fi_info *info;

	assert_int_equal(open_with(hints, n, list, &net), 0);
	assert_string_equal(opened, want);
	info = weft_net_inside(net)->dom.info;
	opened_address[0] = '\0';
	if (info->src_addr && info->addr_format == FI_SOCKADDR_IN)
		inet_ntop(AF_INET,
			&((struct sockaddr_in *)info->src_addr)->sin_addr,
			opened_address, sizeof(opened_address));
	if (address)
		assert_string_equal(opened_address, address);
	weft_net_close(net);
	assert_int_equal(fab.n_live, 0);
}

static const struct offer laptop[] = {
	{ .provider = "net", .domain = "eth0", .address = "fe80::1" },
	{ .provider = "net", .domain = "lo", .address = "127.0.0.1" },
	{ .provider = "net", .domain = "eth0", .address = "fd00::7" },
	{ .provider = "net", .domain = "eth0", .address = "10.0.0.5" },
	{ .provider = "net", .domain = "lo", .address = "::1" },
	{ .provider = "net", .domain = "wlan0", .address = "10.9.0.5" },
	{ .provider = "tcp;ofi_rxm", .domain = "lo", .address = "127.0.0.1" },
	{ .provider = "tcp;ofi_rxm", .domain = "eth0", .address = "10.0.0.5" },
	{ .provider = "sockets", .domain = "eth0", .address = "10.0.0.5" },
	{ .provider = "shm", .domain = "shm" },
};

static const struct offer cluster[] = {
	{ .provider = "net", .domain = "lo", .address = "127.0.0.1" },
	{ .provider = "net", .domain = "ib0", .address = "10.0.0.5" },
	{ .provider = "verbs;ofi_rxm", .domain = "mlx5_0" },
	{ .provider = "cxi", .domain = "cxi0" },
	{ .provider = "psm3", .domain = "psm3_0" },
};

static const struct weft_net_hints one_host = { .is_one_host = true };
static const struct weft_net_hints many_hosts = { .is_one_host = false };

static void one_host_takes_the_loopback(void **state)
{
	(void)state;
	expect_choice(&one_host, COUNT(laptop), laptop, "net@lo", "127.0.0.1");
}

static void a_job_that_may_grow_avoids_the_loopback(void **state)
{
	struct weft_net_hints grows = { .is_one_host = true, .may_grow = true };

	(void)state;
	expect_choice(&grows, COUNT(laptop), laptop, "net@eth0", "10.0.0.5");
	expect_choice(&grows, 1, &cluster[0], "net@lo", "127.0.0.1");
}

/* A node with three devices of one fabric, one device of another fabric, and
 * two for sockets. The first device is listed twice. */
static const struct offer many_nics[] = {
	{ .provider = "verbs;ofi_rxm", .domain = "mlx5_0", .fabric = "ib" },
	{ .provider = "verbs;ofi_rxm", .domain = "mlx5_0", .fabric = "ib" },
	{ .provider = "verbs;ofi_rxm", .domain = "roce_0", .fabric = "eth" },
	{ .provider = "verbs;ofi_rxm", .domain = "mlx5_1", .fabric = "ib" },
	{ .provider = "verbs;ofi_rxm", .domain = "mlx5_2", .fabric = "ib" },
	{ .provider = "tcp;ofi_rxm", .domain = "eth0", .address = "10.0.0.5" },
	{ .provider = "tcp;ofi_rxm", .domain = "eth1", .address = "10.1.0.5" },
};

static void devices_of_a_fabric_are_dealt(void **state)
{
	static const char *const want[] = { "verbs;ofi_rxm@mlx5_0",
		"verbs;ofi_rxm@mlx5_1", "verbs;ofi_rxm@mlx5_2",
		"verbs;ofi_rxm@mlx5_0" };
	struct weft_net_hints hints = { .provider = "" };

	(void)state;
	for (hints.place = 0; hints.place < 4; hints.place++)
		expect_choice(&hints, COUNT(many_nics), many_nics,
			want[hints.place], NULL);
	weft_knobs.nics = "first";
	hints.place = 1;
	expect_choice(&hints, COUNT(many_nics), many_nics,
		"verbs;ofi_rxm@mlx5_0", NULL);
	weft_knobs.nics = "spread";
}

static void near_devices_rank_first(void **state)
{
	struct weft_net_hints hints = { .near = "eth1,mlx5_2,mlx5_1" };

	(void)state;
	expect_choice(&hints, COUNT(many_nics), many_nics,
		"verbs;ofi_rxm@mlx5_1", NULL);
	hints.place = 1;
	expect_choice(&hints, COUNT(many_nics), many_nics,
		"verbs;ofi_rxm@mlx5_2", NULL);
	hints.iface = "mlx5_0";
	expect_choice(&hints, COUNT(many_nics), many_nics,
		"verbs;ofi_rxm@mlx5_0", NULL);
}

static int n_found;

static const char *find_near(void)
{
	n_found++;
	return "mlx5_2";
}

/* The library reads the machine only if several devices are equal. */
static void near_devices_are_determined(void **state)
{
	struct weft_net_hints hints = { .find_near = find_near, .place = 1 };

	(void)state;
	n_found = 0;
	expect_choice(&hints, COUNT(many_nics), many_nics,
		"verbs;ofi_rxm@mlx5_2", NULL);
	assert_int_equal(n_found, 1);
	hints.iface = "mlx5_1";
	expect_choice(&hints, COUNT(many_nics), many_nics,
		"verbs;ofi_rxm@mlx5_1", NULL);
	hints.iface = "";
	hints.provider = "tcp";
	expect_choice(
		&hints, COUNT(many_nics), many_nics, "tcp;ofi_rxm@eth0", NULL);
	assert_int_equal(n_found, 1);
}

/* The library prefers hardware to sockets, and has an order of hardware. */
static void hardware_has_an_order(void **state)
{
	static const struct offer all[] = {
		{ .provider = "net", .domain = "eth0", .address = "10.0.0.5" },
		{ .provider = "psm3", .domain = "psm3_0" },
		{ .provider = "psm2", .domain = "psm2_0" },
		{ .provider = "verbs;ofi_rxm", .domain = "mlx5_0" },
		{ .provider = "cxi", .domain = "cxi0" },
	};
	static const char *const want[] = { "cxi@cxi0", "verbs;ofi_rxm@mlx5_0",
		"net@eth0", "net@eth0", "net@eth0" };
	struct weft_net_hints hints = { .provider = "psm3" };

	(void)state;
	for (size_t n = COUNT(all); n > 0; n--)
		expect_choice(&many_hosts, n, all, want[COUNT(all) - n], NULL);
	expect_choice(&hints, COUNT(all), all, "psm3@psm3_0", NULL);
}

static void interfaces_are_not_dealt(void **state)
{
	struct weft_net_hints hints = { .provider = "tcp", .place = 1 };

	(void)state;
	expect_choice(
		&hints, COUNT(many_nics), many_nics, "tcp;ofi_rxm@eth0", NULL);
}

/* a device that fails to open is skipped with a warning; then the next kind is
 * tried */
static void a_broken_device_is_skipped(void **state)
{
	static struct offer list[COUNT(many_nics)];
	struct weft_net_hints hints = { .provider = "", .place = 1 };

	(void)state;
	memcpy(list, many_nics, sizeof(list));
	list[3].is_broken = true;
	expect_choice(&hints, COUNT(list), list, "verbs;ofi_rxm@mlx5_2", NULL);
	for (int i = 0; i < 5; i++)
		list[i].is_broken = true;
	expect_choice(&hints, COUNT(list), list, "tcp;ofi_rxm@eth0", NULL);
	hints.iface = "mlx5_1";
	assert_true(open_with(&hints, COUNT(list), list,
			    &(struct weft_net *){ NULL }) == WEFT_ERR_NOPROV);
}

static void many_hosts_take_a_real_address(void **state)
{
	(void)state;
	expect_choice(
		&many_hosts, COUNT(laptop), laptop, "net@eth0", "10.0.0.5");
}

static void several_hosts_prefer_hardware(void **state)
{
	(void)state;
	expect_choice(&many_hosts, COUNT(cluster), cluster, "cxi@cxi0", NULL);
	expect_choice(&many_hosts, 3, cluster, "verbs;ofi_rxm@mlx5_0", NULL);
}

/* libfabric is not queried for devices that the kernel does not know */
static void a_device_must_be_known_to_the_kernel(void **state)
{
	int n_with;

	(void)state;
	n_queries = 0;
	expect_choice(&many_hosts, 2, cluster, "net@ib0", "10.0.0.5");
	n_with = n_queries;
	knows_rdma = false;
	n_queries = 0;
	expect_choice(&many_hosts, 3, cluster, "net@ib0", "10.0.0.5");
	knows_rdma = true;
	assert_true(n_queries < n_with);
}

static void one_host_does_not_use_hardware(void **state)
{
	struct weft_net_hints named = { .provider = "verbs",
		.is_one_host = true };

	(void)state;
	expect_choice(&one_host, COUNT(cluster), cluster, "net@lo", NULL);
	expect_choice(
		&named, COUNT(cluster), cluster, "verbs;ofi_rxm@mlx5_0", NULL);
}

static void an_interface_may_be_named(void **state)
{
	struct weft_net_hints wlan = { .iface = "wlan0" };
	struct weft_net_hints eth = { .iface = "eth0", .is_one_host = true };
	struct weft_net_hints lo = { .iface = "lo" };
	struct weft_net_hints nic = { .iface = "mlx5_0", .is_one_host = true };

	(void)state;
	expect_choice(&wlan, COUNT(laptop), laptop, "net@wlan0", "10.9.0.5");
	expect_choice(&eth, COUNT(laptop), laptop, "net@eth0", "10.0.0.5");
	expect_choice(&lo, COUNT(laptop), laptop, "net@lo", "127.0.0.1");
	expect_choice(
		&nic, COUNT(cluster), cluster, "verbs;ofi_rxm@mlx5_0", NULL);
}

static void foreign_variables_are_used(void **state)
{
	(void)state;
	setenv("FI_TCP_IFACE", "wlan0", 1);
	expect_choice(
		&one_host, COUNT(laptop), laptop, "net@wlan0", "10.9.0.5");
	unsetenv("FI_TCP_IFACE");
	setenv("FI_PROVIDER", "verbs,tcp", 1);
	expect_choice(&one_host, COUNT(cluster), cluster,
		"verbs;ofi_rxm@mlx5_0", NULL);
	setenv("FI_PROVIDER", "shm", 1);
	expect_choice(&one_host, 1, &laptop[9], "shm@shm", NULL);
	setenv("FI_PROVIDER", "psm3", 1);
	expect_choice(&many_hosts, 1, &cluster[4], "psm3@psm3_0", NULL);
	unsetenv("FI_PROVIDER");
}

static void a_provider_may_be_named_in_any_form(void **state)
{
	static const char *const names[][2] = {
		{ "net", "net@lo" },
		{ "tcp", "net@lo" },
		{ "tcp;ofi_rxm", "tcp;ofi_rxm@lo" },
		{ "sockets", "sockets@eth0" },
		{ "shm", "shm@shm" },
		{ "verbs,sockets", "sockets@eth0" },
	};
	struct weft_net_hints hints = { .is_one_host = true };
	struct weft_net_hints psm3 = { .provider = "psm3" };

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++) {
		hints.provider = names[i][0];
		expect_choice(&hints, COUNT(laptop), laptop, names[i][1], NULL);
	}
	expect_choice(&psm3, COUNT(cluster), cluster, "psm3@psm3_0", NULL);
}

static void a_broken_provider_is_skipped(void **state)
{
	static const struct offer list[] = {
		{ .provider = "verbs;ofi_rxm",
			.domain = "mlx5_0",
			.is_broken = true },
		{ .provider = "net", .domain = "eth0", .address = "10.0.0.5" },
	};

	(void)state;
	expect_choice(&many_hosts, COUNT(list), list, "net@eth0", NULL);
}

static void less_is_taken_where_all_is_not_to_be_had(void **state)
{
	static const struct offer poor[] = {
		{ .provider = "verbs;ofi_rxm",
			.domain = "x",
			.lacks = FI_RMA | FI_MULTI_RECV,
			.mr_mode = FI_MR_LOCAL },
	};
	struct weft_net *net = NULL;

	(void)state;
	assert_int_equal(open_with(&many_hosts, 1, poor, &net), 0);
	assert_true(net->plan.needs_local_mr);
	assert_false(net->plan.has_multi_recv);
	weft_net_close(net);
	assert_int_equal(fab.n_live, 0);
	assert_int_equal(fab.n_mr_live, 0);
}

static void nothing_names_every_candidate(void **state)
{
	struct weft_net *net = NULL;
	int rc = open_with(&many_hosts, 0, NULL, &net);
	const char *text = weft_err_detail_peek(WEFT_ERR_NOPROV);

	(void)state;
	assert_int_equal(rc, WEFT_ERR_NOPROV);
	assert_null(net);
	assert_non_null(strstr(text, "cxi, verbs;ofi_rxm, tcp, net, "
				     "tcp;ofi_rxm: "
				     "libfabric does not offer it"));
}

static void a_wrong_interface_is_named(void **state)
{
	struct weft_net_hints hints = { .provider = "net", .iface = "eth9" };
	struct weft_net *net = NULL;
	int rc = open_with(&hints, COUNT(laptop), laptop, &net);

	(void)state;
	assert_int_equal(rc, WEFT_ERR_NOPROV);
	assert_non_null(strstr(weft_err_detail_peek(WEFT_ERR_NOPROV), "eth9"));
}

static void shm_does_not_leave_the_host(void **state)
{
	struct weft_net_hints hints = { .provider = "shm" };
	struct weft_net *net = NULL;

	(void)state;
	assert_int_equal(open_with(&hints, COUNT(laptop), laptop, &net),
		WEFT_ERR_NOPROV);
	assert_non_null(strstr(
		weft_err_detail_peek(WEFT_ERR_NOPROV), "this host only"));
}

static void explaining_opens_nothing(void **state)
{
	char text[4096];
	char small[8];
	size_t n;

	(void)state;
	offers = laptop;
	n_offers = COUNT(laptop);
	opened[0] = '\0';
	n = weft_net_explain(&one_host, text, sizeof(text));
	assert_int_equal(n, strlen(text));
	assert_non_null(strstr(text, "cxi: not needed on one host"));
	assert_non_null(strstr(text, "net: chosen, on lo"));
	assert_non_null(strstr(text, "tcp;ofi_rxm: usable, on lo"));
	assert_non_null(strstr(text, "shm: only by name (WEFT_PROVIDER)"));
	assert_string_equal(opened, "");
	assert_int_equal(weft_net_explain(&one_host, small, sizeof(small)), n);
	assert_int_equal(strlen(small), sizeof(small) - 1);
}

/* Opens a net on a machine with this cxi device, and checks the requests. */
static void expect_hmem(const struct weft_net_hints *hints,
	const struct offer *device, const char *requests, bool has_hmem)
{
	struct weft_net *net = NULL;

	assert_int_equal(open_with(hints, 1, device, &net), 0);
	assert_string_equal(asked, requests);
	assert_int_equal(net->plan.has_hmem, has_hmem);
	weft_net_close(net);
	assert_int_equal(fab.n_live, 0);
}

static const struct weft_net_hints with_devices = { .has_devices = true };

/* FI_HMEM is requested first in each level, so it never costs a feature that
 * the device has without it. */
static void device_memory_is_requested_first(void **state)
{
	static const struct offer full = { .provider = "cxi", .domain = "c" };
	static const struct offer none = {
		.provider = "cxi", .domain = "c", .lacks = FI_HMEM
	};
	static const struct offer poor = { .provider = "cxi",
		.domain = "c",
		.lacks = FI_MULTI_RECV,
		.mr_mode = FI_MR_LOCAL };
	static const struct offer poor_none = { .provider = "cxi",
		.domain = "c",
		.lacks = FI_MULTI_RECV | FI_HMEM,
		.mr_mode = FI_MR_LOCAL };

	(void)state;
	expect_hmem(&many_hosts, &full, "0", false);
	expect_hmem(&with_devices, &full, "0H", true);
	expect_hmem(&with_devices, &none, "0H0", false);
	expect_hmem(&with_devices, &poor, "0H01H12H", true);
	expect_hmem(&with_devices, &poor_none, "0H01H12H2", false);
	weft_knobs.dev_fabric = "off";
	expect_hmem(&with_devices, &full, "0", false);
	weft_knobs.dev_fabric = "on";
}

/* A device with FI_HMEM that is not wanted does not exclude the wanted one. */
static void a_named_device_needs_no_device_memory(void **state)
{
	static const struct offer two[] = {
		{ .provider = "cxi", .domain = "cxi0" },
		{ .provider = "cxi", .domain = "cxi1", .lacks = FI_HMEM },
	};
	struct weft_net_hints hints = { .has_devices = true, .iface = "cxi1" };

	(void)state;
	expect_choice(&hints, COUNT(two), two, "cxi@cxi1", NULL);
	assert_string_equal(asked, "0H0");
}

static void a_device_that_fails_with_hmem_opens_without(void **state)
{
	static const struct offer broken = {
		.provider = "cxi", .domain = "c", .is_broken_hmem = true
	};

	(void)state;
	expect_hmem(&with_devices, &broken, "0H0", false);
}

/* Sockets and shared memory cannot move device memory. */
static void only_some_providers_are_asked_for_device_memory(void **state)
{
	struct weft_net_hints hints = { .has_devices = true };
	struct weft_net *net = NULL;

	(void)state;
	assert_int_equal(open_with(&hints, 2, cluster, &net), 0);
	assert_false(net->plan.has_hmem);
	assert_false(asked_hmem);
	weft_net_close(net);
	assert_int_equal(open_with(&hints, 3, cluster, &net), 0);
	assert_true(net->plan.has_hmem);
	weft_net_close(net);
	hints.provider = "psm3";
	assert_int_equal(open_with(&hints, COUNT(cluster), cluster, &net), 0);
	assert_true(net->plan.has_hmem);
	weft_net_close(net);
}

static void cxi_keeps_cheap_keys_and_puts(void **state)
{
	static const struct offer ours[] = { { .provider = "cxi",
		.domain = "cxi0",
		.mr_mode = FI_MR_ENDPOINT | FI_MR_PROV_KEY,
		.mr_key_size = 4 } };
	struct weft_net *net = NULL;

	(void)state;
	assert_int_equal(open_with(&many_hosts, 1, ours, &net), 0);
	assert_false(net->plan.has_prov_key);
	assert_true(net->plan.has_mr_endpoint);
	assert_true(net->plan.key_mask == UINT32_MAX);
	assert_int_equal(net->plan.n_keys, 100);
	assert_true(net->plan.batch_flags == FI_MORE);
	assert_true(net->plan.rate_flags == 1ull << 60);
	assert_true(net->plan.once_flags == 1ull << 61);
	weft_net_close(net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_host_takes_the_loopback),
		cmocka_unit_test(a_job_that_may_grow_avoids_the_loopback),
		cmocka_unit_test(many_hosts_take_a_real_address),
		cmocka_unit_test(several_hosts_prefer_hardware),
		cmocka_unit_test(a_device_must_be_known_to_the_kernel),
		cmocka_unit_test(one_host_does_not_use_hardware),
		cmocka_unit_test(an_interface_may_be_named),
		cmocka_unit_test(foreign_variables_are_used),
		cmocka_unit_test(a_provider_may_be_named_in_any_form),
		cmocka_unit_test(a_broken_provider_is_skipped),
		cmocka_unit_test(less_is_taken_where_all_is_not_to_be_had),
		cmocka_unit_test(nothing_names_every_candidate),
		cmocka_unit_test(a_wrong_interface_is_named),
		cmocka_unit_test(shm_does_not_leave_the_host),
		cmocka_unit_test(explaining_opens_nothing),
		cmocka_unit_test(devices_of_a_fabric_are_dealt),
		cmocka_unit_test(near_devices_rank_first),
		cmocka_unit_test(near_devices_are_determined),
		cmocka_unit_test(hardware_has_an_order),
		cmocka_unit_test(interfaces_are_not_dealt),
		cmocka_unit_test(a_broken_device_is_skipped),
		cmocka_unit_test(device_memory_is_requested_first),
		cmocka_unit_test(a_named_device_needs_no_device_memory),
		cmocka_unit_test(a_device_that_fails_with_hmem_opens_without),
		cmocka_unit_test(
			only_some_providers_are_asked_for_device_memory),
		cmocka_unit_test(cxi_keeps_cheap_keys_and_puts),
	};

	if (weft_libfabric_load())
		return 1;
	weft_libfabric.getinfo = offered_info;
	weft_libfabric.fabric = offered_fabric;
	unsetenv("FI_PROVIDER");
	unsetenv("FI_TCP_IFACE");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
