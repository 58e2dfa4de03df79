/* SPDX-License-Identifier: BSD-3-Clause */
/* dev_pinned: the library pins a bounded amount of host memory for messages of
 * device memory, and none for those of host memory
 *
 * fail=N: the N-th registration of host memory fails, which changes no result.
 * reset=1: the program destroys the device's context before MPI_Finalize. */
#include "device.h"

enum {
	ROUNDS = 1000,
	LEN = 64 << 10,
	N_LENS = 6,
	MAX_LEN = 3 << 20,
	MAX_PINS = 8,
};

static const int lens[N_LENS] = { 1000, 32 << 10, 100000, 1 << 20, MAX_LEN,
	MAX_LEN };
static char *host, *got;

/* Each rank sends to the next. */
static void exchange(void *from, void *to, int len)
{
	OK(MPI_Sendrecv(from, len, MPI_BYTE, (mtest.rank + 1) % mtest.size, 0,
		to, len, MPI_BYTE, (mtest.rank + mtest.size - 1) % mtest.size,
		0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void host_memory(void)
{
	exchange(host, got, MAX_LEN);
	CHECK(!memcmp(host, got, MAX_LEN), "host memory");
	CHECK(device_pins() == 0, "%ld registrations for host memory",
		device_pins());
}

/* The program allocates and frees the buffers of each round. */
static void rounds(void)
{
	long pinned = 0;

	for (int i = 0; i < ROUNDS; i++) {
		void *from = device_new(host, LEN);
		void *to = device_new(NULL, LEN);

		exchange(from, to, LEN);
		if (i % 100 == 0)
			CHECK(device_has(to, host, LEN), "round %d", i);
		if (i == 0)
			pinned = device_pinned();
		device_free(from);
		device_free(to);
	}
	CHECK(device_pins() <= MAX_PINS, "%ld registrations in %d rounds",
		device_pins(), ROUNDS);
	CHECK(device_pinned() == pinned, "%ld bytes pinned, %ld after a round",
		device_pinned(), pinned);
}

/* Messages of several lengths that are under way together. */
static void together(void)
{
	const int next = (mtest.rank + 1) % mtest.size;
	void *from[N_LENS], *to[N_LENS];
	MPI_Request r[2 * N_LENS];

	for (int i = 0; i < N_LENS; i++) {
		from[i] = device_new(host, (size_t)lens[i]);
		to[i] = device_new(NULL, (size_t)lens[i]);
		OK(MPI_Irecv(to[i], lens[i], MPI_BYTE, MPI_ANY_SOURCE, i,
			MPI_COMM_WORLD, &r[i]));
	}
	for (int i = 0; i < N_LENS; i++)
		OK(MPI_Isend(from[i], lens[i], MPI_BYTE, next, i,
			MPI_COMM_WORLD, &r[N_LENS + i]));
	OK(MPI_Waitall(2 * N_LENS, r, MPI_STATUSES_IGNORE));
	for (int i = 0; i < N_LENS; i++) {
		CHECK(device_has(to[i], host, (size_t)lens[i]), "%d bytes",
			lens[i]);
		device_free(from[i]);
		device_free(to[i]);
	}
	CHECK(device_pins() <= MAX_PINS, "%ld registrations", device_pins());
}

/* Every second KiB, and one byte of each MiB. */
static void spaced(void)
{
	MPI_Datatype types[2];
	char *wanted = calloc(1, MAX_LEN);
	void *from = device_new(host, MAX_LEN), *to;

	OK(MPI_Type_vector(MAX_LEN / 2048, 1024, 2048, MPI_BYTE, &types[0]));
	OK(MPI_Type_vector(MAX_LEN >> 20, 1, 1 << 20, MPI_BYTE, &types[1]));
	for (int k = 0; k < 2; k++) {
		const size_t step = k ? 1 << 20 : 2048, len = k ? 1 : 1024;

		memset(wanted, 0, MAX_LEN);
		to = device_new(wanted, MAX_LEN);
		for (size_t i = 0; i < MAX_LEN; i += step)
			memcpy(wanted + i, host + i, len);
		OK(MPI_Type_commit(&types[k]));
		OK(MPI_Sendrecv(from, 1, types[k], mtest.rank, 0, to, 1,
			types[k], mtest.rank, 0, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		CHECK(device_has(to, wanted, MAX_LEN), "datatype %d", k);
		OK(MPI_Type_free(&types[k]));
		device_free(to);
	}
	device_free(from);
	free(wanted);
}

static void reduction(void)
{
	enum { N = 100000 };
	int *in = (int *)(void *)host, *out = (int *)(void *)got;
	void *dev = device_new(in, N * sizeof(int));
	bool is_right = true;

	OK(MPI_Allreduce(
		MPI_IN_PLACE, dev, N, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD));
	device_get(out, dev, N * sizeof(int));
	for (int i = 0; i < N; i++)
		is_right &= (unsigned)out[i] ==
			    (unsigned)in[i] * (unsigned)mtest.size;
	CHECK(is_right, "a reduction");
	device_free(dev);
}

int main(int argc, char **argv)
{
	const long fail = mtest_arg(argc, argv, "fail", 0);
	const bool is_reset = mtest_arg(argc, argv, "reset", 0);

	mtest_init(&argc, &argv);
	device_start();
	if (is_reset && device_id() != DEVICE_CUDA)
		mtest_skip("only CUDA has contexts that end");
	host = malloc(MAX_LEN);
	got = malloc(MAX_LEN);
	CHECK(host && got, "host memory for the data");
	mtest_fill(host, MAX_LEN, 7);
	host_memory();
	if (fail && device.fail_pin)
		device.fail_pin(fail);
	rounds();
	together();
	spaced();
	reduction();
	if (device.pins)
		CHECK(fail ? device_pins() == fail : device_pins() > 0,
			"%ld registrations", device_pins());
	if (is_reset)
		device_reset();
	OK(MPI_Finalize());
	CHECK(device_pinned() == 0, "%ld bytes are pinned at the end",
		device_pinned());
	free(host);
	free(got);
	return mtest_done();
}
