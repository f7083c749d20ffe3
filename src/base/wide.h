// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* 128-bit integers, for products of two 64-bit figures: bytes × ns, pixels × ns. */
#ifndef TIDE_BASE_WIDE_H
#define TIDE_BASE_WIDE_H

__extension__ typedef __int128 tide_i128;
__extension__ typedef unsigned __int128 tide_u128;

#endif
