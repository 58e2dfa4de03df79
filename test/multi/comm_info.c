/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_info: info objects, hints of communicators, names */
#include "mtest.h"

static void value_is(MPI_Info info, const char *key, const char *want)
{
	char value[64] = "";
	int len = sizeof(value), flag = -1;

	OK(MPI_Info_get_string(info, key, &len, value, &flag));
	if (!want) {
		CHECK(!flag, "key %s has no value", key);
		return;
	}
	CHECK(flag && strcmp(value, want) == 0, "%s is '%s', got '%s'", key,
		want, value);
	CHECK(len == (int)strlen(want) + 1,
		"%s: the length includes the NUL, %d", key, len);
}

static void objects(void)
{
	char key[MPI_MAX_INFO_KEY], tiny[4] = "";
	int n = -1, len = 4, flag = 0;
	MPI_Info info, dup;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_get_nkeys(info, &n));
	CHECK(n == 0, "a new info object is empty");
	OK(MPI_Info_set(info, "one", "1"));
	OK(MPI_Info_set(info, "two", "zwei"));
	OK(MPI_Info_set(info, "two", "deux"));
	OK(MPI_Info_set(info, "One", "other"));
	OK(MPI_Info_get_nkeys(info, &n));
	CHECK(n == 3,
		"a second set replaces the value, and keys are case-sensitive: "
		"%d",
		n);
	value_is(info, "two", "deux");
	value_is(info, "one", "1");
	value_is(info, "three", NULL);
	for (int i = 0; i < n; i++) {
		OK(MPI_Info_get_nthkey(info, i, key));
		OK(MPI_Info_get_valuelen(info, key, &len, &flag));
		CHECK(flag && len > 0, "key %d has a value", i);
	}
	len = sizeof(tiny);
	OK(MPI_Info_get_string(info, "two", &len, tiny, &flag));
	CHECK(flag && len == 5 && strcmp(tiny, "deu") == 0,
		"a short buffer gets the beginning and a NUL");
	len = 0;
	OK(MPI_Info_get_string(info, "two", &len, tiny, &flag));
	CHECK(flag && len == 5 && strcmp(tiny, "deu") == 0,
		"a buffer of length 0 returns the length only");
	OK(MPI_Info_dup(info, &dup));
	OK(MPI_Info_delete(info, "two"));
	value_is(info, "two", NULL);
	value_is(dup, "two", "deux");
	FAILS(MPI_Info_delete(info, "two"), MPI_ERR_INFO_NOKEY);
	OK(MPI_Info_free(&info));
	CHECK(info == MPI_INFO_NULL,
		"the handle of a freed info object is null");
	OK(MPI_Info_free(&dup));
	OK(MPI_Info_create_env(0, NULL, &info));
	OK(MPI_Info_free(&info));
}

static void hints(void)
{
	MPI_Info info, got;
	MPI_Comm comm, dup;

	OK(MPI_Info_create(&info));
	OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
	OK(MPI_Info_set(info, "nobody_knows_this_hint", "42"));
	OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
	OK(MPI_Info_free(&info));
	OK(MPI_Comm_get_info(comm, &got));
	CHECK(got != MPI_INFO_NULL, "a communicator has an info object");
	OK(MPI_Info_free(&got));
	OK(MPI_Comm_dup(comm, &dup));
	OK(MPI_Barrier(dup));
	OK(MPI_Comm_free(&dup));
	OK(MPI_Comm_free(&comm));
}

static void name_is(MPI_Comm comm, const char *want)
{
	char name[MPI_MAX_OBJECT_NAME] = "x";
	int len = -1;

	OK(MPI_Comm_get_name(comm, name, &len));
	CHECK(strcmp(name, want) == 0, "the name is '%s', got '%s'", want,
		name);
	CHECK(len == (int)strlen(want), "the length of '%s' is %d", want, len);
}

static void names(void)
{
	char longest[MPI_MAX_OBJECT_NAME];
	MPI_Comm comm;

	name_is(MPI_COMM_WORLD, "MPI_COMM_WORLD");
	name_is(MPI_COMM_SELF, "MPI_COMM_SELF");
	OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
	name_is(comm, "");
	OK(MPI_Comm_set_name(comm, "kitchen"));
	name_is(comm, "kitchen");
	memset(longest, 'x', sizeof(longest));
	longest[MPI_MAX_OBJECT_NAME - 1] = 0;
	OK(MPI_Comm_set_name(comm, longest));
	name_is(comm, longest);
	OK(MPI_Comm_free(&comm));
	OK(MPI_Comm_set_name(MPI_COMM_WORLD, "everybody"));
	name_is(MPI_COMM_WORLD, "everybody");
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	objects();
	hints();
	names();
	return mtest_finish();
}
