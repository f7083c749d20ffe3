// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The settings a trace was recorded under, from its facts. */
#include "analyze/sim/requests.h"

#include <stdio.h>

bool tide__sim_recorded(const tide_model *m, tide_sim_config *c)
{
	*c = tide__sim_defaults();
	return false;
}
