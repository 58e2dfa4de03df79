/* SPDX-License-Identifier: BSD-3-Clause */
/* dev_rocm_test: ROCm device memory, with the stand-in of the runtime */
#include "dev/dev_priv.h"
#include "dev/ipc.h"
#include "dev/pinned.h"

#include "base/err.h"

#include "../multi/driver.h"
#include "dev_round.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { LEN = 10000, CPU_POOL = 0x1000, GPU_POOL = 0x2000 };

static int (*shut_down)(void);

static char host[LEN], got[LEN];

static void *alloc_on(uint64_t pool, size_t len)
{
	void *at = NULL;

	assert_int_equal(device_rocm.alloc(pool, len, 0, &at), 0);
	return at;
}

static void nothing_is_found_before_the_start(void **state)
{
	struct weft_dev_where where;

	(void)state;
	assert_true(weft_dev_watch()); /* the library is loaded */
	assert_true(weft_dev_is_on());
	assert_false(weft_dev_find(host, &where));
	assert_false(weft_dev_used(WEFT_DEV_ROCM, &where));
}

static void kinds_are_granted(void **state)
{
	(void)state;
	assert_true(weft_dev_has_kind("rocm"));
	assert_true(weft_dev_has_kind("ROCM:Device:managed:host"));
	assert_false(weft_dev_has_kind("rocm:shared"));
	assert_false(weft_dev_has_kind("rocm:"));
	assert_false(weft_dev_has_kind("roc"));
	assert_int_equal(weft_dev_open(WEFT_DEV_ROCM, NULL), 2);
}

/* The library has a reference to the runtime. */
static void the_program_may_shut_the_runtime_down(void **state)
{
	struct weft_dev_where where;
	void *dev;

	(void)state;
	assert_int_equal(device_rocm.init(), 0);
	assert_int_equal(shut_down(), 0);
	dev = alloc_on(GPU_POOL, LEN);
	assert_true(weft_dev_find(dev, &where));
	device_rocm.free(dev);
}

static void addresses_have_owners(void **state)
{
	char *first = alloc_on(GPU_POOL, LEN);
	char *second = alloc_on(GPU_POOL + 1, LEN);
	char *cpu = alloc_on(CPU_POOL, LEN);
	struct weft_dev_where where;

	(void)state;
	assert_true(weft_dev_find(first + LEN - 1, &where));
	assert_int_equal(where.device, 0);
	assert_ptr_equal(where.vendor, &weft_dev_rocm);
	assert_true(weft_dev_find(second, &where));
	assert_int_equal(where.device, 1);
	assert_string_equal(weft_dev_name(&where), "ROCm");
	assert_false(weft_dev_find(cpu, &where));
	assert_false(weft_dev_find(host, &where));
	assert_false(weft_dev_find(NULL, &where));
	device_rocm.free(first);
	assert_false(weft_dev_find(first, &where));
	assert_int_equal(
		weft_dev_refuse(second, "base", "pass it"), WEFT_ERR_BUFFER);
	assert_non_null(strstr(weft_err_detail_peek(WEFT_ERR_BUFFER),
		"is ROCm device memory (device 1)"));
	device_rocm.free(second);
	device_rocm.free(cpu);
}

static void data_is_copied(void **state)
{
	char *dev = alloc_on(GPU_POOL + 1, LEN);
	struct weft_dev_where where;
	char *pinned;

	(void)state;
	for (int i = 0; i < LEN; i++)
		host[i] = (char)(i * 7);
	round_trip(dev, host, got, LEN);
	assert_true(weft_dev_find(dev, &where));
	pinned = weft_pinned_alloc(&where, LEN);
	assert_int_equal(device.pinned(), 4 << 20);
	memset(got, 0, LEN);
	memcpy(pinned, host, LEN);
	round_trip(dev, pinned, got, LEN);
	memset(pinned, 0, LEN);
	round_trip(dev, host, pinned, LEN);
	weft_pinned_free(pinned);
	weft_pinned_close();
	assert_int_equal(device.pinned(), 0);
	device_rocm.free(dev);
}

static void rows_are_copied(void **state)
{
	char *dev = alloc_on(GPU_POOL, LEN);
	struct weft_dev_rows rows = { dev, host, 10, 5, 20, 100 };
	struct weft_dev_copies copies;
	struct weft_dev_where where;

	(void)state;
	assert_true(weft_dev_find(dev, &where));
	assert_int_equal(weft_dev_begin(&where, false, &copies), 0);
	assert_int_equal(weft_dev_add_rows(&copies, &rows), 0);
	assert_int_equal(weft_dev_end(&copies, 0), 0);
	assert_int_equal(device_rocm.copy(got, dev, LEN), 0);
	for (int i = 0; i < 10; i++)
		assert_memory_equal(
			got + (ptrdiff_t)i * 20, host + (ptrdiff_t)i * 100, 5);
	device_rocm.free(dev);
}

static void errors_have_their_names(void **state)
{
	char *dev = alloc_on(GPU_POOL, LEN);
	struct weft_dev_copies copies;
	struct weft_dev_where where;
	int err;

	(void)state;
	assert_true(weft_dev_find(dev, &where));
	device.fail_next();
	assert_int_equal(
		weft_dev_begin(&where, true, &copies), WEFT_ERR_BUFFER);
	assert_non_null(strstr(weft_err_detail_peek(WEFT_ERR_BUFFER),
		"hsa_signal_create failed with HSA_STATUS_ERROR (0x1000)"));
	assert_int_equal(weft_dev_begin(&where, true, &copies), 0);
	err = weft_dev_add(&copies, got, dev, LEN + 1);
	assert_int_equal(err, WEFT_ERR_BUFFER);
	assert_non_null(strstr(weft_err_detail_peek(err),
		"hsa_memory_copy failed with HSA_STATUS_ERROR_INVALID"));
	assert_int_equal(weft_dev_end(&copies, err), err);
	device_rocm.free(dev);
}

/* Memory that is freed and allocated again has another id, although its address
 * and its IPC handle are the same. */
static void ids_are_never_reused(void **state)
{
	struct weft_ipc_memory memory, again;
	uint64_t last = 0;
	void *base = NULL;
	int n_same = 0;

	(void)state;
	for (int i = 0; i < 20; i++) {
		char *dev = alloc_on(GPU_POOL, LEN);

		assert_true(weft_ipc_export(dev, &memory));
		assert_true(weft_ipc_export(dev + LEN - 1, &again));
		assert_memory_equal(&memory, &again, sizeof(memory));
		assert_int_equal(memory.range.base, (uintptr_t)dev);
		assert_int_equal(memory.range.len, LEN);
		assert_int_equal(weft_dev_id_of(&memory.range), WEFT_DEV_ROCM);
		assert_true(memory.range.id > last);
		last = memory.range.id;
		n_same += dev == base;
		base = dev;
		device_rocm.free(dev);
	}
	if (!n_same) {
		print_message("this system gave no address twice\n");
		skip();
	}
}

/* More allocations than the library identifies together. */
static void many_allocations_have_ids(void **state)
{
	enum { N = 600 };
	struct weft_ipc_memory memory;
	static char *dev[N];
	uint64_t last = 0;

	(void)state;
	for (int i = 0; i < N; i++) {
		dev[i] = alloc_on(GPU_POOL, 1);
		assert_true(weft_ipc_export(dev[i], &memory));
		assert_true(memory.range.id > last);
		last = memory.range.id;
	}
	for (int i = 0; i < N; i++)
		device_rocm.free(dev[i]);
	weft_ipc_close(); /* no notification is left */
}

static bool open_stand(void)
{
	void *lib = dlopen("test/fake/rocm/.libs/libhsa-runtime64.so.1",
		RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return false;
	setenv("DEVSTAND_DEVICES", "2", 1);
	device_resolve(lib, device_rocm_functions);
	device_resolve(lib, device_stand_functions);
	*(void **)&shut_down = dlsym(lib, "hsa_shut_down");
	return true;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_found_before_the_start),
		cmocka_unit_test(kinds_are_granted),
		cmocka_unit_test(the_program_may_shut_the_runtime_down),
		cmocka_unit_test(addresses_have_owners),
		cmocka_unit_test(data_is_copied),
		cmocka_unit_test(rows_are_copied),
		cmocka_unit_test(errors_have_their_names),
		cmocka_unit_test(ids_are_never_reused),
		cmocka_unit_test(many_allocations_have_ids),
	};

	if (!open_stand()) {
		printf("1..0 # SKIP no stand-in of ROCm's runtime in "
		       "test/fake/rocm, which a static build does not have\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
