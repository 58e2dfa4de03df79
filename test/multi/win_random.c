/* SPDX-License-Identifier: BSD-3-Clause */
/* win_random: random accesses in random epochs, compared with a model
 *
 * Each process owns a part of every member's memory. Its model is a local copy
 * with the expected contents of these parts. Puts and gets between two flushes
 * use different places. Updates may overlap, because MPI orders them. All
 * processes increment one counter.
 *
 * Arguments: seed=N (the first seed), n=N (number of seeds). */
#include "mtest.h"

enum {
	WORDS = 40000,	  /* words of a part */
	HALF = WORDS / 2, /* puts and gets use the first half, updates the
			   * second half */
	SWAPS = 64,	  /* the last words of a part, for compare_and_swap */
	PENDING_MAX = 64, /* accesses without a flush */
	OPS = 60,	  /* accesses of a round, at most */
	ROUNDS = 8,
};

enum flavor { CREATED, ALLOCATED, OF_ALLOC_MEM, DYNAMIC, FLAVORS };
enum epoch { FENCE, GENERAL, LOCK, EXCLUSIVE, LOCK_ALL, EPOCHS };

/* words of memory: n blocks of len, stride apart */
struct shape {
	int n, len, stride;
	MPI_Datatype type;
};

/* an access that is not complete */
struct pending {
	int64_t *here; /* origin buffer */
	int64_t *result, *expected;
	struct shape shape; /* of result */
	MPI_Request req;
};

static struct {
	long seed;
	uint64_t rng, common_rng;
	int64_t *memory; /* memory of this process: a part for each process, and
			  * the counter */
	MPI_Aint *bases; /* dynamic windows: addresses of all members; else
			  * NULL */
	MPI_Win win;
	int64_t **model; /* expected contents, by target */
	int64_t n_counted;
	struct pending pending[PENDING_MAX];
	int n_pending, cursor[16];
	bool is_passive;
	MPI_Op op; /* operation of all updates until the next flush, or
		    * MPI_NO_OP */
} now;

static uint32_t draw(uint64_t *rng, uint32_t n)
{
	*rng = *rng * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*rng >> 33) % n;
}

static int mine(int n)
{
	return (int)draw(&now.rng, (uint32_t)n);
}

static int64_t value(void)
{
	return (int64_t)mine(1 << 30) * 5 - 77;
}

/* ---- shapes ---- */

static int span_of(const struct shape *s)
{
	return (s->n - 1) * s->stride + s->len;
}

/* Draws a number of words: at most 3, 40, 600 or 8000. */
static int draw_words(void)
{
	static const int max[] = { 3, 40, 600, 8000 };

	return 1 + mine(max[mine(4)]);
}

/* n words in blocks of one length; the span is below HALF - SWAPS */
static struct shape draw_shape(int n)
{
	struct shape s = { 1, n, n, MPI_INT64_T };

	if (n > 1 && mine(2)) {
		s.len = 1 + mine(n > 64 ? 64 : n);
		while (n % s.len)
			s.len--;
		s.n = n / s.len;
		s.stride = s.len + (n < HALF / 4 ? mine(3) : 0);
	}
	OK(MPI_Type_vector(s.n, s.len, s.stride, MPI_INT64_T, &s.type));
	OK(MPI_Type_commit(&s.type));
	return s;
}

static int64_t *word_of(const struct shape *s, int64_t *base, int i)
{
	return base + i / s->len * s->stride + i % s->len;
}

/* ---- completion ---- */

static void draw_op(void)
{
	static const MPI_Op ops[] = { MPI_SUM, MPI_BXOR, MPI_MAX, MPI_REPLACE };

	now.op = ops[mine(4)];
}

static void settle(void)
{
	for (int i = 0; i < now.n_pending; i++) {
		struct pending *p = &now.pending[i];
		int n = p->expected ? p->shape.n * p->shape.len : 0;
		int k = 0;

		while (k < n &&
			*word_of(&p->shape, p->result, k) == p->expected[k])
			k++;
		CHECK(k == n,
			"seed %ld: an access returns the model's words: word "
			"%d of %d differs",
			now.seed, k, n);
		free(p->here);
		free(p->result);
		free(p->expected);
	}
	now.n_pending = 0;
	memset(now.cursor, 0, sizeof(now.cursor));
	draw_op();
}

static void wait_requests(void)
{
	for (int i = 0; i < now.n_pending; i++)
		OK(MPI_Wait(&now.pending[i].req, MPI_STATUS_IGNORE));
}

static void flush(void)
{
	wait_requests();
	OK(MPI_Win_flush_all(now.win));
	settle();
}

/* ---- accesses ---- */

static MPI_Aint disp_of(int target, int word)
{
	MPI_Aint at = (MPI_Aint)mtest.rank * WORDS + word;

	return now.bases ? now.bases[target] + 8 * at : at;
}

static struct pending *new_pending(void)
{
	struct pending *p = &now.pending[now.n_pending++];

	*p = (struct pending){ .req = MPI_REQUEST_NULL };
	return p;
}

static MPI_Request *request_of(struct pending *p)
{
	return now.is_passive && !mine(4) ? &p->req : NULL;
}

static void move(int target, bool is_put)
{
	int n = draw_words();
	struct shape there = draw_shape(n), here = draw_shape(n);
	int at = now.cursor[target] + mine(4), end = at + span_of(&there);
	int64_t *model = now.model[target] + at, *buf;
	struct pending *p;
	MPI_Request *req;
	MPI_Aint disp = disp_of(target, at);

	if (end <= HALF) {
		now.cursor[target] = end;
		p = new_pending();
		req = request_of(p);
		buf = mtest_alloc((size_t)span_of(&here) * 8);
		if (is_put) {
			p->here = buf;
		} else {
			p->result = buf;
			p->shape = here;
			p->expected = mtest_alloc((size_t)n * 8);
		}
		for (int i = 0; i < n; i++) {
			if (is_put)
				*word_of(&there, model, i) =
					*word_of(&here, buf, i) = value();
			else
				p->expected[i] = *word_of(&there, model, i);
		}
		if (is_put && req)
			OK(MPI_Rput(buf, 1, here.type, target, disp, 1,
				there.type, now.win, req));
		else if (is_put)
			OK(MPI_Put(buf, 1, here.type, target, disp, 1,
				there.type, now.win));
		else if (req)
			OK(MPI_Rget(buf, 1, here.type, target, disp, 1,
				there.type, now.win, req));
		else
			OK(MPI_Get(buf, 1, here.type, target, disp, 1,
				there.type, now.win));
	}
	OK(MPI_Type_free(&there.type));
	OK(MPI_Type_free(&here.type));
}

static int64_t combine(MPI_Op op, int64_t old, int64_t in)
{
	if (op == MPI_SUM)
		return old + in;
	if (op == MPI_BXOR)
		return old ^ in;
	if (op == MPI_MAX)
		return old > in ? old : in;
	return op == MPI_REPLACE ? in : old;
}

static void update(int target, bool is_fetching)
{
	MPI_Op op = is_fetching && !mine(4) ? MPI_NO_OP : now.op;
	int n = draw_words();
	struct shape there = draw_shape(n), here = draw_shape(n);
	int at = HALF + mine(HALF - SWAPS - span_of(&there) + 1);
	int64_t *model = now.model[target] + at;
	struct pending *p = new_pending();
	MPI_Request *req = request_of(p);
	MPI_Aint disp = disp_of(target, at);

	p->here = mtest_alloc((size_t)span_of(&here) * 8);
	if (is_fetching) {
		p->shape = draw_shape(n);
		p->result = mtest_alloc((size_t)span_of(&p->shape) * 8);
		p->expected = mtest_alloc((size_t)n * 8);
	}
	for (int i = 0; i < n; i++) {
		int64_t *old = word_of(&there, model, i);
		int64_t in = *word_of(&here, p->here, i) = value();

		if (is_fetching)
			p->expected[i] = *old;
		*old = combine(op, *old, in);
	}
	if (is_fetching && req)
		OK(MPI_Rget_accumulate(p->here, 1, here.type, p->result, 1,
			p->shape.type, target, disp, 1, there.type, op, now.win,
			req));
	else if (is_fetching)
		OK(MPI_Get_accumulate(p->here, 1, here.type, p->result, 1,
			p->shape.type, target, disp, 1, there.type, op,
			now.win));
	else if (req)
		OK(MPI_Raccumulate(p->here, 1, here.type, target, disp, 1,
			there.type, op, now.win, req));
	else
		OK(MPI_Accumulate(p->here, 1, here.type, target, disp, 1,
			there.type, op, now.win));
	if (is_fetching)
		OK(MPI_Type_free(&p->shape.type));
	OK(MPI_Type_free(&there.type));
	OK(MPI_Type_free(&here.type));
}

/* One random update of a single word: fetch_and_op or compare_and_swap on the
 * target's words, or fetch_and_op on the common counter. */
static void one_word(int target)
{
	int how = mine(3);
	int at = how ? HALF + mine(HALF - SWAPS) : WORDS - 1 - mine(SWAPS);
	int64_t *model = now.model[target] + at;
	struct pending *p = new_pending();
	MPI_Aint disp = disp_of(target, at);
	MPI_Op op = mine(4) ? now.op : MPI_NO_OP;

	p->here = mtest_alloc(16);
	p->result = mtest_alloc(8);
	p->here[0] = how == 2 ? 1 : value();
	if (how == 2) {
		disp += ((MPI_Aint)(mtest.size - mtest.rank) * WORDS - at) *
			(now.bases ? 8 : 1);
		now.n_counted++;
		OK(MPI_Fetch_and_op(p->here, p->result, MPI_INT64_T, target,
			disp, MPI_SUM, now.win));
		return;
	}
	p->shape = (struct shape){ 1, 1, 1, MPI_INT64_T };
	p->expected = mtest_alloc(8);
	p->expected[0] = *model;
	if (how == 1) {
		*model = combine(op, *model, p->here[0]);
		OK(MPI_Fetch_and_op(p->here, p->result, MPI_INT64_T, target,
			disp, op, now.win));
		return;
	}
	p->here[1] = *model - mine(2);
	if (p->here[1] == *model)
		*model = p->here[0];
	OK(MPI_Compare_and_swap(p->here, p->here + 1, p->result, MPI_INT64_T,
		target, disp, now.win));
}

/* Makes random accesses. only: the target, or -1 for any. */
static void accesses(int only)
{
	int n = 1 + mine(OPS);

	for (int i = 0; i < n; i++) {
		int target = only < 0 ? mine(mtest.size) : only, how = mine(8);

		if (now.is_passive &&
			(now.n_pending == PENDING_MAX || !mine(10)))
			flush();
		else if (now.is_passive && !mine(10))
			OK(MPI_Win_flush_local(target, now.win));
		if (how < 4)
			move(target, how < 2);
		else if (how < 6)
			update(target, how == 5);
		else
			one_word(target);
	}
	wait_requests();
}

static void round_of(enum epoch epoch)
{
	int target = mine(mtest.size);
	MPI_Group all;

	now.is_passive = epoch >= LOCK;
	if (epoch == FENCE) {
		OK(MPI_Win_fence(0, now.win));
		accesses(-1);
		OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, now.win));
	} else if (epoch == GENERAL) {
		OK(MPI_Win_get_group(now.win, &all));
		OK(MPI_Win_post(all, 0, now.win));
		OK(MPI_Win_start(all, 0, now.win));
		accesses(-1);
		OK(MPI_Win_complete(now.win));
		OK(MPI_Win_wait(now.win));
		OK(MPI_Group_free(&all));
	} else if (epoch == LOCK_ALL) {
		OK(MPI_Win_lock_all(0, now.win));
		accesses(-1);
		OK(MPI_Win_unlock_all(now.win));
	} else {
		OK(MPI_Win_lock(
			epoch == LOCK ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE,
			target, 0, now.win));
		accesses(target);
		OK(MPI_Win_unlock(target, now.win));
	}
	settle();
	/* the next epoch is of another kind: all members must have ended this
	 */
	OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* ---- windows ---- */

static void make(enum flavor flavor)
{
	MPI_Aint len = ((MPI_Aint)mtest.size * WORDS + 1) * 8, base;
	void *memory;

	if (flavor == ALLOCATED) {
		OK(MPI_Win_allocate(len, 8, MPI_INFO_NULL, MPI_COMM_WORLD,
			&memory, &now.win));
	} else if (flavor == OF_ALLOC_MEM) {
		OK(MPI_Alloc_mem(len, MPI_INFO_NULL, &memory));
	} else {
		memory = mtest_alloc((size_t)len);
	}
	memset(memory, 0, (size_t)len);
	now.memory = memory;
	now.bases = NULL;
	if (flavor == DYNAMIC) {
		now.bases =
			mtest_alloc((size_t)mtest.size * sizeof(*now.bases));
		OK(MPI_Win_create_dynamic(
			MPI_INFO_NULL, MPI_COMM_WORLD, &now.win));
		OK(MPI_Win_attach(now.win, memory, len));
		OK(MPI_Get_address(memory, &base));
		OK(MPI_Allgather(&base, 1, MPI_AINT, now.bases, 1, MPI_AINT,
			MPI_COMM_WORLD));
	} else if (flavor != ALLOCATED) {
		OK(MPI_Win_create(memory, len, 8, MPI_INFO_NULL, MPI_COMM_WORLD,
			&now.win));
	}
	OK(MPI_Win_set_errhandler(now.win, MPI_ERRORS_RETURN));
	OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Compares the parts of this process with its model, and checks the counter. */
static void compare(void)
{
	int64_t *part = mtest_alloc(WORDS * 8), n_all, n_here;

	for (int t = 0; t < mtest.size; t++) {
		OK(MPI_Win_lock(MPI_LOCK_SHARED, t, 0, now.win));
		OK(MPI_Get(part, WORDS, MPI_INT64_T, t, disp_of(t, 0), WORDS,
			MPI_INT64_T, now.win));
		OK(MPI_Win_unlock(t, now.win));
		CHECK(!memcmp(part, now.model[t], WORDS * 8),
			"seed %ld: the part at rank %d equals the model",
			now.seed, t);
	}
	OK(MPI_Barrier(MPI_COMM_WORLD));
	n_here = now.memory[(size_t)mtest.size * WORDS];
	OK(MPI_Allreduce(
		&n_here, &n_all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
	OK(MPI_Allreduce(MPI_IN_PLACE, &now.n_counted, 1, MPI_INT64_T, MPI_SUM,
		MPI_COMM_WORLD));
	CHECK(n_all == now.n_counted,
		"seed %ld: no increment is lost: %lld of %lld", now.seed,
		(long long)n_all, (long long)now.n_counted);
	free(part);
}

static void run(long seed)
{
	enum flavor flavor = (enum flavor)(seed % FLAVORS);

	now.seed = seed;
	now.rng = (uint64_t)seed * 1000 + (uint64_t)mtest.rank;
	now.common_rng = (uint64_t)seed;
	now.n_counted = 0;
	now.model = mtest_alloc((size_t)mtest.size * sizeof(*now.model));
	for (int t = 0; t < mtest.size; t++)
		now.model[t] = mtest_alloc(WORDS * 8);
	make(flavor);
	draw_op();
	for (int i = 0; i < ROUNDS; i++)
		round_of((enum epoch)draw(&now.common_rng, EPOCHS));
	compare();
	if (flavor == DYNAMIC)
		OK(MPI_Win_detach(now.win, now.memory));
	OK(MPI_Win_free(&now.win));
	if (flavor == OF_ALLOC_MEM)
		OK(MPI_Free_mem(now.memory));
	else if (flavor != ALLOCATED)
		free(now.memory);
	for (int t = 0; t < mtest.size; t++)
		free(now.model[t]);
	free(now.model);
	free(now.bases);
}

int main(int argc, char **argv)
{
	long first, n;

	mtest_init(&argc, &argv);
	first = mtest_arg(argc, argv, "seed", 1);
	n = mtest_arg(argc, argv, "n", 12);
	for (long seed = first; seed < first + n; seed++)
		run(seed);
	return mtest_finish();
}
