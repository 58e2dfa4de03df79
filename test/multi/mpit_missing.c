/* SPDX-License-Identifier: BSD-3-Clause */
/* mpit_missing: each missing procedure of the tool interface prints one
 * warning, and returns its error in each call */
#include "mtest.h"

/* How often the text of a file has these words. */
static int count_words(FILE *file, const char *words)
{
	char line[1024];
	int n = 0;

	rewind(file);
	while (fgets(line, sizeof(line), file))
		n += strstr(line, words) != NULL;
	return n;
}

int main(int argc, char **argv)
{
	FILE *errors = tmpfile();
	int saved = dup(STDERR_FILENO), rcs = 0, n;

	mtest_init(&argc, &argv);
	CHECK(errors && dup2(fileno(errors), STDERR_FILENO) >= 0,
		"standard error is redirected to a file");
	for (int i = 0; i < 4; i++) {
		rcs += MPI_T_pvar_get_num(&n) == MPI_T_ERR_NOT_SUPPORTED;
		rcs += MPI_T_cvar_get_num(&n) == MPI_T_ERR_NOT_SUPPORTED;
	}
	dup2(saved, STDERR_FILENO);
	if (rcs == 0)
		mtest_skip("the procedures of the tool interface exist");
	CHECK(rcs == 8, "each call returns its error, %d of 8", rcs);
	CHECK(count_words(errors, "MPI_T_pvar_get_num is not") == 1 &&
			count_words(errors, "MPI_T_cvar_get_num is not") == 1,
		"each procedure warns once");
	fclose(errors);
	return mtest_finish();
}
