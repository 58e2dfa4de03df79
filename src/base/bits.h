/* SPDX-License-Identifier: BSD-3-Clause */
/* bits: small helpers that every room needs */
#ifndef WEFT_BITS_H
#define WEFT_BITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define weft_container_of(ptr, type, member) \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#define weft_likely(x) __builtin_expect(!!(x), 1)
#define weft_unlikely(x) __builtin_expect(!!(x), 0)

#define WEFT_CACHE_LINE 64

static inline size_t weft_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

static inline size_t weft_max(size_t a, size_t b)
{
	return a > b ? a : b;
}

/* Minimum and maximum of two numbers that may be negative. */
static inline int64_t weft_min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t weft_max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Rounds n up to a multiple of step, a power of two. */
static inline size_t weft_round_up(size_t n, size_t step)
{
	return (n + step - 1) & ~(step - 1);
}

#if defined(__x86_64__)
#define WEFT_CPU_PAUSE "pause"
#elif defined(__aarch64__)
#define WEFT_CPU_PAUSE "yield"
#else
#define WEFT_CPU_PAUSE ""
#endif

/* Marks a spin loop. The processor then does not speculate on loads that the
 * awaited store would invalidate. */
static inline void weft_cpu_pause(void)
{
	__asm__ volatile(WEFT_CPU_PAUSE ::: "memory");
}

/* Prefetches for writing a cache line that another core wrote last. A plain
 * read would fetch the line in shared state, and the store would have to
 * request it again. */
static inline void weft_prefetch_write(const void *line)
{
#if defined(__x86_64__)
	/* Assembly, because gcc emits prefetchw only if an option permits it.
	 * Processors without prefetchw execute it as a no-operation. */
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
	__builtin_prefetch(line, 1);
#endif
}

/* Copies a message. Up to 16 bytes are copied inline: 8 or more with two
 * overlapping moves, fewer byte by byte. */
static inline void weft_copy_msg(void *to, const void *from, size_t len)
{
	uint64_t head, tail;

	if (len > 16) {
		memcpy(to, from, len);
	} else if (len >= 8) {
		memcpy(&head, from, 8);
		memcpy(&tail, (const char *)from + len - 8, 8);
		memcpy(to, &head, 8);
		memcpy((char *)to + len - 8, &tail, 8);
	} else if (len) {
		for (size_t i = 0; i < len; i++)
			((char *)to)[i] = ((const char *)from)[i];
	}
}

/* Returns the smallest power of two that is not below n. */
static inline size_t weft_pow2_up(size_t n)
{
	return n <= 1 ? 1 : (size_t)1 << (64 - __builtin_clzl(n - 1));
}

/* Mixes the bits of a number, for hash tables. Not cryptographic. */
static inline uint64_t weft_mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	return x ^ (x >> 32);
}

#endif
