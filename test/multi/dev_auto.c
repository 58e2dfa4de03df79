/* SPDX-License-Identifier: BSD-3-Clause */
/* dev_auto: device memory of a program that asks for no kinds of memory
 *
 * The program loads the driver before MPI_Init, or after it (late=1) on a node
 * that seems to have a device. In both cases its buffers may be in device
 * memory. */
#include "device.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { N = 1000 };

/* The library calls this function in place of libc's. */
int access(const char *path, int mode)
{
	if (!strcmp(path, device_vendor()->node))
		return 0;
	return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

static void exchange(const void *from, void *to)
{
	const int peer = (mtest.rank + 1) % mtest.size;

	OK(MPI_Sendrecv(from, N, MPI_INT, peer, 0, to, N, MPI_INT,
		MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
	bool is_late = mtest_arg(argc, argv, "late", 0);
	int host[N], got[N], sum[N];
	void *a, *b;

	if (!is_late)
		(void)device_library();
	mtest_init(&argc, &argv);
	for (int i = 0; i < N; i++) {
		host[i] = i;
		sum[i] = mtest.size * i;
	}
	exchange(host, got); /* before the driver is initialised */
	CHECK(!memcmp(host, got, sizeof(host)), "host memory");
	if (device_is_granted())
		mtest_skip("the World asked for the kind");
	device_open();
	a = device_new(host, sizeof(host));
	b = device_new(NULL, sizeof(host));
	exchange(a, b);
	CHECK(device_has(b, host, sizeof(host)), "a message");
	OK(MPI_Allreduce(a, b, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
	CHECK(device_has(b, sum, sizeof(sum)), "a reduction");
	OK(MPI_Reduce_local(a, b, N, MPI_INT, MPI_MIN));
	CHECK(device_has(b, host, sizeof(host)), "a local reduction");
	exchange(host, got);
	CHECK(!memcmp(host, got, sizeof(host)), "host memory afterwards");
	CHECK(device_is_supported(), "the program can ask for it");
	device_free(a);
	device_free(b);
	return mtest_finish();
}
