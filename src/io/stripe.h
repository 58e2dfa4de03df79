/* SPDX-License-Identifier: BSD-3-Clause */
/* stripe: how Lustre distributes a file over its servers
 *
 * An ioctl(2) of Lustre gets and sets the layout of a file. Other file systems
 * have no layout that a program can set. */
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

/* The layout of an open file. */
struct weft_stripe weft_stripe_of(int fd);

/* Creates the file with this layout. Returns false and creates no file if the
 * file exists, its directory is not on Lustre, or an error occurs. Then open(2)
 * in the caller reports the error. */
bool weft_stripe_create(const char *name, unsigned permissions,
	const struct weft_stripe *wanted);

#endif
