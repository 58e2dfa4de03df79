/* SPDX-License-Identifier: BSD-3-Clause */
/* run_opt: the command line of mpiexec as data */
#ifndef WEFT_RUN_OPT_H
#define WEFT_RUN_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum weft_run_env_mode {
	WEFT_RUN_ENV_ALL,  /* pass on the launcher's environment */
	WEFT_RUN_ENV_NONE, /* pass on none of its variables */
	WEFT_RUN_ENV_LIST, /* pass on only those that `list` names */
};

/* The environment of the processes of an app context, or of all processes. In
 * every mode, the variables of `set` are added. */
struct weft_run_env {
	enum weft_run_env_mode mode;
	bool has_mode;	  /* an option sets the mode */
	const char *list; /* names "A,B" for LIST */
	char **set;	  /* "NAME=VALUE", in the order of the options; owned */
	size_t n_set;
};

/* One app context, between two ":". */
struct weft_run_app {
	uint32_t n;	  /* number of processes */
	bool has_n;	  /* the command line has -n */
	const char *pset; /* name of the process set, or NULL */
	const char *wdir; /* directory to start in, or NULL */
	const char *path; /* directories to search for the program, or NULL */
	struct weft_run_env env;
	char **argv;	 /* NULL-terminated; argv[0] is the program */
	char **own_argv; /* argv if weft_run_opt_prefix() made it; or NULL */
};

/* An offer of --resize-at. */
struct weft_run_offer_at {
	double at_s;
	int delta;
};

enum weft_run_tag { WEFT_RUN_TAG_NONE, WEFT_RUN_TAG_RANK, WEFT_RUN_TAG_STREAM };

enum weft_run_task { WEFT_RUN_LAUNCH, WEFT_RUN_HELP, WEFT_RUN_VERSION };

/*
 * The command line. weft_run_opt_parse() fills it, weft_run_opt_fini() frees
 * it. Strings without an owner point into argv, or into file_text.
 */
struct weft_run_opt {
	enum weft_run_task task;
	struct weft_run_app *apps;
	size_t n_apps;
	struct weft_run_env env; /* environment for all apps */
	const char *alloc_kinds; /* value of -memory-alloc-kinds, or NULL */
	const char *bind;	 /* value of --bind-to, or NULL */
	const char *map;	 /* value of --map-by, or NULL */
	uint32_t n_cores;	 /* cores of each process; 0: not given */
	const char *dvm_uri;	 /* URI of the PRRTE DVM, or NULL */
	const char *hosts;	 /* "a,b:2" or NULL */
	const char *hostfile;	 /* value of --hostfile, or NULL */
	uint32_t n_nodes;	 /* number of nodes; 0: not given */
	uint32_t per_node;	 /* processes per node; 0: not given */
	enum weft_run_tag tag;
	double timeout_s;      /* 0: none */
	double grace_s;	       /* time between SIGTERM and SIGKILL */
	uint32_t universe;     /* value of MPI_UNIVERSE_SIZE; 0: unknown */
	uint32_t n_min, n_max; /* limits of the number of processes; n_max 0:
				  it does not change */
	struct weft_run_offer_at *offers; /* --resize-at, by time */
	size_t n_offers;
	double offer_timeout_s; /* 0: none */
	bool keep_going;	/* --continue */
	bool needs_no_finalize; /* exit with 0 without finalizing is success */
	bool oversubscribe;	/* option for srun and prterun */
	bool report_bindings;
	const char *profile; /* "on", a file, or NULL */
	bool is_debugged;    /* --debug */
	bool is_verbose;
	char *prefix;	  /* word of weft_run_opt_prefix(), or NULL */
	char **file_argv; /* arguments of -configfile, or NULL */
	char *file_text;  /* the text of that file, or NULL */
};

/*
 * Parses the command line, and changes argv. 0, WEFT_ERR_NOMEM, or
 * WEFT_ERR_ARG, described. The caller calls weft_run_opt_fini() in any case.
 */
int weft_run_opt_parse(struct weft_run_opt *opt, int argc, char **argv);

void weft_run_opt_fini(struct weft_run_opt *opt);

/* Sets "NAME=VALUE" for all processes. 0 or WEFT_ERR_NOMEM. */
int weft_run_opt_setenv(struct weft_run_opt *opt, const char *pair);

/* Puts a word in front of the commands of all app contexts. Called at most
 * once. 0 or WEFT_ERR_NOMEM. */
int weft_run_opt_prefix(struct weft_run_opt *opt, const char *word);

/* True if PATH has a program of this name. */
bool weft_run_has_program(const char *name);

/* Returns the number of processes of all app contexts. */
uint32_t weft_run_opt_size(const struct weft_run_opt *opt);

/* Returns the number of ranks of the job: that of its processes, or with --max
 * also ranks for processes that start later. A rank is not used twice. */
uint32_t weft_run_opt_places(const struct weft_run_opt *opt);

/* Returns the text of --help. */
const char *weft_run_opt_help(void);

#endif
