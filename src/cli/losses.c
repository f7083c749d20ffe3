// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What was lost or repaired, after every report. */
#include "cli/cli.h"
#include "render/losses.h"

void tide__cli_losses(const tide_args *a, const tide_model *m)
{
	tide__put_losses(m, a->out, &a->style);
}

void tide__cli_losses_json(tide_json *j, const tide_model *m)
{
	tide__losses_json(j, m);
}
