/* SPDX-License-Identifier: BSD-3-Clause */
/* file_stats: the statistics at the close of a file are right
 *
 * Run with WEFT_IO_STATS=1. */
#include "file.h"
#include "heard.h"

enum {
	RUN = 64,
	RUNS = 1000,
	LEN = RUN * RUNS,
};

static void opened(MPI_File *fh, const char *sieve)
{
	const char *name = file_named("stats");
	MPI_Datatype run, turn;
	MPI_Info info;

	MPI_Info_create(&info);
	MPI_Info_set(info, "romio_ds_read", sieve);
	MPI_Info_set(info, "romio_ds_write", "disable");
	OK(MPI_File_open(MPI_COMM_WORLD, name,
		MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
		info, fh));
	MPI_Info_free(&info);
	MPI_Type_contiguous(RUN, MPI_BYTE, &run);
	MPI_Type_create_resized(run, 0, RUN * mtest.size, &turn);
	MPI_Type_commit(&turn);
	OK(MPI_File_set_view(*fh, (MPI_Offset)RUN * mtest.rank, MPI_BYTE, turn,
		"native", MPI_INFO_NULL));
	MPI_Type_free(&run);
	MPI_Type_free(&turn);
}

/* Rank 0 prints the sums of all. */
static void closed(MPI_File *fh)
{
	heard_begin();
	OK(MPI_File_close(fh));
	heard_look();
	heard_end();
}

static void says(const char *format, long long n)
{
	char text[200];

	snprintf(text, sizeof(text), format, n);
	if (mtest.rank == 0)
		CHECK(heard(text) == 1, "\"%s\" is said: %s", text, heard_text);
}

int main(int argc, char **argv)
{
	static char mine[LEN];
	long long n;
	MPI_File fh;

	mtest_init(&argc, &argv);
	n = mtest.size;
	opened(&fh, "automatic");
	OK(MPI_File_write_at_all(
		fh, 0, mine, LEN, MPI_BYTE, MPI_STATUS_IGNORE));
	OK(MPI_File_read_at_all(fh, 0, mine, LEN, MPI_BYTE, MPI_STATUS_IGNORE));
	closed(&fh);
	says("Requested: %lld reads", n);
	says("%lld of them collective", 2 * n);
	says("%lld bytes, ", 2 * n * LEN);
	says("in runs of about %lld bytes,", RUN);
	says(", %lld bytes from one to the next", RUN * n);
	says("%lld calls through", 2 * n);
	says("Performed: %lld system calls", 2);
	says("%lld bytes of gaps read", 0);

	opened(&fh, "disable");
	OK(MPI_File_write_at(fh, 0, mine, LEN, MPI_BYTE, MPI_STATUS_IGNORE));
	file_turn(fh);
	OK(MPI_File_read_at(fh, 0, mine, LEN, MPI_BYTE, MPI_STATUS_IGNORE));
	closed(&fh);
	says("%lld of them collective", 0);
	says("Performed: %lld system calls", 2 * n * RUNS);

	opened(&fh, "automatic");
	OK(MPI_File_write_at(fh, 0, mine, LEN, MPI_BYTE, MPI_STATUS_IGNORE));
	file_turn(fh);
	OK(MPI_File_read_at(fh, 0, mine, LEN, MPI_BYTE, MPI_STATUS_IGNORE));
	closed(&fh);
	says("Performed: %lld system calls", n * RUNS + n);
	says("%lld bytes of gaps read", n * (n - 1) * RUN * (RUNS - 1));
	says("help most: none; collective calls would help", 0);
	return mtest_finish();
}
