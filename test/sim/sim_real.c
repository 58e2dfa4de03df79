/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_real: the phases of weft-sim in a real job
 *
 * Usage: mpiexec -n N weft-sim-real FILE [OPERATION BYTES,...]
 *
 * All processes run on one machine and map FILE, which begins empty. They meet
 * between phases through this memory, so only the phases send messages. The
 * columns are those of weft-sim. A time is that of the slowest process. With an
 * operation, each row is the mean of many calls of this collective. */
#include "test/sim/sim_phases.h"

#include "base/counter.h"
#include "transport/proc.h"
#include "transport/progress.h"

#include <mpi.h>

#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 512, CALLS = 500, FIRST_CALLS = 5 };

/* A process, in the file. */
struct real_slot {
	_Atomic uint32_t n_met;
	uint64_t sent, received, bytes; /* so far */
	uint64_t ns;			/* of this phase */
};

static struct real_slot *slots;
static uint32_t real_rank, n_real;
static bool is_open; /* a session is open */

void sim_fail(const char *format, ...)
{
	va_list ap;

	fputs("weft-sim-real: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

void sim_die_later(void)
{
	sim_fail("no process of a real job may die");
}

static uint64_t real_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Waits for all processes; the library makes progress meanwhile. */
static void real_meet(void)
{
	uint32_t now = atomic_fetch_add(&slots[real_rank].n_met, 1) + 1;

	for (uint32_t i = 0; i < n_real; i++)
		while ((int32_t)(atomic_load(&slots[i].n_met) - now) < 0) {
			if (is_open) {
				weft_vci_lock(&weft_proc.vci);
				weft_progress(&weft_proc.vci);
				weft_vci_unlock(&weft_proc.vci);
			}
			sched_yield();
		}
}

static uint64_t counter(const char *name)
{
	for (size_t i = 0; i < weft_counter_count(); i++)
		if (!strcmp(weft_counter_desc(i)->name, name))
			return weft_counter_total(i);
	sim_fail("no counter %s", name);
}

static void count_now(void)
{
	slots[real_rank].sent = counter("net_sent");
	slots[real_rank].received = counter("net_received");
	slots[real_rank].bytes = counter("net_sent_bytes");
}

/* Waits until all messages have arrived, and no process sends another one. */
static void real_sync(void)
{
	uint64_t last = UINT64_MAX;

	for (;;) {
		uint64_t sent = 0, received = 0;

		real_meet();
		count_now();
		real_meet();
		for (uint32_t i = 0; i < n_real; i++) {
			sent += slots[i].sent;
			received += slots[i].received;
		}
		if (sent == received && sent == last)
			return;
		last = sent;
	}
}

/* Prints the row of a phase; `before` has the slots before it. */
static void print_counts(
	const char *name, const struct real_slot *before, uint32_t n_calls)
{
	uint64_t sum = 0, most = 0, bytes = 0, ns = 0;

	for (uint32_t i = 0; i < n_real; i++) {
		uint64_t sent = slots[i].sent - before[i].sent;

		sum += sent;
		if (sent > most)
			most = sent;
		if (slots[i].bytes - before[i].bytes > bytes)
			bytes = slots[i].bytes - before[i].bytes;
		if (slots[i].ns > ns)
			ns = slots[i].ns;
	}
	printf("%-10s %10.1f %9.2f %7llu %9.2f %10llu\n", name,
		(double)ns / 1e3 / n_calls, (double)sum / n_real / n_calls,
		(unsigned long long)most / n_calls,
		(double)sum / n_real / n_calls,
		(unsigned long long)bytes / n_calls);
	fflush(stdout);
}

static void run_real(const char *name, void (*run)(void), uint32_t n_calls)
{
	struct real_slot before[MOST];
	uint64_t start;

	real_sync();
	memcpy(before, slots, n_real * sizeof(*slots));
	real_meet();
	start = real_ns();
	for (uint32_t i = 0; i < n_calls; i++)
		run();
	slots[real_rank].ns = real_ns() - start;
	is_open = true; /* the first phase opens a session */
	real_sync();
	if (!real_rank)
		print_counts(name, before, n_calls);
	real_meet();
}

static void run_real_coll(const char *name, const char *sizes)
{
	sim_coll_begin(name, n_real);
	is_open = true;
	for (char *end; *sizes; sizes = end + (*end == ',')) {
		sim_coll_set(strtoull(sizes, &end, 10));
		for (int i = 0; i < FIRST_CALLS; i++)
			sim_coll_call();
		run_real(name, sim_coll_call, CALLS);
	}
	sim_coll_end();
}

/* The rank and the number of processes, from a session. */
static void learn_job(void)
{
	MPI_Session session;
	MPI_Group group;
	int me, size;

	if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) ||
		MPI_Group_from_session_pset(session, "mpi://WORLD", &group))
		sim_fail("MPI_Session_init failed");
	MPI_Group_rank(group, &me);
	MPI_Group_size(group, &size);
	MPI_Group_free(&group);
	MPI_Session_finalize(&session);
	if (size > MOST)
		sim_fail("%d processes: at most %d are possible", size, MOST);
	real_rank = (uint32_t)me;
	n_real = (uint32_t)size;
}

static void map_slots(const char *path)
{
	const size_t len = MOST * sizeof(*slots);
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	slots = MAP_FAILED;
	if (fd >= 0 && !ftruncate(fd, (off_t)len))
		slots = mmap(
			NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (slots == MAP_FAILED)
		sim_fail("%s cannot be created and mapped", path);
	close(fd);
}

int main(int argc, char **argv)
{
	const struct sim_phase *phase;

	if (argc != 2 && (argc != 4 || !sim_coll_is_known(argv[2])))
		sim_fail("usage: weft-sim-real FILE [OPERATION BYTES,...]");
	learn_job();
	map_slots(argv[1]);
	if (argc == 4) {
		run_real_coll(argv[2], argv[3]);
		return 0;
	}
	sim_phases_set(real_rank, n_real, 0);
	for (size_t i = 0; (phase = sim_phase_at(i)) != NULL; i++)
		run_real(phase->name, phase->run, 1);
	return 0;
}
