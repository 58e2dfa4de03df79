/* SPDX-License-Identifier: BSD-3-Clause */
/* pack_test: packing against a byte-wise reading of the type map */
#include "dt/pack.h"
#include "base/err.h"
#include "typeref.h"

#include <wchar.h>

/* Memory that `count` items of a reference type may touch. */
struct area {
	char *mem;
	char *buf; /* address of displacement 0 */
	size_t len;
};

static struct area area_make(const struct ref *r, int count, uint64_t *seed)
{
	int64_t lb, ub, span = (int64_t)(count - 1) * (r->ub - r->lb);
	struct area area;

	ref_true(r, &lb, &ub);
	lb += span < 0 ? span : 0;
	ub += span > 0 ? span : 0;
	area.len = (size_t)(ub - lb) + 1;
	area.mem = malloc(area.len);
	area.buf = (char *)((uintptr_t)area.mem - (uintptr_t)lb);
	for (size_t i = 0; i < area.len; i++)
		area.mem[i] = (char)rnd(seed, 256);
	return area;
}

struct sample {
	uint64_t seed;
	struct ref *r;
	struct weft_type *type;
	int count;
	struct area area;
	size_t total;
	char *packed; /* expected contents */
};

static void sample_init(struct sample *s, uint64_t number)
{
	s->seed = number * 9176 + 3;
	s->r = malloc(sizeof *s->r);
	s->type = random_type(&s->seed, s->r, DEPTH_MAX);
	s->count = (int)rnd(&s->seed, 6);
	s->area = area_make(s->r, s->count, &s->seed);
	s->total = (size_t)(ref_size(s->r) * s->count);
	s->packed = malloc(s->total + 1);
	ref_pack(s->r, s->count, s->area.buf, s->packed);
}

static void sample_fini(struct sample *s)
{
	weft_type_put(s->type);
	free(s->area.mem);
	free(s->packed);
	free(s->r);
}

static void test_pack_anywhere(void **state)
{
	(void)state;
	for (uint64_t n = 0; n < 3000; n++) {
		struct sample s;
		char *out;

		sample_init(&s, n);
		out = malloc(s.total + 1);
		assert_int_equal(weft_pack(s.type, s.count, s.area.buf, 0, out,
					 s.total + 9),
			s.total);
		assert_memory_equal(out, s.packed, s.total);
		for (int i = 0; i < 8 && s.total; i++) {
			size_t skip = rnd(&s.seed, (uint32_t)s.total);
			size_t len =
				rnd(&s.seed, (uint32_t)(s.total - skip) + 1);

			assert_int_equal(weft_pack(s.type, s.count, s.area.buf,
						 skip, out, len),
				len);
			assert_memory_equal(out, s.packed + skip, len);
		}
		assert_int_equal(
			weft_pack(s.type, s.count, s.area.buf, s.total, out, 1),
			0);
		free(out);
		sample_fini(&s);
	}
}

static void test_unpack_anywhere(void **state)
{
	(void)state;
	for (uint64_t n = 0; n < 3000; n++) {
		struct sample s;
		struct area mine;
		char *src;

		sample_init(&s, n);
		src = malloc(s.total + 1);
		for (size_t i = 0; i < s.total; i++)
			src[i] = (char)rnd(&s.seed, 256);
		mine = area_make(s.r, s.count, &s.seed);
		memcpy(mine.mem, s.area.mem, mine.len);
		for (int i = 0; i < 4 && s.total; i++) {
			size_t skip = rnd(&s.seed, (uint32_t)s.total);
			size_t len =
				rnd(&s.seed, (uint32_t)(s.total - skip) + 1);

			ref_unpack(s.r, s.count, s.area.buf, src, (int64_t)skip,
				(int64_t)len);
			assert_int_equal(weft_unpack(s.type, s.count, mine.buf,
						 skip, src, len),
				len);
			/* only bytes of the data have changed */
			assert_memory_equal(mine.mem, s.area.mem, mine.len);
		}
		free(src);
		free(mine.mem);
		sample_fini(&s);
	}
}

/* The runs in order are the packed stream. */
static void test_iov(void **state)
{
	(void)state;
	for (uint64_t n = 0; n < 2000; n++) {
		struct sample s;
		size_t at = 0;

		sample_init(&s, n);
		while (at < s.total) {
			struct iovec iov[5];
			size_t n_out, bytes, sum = 0;

			weft_type_iov(s.type, s.count, s.area.buf, at, iov,
				1 + rnd(&s.seed, 5), &n_out, &bytes);
			assert_true(n_out >= 1 && n_out <= 5);
			for (size_t i = 0; i < n_out; i++) {
				assert_memory_equal(iov[i].iov_base,
					s.packed + at + sum, iov[i].iov_len);
				sum += iov[i].iov_len;
			}
			assert_int_equal(sum, bytes);
			if (rnd(&s.seed, 2) && bytes > 1)
				bytes--; /* start within a run */
			at += bytes;
		}
		sample_fini(&s);
	}
}

/* If a type has a series, the series describes the whole stream. */
static void test_series(void **state)
{
	int n_series = 0;

	(void)state;
	for (uint64_t n = 0; n < 2000; n++) {
		struct weft_series run;
		struct sample s;

		sample_init(&s, n);
		if (s.total && weft_type_series(s.type, s.count, &run)) {
			const char *at = (const char *)s.area.buf + run.at;

			n_series++;
			assert_int_equal(run.n * run.len, s.total);
			for (int64_t i = 0; i < run.n; i++)
				assert_memory_equal(at + i * run.stride,
					s.packed + i * run.len,
					(size_t)run.len);
		}
		sample_fini(&s);
	}
	assert_true(n_series > 20);
}

static void test_copy(void **state)
{
	(void)state;
	for (uint64_t n = 0; n < 1500; n++) {
		struct sample a, b;
		size_t fits;
		int err;

		sample_init(&a, n);
		sample_init(&b, n + 5000);
		fits = a.total < b.total ? a.total : b.total;
		err = weft_type_copy(a.type, a.count, a.area.buf, b.type,
			b.count, b.area.buf);
		assert_int_equal(
			err, a.total > b.total ? WEFT_ERR_TRUNCATE : 0);
		ref_unpack(
			b.r, b.count, b.area.buf, a.packed, 0, (int64_t)fits);
		/* the reference copy produces the same bytes */
		ref_pack(b.r, b.count, b.area.buf, b.packed);
		weft_type_copy(a.type, a.count, a.area.buf, b.type, b.count,
			b.area.buf);
		free(a.packed);
		a.packed = malloc(b.total + 1);
		ref_pack(b.r, b.count, b.area.buf, a.packed);
		assert_memory_equal(a.packed, b.packed, b.total);
		sample_fini(&a);
		sample_fini(&b);
	}
}

/* The copy between two scattered types uses more than one chunk. */
static void test_copy_large(void **state)
{
	struct weft_type *d = weft_type_builtin(0x214), *a = NULL, *b = NULL;
	enum { N = 5000 };
	double *from = calloc(3 * N, sizeof *from);
	double *to = calloc(2 * N, sizeof *to);

	(void)state;
	assert_int_equal(weft_type_make_vector(N, 1, 3, d, &a), 0);
	assert_int_equal(weft_type_make_vector(N, 1, 2, d, &b), 0);
	for (int i = 0; i < N; i++)
		from[3 * i] = i + 1;
	assert_int_equal(weft_type_copy(a, 1, from, b, 1, to), 0);
	for (int i = 0; i < N; i++) {
		assert_true(to[2 * i] == i + 1);
		assert_true(to[2 * i + 1] == 0);
	}
	weft_type_put(a);
	weft_type_put(b);
	free(from);
	free(to);
}

/* Displacements may be absolute addresses. */
static void test_absolute(void **state)
{
	int x = 7, out = 0;
	int64_t disp = (int64_t)(uintptr_t)&x;
	struct weft_type *t = NULL;

	(void)state;
	assert_int_equal(weft_type_make_hindexed_block(
				 1, 1, &disp, weft_type_builtin(0x209), &t),
		0);
	assert_int_equal(weft_pack(t, 1, NULL, 0, &out, 4), 4);
	assert_int_equal(out, 7);
	weft_type_put(t);
}

/* The cost of a start inside a long list does not depend on the position. A
 * million calls for one byte each are therefore fast. */
static void test_resume_is_cheap(void **state)
{
	enum { N = 200000 };
	int64_t *displs = malloc(N * sizeof *displs);
	char *buf = calloc(1, 3 * N + 8);
	struct weft_type *t = NULL;
	uint64_t seed = 5;

	(void)state;
	for (int i = 0; i < N; i++)
		displs[i] = 3 * i + (int)rnd(&seed, 2);
	assert_int_equal(weft_type_make_hindexed_block(N, 1, displs,
				 weft_type_builtin(WEFT_TYPE_BYTE), &t),
		0);
	for (int i = 0; i < N; i++)
		buf[displs[i]] = (char)i;
	for (size_t i = 0; i < N; i++) {
		char c;

		assert_int_equal(weft_pack(t, 1, buf, i, &c, 1), 1);
		assert_true(c == (char)i);
	}
	weft_type_put(t);
	free(displs);
	free(buf);
}

/* Known bytes of external32, packed and unpacked. */
static void test_external(void **state)
{
	struct {
		int i;
		char c;
		long l;
		short s;
		wchar_t w;
		double d;
		long double ld;
	} x = { 0x01020304, 'x', -2, 0x0506, 0x41, 1.0, -1.5L }, y;
	static const unsigned char want[] = { 1, 2, 3, 4, 'x', 0xff, 0xff, 0xff,
		0xfe, 5, 6, 0, 0x41, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0xbf, 0xff,
		0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
	static const unsigned values[] = { 0x209, 0x243, 0x20a, 0x208, 0x23c,
		0x214, 0x220 };
	const int64_t displs[] = { (char *)&x.i - (char *)&x,
		(char *)&x.c - (char *)&x, (char *)&x.l - (char *)&x,
		(char *)&x.s - (char *)&x, (char *)&x.w - (char *)&x,
		(char *)&x.d - (char *)&x, (char *)&x.ld - (char *)&x };
	const int64_t ones[] = { 1, 1, 1, 1, 1, 1, 1 };
	struct weft_type *types[7], *t = NULL;
	unsigned char out[2 * sizeof want];

	(void)state;
	for (int i = 0; i < 7; i++)
		types[i] = weft_type_builtin(values[i]);
	assert_int_equal(weft_type_make_struct(7, ones, displs, types, &t), 0);
	assert_int_equal(t->extent, sizeof x);
	assert_int_equal(weft_external_size(t, 1), sizeof want);
	assert_int_equal(weft_external_size(t, 2), 2 * sizeof want);
	weft_external_pack(t, 1, &x, out);
	assert_memory_equal(out, want, sizeof want);
	memset(&y, 0, sizeof y);
	weft_external_unpack(t, 1, &y, out);
	assert_int_equal(y.i, x.i);
	assert_int_equal(y.c, x.c);
	assert_true(y.l == -2 && y.s == x.s && y.w == x.w);
	assert_true(y.d == 1.0 && y.ld == -1.5L);
	weft_type_put(t);
}

static void test_external_round_trip(void **state)
{
	(void)state;
	for (uint64_t n = 0; n < 500; n++) {
		struct sample s;
		struct area mine;
		char *stream, *again;
		size_t len;

		sample_init(&s, n);
		/* a value that all types represent; a NaN could change */
		memset(s.area.mem, 0, s.area.len);
		mine = area_make(s.r, s.count, &s.seed);
		len = (size_t)weft_external_size(s.type, s.count);
		stream = calloc(2, len + 1);
		again = stream + len;
		weft_external_pack(s.type, s.count, s.area.buf, stream);
		weft_external_unpack(s.type, s.count, mine.buf, stream);
		weft_external_pack(s.type, s.count, mine.buf, again);
		assert_memory_equal(stream, again, len);
		free(stream);
		free(mine.mem);
		sample_fini(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pack_anywhere),
		cmocka_unit_test(test_unpack_anywhere),
		cmocka_unit_test(test_iov),
		cmocka_unit_test(test_series),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_copy_large),
		cmocka_unit_test(test_absolute),
		cmocka_unit_test(test_resume_is_cheap),
		cmocka_unit_test(test_external),
		cmocka_unit_test(test_external_round_trip),
	};

	return cmocka_run_group_tests_name("pack", tests, NULL, NULL);
}
