/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_auth: which network identifier (VNI) a process may use
 *
 * A launcher sets SLINGSHOT_VNIS, _SVC_IDS and _DEVICES. Without them the open
 * service of the node is used, unless the site has disabled it. */
#include "stand.h"

#include <stdlib.h>
#include <string.h>

enum {
	OPEN_SERVICE = 1,
	DEFAULT_VNI = 10,
};

/* Returns the position of the word in a comma-separated list; -1: not in the
 * list. */
static int index_in(const char *list, const char *word)
{
	size_t len = strlen(word);
	int at = 0;

	while (list && *list) {
		size_t n = strcspn(list, ",");

		if (n == len && strncmp(list, word, n) == 0)
			return at;
		list += n + (list[n] == ',');
		at++;
	}
	return -1;
}

static unsigned long number_at(const char *list, int at)
{
	while (list && *list && at > 0) {
		size_t n = strcspn(list, ",");

		list += n + (list[n] == ',');
		at--;
	}
	return list && *list ? strtoul(list, NULL, 10) : 0;
}

static bool has_number(const char *list, unsigned long number)
{
	while (list && *list) {
		size_t n = strcspn(list, ",");

		if (strtoul(list, NULL, 10) == number)
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

static const char *text_of(const char *name)
{
	const char *text = getenv(name);

	return text && *text ? text : NULL;
}

bool stand_has_device(const char *device)
{
	const char *given = text_of("SLINGSHOT_DEVICES");
	const char *named = text_of("FI_CXI_DEVICE_NAME");

	return (!given || index_in(given, device) >= 0) &&
	       (!named || index_in(named, device) >= 0);
}

/* Returns the key of a process that passes no key. */
static struct weft_cxi_auth_key by_itself(const char *device)
{
	const char *vnis = text_of("SLINGSHOT_VNIS");
	const char *svcs = text_of("SLINGSHOT_SVC_IDS");
	const char *devices = text_of("SLINGSHOT_DEVICES");
	const char *vni = text_of("FI_CXI_DEFAULT_VNI");
	int at = devices ? index_in(devices, device) : 0;

	if (vnis && svcs && at >= 0)
		return (struct weft_cxi_auth_key){ (uint32_t)number_at(
							   svcs, at),
			(uint16_t)number_at(vnis, 0) };
	if (stand_env.no_service)
		return (struct weft_cxi_auth_key){ 0, 0 };
	return (struct weft_cxi_auth_key){ OPEN_SERVICE,
		vni ? (uint16_t)strtoul(vni, NULL, 10) : DEFAULT_VNI };
}

static bool may_use(const char *device, const struct weft_cxi_auth_key *key)
{
	const char *vnis = text_of("SLINGSHOT_VNIS");
	const char *svcs = text_of("SLINGSHOT_SVC_IDS");
	const char *devices = text_of("SLINGSHOT_DEVICES");
	int at = devices ? index_in(devices, device) : 0;

	if (vnis && svcs && at >= 0 && number_at(svcs, at) == key->svc_id)
		return has_number(vnis, key->vni);
	return !stand_env.no_service && key->svc_id == OPEN_SERVICE &&
	       key->vni != 0;
}

int stand_auth(const char *device, const void *key, size_t len,
	struct weft_cxi_auth_key *auth_out)
{
	struct weft_cxi_auth_key k;

	if (!len) {
		*auth_out = by_itself(device);
		return 0;
	}
	if (len != sizeof(k) || !key) {
		stand_log("auth_key refused: %zu bytes", len);
		return -FI_EINVAL;
	}
	memcpy(&k, key, sizeof(k));
	if (!may_use(device, &k)) {
		stand_log("auth_key refused: service %u vni %u on %s", k.svc_id,
			k.vni, device);
		return -FI_EINVAL;
	}
	*auth_out = k;
	return 0;
}
