/* SPDX-License-Identifier: BSD-3-Clause */
/* err: the sentence of each code, and each thread's description of its last
 * fault */
#include "base/err.h"
#include "base/plain.h"

#include <stdarg.h>
#include <stdio.h>

struct weft_err_detail {
	int err;
	uint64_t object, failed;
	char text[WEFT_ERR_TEXT];
};

static _Thread_local struct weft_err_detail detail;

static const char *const sentences[] = {
#define X(name, sentence) [WEFT_ERR_##name - WEFT_ERR_FIRST_] = sentence,
#include "base/err.def"
#undef X
};

const char *weft_err_str(int err)
{
	if (err == WEFT_OK)
		return "success";
	if (err <= WEFT_ERR_FIRST_ || err >= WEFT_ERR_END_)
		return "unknown error";
	return sentences[err - WEFT_ERR_FIRST_];
}

bool weft_err_is_fault(int err)
{
	return err > WEFT_ERR_FIRST_ && err < WEFT_ERR_END_ &&
	       err != WEFT_AGAIN && err != WEFT_OK;
}

int weft_err_set(int err, const char *fmt, ...)
{
	va_list ap;

	detail.err = err;
	detail.object = detail.failed = 0;
	va_start(ap, fmt);
	vsnprintf(detail.text, sizeof(detail.text), fmt, ap);
	va_end(ap);
	weft_plain(detail.text, sizeof(detail.text));
	return err;
}

const char *weft_err_detail_peek(int err)
{
	return detail.err == err ? detail.text : "";
}

void weft_err_object_set(uint64_t object, uint64_t failed)
{
	detail.object = object;
	detail.failed = failed;
}

uint64_t weft_err_object(int err)
{
	return detail.err == err ? detail.object : 0;
}

uint64_t weft_err_failed(int err)
{
	return detail.err == err ? detail.failed : 0;
}
