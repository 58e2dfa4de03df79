/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p_derived: messages of derived datatypes, the same or different at both
 * ends
 *
 * Each layout lists the ints of its type, in order. Sender and receiver use any
 * two layouts with the same number of ints. The receiver's gaps must not
 * change.
 */
#include "mtest.h"
#include <stddef.h>

enum { ROOM = 64, N_LAYOUTS = 11, INTS = 12 };

struct layout {
	const char *name;
	MPI_Datatype type;
	int count;    /* items of the type that have INTS ints */
	int at[INTS]; /* index of each int of the message in the buffer */
};

static struct layout layouts[N_LAYOUTS];
static int n_layouts;

static void add(const char *name, MPI_Datatype type, int count, const int *at)
{
	struct layout *lay = &layouts[n_layouts++];

	OK(MPI_Type_commit(&type));
	lay->name = name;
	lay->type = type;
	lay->count = count;
	memcpy(lay->at, at, sizeof(lay->at));
}

static void add_simple(void)
{
	const int line[INTS] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 };
	const int strided[INTS] = { 0, 1, 5, 6, 10, 11, 15, 16, 20, 21, 25,
		26 };
	const int twice[INTS] = { 0, 4, 8, 12, 16, 20, 21, 25, 29, 33, 37, 41 };
	MPI_Datatype type;

	OK(MPI_Type_contiguous(3, MPI_INT, &type));
	add("contiguous", type, 4, line);
	OK(MPI_Type_vector(6, 2, 5, MPI_INT, &type));
	add("vector", type, 1, strided);
	OK(MPI_Type_vector(6, 1, 4, MPI_INT, &type));
	add("two vectors", type, 2, twice);
	OK(MPI_Type_create_hvector(6, 2, 5 * sizeof(int), MPI_INT, &type));
	add("hvector", type, 1, strided);
	OK(MPI_Type_dup(layouts[1].type, &type));
	add("dup of vector", type, 1, strided);
}

static void add_indexed(void)
{
	const int lens[4] = { 3, 0, 5, 4 }, places[4] = { 40, 7, 20, 0 };
	const int scattered[INTS] = { 40, 41, 42, 20, 21, 22, 23, 24, 0, 1, 2,
		3 };
	const int starts[4] = { 9, 30, 3, 21 };
	const int blocks[INTS] = { 9, 10, 11, 30, 31, 32, 3, 4, 5, 21, 22, 23 };
	MPI_Aint bytes[4];
	MPI_Datatype type;

	for (int i = 0; i < 4; i++)
		bytes[i] = places[i] * sizeof(int);
	OK(MPI_Type_indexed(4, lens, places, MPI_INT, &type));
	add("indexed, backwards", type, 1, scattered);
	OK(MPI_Type_create_hindexed(4, lens, bytes, MPI_INT, &type));
	add("hindexed, backwards", type, 1, scattered);
	OK(MPI_Type_create_indexed_block(4, 3, starts, MPI_INT, &type));
	add("indexed_block", type, 1, blocks);
}

static void add_nested(void)
{
	const int nested[INTS] = { 0, 2, 4, 8, 9, 12, 20, 22, 24, 28, 29, 32 };
	const int spread[INTS] = { 0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50,
		55 };
	const int square[INTS] = { 10, 11, 12, 18, 19, 20, 26, 27, 28, 34, 35,
		36 };
	const int lens[3] = { 1, 2, 1 }, sizes[2] = { 8, 8 };
	const int subs[2] = { 4, 3 }, from[2] = { 1, 2 };
	MPI_Datatype parts[3] = { MPI_DATATYPE_NULL, MPI_INT, MPI_INT };
	MPI_Aint at[3] = { 0, 8 * sizeof(int), 12 * sizeof(int) };
	MPI_Datatype inner, type;

	OK(MPI_Type_vector(3, 1, 2, MPI_INT, &parts[0]));
	OK(MPI_Type_create_struct(3, lens, at, parts, &inner));
	OK(MPI_Type_create_resized(inner, 0, 20 * sizeof(int), &type));
	add("struct, resized", type, 2, nested);
	OK(MPI_Type_free(&parts[0]));
	OK(MPI_Type_free(&inner));
	OK(MPI_Type_create_resized(MPI_INT, 0, 5 * sizeof(int), &type));
	add("resized int", type, INTS, spread);
	OK(MPI_Type_create_subarray(
		2, sizes, subs, from, MPI_ORDER_C, MPI_INT, &type));
	add("subarray", type, 1, square);
}

static bool check_in(const int *in, const struct layout *lay, int seed)
{
	int expect[ROOM];

	for (int i = 0; i < ROOM; i++)
		expect[i] = -1;
	for (int k = 0; k < INTS; k++)
		expect[lay->at[k]] = seed + k;
	return memcmp(in, expect, sizeof(expect)) == 0;
}

static void exchange(const struct layout *to, const struct layout *from)
{
	int right = (mtest.rank + 1) % mtest.size, n = -1, elements = -1;
	int left = (mtest.rank + mtest.size - 1) % mtest.size;
	int out[ROOM], in[ROOM];
	MPI_Status st;

	for (int i = 0; i < ROOM; i++) {
		out[i] = -2;
		in[i] = -1;
	}
	for (int k = 0; k < INTS; k++)
		out[from->at[k]] = 1000 * mtest.rank + k;
	OK(MPI_Sendrecv(out, from->count, from->type, right, 1, in, to->count,
		to->type, left, 1, MPI_COMM_WORLD, &st));
	OK(MPI_Get_count(&st, to->type, &n));
	OK(MPI_Get_elements(&st, MPI_INT, &elements));
	CHECK(n == to->count && elements == INTS,
		"%s: the status has the count, %d of %d ints", to->name,
		elements, INTS);
	CHECK(check_in(in, to, 1000 * left), "a message of %s arrives in %s",
		from->name, to->name);
}

/* The last item is received in part: the count is undefined, and the number of
 * elements is not. */
static void partial(void)
{
	int right = (mtest.rank + 1) % mtest.size, n = 0, elements = 0;
	int left = (mtest.rank + mtest.size - 1) % mtest.size;
	int out[5] = { 1, 2, 3, 4, 5 }, in[ROOM] = { 0 };
	MPI_Status st;

	OK(MPI_Sendrecv(out, 5, MPI_INT, right, 1, in, 4, layouts[0].type, left,
		1, MPI_COMM_WORLD, &st));
	OK(MPI_Get_count(&st, layouts[0].type, &n));
	OK(MPI_Get_elements(&st, layouts[0].type, &elements));
	CHECK(n == MPI_UNDEFINED, "5 ints are no whole number of triples");
	CHECK(elements == 5, "5 ints are 5 elements, got %d", elements);
	CHECK(memcmp(in, out, sizeof(out)) == 0, "the part is delivered");
}

/* Exchanges a matrix column of this many rows, so that long strided messages
 * are sent, too. */
static void columns(int rows)
{
	int right = (mtest.rank + 1) % mtest.size;
	int left = (mtest.rank + mtest.size - 1) % mtest.size;
	double *out = mtest_alloc(rows * 4 * sizeof(double));
	double *in = calloc(rows * 3, sizeof(double));
	MPI_Datatype narrow, wide;
	int bad = 0;

	for (int i = 0; i < rows * 4; i++)
		out[i] = mtest.rank + i * 0.5;
	OK(MPI_Type_vector(rows, 1, 4, MPI_DOUBLE, &wide));
	OK(MPI_Type_vector(rows, 1, 3, MPI_DOUBLE, &narrow));
	OK(MPI_Type_commit(&wide));
	OK(MPI_Type_commit(&narrow));
	OK(MPI_Sendrecv(out + 1, 1, wide, right, 1, in + 2, 1, narrow, left, 1,
		MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	for (int i = 0; i < rows * 3; i++)
		bad += in[i] !=
		       (i % 3 == 2 ? left + (i / 3 * 4 + 1) * 0.5 : 0.0);
	CHECK(bad == 0, "%d rows arrive, %d items are wrong", rows, bad);
	/* a strided send to a contiguous receive */
	memset(in, 0, rows * sizeof(double));
	OK(MPI_Sendrecv(out + 3, 1, wide, right, 2, in, rows, MPI_DOUBLE, left,
		2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	bad = 0;
	for (int i = 0; i < rows; i++)
		bad += in[i] != left + (i * 4 + 3) * 0.5;
	CHECK(bad == 0,
		"%d rows arrive in contiguous memory, %d items are wrong", rows,
		bad);
	OK(MPI_Type_free(&wide));
	OK(MPI_Type_free(&narrow));
	free(out);
	free(in);
}

/* Uses types with absolute addresses, and frees them while they are in use. */
static void bottom(void)
{
	int right = (mtest.rank + 1) % mtest.size, a = mtest.rank,
	    got[2] = { 0 };
	int left = (mtest.rank + mtest.size - 1) % mtest.size;
	double b = mtest.rank * 1.5, got_b = 0;
	MPI_Datatype kinds[2] = { MPI_INT, MPI_DOUBLE }, out, in;
	const int lens[2] = { 1, 1 };
	MPI_Request req[2];
	MPI_Aint at[2];

	OK(MPI_Get_address(&a, &at[0]));
	OK(MPI_Get_address(&b, &at[1]));
	OK(MPI_Type_create_struct(2, lens, at, kinds, &out));
	OK(MPI_Get_address(&got[1], &at[0]));
	OK(MPI_Get_address(&got_b, &at[1]));
	OK(MPI_Type_create_struct(2, lens, at, kinds, &in));
	OK(MPI_Type_commit(&out));
	OK(MPI_Type_commit(&in));
	OK(MPI_Irecv(MPI_BOTTOM, 1, in, left, 1, MPI_COMM_WORLD, &req[0]));
	OK(MPI_Isend(MPI_BOTTOM, 1, out, right, 1, MPI_COMM_WORLD, &req[1]));
	OK(MPI_Type_free(&in));
	OK(MPI_Type_free(&out));
	CHECK(in == MPI_DATATYPE_NULL, "a freed type is null");
	OK(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
	CHECK(got[0] == 0 && got[1] == left, "the int arrives at its address");
	CHECK(got_b == left * 1.5, "the double arrives at its address");
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	add_simple();
	add_indexed();
	add_nested();
	for (int i = 0; i < n_layouts; i++)
		for (int j = 0; j < n_layouts; j++)
			exchange(&layouts[i], &layouts[j]);
	partial();
	for (int rows = 1; rows < 300000; rows = rows * 7 + 1)
		columns(rows);
	bottom();
	for (int i = 0; i < n_layouts; i++)
		OK(MPI_Type_free(&layouts[i].type));
	return mtest_finish();
}
