/* SPDX-License-Identifier: BSD-3-Clause */
/* request: a call that waits for a request */
#ifndef WEFT_REQUEST_H
#define WEFT_REQUEST_H

#include <stddef.h>

struct weft_lane;
struct weft_req;

/* Goes on waiting for a request after some rounds in vain; for
 * weft_req_wait(). Lane's lock held. */
void weft_request_wait(
	struct weft_lane *lane, struct weft_req *req, const char *call);

/* What a request waits for: "from rank 3, tag 5, of communicator "x"". Lane's
 * lock held. */
void weft_request_describe(const struct weft_req *req, char *buf, size_t len);

#endif
