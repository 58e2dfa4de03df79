/* SPDX-License-Identifier: BSD-3-Clause */
/* dev_gdr: short messages of device memory, many from each buffer
 *
 * With GDRCopy, the CPU copies such data itself. used=1: the stand-in for
 * GDRCopy must have copied some. used=0: none. Without the argument, any number
 * is right. */
#include "device.h"

enum { LEN = 200000, ROUNDS = 600, BUFFERS = 70 };

static char *host, *got;

/* Rank 0 sends bytes at an offset of its buffer, and rank 1 receives and checks
 * them. */
static void message(char *dev, int at, int len, int round)
{
	if (mtest.rank == 0) {
		OK(MPI_Send(dev + at, len, MPI_BYTE, 1, 0, MPI_COMM_WORLD));
		return;
	}
	OK(MPI_Recv(dev + at, len, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE));
	if (round % 50)
		return;
	device_get(got, dev + at, (size_t)len);
	CHECK(!memcmp(got, host + at, (size_t)len), "%d bytes at %d, round %d",
		len, at, round);
}

static void rounds(char *dev, int n)
{
	static const int lens[] = { 8, 1, 2000, 32768, 8192 };

	for (int i = 0; i < n; i++)
		for (int k = 0; k < 5; k++) {
			/* some cross the end of a page of 64 KiB */
			int at = (i * 4099 + k * 977) % (LEN - lens[k]);

			message(dev, at, lens[k], i);
		}
}

static char *buffer(int seed)
{
	mtest_fill(host, LEN, (unsigned)seed);
	return device_new(mtest.rank ? NULL : host, LEN);
}

int main(int argc, char **argv)
{
	const long used = mtest_arg(argc, argv, "used", -1);
	char *bufs[BUFFERS], *dev;
	long (*copies)(void) = NULL;
	void *lib;

	mtest_init(&argc, &argv);
	mtest_need(2);
	device_start();
	host = malloc(LEN);
	got = malloc(LEN);
	dev = buffer(1);
	rounds(dev, ROUNDS);
	/* memory that is freed and allocated again, often at the same address
	 */
	for (int i = 0; i < 5; i++) {
		device_free(dev);
		dev = buffer(2 + i);
		rounds(dev, ROUNDS / 2);
	}
	/* more pages than are mapped */
	for (int i = 0; i < BUFFERS; i++)
		bufs[i] = buffer(7);
	for (int i = 0; i < BUFFERS; i++)
		for (int k = 0; k < ROUNDS / 2; k++)
			message(bufs[i], 100, 8, k);
	for (int i = 0; i < BUFFERS; i++)
		message(bufs[i], 300, 8, 0);
	lib = dlopen("libgdrapi.so.2", RTLD_NOW | RTLD_NOLOAD);
	if (lib)
		*(void **)&copies = dlsym(lib, "gdrstandCopies");
	if (used >= 0)
		CHECK((copies && copies() > 0) == (used == 1),
			"%ld copies by the CPU", copies ? copies() : 0);
	for (int i = 0; i < BUFFERS; i++)
		device_free(bufs[i]);
	device_free(dev);
	free(host);
	free(got);
	return mtest_finish();
}
