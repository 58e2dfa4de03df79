/* SPDX-License-Identifier: BSD-3-Clause */
/* file_together: collective buffering
 *
 * Cases: interleaved records, blocks of a cube, holes, ends of files and
 * members without data, with one aggregator or several, in many rounds. The
 * values of MPI_File_get_info are checked, too. */
#include "file.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

enum { RECORD = 24, EACH = 4000, CUBE = 24 };

static int rank, size;

struct way {
	const char *nodes, *buffer, *cb;
};

static MPI_Info info_of(const struct way *way)
{
	MPI_Info info;

	MPI_Info_create(&info);
	MPI_Info_set(info, "romio_cb_read", way->cb);
	MPI_Info_set(info, "romio_cb_write", way->cb);
	if (way->nodes)
		MPI_Info_set(info, "cb_nodes", way->nodes);
	if (way->buffer)
		MPI_Info_set(info, "cb_buffer_size", way->buffer);
	return info;
}

static MPI_File opened_as(const char *name, const struct way *way)
{
	MPI_Info info = info_of(way);
	MPI_File fh = MPI_FILE_NULL;

	OK(MPI_File_open(MPI_COMM_WORLD, name,
		MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
		info, &fh));
	MPI_Info_free(&info);
	return fh;
}

static MPI_File opened(const char *stem, const struct way *way)
{
	return opened_as(file_named(stem), way);
}

/* A filetype with len bytes at the start of every pitch bytes. */
static MPI_Datatype one_of(int len, int pitch)
{
	MPI_Datatype bytes, type;

	MPI_Type_contiguous(len, MPI_BYTE, &bytes);
	MPI_Type_create_resized(bytes, 0, pitch, &type);
	MPI_Type_commit(&type);
	MPI_Type_free(&bytes);
	return type;
}

static unsigned char byte_of(int of, int i)
{
	return (unsigned char)(i * 13 + i / 251 + of * 57 + 1);
}

static void fill(unsigned char *mine, int n)
{
	for (int i = 0; i < n; i++)
		mine[i] = byte_of(rank, i);
}

static int n_wrong(const unsigned char *got, int of, int n)
{
	int wrong = 0;

	for (int i = 0; i < n; i++)
		wrong += got[i] != byte_of(of, i);
	return wrong;
}

/* Rank r writes records r, r + size, ... The last bytes of its buffer are not
 * written. */
static void dealt(const struct way *way)
{
	enum { LEN = RECORD * EACH };
	MPI_File fh = opened("dealt", way);
	MPI_Datatype turn = one_of(RECORD, RECORD * size);
	unsigned char *mine = malloc(LEN), *got = calloc(1, LEN);
	MPI_Status status;
	MPI_Offset at;
	int next = (rank + 1) % size;

	fill(mine, LEN);
	OK(MPI_File_set_view(fh, 100 + (MPI_Offset)rank * RECORD, MPI_BYTE,
		turn, "native", MPI_INFO_NULL));
	OK(MPI_File_write_at_all(fh, 0, mine, LEN - 100, MPI_BYTE, &status));
	CHECK(file_count(&status, MPI_BYTE) == LEN - 100,
		"all bytes are moved: %d", file_count(&status, MPI_BYTE));
	OK(MPI_File_seek(fh, LEN - 100, MPI_SEEK_SET));
	OK(MPI_File_write_all_begin(fh, mine + LEN - 100, 100, MPI_BYTE));
	OK(MPI_File_write_all_end(fh, mine + LEN - 100, &status));
	CHECK(file_count(&status, MPI_BYTE) == 100,
		"a split write moves the rest");
	OK(MPI_File_get_position(fh, &at));
	CHECK(at == LEN, "the file pointer is after the data: %lld",
		(long long)at);
	file_turn(fh);
	OK(MPI_File_set_view(fh, 100 + (MPI_Offset)next * RECORD, MPI_BYTE,
		turn, "native", MPI_INFO_NULL));
	OK(MPI_File_read_at_all(fh, 0, got, LEN, MPI_BYTE, &status));
	CHECK(file_count(&status, MPI_BYTE) == LEN && !n_wrong(got, next, LEN),
		"the neighbour's data is read: %d bytes, %d wrong",
		file_count(&status, MPI_BYTE), n_wrong(got, next, LEN));
	/* beyond the end of the file, from the middle of a record on */
	memset(got, 0, LEN);
	OK(MPI_File_read_at_all(fh, 35, got, LEN, MPI_BYTE, &status));
	CHECK(file_count(&status, MPI_BYTE) == LEN - 35 &&
			got[0] == byte_of(next, 35) && got[LEN - 35] == 0,
		"a read ends at the end of the file: %d",
		file_count(&status, MPI_BYTE));
	/* a process without data takes part */
	memset(got, 0, LEN);
	OK(MPI_File_read_at_all(
		fh, 0, got, rank % 2 ? 0 : LEN, MPI_BYTE, &status));
	CHECK(file_count(&status, MPI_BYTE) == (rank % 2 ? 0 : LEN) &&
			(rank % 2 || !n_wrong(got, next, LEN)),
		"only some members read: %d", file_count(&status, MPI_BYTE));
	MPI_Type_free(&turn);
	free(mine);
	free(got);
	OK(MPI_File_close(&fh));
}

/* Waits without MPI calls until the file has the data of a nonblocking access.
 */
static void wait_moved(const char *name, const unsigned char *want, int n)
{
	int fd = open(name, O_RDONLY), wrong = 1;
	time_t end = time(NULL) + 60;
	unsigned char is[RECORD];

	CHECK(fd >= 0, "the file can be opened a second time");
	while (wrong && time(NULL) < end) {
		wrong = 0;
		for (int i = 0; i < n / RECORD && !wrong; i++) {
			off_t at = (off_t)RECORD * (size * i + rank);

			wrong = pread(fd, is, RECORD, at) != RECORD ||
				memcmp(is, want + i * RECORD, RECORD) != 0;
		}
		sched_yield();
	}
	CHECK(!wrong, "the access completes while this process makes no call");
	close(fd);
}

/* Each process starts three concurrent accesses after the rank before it. The
 * accesses complete while the processes make no call. */
static void begun(const struct way *way)
{
	enum { N = 3, LEN = RECORD * EACH, PART = LEN / N };
	const char *name = file_named("begun");
	MPI_Info info = info_of(way);
	MPI_File fh = MPI_FILE_NULL;
	MPI_Datatype turn = one_of(RECORD, RECORD * size);
	unsigned char *mine = malloc(LEN), *got = calloc(1, LEN);
	MPI_Request requests[N];
	MPI_Status statuses[N];

	OK(MPI_File_open(MPI_COMM_WORLD, name,
		MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
		info, &fh));
	MPI_Info_free(&info);
	fill(mine, LEN);
	OK(MPI_File_set_view(fh, (MPI_Offset)rank * RECORD, MPI_BYTE, turn,
		"native", MPI_INFO_NULL));
	if (rank)
		MPI_Recv(NULL, 0, MPI_BYTE, rank - 1, 1, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE);
	for (int i = 0; i < N; i++)
		OK(MPI_File_iwrite_at_all(fh, i * PART, mine + i * PART, PART,
			MPI_BYTE, &requests[i]));
	if (rank < size - 1)
		MPI_Send(NULL, 0, MPI_BYTE, rank + 1, 1, MPI_COMM_WORLD);
	wait_moved(name, mine, LEN);
	OK(MPI_Waitall(N, requests, statuses));
	for (int i = 0; i < N; i++)
		CHECK(file_count(&statuses[i], MPI_BYTE) == PART,
			"part %d is complete: %d bytes", i,
			file_count(&statuses[i], MPI_BYTE));
	for (int i = 0; i < N - 1; i++)
		OK(MPI_File_iread_at_all(fh, i * PART, got + i * PART, PART,
			MPI_BYTE, &requests[i]));
	OK(MPI_File_get_info(fh, &info));
	MPI_Info_free(&info);
	OK(MPI_File_read_at_all(
		fh, 2 * PART, got + 2 * PART, PART, MPI_BYTE, &statuses[2]));
	OK(MPI_Waitall(N - 1, requests, statuses));
	CHECK(!n_wrong(got, rank, LEN), "all bytes are read: %d wrong",
		n_wrong(got, rank, LEN));
	MPI_Type_free(&turn);
	free(mine);
	free(got);
	OK(MPI_File_close(&fh));
}

/* Each process has a slice of a cube, which cuts the longest runs of the file.
 * The array in memory has a border. */
static void cube(const struct way *way)
{
	MPI_File fh = opened("cube", way);
	int whole[3] = { CUBE, CUBE, CUBE * size };
	int part[3] = { CUBE, CUBE, CUBE }, at[3] = { 0, 0, CUBE * rank };
	int rim[3] = { CUBE + 2, CUBE + 2, CUBE + 2 }, in[3] = { 1, 1, 1 };
	enum { N = (CUBE + 2) * (CUBE + 2) * (CUBE + 2) };
	double *mine = calloc(N, sizeof(double)), *got;
	MPI_Datatype view, memory;
	MPI_Status status;

	got = malloc(N * sizeof(double));
	for (int i = 0; i < N; i++)
		mine[i] = got[i] = -1;
	for (int i = 0; i < CUBE * CUBE * CUBE; i++)
		mine[(i / CUBE / CUBE + 1) * (CUBE + 2) * (CUBE + 2) +
			(i / CUBE % CUBE + 1) * (CUBE + 2) + i % CUBE + 1] =
			rank * 100000 + i;
	MPI_Type_create_subarray(
		3, whole, part, at, MPI_ORDER_C, MPI_DOUBLE, &view);
	MPI_Type_create_subarray(
		3, rim, part, in, MPI_ORDER_C, MPI_DOUBLE, &memory);
	MPI_Type_commit(&view);
	MPI_Type_commit(&memory);
	OK(MPI_File_set_view(fh, 8, MPI_DOUBLE, view, "native", MPI_INFO_NULL));
	OK(MPI_File_write_all(fh, mine, 1, memory, &status));
	CHECK(file_count(&status, memory) == 1, "the item was written");
	OK(MPI_File_seek(fh, 0, MPI_SEEK_SET));
	OK(MPI_File_read_all(fh, got, 1, memory, &status));
	CHECK(file_count(&status, memory) == 1 &&
			!memcmp(mine, got, N * sizeof(double)),
		"the item is read into memory with a border");
	MPI_Type_free(&view);
	MPI_Type_free(&memory);
	free(mine);
	free(got);
	OK(MPI_File_close(&fh));
}

/* Another open file writes the holes between records; aggregators do not change
 * them. One process has less data, so there are further holes. */
static void holes(const struct way *way, int gap)
{
	enum { LEN = RECORD * EACH };
	MPI_File fh = opened("holes", way);
	MPI_Datatype turn = one_of(RECORD, (RECORD + gap) * size);
	unsigned char *mine = malloc(LEN), *got = calloc(1, LEN);
	unsigned char *all = malloc((size_t)(RECORD + gap) * size * EACH);
	int total = (RECORD + gap) * size * EACH, wrong = 0, last;
	MPI_Status status;

	fill(mine, LEN);
	memset(all, 0xee, (size_t)total);
	OK(MPI_File_write_at_all(
		fh, 0, all, rank ? 0 : total, MPI_BYTE, &status));
	file_turn(fh);
	OK(MPI_File_set_view(fh, (MPI_Offset)rank * (RECORD + gap), MPI_BYTE,
		turn, "native", MPI_INFO_NULL));
	last = rank == size - 1 ? LEN / 2 : LEN;
	OK(MPI_File_write_at_all(fh, 0, mine, last, MPI_BYTE, &status));
	CHECK(file_count(&status, MPI_BYTE) == last,
		"all bytes were written: %d", file_count(&status, MPI_BYTE));
	OK(MPI_File_read_at_all(fh, 0, got, last, MPI_BYTE, &status));
	CHECK(!n_wrong(got, rank, last), "all bytes are read back");
	file_turn(fh);
	OK(MPI_File_set_view(
		fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
	OK(MPI_File_read_at_all(fh, 0, all, total, MPI_BYTE, &status));
	for (int i = 0; i < total; i++) {
		int record = i / (RECORD + gap), in = i % (RECORD + gap);
		int of = record % size, k = record / size * RECORD + in;
		bool is_hole = in >= RECORD || (of == size - 1 && k >= LEN / 2);

		wrong += all[i] != (is_hole ? 0xee : byte_of(of, k));
	}
	CHECK(!wrong, "bytes outside all views are unchanged: %d", wrong);
	MPI_Type_free(&turn);
	free(mine);
	free(got);
	free(all);
	OK(MPI_File_close(&fh));
}

/* The tiles of the view interleave: between the two runs of a tile are runs of
 * other tiles. */
static void odd(const struct way *way)
{
	MPI_File fh = opened("odd", way);
	MPI_Datatype pair, tile;
	const int lens[2] = { 4, 4 }, at[2] = { 0, 64 };
	unsigned char mine[800], got[800] = { 0 };

	fill(mine, 800);
	MPI_Type_indexed(2, lens, at, MPI_BYTE, &pair);
	MPI_Type_create_resized(pair, 0, 4, &tile);
	MPI_Type_commit(&tile);
	OK(MPI_File_set_view(fh, (MPI_Offset)rank * 4096, MPI_BYTE, tile,
		"native", MPI_INFO_NULL));
	OK(MPI_File_write_at_all(
		fh, 0, mine, 8 * 16, MPI_BYTE, MPI_STATUS_IGNORE));
	OK(MPI_File_read_at_all(
		fh, 0, got, 8 * 16, MPI_BYTE, MPI_STATUS_IGNORE));
	CHECK(!memcmp(mine, got, 8 * 16),
		"interleaved tiles are read as they were written");
	MPI_Type_free(&pair);
	MPI_Type_free(&tile);
	OK(MPI_File_close(&fh));
}

static void check_hints(const struct way *way)
{
	MPI_File fh = opened("told", way);
	char value[64] = "";
	int flag = 0, len = sizeof(value);
	MPI_Info info;

	OK(MPI_File_get_info(fh, &info));
	MPI_Info_get_string(info, "romio_cb_write", &len, value, &flag);
	CHECK(flag && !strcmp(value, way->cb),
		"romio_cb_write is the requested value: %s", value);
	len = sizeof(value);
	MPI_Info_get_string(info, "cb_nodes", &len, value, &flag);
	if (way->nodes)
		CHECK(flag && atoi(value) == (atoi(way->nodes) < size
							     ? atoi(way->nodes)
							     : size),
			"cb_nodes is the number of aggregators: %s", value);
	len = sizeof(value);
	MPI_Info_get_string(info, "collective_buffering", &len, value, &flag);
	CHECK(flag && !strcmp(value, "true"), "collective buffering is on: %s",
		value);
	MPI_Info_free(&info);
	MPI_Info_create(&info);
	MPI_Info_set(info, "romio_cb_write", rank ? "automatic" : "disable");
	MPI_Info_set(info, "cb_buffer_size", rank ? "100000" : "1000000");
	OK(MPI_File_set_info(fh, info));
	MPI_Info_free(&info);
	OK(MPI_File_get_info(fh, &info));
	len = sizeof(value);
	MPI_Info_get_string(info, "romio_cb_write", &len, value, &flag);
	CHECK(flag && !strcmp(value, "disable"),
		"one member disables aggregators for all: %s", value);
	len = sizeof(value);
	MPI_Info_get_string(info, "cb_buffer_size", &len, value, &flag);
	CHECK(flag && atoi(value) == (size > 1 ? 100000 : 1000000),
		"the smallest buffer size holds for all: %s", value);
	MPI_Info_free(&info);
	OK(MPI_File_close(&fh));
}

/* One process has an invalid argument: all get its error, in all kinds of
 * access, and later accesses work. */
static void refused_with(MPI_File fh, int count, MPI_Offset at, int class)
{
	static char mine[RECORD];
	bool now = rank == 1 && count < 0;
	MPI_Request request = MPI_REQUEST_NULL;
	char text[MPI_MAX_ERROR_STRING];
	int err, len;

	err = MPI_File_write_at_all(
		fh, at, mine, count, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_Error_string(err, text, &len);
	FAILS(err, class);
	CHECK(rank == 1 ||
			(strstr(text, "refused") && strstr(text, "at rank 1") &&
				strstr(text, class == MPI_ERR_ARG ? "offset"
								  : "count")),
		"the text at other members names the rank, the file and the "
		"argument: %s",
		text);
	err = MPI_File_iwrite_at_all(fh, at, mine, count, MPI_BYTE, &request);
	CHECK(!err == !now, "the nonblocking access starts or fails: %d", err);
	FAILS(err ? err : MPI_Wait(&request, MPI_STATUS_IGNORE), class);
	err = MPI_File_read_at_all_begin(fh, at, mine, count, MPI_BYTE);
	CHECK(!err == !now, "the split access starts or fails: %d", err);
	FAILS(err ? err : MPI_File_read_at_all_end(fh, mine, MPI_STATUS_IGNORE),
		class);
	/* this procedure has no offset argument */
	if (count < 0 || at < 0)
		count = -1;
	FAILS(MPI_File_write_ordered(
		      fh, mine, count, MPI_BYTE, MPI_STATUS_IGNORE),
		MPI_ERR_COUNT);
}

static void refused(const struct way *way)
{
	const char *folder = file_named("refused");
	char name[128]; /* a short name, which other texts contain */
	MPI_File fh;
	MPI_Datatype turn = one_of(RECORD, RECORD * size);
	MPI_Info info = MPI_INFO_NULL;
	char mine[RECORD] = { 0 };

	snprintf(name, sizeof(name), "%s/a", folder);
	if (rank == 0)
		OK(mkdir(folder, 0700));
	MPI_Barrier(MPI_COMM_WORLD);
	fh = opened_as(name, way);
	for (int gaps = 0; gaps < 2; gaps++) {
		OK(MPI_File_set_view(fh, (MPI_Offset)rank * RECORD, MPI_BYTE,
			gaps ? turn : MPI_BYTE, "native", MPI_INFO_NULL));
		refused_with(fh, rank == 1 ? -1 : RECORD, 0, MPI_ERR_COUNT);
		refused_with(fh, RECORD, rank == 1 ? -1 : 0, MPI_ERR_ARG);
		FAILS(MPI_File_set_view(fh, 0, MPI_BYTE,
			      rank == 1 ? MPI_DATATYPE_NULL : MPI_BYTE,
			      "native", MPI_INFO_NULL),
			MPI_ERR_TYPE);
		FAILS(MPI_File_seek_shared(
			      fh, 0, rank == 1 ? 77 : MPI_SEEK_SET),
			MPI_ERR_ARG);
	}
	/* one process alone may pass hints */
	if (rank == 1)
		MPI_Info_create(&info);
	OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", info));
	if (rank == 1)
		MPI_Info_free(&info);
	OK(MPI_File_write_ordered(
		fh, mine, RECORD, MPI_BYTE, MPI_STATUS_IGNORE));
	MPI_Type_free(&turn);
	OK(MPI_File_close(&fh));
	if (rank == 0)
		OK(rmdir(folder));
}

/* The last process is killed: nonblocking accesses of the others fail. */
static void killed(void)
{
	static const struct way way = { NULL, "4096", "enable" };
	static unsigned char mine[RECORD * EACH];
	MPI_File fh = opened("killed", &way);
	MPI_Datatype turn = one_of(RECORD, RECORD * size);
	MPI_Request requests[2];
	int rc;

	OK(MPI_File_set_view(fh, (MPI_Offset)rank * RECORD, MPI_BYTE, turn,
		"native", MPI_INFO_NULL));
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < 2; i++) {
		if (rank == size - 1 && i == 1)
			raise(SIGKILL);
		OK(MPI_File_iwrite_at_all(
			fh, 0, mine, RECORD * EACH, MPI_BYTE, &requests[i]));
	}
	MPI_Wait(&requests[0], MPI_STATUS_IGNORE); /* the access may be complete
						      before the death */
	rc = MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
	CHECK(rc != MPI_SUCCESS,
		"a collective that a killed member did not start fails");
	/* no process ends before the others have detected the failure */
	for (int i = 0; i < size - 1; i++)
		if (i != rank)
			MPI_Sendrecv(NULL, 0, MPI_BYTE, i, 2, NULL, 0, MPI_BYTE,
				i, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Type_free(&turn);
	MPI_File_close(&fh); /* with an error or without */
	CHECK(fh == MPI_FILE_NULL, "a failed close sets the handle to null");
}

int main(int argc, char **argv)
{
	static const struct way ways[] = {
		{ NULL, NULL, "automatic" },
		{ NULL, "4096", "enable" },
		{ "2", "20000", "enable" },
		{ "64", "65536", "enable" },
	};

	mtest_init(&argc, &argv);
	rank = mtest.rank;
	size = mtest.size;
	if (argc > 1 && !strcmp(argv[1], "killed")) {
		killed();
		return mtest_finish();
	}
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		dealt(&ways[i]);
		if (i % 2 == 0)
			begun(&ways[i]);
		cube(&ways[i]);
		holes(&ways[i], 5);
		holes(&ways[i], 0);
		odd(&ways[i]);
		refused(&ways[i]);
		check_hints(&ways[i]);
	}
	return mtest_finish();
}
