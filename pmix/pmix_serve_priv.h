/* SPDX-License-Identifier: BSD-3-Clause */
/* serve_priv: data of the server, shared by pmix_serve.c and pmix_upcall.c */
#ifndef WEFT_PMIX_SERVE_PRIV_H
#define WEFT_PMIX_SERVE_PRIV_H

#include "pmix/pmix_serve.h"
#include "base/list.h"

#include <pthread.h>
#include <pmix_server.h>

/* A process set, as queries return it. */
struct serve_pset {
	struct weft_link link;
	char name[PMIX_MAX_KEYLEN + 1];
	pmix_proc_t *members;
	size_t n;
	bool is_by_process; /* a process defined it, so processes may delete it
			     */
	bool is_shared;	    /* it has members of other jobs */
	uint32_t by;	    /* if is_shared: the job that defined it */
};

/* A notice to all processes that a set was defined or deleted. The launcher's
 * thread sends it, because libpmix's thread must not wait for libpmix. */
struct serve_notice {
	struct weft_link link;
	bool is_delete;
	char name[PMIX_MAX_KEYLEN + 1];
	pmix_proc_t *members;
	size_t n;
};

/* One published value. */
struct serve_pub {
	struct weft_link link;
	pmix_info_t info;
	pmix_proc_t by; /* the publisher */
};

struct serve_item {
	struct weft_link link;
	struct weft_serve_event event;
};

/* The server. weft_serve_open creates it, weft_serve_close destroys it. The
 * lock guards the lists, and the fields from `ended` on, which PMIx's thread
 * also uses. */
struct weft_serve {
	pmix_nspace_t nspace;
	char host[256];
	uint32_t size;	       /* ranks that are registered */
	uint32_t n_min, n_max; /* 0: the size of the job is fixed */
	int wake_fd;
	bool is_up; /* PMIx_server_init succeeded */
	pthread_mutex_t lock;
	struct weft_link items;	  /* struct serve_item */
	struct weft_link notices; /* struct serve_notice */
	struct weft_link psets;	  /* struct serve_pset */
	struct weft_link pubs;	  /* struct serve_pub */
	size_t next_context;	  /* context id of the next PMIx group */
	pmix_proc_t *ended; /* processes that have ended; has space for all
			       ranks */
	size_t n_ended;
	int offer; /* as in weft_serve_offer() */
	uint64_t offer_until_ns;
	char current[PMIX_MAX_KEYLEN + 1]; /* set of the members */
};

/* The functions that PMIx calls on its thread. PMIx does not pass the server to
 * most of them. Those functions use the server that weft_serve_upcall_owner()
 * has set. */
extern pmix_server_module_t weft_serve_module;
void weft_serve_upcall_owner(struct weft_serve *serve);

/* Appends link to a list of the server and wakes the launcher's thread. Any
 * thread. */
void weft_serve_post(struct weft_serve *serve, struct weft_link *list,
	struct weft_link *link);

/* weft_serve_pset_define() defines a set for a process, and
 * weft_serve_pset_delete() deletes it. Both queue the notice, and return
 * PMIX_SUCCESS or the reason of a refusal. Called on libpmix's thread. */
pmix_status_t weft_serve_pset_define(struct weft_serve *serve, const char *name,
	const uint32_t *ranks, size_t n);
pmix_status_t weft_serve_pset_delete(
	struct weft_serve *serve, const char *name);

/* Returns the seconds that are left of the offer, rounded up; 0: no limit. The
 * lock is held. */
uint32_t weft_serve_offer_seconds(const struct weft_serve *serve);

/* Frees all published values. Called when the server has stopped. */
void weft_serve_pubs_free(struct weft_serve *serve);

#endif
