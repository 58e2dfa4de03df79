/* SPDX-License-Identifier: BSD-3-Clause */
/* status: the result of a completed operation */
#ifndef WEFT_STATUS_H
#define WEFT_STATUS_H

#include <stdbool.h>
#include <stdint.h>

struct weft_status {
	int32_t source; /* rank in the communicator */
	int32_t tag;
	int32_t err; /* 0 or a negative enum weft_err */
	bool is_cancelled;
	int64_t len; /* bytes received */
};

#endif
