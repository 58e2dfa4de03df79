/* SPDX-License-Identifier: BSD-3-Clause */
/* stranger: a foreign process connects to a running job
 *
 *   mpiexec -n 3 stranger      (WEFT_SHM=off)
 *
 * Rank 0 and rank 1 exchange messages during the whole test. Rank 2 opens a
 * second endpoint and sends messages to rank 0 as a process outside the job
 * could: noise, fragments, wrong versions, names of other jobs and members
 * without the key, repeated messages. It also connects to the port and sends
 * invalid data. The library drops and counts all of them, and the exchange
 * continues. */
#include "base/clock.h"
#include "transport/bc.h"
#include "transport/proc.h"
#include "transport/progress.h"
#include "net/net.h"

#include <mpi.h>

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	TAG_WORK = 1,
	TAG_END = 2,
	TAG_EVIL = 99,
	N_NOISE = 500,
	DEADLINE_S = 60,
	PREFIX_LEN = 8, /* of a fabric name */
};

static int n_failed;

static void claim(bool ok, const char *sentence)
{
	printf("%s - %s\n", ok ? "ok" : "not ok", sentence);
	fflush(stdout);
	n_failed += !ok;
}

/* ---- rank 2 ---- */

static struct weft_bc bc; /* rank 0's */
static bool has_bc;
static struct weft_net *net;
static uint64_t victim;
static uint64_t n_evil;

static void on_bc(void *arg, int err, const void *data, size_t len)
{
	(void)arg;
	has_bc = !err && !weft_bc_read(&bc, data, len);
}

static void ignore(void *arg, const void *data, size_t len)
{
	(void)arg;
	(void)data;
	(void)len;
}

static bool open_beside(void)
{
	struct weft_net_hints hints = { .is_one_host = true };
	struct weft_vci *vci = &weft_proc.vci;
	uint64_t end = weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S;

	weft_vci_lock(vci);
	weft_boot_get(weft_proc.boot, 0, WEFT_BC_KEY, on_bc, NULL);
	while (!has_bc && weft_now_ns() < end)
		weft_progress(vci);
	weft_vci_unlock(vci);
	return has_bc && !weft_net_open(&hints, ignore, NULL, &net) &&
	       !weft_net_peer_add(net, bc.name, bc.name_len, &victim);
}

static void send_bytes(const void *data, size_t len)
{
	uint64_t end = weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S;

	while (weft_net_inject(net, victim, data, len) == WEFT_AGAIN &&
		weft_now_ns() < end)
		weft_net_poll(net);
	n_evil++;
}

static void send_wire(const struct weft_wire_net *wire)
{
	send_bytes(wire, sizeof(*wire));
}

/* One message of each kind; `good` is one that this process is permitted to
 * send. */
static void send_each_kind(const struct weft_wire_net *good)
{
	struct weft_wire_net wire;

	for (size_t len = 1; len < sizeof(*good); len += 5)
		send_bytes(good, len);
	wire = *good;
	wire.version++;
	send_wire(&wire);
	wire = *good;
	wire.src_proc ^= 1ull << 40; /* another job */
	send_wire(&wire);
	wire = *good;
	wire.src_proc += 1000; /* no such process */
	send_wire(&wire);
	wire = *good;
	wire.src_proc -= 1; /* rank 1, with rank 2's key */
	send_wire(&wire);
	wire = *good;
	wire.src_proc -= 2; /* rank 0 itself */
	send_wire(&wire);
	wire = *good;
	wire.cookie ^= 1;
	send_wire(&wire);
	send_wire(good); /* all is right, but it was sent before */
	wire = *good;
	wire.head.op = 200; /* the same, from an unknown process */
	send_wire(&wire);
}

static void send_noise(void)
{
	uint64_t noise[8], x = 88172645463325252ull;

	for (int i = 0; i < N_NOISE; i++) {
		for (int k = 0; k < 8; k++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			noise[k] = x;
		}
		send_bytes(noise, x % (sizeof(noise) + 1));
	}
}

/* At the port, below libfabric. */
static void knock(void)
{
	char text[700];
	struct sockaddr_in to;

	memcpy(&to, bc.name + PREFIX_LEN, sizeof(to));
	if (to.sin_family != AF_INET)
		return;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i * 37);
	for (size_t k = 0; k < 8; k++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (fd < 0 || connect(fd, (void *)&to, sizeof(to)))
			break;
		if (k && send(fd, text, k * 90, MSG_NOSIGNAL) < 0)
			break;
		if (k % 2)
			close(fd); /* the other connections stay open and send
				      no more */
	}
}

static void be_stranger(MPI_Comm comm)
{
	struct weft_peer *peer;
	struct weft_wire_net good;
	bool opened = open_beside();
	MPI_Request end;
	int flag = 0;
	long n;

	claim(opened, "a foreign process connects to the endpoint");
	if (opened) {
		peer = weft_peer_of(&weft_proc.vci, weft_proc.proc - 2);
		good = (struct weft_wire_net){
			.version = WEFT_WIRE_VERSION,
			.number = 1,
			.src_proc = weft_proc.proc,
			.cookie = peer->cookie_out,
			.head = { .op = WEFT_WIRE_EAGER,
				.src = 2,
				.ctx = WEFT_CTX_WORLD,
				.tag = TAG_EVIL },
		};
		send_each_kind(&good);
		send_noise();
		if (getenv("STRANGER_KNOCKS"))
			knock();
	}
	n = (long)n_evil;
	MPI_Send(&n, 1, MPI_LONG, 1, TAG_END, comm);
	MPI_Send(&n, 1, MPI_LONG, 0, TAG_END, comm);
	/* its endpoint lives until all messages have arrived */
	MPI_Ibarrier(comm, &end);
	while (!flag) {
		MPI_Test(&end, &flag, MPI_STATUS_IGNORE);
		if (opened)
			weft_net_poll(net);
	}
	if (opened)
		weft_net_close(net);
}

/* ---- ranks 0 and 1 ---- */

/* Exchanges messages until rank 2 has sent all of its own; returns their
 * number. */
static long work(MPI_Comm comm, int rank)
{
	long n = -1, mine[100], other[100];
	int said = 0, going = 1, bad = 0;
	MPI_Request end;

	MPI_Irecv(&n, 1, MPI_LONG, 2, TAG_END, comm, &end);
	for (long round = 0; going; round++) {
		int both[2];

		for (int i = 0; i < 100; i++)
			mine[i] = round * 100 + i + rank;
		MPI_Sendrecv(mine, 100, MPI_LONG, !rank, TAG_WORK, other, 100,
			MPI_LONG, !rank, TAG_WORK, comm, MPI_STATUS_IGNORE);
		for (int i = 0; i < 100; i++)
			bad += other[i] != round * 100 + i + !rank;
		if (!said)
			MPI_Test(&end, &said, MPI_STATUS_IGNORE);
		MPI_Sendrecv(&said, 1, MPI_INT, !rank, TAG_WORK, both, 1,
			MPI_INT, !rank, TAG_WORK, comm, MPI_STATUS_IGNORE);
		going = !said || !both[0];
	}
	claim(!bad, "the others' work is not disturbed");
	return n;
}

static void judge(MPI_Comm comm, long n)
{
	uint64_t end = weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S;
	struct weft_vci *vci = &weft_proc.vci;
	int flag = 0;

	do
		MPI_Iprobe(2, TAG_EVIL, comm, &flag, MPI_STATUS_IGNORE);
	while (vci->counters.dropped < (uint64_t)n && weft_now_ns() < end);
	claim(!flag, "no message of the foreign process arrived");
	claim(n > N_NOISE && vci->counters.dropped == (uint64_t)n,
		"each message of the foreign process is dropped and counted");
	printf("# %llu dropped of %ld\n",
		(unsigned long long)vci->counters.dropped, n);
}

int main(int argc, char **argv)
{
	MPI_Comm comm = MPI_COMM_WORLD;
	MPI_Request end;
	int rank, word = 0;
	long n;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(comm, &rank);
	if (rank == 2)
		MPI_Send(&word, 1, MPI_INT, 0, TAG_WORK, comm);
	if (rank == 0)
		MPI_Recv(&word, 1, MPI_INT, 2, TAG_WORK, comm,
			MPI_STATUS_IGNORE);
	if (rank == 2) {
		be_stranger(comm);
	} else {
		n = work(comm, rank);
		if (rank == 0)
			judge(comm, n);
		MPI_Ibarrier(comm, &end);
		MPI_Wait(&end, MPI_STATUS_IGNORE);
	}
	MPI_Finalize();
	return n_failed != 0;
}
