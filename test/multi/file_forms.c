/* SPDX-License-Identifier: BSD-3-Clause */
/* file_forms: all procedures that read and write, with int and with MPI_Count
 *
 * Each process has a record with its rank in all numbers. */
#include "file.h"

#include <string.h>

enum { N = 5 };

typedef int form_fn(
	MPI_File fh, MPI_Offset at, int *numbers, MPI_Status *status);

/* ---- the procedures, as functions of one type ---- */

#define AT(form)                                                              \
	static int at_##form(                                                 \
		MPI_File fh, MPI_Offset at, int *numbers, MPI_Status *status) \
	{                                                                     \
		return MPI_File_##form(fh, at, numbers, N, MPI_INT, status);  \
	}
#define BY_POINTER(form)                                                      \
	static int by_##form(                                                 \
		MPI_File fh, MPI_Offset at, int *numbers, MPI_Status *status) \
	{                                                                     \
		(void)at;                                                     \
		return MPI_File_##form(fh, numbers, N, MPI_INT, status);      \
	}
#define BEGUN_AT(form)                                                        \
	static int at_i##form(                                                \
		MPI_File fh, MPI_Offset at, int *numbers, MPI_Status *status) \
	{                                                                     \
		MPI_Request request;                                          \
		int err = MPI_File_i##form(                                   \
			fh, at, numbers, N, MPI_INT, &request);               \
		return err ? err : MPI_Wait(&request, status);                \
	}
#define BEGUN_BY_POINTER(form)                                                 \
	static int by_i##form(                                                 \
		MPI_File fh, MPI_Offset at, int *numbers, MPI_Status *status)  \
	{                                                                      \
		MPI_Request request;                                           \
		int err = MPI_File_i##form(fh, numbers, N, MPI_INT, &request); \
		(void)at;                                                      \
		return err ? err : MPI_Wait(&request, status);                 \
	}
#define SPLIT_AT(form, c)                                                      \
	static int at_##form##_halves##c(                                      \
		MPI_File fh, MPI_Offset at, int *numbers, MPI_Status *status)  \
	{                                                                      \
		int err = MPI_File_##form##_begin##c(                          \
			fh, at, numbers, N, MPI_INT);                          \
		return err ? err : MPI_File_##form##_end(fh, numbers, status); \
	}
#define SPLIT_BY_POINTER(form, c)                                              \
	static int by_##form##_halves##c(                                      \
		MPI_File fh, MPI_Offset at, int *numbers, MPI_Status *status)  \
	{                                                                      \
		int err = MPI_File_##form##_begin##c(fh, numbers, N, MPI_INT); \
		(void)at;                                                      \
		return err ? err : MPI_File_##form##_end(fh, numbers, status); \
	}
/* read and write, both kinds of count */
#define BOTH(macro, form)                                           \
	macro(write##form) macro(write##form##_c) macro(read##form) \
		macro(read##form##_c)
#define BOTH_HALVES(macro, form)                                        \
	macro(write##form, ) macro(write##form, _c) macro(read##form, ) \
		macro(read##form, _c)

BOTH(AT, _at)
BOTH(AT, _at_all)
BOTH(BY_POINTER, )
BOTH(BY_POINTER, _all)
BOTH(BY_POINTER, _shared)
BOTH(BY_POINTER, _ordered)
BOTH(BEGUN_AT, _at)
BOTH(BEGUN_AT, _at_all)
BOTH(BEGUN_BY_POINTER, )
BOTH(BEGUN_BY_POINTER, _all)
BOTH(BEGUN_BY_POINTER, _shared)
BOTH_HALVES(SPLIT_AT, _at_all)
BOTH_HALVES(SPLIT_BY_POINTER, _all)
BOTH_HALVES(SPLIT_BY_POINTER, _ordered)

static const struct form {
	const char *name;
	form_fn *write, *read;
	bool in_any_order; /* uses the shared pointer without an order */
} forms[] = {
#define FORM(how, form, any)                                                 \
	{ #form, how##_write##form, how##_read##form, any },                 \
	{                                                                    \
#form "_c", how##_write##form##_c, how##_read##form##_c, any \
	}
#define BEGUN(how, form, any)                                                  \
	{ "i" #form, how##_iwrite##form, how##_iread##form, any },             \
	{                                                                      \
		"i" #form "_c", how##_iwrite##form##_c, how##_iread##form##_c, \
			any                                                    \
	}
	FORM(at, _at, false),
	FORM(at, _at_all, false),
	FORM(by, , false),
	FORM(by, _all, false),
	FORM(by, _shared, true),
	FORM(by, _ordered, false),
	BEGUN(at, _at, false),
	BEGUN(at, _at_all, false),
	BEGUN(by, , false),
	BEGUN(by, _all, false),
	BEGUN(by, _shared, true),
	FORM(at, _at_all_halves, false),
	FORM(by, _all_halves, false),
	FORM(by, _ordered_halves, false),
};

static int count_of(const MPI_Status *status)
{
	return file_count(status, MPI_INT);
}

static void start(MPI_File fh)
{
	OK(MPI_File_seek(fh, (MPI_Offset)N * mtest.rank, MPI_SEEK_SET));
	OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Writes by one procedure and reads by another. */
static void there_and_back(const struct form *out, const struct form *in)
{
	MPI_File fh = file_scratch("forms");
	MPI_Offset at = (MPI_Offset)N * mtest.rank;
	int mine[N], got[N], sum = 0,
			     wanted = mtest.size * (mtest.size - 1) / 2;
	MPI_Status status;

	OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
	for (int i = 0; i < N; i++) {
		mine[i] = mtest.rank;
		got[i] = -1;
	}
	start(fh);
	OK(out->write(fh, at, mine, &status));
	CHECK(count_of(&status) == N, "write%s moves all items: %d", out->name,
		count_of(&status));
	file_turn(fh);
	start(fh);
	OK(in->read(fh, at, got, &status));
	CHECK(count_of(&status) == N, "read%s moves all items: %d", in->name,
		count_of(&status));
	for (int i = 1; i < N; i++)
		CHECK(got[i] == got[0], "write%s, read%s: a record is whole",
			out->name, in->name);
	if (!out->in_any_order && !in->in_any_order)
		CHECK(got[0] == mtest.rank,
			"write%s, read%s: the record is this process's: %d",
			out->name, in->name, got[0]);
	MPI_Allreduce(got, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(sum == wanted, "write%s, read%s: each record is read once",
		out->name, in->name);
	OK(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
	const int n = (int)(sizeof(forms) / sizeof(forms[0]));

	mtest_init(&argc, &argv);
	for (int i = 0; i < n; i++)
		there_and_back(&forms[i], &forms[(i * 5 + 3) % n]);
	return mtest_finish();
}
