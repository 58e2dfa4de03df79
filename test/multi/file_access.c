/* SPDX-License-Identifier: BSD-3-Clause */
/* file_access: data written by one kind of access is read by another
 *
 * Cases: views of vectors and subarrays, types with gaps in memory, file
 * pointers, representations, collective, nonblocking and split accesses. */
#include "file.h"

enum { N = 1000, BIG = 3 << 20 };

static int rank, size;

/* ---- explicit offsets ---- */

static void offsets(void)
{
	MPI_File fh = file_scratch("offsets");
	int mine[4] = { rank, rank + 100, rank + 200, rank + 300 };
	int got[8] = { 0 };
	MPI_Status status;
	MPI_Request request;

	OK(MPI_File_write_at(fh, (MPI_Offset)sizeof(mine) * rank, mine, 4,
		MPI_INT, &status));
	CHECK(file_count(&status, MPI_INT) == 4, "all items were written");
	file_turn(fh);
	for (int i = 0; i < size; i++) {
		OK(MPI_File_read_at(fh, (MPI_Offset)sizeof(mine) * i, got, 4,
			MPI_INT, &status));
		CHECK(got[0] == i && got[3] == i + 300,
			"the items of rank %d are read: %d %d", i, got[0],
			got[3]);
	}
	OK(MPI_File_read_at(fh, (MPI_Offset)sizeof(mine) * size - 6, got, 8,
		MPI_INT, &status));
	CHECK(file_count(&status, MPI_BYTE) == 6,
		"a read at the end of the file is shorter: %d",
		file_count(&status, MPI_BYTE));
	OK(MPI_File_read_at_c(fh, 1 << 20, got, 8, MPI_INT, &status));
	CHECK(file_count(&status, MPI_INT) == 0,
		"a read beyond the end is empty");
	FAILS(MPI_File_read_at(fh, -1, got, 1, MPI_INT, &status), MPI_ERR_ARG);
	OK(MPI_File_iread_at(fh, 4, got, 3, MPI_INT, &request));
	OK(MPI_Wait(&request, &status));
	CHECK(file_count(&status, MPI_INT) == 3 && got[0] == 100 &&
			got[2] == 300,
		"a nonblocking read completes: %d", got[0]);
	OK(MPI_File_close(&fh));
}

/* ---- views ---- */

/* Creates a filetype of n blocks at equal distances, also from one tile to the
 * next. */
static MPI_Datatype dealt(int n, int block, MPI_Datatype type, int bytes)
{
	MPI_Datatype vector, resized;

	MPI_Type_vector(n, block, block * size, type, &vector);
	MPI_Type_create_resized(
		vector, 0, (MPI_Aint)n * block * size * bytes, &resized);
	MPI_Type_commit(&resized);
	MPI_Type_free(&vector);
	return resized;
}

/* Each process has every size-th block of three ints. The buffer in memory has
 * gaps, too. */
static void strided(bool together, const char *ds)
{
	MPI_File fh = file_scratch("strided");
	MPI_Datatype blocks, memory;
	MPI_Offset at, place;
	MPI_Status status;
	MPI_Info info;
	int *mine = malloc(2 * 3 * N * sizeof(*mine));
	int *got = malloc(3 * N * sizeof(*got)), n_wrong = 0;

	MPI_Info_create(&info);
	MPI_Info_set(info, "romio_ds_read", ds);
	blocks = dealt(N, 3, MPI_INT, sizeof(int));
	MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &memory);
	MPI_Type_commit(&memory);
	for (int i = 0; i < 3 * N; i++)
		mine[2 * i] = rank * 100000 + i;
	OK(MPI_File_set_view(fh, 8 + (MPI_Offset)rank * 12, MPI_INT, blocks,
		"native", info));
	if (together)
		OK(MPI_File_write_all(fh, mine, 3 * N, memory, &status));
	else
		OK(MPI_File_write(fh, mine, 3 * N, memory, &status));
	CHECK(file_count(&status, MPI_INT) == 3 * N, "all items were written");
	OK(MPI_File_get_position(fh, &at));
	CHECK(at == 3 * N, "the file pointer is after the items: %lld",
		(long long)at);
	OK(MPI_File_get_byte_offset(fh, 4, &place));
	CHECK(place == 8 + rank * 12 + size * 12 + 4,
		"etype 4 has the right byte offset: %lld", (long long)place);
	file_turn(fh);
	OK(MPI_File_seek(fh, 7, MPI_SEEK_SET));
	if (together)
		OK(MPI_File_read_all(fh, got, 3 * N, MPI_INT, &status));
	else
		OK(MPI_File_read(fh, got, 3 * N, MPI_INT, &status));
	CHECK(file_count(&status, MPI_INT) == 3 * N - 7,
		"a read ends at the end of the file: %d",
		file_count(&status, MPI_INT));
	for (int i = 0; i < 3 * N - 7; i++)
		n_wrong += got[i] != rank * 100000 + i + 7;
	CHECK(!n_wrong, "items read through the view: %d differ", n_wrong);
	OK(MPI_File_seek(fh, 0, MPI_SEEK_END));
	OK(MPI_File_get_position(fh, &at));
	CHECK(at == 3 * N,
		"MPI_SEEK_END is the end of the file in the view: %lld",
		(long long)at);
	OK(MPI_File_seek(fh, -3, MPI_SEEK_CUR));
	FAILS(MPI_File_seek(fh, -3 * N, MPI_SEEK_CUR), MPI_ERR_ARG);
	OK(MPI_File_get_position(fh, &at));
	CHECK(at == 3 * N - 3, "a relative seek moves the pointer: %lld",
		(long long)at);
	OK(MPI_File_set_view(fh, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
	OK(MPI_File_read_at(fh, 0, got, 3, MPI_INT, &status));
	CHECK(got[2] == 2, "a write is visible to other processes: %d", got[2]);
	OK(MPI_File_read_at(
		fh, 3 * (size - 1), got, 3, MPI_INT, MPI_STATUS_IGNORE));
	CHECK(got[1] == (size - 1) * 100000 + 1,
		"writes of other processes are visible: %d", got[1]);
	MPI_Info_free(&info);
	MPI_Type_free(&blocks);
	MPI_Type_free(&memory);
	free(mine);
	free(got);
	OK(MPI_File_close(&fh));
}

/* Each process has a plane of a cube; MPI_File_get_view returns the view. */
static void subarray(void)
{
	MPI_File fh = file_scratch("subarray");
	int sizes[3] = { 8, size * 4, 6 }, sub[3] = { 8, 4, 6 };
	int starts[3] = { 0, rank * 4, 0 };
	double mine[8 * 4 * 6], got[8 * 4 * 6] = { 0 }, whole;
	char rep[MPI_MAX_DATAREP_STRING];
	MPI_Datatype type, e, f;
	MPI_Offset disp;

	for (int i = 0; i < 8 * 4 * 6; i++)
		mine[i] = rank * 1000 + i;
	MPI_Type_create_subarray(
		3, sizes, sub, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
	MPI_Type_commit(&type);
	OK(MPI_File_set_view(
		fh, 16, MPI_DOUBLE, type, "internal", MPI_INFO_NULL));
	OK(MPI_File_write_at_all(
		fh, 0, mine, 8 * 4 * 6, MPI_DOUBLE, MPI_STATUS_IGNORE));
	OK(MPI_File_get_view(fh, &disp, &e, &f, rep));
	CHECK(disp == 16 && e == MPI_DOUBLE && f != MPI_DATATYPE_NULL &&
			!strcmp(rep, "internal"),
		"the view is as it was set: %lld %s", (long long)disp, rep);
	MPI_Type_free(&f);
	MPI_Type_free(&type);
	OK(MPI_File_read_at_all(
		fh, 0, got, 8 * 4 * 6, MPI_DOUBLE, MPI_STATUS_IGNORE));
	CHECK(!memcmp(mine, got, sizeof(mine)), "the plane is read back");
	file_turn(fh);
	OK(MPI_File_set_view(
		fh, 16, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL));
	OK(MPI_File_read_at(fh, (size - 1) * 24 + 7, &whole, 1, MPI_DOUBLE,
		MPI_STATUS_IGNORE));
	CHECK(whole == (size - 1) * 1000 + 7,
		"the element is at its place in the file: %f", whole);
	OK(MPI_File_close(&fh));
}

static void misuse(void)
{
	MPI_File fh = file_scratch("misuse");
	MPI_Datatype odd, back, over;
	const int places[2] = { 3, 0 }, ones[2] = { 1, 1 };
	const int meeting[2] = { 0, 1 }, twos[2] = { 2, 2 };
	char bytes[8] = { 0 };

	MPI_Type_contiguous(3, MPI_BYTE, &odd);
	MPI_Type_indexed(2, ones, places, MPI_INT, &back);
	MPI_Type_indexed(2, twos, meeting, MPI_INT, &over);
	FAILS(MPI_File_set_view(fh, 0, MPI_BYTE, odd, "native", MPI_INFO_NULL),
		MPI_ERR_TYPE);
	MPI_Type_commit(&odd);
	MPI_Type_commit(&back);
	MPI_Type_commit(&over);
	FAILS(MPI_File_set_view(fh, 0, MPI_INT, odd, "native", MPI_INFO_NULL),
		MPI_ERR_ARG);
	FAILS(MPI_File_set_view(
		      fh, -2, MPI_INT, MPI_INT, "native", MPI_INFO_NULL),
		MPI_ERR_ARG);
	FAILS(MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT,
		      "native", MPI_INFO_NULL),
		MPI_ERR_ARG);
	FAILS(MPI_File_set_view(fh, 0, MPI_INT, back, "native", MPI_INFO_NULL),
		MPI_ERR_IO);
	FAILS(MPI_File_set_view(fh, 0, MPI_INT, over, "native", MPI_INFO_NULL),
		MPI_ERR_IO);
	FAILS(MPI_File_set_view(
		      fh, 0, MPI_INT, MPI_INT, "no such", MPI_INFO_NULL),
		MPI_ERR_UNSUPPORTED_DATAREP);
	if (size > 1)
		FAILS(MPI_File_set_view(fh, 0, rank ? MPI_INT : MPI_BYTE,
			      MPI_INT, "native", MPI_INFO_NULL),
			MPI_ERR_NOT_SAME);
	OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
	FAILS(MPI_File_write(fh, bytes, 6, MPI_BYTE, MPI_STATUS_IGNORE),
		MPI_ERR_IO);
	/* all processes get the error of one */
	FAILS(MPI_File_write_all(fh, bytes, rank == size - 1 ? 6 : 8, MPI_BYTE,
		      MPI_STATUS_IGNORE),
		MPI_ERR_IO);
	FAILS(MPI_File_write_all_end(fh, bytes, MPI_STATUS_IGNORE),
		MPI_ERR_OTHER);
	MPI_Type_free(&odd);
	MPI_Type_free(&back);
	MPI_Type_free(&over);
	OK(MPI_File_close(&fh));
}

/* ---- representations ---- */

static void external(void)
{
	MPI_File fh = file_scratch("external");
	long numbers[5] = { 1, -2, 3, 4, 5 }, got[5] = { 9, 9, 9, 9, 9 };
	double x = 1.5 + rank, y = 0;
	unsigned char raw[8];
	MPI_Datatype vector;
	MPI_Aint extent;
	MPI_Count extent_c;
	MPI_Status status;

	OK(MPI_File_set_view(
		fh, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL));
	MPI_Type_vector(2, 1, 3, MPI_LONG, &vector);
	MPI_Type_commit(&vector);
	OK(MPI_File_get_type_extent(fh, MPI_LONG, &extent));
	OK(MPI_File_get_type_extent_c(fh, vector, &extent_c));
	CHECK(extent == 4 && extent_c == 16,
		"the extents in the file are 4 and 16: %d %d", (int)extent,
		(int)extent_c);
	OK(MPI_File_write_at(fh, 5 * rank, numbers, 5, MPI_LONG, &status));
	CHECK(file_count(&status, MPI_LONG) == 5,
		"the status counts elements of memory: %d",
		file_count(&status, MPI_LONG));
	file_turn(fh);
	OK(MPI_File_read_at(fh, 5 * size - 2, got, 5, MPI_LONG, &status));
	CHECK(file_count(&status, MPI_LONG) == 2 && got[0] == 4 &&
			got[1] == 5 && got[2] == 9,
		"no element beyond the end is touched: %ld %ld %ld", got[0],
		got[1], got[2]);
	OK(MPI_File_set_view(
		fh, 0, MPI_LONG, vector, "external32", MPI_INFO_NULL));
	OK(MPI_File_read_at(fh, 1, got, 1, MPI_LONG, &status));
	CHECK(got[0] == 4, "displacements are scaled: %ld", got[0]);
	file_turn(fh);
	OK(MPI_File_set_view(
		fh, 64, MPI_DOUBLE, MPI_DOUBLE, "external32", MPI_INFO_NULL));
	OK(MPI_File_write_at_all(fh, rank, &x, 1, MPI_DOUBLE, &status));
	OK(MPI_File_read_at_all(fh, rank, &y, 1, MPI_DOUBLE, &status));
	CHECK(x == y, "the value is converted and converted back: %f", y);
	file_turn(fh);
	OK(MPI_File_set_view(
		fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
	OK(MPI_File_read_at(fh, 4, raw, 8, MPI_BYTE, &status));
	CHECK(raw[0] == 255 && raw[3] == 254 && raw[7] == 3,
		"the file is big-endian: %d %d %d", raw[0], raw[3], raw[7]);
	MPI_Type_free(&vector);
	OK(MPI_File_close(&fh));
}

/* A representation of the program, which writes each int as two ints, the
 * second one negated. n_extra counts the calls that pass its extra state. */
static int n_extra;

static int twice_extent(MPI_Datatype type, MPI_Aint *extent, void *extra)
{
	int bytes;

	MPI_Type_size(type, &bytes);
	*extent = 2 * bytes;
	n_extra += extra == &n_extra;
	return MPI_SUCCESS;
}

static int twice_read(void *user, MPI_Datatype type, int count, void *file,
	MPI_Offset position, void *extra)
{
	const int *from = file;

	(void)type;
	n_extra += extra == &n_extra;
	for (int i = 0; i < count; i++) {
		if (from[2 * i] != -from[2 * i + 1])
			return MPI_ERR_OTHER;
		((int *)user)[position + i] = from[2 * i];
	}
	return MPI_SUCCESS;
}

static int twice_write(void *user, MPI_Datatype type, int count, void *file,
	MPI_Offset position, void *extra)
{
	int *to = file;

	(void)type;
	n_extra += extra == &n_extra;
	for (int i = 0; i < count; i++) {
		to[2 * i] = ((int *)user)[position + i];
		to[2 * i + 1] = -to[2 * i];
	}
	return MPI_SUCCESS;
}

static void of_program(void)
{
	MPI_File fh = file_scratch("of_program");
	int mine[3] = { rank, 10, 20 }, got[3] = { 0 }, wrong[6] = { 1, 1 };
	MPI_Status status;

	OK(MPI_Register_datarep(
		"twice", twice_read, twice_write, twice_extent, &n_extra));
	FAILS(MPI_Register_datarep(
		      "twice", twice_read, twice_write, twice_extent, NULL),
		MPI_ERR_DUP_DATAREP);
	FAILS(MPI_Register_datarep_c(
		      "external32", NULL, NULL, twice_extent, NULL),
		MPI_ERR_DUP_DATAREP);
	OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "twice", MPI_INFO_NULL));
	OK(MPI_File_write_at(fh, 3 * rank, mine, 3, MPI_INT, &status));
	CHECK(file_count(&status, MPI_INT) == 3, "three items are written: %d",
		file_count(&status, MPI_INT));
	file_turn(fh);
	OK(MPI_File_read_at_all(fh, 3 * (size - 1), got, 3, MPI_INT, &status));
	CHECK(got[0] == size - 1 && got[2] == 20 && n_extra > 2,
		"a user representation converts both ways: %d %d", got[0],
		got[2]);
	file_turn(fh);
	OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
	OK(MPI_File_write_at_all(fh, 0, wrong, rank ? 0 : 2, MPI_INT, &status));
	OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "twice", MPI_INFO_NULL));
	FAILS(MPI_File_read_at(fh, 0, got, 1, MPI_INT, &status),
		MPI_ERR_CONVERSION);
	OK(MPI_File_close(&fh));
}

/* ---- the shared pointer ---- */

static void shared(void)
{
	MPI_File fh = file_scratch("shared");
	enum { EACH = 20 };
	int *seen = calloc((size_t)size, sizeof(*seen)), got;
	MPI_Request requests[EACH];
	MPI_Offset at;
	MPI_Status status;

	OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
	for (int i = 0; i < EACH; i++)
		if (i % 2)
			OK(MPI_File_iwrite_shared(
				fh, &rank, 1, MPI_INT, &requests[i]));
		else
			OK(MPI_File_write_shared(
				fh, &rank, 1, MPI_INT, &status));
	for (int i = 1; i < EACH; i += 2)
		OK(MPI_Wait(&requests[i], &status));
	file_turn(fh);
	OK(MPI_File_get_position_shared(fh, &at));
	CHECK(at == EACH * size, "the shared pointer is after all items: %lld",
		(long long)at);
	for (int i = 0; i < EACH * size; i++) {
		OK(MPI_File_read_at(fh, i, &got, 1, MPI_INT, &status));
		if (CHECK(got >= 0 && got < size,
			    "place %d has the item of a rank: %d", i, got))
			seen[got]++;
	}
	for (int i = 0; i < size; i++)
		CHECK(seen[i] == EACH, "rank %d has written its items once: %d",
			i, seen[i]);
	OK(MPI_File_seek_shared(fh, 2, MPI_SEEK_SET));
	OK(MPI_File_seek_shared(fh, -2, MPI_SEEK_CUR));
	OK(MPI_File_read_shared(fh, &got, 1, MPI_INT, &status));
	MPI_Barrier(MPI_COMM_WORLD);
	OK(MPI_File_get_position_shared(fh, &at));
	CHECK(at == size, "each process read one item: %lld", (long long)at);
	if (size > 1)
		FAILS(MPI_File_seek_shared(fh, rank, MPI_SEEK_SET),
			MPI_ERR_NOT_SAME);
	free(seen);
	OK(MPI_File_close(&fh));
}

/* Rank r writes r + 1 numbers. */
static void ordered(void)
{
	MPI_File fh = file_scratch("ordered");
	int n = rank + 1, before = rank * (rank + 1) / 2, n_wrong = 0;
	int *mine = malloc((size_t)n * sizeof(*mine));
	int *got = malloc((size_t)n * sizeof(*got));
	MPI_Offset at;
	MPI_Status status;

	OK(MPI_File_set_view(fh, 4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < n; i++)
			mine[i] = round * 10000 + before + i;
		if (round)
			OK(MPI_File_write_ordered_begin(fh, mine, n, MPI_INT));
		if (round)
			OK(MPI_File_write_ordered_end(fh, mine, &status));
		else
			OK(MPI_File_write_ordered(
				fh, mine, n, MPI_INT, &status));
		CHECK(file_count(&status, MPI_INT) == n,
			"all items were written");
	}
	OK(MPI_File_get_position_shared(fh, &at));
	CHECK(at == size * (size + 1),
		"all processes advanced the shared pointer: %lld",
		(long long)at);
	file_turn(fh);
	OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
	OK(MPI_File_read_ordered(fh, got, n, MPI_INT, &status));
	for (int i = 0; i < n; i++)
		n_wrong += got[i] != before + i;
	OK(MPI_File_read_ordered_begin(fh, got, n, MPI_INT));
	FAILS(MPI_File_read_all_end(fh, got, &status), MPI_ERR_OTHER);
	OK(MPI_File_read_ordered_end(fh, got, &status));
	for (int i = 0; i < n; i++)
		n_wrong += got[i] != 10000 + before + i;
	CHECK(!n_wrong, "the items are in the order of ranks: %d differ",
		n_wrong);
	free(mine);
	free(got);
	OK(MPI_File_close(&fh));
}

/* A sequential file has only the shared pointer. A view begins at its
 * position. */
static void sequential(void)
{
	const char *name = file_named("sequential");
	int got[2] = { 0 };
	MPI_File fh;

	OK(MPI_File_open(MPI_COMM_WORLD, name,
		MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL,
		MPI_INFO_NULL, &fh));
	FAILS(MPI_File_write(fh, got, 1, MPI_INT, MPI_STATUS_IGNORE),
		MPI_ERR_UNSUPPORTED_OPERATION);
	FAILS(MPI_File_seek(fh, 0, MPI_SEEK_SET),
		MPI_ERR_UNSUPPORTED_OPERATION);
	FAILS(MPI_File_read_shared(fh, got, 1, MPI_INT, MPI_STATUS_IGNORE),
		MPI_ERR_ACCESS);
	FAILS(MPI_File_set_view(
		      fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL),
		MPI_ERR_ARG);
	OK(MPI_File_write_ordered(fh, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
	OK(MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT,
		"native", MPI_INFO_NULL));
	OK(MPI_File_write_ordered(fh, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
	OK(MPI_File_close(&fh));
	OK(MPI_File_open(MPI_COMM_WORLD, name,
		MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
		&fh));
	FAILS(MPI_File_write_at(fh, 0, got, 1, MPI_INT, MPI_STATUS_IGNORE),
		MPI_ERR_READ_ONLY);
	FAILS(MPI_File_set_size(fh, 0), MPI_ERR_READ_ONLY);
	OK(MPI_File_read_at(fh, (MPI_Offset)sizeof(int) * (size - 1), got, 2,
		MPI_INT, MPI_STATUS_IGNORE));
	CHECK(got[0] == size - 1 && got[1] == 0,
		"ordered accesses follow each other: %d %d", got[0], got[1]);
	OK(MPI_File_close(&fh));
}

/* ---- nonblocking and split accesses ---- */

static void begun(void)
{
	MPI_File fh = file_scratch("begun");
	char *mine = malloc(BIG), *got = calloc(1, BIG), *more = calloc(1, 64);
	MPI_Datatype far;
	MPI_Request r[5];
	MPI_Status s[5];

	for (int i = 0; i < BIG; i++)
		mine[i] = (char)(i * 7 + rank);
	far = dealt(BIG / 4096, 4096, MPI_BYTE, 1);
	OK(MPI_File_set_view(
		fh, rank * 4096, MPI_BYTE, far, "native", MPI_INFO_NULL));
	OK(MPI_File_iwrite_all(fh, mine, BIG / 2, MPI_BYTE, &r[0]));
	OK(MPI_File_iwrite_all(fh, mine + BIG / 2, BIG / 2, MPI_BYTE, &r[1]));
	OK(MPI_File_iwrite_at(fh, BIG, mine, 10, MPI_BYTE, &r[2]));
	OK(MPI_File_iwrite_at_all(fh, BIG + 10, mine, 54, MPI_BYTE, &r[3]));
	OK(MPI_File_read_at_all(fh, BIG * 2, more, 1, MPI_BYTE, &s[4]));
	CHECK(file_count(&s[4], MPI_BYTE) == 0,
		"a blocking read beyond the end, between nonblocking accesses, "
		"reads nothing");
	OK(MPI_Waitall(4, r, s));
	CHECK(file_count(&s[1], MPI_BYTE) == BIG / 2,
		"the length in the status is right: %d",
		file_count(&s[1], MPI_BYTE));
	file_turn(fh);
	OK(MPI_File_seek(fh, 0, MPI_SEEK_SET));
	OK(MPI_File_iread_all(fh, got, BIG, MPI_BYTE, &r[0]));
	OK(MPI_File_iread(fh, more, 64, MPI_BYTE, &r[1]));
	OK(MPI_Waitall(2, r, s));
	CHECK(file_count(&s[0], MPI_BYTE) == BIG && !memcmp(mine, got, BIG),
		"the data is read back");
	CHECK(!memcmp(more, mine, 10) && !memcmp(more + 10, mine, 54),
		"later accesses write after the first data");
	OK(MPI_File_read_at_all_begin(fh, 5, got, 100, MPI_BYTE));
	FAILS(MPI_File_read_all_begin(fh, got, 100, MPI_BYTE), MPI_ERR_OTHER);
	OK(MPI_File_read_at_all_end(fh, got, &s[0]));
	CHECK(!memcmp(mine + 5, got, 100), "a split read returns the data");
	OK(MPI_File_seek(fh, 3, MPI_SEEK_SET));
	OK(MPI_File_read_all_begin(fh, got, 100, MPI_BYTE));
	OK(MPI_File_read_all_end(fh, got, &s[0]));
	CHECK(!memcmp(mine + 3, got, 100),
		"a read at the file pointer returns the data");
	OK(MPI_File_write_all_begin(fh, mine, 100, MPI_BYTE));
	OK(MPI_File_write_all_end(fh, mine, &s[0]));
	OK(MPI_File_write_at_all_begin_c(fh, 0, mine, 100, MPI_BYTE));
	OK(MPI_File_write_at_all_end(fh, mine, &s[0]));
	CHECK(file_count(&s[0], MPI_BYTE) == 100,
		"a split write writes the data");
	/* an error of a nonblocking access is raised on the file, at all
	 * processes */
	OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
	OK(MPI_File_iwrite_all(
		fh, mine, rank == size - 1 ? 6 : 8, MPI_BYTE, &r[0]));
	FAILS(MPI_Wait(&r[0], &s[0]), MPI_ERR_IO);
	OK(MPI_File_iwrite_at(fh, BIG, mine, BIG / 4, MPI_INT, &r[0]));
	OK(MPI_Request_free(&r[0]));
	MPI_Type_free(&far);
	OK(MPI_File_close(&fh));
	free(mine);
	free(got);
	free(more);
}

/* ---- atomic ---- */

/* All processes write to the same bytes of the file. Each read returns the data
 * of one process. */
static void atomic(void)
{
	enum { LEN = 100000 };
	MPI_File fh = file_scratch("atomic");
	char *mine = malloc(LEN), *got = calloc(1, LEN);
	int flag = 7, n_wrong = 0;

	memset(mine, 'a' + rank, LEN);
	OK(MPI_File_get_atomicity(fh, &flag));
	CHECK(flag == 0, "atomic mode is off after the open");
	OK(MPI_File_set_atomicity(fh, 1));
	OK(MPI_File_get_atomicity(fh, &flag));
	CHECK(flag == 1, "atomic mode is on after MPI_File_set_atomicity");
	OK(MPI_File_write_at_all(
		fh, 3, mine, LEN, MPI_BYTE, MPI_STATUS_IGNORE));
	for (int i = 0; i < 10; i++) {
		OK(MPI_File_write_at(
			fh, 3, mine, LEN, MPI_BYTE, MPI_STATUS_IGNORE));
		OK(MPI_File_read_at(
			fh, 3, got, LEN, MPI_BYTE, MPI_STATUS_IGNORE));
		n_wrong += memcmp(got, got + 1, LEN - 1) != 0;
	}
	CHECK(!n_wrong, "records of two writers are never mixed: %d", n_wrong);
	free(mine);
	free(got);
	OK(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	rank = mtest.rank;
	size = mtest.size;
	offsets();
	strided(false, "automatic");
	strided(true, "enable");
	strided(false, "disable");
	subarray();
	misuse();
	external();
	of_program();
	shared();
	ordered();
	sequential();
	begun();
	atomic();
	return mtest_finish();
}
