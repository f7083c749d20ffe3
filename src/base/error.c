// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

const char *tide_code_text(tide_code code)
{
	static const char *const texts[] = {
#define X(name, number, text) [number] = text,
		TIDE_CODES(X)
#undef X
	};
	unsigned i = (unsigned)code;
	return i < sizeof texts / sizeof *texts && texts[i] ? texts[i] : "unknown error";
}

static void set(tide_error *err, tide_code code, int sys, uint64_t offset, const char *fmt,
		va_list ap)
{
	if (!err)
		return;
	err->code = code;
	err->sys_errno = sys;
	err->offset = offset;
	vsnprintf(err->text, sizeof err->text, fmt, ap);
	for (char *c = err->text; *c; c++) /* keep it to one line even if the input has newlines */
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
}

tide_code tide__fail(tide_error *err, tide_code code, uint64_t offset, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	set(err, code, 0, offset, fmt, ap);
	va_end(ap);
	return code;
}

tide_code tide__fail_errno(tide_error *err, const char *fmt, ...)
{
	int e = errno;
	va_list ap;
	va_start(ap, fmt);
	set(err, TIDE_EIO, e, TIDE_NO_OFFSET, fmt, ap);
	va_end(ap);
	if (err) {
		size_t n = strlen(err->text);
		snprintf(err->text + n, sizeof err->text - n, ": %s", strerror(e));
	}
	return TIDE_EIO;
}

tide_code tide__nomem(tide_error *err)
{
	if (tide__mem_refused())
		return tide__fail(err, TIDE_ENOMEM, TIDE_NO_OFFSET,
				  "it takes more memory than the limit of %llu MiB (--max-memory)",
				  (unsigned long long)(tide__mem_budget_now() >> 20));
	return tide__fail(err, TIDE_ENOMEM, TIDE_NO_OFFSET, "out of memory");
}
