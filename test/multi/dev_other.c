/* SPDX-License-Identifier: BSD-3-Clause */
/* dev_other: device memory in packing, local reductions and files; calls
 * that refuse device memory; the number of questions */
#include "device.h"
#include "file.h"

enum { N = 1000 };

static void packing(void)
{
	char from[4 * N], packed[4 * N], zero[4 * N] = "";
	void *a, *b, *c;
	int pos = 0;
	MPI_Aint at = 0;

	for (int i = 0; i < 4 * N; i++)
		from[i] = (char)i;
	a = device_new(from, sizeof(from));
	b = device_new(zero, sizeof(zero));
	c = device_new(zero, sizeof(zero));
	OK(MPI_Pack(a, N, MPI_INT, b, 4 * N, &pos, MPI_COMM_WORLD));
	CHECK(pos == 4 * N && device_has(b, from, sizeof(from)), "pack");
	pos = 0;
	OK(MPI_Unpack(b, 4 * N, &pos, c, N, MPI_INT, MPI_COMM_WORLD));
	CHECK(device_has(c, from, sizeof(from)), "unpack");
	OK(MPI_Pack_external("external32", a, N, MPI_INT, packed, 4 * N, &at));
	device_put(c, zero, sizeof(zero));
	at = 0;
	OK(MPI_Unpack_external(
		"external32", packed, 4 * N, &at, c, N, MPI_INT));
	CHECK(device_has(c, from, sizeof(from)), "pack_external and back");
	device_free(a);
	device_free(b);
	device_free(c);
}

static void local_reduction(void)
{
	int in[N], inout[N], sum[N];
	void *a, *b;

	for (int i = 0; i < N; i++) {
		in[i] = i;
		inout[i] = 5 * i;
		sum[i] = 6 * i;
	}
	a = device_new(in, sizeof(in));
	b = device_new(inout, sizeof(inout));
	OK(MPI_Reduce_local(a, b, N, MPI_INT, MPI_SUM));
	CHECK(device_has(b, sum, sizeof(sum)), "reduce_local");
	device_free(a);
	device_free(b);
}

static void files(void)
{
	int host[N], zero[N] = { 0 }, count;
	void *dev, *back;
	MPI_File fh;
	MPI_Request r;
	MPI_Status status;
	MPI_Offset at = mtest.rank * (MPI_Offset)sizeof(host);

	for (int i = 0; i < N; i++)
		host[i] = mtest.rank * N + i;
	dev = device_new(host, sizeof(host));
	back = device_new(zero, sizeof(zero));
	OK(MPI_File_open(MPI_COMM_WORLD, file_named("dev"),
		MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
		MPI_INFO_NULL, &fh));
	OK(MPI_File_write_at_all(fh, at, dev, N, MPI_INT, &status));
	OK(MPI_Get_count(&status, MPI_INT, &count));
	CHECK(count == N, "the status of a write has %d of %d", count, N);
	OK(MPI_File_read_at(fh, at, back, N, MPI_INT, MPI_STATUS_IGNORE));
	CHECK(device_has(back, host, sizeof(host)), "a file is read");
	device_put(back, zero, sizeof(zero));
	OK(MPI_File_iread_at(fh, at, back, N, MPI_INT, &r));
	OK(MPI_Wait(&r, &status));
	OK(MPI_Get_count(&status, MPI_INT, &count));
	CHECK(count == N && device_has(back, host, sizeof(host)),
		"a file is read without blocking");
	OK(MPI_File_iwrite_at_all(fh, at, back, N, MPI_INT, &r));
	OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
	device_put(back, zero, sizeof(zero));
	OK(MPI_File_read_at_all_begin(fh, at, back, N, MPI_INT));
	OK(MPI_File_read_at_all_end(fh, back, &status));
	OK(MPI_Get_count(&status, MPI_INT, &count));
	CHECK(count == N && device_has(back, host, sizeof(host)),
		"a split collective reads");
	OK(MPI_File_write_at_all_begin(fh, at, back, N, MPI_INT));
	OK(MPI_File_write_at_all_end(fh, back, MPI_STATUS_IGNORE));
	OK(MPI_File_close(&fh));
	device_free(dev);
	device_free(back);
}

static void refused(void)
{
	void *dev = device_new(NULL, 4096);
	MPI_Request r;

	FAILS(MPI_Psend_init(dev, 1, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
		      MPI_INFO_NULL, &r),
		MPI_ERR_BUFFER);
	FAILS(MPI_Buffer_attach(dev, 4096), MPI_ERR_BUFFER);
	device_free(dev);
}

/* A communicator whose buffers are asserted to be in host memory asks nothing,
 * and the context of the thread stays. */
static void questions(void)
{
	MPI_Info info;
	MPI_Comm comm;
	char data[8] = "", got[8];
	void *before, *after, *dev = device_new(data, 8);
	long n;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "mpi_assert_memory_alloc_kinds", "system,mpi"));
	OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
	n = device.queries ? device.queries() : 0;
	OK(MPI_Sendrecv(data, 8, MPI_BYTE, mtest.rank, 0, got, 8, MPI_BYTE,
		mtest.rank, 0, comm, MPI_STATUS_IGNORE));
	OK(MPI_Allreduce(MPI_IN_PLACE, data, 2, MPI_INT, MPI_SUM, comm));
	CHECK(!device.queries || device.queries() == n,
		"an assertion of host memory prevents questions");
	OK(MPI_Comm_free(&comm));
	OK(MPI_Info_free(&info));
	OK(MPI_Sendrecv(data, 8, MPI_BYTE, mtest.rank, 0, got, 8, MPI_BYTE,
		mtest.rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	CHECK(!device.queries || device.queries() == n + 2,
		"one question for each buffer, not %ld for two",
		device.queries ? device.queries() - n : 0);
	device.set(NULL);
	device.get(&before);
	OK(MPI_Sendrecv(dev, 8, MPI_BYTE, mtest.rank, 0, got, 8, MPI_BYTE,
		mtest.rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	device.get(&after);
	CHECK(before == after, "a thread without a context gets none");
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	device_start();
	CHECK(MPIX_Query_cuda_support() == 1, "the program can ask for it");
	packing();
	local_reduction();
	files();
	refused();
	questions();
	return mtest_finish();
}
