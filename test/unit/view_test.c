/* SPDX-License-Identifier: BSD-3-Clause */
/* view_test: where the bytes of a view lie in the file, against plain loops */
#include "io/view.h"

#include "base/err.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { TYPE_INT = 0x209, TILES = 3, BYTES_MAX = 512 };

/* A view and the file offset of each byte of its first tiles. */
struct sample {
	struct weft_view *view;
	int64_t n;
	int64_t offsets[BYTES_MAX];
};

static int list_bytes(
	void *arg, const struct weft_type *basic, int64_t disp, int64_t n)
{
	struct sample *s = arg;

	for (int64_t i = 0; i < n; i++)
		for (int64_t b = 0; b < basic->size; b++)
			s->offsets[s->n++] = disp + i * basic->extent + b;
	return 0;
}

static void sample_make(
	struct sample *s, int64_t disp, struct weft_type *filetype)
{
	struct weft_view_config config = { .disp = disp,
		.etype = weft_type_builtin(WEFT_TYPE_BYTE),
		.filetype = filetype,
		.rep = weft_datarep_find("native"),
		.is_writable = true };

	s->n = 0;
	weft_type_visit(filetype, TILES, list_bytes, s);
	for (int64_t i = 0; i < s->n; i++)
		s->offsets[i] += disp;
	assert_int_equal(weft_view_make(&config, &s->view), 0);
}

/* Returns a type with blocks of 3, 1 and 5 bytes, and gaps between them and at
 * the end. */
static struct weft_type *irregular(void)
{
	const int64_t lens[] = { 3, 1, 5 }, displs[] = { 0, 5, 8 };
	struct weft_type *inner, *type;

	assert_int_equal(weft_type_make_hindexed(3, lens, displs,
				 weft_type_builtin(WEFT_TYPE_BYTE), &inner),
		0);
	assert_int_equal(weft_type_make_resized(inner, 0, 16, &type), 0);
	weft_type_put(inner);
	return type;
}

static struct weft_type *strided(void)
{
	struct weft_type *inner, *type;

	assert_int_equal(weft_type_make_vector(
				 4, 2, 5, weft_type_builtin(TYPE_INT), &inner),
		0);
	assert_int_equal(weft_type_make_resized(inner, 0, 100, &type), 0);
	weft_type_put(inner);
	return type;
}

static struct weft_type *contiguous(void)
{
	struct weft_type *type;

	assert_int_equal(weft_type_make_contiguous(
				 40, weft_type_builtin(WEFT_TYPE_BYTE), &type),
		0);
	return type;
}

static void check_offsets(const struct sample *s)
{
	for (int64_t i = 0; i < s->n; i++)
		assert_int_equal(
			weft_view_byte_offset(s->view, i), s->offsets[i]);
}

/* Checks the begins, ends and lengths of the runs in many ranges of the view.
 */
static void check_runs(const struct sample *s)
{
	struct iovec runs[4];
	int64_t got;

	for (int64_t at = 0; at < s->n; at += 3)
		for (int64_t end = at + 1; end <= s->n; end += 7) {
			int64_t done = at;

			while (done < end) {
				size_t n = weft_view_runs(s->view, done,
					end - done, runs, 4, &got);

				assert_in_range(n, 1, 4);
				for (size_t i = 0; i < n; i++) {
					assert_int_equal(
						weft_view_run_begin(&runs[i]),
						s->offsets[done]);
					done += (int64_t)runs[i].iov_len;
					assert_int_equal(
						weft_view_run_end(&runs[i]),
						s->offsets[done - 1] + 1);
				}
			}
			assert_int_equal(done, end);
		}
}

/* Compares searches by file offset with counting. */
static void check_searches(const struct sample *s)
{
	for (int64_t offset = 0; offset <= s->offsets[s->n - 1]; offset++) {
		int64_t before = 0, found = 0;

		for (int64_t i = 0; i < s->n; i++)
			before += s->offsets[i] < offset;
		while (found < s->n && s->offsets[found] < offset)
			found++;
		assert_int_equal(
			weft_view_bytes_before(s->view, offset), before);
		assert_int_equal(
			weft_view_find(s->view, 0, s->n, offset), found);
	}
}

static void places_are_those_of_the_type_map(void **state)
{
	struct weft_type *types[] = { irregular(), strided(), contiguous() };
	struct sample s;

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		for (int64_t disp = 0; disp < 20; disp += 19) {
			sample_make(&s, disp, types[i]);
			assert_true(s.n > 0 && s.n <= BYTES_MAX);
			assert_int_equal(weft_view_is_contig(s.view), i == 2);
			assert_true(weft_view_is_monotone(s.view, 0, s.n));
			check_offsets(&s);
			check_runs(&s);
			check_searches(&s);
			weft_view_put(s.view);
		}
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		weft_type_put(types[i]);
}

/* A tile that is longer than its extent: the next one begins inside it. */
static void interleaved_tiles_are_not_monotone(void **state)
{
	struct weft_type *wide = strided(), *type;
	struct sample s;

	(void)state;
	assert_int_equal(weft_type_make_resized(wide, 0, 8, &type), 0);
	sample_make(&s, 0, type);
	assert_true(weft_view_is_monotone(s.view, 0, type->size));
	assert_false(weft_view_is_monotone(s.view, 0, type->size + 1));
	assert_true(weft_view_is_monotone(s.view, type->size, type->size));
	weft_view_put(s.view);
	weft_type_put(type);
	weft_type_put(wide);
}

static int make_err(const struct weft_view_config *config)
{
	struct weft_view *view = NULL;
	int err = weft_view_make(config, &view);

	weft_view_put(view);
	return err;
}

static void views_that_the_standard_forbids_are_refused(void **state)
{
	const int64_t back[] = { 8, 0 }, over[] = { 0, 2 }, below[] = { -4 };
	struct weft_type *byte = weft_type_builtin(WEFT_TYPE_BYTE), *type;
	struct weft_type *four = weft_type_builtin(TYPE_INT);
	struct weft_view_config config = { .etype = four,
		.filetype = byte,
		.rep = weft_datarep_find("native") };

	(void)state;
	assert_int_equal(make_err(&config), WEFT_ERR_ARG);
	config.filetype = four;
	config.disp = -1;
	assert_int_equal(make_err(&config), WEFT_ERR_ARG);
	config.disp = 0;
	weft_type_make_hindexed_block(2, 1, back, four, &type);
	config.filetype = type;
	assert_int_equal(make_err(&config), WEFT_ERR_IO);
	weft_type_put(type);
	weft_type_make_hindexed_block(1, 1, below, four, &type);
	config.filetype = type;
	assert_int_equal(make_err(&config), WEFT_ERR_IO);
	weft_type_put(type);
	/* overlaps only matter in a file that may be written */
	weft_type_make_hindexed_block(2, 1, over, four, &type);
	config.filetype = type;
	assert_int_equal(make_err(&config), 0);
	config.is_writable = true;
	assert_int_equal(make_err(&config), WEFT_ERR_IO);
	weft_type_put(type);
}

static void an_empty_view_has_no_bytes(void **state)
{
	struct weft_type *type;
	struct iovec run;
	struct sample s;
	int64_t got;

	(void)state;
	assert_int_equal(weft_type_make_contiguous(
				 0, weft_type_builtin(WEFT_TYPE_BYTE), &type),
		0);
	sample_make(&s, 24, type);
	assert_false(weft_view_is_contig(s.view));
	assert_int_equal(weft_view_byte_offset(s.view, 5), 24);
	assert_int_equal(weft_view_bytes_before(s.view, 100), 0);
	assert_int_equal(weft_view_runs(s.view, 0, 10, &run, 1, &got), 0);
	assert_int_equal(got, 0);
	weft_view_put(s.view);
	weft_type_put(type);
}

static void a_sample_has_the_first_runs(void **state)
{
	struct weft_type *type = irregular();
	struct weft_view_sample sample;
	struct sample s;

	(void)state;
	sample_make(&s, 100, type);
	sample = weft_view_sample(s.view, 0, 9);
	assert_int_equal(sample.n, 3);
	assert_int_equal(sample.len, 9);
	assert_int_equal(sample.gaps, 4);
	assert_int_equal(sample.begin, 100);
	assert_int_equal(sample.first_end, 103);
	assert_int_equal(sample.last_begin, 108);
	assert_false(sample.fills_pages);
	sample = weft_view_sample(s.view, 0, 9000);
	assert_int_equal(sample.n, 64);
	sample = weft_view_sample(s.view, 0, 0);
	assert_int_equal(sample.n, 0);
	weft_view_put(s.view);
	weft_type_put(type);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_are_those_of_the_type_map),
		cmocka_unit_test(interleaved_tiles_are_not_monotone),
		cmocka_unit_test(views_that_the_standard_forbids_are_refused),
		cmocka_unit_test(an_empty_view_has_no_bytes),
		cmocka_unit_test(a_sample_has_the_first_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
