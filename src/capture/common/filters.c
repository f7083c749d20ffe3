// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Replaces prctl and syscall, the 2 functions with which programs request a seccomp filter: the
 * recorder learns it before, and makes no more system calls on the program's threads
 * (runtime/guard.h). Otherwise they do what libc's do. libc's own are not looked up: dlsym cannot be
 * called inside free, where the recorder calls syscall. */
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "runtime/guard.h"

#if defined(__x86_64__) || defined(__aarch64__)

__attribute__((visibility("default"))) long syscall(long number, ...);
__attribute__((visibility("default"))) int prctl(int what, ...);

static inline long enter(long number, long a, long b, long c, long d, long e, long f)
{
#ifdef __x86_64__
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
#else
	register long x8 __asm__("x8") = number;
	register long result __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc 0"
			 : "+r"(result)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
#endif
	if ((unsigned long)result < -4095UL)
		return result;
	errno = (int)-result;
	return -1;
}

static bool asks(long number, long a, long c)
{
	if (number == SYS_prctl)
		return a == PR_SET_SECCOMP;
	return number == SYS_seccomp &&
	       (a == SECCOMP_SET_MODE_STRICT || (a == SECCOMP_SET_MODE_FILTER && c != 0));
}

long syscall(long number, ...)
{
	va_list v;
	va_start(v, number);
	long a = va_arg(v, long), b = va_arg(v, long), c = va_arg(v, long), d = va_arg(v, long),
	     e = va_arg(v, long), f = va_arg(v, long);
	va_end(v);
	if (asks(number, a, c))
		tide__calls_forbid();
	return enter(number, a, b, c, d, e, f);
}

int prctl(int what, ...)
{
	va_list v;
	va_start(v, what);
	long a = va_arg(v, long), b = va_arg(v, long), c = va_arg(v, long), d = va_arg(v, long);
	va_end(v);
	if (what == PR_SET_SECCOMP)
		tide__calls_forbid();
	return (int)enter(SYS_prctl, what, a, b, c, d, 0);
}

#endif
