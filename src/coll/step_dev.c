/* SPDX-License-Identifier: BSD-3-Clause */
/* step_dev: steps on buffers in device memory
 *
 * A long message is sent from device memory, and received into it, if the
 * rendezvous can do so (p2p/rndv_dev.c). Otherwise the message has a shadow for
 * its own data. A receive always has one. So a member does not copy its whole
 * buffers to host memory. All data is contiguous. VCI's lock held. */
#include "base/bits.h"
#include "coll/sched.h"
#include "dev/shadow.h"

#include <string.h>

static char *first_of(const void *buf, const struct weft_type *type)
{
	return (char *)(uintptr_t)buf + type->true_lb;
}

static struct weft_shadow *shadow_of_message(
	const void *buf, const struct weft_type *type)
{
	struct weft_shadow *shadow = weft_shadow_of(first_of(buf, type));

	return shadow && shadow->is_message ? shadow : NULL;
}

int weft_step_dev_begin(struct weft_msg *msg, bool is_send)
{
	const struct weft_shadow_part part = { msg->buf, msg->count,
		msg->type };
	struct weft_dev_where where;
	struct weft_shadow *shadow;
	int err;

	if (msg->rank < 0 || !msg->count || !msg->type->size ||
		!weft_dev_find(first_of(msg->buf, msg->type), &where))
		return 0;
	if (is_send && weft_send_is_direct_locked(msg)) {
		msg->mode = WEFT_SEND_DEVICE;
		return 0;
	}
	shadow = malloc(sizeof(*shadow));
	if (!shadow)
		return WEFT_ERR_NOMEM;
	err = weft_shadow_open(shadow, &part, 1);
	if (!err && is_send)
		err = weft_shadow_read(shadow);
	if (err) {
		weft_shadow_close(shadow);
		free(shadow);
		return err;
	}
	shadow->is_message = true;
	msg->buf = weft_shadow_buf(shadow, msg->buf);
	return 0;
}

int weft_step_dev_end(
	void *buf, const struct weft_type *type, int64_t n_received)
{
	struct weft_shadow *shadow = shadow_of_message(buf, type);
	int err;

	if (!shadow)
		return 0;
	err = weft_shadow_write(shadow, n_received);
	weft_shadow_close(shadow);
	free(shadow);
	return err;
}

/* Copies between the memory of two vendors. */
static int copy_through_host(const struct weft_step *step, const char *from,
	const struct weft_dev_where *where, size_t len)
{
	const struct weft_shadow_part part = { step->span.buf, step->span.count,
		step->span.type };
	struct weft_dev_copies copies;
	struct weft_shadow shadow;
	int err = weft_shadow_open(&shadow, &part, 1);

	if (!err)
		err = weft_dev_begin(where, true, &copies);
	if (!err)
		err = weft_dev_end(
			&copies, weft_dev_add(&copies, shadow.host, from, len));
	if (!err)
		err = weft_shadow_write(&shadow, (int64_t)len);
	weft_shadow_close(&shadow);
	return err;
}

int weft_step_dev_copy(const struct weft_step *step)
{
	const char *from = first_of(step->in, step->in_type);
	char *to = first_of(step->span.buf, step->span.type);
	const size_t n_from = (size_t)(step->in_count * step->in_type->size);
	const size_t n_to = (size_t)(step->span.count * step->span.type->size);
	const size_t len = weft_min(n_from, n_to);
	struct weft_dev_where where_from, where_to;
	struct weft_dev_copies copies;
	bool is_from, is_to;
	int err;

	if (!len)
		return 0;
	is_from = weft_dev_find(from, &where_from);
	is_to = weft_dev_find(to, &where_to);
	if (!is_from && !is_to) {
		memcpy(to, from, len);
		return 0;
	}
	if (is_from && is_to && where_from.vendor != where_to.vendor)
		return copy_through_host(step, from, &where_from, len);
	err = weft_dev_begin(
		is_from ? &where_from : &where_to, is_from, &copies);
	return err ? err
		   : weft_dev_end(
			     &copies, weft_dev_add(&copies, to, from, len));
}
