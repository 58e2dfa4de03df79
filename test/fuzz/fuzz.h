/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz: common parts of the harnesses
 *
 * An input is a string of bytes that a harness reads as a sequence of choices.
 * After its end every byte is zero, so any input is valid. */
#ifndef WEFT_FUZZ_H
#define WEFT_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libFuzzer, AFL++'s driver and replay.c call the first function once at the
 * start, and the second function for each input. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Aborts, in every build, if the condition is false. */
#define FUZZ_CHECK(cond)                                                   \
	((cond) ? (void)0                                                  \
		: (fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, \
			   __LINE__, #cond),                               \
			  abort()))

struct fuzz_in {
	const uint8_t *data;
	size_t len;
};

static inline void fuzz_bytes(struct fuzz_in *in, void *buf, size_t len)
{
	size_t n = len < in->len ? len : in->len;

	memset(buf, 0, len);
	if (n)
		memcpy(buf, in->data, n);
	in->data += n;
	in->len -= n;
}

static inline uint8_t fuzz_u8(struct fuzz_in *in)
{
	uint8_t v;

	fuzz_bytes(in, &v, sizeof(v));
	return v;
}

static inline uint16_t fuzz_u16(struct fuzz_in *in)
{
	uint16_t v;

	fuzz_bytes(in, &v, sizeof(v));
	return v;
}

static inline uint32_t fuzz_u32(struct fuzz_in *in)
{
	uint32_t v;

	fuzz_bytes(in, &v, sizeof(v));
	return v;
}

static inline uint64_t fuzz_u64(struct fuzz_in *in)
{
	uint64_t v;

	fuzz_bytes(in, &v, sizeof(v));
	return v;
}

/* Copies the next len bytes to memory of exactly that length, so that a
 * sanitizer detects an access beyond it. The caller frees the memory. */
static inline void *fuzz_exact(struct fuzz_in *in, size_t len)
{
	void *buf = malloc(len ? len : 1);

	FUZZ_CHECK(buf);
	fuzz_bytes(in, buf, len);
	return buf;
}

#endif
