/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p_slow: a sender whose memory is not available yet delays no other message
 *
 * A page of the sender's buffer is missing (userfaultfd). The test provides the
 * page when another thread of the receiver has exchanged messages with itself.
 */
#define _GNU_SOURCE
#include "mtest.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { TAG = 7, TAG_SELF, TAG_WARM, ROUNDS = 1000, LONGEST = 32768 };

/* In memory that both ranks share. is_waiting: a page fault has occurred.
 * may_come: the page may be provided. */
static struct shared {
	_Atomic int is_waiting, may_come;
} * shared;
static int lens[] = { 12288, 16384, LONGEST };
static int len, fault_fd = -1;
static char *page;
static size_t page_len, page_at; /* page_at: offset of the page in the buffer */

static bool wait_for(_Atomic int *flag)
{
	double end = mtest_now() + MTEST_SOON_S;

	while (!atomic_load(flag) && mtest_now() < end)
		usleep(500);
	return atomic_load(flag);
}

static void *serve(void *arg)
{
	struct pollfd at = { .fd = fault_fd, .events = POLLIN };
	struct uffdio_zeropage zero = { .range = {
						(uintptr_t)page, page_len } };
	struct uffd_msg msg;

	(void)arg;
	CHECK(poll(&at, 1, MTEST_SOON_S * 1000) == 1 &&
			read(fault_fd, &msg, sizeof(msg)) == sizeof(msg),
		"an access to the missing page is reported");
	atomic_store(&shared->is_waiting, 1);
	CHECK(wait_for(&shared->may_come),
		"%d bytes: another thread of the receiver continues meanwhile",
		len);
	CHECK(!ioctl(fault_fd, UFFDIO_ZEROPAGE, &zero),
		"the missing page is provided");
	return NULL;
}

/* Returns memory filled with ones, of which one page is missing. NULL if this
 * user may not use userfaultfd. */
static char *make_slow(void)
{
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };
	char *buf = mmap(NULL, (size_t)LONGEST + page_len,
		PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	page = buf + page_at;
	memset(buf, 1, LONGEST);
	fault_fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	reg.range.start = (uintptr_t)page;
	reg.range.len = page_len;
	if (fault_fd < 0 || ioctl(fault_fd, UFFDIO_API, &api) ||
		madvise(page, page_len, MADV_DONTNEED) ||
		ioctl(fault_fd, UFFDIO_REGISTER, &reg)) {
		munmap(buf, (size_t)LONGEST + page_len);
		return NULL;
	}
	return buf;
}

static void *receive(void *arg)
{
	char *buf = mtest_alloc((size_t)len);
	bool is_good = true;

	(void)arg;
	OK(MPI_Recv(
		buf, len, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	/* the page is provided with zeros; it may be as large as the message */
	for (int i = 0; i < len; i++)
		is_good &= buf[i] == ((size_t)i - page_at >= page_len);
	CHECK(is_good, "the message arrives completely");
	free(buf);
	return NULL;
}

static void talk_to_self(void)
{
	for (int i = 0, x = 0, y = -1; i < ROUNDS; i++, x++) {
		OK(MPI_Sendrecv(&x, 1, MPI_INT, 0, TAG_SELF, &y, 1, MPI_INT, 0,
			TAG_SELF, MPI_COMM_SELF, MPI_STATUS_IGNORE));
		CHECK(x == y, "the word %d arrives, got %d", x, y);
	}
}

/* Exchanges messages in both directions. */
static void warm_up(void)
{
	char word[64] = { 0 };

	for (int i = 0; i < 20; i++)
		OK(MPI_Sendrecv_replace(word, sizeof(word), MPI_BYTE,
			!mtest.rank, TAG_WARM, !mtest.rank, TAG_WARM,
			MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static void one_length(char *buf)
{
	pthread_t thread;

	warm_up();
	if (mtest.rank == 0) {
		atomic_store(&shared->is_waiting, 0);
		atomic_store(&shared->may_come, 0);
	}
	OK(MPI_Barrier(MPI_COMM_WORLD));
	CHECK(!pthread_create(
		      &thread, NULL, mtest.rank ? serve : receive, NULL),
		"a thread is created");
	if (mtest.rank) {
		OK(MPI_Send(buf, len, MPI_BYTE, 0, TAG, MPI_COMM_WORLD));
	} else {
		CHECK(wait_for(&shared->is_waiting), "a page fault occurs");
		talk_to_self();
		atomic_store(&shared->may_come, 1);
	}
	pthread_join(thread, NULL);
	if (mtest.rank)
		CHECK(!madvise(page, page_len, MADV_DONTNEED),
			"the page is removed again");
	OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
	int is_slow, unit, level = -1;
	char *buf = NULL;
	MPI_Aint size;
	MPI_Win win;

	mtest_start(argv[0]);
	OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
	CHECK(level == MPI_THREAD_MULTIPLE,
		"MPI_THREAD_MULTIPLE is provided, level %d", level);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &mtest.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &mtest.size);
	page_len = (size_t)sysconf(_SC_PAGESIZE);
	page_at = LONGEST / 8 / page_len * page_len;
	if (mtest.rank)
		buf = make_slow();
	is_slow = buf != NULL;
	OK(MPI_Bcast(&is_slow, 1, MPI_INT, 1, MPI_COMM_WORLD));
	if (!is_slow) {
		printf("# no userfaultfd for this user: skipped\n");
		mtest_finish();
		return MTEST_SKIP;
	}
	OK(MPI_Win_allocate_shared(mtest.rank ? 0 : sizeof(*shared), 1,
		MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &win));
	OK(MPI_Win_shared_query(win, 0, &size, &unit, &shared));
	for (int i = 0; i < 3; i++) {
		len = lens[i];
		one_length(buf);
	}
	OK(MPI_Win_free(&win));
	return mtest_finish();
}
