/* SPDX-License-Identifier: BSD-3-Clause */
/* dev_speed: messages between devices and between host memory
 *
 * Rank 0 and rank 1 exchange messages of several lengths, and rank 1 checks the
 * data of the last one. Rank 0 prints the time of one message and its bandwidth
 * (contrib/gpu-checklist.md). max=BYTES is the greatest length. */
#include "device.h"

enum { ROUNDS = 100, LONG = 1 << 20, LONG_ROUNDS = 10 };

static char *host[2]; /* send, receive */
static void *dev[2];

/* Exchanges messages; returns the time of one message in microseconds. */
static double exchange(void *from, void *to, int len)
{
	const int rounds = len < LONG ? ROUNDS : LONG_ROUNDS;
	const int peer = 1 - mtest.rank;
	double began = 0;

	for (int i = -rounds / 10; i < rounds; i++) {
		if (i == 0)
			began = mtest_now();
		if (mtest.rank == 0)
			OK(MPI_Send(
				from, len, MPI_BYTE, peer, 0, MPI_COMM_WORLD));
		OK(MPI_Recv(to, len, MPI_BYTE, peer, 0, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		if (mtest.rank == 1)
			OK(MPI_Send(
				from, len, MPI_BYTE, peer, 0, MPI_COMM_WORLD));
	}
	return (mtest_now() - began) / rounds / 2 * 1e6;
}

static void measure(int len)
{
	double on_host = exchange(host[0], host[1], len);
	double on_dev = exchange(dev[0], dev[1], len);

	CHECK(device_has(dev[1], host[1], (size_t)len),
		"%d bytes arrive on the device", len);
	if (mtest.rank == 0)
		printf("# %9d bytes: host %10.2f us %7.2f GB/s, device %10.2f "
		       "us %7.2f GB/s\n",
			len, on_host, len / on_host / 1e3, on_dev,
			len / on_dev / 1e3);
}

int main(int argc, char **argv)
{
	static const int lens[] = { 8, 4096, 65536, 1 << 20, 2 << 20,
		32 << 20 };
	const long max = mtest_arg(argc, argv, "max", 1 << 20);

	mtest_init(&argc, &argv);
	mtest_need(2);
	device_start();
	for (int i = 0; i < 2; i++) {
		host[i] = malloc((size_t)max);
		CHECK(host[i], "%ld bytes of host memory", max);
	}
	mtest_fill(host[0], (size_t)max, 7);
	for (int i = 0; i < 2; i++)
		dev[i] = device_new(host[0], (size_t)max);
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		if (mtest.rank < 2 && lens[i] <= max)
			measure(lens[i]);
	for (int i = 0; i < 2; i++) {
		device_free(dev[i]);
		free(host[i]);
	}
	return mtest_finish();
}
