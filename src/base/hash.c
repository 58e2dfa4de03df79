/* SPDX-License-Identifier: BSD-3-Clause */
/* hash: SipHash-2-4 after Aumasson and Bernstein's description (2012) */
#include "base/hash.h"

#include <string.h>

static inline uint64_t rotl(uint64_t x, int b)
{
	return x << b | x >> (64 - b);
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] = rotl(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[2] = rotl(v[2], 32);
}

static void absorb(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_round(v);
	sip_round(v);
	v[0] ^= word;
}

uint64_t weft_hash(const uint8_t key[16], const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t k[2], word;
	uint64_t v[4];
	size_t i;

	memcpy(k, key, sizeof(k));
	v[0] = k[0] ^ 0x736f6d6570736575ull;
	v[1] = k[1] ^ 0x646f72616e646f6dull;
	v[2] = k[0] ^ 0x6c7967656e657261ull;
	v[3] = k[1] ^ 0x7465646279746573ull;
	for (i = 0; i + 8 <= len; i += 8) {
		memcpy(&word, p + i, 8);
		absorb(v, word);
	}
	word = (uint64_t)len << 56;
	for (size_t j = 0; i + j < len; j++)
		word |= (uint64_t)p[i + j] << (8 * j);
	absorb(v, word);
	v[2] ^= 0xff;
	for (i = 0; i < 4; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
