/* SPDX-License-Identifier: BSD-3-Clause */
/* match: posted receives and unexpected messages of one communicator
 *
 * p2p/match.c and p2p/match_priv.h implement matching. Receives and messages
 * are in bins by a hash of (context with its offset, source, tag). Posted
 * receives with a wildcard are in a list of their own. Unexpected messages are
 * also in one list in order of arrival. The bins are allocated with the first
 * entry. */
#ifndef WEFT_MATCH_H
#define WEFT_MATCH_H

#include "base/list.h"

#include <stdint.h>

enum { WEFT_MATCH_BINS = 64 };

struct weft_message;

struct weft_match {
	struct weft_link *posted;     /* bins of posted receives, or NULL */
	struct weft_link *unexpected; /* bins of unexpected messages, or NULL */
	struct weft_link wild; /* posted receives with a wildcard, in order */
	struct weft_link arrived; /* unexpected messages in order of arrival */
	uint64_t next_seq;	  /* recv.order of the next posted receive */
	uint32_t n_posted;
	uint32_t n_wild;
	uint32_t n_unexpected;
	uint32_t most_unexpected; /* maximum of n_unexpected since the tool
				     interface reset it */
	uint64_t n_compared;	  /* entries compared by the slow paths of
				     matching */
};

#endif
