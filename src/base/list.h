/* SPDX-License-Identifier: BSD-3-Clause */
/* list: intrusive, circular, doubly linked; the head is a link too */
#ifndef WEFT_LIST_H
#define WEFT_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct weft_link {
	struct weft_link *next;
	struct weft_link *prev;
};

static inline void weft_list_init(struct weft_link *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool weft_list_is_empty(const struct weft_link *head)
{
	return head->next == head;
}

static inline void weft_list_push_back(
	struct weft_link *head, struct weft_link *link)
{
	link->prev = head->prev;
	link->next = head;
	head->prev->next = link;
	head->prev = link;
}

static inline void weft_list_push_front(
	struct weft_link *head, struct weft_link *link)
{
	weft_list_push_back(head->next, link);
}

/* Removes the link and makes it a list of its own, so that a second removal is
 * harmless. */
static inline void weft_list_remove(struct weft_link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
	weft_list_init(link);
}

/* Removes and returns the first link, or NULL when the list is empty. */
static inline struct weft_link *weft_list_pop_front(struct weft_link *head)
{
	struct weft_link *first = head->next;

	if (first == head)
		return NULL;
	weft_list_remove(first);
	return first;
}

/* Moves all links of a list, in order, to an empty list. */
static inline void weft_list_move(struct weft_link *to, struct weft_link *from)
{
	if (weft_list_is_empty(from))
		return;
	*to = *from;
	to->next->prev = to;
	to->prev->next = to;
	weft_list_init(from);
}

/* Iterates over the list. The body may remove `it` and no other link. */
#define weft_list_for_each(it, next_, head)                          \
	for (struct weft_link *it = (head)->next, *next_ = it->next; \
		it != (head); it = next_, next_ = it->next)

#endif
