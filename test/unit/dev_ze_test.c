/* SPDX-License-Identifier: BSD-3-Clause */
/* dev_ze_test: Level Zero device memory, with the stand-in of the loader */
#include "dev/dev_priv.h"
#include "dev/ipc.h"
#include "dev/pinned.h"

#include "base/err.h"

#include "../multi/driver.h"
#include "dev_round.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { LEN = 10000, THREADS = 4, ROUNDS = 500 };

/* The functions that driver.h does not have, and objects of the program. */
static struct {
	int (*tiles)(void *device, uint32_t *n, void **tiles);
	int (*host)(void *context, const struct device_ze_desc *desc,
		size_t len, size_t align, void **at);
	void *context, *gpu[2], *tile;
} ze;

static char host[LEN], got[LEN];

static void *alloc_on(void *gpu, size_t len)
{
	const struct device_ze_desc desc = { .stype = DEVICE_ZE_ALLOC };
	void *at = NULL;

	assert_int_equal(
		device_ze.alloc(ze.context, &desc, len, 0, gpu, &at), 0);
	return at;
}

static void *alloc_shared(void *gpu)
{
	const struct device_ze_desc desc = { .stype = DEVICE_ZE_ALLOC };
	const struct device_ze_desc host_desc = {
		.stype = DEVICE_ZE_HOST_ALLOC
	};
	void *at = NULL;

	assert_int_equal(device_ze.shared(ze.context, &desc, &host_desc, LEN, 0,
				 gpu, &at),
		0);
	return at;
}

static void release(void *at)
{
	assert_int_equal(device_ze.free(ze.context, at), 0);
}

static void nothing_is_found_before_the_start(void **state)
{
	struct weft_dev_where where;
	uint32_t n = 0;

	(void)state;
	assert_true(weft_dev_watch()); /* the library is loaded */
	assert_true(weft_dev_is_on());
	assert_false(weft_dev_find(host, &where));
	assert_int_not_equal(device_ze.drivers(&n, NULL), 0);
}

/* The program has initialised the loader, and the library has not. */
static void memory_of_the_program_is_found(void **state)
{
	const struct device_ze_desc desc = { .stype = DEVICE_ZE_CONTEXT };
	void *driver, *devices[3];
	struct weft_dev_where where;
	uint32_t n = 1;
	void *dev;

	(void)state;
	assert_int_equal(device_ze.init(0), 0);
	assert_int_equal(device_ze.drivers(&n, &driver), 0);
	n = 3; /* the first is no GPU */
	assert_int_equal(device_ze.devices(driver, &n, devices), 0);
	assert_int_equal(n, 3);
	ze.gpu[0] = devices[1];
	ze.gpu[1] = devices[2];
	n = 1;
	assert_int_equal(ze.tiles(devices[2], &n, &ze.tile), 0);
	assert_int_equal(
		device_ze.context_create(driver, &desc, &ze.context), 0);
	dev = alloc_on(ze.gpu[0], LEN);
	assert_true(weft_dev_find(dev, &where));
	release(dev);
}

static void kinds_are_granted(void **state)
{
	(void)state;
	assert_true(weft_dev_has_kind("level_zero"));
	assert_true(weft_dev_has_kind("Level_Zero:Device:shared:host"));
	assert_false(weft_dev_has_kind("level_zero:managed"));
	assert_false(weft_dev_has_kind("level_zero:"));
	assert_false(weft_dev_has_kind("level"));
	assert_int_equal(weft_dev_open(WEFT_DEV_ZE, NULL), 2);
}

static void addresses_have_owners(void **state)
{
	const struct device_ze_desc desc = { .stype = DEVICE_ZE_HOST_ALLOC };
	char *first = alloc_on(ze.gpu[0], LEN);
	char *second = alloc_on(ze.gpu[1], LEN);
	char *tile = alloc_on(ze.tile, LEN);
	struct weft_dev_where where;
	void *cpu;

	(void)state;
	assert_true(weft_dev_find(first + LEN - 1, &where));
	assert_int_equal(where.device, 0);
	assert_ptr_equal(where.vendor, &weft_dev_ze);
	assert_true(weft_dev_find(second, &where));
	assert_int_equal(where.device, 1);
	assert_true(weft_dev_find(tile, &where));
	assert_int_equal(where.device, 1);
	assert_string_equal(weft_dev_name(&where), "Level Zero");
	assert_int_equal(ze.host(ze.context, &desc, LEN, 0, &cpu), 0);
	assert_false(weft_dev_find(cpu, &where));
	assert_false(weft_dev_find(host, &where));
	assert_false(weft_dev_find(NULL, &where));
	release(first);
	assert_false(weft_dev_find(first, &where));
	assert_int_equal(
		weft_dev_refuse(second, "base", "pass it"), WEFT_ERR_BUFFER);
	assert_non_null(strstr(weft_err_detail_peek(WEFT_ERR_BUFFER),
		"is Level Zero device memory (device 1)"));
	release(second);
	release(tile);
	release(cpu);
}

static void data_is_copied(void **state)
{
	void *memory[] = { alloc_on(ze.gpu[1], LEN), alloc_on(ze.tile, LEN),
		alloc_shared(ze.gpu[1]), alloc_shared(NULL) };
	struct weft_dev_where where;
	char *pinned;

	(void)state;
	for (int i = 0; i < LEN; i++)
		host[i] = (char)(i * 7);
	for (int i = 0; i < 4; i++) {
		memset(got, 0, LEN);
		round_trip(memory[i], host, got, LEN);
	}
	assert_true(weft_dev_find(memory[0], &where));
	pinned = weft_pinned_alloc(&where, LEN);
	assert_int_equal(device.pinned(), 4 << 20);
	assert_false(weft_dev_find(pinned, &where));
	memset(got, 0, LEN);
	memcpy(pinned, host, LEN);
	round_trip(memory[0], pinned, got, LEN);
	memset(pinned, 0, LEN);
	round_trip(memory[0], host, pinned, LEN);
	weft_pinned_free(pinned);
	weft_pinned_close();
	assert_int_equal(device.pinned(), 0);
	for (int i = 0; i < 4; i++)
		release(memory[i]);
}

static void *copy_often(void *dev)
{
	char from[100], to[100];

	for (int i = 0; i < ROUNDS; i++) {
		memset(from, i, sizeof(from));
		round_trip(dev, from, to, sizeof(from));
	}
	return NULL;
}

/* The stand-in ends the program if two threads use a command list. */
static void threads_copy(void **state)
{
	pthread_t threads[THREADS];
	void *dev[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++) {
		dev[i] = alloc_on(ze.gpu[0], LEN);
		assert_int_equal(
			pthread_create(&threads[i], NULL, copy_often, dev[i]),
			0);
	}
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		release(dev[i]);
	}
}

/* Copies 10 rows of 5 bytes to the device and back. */
static void rows_with(char *from, char *to, ptrdiff_t from_stride,
	ptrdiff_t dev_stride, ptrdiff_t to_stride)
{
	char *dev = alloc_on(ze.gpu[0], LEN);
	char *first = dev_stride < 0 ? dev + LEN - 5 : dev;
	struct weft_dev_rows there = { first, from, 10, 5, dev_stride,
		from_stride };
	struct weft_dev_rows back = { to, first, 10, 5, to_stride, dev_stride };
	struct weft_dev_copies copies;
	struct weft_dev_where where;

	memset(to, 0, LEN / 2);
	assert_true(weft_dev_find(dev, &where));
	assert_int_equal(weft_dev_begin(&where, false, &copies), 0);
	assert_int_equal(weft_dev_add_rows(&copies, &there), 0);
	assert_int_equal(weft_dev_end(&copies, 0), 0);
	assert_int_equal(weft_dev_begin(&where, true, &copies), 0);
	assert_int_equal(weft_dev_add_rows(&copies, &back), 0);
	assert_int_equal(weft_dev_end(&copies, 0), 0);
	for (int i = 0; i < 10; i++) {
		assert_memory_equal(
			to + i * to_stride, from + i * from_stride, 5);
		if (to_stride > 5)
			assert_int_equal(to[i * to_stride + 5], 0);
	}
	release(dev);
}

/* The stand-in ends the program if rows with gaps are a region, and their
 * memory is not imported. */
static void rows_are_copied(void **state)
{
	char *dev = alloc_on(ze.gpu[0], 1);
	struct weft_dev_where where;
	char *pinned;

	(void)state;
	rows_with(host, got, 100, 20, 30);
	rows_with(host, got, 5, 20, 5);
	rows_with(host, got, 7, -20, 6);
	assert_true(weft_dev_find(dev, &where));
	pinned = weft_pinned_alloc(&where, LEN);
	rows_with(host, pinned, 100, 20, 30);
	rows_with(pinned, got, 30, 5, 6);
	weft_pinned_free(pinned);
	weft_pinned_close();
	release(dev);
}

static void errors_have_their_names(void **state)
{
	char *dev = alloc_on(ze.gpu[0], LEN);
	struct weft_dev_copies copies;
	struct weft_dev_where where;
	int err;

	(void)state;
	weft_dev_close(); /* no list is left */
	assert_true(weft_dev_find(dev, &where));
	device.fail_next();
	assert_int_equal(
		weft_dev_begin(&where, true, &copies), WEFT_ERR_BUFFER);
	assert_non_null(strstr(weft_err_detail_peek(WEFT_ERR_BUFFER),
		"zeCommandListCreateImmediate failed with "
		"ZE_RESULT_ERROR_UNKNOWN (0x7ffffffe)"));
	assert_int_equal(weft_dev_begin(&where, true, &copies), 0);
	err = weft_dev_add(&copies, got, dev, LEN + 1);
	assert_int_equal(err, WEFT_ERR_BUFFER);
	assert_non_null(strstr(weft_err_detail_peek(err),
		"zeCommandListAppendMemoryCopy failed with "
		"ZE_RESULT_ERROR_INVALID_ARGUMENT (0x78000004)"));
	assert_int_equal(weft_dev_end(&copies, err), err);
	round_trip(dev, host, got, LEN);
	release(dev);
}

static void nothing_is_exported(void **state)
{
	char *dev = alloc_on(ze.gpu[0], LEN);
	struct weft_ipc_memory memory;

	(void)state;
	assert_false(weft_ipc_export(dev, &memory));
	release(dev);
}

static bool open_stand(void)
{
	void *lib = dlopen(
		"test/fake/ze/.libs/libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return false;
	setenv("DEVSTAND_DEVICES", "2", 1);
	device_resolve(lib, device_ze_functions);
	device_resolve(lib, device_stand_functions);
	*(void **)&ze.tiles = dlsym(lib, "zeDeviceGetSubDevices");
	*(void **)&ze.host = dlsym(lib, "zeMemAllocHost");
	return true;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_found_before_the_start),
		cmocka_unit_test(memory_of_the_program_is_found),
		cmocka_unit_test(kinds_are_granted),
		cmocka_unit_test(addresses_have_owners),
		cmocka_unit_test(data_is_copied),
		cmocka_unit_test(threads_copy),
		cmocka_unit_test(rows_are_copied),
		cmocka_unit_test(errors_have_their_names),
		cmocka_unit_test(nothing_is_exported),
	};

	if (!open_stand()) {
		printf("1..0 # SKIP no stand-in of Level Zero's loader in "
		       "test/fake/ze, which a static build does not have\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
