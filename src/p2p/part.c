/* SPDX-License-Identifier: BSD-3-Clause */
/* part: partitioned communication
 *
 *   sender                               receiver
 *   init   -- set-up, with the user's tag -->  init posts a receive for it
 *   ready(k) -- partition k, own tag ------->  start posts a receive for each
 *
 * Both sides may partition the data differently: the set-up message contains
 * the number and the length of the sender's partitions. A partition of the
 * receiver has arrived when all overlapping partitions of the sender have
 * arrived.
 *
 * A buffer in device memory has a shadow, to and from which each partition is
 * copied when it is ready or has arrived.
 *
 * All these messages use a separate context. Set-up messages match in the order
 * of the init calls, as MPI requires. A set-up message also contains the first
 * tag of a range of negative tags. Only this pair of requests uses these tags.
 */
#include "p2p/p2p_priv.h"

#include "dev/shadow.h"
#include "transport/progress.h"

#include <stdlib.h>
#include <string.h>

/* The set-up message, the first message of a pair of requests. Its integers are
 * little-endian, as those of transport/wire.h. */
struct setup {
	uint32_t first_tag;
	uint32_t n_parts;
	uint64_t part_len;
};

struct part;

/* The state of a partitioned request. It exists as long as the request. */
struct weft_parts {
	struct weft_req *req;
	int32_t n;	    /* partitions of this request */
	int64_t count;	    /* items in each partition */
	struct setup setup; /* the set-up message of the sender */
	bool has_setup;	    /* receiver: the set-up message has arrived */
	int setup_err;	    /* receiver: error of the set-up message */
	bool is_waiting;    /* receiver: started before the set-up arrived */
	size_t n_left;	    /* incomplete messages of this round */
	int err;	    /* first error of this round */
	char *staging;	    /* receiver: packed data, if the type has gaps */
	struct weft_shadow shadow; /* replaces a buffer in device memory */
	struct part *list;	   /* one for each partition of the sender */
};

struct part {
	struct weft_parts *parts;
	bool is_done; /* sender: marked as ready; receiver: arrived */
};

static int32_t tag_of(const struct weft_parts *parts, uint32_t k)
{
	/* negative, unlike the tags of set-up messages; a tag is used again
	 * after 2^31 partitions */
	return (int32_t)(0x80000000u | (parts->setup.first_tag + k));
}

static size_t total_len(const struct weft_parts *parts)
{
	return (size_t)(parts->n * parts->count * parts->req->type->size);
}

static void part_release(struct weft_req *req)
{
	struct weft_parts *parts = req->parts;

	if (!parts)
		return;
	weft_shadow_close(&parts->shadow);
	free(parts->staging);
	free(parts->list);
	free(parts);
}

static void round_over(struct weft_parts *parts)
{
	struct weft_req *req = parts->req;

	weft_req_complete(req, parts->err);
	weft_req_put(req);
}

static void part_one_less(struct weft_parts *parts, int err)
{
	if (err && !parts->err)
		parts->err = err;
	if (--parts->n_left == 0)
		round_over(parts);
}

/* Calls on_done when the request of a message completes, or immediately if it
 * is complete. */
static void part_follow(struct weft_req *req, struct part *part,
	void (*on_done)(void *arg, struct weft_req *req))
{
	req->on_done = on_done;
	req->on_done_arg = part;
	if (req->is_done)
		on_done(part, req);
}

static struct part *list_new(struct weft_parts *parts, uint32_t n)
{
	struct part *list = calloc(n ? n : 1, sizeof(*list));

	for (uint32_t k = 0; list && k < n; k++)
		list[k].parts = parts;
	return list;
}

/* Replaces a buffer in device memory by its shadow. */
static int parts_stage(struct weft_parts *parts)
{
	struct weft_req *req = parts->req;
	const struct weft_shadow_part all = { req->buf, parts->n * parts->count,
		req->type };
	bool is_dev = false;
	int err = weft_shadow_look(&all, 1, false, &is_dev);

	if (!err && is_dev)
		err = weft_shadow_open(&parts->shadow, &all, 1);
	if (!err && is_dev)
		req->buf = weft_shadow_buf(&parts->shadow, req->buf);
	return err;
}

/* Creates a persistent, inactive request with its state. */
static int parts_new(const struct weft_msg *msg, int32_t n,
	enum weft_req_kind kind, const struct weft_req_ops *ops,
	struct weft_parts **parts_out)
{
	struct weft_parts *parts = calloc(1, sizeof(*parts));
	int err;

	if (!parts)
		return WEFT_ERR_NOMEM;
	parts->req = weft_p2p_new(msg, kind);
	if (!parts->req) {
		free(parts);
		return WEFT_ERR_NOMEM;
	}
	parts->n = n;
	parts->count = msg->count;
	parts->req->parts = parts;
	parts->req->ops = ops;
	parts->req->is_persistent = true;
	parts->req->is_active = false;
	parts->req->is_done = true;
	err = msg->comm->may_dev ? parts_stage(parts) : 0;
	if (err)
		weft_req_put(parts->req);
	else
		*parts_out = parts;
	return err;
}

/* Returns the arguments of a send or a receive for this request. */
static struct weft_msg part_message(const struct weft_parts *parts, void *buf,
	int64_t count, struct weft_type *type, int32_t tag)
{
	return (struct weft_msg){
		.comm = parts->req->comm,
		.buf = buf,
		.count = count,
		.type = type ? type : weft_type_builtin(WEFT_TYPE_BYTE),
		.rank = parts->req->src,
		.tag = tag,
		.ctx_offset = WEFT_CTX_OFFSET_PART,
	};
}

/* ---- the sending side ---- */

static int send_start(struct weft_req *req)
{
	struct weft_parts *parts = req->parts;

	for (int32_t k = 0; k < parts->n; k++)
		parts->list[k].is_done = false;
	parts->n_left = (size_t)parts->n + 1;
	parts->err = 0;
	weft_req_get(req);
	part_one_less(parts, 0); /* completes a round without partitions */
	return 0;
}

static const struct weft_req_ops send_ops = { .start = send_start,
	.release = part_release };

static void on_setup_sent(void *arg, struct weft_req *req)
{
	struct weft_parts *parts = arg;

	weft_req_put(req);
	weft_req_put(parts->req);
}

static int send_setup(struct weft_parts *parts)
{
	struct weft_msg msg = part_message(parts, &parts->setup,
		sizeof(parts->setup), NULL, parts->req->tag);
	struct weft_req *req;
	int err = weft_isend_locked(&msg, &req);

	if (err)
		return err;
	weft_req_get(parts->req); /* keeps parts->setup, the data to send */
	req->on_done = on_setup_sent;
	req->on_done_arg = parts;
	if (req->is_done)
		on_setup_sent(parts, req);
	return 0;
}

int weft_psend_init(
	const struct weft_msg *msg, int32_t n_parts, struct weft_req **req_out)
{
	struct weft_comm *comm = msg->comm;
	struct weft_parts *parts = NULL;
	int err;

	weft_vci_lock(comm->vci);
	err = parts_new(msg, n_parts, WEFT_REQ_SEND, &send_ops, &parts);
	if (!err) {
		parts->list = list_new(parts, (uint32_t)n_parts);
		err = parts->list ? 0 : WEFT_ERR_NOMEM;
	}
	if (!err) {
		parts->setup.first_tag = comm->p2p.part_seq;
		parts->setup.n_parts = (uint32_t)n_parts;
		parts->setup.part_len =
			(uint64_t)(msg->count * msg->type->size);
		comm->p2p.part_seq += (uint32_t)n_parts;
		err = send_setup(parts);
	}
	if (err && parts)
		weft_req_put(parts->req);
	else if (!err)
		*req_out = parts->req;
	weft_vci_unlock(comm->vci);
	return err;
}

static void on_part_sent(void *arg, struct weft_req *req)
{
	struct part *part = arg;
	int err = req->status.err;

	weft_req_put(req);
	part_one_less(part->parts, err);
}

static int ready(struct weft_parts *parts, int32_t k)
{
	struct weft_req *req = parts->req, *sent;
	int64_t at = k * parts->count * req->type->extent;
	int64_t len = parts->count * req->type->size;
	struct weft_msg msg = part_message(parts, (char *)req->buf + at,
		parts->count, req->type, tag_of(parts, (uint32_t)k));
	int err;

	if (parts->list[k].is_done)
		return weft_err_set(WEFT_ERR_ARG,
			"partition %d was marked as ready before", k);
	err = weft_shadow_read_range(&parts->shadow, k * len, len);
	if (err)
		return err;
	parts->list[k].is_done = true;
	err = weft_isend_locked(&msg, &sent);
	if (err)
		part_one_less(parts, err);
	else
		part_follow(sent, &parts->list[k], on_part_sent);
	return 0;
}

int weft_pready(struct weft_req *req, int32_t first, int32_t last)
{
	struct weft_parts *parts = req->parts;
	int err = 0;

	if (req->ops != &send_ops || !req->is_active)
		return weft_err_set(WEFT_ERR_REQUEST,
			"not an active partitioned send request");
	if (first < 0 || last >= parts->n)
		return weft_err_set(WEFT_ERR_ARG,
			"partitions %d to %d are out of range: the send has %d",
			first, last, parts->n);
	weft_vci_lock(req->vci);
	for (int32_t k = first; !err && k <= last; k++)
		err = ready(parts, k);
	weft_vci_unlock(req->vci);
	return err;
}

/* ---- the receiving side ---- */

static void on_part_arrived(void *arg, struct weft_req *req)
{
	struct part *part = arg;
	struct weft_parts *parts = part->parts;
	size_t at = (size_t)(part - parts->list) * parts->setup.part_len;
	int err = req->status.err;

	if (parts->staging)
		weft_unpack(parts->req->type, parts->n * parts->count,
			parts->req->buf, at, parts->staging + at,
			parts->setup.part_len);
	if (!err)
		err = weft_shadow_write_range(&parts->shadow, (int64_t)at,
			(int64_t)parts->setup.part_len);
	part->is_done = true;
	weft_req_put(req);
	part_one_less(parts, err);
}

static void post_part(struct weft_parts *parts, uint32_t k, char *run)
{
	struct weft_msg msg =
		part_message(parts, run + k * parts->setup.part_len,
			(int64_t)parts->setup.part_len, NULL, tag_of(parts, k));
	struct weft_req *req;
	int err = weft_irecv_locked(&msg, &req);

	if (err)
		part_one_less(parts, err);
	else
		part_follow(req, &parts->list[k], on_part_arrived);
}

/* Checks the partitions that the sender's set-up message describes, and
 * allocates the state of each partition. 0 or an error. */
static int take_setup(struct weft_parts *parts)
{
	uint64_t n = parts->setup.n_parts, len = parts->setup.part_len;
	size_t room = total_len(parts);

	if (parts->setup_err)
		return parts->setup_err;
	if (len && n > room / len)
		return weft_err_set(WEFT_ERR_TRUNCATE,
			"%llu partitions of %llu bytes matched a partitioned "
			"receive of %zu bytes",
			(unsigned long long)n, (unsigned long long)len, room);
	if (!parts->list)
		parts->list = list_new(parts, parts->setup.n_parts);
	if (!parts->staging &&
		!weft_type_is_run(parts->req->type, parts->n * parts->count))
		parts->staging = malloc(room ? room : 1);
	if (!parts->list ||
		(!parts->staging && !weft_type_is_run(parts->req->type,
					    parts->n * parts->count)))
		return WEFT_ERR_NOMEM;
	return 0;
}

static void post_all(struct weft_parts *parts)
{
	struct weft_req *req = parts->req;
	uint32_t n = parts->setup.n_parts;
	char *run = parts->staging ? parts->staging
				   : (char *)req->buf + req->type->true_lb;

	req->status.source = req->src;
	req->status.tag = req->tag;
	req->status.len = (int64_t)(n * parts->setup.part_len);
	for (uint32_t k = 0; k < n; k++)
		parts->list[k].is_done = false;
	parts->n_left = (size_t)n + 1;
	for (uint32_t k = 0; k < n; k++)
		post_part(parts, k, run);
	part_one_less(parts, 0);
}

/* Begins a round. The set-up message has arrived. */
static void recv_round(struct weft_parts *parts)
{
	parts->err = take_setup(parts);
	if (parts->err)
		round_over(parts);
	else
		post_all(parts);
}

static int recv_start(struct weft_req *req)
{
	struct weft_parts *parts = req->parts;

	if (req->src == WEFT_PROC_NULL) {
		req->status.source = WEFT_PROC_NULL;
		req->status.tag = WEFT_ANY_TAG;
		weft_req_complete(req, 0);
		return 0;
	}
	weft_req_get(req);
	for (uint32_t k = 0; parts->list && k < parts->setup.n_parts; k++)
		parts->list[k].is_done = false;
	parts->err = 0;
	parts->is_waiting = !parts->has_setup;
	if (parts->has_setup)
		recv_round(parts);
	return 0;
}

static const struct weft_req_ops recv_ops = { .start = recv_start,
	.release = part_release };

static void on_setup_arrived(void *arg, struct weft_req *req)
{
	struct weft_parts *parts = arg;
	struct weft_req *mine = parts->req;

	parts->has_setup = true;
	parts->setup_err = req->status.err;
	if (!parts->setup_err && req->status.len != sizeof(parts->setup))
		parts->setup_err = WEFT_ERR_PROTO;
	if (parts->setup_err)
		parts->setup.n_parts = 0;
	weft_req_put(req);
	if (parts->is_waiting) {
		parts->is_waiting = false;
		recv_round(parts);
	}
	weft_req_put(mine);
}

static int post_setup(struct weft_parts *parts)
{
	struct weft_msg msg = part_message(parts, &parts->setup,
		sizeof(parts->setup), NULL, parts->req->tag);
	struct weft_req *req;
	int err;

	if (parts->req->src == WEFT_PROC_NULL)
		return 0;
	err = weft_irecv_locked(&msg, &req);
	if (err)
		return err;
	weft_req_get(parts->req);
	req->on_done = on_setup_arrived;
	req->on_done_arg = parts;
	if (req->is_done)
		on_setup_arrived(parts, req);
	return 0;
}

int weft_precv_init(
	const struct weft_msg *msg, int32_t n_parts, struct weft_req **req_out)
{
	struct weft_vci *vci = msg->comm->vci;
	struct weft_parts *parts = NULL;
	int err;

	weft_vci_lock(vci);
	err = parts_new(msg, n_parts, WEFT_REQ_RECV, &recv_ops, &parts);
	if (!err)
		err = post_setup(parts);
	if (err && parts)
		weft_req_put(parts->req);
	else if (!err)
		*req_out = parts->req;
	weft_vci_unlock(vci);
	return err;
}

/* True if all partitions of the sender that overlap partition k have arrived.
 */
static bool part_arrived(const struct weft_parts *parts, int32_t k)
{
	uint64_t mine = (uint64_t)(parts->count * parts->req->type->size);
	uint64_t len = parts->setup.part_len;
	uint64_t from = (uint64_t)k * mine, to = from + mine;

	if (parts->req->is_done)
		return true;
	if (!parts->has_setup || !parts->list || !len || !mine)
		return false;
	for (uint64_t i = from / len; i < parts->setup.n_parts && i * len < to;
		i++)
		if (!parts->list[i].is_done)
			return false;
	return true;
}

int weft_parrived(struct weft_req *req, int32_t k, bool *arrived_out)
{
	struct weft_parts *parts = req->parts;

	if (req->ops != &recv_ops)
		return weft_err_set(
			WEFT_ERR_REQUEST, "not a partitioned receive request");
	if (k < 0 || k >= parts->n)
		return weft_err_set(WEFT_ERR_ARG,
			"partition %d is out of range: the receive has %d", k,
			parts->n);
	weft_vci_lock(req->vci);
	if (!part_arrived(parts, k))
		weft_progress_try(req->vci);
	*arrived_out = part_arrived(parts, k);
	weft_vci_unlock(req->vci);
	return 0;
}

int weft_part_check_over(const struct weft_req *req, const char *what)
{
	int err = 0;

	if (req->ops != &send_ops && req->ops != &recv_ops)
		return 0;
	weft_vci_lock(req->vci);
	if (!req->is_done)
		err = weft_err_set(WEFT_ERR_REQUEST,
			"the partitioned request is active and cannot be %s; "
			"complete it first",
			what);
	weft_vci_unlock(req->vci);
	return err;
}
