/* SPDX-License-Identifier: BSD-3-Clause */
/* domain: a libfabric domain with its address table */
#include "net/domain.h"

#include "base/bits.h"
#include "base/clock.h"
#include "base/log.h"

enum { POLL_SAMPLES = 16 };

int weft_domain_open(struct weft_domain *dom, const char **call_out)
{
	struct fi_av_attr attr = { .type = dom->info->domain_attr->av_type };
	int rc;

	*call_out = "fi_domain";
	rc = fi_domain(dom->fabric, dom->info, &dom->domain, NULL);
	if (rc)
		return rc;
	if (attr.type == FI_AV_UNSPEC)
		attr.type = FI_AV_TABLE;
	*call_out = "fi_av_open";
	return fi_av_open(dom->domain, &attr, &dom->av, NULL);
}

void weft_domain_close_fid(struct fid *fid, const char *what)
{
	int rc = fi_close(fid);

	if (rc)
		weft_log_debug("NET-CLOSE", "closing the %s: %s", what,
			fi_strerror(-rc));
}

void weft_domain_close(struct weft_domain *dom)
{
	if (dom->av)
		weft_domain_close_fid(&dom->av->fid, "address table");
	if (dom->domain)
		weft_domain_close_fid(&dom->domain->fid, "domain");
	if (dom->fabric)
		weft_domain_close_fid(&dom->fabric->fid, "fabric");
	fi_freeinfo(dom->info);
}

/* Reads 0 entries of the queue, which makes progress and returns no completion.
 */
uint32_t weft_domain_poll_ns(struct fid_cq *cq)
{
	uint64_t best = UINT32_MAX;

	for (int i = 0; i < POLL_SAMPLES; i++) {
		uint64_t start = weft_now_ns();

		fi_cq_read(cq, NULL, 0);
		best = weft_min(best, weft_now_ns() - start);
	}
	return (uint32_t)best;
}
