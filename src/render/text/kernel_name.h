// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Shortens kernel names for reading.
 *
 * A kernel of a C++ template has a name of up to 1,000 characters. The short form is the function
 * without namespaces and parameters, with only the functor and the type of its template arguments:
 *
 *   void at::native::vectorized_elementwise_kernel<4,
 *   at::native::sqrt_kernel_cuda(at::TensorIteratorBase&)
 *       ::{lambda()#2}::...::{lambda(float)#1}, std::array<char*, 2ul> >(int, ...)
 *   -> vectorized_elementwise<sqrt, float>
 *   ampere_sgemm_128x32_nt -> sgemm_128x32_nt
 *
 * The rules are tables (kernel_name.c). A name that no rule matches is unchanged; so are names of
 * host ops, Python functions and copies. If two names get one short form, tables add a number
 * derived from the whole name (tide__kernel_write_tag), which is the same in every table. */
#ifndef TIDE_RENDER_TEXT_KERNEL_NAME_H
#define TIDE_RENDER_TEXT_KERNEL_NAME_H

#include <stddef.h>

enum { TIDE_KERNEL_NAME = 96 }; /* bytes of a short name, including NUL */

/* Writes the short form of name[0..n) into out; returns its length. Unchanged names that do not
 * fit are cut in the middle. */
size_t tide__kernel_shorten(const char *name, size_t n, char out[TIDE_KERNEL_NAME]);

/* Writes "#1a2b", which distinguishes names with the same short form. Returns its length, 5. */
size_t tide__kernel_write_tag(const char *name, size_t n, char out[8]);

#endif
