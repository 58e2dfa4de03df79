/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stest: checks, results and deadlines of the OpenSHMEM tests
 *
 * A failed check is printed with file, line, PE and sentence, and the program
 * continues. Each PE prints its first 20 failed checks. stest_done() returns 1
 * if a check has failed. When WEFT_TEST_DEADLINE seconds have passed, each PE
 * prints the line of its last check and exits with 124.
 */
#ifndef STEST_H
#define STEST_H

#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STEST_LATE = 124, STEST_SHOW = 20 };

/*
 * The types, each X(its name in procedures, its name in C). STEST_BITS has
 * those of bitwise atomics, STEST_AMO of all integer atomics, STEST_WAIT of
 * waits, STEST_INTS of bitwise reductions, and STEST_ORDERED all real types.
 */
#define STEST_BITS(X)                    \
	X(uint, unsigned)                \
	X(ulong, unsigned long)          \
	X(ulonglong, unsigned long long) \
	X(int32, int32_t)                \
	X(int64, int64_t)                \
	X(uint32, uint32_t)              \
	X(uint64, uint64_t)
#define STEST_AMO(X)           \
	STEST_BITS(X)          \
	X(int, int)            \
	X(long, long)          \
	X(longlong, long long) \
	X(size, size_t)        \
	X(ptrdiff, ptrdiff_t)
#define STEST_WAIT(X)   \
	STEST_AMO(X)    \
	X(short, short) \
	X(ushort, unsigned short)
#define STEST_INTS(X)             \
	STEST_BITS(X)             \
	X(uchar, unsigned char)   \
	X(ushort, unsigned short) \
	X(int8, int8_t)           \
	X(int16, int16_t)         \
	X(uint8, uint8_t)         \
	X(uint16, uint16_t)       \
	X(size, size_t)
#define STEST_ORDERED(X)       \
	STEST_INTS(X)          \
	X(char, char)          \
	X(schar, signed char)  \
	X(short, short)        \
	X(int, int)            \
	X(long, long)          \
	X(longlong, long long) \
	X(ptrdiff, ptrdiff_t)  \
	X(float, float)        \
	X(double, double)      \
	X(longdouble, long double)

struct stest {
	int me, n;
	_Atomic long n_failed;
	_Atomic int line;
	const char *name;
};

static struct stest stest;

/* Checks one condition: CHECK(condition, "sentence" [, printf arguments]). */
#define CHECK(ok, ...) stest_check((ok), __FILE__, __LINE__, #ok, __VA_ARGS__)

__attribute__((format(printf, 5, 6))) static inline bool stest_check(bool ok,
	const char *file, int line, const char *text, const char *fmt, ...)
{
	const char *slash = strrchr(file, '/');
	char words[512];
	va_list ap;

	stest.line = line;
	if (ok)
		return true;
	if (stest.n_failed++ >= STEST_SHOW)
		return false;
	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	fprintf(stderr, "# FAILED %s:%d: PE %d: %s (%s)\n",
		slash ? slash + 1 : file, line, stest.me, words, text);
	return false;
}

static inline void stest_late(int signal_number)
{
	char text[160];
	int len;

	(void)signal_number;
	len = snprintf(text, sizeof(text),
		"# FAILED %s: PE %d: deadline passed, last check at line %d\n",
		stest.name, stest.me, stest.line);
	if (write(STDERR_FILENO, text, (size_t)len) < 0)
		_exit(STEST_LATE + 1);
	_exit(STEST_LATE);
}

/* Names the program and arms the deadline; the first call of main(). */
static inline void stest_start(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *late = getenv("WEFT_TEST_DEADLINE");

	stest.name = slash ? slash + 1 : path;
	signal(SIGALRM, stest_late);
	if (late && atoi(late) > 0)
		alarm((unsigned)atoi(late));
}

/* Stores the number of this PE and of all PEs. Called after an init. */
static inline void stest_set_pe(void)
{
	stest.me = shmem_my_pe();
	stest.n = shmem_n_pes();
}

/* Returns the value of the argument name=value, or NULL. */
static inline const char *stest_arg(int argc, char **argv, const char *name)
{
	size_t len = strlen(name);

	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], name, len) && argv[i][len] == '=')
			return argv[i] + len + 1;
	return NULL;
}

static inline void stest_init(char **argv)
{
	stest_start(argv[0]);
	shmem_init();
	stest_set_pe();
}

/* Finalizes once and returns the exit status. */
static inline int stest_done(void)
{
	shmem_finalize();
	return stest.n_failed != 0;
}

/* Returns the PE after this one, in the ring of all PEs. */
static inline int stest_next(void)
{
	return (stest.me + 1) % stest.n;
}

/* Returns the PE before this one, in the ring of all PEs. */
static inline int stest_before(void)
{
	return (stest.me + stest.n - 1) % stest.n;
}

/* Captures all output to standard error from now on for stest_output(), which
 * takes the returned value. */
static inline int stest_listen(void)
{
	FILE *file = tmpfile();
	int kept = dup(STDERR_FILENO);

	fflush(stderr);
	if (!file || kept < 0 || dup2(fileno(file), STDERR_FILENO) < 0)
		exit(2);
	fclose(file);
	return kept;
}

/* Returns the captured output in buf, and restores standard error. */
static inline const char *stest_output(int kept, char *buf, size_t len)
{
	ssize_t n;

	fflush(stderr);
	n = pread(STDERR_FILENO, buf, len - 1, 0);
	buf[n < 0 ? 0 : n] = 0;
	dup2(kept, STDERR_FILENO);
	close(kept);
	return buf;
}

#endif
