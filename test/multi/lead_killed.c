/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lead_killed: a member is killed in a call that has a leader; within
 * MTEST_SOON_S, every survivor of both sides gets a result or an error of the
 * right class
 *
 * Each round has a communicator of the surviving processes, one call, and one
 * victim. The victim dies at its n-th allocation of memory in the call, or
 * after the call if it makes fewer: the library allocates in each of its steps.
 * Sanitizers replace malloc; with them, the victim dies after n times a fixed
 * time. In "spawn, the child dies", the victim is a spawned process.
 *
 * seed= selects the rounds (0: by the clock). rounds= limits their number.
 * call= selects one call.
 *
 * The long form, by hand: for s in $(seq 1 100); do mpiexec -n 7 --continue
 * lead_killed seed=$s; done, and the same with WEFT_NODES=2.
 */
#include "session.h"

#include <errno.h>
#include <pthread.h>

enum {
	LEAVE = 3, /* least number of survivors */
	STEPS = 90,
	TAG = 3,
};

enum call { SPAWN, CHILD, MEET, FROM_GROUPS, CREATE, MERGE, CALLS };

static const char *const names[CALLS] = { "spawn", "spawn, the child dies",
	"accept and connect", "intercomm_create_from_groups",
	"intercomm_create", "merge" };

struct round {
	int number;
	enum call call;
	int victim; /* rank in the communicator of the survivors */
	int step;
	int leader; /* leader of the low side */
};

static struct {
	MPI_Session session;
	MPI_Group alive;
	MPI_Comm comm; /* of the survivors */
	MPI_Comm side; /* of the survivors in the half of this process */
	int rank, size, is_high;
	int n_errors, n_right;
	unsigned long random;
	char *program;
} k;

/* ---- dying ---- */

static __thread int steps_left = -1; /* allocations until this process dies;
				      * below 0: it lives */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

static void *die_later(void *arg)
{
	struct timespec ts = { 0, *(int *)arg * 100000L };

	nanosleep(&ts, NULL);
	raise(SIGKILL);
	return NULL;
}

static void arm(int steps)
{
	static int n;
	pthread_t thread;

	n = steps;
	steps_left = -1;
	OK(pthread_create(&thread, NULL, die_later, &n));
}

#else

extern void *__libc_malloc(size_t len);
extern void *__libc_calloc(size_t n, size_t len);

static void arm(int steps)
{
	steps_left = steps;
}

static void take_step(void)
{
	if (steps_left >= 0 && steps_left-- == 0)
		raise(SIGKILL);
}

void *malloc(size_t len)
{
	take_step();
	return __libc_malloc(len);
}

void *calloc(size_t n, size_t len)
{
	take_step();
	return __libc_calloc(n, len);
}

#endif

/* ---- the calls ---- */

static unsigned draw(unsigned n)
{
	k.random = k.random * 6364136223846793005UL + 1442695040888963407UL;
	return (unsigned)((k.random >> 33) % n);
}

static int is_of_death(int rc)
{
	int class = mtest_class(rc);

	return class == MPI_SUCCESS || class == MPIX_ERR_PROC_FAILED ||
	       class == MPI_ERR_SPAWN || class == MPI_ERR_PORT ||
	       class == MPI_ERR_SESSION;
}

static void check(const struct round *r, const char *what, int rc, double began)
{
	double took = mtest_now() - began;

	CHECK(took < MTEST_SOON_S,
		"round %d: %s of %s ends soon, not after %.1f s", r->number,
		what, names[r->call], took);
	CHECK(is_of_death(rc),
		"round %d: %s of %s reports a failed process, not %s",
		r->number, what, names[r->call], mtest_error(rc));
	k.n_errors += rc != MPI_SUCCESS;
	k.n_right += rc == MPI_SUCCESS;
}

static int spawn(const struct round *r, MPI_Comm *made)
{
	char steps[16] = "-1", *argv[] = { "child", steps, NULL };

	if (r->call == CHILD)
		snprintf(steps, sizeof(steps), "%d", 20 * r->step);
	return MPI_Comm_spawn(k.program, argv, 2, MPI_INFO_NULL, r->leader,
		k.comm, made, MPI_ERRCODES_IGNORE);
}

static int meet_at(const char *port, MPI_Comm *made)
{
	if (k.is_high)
		return MPI_Comm_accept(port, MPI_INFO_NULL, 0, k.side, made);
	return MPI_Comm_connect(port, MPI_INFO_NULL, 0, k.side, made);
}

static int from_groups(const struct round *r, MPI_Comm *made)
{
	int low[3] = { 0, k.size / 2 - 1, 1 };
	int high[3] = { k.size / 2, k.size - 1, 1 };
	MPI_Group sides[2];
	int rc;

	OK(MPI_Group_range_incl(k.alive, 1, &low, &sides[0]));
	OK(MPI_Group_range_incl(k.alive, 1, &high, &sides[1]));
	rc = MPI_Intercomm_create_from_groups(sides[k.is_high],
		k.is_high ? 0 : r->leader, sides[!k.is_high],
		k.is_high ? r->leader : 0, "halves", MPI_INFO_NULL,
		MPI_ERRORS_RETURN, made);
	OK(MPI_Group_free(&sides[0]));
	OK(MPI_Group_free(&sides[1]));
	return rc;
}

static int make_inter(const struct round *r, MPI_Comm *made)
{
	return MPI_Intercomm_create(k.side, k.is_high ? 0 : r->leader, k.comm,
		k.is_high ? r->leader : k.size / 2, TAG, made);
}

static void release(const struct round *r, MPI_Comm *comm)
{
	double began = mtest_now();

	if (*comm != MPI_COMM_NULL)
		check(r, "leaving", MPI_Comm_disconnect(comm), began);
}

static void play(const struct round *r, const char *port)
{
	MPI_Comm made = MPI_COMM_NULL, merged = MPI_COMM_NULL;
	double began;
	int rc;

	if (r->call == MERGE)
		OK(make_inter(r, &merged));
	check(r, "barrier", MPI_Barrier(k.comm), mtest_now());
	if (k.rank == r->victim && r->call != CHILD)
		arm(r->step);
	began = mtest_now();
	rc = r->call <= CHILD	      ? spawn(r, &made)
	     : r->call == MEET	      ? meet_at(port, &made)
	     : r->call == FROM_GROUPS ? from_groups(r, &made)
	     : r->call == CREATE
		     ? make_inter(r, &made)
		     : MPI_Intercomm_merge(merged, k.is_high, &made);
	if (k.rank == r->victim && r->call != CHILD)
		raise(SIGKILL);
	check(r, "the call", rc, began);
	CHECK(!rc || made == MPI_COMM_NULL,
		"round %d: a failed call creates no communicator", r->number);
	release(r, &made);
	release(r, &merged);
}

/* ---- a round ---- */

/* Creates the halves, and a port of the high half, while all members live. */
static void prepare(const struct round *r, char *port)
{
	int root = k.size / 2;

	k.is_high = k.rank >= root;
	OK(MPI_Comm_split(k.comm, k.is_high, 0, &k.side));
	memset(port, 0, MPI_MAX_PORT_NAME);
	if (r->call == MEET && k.rank == root)
		OK(MPI_Open_port(MPI_INFO_NULL, port));
	OK(MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, root, k.comm));
}

static void play_round(const struct round *r)
{
	char port[MPI_MAX_PORT_NAME];
	int victim = r->victim;
	MPI_Group rest;

	prepare(r, port);
	play(r, port);
	if (r->call == MEET && k.rank == k.size / 2)
		OK(MPI_Close_port(port));
	release(r, &k.side);
	release(r, &k.comm);
	if (r->call == CHILD)
		return;
	OK(MPI_Group_excl(k.alive, 1, &victim, &rest));
	OK(MPI_Group_free(&k.alive));
	k.alive = rest;
}

static int gather_living(int number)
{
	char tag[32];
	int rc;

	snprintf(tag, sizeof(tag), "round %d", number);
	rc = MPI_Comm_create_from_group(
		k.alive, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &k.comm);
	CHECK(rc == MPI_SUCCESS,
		"round %d: the surviving processes communicate, %s", number,
		mtest_error(rc));
	if (rc)
		return 0;
	OK(MPI_Comm_rank(k.comm, &k.rank));
	OK(MPI_Comm_size(k.comm, &k.size));
	return k.size > LEAVE;
}

static struct round draw_round(int number, int only)
{
	struct round r = { .number = number };

	r.call = (enum call)draw(CALLS);
	if (only >= 0)
		r.call = (enum call)only;
	r.victim = (int)draw((unsigned)k.size);
	r.step = (int)draw(STEPS);
	r.leader = (int)draw((unsigned)k.size / 2);
	return r;
}

/* ---- the other job ---- */

/* The program of a spawned process. Its parents may have failed, or it dies
 * itself at one of its allocations. */
static int child(int argc, char **argv)
{
	int rank = atoi(getenv("PMIX_RANK")), steps = atoi(argv[2]), rc;
	MPI_Comm parent;

	setenv("WEFT_INITIAL_ERRHANDLER", "mpi_errors_return", 1);
	if (steps >= 0 && rank == steps / 20 % 2)
		arm(steps);
	rc = MPI_Init(&argc, &argv);
	if (steps >= 0 && rank == steps / 20 % 2)
		raise(SIGKILL);
	if (!rc && !MPI_Comm_get_parent(&parent) && parent != MPI_COMM_NULL) {
		MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
		MPI_Comm_disconnect(&parent);
	}
	if (!rc)
		MPI_Finalize();
	return 0;
}

static int lead(int argc, char **argv)
{
	int rounds = (int)mtest_arg(argc, argv, "rounds", 12), rc;
	int only = (int)mtest_arg(argc, argv, "call", -1);
	long seed = mtest_arg(argc, argv, "seed", 0);

	for (int i = 0; i < rounds && gather_living(i); i++) {
		struct round r;

		if (i == 0) {
			seed = seed ? seed : (long)time(NULL);
			OK(MPI_Bcast(&seed, 1, MPI_LONG, 0, k.comm));
			k.random = (unsigned long)seed;
			(void)draw(2);
			mtest_connect_all(k.comm);
		}
		r = draw_round(i, only);
		if (k.rank == 0)
			printf("# seed %ld round %d of %d: %s, victim %d at "
			       "step %d, leader %d\n",
				seed, i, k.size, names[r.call], r.victim,
				r.step, r.leader);
		fflush(stdout);
		play_round(&r);
	}
	if (k.comm != MPI_COMM_NULL)
		OK(MPI_Comm_disconnect(&k.comm));
	OK(MPI_Group_free(&k.alive));
	rc = MPI_Finalize();
	CHECK(rc == MPI_SUCCESS, "finalize succeeds, %s", mtest_error(rc));
	printf("# rank %d: %d right, %d errors\n", mtest.rank, k.n_right,
		k.n_errors);
	return mtest_done();
}

int main(int argc, char **argv)
{
	mtest_start(argv[0]);
	if (argc > 2 && !strcmp(argv[1], "child"))
		return child(argc, argv);
	k.program = argv[0];
	k.comm = k.side = MPI_COMM_NULL;
	mtest_init(&argc, &argv);
	OK(MPI_Comm_group(MPI_COMM_WORLD, &k.alive));
	return lead(argc, argv);
}
