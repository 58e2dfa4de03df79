/* SPDX-License-Identifier: BSD-3-Clause */
/* hints: the info of a session, for the tests of info keys */
#ifndef MTEST_HINTS_H
#define MTEST_HINTS_H

#include "session.h"

/* Returns the value after a word like "key=" in the arguments, or NULL. */
static inline const char *hints_word(int argc, char **argv, const char *key)
{
	size_t len = strlen(key);

	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], key, len) == 0)
			return argv[i] + len;
	return NULL;
}

static inline void hints_value(
	MPI_Session session, const char *key, char *value, int len)
{
	int flag = 0;
	MPI_Info info;

	value[0] = 0;
	OK(MPI_Session_get_info(session, &info));
	OK(MPI_Info_get_string(info, key, &len, value, &flag));
	CHECK(flag, "the session's info has the key %s", key);
	OK(MPI_Info_free(&info));
}

static inline void hints_has(
	MPI_Session session, const char *key, const char *want)
{
	char value[256];

	hints_value(session, key, value, sizeof(value));
	CHECK(!strcmp(value, want), "%s is '%s', not '%s'", key, value, want);
}

#endif
