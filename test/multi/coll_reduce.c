/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll_reduce: reduce, allreduce, reduce_scatter, scan, exscan
 *
 * With a predefined operation and with user-defined operations. One of these is
 * not commutative: maps x -> a x + b, composed in rank order.
 */
#include "coll.h"

struct map {
	unsigned a, b;
};

static int n;
static MPI_Op compose, add;
static MPI_Datatype map_type;
static int calls;

static struct map then(struct map first, struct map second)
{
	return (struct map){ first.a * second.a,
		first.b * second.a + second.b };
}

static void compose_fn(void *in, void *inout, int *len, MPI_Datatype *type)
{
	const struct map *left = in;
	struct map *right = inout;

	calls++;
	if (*type != map_type)
		CHECK(false, "the operation gets the type of the call");
	for (int i = 0; i < *len; i++)
		right[i] = then(left[i], right[i]);
}

static void add_fn(void *in, void *inout, int *len, MPI_Datatype *type)
{
	(void)type;
	for (int i = 0; i < *len; i++)
		((int *)inout)[i] += ((int *)in)[i];
}

static struct map element(int rank, int i)
{
	return (struct map){ 2u * (rank + i) + 3, 7u * rank + i + 1 };
}

/* Returns the composition of the maps that ranks first to last have as element
 * i. */
static struct map folded(int first, int last, int i)
{
	struct map all = element(first, i);

	for (int r = first + 1; r <= last; r++)
		all = then(all, element(r, i));
	return all;
}

static struct map *mine(int me, int len)
{
	struct map *buf = mtest_alloc(sizeof(*buf) * (len + 1));

	for (int i = 0; i < len; i++)
		buf[i] = element(me, i);
	return buf;
}

static int count_bad(const struct map *got, int last, int from, int len)
{
	int bad = 0;

	for (int i = 0; i < len; i++) {
		struct map want = folded(0, last, from + i);

		bad += got[i].a != want.a || got[i].b != want.b;
	}
	return bad;
}

static void ordered_reduce(MPI_Comm comm, int me, int size, bool in_place)
{
	for (int root = 0; root < size; root++) {
		struct map *buf = mine(me, n), *out = mine(99, n);
		bool hidden = in_place && me == root;

		OK(coll_reduce(hidden ? MPI_IN_PLACE : buf, hidden ? buf : out,
			n, map_type, compose, root, comm));
		CHECK(me != root ||
				!count_bad(hidden ? buf : out, size - 1, 0, n),
			"a reduce of %d items in rank order is right at %d of "
			"%d",
			n, root, size);
		free(buf);
		free(out);
	}
}

static void ordered_all(MPI_Comm comm, int me, int size, bool in_place)
{
	struct map *buf = mine(me, n), *out = mine(99, n);
	struct map *at = in_place ? buf : out;

	OK(coll_allreduce(
		in_place ? MPI_IN_PLACE : buf, at, n, map_type, compose, comm));
	CHECK(!count_bad(at, size - 1, 0, n),
		"an allreduce of %d items on %d processes is right", n, size);
	free(buf);
	buf = mine(me, n);
	at = in_place ? buf : out;
	OK(coll_scan(
		in_place ? MPI_IN_PLACE : buf, at, n, map_type, compose, comm));
	CHECK(!count_bad(at, me, 0, n),
		"a scan of %d items on %d processes is right", n, size);
	free(buf);
	buf = mine(me, n);
	at = in_place ? buf : out;
	OK(coll_exscan(
		in_place ? MPI_IN_PLACE : buf, at, n, map_type, compose, comm));
	CHECK(me == 0 || !count_bad(at, me - 1, 0, n),
		"an exscan of %d items on %d processes is right", n, size);
	free(buf);
	free(out);
}

static void ordered_scatter(MPI_Comm comm, int me, int size, bool in_place)
{
	int len[64], from = 0, total = 0;

	for (int r = 0; r < size; r++) {
		len[r] = (r * 3 + 1) % 4 * n / 3;
		from += r < me ? len[r] : 0;
		total += len[r];
	}
	struct map *buf = mine(me, total + n * size);
	struct map *out = mine(99, total + n);
	struct map *at = in_place ? buf : out;

	OK(coll_reduce_scatter(in_place ? MPI_IN_PLACE : buf, at, len, map_type,
		compose, comm));
	CHECK(!count_bad(at, size - 1, from, len[me]),
		"a reduce_scatter on %d processes is right, %d items for this "
		"one",
		size, len[me]);
	free(buf);
	buf = mine(me, total + n * size);
	at = in_place ? buf : out;
	OK(coll_reduce_scatter_block(
		in_place ? MPI_IN_PLACE : buf, at, n, map_type, compose, comm));
	CHECK(!count_bad(at, size - 1, n * me, n),
		"a reduce_scatter_block on %d processes is right, blocks of %d",
		size, n);
	free(buf);
	free(out);
}

/* Reduces integers with op, which is MPI_SUM or a commutative operation of the
 * program. */
static void commuting(MPI_Comm comm, int me, int size, MPI_Op op)
{
	int *in = coll_ints(n * size), *out = coll_ints(n * size + 1), bad = 0;
	int all = size * (size - 1) / 2, below = me * (me - 1) / 2;

	for (int i = 0; i < n * size; i++)
		in[i] = me + i;
	OK(coll_allreduce(in, out, n, MPI_INT, op, comm));
	for (int i = 0; i < n; i++)
		bad += out[i] != all + i * size;
	OK(coll_scan(in, out, n, MPI_INT, op, comm));
	for (int i = 0; i < n; i++)
		bad += out[i] != below + me + i * (me + 1);
	OK(coll_exscan(in, out, n, MPI_INT, op, comm));
	for (int i = 0; i < n && me; i++)
		bad += out[i] != below + i * me;
	OK(coll_reduce_scatter_block(in, out, n, MPI_INT, op, comm));
	for (int i = 0; i < n; i++)
		bad += out[i] != all + (n * me + i) * size;
	for (int root = 0; root < size; root++) {
		OK(coll_reduce(in, out, n, MPI_INT, op, root, comm));
		for (int i = 0; i < n && me == root; i++)
			bad += out[i] != all + i * size;
	}
	CHECK(bad == 0, "sums of %d items on %d processes: %d are wrong", n,
		size, bad);
	CHECK(out[n * size] == -1,
		"the reduction writes nothing beyond the buffer");
	free(in);
	free(out);
}

static unsigned absolute[2];

static unsigned *absolute_in(void *base)
{
	MPI_Aint at;

	OK(MPI_Get_address(absolute, &at));
	return (unsigned *)((uintptr_t)base + (uintptr_t)at);
}

static void add_absolute(void *in, void *inout, int *len, MPI_Datatype *type)
{
	(void)type;
	CHECK(*len == 1, "the operation gets one item, got %d", *len);
	for (int i = 0; i < 2; i++)
		absolute_in(inout)[i] += absolute_in(in)[i];
}

/* A type with absolute addresses, for MPI_BOTTOM. */
static void at_bottom(MPI_Comm comm, int me, int size)
{
	const int len = 2;
	MPI_Datatype unsigneds = MPI_UNSIGNED, type;
	MPI_Aint at;
	MPI_Op op;

	OK(MPI_Get_address(absolute, &at));
	OK(MPI_Type_create_struct(1, &len, &at, &unsigneds, &type));
	OK(MPI_Type_commit(&type));
	OK(MPI_Op_create(add_absolute, 1, &op));
	for (int i = 0; i < 4; i++) {
		absolute[0] = (unsigned)me;
		absolute[1] = 1;
		OK(MPI_Allreduce(MPI_IN_PLACE, MPI_BOTTOM, 1, type, op, comm));
		CHECK(absolute[0] == (unsigned)(size * (size - 1) / 2) &&
				absolute[1] == (unsigned)size,
			"an allreduce at MPI_BOTTOM is right: %u %u",
			absolute[0], absolute[1]);
		absolute[0] = (unsigned)me;
		absolute[1] = 1;
		OK(MPI_Scan(MPI_IN_PLACE, MPI_BOTTOM, 1, type, op, comm));
		CHECK(absolute[0] == (unsigned)(me * (me + 1) / 2) &&
				absolute[1] == (unsigned)me + 1,
			"a scan at MPI_BOTTOM is right: %u %u", absolute[0],
			absolute[1]);
	}
	OK(MPI_Op_free(&op));
	OK(MPI_Type_free(&type));
}

static void all_reductions(MPI_Comm comm, int me, int size)
{
	for (int in_place = 0; in_place < 2; in_place++) {
		ordered_reduce(comm, me, size, in_place);
		ordered_all(comm, me, size, in_place);
		ordered_scatter(comm, me, size, in_place);
	}
	commuting(comm, me, size, MPI_SUM);
	commuting(comm, me, size, add);
}

static void local(void)
{
	struct map left[3], right[3];
	int commutes = -1;

	for (int i = 0; i < 3; i++) {
		left[i] = element(0, i);
		right[i] = element(1, i);
	}
	OK(MPI_Reduce_local(left, right, 3, map_type, compose));
	CHECK(!count_bad(right, 1, 0, 3),
		"reduce_local applies the operation to in, then inout");
	OK(MPI_Op_commutative(compose, &commutes));
	CHECK(!commutes, "the composition does not commute");
	OK(MPI_Op_commutative(add, &commutes));
	CHECK(commutes, "the addition commutes");
	OK(MPI_Op_commutative(MPI_MAX, &commutes));
	CHECK(commutes, "MPI_MAX commutes");
}

int main(int argc, char **argv)
{
	static const int counts[] = { 0, 1, 6, 300, 1500 };

	mtest_init(&argc, &argv);
	coll_form(argc, argv);
	OK(MPI_Type_contiguous(2, MPI_UNSIGNED, &map_type));
	OK(MPI_Type_commit(&map_type));
	OK(MPI_Op_create(compose_fn, 0, &compose));
	OK(MPI_Op_create(add_fn, 1, &add));
	local();
	for (int i = 0; i < 5; i++) {
		n = counts[i];
		coll_each_comm(all_reductions);
	}
	coll_each_comm(at_bottom);
	n = (int)mtest_arg(argc, argv, "big", 30000);
	all_reductions(MPI_COMM_WORLD, mtest.rank, mtest.size);
	CHECK(calls > 0, "the operation was called");
	OK(MPI_Op_free(&compose));
	CHECK(compose == MPI_OP_NULL, "a freed operation is null");
	OK(MPI_Op_free(&add));
	OK(MPI_Type_free(&map_type));
	return mtest_finish();
}
