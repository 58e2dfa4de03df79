/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * world_finalize: data of completed sends arrives, whichever process leaves
 * first
 *
 * S118, S123, S139, S142. len= bytes; late= the rank that is late; leave=1: the
 * sender calls _exit immediately after MPI_Finalize
 */
#include "mtest.h"

int main(int argc, char **argv)
{
	int late, leave, len;
	char *buf;

	mtest_init(&argc, &argv);
	mtest_need(2);
	len = mtest_arg(argc, argv, "len", 1000);
	late = mtest_arg(argc, argv, "late", 1);
	leave = mtest_arg(argc, argv, "leave", 0);
	buf = calloc(1, len + 1);
	if (mtest.rank == late)
		mtest_linger(500);
	if (mtest.rank == 0) {
		mtest_fill(buf, len, 3);
		OK(MPI_Send(buf, len, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
	} else if (mtest.rank == 1) {
		OK(MPI_Recv(buf, len, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		CHECK(mtest_same(buf, len, 3),
			"S118, S120, S123, S139, S142: %d B arrive", len);
	}
	OK(MPI_Finalize());
	if (leave && mtest.rank == 0) {
		fflush(NULL);
		_exit(mtest_done());
	}
	free(buf);
	return mtest_done();
}
