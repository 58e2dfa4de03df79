/* SPDX-License-Identifier: BSD-3-Clause */
/* pinned_test: the pool of pinned memory, with the stand-in of CUDA's driver */
#include "dev/dev_priv.h"
#include "dev/pinned.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

enum {
	KIB = 1024,
	MIB = 1024 * KIB,
	MAX = 128 * MIB,
	MAX_PINS = 6, /* 4, 4, 8, 16, 32, 64 MiB */
	MANY = 200,
	THREADS = 4,
};

static struct {
	long (*pins)(void);
	long (*pinned)(void);
	void (*fail_pin)(long n);
	int (*reset)(int device);
	int (*retain)(void **context, int device);
	int (*host_unregister)(void *at);
} stand;

static const struct weft_dev_where where = { .vendor = &weft_dev_cuda };

static int close_pool(void **state)
{
	(void)state;
	weft_pinned_close();
	return stand.pinned() != 0;
}

/* A host program has an empty pool. */
static void nothing_is_pinned_without_use(void **state)
{
	(void)state;
	weft_pinned_free(NULL);
	weft_pinned_close();
	assert_int_equal(stand.pins(), 0);
}

static void short_memory_is_not_pinned(void **state)
{
	const long before = stand.pins();
	void *memory = weft_pinned_alloc(&where, 32 * KIB - 1);

	(void)state;
	assert_non_null(memory);
	weft_pinned_free(memory);
	assert_int_equal(stand.pins(), before);
	memory = weft_pinned_alloc(&where, 32 * KIB);
	assert_non_null(memory);
	assert_int_equal(stand.pins(), before + 1);
	assert_int_equal(stand.pinned(), 4 * MIB);
	weft_pinned_free(memory);
}

static void pinned_memory_is_reused(void **state)
{
	const long before = stand.pins();

	(void)state;
	for (int i = 0; i < 1000; i++) {
		void *a = weft_pinned_alloc(&where, (size_t)MIB + (size_t)i);
		void *b = weft_pinned_alloc(&where, 2 * MIB);

		assert_non_null(a);
		assert_non_null(b);
		weft_pinned_free(i % 2 ? a : b);
		weft_pinned_free(i % 2 ? b : a);
	}
	assert_int_equal(stand.pins(), before + 1);
}

static void long_memory_is_one_region(void **state)
{
	void *memory = weft_pinned_alloc(&where, 63 * MIB + 1);

	(void)state;
	memset(memory, 1, 63 * MIB + 1);
	assert_int_equal(stand.pinned(), 64 * MIB);
	weft_pinned_free(memory);
}

/* The rest of the memory is malloc's. */
static void the_pool_is_bounded(void **state)
{
	const long before = stand.pins();
	char *memory[MANY];

	(void)state;
	for (int i = 0; i < MANY; i++) {
		memory[i] = weft_pinned_alloc(&where, MIB);
		assert_non_null(memory[i]);
		memory[i][0] = (char)i;
		memory[i][MIB - 1] = (char)i;
	}
	assert_int_equal(stand.pinned(), MAX);
	assert_int_equal(stand.pins(), before + MAX_PINS);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(memory[i][0], (char)i);
		assert_int_equal(memory[i][MIB - 1], (char)i);
		weft_pinned_free(memory[i]);
	}
	weft_pinned_free(weft_pinned_alloc(&where, (size_t)MAX + 1));
	assert_int_equal(stand.pins(), before + MAX_PINS);
}

/* Allocates and frees memory of many lengths. Returns the number of bytes that
 * another owner has changed. */
static void *use_memory(void *arg)
{
	enum { SLOTS = 16, STEP = 1000 };
	const unsigned char mine = (unsigned char)(uintptr_t)arg;
	struct {
		unsigned char *at;
		size_t len;
	} used[SLOTS] = { 0 };
	unsigned seed = mine;
	uintptr_t n_wrong = 0;

	for (int i = 0; i < 2000; i++) {
		const int k = i * 7 % SLOTS;
		const unsigned char tag = (unsigned char)(mine * SLOTS + k);

		for (size_t j = 0; used[k].at && j < used[k].len; j += STEP)
			n_wrong += used[k].at[j] != tag;
		weft_pinned_free(used[k].at);
		used[k].at = NULL;
		seed = seed * 1103515245 + 12345;
		if (seed >> 16 & 1)
			continue;
		used[k].len = 30 * KIB + (seed >> 8) % (300 * KIB);
		used[k].at = weft_pinned_alloc(&where, used[k].len);
		for (size_t j = 0; j < used[k].len; j += STEP)
			used[k].at[j] = tag;
	}
	for (int k = 0; k < SLOTS; k++)
		weft_pinned_free(used[k].at);
	return (void *)n_wrong;
}

static void memory_in_use_is_never_shared(void **state)
{
	const long before = stand.pins();
	pthread_t threads[THREADS];
	void *n_wrong;

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, use_memory,
					 (void *)(i + 1)),
			0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &n_wrong), 0);
		assert_null(n_wrong);
	}
	assert_true(stand.pins() - before <= MAX_PINS);
}

/* After a failure, the pool does not try again. */
static void without_pinning_memory_is_pageable(void **state)
{
	(void)state;
	for (int n = 1; n <= 3; n++) {
		const long before = stand.pins();
		char *memory[8];

		stand.fail_pin(n);
		for (int i = 0; i < 8; i++) {
			memory[i] = weft_pinned_alloc(&where, 4 * MIB);
			assert_non_null(memory[i]);
			memory[i][4 * MIB - 1] = 1;
		}
		assert_int_equal(stand.pins(), before + n);
		for (int i = 0; i < 8; i++)
			weft_pinned_free(memory[i]);
		weft_pinned_close();
		assert_int_equal(stand.pinned(), 0);
	}
}

static void memory_in_use_survives_the_close(void **state)
{
	char *memory = weft_pinned_alloc(&where, MIB);

	(void)state;
	weft_pinned_close();
	memory[0] = 1;
	assert_int_equal(stand.pinned(), 4 * MIB);
	weft_pinned_free(memory);
	weft_pinned_close();
	assert_int_equal(stand.pinned(), 0);
}

static void memory_survives_its_context(void **state)
{
	char *memory = weft_pinned_alloc(&where, MIB);
	void *context;

	(void)state;
	assert_int_equal(stand.reset(0), 0);
	assert_int_equal(stand.pinned(), 0);
	memset(memory, 1, MIB);
	assert_int_not_equal(stand.host_unregister(memory), 0);
	weft_pinned_free(memory);
	weft_pinned_close();
	assert_int_equal(stand.retain(&context, 0), 0);
	memory = weft_pinned_alloc(&where, MIB);
	assert_int_equal(stand.pinned(), 4 * MIB);
	memset(memory, 1, MIB);
	weft_pinned_free(memory);
}

static bool is_mapped_in_child(char *memory)
{
	unsigned char in_core;
	int status;
	/* not fork(): its handlers may map memory there in the child */
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0)
		_exit(mincore(memory, 4096, &in_core) == 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status != 0;
}

/* qemu-user accepts MADV_DONTFORK and does nothing. */
static void skip_unless_dontfork(void)
{
	char *map = mmap(NULL, MIB, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool is_mapped;

	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(madvise(map, MIB, MADV_DONTFORK), 0);
	is_mapped = is_mapped_in_child(map);
	munmap(map, MIB);
	if (is_mapped) {
		print_message("this system does not carry out MADV_DONTFORK\n");
		skip();
	}
}

/* A child does not have the pages, so this process keeps those that the driver
 * has pinned. */
static void a_child_has_no_pinned_pages(void **state)
{
	char *memory;

	(void)state;
	skip_unless_dontfork();
	memory = weft_pinned_alloc(&where, MIB);
	assert_int_equal(stand.pinned(), 4 * MIB);
	memory[0] = 1;
	assert_false(is_mapped_in_child(memory));
	weft_pinned_free(memory);
}

static bool open_stand(void)
{
	void *lib = dlopen(
		"test/fake/cuda/.libs/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return false;
	*(void **)&stand.pins = dlsym(lib, "devstandPins");
	*(void **)&stand.pinned = dlsym(lib, "devstandPinned");
	*(void **)&stand.fail_pin = dlsym(lib, "devstandFailPin");
	*(void **)&stand.reset = dlsym(lib, "cuDevicePrimaryCtxReset_v2");
	*(void **)&stand.retain = dlsym(lib, "cuDevicePrimaryCtxRetain");
	*(void **)&stand.host_unregister = dlsym(lib, "cuMemHostUnregister");
	return weft_dev_open(WEFT_DEV_CUDA, NULL) > 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_pinned_without_use),
		cmocka_unit_test_teardown(
			short_memory_is_not_pinned, close_pool),
		cmocka_unit_test_teardown(pinned_memory_is_reused, close_pool),
		cmocka_unit_test_teardown(
			long_memory_is_one_region, close_pool),
		cmocka_unit_test_teardown(the_pool_is_bounded, close_pool),
		cmocka_unit_test_teardown(
			memory_in_use_is_never_shared, close_pool),
		cmocka_unit_test_teardown(
			without_pinning_memory_is_pageable, close_pool),
		cmocka_unit_test_teardown(
			memory_in_use_survives_the_close, close_pool),
		cmocka_unit_test_teardown(
			memory_survives_its_context, close_pool),
		cmocka_unit_test_teardown(
			a_child_has_no_pinned_pages, close_pool),
	};

	if (!open_stand()) {
		printf("1..0 # SKIP no stand-in of CUDA's driver in "
		       "test/fake/cuda, which a static build does not have\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
