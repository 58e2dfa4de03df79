/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p_sparse: a long message into small blocks arrives fast and complete
 *
 * It takes about as long as receiving the message in one block and unpacking
 * it. Small blocks between long ones get their data, and the gaps keep their
 * contents.
 */
#include "mtest.h"

enum { LEN = 2 << 20, TIMES = 8, GAP = 0x5a };

static char *packed, *area;

static void send_packed(int seed)
{
	int ack;

	mtest_fill(packed, LEN, (unsigned)seed);
	OK(MPI_Send(packed, LEN, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
	OK(MPI_Recv(&ack, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void acknowledge(void)
{
	int ack = 0;

	OK(MPI_Send(&ack, 1, MPI_INT, 0, 2, MPI_COMM_WORLD));
}

/* Returns the seconds of processor time to receive into the blocks: by the
 * library, or with MPI_Unpack. */
static double receive(MPI_Datatype type, int by_hand)
{
	double begun;
	int at = 0;

	OK(MPI_Barrier(MPI_COMM_WORLD));
	begun = mtest_cpu();
	if (mtest.rank == 0) {
		send_packed(1);
		return 0;
	}
	OK(MPI_Recv(by_hand ? packed : area, by_hand ? LEN : 1,
		by_hand ? MPI_BYTE : type, 0, 1, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE));
	if (by_hand)
		OK(MPI_Unpack(packed, LEN, &at, area, 1, type, MPI_COMM_WORLD));
	begun = mtest_cpu() - begun;
	acknowledge();
	return begun;
}

/* A copy by the kernel for each block would take much longer. Other load may
 * disturb some measurements, but not all. */
static void compare(int block)
{
	double by_hand = 0, by_library = 0;
	MPI_Datatype type;
	int is_good = 0;

	OK(MPI_Type_create_hvector(
		LEN / block, block, 2 * block, MPI_BYTE, &type));
	OK(MPI_Type_commit(&type));
	for (int i = 0; i < TIMES && !is_good; i++) {
		by_hand = receive(type, 1);
		by_library = receive(type, 0);
		is_good = by_library < 4 * by_hand;
		OK(MPI_Bcast(&is_good, 1, MPI_INT, 1, MPI_COMM_WORLD));
	}
	CHECK(is_good,
		"blocks of %d bytes are fast: %.2f ms, with MPI_Unpack %.2f ms",
		block, by_library * 1e3, by_hand * 1e3);
	OK(MPI_Type_free(&type));
}

/* Receives items that have blocks of one byte, one long block, and blocks of 24
 * bytes. */
static void check_mixed(void)
{
	enum { ITEMS = 7, SPREAD = 3 * LEN };
	int lens[] = { 1, 1, 1 }, n_bytes;
	MPI_Aint disps[] = { 0, 100000, 300000 };
	MPI_Datatype types[3], type;
	char *want = mtest_alloc(SPREAD);
	int at = 0;

	OK(MPI_Type_vector(40000, 1, 2, MPI_BYTE, &types[0]));
	OK(MPI_Type_contiguous(150000, MPI_BYTE, &types[1]));
	OK(MPI_Type_create_hvector(3000, 24, 40, MPI_BYTE, &types[2]));
	OK(MPI_Type_create_struct(3, lens, disps, types, &type));
	for (int i = 0; i < 3; i++)
		OK(MPI_Type_free(&types[i]));
	OK(MPI_Type_create_resized(type, 0, 600000, &types[0]));
	OK(MPI_Type_free(&type));
	OK(MPI_Type_commit(&types[0]));
	OK(MPI_Type_size(types[0], &n_bytes));
	CHECK(ITEMS * n_bytes <= LEN,
		"the items fit in the message: %d bytes in each of %d", n_bytes,
		ITEMS);
	mtest_fill(packed, LEN, 3);
	memset(want, GAP, SPREAD);
	OK(MPI_Unpack(packed, LEN, &at, want, ITEMS, types[0], MPI_COMM_WORLD));
	memset(area, GAP, SPREAD);
	if (mtest.rank == 0) {
		OK(MPI_Send(packed, ITEMS * n_bytes, MPI_BYTE, 1, 1,
			MPI_COMM_WORLD));
	} else if (mtest.rank == 1) {
		OK(MPI_Recv(area, ITEMS, types[0], 0, 1, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		CHECK(!memcmp(area, want, SPREAD),
			"all bytes are where MPI_Unpack puts them");
	}
	OK(MPI_Type_free(&types[0]));
	free(want);
}

int main(int argc, char **argv)
{
	packed = mtest_alloc(LEN);
	area = mtest_alloc(3 * LEN);
	mtest_init(&argc, &argv);
	mtest_need(2);
	check_mixed();
	compare(1);
	compare(8);
	free(packed);
	free(area);
	return mtest_finish();
}
