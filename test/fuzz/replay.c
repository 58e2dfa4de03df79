/* SPDX-License-Identifier: BSD-3-Clause */
/* replay: runs a harness without a fuzzer
 *
 *   fuzz_NAME [FILE|DIRECTORY]...
 *
 * Without arguments it runs the inputs in test/fuzz/corpus/fuzz_NAME, which has
 * one for every fault that was found. "make check" runs this form in every
 * build. */
#include "test/fuzz/fuzz.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INPUT_MAX = 1 << 20 };

static unsigned n_run;

static void run_file(const char *path)
{
	FILE *file = fopen(path, "r");
	uint8_t *data = malloc(INPUT_MAX);
	size_t len;

	FUZZ_CHECK(file && data);
	len = fread(data, 1, INPUT_MAX, file);
	fclose(file);
	/* allocate exactly len bytes, so that the address sanitizer detects a
	 * read beyond the input */
	data = realloc(data, len ? len : 1);
	LLVMFuzzerTestOneInput(data, len);
	free(data);
	n_run++;
}

static void run_path(const char *path)
{
	char below[4096];
	struct dirent *entry;
	struct stat st;
	DIR *dir;

	if (stat(path, &st)) {
		printf("Bail out! %s cannot be read\n", path);
		exit(1);
	}
	if (!S_ISDIR(st.st_mode)) {
		run_file(path);
		return;
	}
	dir = opendir(path);
	FUZZ_CHECK(dir);
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
		run_path(below);
	}
	closedir(dir);
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/');
	const char *top = getenv("TEST_SRCDIR");
	char corpus[4096];

	name = name ? name + 1 : argv[0];
	LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++)
		run_path(argv[i]);
	if (argc == 1) {
		snprintf(corpus, sizeof(corpus), "%s/test/fuzz/corpus/%s",
			top ? top : ".", name);
		run_path(corpus);
	}
	printf("%s 1 - %s: %u inputs cause no failure\n1..1\n",
		n_run ? "ok" : "not ok", name, n_run);
	fflush(NULL);
	_exit(n_run == 0); /* no exit handlers: they would finalize a job whose
			    * process manager does not exist */
}
