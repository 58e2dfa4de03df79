/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_text: lists of ranks and of names from process managers, port names, and
 * messages to a launcher about jobs that ended
 *
 * The first byte selects one of them. */
#include "base/err.h"
#include "pmix/pmix_codec.h"
#include "spawn/port.h"
#include "test/fuzz/fuzz.h"
#include "tools/run_spawn.h"

#include <fcntl.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

static char *as_text(struct fuzz_in *in)
{
	return fuzz_exact(in, in->len + 1);
}

/* True for lists of millions of ranks, which are valid and take long to
 * expand. */
static int is_slow(const char *text)
{
	while (*text) {
		size_t n = strspn(text, "0123456789");

		if (n >= 6 && n <= 8)
			return 1;
		text += n ? n : 1;
	}
	return 0;
}

static void ranks(struct fuzz_in *in)
{
	char *text = as_text(in);
	uint32_t *list = NULL;
	size_t n = 0;

	if (!is_slow(text) && !weft_ranks_parse(text, &list, &n))
		for (size_t i = 1; i < n; i++)
			FUZZ_CHECK(list[i - 1] < list[i]);
	free(list);
	free(text);
}

static void names(struct fuzz_in *in)
{
	char *text = as_text(in), **list = NULL;
	size_t n = 0;

	if (!weft_names_split(text, &list, &n))
		for (size_t i = 0; i < n; i++) {
			FUZZ_CHECK(list[i][0] && !strchr(list[i], ','));
			FUZZ_CHECK(strstr(text, list[i]));
			for (size_t j = 0; j < i; j++)
				FUZZ_CHECK(strcmp(list[i], list[j]));
		}
	free(list);
	free(text);
}

/* Notices that a launcher receives from another launcher through a pipe. */
static void notices(struct fuzz_in *in)
{
	size_t len = in->len < 4096 ? in->len : 4096, left = len;
	struct weft_run_notice got[2];
	int fds[2];

	FUZZ_CHECK(!pipe2(fds, O_NONBLOCK));
	FUZZ_CHECK(write(fds[1], in->data, len) == (ssize_t)len);
	close(fds[1]);
	memset(got, 'x', sizeof(got));
	while (weft_run_spawn_receive(&fds[0], got)) {
		FUZZ_CHECK(memchr(got[0].job, 0, WEFT_RUN_NAME_MAX));
		FUZZ_CHECK(left >= sizeof(got[0]));
		left -= sizeof(got[0]);
	}
	FUZZ_CHECK(fds[0] == -1 && left < sizeof(got[0]));
	FUZZ_CHECK(got[1].job[0] == 'x');
}

/* Parses the name of a port that this process has not opened. */
static void port(struct fuzz_in *in)
{
	char *text = as_text(in);

	FUZZ_CHECK(weft_port_close(text) == WEFT_ERR_PORT);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz_in in = { data, len };

	uint8_t what = fuzz_u8(&in);

	if (what == 'p')
		port(&in);
	else if (what == 'h')
		notices(&in);
	else if (what % 2)
		ranks(&in);
	else
		names(&in);
	return 0;
}
