/* SPDX-License-Identifier: BSD-3-Clause */
/* plain: replaces control characters in a text by escape sequences */
#include "base/plain.h"

#include "base/bits.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* True if c is a control character. A byte from 0x80 to 0x9f is a control
 * character alone or after 0xc2, but not within another UTF-8 character. */
static bool is_control(unsigned char before, unsigned char c)
{
	return c < 0x20 || c == 0x7f ||
	       (c >= 0x80 && c <= 0x9f && (before < 0x80 || before == 0xc2));
}

size_t weft_plain(char *text, size_t size)
{
	size_t len = strlen(text);
	char before = 0;

	for (size_t i = 0; i < len; i++) {
		char c = text[i], code[5];

		if (is_control((unsigned char)before, (unsigned char)c)) {
			size_t n = (size_t)snprintf(code, sizeof(code),
				"\\x%02x", (unsigned)(unsigned char)c);
			size_t rest = len - i - 1;

			n = weft_min(n, size - 1 - i);
			rest = weft_min(rest, size - 1 - i - n);
			memmove(text + i + n, text + i + 1, rest);
			memcpy(text + i, code, n);
			len = i + n + rest;
			text[len] = 0;
			i += n - 1;
		}
		before = c;
	}
	return len;
}
