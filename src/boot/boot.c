/* SPDX-License-Identifier: BSD-3-Clause */
/* boot: pick an implementation */
#include "boot/boot.h"

#include "base/knob.h"
#include "boot/solo.h"
#include "pmix/pmix_boot.h"

#include <stdbool.h>
#include <stdlib.h>

/*
 * Both variables come from a PMIx server's launcher.  PMIx itself would also
 * start without one, at the price of a search for servers.
 */
static bool has_manager(void)
{
	return weft_knob_foreign("PMIX_NAMESPACE") &&
	       weft_knob_foreign("PMIX_RANK");
}

int weft_boot_open(
	struct weft_boot **boot_out, struct weft_boot_facts *facts_out)
{
	int err = has_manager() ? weft_pmix_open(boot_out, facts_out)
				: weft_solo_open(boot_out, facts_out);

	if (!err && weft_knobs.universe_size)
		facts_out->univ_size = (uint32_t)weft_knobs.universe_size;
	return err;
}

static int rank_order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

int weft_boot_is_near(struct weft_boot *boot, uint32_t rank)
{
	const uint32_t *ranks = NULL;
	size_t n = 0;

	return !weft_boot_near(boot, &ranks, &n) &&
	       bsearch(&rank, ranks, n, sizeof(rank), rank_order);
}
