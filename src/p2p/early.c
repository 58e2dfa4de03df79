/* SPDX-License-Identifier: BSD-3-Clause */
/* early: memory for the data of unexpected messages */
#include "p2p/early.h"

#include "base/bits.h"

#include <stdlib.h>

/* The content of a block in a free list. */
struct weft_early_block {
	struct weft_early_block *next;
};

/* Returns the length of a block for len bytes. A block above WEFT_EARLY_LEN_MAX
 * has exactly len bytes. */
static size_t early_size(size_t len)
{
	if (len > WEFT_EARLY_LEN_MAX)
		return len;
	return weft_pow2_up(weft_max(len, sizeof(struct weft_early_block)));
}

static struct weft_early_block **early_list(
	struct weft_early *early, size_t size)
{
	return &early->kept[__builtin_ctzl(size)];
}

void *weft_early_take(struct weft_early *early, size_t len)
{
	struct weft_early_block **list, *block;
	size_t size = early_size(len);

	if (len <= WEFT_EARLY_LEN_MAX) {
		list = early_list(early, size);
		block = *list;
		if (block) {
			*list = block->next;
			early->n_kept -= size;
			return block;
		}
	}
	block = malloc(size);
	if (block)
		early->n_held += size;
	return block;
}

void weft_early_give(struct weft_early *early, void *data, size_t len)
{
	struct weft_early_block **list, *block = data;
	size_t size = early_size(len);

	if (len > WEFT_EARLY_LEN_MAX ||
		early->n_kept + size > WEFT_EARLY_KEPT) {
		early->n_held -= size;
		free(data);
		return;
	}
	list = early_list(early, size);
	block->next = *list;
	*list = block;
	early->n_kept += size;
}

void weft_early_drop(struct weft_early *early)
{
	for (int i = 0; i < WEFT_EARLY_LISTS; i++)
		while (early->kept[i]) {
			struct weft_early_block *block = early->kept[i];

			early->kept[i] = block->next;
			free(block);
		}
	early->n_held -= early->n_kept;
	early->n_kept = 0;
}
