/* SPDX-License-Identifier: BSD-3-Clause */
/* dt_win: one-sided operations with the types of a seed
 *
 * Each rank accesses the window of its right neighbor. Windows are allocated,
 * created or dynamic; epochs are of all four kinds. */
#ifndef TEST_DT_WIN_H
#define TEST_DT_WIN_H

#include "dt_case.h"

static struct window {
	MPI_Win win;
	char *mem;
	MPI_Aint base[PROCS_MAX]; /* displacement of mem[0] at each rank */
} windows[3];

static MPI_Group left_group, right_group;

/* An access to the window of the right neighbor. The left neighbor makes the
 * same access to the window of this process.
 */
static struct {
	struct window *w;
	MPI_Aint at; /* offset of the buffer in mem */
	size_t len;  /* bytes of mem that it uses, with guards */
	int epoch;
} win_now;

enum { FENCE, STARTED, LOCK, LOCK_ALL, N_EPOCHS };

static void windows_open(void)
{
	MPI_Group all;

	OK(MPI_Win_allocate(MEMORY, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
		&windows[0].mem, &windows[0].win));
	windows[1].mem = mtest_alloc(MEMORY);
	OK(MPI_Win_create(windows[1].mem, MEMORY, 1, MPI_INFO_NULL,
		MPI_COMM_WORLD, &windows[1].win));
	windows[2].mem = mtest_alloc(MEMORY);
	OK(MPI_Win_create_dynamic(
		MPI_INFO_NULL, MPI_COMM_WORLD, &windows[2].win));
	OK(MPI_Win_attach(windows[2].win, windows[2].mem, MEMORY));
	OK(MPI_Get_address(windows[2].mem, &windows[2].base[mtest.rank]));
	OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, windows[2].base, 1,
		MPI_AINT, MPI_COMM_WORLD));
	OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
	OK(MPI_Group_incl(all, 1, &left, &left_group));
	OK(MPI_Group_incl(all, 1, &right, &right_group));
	OK(MPI_Group_free(&all));
}

static void windows_close(void)
{
	OK(MPI_Group_free(&left_group));
	OK(MPI_Group_free(&right_group));
	OK(MPI_Win_detach(windows[2].win, windows[2].mem));
	for (int i = 0; i < 3; i++)
		OK(MPI_Win_free(&windows[i].win));
	free(windows[1].mem);
	free(windows[2].mem);
}

/* Writes to mem the contents of a rank's memory before the access. */
static void memory_fill(char *mem, int rank)
{
	fill(mem, win_now.len, tag_of(rank, WINDOW));
}

/* Selects a window, an epoch, and memory for count items. Begins the epoch. */
static void win_begin(const struct map *m, int count, int align)
{
	MPI_Aint low, high;
	MPI_Win win;

	map_span(m, count, &low, &high);
	win_now.w = &windows[draw(3)];
	win_now.epoch = draw(N_EPOCHS);
	win_now.at = GUARD - low +
		     (align ? (low % align + align) % align : draw(16));
	win_now.len = (size_t)(high - low) + 2 * GUARD + 16;
	win = win_now.w->win;
	OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mtest.rank, 0, win));
	memory_fill(win_now.w->mem, mtest.rank);
	OK(MPI_Win_unlock(mtest.rank, win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (win_now.epoch == FENCE)
		OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
	if (win_now.epoch == STARTED) {
		OK(MPI_Win_post(left_group, 0, win));
		OK(MPI_Win_start(right_group, 0, win));
	}
	if (win_now.epoch == LOCK)
		OK(MPI_Win_lock(
			one_of(2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, right,
			0, win));
	if (win_now.epoch == LOCK_ALL)
		OK(MPI_Win_lock_all(0, win));
}

static void win_end(void)
{
	MPI_Win win = win_now.w->win;

	if (win_now.epoch == FENCE)
		OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
	if (win_now.epoch == STARTED) {
		OK(MPI_Win_complete(win));
		OK(MPI_Win_wait(win));
	}
	if (win_now.epoch == LOCK)
		OK(MPI_Win_unlock(right, win));
	if (win_now.epoch == LOCK_ALL) {
		OK(MPI_Win_flush(right, win));
		OK(MPI_Win_unlock_all(win));
	}
	OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Checks that the window of this rank has this stream and is unchanged
 * otherwise. Frees the stream. */
static void win_expect(char *stream)
{
	char *want = mtest_alloc(win_now.len);
	MPI_Win win = win_now.w->win;

	memory_fill(want, mtest.rank);
	if (stream)
		map_move(&now.to->map, now.n_to, want + win_now.at, stream,
			false);
	OK(MPI_Win_lock(MPI_LOCK_SHARED, mtest.rank, 0, win));
	compare(win_now.w->mem, want, win_now.len);
	OK(MPI_Win_unlock(mtest.rank, win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	free(want);
	free(stream);
}

/* Returns the data of the count items that a rank's memory has before the
 * access. */
static char *memory_stream(const struct map *m, int count, int rank)
{
	char *mem = mtest_alloc(win_now.len);
	char *stream = mtest_alloc((size_t)(map_size(m) * count));

	memory_fill(mem, rank);
	map_move(m, count, mem + win_now.at, stream, true);
	free(mem);
	return stream;
}

static MPI_Aint win_disp(void)
{
	return win_now.w->base[right] + win_now.at;
}

static bool win_has_request(void)
{
	return win_now.epoch >= LOCK && one_of(2);
}

static void op_put(void)
{
	struct area from = to_send();
	MPI_Request req = MPI_REQUEST_NULL;

	win_begin(&now.to->map, now.n_to, 0);
	if (win_has_request())
		OK(MPI_Rput(from.at, now.n_from, now.from->type, right,
			win_disp(), now.n_to, now.to->type, win_now.w->win,
			&req));
	else
		OK(MPI_Put(from.at, now.n_from, now.from->type, right,
			win_disp(), now.n_to, now.to->type, win_now.w->win));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	win_end();
	win_expect(sent_by(left));
	expect_sent(&from, &now.from->map, now.n_from);
}

static void op_get(void)
{
	struct area to = to_receive();
	MPI_Request req = MPI_REQUEST_NULL;

	win_begin(&now.from->map, now.n_from, 0);
	if (win_has_request())
		OK(MPI_Rget(to.at, now.n_to, now.to->type, right, win_disp(),
			now.n_from, now.from->type, win_now.w->win, &req));
	else
		OK(MPI_Get(to.at, now.n_to, now.to->type, right, win_disp(),
			now.n_from, now.from->type, win_now.w->win));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	win_end();
	expect(&to, now.n_to, tag_of(mtest.rank, RECEIVED),
		&(struct arrival){
			0, memory_stream(&now.from->map, now.n_from, right) },
		1);
	win_expect(NULL);
}

/* Combines two streams of elements of this size, modulo 2^(8 size). */
static char *combined(MPI_Op op, char *was, const char *in, int size)
{
	if (op == MPI_NO_OP)
		return was;
	if (op == MPI_REPLACE)
		return memcpy(was, in, now.len);
	for (size_t i = 0; i < now.len; i += (size_t)size) {
		unsigned carry = 0;

		for (size_t k = i; k < i + (size_t)size; k++) {
			carry += (unsigned char)was[k] + (unsigned char)in[k];
			was[k] = (char)(op == MPI_SUM ? (char)carry
						      : was[k] ^ in[k]);
			carry >>= 8;
		}
	}
	return was;
}

/* True if the target type has one predefined type, on which accumulates are
 * defined. Draws *op. */
static bool may_accumulate(MPI_Op *op)
{
	const MPI_Op ops[4] = { MPI_REPLACE, MPI_NO_OP, MPI_SUM, MPI_BXOR };
	int basic = map_basic(&now.to->map);

	if (basic < 0 || dt_rules.unit % basics[basic].align)
		return false;
	*op = ops[draw(basics[basic].is_integer ? 4 : 2)];
	return true;
}

static void op_accumulate(void)
{
	const struct map *m = &now.to->map;
	MPI_Request req = MPI_REQUEST_NULL;
	struct area from;
	char *sent, *was;
	MPI_Op op;

	if (!may_accumulate(&op) || op == MPI_NO_OP)
		return;
	from = to_send();
	win_begin(m, now.n_to, 16);
	if (win_has_request())
		OK(MPI_Raccumulate(from.at, now.n_from, now.from->type, right,
			win_disp(), now.n_to, now.to->type, op, win_now.w->win,
			&req));
	else
		OK(MPI_Accumulate(from.at, now.n_from, now.from->type, right,
			win_disp(), now.n_to, now.to->type, op,
			win_now.w->win));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	win_end();
	sent = sent_by(left);
	was = memory_stream(m, now.n_to, mtest.rank);
	win_expect(combined(op, was, sent, basics[m->e[0].basic].len[0]));
	free(sent);
	expect_sent(&from, &now.from->map, now.n_from);
}

static void op_get_accumulate(void)
{
	const struct map *m = &now.to->map;
	MPI_Request req = MPI_REQUEST_NULL;
	struct area from, result;
	char *sent, *was;
	MPI_Op op;

	if (!may_accumulate(&op))
		return;
	from = to_send();
	result = to_receive();
	win_begin(m, now.n_to, 16);
	if (win_has_request())
		OK(MPI_Rget_accumulate(from.at, now.n_from, now.from->type,
			result.at, now.n_to, now.to->type, right, win_disp(),
			now.n_to, now.to->type, op, win_now.w->win, &req));
	else
		OK(MPI_Get_accumulate(from.at, now.n_from, now.from->type,
			result.at, now.n_to, now.to->type, right, win_disp(),
			now.n_to, now.to->type, op, win_now.w->win));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	win_end();
	expect(&result, now.n_to, tag_of(mtest.rank, RECEIVED),
		&(struct arrival){ 0, memory_stream(m, now.n_to, right) }, 1);
	sent = sent_by(left);
	was = memory_stream(m, now.n_to, mtest.rank);
	win_expect(combined(op, was, sent, basics[m->e[0].basic].len[0]));
	free(sent);
	expect_sent(&from, &now.from->map, now.n_from);
}

#endif
