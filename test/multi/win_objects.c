/* SPDX-License-Identifier: BSD-3-Clause */
/* win_objects: windows as objects: flavors, attributes, hints, names, error
 * handlers, shared queries, attached memory, many windows
 *
 * Cases that need shared memory use windows of the processes of a node.
 * Arguments: n=N, the number of windows in a series. */
#include "mtest.h"

static MPI_Comm node; /* the processes that share memory with this one */
static int node_rank, node_size;

/* ---- predefined attributes ---- */

static void check_predefined(
	MPI_Win win, const void *base, MPI_Aint size, int unit, int flavor)
{
	void *value;
	int flag = 0;

	OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &flag));
	CHECK(flag && value == base, "the base is %p, got %p", base, value);
	OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &value, &flag));
	CHECK(flag && *(MPI_Aint *)value == size, "the size is %ld, got %ld",
		(long)size, (long)*(MPI_Aint *)value);
	OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &value, &flag));
	CHECK(flag && *(int *)value == unit, "the unit is %d, got %d", unit,
		*(int *)value);
	OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &value, &flag));
	CHECK(flag && *(int *)value == flavor, "the flavor is %d, got %d",
		flavor, *(int *)value);
	OK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &value, &flag));
	CHECK(flag && (*(int *)value == MPI_WIN_UNIFIED ||
			      *(int *)value == MPI_WIN_SEPARATE),
		"the memory model is unified or separate");
	OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
	FAILS(MPI_Win_set_attr(win, MPI_WIN_SIZE, &flag), MPI_ERR_KEYVAL);
	FAILS(MPI_Win_delete_attr(win, MPI_WIN_BASE), MPI_ERR_KEYVAL);
}

static void check_group(MPI_Win win, MPI_Comm comm)
{
	MPI_Group mine, theirs;
	int result;

	OK(MPI_Win_get_group(win, &mine));
	OK(MPI_Comm_group(comm, &theirs));
	OK(MPI_Group_compare(mine, theirs, &result));
	CHECK(result == MPI_IDENT,
		"the window and its communicator have the same group");
	OK(MPI_Group_free(&mine));
	OK(MPI_Group_free(&theirs));
}

static void check_converts(MPI_Win win)
{
	CHECK(MPI_Win_f2c(MPI_Win_c2f(win)) == win,
		"conversion of a window to Fortran and back");
	CHECK(MPI_Win_fromint(MPI_Win_toint(win)) == win,
		"conversion of a window to an integer and back");
	CHECK(MPI_Win_f2c(MPI_Win_c2f(MPI_WIN_NULL)) == MPI_WIN_NULL,
		"conversion of the null window and back");
}

static void end(MPI_Win *win)
{
	MPI_Win was = *win;
	int n;

	OK(MPI_Win_set_errhandler(*win, MPI_ERRORS_RETURN));
	OK(MPI_Win_free(win));
	CHECK(*win == MPI_WIN_NULL, "the handle of a freed window is null");
	FAILS(MPI_Win_fence(0, was), MPI_ERR_WIN);
	FAILS(MPI_Win_get_name(was, (char[MPI_MAX_OBJECT_NAME]){ 0 }, &n),
		MPI_ERR_WIN);
}

static void flavors(void)
{
	int unit = mtest.rank + 1;
	char memory[64];
	MPI_Win win;
	void *base;

	OK(MPI_Win_create(memory, sizeof(memory), unit, MPI_INFO_NULL,
		MPI_COMM_WORLD, &win));
	check_predefined(
		win, memory, sizeof(memory), unit, MPI_WIN_FLAVOR_CREATE);
	check_group(win, MPI_COMM_WORLD);
	check_converts(win);
	end(&win);
	OK(MPI_Win_create_c(
		NULL, 0, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
	check_predefined(win, NULL, 0, unit, MPI_WIN_FLAVOR_CREATE);
	end(&win);
	OK(MPI_Win_allocate(1000 * mtest.rank, unit, MPI_INFO_NULL,
		MPI_COMM_WORLD, &base, &win));
	check_predefined(
		win, base, 1000 * mtest.rank, unit, MPI_WIN_FLAVOR_ALLOCATE);
	if (mtest.rank)
		memset(base, 1, 1000 * (size_t)mtest.rank);
	end(&win);
	OK(MPI_Win_allocate_c(
		8, unit, MPI_INFO_NULL, MPI_COMM_SELF, &base, &win));
	check_predefined(win, base, 8, unit, MPI_WIN_FLAVOR_ALLOCATE);
	check_group(win, MPI_COMM_SELF);
	end(&win);
	OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
	check_predefined(win, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
	end(&win);
}

/* ---- attributes that the program sets ---- */

static int n_deleted, order[2];

static int on_delete(MPI_Win win, int keyval, void *value, void *extra)
{
	(void)win;
	(void)keyval;
	CHECK(extra == &n_deleted, "the callback gets the extra state");
	if (n_deleted < 2)
		order[n_deleted] = *(int *)value;
	n_deleted++;
	return MPI_SUCCESS;
}

static void attributes(void)
{
	int one = 1, two = 2, keys[2], flag, *value;
	MPI_Win win;

	for (int i = 0; i < 2; i++)
		OK(MPI_Win_create_keyval(
			MPI_WIN_NULL_COPY_FN, on_delete, &keys[i], &n_deleted));
	OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
	OK(MPI_Win_get_attr(win, keys[0], &value, &flag));
	CHECK(!flag, "a new window has no attribute of the program");
	OK(MPI_Win_set_attr(win, keys[0], &one));
	OK(MPI_Win_set_attr(win, keys[1], &one));
	OK(MPI_Win_set_attr(win, keys[1], &two));
	CHECK(n_deleted == 1, "a second set deletes the former value");
	OK(MPI_Win_get_attr(win, keys[1], &value, &flag));
	CHECK(flag && value == &two, "the value is the one that was set");
	OK(MPI_Win_delete_attr(win, keys[1]));
	OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
	FAILS(MPI_Win_delete_attr(win, keys[1]), MPI_ERR_KEYVAL);
	OK(MPI_Win_set_attr(win, keys[1], &two));
	n_deleted = 0;
	OK(MPI_Win_free(&win));
	CHECK(n_deleted == 2 && order[0] == 2 && order[1] == 1,
		"the newest attribute is deleted first: %d, %d", order[0],
		order[1]);
	for (int i = 0; i < 2; i++)
		OK(MPI_Win_free_keyval(&keys[i]));
}

/* ---- hints ---- */

static void hint_is(MPI_Win win, const char *key, const char *wanted)
{
	char value[MPI_MAX_INFO_VAL] = "";
	int flag = 0, len = sizeof(value);
	MPI_Info used;

	OK(MPI_Win_get_info(win, &used));
	OK(MPI_Info_get_string(used, key, &len, value, &flag));
	CHECK(wanted ? flag && strcmp(value, wanted) == 0 : !flag,
		"hint %s is %s, got %s", key, wanted ? wanted : "absent",
		flag ? value : "no value");
	OK(MPI_Info_free(&used));
}

static void hints(void)
{
	MPI_Info info;
	MPI_Win win;
	void *base;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "no_locks", "true"));
	OK(MPI_Info_set(info, "accumulate_ordering", "rar,waw"));
	OK(MPI_Info_set(info, "accumulate_ops", "any"));
	OK(MPI_Info_set(info, "same_size", "true"));
	OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", "8192"));
	OK(MPI_Info_set(info, "nobody_knows", "this"));
	OK(MPI_Win_allocate(100, 1, info, MPI_COMM_WORLD, &base, &win));
	CHECK((uintptr_t)base % 8192 == 0, "memory is aligned: %p", base);
	hint_is(win, "no_locks", "true");
	hint_is(win, "accumulate_ordering", "rar,waw");
	hint_is(win, "accumulate_ops", "same_op_no_op");
	hint_is(win, "same_size", "true");
	hint_is(win, "same_disp_unit", "false");
	hint_is(win, "mpi_accumulate_granularity", "0");
	hint_is(win, "mpi_minimum_memory_alignment", "8192");
	hint_is(win, "nobody_knows", NULL);
	/* causes a warning, because of no_locks */
	OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
	OK(MPI_Win_unlock(0, win));
	OK(MPI_Info_set(info, "accumulate_ordering", "none"));
	OK(MPI_Info_set(info, "no_locks", "false"));
	OK(MPI_Win_set_info(win, info));
	hint_is(win, "accumulate_ordering", "none");
	hint_is(win, "no_locks", "true");
	OK(MPI_Win_free(&win));
	OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
	hint_is(win, "no_locks", "false");
	hint_is(win, "accumulate_ordering", "rar,raw,war,waw");
	OK(MPI_Win_free(&win));
	/* more than the default alignment of this length */
	OK(MPI_Info_set(info, "mpi_minimum_memory_alignment", "8388608"));
	OK(MPI_Win_allocate(20000, 1, info, MPI_COMM_WORLD, &base, &win));
	CHECK((uintptr_t)base % 8388608 == 0, "memory is aligned: %p", base);
	OK(MPI_Win_free(&win));
	OK(MPI_Info_free(&info));
}

/* ---- names and error handlers ---- */

static void names(void)
{
	char name[MPI_MAX_OBJECT_NAME] = "?";
	MPI_Win win;
	int len;

	OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
	OK(MPI_Win_get_name(win, name, &len));
	CHECK(len == 0 && !name[0], "a new window has no name, got \"%s\"",
		name);
	OK(MPI_Win_set_name(win, "halo"));
	OK(MPI_Win_get_name(win, name, &len));
	CHECK(len == 4 && !strcmp(name, "halo"),
		"the name is \"halo\", got \"%s\"", name);
	OK(MPI_Win_free(&win));
	OK(MPI_Win_get_name(MPI_WIN_NULL, name, &len));
	CHECK(!strcmp(name, "MPI_WIN_NULL"),
		"the name of the null window is \"MPI_WIN_NULL\", got \"%s\"",
		name);
}

static struct {
	int n, code;
	void *object;
} handled; /* calls of the error handlers */

static void on_win(MPI_Win *win, int *code, ...)
{
	handled.n++;
	handled.code = *code;
	handled.object = *win;
}

static void on_comm(MPI_Comm *comm, int *code, ...)
{
	handled.n++;
	handled.code = *code;
	handled.object = *comm;
}

static void handlers(void)
{
	MPI_Errhandler mine, comms, got;
	MPI_Comm comm;
	char memory[8];
	MPI_Win win;

	OK(MPI_Win_create_errhandler(on_win, &mine));
	OK(MPI_Comm_create_errhandler(on_comm, &comms));
	OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
	OK(MPI_Comm_set_errhandler(comm, comms));
	FAILS(MPI_Win_create(memory, 8, 0, MPI_INFO_NULL, comm, &win),
		MPI_ERR_DISP);
	CHECK(handled.n == 1 && handled.object == comm && win == MPI_WIN_NULL,
		"an error in creation calls the communicator's handler");
	FAILS(MPI_Win_create(memory, -1, 1, MPI_INFO_NULL, comm, &win),
		MPI_ERR_SIZE);
	FAILS(MPI_Win_allocate(8, -4, MPI_INFO_NULL, comm, memory, &win),
		MPI_ERR_DISP);
	OK(MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, comm, &win));
	OK(MPI_Win_get_errhandler(win, &got));
	CHECK(got == MPI_ERRORS_ARE_FATAL,
		"a new window has the handler MPI_ERRORS_ARE_FATAL");
	OK(MPI_Win_set_errhandler(win, mine));
	OK(MPI_Win_get_errhandler(win, &got));
	CHECK(got == mine, "the window has the handler that was set");
	OK(MPI_Errhandler_free(&got));
	handled.n = 0;
	FAILS(MPI_Win_flush(0, win), MPI_ERR_RMA_SYNC);
	CHECK(handled.n == 1 && handled.object == win,
		"the window's handler is called");
	OK(MPI_Win_call_errhandler(win, MPI_ERR_RMA_RANGE));
	CHECK(handled.n == 2 && handled.code == MPI_ERR_RMA_RANGE,
		"MPI_Win_call_errhandler calls the handler");
	OK(MPI_Comm_free(&comm)); /* the window stays valid */
	OK(MPI_Win_fence(0, win));
	OK(MPI_Win_free(&win));
	OK(MPI_Errhandler_free(&mine));
	OK(MPI_Errhandler_free(&comms));
}

/* ---- shared memory ---- */

/* Allocates a shared window. False if WEFT_SHM forbids shared memory. */
static bool share(MPI_Aint size, MPI_Info info, int **base, MPI_Win *win)
{
	const char *shm = getenv("WEFT_SHM");
	int rc = MPI_Win_allocate_shared(
		size, sizeof(int), info, node, base, win);

	if (shm && strcmp(shm, "off") == 0 && node_size > 1 &&
		mtest_class(rc) == MPI_ERR_RMA_SHARED)
		return false;
	return OK(rc);
}

/* Each process stores into its own element at every process. */
static void store_and_load(MPI_Win win)
{
	MPI_Aint size;
	int unit, *at;

	OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
	for (int i = 0; i < node_size; i++) {
		OK(MPI_Win_shared_query(win, i, &size, &unit, &at));
		if (size)
			at[node_rank] = 100 * i + node_rank;
	}
	OK(MPI_Win_sync(win));
	OK(MPI_Barrier(node));
	OK(MPI_Win_sync(win));
	OK(MPI_Win_shared_query(win, node_rank, &size, &unit, &at));
	for (int i = 0; size && i < node_size; i++)
		CHECK(at[i] == 100 * node_rank + i,
			"the store of rank %d is visible: %d", i, at[i]);
	OK(MPI_Win_unlock_all(win));
}

static void shared(void)
{
	MPI_Aint mine = (node_rank + 1) * 64 * (MPI_Aint)sizeof(int), size;
	char *at, *expected = NULL;
	int unit, *base;
	MPI_Win win;

	if (!share(mine, MPI_INFO_NULL, &base, &win))
		return;
	check_predefined(win, base, mine, sizeof(int), MPI_WIN_FLAVOR_SHARED);
	for (int i = 0; i < node_size; i++) {
		OK(MPI_Win_shared_query(win, i, &size, &unit, &at));
		CHECK(size == (i + 1) * 64 * (MPI_Aint)sizeof(int) &&
				unit == sizeof(int),
			"the part of rank %d has %ld bytes", i, (long)size);
		CHECK(!expected || at == expected,
			"the parts follow each other without a gap");
		expected = at + size;
		CHECK(i != node_rank || (void *)at == base,
			"the query of the own rank returns the own address");
	}
	OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &at));
	CHECK(size == 64 * (MPI_Aint)sizeof(int),
		"MPI_PROC_NULL returns the first part that is not empty");
	store_and_load(win);
	end(&win);
}

/* A window whose memory is all at the last process, and one whose parts are not
 * contiguous. */
static void shared_more(void)
{
	bool is_last = node_rank == node_size - 1;
	MPI_Aint size;
	MPI_Info info;
	MPI_Win win;
	int unit, *base, *at;

	if (!share(is_last ? 4096 : 0, MPI_INFO_NULL, &base, &win))
		return;
	OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &size, &unit, &at));
	CHECK(size == 4096 && at,
		"MPI_PROC_NULL returns the part of the last rank, %ld",
		(long)size);
	CHECK(!is_last || at == base,
		"the part of the last rank has its own address");
	store_and_load(win);
	end(&win);
	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
	share(4 * (MPI_Aint)sizeof(int) * node_size, info, &base, &win);
	CHECK((uintptr_t)base % 64 == 0, "each part is aligned to 64 bytes: %p",
		(void *)base);
	hint_is(win, "alloc_shared_noncontig", "true");
	store_and_load(win);
	end(&win);
	OK(MPI_Info_free(&info));
}

/* Windows over a part of memory of MPI_Alloc_mem, short and long. A query may
 * return its address in this process, too. */
static void query_alloc_mem(void)
{
	for (MPI_Aint len = 1000; len < 4 << 20; len *= 2000) {
		int unit, *memory, *at;
		MPI_Aint size;
		MPI_Win win;

		OK(MPI_Alloc_mem(len, MPI_INFO_NULL, &memory));
		memory[5] = 2000 + mtest.rank;
		OK(MPI_Win_create(memory + 5, len - 20, 4, MPI_INFO_NULL,
			MPI_COMM_WORLD, &win));
		OK(MPI_Win_fence(0, win));
		for (int i = 0; i < mtest.size; i++) {
			OK(MPI_Win_shared_query(win, i, &size, &unit, &at));
			CHECK(at ? size == len - 20 && *at == 2000 + i : !size,
				"the query returns memory of rank %d, or none",
				i);
			if (i == mtest.rank)
				CHECK(at == memory + 5,
					"the query of the own rank returns the "
					"own address");
		}
		OK(MPI_Win_fence(0, win));
		end(&win);
		OK(MPI_Free_mem(memory));
	}
}

/* Windows of other flavors return the address of memory, if possible. */
static void query_others(void)
{
	MPI_Aint size;
	int unit, *base, *at, memory[4] = { 7 };
	MPI_Win win;

	OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL,
		MPI_COMM_WORLD, &base, &win));
	*base = 1000 + mtest.rank;
	OK(MPI_Win_fence(0, win));
	for (int i = 0; i < mtest.size; i++) {
		OK(MPI_Win_shared_query(win, i, &size, &unit, &at));
		CHECK(size ? at && *at == 1000 + i : !at,
			"the query returns memory of rank %d, or none", i);
	}
	OK(MPI_Win_shared_query(win, mtest.rank, &size, &unit, &at));
	CHECK(size == sizeof(int) && at == base,
		"the query of the own rank always returns memory");
	OK(MPI_Win_fence(0, win));
	end(&win);
	OK(MPI_Win_create(memory, sizeof(memory), 4, MPI_INFO_NULL,
		MPI_COMM_WORLD, &win));
	OK(MPI_Win_shared_query(win, mtest.rank, &size, &unit, &at));
	CHECK(size == sizeof(memory) && at == memory && unit == 4,
		"the query of the own rank returns the own address");
	OK(MPI_Win_shared_query(
		win, (mtest.rank + 1) % mtest.size, &size, &unit, &at));
	CHECK(mtest.size == 1 || at != memory,
		"the part of another process has another address");
	end(&win);
	query_alloc_mem();
	OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
	OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
	FAILS(MPI_Win_shared_query(win, 0, &size, &unit, &at),
		MPI_ERR_RMA_FLAVOR);
	end(&win);
}

/* ---- attached memory ---- */

static void dynamic(void)
{
	int here[8] = { 0 }, next = (mtest.rank + 1) % mtest.size, one = 1;
	MPI_Aint mine, there;
	MPI_Win win;

	OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
	OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
	OK(MPI_Win_attach(win, here, sizeof(here)));
	FAILS(MPI_Win_attach(win, here + 2, 4), MPI_ERR_RMA_ATTACH);
	FAILS(MPI_Win_detach(win, here + 2), MPI_ERR_RMA_ATTACH);
	OK(MPI_Get_address(&here[3], &mine));
	OK(MPI_Sendrecv(&mine, 1, MPI_AINT,
		(mtest.rank + mtest.size - 1) % mtest.size, 0, &there, 1,
		MPI_AINT, next, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	OK(MPI_Win_fence(0, win));
	OK(MPI_Put(&mtest.rank, 1, MPI_INT, next, there, 1, MPI_INT, win));
	OK(MPI_Accumulate(&one, 1, MPI_INT, next,
		MPI_Aint_add(there, sizeof(int)), 1, MPI_INT, MPI_SUM, win));
	OK(MPI_Win_fence(0, win));
	CHECK(here[3] == (mtest.rank + mtest.size - 1) % mtest.size &&
			here[4] == 1,
		"a put and an update of attached memory arrive: %d, %d",
		here[3], here[4]);
	OK(MPI_Win_detach(win, here));
	FAILS(MPI_Win_detach(win, here), MPI_ERR_RMA_ATTACH);
	OK(MPI_Win_attach(win, here, sizeof(here)));
	end(&win); /* the memory is still attached */
	OK(MPI_Win_create(here, 4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
	OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
	FAILS(MPI_Win_attach(win, here, 4), MPI_ERR_RMA_FLAVOR);
	end(&win);
}

/* ---- many windows ---- */

static void many(int n)
{
	enum { AT_ONCE = 40 };
	MPI_Win wins[AT_ONCE];
	char memory[8];
	void *base;

	for (int i = 0; i < n; i++) {
		OK(MPI_Win_create(
			memory, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &wins[0]));
		OK(MPI_Win_free(&wins[0]));
		OK(MPI_Win_allocate(
			8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &wins[0]));
		OK(MPI_Win_free(&wins[0]));
	}
	for (int i = 0; i < AT_ONCE; i++)
		OK(MPI_Win_allocate(
			8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &wins[i]));
	for (int i = 0; i < AT_ONCE; i++)
		OK(MPI_Win_free(&wins[i]));
}

/* ---- a window of a session ---- */

static void of_session(void)
{
	int here = -1, next = (mtest.rank + 1) % mtest.size;
	MPI_Session session;
	MPI_Group group;
	MPI_Comm comm;
	MPI_Win win;

	OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
	OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
	OK(MPI_Comm_create_from_group(
		group, "win", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
	OK(MPI_Win_create(&here, sizeof(here), 1, MPI_INFO_NULL, comm, &win));
	OK(MPI_Comm_free(&comm));
	OK(MPI_Win_fence(0, win));
	OK(MPI_Put(&mtest.rank, 1, MPI_INT, next, 0, 1, MPI_INT, win));
	OK(MPI_Win_fence(0, win));
	CHECK(here == (mtest.rank + mtest.size - 1) % mtest.size,
		"the put of the left neighbour arrives: %d", here);
	OK(MPI_Win_free(&win));
	OK(MPI_Group_free(&group));
	OK(MPI_Session_finalize(&session));
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	OK(MPI_Comm_split_type(
		MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
	OK(MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN));
	OK(MPI_Comm_rank(node, &node_rank));
	OK(MPI_Comm_size(node, &node_size));
	flavors();
	attributes();
	hints();
	names();
	handlers();
	shared();
	shared_more();
	query_others();
	dynamic();
	of_session();
	many((int)mtest_arg(argc, argv, "n", 500));
	OK(MPI_Comm_free(&node));
	return mtest_finish();
}
