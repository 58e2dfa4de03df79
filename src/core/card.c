/* SPDX-License-Identifier: BSD-3-Clause */
/* card: fill, measure, check */
#include "core/card.h"

#include "base/err.h"
#include "core/rail.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

enum { CARD_MAGIC = 0x43667457, CARD_VERSION = 2 };

/* Writes the cpus this process may run on as "0-3,8". */
static void list_cpus(char *buf, size_t len)
{
	cpu_set_t set;
	size_t n = 0;

	buf[0] = '\0';
	if (sched_getaffinity(0, sizeof(set), &set))
		return;
	for (int first = 0; first < CPU_SETSIZE; first++) {
		int last = first;

		if (!CPU_ISSET(first, &set))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set))
			last++;
		if (n + 16 > len)
			break;
		n += (size_t)snprintf(buf + n, len - n,
			last > first ? "%s%d-%d" : "%s%d", n ? "," : "", first,
			last);
		first = last;
	}
}

void weft_card_init(struct weft_card *card)
{
	memset(card, 0, sizeof(*card));
	card->magic = CARD_MAGIC;
	card->version = CARD_VERSION;
	list_cpus(card->cpus, sizeof(card->cpus));
}

size_t weft_card_len(const struct weft_card *card)
{
	return offsetof(struct weft_card, name) +
	       (size_t)card->name_len * (card->n_rails + 1);
}

int weft_card_read(struct weft_card *card_out, const void *data, size_t len)
{
	struct weft_card card = { 0 };

	if (len < offsetof(struct weft_card, name) || len > sizeof(card))
		goto bad;
	memcpy(&card, data, len);
	if (card.magic != CARD_MAGIC || card.version != CARD_VERSION ||
		card.name_len > WEFT_NET_NAME_MAX ||
		card.n_rails >= WEFT_RAILS || weft_card_len(&card) != len)
		goto bad;
	card.cpus[sizeof(card.cpus) - 1] = '\0';
	*card_out = card;
	return 0;
bad:
	return weft_err_set(WEFT_ERR_PROTO,
		"a peer published %zu bytes that are not a card of this "
		"version; is the same library in use everywhere?",
		len);
}
