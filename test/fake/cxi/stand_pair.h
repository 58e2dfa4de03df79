/* SPDX-License-Identifier: BSD-3-Clause */
/* stand_pair: two endpoints on the stand-in, for its own tests */
#ifndef STAND_PAIR_H
#define STAND_PAIR_H

#include "prov/cxi_ext.h"

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PAIR_MEM = 65536,
	PAIR_KEY = 7,
	PAIR_SLOW_KEY = 100,
};

/* One side, with all objects from the fabric to an enabled endpoint. */
struct side {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_cntr *writes, *reads;
	struct fid_ep *ep;
};

/* Two sides. b's memory is registered under two keys, which a knows. */
struct pair {
	struct side a, b;
	fi_addr_t to_b, to_a;
	struct fid_mr *mr, *slow_mr;
	char *mem;
};

/* Attributes that a test requests for its pair. */
struct pair_wish {
	uint64_t caps;
	uint64_t order;
	size_t tx_size;
	uint16_t vni[2]; /* network identifier of each side; 0: not named */
	uint32_t svc;
};

/* The usual capabilities. */
#define PAIR_CAPS (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_FENCE)

/* Hints for a side. */
struct fi_info *pair_hints(const struct pair_wish *wish, int which);

/* pair_open() opens both sides, and pair_close() closes them. They end the
 * process with a message if they fail. */
void pair_open(struct pair *pair, const struct pair_wish *wish);
void pair_close(struct pair *pair);

/* Waits until the counter, errors included, is n. False after a deadline. */
bool pair_wait(struct fid_cntr *cntr, uint64_t n);

/* Waits for the next completion. Returns 0, or the error of the completion or
 * of a passed deadline. *context_out is the context of the operation. */
int pair_next(struct side *side, void **context_out);

/* Writes one value at an index of uint64_t. */
ssize_t pair_put(struct pair *pair, size_t at, uint64_t value, uint64_t flags);
/* Posts an empty write. */
ssize_t pair_flush(struct pair *pair, uint64_t flags);
/* b's memory as an array of values. */
uint64_t pair_see(const struct pair *pair, size_t at);

/* stand_test_amo.c */
void case_atomics(void);
void case_atomic_tables(void);

/* stand_test_hmem.c */
void case_hmem_info(void);
void case_hmem_off(void);
void case_hmem_mr(void);
void case_hmem_fail(void);
void case_hmem_message(void);
void case_hmem_faults(void);

/* TAP */
void claim(bool ok, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Counts of all processes of the test; see score_open(). */
struct score {
	int n_claims, n_wrong;
};
extern struct score *score;
/* Called before the first fork. */
void score_open(void);

#endif
