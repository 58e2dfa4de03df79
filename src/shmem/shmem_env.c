/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_env: environment variables SHMEM_..., and the deprecated SMA_... */
#include "shmem_priv.h"

#include "base/err.h"
#include "base/knob.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAP_MB = 512 };

/* Returns the value of SHMEM_<name>, or else of SMA_<name>, or else NULL.
 * Writes the name of the variable to found_out. */
static const char *shmem_env_find(const char *name, char found_out[32])
{
	static const char *const prefixes[] = { "SHMEM_", "SMA_" };

	for (int i = 0; i < 2; i++) {
		const char *value;

		snprintf(found_out, 32, "%s%s", prefixes[i], name);
		value = weft_knob_getenv(found_out);
		if (value)
			return value;
	}
	return NULL;
}

bool weft_shmem_env_has(const char *name)
{
	char found[32];

	return shmem_env_find(name, found) != NULL;
}

/* Returns the power of 1024 that a letter stands for: 1 for k, 4 for t. 0
 * without a letter, -1 for another letter. */
static int power_of(char letter)
{
	static const char letters[] = "kmgt";
	const char *at;

	if (!letter)
		return 0;
	at = strchr(letters, tolower((unsigned char)letter));
	return at ? (int)(at - letters) + 1 : -1;
}

int weft_shmem_env_heap(size_t *len_out)
{
	char found[32];
	const char *text = shmem_env_find("SYMMETRIC_SIZE", found);
	double len = 0;
	char *end = NULL;
	int power = -1;

	*len_out = (size_t)HEAP_MB << 20;
	if (!text)
		return 0;
	if (isdigit((unsigned char)*text) || *text == '.') {
		len = strtod(text, &end);
		power = end == text ? -1 : power_of(*end);
	}
	if (power < 0 || !isfinite(len) || ldexp(len, 10 * power) > 0x1p47)
		return weft_err_set(WEFT_ERR_ARG,
			"%s is \"%s\"; it must be a number of bytes, which may "
			"have a fraction and end with k, m, g or t",
			found, text);
	*len_out = (size_t)ceil(ldexp(len, 10 * power));
	return 0;
}

void weft_shmem_env_print(void)
{
	char found[32];
	const char *heap = shmem_env_find("SYMMETRIC_SIZE", found);

	printf("SHMEM_VERSION         print the library's version at start\n"
	       "SHMEM_INFO            print this text at start\n"
	       "SHMEM_SYMMETRIC_SIZE  bytes of symmetric heap of each PE, "
	       "with k, m, g or t (%s; default %dm)\n"
	       "SHMEM_DEBUG           print the effect of session hints (%s)\n"
	       "SMA_...               used if SHMEM_... is not set\n"
	       "WEFT_...              other variables: weft-info --knobs\n",
		heap ? heap : "not set", HEAP_MB,
		weft_shmem.is_debug ? "set" : "not set");
	fflush(stdout);
}
