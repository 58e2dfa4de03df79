/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi_info: info objects; all of them work before and after any session */
#include "mpi_check.h"

#include <stdio.h>

static int mpi_info_end(const char *func, int err)
{
	return weft_likely(!err) ? MPI_SUCCESS : weft_mpi_raise_none(func, err);
}

/* An object that may be changed. */
static int check_own(MPI_Info handle, struct weft_info **info_out)
{
	if (handle == MPI_INFO_ENV)
		return weft_err_set(
			WEFT_ERR_INFO, "MPI_INFO_ENV cannot be changed");
	return weft_check_info(handle, info_out);
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

int PMPI_Info_create(MPI_Info *info)
{
	struct weft_info *made;
	int err = weft_check_ptr(info, "info");

	weft_mpi_null(info, MPI_INFO_NULL);
	if (err)
		return mpi_info_end("MPI_Info_create", err);
	made = weft_info_create();
	if (!made)
		return mpi_info_end("MPI_Info_create", WEFT_ERR_NOMEM);
	*info = weft_mpi_info_handle(made);
	return MPI_SUCCESS;
}

/* The arguments after the program's name, with blanks between. */
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

int PMPI_Info_create_env(int argc, char *argv[], MPI_Info *info)
{
	struct weft_info *made = NULL;
	int err = weft_check_ptr(info, "info");

	weft_mpi_null(info, MPI_INFO_NULL);
	if (!err)
		err = weft_info_dup(weft_info_env(), &made);
	if (!err)
		err = set_argv(made, argc, argv);
	if (err) {
		weft_info_destroy(made);
		return mpi_info_end("MPI_Info_create_env", err);
	}
	*info = weft_mpi_info_handle(made);
	return MPI_SUCCESS;
}

int PMPI_Info_dup(MPI_Info info, MPI_Info *newinfo)
{
	struct weft_info *of = NULL, *made = NULL;
	int err;

	weft_mpi_null(newinfo, MPI_INFO_NULL);
	err = weft_check_info(info, &of);
	if (!err)
		err = weft_check_ptr(newinfo, "newinfo");
	if (!err)
		err = weft_info_dup(of, &made);
	if (!err)
		*newinfo = weft_mpi_info_handle(made);
	return mpi_info_end("MPI_Info_dup", err);
}

int PMPI_Info_free(MPI_Info *info)
{
	struct weft_info *of = NULL;
	int err = weft_check_ptr(info, "info");

	if (!err)
		err = check_own(*info, &of);
	if (!err) {
		weft_info_destroy(of);
		*info = MPI_INFO_NULL;
	}
	return mpi_info_end("MPI_Info_free", err);
}

int PMPI_Info_set(MPI_Info info, const char *key, const char *value)
{
	struct weft_info *of = NULL;
	int err = check_own(info, &of);

	if (!err)
		err = weft_info_set(of, key, value);
	return mpi_info_end("MPI_Info_set", err);
}

int PMPI_Info_delete(MPI_Info info, const char *key)
{
	struct weft_info *of = NULL;
	int err = check_own(info, &of);

	if (!err)
		err = weft_info_delete(of, key);
	return mpi_info_end("MPI_Info_delete", err);
}

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

int PMPI_Info_get(
	MPI_Info info, const char *key, int valuelen, char *value, int *flag)
{
	struct weft_info *of = NULL;
	int err;

	err = weft_check_info(info, &of);
	if (!err)
		err = mpi_info_check_key(key);
	if (!err)
		err = weft_check_range(
			WEFT_ERR_ARG, "valuelen", valuelen, 0, INT32_MAX);
	if (!err)
		err = weft_check_ptr(value, "value");
	if (!err)
		err = weft_check_ptr(flag, "flag");
	if (!err)
		*flag = weft_info_value(of, key, value, (size_t)valuelen + 1) >=
			0;
	return mpi_info_end("MPI_Info_get", err);
}

int PMPI_Info_get_valuelen(
	MPI_Info info, const char *key, int *valuelen, int *flag)
{
	struct weft_info *of = NULL;
	long len;
	int err;

	err = weft_check_info(info, &of);
	if (!err)
		err = mpi_info_check_key(key);
	if (!err)
		err = weft_check_ptr(valuelen, "valuelen");
	if (!err)
		err = weft_check_ptr(flag, "flag");
	if (err)
		return mpi_info_end("MPI_Info_get_valuelen", err);
	len = weft_info_value(of, key, NULL, 0);
	*flag = len >= 0;
	if (len >= 0)
		*valuelen = (int)len;
	return MPI_SUCCESS;
}

int PMPI_Info_get_nkeys(MPI_Info info, int *nkeys)
{
	struct weft_info *of = NULL;
	int err = weft_check_info(info, &of);

	if (!err)
		err = weft_check_ptr(nkeys, "nkeys");
	if (!err)
		*nkeys = (int)weft_info_n_keys(of);
	return mpi_info_end("MPI_Info_get_nkeys", err);
}

int PMPI_Info_get_nthkey(MPI_Info info, int n, char *key)
{
	struct weft_info *of = NULL;
	int err;

	err = weft_check_info(info, &of);
	if (!err)
		err = weft_check_ptr(key, "key");
	if (!err)
		err = weft_check_range(WEFT_ERR_ARG, "n", n, 0, INT32_MAX);
	if (!err)
		err = weft_info_key(of, (uint32_t)n, key);
	return mpi_info_end("MPI_Info_get_nthkey", err);
}

#include "api_info.h"
