/* SPDX-License-Identifier: BSD-3-Clause */
/* win_ops: results of accesses to windows
 *
 * Accumulates of every predefined type with every operation are compared with a
 * local computation. Other cases: derived types, single elements, requests,
 * MPI_PROC_NULL, empty accesses, and increments by all processes at the same
 * time.
 *
 * Each process accesses the window of its right neighbour. Its own window
 * therefore has the results of its left neighbour. */
#include "mtest.h"

static int left, right;

/* ---- numbers of every predefined type ---- */

enum kind {
	INT,
	FLOAT,
	DOUBLE,
	LONG_DOUBLE,
	COMPLEX_FLOAT,
	COMPLEX_DOUBLE,
	PAIR
};

struct pair_float {
	float v;
	int i;
};
struct pair_double {
	double v;
	int i;
};
struct pair_long {
	long v;
	int i;
};
struct pair_int {
	int v;
	int i;
};
struct pair_short {
	short v;
	int i;
};
struct pair_long_double {
	long double v;
	int i;
};

static const struct type {
	MPI_Datatype type;
	const char *name;
	enum kind kind;
	size_t size; /* bytes of an item; of a pair, bytes of its value */
} types[] = {
#define TYPE(name, kind, ctype)                  \
	{                                        \
		name, #name, kind, sizeof(ctype) \
	}
	TYPE(MPI_SIGNED_CHAR, INT, char),
	TYPE(MPI_UNSIGNED_CHAR, INT, char),
	TYPE(MPI_SHORT, INT, short),
	TYPE(MPI_UNSIGNED_SHORT, INT, short),
	TYPE(MPI_INT, INT, int),
	TYPE(MPI_UNSIGNED, INT, int),
	TYPE(MPI_LONG, INT, long),
	TYPE(MPI_UNSIGNED_LONG, INT, long),
	TYPE(MPI_LONG_LONG, INT, long long),
	TYPE(MPI_UNSIGNED_LONG_LONG, INT, long long),
	TYPE(MPI_INT8_T, INT, int8_t),
	TYPE(MPI_INT16_T, INT, int16_t),
	TYPE(MPI_INT32_T, INT, int32_t),
	TYPE(MPI_INT64_T, INT, int64_t),
	TYPE(MPI_UINT8_T, INT, int8_t),
	TYPE(MPI_UINT16_T, INT, int16_t),
	TYPE(MPI_UINT32_T, INT, int32_t),
	TYPE(MPI_UINT64_T, INT, int64_t),
	TYPE(MPI_AINT, INT, MPI_Aint),
	TYPE(MPI_OFFSET, INT, MPI_Offset),
	TYPE(MPI_COUNT, INT, MPI_Count),
	TYPE(MPI_C_BOOL, INT, bool),
	TYPE(MPI_BYTE, INT, char),
	TYPE(MPI_CHAR, INT, char),
	TYPE(MPI_WCHAR, INT, wchar_t),
	TYPE(MPI_INTEGER, INT, int),
	TYPE(MPI_LOGICAL, INT, int),
	TYPE(MPI_FLOAT, FLOAT, float),
	TYPE(MPI_REAL, FLOAT, float),
	TYPE(MPI_DOUBLE, DOUBLE, double),
	TYPE(MPI_DOUBLE_PRECISION, DOUBLE, double),
	TYPE(MPI_LONG_DOUBLE, LONG_DOUBLE, long double),
	TYPE(MPI_C_FLOAT_COMPLEX, COMPLEX_FLOAT, float[2]),
	TYPE(MPI_C_DOUBLE_COMPLEX, COMPLEX_DOUBLE, double[2]),
	TYPE(MPI_FLOAT_INT, PAIR, struct pair_float),
	TYPE(MPI_DOUBLE_INT, PAIR, struct pair_double),
	TYPE(MPI_LONG_INT, PAIR, struct pair_long),
	TYPE(MPI_2INT, PAIR, struct pair_int),
	TYPE(MPI_SHORT_INT, PAIR, struct pair_short),
	TYPE(MPI_LONG_DOUBLE_INT, PAIR, struct pair_long_double),
};

static const struct op {
	MPI_Op op;
	const char *name;
} ops[] = {
#define OP(name)            \
	{                   \
		name, #name \
	}
	OP(MPI_SUM),
	OP(MPI_PROD),
	OP(MPI_MIN),
	OP(MPI_MAX),
	OP(MPI_BAND),
	OP(MPI_BOR),
	OP(MPI_BXOR),
	OP(MPI_LAND),
	OP(MPI_LOR),
	OP(MPI_LXOR),
	OP(MPI_MINLOC),
	OP(MPI_MAXLOC),
	OP(MPI_REPLACE),
	OP(MPI_NO_OP),
};

enum {
	N_TYPES = sizeof(types) / sizeof(types[0]),
	N_OPS = sizeof(ops) / sizeof(ops[0]),
	ITEMS = 3,
	SLOT = 32 * ITEMS, /* bytes for one combination of type and operation */
	SLOTS = N_TYPES * N_OPS,
};

static void store_pair(const struct type *t, void *at, int v)
{
	if (t->type == MPI_FLOAT_INT)
		*(struct pair_float *)at = (struct pair_float){ (float)v, 9 };
	else if (t->type == MPI_DOUBLE_INT)
		*(struct pair_double *)at = (struct pair_double){ v, 9 };
	else if (t->type == MPI_LONG_INT)
		*(struct pair_long *)at = (struct pair_long){ v, 9 };
	else if (t->type == MPI_2INT)
		*(struct pair_int *)at = (struct pair_int){ v, 9 };
	else if (t->type == MPI_SHORT_INT)
		*(struct pair_short *)at = (struct pair_short){ (short)v, 9 };
	else
		*(struct pair_long_double *)at =
			(struct pair_long_double){ v, 9 };
}

static void store(const struct type *t, void *at, int v)
{
	const float f[2] = { (float)v, 1 };
	const double d[2] = { v, 1 };
	const long double l = v;
	const int64_t i =
		t->type == MPI_C_BOOL || t->type == MPI_LOGICAL ? v & 1 : v;

	if (t->kind == PAIR)
		store_pair(t, at, v);
	else if (t->kind == LONG_DOUBLE)
		memcpy(at, &l, sizeof(l));
	else
		memcpy(at,
			t->kind == FLOAT || t->kind == COMPLEX_FLOAT
				? (const void *)f
			: t->kind == INT ? (const void *)&i
					 : (const void *)d,
			t->size);
}

/* Stores the items of a rank: the data that it sends, or the contents of its
 * window. */
static void fill(const struct type *t, char *at, int rank, bool is_window)
{
	memset(at, 0, SLOT);
	for (int i = 0; i < ITEMS; i++)
		store(t, at + (size_t)i * t->size,
			(is_window ? 2 : 3) + (rank + i) % 4);
}

/* Compares values without their padding. */
static bool is_same(const struct type *t, const char *a, const char *b)
{
	char x[SLOT], y[SLOT];
	int n = 0, m = 0;

	OK(MPI_Pack(a, ITEMS, t->type, x, sizeof(x), &n, MPI_COMM_SELF));
	OK(MPI_Pack(b, ITEMS, t->type, y, sizeof(y), &m, MPI_COMM_SELF));
	if (t->kind == LONG_DOUBLE) {
		for (int i = 0; i < ITEMS; i++)
			if (((const long double *)(const void *)a)[i] !=
				((const long double *)(const void *)b)[i])
				return false;
		return true;
	}
	if (t->type == MPI_LONG_DOUBLE_INT) {
		const struct pair_long_double *p = (const void *)a,
					      *q = (const void *)b;

		for (int i = 0; i < ITEMS; i++)
			if (p[i].v != q[i].v || p[i].i != q[i].i)
				return false;
		return true;
	}
	return n == m && memcmp(x, y, (size_t)n) == 0;
}

/* Computes the operation locally. False if it is not defined on the type. */
static bool do_here(
	const struct type *t, const struct op *o, const char *in, char *inout)
{
	if (o->op == MPI_NO_OP)
		return true;
	if (o->op == MPI_REPLACE) {
		memcpy(inout, in, SLOT);
		return true;
	}
	return MPI_Reduce_local(in, inout, ITEMS, t->type, o->op) ==
	       MPI_SUCCESS;
}

enum how { ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP, N_HOW };

static const char *const how_names[] = { "MPI_Accumulate", "MPI_Get_accumulate",
	"MPI_Fetch_and_op" };

static int call(enum how how, const struct type *t, const struct op *o,
	const char *in, char *out, MPI_Aint disp, MPI_Win win)
{
	if (how == ACCUMULATE)
		return MPI_Accumulate(in, ITEMS, t->type, right, disp, ITEMS,
			t->type, o->op, win);
	if (how == GET_ACCUMULATE)
		return MPI_Get_accumulate(o->op == MPI_NO_OP ? NULL : in,
			o->op == MPI_NO_OP ? -1 : ITEMS,
			o->op == MPI_NO_OP ? MPI_DATATYPE_NULL : t->type, out,
			ITEMS, t->type, right, disp, ITEMS, t->type, o->op,
			win);
	return MPI_Fetch_and_op(in, out, t->type, right, disp, o->op, win);
}

/* Checks one slot after the fence. */
static void check_slot(enum how how, const struct type *t, const struct op *o,
	const char *here, const char *out)
{
	char in[SLOT], before[SLOT], expected[SLOT];

	fill(t, in, left, false);
	fill(t, before, mtest.rank, true);
	memcpy(expected, before, SLOT);
	do_here(t, o, in, expected);
	if (how == FETCH_AND_OP) /* the other items are unchanged */
		memcpy(expected + t->size, before + t->size, SLOT - t->size);
	CHECK(is_same(t, here, expected),
		"%s of %s with %s stores the new value", how_names[how],
		t->name, o->name);
	if (how == ACCUMULATE)
		return;
	fill(t, expected, right, true);
	if (how == FETCH_AND_OP)
		memset(expected + t->size, 0, SLOT - t->size);
	CHECK(is_same(t, out, expected),
		"%s of %s with %s returns the former value", how_names[how],
		t->name, o->name);
}

static void all_types(enum how how)
{
	size_t len = (size_t)SLOTS * SLOT;
	char *memory = mtest_alloc(len), *in = mtest_alloc(len),
	     *out = mtest_alloc(len), *try = mtest_alloc(SLOT);
	bool is_legal[SLOTS];
	MPI_Win win;

	for (int i = 0; i < SLOTS; i++) {
		const struct type *t = &types[i / N_OPS];
		const struct op *o = &ops[i % N_OPS];

		fill(t, memory + (size_t)i * SLOT, mtest.rank, true);
		fill(t, in + (size_t)i * SLOT, mtest.rank, false);
		is_legal[i] = do_here(t, o, in + (size_t)i * SLOT, try) &&
			      (how != ACCUMULATE || o->op != MPI_NO_OP);
	}
	OK(MPI_Win_create(
		memory, (MPI_Aint)len, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
	OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
	OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
	for (int i = 0; i < SLOTS; i++) {
		int rc = call(how, &types[i / N_OPS], &ops[i % N_OPS],
			in + (size_t)i * SLOT, out + (size_t)i * SLOT,
			(MPI_Aint)i * SLOT, win);

		if (is_legal[i])
			OK(rc);
		else
			CHECK(mtest_class(rc) == MPI_ERR_OP,
				"%s of %s with %s is refused: %d",
				how_names[how], types[i / N_OPS].name,
				ops[i % N_OPS].name, rc);
	}
	OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
	for (int i = 0; i < SLOTS; i++)
		if (is_legal[i])
			check_slot(how, &types[i / N_OPS], &ops[i % N_OPS],
				memory + (size_t)i * SLOT,
				out + (size_t)i * SLOT);
	OK(MPI_Win_free(&win));
	free(memory);
	free(in);
	free(out);
	free(try);
}

/* ---- windows of each kind of memory ---- */

enum memory { ALLOCATED, MALLOCED, ALLOC_MEM, N_MEMORIES };

struct window {
	enum memory kind;
	MPI_Win win;
	char *base, *given;
};

static struct window make_window(enum memory kind, size_t size)
{
	struct window w = { .kind = kind };

	if (kind == ALLOCATED) {
		OK(MPI_Win_allocate((MPI_Aint)size, sizeof(int), MPI_INFO_NULL,
			MPI_COMM_WORLD, &w.base, &w.win));
		return w;
	}
	/* not aligned to a page */
	if (kind == MALLOCED)
		w.given = mtest_alloc(size + 64);
	else
		OK(MPI_Alloc_mem((MPI_Aint)size + 64, MPI_INFO_NULL, &w.given));
	w.base = w.given + 64;
	OK(MPI_Win_create(w.base, (MPI_Aint)size, sizeof(int), MPI_INFO_NULL,
		MPI_COMM_WORLD, &w.win));
	return w;
}

static void free_window(struct window *w)
{
	OK(MPI_Win_free(&w->win));
	if (w->kind == MALLOCED)
		free(w->given);
	if (w->kind == ALLOC_MEM)
		OK(MPI_Free_mem(w->given));
}

/* ---- derived types ---- */

/* Creates two types of n ints: every second one of 2n ints, and n consecutive
 * ints in reverse order. */
static void make_derived(int n, MPI_Datatype *strided, MPI_Datatype *reversed)
{
	int *places = mtest_alloc((size_t)n * sizeof(int));

	for (int i = 0; i < n; i++)
		places[i] = n - 1 - i;
	OK(MPI_Type_vector(n, 1, 2, MPI_INT, strided));
	OK(MPI_Type_create_indexed_block(n, 1, places, MPI_INT, reversed));
	OK(MPI_Type_commit(strided));
	OK(MPI_Type_commit(reversed));
	free(places);
}

static void derived(enum memory kind, int n)
{
	MPI_Datatype strided, reversed;
	int *in = mtest_alloc((size_t)n * sizeof(int)),
	    *out = mtest_alloc((size_t)n * sizeof(int));
	struct window w = make_window(kind, 2 * sizeof(int) * (size_t)n);
	int *memory = (void *)w.base;
	bool is_right = true;
	MPI_Win win = w.win;

	make_derived(n, &strided, &reversed);
	for (int i = 0; i < 2 * n; i++)
		memory[i] = -1;
	for (int i = 0; i < n; i++)
		in[i] = mtest.rank * 1000 + i;
	OK(MPI_Win_fence(0, win));
	OK(MPI_Put(in, 1, reversed, right, 0, 1, strided, win));
	OK(MPI_Win_fence(0, win));
	for (int i = 0; i < n; i++)
		is_right &= memory[2 * i] == left * 1000 + n - 1 - i &&
			    memory[2 * i + 1] == -1;
	CHECK(is_right, "a put of %d items stores every second one only", n);
	OK(MPI_Win_fence(0, win));
	OK(MPI_Get(out, n, MPI_INT, right, 0, 1, strided, win));
	OK(MPI_Win_fence(0, win));
	for (int i = 0; i < n; i++)
		is_right &= out[i] == mtest.rank * 1000 + n - 1 - i;
	CHECK(is_right, "a get returns %d items in order", n);
	OK(MPI_Accumulate(in, 1, reversed, right, 1, 1, strided, MPI_SUM, win));
	OK(MPI_Win_fence(0, win));
	for (int i = 0; i < n; i++)
		is_right &= memory[2 * i + 1] == left * 1000 + n - 1 - i - 1;
	CHECK(is_right, "an accumulate adds %d items", n);
	OK(MPI_Get_accumulate(in, n, MPI_INT, out, 1, reversed, right, 0, 1,
		strided, MPI_REPLACE, win));
	OK(MPI_Win_fence(0, win));
	for (int i = 0; i < n; i++)
		is_right &= out[i] == mtest.rank * 1000 + i &&
			    memory[2 * i] == left * 1000 + i;
	CHECK(is_right,
		"a get_accumulate of %d items stores the new values and "
		"returns the former ones",
		n);
	free_window(&w);
	OK(MPI_Type_free(&strided));
	OK(MPI_Type_free(&reversed));
	free(in);
	free(out);
}

/* A target type with a negative extent, whose first two entries are the same
 * bytes. */
static MPI_Datatype make_backwards(void)
{
	MPI_Datatype item, type;

	OK(MPI_Type_create_struct(3, (int[]){ 1, 1, 1 },
		(MPI_Aint[]){ 0, 0, 16 },
		(MPI_Datatype[]){ MPI_INT, MPI_INT, MPI_C_DOUBLE_COMPLEX },
		&item));
	OK(MPI_Type_create_resized(item, 0, -32, &type));
	OK(MPI_Type_commit(&type));
	OK(MPI_Type_free(&item));
	return type;
}

/* Gets three items of the type of make_backwards(), the first at byte 128. */
static void get_backwards(
	MPI_Win win, int rank, MPI_Aint disp, const char *what)
{
	MPI_Datatype type = make_backwards();
	char got[3][24];

	memset(got, -1, sizeof(got));
	OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
	OK(MPI_Get(got, sizeof(got), MPI_BYTE, rank, disp, 3, type, win));
	OK(MPI_Win_unlock(rank, win));
	for (int i = 0; i < 72; i++) {
		int at = 128 - i / 24 * 32 + (i % 24 < 8 ? i % 4 : i % 24 + 8);

		if (!CHECK(got[i / 24][i % 24] == (char)at,
			    "%s: byte %d of rank %d is %d, expected %d", what,
			    i, rank, got[i / 24][i % 24], at))
			break;
	}
	OK(MPI_Type_free(&type));
}

static void backwards(enum memory kind)
{
	struct window w = make_window(kind, 256);
	MPI_Aint at[2];
	MPI_Win dynamic;

	for (int i = 0; i < 256; i++)
		w.base[i] = (char)i;
	OK(MPI_Barrier(MPI_COMM_WORLD));
	get_backwards(w.win, right, 128 / sizeof(int), "a get");
	OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic));
	OK(MPI_Win_attach(dynamic, w.base, 256));
	OK(MPI_Get_address(w.base + 128, &at[0]));
	OK(MPI_Sendrecv(&at[0], 1, MPI_AINT, left, 0, &at[1], 1, MPI_AINT,
		right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	get_backwards(dynamic, mtest.rank, at[0], "a get from this rank");
	get_backwards(dynamic, right, at[1], "a get of attached memory");
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Win_detach(dynamic, w.base));
	OK(MPI_Win_free(&dynamic));
	free_window(&w);
}

/* An origin type with addresses relative to MPI_BOTTOM. It is freed before the
 * put completes. */
static void addresses(void)
{
	int here[2] = { mtest.rank, 50 }, memory[2] = { 0 };
	MPI_Datatype type;
	MPI_Aint at;
	MPI_Win win;

	OK(MPI_Win_create(memory, sizeof(memory), 1, MPI_INFO_NULL,
		MPI_COMM_WORLD, &win));
	OK(MPI_Get_address(here, &at));
	OK(MPI_Type_create_hindexed(1, (int[]){ 2 }, &at, MPI_INT, &type));
	OK(MPI_Type_commit(&type));
	OK(MPI_Win_fence(0, win));
	OK(MPI_Put(MPI_BOTTOM, 1, type, right, 0, 2, MPI_INT, win));
	OK(MPI_Type_free(&type));
	OK(MPI_Win_fence(0, win));
	CHECK(memory[0] == left && memory[1] == 50,
		"a put from MPI_BOTTOM arrives: %d, %d", memory[0], memory[1]);
	OK(MPI_Win_free(&win));
}

/* ---- compare and swap ---- */

static void swaps(void)
{
	enum { N = 32 };
	char memory[N_TYPES * N], value[N_TYPES][N], compare[N_TYPES][N],
		out[2][N_TYPES][N];
	MPI_Win win;

	memset(memory, 0, sizeof(memory));
	OK(MPI_Win_create(memory, sizeof(memory), N, MPI_INFO_NULL,
		MPI_COMM_WORLD, &win));
	OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
	for (int i = 0; i < N_TYPES; i++) {
		store(&types[i], memory + i * N, 1);
		store(&types[i], value[i], 0);
		store(&types[i], compare[i], 1);
	}
	OK(MPI_Win_fence(0, win));
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < N_TYPES; i++) {
			int rc;

			if (types[i].type == MPI_CHAR)
				continue; /* not an integer type, but other
					   * libraries permit it */
			rc = MPI_Compare_and_swap(value[i], compare[i],
				out[pass][i], types[i].type, right, i, win);
			if (types[i].kind == INT && types[i].type != MPI_WCHAR)
				OK(rc);
			else
				CHECK(mtest_class(rc) == MPI_ERR_TYPE,
					"a compare-and-swap of %s is refused",
					types[i].name);
		}
	OK(MPI_Win_fence(0, win));
	for (int i = 0; i < N_TYPES; i++) {
		size_t n = types[i].size;

		if (types[i].kind != INT || types[i].type == MPI_CHAR ||
			types[i].type == MPI_WCHAR)
			continue;
		CHECK(memcmp(memory + i * N, value[i], n) == 0 &&
				memcmp(out[0][i], compare[i], n) == 0 &&
				memcmp(out[1][i], value[i], n) == 0,
			"%s is swapped by the first of two calls",
			types[i].name);
	}
	OK(MPI_Win_free(&win));
}

/* ---- requests ---- */

static void requests(void)
{
	enum { N = 50000 };
	int *memory, *in = mtest_alloc(N * sizeof(int)),
		     *out = mtest_alloc(2 * N * sizeof(int)), done = 0;
	bool is_right = true;
	MPI_Request r[4];
	MPI_Win win;

	OK(MPI_Win_allocate(N * sizeof(int), sizeof(int), MPI_INFO_NULL,
		MPI_COMM_WORLD, &memory, &win));
	memset(memory, 0, N * sizeof(int));
	for (int i = 0; i < N; i++)
		in[i] = mtest.rank + i;
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Win_lock_all(0, win));
	OK(MPI_Rput(in, N, MPI_INT, right, 0, N, MPI_INT, win, &r[0]));
	OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
	CHECK(r[0] == MPI_REQUEST_NULL, "a completed request is null");
	OK(MPI_Win_flush(right, win));
	OK(MPI_Raccumulate(
		in, N, MPI_INT, right, 0, N, MPI_INT, MPI_SUM, win, &r[0]));
	OK(MPI_Rget_accumulate(in, N, MPI_INT, out, N, MPI_INT, right, 0, N,
		MPI_INT, MPI_SUM, win, &r[1]));
	OK(MPI_Wait(&r[1], MPI_STATUS_IGNORE));
	OK(MPI_Rget_c(out + N, N, MPI_INT, right, 0, N, MPI_INT, win, &r[1]));
	OK(MPI_Rput(in, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &r[2]));
	OK(MPI_Rget(out, 0, MPI_INT, right, 0, 0, MPI_INT, win, &r[3]));
	while (!done)
		OK(MPI_Testall(4, r, &done, MPI_STATUSES_IGNORE));
	for (int i = 0; i < N; i++)
		is_right &= out[i] == 2 * in[i] && out[N + i] == 3 * in[i];
	CHECK(is_right, "requests return the values in order: %d, %d", out[1],
		out[N + 1]);
	OK(MPI_Rput(in, 1, MPI_INT, right, 0, 1, MPI_INT, win, &r[0]));
	OK(MPI_Win_unlock_all(win));
	/* the epoch of the access has ended */
	OK(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	CHECK(memory[0] == left && memory[1] == 3 * (left + 1),
		"the window has the results of all requests: %d, %d", memory[0],
		memory[1]);
	OK(MPI_Win_free(&win));
	free(in);
	free(out);
}

/* ---- null targets and empty accesses ---- */

static void nothing(void)
{
	int here = 5, out = 6, memory = 7;
	MPI_Request r;
	MPI_Win win;

	OK(MPI_Win_create(&memory, sizeof(memory), 1, MPI_INFO_NULL,
		MPI_COMM_WORLD, &win));
	OK(MPI_Win_fence(0, win));
	for (int to = MPI_PROC_NULL;; to = right) {
		int n = to == MPI_PROC_NULL;

		OK(MPI_Put(&here, n, MPI_INT, to, 0, n, MPI_INT, win));
		OK(MPI_Get(&out, n, MPI_INT, to, 0, n, MPI_INT, win));
		OK(MPI_Accumulate(
			&here, n, MPI_INT, to, 0, n, MPI_INT, MPI_SUM, win));
		OK(MPI_Get_accumulate(&here, n, MPI_INT, &out, n, MPI_INT, to,
			0, n, MPI_INT, MPI_SUM, win));
		if (to == right)
			break;
		OK(MPI_Fetch_and_op(&here, &out, MPI_INT, to, 0, MPI_SUM, win));
		OK(MPI_Compare_and_swap(
			&here, &here, &out, MPI_INT, to, 0, win));
	}
	OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
	OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, MPI_PROC_NULL, 0, win));
	OK(MPI_Win_unlock(MPI_PROC_NULL, win));
	OK(MPI_Win_lock_all(0, win));
	OK(MPI_Rget_accumulate(&here, 1, MPI_INT, &out, 1, MPI_INT,
		MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, win, &r));
	OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
	OK(MPI_Win_flush(MPI_PROC_NULL, win));
	OK(MPI_Win_flush_local(MPI_PROC_NULL, win));
	OK(MPI_Win_unlock_all(win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	CHECK(here == 5 && out == 6 && memory == 7,
		"an access to MPI_PROC_NULL changes nothing");
	OK(MPI_Win_free(&win));
}

/* The origin passes less data than the window has space for. */
static void shorter(void)
{
	int here[4] = { 1, 2, 3, 4 }, memory[4] = { 0 }, out[4] = { 0 };
	MPI_Win win;

	OK(MPI_Win_create(memory, sizeof(memory), 4, MPI_INFO_NULL,
		MPI_COMM_WORLD, &win));
	OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
	OK(MPI_Win_fence(0, win));
	OK(MPI_Put(here, 2, MPI_INT, right, 0, 3, MPI_INT, win));
	FAILS(MPI_Put(here, 4, MPI_INT, right, 0, 3, MPI_INT, win),
		MPI_ERR_TRUNCATE);
	OK(MPI_Win_fence(0, win));
	CHECK(memory[1] == 2 && memory[2] == 0,
		"a put arrives and the refused one does not: %d, %d", memory[1],
		memory[2]);
	OK(MPI_Get(out, 4, MPI_INT, right, 0, 3, MPI_INT, win));
	FAILS(MPI_Get(out, 2, MPI_INT, right, 0, 3, MPI_INT, win),
		MPI_ERR_TRUNCATE);
	OK(MPI_Win_fence(0, win));
	CHECK(out[1] == 2 && out[3] == 0,
		"a get into a longer buffer fills its first part: %d, %d",
		out[1], out[3]);
	OK(MPI_Win_free(&win));
}

/* ---- all processes at the same time ---- */

static void count_type(MPI_Datatype type, size_t size, int n, MPI_Win win[2],
	const char *memory)
{
	char one[16] = { 0 }, *out = mtest_alloc((size_t)n * 16);
	const struct type *t = NULL;
	char expected[SLOT];

	for (int i = 0; i < N_TYPES; i++)
		if (types[i].type == type)
			t = &types[i];
	store(t, one, 1);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Win_lock_all(0, win[0]));
	OK(MPI_Win_lock_all(0, win[1]));
	for (int i = 0; i < n; i++) {
		OK(MPI_Accumulate(
			one, 1, type, 0, 0, 1, type, MPI_SUM, win[i % 2]));
		OK(MPI_Fetch_and_op(one, out + (size_t)i * 16, type, 0, 0,
			MPI_SUM, win[1 - i % 2]));
	}
	OK(MPI_Win_unlock_all(win[0]));
	OK(MPI_Win_unlock_all(win[1]));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	store(t, expected, 2 * n * mtest.size);
	CHECK(mtest.rank || memcmp(memory, expected,
				    t->kind == LONG_DOUBLE ? 10 : size) == 0,
		"%s: no update is lost", t->name);
	free(out);
}

/* All processes increment one element, which is in two windows. */
static void counting(enum memory kind)
{
	static const MPI_Datatype counted[] = { MPI_INT8_T, MPI_INT16_T,
		MPI_INT, MPI_LONG, MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE };

	for (size_t i = 0; i < sizeof(counted) / sizeof(counted[0]); i++) {
		int size = 0, n = i ? 60 : 12;
		struct window w = make_window(kind, 64);
		MPI_Win win[2] = { w.win };

		OK(MPI_Type_size(counted[i], &size));
		memset(w.base, 0, 64);
		OK(MPI_Win_create(
			w.base, 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win[1]));
		count_type(counted[i], (size_t)size, n, win, w.base);
		CHECK(mtest_all(w.base + size, (size_t)(64 - size), 0),
			"memory beside the element is unchanged");
		OK(MPI_Win_free(&win[1]));
		free_window(&w);
	}
}

/* Accumulates of one origin to one element are carried out in order, also with
 * different datatypes. */
static void ordered(enum memory kind)
{
	enum { MANY = 3000 };
	struct window w = make_window(kind, 2 * MANY * sizeof(int));
	int in[MANY], out[2] = { -1, -1 }, other;
	MPI_Datatype strided;
	MPI_Win win = w.win;

	OK(MPI_Type_vector(MANY, 1, 2, MPI_INT, &strided));
	OK(MPI_Type_commit(&strided));
	OK(MPI_Win_fence(0, win));
	for (int i = 0; i < 50; i++) {
		for (int k = 0; k < MANY; k++)
			in[k] = i;
		other = i + 1000;
		OK(MPI_Accumulate(in, MANY, MPI_INT, right, 0, 1, strided,
			MPI_REPLACE, win));
		OK(MPI_Get_accumulate(NULL, 0, MPI_INT, &out[0], 1, MPI_INT,
			right, 2 * MANY - 2, 1, MPI_INT, MPI_NO_OP, win));
		OK(MPI_Accumulate(&other, 1, MPI_INT, right, 2 * MANY - 2, 1,
			MPI_INT, MPI_REPLACE, win));
		OK(MPI_Fetch_and_op(NULL, &out[1], MPI_INT, right, 2 * MANY - 2,
			MPI_NO_OP, win));
		OK(MPI_Win_fence(0, win));
		CHECK(out[0] == i && out[1] == other,
			"round %d: fetches return the last values: %d, %d", i,
			out[0], out[1]);
	}
	OK(MPI_Type_free(&strided));
	free_window(&w);
}

/* Long accesses to a target that waits in a call, while other processes wait,
 * too. */
static void long_ones(void)
{
	enum { LONG = 1 << 20, ROUNDS = 200 };
	char *memory = malloc(LONG + 1), *here = malloc(LONG + 1);
	MPI_Win win;

	memset(memory, 0, LONG + 1);
	OK(MPI_Win_create(
		memory, LONG + 1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
	OK(MPI_Win_lock_all(0, win));
	if (mtest.rank == 0 && mtest.size > 1) {
		/* many short accesses: the target waits in a call meanwhile */
		for (int i = 0; i < ROUNDS; i++) {
			OK(MPI_Get(
				here, 1, MPI_CHAR, 1, LONG, 1, MPI_CHAR, win));
			OK(MPI_Win_flush(1, win));
		}
		for (int i = 0; i < 20; i++) {
			int len = LONG >> i % 5, bad = 0;

			memset(here, i + 1, (size_t)len);
			OK(MPI_Put(here, len, MPI_CHAR, 1, LONG - len, len,
				MPI_CHAR, win));
			OK(MPI_Win_flush(1, win));
			memset(here, 0, LONG + 1);
			OK(MPI_Get(here + 1, len, MPI_CHAR, 1, LONG - len, len,
				MPI_CHAR, win));
			OK(MPI_Win_flush_local(1, win));
			for (int k = 1; k <= len; k++)
				bad += here[k] != i + 1;
			CHECK(!bad,
				"a get of %d bytes returns the data of the "
				"put: %d bytes differ",
				len, bad);
			CHECK(!here[0], "a get writes only into its buffer");
		}
	}
	OK(MPI_Win_unlock_all(win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Win_free(&win));
	CHECK(!memory[LONG], "a put writes only to its place");
	free(memory);
	free(here);
}

/* Puts with requests arrive although their origin does not flush them, but
 * waits in a receive. */
static void requests_travel(void)
{
	enum { N = 100 };
	static int values[N];
	double end = MPI_Wtime() + 50;
	MPI_Request requests[N];
	bool is_seen = false;
	int *memory;
	MPI_Win win;

	if (mtest.size == 1)
		return;
	OK(MPI_Win_allocate(sizeof(values), sizeof(int), MPI_INFO_NULL,
		MPI_COMM_WORLD, &memory, &win));
	memset(memory, 0, sizeof(values));
	for (int i = 0; i < N; i++)
		values[i] = i + 1;
	OK(MPI_Win_lock_all(0, win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (mtest.rank == 0) {
		OK(MPI_Put(values, 1, MPI_INT, 1, 0, 1, MPI_INT, win));
		OK(MPI_Win_flush(1, win)); /* now the lock is granted */
		for (int i = 0; i < N; i++)
			OK(MPI_Rput(&values[i], 1, MPI_INT, 1, i, 1, MPI_INT,
				win, &requests[i]));
		OK(MPI_Waitall(N, requests, MPI_STATUSES_IGNORE));
		OK(MPI_Recv(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
	}
	while (mtest.rank == 1 && !is_seen && MPI_Wtime() < end) {
		OK(MPI_Win_sync(win));
		is_seen =
			__atomic_load_n(&memory[N - 1], __ATOMIC_ACQUIRE) == N;
	}
	if (mtest.rank == 1) {
		CHECK(is_seen, "the last put arrives without a flush");
		OK(MPI_Send(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD));
	}
	OK(MPI_Win_unlock_all(win));
	OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	left = (mtest.rank + mtest.size - 1) % mtest.size;
	right = (mtest.rank + 1) % mtest.size;
	for (enum how how = ACCUMULATE; how < N_HOW; how++)
		all_types(how);
	for (enum memory kind = ALLOCATED; kind < N_MEMORIES; kind++) {
		derived(kind, 1);
		derived(kind, 100);
		derived(kind, 100000);
		backwards(kind);
		counting(kind);
		ordered(kind);
	}
	addresses();
	swaps();
	requests();
	nothing();
	shorter();
	long_ones();
	requests_travel();
	return mtest_finish();
}
