/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix_spawn: starts jobs; publishes and looks up names */
#include "pmix/pmix_boot_priv.h"
#include "pmix/pmix_codec.h"

#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t pmix_spawn_count(char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

/* Returns a list of copies of `first` (unless NULL) and of the words of `list`.
 * libpmix frees the list. */
static char **pmix_spawn_copy_list(const char *first, char *const *list)
{
	size_t n = pmix_spawn_count(list), at = 0;
	char **copy = calloc(n + 2, sizeof(*copy));

	if (copy && first)
		copy[at++] = strdup(first);
	for (size_t i = 0; copy && i < n; i++)
		copy[at++] = strdup(list[i]);
	return copy;
}

static void pmix_spawn_fill_app(
	pmix_app_t *app, const struct weft_boot_app *from)
{
	struct weft_infovec vec = { 0 };

	app->cmd = strdup(from->program);
	app->argv = pmix_spawn_copy_list(from->program, from->argv);
	app->env = pmix_spawn_copy_list(NULL, from->env);
	app->cwd = from->wdir ? strdup(from->wdir) : NULL;
	app->maxprocs = (int)from->n;
	if (from->host)
		weft_infovec_set_str(&vec, PMIX_HOST, from->host);
	if (from->add_host)
		weft_infovec_set_str(&vec, PMIX_ADD_HOST, from->add_host);
	if (from->add_hostfile)
		weft_infovec_set_str(
			&vec, PMIX_ADD_HOSTFILE, from->add_hostfile);
	if (from->pset)
		weft_infovec_set_str(&vec, PMIX_PSET_NAME, from->pset);
	app->info = vec.info; /* PMIX_APP_DESTRUCT frees the entries */
	app->ninfo = vec.n;
}

int weft_pmix_spawn(struct weft_boot *base, const struct weft_boot_app *apps,
	size_t n, char *job_out)
{
	pmix_app_t *list = calloc(n, sizeof(*list));
	pmix_nspace_t nspace = "";
	pmix_status_t status;

	(void)base;
	if (!list)
		return WEFT_ERR_NOMEM;
	for (size_t i = 0; i < n; i++)
		pmix_spawn_fill_app(&list[i], &apps[i]);
	status = PMIx_Spawn(NULL, 0, list, n, nspace);
	for (size_t i = 0; i < n; i++)
		PMIX_APP_DESTRUCT(&list[i]);
	free(list);
	if (status == PMIX_ERR_NOT_SUPPORTED ||
		status == PMIX_ERR_NOT_IMPLEMENTED)
		return weft_err_set(WEFT_ERR_SPAWN,
			"this process manager cannot start processes; run the "
			"program with Weft's mpiexec or with prterun");
	if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED)
		return weft_err_set(WEFT_ERR_SPAWN,
			"the process manager could not start \"%s\": %s",
			apps[0].program, PMIx_Error_string(status));
	snprintf(job_out, WEFT_BOOT_JOB_MAX, "%s", nspace);
	return 0;
}

/* Writes the key of a name. The prefix distinguishes the key from PMIx's own
 * keys. */
static void name_key(const char *name, char *key)
{
	snprintf(key, PMIX_MAX_KEYLEN + 1, "weft.name.%s", name);
}

static bool is_published(const char *key)
{
	pmix_pdata_t data;
	pmix_status_t status;

	PMIX_PDATA_CONSTRUCT(&data);
	snprintf(data.key, sizeof(data.key), "%s", key);
	status = PMIx_Lookup(&data, 1, NULL, 0);
	PMIX_PDATA_DESTRUCT(&data);
	return status == PMIX_SUCCESS;
}

static int publish(const char *name, const char *key, const char *value)
{
	struct weft_infovec vec = { 0 };
	pmix_status_t status = PMIX_ERR_NOMEM;

	if (is_published(key))
		return weft_err_set(
			WEFT_ERR_SERVICE, "\"%s\" is published already", name);
	weft_infovec_set_str(&vec, key, value);
	if (!vec.err)
		status = PMIx_Publish(vec.info, vec.n);
	weft_infovec_fini(&vec);
	if (status == PMIX_SUCCESS)
		return 0;
	return weft_err_set(WEFT_ERR_SERVICE,
		"the process manager did not publish \"%s\": %s", name,
		PMIx_Error_string(status));
}

/* Some managers accept a name twice. So the function looks up the name first,
 * under a lock. */
int weft_pmix_publish(
	struct weft_boot *base, const char *name, const char *value)
{
	struct pmix_boot *boot = pmix_boot_of(base);
	char key[PMIX_MAX_KEYLEN + 1];
	int err;

	name_key(name, key);
	pthread_mutex_lock(&boot->name_lock);
	err = publish(name, key, value);
	pthread_mutex_unlock(&boot->name_lock);
	return err;
}

int weft_pmix_unpublish(struct weft_boot *base, const char *name)
{
	char key[PMIX_MAX_KEYLEN + 1];
	char *keys[] = { key, NULL };
	pmix_status_t status;

	(void)base;
	name_key(name, key);
	if (!is_published(key))
		return weft_err_set(
			WEFT_ERR_SERVICE, "\"%s\" is not published", name);
	status = PMIx_Unpublish(keys, NULL, 0);
	if (status == PMIX_SUCCESS)
		return 0;
	return weft_err_set(WEFT_ERR_SERVICE,
		"\"%s\" cannot be unpublished: %s", name,
		PMIx_Error_string(status));
}

int weft_pmix_lookup(
	struct weft_boot *base, const char *name, char *buf, size_t len)
{
	pmix_pdata_t data;
	const char *value = NULL;
	pmix_status_t status;
	int err = WEFT_ERR_NAME;

	(void)base;
	PMIX_PDATA_CONSTRUCT(&data);
	name_key(name, data.key);
	status = PMIx_Lookup(&data, 1, NULL, 0);
	if (status == PMIX_SUCCESS && !weft_value_peek_str(&data.value, &value))
		err = 0;
	if (!err)
		snprintf(buf, len, "%s", value);
	else
		weft_err_set(err, "\"%s\" is not published", name);
	PMIX_PDATA_DESTRUCT(&data);
	return err;
}
