/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mtest: checks, results and deadlines of the multi-process tests
 *
 * Standard MPI only, so that every program here also builds against another
 * MPI. A failed check is printed with file, line, rank and sentence, and the
 * program continues. Each rank prints its first 20 failed checks. mtest_done()
 * returns 1 if a check has failed. When WEFT_TEST_DEADLINE seconds have passed,
 * each rank prints the line of its last check and exits with 124.
 */
#ifndef MTEST_H
#define MTEST_H

#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The classes of mpix.h. With another MPI, a class of the standard replaces
 * them. */
#if __has_include(<mpix.h>)
#include <mpix.h>
#endif
#ifndef MPIX_ERR_PROC_FAILED
#define MPIX_ERR_REVOKED MPI_ERR_PROC_ABORTED
#define MPIX_ERR_PROC_FAILED MPI_ERR_PROC_ABORTED
#define MPIX_ERR_PROC_FAILED_PENDING MPI_ERR_PROC_ABORTED
#endif

enum {
	MTEST_SKIP = 77,
	MTEST_LATE = 124,
	MTEST_SHOW = 20,
	MTEST_SOON_S = 60, /* limit for an operation that must not wait; the
			    * machine itself may stall for seconds */
};

struct mtest {
	int rank;
	int size;
	_Atomic long n_checks;
	_Atomic long n_failed;
	_Atomic int line;
	int err; /* a copy of the original stderr */
	const char *name;
};

static struct mtest mtest;

/* Checks one condition: CHECK(condition, "sentence" [, printf arguments]). */
#define CHECK(ok, ...) mtest_check((ok), __FILE__, __LINE__, #ok, __VA_ARGS__)

/* Checks that the call returns MPI_SUCCESS. */
#define OK(call) mtest_ok((call), __FILE__, __LINE__, #call)

/* Checks that the call returns an error of this class. */
#define FAILS(call, class_wanted) \
	mtest_fails((call), (class_wanted), __FILE__, __LINE__, #call)

static inline const char *mtest_base(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? slash + 1 : file;
}

__attribute__((format(printf, 5, 6))) static inline bool mtest_check(bool ok,
	const char *file, int line, const char *text, const char *fmt, ...)
{
	char words[512];
	va_list ap;

	mtest.n_checks++;
	mtest.line = line;
	if (ok)
		return true;
	if (mtest.n_failed++ >= MTEST_SHOW)
		return false;
	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	fprintf(stderr, "# FAILED %s:%d: rank %d: %s (%s)\n", mtest_base(file),
		line, mtest.rank, words, text);
	return false;
}

static inline const char *mtest_error(int rc)
{
	static _Thread_local char text[MPI_MAX_ERROR_STRING + 32];
	char words[MPI_MAX_ERROR_STRING + 1] = "";
	int len = 0, class = 0;

	MPI_Error_class(rc, &class);
	MPI_Error_string(rc, words, &len);
	snprintf(text, sizeof(text), "class %d: %s", class, words);
	return text;
}

static inline int mtest_class(int rc)
{
	int class = MPI_SUCCESS;

	if (rc != MPI_SUCCESS)
		MPI_Error_class(rc, &class);
	return class;
}

static inline bool mtest_ok(
	int rc, const char *file, int line, const char *text)
{
	if (rc == MPI_SUCCESS)
		return mtest_check(true, file, line, text, "succeeds");
	return mtest_check(
		false, file, line, text, "succeeds, got %s", mtest_error(rc));
}

static inline bool mtest_fails(
	int rc, int class_wanted, const char *file, int line, const char *text)
{
	if (mtest_class(rc) == class_wanted)
		return mtest_check(true, file, line, text, "fails");
	return mtest_check(false, file, line, text, "is class %d, got %s",
		class_wanted, rc ? mtest_error(rc) : "success");
}

static inline void mtest_late(int signal_number)
{
	char text[160];
	int len;

	(void)signal_number;
	len = snprintf(text, sizeof(text),
		"# FAILED %s: rank %d: deadline passed, last check at line "
		"%d\n",
		mtest.name, mtest.rank, atomic_load(&mtest.line));
	if (write(mtest.err, text, len) < 0)
		_exit(MTEST_LATE + 1);
	_exit(MTEST_LATE);
}

/* Names the program and arms the deadline; the first call of main(). */
static inline void mtest_start(const char *path)
{
	static const char *const keys[] = { "PMIX_RANK", "PMI_RANK",
		"OMPI_COMM_WORLD_RANK" };
	const char *late = getenv("WEFT_TEST_DEADLINE");

	mtest.name = mtest_base(path);
	mtest.err = dup(STDERR_FILENO); /* kept if the test redirects it */
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (getenv(keys[i]))
			mtest.rank = atoi(getenv(keys[i]));
	signal(SIGALRM, mtest_late);
	if (late && atoi(late) > 0)
		alarm(atoi(late));
}

/* Calls mtest_start() and MPI_Init(), and sets MPI_ERRORS_RETURN on
 * MPI_COMM_WORLD and MPI_COMM_SELF. */
static inline void mtest_init(int *argc, char ***argv)
{
	mtest_start((*argv)[0]);
	OK(MPI_Init(argc, argv));
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &mtest.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &mtest.size);
}

/* Connects all members, so that a test that kills processes connects none after
 * a death. Over sockets, the provider may lose messages, or report a live
 * process as failed, if two processes connect to each other at the same time
 * and one of them had a connection to a process that died (prov/prov_tcp.c). */
static inline void mtest_connect_all(MPI_Comm comm)
{
	enum { MTEST_TAG_CONNECT = 77 };
	int rank = 0, size = 0;

	OK(MPI_Comm_rank(comm, &rank));
	OK(MPI_Comm_size(comm, &size));
	for (int d = 1; d < size; d++)
		OK(MPI_Sendrecv(NULL, 0, MPI_INT, (rank + d) % size,
			MTEST_TAG_CONNECT, NULL, 0, MPI_INT,
			(rank + size - d) % size, MTEST_TAG_CONNECT, comm,
			MPI_STATUS_IGNORE));
	/* The barrier fails if a member dies after all have entered it. */
	(void)MPI_Barrier(comm);
}

/* Returns the exit status. Rank 0 fails if it has checked nothing. */
static inline int mtest_done(void)
{
	if (mtest.rank == 0 && mtest.n_checks == 0)
		CHECK(false, "a test has at least one check");
	if (mtest.n_failed)
		fprintf(stderr, "# FAILED %s: rank %d: %ld of %ld checks\n",
			mtest.name, mtest.rank, (long)mtest.n_failed,
			(long)mtest.n_checks);
	return mtest.n_failed ? 1 : 0;
}

/* Calls MPI_Finalize() and returns the exit status. */
static inline int mtest_finish(void)
{
	OK(MPI_Finalize());
	return mtest_done();
}

/* Ends the program as skipped, with the reason. Every rank must call it. */
static inline void mtest_skip(const char *reason)
{
	int up = 0, down = 0;

	if (mtest.rank == 0)
		printf("# SKIP %s: %s\n", mtest.name, reason);
	fflush(stdout);
	MPI_Initialized(&up);
	MPI_Finalized(&down);
	if (up && !down)
		MPI_Finalize();
	exit(mtest.n_failed ? 1 : MTEST_SKIP);
}

/* Skips the test unless the job has at least n processes. */
static inline void mtest_need(int n)
{
	if (mtest.size < n)
		mtest_skip("needs more processes");
}

/* Skips the test, with the function's name, if the library does not implement
 * the function. */
static inline void mtest_offered(int rc, const char *function)
{
	if (mtest_class(rc) == MPI_ERR_UNSUPPORTED_OPERATION)
		mtest_skip(function);
}

static inline unsigned char mtest_byte(size_t i, unsigned seed)
{
	return (unsigned char)(i * 7 + (i >> 8) * 3 + seed * 131 + 11);
}

static inline void mtest_fill(void *buf, size_t len, unsigned seed)
{
	unsigned char *at = buf;

	for (size_t i = 0; i < len; i++)
		at[i] = mtest_byte(i, seed);
}

/* True if the bytes are those of mtest_fill() with the same seed. */
static inline bool mtest_same(const void *buf, size_t len, unsigned seed)
{
	const unsigned char *at = buf;

	for (size_t i = 0; i < len; i++)
		if (at[i] != mtest_byte(i, seed))
			return false;
	return true;
}

/* True if all bytes have this value. */
static inline bool mtest_all(const void *buf, size_t len, int value)
{
	const unsigned char *at = buf;

	for (size_t i = 0; i < len; i++)
		if (at[i] != (unsigned char)value)
			return false;
	return true;
}

static inline void *mtest_alloc(size_t len)
{
	void *buf = calloc(1, len ? len : 1);

	if (!buf) {
		fprintf(stderr, "# no memory for %zu bytes\n", len);
		_exit(1);
	}
	return buf;
}

static inline double mtest_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Returns the processor time of this process in seconds. */
static inline double mtest_cpu(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Delays this process. Never used to wait for an event. */
static inline void mtest_linger(int ms)
{
	struct timespec ts = { ms / 1000, (long)(ms % 1000) * 1000000 };

	nanosleep(&ts, NULL);
}

/* Returns the value of the argument "key=value", or the default. */
static inline long mtest_arg(int argc, char **argv, const char *key, long value)
{
	size_t len = strlen(key);

	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], key, len) == 0 && argv[i][len] == '=')
			value = atol(argv[i] + len + 1);
	return value;
}

/* Returns a number of /proc/self/status in KiB ("VmHWM", "RssAnon"), or 0. */
static inline long mtest_memory_kib(const char *field)
{
	FILE *file = fopen("/proc/self/status", "r");
	size_t len = strlen(field);
	char row[256];
	long kib = 0;

	while (file && fgets(row, sizeof(row), file))
		if (strncmp(row, field, len) == 0 && row[len] == ':')
			kib = atol(row + len + 1);
	if (file)
		fclose(file);
	return kib;
}

/* Returns the KiB of memory that this process has written. Pages of files, such
 * as its code, do not count: the kernel maps and drops them at any time. */
static inline long mtest_filled_kib(void)
{
	return mtest_memory_kib("RssAnon") + mtest_memory_kib("RssShmem");
}

#endif
