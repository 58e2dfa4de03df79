/* SPDX-License-Identifier: BSD-3-Clause */
/* bits: small helpers that every room needs */
#ifndef WEFT_BITS_H
#define WEFT_BITS_H

#include <stddef.h>
#include <stdint.h>

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

/* Rounds n up to a multiple of step, a power of two. */
static inline size_t weft_round_up(size_t n, size_t step)
{
	return (n + step - 1) & ~(step - 1);
}

/* Smallest power of two that is not below n; n must not be 0. */
static inline size_t weft_pow2_up(size_t n)
{
	return n <= 1 ? 1 : (size_t)1 << (64 - __builtin_clzl(n - 1));
}

/* A good 64-bit mixing function, for hash tables. Not for secrets. */
static inline uint64_t weft_mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	return x ^ (x >> 32);
}

#endif
