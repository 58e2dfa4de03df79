/* SPDX-License-Identifier: BSD-3-Clause */
/* network: the model of a network, for predictions and for weft-sim
 *
 * LogGP: a message occupies the CPU of the sender and that of the receiver for
 * overhead, the network interface of both for gap, or longer if its bytes need
 * that, and the network for latency. All in ns. A message of a few bytes takes
 * two overheads and the latency. The processes of a node share its interface,
 * which has the same bandwidth as that of a process. */
#ifndef WEFT_NETWORK_H
#define WEFT_NETWORK_H

#include <stddef.h>
#include <stdint.h>

struct weft_loggp {
	uint32_t latency;
	uint32_t overhead;
	uint32_t gap;
	double per_byte;
};

struct weft_network {
	const char *name;
	struct weft_loggp path; /* between nodes */
};

/* Messages within a node, for all networks. */
extern const struct weft_loggp weft_network_within;

/* Groups of nodes: those of a switch of a fat tree, or of a group of a
 * dragonfly. The nodes of a group share its links to the other groups. A link
 * has the bandwidth of a node. */
struct weft_topology {
	const char *name;
	uint32_t n_nodes; /* of a group */
	uint32_t n_links; /* of a group to all others */
};

/* The network or topology with this name, or NULL. */
const struct weft_network *weft_network_find(const char *name);
const struct weft_topology *weft_topology_find(const char *name);

/* The longest message that is sent eagerly, in bytes of data, and the bytes
 * that the library adds to each message. */
enum { WEFT_NETWORK_EAGER = 16336, WEFT_NETWORK_HEAD = 48 };

/* The least time between two messages of a node's interface, in ns: that of a
 * ConnectX-6, which sends 215 million messages in a second (data sheet). */
enum { WEFT_NETWORK_NODE_GAP = 5 };

#endif
