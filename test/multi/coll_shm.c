/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coll_shm: collectives on communicators of every size after the first calls,
 * when a communicator may use the shared segment
 *
 * Results are compared with a plain computation: all lengths around a cache
 * line, the longest length in one piece and longer ones, all roots, in place,
 * types with gaps at some members, an operation that does not commute and one
 * on items with gaps. Some members run ahead of others, and no data is left at
 * the end.
 *
 * differ=1: members also call different collectives. Only if all of them share
 * memory, the library detects that in every order of arrival.
 */
#include "coll.h"
#include <dirent.h>

enum { WARM = 6, LONGEST = 300001, RUN = 1200, WIDE = 700 };

struct map {
	unsigned a, b;
};

static MPI_Op compose;
static MPI_Datatype map_type, gap_type; /* one map; one map and a gap of the
					 * same size */

static void compose_fn(void *in, void *inout, int *len, MPI_Datatype *type)
{
	const struct map *left = in;
	struct map *right = inout;
	int step = *type == gap_type ? 2 : 1;

	for (int i = 0; i < *len * step; i += step)
		right[i] = (struct map){ left[i].a * right[i].a,
			left[i].b * right[i].a + right[i].b };
}

static struct map element(int rank, int i)
{
	return (struct map){ 2u * (rank + i) + 3, 7u * rank + i + 1 };
}

/* Returns the composition of the maps that all ranks have as element i. */
static struct map folded(int size, int i)
{
	struct map all = element(0, i);

	for (int r = 1; r < size; r++) {
		struct map x = element(r, i);

		all = (struct map){ all.a * x.a, all.b * x.a + x.b };
	}
	return all;
}

static void warm(MPI_Comm comm)
{
	for (int i = 0; i < WARM; i++)
		OK(MPI_Barrier(comm));
}

/* ---- results ---- */

static bool is_env(const char *name, const char *value)
{
	const char *has = getenv(name);

	return has && !strcmp(has, value);
}

/* True if some members on a node share memory. */
static bool shares_memory(void)
{
	return !is_env("WEFT_SHM", "off") && !is_env("WEFT_COLL_SHM", "off") &&
	       !is_env("WEFT_WAIT", "block");
}

/* The number of lengths to test. Without shared memory, leaves out those above
 * `most`, which are last and slow. */
static int n_lens(const int *lens, int n, int most)
{
	while (!shares_memory() && lens[n - 1] > most)
		n--;
	return n;
}

/* Broadcasts bytes from each root. At odd ranks every second byte is a gap. */
static void bcasts(MPI_Comm comm, int me, int size)
{
	static const int lens[] = { 0, 1, 7, 8, 56, 57, 1024, 1025, 8192, 8193,
		16384, 16385, 65536, 65537, 100003, LONGEST - 1 };
	static unsigned char buf[2 * LONGEST];
	int step = 1 + me % 2, bad;
	MPI_Datatype type;

	for (int i = 0; i < n_lens(lens, 16, 8193); i++) {
		int len = lens[i], root = i % size;

		OK(MPI_Type_vector(len, 1, step, MPI_BYTE, &type));
		OK(MPI_Type_commit(&type));
		for (int k = 0; k < len; k++)
			buf[k * step] =
				me == root ? (unsigned char)(k * 7 + i) : 0;
		buf[len * step] = 99;
		OK(MPI_Bcast(buf, 1, type, root, comm));
		bad = buf[len * step] != 99;
		for (int k = 0; k < len; k++)
			bad += buf[k * step] != (unsigned char)(k * 7 + i);
		CHECK(!bad, "bcast of %d bytes from %d of %d: %d are wrong",
			len, root, size, bad);
		OK(MPI_Type_free(&type));
	}
}

static void fill(struct map *buf, int me, int n, int step)
{
	for (int i = 0; i < n * step; i++)
		buf[i] =
			i % step ? (struct map){ 5, 5 } : element(me, i / step);
}

static int wrong(const struct map *buf, int size, int n, int step)
{
	int bad = 0;

	for (int i = 0; i < n * step; i++) {
		struct map want = i % step ? (struct map){ 5, 5 }
					   : folded(size, i / step);

		bad += buf[i].a != want.a || buf[i].b != want.b;
	}
	return bad;
}

/* Counts the items that differ from those that fill() writes at `rank`. */
static int differ_from(const struct map *buf, int rank, int n, int step)
{
	int bad = 0;

	for (int i = 0; i < n * step; i++) {
		struct map want = i % step ? (struct map){ 5, 5 }
					   : element(rank, i / step);

		bad += buf[i].a != want.a || buf[i].b != want.b;
	}
	return bad;
}

/* Tests reductions of n maps; with step 2, of a type with gaps. */
static void reductions(MPI_Comm comm, int me, int size, int n, int step)
{
	MPI_Datatype type = step == 2 ? gap_type : map_type;
	struct map *in = mtest_alloc(sizeof(*in) * (n * step + 1));
	struct map *out = mtest_alloc(sizeof(*out) * (n * step + 1));
	bool hidden;

	for (int root = 0; root < size; root++) {
		hidden = (root + n) % 2 && me == root;
		fill(in, me, n, step);
		fill(out, 77, n, step);
		OK(MPI_Reduce(hidden ? MPI_IN_PLACE : in, hidden ? in : out, n,
			type, compose, root, comm));
		CHECK(me != root || !wrong(hidden ? in : out, size, n, step),
			"a reduce of %d items to %d of %d is right, step %d", n,
			root, size, step);
	}
	for (int place = 0; place < 2; place++) {
		fill(in, me, n, step);
		fill(out, 77, n, step);
		OK(MPI_Allreduce(place ? MPI_IN_PLACE : in, place ? in : out, n,
			type, compose, comm));
		CHECK(!wrong(place ? in : out, size, n, step),
			"an allreduce of %d items on %d processes is right, "
			"step %d, in place %d",
			n, size, step, place);
	}
	free(in);
	free(out);
}

/* Reduce-scatter: each member receives one part of the result. */
static void parts(MPI_Comm comm, int me, int size, int n, int step)
{
	MPI_Datatype type = step == 2 ? gap_type : map_type;
	int len = n * step;
	struct map *in = mtest_alloc(sizeof(*in) * (size * len + 1));
	struct map *out = mtest_alloc(sizeof(*out) * (len + 1));

	for (int place = 0; place < 2; place++) {
		struct map *got = place ? in : out;
		int bad = 0;

		fill(in, me, size * n, step);
		fill(out, 77, n, step);
		OK(MPI_Reduce_scatter_block(place ? MPI_IN_PLACE : in, got, n,
			type, compose, comm));
		for (int i = 0; i < n; i++) {
			struct map want = folded(size, me * n + i);

			bad += got[i * step].a != want.a ||
			       got[i * step].b != want.b;
		}
		CHECK(!bad,
			"a reduce_scatter of %d items on %d processes is "
			"right, step %d, in place %d",
			n, size, step, place);
	}
	free(in);
	free(out);
}

static void scans(MPI_Comm comm, int me, int size, int n, int step)
{
	MPI_Datatype type = step == 2 ? gap_type : map_type;
	struct map *in = mtest_alloc(sizeof(*in) * (n * step + 1));
	struct map *out = mtest_alloc(sizeof(*out) * (n * step + 1));

	for (int place = 0; place < 2; place++) {
		struct map *got = place ? in : out;

		fill(in, me, n, step);
		fill(out, 77, n, step);
		OK(MPI_Scan(place ? MPI_IN_PLACE : in, got, n, type, compose,
			comm));
		CHECK(!wrong(got, me + 1, n, step),
			"a scan of %d items on %d processes is right, step %d, "
			"in place %d",
			n, size, step, place);
		fill(in, me, n, step);
		fill(out, 77, n, step);
		OK(MPI_Exscan(place ? MPI_IN_PLACE : in, got, n, type, compose,
			comm));
		CHECK(!me || !wrong(got, me, n, step),
			"an exscan of %d items on %d processes is right, step "
			"%d, in place %d",
			n, size, step, place);
	}
	free(in);
	free(out);
}

/* Gathers to each root, and scatters from it. */
static void moves(MPI_Comm comm, int me, int size, int n, int step)
{
	MPI_Datatype type = step == 2 ? gap_type : map_type;
	int len = n * step, bad;
	struct map *one = mtest_alloc(sizeof(*one) * (len + 1));
	struct map *all = mtest_alloc(sizeof(*all) * (size * len + 1));

	for (int root = 0; root < size; root++) {
		bool hidden = (root + n) % 2 && me == root;

		fill(one, me, n, step);
		for (int i = 0; i < size; i++)
			fill(all + i * len, hidden && i == me ? me : 77, n,
				step);
		OK(MPI_Gather(hidden ? MPI_IN_PLACE : one, n, type, all, n,
			type, root, comm));
		bad = 0;
		for (int i = 0; me == root && i < size; i++)
			bad += differ_from(all + i * len, i, n, step);
		fill(one, hidden ? me : 77, n, step);
		OK(MPI_Scatter(all, n, type, hidden ? MPI_IN_PLACE : one, n,
			type, root, comm));
		bad += differ_from(one, me, n, step);
		CHECK(!bad,
			"gather and scatter of %d items are right, root %d of "
			"%d, step %d",
			n, root, size, step);
	}
	free(one);
	free(all);
}

/* Tests allgather and alltoall. */
static void exchanges(MPI_Comm comm, int me, int size, int n, int step)
{
	MPI_Datatype type = step == 2 ? gap_type : map_type;
	int len = n * step, bad;
	struct map *one = mtest_alloc(sizeof(*one) * (size * len + 1));
	struct map *all = mtest_alloc(sizeof(*all) * (size * len + 1));

	for (int place = 0; place < 2; place++) {
		for (int i = 0; i < size; i++)
			fill(all + i * len, place && i == me ? me : 77, n,
				step);
		fill(one, me, n, step);
		OK(MPI_Allgather(place ? MPI_IN_PLACE : one, n, type, all, n,
			type, comm));
		bad = 0;
		for (int i = 0; i < size; i++)
			bad += differ_from(all + i * len, i, n, step);
		CHECK(!bad,
			"an allgather of %d items on %d processes is right, "
			"step %d, in place %d",
			n, size, step, place);
		for (int i = 0; i < size; i++) {
			fill(one + i * len, me * size + i, n, step);
			fill(all + i * len, place ? me * size + i : 77, n,
				step);
		}
		OK(MPI_Alltoall(place ? MPI_IN_PLACE : one, n, type, all, n,
			type, comm));
		bad = 0;
		for (int i = 0; i < size; i++)
			bad += differ_from(
				all + i * len, i * size + me, n, step);
		CHECK(!bad,
			"an alltoall of %d items on %d processes is right, "
			"step %d, in place %d",
			n, size, step, place);
	}
	free(one);
	free(all);
}

/* Predefined operations, also on a predefined type with padding. */
static void predefined(MPI_Comm comm, int me, int size)
{
	struct {
		double value;
		int place;
	} in = { me % 3, me }, out = { -1, -1 };
	static double x[40000], sum[40000];
	static const int lens[] = { 100, 1025, 8193, 40000 };
	int bad = 0, best = size > 2 ? 2 : size - 1;

	for (int k = 0; k < 8; k++) {
		int n = lens[k / 2];

		for (int i = 0; i < n; i++)
			x[i] = sum[i] = me + i;
		OK(MPI_Allreduce(k % 2 ? MPI_IN_PLACE : x, sum, n, MPI_DOUBLE,
			MPI_SUM, comm));
		for (int i = 0; i < n; i++)
			bad += sum[i] != size * (size - 1) / 2 + i * size;
	}
	OK(MPI_Allreduce(MPI_IN_PLACE, x, 1, MPI_DOUBLE, MPI_MAX, comm));
	bad += x[0] != size - 1;
	OK(MPI_Allreduce(&in, &out, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm));
	bad += out.value != best || out.place != best;
	CHECK(!bad, "predefined operations on %d processes: %d are wrong", size,
		bad);
}

/* Tests items with gaps. In the last piece, some members have no item to
 * combine. */
static void pairs(MPI_Comm comm, int me, int size)
{
	static struct {
		double value;
		int place;
	} in[2 * 5461 + 1], out[2 * 5461 + 1];
	static const int lens[] = { 1, 5461, 5462, 2 * 5461 + 1 };
	int bad = 0;

	for (int k = 0; k < 4; k++) {
		for (int i = 0; i < lens[k]; i++) {
			in[i].value = (me + i) % size;
			in[i].place = me;
		}
		OK(MPI_Allreduce(
			in, out, lens[k], MPI_DOUBLE_INT, MPI_MAXLOC, comm));
		for (int i = 0; i < lens[k]; i++)
			bad += out[i].value != size - 1 ||
			       (out[i].place + i) % size != size - 1;
	}
	CHECK(!bad, "pairs on %d processes: %d are wrong", size, bad);
}

static void add_wide(void *in, void *inout, int *len, MPI_Datatype *type)
{
	const int *a = in;
	int *b = inout;

	(void)type;
	for (int i = 0; i < *len * WIDE; i++)
		b[i] += a[i];
}

/* Tests items of 2800 bytes: a piece has space for a few of them, or for none.
 */
static void wide_items(MPI_Comm comm, int me, int size)
{
	enum { N = 30 };
	static int x[N * WIDE], y[N * WIDE];
	MPI_Datatype type;
	MPI_Op op;
	int bad = 0;

	OK(MPI_Type_contiguous(WIDE, MPI_INT, &type));
	OK(MPI_Type_commit(&type));
	OK(MPI_Op_create(add_wide, 1, &op));
	for (int i = 0; i < N * WIDE; i++)
		x[i] = me + i;
	OK(MPI_Allreduce(x, y, N, type, op, comm));
	for (int i = 0; i < N * WIDE; i++)
		bad += y[i] != size * (size - 1) / 2 + size * i;
	OK(MPI_Reduce(x, y, N, type, op, size - 1, comm));
	for (int i = 0; me == size - 1 && i < N * WIDE; i++)
		bad += y[i] != size * (size - 1) / 2 + size * i;
	CHECK(!bad, "items of %d numbers on %d processes: %d are wrong", WIDE,
		size, bad);
	OK(MPI_Op_free(&op));
	OK(MPI_Type_free(&type));
}

/* Some members are late, in turn. A root does not wait for late members, and
 * the results of long and short calls arrive in the order of the calls. */
static void run_ahead(MPI_Comm comm, int me, int size)
{
	static const int lens[] = { 1, 40, 15, 256, 1, 300, 1800, 14, 2048,
		5000, 12000 };
	static int x[12000];
	const int n_rows = n_lens(lens, 11, 2048);
	const int run = shares_memory() ? RUN : RUN / 2;
	int bad = 0;

	for (int i = 0; i < run; i++) {
		int n = lens[i * 7 % n_rows], what = i / 150 % 4,
		    root = i / 600 % size;

		if (i % 150 == 0 && me == (size - 1 + i / 150) % size)
			mtest_linger(5);
		for (int k = 0; k < n; k++)
			x[k] = what || me == root ? me + i + k : -1;
		if (what == 0) {
			OK(MPI_Bcast(x, n, MPI_INT, root, comm));
			for (int k = 0; k < n; k++)
				bad += x[k] != root + i + k;
		} else if (what == 1) {
			OK(MPI_Reduce(me == root ? MPI_IN_PLACE : x, x, n,
				MPI_INT, MPI_SUM, root, comm));
			for (int k = 0; me == root && k < n; k++)
				bad += x[k] !=
				       size * (size - 1) / 2 + (i + k) * size;
		} else if (what == 2) {
			OK(MPI_Allreduce(
				MPI_IN_PLACE, x, n, MPI_INT, MPI_SUM, comm));
			for (int k = 0; k < n; k++)
				bad += x[k] !=
				       size * (size - 1) / 2 + (i + k) * size;
		} else {
			OK(MPI_Scan(
				MPI_IN_PLACE, x, n, MPI_INT, MPI_SUM, comm));
			for (int k = 0; k < n; k++)
				bad += x[k] !=
				       me * (me + 1) / 2 + (i + k) * (me + 1);
		}
	}
	if (me == size - 1) /* short messages, of which most may be in flight */
		mtest_linger(5);
	for (int i = 0; i < run; i++) {
		x[0] = me ? -1 : i;
		OK(MPI_Bcast(x, 1, MPI_INT, 0, comm));
		bad += x[0] != i;
	}
	CHECK(!bad, "%d of %d successive broadcasts on %d processes are wrong",
		bad, run, size);
}

static void results(MPI_Comm comm, int me, int size)
{
	static const int counts[] = { 0, 1, 7, 8, 128, 200, 1024, 1030, 2500,
		9001 };
	MPI_Request request;
	int x = me;

	warm(comm);
	/* another operation that is active at the same time */
	OK(MPI_Ibcast(&x, 1, MPI_INT, size - 1, comm, &request));
	bcasts(comm, me, size);
	for (int i = 0; i < n_lens(counts, 10, 1024); i++)
		for (int step = 1; step <= 2; step++) {
			reductions(comm, me, size, counts[i], step);
			scans(comm, me, size, counts[i], step);
			parts(comm, me, size, counts[i], step);
			moves(comm, me, size, counts[i], step);
			exchanges(comm, me, size, counts[i], step);
		}
	predefined(comm, me, size);
	pairs(comm, me, size);
	wide_items(comm, me, size);
	run_ahead(comm, me, size);
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	CHECK(x == size - 1, "a nonblocking collective is complete, too");
}

/* ---- members that differ ---- */

static void says(int rc, const char *a, const char *b)
{
	char text[MPI_MAX_ERROR_STRING] = "", want[2][128];
	int len;

	snprintf(want[0], sizeof(want[0]), "%s here met %s of rank", a, b);
	snprintf(want[1], sizeof(want[1]), "%s here met %s of rank", b, a);
	FAILS(rc, MPI_ERR_NOT_SAME);
	OK(MPI_Error_string(rc, text, &len));
	CHECK(strstr(text, want[0]) || strstr(text, want[1]),
		"the error has the text \"%s\" or the reverse, got \"%s\"",
		want[0], text);
}

/* The last member calls another collective than the others, which all wait for
 * that member. late: 1: the last member is late, 0: the others are late. */
static void differ(MPI_Comm comm, int me, int size, int late)
{
	static int z[12000];
	int x = me, y[64];
	bool is_other = me == size - 1;
	MPI_Request request;

	if (is_other == late)
		mtest_linger(5);
	says(is_other ? MPI_Allreduce(&x, y, 1, MPI_INT, MPI_SUM, comm)
		      : MPI_Barrier(comm),
		"MPI_Barrier", "MPI_Allreduce");
	if (is_other == late)
		mtest_linger(5);
	says(MPI_Allreduce(y, y + 32, is_other ? 2 : 1, MPI_INT, MPI_SUM, comm),
		"MPI_Allreduce", "MPI_Allreduce");
	says(MPI_Allreduce(
		     z, z + 300, is_other ? 300 : 100, MPI_INT, MPI_SUM, comm),
		"MPI_Allreduce", "MPI_Allreduce");
	says(MPI_Allreduce(z, z + 6000, is_other ? 3000 : 5000, MPI_INT,
		     MPI_SUM, comm),
		"MPI_Allreduce", "MPI_Allreduce");
	if (is_other == late)
		mtest_linger(5);
	if (is_other) { /* both collectives wait for messages that no process
			   sends */
		OK(MPI_Igather(
			&x, 1, MPI_INT, y, 1, MPI_INT, me, comm, &request));
		says(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Gather",
			"MPI_Barrier");
	} else {
		says(MPI_Barrier(comm), "MPI_Gather", "MPI_Barrier");
	}
	OK(MPI_Allreduce(&x, y, 1, MPI_INT, MPI_SUM, comm));
	CHECK(y[0] == size * (size - 1) / 2, "the communicator works on");
	run_ahead(comm, me, size);
}

static void all_differ(void)
{
	MPI_Comm comm;

	if (!shares_memory() || getenv("WEFT_NODES")) {
		if (mtest.rank == 0)
			printf("# members that differ are left out: they share "
			       "no memory here\n");
		return;
	}

	for (int n = 2; n <= mtest.size; n += 1 + n / 3) {
		OK(MPI_Comm_split(MPI_COMM_WORLD,
			mtest.rank < n ? 0 : MPI_UNDEFINED, 0, &comm));
		if (comm == MPI_COMM_NULL)
			continue;
		MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
		warm(comm);
		differ(comm, mtest.rank, n, 0);
		differ(comm, mtest.rank, n, 1);
		OK(MPI_Comm_free(&comm));
	}
}

/* ---- nothing is left ---- */

static int n_entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static int n_maps(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char row[512];
	int n = 0;

	while (f && fgets(row, sizeof(row), f))
		n += strstr(row, "memfd:") || strstr(row, "/dev/shm/");
	if (f)
		fclose(f);
	return n;
}

static void nothing_left(void)
{
	int files = n_entries("/proc/self/fd"), maps;
	MPI_Comm comms[20];

	warm(MPI_COMM_WORLD);
	maps = n_maps();
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 20; i++) {
			OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
			warm(comms[i]);
		}
		/* a pipe that wakes each sleeping member may be opened late */
		CHECK(n_entries("/proc/self/fd") < files + mtest.size,
			"20 communicators hold no descriptors");
		for (int i = 0; i < 20; i++)
			OK(MPI_Comm_disconnect(&comms[i]));
	}
	CHECK(n_maps() <= maps,
		"no mapping is left: %d shared mappings, %d before", n_maps(),
		maps);
}

int main(int argc, char **argv)
{
	MPI_Datatype two;

	mtest_init(&argc, &argv);
	OK(MPI_Type_contiguous(2, MPI_UNSIGNED, &map_type));
	OK(MPI_Type_commit(&map_type));
	OK(MPI_Type_create_resized(map_type, 0, 2 * sizeof(struct map), &two));
	OK(MPI_Type_dup(two, &gap_type));
	OK(MPI_Type_commit(&gap_type));
	OK(MPI_Op_create(compose_fn, 0, &compose));
	coll_each_comm(results);
	if (mtest_arg(argc, argv, "differ", 0))
		all_differ();
	nothing_left();
	OK(MPI_Op_free(&compose));
	OK(MPI_Type_free(&two));
	OK(MPI_Type_free(&map_type));
	OK(MPI_Type_free(&gap_type));
	return mtest_finish();
}
