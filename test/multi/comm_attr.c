/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_attr: attributes, their callbacks, order and failure */
#include "mtest.h"

static int copies, deletes, last_deleted[32];
static int extra = 5, refuse;

static int copy_fn(
	MPI_Comm comm, int key, void *state, void *in, void *out, int *flag)
{
	(void)comm;
	(void)key;
	CHECK(state == &extra, "the copy callback receives the extra state");
	copies++;
	*(void **)out = (char *)in + 1;
	*flag = 1;
	return refuse ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int skip_fn(
	MPI_Comm comm, int key, void *state, void *in, void *out, int *flag)
{
	(void)comm;
	(void)key;
	(void)state;
	(void)in;
	(void)out;
	copies++;
	*flag = 0;
	return MPI_SUCCESS;
}

static int delete_fn(MPI_Comm comm, int key, void *value, void *state)
{
	int flag = 0;
	void *there;

	CHECK(state == &extra, "the delete callback receives the extra state");
	if (deletes < 32)
		last_deleted[deletes] = (int)(intptr_t)value;
	deletes++;
	/* the communicator can still be used inside the callback */
	OK(MPI_Comm_get_attr(comm, MPI_TAG_UB, &there, &flag));
	(void)key;
	return refuse ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int get(MPI_Comm comm, int key)
{
	void *value = NULL;
	int flag = 0;

	OK(MPI_Comm_get_attr(comm, key, &value, &flag));
	return flag ? (int)(intptr_t)value : -1;
}

static void set(MPI_Comm comm, int key, int value)
{
	OK(MPI_Comm_set_attr(comm, key, (void *)(intptr_t)value));
}

static void copied_and_deleted(void)
{
	int copy, skip, plain, null_copy;
	MPI_Comm a, b;

	OK(MPI_Comm_create_keyval(copy_fn, delete_fn, &copy, &extra));
	OK(MPI_Comm_create_keyval(skip_fn, delete_fn, &skip, &extra));
	OK(MPI_Comm_create_keyval(
		MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &plain, NULL));
	OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN,
		MPI_COMM_NULL_DELETE_FN, &null_copy, NULL));
	OK(MPI_Comm_dup(MPI_COMM_WORLD, &a));
	CHECK(get(a, copy) == -1, "an attribute that was not set is not found");
	set(a, copy, 100);
	set(a, skip, 200);
	set(a, plain, 300);
	set(a, null_copy, 400);
	copies = deletes = 0;
	OK(MPI_Comm_dup(a, &b));
	CHECK(copies == 2, "both copy callbacks ran, %d", copies);
	CHECK(get(b, copy) == 101,
		"the attribute is copied if the callback sets the flag");
	CHECK(get(b, skip) == -1,
		"the attribute is not copied if the callback clears the flag");
	CHECK(get(b, plain) == 300, "MPI_COMM_DUP_FN copies the attribute");
	CHECK(get(b, null_copy) == -1,
		"MPI_COMM_NULL_COPY_FN does not copy the attribute");
	CHECK(get(a, copy) == 100, "the original is unchanged");
	set(b, copy, 102);
	CHECK(deletes == 1 && last_deleted[0] == 101,
		"setting again deletes the old value");
	OK(MPI_Comm_delete_attr(b, copy));
	CHECK(deletes == 2 && last_deleted[1] == 102,
		"MPI_Comm_delete_attr calls the delete callback");
	CHECK(get(b, copy) == -1, "a deleted attribute is not found");
	OK(MPI_Comm_free(&b));
	CHECK(deletes == 2,
		"MPI_Comm_free calls no callback for a deleted attribute");
	OK(MPI_Comm_disconnect(&a));
	CHECK(deletes == 4, "S108: disconnect runs the callbacks, %d", deletes);
	OK(MPI_Comm_free_keyval(&copy));
	CHECK(copy == MPI_KEYVAL_INVALID,
		"a freed keyval is MPI_KEYVAL_INVALID");
	OK(MPI_Comm_free_keyval(&skip));
	OK(MPI_Comm_free_keyval(&plain));
	OK(MPI_Comm_free_keyval(&null_copy));
}

/* A keyval that is freed before its attributes remains in use until the last of
 * them is deleted. */
static void freed_key(void)
{
	int key, same;
	MPI_Comm a;

	OK(MPI_Comm_create_keyval(
		MPI_COMM_NULL_COPY_FN, delete_fn, &key, &extra));
	OK(MPI_Comm_dup(MPI_COMM_SELF, &a));
	set(a, key, 7);
	same = key;
	OK(MPI_Comm_free_keyval(&key));
	CHECK(get(a, same) == 7,
		"the attribute remains after its keyval is freed");
	deletes = 0;
	OK(MPI_Comm_free(&a));
	CHECK(deletes == 1 && last_deleted[0] == 7,
		"the attribute is deleted with the communicator");
}

/* If a communicator has several attributes, each is deleted exactly once. */
static void many(void)
{
	int key[8], seen = 0;
	MPI_Comm a;

	OK(MPI_Comm_dup(MPI_COMM_SELF, &a));
	for (int i = 0; i < 8; i++) {
		OK(MPI_Comm_create_keyval(
			MPI_COMM_NULL_COPY_FN, delete_fn, &key[i], &extra));
		set(a, key[i], 1 << i);
	}
	deletes = 0;
	OK(MPI_Comm_free(&a));
	CHECK(deletes == 8, "eight attributes are deleted: %d", deletes);
	for (int i = 0; i < 8; i++) {
		seen |= last_deleted[i];
		OK(MPI_Comm_free_keyval(&key[i]));
	}
	CHECK(seen == 255, "each attribute is deleted once");
}

/* If a callback fails, the call fails. */
static void failing(void)
{
	MPI_Comm a, b = MPI_COMM_NULL;
	int key;

	OK(MPI_Comm_create_keyval(copy_fn, delete_fn, &key, &extra));
	OK(MPI_Comm_dup(MPI_COMM_SELF, &a));
	OK(MPI_Comm_set_errhandler(a, MPI_ERRORS_RETURN));
	set(a, key, 9);
	refuse = 1;
	CHECK(MPI_Comm_dup(a, &b) != MPI_SUCCESS,
		"MPI_Comm_dup fails if a copy callback fails");
	CHECK(MPI_Comm_delete_attr(a, key) != MPI_SUCCESS,
		"MPI_Comm_delete_attr fails if the delete callback fails");
	refuse = 0;
	OK(MPI_Comm_free(&a));
	OK(MPI_Comm_free_keyval(&key));
}

static void predefined(void)
{
	int flag = 0, *value = NULL, key = MPI_KEYVAL_INVALID;

	OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
	CHECK(flag && *value >= 32767, "MPI_TAG_UB is at least 32767");
	OK(MPI_Comm_get_attr(
		MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag));
	CHECK(!flag || *value == 0 || *value == 1,
		"MPI_WTIME_IS_GLOBAL is 0 or 1");
	OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag));
	CHECK(!flag || *value >= 1, "MPI_UNIVERSE_SIZE is at least 1");
	FAILS(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL);
	FAILS(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, NULL),
		MPI_ERR_KEYVAL);
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	predefined();
	copied_and_deleted();
	freed_key();
	many();
	failing();
	return mtest_finish();
}
