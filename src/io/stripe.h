/* SPDX-License-Identifier: BSD-3-Clause */
/* stripe: how Lustre distributes a file over its servers
 *
 * Two ioctl(2) requests of Lustre get and set the layout of a file. For other
 * file systems, all layouts are unknown. */
#ifndef WEFT_STRIPE_H
#define WEFT_STRIPE_H

#include <stdbool.h>
#include <stdint.h>

/* The layout of a file. A value of 0 is unknown, or the default of the file
 * system. */
struct weft_stripe {
	int64_t unit;	/* bytes of a stripe */
	int64_t factor; /* number of servers */
};

/* Returns the layout of an open file. */
struct weft_stripe weft_stripe_of(int fd);

/* Creates the file with this layout. Returns false and creates no file if the
 * file exists, its directory is not on Lustre, or an error occurs. Then open(2)
 * in the caller reports the error. */
bool weft_stripe_create(const char *name, unsigned permissions,
	const struct weft_stripe *wanted);

#endif
