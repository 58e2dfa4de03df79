/* SPDX-License-Identifier: BSD-3-Clause */
/* topo: where this process may run, and in which piece of hardware
 *
 * What a process may use is one string, its cpuset, which others on the same
 * host can publish and compare. Reading the whole machine takes milliseconds
 * and is put off until a question needs it.
 *
 * Threads: not thread safe; the owner serialises the calls. */
#ifndef WEFT_TOPO_H
#define WEFT_TOPO_H

#include <stdbool.h>
#include <stddef.h>

struct weft_topo;

enum {
	WEFT_TOPO_TYPES_MAX = 24, /* types one machine has */
	WEFT_TOPO_ID_MAX = 32,	  /* longest object id, with its NUL */
};

/* This machine. Cheap: only our own binding is read. WEFT_ERR_NOMEM. */
int weft_topo_open(struct weft_topo **topo_out);

/* A made-up machine, in hwloc's synthetic notation ("Package:2 Core:4 PU:2"),
 * on which we are bound to cpuset; for tests. WEFT_ERR_ARG if either is
 * malformed. */
int weft_topo_open_synthetic(
	const char *machine, const char *cpuset, struct weft_topo **topo_out);

/* NULL is accepted. */
void weft_topo_close(struct weft_topo *topo);

/* The processors we were bound to when the topo was opened, as a string of
 * hwloc's list form ("0-3,8"). Lent until close. */
const char *weft_topo_cpuset(const struct weft_topo *topo);

/* How many processors (hardware threads) we may use; at least 1. */
unsigned weft_topo_n_cpus(const struct weft_topo *topo);

/* The kinds of hardware this machine has, largest first: "Machine", "Package",
 * "L3Cache", "Core", "PU" and so on. Fills at most max names, which live as
 * long as the topo, and returns how many there are; 0 when the machine cannot
 * be read. */
size_t weft_topo_types(
	struct weft_topo *topo, const char **names_out, size_t max);

/* The smallest object of a type that contains a cpuset (NULL: our own) whole,
 * as an id that is the same for every process of the host, such as "Package:1".
 * The type may carry the prefix "hwloc://"; upper and lower case and hwloc's
 * short forms ("L3") are the same. WEFT_ERR_NOTFOUND: the cpuset is spread over
 * several; WEFT_ERR_NAME: this machine has no such type; WEFT_ERR_ARG:
 * malformed cpuset or id_len too small; WEFT_ERR_OTHER: the machine cannot be
 * read. */
int weft_topo_obj_of(struct weft_topo *topo, const char *cpuset,
	const char *type, char *id_out, size_t id_len);

/* How many objects of a type the machine has; 0 for a type it lacks. */
unsigned weft_topo_n_objs(struct weft_topo *topo, const char *type);

#endif
