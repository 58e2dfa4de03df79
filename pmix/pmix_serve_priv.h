/* SPDX-License-Identifier: BSD-3-Clause */
/* serve_priv: what the two halves of the server share */
#ifndef WEFT_PMIX_SERVE_PRIV_H
#define WEFT_PMIX_SERVE_PRIV_H

#include "pmix/pmix_serve.h"
#include "base/list.h"

#include <pthread.h>
#include <pmix_server.h>

/* A process set as queries see it. */
struct serve_pset {
	struct weft_link link;
	char name[PMIX_MAX_KEYLEN + 1];
	pmix_proc_t *members;
	size_t n;
	bool is_made; /* by a process of the job, which may take it back */
};

/*
 * The sets have changed, and everybody is to hear of it.  libpmix's thread must
 * not wait for libpmix, so the launcher's thread sends the notice.
 */
struct serve_notice {
	struct weft_link link;
	bool is_delete;
	char name[PMIX_MAX_KEYLEN + 1];
	pmix_proc_t *members;
	size_t n;
};

/* One value somebody published. */
struct serve_pub {
	struct weft_link link;
	pmix_info_t info;
	pmix_proc_t by;
};

struct serve_item {
	struct weft_link link;
	struct weft_serve_event event;
};

/*
 * The server.  Created by weft_serve_open, destroyed by weft_serve_close.
 * lock guards the lists, which PMIx's thread also touches.
 */
struct weft_serve {
	pmix_nspace_t nspace;
	char host[256];
	uint32_t size;
	int wake_fd;
	bool is_up; /* PMIx_server_init succeeded */
	pthread_mutex_t lock;
	struct weft_link items;	  /* struct serve_item */
	struct weft_link notices; /* struct serve_notice */
	struct weft_link psets;	  /* struct serve_pset */
	struct weft_link pubs;	  /* struct serve_pub */
	size_t next_context;	  /* for group construction */
	pmix_proc_t *ended;	  /* processes that have; room for all */
	size_t n_ended;
};

/*
 * The functions PMIx calls on its thread.  PMIx gives most of them no pointer
 * of ours, so they reach the server through this table's owner, set for the
 * time between open and close.
 */
extern pmix_server_module_t weft_serve_module;
void weft_serve_upcall_owner(struct weft_serve *serve);

/* Hand something over to the launcher's thread. */
void weft_serve_post(struct weft_serve *serve, struct weft_link *list,
	struct weft_link *link);

/* A process makes a set or takes one back; a notice follows.  PMIX_SUCCESS, or
 * why not.  On libpmix's thread. */
pmix_status_t weft_serve_pset_make(struct weft_serve *serve, const char *name,
	const uint32_t *ranks, size_t n);
pmix_status_t weft_serve_pset_take_back(
	struct weft_serve *serve, const char *name);

/* Free everything on the pubs list. */
void weft_serve_pubs_free(struct weft_serve *serve);

#endif
