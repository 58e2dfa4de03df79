/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_io: output of processes through the launcher
 *
 * The first byte of an input selects the prefix of lines. The other bytes
 * select writes and closes of processes, steps of the launcher, and reads of
 * its output. Condition: no output of a process is lost, changed or attributed
 * to another process. Only line ends are added. */
#include "tools/run_io.c" /* the harness reads its sinks */

#include "test/fuzz/fuzz.h"

enum {
	N_PROCS = 2,
	N_STREAMS = 2 * N_PROCS,
	BURST = 512,
	MOST = 1 << 19, /* bytes that all processes write in one input */
};

/* A text that grows; line ends are not kept. */
struct text {
	char *bytes;
	size_t len, cap;
};

struct story {
	struct weft_run_io *io;
	int ends[N_STREAMS]; /* write ends of the processes; -1: closed */
	int outs[2];	     /* read ends of the launcher's output */
	struct text said[N_STREAMS], heard[2]; /* text written to `ends`, and
						  text read from `outs` */
	size_t n_said;
};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

static void add(struct text *text, const char *bytes, size_t len, bool is_raw)
{
	if (text->len + len > text->cap) {
		text->cap = 2 * (text->len + len);
		text->bytes = realloc(text->bytes, text->cap);
		FUZZ_CHECK(text->bytes);
	}
	for (size_t i = 0; i < len; i++)
		if (is_raw || bytes[i] != '\n')
			text->bytes[text->len++] = bytes[i];
}

static void begin(struct story *s, enum weft_run_tag tag)
{
	memset(s, 0, sizeof(*s));
	FUZZ_CHECK(!weft_run_io_create(&s->io, N_PROCS, tag));
	for (uint32_t r = 0; r < N_PROCS; r++) {
		FUZZ_CHECK(!weft_run_io_open(s->io, r, &s->ends[2 * r]));
		fcntl(s->ends[2 * r], F_SETFL, O_NONBLOCK);
		fcntl(s->ends[2 * r + 1], F_SETFL, O_NONBLOCK);
	}
	for (int i = 0; i < 2; i++) {
		int fds[2];

		FUZZ_CHECK(!pipe_make(fds));
		fcntl(fds[0], F_SETFL, O_NONBLOCK);
		s->outs[i] = fds[0];
		sink_init(&s->io->sinks[i], fds[1]);
	}
}

static void read_output(struct story *s)
{
	char buf[8192];
	ssize_t n;

	for (int i = 0; i < 2; i++)
		while ((n = read(s->outs[i], buf, sizeof(buf))) > 0)
			add(&s->heard[i], buf, (size_t)n, true);
}

static void step(struct story *s)
{
	struct pollfd fds[N_STREAMS + 3];
	int timeout_ms = -1;
	size_t n = weft_run_io_fill(s->io, fds, &timeout_ms);

	FUZZ_CHECK(n <= weft_run_io_n_poll(s->io));
	poll(fds, n, 0);
	weft_run_io_step(s->io, fds, n);
}

static void write_output(
	struct story *s, unsigned proc, const char *bytes, size_t len)
{
	ssize_t n;

	if (s->ends[proc] < 0 || s->n_said + len > MOST || !len)
		return;
	n = write(s->ends[proc], bytes, len);
	if (n <= 0)
		return;
	s->n_said += (size_t)n;
	add(&s->said[proc], bytes, (size_t)n, false);
}

static void write_some(struct story *s, struct fuzz_in *in, unsigned proc)
{
	size_t len = fuzz_u8(in);
	char *bytes = fuzz_exact(in, len);

	write_output(s, proc, bytes, len);
	free(bytes);
}

static void write_much(struct story *s, struct fuzz_in *in, unsigned proc)
{
	size_t len = (size_t)fuzz_u8(in) * BURST;
	char *bytes = malloc(len + 1);

	FUZZ_CHECK(bytes);
	memset(bytes, 'm', len);
	write_output(s, proc, bytes, len);
	free(bytes);
}

static void hang_up(struct story *s, unsigned proc)
{
	if (s->ends[proc] >= 0)
		close(s->ends[proc]);
	s->ends[proc] = -1;
}

static void act(struct story *s, struct fuzz_in *in)
{
	uint8_t what = fuzz_u8(in);
	unsigned proc = what / 8 % N_STREAMS;

	switch (what % 8) {
	case 0:
	case 1:
		write_some(s, in, proc);
		break;
	case 2:
		write_much(s, in, proc);
		break;
	case 3:
	case 4:
		step(s);
		break;
	case 5:
		read_output(s);
		break;
	case 6:
		s->io->streams[proc].last_ns = 0; /* the line has waited for
						   * long */
		break;
	default:
		hang_up(s, proc);
	}
}

/* Returns the stream that wrote a marked line, and the start of its text. */
static size_t whose(
	const char *line, size_t len, int sink, bool is_long, const char **text)
{
	for (size_t r = 0; r < N_PROCS; r++) {
		char mark[32];
		size_t n = (size_t)snprintf(mark, sizeof(mark),
			is_long ? "[%zu]<%s>: " : "[%zu] ", r,
			sink ? "stderr" : "stdout");

		if (len >= n && !memcmp(line, mark, n)) {
			*text = line + n;
			return 2 * r + (size_t)sink;
		}
	}
	FUZZ_CHECK(!"a line without a mark");
	return 0;
}

static void judge_marked(const struct story *s, bool is_long)
{
	struct text got[N_STREAMS] = { 0 };

	for (int i = 0; i < 2; i++) {
		const char *p = s->heard[i].bytes;
		const char *end = p ? p + s->heard[i].len : p;

		while (p < end) {
			const char *eol = memchr(p, '\n', (size_t)(end - p));
			const char *stop = eol ? eol : end, *text = p;
			size_t proc =
				whose(p, (size_t)(stop - p), i, is_long, &text);

			add(&got[proc], text, (size_t)(stop - text), false);
			p = stop + 1;
		}
	}
	for (size_t i = 0; i < N_STREAMS; i++) {
		FUZZ_CHECK(got[i].len == s->said[i].len);
		FUZZ_CHECK(!got[i].len ||
			   !memcmp(got[i].bytes, s->said[i].bytes, got[i].len));
		free(got[i].bytes);
	}
}

static void judge_plain(const struct story *s)
{
	for (size_t i = 0; i < 2; i++) {
		size_t n = 0;

		for (size_t k = 0; k < s->heard[i].len; k++)
			n += s->heard[i].bytes[k] != '\n';
		FUZZ_CHECK(n == s->said[i].len + s->said[i + 2].len);
	}
}

static void end(struct story *s, enum weft_run_tag tag)
{
	for (unsigned i = 0; i < N_STREAMS; i++)
		hang_up(s, i);
	while (weft_run_io_is_open(s->io) || weft_run_io_is_unwritten(s->io)) {
		step(s);
		read_output(s);
	}
	for (int i = 0; i < 2; i++)
		close(s->io->sinks[i].fd);
	weft_run_io_destroy(s->io);
	read_output(s);
	if (tag == WEFT_RUN_TAG_NONE)
		judge_plain(s);
	else
		judge_marked(s, tag == WEFT_RUN_TAG_STREAM);
	for (int i = 0; i < 2; i++) {
		close(s->outs[i]);
		free(s->heard[i].bytes);
	}
	for (int i = 0; i < N_STREAMS; i++)
		free(s->said[i].bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const enum weft_run_tag tags[] = { WEFT_RUN_TAG_NONE,
		WEFT_RUN_TAG_RANK, WEFT_RUN_TAG_STREAM };
	struct fuzz_in in = { data, len };
	enum weft_run_tag tag = tags[fuzz_u8(&in) % 3];
	struct story s;

	begin(&s, tag);
	while (in.len)
		act(&s, &in);
	end(&s, tag);
	return 0;
}
