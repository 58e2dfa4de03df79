/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p_types: every predefined C type can be sent and has the size of its C type
 */
#include "mtest.h"
#include <complex.h>
#include <stddef.h>
#include <wchar.h>

struct float_int {
	float a;
	int b;
};
struct double_int {
	double a;
	int b;
};
struct long_int {
	long a;
	int b;
};
struct two_int {
	int a;
	int b;
};
struct short_int {
	short a;
	int b;
};
struct long_double_int {
	long double a;
	int b;
};

struct kind {
	const char *name;
	MPI_Datatype type;
	size_t size;   /* bytes of data */
	size_t extent; /* bytes from one item to the next */
	size_t first;  /* bytes of the first member */
	size_t second; /* offset of the int of a pair; 0: no pair */
};

#define PLAIN(type_name, c)                                               \
	{                                                                 \
#type_name, type_name, sizeof(c), sizeof(c), sizeof(c), 0 \
	}
#define PAIR(type_name, a, s)                                              \
	{                                                                  \
#type_name, type_name, sizeof(a) + sizeof(int),            \
			sizeof(struct s), sizeof(a), offsetof(struct s, b) \
	}

static int count_kinds(struct kind *out)
{
	const struct kind kinds[] = { PLAIN(MPI_CHAR, char),
		PLAIN(MPI_SHORT, short), PLAIN(MPI_INT, int),
		PLAIN(MPI_LONG, long), PLAIN(MPI_LONG_LONG_INT, long long),
		PLAIN(MPI_LONG_LONG, long long),
		PLAIN(MPI_SIGNED_CHAR, signed char),
		PLAIN(MPI_UNSIGNED_CHAR, unsigned char),
		PLAIN(MPI_UNSIGNED_SHORT, unsigned short),
		PLAIN(MPI_UNSIGNED, unsigned),
		PLAIN(MPI_UNSIGNED_LONG, unsigned long),
		PLAIN(MPI_UNSIGNED_LONG_LONG, unsigned long long),
		PLAIN(MPI_FLOAT, float), PLAIN(MPI_DOUBLE, double),
		PLAIN(MPI_LONG_DOUBLE, long double), PLAIN(MPI_WCHAR, wchar_t),
		PLAIN(MPI_C_BOOL, _Bool), PLAIN(MPI_INT8_T, int8_t),
		PLAIN(MPI_INT16_T, int16_t), PLAIN(MPI_INT32_T, int32_t),
		PLAIN(MPI_INT64_T, int64_t), PLAIN(MPI_UINT8_T, uint8_t),
		PLAIN(MPI_UINT16_T, uint16_t), PLAIN(MPI_UINT32_T, uint32_t),
		PLAIN(MPI_UINT64_T, uint64_t), PLAIN(MPI_AINT, MPI_Aint),
		PLAIN(MPI_COUNT, MPI_Count), PLAIN(MPI_OFFSET, MPI_Offset),
		PLAIN(MPI_C_COMPLEX, float _Complex),
		PLAIN(MPI_C_FLOAT_COMPLEX, float _Complex),
		PLAIN(MPI_C_DOUBLE_COMPLEX, double _Complex),
		PLAIN(MPI_C_LONG_DOUBLE_COMPLEX, long double _Complex),
		PLAIN(MPI_BYTE, char), PLAIN(MPI_PACKED, char),
		PAIR(MPI_FLOAT_INT, float, float_int),
		PAIR(MPI_DOUBLE_INT, double, double_int),
		PAIR(MPI_LONG_INT, long, long_int),
		PAIR(MPI_2INT, int, two_int),
		PAIR(MPI_SHORT_INT, short, short_int),
		PAIR(MPI_LONG_DOUBLE_INT, long double, long_double_int) };

	if (out)
		memcpy(out, kinds, sizeof(kinds));
	return sizeof(kinds) / sizeof(kinds[0]);
}

/* True if the items are equal in every byte of data. The padding of a pair is
 * undefined. */
static bool same_data(
	const struct kind *kind, const char *a, const char *b, int n)
{
	for (int i = 0; i < n; i++, a += kind->extent, b += kind->extent) {
		if (memcmp(a, b, kind->first) != 0)
			return false;
		if (kind->second &&
			memcmp(a + kind->second, b + kind->second, sizeof(int)))
			return false;
	}
	return true;
}

static void check_shape(const struct kind *kind)
{
	char name[MPI_MAX_OBJECT_NAME];
	MPI_Aint lb = -1, extent = -1;
	int size = -1, len = 0;

	OK(MPI_Type_size(kind->type, &size));
	CHECK((size_t)size == kind->size, "%s has size %zu, got %d", kind->name,
		kind->size, size);
	OK(MPI_Type_get_extent(kind->type, &lb, &extent));
	CHECK(lb == 0 && (size_t)extent == kind->extent,
		"%s has extent %zu, got %ld", kind->name, kind->extent,
		(long)extent);
	OK(MPI_Type_get_name(kind->type, name, &len));
	CHECK(strncmp(name, "MPI_", 4) == 0 && len == (int)strlen(name),
		"%s has a name, got '%s'", kind->name, name);
}

static void travel(const struct kind *kind, int n)
{
	int right = (mtest.rank + 1) % mtest.size, got = -1;
	int left = (mtest.rank + mtest.size - 1) % mtest.size;
	size_t len = kind->extent * n;
	char *out = mtest_alloc(len), *in = mtest_alloc(len);
	MPI_Status st;

	mtest_fill(out, len, right * 3 + n);
	memset(in, 0, len);
	OK(MPI_Sendrecv(out, n, kind->type, right, n, in, n, kind->type, left,
		n, MPI_COMM_WORLD, &st));
	OK(MPI_Get_count(&st, kind->type, &got));
	CHECK(got == n, "%s: the status counts %d elements, got %d", kind->name,
		n, got);
	mtest_fill(out, len, mtest.rank * 3 + n);
	CHECK(same_data(kind, in, out, n), "%s: %d elements arrive unchanged",
		kind->name, n);
	free(out);
	free(in);
}

int main(int argc, char **argv)
{
	struct kind *kinds;
	int n;

	mtest_init(&argc, &argv);
	n = count_kinds(NULL);
	kinds = mtest_alloc(n * sizeof(*kinds));
	count_kinds(kinds);
	for (int i = 0; i < n; i++) {
		check_shape(&kinds[i]);
		travel(&kinds[i], 1);
		travel(&kinds[i], 100);
		travel(&kinds[i], 20000);
	}
	free(kinds);
	return mtest_finish();
}
