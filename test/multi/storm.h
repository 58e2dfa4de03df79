/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * storm: choices of a seed and checks of data, for the programs of test/storm
 *
 * All processes of a program compute the same choices. Data are computed from
 * the choices, so that the receiver knows each byte.
 */
#ifndef MTEST_STORM_H
#define MTEST_STORM_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	STORM_STOPPED = 3, /* exit status: another process failed */
	STORM_WRONG = 4,   /* exit status: wrong data */
};

/* The seed, and the position for the messages. */
static struct {
	uint64_t seed, round;
	int rank, size;
} place;

__attribute__((format(printf, 1, 2))) static inline _Noreturn void wrong(
	const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("WRONG: rank %d round %llu: ", place.rank,
		(unsigned long long)place.round);
	vprintf(format, args);
	printf("\n");
	fflush(stdout);
	_exit(STORM_WRONG);
}

static inline uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

/* A number below n that every rank computes alike. */
static inline uint64_t choose(uint64_t n, uint64_t a, uint64_t b, uint64_t c)
{
	return mix(mix(mix(place.seed + place.round * 1000003 + a) + b) + c) %
	       n;
}

/* A length that every rank computes alike. All magnitudes are likely. */
static inline size_t choose_len(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t bits = choose(20, a, b, c + 1);

	return (size_t)choose((1ull << bits) + 1, a, b, c + 2);
}

static inline unsigned char byte_of(uint64_t key, size_t i)
{
	return (unsigned char)(key + i * 7 + (i >> 8) * 3);
}

static inline uint64_t key_of(int from, int to, uint64_t number)
{
	return choose(251, 77 + (uint64_t)from, (uint64_t)to, number);
}

static inline void fill(void *to, size_t len, uint64_t key)
{
	unsigned char *bytes = to;

	for (size_t i = 0; i < len; i++)
		bytes[i] = byte_of(key, i);
}

static inline void check(
	const void *from, size_t len, uint64_t key, const char *what)
{
	const unsigned char *bytes = from;

	for (size_t i = 0; i < len; i++)
		if (bytes[i] != byte_of(key, i))
			wrong("%s: byte %zu of %zu is %u, not %u", what, i, len,
				bytes[i], byte_of(key, i));
}

#endif
