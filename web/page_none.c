// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Stands in for the front end where node was not there to build it. */
#include "render/page/page_parts.h"

const unsigned char tide__page_shell[1] = { 0 };
const size_t tide__page_shell_size = 0;
const size_t tide__page_code_size = 0;
const unsigned char tide__served_shell[1] = { 0 };
const size_t tide__served_shell_size = 0;
