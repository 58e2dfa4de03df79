/* SPDX-License-Identifier: BSD-3-Clause */
/* comm_self_attr: MPI_Finalize first deletes the attributes of MPI_COMM_SELF,
 * in reverse order */
#include "mtest.h"

static int order[4], n;

static int delete_fn(MPI_Comm comm, int key, void *value, void *state)
{
	int done = 1;

	(void)comm;
	(void)key;
	(void)state;
	OK(MPI_Finalized(&done));
	CHECK(!done, "MPI is not finalized inside the callback");
	/* MPI calls still succeed inside the callback */
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (n < 4)
		order[n] = (int)(intptr_t)value;
	n++;
	return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
	int key[3];

	mtest_init(&argc, &argv);
	for (int i = 0; i < 3; i++) {
		OK(MPI_Comm_create_keyval(
			MPI_COMM_NULL_COPY_FN, delete_fn, &key[i], NULL));
		OK(MPI_Comm_set_attr(
			MPI_COMM_SELF, key[i], (void *)(intptr_t)(i + 1)));
	}
	OK(MPI_Finalize());
	CHECK(n == 3, "three callbacks were called, got %d", n);
	CHECK(order[0] == 3 && order[1] == 2 && order[2] == 1,
		"the callbacks run in the reverse order of setting");
	return mtest_done();
}
