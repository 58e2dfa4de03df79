/* SPDX-License-Identifier: BSD-3-Clause */
/* win_rma: accesses to another node that the network card carries out
 *
 * The results are checked with any fabric. With the Slingshot stand-in, the
 * program also checks the operations that it posted to the card, and their
 * flags. */
#include "mtest.h"

#include <fcntl.h>
#include <limits.h>

enum { LEN = 4096, LONG = 100000, MANY = 1000 };

static struct {
	int fd; /* the stand-in's log of this process; -1: none */
	char path[64];
	int *memory; /* of LEN ints */
	MPI_Win win;
} w = { .fd = -1 };

/* Requests the stand-in's log. Call it before the provider is loaded. */
static void record_begin(void)
{
	const char *provider = getenv("FI_PROVIDER");

	if (!provider || strcmp(provider, "cxi"))
		return;
	snprintf(w.path, sizeof(w.path), "/tmp/win_rma.%d", (int)getpid());
	w.fd = open(w.path, O_RDONLY | O_CREAT | O_TRUNC, 0600);
	setenv("CXISTAND_LOG", w.path, 1);
}

static void record_end(void)
{
	if (w.fd < 0)
		return;
	close(w.fd);
	unlink(w.path);
}

/* Number of messages and operations of the card that this process has posted
 * since the last call; -1: unknown. */
static int n_sent(void)
{
	static char bytes[1 << 16];
	int sent = 0;
	ssize_t n;

	if (w.fd < 0)
		return -1;
	n = read(w.fd, bytes, sizeof(bytes) - 1);
	bytes[n > 0 ? n : 0] = 0;
	for (char *line = strtok(bytes, "\n"); line; line = strtok(NULL, "\n"))
		sent += strstr(line, "send") || strstr(line, "inject") ||
			strstr(line, "key=");
	return sent;
}

/* Writes the operation of a line of the log: "write 8 DC; ". Returns its
 * length; 0: the line is no operation. */
static size_t read_line(const char *line, char *out, size_t room)
{
	char call[32], flags[128];
	const char *at = strstr(line, "flags="), *len = strstr(line, "len=");

	if (sscanf(line, "fi_%31s", call) != 1 || !at || !strstr(line, "key="))
		return 0;
	sscanf(at, "flags=%127s", flags);
	return (size_t)snprintf(out, room, "%.*s %d %s; ",
		(int)strcspn(call, "m"), call, len ? atoi(len + 4) : -1, flags);
}

/* Checks the operations that this process posted to the card since the last
 * call. */
static void expect(const char *what, const char *wanted)
{
	static char bytes[1 << 16];
	char got[4096] = "";
	size_t used = 0;
	ssize_t n;

	if (w.fd < 0)
		return;
	n = read(w.fd, bytes, sizeof(bytes) - 1);
	bytes[n > 0 ? n : 0] = 0;
	for (char *line = strtok(bytes, "\n"); line; line = strtok(NULL, "\n"))
		if (used < sizeof(got))
			used += read_line(line, got + used, sizeof(got) - used);
	CHECK(!strcmp(got, wanted), "%s: the card gets \"%s\", expected \"%s\"",
		what, got, wanted);
}

/* ---- rank 0 accesses rank 1 ---- */

static void puts_and_gets(void)
{
	int one = 1, got = 0;

	expect("the creation of the window", "");
	OK(MPI_Put(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, w.win));
	OK(MPI_Win_flush(1, w.win));
	expect("one put and its flush", "write 4 COMPLETION|DC; ");
	for (int i = 1; i < 4; i++)
		OK(MPI_Put(&i, 1, MPI_INT, 1, i, 1, MPI_INT, w.win));
	OK(MPI_Win_flush(1, w.win));
	expect("three puts and their flush",
		"write 4 COMPLETION|DC; write 4 INJECT; write 4 INJECT; "
		"write 0 COMPLETION|FENCE|DC; ");
	OK(MPI_Win_flush(1, w.win));
	OK(MPI_Win_flush_all(w.win));
	expect("flushes without accesses", "");
	OK(MPI_Get(&got, 1, MPI_INT, 1, 3, 1, MPI_INT, w.win));
	OK(MPI_Win_flush_local(1, w.win));
	CHECK(got == 3, "a get returns the value of the last put: %d", got);
	expect("a get", "read 4 COMPLETION; ");
}

static void requests(void)
{
	int values[LEN / 2], got[LEN / 2];
	MPI_Request req[2];

	for (int i = 0; i < LEN / 2; i++)
		values[i] = 7 * i;
	OK(MPI_Rput(values, LEN / 2, MPI_INT, 1, LEN / 2, LEN / 2, MPI_INT,
		w.win, &req[0]));
	OK(MPI_Wait(&req[0], MPI_STATUS_IGNORE));
	OK(MPI_Win_flush(1, w.win));
	OK(MPI_Rget(got, LEN / 2, MPI_INT, 1, LEN / 2, LEN / 2, MPI_INT, w.win,
		&req[1]));
	OK(MPI_Wait(&req[1], MPI_STATUS_IGNORE));
	CHECK(!memcmp(values, got, sizeof(got)),
		"a get returns the data that was put");
	expect("a put and a get with requests",
		"write 8192 COMPLETION|DC; read 8192 COMPLETION; ");
}

/* Accesses n of 2n ints in the second half of the window, with the strided type
 * at the origin and at the target. */
static void strided(int n, const char *put, const char *get)
{
	int *from = mtest_alloc(2 * (size_t)n * sizeof(int));
	int *to = mtest_alloc(2 * (size_t)n * sizeof(int));
	bool is_right = true;
	MPI_Datatype type;

	for (int i = 0; i < 2 * n; i++)
		from[i] = 3 * i + n;
	memset(to, -1, 2 * (size_t)n * sizeof(int));
	OK(MPI_Type_vector(n, 1, 2, MPI_INT, &type));
	OK(MPI_Type_commit(&type));
	OK(MPI_Put(from, 1, type, 1, LEN / 2, 1, type, w.win));
	OK(MPI_Win_flush(1, w.win));
	expect("a strided put", put);
	OK(MPI_Get(to, 1, type, 1, LEN / 2, 1, type, w.win));
	OK(MPI_Win_flush(1, w.win));
	expect("a strided get", get);
	for (int i = 0; i < 2 * n; i++)
		is_right &= to[i] == (i % 2 ? -1 : from[i]);
	CHECK(is_right, "a strided get of %d items returns those of the put",
		n);
	OK(MPI_Type_free(&type));
	free(from);
	free(to);
}

/* The target's CPU executes all updates, so the card gets no operation. */
static void updates(void)
{
	int one = 1, old = -1, two = 2, first = -1;

	OK(MPI_Accumulate(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, w.win));
	OK(MPI_Fetch_and_op(&one, &old, MPI_INT, 1, 0, MPI_SUM, w.win));
	OK(MPI_Win_flush(1, w.win));
	OK(MPI_Compare_and_swap(&one, &two, &first, MPI_INT, 1, 1, w.win));
	OK(MPI_Win_flush(1, w.win));
	CHECK(old == 2 && first == 1,
		"updates are carried out after the puts: %d, %d", old, first);
	expect("updates", "");
}

static void outside(void)
{
	int one = 1;

	FAILS(MPI_Put(&one, 1, MPI_INT, 1, LEN, 1, MPI_INT, w.win),
		MPI_ERR_RMA_RANGE);
	FAILS(MPI_Get(&one, 1, MPI_INT, 1, -1, 1, MPI_INT, w.win),
		MPI_ERR_RMA_RANGE);
	OK(MPI_Win_flush(1, w.win));
	expect("accesses outside of the window", "");
}

/* Epochs without accesses send no message. In an early epoch this process may
 * acknowledge former messages of the other process, so the test uses the lowest
 * number of all epochs. */
static void idle_epochs(void)
{
	int one = 1, least = INT_MAX, n;

	(void)n_sent();
	for (int i = 0; i < 20; i++) {
		OK(MPI_Win_lock_all(0, w.win));
		OK(MPI_Win_flush_all(w.win));
		OK(MPI_Win_flush_local(1, w.win));
		OK(MPI_Win_flush(1, w.win));
		OK(MPI_Win_sync(w.win));
		OK(MPI_Win_unlock_all(w.win));
		OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w.win));
		OK(MPI_Win_flush(1, w.win));
		OK(MPI_Win_unlock(1, w.win));
		n = n_sent();
		least = n < least ? n : least;
	}
	CHECK(least <= 0, "an epoch without accesses sends no message: %d",
		least);
	OK(MPI_Win_lock_all(0, w.win));
	OK(MPI_Accumulate(
		&one, 1, MPI_INT, 1, LEN - 1, 1, MPI_INT, MPI_SUM, w.win));
	OK(MPI_Win_unlock_all(w.win));
	CHECK(n_sent(), "an access is sent");
	OK(MPI_Win_lock_all(0, w.win));
	for (int i = 0; i < 50; i++)
		OK(MPI_Accumulate(&one, 1, MPI_INT, 1, LEN - 1, 1, MPI_INT,
			MPI_SUM, w.win));
	OK(MPI_Win_flush(1, w.win));
	n = n_sent();
	CHECK(n <= 25, "50 short accumulates share few messages: %d", n);
	OK(MPI_Win_unlock_all(w.win));
	(void)n_sent();
}

static void at_origin(void)
{
	idle_epochs();
	OK(MPI_Win_lock_all(0, w.win));
	puts_and_gets();
	requests();
	strided(3,
		"write 4 COMPLETION|DC; write 4 INJECT; write 4 INJECT; "
		"write 0 COMPLETION|FENCE|DC; ",
		"read 4 COMPLETION; read 4 COMPLETION; read 4 COMPLETION; ");
	strided(MANY, "", "");
	updates();
	outside();
	OK(MPI_Win_unlock_all(w.win));
	expect("the end of the epoch", "");
}

/* Creates and frees many windows, some without memory. */
static void many(void)
{
	for (int i = 0; i < 120; i++) {
		int *memory, value = i + 1;
		MPI_Win win;

		OK(MPI_Win_allocate((i % 3) * (MPI_Aint)sizeof(int), 4,
			MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
		if (i % 3)
			*memory = 0;
		OK(MPI_Win_fence(0, win));
		if (i % 3)
			OK(MPI_Put(&value, 1, MPI_INT, 1 - mtest.rank, 0, 1,
				MPI_INT, win));
		OK(MPI_Win_fence(0, win));
		CHECK(!(i % 3) || *memory == value,
			"window %d: the put of the other process arrives: %d",
			i, i % 3 ? *memory : 0);
		OK(MPI_Win_free(&win));
	}
}

/* Several parts of a long accumulate are in flight at the same time. A later
 * access to one of its elements is carried out after all parts. */
static void parts(void)
{
	enum { N = 300000, ROUNDS = 8, PLACES = 5 };
	int *memory, *in = malloc(N * sizeof(int)), out[PLACES];
	MPI_Win win;

	OK(MPI_Win_allocate(N * sizeof(int), sizeof(int), MPI_INFO_NULL,
		MPI_COMM_WORLD, &memory, &win));
	memset(memory, 0, N * sizeof(int));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	OK(MPI_Win_lock_all(0, win));
	for (int i = 1; mtest.rank == 0 && i <= ROUNDS; i++) {
		for (int k = 0; k < N; k++)
			in[k] = i + k;
		OK(MPI_Accumulate(
			in, N, MPI_INT, 1, 0, N, MPI_INT, MPI_REPLACE, win));
		for (int k = 0; k < PLACES; k++)
			OK(MPI_Fetch_and_op(NULL, &out[k], MPI_INT, 1,
				k * (N - 1) / (PLACES - 1), MPI_NO_OP, win));
		OK(MPI_Win_flush_local(1, win));
		for (int k = 0; k < PLACES; k++)
			CHECK(out[k] == i + k * (N - 1) / (PLACES - 1),
				"round %d: fetch %d returns the last value: %d",
				i, k, out[k]);
	}
	OK(MPI_Win_unlock_all(win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	for (int k = 0; mtest.rank == 1 && k < N; k++)
		if (memory[k] != ROUNDS + k) {
			CHECK(false, "element %d is %d, expected %d", k,
				memory[k], ROUNDS + k);
			break;
		}
	free(in);
	OK(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
	record_begin();
	mtest_init(&argc, &argv);
	mtest_need(2);
	OK(MPI_Win_allocate(LEN * sizeof(int), sizeof(int), MPI_INFO_NULL,
		MPI_COMM_WORLD, &w.memory, &w.win));
	OK(MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN));
	memset(w.memory, 0, LEN * sizeof(int));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (mtest.rank == 0)
		at_origin();
	OK(MPI_Win_free(&w.win));
	many();
	parts();
	record_end();
	return mtest_finish();
}
