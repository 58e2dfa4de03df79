/* SPDX-License-Identifier: BSD-3-Clause */
/* abi_test: the layout and the numbers that the standard ABI fixes
 *
 * The compiler checks integers and layouts. Handles and addresses are no
 * integer constants; the test checks them by tables. Written from the
 * standard's tables, not from mpi.h; the test also compiles against another
 * project's header for the same ABI. */
#include <mpi.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#define SAME(what, value) _Static_assert((what) == (value), #what)

SAME(MPI_VERSION, 5);
SAME(MPI_SUBVERSION, 0);
SAME(MPI_ABI_VERSION, 1);
SAME(MPI_ABI_SUBVERSION, 0);

SAME(sizeof(MPI_Status), 32);
SAME(offsetof(MPI_Status, MPI_SOURCE), 0);
SAME(offsetof(MPI_Status, MPI_TAG), 4);
SAME(offsetof(MPI_Status, MPI_ERROR), 8);
SAME(offsetof(MPI_Status, MPI_internal), 12);
SAME(sizeof(((MPI_Status *)0)->MPI_internal), 20);
SAME(sizeof(MPI_Comm), sizeof(void *));
SAME(sizeof(MPI_Datatype), sizeof(void *));
SAME(sizeof(MPI_T_enum), sizeof(void *));
SAME(sizeof(MPI_Aint), sizeof(void *));
SAME(sizeof(MPI_Offset), 8);
SAME(sizeof(MPI_Count), 8);
SAME((MPI_Aint)-1 < 0, 1);
SAME((MPI_Count)-1 < 0, 1);
SAME(sizeof(MPI_T_cb_safety), sizeof(int));

/* wildcards and sentinels */
SAME(MPI_ANY_SOURCE, -1);
SAME(MPI_ANY_TAG, -2);
SAME(MPI_PROC_NULL, -3);
SAME(MPI_ROOT, -4);
SAME(MPI_UNDEFINED, -32766);
SAME(MPI_KEYVAL_INVALID, 0);
SAME(MPI_BSEND_OVERHEAD, 512);
SAME(MPI_DISPLACEMENT_CURRENT, -1);

/* lengths of strings, the final zero included */
SAME(MPI_MAX_DATAREP_STRING, 128);
SAME(MPI_MAX_ERROR_STRING, 512);
SAME(MPI_MAX_INFO_KEY, 256);
SAME(MPI_MAX_INFO_VAL, 1024);
SAME(MPI_MAX_LIBRARY_VERSION_STRING, 8192);
SAME(MPI_MAX_OBJECT_NAME, 128);
SAME(MPI_MAX_PORT_NAME, 1024);
SAME(MPI_MAX_PROCESSOR_NAME, 256);
SAME(MPI_MAX_PSET_NAME_LEN, 1024);
SAME(MPI_MAX_STRINGTAG_LEN, 1024);

/* error classes: the first, the last and some others */
SAME(MPI_SUCCESS, 0);
SAME(MPI_ERR_BUFFER, 1);
SAME(MPI_ERR_REQUEST, 7);
SAME(MPI_ERR_TRUNCATE, 15);
SAME(MPI_ERR_PENDING, 18);
SAME(MPI_ERR_IN_STATUS, 19);
SAME(MPI_ERR_FILE, 30);
SAME(MPI_ERR_INFO, 34);
SAME(MPI_ERR_KEYVAL, 36);
SAME(MPI_ERR_NO_MEM, 39);
SAME(MPI_ERR_RMA_SYNC, 50);
SAME(MPI_ERR_SPAWN, 53);
SAME(MPI_ERR_UNSUPPORTED_OPERATION, 55);
SAME(MPI_ERR_RMA_FLAVOR, 57);
SAME(MPI_ERR_PROC_ABORTED, 58);
SAME(MPI_ERR_VALUE_TOO_LARGE, 59);
SAME(MPI_ERR_SESSION, 60);
SAME(MPI_ERR_ERRHANDLER, 61);
SAME(MPI_ERR_ABI, 62);
SAME(MPI_ERR_LASTCODE, 16383);
SAME(MPI_T_ERR_CANNOT_INIT, 1001);
SAME(MPI_T_ERR_PVAR_NO_ATOMIC, 1018);

/* modes, kinds, keys */
SAME(MPI_THREAD_SINGLE, 0);
SAME(MPI_THREAD_FUNNELED, 1024);
SAME(MPI_THREAD_SERIALIZED, 2048);
SAME(MPI_THREAD_MULTIPLE, 4096);
SAME(MPI_MODE_APPEND, 1);
SAME(MPI_MODE_WRONLY, 256);
SAME(MPI_MODE_NOCHECK, 1024);
SAME(MPI_MODE_NOSUCCEED, 16384);
SAME(MPI_SEEK_CUR, 401);
SAME(MPI_SEEK_SET, 403);
SAME(MPI_ORDER_C, 12);
SAME(MPI_ORDER_FORTRAN, 15);
SAME(MPI_DISTRIBUTE_NONE, 16);
SAME(MPI_DISTRIBUTE_DFLT_DARG, 19);
SAME(MPI_COMBINER_NAMED, 101);
SAME(MPI_COMBINER_VALUE_INDEX, 117);
SAME(MPI_TYPECLASS_INTEGER, 192);
SAME(MPI_TYPECLASS_COMPLEX, 194);
SAME(MPI_IDENT, 201);
SAME(MPI_UNEQUAL, 204);
SAME(MPI_CART, 211);
SAME(MPI_DIST_GRAPH, 213);
SAME(MPI_COMM_TYPE_SHARED, 221);
SAME(MPI_COMM_TYPE_RESOURCE_GUIDED, 224);
SAME(MPI_LOCK_EXCLUSIVE, 301);
SAME(MPI_WIN_FLAVOR_SHARED, 314);
SAME(MPI_WIN_SEPARATE, 322);
SAME(MPI_TAG_UB, 501);
SAME(MPI_UNIVERSE_SIZE, 507);
SAME(MPI_WIN_BASE, 601);
SAME(MPI_WIN_MODEL, 605);
SAME(MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, 63);
SAME(MPI_T_SOURCE_UNORDERED, 2);
SAME(MPI_T_VERBOSITY_MPIDEV_ALL, 36);
SAME(MPI_T_BIND_MPI_SESSION, 12);
SAME(MPI_T_SCOPE_ALL_EQ, 7);
SAME(MPI_T_PVAR_CLASS_GENERIC, 10);
SAME(MPI_F_STATUS_SIZE, 8);
SAME(MPI_F_ERROR, 2);

struct claim {
	const char *name;
	uintptr_t have;
	uintptr_t want;
};

#define CLAIM(what, value)                        \
	{                                         \
#what, (uintptr_t)(what), (value) \
	}

static void check(const struct claim *claims, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (claims[i].have != claims[i].want)
			print_error("%s is %#zx, not %#zx\n", claims[i].name,
				(size_t)claims[i].have, (size_t)claims[i].want);
		assert_true(claims[i].have == claims[i].want);
	}
}

static void handles_have_the_abi_values(void **state)
{
	static const struct claim claims[] = {
		CLAIM(MPI_COMM_NULL, 0x100),
		CLAIM(MPI_COMM_WORLD, 0x101),
		CLAIM(MPI_COMM_SELF, 0x102),
		CLAIM(MPI_GROUP_NULL, 0x108),
		CLAIM(MPI_GROUP_EMPTY, 0x109),
		CLAIM(MPI_WIN_NULL, 0x110),
		CLAIM(MPI_FILE_NULL, 0x118),
		CLAIM(MPI_SESSION_NULL, 0x120),
		CLAIM(MPI_MESSAGE_NULL, 0x128),
		CLAIM(MPI_MESSAGE_NO_PROC, 0x129),
		CLAIM(MPI_INFO_NULL, 0x130),
		CLAIM(MPI_INFO_ENV, 0x131),
		CLAIM(MPI_ERRHANDLER_NULL, 0x140),
		CLAIM(MPI_ERRORS_ARE_FATAL, 0x141),
		CLAIM(MPI_ERRORS_ABORT, 0x142),
		CLAIM(MPI_ERRORS_RETURN, 0x143),
		CLAIM(MPI_REQUEST_NULL, 0x180),
	};

	(void)state;
	check(claims, sizeof(claims) / sizeof(*claims));
}

static void operations_have_the_abi_values(void **state)
{
	static const struct claim claims[] = {
		CLAIM(MPI_OP_NULL, 0x20),
		CLAIM(MPI_SUM, 0x21),
		CLAIM(MPI_MIN, 0x22),
		CLAIM(MPI_MAX, 0x23),
		CLAIM(MPI_PROD, 0x24),
		CLAIM(MPI_BAND, 0x28),
		CLAIM(MPI_BXOR, 0x2a),
		CLAIM(MPI_LAND, 0x30),
		CLAIM(MPI_LXOR, 0x32),
		CLAIM(MPI_MINLOC, 0x38),
		CLAIM(MPI_MAXLOC, 0x39),
		CLAIM(MPI_REPLACE, 0x3c),
		CLAIM(MPI_NO_OP, 0x3d),
	};

	(void)state;
	check(claims, sizeof(claims) / sizeof(*claims));
}

static void datatypes_have_the_abi_values(void **state)
{
	static const struct claim claims[] = {
		CLAIM(MPI_DATATYPE_NULL, 0x200),
		CLAIM(MPI_AINT, 0x201),
		CLAIM(MPI_PACKED, 0x207),
		CLAIM(MPI_SHORT, 0x208),
		CLAIM(MPI_INT, 0x209),
		CLAIM(MPI_LONG_LONG_INT, 0x20b),
		CLAIM(MPI_UNSIGNED_LONG_LONG, 0x20f),
		CLAIM(MPI_FLOAT, 0x210),
		CLAIM(MPI_C_COMPLEX, 0x212),
		CLAIM(MPI_DOUBLE, 0x214),
		CLAIM(MPI_LOGICAL, 0x218),
		CLAIM(MPI_CHARACTER, 0x21e),
		CLAIM(MPI_LONG_DOUBLE, 0x220),
		CLAIM(MPI_CXX_LONG_DOUBLE_COMPLEX, 0x225),
		CLAIM(MPI_FLOAT_INT, 0x228),
		CLAIM(MPI_LONG_DOUBLE_INT, 0x22d),
		CLAIM(MPI_2INTEGER, 0x232),
		CLAIM(MPI_C_BOOL, 0x238),
		CLAIM(MPI_WCHAR, 0x23c),
		CLAIM(MPI_INT8_T, 0x240),
		CLAIM(MPI_CHAR, 0x243),
		CLAIM(MPI_BYTE, 0x247),
		CLAIM(MPI_INT32_T, 0x250),
		CLAIM(MPI_UINT64_T, 0x259),
		CLAIM(MPI_LOGICAL1, 0x2c0),
		CLAIM(MPI_REAL8, 0x2da),
		CLAIM(MPI_COMPLEX32, 0x2eb),
	};

	(void)state;
	check(claims, sizeof(claims) / sizeof(*claims));
}

static void addresses_have_the_abi_values(void **state)
{
	static const struct claim claims[] = {
		CLAIM(MPI_BOTTOM, 0),
		CLAIM(MPI_IN_PLACE, 1),
		CLAIM(MPI_BUFFER_AUTOMATIC, 2),
		CLAIM(MPI_STATUS_IGNORE, 0),
		CLAIM(MPI_STATUSES_IGNORE, 0),
		CLAIM(MPI_ERRCODES_IGNORE, 0),
		CLAIM(MPI_ARGV_NULL, 0),
		CLAIM(MPI_UNWEIGHTED, 10),
		CLAIM(MPI_WEIGHTS_EMPTY, 11),
		CLAIM(MPI_COMM_NULL_COPY_FN, 0),
		CLAIM(MPI_COMM_DUP_FN, 1),
		CLAIM(MPI_WIN_DUP_FN, 1),
		CLAIM(MPI_TYPE_NULL_DELETE_FN, 0),
		CLAIM(MPI_CONVERSION_FN_NULL, 0),
		CLAIM(MPI_T_ENUM_NULL, 0),
		CLAIM(MPI_T_PVAR_ALL_HANDLES, 1),
	};

	(void)state;
	check(claims, sizeof(claims) / sizeof(*claims));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(handles_have_the_abi_values),
		cmocka_unit_test(operations_have_the_abi_values),
		cmocka_unit_test(datatypes_have_the_abi_values),
		cmocka_unit_test(addresses_have_the_abi_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
