/* SPDX-License-Identifier: BSD-3-Clause */
/* hash: SipHash-2-4, a keyed hash that authenticates short messages */
#ifndef WEFT_HASH_H
#define WEFT_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Returns the 64-bit SipHash-2-4 of len bytes under a 16-byte key. */
uint64_t weft_hash(const uint8_t key[16], const void *data, size_t len);

#endif
