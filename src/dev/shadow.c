/* SPDX-License-Identifier: BSD-3-Clause */
/* shadow: copies buffers between device memory and their shadows */
#include "dev/shadow.h"

#include "base/bits.h"
#include "base/err.h"
#include "dev/pinned.h"
#include "dt/pack.h"

#include <pthread.h>
#include <stdlib.h>

enum {
	RUNS = 64,  /* runs that one call of weft_type_iov() finds */
	ALIGN = 64, /* a shadow has the alignment of its buffer up to this */
	DENSE = 4,  /* a span of at most this many times its data is read as one
		       run, and its shadow may be pinned */
};

/* All shadows that are not empty. */
static struct {
	pthread_mutex_t lock;
	struct weft_link all;
} shadows = { .lock = PTHREAD_MUTEX_INITIALIZER,
	.all = { &shadows.all, &shadows.all } };

/* ---- where the parts are ---- */

static bool has_data(const struct weft_shadow_part *part)
{
	return part->count > 0 && part->type->size > 0;
}

static int mixed(const void *dev, const void *host)
{
	return weft_err_set(WEFT_ERR_BUFFER,
		"the buffer has device memory at %p and host memory at "
		"%p; pass device memory and host memory in separate calls",
		dev, host);
}

/* Tests each run of items with absolute addresses. */
static int look_at_runs(const struct weft_shadow_part *part, bool *is_dev_out)
{
	const void *dev = NULL, *host = NULL;
	struct weft_dev_where where;
	struct iovec iov[RUNS];
	size_t skip = 0, n, bytes;

	do {
		weft_type_iov(part->type, part->count, part->buf, skip, iov,
			RUNS, &n, &bytes);
		for (size_t i = 0; i < n; i++) {
			if (weft_dev_find(iov[i].iov_base, &where))
				dev = iov[i].iov_base;
			else
				host = iov[i].iov_base;
		}
		skip += bytes;
	} while (n == RUNS && !(dev && host));
	if (dev && host)
		return mixed(dev, host);
	*is_dev_out = dev != NULL;
	return 0;
}

static char *first_byte(const struct weft_shadow_part *part)
{
	int64_t first, len;

	(void)weft_type_span(part->type, part->count, &first, &len);
	return (char *)((uintptr_t)part->buf + (uintptr_t)first);
}

int weft_shadow_look(const struct weft_shadow_part *parts, int32_t n,
	bool has_types, bool *is_dev_out)
{
	const void *dev = NULL, *host = NULL;
	struct weft_dev_where where;
	bool is_dev;
	int err = 0;

	for (int32_t i = 0; !err && i < n; i++) {
		if (!has_data(&parts[i]))
			continue;
		if (!parts[i].buf && !parts[i].type->is_builtin)
			err = look_at_runs(&parts[i], &is_dev);
		else
			is_dev = weft_dev_find(first_byte(&parts[i]), &where);
		if (err)
			return err;
		*(is_dev ? &dev : &host) = first_byte(&parts[i]);
		if (!has_types)
			break;
	}
	if (dev && host)
		return mixed(dev, host);
	*is_dev_out = dev != NULL;
	return 0;
}

/* ---- memory ---- */

/* Computes the span of all parts. False without data, or if it is too long. */
static bool span_of(const struct weft_shadow_part *parts, int32_t n,
	char **low_out, size_t *len_out)
{
	uintptr_t low = UINTPTR_MAX, high = 0;

	for (int32_t i = 0; i < n; i++) {
		int64_t first, len;
		uintptr_t at;

		if (!has_data(&parts[i]))
			continue;
		if (!weft_type_span(
			    parts[i].type, parts[i].count, &first, &len))
			return false;
		at = (uintptr_t)parts[i].buf + (uintptr_t)first;
		low = at < low ? at : low;
		high = at + (uintptr_t)len > high ? at + (uintptr_t)len : high;
	}
	*low_out = (char *)low;
	*len_out = high - low;
	return high > low && high - low <= PTRDIFF_MAX - ALIGN;
}

/* True if a large part of the span is data. */
static bool is_dense(
	const struct weft_shadow_part *parts, int32_t n, size_t len)
{
	size_t data = 0;

	for (int32_t i = 0; i < n; i++)
		data += (size_t)(parts[i].count * parts[i].type->size);
	return len / DENSE <= data;
}

int weft_shadow_open(struct weft_shadow *shadow,
	const struct weft_shadow_part *parts, int32_t n)
{
	size_t len;

	*shadow = (struct weft_shadow){ 0 };
	if (!span_of(parts, n, &shadow->low, &len) ||
		!weft_dev_find(shadow->low, &shadow->where))
		return weft_err_set(WEFT_ERR_BUFFER,
			"the data in device memory has no first byte");
	shadow->parts = malloc((size_t)n * sizeof(*parts));
	shadow->memory =
		is_dense(parts, n, len)
			? weft_pinned_alloc(&shadow->where, len + ALIGN)
			: malloc(len + ALIGN);
	if (!shadow->parts || !shadow->memory) {
		weft_shadow_close(shadow);
		return weft_err_set(WEFT_ERR_NOMEM,
			"no host memory for a copy of %zu bytes of device "
			"memory",
			len);
	}
	shadow->host = (char *)shadow->memory +
		       (((uintptr_t)shadow->low - (uintptr_t)shadow->memory) &
			       (ALIGN - 1));
	for (int32_t i = 0; i < n; i++)
		if (has_data(&parts[i])) {
			shadow->parts[shadow->n] = parts[i];
			weft_type_get(shadow->parts[shadow->n++].type);
		}
	shadow->len = len;
	pthread_mutex_lock(&shadows.lock);
	weft_list_push_back(&shadows.all, &shadow->link);
	pthread_mutex_unlock(&shadows.lock);
	return 0;
}

struct weft_shadow *weft_shadow_of(const void *host)
{
	struct weft_shadow *found = NULL;

	pthread_mutex_lock(&shadows.lock);
	weft_list_for_each(link, next, &shadows.all)
	{
		struct weft_shadow *shadow =
			weft_container_of(link, struct weft_shadow, link);

		if ((uintptr_t)host - (uintptr_t)shadow->host < shadow->len)
			found = shadow;
	}
	pthread_mutex_unlock(&shadows.lock);
	return found;
}

void weft_shadow_close(struct weft_shadow *shadow)
{
	if (shadow->host) {
		pthread_mutex_lock(&shadows.lock);
		weft_list_remove(&shadow->link);
		pthread_mutex_unlock(&shadows.lock);
	}
	for (int32_t i = 0; i < shadow->n; i++)
		weft_type_put(shadow->parts[i].type);
	free(shadow->parts);
	weft_pinned_free(shadow->memory);
	*shadow = (struct weft_shadow){ 0 };
}

/* ---- copies ---- */

struct shadow_copy {
	const struct weft_shadow *shadow;
	struct weft_dev_copies copies; /* is_to_host: to the shadow */
};

static int copy_run(const struct shadow_copy *c, char *dev, size_t len)
{
	char *host = weft_shadow_buf(c->shadow, dev);

	return c->copies.is_to_host ? weft_dev_add(&c->copies, host, dev, len)
				    : weft_dev_add(&c->copies, dev, host, len);
}

static int copy_series(const struct shadow_copy *c,
	const struct weft_shadow_part *part, const struct weft_series *s)
{
	char *dev = (char *)((uintptr_t)part->buf + (uintptr_t)s->at);
	char *host = weft_shadow_buf(c->shadow, dev);

	return weft_dev_add_rows(
		&c->copies, &(struct weft_dev_rows){
				    .dst = c->copies.is_to_host ? host : dev,
				    .src = c->copies.is_to_host ? dev : host,
				    .n = (size_t)s->n,
				    .len = (size_t)s->len,
				    .dst_stride = s->stride,
				    .src_stride = s->stride });
}

static int copy_runs(const struct shadow_copy *c,
	const struct weft_shadow_part *part, size_t at, size_t len)
{
	const size_t end = at + len;
	struct iovec iov[RUNS];
	size_t done = at, n = RUNS, bytes;
	int err = 0;

	while (!err && n == RUNS && done < end) {
		weft_type_iov(part->type, part->count, part->buf, done, iov,
			RUNS, &n, &bytes);
		for (size_t i = 0; !err && i < n && done < end; i++) {
			size_t run = iov[i].iov_len;

			run = run < end - done ? run : end - done;
			err = copy_run(c, iov[i].iov_base, run);
			done += run;
		}
	}
	return err;
}

/* Copies len > 0 bytes of the packed data of a part, from byte `at` on. */
static int copy_part(const struct shadow_copy *c,
	const struct weft_shadow_part *part, int64_t at, int64_t len)
{
	const int64_t all = part->count * part->type->size;
	struct weft_series series;
	int64_t first, span;

	(void)weft_type_span(part->type, part->count, &first, &span);
	if (weft_type_is_run(part->type, part->count))
		return copy_run(c, first_byte(part) + at, (size_t)len);
	if (len == all && weft_type_series(part->type, part->count, &series) &&
		series.stride >= series.len)
		return copy_series(c, part, &series);
	if (c->copies.is_to_host && len == all && span / DENSE <= all &&
		!copy_run(c, first_byte(part), (size_t)span))
		return 0;
	return copy_runs(c, part, (size_t)at, (size_t)len);
}

/* Copies one run, as a row. */
static int copy_run_alone(
	const struct weft_shadow *shadow, bool is_read, int64_t at, int64_t len)
{
	const struct weft_shadow_part *part = &shadow->parts[0];
	const int64_t all = part->count * part->type->size;
	char *dev = first_byte(part) + at, *host = weft_shadow_buf(shadow, dev);
	const struct weft_dev_rows row = { .dst = is_read ? host : dev,
		.src = is_read ? dev : host,
		.n = 1,
		.len = (size_t)weft_min64(len, all - at) };

	return at >= all ? 0
			 : weft_dev_copy_rows(&shadow->where, &row, is_read);
}

static int copy_parts(
	const struct weft_shadow *shadow, bool is_read, int64_t at, int64_t len)
{
	struct shadow_copy c = { .shadow = shadow };
	int err;

	if (!shadow->host || !len)
		return 0;
	if (shadow->n == 1 &&
		weft_type_is_run(shadow->parts[0].type, shadow->parts[0].count))
		return copy_run_alone(shadow, is_read, at, len);
	err = weft_dev_begin(&shadow->where, is_read, &c.copies);
	if (err)
		return err;
	for (int32_t i = 0; !err && len > 0 && i < shadow->n; i++) {
		const struct weft_shadow_part *part = &shadow->parts[i];
		int64_t left = part->count * part->type->size - at;

		if (left <= 0) {
			at = -left;
			continue;
		}
		left = left < len ? left : len;
		err = copy_part(&c, part, at, left);
		len -= left;
		at = 0;
	}
	return weft_dev_end(&c.copies, err);
}

int weft_shadow_read(const struct weft_shadow *shadow)
{
	return copy_parts(shadow, true, 0, INT64_MAX);
}

int weft_shadow_write(struct weft_shadow *shadow, int64_t len)
{
	if (shadow->is_bypassed) {
		shadow->is_bypassed = false;
		return 0;
	}
	return copy_parts(shadow, false, 0, len);
}

int weft_shadow_read_range(
	const struct weft_shadow *shadow, int64_t at, int64_t len)
{
	return copy_parts(shadow, true, at, len);
}

int weft_shadow_write_range(
	const struct weft_shadow *shadow, int64_t at, int64_t len)
{
	return copy_parts(shadow, false, at, len);
}
