// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Kernel names as people read them.
 *
 * A kernel of a C++ template has a name of up to a thousand characters. Shortened, it is the function
 * without namespaces and parameters, and of its template arguments the functor and the type:
 *
 *   void at::native::vectorized_elementwise_kernel<4, at::native::sqrt_kernel_cuda(at::TensorIteratorBase&)
 *       ::{lambda()#2}::...::{lambda(float)#1}, std::array<char*, 2ul> >(int, ...)
 *   -> vectorized_elementwise<sqrt, float>
 *   ampere_sgemm_128x32_nt -> sgemm_128x32_nt
 *
 * The rules are tables (kernel_name.c). A name that no rule knows stays as it is; so do names of host
 * ops, Python functions and copies. Two names may become one: a table tells them apart by a number
 * made of the whole name (tide__kernel_tag), which is the same in every table. */
#ifndef TIDE_RENDER_TEXT_KERNEL_NAME_H
#define TIDE_RENDER_TEXT_KERNEL_NAME_H

#include <stddef.h>

enum { TIDE_KERNEL_NAME = 96 }; /* bytes of a shortened name, its NUL included */

/* The short form of name[0..n) into out; returns its length. Names that stay as they are and do not
 * fit are cut in the middle. */
size_t tide__kernel_short(const char *name, size_t n, char out[TIDE_KERNEL_NAME]);

/* "#1a2b": what tells apart names that shorten alike. Returns its length, 5. */
size_t tide__kernel_tag(const char *name, size_t n, char out[8]);

#endif
