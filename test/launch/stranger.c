/* SPDX-License-Identifier: BSD-3-Clause */
/* stranger: a foreign process connects to a running job
 *
 *   mpiexec -n 3 stranger [MESSAGES [CONNECTIONS]]      (WEFT_SHM=off)
 *
 * Rank 0 and rank 1 exchange messages during the whole test. Rank 2 opens a
 * second endpoint and sends messages to rank 0 as a process outside the job
 * could: noise, truncated and repeated messages, wrong versions, and the names
 * of other processes without their keys. Rank 2 also connects to the TCP port
 * of rank 0's endpoint. It sends nothing there, or noise, or libfabric's first
 * bytes of a connection (the greeting), complete, truncated or altered. The
 * library drops and counts all messages, and the exchange continues. */
#include "base/clock.h"
#include "transport/bc.h"
#include "transport/proc.h"
#include "transport/progress.h"
#include "net/net.h"

#include <mpi.h>

#include <errno.h>
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
	N_NOISE = 500, /* number of messages, unless the command line has one */
	N_OPEN = 32,   /* connections that stay open */
	GREETING_MAX = 512,
	DEADLINE_S = 60,
	PREFIX_LEN = 8, /* bytes before the sockaddr_in in a fabric name */
};

static int n_failed;

static void claim(bool ok, const char *sentence)
{
	printf("%s - %s\n", ok ? "ok" : "not ok", sentence);
	fflush(stdout);
	n_failed += !ok;
}

/* ---- rank 2 ---- */

static struct weft_bc bc; /* business card of rank 0 */
static bool has_bc;
static struct weft_net *net;
static uint64_t victim; /* address of rank 0's endpoint */
static uint64_t n_evil; /* messages sent to it */

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

/* Sends an invalid message of each kind. good: a message of this process that
 * rank 0 accepts from its first endpoint. */
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
	send_wire(good); /* a valid message, but a repetition */
	wire = *good;
	wire.head.op = 200; /* a valid header with an unknown op */
	send_wire(&wire);
}

static uint64_t next_random(void)
{
	static uint64_t x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static void fill_random(void *to, size_t len)
{
	unsigned char *bytes = to;

	for (size_t i = 0; i < len; i++)
		bytes[i] = (unsigned char)(next_random() >> 24);
}

/* Sends an invalid message of a random kind. */
static void send_one(const struct weft_wire_net *good)
{
	struct weft_wire_net wire = *good;
	unsigned char noise[64];
	size_t len = sizeof(wire);

	switch (next_random() % 6) {
	case 0:
		len = next_random() % (sizeof(noise) + 1);
		fill_random(noise, len);
		send_bytes(noise, len);
		return;
	case 1: /* a truncated message */
		len = next_random() % sizeof(wire);
		break;
	case 2: /* a repeated message */
		break;
	case 3: /* a message in the name of another member */
		wire.src_proc -= 1 + next_random() % 2;
		break;
	case 4:
		wire.src_proc = next_random();
		break;
	default:
		wire.cookie ^= 1ull << next_random() % 64;
	}
	send_bytes(&wire, len);
}

/* ---- connections to the TCP port, without libfabric ---- */

static struct sockaddr_in port_of(const unsigned char *name)
{
	struct sockaddr_in at;

	memcpy(&at, name + PREFIX_LEN, sizeof(at));
	return at;
}

/* Writes the first bytes that libfabric sends over a new connection to
 * greeting. Returns their number; 0 if none arrived. */
static size_t learn_greeting(unsigned char *greeting)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	uint64_t end = weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S, addr;
	int in = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), fd = -1;
	socklen_t len = sizeof(at);
	ssize_t n = -1;

	if (bind(in, (void *)&at, sizeof(at)) || listen(in, 1) ||
		getsockname(in, (void *)&at, &len))
		goto out;
	memcpy(bc.name + PREFIX_LEN, &at, sizeof(at));
	if (weft_net_peer_add(net, bc.name, bc.name_len, &addr))
		goto out;
	weft_net_inject(net, addr, "", 0);
	while (n <= 0 && weft_now_ns() < end) {
		weft_net_poll(net);
		if (fd < 0)
			fd = accept(in, NULL, NULL);
		if (fd >= 0)
			n = recv(fd, greeting, GREETING_MAX, MSG_DONTWAIT);
	}
	close(fd);
out:
	close(in);
	return n > 0 ? (size_t)n : 0;
}

static bool is_reset(void)
{
	return next_random() % 16 != 0;
}

/* Closes a connection. Most are reset, because a connection that is closed
 * without a reset keeps its port number in use for a minute. */
static void hang_up(int fd)
{
	struct linger linger = { .l_onoff = is_reset() };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(fd);
}

static size_t choose_bytes(
	unsigned char *to, const unsigned char *greeting, size_t len)
{
	size_t more = next_random() % 700;

	memcpy(to, greeting, len);
	switch (next_random() % 6) {
	case 0: /* sends no data */
		return 0;
	case 1:
		fill_random(to, more);
		return more;
	case 2: /* a truncated greeting */
		return len ? next_random() % len : 0;
	case 3: /* an altered greeting */
		if (len)
			to[next_random() % len] ^= 1 << next_random() % 8;
		return len;
	case 4: /* noise on a valid connection */
		fill_random(to + len, more);
		return len + more;
	default:
		return len;
	}
}

/* Opens n_connections connections and sends bytes over them. Returns the number
 * of connections that were accepted. */
static long knock(struct sockaddr_in to, long n_connections)
{
	unsigned char greeting[GREETING_MAX], bytes[GREETING_MAX + 700];
	int open[N_OPEN];
	long n = 0;
	size_t len = learn_greeting(greeting);

	claim(len > 0, "libfabric's greeting is known");
	memset(open, -1, sizeof(open));
	for (; n < n_connections; n++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0), *slot;
		size_t n_bytes;

		if (fd < 0 || connect(fd, (void *)&to, sizeof(to))) {
			printf("# connection %ld: %s\n", n, strerror(errno));
			break;
		}
		n_bytes = choose_bytes(bytes, greeting, len);
		/* send() fails if the other side has closed the connection */
		if (n_bytes)
			(void)!send(fd, bytes, n_bytes, MSG_NOSIGNAL);
		slot = &open[next_random() % N_OPEN];
		if (*slot >= 0)
			hang_up(*slot);
		*slot = fd;
	}
	for (int i = 0; i < N_OPEN; i++)
		if (open[i] >= 0)
			close(open[i]);
	return n;
}

static void be_stranger(MPI_Comm comm, long n_messages, long n_connections)
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
		for (long i = 0; i < n_messages; i++)
			send_one(&good);
		if (n_connections)
			claim(knock(port_of(bc.name), n_connections) ==
					n_connections,
				"all connections are accepted");
	}
	n = (long)n_evil;
	MPI_Send(&n, 1, MPI_LONG, 1, TAG_END, comm);
	MPI_Send(&n, 1, MPI_LONG, 0, TAG_END, comm);
	/* the second endpoint stays open until all its messages have arrived */
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

/* Ranks 0 and 1 exchange messages until rank 2 has sent all its messages.
 * Returns the number of messages that rank 2 has sent to rank 0. */
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
	claim(!bad, "the exchange of ranks 0 and 1 has no errors");
	return n;
}

/* Checks that rank 0 has dropped the n messages of rank 2. is_lossy: fewer may
 * have arrived, because a repeated greeting may replace the connection of rank
 * 2, and messages on the old connection are lost. */
static void judge(MPI_Comm comm, long n, bool is_lossy)
{
	uint64_t end = weft_now_ns() + DEADLINE_S * WEFT_NS_PER_S;
	struct weft_vci *vci = &weft_proc.vci;
	int flag = 0;

	do
		MPI_Iprobe(2, TAG_EVIL, comm, &flag, MPI_STATUS_IGNORE);
	while (!is_lossy && vci->counters.dropped < (uint64_t)n &&
		weft_now_ns() < end);
	claim(!flag, "no message of the foreign process arrived");
	if (is_lossy)
		claim(vci->counters.dropped > 0,
			"messages of the foreign process are dropped and "
			"counted");
	else
		claim(n > 0 && vci->counters.dropped == (uint64_t)n,
			"each message of the foreign process is dropped and "
			"counted");
	printf("# %llu dropped of %ld\n",
		(unsigned long long)vci->counters.dropped, n);
}

int main(int argc, char **argv)
{
	MPI_Comm comm = MPI_COMM_WORLD;
	MPI_Request end;
	long n, n_messages, n_connections;
	int rank, word = 0;

	MPI_Init(&argc, &argv);
	n_messages = argc > 1 ? atol(argv[1]) : N_NOISE;
	n_connections = argc > 2 ? atol(argv[2]) : 0;
	MPI_Comm_rank(comm, &rank);
	if (rank == 2)
		MPI_Send(&word, 1, MPI_INT, 0, TAG_WORK, comm);
	if (rank == 0)
		MPI_Recv(&word, 1, MPI_INT, 2, TAG_WORK, comm,
			MPI_STATUS_IGNORE);
	if (rank == 2) {
		be_stranger(comm, n_messages, n_connections);
	} else {
		n = work(comm, rank);
		if (rank == 0)
			judge(comm, n, n_connections > 0);
		MPI_Ibarrier(comm, &end);
		MPI_Wait(&end, MPI_STATUS_IGNORE);
	}
	MPI_Finalize();
	return n_failed != 0;
}
