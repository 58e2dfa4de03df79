/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_colors: MPI_Comm_split with random colors and keys against a plain
 * model, on intracommunicators and on an intercommunicator */
#include "mtest.h"

enum { MOST = 64, ROUNDS = 12 };

/* The arguments of all processes, by rank in MPI_COMM_WORLD. All processes
 * compute the same. */
static int colors[MOST], keys[MOST];

static unsigned next_random(void)
{
	static unsigned state = 43;

	state = state * 1103515245 + 12345;
	return state >> 16;
}

static void choose(int n_colors, int n_keys)
{
	for (int i = 0; i < mtest.size; i++) {
		colors[i] = next_random() % 8
				    ? (int)(next_random() % (unsigned)n_colors)
				    : MPI_UNDEFINED;
		keys[i] = (int)(next_random() % (unsigned)n_keys) - n_keys / 2;
	}
}

/* Lists the processes of `parent`, in its order, with a color, as the split
 * must order them: repeatedly the lowest key, then the lowest rank in the
 * parent. */
static int model(const int *parent, int n, int color, int *ranks)
{
	bool is_taken[MOST] = { false };
	int n_ranks = 0;

	for (;;) {
		int best = -1;

		for (int i = 0; i < n; i++)
			if (colors[parent[i]] == color && !is_taken[i] &&
				(best < 0 ||
					keys[parent[i]] < keys[parent[best]]))
				best = i;
		if (best < 0)
			return n_ranks;
		is_taken[best] = true;
		ranks[n_ranks++] = parent[best];
	}
}

/* Checks that an allgather returns the expected processes in their order. */
static void expect(MPI_Comm comm, const int *ranks, int n, const char *what)
{
	int all[MOST];

	OK(MPI_Allgather(&mtest.rank, 1, MPI_INT, all, 1, MPI_INT, comm));
	for (int i = 0; i < n; i++)
		CHECK(all[i] == ranks[i], "%s: rank %d is process %d, got %d",
			what, i, ranks[i], all[i]);
}

/* Splits a communicator with these members, and splits the result again. */
static void split(MPI_Comm comm, const int *parent, int n, int depth)
{
	int ranks[MOST], n_ranks, size = -1;
	MPI_Comm part;

	OK(MPI_Comm_split(comm, colors[mtest.rank], keys[mtest.rank], &part));
	CHECK((part == MPI_COMM_NULL) == (colors[mtest.rank] < 0),
		"MPI_UNDEFINED creates no communicator");
	if (part == MPI_COMM_NULL)
		return;
	n_ranks = model(parent, n, colors[mtest.rank], ranks);
	OK(MPI_Comm_size(part, &size));
	CHECK(size == n_ranks, "%d processes have the color, got %d", n_ranks,
		size);
	if (size == n_ranks)
		expect(part, ranks, n_ranks, "intra");
	if (size == n_ranks && depth < 2) {
		/* the keys reverse the order, so the parent is irregular */
		for (int i = 0; i < mtest.size; i++)
			keys[i] = -keys[i];
		split(part, ranks, n_ranks, depth + 1);
		for (int i = 0; i < mtest.size; i++)
			keys[i] = -keys[i];
	}
	OK(MPI_Comm_free(&part));
}

/* Splits an intercommunicator of the even and the odd processes. */
static void split_inter(MPI_Comm inter, const int *parents[2], const int *n)
{
	int side = mtest.rank % 2, ranks[MOST], n_own, n_other, size = -1;
	int color = colors[mtest.rank];
	MPI_Comm part;

	OK(MPI_Comm_split(inter, color, keys[mtest.rank], &part));
	n_own = color < 0 ? 0 : model(parents[side], n[side], color, ranks);
	n_other = color < 0 ? 0 : model(parents[!side], n[!side], color, ranks);
	CHECK((part == MPI_COMM_NULL) == (n_other == 0),
		"both sides must have a member of color %d", color);
	if (part == MPI_COMM_NULL)
		return;
	OK(MPI_Comm_size(part, &size));
	CHECK(size == n_own, "%d processes have the color, got %d", n_own,
		size);
	OK(MPI_Comm_remote_size(part, &size));
	CHECK(size == n_other, "%d remote processes have the color, got %d",
		n_other, size);
	if (size == n_other)
		expect(part, ranks, n_other, "inter");
	OK(MPI_Comm_free(&part));
}

int main(int argc, char **argv)
{
	int even[MOST], odd[MOST], world[MOST];
	const int *parents[2] = { even, odd };
	int n[2] = { 0, 0 };
	MPI_Comm half, inter;

	mtest_init(&argc, &argv);
	CHECK(mtest.size >= 2 && mtest.size <= MOST,
		"the test needs 2 to %d processes", MOST);
	for (int i = 0; i < mtest.size; i++) {
		world[i] = i;
		(i % 2 ? odd : even)[n[i % 2]++] = i;
	}
	OK(MPI_Comm_split(MPI_COMM_WORLD, mtest.rank % 2, 0, &half));
	OK(MPI_Intercomm_create(
		half, 0, MPI_COMM_WORLD, 1 - mtest.rank % 2, 1, &inter));
	for (int i = 0; i < ROUNDS; i++) {
		choose(1 + i * i, i % 3 ? 1 + i : 1);
		split(MPI_COMM_WORLD, world, mtest.size, 0);
		split_inter(inter, parents, n);
	}
	OK(MPI_Comm_free(&inter));
	OK(MPI_Comm_free(&half));
	return mtest_finish();
}
