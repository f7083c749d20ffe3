// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include <tidemark/record.h>

bool tide_recording(void)
{
	return false;
}
