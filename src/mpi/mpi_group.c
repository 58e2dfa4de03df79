/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_group: groups */
#include "mpi_mix.h"

#include <stdlib.h>

/* Groups belong to no communicator, so their errors are raised where there is
 * no object. */
static int mpi_group_end(const char *func, int err)
{
	return weft_likely(!err) ? MPI_SUCCESS : weft_mpi_raise_none(func, err);
}

int PMPI_Group_size(MPI_Group group, int *size)
{
	struct weft_group *of = NULL;
	int err = weft_check_group(group, &of);

	if (!err)
		err = weft_check_ptr(size, "size");
	if (!err)
		*size = (int)of->size;
	return mpi_group_end("MPI_Group_size", err);
}

int PMPI_Group_rank(MPI_Group group, int *rank)
{
	struct weft_group *of = NULL;
	int err = weft_check_group(group, &of);

	if (!err)
		err = weft_check_ptr(rank, "rank");
	if (!err)
		*rank = of->my_rank;
	return mpi_group_end("MPI_Group_rank", err);
}

static int mpi_group_translate(const struct weft_group *a, int n,
	const int *ranks1, const struct weft_group *b, int *ranks2)
{
	for (int i = 0; i < n; i++) {
		int err = ranks1[i] == MPI_PROC_NULL
				  ? 0
				  : weft_check_range(WEFT_ERR_RANK, "ranks1[]",
					    ranks1[i], 0, (int64_t)a->size - 1);

		if (err)
			return err;
		ranks2[i] = ranks1[i] == MPI_PROC_NULL
				    ? MPI_PROC_NULL
				    : weft_group_rank_of(
					      b, weft_group_proc(a,
							 (uint32_t)ranks1[i]));
	}
	return 0;
}

int PMPI_Group_translate_ranks(MPI_Group group1, int n, const int ranks1[],
	MPI_Group group2, int ranks2[])
{
	struct weft_group *a = NULL, *b = NULL;
	int err;

	err = weft_check_group(group1, &a);
	if (!err)
		err = weft_check_group(group2, &b);
	if (!err)
		err = weft_check_range(WEFT_ERR_ARG, "n", n, 0, INT32_MAX);
	if (!err && n)
		err = weft_check_ptr(ranks1, "ranks1");
	if (!err && n)
		err = weft_check_ptr(ranks2, "ranks2");
	if (!err && weft_mix_is_strict())
		err = weft_mix_groups(a, b);
	if (!err)
		err = mpi_group_translate(a, n, ranks1, b, ranks2);
	return mpi_group_end("MPI_Group_translate_ranks", err);
}

int PMPI_Group_compare(MPI_Group group1, MPI_Group group2, int *result)
{
	struct weft_group *a = NULL, *b = NULL;
	int err;

	err = weft_check_group(group1, &a);
	if (!err)
		err = weft_check_group(group2, &b);
	if (!err)
		err = weft_check_ptr(result, "result");
	if (!err && weft_mix_is_strict())
		err = weft_mix_groups(a, b);
	if (!err)
		*result = MPI_IDENT + (int)weft_group_compare(a, b);
	return mpi_group_end("MPI_Group_compare", err);
}

typedef int combine_fn(const struct weft_group *a, const struct weft_group *b,
	struct weft_group **group_out);

static int mpi_group_combine(MPI_Group group1, MPI_Group group2, combine_fn *fn,
	const char *func, MPI_Group *newgroup)
{
	struct weft_group *a = NULL, *b = NULL, *made = NULL;
	int err;

	weft_mpi_null(newgroup, MPI_GROUP_NULL);
	err = weft_check_group(group1, &a);
	if (!err)
		err = weft_check_group(group2, &b);
	if (!err)
		err = weft_check_ptr(newgroup, "newgroup");
	if (!err)
		err = weft_mix_groups(a, b);
	if (!err)
		err = fn(a, b, &made);
	if (!err)
		*newgroup = weft_mpi_group_handle(made);
	return mpi_group_end(func, err);
}

int PMPI_Group_union(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
	return mpi_group_combine(
		group1, group2, weft_group_union, "MPI_Group_union", newgroup);
}

int PMPI_Group_intersection(
	MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
	return mpi_group_combine(group1, group2, weft_group_intersection,
		"MPI_Group_intersection", newgroup);
}

int PMPI_Group_difference(
	MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
	return mpi_group_combine(group1, group2, weft_group_difference,
		"MPI_Group_difference", newgroup);
}

typedef int choose_fn(const struct weft_group *group, const int *ranks,
	uint32_t n, struct weft_group **group_out);

static int mpi_group_choose(MPI_Group group, int n, const int *ranks,
	choose_fn *fn, MPI_Group *newgroup)
{
	struct weft_group *of = NULL, *made = NULL;
	int err;

	weft_mpi_null(newgroup, MPI_GROUP_NULL);
	err = weft_check_group(group, &of);
	if (!err)
		err = weft_check_range(WEFT_ERR_ARG, "n", n, 0, of->size);
	if (!err && n)
		err = weft_check_ptr(ranks, "ranks");
	if (!err)
		err = weft_check_ptr(newgroup, "newgroup");
	if (!err)
		err = fn(of, ranks, (uint32_t)n, &made);
	if (!err)
		*newgroup = weft_mpi_group_handle(made);
	return err;
}

int PMPI_Group_incl(
	MPI_Group group, int n, const int ranks[], MPI_Group *newgroup)
{
	return mpi_group_end("MPI_Group_incl",
		mpi_group_choose(group, n, ranks, weft_group_incl, newgroup));
}

int PMPI_Group_excl(
	MPI_Group group, int n, const int ranks[], MPI_Group *newgroup)
{
	return mpi_group_end("MPI_Group_excl",
		mpi_group_choose(group, n, ranks, weft_group_excl, newgroup));
}

/* Number of ranks in a triplet (first, last, stride); 0 where it is empty. */
static int64_t n_in_range(const int *range)
{
	int64_t span = (int64_t)range[1] - range[0];

	if (span && (span < 0) != (range[2] < 0))
		return 0;
	return span / range[2] + 1;
}

/* Writes the triplets out as ranks. Each must lie within the group, and an
 * endless list cannot: it would name a rank twice. */
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

static int choose_ranges(MPI_Group group, int n, int ranges[][3], choose_fn *fn,
	MPI_Group *newgroup)
{
	struct weft_group *of = NULL;
	int *ranks = NULL, n_ranks = 0;
	int err;

	weft_mpi_null(newgroup, MPI_GROUP_NULL);
	err = weft_check_group(group, &of);
	if (!err)
		err = weft_check_range(WEFT_ERR_ARG, "n", n, 0, INT32_MAX);
	if (!err && n)
		err = weft_check_ptr(ranges, "ranges");
	if (!err)
		err = weft_check_ptr(newgroup, "newgroup");
	if (!err)
		err = mpi_group_expand(of, n, ranges, &ranks, &n_ranks);
	if (!err)
		err = mpi_group_choose(group, n_ranks, ranks, fn, newgroup);
	free(ranks);
	return err;
}

int PMPI_Group_range_incl(
	MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
	return mpi_group_end("MPI_Group_range_incl",
		choose_ranges(group, n, ranges, weft_group_incl, newgroup));
}

int PMPI_Group_range_excl(
	MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
	return mpi_group_end("MPI_Group_range_excl",
		choose_ranges(group, n, ranges, weft_group_excl, newgroup));
}

int PMPI_Group_free(MPI_Group *group)
{
	struct weft_group *of = NULL;
	int err = weft_check_ptr(group, "group");

	if (!err)
		err = weft_check_group(*group, &of);
	if (!err) {
		/* a communicator may keep the object, nobody the handle */
		if (of != &weft_group_empty)
			weft_obj_renew(of);
		weft_group_put(of);
		*group = MPI_GROUP_NULL;
	}
	return mpi_group_end("MPI_Group_free", err);
}

#include "api_group.h"
