/* SPDX-License-Identifier: BSD-3-Clause */
/* err: the error set used inside the library
 *
 * Internal functions return 0 or a negative enum weft_err. Codes of other
 * libraries are translated by the function that receives them. The function
 * that detects a fault describes it once with weft_err_set(); its callers only
 * return the code. The text is stored per thread, and the API rooms report it.
 */
#ifndef WEFT_ERR_H
#define WEFT_ERR_H

#include <stdbool.h>
#include <stdint.h>

enum weft_err {
	WEFT_OK = 0,
	WEFT_ERR_FIRST_ = -1000,
#define X(name, sentence) WEFT_ERR_##name,
#include "base/err.def"
#undef X
	WEFT_ERR_END_,
};

/* Not an error: the call had no effect, and the caller repeats it after
 * progress. */
enum { WEFT_AGAIN = WEFT_ERR_AGAIN };

enum { WEFT_ERR_TEXT = 400 }; /* bytes of a description, its NUL included */

/* Returns the fixed sentence of an error; never NULL. */
const char *weft_err_str(int err);

/* True for a code that another process may send as an error: not success, not
 * WEFT_AGAIN, not a value outside the enum. */
bool weft_err_is_fault(int err);

/* Records the exact fault for this thread and returns err. The text has printf
 * style and is one sentence without a final full stop. The text is cut after
 * WEFT_ERR_TEXT - 1 bytes. */
int weft_err_set(int err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Returns the text of this thread's last weft_err_set() if that call recorded
 * err, otherwise "". Valid until the next weft_err_set(). */
const char *weft_err_detail_peek(int err);

/* Records which object the text of this thread's last weft_err_set() names.
 * object is not 0 and identifies the object in this process. failed is the
 * 64-bit number of the failed process (core/group.h) plus one, or 0. */
void weft_err_object_set(uint64_t object, uint64_t failed);

/* Returns the object that was recorded with this err; 0 if there is none. */
uint64_t weft_err_object(int err);

/* Returns the number of the failed process plus one that was recorded with this
 * err; 0 if there is none. */
uint64_t weft_err_failed(int err);

#endif
