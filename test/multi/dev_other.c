/* SPDX-License-Identifier: BSD-3-Clause */
/* dev_other: device memory in packing, local reductions, files and partitioned
 * messages; a call that refuses device memory; the number of questions */
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

/* The sender has 4 partitions, the receiver has one. A partition is on the
 * device when MPI_Parrived returns true. */
static void partitioned(int n_parts, MPI_Datatype type, int stride)
{
	int host[2 * N], zero[2 * N] = { 0 }, wanted[2 * N] = { 0 }, flag;
	const int per = N / n_parts;
	MPI_Request r;
	void *dev;

	for (int i = 0; i < 2 * N; i++)
		host[i] = i + 1;
	for (int i = 0; i < N; i++)
		wanted[i * stride] = host[i * stride];
	dev = device_new(mtest.rank ? zero : host, sizeof(host));
	if (mtest.rank == 0)
		OK(MPI_Psend_init(dev, 4, N / 4, type, 1, 3, MPI_COMM_WORLD,
			MPI_INFO_NULL, &r));
	else if (mtest.rank == 1)
		OK(MPI_Precv_init(dev, n_parts, per, type, 0, 3, MPI_COMM_WORLD,
			MPI_INFO_NULL, &r));
	for (int round = 0; mtest.rank < 2 && round < 2; round++) {
		OK(MPI_Start(&r));
		flag = 0;
		if (mtest.rank == 0)
			OK(MPI_Pready_range(0, 3, r));
		while (mtest.rank == 1 && !flag)
			OK(MPI_Parrived(r, n_parts - 1, &flag));
		if (mtest.rank == 1 && n_parts > 1) {
			int *last = (int *)dev + (N - per) * stride;

			CHECK(device_has(last, wanted + (N - per) * stride,
				      sizeof(int) * (size_t)(per * stride)),
				"the last partition is on the device");
		}
		OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
		CHECK(mtest.rank == 0 ||
				device_has(dev, wanted, sizeof(wanted)),
			"%d partitions on the device", n_parts);
		if (mtest.rank == 1)
			device_put(dev, zero, sizeof(zero));
	}
	if (mtest.rank < 2)
		OK(MPI_Request_free(&r));
	device_free(dev);
}

static void partitions(void)
{
	MPI_Datatype spaced;

	OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spaced));
	OK(MPI_Type_commit(&spaced));
	partitioned(1, MPI_INT, 1);
	partitioned(5, MPI_INT, 1);
	partitioned(5, spaced, 2);
	OK(MPI_Type_free(&spaced));
}

static void refused(void)
{
	void *dev = device_new(NULL, 4096);

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
	if (device_id() != DEVICE_CUDA) {
		device_free(dev);
		return;
	}
	device_cuda.set(NULL);
	device_cuda.get(&before);
	OK(MPI_Sendrecv(dev, 8, MPI_BYTE, mtest.rank, 0, got, 8, MPI_BYTE,
		mtest.rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	device_cuda.get(&after);
	CHECK(before == after, "a thread without a context gets none");
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	device_start();
	CHECK(device_is_supported(), "the program can ask for it");
	packing();
	local_reduction();
	files();
	partitions();
	refused();
	questions();
	return mtest_finish();
}
