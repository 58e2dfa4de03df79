/* SPDX-License-Identifier: BSD-3-Clause */
/* run_profile: mpiexec --profile
 *
 * The processes write their measurements to the session directory of the job
 * (run_job.h: dir). mpiexec reads these files when the job has ended, also
 * after a failure. */
#include "tools/run_profile.h"

#include "base/err.h"
#include "base/knob.h"
#include "profile/profile_report.h"
#include "tools/run_opt.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* WEFT_ERR_ARG, described, if `profile` (from --profile or WEFT_PROFILE) names
 * a file whose name does not end in .json. */
static int check_file(const char *profile)
{
	size_t len = strlen(profile);

	if (!weft_profile_is_file(profile) ||
		(len > 5 && !strcmp(profile + len - 5, ".json")))
		return 0;
	return weft_err_set(WEFT_ERR_ARG,
		"\"%s\": expected on, or the name of a file that ends in .json",
		profile);
}

/* If the command line sets LD_PRELOAD, puts the profile library (path) in front
 * of its value, and sets *is_set. */
static int preload(struct weft_run_env *env, const char *path, bool *is_set)
{
	static const char name[] = "LD_PRELOAD=";

	for (size_t i = 0; i < env->n_set; i++) {
		char *pair;

		if (strncmp(env->set[i], name, sizeof(name) - 1))
			continue;
		if (asprintf(&pair, "%s%s:%s", name, path,
			    env->set[i] + sizeof(name) - 1) < 0)
			return WEFT_ERR_NOMEM;
		free(env->set[i]);
		env->set[i] = pair;
		*is_set = true;
	}
	return 0;
}

int weft_run_profile_set_up(struct weft_run_opt *opt)
{
	const char *before = weft_knob_getenv("LD_PRELOAD");
	char path[PATH_MAX], pair[3 * PATH_MAX];
	bool is_set = false, is_set_app = false;
	int err;

	if (!opt->profile)
		opt->profile = weft_knobs.profile;
	if (!strcmp(opt->profile, "off") || !strcmp(opt->profile, "0")) {
		opt->profile = NULL;
		return 0;
	}
	err = check_file(opt->profile);
	if (err)
		return err;
	weft_profile_library(path, sizeof(path));
	if (access(path, R_OK))
		return weft_err_set(WEFT_ERR_ARG,
			"the profile library %s cannot be read: install it "
			"beside libweft",
			path);
	err = preload(&opt->env, path, &is_set);
	for (size_t a = 0; a < opt->n_apps && !err; a++)
		err = preload(&opt->apps[a].env, path, &is_set_app);
	snprintf(pair, sizeof(pair), "LD_PRELOAD=%s%s%s", path,
		before ? ":" : "", before ? before : "");
	if (!err && !is_set)
		err = weft_run_opt_setenv(opt, pair);
	snprintf(pair, sizeof(pair), "WEFT_PROFILE=%s", opt->profile);
	/* the launchers of spawned jobs inherit it */
	if (!err && setenv("WEFT_PROFILE", opt->profile, 1))
		err = WEFT_ERR_NOMEM;
	return err ? err : weft_run_opt_setenv(opt, pair);
}

void weft_run_profile_print(
	const char *profile, const char *job, const char *dir, uint32_t n)
{
	struct weft_profile_report report;
	char file[PATH_MAX];

	weft_profile_job_file(file, sizeof(file), profile, job);
	if (weft_profile_report_make(&report, dir, n)) {
		fputs("mpiexec: no memory for the profile\n", stderr);
		return;
	}
	if (report.n_recorded) {
		weft_profile_output(&report, file, "mpiexec");
	} else {
		fputs("mpiexec: no profile: no process has called MPI of this "
		      "library\n",
			stderr);
	}
	weft_profile_report_fini(&report);
}
