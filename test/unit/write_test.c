/* SPDX-License-Identifier: BSD-3-Clause */
/* write_test: weft_write() writes every byte, at many offsets, with usual
 * stores and past the caches (is_past), and changes no other byte */
#include "shm/write.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { ROOM = 1 << 18, MARGIN = 256, N_WRITES = 3000 };

static _Alignas(64) unsigned char to[ROOM + 2 * MARGIN], from[ROOM + MARGIN];

static void one_write(bool is_past, int i)
{
	static const size_t about[] = { 1, 64, WEFT_WRITE_LONG, 2 * 4096, 16384,
		65536, ROOM };
	size_t len = about[(size_t)random() % 7] - (size_t)random() % 2;
	size_t at = MARGIN + (size_t)random() % MARGIN / 2;
	size_t skip = (size_t)random() % MARGIN;

	len += (size_t)random() % 3 * (len < ROOM / 2);
	memset(to, i, sizeof(to));
	weft_write(is_past, to + at, from + skip, len);
	if (memcmp(to + at, from + skip, len))
		fail_msg("%zu bytes at offset %zu differ from the source", len,
			at);
	for (size_t k = 0; k < sizeof(to); k++)
		if ((k < at || k >= at + len) && to[k] != (unsigned char)i)
			fail_msg("byte %zu was written; the data is from %zu "
				 "to %zu",
				k, at, at + len);
}

static void all_bytes_arrive(void **state)
{
	(void)state;
	srandom(11);
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (unsigned char)random();
	for (int i = 0; i < N_WRITES; i++)
		one_write(i % 2, i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_bytes_arrive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
