/* SPDX-License-Identifier: BSD-3-Clause */
/* stripe: how a file is dealt to the servers of its file system
 *
 * Lustre tells and lets itself be told, by a request of its own of 32 bytes.
 * Elsewhere a file has no stripes that a program could ask for. */
#ifndef WEFT_STRIPE_H
#define WEFT_STRIPE_H

#include <stdbool.h>
#include <stdint.h>

/* 0: unknown, or as the file system likes */
struct weft_stripe {
	int64_t unit;	/* bytes that are one after the other on a server */
	int64_t factor; /* servers */
};

struct weft_stripe weft_stripe_of(int fd);

/* Makes a file of that name with such stripes. False, and nothing is there,
 * where there is such a file or its folder has no stripes to give; who opens
 * it finds what is wrong. */
bool weft_stripe_create(const char *name, unsigned permissions,
	const struct weft_stripe *wanted);

#endif
