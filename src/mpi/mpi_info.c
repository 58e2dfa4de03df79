/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_info: info objects, which exist independently of sessions */
#include "mpi_check.h"

#include <stdio.h>

static int mpi_info_end(const char *func, int err)
{
	return weft_likely(!err) ? MPI_SUCCESS : weft_mpi_raise_none(func, err);
}

/* Returns an error for MPI_INFO_ENV, which is read-only. */
static int check_own(const struct weft_info *info)
{
	return info == weft_info_env()
		       ? weft_err_set(WEFT_ERR_INFO,
				 "MPI_INFO_ENV cannot be changed")
		       : 0;
}

static int mpi_info_check_key(const char *key)
{
	size_t len = key ? strnlen(key, MPI_MAX_INFO_KEY) : 0;

	if (!len || len >= MPI_MAX_INFO_KEY)
		return weft_err_set(WEFT_ERR_INFO_KEY,
			"info key is %s, may have 1 to %d characters",
			len ? "too long" : "empty", MPI_MAX_INFO_KEY - 1);
	return 0;
}

static int mpi_info_create(struct weft_info **made)
{
	*made = weft_info_create();
	return *made ? 0 : WEFT_ERR_NOMEM;
}

/* Sets the key "argv" to the arguments after the program's name, separated by
 * blanks. */
static int set_argv(struct weft_info *info, int argc, char *argv[])
{
	char text[MPI_MAX_INFO_VAL] = "";
	size_t n = 0;

	if (argc < 1 || !argv)
		return 0;
	for (int i = 1; i < argc && argv[i] && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s",
			i > 1 ? " " : "", argv[i]);
	return weft_info_set(info, "argv", text);
}

static int mpi_info_create_env(int argc, char *argv[], struct weft_info **made)
{
	int err = weft_info_dup(weft_info_env(), made);

	if (!err)
		err = set_argv(*made, argc, argv);
	if (err)
		weft_info_destroy(*made);
	return err;
}

static int mpi_info_dup(const struct weft_info *info, struct weft_info **made)
{
	return weft_info_dup(info, made);
}

static int mpi_info_free(struct weft_info *info)
{
	int err = check_own(info);

	if (!err)
		weft_info_destroy(info);
	return err;
}

static int mpi_info_set(
	struct weft_info *info, const char *key, const char *value)
{
	int err = check_own(info);

	return err ? err : weft_info_set(info, key, value);
}

static int mpi_info_delete(struct weft_info *info, const char *key)
{
	int err = check_own(info);

	return err ? err : weft_info_delete(info, key);
}

/* With a length of 0, value may be NULL. */
int PMPI_Info_get_string(
	MPI_Info info, const char *key, int *buflen, char *value, int *flag)
{
	struct weft_info *of = NULL;
	long len;
	int err;

	err = weft_check_info(info, &of);
	if (!err)
		err = mpi_info_check_key(key);
	if (!err)
		err = weft_check_ptr(buflen, "buflen");
	if (!err)
		err = weft_check_range(
			WEFT_ERR_ARG, "buflen", *buflen, 0, INT32_MAX);
	if (!err && *buflen)
		err = weft_check_ptr(value, "value");
	if (!err)
		err = weft_check_ptr(flag, "flag");
	if (err)
		return mpi_info_end("MPI_Info_get_string", err);
	len = weft_info_value(of, key, value, (size_t)*buflen);
	*flag = len >= 0;
	if (len >= 0)
		*buflen = (int)len + 1;
	return MPI_SUCCESS;
}

static int mpi_info_get(const struct weft_info *info, const char *key,
	int valuelen, char *value, int *flag)
{
	int err = mpi_info_check_key(key);

	if (!err)
		err = weft_check_range(
			WEFT_ERR_ARG, "valuelen", valuelen, 0, INT32_MAX);
	if (!err)
		*flag = weft_info_value(
				info, key, value, (size_t)valuelen + 1) >= 0;
	return err;
}

static int mpi_info_get_valuelen(
	const struct weft_info *info, const char *key, int *valuelen, int *flag)
{
	int err = mpi_info_check_key(key);
	long len = err ? -1 : weft_info_value(info, key, NULL, 0);

	if (!err)
		*flag = len >= 0;
	if (len >= 0)
		*valuelen = (int)len;
	return err;
}

static int mpi_info_get_nkeys(const struct weft_info *info, int *nkeys)
{
	*nkeys = (int)weft_info_n_keys(info);
	return 0;
}

static int mpi_info_get_nthkey(const struct weft_info *info, int n, char *key)
{
	return weft_info_key(info, (uint32_t)n, key);
}

#include "api_info.h"
