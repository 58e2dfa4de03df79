/* SPDX-License-Identifier: BSD-3-Clause */
/* dt_random: random datatypes in all operations that use one
 *
 * Each seed gives two types of one signature (dt_map.h), the second without
 * overlapping entries, and some operations with them. All bytes of all buffers,
 * gaps included, are compared with the type maps. Arguments: seed=N (the
 * first), n=N (number of seeds), ops=N (operations of each), op=N (only this
 * one). A failure prints its seed and both types. */
#include "dt_map.h"
#include "file.h"

enum {
	PROCS_MAX = 16,
	SPAN_MAX = 100000, /* limit for the bytes from the first to the last of
			      a buffer */
	MEMORY = 1 << 18,  /* limit for a window, and for the part of a file */
	PARTITIONS_MAX = 32,
};

enum role { SENT, RECEIVED, WINDOW, RESULT, N_ROLES };

static struct {
	long seed;
	struct node *from, *to;
	int n_from, n_to;
	size_t len; /* limit for the stream */
	const char *op;
} now;

static int left, right;

static uint64_t tag_of(int rank, enum role role)
{
	return ((uint64_t)now.seed * PROCS_MAX + (uint64_t)rank) * N_ROLES +
	       role;
}

/* The stream of count items of a buffer that has this tag. */
static char *stream_of(const struct map *m, int count, uint64_t tag)
{
	struct area area = area_new(m, count, tag);
	char *stream = mtest_alloc((size_t)(map_size(m) * count));

	map_move(m, count, area.at, stream, true);
	free(area.mem);
	return stream;
}

static char *sent_by(int rank)
{
	return stream_of(&now.from->map, now.n_from, tag_of(rank, SENT));
}

static void compare(const char *got, const char *want, size_t len)
{
	size_t at = 0;

	while (at < len && got[at] == want[at])
		at++;
	if (!CHECK(at == len, "seed=%ld %s: byte %zu of %zu is %d, not %d",
		    now.seed, now.op, at, len, at < len ? got[at] : 0,
		    at < len ? want[at] : 0))
		fprintf(stderr, "# rank %d: from %d of %s\n#   to %d of %s\n",
			mtest.rank, now.n_from, now.from->text, now.n_to,
			now.to->text);
}

/* Received data: n_to items from each rank, beginning at item `at`. */
struct arrival {
	int at;
	char *stream; /* owned */
};

/* Checks that the area has the received data and is unchanged otherwise. Frees
 * it.
 */
static void expect(struct area *got, int count, uint64_t tag,
	const struct arrival *arrivals, int n)
{
	const struct map *m = &now.to->map;
	struct area want = area_new(m, count, tag);

	for (int i = 0; i < n; i++) {
		map_move(m, now.n_to, want.at + arrivals[i].at * map_extent(m),
			arrivals[i].stream, false);
		free(arrivals[i].stream);
	}
	compare(got->mem, want.mem, want.len);
	free(want.mem);
	free(got->mem);
}

static void expect_from(struct area *got, int rank)
{
	expect(got, now.n_to, tag_of(mtest.rank, RECEIVED),
		&(struct arrival){ 0, sent_by(rank) }, 1);
}

static struct area to_send(void)
{
	return area_new(&now.from->map, now.n_from, tag_of(mtest.rank, SENT));
}

static struct area to_receive(void)
{
	return area_new(&now.to->map, now.n_to, tag_of(mtest.rank, RECEIVED));
}

/* Checks that sent data is unchanged. Frees the area. */
static void expect_sent(struct area *area, const struct map *m, int count)
{
	struct area want = area_new(m, count, tag_of(mtest.rank, SENT));

	compare(area->mem, want.mem, want.len);
	free(want.mem);
	free(area->mem);
}

/* ---- the types themselves ---- */

static void query(const struct node *node)
{
	MPI_Aint lb, extent, true_lb, true_extent, low, high;
	int size;

	OK(MPI_Type_size(node->type, &size));
	OK(MPI_Type_get_extent(node->type, &lb, &extent));
	OK(MPI_Type_get_true_extent(node->type, &true_lb, &true_extent));
	map_span(&node->map, 1, &low, &high);
	CHECK(size == map_size(&node->map) && lb == node->map.lb &&
			extent == map_extent(&node->map) && true_lb == low &&
			true_extent == high - low,
		"seed=%ld: size %d, lb %ld, extent %ld, true %ld, %ld of %s",
		now.seed, size, (long)lb, (long)extent, (long)true_lb,
		(long)true_extent, node->text);
}

/* ---- messages ---- */

static void check_status(const MPI_Status *status)
{
	int basic = map_basic(&now.to->map), n = -1, want;

	if (basic < 0 || basic > N_SINGLE)
		return;
	want = now.n_to * now.to->map.n;
	OK(MPI_Get_elements(status, now.to->type, &n));
	CHECK(n == want, "seed=%ld %s: %d elements", now.seed, now.op, n);
	OK(MPI_Get_count(status, basics[basic].type, &n));
	CHECK(n == want, "seed=%ld %s: %d counted", now.seed, now.op, n);
}

static void receive(struct area *to, int how, MPI_Request *req)
{
	MPI_Message message;
	MPI_Status status;

	if (how == 0) {
		OK(MPI_Recv(to->at, now.n_to, now.to->type, left, 7,
			MPI_COMM_WORLD, &status));
	} else if (how == 1) {
		OK(MPI_Mprobe(left, 7, MPI_COMM_WORLD, &message, &status));
		check_status(&status);
		OK(MPI_Mrecv(
			to->at, now.n_to, now.to->type, &message, &status));
	} else {
		OK(MPI_Wait(req, &status));
	}
	check_status(&status);
}

static void op_message(void)
{
	struct area from = to_send(), to = to_receive();
	MPI_Request req[2] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL };
	int how = draw(3), mode = draw(4), room = 0;
	char *buffer = NULL;

	if (how == 2)
		OK(MPI_Irecv(to.at, now.n_to, now.to->type, left, 7,
			MPI_COMM_WORLD, &req[1]));
	if (mode == 0)
		OK(MPI_Isend(from.at, now.n_from, now.from->type, right, 7,
			MPI_COMM_WORLD, &req[0]));
	if (mode == 1)
		OK(MPI_Issend(from.at, now.n_from, now.from->type, right, 7,
			MPI_COMM_WORLD, &req[0]));
	if (mode == 2) {
		OK(MPI_Pack_size(
			now.n_from, now.from->type, MPI_COMM_WORLD, &room));
		room += MPI_BSEND_OVERHEAD;
		buffer = mtest_alloc((size_t)room);
		OK(MPI_Buffer_attach(buffer, room));
		OK(MPI_Bsend(from.at, now.n_from, now.from->type, right, 7,
			MPI_COMM_WORLD));
	}
	if (mode == 3 && how == 2)
		OK(MPI_Send(from.at, now.n_from, now.from->type, right, 7,
			MPI_COMM_WORLD));
	else if (mode == 3)
		OK(MPI_Isend(from.at, now.n_from, now.from->type, right, 7,
			MPI_COMM_WORLD, &req[0]));
	receive(&to, how, &req[1]);
	OK(MPI_Wait(&req[0], MPI_STATUS_IGNORE));
	if (buffer)
		OK(MPI_Buffer_detach(&buffer, &room));
	free(buffer);
	expect_from(&to, left);
	expect_sent(&from, &now.from->map, now.n_from);
}

static void op_sendrecv(void)
{
	struct area from = to_send(), to = to_receive();
	MPI_Status status;

	OK(MPI_Sendrecv(from.at, now.n_from, now.from->type, right, 1, to.at,
		now.n_to, now.to->type, left, 1, MPI_COMM_WORLD, &status));
	check_status(&status);
	expect_from(&to, left);
	expect_sent(&from, &now.from->map, now.n_from);
}

static void op_replace(void)
{
	const struct map *m = &now.to->map;
	struct area to = to_receive();

	OK(MPI_Sendrecv_replace(to.at, now.n_to, now.to->type, right, 2, left,
		2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	expect(&to, now.n_to, tag_of(mtest.rank, RECEIVED),
		&(struct arrival){
			0, stream_of(m, now.n_to, tag_of(left, RECEIVED)) },
		1);
}

static void op_persistent(void)
{
	struct area from = to_send(), to = to_receive();
	MPI_Request req[2];

	if (one_of(2))
		OK(MPI_Send_init(from.at, now.n_from, now.from->type, right, 3,
			MPI_COMM_WORLD, &req[0]));
	else
		OK(MPI_Ssend_init(from.at, now.n_from, now.from->type, right, 3,
			MPI_COMM_WORLD, &req[0]));
	OK(MPI_Recv_init(to.at, now.n_to, now.to->type, left, 3, MPI_COMM_WORLD,
		&req[1]));
	for (int i = 0; i < 2; i++) {
		fill(to.mem, to.len, tag_of(mtest.rank, RECEIVED));
		OK(MPI_Startall(2, req));
		OK(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
	}
	OK(MPI_Request_free(&req[0]));
	OK(MPI_Request_free(&req[1]));
	expect_from(&to, left);
	expect_sent(&from, &now.from->map, now.n_from);
}

/* An item is a partition. */
static void op_partitioned(void)
{
	struct area from, to;
	MPI_Request req[2];

	if (!now.n_from || !now.n_to || now.n_from > PARTITIONS_MAX ||
		now.n_to > PARTITIONS_MAX)
		return;
	from = to_send();
	to = to_receive();
	OK(MPI_Psend_init(from.at, now.n_from, 1, now.from->type, right, 4,
		MPI_COMM_WORLD, MPI_INFO_NULL, &req[0]));
	OK(MPI_Precv_init(to.at, now.n_to, 1, now.to->type, left, 4,
		MPI_COMM_WORLD, MPI_INFO_NULL, &req[1]));
	for (int round = 0; round < 2; round++) {
		fill(to.mem, to.len, tag_of(mtest.rank, RECEIVED));
		OK(MPI_Startall(2, req));
		for (int i = 0; i < now.n_from; i++)
			OK(MPI_Pready(round ? i : now.n_from - 1 - i, req[0]));
		OK(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
	}
	OK(MPI_Request_free(&req[0]));
	OK(MPI_Request_free(&req[1]));
	expect_from(&to, left);
	expect_sent(&from, &now.from->map, now.n_from);
}

/* ---- collectives ---- */

enum how { BLOCKING, NONBLOCKING, PERSISTENT, N_HOW };

static void coll_finish(enum how how, MPI_Request *req)
{
	if (how == PERSISTENT)
		OK(MPI_Start(req));
	if (how != BLOCKING)
		OK(MPI_Wait(req, MPI_STATUS_IGNORE));
	if (how == PERSISTENT)
		OK(MPI_Request_free(req));
}

/* MPI_Name, MPI_Iname or MPI_Name_init of these arguments */
#define COLL(Name, Iname, ...)                                               \
	do {                                                                 \
		enum how how_ = (enum how)draw(N_HOW);                       \
		MPI_Request req_ = MPI_REQUEST_NULL;                         \
                                                                             \
		if (how_ == BLOCKING)                                        \
			OK(MPI_##Name(__VA_ARGS__, MPI_COMM_WORLD));         \
		else if (how_ == NONBLOCKING)                                \
			OK(MPI_##Iname(__VA_ARGS__, MPI_COMM_WORLD, &req_)); \
		else                                                         \
			OK(MPI_##Name##_init(__VA_ARGS__, MPI_COMM_WORLD,    \
				MPI_INFO_NULL, &req_));                      \
		coll_finish(how_, &req_);                                    \
	} while (0)

static void op_bcast(void)
{
	int root = draw(mtest.size);
	struct area from, to;

	if (mtest.rank == root) {
		from = to_send();
		COLL(Bcast, Ibcast, from.at, now.n_from, now.from->type, root);
		expect_sent(&from, &now.from->map, now.n_from);
		return;
	}
	to = to_receive();
	COLL(Bcast, Ibcast, to.at, now.n_to, now.to->type, root);
	expect_from(&to, root);
}

/* True if the limits permit n_to items of each rank. */
static bool has_space(void)
{
	int n = mtest.size * now.n_to;
	MPI_Aint low, high;

	map_span(&now.to->map, n, &low, &high);
	return high - low <= SPAN_MAX && map_is_disjoint(&now.to->map, n);
}

/* Positions of the ranks' data: in the order of ranks, or in another one. */
static void draw_places(bool is_shuffled, int counts[], int places[], int n)
{
	for (int i = 0; i < mtest.size; i++) {
		counts[i] = n;
		places[i] = i;
	}
	for (int i = mtest.size - 1; is_shuffled && i > 0; i--) {
		int k = draw(i + 1), was = places[i];

		places[i] = places[k];
		places[k] = was;
	}
	for (int i = 0; i < mtest.size; i++)
		places[i] *= n;
}

static void expect_all(struct area *to, const int places[])
{
	struct arrival arrivals[PROCS_MAX];

	for (int i = 0; i < mtest.size; i++)
		arrivals[i] = (struct arrival){ places[i], sent_by(i) };
	expect(to, mtest.size * now.n_to, tag_of(mtest.rank, RECEIVED),
		arrivals, mtest.size);
}

static void op_gather(void)
{
	int counts[PROCS_MAX], places[PROCS_MAX], root = draw(mtest.size);
	bool is_v = one_of(2);
	struct area from, to;

	if (!has_space())
		return;
	draw_places(is_v, counts, places, now.n_to);
	from = to_send();
	to = area_new(&now.to->map, mtest.size * now.n_to,
		tag_of(mtest.rank, RECEIVED));
	if (is_v)
		COLL(Gatherv, Igatherv, from.at, now.n_from, now.from->type,
			to.at, counts, places, now.to->type, root);
	else
		COLL(Gather, Igather, from.at, now.n_from, now.from->type,
			to.at, now.n_to, now.to->type, root);
	if (mtest.rank == root)
		expect_all(&to, places);
	else
		free(to.mem);
	expect_sent(&from, &now.from->map, now.n_from);
}

static void op_allgather(void)
{
	int counts[PROCS_MAX], places[PROCS_MAX];
	bool is_v = one_of(2);
	struct area from, to;

	if (!has_space())
		return;
	draw_places(is_v, counts, places, now.n_to);
	from = to_send();
	to = area_new(&now.to->map, mtest.size * now.n_to,
		tag_of(mtest.rank, RECEIVED));
	if (is_v)
		COLL(Allgatherv, Iallgatherv, from.at, now.n_from,
			now.from->type, to.at, counts, places, now.to->type);
	else
		COLL(Allgather, Iallgather, from.at, now.n_from, now.from->type,
			to.at, now.n_to, now.to->type);
	expect_all(&to, places);
	expect_sent(&from, &now.from->map, now.n_from);
}

/* Part i of what a rank sends to all, n_from items each. */
static char *part_of(int rank, int part)
{
	const struct map *m = &now.from->map;
	struct area area =
		area_new(m, mtest.size * now.n_from, tag_of(rank, SENT));
	char *stream = mtest_alloc(now.len);

	map_move(m, now.n_from, area.at + part * now.n_from * map_extent(m),
		stream, true);
	free(area.mem);
	return stream;
}

static void op_scatter(void)
{
	int counts[PROCS_MAX], places[PROCS_MAX], root = draw(mtest.size);
	int n = mtest.size * now.n_from;
	bool is_v = one_of(2);
	struct area from =
		area_new(&now.from->map, n, tag_of(mtest.rank, SENT));
	struct area to = to_receive();

	draw_places(is_v, counts, places, now.n_from);
	if (is_v)
		COLL(Scatterv, Iscatterv, from.at, counts, places,
			now.from->type, to.at, now.n_to, now.to->type, root);
	else
		COLL(Scatter, Iscatter, from.at, now.n_from, now.from->type,
			to.at, now.n_to, now.to->type, root);
	expect(&to, now.n_to, tag_of(mtest.rank, RECEIVED),
		&(struct arrival){ 0,
			part_of(root, now.n_from
					      ? places[mtest.rank] / now.n_from
					      : 0) },
		1);
	expect_sent(&from, &now.from->map, n);
}

/* Displacements of alltoallw, in bytes. */
static void in_bytes(
	const struct node *node, int places[], MPI_Datatype types[PROCS_MAX])
{
	for (int i = 0; i < mtest.size; i++) {
		places[i] *= (int)map_extent(&node->map);
		types[i] = node->type;
	}
}

static void op_alltoall(void)
{
	int out[PROCS_MAX], from_at[PROCS_MAX], in[PROCS_MAX], to_at[PROCS_MAX],
		how = draw(3), n = mtest.size * now.n_from;
	MPI_Datatype from_types[PROCS_MAX], to_types[PROCS_MAX];
	struct arrival arrivals[PROCS_MAX];
	struct area from, to;

	if (!has_space())
		return;
	draw_places(how, out, from_at, now.n_from);
	draw_places(how, in, to_at, now.n_to);
	for (int i = 0; i < mtest.size; i++) {
		int part = from_at[mtest.rank] / (now.n_from ? now.n_from : 1);

		arrivals[i] = (struct arrival){ to_at[i], part_of(i, part) };
	}
	from = area_new(&now.from->map, n, tag_of(mtest.rank, SENT));
	to = area_new(&now.to->map, mtest.size * now.n_to,
		tag_of(mtest.rank, RECEIVED));
	if (how == 0)
		COLL(Alltoall, Ialltoall, from.at, now.n_from, now.from->type,
			to.at, now.n_to, now.to->type);
	if (how == 1)
		COLL(Alltoallv, Ialltoallv, from.at, out, from_at,
			now.from->type, to.at, in, to_at, now.to->type);
	if (how == 2) {
		in_bytes(now.from, from_at, from_types);
		in_bytes(now.to, to_at, to_types);
		COLL(Alltoallw, Ialltoallw, from.at, out, from_at, from_types,
			to.at, in, to_at, to_types);
	}
	expect(&to, mtest.size * now.n_to, tag_of(mtest.rank, RECEIVED),
		arrivals, mtest.size);
	expect_sent(&from, &now.from->map, n);
}

/* ---- reductions, by an operation of the program ---- */

static MPI_Op xor_op;

static void xor_items(void *in, void *inout, int *len, MPI_Datatype *type)
{
	const struct map *m = &now.to->map;
	size_t n = (size_t)(map_size(m) * *len);
	char *a = mtest_alloc(n), *b = mtest_alloc(n);

	(void)type;
	map_move(m, *len, in, a, true);
	map_move(m, *len, inout, b, true);
	for (size_t i = 0; i < n; i++)
		b[i] ^= a[i];
	map_move(m, *len, inout, b, false);
	free(a);
	free(b);
}

/* The combined streams of ranks 0 to n - 1: of several parts, this one. */
static char *xor_of(int n, int parts, int part)
{
	char *sum = mtest_alloc(now.len);

	for (int rank = 0; rank < n; rank++) {
		char *stream = stream_of(
			&now.to->map, parts * now.n_to, tag_of(rank, SENT));

		for (size_t i = 0; i < now.len; i++)
			sum[i] ^= stream[(size_t)part * now.len + i];
		free(stream);
	}
	return sum;
}

/* The data of reductions: parts times n_to items. */
static struct area to_reduce(int parts)
{
	return area_new(
		&now.to->map, parts * now.n_to, tag_of(mtest.rank, SENT));
}

static void op_reduce(void)
{
	struct area in = to_reduce(1), out = to_receive();
	int root = draw(mtest.size), kind = draw(4), n = mtest.size;
	bool is_result = true;

	if (kind == 0) {
		COLL(Reduce, Ireduce, in.at, out.at, now.n_to, now.to->type,
			xor_op, root);
		is_result = mtest.rank == root;
	} else if (kind == 1) {
		COLL(Allreduce, Iallreduce, in.at, out.at, now.n_to,
			now.to->type, xor_op);
	} else if (kind == 2) {
		COLL(Scan, Iscan, in.at, out.at, now.n_to, now.to->type,
			xor_op);
		n = mtest.rank + 1;
	} else {
		COLL(Exscan, Iexscan, in.at, out.at, now.n_to, now.to->type,
			xor_op);
		n = mtest.rank;
		is_result = n > 0;
	}
	if (is_result)
		expect(&out, now.n_to, tag_of(mtest.rank, RECEIVED),
			&(struct arrival){ 0, xor_of(n, 1, 0) }, 1);
	else
		free(out.mem);
	expect_sent(&in, &now.to->map, now.n_to);
}

static void op_reduce_in_place(void)
{
	struct area both = to_reduce(1), mine;

	COLL(Allreduce, Iallreduce, MPI_IN_PLACE, both.at, now.n_to,
		now.to->type, xor_op);
	expect(&both, now.n_to, tag_of(mtest.rank, SENT),
		&(struct arrival){ 0, xor_of(mtest.size, 1, 0) }, 1);
	both = to_reduce(1);
	mine = to_reduce(1);
	OK(MPI_Reduce_local(mine.at, both.at, now.n_to, now.to->type, xor_op));
	expect(&both, now.n_to, tag_of(mtest.rank, SENT),
		&(struct arrival){ 0, mtest_alloc(now.len) }, 1);
	expect_sent(&mine, &now.to->map, now.n_to);
}

static void op_reduce_scatter(void)
{
	int counts[PROCS_MAX], places[PROCS_MAX];
	struct area in, out;

	if (!has_space())
		return;
	draw_places(false, counts, places, now.n_to);
	in = to_reduce(mtest.size);
	out = to_receive();
	if (one_of(2))
		COLL(Reduce_scatter_block, Ireduce_scatter_block, in.at, out.at,
			now.n_to, now.to->type, xor_op);
	else
		COLL(Reduce_scatter, Ireduce_scatter, in.at, out.at, counts,
			now.to->type, xor_op);
	expect(&out, now.n_to, tag_of(mtest.rank, RECEIVED),
		&(struct arrival){
			0, xor_of(mtest.size, mtest.size, mtest.rank) },
		1);
	expect_sent(&in, &now.to->map, mtest.size * now.n_to);
}

/* ---- packing ---- */

static void op_pack(void)
{
	struct area from = to_send(), to = to_receive();
	int room = 0, at = 3, end;
	char *box;

	OK(MPI_Pack_size(now.n_from, now.from->type, MPI_COMM_WORLD, &room));
	box = mtest_alloc((size_t)room + 3);
	OK(MPI_Pack(from.at, now.n_from, now.from->type, box, room + 3, &at,
		MPI_COMM_WORLD));
	end = at;
	at = 3;
	OK(MPI_Unpack(
		box, end, &at, to.at, now.n_to, now.to->type, MPI_COMM_WORLD));
	CHECK(at == end, "seed=%ld: %d bytes unpacked of %d", now.seed, at,
		end);
	free(box);
	expect_from(&to, mtest.rank);
	expect_sent(&from, &now.from->map, now.n_from);
}

/* Converts all numbers to big-endian. */
static void external_stream(const struct map *m, int count, char *stream)
{
	for (int i = 0; i < count * m->n; i++) {
		const struct basic *b = &basics[m->e[i % m->n].basic];

		for (int p = 0; p < 2; p++) {
			for (int k = 0; k < b->len[p] / 2; k++) {
				char was = stream[k];

				stream[k] = stream[b->len[p] - 1 - k];
				stream[b->len[p] - 1 - k] = was;
			}
			stream += b->len[p];
		}
	}
}

static void op_external(void)
{
	struct area from = to_send(), to = to_receive();
	char *box, *want = sent_by(mtest.rank);
	MPI_Aint room = 0, at = 0;

	OK(MPI_Pack_external_size(
		"external32", now.n_from, now.from->type, &room));
	CHECK((size_t)room == now.len, "seed=%ld: %ld external bytes, not %zu",
		now.seed, (long)room, now.len);
	box = mtest_alloc((size_t)room);
	OK(MPI_Pack_external("external32", from.at, now.n_from, now.from->type,
		box, room, &at));
	external_stream(&now.from->map, now.n_from, want);
	compare(box, want, (size_t)room < now.len ? (size_t)room : now.len);
	at = 0;
	OK(MPI_Unpack_external(
		"external32", box, room, &at, to.at, now.n_to, now.to->type));
	free(box);
	free(want);
	expect_from(&to, mtest.rank);
	expect_sent(&from, &now.from->map, now.n_from);
}

/* ---- windows ---- */

static struct window {
	MPI_Win win;
	char *mem;
	MPI_Aint base[PROCS_MAX]; /* displacement of mem[0] at each rank */
} windows[3];

static MPI_Group left_group, right_group;

/* An access to the window of the right neighbor, as the left one makes to mine.
 */
static struct {
	struct window *w;
	MPI_Aint at; /* of the buffer, from mem on */
	size_t len;  /* bytes of mem that it uses, with guards */
	int epoch;
} win_now;

enum { FENCE, STARTED, LOCK, LOCK_ALL, N_EPOCHS };

static void windows_open(void)
{
	MPI_Group all;

	OK(MPI_Win_allocate(MEMORY, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
		&windows[0].mem, &windows[0].win));
	windows[1].mem = mtest_alloc(MEMORY);
	OK(MPI_Win_create(windows[1].mem, MEMORY, 1, MPI_INFO_NULL,
		MPI_COMM_WORLD, &windows[1].win));
	windows[2].mem = mtest_alloc(MEMORY);
	OK(MPI_Win_create_dynamic(
		MPI_INFO_NULL, MPI_COMM_WORLD, &windows[2].win));
	OK(MPI_Win_attach(windows[2].win, windows[2].mem, MEMORY));
	OK(MPI_Get_address(windows[2].mem, &windows[2].base[mtest.rank]));
	OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, windows[2].base, 1,
		MPI_AINT, MPI_COMM_WORLD));
	OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
	OK(MPI_Group_incl(all, 1, &left, &left_group));
	OK(MPI_Group_incl(all, 1, &right, &right_group));
	OK(MPI_Group_free(&all));
}

static void windows_close(void)
{
	OK(MPI_Group_free(&left_group));
	OK(MPI_Group_free(&right_group));
	OK(MPI_Win_detach(windows[2].win, windows[2].mem));
	for (int i = 0; i < 3; i++)
		OK(MPI_Win_free(&windows[i].win));
	free(windows[1].mem);
	free(windows[2].mem);
}

/* Memory for count items of a type as all ranks have it now. */
static void memory_fill(char *mem, int rank)
{
	fill(mem, win_now.len, tag_of(rank, WINDOW));
}

static void win_begin(const struct map *m, int count, int align)
{
	MPI_Aint low, high;
	MPI_Win win;

	map_span(m, count, &low, &high);
	win_now.w = &windows[draw(3)];
	win_now.epoch = draw(N_EPOCHS);
	win_now.at = GUARD - low +
		     (align ? (low % align + align) % align : draw(16));
	win_now.len = (size_t)(high - low) + 2 * GUARD + 16;
	win = win_now.w->win;
	OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mtest.rank, 0, win));
	memory_fill(win_now.w->mem, mtest.rank);
	OK(MPI_Win_unlock(mtest.rank, win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	if (win_now.epoch == FENCE)
		OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
	if (win_now.epoch == STARTED) {
		OK(MPI_Win_post(left_group, 0, win));
		OK(MPI_Win_start(right_group, 0, win));
	}
	if (win_now.epoch == LOCK)
		OK(MPI_Win_lock(
			one_of(2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, right,
			0, win));
	if (win_now.epoch == LOCK_ALL)
		OK(MPI_Win_lock_all(0, win));
}

static void win_end(void)
{
	MPI_Win win = win_now.w->win;

	if (win_now.epoch == FENCE)
		OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
	if (win_now.epoch == STARTED) {
		OK(MPI_Win_complete(win));
		OK(MPI_Win_wait(win));
	}
	if (win_now.epoch == LOCK)
		OK(MPI_Win_unlock(right, win));
	if (win_now.epoch == LOCK_ALL) {
		OK(MPI_Win_flush(right, win));
		OK(MPI_Win_unlock_all(win));
	}
	OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Checks that my window has this stream and is unchanged otherwise. Frees the
 * stream. */
static void win_expect(char *stream)
{
	char *want = mtest_alloc(win_now.len);
	MPI_Win win = win_now.w->win;

	memory_fill(want, mtest.rank);
	if (stream)
		map_move(&now.to->map, now.n_to, want + win_now.at, stream,
			false);
	OK(MPI_Win_lock(MPI_LOCK_SHARED, mtest.rank, 0, win));
	compare(win_now.w->mem, want, win_now.len);
	OK(MPI_Win_unlock(mtest.rank, win));
	OK(MPI_Barrier(MPI_COMM_WORLD));
	free(want);
	free(stream);
}

/* The former memory of a rank, as count items. */
static char *memory_stream(const struct map *m, int count, int rank)
{
	char *mem = mtest_alloc(win_now.len);
	char *stream = mtest_alloc((size_t)(map_size(m) * count));

	memory_fill(mem, rank);
	map_move(m, count, mem + win_now.at, stream, true);
	free(mem);
	return stream;
}

static MPI_Aint win_disp(void)
{
	return win_now.w->base[right] + win_now.at;
}

static bool win_has_request(void)
{
	return win_now.epoch >= LOCK && one_of(2);
}

static void op_put(void)
{
	struct area from = to_send();
	MPI_Request req = MPI_REQUEST_NULL;

	win_begin(&now.to->map, now.n_to, 0);
	if (win_has_request())
		OK(MPI_Rput(from.at, now.n_from, now.from->type, right,
			win_disp(), now.n_to, now.to->type, win_now.w->win,
			&req));
	else
		OK(MPI_Put(from.at, now.n_from, now.from->type, right,
			win_disp(), now.n_to, now.to->type, win_now.w->win));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	win_end();
	win_expect(sent_by(left));
	expect_sent(&from, &now.from->map, now.n_from);
}

static void op_get(void)
{
	struct area to = to_receive();
	MPI_Request req = MPI_REQUEST_NULL;

	win_begin(&now.from->map, now.n_from, 0);
	if (win_has_request())
		OK(MPI_Rget(to.at, now.n_to, now.to->type, right, win_disp(),
			now.n_from, now.from->type, win_now.w->win, &req));
	else
		OK(MPI_Get(to.at, now.n_to, now.to->type, right, win_disp(),
			now.n_from, now.from->type, win_now.w->win));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	win_end();
	expect(&to, now.n_to, tag_of(mtest.rank, RECEIVED),
		&(struct arrival){
			0, memory_stream(&now.from->map, now.n_from, right) },
		1);
	win_expect(NULL);
}

/* Combines two streams of elements of this size, modulo 2^(8 size). */
static char *combined(MPI_Op op, char *was, const char *in, int size)
{
	if (op == MPI_NO_OP)
		return was;
	if (op == MPI_REPLACE)
		return memcpy(was, in, now.len);
	for (size_t i = 0; i < now.len; i += (size_t)size) {
		unsigned carry = 0;

		for (size_t k = i; k < i + (size_t)size; k++) {
			carry += (unsigned char)was[k] + (unsigned char)in[k];
			was[k] = (char)(op == MPI_SUM ? (char)carry
						      : was[k] ^ in[k]);
			carry >>= 8;
		}
	}
	return was;
}

/* Types of one predefined type with arithmetic. */
static bool may_accumulate(MPI_Op *op)
{
	const MPI_Op ops[4] = { MPI_REPLACE, MPI_NO_OP, MPI_SUM, MPI_BXOR };
	int basic = map_basic(&now.to->map);

	if (basic < 0 || dt_rules.unit % basics[basic].align)
		return false;
	*op = ops[draw(basics[basic].is_integer ? 4 : 2)];
	return true;
}

static void op_accumulate(void)
{
	const struct map *m = &now.to->map;
	MPI_Request req = MPI_REQUEST_NULL;
	struct area from;
	char *sent, *was;
	MPI_Op op;

	if (!may_accumulate(&op) || op == MPI_NO_OP)
		return;
	from = to_send();
	win_begin(m, now.n_to, 16);
	if (win_has_request())
		OK(MPI_Raccumulate(from.at, now.n_from, now.from->type, right,
			win_disp(), now.n_to, now.to->type, op, win_now.w->win,
			&req));
	else
		OK(MPI_Accumulate(from.at, now.n_from, now.from->type, right,
			win_disp(), now.n_to, now.to->type, op,
			win_now.w->win));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	win_end();
	sent = sent_by(left);
	was = memory_stream(m, now.n_to, mtest.rank);
	win_expect(combined(op, was, sent, basics[m->e[0].basic].len[0]));
	free(sent);
	expect_sent(&from, &now.from->map, now.n_from);
}

static void op_get_accumulate(void)
{
	const struct map *m = &now.to->map;
	MPI_Request req = MPI_REQUEST_NULL;
	struct area from, result;
	char *sent, *was;
	MPI_Op op;

	if (!may_accumulate(&op))
		return;
	from = to_send();
	result = to_receive();
	win_begin(m, now.n_to, 16);
	if (win_has_request())
		OK(MPI_Rget_accumulate(from.at, now.n_from, now.from->type,
			result.at, now.n_to, now.to->type, right, win_disp(),
			now.n_to, now.to->type, op, win_now.w->win, &req));
	else
		OK(MPI_Get_accumulate(from.at, now.n_from, now.from->type,
			result.at, now.n_to, now.to->type, right, win_disp(),
			now.n_to, now.to->type, op, win_now.w->win));
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
	win_end();
	expect(&result, now.n_to, tag_of(mtest.rank, RECEIVED),
		&(struct arrival){ 0, memory_stream(m, now.n_to, right) }, 1);
	sent = sent_by(left);
	was = memory_stream(m, now.n_to, mtest.rank);
	win_expect(combined(op, was, sent, basics[m->e[0].basic].len[0]));
	free(sent);
	expect_sent(&from, &now.from->map, now.n_from);
}

/* ---- files ---- */

static MPI_File file;

/* A filetype: monotone, and of one byte at least. */
static bool is_filetype(const struct map *m)
{
	if (!m->n || m->e[0].at < 0)
		return false;
	for (int i = 1; i < m->n; i++)
		if (m->e[i].at <= m->e[i - 1].at)
			return false;
	return m->e[0].at + map_extent(m) > m->e[m->n - 1].at;
}

static struct node *make_filetype(void)
{
	const struct dt_rules was = dt_rules;
	struct node *node = NULL;

	dt_rules = (struct dt_rules){ BASIC_BYTE, 1, true };
	for (int i = 0; i < 20 && !(node && is_filetype(&node->map)); i++) {
		if (node)
			node_free(node);
		node = node_make(DEPTH_MAX);
	}
	if (!is_filetype(&node->map)) {
		node_free(node);
		node = node_basic(BASIC_BYTE);
	}
	dt_rules = was;
	OK(MPI_Type_commit(&node->type));
	return node;
}

static void file_write(const struct area *from, MPI_Offset at)
{
	MPI_Request req = MPI_REQUEST_NULL;
	int n = now.n_from, how = draw(6);
	MPI_Datatype type = now.from->type;

	if (how == 0)
		OK(MPI_File_write_at(
			file, at, from->at, n, type, MPI_STATUS_IGNORE));
	if (how == 1)
		OK(MPI_File_write_at_all(
			file, at, from->at, n, type, MPI_STATUS_IGNORE));
	if (how == 2)
		OK(MPI_File_iwrite_at(file, at, from->at, n, type, &req));
	if (how == 3)
		OK(MPI_File_iwrite_at_all(file, at, from->at, n, type, &req));
	if (how > 3)
		OK(MPI_File_seek(file, at, MPI_SEEK_SET));
	if (how == 4)
		OK(MPI_File_write(file, from->at, n, type, MPI_STATUS_IGNORE));
	if (how == 5) {
		OK(MPI_File_write_all_begin(file, from->at, n, type));
		OK(MPI_File_write_all_end(file, from->at, MPI_STATUS_IGNORE));
	}
	OK(MPI_Wait(&req, MPI_STATUS_IGNORE));
}

static void file_read(const struct area *to, MPI_Offset at)
{
	MPI_Request req = MPI_REQUEST_NULL;
	MPI_Datatype type = now.to->type;
	int n = now.n_to, how = draw(6);
	MPI_Status status;

	if (how == 0)
		OK(MPI_File_read_at(file, at, to->at, n, type, &status));
	if (how == 1)
		OK(MPI_File_read_at_all(file, at, to->at, n, type, &status));
	if (how == 2)
		OK(MPI_File_iread_at(file, at, to->at, n, type, &req));
	if (how == 3)
		OK(MPI_File_iread_at_all(file, at, to->at, n, type, &req));
	if (how > 3)
		OK(MPI_File_seek(file, at, MPI_SEEK_SET));
	if (how == 4)
		OK(MPI_File_read_all(file, to->at, n, type, &status));
	if (how == 5) {
		OK(MPI_File_read_all_begin(file, to->at, n, type));
		OK(MPI_File_read_all_end(file, to->at, &status));
	}
	if (how == 2 || how == 3)
		OK(MPI_Wait(&req, &status));
	check_status(&status);
}

static void view_bytes(void)
{
	OK(MPI_File_set_view(file, (MPI_Offset)mtest.rank * MEMORY, MPI_BYTE,
		MPI_BYTE, "native", MPI_INFO_NULL));
}

static void through_view(const struct node *tile, MPI_Offset at, int len)
{
	char *raw = mtest_alloc((size_t)len), *want = mtest_alloc((size_t)len);
	struct area from = to_send(), to = to_receive();
	char *stream = sent_by(mtest.rank);

	fill(want, (size_t)len, tag_of(mtest.rank, WINDOW));
	view_bytes();
	OK(MPI_File_write_at_all(
		file, 0, want, len, MPI_BYTE, MPI_STATUS_IGNORE));
	for (size_t i = 0; i < now.len; i++) {
		long k = (long)at + (long)i;

		want[k / tile->map.n * map_extent(&tile->map) +
			tile->map.e[k % tile->map.n].at] = stream[i];
	}
	free(stream);
	OK(MPI_File_set_view(file, (MPI_Offset)mtest.rank * MEMORY, MPI_BYTE,
		tile->type, one_of(2) ? "native" : "external32",
		MPI_INFO_NULL));
	file_write(&from, at);
	OK(MPI_Barrier(MPI_COMM_WORLD));
	file_read(&to, at);
	expect_from(&to, mtest.rank);
	view_bytes();
	OK(MPI_File_read_at_all(
		file, 0, raw, len, MPI_BYTE, MPI_STATUS_IGNORE));
	compare(raw, want, (size_t)len);
	free(raw);
	free(want);
	expect_sent(&from, &now.from->map, now.n_from);
}

static void op_file(void)
{
	struct node *tile;
	MPI_Offset at;
	MPI_Aint len;

	if (map_basic(&now.to->map) != BASIC_BYTE)
		return;
	tile = make_filetype();
	at = draw(2 * tile->map.n);
	len = ((at + (MPI_Offset)now.len) / tile->map.n + 1) *
		      map_extent(&tile->map) +
	      BOUND_MAX;
	if (len <= MEMORY)
		through_view(tile, at, (int)len);
	node_free(tile);
}

/* ---- cases ---- */

static const struct {
	const char *name;
	void (*run)(void);
} ops[] = {
	{ "message", op_message },
	{ "sendrecv", op_sendrecv },
	{ "sendrecv_replace", op_replace },
	{ "persistent", op_persistent },
	{ "partitioned", op_partitioned },
	{ "bcast", op_bcast },
	{ "gather", op_gather },
	{ "allgather", op_allgather },
	{ "scatter", op_scatter },
	{ "alltoall", op_alltoall },
	{ "reduce", op_reduce },
	{ "reduce in place", op_reduce_in_place },
	{ "reduce_scatter", op_reduce_scatter },
	{ "pack", op_pack },
	{ "external", op_external },
	{ "put", op_put },
	{ "get", op_get },
	{ "accumulate", op_accumulate },
	{ "get_accumulate", op_get_accumulate },
	{ "file", op_file },
};

enum { N_OPS = sizeof(ops) / sizeof(ops[0]) };

static bool is_small(const struct map *m, int count)
{
	MPI_Aint low, high;

	map_span(m, mtest.size * count, &low, &high);
	return high - low <= SPAN_MAX &&
	       map_size(m) * count * mtest.size <= SPAN_MAX;
}

static int draw_count(const struct map *m)
{
	int n = one_of(16) ? 0 : one_of(8) ? 20 + draw(1000) : 1 + draw(5);

	while (n > 1 && !is_small(m, n))
		n /= 2;
	return n;
}

static int gcd(int a, int b)
{
	return b ? gcd(b, a % b) : a;
}

/* Another random type of the same predefined one, with counts that fit. */
static struct node *draw_other(int basic)
{
	struct node *other = node_make(DEPTH_MAX);
	int a = now.from->map.n, b = other->map.n, g, m = 1 + draw(3);

	if (basic >= 0 && b) {
		g = gcd(a, b);
		if (is_small(&now.from->map, b / g * m) &&
			is_small(&other->map, a / g * m) &&
			map_is_disjoint(&other->map, a / g * m)) {
			now.n_from = b / g * m;
			now.n_to = a / g * m;
			return other;
		}
	}
	node_free(other);
	return NULL;
}

static void draw_to(void)
{
	int basic = map_basic(&now.from->map), kind = draw(5);

	now.to = NULL;
	now.n_to = now.n_from;
	if (kind == 0 && map_is_disjoint(&now.from->map, now.n_from)) {
		now.to = now.from;
	} else if (kind == 1 && basic >= 0) {
		now.to = node_basic(basic);
		now.n_to = now.n_from * now.from->map.n;
	} else if (kind == 2 && dt_rules.basic >= 0) {
		now.to = draw_other(basic);
	}
	if (now.to)
		return;
	now.to = node_spread(&now.from->map);
	while (now.n_to > 1 && !is_small(&now.to->map, now.n_to))
		now.n_from = now.n_to /= 2;
}

static void draw_case(long seed)
{
	int basic;

	dt_seed = (uint64_t)seed * 0x9e3779b97f4a7c15ull;
	draw(2);
	basic = one_of(3) ? -1 : one_of(4) ? BASIC_BYTE : draw(N_BASICS);
	dt_rules = (struct dt_rules){ basic, 1, false };
	if (basic >= 0 && one_of(2))
		dt_rules.unit = basics[basic].extent;
	now.seed = seed;
	now.op = "types";
	now.from = node_make(DEPTH_MAX);
	now.n_from = draw_count(&now.from->map);
	draw_to();
	now.len = (size_t)(map_size(&now.from->map) * now.n_from);
	query(now.from);
	query(now.to);
	if (!now.from->is_basic)
		OK(MPI_Type_commit(&now.from->type));
	if (!now.to->is_basic && now.to != now.from)
		OK(MPI_Type_commit(&now.to->type));
}

int main(int argc, char **argv)
{
	long first, n, n_ops, only;

	mtest_init(&argc, &argv);
	first = mtest_arg(argc, argv, "seed", 1);
	n = mtest_arg(argc, argv, "n", 300);
	n_ops = mtest_arg(argc, argv, "ops", 4);
	only = mtest_arg(argc, argv, "op", -1);
	left = (mtest.rank + mtest.size - 1) % mtest.size;
	right = (mtest.rank + 1) % mtest.size;
	basics_init();
	windows_open();
	file = file_scratch("dt_random");
	OK(MPI_Op_create(xor_items, 1, &xor_op));
	for (long seed = first; seed < first + n; seed++) {
		draw_case(seed);
		for (long i = 0; i < n_ops; i++) {
			int op = draw(N_OPS);

			op = only >= 0 ? (int)only : op;
			now.op = ops[op].name;
			ops[op].run();
		}
		if (now.to != now.from)
			node_free(now.to);
		node_free(now.from);
	}
	OK(MPI_Op_free(&xor_op));
	OK(MPI_File_close(&file));
	windows_close();
	return mtest_finish();
}
