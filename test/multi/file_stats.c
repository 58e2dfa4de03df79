/* SPDX-License-Identifier: BSD-3-Clause */
/* file_stats: the statistics at the close of a file are right
 *
 * Run with WEFT_STATS=1. */
#include "file.h"
#include "output.h"

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

/* Rank 0 prints the sums of all members. */
static void closed(MPI_File *fh)
{
	output_capture();
	OK(MPI_File_close(fh));
	output_read();
	output_restore();
}

/* Counters that are 0 are not printed. */
static void counts(const char *counter, long long n)
{
	char text[80];

	snprintf(text, sizeof(text), n ? " %s %lld" : " %s ", counter, n);
	if (mtest.rank == 0)
		CHECK(output_count(text) == (n != 0), "%s is %lld: %s", counter,
			n, output_text);
}

static void advises(const char *text)
{
	if (mtest.rank == 0)
		CHECK(output_count(text) == 1, "the advice is %s: %s", text,
			output_text);
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
	counts("file_reads", n);
	counts("file_writes", n);
	counts("file_collective", 2 * n);
	counts("file_bytes", 2 * n * LEN);
	counts("file_runs", 2 * n * RUNS);
	counts("file_buffered", 2 * n);
	counts("file_windows", 2);
	counts("file_calls", 2);
	counts("file_gaps_read", 0);
	advises("help most: none");

	opened(&fh, "disable");
	OK(MPI_File_write_at(fh, 0, mine, LEN, MPI_BYTE, MPI_STATUS_IGNORE));
	file_turn(fh);
	OK(MPI_File_read_at(fh, 0, mine, LEN, MPI_BYTE, MPI_STATUS_IGNORE));
	closed(&fh);
	counts("file_collective", 0);
	counts("file_calls", 2 * n * RUNS);

	opened(&fh, "automatic");
	OK(MPI_File_write_at(fh, 0, mine, LEN, MPI_BYTE, MPI_STATUS_IGNORE));
	file_turn(fh);
	OK(MPI_File_read_at(fh, 0, mine, LEN, MPI_BYTE, MPI_STATUS_IGNORE));
	closed(&fh);
	counts("file_calls", n * RUNS + n);
	counts("file_gaps_read", n * (n - 1) * RUN * (RUNS - 1));
	advises("help most: none; collective calls would help");
	return mtest_finish();
}
