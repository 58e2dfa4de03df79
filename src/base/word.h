/* SPDX-License-Identifier: BSD-3-Clause */
/* word: copies to and from memory that others look at meanwhile
 *
 * What is as long as a basic type (1, 2, 4 or 8 bytes) and aligned in the
 * memory that is looked at is stored, or loaded, at once: nobody sees a word
 * half written. Anything else is copied as it comes. This is the only way in
 * which such a word is moved, but for atomic operations on it. */
#ifndef WEFT_WORD_H
#define WEFT_WORD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* One of them, in a block that returns; order is the atomic operation's. */
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

/* To memory that others load from; order: __ATOMIC_RELEASE where they may go by
 * the word, __ATOMIC_RELAXED where a fence comes between. */
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

/* From memory that others store to. */
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
