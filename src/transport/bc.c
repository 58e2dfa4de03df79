/* SPDX-License-Identifier: BSD-3-Clause */
/* bc: fills the business card of this process, and checks the cards of peers */
#include "transport/bc.h"

#include "base/err.h"
#include "transport/rail.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { BC_MAGIC = 0x43667457, BC_VERSION = 4 };

/* Writes the processors that this process may run on as "0-3,8". */
static void list_cpus(char *buf, size_t len)
{
	cpu_set_t set;
	size_t n = 0;

	buf[0] = '\0';
	if (sched_getaffinity(0, sizeof(set), &set))
		return;
	for (unsigned first = 0; first < CPU_SETSIZE; first++) {
		unsigned last = first;

		if (!CPU_ISSET(first, &set))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set))
			last++;
		if (n + 16 > len)
			break;
		n += (size_t)snprintf(buf + n, len - n,
			last > first ? "%s%u-%u" : "%s%u", n ? "," : "", first,
			last);
		first = last;
	}
}

void weft_bc_init(struct weft_bc *bc)
{
	memset(bc, 0, sizeof(*bc));
	bc->magic = BC_MAGIC;
	bc->version = BC_VERSION;
	bc->node_fd = -1;
	list_cpus(bc->cpus, sizeof(bc->cpus));
}

size_t weft_bc_len(const struct weft_bc *bc)
{
	return offsetof(struct weft_bc, name) +
	       (size_t)bc->name_len * (bc->n_rails + 1);
}

int weft_bc_read(struct weft_bc *bc_out, const void *data, size_t len)
{
	struct weft_bc bc = { 0 };

	if (len < offsetof(struct weft_bc, name) || len > sizeof(bc))
		goto bad;
	memcpy(&bc, data, len);
	if (bc.magic != BC_MAGIC || bc.version != BC_VERSION ||
		bc.name_len > WEFT_NET_NAME_MAX || bc.n_rails >= WEFT_RAILS ||
		weft_bc_len(&bc) != len)
		goto bad;
	bc.cpus[sizeof(bc.cpus) - 1] = '\0';
	*bc_out = bc;
	return 0;
bad:
	return weft_err_set(WEFT_ERR_PROTO,
		"a peer published %zu bytes that are not a business card of "
		"this "
		"version; is the same library in use everywhere?",
		len);
}
