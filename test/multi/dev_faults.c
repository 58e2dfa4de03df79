/* SPDX-License-Identifier: BSD-3-Clause */
/* dev_faults: one call of the driver fails (DEVSTAND_FAIL): one call of MPI
 * returns an error that names the driver's, and all later calls succeed */
#include "device.h"

enum { N = 20 };

static int n_errors;

/* True if the call succeeded. */
static bool check(int rc)
{
	char text[MPI_MAX_ERROR_STRING];
	int len;

	if (rc == MPI_SUCCESS)
		return true;
	n_errors++;
	OK(MPI_Error_string(rc, text, &len));
	CHECK(mtest_class(rc) == MPI_ERR_BUFFER &&
			strstr(text, device_vendor()->error),
		"the error is \"%s\"", text);
	return false;
}

static void round_trip(const void *dev, void *back, const char *host)
{
	char got[64] = "";
	MPI_Request r = MPI_REQUEST_NULL;

	if (check(MPI_Sendrecv(dev, 64, MPI_BYTE, 0, 0, got, 64, MPI_BYTE, 0, 0,
		    MPI_COMM_SELF, MPI_STATUS_IGNORE)))
		CHECK(!memcmp(got, host, 64), "device to host");
	if (check(MPI_Irecv(back, 64, MPI_BYTE, 0, 1, MPI_COMM_SELF, &r))) {
		OK(MPI_Send(host, 64, MPI_BYTE, 0, 1, MPI_COMM_SELF));
		check(MPI_Wait(&r, MPI_STATUS_IGNORE));
	}
	CHECK(r == MPI_REQUEST_NULL, "no request is left");
	check(MPI_Allreduce(dev, back, 16, MPI_INT, MPI_SUM, MPI_COMM_SELF));
}

int main(int argc, char **argv)
{
	char host[64];
	void *dev, *back;

	mtest_init(&argc, &argv);
	device_start();
	for (int i = 0; i < 64; i++)
		host[i] = (char)(i + 1);
	dev = device_new(host, sizeof(host));
	back = device_new(host, sizeof(host));
	for (int i = 0; i < N; i++)
		round_trip(dev, back, host);
	if (getenv("DEVSTAND_FAIL"))
		CHECK(n_errors == 1, "%d errors for one fault", n_errors);
	device_free(dev);
	device_free(back);
	return mtest_finish();
}
