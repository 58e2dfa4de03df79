/* SPDX-License-Identifier: BSD-3-Clause */
/* errcode: error classes and codes that the application adds
 *
 * Numbers start above WEFT_ERRCODE_LAST, the last of the standard's. Any
 * thread, before and after any session. */
#ifndef WEFT_ERRCODE_H
#define WEFT_ERRCODE_H

#include <stdbool.h>
#include <stddef.h>

enum { WEFT_ERRCODE_LAST = 16383, WEFT_ERRCODE_TEXT_MAX = 512 };

/* A new class. WEFT_ERR_NOMEM when there is no more room. */
int weft_errcode_add_class(int *class_out);

/* A new code of a class, the standard's or an added one; the caller has
 * checked a standard one. WEFT_ERR_ARG when an added one does not exist. */
int weft_errcode_add_code(int class_, int *code_out);

/* Class of an added code or class; itself when unknown. */
int weft_errcode_class(int code);

/* Sets or, with NULL, removes the text of an added code or class. WEFT_ERR_ARG
 * when it does not exist, or has no text to remove. */
int weft_errcode_set_text(int code, const char *text);

/* Copies the text ("" when none was set), at most len - 1 characters; false
 * when there is no such code. */
bool weft_errcode_text(int code, char *buf, size_t len);

/* Remove a class (without codes left) or a code. WEFT_ERR_ARG when it does not
 * exist or is still used. */
int weft_errcode_remove_class(int class_);
int weft_errcode_remove_code(int code);

/* Largest code in use, for MPI_LASTUSEDCODE. Lent address, kept up to date. */
const int *weft_errcode_last_peek(void);

#endif
