/* SPDX-License-Identifier: BSD-3-Clause */
/* pack: copies between typed buffers and streams of bytes
 *
 * The packed stream of `count` items is their data in the order of the type
 * map. A call can start at any byte of the stream. The cost to find the byte
 * depends on the type's tree (flat.h), not on the byte. Addresses are computed
 * as integers, so NULL with absolute displacements (MPI_BOTTOM) is valid. */
#ifndef WEFT_PACK_H
#define WEFT_PACK_H

#include "dt/type.h"

#include <sys/uio.h>

/* Copies bytes [skip, skip + len) of the packed stream of count items at buf to
 * dst, up to the end of the stream. Returns the number of bytes copied. */
size_t weft_pack(const struct weft_type *type, int64_t count, const void *buf,
	size_t skip, void *dst, size_t len);

/* Copies bytes [skip, skip + len) of the packed stream from src to the count
 * items at buf. Returns the number of bytes copied. */
size_t weft_unpack(const struct weft_type *type, int64_t count, void *buf,
	size_t skip, const void *src, size_t len);

/* Sets iov to the runs in memory that have the stream from byte skip on, at
 * most n_iov > 0 runs. Adjacent runs are merged. *n_out is the number of runs,
 * *bytes_out the sum of their lengths; the rest of the stream starts at skip +
 * *bytes_out. */
void weft_type_iov(const struct weft_type *type, int64_t count, const void *buf,
	size_t skip, struct iovec *iov, size_t n_iov, size_t *n_out,
	size_t *bytes_out);

/* Runs of the same length at a constant stride. */
struct weft_series {
	int64_t at;		/* displacement of the first run */
	int64_t n, len, stride; /* n runs of len bytes, stride bytes apart */
};

/* True if the whole stream is one series. Examines only the root of the type's
 * tree, so the result may be false although the runs form a series. */
bool weft_type_series(const struct weft_type *type, int64_t count,
	struct weft_series *series_out);

/* Copies scount items of stype at sbuf to rcount items of rtype at rbuf. The
 * buffers must not overlap, unless buffer, type and count are the same.
 * WEFT_ERR_TRUNCATE if the data is longer than the destination; the destination
 * is then filled. */
int weft_type_copy(const struct weft_type *stype, int64_t scount,
	const void *sbuf, const struct weft_type *rtype, int64_t rcount,
	void *rbuf);

/* Bytes of count items in the "external32" form. */
int64_t weft_external_size(const struct weft_type *type, int64_t count);

/* weft_external_pack() packs count items into "external32" form (big-endian,
 * fixed sizes). weft_external_unpack() unpacks them. dst and src have
 * weft_external_size() bytes. */
void weft_external_pack(const struct weft_type *type, int64_t count,
	const void *buf, void *dst);
void weft_external_unpack(const struct weft_type *type, int64_t count,
	void *buf, const void *src);

#endif
