/* SPDX-License-Identifier: BSD-3-Clause */
/* iface: reads the properties of an interface from the kernel
 *
 * This file uses ioctl and /proc, because /sys shows the interfaces of the
 * namespace in which it was mounted. */
#include "net/iface.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Terms of the sum that ranks an interface. RUNNING: its link is up. OWN: it is
 * no bridge, tunnel or dummy (is_joint()). DEFAULT_ROUTE: it is one of these,
 * but has the default route. */
enum { RUNNING = 8, OWN = 4, DEFAULT_ROUTE = 2 };

/* True for the driver of a bridge, a tunnel or a dummy interface. Usually it
 * connects only containers and virtual machines. */
static bool is_joint(const char *driver)
{
	static const char *const names[] = { "bridge", "tun", "vxlan", "dummy",
		"openvswitch" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(driver, names[i]))
			return true;
	return false;
}

/* True if the interface has the IPv4 default route. A line of the file has
 * "name destination gateway flags refs use metric mask ...". */
static bool has_route4(const char *name)
{
	FILE *f = fopen("/proc/net/route", "re");
	char line[256], who[IFNAMSIZ + 1];
	unsigned long to, mask;
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%16s %lx %*s %*s %*s %*s %*s %lx", who,
				&to, &mask) == 3 &&
			!to && !mask && !strcmp(who, name);
	if (f)
		fclose(f);
	return found;
}

/* True if the interface has the IPv6 default route. A line of the file has
 * "destination prefix ... flags name". Flag 2 is a gateway, which the kernel's
 * unreachable routes do not have. */
static bool has_route6(const char *name)
{
	FILE *f = fopen("/proc/net/ipv6_route", "re");
	char line[256], to[33], who[IFNAMSIZ + 1];
	unsigned prefix, flags;
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%32s %x %*s %*s %*s %*s %*s %*s %x %16s",
				to, &prefix, &flags, who) == 4 &&
			!prefix && strspn(to, "0") == 32 && (flags & 2) &&
			!strcmp(who, name);
	if (f)
		fclose(f);
	return found;
}

static int iface_rank_of(int fd, const char *name)
{
	struct ethtool_drvinfo drv = { .cmd = ETHTOOL_GDRVINFO };
	struct ifreq req = { 0 };
	int rank = RUNNING + OWN;

	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
	if (ioctl(fd, SIOCGIFFLAGS, &req))
		return rank;
	if (!(req.ifr_flags & IFF_RUNNING))
		rank -= RUNNING;
	req.ifr_data = (char *)&drv;
	if (ioctl(fd, SIOCETHTOOL, &req) || !is_joint(drv.driver))
		return rank;
	rank -= OWN;
	return has_route4(name) || has_route6(name) ? rank + DEFAULT_ROUTE
						    : rank;
}

int weft_iface_rank(const char *name)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rank = RUNNING + OWN;

	if (fd < 0)
		fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return rank;
	rank = iface_rank_of(fd, name);
	close(fd);
	return rank;
}
