/* SPDX-License-Identifier: BSD-3-Clause */
/* dt_pack: packing, unpacking, and messages of packed data */
#include "mtest.h"

static void pack_and_unpack(MPI_Datatype column, const int *grid)
{
	int at = 0, room = 0, more = 0, back[12], line[4], good = 1;
	double pi = 0;
	char *box;

	OK(MPI_Pack_size(1, column, MPI_COMM_WORLD, &room));
	OK(MPI_Pack_size(1, MPI_DOUBLE, MPI_COMM_WORLD, &more));
	CHECK(room >= 16 && more >= 8,
		"the pack sizes have room for the data: %d, %d", room, more);
	box = mtest_alloc(room + more);
	OK(MPI_Pack(grid, 1, column, box, room + more, &at, MPI_COMM_WORLD));
	CHECK(at > 0 && at <= room, "packing advances the position to %d", at);
	OK(MPI_Pack(&(double){ 3.25 }, 1, MPI_DOUBLE, box, room + more, &at,
		MPI_COMM_WORLD));
	room = at;
	at = 0;
	memset(back, -1, sizeof(back));
	OK(MPI_Unpack(box, room, &at, back, 1, column, MPI_COMM_WORLD));
	OK(MPI_Unpack(box, room, &at, &pi, 1, MPI_DOUBLE, MPI_COMM_WORLD));
	for (int i = 0; i < 12; i++)
		good &= back[i] == (i % 3 ? -1 : grid[i]);
	CHECK(good, "data are unpacked into the same layout, and the gaps are "
		    "unchanged");
	CHECK(pi == 3.25 && at == room, "the item after the gaps is unpacked");
	at = 0;
	OK(MPI_Unpack(box, room, &at, line, 4, MPI_INT, MPI_COMM_WORLD));
	CHECK(line[3] == grid[9], "data is unpacked into contiguous memory");
	free(box);
}

/* One side of a message uses packed data, and the other side uses the type. */
static void through_messages(MPI_Datatype column, const int *grid)
{
	int right = (mtest.rank + 1) % mtest.size, at = 0, n = 0, line[4];
	int left = (mtest.rank + mtest.size - 1) % mtest.size;
	char box[256];
	MPI_Status st;

	OK(MPI_Pack(grid, 1, column, box, sizeof(box), &at, MPI_COMM_WORLD));
	OK(MPI_Sendrecv(box, at, MPI_PACKED, right, 1, line, 4, MPI_INT, left,
		1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	CHECK(line[1] == left * 100 + 3, "packed data are received as ints");
	OK(MPI_Sendrecv(grid, 1, column, right, 2, box, sizeof(box), MPI_PACKED,
		left, 2, MPI_COMM_WORLD, &st));
	OK(MPI_Get_count(&st, MPI_PACKED, &n));
	at = 0;
	OK(MPI_Unpack(box, n, &at, line, 4, MPI_INT, MPI_COMM_WORLD));
	CHECK(line[2] == left * 100 + 6, "typed data are received packed");
}

static void external(void)
{
	static const unsigned char big[8] = { 0, 0, 1, 2, 0xff, 0xff, 0xff,
		0xfe };
	int in[2] = { 258, -2 }, out[2] = { 0 };
	MPI_Aint at = 0, room = 0;
	unsigned char box[16] = { 0 };
	int rc = MPI_Pack_external_size("external32", 2, MPI_INT, &room);

	if (mtest_class(rc) == MPI_ERR_UNSUPPORTED_OPERATION)
		return;
	OK(rc);
	CHECK(room == 8, "two external ints are 8 B, got %ld", (long)room);
	OK(MPI_Pack_external("external32", in, 2, MPI_INT, box, 16, &at));
	CHECK(at == 8 && memcmp(box, big, 8) == 0, "the data are big endian");
	at = 0;
	OK(MPI_Unpack_external("external32", box, 8, &at, out, 2, MPI_INT));
	CHECK(out[0] == 258 && out[1] == -2, "external data is converted back");
}

int main(int argc, char **argv)
{
	MPI_Datatype column;
	int grid[12];

	mtest_init(&argc, &argv);
	for (int i = 0; i < 12; i++)
		grid[i] = mtest.rank * 100 + i;
	OK(MPI_Type_vector(4, 1, 3, MPI_INT, &column));
	OK(MPI_Type_commit(&column));
	pack_and_unpack(column, grid);
	through_messages(column, grid);
	external();
	OK(MPI_Type_free(&column));
	return mtest_finish();
}
