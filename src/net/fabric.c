/* SPDX-License-Identifier: BSD-3-Clause */
/* fabric: queries libfabric, chooses and opens a candidate, and logs the choice
 * and its reason in one line
 *
 * Each libfabric name (`form`) of each entry of the table is a candidate. The
 * verdict of a candidate is a text. weft-info --providers prints the verdicts,
 * and so does the error if no candidate is usable. */
#include "net/net_priv.h"
#include "base/knob.h"
#include "base/log.h"
#include "net/iface.h"
#include "net/libfabric.h"
#include "net/rma_ep.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	REPORT_MAX = 4096,
	VERDICT_MAX = 160,
	/* weights for an interface; IPv4 before IPv6 weighs 1 */
	IFACE_WEIGHT = 2,
	LOOPBACK_WEIGHT = IFACE_WEIGHT * (WEFT_IFACE_RANK_MAX + 1),
};

/* The criteria of the choice, from hints, knobs and libfabric's own variables.
 */
struct criteria {
	const char *provider; /* "" for none */
	const char *iface;    /* "" for none */
	const char *filter;   /* FI_PROVIDER or NULL */
	const char *tclass;   /* a value of the knob TCLASS */
	const char *near;     /* "" for none */
	const char *(*find_near)(void);
	const char *fabric; /* "" for any */
	const char *used;   /* devices to exclude */
	uint32_t rail;
	uint32_t place;
	bool assigns_in_turn;	 /* round-robin over a node's processes */
	char tried[VERDICT_MAX]; /* domains of one form that failed to open */
	bool is_one_host;	 /* now and later */
	bool accepts_loopback;
	bool is_rma;
	bool wants_hmem;
};

/* A text to which verdicts are appended. */
struct report {
	char text[REPORT_MAX];
	size_t used;
};

static void report_add(struct report *r, const char *form, const char *verdict)
{
	size_t room = sizeof(r->text) - r->used;
	int n = snprintf(r->text + r->used, room, "%s: %s\n", form, verdict);

	if (n > 0)
		r->used += weft_min((size_t)n, room - 1);
}

/* As report_add(), but consecutive candidates with the same reason share a
 * line: "cxi, verbs: libfabric does not offer it". */
static void report_no(struct report *r, const char *form, const char *why)
{
	char line[VERDICT_MAX];
	size_t len = strlen(why) + 3; /* length of ": why\n" */
	char *end = r->text + r->used - weft_min(len, r->used);

	if (end > r->text && !strncmp(end + 2, why, len - 3) && *end == ':') {
		/* removes the reason and appends it after both names */
		snprintf(line, sizeof(line), ", %s", form);
		r->used = (size_t)(end - r->text);
		report_add(r, line, why);
		return;
	}
	report_add(r, form, why);
}

static const char *or_knob(const char *hint, const char *knob)
{
	return hint && *hint ? hint : knob;
}

static struct criteria criteria_make(const struct weft_net_hints *hints)
{
	return (struct criteria){
		.provider = or_knob(hints->provider, weft_knobs.provider),
		.iface = or_knob(hints->iface, weft_knobs.iface),
		.filter = weft_knob_getenv("FI_PROVIDER"),
		.tclass = or_knob(hints->tclass, weft_knobs.tclass),
		.near = hints->near ? hints->near : "",
		.find_near = hints->find_near,
		.fabric = hints->fabric ? hints->fabric : "",
		.used = hints->used ? hints->used : "",
		.rail = hints->rail,
		.place = hints->place,
		.assigns_in_turn = strcmp(weft_knobs.nics, "first") != 0,
		.is_one_host = hints->is_one_host && !hints->may_grow,
		.accepts_loopback = hints->is_one_host,
		.is_rma = hints->is_rma,
		.wants_hmem = hints->has_devices &&
			      weft_knob_is_on(weft_knobs.dev_fabric),
	};
}

/* True if this name is an entry of the comma-separated list. */
static bool list_has_name(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = list; *p;) {
		size_t n = strcspn(p, ",");

		if (n == len && strncmp(p, name, n) == 0)
			return true;
		p += n + (p[n] == ',');
	}
	return false;
}

/* Appends a name to a comma-separated list if it fits. */
static void list_add(char list[VERDICT_MAX], const char *name)
{
	size_t used = strlen(list);

	if (used + strlen(name) + 2 <= VERDICT_MAX)
		snprintf(list + used, VERDICT_MAX - used, "%s%s",
			used ? "," : "", name);
}

/* True if the comma-separated list names the libfabric provider or the core
 * provider under it ("verbs" for "verbs;ofi_rxm"). "^a,b" names nothing. */
static bool list_has(const char *list, const char *form)
{
	size_t core_len = strcspn(form, ";");

	if (!list || *list == '^')
		return false;
	for (const char *p = list; *p;) {
		size_t n = strcspn(p, ",");

		if ((n == strlen(form) || n == core_len) &&
			strncmp(p, form, n) == 0)
			return true;
		p += n + (p[n] == ',');
	}
	return false;
}

/* False if the user named another provider. */
static bool is_asked(const struct criteria *w, const struct weft_prov *prov,
	const char *form)
{
	return !*w->provider || list_has_name(w->provider, prov->name) ||
	       list_has_name(w->provider, form);
}

static bool fabric_is_named(const struct criteria *w,
	const struct weft_prov *prov, const char *form)
{
	return (*w->provider && is_asked(w, prov, form)) ||
	       list_has(w->filter, form);
}

/* The request */

static void want_messages(struct fi_info *h, int level, bool with_hmem)
{
	h->caps = FI_MSG | FI_TAGGED;
	if (level < 2)
		h->caps |= FI_MULTI_RECV;
	h->mode = FI_CONTEXT | FI_CONTEXT2;
	if (level > 0)
		h->domain_attr->mr_mode |= FI_MR_LOCAL;
	if (with_hmem) {
		h->caps |= FI_HMEM;
		h->domain_attr->mr_mode |= FI_MR_HMEM;
	}
	h->domain_attr->threading = FI_THREAD_DOMAIN;
	h->tx_attr->msg_order = FI_ORDER_SAS;
	h->rx_attr->msg_order = FI_ORDER_SAS;
}

/* The request has no order, no events at the target and no FI_CONTEXT mode,
 * because each of these excludes the fast path of some hardware. Each thread
 * may have its own endpoint. */
static void want_rma(struct fi_info *h, const struct weft_prov *prov)
{
	h->caps = FI_RMA | prov->rma_caps;
	h->domain_attr->threading = FI_THREAD_SAFE;
}

static struct fi_info *request(const struct criteria *w,
	const struct weft_prov *prov, const char *form, int level,
	bool with_hmem)
{
	struct fi_info *h = fi_allocinfo();

	if (!h)
		return NULL;
	h->ep_attr->type = FI_EP_RDM;
	h->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				  FI_MR_PROV_KEY | FI_MR_ENDPOINT;
	h->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	h->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	if (w->is_rma)
		want_rma(h, prov);
	else
		want_messages(h, level, with_hmem);
	h->fabric_attr->prov_name = strdup(form);
	if (prov->hints)
		prov->hints(h);
	return h;
}

static int query(const struct criteria *w, const struct weft_prov *prov,
	const char *form, int level, bool with_hmem, struct fi_info **list_out)
{
	struct fi_info *h = request(w, prov, form, level, with_hmem);
	int rc;

	if (!h)
		return -FI_ENOMEM;
	rc = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, h, list_out);
	fi_freeinfo(h);
	return rc;
}

/* The interface */

static bool is_loopback(const struct fi_info *info)
{
	const struct sockaddr *sa = info->src_addr;
	const char *name = info->domain_attr->name;

	if (name && strcmp(name, "lo") == 0)
		return true;
	if (!sa || info->src_addrlen < sizeof(struct sockaddr_in))
		return false;
	if (info->addr_format == FI_SOCKADDR_IN)
		return ntohl(((const struct sockaddr_in *)(const void *)sa)
				       ->sin_addr.s_addr) >>
			       24 ==
		       127;
	if (info->addr_format == FI_SOCKADDR_IN6 &&
		info->src_addrlen >= sizeof(struct sockaddr_in6))
		return IN6_IS_ADDR_LOOPBACK(
			&((const struct sockaddr_in6 *)(const void *)sa)
				 ->sin6_addr);
	return false;
}

static bool is_link_local(const struct fi_info *info)
{
	return info->addr_format == FI_SOCKADDR_IN6 && info->src_addr &&
	       info->src_addrlen >= sizeof(struct sockaddr_in6) &&
	       IN6_IS_ADDR_LINKLOCAL(
		       &((const struct sockaddr_in6 *)info->src_addr)
				->sin6_addr);
}

static const char *iface_wanted(
	const struct criteria *w, const struct weft_prov *prov)
{
	const char *foreign = NULL;

	if (*w->iface)
		return w->iface;
	if (prov->iface_env)
		foreign = weft_knob_getenv(prov->iface_env);
	return foreign ? foreign : "";
}

/* True if the user's list permits this name. For interfaces, the entries of the
 * list are assigned to the rails round-robin. Other devices may match any
 * entry. */
static bool is_wanted(const struct criteria *w, const struct weft_prov *prov,
	const char *list, const char *name)
{
	uint32_t n = 1;

	if (!prov->has_iface)
		return list_has_name(list, name);
	for (const char *p = list; *p; p++)
		n += *p == ',';
	for (n = w->rail % n; n; n--)
		list = strchr(list, ',') + 1;
	return strlen(name) == strcspn(list, ",") &&
	       !strncmp(name, list, strlen(name));
}

/* True if the device is near this process. */
static bool fabric_is_near(const struct criteria *w, const struct fi_info *info)
{
	const struct fi_bus_attr *bus = info->nic ? info->nic->bus_attr : NULL;
	const char *name = info->domain_attr->name;
	char place[32];

	if (name && list_has_name(w->near, name))
		return true;
	if (!bus || bus->bus_type != FI_BUS_PCI)
		return false;
	snprintf(place, sizeof(place), "%04x:%02x:%02x.%x",
		bus->attr.pci.domain_id, bus->attr.pci.bus_id,
		bus->attr.pci.device_id, bus->attr.pci.function_id);
	return list_has_name(w->near, place);
}

/* Returns the score of an fi_info from libfabric; negative: unusable. */
static int score(const struct criteria *w, const struct weft_prov *prov,
	const struct fi_info *info)
{
	const char *iface = iface_wanted(w, prov);
	const char *name = info->domain_attr->name;
	int s = 0;

	if (name && list_has_name(w->tried, name))
		return -1;
	if (*iface && (!name || !is_wanted(w, prov, iface, name)))
		return -1;
	if (!prov->has_iface && *w->fabric &&
		strcmp(w->fabric, info->fabric_attr->name) != 0)
		return -1;
	if (!prov->has_iface)
		return fabric_is_near(w, info);
	if (!*iface && is_loopback(info) != w->is_one_host)
		return w->accepts_loopback ? 0 : -1;
	if (is_link_local(info))
		return *iface ? 0 : -1;
	if (is_loopback(info) == w->is_one_host)
		s += LOOPBACK_WEIGHT;
	if (!w->is_one_host && name)
		s += IFACE_WEIGHT * weft_iface_rank(name);
	if (info->addr_format == FI_SOCKADDR_IN)
		s++;
	return s;
}

/* Counts in *n_out the devices that are equal to `best` and on the same fabric.
 * Returns the first fi_info of device number `at` among them. */
static uint32_t fabric_equal_device(const struct criteria *w,
	const struct weft_prov *prov, struct fi_info *best, uint32_t at,
	struct fi_info **info_out)
{
	const char *form = best->fabric_attr->prov_name;
	char seen[VERDICT_MAX] = "";
	int wanted = score(w, prov, best);
	uint32_t n = 0;

	for (struct fi_info *i = best; i; i = i->next) {
		const char *name = i->domain_attr->name;

		if (!name || strcmp(i->fabric_attr->prov_name, form) ||
			strcmp(i->fabric_attr->name, best->fabric_attr->name) ||
			list_has_name(seen, name) ||
			(prov->refuse && prov->refuse(i)) ||
			score(w, prov, i) != wanted)
			continue;
		if (n++ == at)
			*info_out = i;
		list_add(seen, name);
	}
	return n;
}

/* Returns the fi_info of this form with the highest score, or NULL with the
 * reason in why. why may be NULL. */
static struct fi_info *best_of(const struct criteria *w,
	const struct weft_prov *prov, const char *form, struct fi_info *list,
	char *why)
{
	struct fi_info *best = NULL;
	int best_score = -1;

	for (struct fi_info *i = list; i; i = i->next) {
		const char *no = NULL;
		int s;

		if (strcmp(i->fabric_attr->prov_name, form) != 0)
			continue;
		if (prov->refuse)
			no = prov->refuse(i);
		s = no ? -1 : score(w, prov, i);
		if (no && why)
			snprintf(why, VERDICT_MAX, "%s", no);
		else if (s < 0 && !best && why)
			snprintf(why, VERDICT_MAX,
				"no interface suits%s%s (WEFT_IFACE)",
				*iface_wanted(w, prov) ? ": wanted " : "",
				iface_wanted(w, prov));
		if (s > best_score) {
			best_score = s;
			best = i;
		}
	}
	return best;
}

/* If several devices are equal to `best`, returns the one that belongs to this
 * process's number on the node. Only devices of one fabric are equal.
 * Interfaces are never equal, because they may belong to different networks. */
static struct fi_info *assign_device(const struct criteria *w,
	const struct weft_prov *prov, struct fi_info *list,
	struct fi_info *best)
{
	struct criteria nearer = *w;
	uint32_t n;

	if (!best || !w->assigns_in_turn || prov->has_iface)
		return best;
	n = fabric_equal_device(w, prov, best, UINT32_MAX, NULL);
	if (n > 1 && w->find_near) {
		/* called only here, because reading the machine's topology
		 * takes long */
		nearer.near = w->find_near();
		nearer.find_near = NULL;
		best = best_of(&nearer, prov, best->fabric_attr->prov_name,
			list, NULL);
		return assign_device(&nearer, prov, list, best);
	}
	if (n > 1)
		fabric_equal_device(w, prov, best, w->place % n, &best);
	return best;
}

static struct fi_info *fabric_pick(const struct criteria *w,
	const struct weft_prov *prov, const char *form, struct fi_info *list,
	char *why)
{
	snprintf(why, VERDICT_MAX, "libfabric offers it only in another form");
	return assign_device(w, prov, list, best_of(w, prov, form, list, why));
}

/* Candidates */

/* The reason why the library does not query libfabric for the candidate, or
 * NULL. */
static const char *gate(const struct criteria *w, const struct weft_prov *prov,
	const char *form)
{
	bool named = fabric_is_named(w, prov, form);

	if (!is_asked(w, prov, form))
		return "WEFT_PROVIDER excludes it";
	if (prov->is_one_host && !w->is_one_host)
		return "reaches processes of this host only";
	if (prov->use == WEFT_PROV_ON_DEMAND && !named)
		return prov->note;
	if (prov->use == WEFT_PROV_MULTI && w->is_one_host && !named &&
		!*w->iface)
		return "not needed on one host (WEFT_PROVIDER selects it)";
	return NULL;
}

enum { N_LEVELS = 3 };

/* Requests all features first. The second request permits providers for which
 * this library must register local memory. The third request also permits
 * providers without FI_MULTI_RECV. Each level is first requested with FI_HMEM
 * if the process may use device memory. So FI_HMEM costs no other feature.
 * Returns the best fi_info, which the caller frees; NULL: the verdict is in
 * why. */
static struct fi_info *query_levels(const struct criteria *w,
	const struct weft_prov *prov, const char *form, char *why)
{
	bool wants_hmem = !w->is_rma && w->wants_hmem && prov->wants_hmem;
	int n_levels = w->is_rma ? 1 : N_LEVELS;
	int rc = -FI_ENODATA;

	for (int i = 0; i < n_levels * 2; i++) {
		bool with_hmem = i % 2 == 0;
		struct fi_info *list, *best;

		if (with_hmem && !wants_hmem)
			continue;
		rc = query(w, prov, form, i / 2, with_hmem, &list);
		if (rc)
			continue;
		best = fabric_pick(w, prov, form, list, why);
		if (best)
			best = fi_dupinfo(best);
		fi_freeinfo(list);
		if (best || !with_hmem)
			return best;
	}
	snprintf(why, VERDICT_MAX,
		rc == -FI_ENODATA ? "libfabric does not offer it%s%s"
				  : "libfabric fails%s%s",
		w->filter ? "; FI_PROVIDER is " : "",
		w->filter ? w->filter : "");
	return NULL;
}

/* Returns the best fi_info for the candidate, which the caller frees. NULL with
 * the verdict in why if there is none. */
static struct fi_info *fabric_evaluate(const struct criteria *w,
	const struct weft_prov *prov, const char *form, char *why)
{
	const char *no = gate(w, prov, form);

	if (no) {
		snprintf(why, VERDICT_MAX, "%s", no);
		return NULL;
	}
	if (prov->devices && access(prov->devices, F_OK)) {
		snprintf(why, VERDICT_MAX,
			"the kernel knows no such device (%s is not there)",
			prov->devices);
		return NULL;
	}
	return query_levels(w, prov, form, why);
}

/* Called for each candidate. If it returns true, the walk over the candidates
 * stops. */
typedef bool visit_fn(void *arg, const struct criteria *w,
	const struct weft_prov *prov, const char *form);

static bool fabric_is_known(const char *name, size_t len)
{
	for (size_t i = 0; weft_prov_table[i]; i++) {
		const struct weft_prov *p = weft_prov_table[i];

		if (strlen(p->name) == len && strncmp(p->name, name, len) == 0)
			return true;
		for (size_t f = 0; f < WEFT_PROV_FORMS && p->forms[f]; f++)
			if ((strlen(p->forms[f]) == len ||
				    strcspn(p->forms[f], ";") == len) &&
				strncmp(p->forms[f], name, len) == 0)
				return true;
	}
	return false;
}

/* Visits the names in the user's list that no entry of the table has. */
static bool walk_others(
	const struct criteria *w, const char *list, visit_fn *visit, void *arg)
{
	char name[64];

	if (!list || *list == '^')
		return false;
	for (const char *p = list; *p;) {
		size_t n = strcspn(p, ",");

		snprintf(name, sizeof(name), "%.*s", (int)n, p);
		if (n && !fabric_is_known(p, n) &&
			visit(arg, w, &weft_prov_other, name))
			return true;
		p += n + (p[n] == ',');
	}
	return false;
}

bool weft_net_is_fabric(const char *name)
{
	return weft_prov_table[weft_fabric_number(name)];
}

uint8_t weft_fabric_number(const char *name)
{
	uint8_t i = 0;

	while (weft_prov_table[i] && strcmp(weft_prov_table[i]->name, name))
		i++;
	return i;
}

const char *weft_net_fabric_name(size_t i)
{
	uint8_t n = weft_fabric_number(weft_prov_other.name);

	if (i == n)
		return weft_prov_other.name;
	return i < n ? weft_prov_table[i]->name : NULL;
}

void weft_net_check_provider(void)
{
	const char *list = weft_knobs.provider;

	for (size_t n; *list && *list != '^'; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		if (n && !fabric_is_known(list, n))
			weft_log_warn("NET-UNKNOWN",
				"WEFT_PROVIDER names %.*s, which is none of "
				"the providers known here; no fabric is needed "
				"on one node, so libfabric was not asked for "
				"it (weft-info --providers)",
				(int)n, list);
	}
}

static bool fabric_walk(const struct criteria *w, visit_fn *visit, void *arg)
{
	for (size_t i = 0; weft_prov_table[i]; i++) {
		const struct weft_prov *p = weft_prov_table[i];

		for (size_t f = 0; f < WEFT_PROV_FORMS && p->forms[f]; f++)
			if (visit(arg, w, p, p->forms[f]))
				return true;
	}
	if (*w->provider)
		return walk_others(w, w->provider, visit, arg);
	return walk_others(w, w->filter, visit, arg);
}

/* Opening */

struct opening {
	struct report report;
	weft_net_recv_fn *recv;
	void *arg;
	struct weft_net *net;
	struct weft_rma_domain
		*domain; /* set for one-sided access; otherwise net is set */
};

static void log_chosen_rma(const struct criteria *w,
	const struct weft_prov *prov, const struct weft_plan *plan)
{
	weft_log_info("NET-SIDE",
		"one-sided access by %s on %s (%s) because %s%s; inject %zu B, "
		"atomics by %s",
		plan->provider, plan->domain, plan->fabric,
		fabric_is_named(w, prov, plan->provider) ? "it was named"
							 : prov->note,
		w->is_one_host ? " and all is on one host" : "",
		plan->rma_inject_len,
		plan->has_fabric_amo ? "the fabric" : "the target's CPU");
}

static void log_chosen(const struct criteria *w, const struct weft_prov *prov,
	const struct opening *o)
{
	const struct weft_plan *plan;

	if (w->is_rma) {
		log_chosen_rma(w, prov, &o->domain->plan);
		return;
	}
	plan = &o->net->plan;

	weft_log_info("NET-OPEN",
		"provider %s on %s (%s) because %s%s; inject %zu B, eager %zu "
		"B, poll %u ns%s%s",
		plan->provider, plan->domain, plan->fabric,
		fabric_is_named(w, prov, plan->provider) ? "it was named"
							 : prov->note,
		w->is_one_host ? " and all is on one host" : "",
		plan->inject_len, plan->eager_len, plan->poll_ns,
		plan->lost[0] ? "; without " : "", plan->lost);
}

static int open_info_take(struct opening *o, const struct criteria *w,
	const struct weft_prov *prov, struct fi_info *info)
{
	struct weft_plan plan;
	struct fid_fabric *fabric;
	int rc = 0;

	weft_plan_init(&plan, info);
	plan.name = prov->name;
	if (prov->prepare)
		rc = prov->prepare(&plan, info, w->tclass);
	if (rc) {
		fi_freeinfo(info);
		return rc;
	}
	if (prov->tune)
		prov->tune(&plan, info);
	weft_plan_apply_knobs(&plan);
	rc = fi_fabric(info->fabric_attr, &fabric, NULL);
	if (rc) {
		rc = weft_err_set(weft_cq_err(-rc), "fi_fabric on %s: %s",
			plan.provider, fi_strerror(-rc));
		fi_freeinfo(info);
		return rc;
	}
	if (w->is_rma)
		return weft_rma_domain_open_take(
			info, fabric, &plan, &o->domain);
	return weft_ep_open_take(
		info, fabric, prov, &plan, o->recv, o->arg, &o->net);
}

/* Opens an fi_info of the candidate. Adds its domain to w->tried if it does not
 * open. Returns 0, 1 if there is no other fi_info, or an error. */
static int fabric_open_one(struct opening *o, struct criteria *w,
	const struct weft_prov *prov, const char *form)
{
	char why[VERDICT_MAX];
	char domain[64];
	struct fi_info *info = fabric_evaluate(w, prov, form, why);
	bool has_hmem;
	int rc;

	if (!info) {
		if (!*w->tried)
			report_no(&o->report, form, why);
		return 1;
	}
	snprintf(domain, sizeof(domain), "%s",
		info->domain_attr->name ? info->domain_attr->name : "");
	has_hmem = info->caps & FI_HMEM;
	rc = open_info_take(o, w, prov, info);
	if (!rc)
		return 0;
	if (has_hmem) {
		weft_log_warn("NET-HMEM",
			"%s on %s does not open for device memory: %s; data of "
			"devices passes through host memory "
			"(WEFT_DEV_FABRIC=off opens it so at once)",
			form, *domain ? domain : "its domain",
			weft_err_detail_peek(rc));
		w->wants_hmem = false;
		return rc;
	}
	report_add(&o->report, form, weft_err_detail_peek(rc));
	weft_log_warn("NET-FALLBACK",
		"%s on %s does not open: %s; trying the next candidate "
		"(WEFT_IFACE, WEFT_PROVIDER choose%s%s)",
		form, *domain ? domain : "its domain", weft_err_detail_peek(rc),
		prov->remedy ? "; " : "", prov->remedy ? prov->remedy : "");
	if (!*domain || list_has_name(w->tried, domain))
		return 1;
	list_add(w->tried, domain);
	return list_has_name(w->tried, domain) ? rc : 1;
}

static bool try_open(void *arg, const struct criteria *criteria,
	const struct weft_prov *prov, const char *form)
{
	struct opening *o = arg;
	struct criteria w = *criteria;
	int rc;

	if (!is_asked(&w, prov, form))
		return false;
	if (!prov->has_iface)
		snprintf(w.tried, sizeof(w.tried), "%s", w.used);
	do
		rc = fabric_open_one(o, &w, prov, form);
	while (rc < 0);
	if (rc)
		return false;
	log_chosen(&w, prov, o);
	return true;
}

/* Replaces the newlines of the report by commas, for a log. */
static void flatten(char *text)
{
	for (char *p = text; *p; p++)
		if (*p == '\n')
			*p = p[1] ? ',' : '\0';
}

static int open_first(struct opening *o, const struct criteria *w)
{
	int rc = weft_libfabric_load();

	if (rc)
		return rc;
	if (fabric_walk(w, try_open, o))
		return 0;
	flatten(o->report.text);
	rc = weft_err_set(WEFT_ERR_NOPROV, "no fabric: %s", o->report.text);
	if (w->rail)
		return rc;
	weft_log_error("NET-NOPROV",
		"no libfabric provider can be used%s; candidates: %s "
		"(WEFT_PROVIDER names one, WEFT_IFACE an interface; "
		"fi_info lists what libfabric has)",
		w->is_rma ? " for one-sided access" : "", o->report.text);
	return rc;
}

int weft_net_open(const struct weft_net_hints *hints, weft_net_recv_fn *recv,
	void *arg, struct weft_net **net_out)
{
	struct opening *o = calloc(1, sizeof(*o));
	struct criteria w = criteria_make(hints);
	int rc;

	if (!o)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a net");
	w.is_rma = false;
	o->recv = recv;
	o->arg = arg;
	rc = open_first(o, &w);
	if (!rc) {
		weft_counters_open_fabric(&o->net->counters, hints->vci,
			weft_fabric_number(o->net->plan.name),
			(uint8_t)hints->rail);
		*net_out = o->net;
	}
	free(o);
	return rc;
}

int weft_rma_domain_open(
	const struct weft_net_hints *hints, struct weft_rma_domain **domain_out)
{
	struct opening *o = calloc(1, sizeof(*o));
	struct criteria w = criteria_make(hints);
	int rc;

	if (!o)
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a net");
	w.is_rma = true;
	rc = open_first(o, &w);
	if (!rc)
		*domain_out = o->domain;
	free(o);
	return rc;
}

/* Explaining */

struct explaining {
	weft_net_candidate_fn *fn;
	void *arg;
	bool has_chosen;
};

static bool explain_one(void *arg, const struct criteria *w,
	const struct weft_prov *prov, const char *form)
{
	struct explaining *x = arg;
	char why[VERDICT_MAX];
	struct fi_info *info = fabric_evaluate(w, prov, form, why);
	struct weft_net_candidate c = { .form = form,
		.verdict = "no",
		.domain = "",
		.fabric = "",
		.why = why };

	if (info) {
		c.verdict = x->has_chosen ? "usable" : "chosen";
		c.domain = info->domain_attr->name;
		c.fabric = info->fabric_attr->name;
		c.why = fabric_is_named(w, prov, form) ? "it is named"
						       : prov->note;
		x->has_chosen = true;
	}
	x->fn(x->arg, &c);
	fi_freeinfo(info);
	return false;
}

void weft_net_candidates(const struct weft_net_hints *hints,
	weft_net_candidate_fn *fn, void *arg)
{
	struct explaining x = { .fn = fn, .arg = arg };
	struct criteria w = criteria_make(hints);

	fabric_walk(&w, explain_one, &x);
}

static void report_candidate(void *arg, const struct weft_net_candidate *c)
{
	char line[VERDICT_MAX * 2];

	if (!*c->domain) {
		report_add(arg, c->form, c->why);
		return;
	}
	snprintf(line, sizeof(line), "%s, on %s (%s): %s", c->verdict,
		c->domain, c->fabric, c->why);
	report_add(arg, c->form, line);
}

size_t weft_net_explain(
	const struct weft_net_hints *hints, char *buf, size_t len)
{
	struct report *report = calloc(1, sizeof(*report));
	size_t used;

	if (len)
		buf[0] = '\0';
	if (!report)
		return 0;
	weft_net_candidates(hints, report_candidate, report);
	used = report->used;
	snprintf(buf, len, "%s", report->text);
	free(report);
	return used;
}
