/* SPDX-License-Identifier: BSD-3-Clause */
/* av: converts names on business cards to addresses
 *
 * A name on a business card is 8 bytes of this library (address format and wire
 * protocol, little-endian 32 bits each), then libfabric's address. If two
 * processes have chosen different kinds of fabric, adding the name fails with a
 * description, so that neither process waits without end. */
#include "net/net_priv.h"
#include "base/log.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

enum { PREFIX_LEN = 8 };

static void put_u32(unsigned char *to, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		to[i] = (unsigned char)(v >> (8 * i));
}

static uint32_t get_u32(const unsigned char *from)
{
	return (uint32_t)from[0] | (uint32_t)from[1] << 8 |
	       (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

int weft_av_name(
	struct fid *ep, const struct fi_info *info, void *buf, size_t *len)
{
	unsigned char *at = buf;
	size_t room;
	int rc;

	if (*len < PREFIX_LEN)
		return weft_err_set(WEFT_ERR_ARG, "no space for an address");
	room = *len - PREFIX_LEN;
	rc = fi_getname(ep, at + PREFIX_LEN, &room);
	if (rc == -FI_ETOOSMALL)
		return weft_err_set(WEFT_ERR_ARG,
			"address needs %zu bytes, there are %zu",
			room + PREFIX_LEN, *len);
	if (rc)
		return weft_err_set(weft_cq_err(rc), "fi_getname on %s: %s",
			info->fabric_attr->prov_name, fi_strerror(-rc));
	put_u32(at, info->addr_format);
	put_u32(at + 4, info->ep_attr->protocol);
	*len = room + PREFIX_LEN;
	return 0;
}

int weft_net_name(struct weft_net *net, void *buf, size_t *len)
{
	return weft_av_name(
		&net->ep->fid, weft_net_inside(net)->dom.info, buf, len);
}

/* Returns the network's number in the address; 0: the address has none. */
static uint32_t network_of(
	const struct weft_plan *plan, const unsigned char *name, size_t len)
{
	size_t at = PREFIX_LEN + plan->network_id_at;

	return plan->network_id && len >= at + 2
		       ? (uint32_t)name[at] | (uint32_t)name[at + 1] << 8
		       : 0;
}

static int check_network(
	const struct weft_plan *plan, const unsigned char *name, size_t len)
{
	uint32_t theirs = network_of(plan, name, len);

	if (!theirs || theirs == plan->network_id)
		return 0;
	return weft_err_set(WEFT_ERR_PEER,
		"the peer is in virtual network (VNI) %u, this process in %u: "
		"the launcher must put all processes of a job into one "
		"(SLINGSHOT_VNIS)",
		theirs, plan->network_id);
}

/* True if the name is a socket address with a valid family. An invalid name
 * must not be inserted first: libfabric determines the length of all addresses
 * in a table from the family of the first address. */
static bool is_socket_name(uint32_t format, const unsigned char *at, size_t len)
{
	sa_family_t family;

	if (len < sizeof(family))
		return false;
	memcpy(&family, at, sizeof(family));
	switch (format) {
	case FI_SOCKADDR_IN:
		return family == AF_INET && len >= sizeof(struct sockaddr_in);
	case FI_SOCKADDR_IN6:
		return family == AF_INET6 && len >= sizeof(struct sockaddr_in6);
	default:
		return true;
	}
}

static int av_check(const struct fi_info *info, const struct weft_plan *plan,
	const unsigned char *name, size_t len)
{
	char text[128];

	if (len <= PREFIX_LEN || len > WEFT_NET_NAME_MAX)
		return weft_err_set(
			WEFT_ERR_PEER, "peer's fabric name has %zu bytes", len);
	if (get_u32(name) == info->addr_format &&
		get_u32(name + 4) == info->ep_attr->protocol) {
		if (is_socket_name(info->addr_format, name + PREFIX_LEN,
			    len - PREFIX_LEN))
			return check_network(plan, name, len);
		return weft_err_set(WEFT_ERR_PEER,
			"peer's fabric name is not an address of its kind");
	}
	fi_tostr_r(text, sizeof(text), &(uint32_t){ get_u32(name + 4) },
		FI_TYPE_PROTOCOL);
	return weft_err_set(WEFT_ERR_PEER,
		"peer uses another fabric (protocol %s, address format %u) "
		"than this process (%s on %s): set WEFT_PROVIDER and "
		"WEFT_IFACE alike everywhere",
		text, get_u32(name), plan->provider, plan->domain);
}

int weft_av_add(struct fid_av *av, const struct fi_info *info,
	const struct weft_plan *plan, const void *name, size_t len,
	uint64_t *addr_out)
{
	unsigned char padded[WEFT_NET_NAME_MAX + 8]
		__attribute__((aligned(8))) = { 0 };
	fi_addr_t addr = FI_ADDR_NOTAVAIL;
	int rc = av_check(info, plan, name, len);

	if (rc)
		return rc;
	/* a name shorter than its format requires is padded with zeros */
	memcpy(padded, (const char *)name + PREFIX_LEN, len - PREFIX_LEN);
	rc = fi_av_insert(av, padded, 1, &addr, 0, NULL);
	if (rc != 1 || addr == FI_ADDR_NOTAVAIL)
		return weft_err_set(WEFT_ERR_PEER,
			"%s does not accept the peer's address: %s",
			plan->provider,
			rc < 0 ? fi_strerror(-rc) : "not inserted");
	*addr_out = addr;
	return 0;
}

int weft_net_peer_add(
	struct weft_net *net, const void *name, size_t len, uint64_t *addr_out)
{
	struct weft_inside *in = weft_net_inside(net);

	return weft_av_add(
		in->dom.av, in->dom.info, &net->plan, name, len, addr_out);
}

void weft_net_peer_remove(struct weft_net *net, uint64_t addr)
{
	struct weft_inside *in = weft_net_inside(net);
	fi_addr_t one = addr;
	int rc = fi_av_remove(in->dom.av, &one, 1, 0);

	if (rc)
		weft_log_debug("NET-AV", "address %lu not removed: %s",
			(unsigned long)addr, fi_strerror(-rc));
}
