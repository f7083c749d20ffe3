// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Includes everything: recording (libtidemark-rt) and reading (libtidemark). */
#ifndef TIDEMARK_TIDEMARK_H
#define TIDEMARK_TIDEMARK_H

#include <tidemark/error.h>
#include <tidemark/record.h>
#include <tidemark/trace.h>

#endif
