/* SPDX-License-Identifier: BSD-3-Clause */
/* errcode: error classes and codes that the application adds
 *
 * Numbers start above WEFT_ERRCODE_LAST, the standard's last code. Any thread
 * may call these functions, before and after any session. */
#ifndef WEFT_ERRCODE_H
#define WEFT_ERRCODE_H

#include <stdbool.h>
#include <stddef.h>

enum { WEFT_ERRCODE_LAST = 16383, WEFT_ERRCODE_TEXT_MAX = 512 };

/* Adds a class. WEFT_ERR_NOMEM when the table is full. */
int weft_errcode_add_class(int *class_out);

/* Adds a code to a class. The caller has checked the number of a standard
 * class. WEFT_ERR_ARG: there is no such added class. */
int weft_errcode_add_code(int class_, int *code_out);

/* Returns the class of an added code or class; the code itself if it was not
 * added. */
int weft_errcode_class(int code);

/* Sets or, with NULL, removes the text of an added code or class. WEFT_ERR_ARG:
 * the class or code does not exist, or has no text to remove. */
int weft_errcode_set_text(int code, const char *text);

/* Copies the text, "" if none was set, at most len - 1 characters; false when
 * the code does not exist. */
bool weft_errcode_text(int code, char *buf, size_t len);

/* weft_errcode_remove_class() removes an added class that has no codes and no
 * text. weft_errcode_remove_code() removes an added code that has no text.
 * WEFT_ERR_ARG: there is no such class or code. */
int weft_errcode_remove_class(int class_);
int weft_errcode_remove_code(int code);

/* Returns the address of the variable with the largest code in use, for
 * MPI_LASTUSEDCODE. The address is constant; the value changes when codes are
 * added or removed. */
const int *weft_errcode_last_peek(void);

#endif
