/* SPDX-License-Identifier: BSD-3-Clause */
/* liveness: memory that a process shares with its launcher */
#include "config.h"

#include "boot/liveness.h"

#include "base/err.h"
#include "base/knob.h"
#include "base/log.h"
#include "base/memfd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int weft_liveness_create(
	uint32_t n, int *fd_out, struct weft_liveness **lives_out)
{
	size_t len = n * sizeof(**lives_out);
	int fd = weft_memfd_open("weft-life", 0, len); /* the processes inherit
							  it */
	void *bytes = MAP_FAILED;

	if (fd < 0)
		return weft_err_set(WEFT_ERR_NOMEM,
			"no memory to share with the processes (memfd_create, "
			"/dev/shm): %s",
			strerror(errno));
	bytes = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED) {
		weft_err_set(WEFT_ERR_NOMEM,
			"%zu bytes to share with the processes cannot be "
			"mapped: %s",
			len, strerror(errno));
		close(fd);
		return WEFT_ERR_NOMEM;
	}
	*fd_out = fd;
	*lives_out = bytes;
	return 0;
}

void weft_liveness_destroy(uint32_t n, int fd, struct weft_liveness *lives)
{
	if (!lives)
		return;
	munmap(lives, n * sizeof(*lives));
	close(fd);
}

/* Prints the version and the size of the struct. They follow the descriptor in
 * the environment variable WEFT_LIVENESS_ENV. */
static void liveness_print_build(char *buf, size_t len)
{
	snprintf(buf, len, "%s (%zu bytes per process)", PACKAGE_VERSION,
		sizeof(struct weft_liveness));
}

void weft_liveness_print(int fd, char *buf, size_t len)
{
	char build[64];

	liveness_print_build(build, sizeof(build));
	snprintf(buf, len, "%s=%d %s", WEFT_LIVENESS_ENV, fd, build);
}

/* True if the launcher, which set the variable, has the version and the struct
 * of this library. Otherwise prints a warning. */
static bool liveness_is_of_build(const char *text)
{
	const char *build = strchr(text, ' ');
	char mine[64];

	liveness_print_build(mine, sizeof(mine));
	if (build && !strcmp(build + 1, mine))
		return true;
	weft_log_warn("BOOT-BUILD",
		"mpiexec is of Weft %.60s, but this process uses libweft of "
		"Weft %s: mpiexec cannot show its state and may report its "
		"exit as a failure. Use mpiexec of the same installation",
		build ? build + 1 : "without a version", mine);
	return false;
}

bool weft_liveness_read(
	struct weft_liveness *liveness, char text_out[WEFT_LIVENESS_TEXT])
{
	/* acquire: reads `answered` before `text`; pairs with the store in
	 * weft_liveness_answer() */
	if (atomic_load_explicit(&liveness->answered, memory_order_acquire) !=
		atomic_load_explicit(&liveness->asked, memory_order_relaxed))
		return false;
	memcpy(text_out, liveness->text, WEFT_LIVENESS_TEXT);
	text_out[WEFT_LIVENESS_TEXT - 1] = '\0';
	return true;
}

/* The program may have closed the descriptor or reused its number. Only an
 * unnamed file that is long enough is mapped. */
struct weft_liveness *weft_liveness_map(uint32_t rank)
{
	const char *text = weft_knob_getenv(WEFT_LIVENESS_ENV);
	size_t need = ((size_t)rank + 1) * sizeof(struct weft_liveness);
	struct stat st;
	void *lives;
	int fd;

	if (!text || !liveness_is_of_build(text))
		return NULL;
	fd = atoi(text);
	if (fd < 3 || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
		st.st_nlink != 0 || (size_t)st.st_size < need)
		return NULL;
	lives = mmap(NULL, need, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return lives == MAP_FAILED ? NULL
				   : (struct weft_liveness *)lives + rank;
}

void weft_liveness_answer(
	struct weft_liveness *liveness, void (*describe)(char *buf, size_t len))
{
	unsigned asked;

	if (!liveness)
		return;
	asked = atomic_load_explicit(&liveness->asked, memory_order_relaxed);
	describe(liveness->text, sizeof(liveness->text));
	/* publishes `text` before `answered`; pairs with the acquire in
	 * weft_liveness_read */
	atomic_store_explicit(&liveness->answered, asked, memory_order_release);
}
