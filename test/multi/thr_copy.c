/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * thr_copy: while one thread's long message is copied into its buffer, another
 * thread sends and receives messages
 *
 * A page of the buffer is not writable until the other thread has finished: the
 * thread that copies waits in the signal handler. how=0: an expected message,
 * how=1: an unexpected one, how=2: a message to the process itself, how=3: the
 * sender dies meanwhile. Skipped if the data arrives in short fragments through
 * shared memory, because no thread then copies for long.
 */
#define _GNU_SOURCE /* process_vm_readv */
#include "cma.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { BLOCK = 64, BLOCKS = 65536, LEN = BLOCK * BLOCKS, PAGE = 4096 };
enum { TAG_LONG = 1, TAG_SHORT, TAG_DIE, ROUNDS = 50 };

static int how;
static bool is_fabric;
static char *gaps; /* BLOCKS blocks with gaps of the same length between them */
static char *page; /* a page of gaps, not writable */
static atomic_int is_putting, may_go, was_late;
static MPI_Datatype spread;

/* the page becomes writable when the other thread has finished, or after a
 * timeout */
static void on_fault(int signal_number, siginfo_t *info, void *context)
{
	double end = mtest_now() + MTEST_SOON_S;
	const struct timespec pause = { .tv_nsec = 1000000 };

	(void)context;
	if ((char *)info->si_addr < page ||
		(char *)info->si_addr >= page + PAGE)
		signal(signal_number, SIG_DFL); /* a fault of another address */
	atomic_store(&is_putting, 1);
	while (!atomic_load(&may_go) && mtest_now() < end)
		nanosleep(&pause, NULL);
	if (!atomic_load(&may_go))
		atomic_store(&was_late, 1);
	mprotect(page, PAGE, PROT_READ | PROT_WRITE);
}

static void short_ones(int peer)
{
	int x = mtest.rank;

	for (int i = 0; i < ROUNDS; i++) {
		OK(MPI_Sendrecv_replace(&x, 1, MPI_INT, peer, TAG_SHORT, peer,
			TAG_SHORT, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		CHECK(x == (i % 2 ? mtest.rank : peer),
			"the word of round %d arrives", i);
	}
}

static void *other_thread(void *arg)
{
	int x = 0;

	(void)arg;
	while (!atomic_load(&is_putting) && !atomic_load(&was_late))
		sched_yield();
	if (how == 3) {
		OK(MPI_Send(&x, 1, MPI_INT, 1, TAG_DIE, MPI_COMM_WORLD));
		CHECK(MPI_Recv(&x, 1, MPI_INT, 1, TAG_DIE, MPI_COMM_WORLD,
			      MPI_STATUS_IGNORE),
			"a failed process sends no message");
	} else {
		short_ones(1);
	}
	atomic_store(&may_go, 1);
	return NULL;
}

static void check_data(void)
{
	char *run = mtest_alloc(LEN);
	int at = 0;

	OK(MPI_Pack(gaps, 1, spread, run, LEN, &at, MPI_COMM_WORLD));
	CHECK(mtest_same(run, LEN, 3),
		"the long message is received completely");
	free(run);
}

static void receive(void)
{
	char *run = mtest_alloc(LEN);
	int from = how == 2 ? 0 : 1, err;
	MPI_Request reqs[2] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL };
	pthread_t thread;

	pthread_create(&thread, NULL, other_thread, NULL);
	mtest_fill(run, LEN, 3);
	if (how == 1)
		OK(MPI_Probe(
			from, TAG_LONG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	OK(MPI_Irecv(gaps, 1, spread, from, TAG_LONG, MPI_COMM_WORLD, reqs));
	if (how == 2)
		OK(MPI_Isend(run, LEN, MPI_BYTE, 0, TAG_LONG, MPI_COMM_WORLD,
			reqs + 1));
	err = MPI_Wait(reqs, MPI_STATUS_IGNORE);
	if (how != 3)
		OK(err);
	else if (!is_fabric) /* the data may also have arrived before the sender
			      * died */
		CHECK(err, "the receive ends because its sender failed");
	OK(MPI_Wait(reqs + 1, MPI_STATUS_IGNORE));
	if (how == 3 && !atomic_load(&is_putting))
		atomic_store(&was_late, 1);
	pthread_join(thread, NULL);
	CHECK(atomic_load(&is_putting),
		"the copy met the page that is missing");
	CHECK(!atomic_load(&was_late),
		"messages of another thread are exchanged meanwhile");
	if (how != 3)
		check_data();
	free(run);
}

static void send_and_serve(void)
{
	char *run = mtest_alloc(LEN);
	MPI_Request req = MPI_REQUEST_NULL;
	int x;

	mtest_fill(run, LEN, 3);
	if (how != 2)
		OK(MPI_Isend(
			run, LEN, MPI_BYTE, 0, TAG_LONG, MPI_COMM_WORLD, &req));
	if (how == 3) {
		OK(MPI_Recv(&x, 1, MPI_INT, 0, TAG_DIE, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
		raise(SIGKILL);
	}
	short_ones(0);
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	free(run);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_fault,
		.sa_flags = SA_SIGINFO };
	int level = -1;

	mtest_start(argv[0]);
	OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
	MPI_Comm_rank(MPI_COMM_WORLD, &mtest.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &mtest.size);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	how = (int)mtest_arg(argc, argv, "how", 0);
	mtest_need(2);
	is_fabric = getenv("WEFT_SHM") || getenv("WEFT_NODES");
	if (how != 2 && !is_fabric && !cma_is_permitted(MPI_COMM_WORLD))
		mtest_skip(
			"the kernel refuses reads of other processes' memory");
	gaps = mmap(NULL, 2 * (size_t)LEN, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	page = gaps + LEN;
	OK(MPI_Type_vector(BLOCKS, BLOCK, 2 * BLOCK, MPI_BYTE, &spread));
	OK(MPI_Type_commit(&spread));
	if (mtest.rank == 0) {
		mprotect(page, PAGE, PROT_NONE);
		sigaction(SIGSEGV, &action, NULL);
		receive();
	} else {
		send_and_serve();
	}
	OK(MPI_Type_free(&spread));
	munmap(gaps, 2 * (size_t)LEN);
	if (how != 3)
		return mtest_finish();
	(void)MPI_Finalize(); /* names the failed process */
	return mtest_done();
}
