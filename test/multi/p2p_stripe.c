/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * p2p_stripe: long messages over several devices arrive complete and in order,
 * with other traffic at the same time
 *
 * Run with WEFT_STRIPE, and WEFT_STRIPE_MIN below SHORT. devices= is the number
 * of devices of the Slingshot stand-in. Its log must show that all of them
 * carried data, except the device that does not open (broken=).
 */
#include "session.h"

enum { SHORT = 100000, LONG = 3000017, MANY = 12, DEVICES = 8 };

static char record[64];

static MPI_Comm comm;
static int right, left; /* neighbours of this process in the ring */

/* Adds the bytes of the tagged sends of at least `least` bytes to the sum of
 * their device. */
static void carried(long least, long long *sums)
{
	FILE *f = fopen(record, "r");
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		const char *len = strstr(line, " len=");
		const char *on = strstr(line, " on=cxi");

		if (strncmp(line, "fi_tsend", 8) || !len || !on ||
			strtol(len + 5, NULL, 10) < least)
			continue;
		sums[(on[7] - '0') % DEVICES] += strtol(len + 5, NULL, 10);
	}
	if (f)
		fclose(f);
}

/* Checks that each device except the broken one carried its share. Posts that
 * the stand-in refused count, too. */
static void shares(int devices, int broken)
{
	long long sums[DEVICES] = { 0 }, all = 0;

	carried(SHORT / DEVICES, sums);
	for (int i = 0; i < DEVICES; i++)
		all += sums[i];
	CHECK(all >= LONG, "long messages are sent, %lld B", all);
	for (int i = 0; i < devices; i++)
		if (i == broken)
			CHECK(!sums[i], "device %d carries nothing: %lld B", i,
				sums[i]);
		else
			CHECK(sums[i] > all / devices / 2,
				"device %d carries its share: %lld of %lld B",
				i, sums[i], all);
}

/* Sends messages of about SHORT and LONG bytes around the ring. */
static void lengths(void)
{
	static const int more[] = { -4097, -1, 0, 1, 4095, 4096 };
	char *out = mtest_alloc(LONG + 8192), *in = mtest_alloc(LONG + 8192);

	for (unsigned i = 0; i < 2 * sizeof(more) / sizeof(*more); i++) {
		int len = (i % 2 ? SHORT : LONG) + more[i / 2];

		mtest_fill(out, (size_t)len, i);
		OK(MPI_Sendrecv(out, len, MPI_BYTE, right, 1, in, len, MPI_BYTE,
			left, 1, comm, MPI_STATUS_IGNORE));
		CHECK(mtest_same(in, (size_t)len, i), "%d bytes arrive", len);
	}
	free(out);
	free(in);
}

/* Sends many messages at the same time, some of them short. They arrive in
 * order. */
static void many(void)
{
	MPI_Request requests[2 * MANY];
	char *out = mtest_alloc((size_t)MANY * LONG);
	char *in = mtest_alloc((size_t)MANY * LONG);
	MPI_Status status;
	int count;

	mtest_fill(out, (size_t)MANY * LONG, 7);
	for (int i = 0; i < MANY; i++)
		OK(MPI_Irecv(in + (size_t)i * LONG, LONG, MPI_BYTE, left, 2,
			comm, &requests[i]));
	for (int i = 0; i < MANY; i++)
		OK(MPI_Isend(out + (size_t)i * LONG, i % 3 ? LONG : 10,
			MPI_BYTE, right, 2, comm, &requests[MANY + i]));
	for (int i = 0; i < 2 * MANY; i++) {
		OK(MPI_Wait(&requests[i], &status));
		OK(MPI_Get_count(&status, MPI_BYTE, &count));
		if (i < MANY)
			CHECK(count == (i % 3 ? LONG : 10) &&
					!memcmp(in + (size_t)i * LONG,
						out + (size_t)i * LONG,
						(size_t)count),
				"message %d is the one sent", i);
	}
	free(out);
	free(in);
}

/* The sender sends every second int to a contiguous buffer, then to one that is
 * too short. */
static void odd(void)
{
	int n = LONG / 8;
	int *out = mtest_alloc((size_t)n * 8), *in = mtest_alloc((size_t)n * 4);
	MPI_Datatype type;
	MPI_Request request;
	int bad = 0;

	OK(MPI_Type_vector(n, 1, 2, MPI_INT, &type));
	OK(MPI_Type_commit(&type));
	for (int i = 0; i < n; i++)
		out[2 * i] = i;
	OK(MPI_Irecv(in, n, MPI_INT, left, 3, comm, &request));
	OK(MPI_Send(out, 1, type, right, 3, comm));
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	for (int i = 0; i < n; i++)
		bad += in[i] != i;
	CHECK(!bad, "a vector arrives, %d ints are wrong", bad);
	OK(MPI_Irecv(in, n / 2, MPI_INT, left, 4, comm, &request));
	OK(MPI_Send(out, 1, type, right, 4, comm));
	FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
	OK(MPI_Type_free(&type));
	free(out);
	free(in);
}

/* Returns by how much a performance variable grows during many(). */
static unsigned long long variable(const char *name)
{
	MPI_T_pvar_session session;
	MPI_T_pvar_handle handle;
	unsigned long long value = 0;
	int index = -1, count;

	OK(MPI_T_pvar_session_create(&session));
	OK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_AGGREGATE, &index));
	OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
	OK(MPI_T_pvar_write(session, handle, &value));
	many();
	OK(MPI_T_pvar_read(session, handle, &value));
	OK(MPI_T_pvar_session_free(&session));
	return value;
}

/* Each direction of many() is counted by rail. The rails beside rail 0 carry
 * parts of the long messages only. */
static void rails(void)
{
	static const char *const names[] = { "rail0_net_sent_bytes",
		"rail1_net_sent_bytes", "rail1_net_received_bytes" };
	const long long all = (MANY - (MANY + 2) / 3) * (long long)LONG;
	int provided;

	OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		unsigned long long value = variable(names[i]);

		CHECK(value > (unsigned long long)all / DEVICES &&
				value < (unsigned long long)all,
			"%s is a part of %lld bytes: %llu", names[i], all,
			value);
	}
	OK(MPI_T_finalize());
}

int main(int argc, char **argv)
{
	MPI_Session session;
	int devices;

	mtest_start(argv[0]);
	devices = (int)mtest_arg(argc, argv, "devices", 0);
	if (devices && getenv("FI_PROVIDER_PATH")) {
		snprintf(record, sizeof(record), "/tmp/p2p_stripe.%d",
			(int)getpid());
		setenv("CXISTAND_LOG", record, 1);
	}
	session = session_open();
	session_set_rank(session);
	comm = session_comm(session, "mpi://WORLD", "stripe");
	right = (mtest.rank + 1) % mtest.size;
	left = (mtest.rank + mtest.size - 1) % mtest.size;
	lengths();
	many();
	odd();
	if (record[0]) { /* messages use the stand-in */
		rails();
		shares(devices, (int)mtest_arg(argc, argv, "broken", -1));
	}
	OK(MPI_Comm_disconnect(&comm));
	OK(MPI_Session_finalize(&session));
	if (record[0])
		unlink(record);
	return mtest_done();
}
