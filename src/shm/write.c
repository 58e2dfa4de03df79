/* SPDX-License-Identifier: BSD-3-Clause */
/* write: data into memory that another process reads */
#include "shm/write.h"

#include "base/clock.h"

#if defined(__SSE2__)
#include <emmintrin.h>

enum { PAST_CACHES, AS_USUAL };

/* What is written one way finds lines that the other left: those of eight
 * places of a ring, or of an area of a collective, before it meets its own. */
enum { RUN = 12 };

/* What data that has left the caches costs a reader more. */
enum { MISS_NS = 400, MISS_BYTES_PER_NS = 64 };

/* Whole lines, each in one go. */
static void write_lines(char *to, const char *from, size_t n_lines)
{
	for (; n_lines; n_lines--) {
		__m128i part[4];

		for (int i = 0; i < 4; i++)
			part[i] = _mm_loadu_si128((const __m128i *)from + i);
		for (int i = 0; i < 4; i++)
			_mm_stream_si128((__m128i *)to + i, part[i]);
		to += WEFT_CACHE_LINE;
		from += WEFT_CACHE_LINE;
	}
}

static void write_past_caches(char *to, const char *from, size_t len)
{
	size_t head = -(uintptr_t)to % WEFT_CACHE_LINE;
	size_t lines = (len - head) & ~(size_t)(WEFT_CACHE_LINE - 1);

	memcpy(to, from, head);
	write_lines(to + head, from + head, lines / WEFT_CACHE_LINE);
	memcpy(to + head + lines, from + head + lines, len - head - lines);
	_mm_sfence();
}

/* For what is longer than a piece some versions of the C library take one
 * instruction, which is slow where lines are another core's. */
static void write_as_usual(char *to, const char *from, size_t len)
{
	enum { PIECE = 2048 };

	for (; len > PIECE; len -= PIECE) {
		memcpy(to, from, PIECE);
		to += PIECE;
		from += PIECE;
	}
	memcpy(to, from, len);
}

void weft_write_long(
	struct weft_write *write, void *to, const void *from, size_t len)
{
	struct weft_choice *choice = &write->by_len[weft_choice_class(
		len, WEFT_WRITE_LONG, WEFT_WRITE_LENS)];
	const int way = weft_choice_take(choice, RUN);
	const bool is_timed = weft_choice_is_timed(choice);
	const uint64_t start = is_timed ? weft_now_ns() : 0;
	uint64_t ns = 0;

	if (way == PAST_CACHES) {
		write_past_caches(to, from, len);
		ns = MISS_NS + len / MISS_BYTES_PER_NS;
		ns *= 1 + write->is_for_many;
	} else {
		write_as_usual(to, from, len);
	}
	if (is_timed)
		weft_choice_took(choice, way, len,
			(uint32_t)(ns + weft_now_ns() - start));
}

#else

void weft_write_long(
	struct weft_write *write, void *to, const void *from, size_t len)
{
	(void)write;
	memcpy(to, from, len);
}

#endif
