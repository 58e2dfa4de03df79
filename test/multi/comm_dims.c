/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_dims: MPI_Dims_create returns dimensions that are as close to each other
 * as possible */
#include "mtest.h"

static const struct {
	int n, k, want[6];
} grids[] = {
	{ 12, 2, { 4, 3 } },
	{ 16, 3, { 4, 2, 2 } },
	{ 7, 3, { 7, 1, 1 } },
	{ 1, 4, { 1, 1, 1, 1 } },
	{ 64, 6, { 2, 2, 2, 2, 2, 2 } },
	{ 7488, 3, { 26, 18, 16 } }, /* not 24, 24, 13 */
	{ 5040, 3, { 21, 16, 15 } }, /* rather than 20, 18, 14 */
	{ 2147483647, 2, { 2147483647, 1 } },
	{ 735134400, 6, { 34, 33, 30, 30, 28, 26 } },
};

/* Writes n as a product of k factors in every way. Returns the smallest
 * difference between the largest and the smallest factor. first: the largest
 * factor if it is chosen already, or 0. limit: the largest permitted value of
 * the next factor. */
static int least(int n, int k, int first, int limit)
{
	int best = INT32_MAX;

	if (k == 1)
		return n <= limit ? first - n : INT32_MAX;
	for (int d = 1; d <= n && d <= limit; d++) {
		int spread = n % d ? INT32_MAX
				   : least(n / d, k - 1, first ? first : d, d);

		best = spread < best ? spread : best;
	}
	return best;
}

static void all_small_ones(void)
{
	for (int n = 1; n <= 300; n++)
		for (int k = 2; k <= 4; k++) {
			int dims[4] = { 0 }, product = 1, is_falling = 1;

			OK(MPI_Dims_create(n, k, dims));
			for (int i = 0; i < k; i++) {
				product *= dims[i];
				is_falling &= !i || dims[i] <= dims[i - 1];
			}
			CHECK(product == n && is_falling,
				"%d processes in %d dimensions: the dimensions "
				"do not increase, and their product is right",
				n, k);
			CHECK(dims[0] - dims[k - 1] == least(n, k, 0, n),
				"%d processes in %d dimensions: the dimensions "
				"are as close as possible, from %d to %d",
				n, k, dims[0], dims[k - 1]);
		}
}

int main(int argc, char **argv)
{
	int dims[3] = { 0, 2, 0 };

	mtest_init(&argc, &argv);
	for (size_t g = 0; g < sizeof(grids) / sizeof(*grids); g++) {
		int found[6] = { 0 }, is_same = 1;

		OK(MPI_Dims_create(grids[g].n, grids[g].k, found));
		for (int i = 0; i < grids[g].k; i++)
			is_same &= found[i] == grids[g].want[i];
		CHECK(is_same,
			"the dimensions of %d in %d are those of the table: %d "
			"%d %d",
			grids[g].n, grids[g].k, found[0], found[1], found[2]);
	}
	all_small_ones();
	OK(MPI_Dims_create(24, 3, dims));
	CHECK(dims[0] == 4 && dims[1] == 2 && dims[2] == 3,
		"a dimension that is set is unchanged");
	dims[0] = dims[2] = 0;
	dims[1] = 5;
	FAILS(MPI_Dims_create(24, 3, dims), MPI_ERR_DIMS);
	return mtest_finish();
}
