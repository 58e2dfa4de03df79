/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_group: groups */
#include "mpi_mix.h"

#include <stdlib.h>

static int mpi_group_size(const struct weft_group *group, int *size)
{
	*size = (int)group->size;
	return 0;
}

static int mpi_group_rank(const struct weft_group *group, int *rank)
{
	*rank = group->my_rank;
	return 0;
}

static int mpi_group_translate_ranks(const struct weft_group *a, int n,
	const int ranks1[], const struct weft_group *b, int ranks2[])
{
	int err = weft_mix_is_strict() ? weft_mix_groups(a, b) : 0;

	for (int i = 0; !err && i < n; i++) {
		if (ranks1[i] == MPI_PROC_NULL) {
			ranks2[i] = MPI_PROC_NULL;
			continue;
		}
		err = weft_check_range(WEFT_ERR_RANK, "ranks1[]", ranks1[i], 0,
			(int64_t)a->size - 1);
		if (!err)
			ranks2[i] = weft_group_rank_of(
				b, weft_group_proc(a, (uint32_t)ranks1[i]));
	}
	return err;
}

static int mpi_group_compare(
	const struct weft_group *a, const struct weft_group *b, int *result)
{
	int err = weft_mix_is_strict() ? weft_mix_groups(a, b) : 0;

	if (!err)
		*result = MPI_IDENT + (int)weft_group_compare(a, b);
	return err;
}

static int mpi_group_union(const struct weft_group *a,
	const struct weft_group *b, struct weft_group **made)
{
	int err = weft_mix_groups(a, b);

	return err ? err : weft_group_union(a, b, made);
}

static int mpi_group_intersection(const struct weft_group *a,
	const struct weft_group *b, struct weft_group **made)
{
	int err = weft_mix_groups(a, b);

	return err ? err : weft_group_intersection(a, b, made);
}

static int mpi_group_difference(const struct weft_group *a,
	const struct weft_group *b, struct weft_group **made)
{
	int err = weft_mix_groups(a, b);

	return err ? err : weft_group_difference(a, b, made);
}

static int mpi_group_incl(const struct weft_group *group, int n,
	const int ranks[], struct weft_group **made)
{
	int err = weft_check_range(WEFT_ERR_ARG, "n", n, 0, group->size);

	return err ? err : weft_group_incl(group, ranks, (uint32_t)n, made);
}

static int mpi_group_excl(const struct weft_group *group, int n,
	const int ranks[], struct weft_group **made)
{
	int err = weft_check_range(WEFT_ERR_ARG, "n", n, 0, group->size);

	return err ? err : weft_group_excl(group, ranks, (uint32_t)n, made);
}

/* Returns the number of ranks in a triplet (first, last, stride); 0 if it is
 * empty. */
static int64_t n_in_range(const int *range)
{
	int64_t span = (int64_t)range[1] - range[0];

	if (span && (span < 0) != (range[2] < 0))
		return 0;
	return span / range[2] + 1;
}

/* Expands the triplets to ranks. Each rank must be in the group. A list that is
 * longer than the group would contain a rank twice, and is an error. */
static int mpi_group_expand(const struct weft_group *group, int n,
	int ranges[][3], int **ranks_out, int *n_out)
{
	int64_t n_ranks = 0;
	int *ranks;

	for (int i = 0; i < n; i++) {
		if (!ranges[i][2])
			return weft_err_set(
				WEFT_ERR_ARG, "the stride of range %d is 0", i);
		if (n_in_range(ranges[i]) > 0 &&
			((uint32_t)ranges[i][0] >= group->size ||
				(uint32_t)(ranges[i][0] +
					   (n_in_range(ranges[i]) - 1) *
						   ranges[i][2]) >=
					group->size))
			return weft_err_set(WEFT_ERR_RANK,
				"range %d (%d to %d) is not within a group "
				"of %u",
				i, ranges[i][0], ranges[i][1], group->size);
		n_ranks += n_in_range(ranges[i]);
	}
	if (n_ranks > group->size)
		return weft_err_set(WEFT_ERR_RANK,
			"the ranges name %lld ranks in a group of %u",
			(long long)n_ranks, group->size);
	ranks = malloc((size_t)n_ranks * sizeof(*ranks) + 1);
	if (!ranks)
		return WEFT_ERR_NOMEM;
	*n_out = 0;
	for (int i = 0; i < n; i++)
		for (int64_t k = 0; k < n_in_range(ranges[i]); k++)
			ranks[(*n_out)++] =
				ranges[i][0] + (int)k * ranges[i][2];
	*ranks_out = ranks;
	return 0;
}

static int mpi_group_range_incl(const struct weft_group *group, int n,
	int ranges[][3], struct weft_group **made)
{
	int *ranks = NULL, n_ranks = 0;
	int err = mpi_group_expand(group, n, ranges, &ranks, &n_ranks);

	if (!err)
		err = weft_group_incl(group, ranks, (uint32_t)n_ranks, made);
	free(ranks);
	return err;
}

static int mpi_group_range_excl(const struct weft_group *group, int n,
	int ranges[][3], struct weft_group **made)
{
	int *ranks = NULL, n_ranks = 0;
	int err = mpi_group_expand(group, n, ranges, &ranks, &n_ranks);

	if (!err)
		err = weft_group_excl(group, ranks, (uint32_t)n_ranks, made);
	free(ranks);
	return err;
}

static int mpi_group_free(struct weft_group *group)
{
	/* a communicator may use the object, but the handle is invalid */
	if (group != &weft_group_empty)
		weft_obj_renew(group);
	weft_group_put(group);
	return 0;
}

#include "api_group.h"
