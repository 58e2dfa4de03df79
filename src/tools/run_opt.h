/* SPDX-License-Identifier: BSD-3-Clause */
/* run_opt: the command line of mpiexec as data */
#ifndef WEFT_RUN_OPT_H
#define WEFT_RUN_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum weft_run_env_mode {
	WEFT_RUN_ENV_ALL,  /* pass the launcher's environment on */
	WEFT_RUN_ENV_NONE, /* only what is set explicitly */
	WEFT_RUN_ENV_LIST, /* only the variables named in list */
};

/* What a set of processes gets as its environment. */
struct weft_run_env {
	enum weft_run_env_mode mode;
	bool has_mode;	  /* said on the command line */
	const char *list; /* "A,B" for LIST */
	char **set;	  /* "NAME=VALUE", in order */
	size_t n_set;
};

/* One app context, between two ":". */
struct weft_run_app {
	uint32_t n;
	bool has_n;
	const char *pset; /* or NULL */
	const char *wdir; /* or NULL */
	const char *path; /* where to look for the program, or NULL */
	struct weft_run_env env;
	char **argv; /* NULL-ended; argv[0] is the program */
};

enum weft_run_tag { WEFT_RUN_TAG_NONE, WEFT_RUN_TAG_RANK, WEFT_RUN_TAG_STREAM };

enum weft_run_task { WEFT_RUN_LAUNCH, WEFT_RUN_HELP, WEFT_RUN_VERSION };

/*
 * The whole line.  Filled by weft_run_opt_parse, emptied by
 * weft_run_opt_fini; strings are lent from argv.
 */
struct weft_run_opt {
	enum weft_run_task task;
	struct weft_run_app *apps;
	size_t n_apps;
	struct weft_run_env env; /* for all apps */
	const char *alloc_kinds; /* or NULL */
	const char *bind;	 /* or NULL */
	const char *map;	 /* or NULL */
	uint32_t n_cores;	 /* of each process; 0 when not said */
	const char *dvm_uri;	 /* or NULL */
	const char *hosts;	 /* "a,b:2" or NULL */
	const char *hostfile;	 /* or NULL */
	uint32_t n_nodes;	 /* 0 when not said; for srun and prterun */
	uint32_t per_node;	 /* 0 when not said; likewise */
	enum weft_run_tag tag;
	double timeout_s;  /* 0: none */
	double grace_s;	   /* between asking to end and killing */
	uint32_t universe; /* value of MPI_UNIVERSE_SIZE; 0: unknown */
	bool keep_going;
	bool needs_no_finalize; /* who ends with 0 need not have left */
	bool oversubscribe;	/* said; for srun and prterun */
	bool report_bindings;
	bool is_verbose;
	char **file_argv; /* of -configfile, or NULL */
	char *file_text;
};

/*
 * Parse.  0, or WEFT_ERR_ARG or WEFT_ERR_NOMEM with the sentence in
 * weft_err_detail_peek; *opt is valid to fini either way.
 */
int weft_run_opt_parse(struct weft_run_opt *opt, int argc, char **argv);

void weft_run_opt_fini(struct weft_run_opt *opt);

/* Is there a program of this name on PATH? */
bool weft_run_has_program(const char *name);

/* Processes of all apps together. */
uint32_t weft_run_opt_size(const struct weft_run_opt *opt);

/* The text of --help. */
const char *weft_run_opt_help(void);

#endif
