/* SPDX-License-Identifier: BSD-3-Clause */
/* write: writes data into memory that another process reads */
#include "shm/write.h"

#if defined(__SSE2__)
#include <emmintrin.h>

/* Writes whole cache lines with non-temporal stores. The four stores to a line
 * are consecutive, so that the processor combines them. */
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

#else

static void write_past_caches(char *to, const char *from, size_t len)
{
	memcpy(to, from, len);
}

#endif

void weft_write_long(bool is_past, void *to, const void *from, size_t len)
{
	if (is_past)
		write_past_caches(to, from, len);
	else
		memcpy(to, from, len);
}
