/* SPDX-License-Identifier: BSD-3-Clause */
/* dt_case: the two types of a seed, and comparison with their type maps
 *
 * draw_case() in dt_random.c sets `now`; the operations use it. Streams and
 * areas depend on the seed, the rank and the role, so each rank computes the
 * data of all others. */
#ifndef TEST_DT_CASE_H
#define TEST_DT_CASE_H

#include "dt_map.h"

enum {
	PROCS_MAX = 16,
	SPAN_MAX = 100000, /* limit for the bytes from the first to the last of
			      a buffer */
	MEMORY = 1 << 18,  /* limit for a window, and for the part of a file of
			      one rank */
	PARTITIONS_MAX = 32,
};

enum role { SENT, RECEIVED, WINDOW, RESULT, N_ROLES };

static struct {
	long seed;
	struct node *from, *to;
	int n_from, n_to;
	size_t len; /* bytes of the stream of n_from or of n_to items */
	const char *op;
} now;

static int left, right;

static uint64_t tag_of(int rank, enum role role)
{
	return ((uint64_t)now.seed * PROCS_MAX + (uint64_t)rank) * N_ROLES +
	       role;
}

/* Returns the stream of count items of a buffer that has this tag. */
static char *stream_of(const struct map *m, int count, uint64_t tag)
{
	struct area area = area_new(m, count, tag);
	char *stream = mtest_alloc((size_t)(map_size(m) * count));

	map_move(m, count, area.at, stream, true);
	free(area.mem);
	return stream;
}

static char *sent_by(int rank)
{
	return stream_of(&now.from->map, now.n_from, tag_of(rank, SENT));
}

static void compare(const char *got, const char *want, size_t len)
{
	size_t at = 0;

	while (at < len && got[at] == want[at])
		at++;
	if (!CHECK(at == len, "seed=%ld %s: byte %zu of %zu is %d, not %d",
		    now.seed, now.op, at, len, at < len ? got[at] : 0,
		    at < len ? want[at] : 0))
		fprintf(stderr, "# rank %d: from %d of %s\n#   to %d of %s\n",
			mtest.rank, now.n_from, now.from->text, now.n_to,
			now.to->text);
}

/* Received data: n_to items from each rank, beginning at item `at`. */
struct arrival {
	int at;
	char *stream; /* the data; expect() frees it */
};

/* Checks that the area has the received data and is unchanged otherwise. Frees
 * it.
 */
static void expect(struct area *got, int count, uint64_t tag,
	const struct arrival *arrivals, int n)
{
	const struct map *m = &now.to->map;
	struct area want = area_new(m, count, tag);

	for (int i = 0; i < n; i++) {
		map_move(m, now.n_to, want.at + arrivals[i].at * map_extent(m),
			arrivals[i].stream, false);
		free(arrivals[i].stream);
	}
	compare(got->mem, want.mem, want.len);
	free(want.mem);
	free(got->mem);
}

static void expect_from(struct area *got, int rank)
{
	expect(got, now.n_to, tag_of(mtest.rank, RECEIVED),
		&(struct arrival){ 0, sent_by(rank) }, 1);
}

static struct area to_send(void)
{
	return area_new(&now.from->map, now.n_from, tag_of(mtest.rank, SENT));
}

static struct area to_receive(void)
{
	return area_new(&now.to->map, now.n_to, tag_of(mtest.rank, RECEIVED));
}

/* Checks that sent data is unchanged. Frees the area. */
static void expect_sent(struct area *area, const struct map *m, int count)
{
	struct area want = area_new(m, count, tag_of(mtest.rank, SENT));

	compare(area->mem, want.mem, want.len);
	free(want.mem);
	free(area->mem);
}

static void check_status(const MPI_Status *status)
{
	int basic = map_basic(&now.to->map), n = -1, want;

	if (basic < 0 || basic > N_SINGLE)
		return;
	want = now.n_to * now.to->map.n;
	OK(MPI_Get_elements(status, now.to->type, &n));
	CHECK(n == want, "seed=%ld %s: the status has all elements: %d",
		now.seed, now.op, n);
	OK(MPI_Get_count(status, basics[basic].type, &n));
	CHECK(n == want, "seed=%ld %s: the status counts all elements: %d",
		now.seed, now.op, n);
}

#endif
