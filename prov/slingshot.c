/* SPDX-License-Identifier: BSD-3-Clause */
/* slingshot: reads the launcher's variables */
#include "prov/slingshot.h"
#include "base/knob.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

enum { ALL_CLASSES = 15 };

static const struct {
	const char *wish; /* value of WEFT_TCLASS or weft_tclass */
	uint32_t tclass;
	enum weft_cxi_tcs bit;
} classes[] = {
	{ "best_effort", FI_TC_BEST_EFFORT, WEFT_CXI_TCS_BEST_EFFORT },
	{ "low_latency", FI_TC_LOW_LATENCY, WEFT_CXI_TCS_LOW_LATENCY },
	{ "dedicated_access", FI_TC_DEDICATED_ACCESS,
		WEFT_CXI_TCS_DEDICATED_ACCESS },
	{ "bulk_data", FI_TC_BULK_DATA, WEFT_CXI_TCS_BULK_DATA },
};

enum { N_CLASSES = sizeof(classes) / sizeof(classes[0]) };

/* Returns the index of a word in a list with commas; -1: it is not in the
 * list. */
static int slingshot_index_of(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (int at = 0; *list; at++) {
		size_t n = strcspn(list, ",");

		if (n == len && strncmp(list, word, n) == 0)
			return at;
		list += n + (list[n] == ',');
	}
	return -1;
}

/* Sets *out to the number at an index of a list with commas. False if there is
 * no number, or it is above max. */
static bool number_at(
	const char *list, int at, unsigned long max, unsigned long *out)
{
	char *end;

	for (; *list && at > 0; at--) {
		size_t n = strcspn(list, ",");

		list += n + (list[n] == ',');
	}
	*out = strtoul(list, &end, 10);
	return end != list && (*end == ',' || !*end) && *out <= max;
}

bool weft_slingshot_is_foreign(const char *device)
{
	const char *devices = weft_knob_getenv("SLINGSHOT_DEVICES");

	return devices && slingshot_index_of(devices, device) < 0;
}

bool weft_slingshot_key(const char *device, struct weft_cxi_auth_key *key_out)
{
	const char *vnis = weft_knob_getenv("SLINGSHOT_VNIS");
	const char *services = weft_knob_getenv("SLINGSHOT_SVC_IDS");
	const char *devices = weft_knob_getenv("SLINGSHOT_DEVICES");
	int at = devices ? slingshot_index_of(devices, device) : 0;
	unsigned long vni, service;

	if (!vnis || !services || at < 0)
		return false;
	if (!number_at(vnis, 0, UINT16_MAX, &vni) || !vni ||
		!number_at(services, at, UINT32_MAX, &service)) {
		weft_log_warn("NET-SLINGSHOT",
			"SLINGSHOT_VNIS \"%s\" or SLINGSHOT_SVC_IDS \"%s\" is "
			"no list of numbers with one for %s; the provider "
			"chooses the key (ask the administrator of the "
			"launcher)",
			vnis, services, device);
		return false;
	}
	*key_out =
		(struct weft_cxi_auth_key){ (uint32_t)service, (uint16_t)vni };
	return true;
}

static unsigned long permitted(void)
{
	const char *text = weft_knob_getenv("SLINGSHOT_TCS");
	unsigned long mask;
	char *end;

	if (!text)
		return ALL_CLASSES;
	mask = strtoul(text, &end, 16);
	if (end != text && !*end && mask & ALL_CLASSES)
		return mask & ALL_CLASSES;
	weft_log_warn("NET-SLINGSHOT",
		"SLINGSHOT_TCS \"%s\" is no mask of traffic classes and is "
		"ignored (ask the administrator of the launcher)",
		text);
	return ALL_CLASSES;
}

uint32_t weft_slingshot_tclass(const char *wish, const char **why_out)
{
	unsigned long mask = permitted();
	size_t i = 0;

	*why_out = NULL;
	while (i < N_CLASSES && strcmp(classes[i].wish, wish) != 0)
		i++;
	if (i < N_CLASSES && mask & classes[i].bit)
		return classes[i].tclass;
	if (i < N_CLASSES)
		*why_out = "the traffic class wished for (SLINGSHOT_TCS)";
	if (mask & WEFT_CXI_TCS_BEST_EFFORT)
		return i < N_CLASSES ? FI_TC_BEST_EFFORT : FI_TC_UNSPEC;
	for (i = 0; i < N_CLASSES; i++)
		if (mask & classes[i].bit)
			return classes[i].tclass;
	return FI_TC_UNSPEC;
}

const char *weft_slingshot_tclass_name(uint32_t tclass)
{
	for (size_t i = 0; i < N_CLASSES; i++)
		if (classes[i].tclass == tclass)
			return classes[i].wish;
	return "default";
}
