/* SPDX-License-Identifier: BSD-3-Clause */
/* external: the portable "external32" form of data
 *
 * Numbers are big-endian, two's complement or IEEE. They are packed without
 * gaps and have the sizes of MPI-5.0, 14.5.2. Most types have the same size as
 * in memory. Exceptions: long has 4 bytes, a wide character has 2, and long
 * double is IEEE quad with 16. configure checks that the machine is
 * little-endian. */
#include "dt/pack.h"

#include "base/quad.h"

#include <float.h>
#include <string.h>

enum {
	ABI_LONG = 0x20a,
	ABI_UNSIGNED_LONG = 0x20e,
	ABI_WCHAR = 0x23c,
};

/* One number of an element. */
struct scalar {
	int64_t disp;
	int64_t native, ext; /* bytes in memory, bytes in the stream */
	bool is_unsigned;
	bool is_long_double;
};

static struct scalar scalar_of(int64_t disp, int64_t size, enum weft_num num)
{
	struct scalar s = { .disp = disp, .native = size, .ext = size };

	if (num == WEFT_NUM_FLONG || num == WEFT_NUM_CLONG) {
		s.is_long_double = true;
		s.ext = 16;
	}
	return s;
}

/* Sets s to the numbers of a predefined type. Returns how many there are, 1 or
 * 2. */
static int scalars_of(const struct weft_type *basic, struct scalar s[2])
{
	int abi = basic->builtin_index + WEFT_TYPE_FIRST;
	int64_t index = basic->elem_size ? basic->elem_size : 4;

	switch (basic->class_) {
	case WEFT_CLASS_COMPLEX:
		s[0] = scalar_of(0, basic->size / 2, basic->num);
		s[1] = scalar_of(basic->size / 2, basic->size / 2, basic->num);
		return 2;
	case WEFT_CLASS_PAIR:
		s[0] = scalar_of(0, basic->size - index, basic->num);
		s[1] = scalar_of(
			basic->true_extent - index, index, WEFT_NUM_NONE);
		return 2;
	default:
		s[0] = scalar_of(0, basic->size, basic->num);
	}
	if (abi == ABI_LONG || abi == ABI_UNSIGNED_LONG)
		s[0].ext = 4;
	if (abi == ABI_WCHAR)
		s[0].ext = 2;
	s[0].is_unsigned = abi == ABI_UNSIGNED_LONG;
	return 1;
}

/* The argument of external_move(). */
struct external {
	uintptr_t buf;
	char *stream; /* next byte of the stream */
	bool is_pack;
};

static void external_put(const struct scalar *s, const char *from, char *to)
{
	weft_quad quad;
	long double x;

	if (s->is_long_double) {
		memcpy(&x, from, sizeof x);
		quad = x;
		from = (const char *)&quad;
	}
	for (int64_t i = 0; i < s->ext; i++)
		to[i] = from[s->ext - 1 - i];
}

static void external_get(const struct scalar *s, const char *from, char *to)
{
	signed char low[16]; /* signed, for the sign extension below */
	weft_quad quad;
	long double x;

	for (int64_t i = 0; i < s->ext; i++)
		low[i] = (signed char)from[s->ext - 1 - i];
	if (s->is_long_double) {
		memcpy(&quad, low, sizeof quad);
		x = (long double)quad;
		/* an x87 number has 6 bytes of padding, which stay 0 */
		memset(to, 0, sizeof x);
		memcpy(to, &x, LDBL_MANT_DIG == 64 ? 10 : sizeof x);
		return;
	}
	memcpy(to, low, (size_t)s->ext);
	if (s->native > s->ext)
		memset(to + s->ext,
			!s->is_unsigned && low[s->ext - 1] < 0 ? -1 : 0,
			(size_t)(s->native - s->ext));
}

static int external_move(
	void *arg, const struct weft_type *basic, int64_t disp, int64_t n)
{
	struct external *e = arg;
	struct scalar s[2];
	int n_scalars = scalars_of(basic, s);

	for (int64_t i = 0; i < n; i++) {
		uintptr_t at = e->buf + (uintptr_t)(disp + i * basic->extent);

		for (int k = 0; k < n_scalars; k++) {
			char *here = (char *)(at + (uintptr_t)s[k].disp);

			if (e->is_pack)
				external_put(&s[k], here, e->stream);
			else
				external_get(&s[k], e->stream, here);
			e->stream += s[k].ext;
		}
	}
	return 0;
}

static int external_add_size(
	void *arg, const struct weft_type *basic, int64_t disp, int64_t n)
{
	struct scalar s[2];
	int64_t *size = arg;

	(void)disp;
	for (int k = scalars_of(basic, s) - 1; k >= 0; k--)
		*size += n * s[k].ext;
	return 0;
}

int64_t weft_external_size(const struct weft_type *type, int64_t count)
{
	int64_t size = 0;

	weft_type_visit(type, 1, external_add_size, &size);
	return size * count;
}

void weft_external_pack(
	const struct weft_type *type, int64_t count, const void *buf, void *dst)
{
	struct external e = {
		.buf = (uintptr_t)buf, .stream = dst, .is_pack = true
	};

	weft_type_visit(type, count, external_move, &e);
}

void weft_external_unpack(
	const struct weft_type *type, int64_t count, void *buf, const void *src)
{
	struct external e = { .buf = (uintptr_t)buf, .stream = (char *)src };

	weft_type_visit(type, count, external_move, &e);
}
