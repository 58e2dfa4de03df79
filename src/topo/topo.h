/* SPDX-License-Identifier: BSD-3-Clause */
/* topo: the processors of this process, and the hardware that contains them
 *
 * The processors of a process are one string, its cpuset, which processes of
 * the same host publish and compare. Reading the topology of the machine takes
 * milliseconds, so the library defers it until a call needs the topology.
 *
 * Not thread safe; the owner serialises the calls. */
#ifndef WEFT_TOPO_H
#define WEFT_TOPO_H

#include <stdbool.h>
#include <stddef.h>

struct weft_topo;

enum {
	WEFT_TOPO_TYPES_MAX = 24, /* object types that one machine has */
	WEFT_TOPO_ID_MAX = 32,	  /* longest object id, with its NUL */
};

/* Opens this machine. Reads only the binding of this process, which is cheap. 0
 * or WEFT_ERR_NOMEM. */
int weft_topo_open(struct weft_topo **topo_out);

/* Opens a synthetic machine in hwloc's notation ("Package:2 Core:4 PU:2"), with
 * this process bound to cpuset; for tests. WEFT_ERR_ARG if either is malformed.
 */
int weft_topo_open_synthetic(
	const char *machine, const char *cpuset, struct weft_topo **topo_out);

/* Closes a topo; NULL is accepted. */
void weft_topo_close(struct weft_topo *topo);

/* Returns the processors that this process was bound to when the topo was
 * opened, in hwloc's list form ("0-3,8"). Valid until close. */
const char *weft_topo_cpuset(const struct weft_topo *topo);

/* Returns the number of processors (hardware threads) that this process may
 * use; at least 1. */
unsigned weft_topo_n_cpus(const struct weft_topo *topo);

/* Lists the object types of this machine, largest first: "Machine", "Package",
 * "L3Cache", "Core", "PU" and so on. Writes at most max names, which are valid
 * until close. Returns the number of types; 0 if the machine cannot be read. */
size_t weft_topo_types(
	struct weft_topo *topo, const char **names_out, size_t max);

/* Writes the id of the smallest object of a type that contains a whole cpuset
 * (NULL: the cpuset of this process). The id, such as "Package:1", is the same
 * for every process of the host. The type may have the prefix "hwloc://"; case
 * does not matter, and hwloc's short forms ("L3") are accepted.
 * WEFT_ERR_NOTFOUND: the cpuset is spread over several objects. WEFT_ERR_NAME:
 * this machine has no such type. WEFT_ERR_ARG: malformed cpuset or id_len too
 * small. WEFT_ERR_OTHER: the machine cannot be read. */
int weft_topo_obj_of(struct weft_topo *topo, const char *cpuset,
	const char *type, char *id_out, size_t id_len);

/* Returns the number of objects of a type that the machine has; 0 if it cannot
 * be read. */
unsigned weft_topo_n_objs(struct weft_topo *topo, const char *type);

#endif
