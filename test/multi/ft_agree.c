/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ft_agree: all living members get the same results from agree and shrink
 *
 * Without a failure: flags, several agreements in progress, every form, and a
 * shrunk communicator. Then rounds of agree and shrink. In each, a member may
 * be killed: before the round, some microseconds into agree or shrink, between
 * them, or after both. Some rounds begin with a revocation. The survivors
 * compare their results on the new communicator, which replaces the old one for
 * the next round.
 *
 * seed= selects victims and moments; 0: this program kills no process. With
 * WEFT_ERA_DIE, the library kills processes at a message of the protocol.
 * rounds= limits the number of rounds.
 *
 * By hand: for s in $(seq 1 200); do mpiexec -n 8 --continue ft_agree seed=$s;
 * done, and the same with WEFT_SHM=off and WEFT_NODES=2.
 */
#include "mtest.h"

#include <mpi-ext.h>
#include <pthread.h>

enum {
	PROCS = 16, /* at most: flags have a bit for each */
	PENDING = 4,
	REVOKED = 32,
	LEAVE = 1, /* survivors at the end, at least */
};

enum moment {
	BEFORE,
	IN_AGREE,
	BETWEEN,
	IN_SHRINK,
	AFTER,
	MOMENTS,
};

/* The results of a process in a round. */
struct record {
	int world_rank;
	int flag;
	int class;
	int is_agree;
};

static MPI_Comm comm;
static unsigned long seed, rounds = 8;
static bool is_killing;
static struct record mine, all[PROCS];

static unsigned draw(unsigned below)
{
	seed = seed * 6364136223846793005UL + 1442695040888963407UL;
	return (unsigned)((seed >> 33) % below);
}

/* ---- without a failure ---- */

static void several(void)
{
	int flags[PENDING];
	MPI_Request requests[PENDING];
	int others = (int)(~0U << mtest.size);

	for (int i = 0; i < PENDING; i++) {
		flags[i] = ~(1 << mtest.rank) & ~(i << 16);
		OK(MPIX_Comm_iagree(comm, &flags[i], &requests[i]));
	}
	OK(MPI_Waitall(PENDING, requests, MPI_STATUSES_IGNORE));
	for (int i = 0; i < PENDING; i++)
		CHECK(flags[i] == (others & ~(i << 16)),
			"agreement %d in progress returns the AND of the "
			"flags: %x, not %x",
			i, (unsigned)flags[i], (unsigned)(others & ~(i << 16)));
}

static int n_mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	int n = 0, c;

	CHECK(file, "/proc/self/maps can be read");
	if (!file)
		return 0;
	while ((c = getc(file)) != EOF)
		n += c == '\n';
	fclose(file);
	return n;
}

/* The library keeps results of agreements for other members, but frees the
 * shared memory of the communicators. */
static void revoke_and_free(void)
{
	int n = n_mappings(), flag = 0;

	for (int i = 0; i < REVOKED; i++) {
		MPI_Comm copy;

		OK(MPI_Comm_dup(comm, &copy));
		for (int k = 0; k < 8; k++) /* the segment is used */
			OK(MPI_Barrier(copy));
		OK(MPIX_Comm_agree(copy, &flag));
		OK(MPIX_Comm_revoke(copy));
		OK(MPI_Comm_free(&copy));
	}
	n = n_mappings() - n;
	CHECK(n < REVOKED / 2,
		"the memory of revoked communicators is unmapped: %d "
		"communicators, %d mappings left",
		(int)REVOKED, n);
}

static void check_congruent(MPI_Comm newcomm)
{
	int result = -1;

	OK(MPI_Comm_compare(comm, newcomm, &result));
	CHECK(result == MPI_CONGRUENT, "a shrunk communicator without a "
				       "failure has the same group");
	OK(MPI_Barrier(newcomm));
	OK(MPI_Comm_free(&newcomm));
}

static void without_failure(void)
{
	MPI_Request request;
	MPI_Comm newcomm;
	int flag = 6;

	OK(MPIX_Comm_agree(MPI_COMM_SELF, &flag));
	CHECK(flag == 6, "the agreement of one process has its flag");
	for (int i = 0; i < 3; i++) {
		flag = mtest.rank == mtest.size - 1 ? i : -1;
		OK(MPIX_Comm_agree(comm, &flag));
		CHECK(flag == i,
			"the flag of the last process is in the result");
	}
	several();
	revoke_and_free();
	OK(MPIX_Comm_shrink(comm, &newcomm));
	check_congruent(newcomm);
	OK(MPIX_Comm_ishrink(comm, &newcomm, &request));
	OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
	check_congruent(newcomm);
}

static void misuse(void)
{
	MPI_Request request;
	MPI_Comm newcomm;
	int flag = 0;

	FAILS(MPIX_Comm_agree(MPI_COMM_NULL, &flag), MPI_ERR_COMM);
	FAILS(MPIX_Comm_agree(comm, NULL), MPI_ERR_ARG);
	FAILS(MPIX_Comm_iagree(comm, &flag, NULL), MPI_ERR_ARG);
	FAILS(MPIX_Comm_iagree(comm, NULL, &request), MPI_ERR_ARG);
	FAILS(MPIX_Comm_shrink(comm, NULL), MPI_ERR_ARG);
	FAILS(MPIX_Comm_shrink(MPI_COMM_NULL, &newcomm), MPI_ERR_COMM);
	FAILS(MPIX_Comm_ishrink(comm, &newcomm, NULL), MPI_ERR_ARG);
}

/* ---- with failures ---- */

static void *die_later(void *arg)
{
	struct timespec ts = { 0, *(int *)arg * 1000L };

	nanosleep(&ts, NULL);
	raise(SIGKILL);
	return NULL;
}

/* Kills this process some microseconds later, in its call. */
static void start_killer(int us)
{
	static int delay;
	pthread_t thread;

	delay = us;
	CHECK(!pthread_create(&thread, NULL, die_later, &delay),
		"a thread starts");
	pthread_detach(thread);
}

static int agree(int *flag, int is_nonblocking)
{
	MPI_Request request;
	int rc;

	if (!is_nonblocking)
		return MPIX_Comm_agree(comm, flag);
	rc = MPIX_Comm_iagree(comm, flag, &request);
	return rc ? rc : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int shrink(MPI_Comm *newcomm, int is_nonblocking)
{
	MPI_Request request;
	int rc;

	if (!is_nonblocking)
		return MPIX_Comm_shrink(comm, newcomm);
	rc = MPIX_Comm_ishrink(comm, newcomm, &request);
	return rc ? rc : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Checks that all members of the new communicator have the same result, that
 * the result contains the flag of each of them, and that they keep the order of
 * their old ranks. */
static void compare(MPI_Comm newcomm)
{
	int size, others = (int)(~0U << mtest.size);

	OK(MPI_Comm_size(newcomm, &size));
	if (MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, all, sizeof(mine),
		    MPI_BYTE, newcomm))
		return; /* a member died */
	for (int i = 0; i < size; i++) {
		CHECK(all[i].is_agree, "rank %d is in the same round", i);
		CHECK(all[i].flag == mine.flag && all[i].class == mine.class,
			"rank %d of the new communicator has the result of "
			"this process: flag %x, class %d, not %x, class %d",
			i, (unsigned)all[i].flag, all[i].class,
			(unsigned)mine.flag, mine.class);
		CHECK(!(mine.flag >> all[i].world_rank & 1),
			"the flag %x includes the flag of process %d",
			(unsigned)mine.flag, all[i].world_rank);
		CHECK(!i || all[i].world_rank > all[i - 1].world_rank,
			"the members are in the order of their old ranks");
	}
	CHECK((mine.flag & others) == others,
		"the bits that belong to no process are set: %x",
		(unsigned)mine.flag);
}

static void one_round(void)
{
	enum moment moment = (enum moment)draw(MOMENTS);
	int is_nonblocking = (int)draw(2), acks = (int)draw(2);
	int revokes = !draw(3), us = (int)draw(400), rank, size, n_acked, rc;
	unsigned victim;
	MPI_Comm newcomm = MPI_COMM_NULL;

	OK(MPI_Comm_rank(comm, &rank));
	OK(MPI_Comm_size(comm, &size));
	victim = draw((unsigned)size);
	if (!is_killing || size <= LEAVE || (int)victim != rank)
		moment = MOMENTS;
	if (revokes && rank == 0 && comm != MPI_COMM_WORLD)
		OK(MPIX_Comm_revoke(comm));
	if (acks)
		OK(MPIX_Comm_ack_failed(comm, size, &n_acked));
	if (moment == BEFORE)
		raise(SIGKILL);
	if (moment == IN_AGREE)
		start_killer(us);
	mine = (struct record){ .world_rank = mtest.rank, .is_agree = 1 };
	mine.flag = ~(1 << mtest.rank);
	rc = agree(&mine.flag, is_nonblocking);
	mine.class = mtest_class(rc);
	CHECK(mine.class == MPI_SUCCESS || mine.class == MPIX_ERR_PROC_FAILED,
		"the agreement succeeds or reports failures: %s",
		mtest_error(rc));
	if (moment == BETWEEN)
		raise(SIGKILL);
	if (moment == IN_SHRINK)
		start_killer(us);
	if (!OK(shrink(&newcomm, is_nonblocking)))
		exit(mtest_done());
	if (moment == AFTER)
		raise(SIGKILL);
	compare(newcomm);
	if (draw(2) && comm != MPI_COMM_WORLD)
		OK(MPI_Comm_free(&comm));
	else if (comm != MPI_COMM_WORLD)
		MPI_Comm_disconnect(&comm); /* an error if members died */
	comm = newcomm;
}

int main(int argc, char **argv)
{
	mtest_init(&argc, &argv);
	if (mtest.size > PROCS)
		mtest_skip("is for at most 16 processes");
	mtest_connect_all(MPI_COMM_WORLD);
	for (int i = 1; i < argc; i++) {
		sscanf(argv[i], "seed=%lu", &seed);
		sscanf(argv[i], "rounds=%lu", &rounds);
	}
	is_killing = seed != 0;
	comm = MPI_COMM_WORLD; /* a duplicate may fail when a member dies */
	if (!getenv("WEFT_ERA_DIE")) {
		int flag = 0;

		without_failure();
		misuse();
		/* a member dies only after all have passed the above */
		(void)MPIX_Comm_agree(comm, &flag);
	}
	for (unsigned long i = 0; i < rounds; i++)
		one_round();
	if (comm != MPI_COMM_WORLD)
		OK(MPI_Comm_free(&comm));
	return mtest_finish();
}
