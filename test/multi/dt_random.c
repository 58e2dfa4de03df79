/* SPDX-License-Identifier: BSD-3-Clause */
/* dt_random: random datatypes in messages, collectives, packing, windows, files
 *
 * Each seed gives two types of one signature (dt_map.h), the second without
 * overlapping entries, and some operations with them. All bytes of all buffers,
 * gaps included, are compared with the type maps. Arguments: seed=N (the first
 * seed), n=N (number of seeds), ops=N (operations of each seed), op=N (only
 * operation N). A failure prints its seed; if data differs, also both types. */
#include "dt_case.h"
#include "dt_coll.h"
#include "dt_file.h"
#include "dt_win.h"

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
		"seed=%ld: size, bounds and true bounds are those of the map: "
		"%d, %ld, %ld, %ld, %ld of %s",
		now.seed, size, (long)lb, (long)extent, (long)true_lb,
		(long)true_extent, node->text);
}

/* ---- messages ---- */

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

/* A partitioned message. Each item is a partition. */
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
	CHECK(at == end, "seed=%ld: %d bytes are unpacked of %d", now.seed, at,
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
	CHECK((size_t)room == now.len,
		"seed=%ld: the external size is %ld, not %zu", now.seed,
		(long)room, now.len);
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

/* Draws another random type of the predefined type `basic`, and sets both
 * counts so that the signatures are equal. NULL: there are no such counts, a
 * buffer would be too long, or entries of the other type overlap. */
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
