/* SPDX-License-Identifier: BSD-3-Clause */
/* word: copies to and from memory that other threads or processes poll
 *
 * A copy of 1, 2, 4 or 8 bytes that is aligned in the polled memory is one
 * store or one load, so that a poller never sees half a word. Longer copies
 * have no such guarantee. Apart from atomic operations, all accesses to such a
 * word use these functions. */
#ifndef WEFT_WORD_H
#define WEFT_WORD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Stores or loads the word atomically and returns from the function, if len is
 * the size of the type and the word is aligned. */
#define WEFT_WORD_STORE_(type)                                          \
	if (len == sizeof(type) && (uintptr_t)to % sizeof(type) == 0) { \
		type word_;                                             \
		memcpy(&word_, from, sizeof(word_));                    \
		__atomic_store_n((type *)to, word_, order);             \
		return;                                                 \
	}
#define WEFT_WORD_LOAD_(type)                                                  \
	if (len == sizeof(type) && (uintptr_t)from % sizeof(type) == 0) {      \
		type word_ =                                                   \
			__atomic_load_n((const type *)from, __ATOMIC_RELAXED); \
		memcpy(to, &word_, sizeof(word_));                             \
		return;                                                        \
	}

/* Copies to polled memory. order: __ATOMIC_RELEASE if earlier stores must be
 * visible before this one, __ATOMIC_RELAXED if the caller orders its stores. A
 * copy that is not one aligned word ignores order. */
static inline void weft_word_store(
	void *to, const void *from, size_t len, int order)
{
	WEFT_WORD_STORE_(uint64_t)
	WEFT_WORD_STORE_(uint32_t)
	WEFT_WORD_STORE_(uint16_t)
	WEFT_WORD_STORE_(uint8_t)
	if (len) /* the buffer of an empty message may be NULL */
		memcpy(to, from, len);
}

/* Copies from polled memory. */
static inline void weft_word_load(void *to, const void *from, size_t len)
{
	WEFT_WORD_LOAD_(uint64_t)
	WEFT_WORD_LOAD_(uint32_t)
	WEFT_WORD_LOAD_(uint16_t)
	WEFT_WORD_LOAD_(uint8_t)
	if (len)
		memcpy(to, from, len);
}

#undef WEFT_WORD_STORE_
#undef WEFT_WORD_LOAD_

#endif
