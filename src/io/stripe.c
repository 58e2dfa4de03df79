/* SPDX-License-Identifier: BSD-3-Clause */
/* stripe: how Lustre distributes a file over its servers
 *
 * The two ioctl(2) requests have been the same since Lustre 1.8. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "io/stripe.h"

#include "base/bits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
	LUSTRE_MAGIC = 0x0bd00bd0, /* f_type in statfs(2) */
	LAYOUT_V1 = 0x0bd10bd0,
	LAYOUT_V3 = 0x0bd30bd0,
	LAYOUT_MAX = 1 << 16,	   /* bytes, with a list of 2000 servers */
	DELAY_CREATE = 0100000000, /* flag of open(2): create no layout yet */
	STRIPE_MIN = 1 << 16,
};

struct layout {
	uint32_t magic;
	uint32_t pattern;
	uint64_t object[2];
	uint32_t len;
	uint16_t n_stripes;
	uint16_t first;
};
_Static_assert(sizeof(struct layout) == 32, "as the kernel has it");

#define LAYOUT_SET _IOW('f', 154, long)
#define LAYOUT_GET _IOW('f', 155, long)

struct weft_stripe weft_stripe_of(int fd)
{
	struct weft_stripe stripe = { 0 };
	struct layout *layout = NULL;
	struct statfs fs;

	/* the kernel stores the list of servers after the struct */
	if (!fstatfs(fd, &fs) && fs.f_type == LUSTRE_MAGIC)
		layout = calloc(1, LAYOUT_MAX);
	if (!layout)
		return stripe;
	layout->magic = LAYOUT_V1;
	if (ioctl(fd, LAYOUT_GET, layout) >= 0 &&
		(layout->magic == LAYOUT_V1 || layout->magic == LAYOUT_V3)) {
		stripe.unit = layout->len;
		if (layout->n_stripes != UINT16_MAX)
			stripe.factor = layout->n_stripes;
	}
	free(layout);
	return stripe;
}

/* True if the directory of the name is on Lustre. */
static bool is_in_lustre(const char *name)
{
	const char *slash = strrchr(name, '/');
	struct statfs fs;
	char *folder;
	bool is_lustre;

	if (!slash)
		return !statfs(".", &fs) && fs.f_type == LUSTRE_MAGIC;
	folder = strndup(name, (size_t)(slash - name) + 1);
	is_lustre = folder && !statfs(folder, &fs) && fs.f_type == LUSTRE_MAGIC;
	free(folder);
	return is_lustre;
}

bool weft_stripe_create(const char *name, unsigned permissions,
	const struct weft_stripe *wanted)
{
	struct layout layout = { .magic = LAYOUT_V1, .first = UINT16_MAX };
	int fd;

	if (!is_in_lustre(name))
		return false;
	fd = open(name,
		O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOCTTY | O_ASYNC |
			DELAY_CREATE,
		(mode_t)permissions);
	if (fd < 0)
		return false;
	layout.len = (uint32_t)(wanted->unit / STRIPE_MIN * STRIPE_MIN);
	layout.n_stripes = (uint16_t)weft_min64(wanted->factor, UINT16_MAX);
	/* after a failure, the file has the default layout of its directory */
	(void)ioctl(fd, LAYOUT_SET, &layout);
	close(fd);
	return true;
}
