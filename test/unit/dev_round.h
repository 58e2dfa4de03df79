/* SPDX-License-Identifier: BSD-3-Clause */
/* dev_round: a copy to device memory and back, for the tests of vendors */
#ifndef DEV_ROUND_H
#define DEV_ROUND_H

#include "dev/dev.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Copies len bytes there and back, from and to this host memory. */
static void round_trip(char *dev, char *from, char *to, size_t len)
{
	struct weft_dev_copies copies;
	struct weft_dev_where where;

	assert_true(weft_dev_find(dev, &where));
	assert_int_equal(weft_dev_begin(&where, false, &copies), 0);
	assert_int_equal(weft_dev_add(&copies, dev, from, len), 0);
	assert_int_equal(weft_dev_add(&copies, dev, from, 0), 0);
	assert_int_equal(weft_dev_end(&copies, 0), 0);
	assert_int_equal(weft_dev_begin(&where, true, &copies), 0);
	assert_int_equal(weft_dev_add(&copies, to, dev, len), 0);
	assert_int_equal(weft_dev_end(&copies, 0), 0);
	assert_memory_equal(from, to, len);
}

#endif
