/* SPDX-License-Identifier: BSD-3-Clause */
/* cb: collective buffering: aggregators, buffers and the decision to use them
 */
#include "io/cb_priv.h"

#include "base/bits.h"
#include "io/stat.h"
#include "io/stripe.h"
#include "io/syscall.h"
#include "transport/foreign.h"
#include "transport/vci.h"

#include <stdlib.h>
#include <unistd.h>

enum {
	/* least bytes of a slot without a hint: fits into a core's cache */
	LEN_DEFAULT = 1 << 20,
	/* without a hint, a slot has at least this many blocks of the file
	 * system */
	LEN_BLOCKS = 4,
};

/* Gathers n numbers from each member at all members. */
static int cb_gather(
	const struct weft_move *m, int n, const int64_t *mine, int64_t *all)
{
	return weft_file_gather(m->file, m->is_background, n, mine, all);
}

/* A thread of the program may read file->cb while a thread of the pool sets it.
 * The release in cb_store() publishes the fields of cb to the acquire in
 * cb_load(). */
static struct weft_cb *cb_load(const struct weft_file *file)
{
	return atomic_load_explicit(&file->cb, memory_order_acquire);
}

static void cb_store(struct weft_file *file, struct weft_cb *cb)
{
	atomic_store_explicit(&file->cb, cb, memory_order_release);
}

/* ---- aggregators and buffers ---- */

static bool cb_is_local(const struct weft_comm *comm, int32_t rank)
{
	bool is_local;

	weft_vci_lock(comm->vci);
	is_local = weft_foreign_is_local(
		weft_group_proc(comm->group, (uint32_t)rank));
	weft_vci_unlock(comm->vci);
	return is_local;
}

static int32_t lowest_on_node(const struct weft_comm *comm)
{
	for (int32_t r = 0; r < comm->rank; r++)
		if (cb_is_local(comm, r))
			return r;
	return comm->rank;
}

/* After a failure another process may still write to the buffer, so it is not
 * reused. */
static void cb_release_buffer(struct weft_cb *cb, int agg)
{
	struct weft_cb_buffer *buffer = &cb->buffers[agg];

	if (!cb->has_failed)
		weft_cb_cache_put(buffer);
	else if (buffer->share.base)
		weft_cb_cache_destroy(buffer);
	cb->mapped[agg] = NULL;
}

static void cb_free(struct weft_cb *cb)
{
	if (!cb)
		return;
	for (int i = 0; cb->buffers && cb->mapped && i < cb->n_aggs; i++)
		cb_release_buffer(cb, i);
	free(cb->private_buf);
	free(cb->buffers);
	free(cb->mapped);
	free(cb->states);
	free(cb->maps);
	free(cb->node);
	free(cb->aggs);
	free(cb);
}

void weft_cb_close(struct weft_file *file, bool is_complete)
{
	struct weft_cb *cb = cb_load(file);

	if (cb && !is_complete)
		cb->has_failed = true;
	cb_free(cb);
	cb_store(file, NULL);
	file->cb_is_unavailable = false;
}

static struct weft_cb *cb_new(int32_t size)
{
	struct weft_cb *cb = calloc(1, sizeof(*cb));

	if (!cb)
		return NULL;
	cb->aggs = calloc((size_t)size, sizeof(*cb->aggs));
	cb->node = calloc((size_t)size, sizeof(*cb->node));
	cb->maps = calloc((size_t)size, sizeof(*cb->maps));
	if (cb->aggs && cb->node && cb->maps)
		return cb;
	cb_free(cb);
	return NULL;
}

/* Allocates the arrays that have an entry for each aggregator. Creates this
 * process's buffer if it is an aggregator, shared if possible. */
static int cb_make_buffers(struct weft_cb *cb, const struct weft_comm *comm)
{
	int64_t len = WEFT_CB_SLOTS * cb->len;
	size_t n = (size_t)cb->n_aggs;
	struct weft_cb_buffer *mine;

	cb->mapped = calloc(n, sizeof(*cb->mapped));
	cb->buffers = calloc(n, sizeof(*cb->buffers));
	cb->states = calloc(n, sizeof(*cb->states));
	if (!cb->mapped || !cb->buffers || !cb->states)
		return WEFT_ERR_NOMEM;
	for (int i = 0; i < cb->n_aggs; i++)
		if (cb->aggs[i] == comm->rank)
			cb->mine = i;
	if (cb->mine < 0)
		return 0;
	mine = &cb->buffers[cb->mine];
	if (!comm->vci->shm || weft_cb_cache_create(len, mine))
		cb->private_buf = malloc((size_t)len);
	cb->mapped[cb->mine] =
		cb->private_buf ? cb->private_buf : mine->share.base;
	return cb->mapped[cb->mine] ? 0 : WEFT_ERR_NOMEM;
}

/* Each member sends this many numbers: its error and its buffer's owner,
 * descriptor and time of creation (cb_set_up_buffers()), or the numbers of
 * cb_agree_on_layout(). */
enum { CB_N_NUMBERS = 4 };

static bool cb_map_one(
	struct weft_cb *cb, int i, const int64_t *numbers, int32_t rank)
{
	numbers += CB_N_NUMBERS * cb->aggs[i];
	if (i == cb->mine || cb->node[cb->aggs[i]] != cb->node[rank])
		return true;
	cb->buffers[i] = (struct weft_cb_buffer){ .owner = (uint64_t)numbers[1],
		.created_ns = numbers[3],
		.len = WEFT_CB_SLOTS * cb->len };
	if (numbers[2] < 0 ||
		weft_cb_cache_map(&cb->buffers[i], (int)numbers[2]))
		return false;
	cb->mapped[i] = cb->buffers[i].share.base;
	return true;
}

/* Maps all buffers of the node, or none. True if all are mapped. */
static bool cb_map(struct weft_cb *cb, const int64_t *numbers,
	const struct weft_comm *comm)
{
	bool has_all = comm->vci->shm != NULL;

	for (int i = 0; i < cb->n_aggs && has_all; i++)
		has_all = cb_map_one(cb, i, numbers, comm->rank);
	for (int i = 0; i < cb->n_aggs && !has_all; i++)
		if (i != cb->mine)
			cb_release_buffer(cb, i);
	return has_all;
}

/* Computes aggregators, block, buffer length and unit, which are the same at
 * all members. numbers has space for CB_N_NUMBERS of each member. */
static int cb_agree_on_layout(
	const struct weft_move *m, struct weft_cb *cb, int64_t *numbers)
{
	const struct weft_file *file = m->file;
	const struct weft_comm *comm = file->comm;
	int64_t mine[CB_N_NUMBERS] = { lowest_on_node(comm),
		weft_syscall_block(file->fd), weft_cb_len(file),
		weft_stripe_of(file->fd).unit };
	int err = cb_gather(m, CB_N_NUMBERS, mine, numbers);

	if (err)
		return err;
	cb->len = mine[2];
	for (int32_t r = 0; r < comm->size; r++, numbers += CB_N_NUMBERS) {
		cb->node[r] = (int32_t)numbers[0];
		cb->block = weft_max64(cb->block, numbers[1]);
		cb->len = weft_min64(cb->len, numbers[2]);
		cb->unit = weft_max64(cb->unit, numbers[3]);
	}
	/* the stripes of the file have precedence over the hint */
	if (!cb->unit)
		cb->unit = file->hints.striping_unit ? file->hints.striping_unit
						     : cb->block;
	weft_cb_plan_aggregators(cb, comm->size, &file->hints);
	return 0;
}

/* Creates and maps the buffers. *refused_out is true if a member failed to
 * create its buffer. 0 or an error. */
static int cb_set_up_buffers(const struct weft_move *m, struct weft_cb *cb,
	int64_t *numbers, bool *refused_out)
{
	const struct weft_comm *comm = m->file->comm;
	int64_t mine[CB_N_NUMBERS] = { 0, (int64_t)weft_share_owner(), -1 };
	const struct weft_cb_buffer *own;
	int err;

	mine[0] = cb->n_aggs ? cb_make_buffers(cb, comm) : WEFT_ERR_NOMEM;
	own = mine[0] || cb->mine < 0 ? NULL : &cb->buffers[cb->mine];
	if (own && own->share.base) {
		mine[2] = own->share.fd;
		mine[3] = own->created_ns;
	}
	err = cb_gather(m, CB_N_NUMBERS, mine, numbers);
	for (int32_t r = 0; r < comm->size && !err; r++)
		*refused_out = *refused_out || numbers[CB_N_NUMBERS * r];
	if (err || *refused_out)
		return err;
	mine[0] = cb_map(cb, numbers, comm);
	err = cb_gather(m, 1, mine, numbers);
	for (int32_t r = 0; r < comm->size && !err; r++)
		cb->maps[r] = numbers[r] != 0;
	return err;
}

/* Sets up collective buffering: sets file->cb at all members, or
 * file->cb_is_unavailable at all members. 0 or an error. */
static int cb_open(const struct weft_move *m)
{
	struct weft_file *file = m->file;
	int32_t size = file->comm->size;
	struct weft_cb *cb = cb_new(size);
	int64_t *numbers =
		calloc((size_t)size, CB_N_NUMBERS * sizeof(*numbers));
	bool is_refused = false;
	int err;

	/* without this memory, the process cannot take part in the gather */
	if (!cb || !numbers) {
		cb_free(cb);
		free(numbers);
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a file");
	}
	err = cb_agree_on_layout(m, cb, numbers);
	if (!err)
		err = cb_set_up_buffers(m, cb, numbers, &is_refused);
	free(numbers);
	if (err || is_refused) {
		cb_free(cb);
		file->cb_is_unavailable = is_refused;
		return err;
	}
	cb_store(file, cb);
	return 0;
}

int64_t weft_cb_len(const struct weft_file *file)
{
	const struct weft_cb *cb = cb_load(file);

	if (cb)
		return cb->len;
	if (file->hints.cb_buffer_size)
		return file->hints.cb_buffer_size;
	return weft_max64(
		LEN_DEFAULT, LEN_BLOCKS * weft_syscall_block(file->fd));
}

int weft_cb_nodes(const struct weft_file *file)
{
	const struct weft_comm *comm = file->comm;
	const struct weft_cb *cb = cb_load(file);
	int64_t n = file->hints.cb_nodes, per = file->hints.cb_per_node;
	int32_t size = comm->size;

	if (cb)
		return cb->n_aggs;
	if (n && !per)
		return (int)weft_min64(n, size);
	for (int32_t r = 0; r < size; r++)
		if (!cb_is_local(comm, r))
			return 0;
	per = weft_min64(per ? per : 1, size);
	return (int)(n ? weft_min64(n, per) : per);
}

/* ---- the decision ---- */

bool weft_cb_is_possible(const struct weft_file *file, bool is_write)
{
	enum weft_file_choice choice =
		is_write ? file->hints.cb_write : file->hints.cb_read;

	return file->comm->size > 1 && choice != WEFT_FILE_DISABLE &&
	       !file->needs_conversion &&
	       (file->has_gaps_in_view || choice == WEFT_FILE_ENABLE) &&
	       /* acquire: accesses before weft_file_set_atomic() happen before
		* this access */
	       !atomic_load_explicit(&file->is_atomic, memory_order_acquire);
}

static void cb_describe_access(
	const struct weft_move *m, int64_t code, struct weft_cb_member *me)
{
	struct weft_view_sample sample;

	*me = (struct weft_cb_member){ .err_code = code };
	if (code || !m->len)
		return;
	sample = weft_view_sample(m->view, m->at, m->len);
	me->len = m->len;
	me->first = weft_view_byte_offset(m->view, m->at);
	me->end = weft_view_byte_offset(m->view, m->at + m->len - 1) + 1;
	if (sample.n && weft_view_is_monotone(m->view, m->at, m->len))
		me->run_len = weft_max64(sample.len / sample.n, 1);
}

static int cb_move_if_used(struct weft_move *m,
	const struct weft_cb_member *members, int err, bool *done_out)
{
	struct weft_file *file = m->file;
	struct weft_cb_plan plan = { .m = m, .members = members };
	struct weft_cb_sums all = weft_cb_plan_sum(members, file->comm->size);
	uint64_t since;
	int64_t call_ns;
	int rc = 0;

	for (int32_t r = 0; r < file->comm->size && !*done_out; r++)
		*done_out = members[r].err_code != 0;
	if (*done_out)
		return err;
	if (!cb_load(file))
		rc = cb_open(m);
	if (rc) {
		*done_out = true;
		return rc;
	}
	plan.cb = cb_load(file);
	if (!plan.cb || !weft_cb_plan_is_used(&all,
				m->is_write ? file->hints.cb_write
					    : file->hints.cb_read,
				m->is_write, plan.cb->block, file->comm->size))
		return 0;
	weft_cb_plan_domains(&plan, &all);
	*done_out = true;
	since = weft_stat_now(file);
	call_ns = weft_stat_call_ns(file);
	rc = weft_cb_exchange(&plan);
	weft_stat_time(file, &file->counters.file_buffered_ns, since);
	weft_counter_add(&file->counters.file_buffered_call_ns,
		weft_stat_call_ns(file) - call_ns);
	weft_counter_add(&file->counters.file_buffered, 1);
	return rc;
}

int weft_cb_move(struct weft_move *m, int err, bool *done_out)
{
	enum { N = sizeof(struct weft_cb_member) / sizeof(int64_t) };
	struct weft_file *file = m->file;
	struct weft_cb_member me, *members;
	int rc;

	*done_out = false;
	if (file->cb_is_unavailable)
		return err;
	members = calloc((size_t)file->comm->size, sizeof(*members));
	cb_describe_access(m, weft_file_err_encode(file, err), &me);
	if (!members) {
		*done_out = true;
		return weft_err_set(WEFT_ERR_NOMEM, "no memory for a file");
	}
	rc = cb_gather(m, N, (int64_t *)&me, (int64_t *)members);
	if (rc) {
		*done_out = true;
		err = err ? err : rc;
	} else {
		err = cb_move_if_used(m, members, err, done_out);
	}
	free(members);
	return err;
}
